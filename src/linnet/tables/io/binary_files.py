"""Parquet and Arrow files, some rows at a time: as many as are some ten megabytes once they are plain values.

What a file says once may stand for millions of values: a text in a dictionary, a run of one number. So long texts that
lie in dictionaries are read as such, and only as many rows as fit are made plain at a time. A file that stands for far
more than its size, terabytes in some kilobytes, is refused: to go through them would take days.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as parquet
from numpy.typing import NDArray

from linnet.errors import DataError
from linnet.tables.io.arrow_batches import check_batches
from linnet.tables.io.dialect import unique_names
from linnet.tables.io.parquet_pages import check_pages, with_long_texts
from linnet.tables.io.types import Types, converted, plain

_CHUNK = 1 << 23  # values in a chunk
_ROWS = 1 << 16  # in a chunk, at most
_BYTES = 1 << 26  # in a chunk, about
_LONG_TEXT_BYTES = 1 << 12  # bytes of a text; shorter ones are read plain, which is faster
_MAX_ROW_BYTES = 1 << 26  # bytes, as of text files
_MAX_PLAIN_BYTES = 1 << 34  # bytes that any file may stand for: some minutes of reading
_TIMES_FILE = 256  # of its size, that a larger file may stand for
_TOGETHER = 1 << 15  # columns of a wide table that are read at a time


@dataclass(frozen=True)
class BinaryFile:
    """A Parquet or Arrow file, whose columns have types."""

    name: str
    path: Path
    format: str
    schema: pa.Schema
    names: tuple[str, ...]
    metadata: Any = None  # of a Parquet file

    @property
    def size(self) -> int:
        """Size of the file in bytes."""
        return self.path.stat().st_size

    @property
    def known_types(self) -> Types:
        """Return the types of the columns, which the file states."""
        return {name: plain(type_) for name, type_ in zip(self.names, self.schema.types, strict=True)}

    def tables(self, columns: set[str] | None, types: Types, progress: Callable[[int], None]) -> Iterator[pa.Table]:
        """Yield some rows at a time."""
        size, done, plain_bytes = self.size, 0, 0
        for whole, total in self._batches(columns):
            whole.validate(full=True)  # what pyarrow trusts in a file
            sizes = _text_sizes(whole)
            plain_bytes += max(8 * whole.num_rows, _plain_size(whole, sizes))  # a row of nothing takes time, too
            if plain_bytes > max(_MAX_PLAIN_BYTES, _TIMES_FILE * size):
                raise self._too_much(whole, size)
            for batch in self._parts(whole, sizes, done):
                table = pa.Table.from_batches([batch]).rename_columns(self._wanted(columns, batch.num_columns))
                yield converted(table, types, self.name, done)
                done += batch.num_rows
                progress(int(size * done / max(1, total)))

    def _wanted(self, columns: set[str] | None, count: int) -> list[str]:
        names = list(self.names)
        return names if columns is None or count == len(names) else [name for name in names if name in columns]

    def _too_much(self, batch: pa.RecordBatch, size: int) -> DataError:
        """Build the error for a small file whose rows would take hours to go through."""
        columns = {name: batch.select([name]) for name in batch.schema.names}
        largest = max(columns, key=lambda name: _plain_size(columns[name], _text_sizes(columns[name])))
        limit = max(_MAX_PLAIN_BYTES, _TIMES_FILE * size) / 1e9
        return DataError(
            f"{self.name}: {size:,} bytes expand to more than {limit:,.0f} GB of values, and the limit is "
            f"{_MAX_PLAIN_BYTES / 1e9:,.0f} GB, or {_TIMES_FILE} times the file: rewrite the file without column "
            f"{largest!r}, which takes most of it, or with shorter texts or fewer rows"
        )

    def _parts(self, batch: pa.RecordBatch, sizes: NDArray[np.int64], first: int) -> Iterator[pa.RecordBatch]:
        """The batch in parts that are not too large as plain values; `sizes`: bytes of each row's texts."""
        ends = np.cumsum(sizes)
        if len(sizes) and sizes.max() > _MAX_ROW_BYTES:
            row = int(sizes.argmax())
            raise DataError(
                f"{self.name}, row {first + row + 1}: its texts take {sizes[row] / 1e6:,.0f} MB, more than the "
                f"limit of {_MAX_ROW_BYTES >> 20} MB: leave out the column with the long values, or shorten them"
            )
        start = 0
        while start < batch.num_rows:
            before = ends[start - 1] if start else 0
            end = max(start + 1, int(np.searchsorted(ends, before + _BYTES, side="right")))
            yield batch.slice(start, end - start)
            start = end

    def _batches(self, columns: set[str] | None) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Return the batches and the number of rows of the file, 0 if it is unknown."""
        places = [place for place, name in enumerate(self.names) if columns is None or name in columns]
        rows = max(1, min(_ROWS, _CHUNK // max(1, len(places))))
        if self.format == "parquet":
            yield from self._parquet(places, rows)
            return
        check_batches(self.path, self.format, self.name)
        with pa.OSFile(os.fsencode(self.path)) as file:
            if self.format == "arrow":
                with pa.ipc.open_file(file) as whole:
                    for index in range(whole.num_record_batches):
                        batch = whole.get_batch(index)
                        batch.validate()
                        for start in range(0, batch.num_rows, rows):
                            yield batch.slice(start, rows), batch.num_rows * whole.num_record_batches
            else:
                with pa.ipc.open_stream(file) as whole:
                    for batch in whole:
                        for start in range(0, batch.num_rows, rows):
                            yield batch.slice(start, rows), 0

    def _parquet(self, places: list[int], rows: int) -> Iterator[tuple[pa.RecordBatch, int]]:
        flat = not any(pa.types.is_nested(type_) for type_ in self.schema.types)  # then leaves are columns
        everything = len(places) == len(self.names)
        metadata = self.metadata
        with self.path.open("rb") as file:
            check_pages(file, metadata, places if flat and not everything else None, self.name)
            long = with_long_texts(file, metadata, _LONG_TEXT_BYTES)
        groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
        widest = max((group.total_byte_size / max(1, group.num_rows) for group in groups), default=0.0)
        rows = max(1, min(rows, int(_BYTES / max(1.0, widest))))
        own = list(self.schema.names) == list(self.names)
        chosen = [self.names[place] for place in places] if own and not everything else None
        texts = [field.name for field in self.schema if field.name in long and _is_text(field.type)]
        how: dict[str, Any] = {"page_checksum_verification": True, "read_dictionary": texts, "metadata": metadata}
        with pa.OSFile(os.fsencode(self.path)) as source, parquet.ParquetFile(source, **how) as whole:
            if own and flat and len(places) > _TOGETHER and metadata.num_rows <= rows:
                yield self._by_columns(whole, [self.names[place] for place in places]), metadata.num_rows
                return
            for batch in whole.iter_batches(rows, columns=chosen):
                yield batch, metadata.num_rows

    @staticmethod
    def _by_columns(whole: parquet.ParquetFile, names: list[str]) -> pa.RecordBatch:
        """All rows, few of a wide table, some columns after the others: each takes memory while it is read."""
        arrays: list[Any] = []
        for first in range(0, len(names), _TOGETHER):
            table = whole.read(columns=names[first : first + _TOGETHER])
            arrays += [_one_array(column) for column in table.itercolumns()]
        return pa.RecordBatch.from_arrays(arrays, names)


def open_binary(name: str, path: Path, kind: str, notice: Callable[[str], None]) -> BinaryFile:
    """Read what columns there are."""
    metadata = None
    with pa.OSFile(os.fsencode(path)) as file:
        if kind == "parquet":
            with parquet.ParquetFile(file) as whole:
                schema, metadata = whole.schema_arrow, whole.metadata
        else:
            schema = (pa.ipc.open_file if kind == "arrow" else pa.ipc.open_stream)(file).schema
    if not schema.names:
        raise DataError(f"{name} has no columns")
    return BinaryFile(name, path, kind, schema, unique_names(name, schema.names, notice), metadata)


def _text_sizes(batch: pa.RecordBatch) -> NDArray[np.int64]:
    """Return the bytes of each row's texts."""
    sizes = np.zeros(batch.num_rows, np.int64)
    for column in batch.columns:
        if (lengths := _lengths(column)) is not None:
            sizes += lengths
    return sizes


def _plain_size(batch: pa.RecordBatch, text_sizes: NDArray[np.int64]) -> int:
    """Return about how many bytes a batch takes as plain values."""
    runs = sum(pa.types.is_run_end_encoded(type_) for type_ in batch.schema.types)
    return max(int(8 * batch.num_rows * runs), int(batch.nbytes), int(text_sizes.sum()))


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _is_text(type_: pa.DataType) -> bool:
    kinds = pa.types
    return bool(kinds.is_string(type_) or kinds.is_large_string(type_) or kinds.is_binary(type_))


def _lengths(column: pa.Array) -> Any:
    """Return the bytes of each row's text; None for a column without texts."""
    if pa.types.is_dictionary(column.type):
        of_values = _lengths(column.dictionary)
        if of_values is None or not len(of_values):
            return None
        codes = column.indices.fill_null(0).to_numpy(zero_copy_only=False)
        return of_values[codes] * ~np.asarray(column.is_null())
    if not (_is_text(column.type) or pa.types.is_large_binary(column.type)):
        return None
    return pc.binary_length(column).fill_null(0).to_numpy(zero_copy_only=False)
