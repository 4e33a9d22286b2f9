"""A file of arrays and one JSON text, in safetensors format, with a digest that covers every byte.

    8 bytes         length of the header
    header          JSON: type, shape and offsets of every array, and under "__metadata__" and "linnet" a text, JSON
                    again: format, version, written_by, blocks (the SHA-256 of every array), content, and sha256 (of
                    everything up to the arrays, with zeros in place of itself)
    arrays

Reading runs no code of the file, and takes at most four times the memory of the file and 8 MB.
"""

import hashlib
import json
import re
import sys
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

import linnet
from linnet.errors import ConfigError, FormatError
from linnet.export.long_json import ESCAPED, LongJSON, Memory
from linnet.files import read_checked, write_whole
from linnet.untrusted import (
    MAX_JSON_BYTES,
    Place,
    check_tensors_start,
    fits,
    header_text,
    place_of,
    read_tensors,
    split_tensors,
)

FORMAT, VERSION = "linnet model", 1
_NO_DIGEST = "0" * 64
_BYTES_PER_ARRAY = 300  # of memory, for the description of an array
_TWO_BYTES, _FOUR_BYTES = re.compile(rb"[\xc4-\xef]"), re.compile(rb"[\xf0-\xff]")  # in memory, of a sign
_DIGEST = re.compile(rb'\\"sha256\\":\\"([0-9a-f]{64})\\"')

Arrays = dict[str, NDArray[Any]]


def write_blocks(path: Path, content: Any, arrays: Mapping[str, NDArray[Any]], size: int = 0) -> None:
    """Write a file of JSON content and numeric arrays. `size`: bytes of memory for the values of the content."""
    whole = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    facts = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": f"linnet {linnet.__version__}",
        "sha256": _NO_DIGEST,
        "blocks": {name: _digest(array) for name, array in whole.items()},
        "content": content,
    }
    # one text, as safetensors does not keep the order of several
    text = json.dumps(facts, allow_nan=False, separators=(",", ":"))
    del content, facts  # they take many times the memory of the text
    file = bytearray(save(whole, {"linnet": text}))
    end = 8 + int.from_bytes(file[:8], "little")
    if end > MAX_JSON_BYTES:
        raise ConfigError(f"{path} cannot be written: its header has {end - 8:,} bytes, more than {MAX_JSON_BYTES:,}")
    try:
        Memory(len(file)).take(len(text) + sum(array.nbytes for array in whole.values()) + size)
    except FormatError as error:
        raise ConfigError(f"{path} cannot be written, as it could not be read again: {error}") from None
    header = memoryview(file)[:end]
    start = _digest_place(header, path)
    header[start : start + 64] = hashlib.sha256(header).hexdigest().encode()
    write_whole(path, [file])


def read_blocks(path: Path) -> tuple[Any, Arrays]:
    """Return the JSON content and the arrays of a file, or raise a FormatError."""
    content, arrays, _ = open_blocks(path)
    return content.value(), arrays


def open_blocks(path: Path) -> tuple[LongJSON, Arrays, Memory]:
    """Read the arrays of a file, and the JSON up to its content, which comes next.

    Reading the content may take the rest of the memory. A FormatError explains what is wrong with the file.
    """
    try:
        file = memoryview(read_checked(path, 9, check_tensors_start))
        memory = Memory(len(file))
        head, rest = split_tensors(file)
        text, places, wrong = _read_header(head, memory)
        facts, found = LongJSON(text, memory), {}
        for key in facts.members():
            if key == "content":
                break
            found[key] = facts.value()
        else:
            raise FormatError("it has no content")
        kind, version, writer, digests = (found[key] for key in ("format", "version", "written_by", "blocks"))
    except (FormatError, json.JSONDecodeError, LookupError, TypeError, AttributeError) as error:
        why = f": {error}" if isinstance(error, FormatError | json.JSONDecodeError) else ""
        raise FormatError(f"{path} is damaged or not a {FORMAT}{why}") from None
    if kind != FORMAT:
        raise FormatError(f"{path} is a {str(kind)[:60]!r}, not a {FORMAT}")
    head = file[: len(file) - len(rest)]
    start = _digest_place(head, path)
    blank = hashlib.sha256(head[:start])
    blank.update(_NO_DIGEST.encode())
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
    if not isinstance(digests, dict) or digests.keys() != places.keys():
        raise FormatError(f"{path} is damaged: its digests are not those of its arrays")
    try:
        if wrong is not None:
            raise wrong
        arrays = read_tensors(places, rest)
        memory.take(sys.getsizeof(text) + sum(array.nbytes for array in arrays.values()))
    except FormatError as error:
        raise FormatError(f"{path} is damaged or cut short: {error}") from None
    for name, digest in digests.items():
        if _digest(arrays[name]) != digest:
            raise FormatError(f"{path} is damaged: array {name[:60]!r} does not match its digest")
    return facts, arrays, memory


def _read_header(header: memoryview, memory: Memory) -> tuple[str, dict[str, Place], FormatError | None]:
    """Return linnet's text in a header, the offsets of its arrays, and the error in one of them, if any."""
    wide = 4 if _FOUR_BYTES.search(header) else 2 if _TWO_BYTES.search(header) else 1
    memory.need((1 + 3 * wide) * len(header) if wide > 1 else 0)  # all signs take as much as the widest one
    text = header_text(header)
    if "\\u" in text and ESCAPED.search(text):
        memory.need(10 * len(text))
    entries, places, wrong = LongJSON(text, memory), {}, None
    metadata = None
    for name in entries.members():
        entry = entries.value()
        if name == "__metadata__":
            metadata = entry
            continue
        memory.take(_BYTES_PER_ARRAY)
        try:
            places[name] = place_of(name, entry)
        except FormatError as error:
            wrong = error
            places[name] = Place(0, 0, np.dtype(np.uint8), ())
    entries.end()
    if metadata is None or not isinstance(found := metadata["linnet"], str):
        raise FormatError("it has no entry 'linnet'")
    return found, places, wrong


def _digest(array: NDArray[Any]) -> str:
    return hashlib.sha256(array.reshape(-1).view(np.uint8).data).hexdigest()


def _digest_place(header: memoryview, path: Path) -> int:
    """Return the position of the header's own digest."""
    places = [match.start(1) for match in islice(_DIGEST.finditer(header), 2)]
    if len(places) != 1:
        raise FormatError(f"{path} is damaged: its header has no digest")
    return places[0]
