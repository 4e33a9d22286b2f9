"""Files that are there whole or not at all."""

import os
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, parts: Iterable[bytes], *, keep: Path | None = None) -> None:
    """Write a file under another name, flush it to the disk, and only then let it take its place, so that at any moment
    the old or the new one is there, whole, also if the process is killed or the disk is full. An OSError is of `path`.

    `keep`: the name that the file now at `path` gets, if there is one.
    """
    # a name of its own: two writers of one path by mistake may replace each other's files, but not mix them up
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        if keep is not None:
            with suppress(FileNotFoundError):
                path.replace(keep)
        temporary.replace(path)
        _sync_folder(path.parent)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None:
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise


def _sync_folder(folder: Path) -> None:
    """Make the new names last through a power cut, where folders can be opened."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
