"""How much memory the pages of a Parquet file take: a few kilobytes may be a page of gigabytes once decompressed.

A reader decompresses one page of each column at a time. Their sizes are in their headers, which are structures in
Thrift's compact form in front of each page; what the file says of a column as a whole is their sum.
"""

import struct
from typing import Any, BinaryIO

import pyarrow as pa

from linnet.errors import DataError

_MAX_PAGE_BYTES = 1 << 27  # bytes once decompressed
_MAX_BYTES_AT_ONCE = 1 << 31  # bytes, of one page of each column
_HEADER = 1 << 16  # bytes that a header may have; statistics of a page may be long texts
_MAX_PAGES = 1_000_000  # of a column in a row group
_TYPE, _UNCOMPRESSED, _COMPRESSED = 1, 2, 3  # numbers of the fields of a header; the others are sizes
_DICTIONARY = 2  # the type of a page
_LENGTH = struct.Struct("<I")  # before each entry of a dictionary


def check_pages(file: BinaryIO, metadata: Any, columns: list[int] | None, name: str) -> None:
    """Raise a DataError if the pages of these columns, by number, would take too much memory at once."""
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        chosen = range(row_group.num_columns) if columns is None else columns
        if row_group.total_byte_size <= _MAX_PAGE_BYTES:
            continue
        total = 0
        for chunk in map(row_group.column, chosen):
            size = chunk.total_uncompressed_size
            if size > _MAX_PAGE_BYTES and (size := _largest_page(file, chunk)) > _MAX_PAGE_BYTES:
                raise DataError(
                    f"{name}: column {chunk.path_in_schema!r} has a page of {size / 1e6:,.0f} MB once decompressed, "
                    f"more than the limit of {_MAX_PAGE_BYTES >> 20} MB: rewrite the file with smaller pages, "
                    "or without the column"
                )
            total += size
        if total > _MAX_BYTES_AT_ONCE:
            raise DataError(
                f"{name}: a page of each column takes {total / 1e9:,.1f} GB at once, more than the limit of "
                f"{_MAX_BYTES_AT_ONCE >> 30} GB: rewrite the file with smaller pages or fewer rows per row group"
            )


def with_long_texts(file: BinaryIO, metadata: Any, limit: int) -> set[str]:
    """The columns with dictionaries of texts of which one is longer than so many bytes, or may be for all we know: a
    few bytes of such a column stand for many.
    """
    found: set[str] = set()
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        for place in range(row_group.num_columns):
            chunk = row_group.column(place)
            is_text = chunk.physical_type == "BYTE_ARRAY" and chunk.total_uncompressed_size > limit
            if is_text and chunk.path_in_schema not in found and _longest_entry(file, chunk, limit) > limit:
                found.add(chunk.path_in_schema)
    return found


def _longest_entry(file: BinaryIO, chunk: Any, limit: int) -> float:
    """Return the length of a dictionary entry longer than the limit, 0 if there is none, infinity if unknown."""
    place = _start(chunk)
    file.seek(place)
    try:
        sizes, length = _sizes(file.read(_HEADER))
        if sizes[_TYPE] != _DICTIONARY or sizes[_UNCOMPRESSED] <= limit:
            return 0
        if sizes[_UNCOMPRESSED] > _MAX_PAGE_BYTES:
            return float("inf")
        file.seek(place + length)
        page = file.read(sizes[_COMPRESSED])
        if chunk.compression != "UNCOMPRESSED":
            codec = {"LZ4": "lz4_raw"}.get(chunk.compression, chunk.compression.lower())
            page = pa.Codec(codec).decompress(page, sizes[_UNCOMPRESSED], asbytes=True)
        at, end = 0, len(page)
        while at < end:
            (size,) = _LENGTH.unpack_from(page, at)
            if size > limit:
                return float(size)
            at += 4 + size
    except (IndexError, KeyError, ValueError, OSError, RecursionError, struct.error):
        return float("inf")
    return 0


def _start(chunk: Any) -> int:
    """Return the position of a column's first page."""
    place: int = chunk.data_page_offset
    if chunk.dictionary_page_offset is not None and 0 < chunk.dictionary_page_offset < place:
        place = chunk.dictionary_page_offset
    return place


def _largest_page(file: BinaryIO, chunk: Any) -> int:
    """Return the size of a column's largest page once decompressed; damaged files are left to the reader."""
    place = _start(chunk)
    end, largest = place + chunk.total_compressed_size, 0
    for _ in range(_MAX_PAGES):
        if place >= end:
            break
        file.seek(place)
        try:
            sizes, length = _sizes(file.read(_HEADER))
        except (IndexError, ValueError, RecursionError):
            break
        largest = max(largest, sizes.get(_UNCOMPRESSED, 0))
        if sizes.get(_COMPRESSED, -1) < 0:
            break
        place += length + sizes[_COMPRESSED]
    return largest


def _sizes(header: bytes) -> tuple[dict[int, int], int]:
    """The whole numbers among a header's own fields, by their numbers, and its length."""
    found: dict[int, int] = {}
    place, number = 0, 0
    while kind := header[place]:
        place, number = place + 1, number + (kind >> 4)
        if not kind >> 4:
            number, place = _number(header, place)
        if kind & 15 in (4, 5, 6):
            found[number], place = _number(header, place)
        else:
            place = _after(header, place, kind & 15)
    return found, place + 1


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        byte = data[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place
        if shift > 63:
            raise ValueError("no number")


def _number(data: bytes, place: int) -> tuple[int, int]:
    value, place = _varint(data, place)
    return (value >> 1) ^ -(value & 1), place


def _after(data: bytes, place: int, kind: int) -> int:
    """Return the position after a value that is skipped."""
    if kind in (1, 2):  # true and false are told by the kind
        return place
    if kind == 3:
        return place + 1
    if kind in (4, 5, 6):
        return _varint(data, place)[1]
    if kind == 7:
        return place + 8
    if kind == 8:
        length, place = _varint(data, place)
        return place + length
    if kind in (9, 10):
        count, inner = data[place] >> 4, data[place] & 15
        place += 1
        if count == 15:
            count, place = _varint(data, place)
        if count > len(data):
            raise ValueError("no list")
        for _ in range(count):
            place = place + 1 if inner in (1, 2) else _after(data, place, inner)
        return place
    if kind == 12:
        while field := data[place]:
            place += 1
            if not field >> 4:
                place = _varint(data, place)[1]
            place = _after(data, place, field & 15)
        return place + 1
    raise ValueError(f"no kind {kind}")
