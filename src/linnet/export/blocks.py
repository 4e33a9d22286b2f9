"""A file of arrays and one JSON text, in safetensors form, whose every byte is guarded by a digest.

    8 bytes         length of the header
    header          JSON: type, shape and place of every array, and under "__metadata__" and "linnet" a text, JSON
                    again: format, version, written_by, blocks (the SHA-256 of every array), content, and sha256 (of
                    everything up to the arrays, with zeros in its own place)
    arrays

Reading runs no code of the file, and takes at most twice the memory of the arrays and twenty times that of the JSON.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

import linnet
from linnet.errors import ConfigError, FormatError
from linnet.files import read_checked, write_whole
from linnet.untrusted import check_json_size, check_tensors_start, fits, parse_json, read_tensors, split_tensors

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
    text = json.dumps(facts, allow_nan=False, separators=(",", ":"))
    del content, facts  # a tree takes many times its text
    file = bytearray(save(whole, {"linnet": text}))
    end = 8 + int.from_bytes(file[:8], "little")
    try:
        check_json_size(text)
        check_json_size(str(file[8:end], "utf-8"), header=True)
    except FormatError as error:
        raise ConfigError(f"{path} cannot be written, as it could not be read: {error}") from None
    header = memoryview(file)[:end]
    start = _digest_place(header, path)
    header[start : start + 64] = hashlib.sha256(header).hexdigest().encode()
    write_whole(path, [file])


def read_blocks(path: Path) -> tuple[Any, Arrays, int]:
    """Read a file, of so many bytes, or raise a FormatError that says what is wrong with it."""
    try:
        file = memoryview(read_checked(path, 9, check_tensors_start))
        header, content = split_tensors(file)
        facts = parse_json(header.pop("__metadata__")["linnet"])
        kind, version, writer = facts["format"], facts["version"], facts["written_by"]
        digests, made = facts["blocks"], facts["content"]
    except (FormatError, LookupError, TypeError, AttributeError) as error:
        why = f": {error}" if isinstance(error, FormatError) else ""
        raise FormatError(f"{path} is damaged or no {FORMAT}{why}") from None
    if kind != FORMAT:
        raise FormatError(f"{path} is a {str(kind)[:60]!r}, not a {FORMAT}")
    head = file[: len(file) - len(content)]
    start = _digest_place(head, path)
    blank = hashlib.sha256(head[:start])
    blank.update(_NONE.encode())
    blank.update(head[start + 64 :])
    if blank.hexdigest().encode() != head[start : start + 64]:
        raise FormatError(f"{path} is damaged: its header does not match its digest")
    if not fits(version, int) or version < 1:
        raise FormatError(f"{path} is damaged: its format has the version {str(version)[:60]}")
    if version > VERSION:
        raise FormatError(
            f"{path} has format version {version}, written by {str(writer)[:60]}; this is linnet "
            f"{linnet.__version__}, which reads versions up to {VERSION}: install a newer linnet"
        )
    if not isinstance(digests, dict) or digests.keys() != header.keys():
        raise FormatError(f"{path} is damaged: its digests are not those of its arrays")
    try:
        arrays = read_tensors(header, content)
    except FormatError as error:
        raise FormatError(f"{path} is damaged or cut short: {error}") from None
    for name, digest in digests.items():
        if _digest(arrays[name]) != digest:
            raise FormatError(f"{path} is damaged: array {name[:60]!r} does not match its digest")
    return made, arrays, len(file)


def _digest(array: NDArray[Any]) -> str:
    return hashlib.sha256(array.reshape(-1).view(np.uint8).data).hexdigest()


def _digest_place(header: memoryview, path: Path) -> int:
    """Where the header's own digest is."""
    places = [match.start(1) for match in islice(_DIGEST.finditer(header), 2)]
    if len(places) != 1:
        raise FormatError(f"{path} is damaged: its header has no digest")
    return places[0]
