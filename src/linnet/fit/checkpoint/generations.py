"""A file in two generations, each complete or absent: `path` is the newest, `path.previous` the one before.

A file starts with a line that names its kind and a line with the SHA-256 digest of all that follows. A new generation
is written under another name and flushed to the disk before it is renamed, so that at any moment one of the two names
has a complete file, even if the process is killed or the disk is full.
"""

import hashlib
import warnings
from collections.abc import Sequence
from pathlib import Path

from linnet.errors import CheckpointWarning, FormatError
from linnet.files import read_checked, write_whole


def previous(path: Path) -> Path:
    """Return the name of the older generation."""
    return path.with_name(path.name + ".previous")


def write(path: Path, kind: str, parts: Sequence[bytes], *, rotate: bool = True) -> None:
    """Write a new generation; with `rotate` the newest so far becomes the previous one, otherwise it is replaced."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    head = [_first_line(kind), digest.hexdigest().encode() + b"\n"]
    write_whole(path, [*head, *parts], keep=previous(path) if rotate else None)


def read(path: Path, kind: str) -> memoryview:
    """Return the content of the newest undamaged generation; passing over a damaged one is a warning."""
    try:
        return read_one(path, kind)
    except (FormatError, FileNotFoundError) as error:
        if not previous(path).exists():
            raise
        try:
            content = read_one(previous(path), kind)
        except FormatError as older:
            raise FormatError(f"{error}; {older}") from None
        if isinstance(error, FormatError):  # a missing file is no damage: its writer was killed before the renaming
            warnings.warn(f"{error}; resuming from {previous(path)}", CheckpointWarning, stacklevel=3)
        return content


def read_one(path: Path, kind: str) -> memoryview:
    """Return the content of this very file, or raise a FormatError that explains what is wrong."""
    first = _first_line(kind)

    def check(start: bytes) -> None:
        if not start.startswith(first):
            raise FormatError(f"{path} is damaged or not a {kind}: it starts with {start[:32]!r}")

    content = read_checked(path, max(32, len(first)), check)
    end = len(first) + 64
    body = memoryview(content)[end + 1 :]  # no copy: a file may be large
    if content[end : end + 1] != b"\n" or hashlib.sha256(body).hexdigest().encode() != content[len(first) : end]:
        raise FormatError(f"{path} is damaged or cut short: its content does not match its digest")
    return body


def is_whole(path: Path, kind: str) -> bool:
    """Return whether the file exists and is undamaged."""
    try:
        read_one(path, kind)
    except (FormatError, OSError):
        return False
    return True


def _first_line(kind: str) -> bytes:
    return f"{kind}\n".encode()
