"""The environment linnet runs in, and the number of threads."""

import contextlib
import functools
import os
import platform
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

from linnet import _native
from linnet.checks import is_integer
from linnet.errors import ConfigError, Parameter

_OWN_GROUPS, _GROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
_MAX_THREADS = 1024

_process_threads: int | None = None
_context_threads: ContextVar[int | None] = ContextVar("linnet_threads", default=None)


def available_cores() -> int:
    """Return the number of cores this process may use: its affinity, limited by its container's processor time."""
    if hasattr(os, "process_cpu_count"):
        cores = os.process_cpu_count() or 1
    elif hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return max(1, int(min(cores, _container_share())))


@functools.cache
def _container_share() -> float:
    """Return the smallest limit, in cores, of this process's control groups and their parents.

    Cached, as every prediction asks.
    """
    share = float("inf")
    for folder in _own_groups():
        for group in (folder, *folder.parents):  # a container sees its own group as the root of all
            if not group.is_relative_to(_GROUPS):
                break
            share = min(share, _quota(group))
    return share


def _own_groups(what: str = "cpu") -> list[Path]:
    """Return the folders of the control groups that limit this process: version 2, or version 1's for `what`."""
    found = [_GROUPS]
    with contextlib.suppress(OSError):
        for line in _OWN_GROUPS.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if not controllers or what in controllers.split(","):
                tree = _GROUPS / controllers
                found += [tree, tree / path.lstrip("/")]
    return found


def _quota(group: Path) -> float:
    """Return a group's own limit, in cores."""
    with contextlib.suppress(OSError, ValueError):  # ValueError: no limit ("max"), or not this format
        quota, period = (group / "cpu.max").read_text().split()
        return int(quota) / int(period)
    with contextlib.suppress(OSError, ValueError):
        quota, period = ((group / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
        if int(quota) > 0:
            return int(quota) / int(period)
    return float("inf")


@functools.cache
def memory() -> float:
    """How many bytes of memory this process may fill: the machine's, or less where its container has less."""
    share = float("inf")
    with contextlib.suppress(AttributeError, OSError, ValueError):  # a system that does not tell
        share = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for folder in _own_groups("memory"):
        for group in (folder, *folder.parents):
            if not group.is_relative_to(_GROUPS):
                break
            for name in ("memory.max", "memory.limit_in_bytes"):
                with contextlib.suppress(OSError, ValueError):  # ValueError: no limit ("max")
                    share = min(share, int((group / name).read_text()))
    return share


def checked_threads(n: object, name: str = "threads") -> int:
    """Return a valid number of threads, or raise a ConfigError."""
    if not is_integer(n) or int(n) not in range(1, _MAX_THREADS + 1):
        raise ConfigError(Parameter(name), f" must be an integer from 1 to {_MAX_THREADS}, got {n!r}")
    return int(n)


def set_threads(n: int | None) -> None:
    """Set the number of threads for this process.

    Never more threads are used than there are cores, and fewer where fewer are faster. The number of threads changes
    the speed, never the result.

    Parameters
    ----------
    n : int or None
        The largest number of threads; None: the environment variable LINNET_THREADS or, without it, all available
        cores.
    """
    global _process_threads  # noqa: PLW0603
    _process_threads = None if n is None else checked_threads(n)


def get_threads() -> int:
    """Return the number of threads: of `with threads(n)`, else of `set_threads`, else the default."""
    chosen = _context_threads.get() or _process_threads
    if chosen:
        return chosen
    wanted = os.environ.get("LINNET_THREADS")
    if wanted:
        return checked_threads(int(wanted) if wanted.isdecimal() else wanted, "LINNET_THREADS")
    return min(available_cores(), _MAX_THREADS)


def usable_threads(n: object = None) -> int:
    """Return the number of threads to use out of `n`, or of `get_threads()`: at most the number of cores.

    More would wait for each other. As any number gives the same bytes, only the time depends on it.
    """
    return min(get_threads() if n is None else checked_threads(n), _most_members())


def _most_members() -> int:
    return available_cores()


@contextlib.contextmanager
def threads(n: int) -> Iterator[None]:
    """Use another number of threads inside a `with` block, and only in the thread that runs it.

    Parameters
    ----------
    n : int
        The largest number of threads.
    """
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
    """Return what `show_config` prints, as a dict."""
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
    """Print versions, processor and settings: to be included in a bug report."""
    facts = config()
    width = max(map(len, facts))
    for name, value in facts.items():
        print(f"{name:<{width}}  {', '.join(value) if isinstance(value, tuple) else value}")
