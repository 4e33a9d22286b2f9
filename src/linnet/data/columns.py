"""The columns of a model, from arrays, sparse matrices and data frames, read in place.

Columns of text or categories become columns of codes: each level has its own coefficient in the model, but the one-hot
columns are never built for more than a few rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from linnet._native import core
from linnet.data.table import Array

Codes = NDArray[np.signedinteger[Any]]  # int8, int16 or int32
Sparse = tuple[Array, Array, Array]  # starts of rows, columns, values
_CELLS_PER_BLOCK = 1_000_000
_COLUMNS_PER_BLOCK = 1024  # of a data frame
_SAMPLE_ROWS = 512
_MAX_MEAN_DISTANCE = 1000.0  # of mean from median, in units of the interquartile range


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a model: dense tables, a sparse matrix in CSR format and columns of codes, over the same rows."""

    rows: int
    tables: tuple[Array, ...] = ()
    sparse: Sparse | None = None
    sparse_columns: int = 0
    codes: tuple[Codes, ...] = ()
    levels: tuple[int, ...] = ()
    dense: int = field(init=False, repr=False, compare=False)  # number of dense columns, which is asked for often

    def __post_init__(self) -> None:
        object.__setattr__(self, "dense", sum(table.shape[1] for table in self.tables))

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, part: slice | NDArray[np.intp]) -> "Columns":
        """Return a subset of the rows; for a slice, as views where possible."""
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
        """The mean number of stored values per row: dense values, codes, and entries of the sparse matrix."""
        in_matrix = 0 if self.sparse is None else len(self.sparse[1])
        return self.dense + len(self.codes) + in_matrix / max(1, self.rows)

    @property
    def count(self) -> int:
        """The number of columns, with one per level."""
        return self.dense + self.sparse_columns + sum(self.levels)

    def entries(self) -> "scipy.sparse.csr_array[Any]":
        """Return the sparse columns and the one-hot columns of levels as one sparse matrix."""
        parts = []
        if self.sparse is not None:
            starts, indices, values = self.sparse
            parts.append(scipy.sparse.csr_array((values, indices, starts), shape=(self.rows, self.sparse_columns)))
        for column, count in zip(self.codes, self.levels, strict=True):
            has_level = column >= 0
            starts = np.concatenate([[0], np.cumsum(has_level)])
            ones = np.ones(int(has_level.sum()))
            parts.append(scipy.sparse.csr_array((ones, column[has_level], starts), shape=(self.rows, count)))
        return scipy.sparse.csr_array(scipy.sparse.hstack(parts, format="csr"))

    def largest(self) -> NDArray[np.float64]:
        """Return the largest absolute value of each dense and each sparse column."""
        ends = [(table.min(axis=0), table.max(axis=0)) for table in self.tables]  # unlike np.abs, without a copy
        parts = [np.maximum(-low.astype(np.float64), high) for low, high in ends]
        if self.sparse is not None:
            _, indices, values = self.sparse
            parts.append(np.zeros(self.sparse_columns))
            np.maximum.at(parts[-1], indices, np.abs(values))
        return np.concatenate([*parts, np.empty(0)])

    def far_from_zero(self, ratio: float) -> NDArray[np.intp]:
        """Return the sparse columns without zeros whose distance from 0 is more than `ratio` times their range."""
        if self.sparse is None:
            return np.empty(0, np.intp)
        starts, indices, values = self.sparse
        rows = range(0, self.rows, max(1, self.rows // _SAMPLE_ROWS))
        sample = np.concatenate([np.arange(starts[row], starts[row + 1]) for row in rows])
        columns = np.unique(indices[: starts[1]])  # a column without zeros has an entry in the first row
        columns = _far_from_zero(columns, indices[sample], values[sample], len(rows), ratio)
        return _far_from_zero(columns, indices, values, self.rows, ratio) if len(columns) else columns

    def ends(self, group: NDArray[np.intp], groups: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the minimum and the maximum of each column in each group of rows, groups x columns.

        They are infinite for a group without rows. Rows whose group is below 0 do not count.
        """
        low, high = np.full((groups, self.count), np.inf), np.full((groups, self.count), -np.inf)
        rows_of = np.split(np.argsort(group, kind="stable"), np.searchsorted(np.sort(group), np.arange(groups)))[1:]
        first = 0
        for table in self.tables:
            columns, step = slice(first, first + table.shape[1]), max(1, _CELLS_PER_BLOCK // table.shape[1])
            for k, rows in enumerate(rows_of):
                for block in (table[rows[start : start + step]] for start in range(0, len(rows), step)):
                    low[k, columns] = np.minimum(low[k, columns], block.min(axis=0))
                    high[k, columns] = np.maximum(high[k, columns], block.max(axis=0))
            first = columns.stop
        if self.sparse is not None:
            starts, indices, values = self.sparse
            matrix = scipy.sparse.csr_array((values, indices, starts), shape=(self.rows, self.sparse_columns))
            columns = slice(first, first + self.sparse_columns)
            for k, rows in enumerate(rows_of):
                if len(rows):
                    picked = matrix[rows]
                    low[k, columns], high[k, columns] = (
                        end(axis=0).toarray().ravel() for end in (picked.min, picked.max)
                    )
            first = columns.stop
        sizes = np.array([[len(rows)] for rows in rows_of])
        for column, count in zip(self.codes, self.levels, strict=True):
            is_counted = (group >= 0) & (column >= 0)
            cells = group[is_counted] * count + column[is_counted]
            counts = np.bincount(cells, minlength=groups * count).reshape(groups, count)
            columns = slice(first, first + count)
            low[:, columns] = np.where(sizes > 0, counts == sizes, np.inf)
            high[:, columns] = np.where(sizes > 0, counts > 0, -np.inf)
            first = columns.stop
        return low, high

    def take(self, chosen: NDArray[np.intp]) -> "Columns":
        """Return a subset of the columns, given by indices in ascending order."""
        tables, start = [], 0
        for table in self.tables:
            inside = chosen[(chosen >= start) & (chosen < start + table.shape[1])] - start
            if len(inside) == table.shape[1]:
                tables.append(table)
            elif len(inside):
                tables.append(table[:, inside])
            start += table.shape[1]
        sparse, width = None, 0
        if self.sparse is not None:
            inside = chosen[(chosen >= start) & (chosen < start + self.sparse_columns)] - start
            starts, indices, values = self.sparse
            matrix = scipy.sparse.csr_array((values, indices, starts), shape=(self.rows, self.sparse_columns))
            matrix = matrix[:, inside]
            sparse, width = (matrix.indptr.astype(np.int64), matrix.indices, matrix.data), len(inside)
            start += self.sparse_columns
        codes, levels = [], []
        for column, count in zip(self.codes, self.levels, strict=True):
            inside = chosen[(chosen >= start) & (chosen < start + count)] - start
            if len(inside):
                new_code = np.full(count + 1, -1, code_type(len(inside)))  # the last entry: for rows without a level
                new_code[inside] = np.arange(len(inside))
                codes.append(new_code[column])
                levels.append(len(inside))
            start += count
        return Columns(self.rows, tuple(tables), sparse, width, tuple(codes), tuple(levels))

    def middle(self, weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return an approximate centre of each dense column, from a sample of rows.

        It is the mean, or the median where a few values are so large that the mean is far from all others, which would
        lose precision. Rows of weight 0 may hold any values.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            samples = self._weighted(weights, _SAMPLE_ROWS)._sampled(_SAMPLE_ROWS)
            means = [_centre(sample.astype(np.float64, copy=False)) for sample in samples]
        return np.concatenate([*(np.where(np.isfinite(mean), mean, 0.0) for mean in means), np.empty(0)])

    def spread(self, weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return the approximate standard deviation of each dense column, from a larger sample of rows."""
        with np.errstate(over="ignore", invalid="ignore"):  # infinite where squares overflow
            samples = self._weighted(weights, 4096)._sampled(4096)
            spreads = [np.std(sample, axis=0, dtype=np.float64) for sample in samples]
        return np.concatenate([*spreads, np.empty(0)])

    def _weighted(self, weights: NDArray[np.float64] | None, count: int) -> "Columns":
        """Return about `count` of the rows with a weight above 0; all rows if every weight is above 0, or none is."""
        if weights is None or weights.all() or not weights.any():
            return self
        weighted_rows = np.flatnonzero(weights)
        return replace(self, sparse=None, codes=())[weighted_rows[:: max(1, len(weighted_rows) // count)]]

    def _sampled(self, count: int) -> Iterator[Array]:
        """Yield about `count` rows of the dense columns; those of a data frame in blocks, as each call takes time."""
        rows = max(32, min(count, 4_000_000 // max(1, self.dense)))
        step = max(1, self.rows // rows)
        for single, tables in groupby(self.tables, lambda table: table.shape[1] == 1):
            while block := [table[::step] for table in islice(tables, _COLUMNS_PER_BLOCK if single else 1)]:
                # each column contiguous, so that it is summed in the same order as alone
                yield block[0] if len(block) == 1 else np.concatenate([each.T for each in block], dtype=np.float64).T


def _centre(sample: NDArray[np.float64]) -> NDArray[np.float64]:
    low, median, high = np.quantile(sample, [0.25, 0.5, 0.75], axis=0)
    mean = sample.mean(axis=0)
    near = np.abs(mean - median) <= _MAX_MEAN_DISTANCE * (high - low)
    return np.asarray(np.where((high > low) & ~near, median, mean))


def _far_from_zero(columns: Array, indices: Array, values: Array, rows: int, ratio: float) -> NDArray[np.intp]:
    """Return the subset of the columns without zeros and far from 0: see `Columns.far_from_zero`."""
    if not len(columns):
        return np.empty(0, np.intp)
    at = np.minimum(np.searchsorted(columns, indices), len(columns) - 1)
    is_stored = columns[at] == indices
    at, values = at[is_stored], values[is_stored].astype(np.float64)
    low, high = np.full(len(columns), np.inf), np.full(len(columns), -np.inf)
    np.minimum.at(low, at, values)
    np.maximum.at(high, at, values)
    full = np.bincount(at, minlength=len(columns)) == rows
    with np.errstate(over="ignore"):
        far = np.minimum(np.abs(low), np.abs(high)) > ratio * (high - low)
    return np.asarray(columns[full & (high > low) & far], np.intp)


def code_type(levels: int) -> "np.dtype[np.signedinteger[Any]]":
    """Return the smallest integer type for codes from -1 to levels - 1, in which a code + 1 fits as well."""
    return np.min_scalar_type(-levels - 1)


def as_columns(x: Array | Columns) -> Columns:
    """Return a table as Columns, and Columns as they are."""
    return x if isinstance(x, Columns) else Columns(len(x), tables=(x,))
