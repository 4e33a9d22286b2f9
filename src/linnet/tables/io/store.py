"""Encoded rows in a file: what is too large for memory is read from there, again and again, as if it were an array.

    encoder, columns = Encoder.learn(sample)
    store = Store(folder, 10_000_000, columns, {"target": np.float64})
    for chunk in ...:
        store.append(encoder.encode(chunk), {"target": t})
    columns, vectors = store.read()

The file has no name and is gone with the process, whatever ends it. Its pages are the system's to keep or to drop.
"""

import mmap
import os
import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from linnet.data.columns import Columns
from linnet.data.table import Array
from linnet.errors import DataError

_ALIGNED = 4096  # bytes at which an array may begin


@dataclass(frozen=True)
class _Place:
    """The position, type and shape of an array in the file."""

    offset: int
    dtype: np.dtype[Any]
    width: int

    @property
    def row(self) -> int:
        """Return the bytes of a row."""
        return self.dtype.itemsize * self.width


class Store:
    """An unnamed file in `folder` for up to `rows` rows of columns `like` these, and of vectors beside them."""

    def __init__(self, folder: Path, rows: int, like: Columns, vectors: Mapping[str, Any]) -> None:
        assert like.sparse is None, "tables have no sparse columns"
        self._folder, self._most = folder, rows
        try:
            self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (as long as the store)
        except OSError as error:
            raise DataError(f"no temporary file can be made in {folder}: {error.strerror}") from None
        weakref.finalize(self, self._file.close)
        self._size, self.rows = 0, 0
        widths = [(table.dtype, table.shape[1]) for table in like.tables]
        neighbours = groupby(widths, key=lambda width: width[0])  # of one type are one table
        self._dense = [self._place(dtype, sum(width for _, width in group)) for dtype, group in neighbours]
        self._codes = [self._place(codes.dtype, 1) for codes in like.codes]
        self._levels = like.levels
        self._vectors = {name: self._place(dtype, 1) for name, dtype in vectors.items()}

    def append(self, columns: Columns, vectors: Mapping[str, Array]) -> None:
        """Write rows."""
        first = 0
        for place in self._dense:
            tables, width = [], 0
            while width < place.width:
                tables.append(columns.tables[first])
                width, first = width + tables[-1].shape[1], first + 1
            self._write(place, np.hstack(tables))
        for place, codes in zip(self._codes, columns.codes, strict=True):
            self._write(place, codes)
        for name, place in self._vectors.items():
            self._write(place, vectors[name])
        self.rows += columns.rows

    def read(self) -> tuple[Columns, dict[str, Array]]:
        """Return all rows and their vectors, mapped into memory; nothing can be appended afterwards."""
        if self.rows == 0:
            raise DataError("there are no rows")
        os.ftruncate(self._file.fileno(), self._size)
        mapped = mmap.mmap(self._file.fileno(), self._size, access=mmap.ACCESS_READ)

        def view(place: _Place) -> Array:
            return np.frombuffer(mapped, place.dtype, self.rows * place.width, place.offset)

        tables = tuple(view(place).reshape(self.rows, place.width) for place in self._dense)
        codes = tuple(view(place) for place in self._codes)
        vectors = {name: view(place) for name, place in self._vectors.items()}
        return Columns(self.rows, tables=tables, codes=codes, levels=self._levels), vectors

    def _place(self, dtype: Any, width: int) -> _Place:
        place = _Place(self._size, np.dtype(dtype), width)
        self._size += -(-self._most * place.row // _ALIGNED) * _ALIGNED
        return place

    def _write(self, place: _Place, values: Array) -> None:
        # a gap where the first rows had none makes numbers of zeros and ones, which fit again
        bytes_ = np.ascontiguousarray(values, place.dtype).data.cast("B")
        offset = place.offset + self.rows * place.row
        try:
            while bytes_:
                written = os.pwrite(self._file.fileno(), bytes_, offset)
                bytes_, offset = bytes_[written:], offset + written
        except OSError as error:
            need = f"{self._size / 1e9:,.1f} GB of encoded rows"
            raise DataError(f"{self._folder} cannot hold {need}: {error.strerror}: free some space there") from None
