"""The columns of a model: arrays, sparse matrices and data frames, read where they lie.

Columns of text or categories become columns of codes: in the model each level has a coefficient of its own, but its
column of zeros and ones is never built for more than a few rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby, islice
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from linnet._native import core
from linnet.data.table import Array

Codes = NDArray[np.signedinteger[Any]]  # int8, int16 or int32
Sparse = tuple[Array, Array, Array]  # starts of rows, columns, values
_LOOKED_AT = 1_000_000  # numbers of a table at a time
_TOGETHER = 1024  # columns of a data frame
_ROWS_LOOKED_AT = 512
_FAR_OUT = 1000.0  # times the width of the middle half of a column


@dataclass(frozen=True, slots=True)
class Columns:
    """Dense tables, a sparse matrix by rows and columns of codes, in that order, over the same rows."""

    rows: int
    tables: tuple[Array, ...] = ()
    sparse: Sparse | None = None
    sparse_columns: int = 0
    codes: tuple[Codes, ...] = ()
    levels: tuple[int, ...] = ()

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, part: slice | NDArray[np.intp]) -> "Columns":
        """Some of the rows; those of a slice as views, where there can be."""
        rows = range(self.rows)[part] if isinstance(part, slice) else np.arange(self.rows)[part]
        return replace(
            self,
            rows=len(rows),
            tables=tuple(table[part] for table in self.tables),
            sparse=None if self.sparse is None else self._sparse_rows(self.sparse, rows),
            codes=tuple(np.ascontiguousarray(column[part]) for column in self.codes),
        )

    def _sparse_rows(self, sparse: Sparse, rows: range | NDArray[np.intp]) -> Sparse:
        starts, indices, values = sparse
        if isinstance(rows, range) and rows.step == 1:
            starts = starts[rows.start : max(rows.start, rows.stop) + 1]
            entries = slice(starts[0], starts[-1])
            return starts - starts[0], indices[entries], values[entries]
        matrix = scipy.sparse.csr_array((values, indices, starts), shape=(self.rows, self.sparse_columns))
        chosen = matrix[np.asarray(rows)]
        return chosen.indptr.astype(np.int64), chosen.indices, chosen.data

    def to_core(self) -> core.Columns:
        """Return the core's view of the columns."""
        return core.Columns(
            self.rows, list(self.tables), self.sparse, self.sparse_columns, list(self.codes), list(self.levels)
        )

    @property
    def entries_per_row(self) -> float:
        """How many values a row holds on average, a level being one and zeros of the sparse matrix none."""
        in_matrix = 0 if self.sparse is None else len(self.sparse[1])
        return self.dense + len(self.codes) + in_matrix / max(1, self.rows)

    @property
    def dense(self) -> int:
        """Number of dense columns."""
        return sum(table.shape[1] for table in self.tables)

    @property
    def count(self) -> int:
        """Number of columns, a level of a code being one."""
        return self.dense + self.sparse_columns + sum(self.levels)

    def entries(self) -> "scipy.sparse.csr_array[Any]":
        """All columns but the dense ones, levels among them, as one sparse matrix."""
        parts = []
        if self.sparse is not None:
            starts, indices, values = self.sparse
            parts.append(scipy.sparse.csr_array((values, indices, starts), shape=(self.rows, self.sparse_columns)))
        for column, count in zip(self.codes, self.levels, strict=True):
            known = column >= 0
            starts = np.concatenate([[0], np.cumsum(known)])
            ones = np.ones(int(known.sum()))
            parts.append(scipy.sparse.csr_array((ones, column[known], starts), shape=(self.rows, count)))
        return scipy.sparse.csr_array(scipy.sparse.hstack(parts, format="csr"))

    def largest(self) -> NDArray[np.float64]:
        """The largest size of a number in each column of numbers."""
        ends = [(table.min(axis=0), table.max(axis=0)) for table in self.tables]  # no copy of a table
        parts = [np.maximum(-low.astype(np.float64), high) for low, high in ends]
        if self.sparse is not None:
            _, indices, values = self.sparse
            parts.append(np.zeros(self.sparse_columns))
            np.maximum.at(parts[-1], indices, np.abs(values))
        return np.concatenate([*parts, np.empty(0)])

    def far_from_zero(self, most: float) -> NDArray[np.intp]:
        """Sparse columns with an entry in every row, further from 0 than so many times the width they spread over."""
        if self.sparse is None:
            return np.empty(0, np.intp)
        starts, indices, values = self.sparse
        rows = range(0, self.rows, max(1, self.rows // _ROWS_LOOKED_AT))
        some = np.concatenate([np.arange(starts[row], starts[row + 1]) for row in rows])
        places = np.unique(indices[: starts[1]])  # a column without zeros is in the first row
        places = _far_from_zero(places, indices[some], values[some], len(rows), most)
        return _far_from_zero(places, indices, values, self.rows, most) if len(places) else places

    def ends(self, group: NDArray[np.intp], groups: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The smallest and the largest number of each column among the rows of each group, groups x columns; infinite
        where a group has no rows. A group below 0: the row does not count.
        """
        low, high = np.full((groups, self.count), np.inf), np.full((groups, self.count), -np.inf)
        rows_of = np.split(np.argsort(group, kind="stable"), np.searchsorted(np.sort(group), np.arange(groups)))[1:]
        first = 0
        for table in self.tables:
            place, some = slice(first, first + table.shape[1]), max(1, _LOOKED_AT // table.shape[1])
            for of, rows in enumerate(rows_of):
                for part in (table[rows[start : start + some]] for start in range(0, len(rows), some)):
                    low[of, place] = np.minimum(low[of, place], part.min(axis=0))
                    high[of, place] = np.maximum(high[of, place], part.max(axis=0))
            first = place.stop
        if self.sparse is not None:
            starts, indices, values = self.sparse
            matrix = scipy.sparse.csr_array((values, indices, starts), shape=(self.rows, self.sparse_columns))
            place = slice(first, first + self.sparse_columns)
            for of, rows in enumerate(rows_of):
                if len(rows):
                    mine = matrix[rows]
                    low[of, place], high[of, place] = (end(axis=0).toarray().ravel() for end in (mine.min, mine.max))
            first = place.stop
        there = np.array([[len(rows)] for rows in rows_of])
        for column, count in zip(self.codes, self.levels, strict=True):
            known = (group >= 0) & (column >= 0)
            cells = group[known] * count + column[known]
            found = np.bincount(cells, minlength=groups * count).reshape(groups, count)
            place = slice(first, first + count)
            low[:, place] = np.where(there > 0, found == there, np.inf)
            high[:, place] = np.where(there > 0, found > 0, -np.inf)
            first = place.stop
        return low, high

    def take(self, chosen: NDArray[np.intp]) -> "Columns":
        """Some of the columns, in rising order."""
        tables, start = [], 0
        for table in self.tables:
            mine = chosen[(chosen >= start) & (chosen < start + table.shape[1])] - start
            if len(mine) == table.shape[1]:
                tables.append(table)
            elif len(mine):
                tables.append(table[:, mine])
            start += table.shape[1]
        sparse, width = None, 0
        if self.sparse is not None:
            mine = chosen[(chosen >= start) & (chosen < start + self.sparse_columns)] - start
            starts, indices, values = self.sparse
            matrix = scipy.sparse.csr_array((values, indices, starts), shape=(self.rows, self.sparse_columns))[:, mine]
            sparse, width = (matrix.indptr.astype(np.int64), matrix.indices, matrix.data), len(mine)
            start += self.sparse_columns
        codes, levels = [], []
        for column, count in zip(self.codes, self.levels, strict=True):
            mine = chosen[(chosen >= start) & (chosen < start + count)] - start
            if len(mine):
                place = np.full(count + 1, -1, code_type(len(mine)))  # one more for rows without a level
                place[mine] = np.arange(len(mine))
                codes.append(place[column])
                levels.append(len(mine))
            start += count
        return Columns(self.rows, tuple(tables), sparse, width, tuple(codes), tuple(levels))

    def middle(self, weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Roughly where the dense columns lie: the mean of some rows, or their median where a few numbers are so large
        that the mean is far from all the others, whose digits would be lost. Rows without weight may hold anything.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            some_rows = self._weighted(weights, _ROWS_LOOKED_AT)._some_rows(_ROWS_LOOKED_AT)
            means = [_middle(some.astype(np.float64, copy=False)) for some in some_rows]
        return np.concatenate([*(np.where(np.isfinite(mean), mean, 0.0) for mean in means), np.empty(0)])

    def spread(self, weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Roughly how far they spread: the standard deviation of more of them, for the sake of rare values."""
        with np.errstate(over="ignore", invalid="ignore"):  # infinite where squares are no numbers
            some_rows = self._weighted(weights, 4096)._some_rows(4096)
            spreads = [np.std(some, axis=0, dtype=np.float64) for some in some_rows]
        return np.concatenate([*spreads, np.empty(0)])

    def _weighted(self, weights: NDArray[np.float64] | None, most: int) -> "Columns":
        """About so many of the rows that have a weight; all rows if each has one, or none."""
        if weights is None or weights.all() or not weights.any():
            return self
        kept = np.flatnonzero(weights)
        return replace(self, sparse=None, codes=())[kept[:: max(1, len(kept) // most)]]

    def _some_rows(self, most: int) -> Iterator[Array]:
        """Some rows of the dense columns; the columns of a data frame many at a time, as each call takes time."""
        rows = max(32, min(most, 4_000_000 // max(1, self.dense)))
        step = max(1, self.rows // rows)
        for single, tables in groupby(self.tables, lambda table: table.shape[1] == 1):
            while some := [table[::step] for table in islice(tables, _TOGETHER if single else 1)]:
                # a column in one piece, so that its sum is the one it has alone
                yield some[0] if len(some) == 1 else np.concatenate([one.T for one in some], dtype=np.float64).T


def _middle(some: NDArray[np.float64]) -> NDArray[np.float64]:
    low, median, high = np.quantile(some, [0.25, 0.5, 0.75], axis=0)
    mean = some.mean(axis=0)
    return np.asarray(np.where((high > low) & ~(np.abs(mean - median) <= _FAR_OUT * (high - low)), median, mean))


def _far_from_zero(places: Array, indices: Array, values: Array, rows: int, most: float) -> NDArray[np.intp]:
    """Those of some columns with as many entries as rows, and far from 0: see `Columns.far_from_zero`."""
    if not len(places):
        return np.empty(0, np.intp)
    at = np.minimum(np.searchsorted(places, indices), len(places) - 1)
    there = places[at] == indices
    at, values = at[there], values[there].astype(np.float64)
    low, high = np.full(len(places), np.inf), np.full(len(places), -np.inf)
    np.minimum.at(low, at, values)
    np.maximum.at(high, at, values)
    full = np.bincount(at, minlength=len(places)) == rows
    with np.errstate(over="ignore"):
        far = np.minimum(np.abs(low), np.abs(high)) > most * (high - low)
    return np.asarray(places[full & (high > low) & far], np.intp)


def code_type(levels: int) -> "np.dtype[np.signedinteger[Any]]":
    """The smallest type for codes -1 .. levels - 1; a code + 1 fits as well."""
    return np.min_scalar_type(-levels - 1)


def as_columns(x: Array | Columns) -> Columns:
    """Return a table as Columns, and Columns as they are."""
    return x if isinstance(x, Columns) else Columns(len(x), tables=(x,))
