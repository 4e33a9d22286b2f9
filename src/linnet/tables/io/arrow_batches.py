"""How much memory the record batches of an Arrow file take once they are decompressed, told by their own descriptions.

A batch is read as a whole. Its message says where its buffers lie, in FlatBuffers' form, and a compressed buffer begins
with the number of bytes that it will have.
"""

import os
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa

from linnet.errors import DataError

_MAX_BATCH_BYTES = 1 << 29  # bytes of a batch once decompressed
_MAGIC = 8  # bytes before the messages of a file
_HEADER, _BUFFERS, _COMPRESSION, _DATA = 2, 2, 3, 1  # numbers of fields: of a message, a batch, a dictionary's batch


def check_batches(path: Path, kind: str, name: str) -> None:
    """Raise a DataError if a batch would take too much memory; damaged files are left to the reader."""
    with pa.memory_map(os.fsencode(path)) as file:
        if kind == "arrow":
            file.seek(_MAGIC)
        while True:
            try:
                message = pa.ipc.read_message(file)
                size = _size(message) if message.type in ("record batch", "dictionary") else 0
            except (EOFError, OSError, pa.ArrowException, struct.error, ValueError, IndexError):
                return
            if size > _MAX_BATCH_BYTES:
                raise DataError(
                    f"{name}: a record batch takes {size / 1e6:,.0f} MB once decompressed, more than the limit of "
                    f"{_MAX_BATCH_BYTES >> 20} MB: rewrite the file with fewer rows per batch"
                )


def _size(message: Any) -> int:
    """Return the bytes of a batch's buffers once decompressed; 0 if they are not compressed."""
    data, body = memoryview(message.metadata), message.body
    batch = _table(data, _root(data), _HEADER)
    if message.type == "dictionary":
        batch = _table(data, batch, _DATA)
    if not _field(data, batch, _COMPRESSION):
        return 0
    buffers = _table(data, batch, _BUFFERS)
    total, raw = 0, memoryview(body)
    for place in range(_unsigned(data, buffers)):
        start, length = struct.unpack_from("<qq", data, buffers + 4 + 16 * place)
        if length >= 8:
            (size,) = struct.unpack_from("<q", raw, start)
            total += length if size < 0 else size  # -1: this one is not compressed
    return total


def _root(data: memoryview) -> int:
    return _unsigned(data, 0)


def _unsigned(data: memoryview, place: int) -> int:
    value: int = struct.unpack_from("<I", data, place)[0]
    return value


def _field(data: memoryview, table: int, number: int) -> int:
    """Return the position of a field of a table; 0 if it is absent."""
    (back,) = struct.unpack_from("<i", data, table)
    size, place = struct.unpack_from("<H", data, table - back)[0], 4 + 2 * number
    offset: int = struct.unpack_from("<H", data, table - back + place)[0] if place < size else 0
    return table + offset if offset else 0


def _table(data: memoryview, table: int, number: int) -> int:
    """Return the position that a field points to."""
    if not (place := _field(data, table, number)):
        raise ValueError("a field is not there")
    return place + _unsigned(data, place)
