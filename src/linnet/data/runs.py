"""Columns of an Arrow table some at a time: a call per column would take more time than the numbers of a short one.

A run is of neighbouring columns of one type of numbers, whose values NumPy has as they are. What is to be known of all
of them is computed of `Run.matrix` at once; any other column comes by itself.
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

_TOGETHER = 1 << 18  # numbers in a run
_LONG = 1 << 14  # rows; longer columns come one by one, where they lie
_FLOATS = ("double", "float")
_WHOLE = tuple(f"{sign}int{size}" for sign in ("", "u") for size in (8, 16, 32, 64))


@dataclass(frozen=True)
class Run:
    """Neighbouring columns of numbers."""

    first: int  # the place of the first among the table's columns
    columns: "pa.Table"
    type: str  # pyarrow's name of it

    @property
    def is_float(self) -> bool:
        """Whether missing numbers can be NaN."""
        return self.type not in _WHOLE

    @cached_property
    def matrix(self) -> NDArray[Any]:
        """The numbers, columns x rows, NaN where one is missing: a copy, but of a long column."""
        if len(self) == 1:
            return np.asarray(self.columns.column(0).to_numpy())[None]
        (batch,) = self.columns.to_batches()
        return np.asarray(batch.to_tensor(null_to_nan=self.is_float, row_major=False).to_numpy()).T

    def __len__(self) -> int:
        return int(self.columns.num_columns)


def runs_of(table: "pa.Table") -> Iterator["Run | int"]:
    """The columns of a table in their order: runs, and the places of those that are in none."""
    most = max(1, _TOGETHER // max(1, len(table))) if len(table) <= _LONG else 1
    types = [str(type_) for type_ in table.schema.types]
    first = 0  # of the run that is not yet whole
    if not len(table):
        yield from range(table.num_columns)
        return

    def run(last: int) -> Run:
        return Run(first, table.select(range(first, last)), types[first])

    for place, column in enumerate(table.itercolumns()):
        plain = types[place] in _FLOATS or (types[place] in _WHOLE and not column.null_count)
        plain = plain and column.num_chunks == 1
        if first < place and not (plain and types[place] == types[first] and place - first < most):
            yield run(place)
            first = place
        if not plain:
            yield place
            first = place + 1
    if first < table.num_columns:
        yield run(table.num_columns)


def finite(run: Run) -> NDArray[np.bool_]:
    """Which columns of a run have finite numbers only, but for missing ones."""
    if not run.is_float:
        return np.ones(len(run), np.bool_)
    odd = np.count_nonzero(~np.isfinite(run.matrix), axis=1)
    found: NDArray[np.bool_] = odd == 0
    for place in np.flatnonzero(odd):
        missing = run.columns.column(int(place)).null_count
        found[place] = missing == odd[place]  # a NaN that is not missing counts among the odd ones
    return found


def stacked(columns: Iterable[NDArray[Any]]) -> Iterator[NDArray[Any]]:
    """Columns of the same length in their order, as many at once as are of one type, columns x rows."""
    for _, same in groupby(columns, lambda column: column.dtype):
        for first in (rest := iter(same)):
            some = [first, *islice(rest, _TOGETHER // max(1, len(first)))]
            yield np.stack(some) if len(some) > 1 else first[None]
