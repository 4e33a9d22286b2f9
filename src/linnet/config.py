"""What linnet runs on, and how many threads it uses."""

import contextlib
import functools
import os
import platform
from collections.abc import Iterator
from contextvars import ContextVar
from numbers import Integral
from pathlib import Path

from linnet import _native
from linnet.errors import ConfigError

_OWN_GROUPS, _GROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
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
    return max(1, int(min(cores, _container_share())))


@functools.cache
def _container_share() -> float:
    """How many cores' time the control groups of this process leave it: the least that one of them or one of those
    above it has. Looked up once: every prediction asks.
    """
    share = float("inf")
    for folder in _own_groups():
        for group in (folder, *folder.parents):  # a container sees its own group as the root of all
            if not group.is_relative_to(_GROUPS):
                break
            share = min(share, _quota(group))
    return share


def _own_groups() -> list[Path]:
    """The folders of the groups that limit this process's time: in one tree of all (version 2), or in one for that."""
    found = [_GROUPS]
    with contextlib.suppress(OSError):
        for line in _OWN_GROUPS.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if not controllers or "cpu" in controllers.split(","):
                tree = _GROUPS / controllers
                found += [tree, tree / path.lstrip("/")]
    return found


def _quota(group: Path) -> float:
    """A group's own limit, in cores."""
    with contextlib.suppress(OSError, ValueError):  # ValueError: no limit ("max"), or not this format
        quota, period = (group / "cpu.max").read_text().split()
        return int(quota) / int(period)
    with contextlib.suppress(OSError, ValueError):
        quota, period = ((group / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
        if int(quota) > 0:
            return int(quota) / int(period)
    return float("inf")


def checked_threads(n: object, name: str = "threads") -> int:
    """Return a number of threads that can be meant, or raise a ConfigError."""
    if isinstance(n, bool) or not isinstance(n, Integral) or int(n) not in range(1, _MOST_THREADS + 1):
        raise ConfigError(f"{name} must be a whole number from 1 to {_MOST_THREADS}, got {n!r}")
    return int(n)


def set_threads(n: int | None) -> None:
    """Use up to `n` threads from now on; None goes back to LINNET_THREADS or, without it, all available cores.

    Never more are used than there are cores, and fewer where fewer are faster. The number of threads changes how fast a
    result comes, never the result.
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


def usable_threads(n: object = None) -> int:
    """Return how many of `n` threads to use, or of `get_threads()`: no more than there are cores.

    More would wait for each other's turn. As any number gives the same bytes, this is a matter of time alone.
    """
    return min(get_threads() if n is None else checked_threads(n), _most_members())


def _most_members() -> int:
    return available_cores()


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
