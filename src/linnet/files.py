"""Files that are complete or absent, never partial."""

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
    """Return the path, or raise a ConfigError if no file can have this name."""
    try:
        name = os.fsencode(path)
    except UnicodeEncodeError as error:
        raise ConfigError(f"a file cannot be called {os.fspath(path)!a}: {error.reason}: choose another name") from None
    if not name:
        raise ConfigError("a file cannot be called '': name one")
    if b"\0" in name:
        raise ConfigError(f"a file cannot be called {os.fspath(path)!a}: it has a null character: choose another name")
    return Path(path)


def real_path(path: str | os.PathLike[str]) -> Path:
    """Return the path without links, so that two names of one file are equal; broken links are unchanged."""
    return Path(os.path.realpath(check_path(path)))  # where Path.resolve raises a RuntimeError for links in a circle


def is_stream(path: Path) -> bool:
    """Return whether the path is a device or a pipe, which takes bytes and cannot be replaced by a file."""
    try:
        return not stat.S_ISREG(mode := path.stat().st_mode) and not stat.S_ISDIR(mode)
    except OSError:
        return False


def read_checked(path: Path, length: int, check: Callable[[bytes], None]) -> bytes:
    """Return the content of a file or pipe, once `check` has accepted its first bytes.

    A table passed as a model may be larger than memory, and a device without an end.
    """
    with path.open("rb") as file:
        start = file.read(length)
        check(start)
        if not file.seekable():
            return start + file.read()
        file.seek(0)
        return file.read()


def write_whole(path: Path, parts: Iterable[bytes | bytearray], *, keep: Path | None = None) -> None:
    """Write a file completely or not at all.

    It is written under another name, flushed to the disk, and then renamed, so that at any moment the old or the new
    one is there, complete, even if the process is killed or the disk is full. An OSError names `path`.

    `keep`: the new name of the file now at `path`, if there is one. A device or a pipe is written to directly.

    Any number of processes and threads may write to one path: each uses a name of its own, and the last to finish wins.
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
                file.close()  # open files cannot be renamed there; elsewhere it stays locked until it is renamed
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
    """Remove the files left behind by killed writers of `path`, and none of those at work.

    A file that is being written is locked, in whatever process or container its writer runs, and the system removes the
    lock when that writer is gone. A file that cannot be locked, for whatever reason, stays.
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
    """Create a new file beside `path`, locked where that is possible."""
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
        file.close()  # another process removed it as a leftover before it was locked: try again


def _sync_folder(folder: Path) -> None:
    """Make new names survive a power cut, where folders can be opened."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
