"""Files that are there whole or not at all."""

import os
import re
import secrets
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from io import BufferedWriter
from pathlib import Path

from linnet.errors import ConfigError

try:
    import fcntl
except ImportError:  # a system without such locks
    fcntl = None  # type: ignore[assignment]


def check_path(path: str | os.PathLike[str]) -> Path:
    """Return the path; a ConfigError if no file can be called so."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError as error:
        raise ConfigError(f"no file can be called {os.fspath(path)!a}: {error.reason}: choose another name") from None
    return Path(path)


def real_path(path: str | os.PathLike[str]) -> Path:
    """The path without links, by which two names of one file are known; links that lead nowhere stay as they are."""
    return Path(os.path.realpath(check_path(path)))  # where Path.resolve raises a RuntimeError for links in a circle


def is_stream(path: Path) -> bool:
    """Whether a device or a pipe is there, which takes bytes and cannot be replaced by a file."""
    try:
        return not stat.S_ISREG(mode := path.stat().st_mode) and not stat.S_ISDIR(mode)
    except OSError:
        return False


def read_checked(path: Path, length: int, check: Callable[[bytes], None]) -> bytes:
    """Return the content of a file or pipe, once `check` has not raised an error for its first bytes: a table given
    in the place of a model may be larger than memory, and a device without an end.
    """
    with path.open("rb") as file:
        start = file.read(length)
        check(start)
        if not file.seekable():
            return start + file.read()
        file.seek(0)
        return file.read()


def write_whole(path: Path, parts: Iterable[bytes | bytearray], *, keep: Path | None = None) -> None:
    """Write a file under another name, flush it to the disk, and only then let it take its place, so that at any moment
    the old or the new one is there, whole, also if the process is killed or the disk is full. An OSError is of `path`.

    `keep`: the name that the file now at `path` gets, if there is one. A device or a pipe stays, and gets the bytes.

    Any number of processes and threads may write to one path: each does so under a name of its own, and the last to
    finish has the path.
    """
    temporary: Path | None = None
    try:
        if is_stream(path):
            with path.open("wb") as stream:
                stream.writelines(parts)
            return
        temporary, file = _create(path)
        with file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
            if fcntl is None:
                file.close()  # no open file is renamed there; elsewhere it stays locked until it has its name
            if keep is not None:
                with suppress(FileNotFoundError):
                    path.replace(keep)
            temporary.replace(path)
        _sync_folder(path.parent)
    except BaseException as error:
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None:
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise


def remove_leftovers(path: Path) -> None:
    """Remove what writers of `path` that were killed have left behind, and nothing of those at work.

    A file that is being written is locked, in whatever process or container its writer runs, and the system takes the
    lock off when that writer is gone. A file that cannot be locked, for whatever reason, stays.
    """
    if fcntl is None:
        return
    name = re.compile(rf"\.{re.escape(path.name)}\.\d+-[0-9a-f]+\.tmp")
    for entry in path.parent.iterdir():
        if name.fullmatch(entry.name):
            with suppress(OSError), entry.open("r+b") as file:  # it may have got its name meanwhile
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                entry.unlink()


def _create(path: Path) -> tuple[Path, BufferedWriter]:
    """A new file beside `path`, locked where that is possible."""
    while True:
        temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
        file = temporary.open("xb")
        if fcntl is None:
            return temporary, file
        with suppress(OSError):  # a file system without locks: `remove_leftovers` leaves its files alone
            fcntl.flock(file, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), temporary.stat()):
                return temporary, file
        file.close()  # it was taken for a leftover in the moment before it was locked: once more


def _sync_folder(folder: Path) -> None:
    """Make the new names last through a power cut, where folders can be opened."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
