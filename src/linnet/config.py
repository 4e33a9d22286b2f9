"""What linnet runs on, and how many threads it uses."""

import contextlib
import os
import platform
from collections.abc import Iterator
from contextvars import ContextVar
from numbers import Integral
from pathlib import Path

from linnet import _native
from linnet.errors import ConfigError

_CPU_MAX = Path("/sys/fs/cgroup/cpu.max")
_MOST_THREADS = 1024

_process_threads: int | None = None
_context_threads: ContextVar[int | None] = ContextVar("linnet_threads", default=None)


def available_cores() -> int:
    """Count the cores this process may use: its affinity, cut down to its container's share of processor time."""
    if hasattr(os, "process_cpu_count"):
        cores = os.process_cpu_count() or 1
    elif hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    with contextlib.suppress(OSError, ValueError):  # ValueError: no limit ("max"), or not this format
        quota, period = _CPU_MAX.read_text().split()
        cores = min(cores, max(1, int(quota) // int(period)))
    return cores


def checked_threads(n: object, name: str = "threads") -> int:
    """Return a number of threads that can be meant, or raise a ConfigError."""
    if isinstance(n, bool) or not isinstance(n, Integral) or int(n) not in range(1, _MOST_THREADS + 1):
        raise ConfigError(f"{name} must be a whole number from 1 to {_MOST_THREADS}, got {n!r}")
    return int(n)


def set_threads(n: int | None) -> None:
    """Use `n` threads from now on; None goes back to LINNET_THREADS or, without it, all available cores.

    The number of threads changes how fast a result comes, never the result.
    """
    global _process_threads  # noqa: PLW0603
    _process_threads = None if n is None else checked_threads(n)


def get_threads() -> int:
    """Return the number of threads in use here: of `with threads(n)`, else `set_threads`, else the default."""
    chosen = _context_threads.get() or _process_threads
    if chosen:
        return chosen
    wanted = os.environ.get("LINNET_THREADS")
    if wanted:
        return checked_threads(int(wanted) if wanted.isdecimal() else wanted, "LINNET_THREADS")
    return min(available_cores(), _MOST_THREADS)


@contextlib.contextmanager
def threads(n: int) -> Iterator[None]:
    """Use `n` threads inside a `with` block, and only in the thread of control that runs it."""
    token = _context_threads.set(checked_threads(n))
    try:
        yield
    finally:
        _context_threads.reset(token)


def _version(package: str) -> str:
    from importlib import metadata  # slow to load, and needed here only

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def config() -> dict[str, object]:
    """Return what `show_config` prints."""
    return {
        "linnet": _version("linnet"),
        "instruction set": _native.isa,
        "built for": _native.built,
        "processor runs": _native.supported,
        "vector bytes": _native.core.vector_bytes,
        "threads": get_threads(),
        "available cores": available_cores(),
        "compiler": _native.core.compiler,
        "python": platform.python_version(),
        "numpy": _version("numpy"),
        "scipy": _version("scipy"),
        "scikit-learn": _version("scikit-learn"),
        "platform": platform.platform(),
    }


def show_config() -> None:
    """Print the versions, processor and settings in use: what to add to a bug report."""
    facts = config()
    width = max(map(len, facts))
    for name, value in facts.items():
        print(f"{name:<{width}}  {', '.join(value) if isinstance(value, tuple) else value}")
