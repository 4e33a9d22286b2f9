"""A file of arrays and one JSON text, in safetensors form, whose every byte is guarded by a digest.

    8 bytes         length of the header
    header          JSON: type, shape and place of every array, and under "__metadata__" and "linnet" a text, JSON
                    again: format, version, written_by, blocks (the SHA-256 of every array), content, and sha256 (of
                    everything up to the arrays, with zeros in its own place)
    arrays

Reading runs no code of the file, and takes no more memory than a few times its size.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

import linnet
from linnet.errors import FormatError
from linnet.files import write_whole

FORMAT, VERSION = "linnet model", 1
_NONE = "0" * 64
_DIGEST = re.compile(rb'\\"sha256\\":\\"([0-9a-f]{64})\\"')

Arrays = dict[str, NDArray[Any]]


def write_blocks(path: Path, content: Any, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a file: what JSON can say, and arrays of numbers."""
    whole = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    facts = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": f"linnet {linnet.__version__}",
        "sha256": _NONE,
        "blocks": {name: _digest(array) for name, array in whole.items()},
        "content": content,
    }
    # one text, since safetensors keeps several in no order
    file = bytearray(save(whole, {"linnet": json.dumps(facts, allow_nan=False, separators=(",", ":"))}))
    end = _header_end(file, path)
    digest = hashlib.sha256(file[:end]).hexdigest()
    start = _digest_place(bytes(file[:end]), path)
    file[start : start + 64] = digest.encode()
    write_whole(path, [bytes(file)])


def read_blocks(path: Path) -> tuple[Any, Arrays]:
    """Read a file, or raise a FormatError that says what is wrong with it."""
    file = path.read_bytes()
    end = _header_end(file, path)
    header = file[:end]
    try:
        facts = json.loads(json.loads(header[8:])["__metadata__"]["linnet"])
        kind, version, writer = facts["format"], facts["version"], facts["written_by"]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise FormatError(f"{path} is damaged or no {FORMAT}") from None
    if kind != FORMAT:
        raise FormatError(f"{path} is a {kind!r}, not a {FORMAT}")
    start = _digest_place(header, path)
    blank = header[:start] + _NONE.encode() + header[start + 64 :]
    if hashlib.sha256(blank).hexdigest().encode() != header[start : start + 64]:
        raise FormatError(f"{path} is damaged: its header does not match its digest")
    if version > VERSION:
        raise FormatError(
            f"{path} has format version {version}, written by {writer}; this is linnet "
            f"{linnet.__version__}, which reads versions up to {VERSION}: install a newer linnet"
        )
    try:
        arrays: Arrays = load(file)
    except SafetensorError as error:
        raise FormatError(f"{path} is damaged or cut short: {error}") from None
    for name, digest in facts["blocks"].items():
        if _digest(arrays[name]) != digest:
            raise FormatError(f"{path} is damaged: array {name!r} does not match its digest")
    return facts["content"], {name: array.copy() for name, array in arrays.items()}


def _digest(array: NDArray[Any]) -> str:
    return hashlib.sha256(array.tobytes()).hexdigest()


def _header_end(file: bytes | bytearray, path: Path) -> int:
    end = 8 + int.from_bytes(file[:8], "little")
    if len(file) < 8 or end > len(file) or file[8:9] != b"{":
        raise FormatError(f"{path} is damaged or no {FORMAT}")
    return end


def _digest_place(header: bytes, path: Path) -> int:
    """Where the header's own digest is."""
    found = _DIGEST.findall(header)
    match = _DIGEST.search(header)
    if match is None or len(found) != 1:
        raise FormatError(f"{path} is damaged: its header has no digest")
    return match.start(1)
