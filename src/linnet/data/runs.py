"""Columns of an Arrow table in runs: for short columns, a call per column would take longer than the computation.

A run consists of adjacent numeric columns of one type, which NumPy can represent. Computations on all of its columns
use `Run.matrix`; columns of other types are handled one by one.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linnet._cached import cached_property

if TYPE_CHECKING:
    import pyarrow as pa

_MAX_CELLS_PER_RUN = 1 << 18
_MAX_ROWS_PER_RUN = 1 << 14  # longer columns are read one by one, in place
_FLOATS = ("double", "float")
_INTEGERS = tuple(f"{sign}int{size}" for sign in ("", "u") for size in (8, 16, 32, 64))


@dataclass(frozen=True)
class Run:
    """Adjacent numeric columns of one type."""

    first: int  # the index of the first of them in the table
    columns: "pa.Table"
    type: str  # pyarrow's name of the type

    @property
    def is_float(self) -> bool:
        """Whether the type is a float, so that missing values can be NaN."""
        return self.type not in _INTEGERS

    @cached_property
    def matrix(self) -> NDArray[Any]:
        """The values, columns x rows, with NaN for missing ones: a copy, except for a long column."""
        if len(self) == 1:
            return np.asarray(self.columns.column(0).to_numpy())[None]
        (batch,) = self.columns.to_batches()
        return np.asarray(batch.to_tensor(null_to_nan=self.is_float, row_major=False).to_numpy()).T

    def __len__(self) -> int:
        return int(self.columns.num_columns)


def runs_of(table: "pa.Table") -> Iterator["Run | int"]:
    """Yield the columns of a table in order: runs, and the indices of columns that are in none."""
    max_columns = max(1, _MAX_CELLS_PER_RUN // max(1, len(table))) if len(table) <= _MAX_ROWS_PER_RUN else 1
    types = [str(type_) for type_ in table.schema.types]
    first = 0  # of the current run
    if not len(table):
        yield from range(table.num_columns)
        return

    def run(end: int) -> Run:
        return Run(first, table.select(range(first, end)), types[first])

    for index, column in enumerate(table.itercolumns()):
        plain = types[index] in _FLOATS or (types[index] in _INTEGERS and not column.null_count)
        plain = plain and column.num_chunks == 1
        if first < index and not (plain and types[index] == types[first] and index - first < max_columns):
            yield run(index)
            first = index
        if not plain:
            yield index
            first = index + 1
    if first < table.num_columns:
        yield run(table.num_columns)


def finite(run: Run) -> NDArray[np.bool_]:
    """Return, for each column of a run, whether all values that are not missing are finite."""
    if not run.is_float:
        return np.ones(len(run), np.bool_)
    counts = np.count_nonzero(~np.isfinite(run.matrix), axis=1)
    is_finite: NDArray[np.bool_] = counts == 0
    for index in np.flatnonzero(counts):
        missing = run.columns.column(int(index)).null_count
        is_finite[index] = missing == counts[index]  # a NaN that is not a missing value counts, too
    return is_finite


def stacked(columns: Iterable[NDArray[Any]]) -> Iterator[NDArray[Any]]:
    """Yield columns of the same length in order, in blocks of one type, as arrays of columns x rows."""
    for _, same in groupby(columns, lambda column: column.dtype):
        for first in (rest := iter(same)):
            block = [first, *islice(rest, _MAX_CELLS_PER_RUN // max(1, len(first)))]
            yield np.stack(block) if len(block) > 1 else first[None]
