"""The columns of a model: arrays, sparse matrices and data frames, read where they lie.

Columns of text or categories become columns of codes: in the model each level has a coefficient of its own, but its
column of zeros and ones is never built for more than a few rows.
"""

import warnings
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from linnet._native import core
from linnet.data.table import Array, as_table, check_finite, describe, empty
from linnet.errors import DataError, DataWarning

Codes = NDArray[np.int32]
Sparse = tuple[Array, Array, Array]  # starts of rows, columns, values


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
                place = np.full(count + 1, -1, np.int32)  # one more for rows without a level
                place[mine] = np.arange(len(mine))
                codes.append(place[column])
                levels.append(len(mine))
            start += count
        return Columns(self.rows, tuple(tables), sparse, width, tuple(codes), tuple(levels))

    def about(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Roughly where the dense columns lie and how far they spread: mean and deviation of some rows."""
        rows = max(32, min(4096, 4_000_000 // max(1, self.dense)))
        step = max(1, self.rows // rows)
        samples = [table[::step].astype(np.float64) for table in self.tables]
        means = [sample.mean(axis=0) for sample in samples]
        spreads = [sample.std(axis=0) for sample in samples]
        return np.concatenate([*means, np.empty(0)]), np.concatenate([*spreads, np.empty(0)])


def as_columns(x: Array | Columns) -> Columns:
    """Return a table as Columns, and Columns as they are."""
    return x if isinstance(x, Columns) else Columns(len(x), tables=(x,))


@dataclass(frozen=True, slots=True)
class Level:
    """The levels of one column of a data frame, in the order of their codes."""

    column: str
    values: tuple[Any, ...]


@dataclass(slots=True)
class Encoder:
    """Makes Columns of what users have; what it saw first (`learn`) is what it takes afterwards (`encode`)."""

    kind: str = ""  # "array", "sparse" or "frame"
    width: int = 0  # columns of the table
    names: tuple[str, ...] | None = None  # of the table's columns
    levels: tuple[Level, ...] = ()  # of those that hold levels
    unseen: dict[str, int] = field(default_factory=dict)  # rows with levels never seen, by column, in the last table
    gaps: bool = False  # whether values may be missing: NaN in tables, no level

    def learn(self, x: object, name: str = "X") -> Columns:
        """Take note of the table's form and encode it."""
        self.unseen = {}
        frame = _as_frame(x, name)
        if frame is not None:
            self.kind, self.names = "frame", tuple(frame.columns)
            self.width = len(self.names)
            self.levels = tuple(
                Level(column, _levels_of(frame[column], name)) for column in self.names if _has_levels(frame[column])
            )
            return self._encode_frame(frame, name)
        if (matrix := _as_sparse(x, name)) is not None:
            self.kind, self.names, self.width, self.levels = "sparse", None, matrix.shape[1], ()
            return self._encode_sparse(matrix, name)
        table = as_table(x, name=name, gaps=self.gaps)
        self.kind, self.names, self.width, self.levels = "array", None, table.shape[1], ()
        return Columns(len(table), tables=(table,))

    def encode(self, x: object, name: str = "X") -> Columns:
        """Columns in the form of those learned; levels never seen have no effect, a warning counts them."""
        self.unseen = {}
        frame = _as_frame(x, name)
        if frame is not None and (self.kind == "frame" or self.levels):
            return self._encode_frame(frame, name)
        if self.levels:
            raise DataError(f"{name} must be a data frame with the columns {', '.join(self.names or ())}")
        if (matrix := _as_sparse(x, name)) is not None:
            return self._encode_sparse(matrix, name)
        table = as_table(x, columns=self.width, name=name, gaps=self.gaps)
        return Columns(len(table), tables=(table,))

    @property
    def coefficient_names(self) -> list[str]:
        """A name for every coefficient, in the table's order of columns: the column's, or column=level."""
        names = self.names or tuple(f"x{index}" for index in range(self.width))
        by_column = {level.column: level for level in self.levels}
        return [
            full
            for column in names
            for full in (
                [f"{column}={value}" for value in by_column[column].values] if column in by_column else [column]
            )
        ]

    def order(self) -> NDArray[np.intp]:
        """For every coefficient, in the table's order of columns, its place in the order of Columns."""
        if not self.levels:
            return np.arange(self.width)
        assert self.names is not None
        by_column = {level.column: len(level.values) for level in self.levels}
        dense, code = 0, self.width - len(self.levels)
        places: list[int] = []
        for column in self.names:
            if column in by_column:
                places += range(code, code + by_column[column])
                code += by_column[column]
            else:
                places.append(dense)
                dense += 1
        return np.array(places, np.intp)

    def _encode_sparse(self, rows: "scipy.sparse.csr_array[Any]", name: str) -> Columns:
        if rows.shape[1] != self.width:
            raise DataError(f"{name} has {rows.shape[1]} columns, but the model takes {self.width}")
        if 0 in rows.shape:
            raise empty(rows.shape, name)
        if core.has_duplicates(rows.indptr.astype(np.int64, copy=False), rows.indices, rows.shape[1]):
            rows = rows.copy()
            rows.sum_duplicates()
        values = rows.data if rows.data.dtype in (np.float32, np.float64) else rows.data.astype(np.float64)
        row, _ = core.first_nonfinite(values[:, None]) if len(values) else (-1, -1)
        if row >= 0:
            where = int(np.searchsorted(rows.indptr, row, side="right")) - 1
            raise DataError(
                f"{name} contains {describe(values[row])} in row {where}, column {rows.indices[row]}: "
                "fill in or drop missing values first"
            )
        start = rows.indptr.astype(np.int64, copy=False)
        return Columns(rows.shape[0], sparse=(start, rows.indices, values), sparse_columns=rows.shape[1])

    def _encode_frame(self, frame: "nw.DataFrame[Any]", name: str) -> Columns:
        assert self.names is not None
        missing = [column for column in self.names if column not in frame.columns]
        if missing or len(frame.columns) != self.width:
            what = f"lacks the columns {missing}" if missing else f"has {len(frame.columns)} columns"
            raise DataError(f"{name} {what}: the model takes {', '.join(self.names)}")
        if len(frame) == 0 or self.width == 0:
            raise empty((len(frame), self.width), name)
        by_column = {level.column: level for level in self.levels}
        tables, codes = [], []
        for column in self.names:
            if column in by_column:
                codes.append(self._codes(frame[column], by_column[column], name))
            else:
                tables.append(_numbers(frame[column], name, self.gaps))
        if self.unseen:
            rows = ", ".join(f"{count} in column {column!r}" for column, count in self.unseen.items())
            warnings.warn(
                f"{name} has rows with levels never seen in training, which have no effect: {rows}",
                DataWarning,
                stacklevel=4,
            )
        counts = tuple(len(level.values) for level in self.levels)
        return Columns(len(frame), tables=tuple(tables), codes=tuple(codes), levels=counts)

    def _codes(self, series: "nw.Series[Any]", level: Level, name: str) -> Codes:
        if not self.gaps:
            _check_whole(series, name, "fill in a level of its own first")
        places = {value: code for code, value in enumerate(level.values)}
        if (given := _pandas_categories(series)) is not None:
            values, of_rows = given
            code_of = np.array([places.get(value, -1) for value in values] or [-1], np.int32)
            mine: Codes = code_of[of_rows]
            mine = np.where(of_rows < 0, np.int32(-1), mine)
            if -1 in code_of and (unseen := int(((mine < 0) & (of_rows >= 0)).sum())):
                self.unseen[series.name] = unseen
            return mine
        present = series.unique().to_list()
        codes = [places.get(value, -1) for value in present]
        # the distinct values are few: each library has its own fast way to spread them over the rows
        spread: Codes = series.replace_strict(present, codes, return_dtype=nw.Int32).to_numpy()
        if any(code < 0 and not _is_missing(value) for value, code in zip(present, codes, strict=True)):
            self.unseen[series.name] = int((spread < 0).sum()) - series.null_count()
        return np.ascontiguousarray(spread, np.int32)


def _as_frame(x: Any, name: str) -> "nw.DataFrame[Any] | None":
    if isinstance(x, np.ndarray):
        return None
    names = [str(column) for column in getattr(x, "columns", ())]
    if hasattr(x, "set_axis") and names:
        if len({*names}) < len(names):
            twice = next(column for column in names if names.count(column) > 1)
            raise DataError(f"{name} has several columns called {twice!r}: give each a name of its own")
        if not all(isinstance(column, str) for column in x.columns):
            x = x.set_axis(names, axis=1)  # pandas also has columns called 0, 1, 2
    frame = nw.from_native(x, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def _as_sparse(given: object, name: str) -> "scipy.sparse.csr_array[Any] | None":
    """A sparse matrix by rows, sound whatever its arrays hold; no copy of one that is."""
    if not scipy.sparse.issparse(given):
        return None
    x: Any = given
    if x.ndim != 2:
        raise DataError(f"{name} must have rows and columns, got shape {x.shape}")
    if x.dtype.kind == "c":
        raise DataError(f"Complex data not supported: {name} has type {x.dtype}: it must hold numbers")
    kinds = {"csc": scipy.sparse.csc_array, "bsr": scipy.sparse.bsr_array}
    try:
        matrix = kinds.get(x.format, scipy.sparse.csr_array)(x)
        matrix.check_format(full_check=True)
        if (np.diff(matrix.indptr) < 0).any():
            raise ValueError("indptr must not fall")
    except ValueError as error:
        raise DataError(f"{name} is a broken sparse matrix: {error}") from None
    return scipy.sparse.csr_array(matrix)


def _has_levels(series: "nw.Series[Any]") -> bool:
    dtype = series.dtype
    if dtype == nw.Object:  # pandas' for anything, also for numbers
        return not all(isinstance(value, Real) for value in series.drop_nulls().to_list())
    return dtype in (nw.String, nw.Categorical, nw.Enum) or isinstance(dtype, nw.Enum)


def _pandas_categories(series: "nw.Series[Any]") -> tuple[list[Any], NDArray[Any]] | None:
    """The categories of a pandas column that has them, and every row's place among them, -1 where it has none."""
    categories: Any = getattr(series.to_native(), "cat", None)
    if not hasattr(categories, "codes"):
        return None
    return categories.categories.tolist(), categories.codes.to_numpy()


def _levels_of(series: "nw.Series[Any]", name: str) -> tuple[Any, ...]:
    """The levels present: in the order of the categories, or sorted."""
    if (given := _pandas_categories(series)) is not None:
        values, of_rows = given
        found = np.bincount(of_rows.astype(np.intp) + 1, minlength=len(values) + 1)[1:] > 0
        return tuple(value for value, is_present in zip(values, found, strict=True) if is_present)
    try:
        present = set(series.drop_nulls().unique().to_list())
        if series.dtype == nw.Categorical or isinstance(series.dtype, nw.Enum):
            return tuple(value for value in series.cat.get_categories().to_list() if value in present)
        return tuple(sorted(present, key=lambda value: (str(type(value)), value)))
    except TypeError:
        raise _no_numbers(series, name) from None


def _is_missing(value: Any) -> bool:
    return value is None or value != value


def _no_numbers(series: "nw.Series[Any]", name: str) -> DataError:
    return DataError(f"column {series.name!r} of {name} has type {series.dtype}: it must hold numbers or levels")


def _check_whole(series: "nw.Series[Any]", name: str, remedy: str) -> None:
    if series.null_count():
        row = int(series.is_null().arg_true()[0])
        raise DataError(f"{name} has no value in row {row}, column {series.name!r}: {remedy}")


def _numbers(series: "nw.Series[Any]", name: str, gaps: bool) -> Array:
    """A column of a data frame as a table of one column, in place where its type allows."""
    if not gaps:
        _check_whole(series, name, "fill in or drop missing values first")
    elif series.null_count():
        if series.dtype == nw.Boolean:
            series = series.cast(nw.Float64)
        series = series.fill_null(float("nan"))
    dtype = series.dtype
    if not (dtype.is_numeric() or dtype in (nw.Boolean, nw.Object)):
        raise _no_numbers(series, name)
    values = series.to_numpy()
    if values.dtype == np.bool_:
        values = values.view(np.uint8)
    elif values.dtype not in (np.float32, np.float64, np.uint8):
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            raise _no_numbers(series, name) from None
    table: Array = values[:, None]
    if not gaps:
        check_finite(table, f"column {series.name!r} of {name}")
    return table
