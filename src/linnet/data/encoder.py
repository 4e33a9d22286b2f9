"""Encoders from arrays, sparse matrices and data frames to Columns, learned from one table and applied to others."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import scipy
from numpy.typing import NDArray

from linnet._native import core
from linnet.data.columns import Columns, code_type
from linnet.data.frames import (
    as_frame,
    check_whole,
    columns_of,
    has_levels,
    levels_of,
    numbers,
)
from linnet.data.level import Level
from linnet.data.runs import stacked
from linnet.data.sparse import as_csr, as_dense, is_sparse
from linnet.data.table import Array, as_table, check_finite, describe, empty, narrowed
from linnet.data.targets import missing
from linnet.errors import DataError, DataWarning, warn
from linnet.registry import need, saved
from linnet.texts import Texts

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw


AT_ONCE = 1000  # columns of an artificial row that are read at once; each may take a kilobyte
_MAX_COLUMNS = 1 << 30  # of a matrix in the core

Missing = Literal["refuse", "fill", "keep"]
Form = Literal["", "array", "sparse", "frame"]


@saved
@dataclass(frozen=True, slots=True)
class Encoder:
    """Encodes users' tables as Columns, with levels, medians and names learned from one table.

    It is immutable: `learn` returns a new encoder, and `encode_table` returns the columns with counts of unseen levels
    and filled values.

    Parameters
    ----------
    gaps : {"refuse", "fill", "keep"}, default="refuse"
        What happens to missing values. "refuse": an error. "fill", for data frames: numbers are filled with the median
        and get an indicator column; text and categories get a level of their own. "keep": numbers stay NaN, and rows
        have no level.
    narrow : bool, default=False
        Whether integers become bytes or float32 where these hold all values; the type may then differ between tables.
    kind : {"array", "sparse", "frame"}
        The kind of the table.
    width : int
        The number of columns of the table.
    names : tuple of str or None
        The names of the columns of a data frame.
    levels : tuple of Level
        The columns that hold levels.
    medians : dict of float by name
        The medians of the numeric columns, for gaps="fill".
    marked : tuple of str
        The numeric columns with an indicator column, as they had missing values in training.
    """

    gaps: Missing = "refuse"
    narrow: bool = False
    kind: Form = ""
    width: int = 0
    names: tuple[str, ...] | None = None
    levels: tuple[Level, ...] = ()
    medians: dict[str, float] = field(default_factory=dict)
    marked: tuple[str, ...] = ()

    @classmethod
    def learn(
        cls, x: object, name: str = "X", *, gaps: Missing = "refuse", narrow: bool = False
    ) -> tuple[Self, Columns]:
        """Return an encoder learned from a table, and the table's columns; an encoded table keeps its encoder."""
        if isinstance(x, Encoded):
            assert isinstance(x.encoder, cls)
            return x.encoder, x.columns
        frame = as_frame(x, name)
        if frame is not None:
            names, columns = tuple(frame.columns), [*columns_of(frame, gaps=gaps != "refuse")]
            levels = tuple(
                Level(column, levels_of(series, name))
                for column, series in columns
                if not isinstance(series, np.ndarray) and has_levels(series)
            )
            encoder = cls(gaps, narrow, "frame", len(names), names, levels)
            if gaps == "fill" and len(frame):
                encoder = encoder._with_gaps_of(columns, name)
            return encoder, encoder._encode_frame(frame, name, columns).columns
        if is_sparse(x):
            matrix = as_csr(x, name)
            if matrix.shape[1] > _MAX_COLUMNS:
                raise DataError(f"{name} has {matrix.shape[1]:,} columns, but at most {_MAX_COLUMNS:,} are supported")
            encoder = cls(gaps, narrow, "sparse", matrix.shape[1])
            return encoder, encoder._encode_sparse(matrix, name)
        table = as_table(x, name=name, gaps=gaps == "keep", narrow=narrow)
        return cls(gaps, narrow, "array", table.shape[1]), Columns(len(table), tables=(table,))

    def encode(self, x: object, name: str = "X") -> Columns:
        """Return the columns of another table; warn of unseen levels and of missing values where training had none."""
        encoded = self.encode_table(x, name)
        if encoded is not x:
            encoded.warn(name)
        return encoded.columns

    def encode_table(self, x: object, name: str = "X") -> "Encoded":
        """Return the columns of another table with its counts of unseen levels and filled values.

        An encoded table is returned as it is.
        """
        if isinstance(x, Encoded):
            if x.encoder is not self and x.encoder != self:
                raise DataError(f"{name} was encoded by another model: pass the original table")
            return x
        frame = as_frame(x, name)
        if frame is not None and (self.kind == "frame" or self.levels):
            return self._encode_frame(frame, name)
        if self.levels or self.marked:
            raise DataError(f"{name} must be a data frame with the columns {', '.join(self.names or ())}")
        if is_sparse(x):
            return Encoded(self, self._encode_sparse(as_csr(x, name), name))
        table = as_table(x, columns=self.width, name=name, gaps=self.gaps == "keep", narrow=self.narrow)
        return Encoded(self, Columns(len(table), tables=(table,)))

    def encode_rows(self, rows: Sequence[Any]) -> Columns:
        """Return the columns of single rows: sequences in the order of the table, mappings, or tables of one row."""
        if self.kind != "frame":
            return self.encode(np.stack([_one_row(row) for row in rows]))
        assert self.names is not None
        by_row = [self._by_name(row) for row in rows]
        by_column, marked = {level.column: level for level in self.levels}, {*self.marked}
        tables, marks, codes = [], [], []
        for column in self.names:
            entries = np.empty(len(rows), object)
            entries[:] = [row[column] for row in by_row]
            gaps = missing(entries)
            if gaps.any() and self.gaps == "refuse":
                raise DataError(f"a row has no value in column {column!r}: fill it in first")
            entries[gaps] = None
            if column in by_column:
                level = by_column[column]
                code_of = level.codes_of(entries)
                codes.append(np.array([code_of.get(value, -1) for value in entries], code_type(len(level.values))))
                continue
            values = entries.astype(np.float64)  # None becomes NaN
            if self.gaps == "fill":
                values[gaps] = self.medians[column]
                marks += [gaps.view(np.uint8)[:, None]] if column in marked else []
            check_finite(values[:, None], f"column {column!r} of the rows")
            tables.append(values[:, None])
        level_counts = tuple(len(level.values) for level in self.levels)
        return Columns(len(rows), tables=(*tables, *marks), codes=tuple(codes), levels=level_counts)

    def _by_name(self, row: Any) -> dict[str, Any]:
        """Return the values of a single row, by the names of the columns."""
        assert self.names is not None
        frame = as_frame(row, "a row")
        if frame is not None:
            if len(frame) != 1:
                raise DataError(f"a row must be one row, got a table of {len(frame)}")
            by_name = dict(zip(frame.columns, frame.row(0), strict=True))
        elif hasattr(row, "items"):
            by_name = {str(name): value for name, value in row.items()}
        else:
            values = row.reshape(-1).tolist() if isinstance(row, np.ndarray) else list(row)
            if len(values) != self.width:
                raise DataError(f"a row has {len(values)} values, but the model takes {self.width}")
            by_name = dict(zip(self.names, values, strict=True))
        if absent := [column for column in self.names if column not in by_name]:
            raise DataError(f"a row lacks the columns {absent}: the model takes {', '.join(self.names)}")
        return by_name

    @property
    def coefficient_names(self) -> list[str]:
        """The name of each coefficient, in the table's column order: the column's name, or column=level."""
        by_column, marked = {level.column: level for level in self.levels}, {*self.marked}
        names: list[str] = []
        for column in self.names or tuple(f"x{index}" for index in range(self.width)):
            if column in by_column:
                values = by_column[column].values
                names += [f"{column} missing" if value is None else f"{column}={value}" for value in values]
            else:
                names += [column, f"{column} missing"] if column in marked else [column]
        return names

    @property
    def sources(self) -> list[str]:
        """The name of the table's column behind each encoded column, in the order of Columns."""
        leveled = {level.column for level in self.levels}
        names = self.names or tuple(f"x{index}" for index in range(self.width))
        of_levels = [level.column for level in self.levels for _ in level.values]
        return [*(name for name in names if name not in leveled), *self.marked, *of_levels]

    @property
    def count(self) -> int:
        """The number of encoded columns."""
        return self.width - len(self.levels) + len(self.marked) + sum(len(level.values) for level in self.levels)

    def known_levels(self, besides: Sequence[str] = ()) -> dict[str, Any]:
        """Return a level per column with levels, neither missing nor in `besides`; None if it has no such level."""
        return {
            level.column: next((value for value in level.values if value is not None and value not in besides), None)
            for level in self.levels
        }

    def parts(self) -> Iterator[Self]:
        """Yield encoders of consecutive blocks of a frame's columns, so that their tables take little memory."""
        by_column, marked = {level.column: level for level in self.levels}, {*self.marked}
        names = iter(self.names or ())
        while block := tuple(islice(names, AT_ONCE)):
            yield replace(
                self,
                width=len(block),
                names=block,
                levels=tuple(by_column[name] for name in block if name in by_column),
                medians={name: self.medians[name] for name in block if name in self.medians},
                marked=tuple(name for name in block if name in marked),
            )

    def row_of_zeros(self) -> "Encoded":
        """Return an encoded row of zeros, with the first level of each column that has levels.

        Without levels it is sparse, so models need no memory for blocks of rows.
        """
        width = self.width - len(self.levels) + len(self.marked)
        if not self.levels:
            empty_row = np.zeros(2, np.int64), np.empty(0, np.int32), np.empty(0)
            return Encoded(self, Columns(1, sparse=empty_row, sparse_columns=width))
        counts = tuple(len(level.values) for level in self.levels)
        codes = tuple(np.zeros(1, code_type(count)) for count in counts)
        return Encoded(self, Columns(1, (np.zeros((1, width)),) if width else (), codes=codes, levels=counts))

    def coefficient_indices(self) -> dict[str, list[int]]:
        """Return the indices of the coefficients of each column, and of each coefficient, by name."""
        by_column, marked = {level.column: len(level.values) for level in self.levels}, {*self.marked}
        names = self.names or tuple(f"x{index}" for index in range(self.width))
        out = {name: [index] for index, name in enumerate(self.coefficient_names)}
        first = 0
        for column in names:  # the name of a column takes precedence over an equal name of a level's coefficient
            count = by_column.get(column, 2 if column in marked else 1)
            out[column] = list(range(first, first + count))
            first += count
        return out

    def order(self) -> NDArray[np.intp]:
        """Return the index in Columns of each coefficient, in the table's column order."""
        if not (self.levels or self.marked):
            return np.arange(self.width)
        assert self.names is not None
        by_column, with_gaps = {level.column: len(level.values) for level in self.levels}, {*self.marked}
        dense, mark = 0, self.width - len(self.levels)
        code = mark + len(self.marked)
        indices: list[NDArray[np.intp]] = []  # arrays by column, as there may be very many levels
        for column in self.names:
            if column in by_column:
                indices.append(np.arange(code, code + by_column[column]))
                code += by_column[column]
                continue
            marked = column in with_gaps
            indices.append(np.array([dense, mark] if marked else [dense]))
            dense, mark = dense + 1, mark + marked
        return np.concatenate(indices)

    def _check_file(self) -> None:
        names, columns = self.names or (), [level.column for level in self.levels]
        leveled, marked = {*columns}, {*self.marked}
        need(self.width >= 0, self, "width")
        need((self.names is not None) == (self.kind == "frame"), self, "names")
        distinct = names.are_distinct() if isinstance(names, Texts) else len({*names}) == len(names)
        need(self.names is None or (distinct and len(names) == self.width), self, "names")
        need(columns == [name for name in names if name in leveled], self, "levels")
        filled = self.kind == "frame" and self.gaps == "fill"
        numbers = (name for name in names if filled and name not in leveled)
        need(all(a == b for a, b in zip_longest(self.medians, numbers)), self, "medians")
        need([*self.marked] == [name for name in names if name in marked and name not in leveled], self, "marked")
        need(self.gaps == "fill" or not self.marked, self, "marked")

    def _with_gaps_of(self, columns: "Sequence[tuple[str, nw.Series[Any] | Array]]", name: str) -> Self:
        """Return the encoder with medians, and with indicators and levels for the missing values of a frame."""
        by_column = {level.column: level for level in self.levels}
        names: list[str] = []

        def values() -> Iterator[Array]:
            for column, series in columns:
                if column not in by_column:
                    names.append(column)
                    yield numbers(series, name)
                    continue
                assert not isinstance(series, np.ndarray)
                known_values = by_column[column].values
                if series.null_count():
                    by_column[column] = Level(column, (*known_values, None))
                if len(known_values) == 0:
                    raise _no_value(column, name)

        medians: list[float] = []
        marked: list[str] = []
        for block in stacked(values()):
            first, is_present = len(medians), ~np.isnan(block)
            has_gaps = ~is_present.all(axis=1)
            medians += [np.nan] * len(block) if has_gaps.any() else _medians(block)
            for index in np.flatnonzero(has_gaps):
                if not is_present[index].any():
                    raise _no_value(names[first + index], name)
                marked.append(names[first + index])
                medians[first + index] = _medians(block[index][is_present[index]][None])[0]
            if has_gaps.any():
                for index, median in zip(np.flatnonzero(~has_gaps), _medians(block[~has_gaps]), strict=True):
                    medians[first + index] = median
        by_name = dict(zip(names, medians, strict=True))
        return replace(self, levels=tuple(by_column.values()), medians=by_name, marked=tuple(marked))

    def _encode_sparse(self, rows: "scipy.sparse.csr_array[Any]", name: str) -> Columns:
        if rows.shape[1] != self.width:
            raise DataError(f"{name} has {rows.shape[1]} columns, but the model takes {self.width}")
        if 0 in rows.shape:
            raise empty(rows.shape, name)
        if core.has_duplicates(rows.indptr.astype(np.int64, copy=False), rows.indices, rows.shape[1]):
            rows = rows.copy()
            rows.sum_duplicates()
        values = rows.data
        if self.narrow and values.dtype.kind in "iu":
            values = narrowed(values, least=np.float32)
        elif values.dtype not in (np.float32, np.float64):
            values = values.astype(np.float64)
        _, entry = core.first_nonfinite(values[None]) if len(values) else (-1, -1)
        if entry >= 0:
            where = int(np.searchsorted(rows.indptr, entry, side="right")) - 1
            raise DataError(
                f"{name} contains {describe(values[entry])} in row {where}, column {rows.indices[entry]}: "
                "fill in or drop missing values first"
            )
        start = rows.indptr.astype(np.int64, copy=False)
        return Columns(rows.shape[0], sparse=(start, rows.indices, values), sparse_columns=rows.shape[1])

    def _encode_frame(
        self, frame: "nw.DataFrame[Any]", name: str, series_by_name: "Sequence[tuple[str, nw.Series[Any] | Array]]" = ()
    ) -> "Encoded":
        """Encode a frame. `series_by_name`: its columns, if they have been extracted already."""
        assert self.names is not None
        present = set(frame.columns)
        missing = [column for column in self.names if column not in present]
        if missing or len(present) != self.width:
            problem = f"lacks the columns {missing}" if missing else f"has {len(present)} columns"
            raise DataError(f"{name} {problem}: the model takes {', '.join(self.names)}")
        if len(frame) == 0 or self.width == 0:
            raise empty((len(frame), self.width), name)
        if tuple(frame.columns) != self.names:
            frame = frame.select(*self.names)
        by_column, marked = {level.column: level for level in self.levels}, {*self.marked}
        tables, marks, codes = [], [], []
        unseen: dict[str, int] = {}
        filled: dict[str, int] = {}
        series_by_name = series_by_name or [*columns_of(frame, by_column, gaps=self.gaps != "refuse")]
        finite = _finite(series_by_name)
        for (column, series), is_finite in zip(series_by_name, finite, strict=True):
            if column in by_column:
                assert not isinstance(series, np.ndarray)
                if self.gaps == "refuse":
                    check_whole(series, name, "fill in a level of its own first")
                level_codes = by_column[column].codes_in(series, name)
                count = int((level_codes < 0).sum()) - (series.null_count() if self.gaps == "keep" else 0)
                unseen |= {column: count} if count else {}
                codes.append(level_codes)
                continue
            values = numbers(series, name, narrow=self.narrow)
            if self.gaps == "fill" and column in marked:
                marks.append(np.isnan(values).view(np.uint8)[:, None])
            if not is_finite:
                if self.gaps == "fill":
                    gaps = np.isnan(values)
                    if count := int(gaps.sum()):
                        values = np.where(gaps, self.medians[column], values)
                        filled |= {} if column in marked else {column: count}
                elif self.gaps == "refuse":
                    check_whole(series, name, "fill in or drop missing values first")
                if self.gaps != "keep":
                    check_finite(values[:, None], f"column {column!r} of {name}")
            tables.append(values[:, None])
        level_counts = tuple(len(level.values) for level in self.levels)
        columns = Columns(len(frame), tables=(*tables, *marks), codes=tuple(codes), levels=level_counts)
        return Encoded(self, columns, unseen, filled)


def _medians(columns: Array) -> list[float]:
    """Return the median of each row of columns x rows, even where the sum of the middle two values overflows."""
    with np.errstate(invalid="ignore", over="ignore"):  # infinities among the values are found later
        low, high = (columns.shape[1] - 1) // 2, columns.shape[1] // 2 + 1
        middle = np.partition(columns, (low, high - 1), axis=1)[:, low:high]  # np.median takes far longer for few rows
        medians = middle.mean(axis=1)
        halves = 2 * (middle / 2).mean(axis=1)
        return [float(mean if np.isfinite(mean) else half) for mean, half in zip(medians, halves, strict=True)]


def _finite(columns: "Sequence[tuple[str, nw.Series[Any] | Array]]") -> list[bool]:
    """Return whether each column is known to have finite numbers only; columns that are not arrays are unknown."""
    floats = [series for _, series in columns if isinstance(series, np.ndarray) and series.dtype.kind == "f"]
    flags = iter([finite for block in stacked(floats) for finite in np.isfinite(block).all(axis=1).tolist()])
    arrays = (series if isinstance(series, np.ndarray) else None for _, series in columns)
    return [series is not None and (series.dtype.kind != "f" or next(flags)) for series in arrays]


def _no_value(column: str, name: str) -> DataError:
    return DataError(f"column {column!r} of {name} has only missing values: drop it")


@dataclass(frozen=True)
class Encoded:
    """An encoded table, which an estimator with the same encoder accepts in place of the table.

    Parameters
    ----------
    encoder : Encoder
        The encoder.
    columns : Columns
        The encoded columns.
    unseen : dict of int by column
        The number of rows with a level that training did not have.
    filled : dict of int by column
        The number of rows with a missing value in a column that had none in training.
    """

    encoder: Encoder
    columns: Columns
    unseen: Mapping[str, int] = field(default_factory=dict)
    filled: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return self.columns.rows

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns of the table."""
        return self.columns.rows, self.encoder.width

    def warn(self, name: str = "X") -> None:
        """Warn of unseen levels and of missing values that were filled, if there are any."""
        unseen = "levels never seen in training, which have no effect"
        filled = "missing values where training had none, filled with the median"
        for description, counts in ((unseen, self.unseen), (filled, self.filled)):
            if counts:
                rows = ", ".join(f"{count} in column {column!r}" for column, count in counts.items())
                warn(f"{name} has rows with {description}: {rows}", DataWarning)

    @property
    def column_names(self) -> list[str]:
        """The names of the columns; the attribute is called as in pyarrow."""
        return list(self.encoder.names or ())


def _one_row(row: Any) -> NDArray[np.float64]:
    """Return a row of numbers (a sequence, a table of one row or a sparse matrix) as an array."""
    if hasattr(row, "toarray") and row.ndim == 1:  # a one-dimensional sparse array
        row = row.reshape(1, -1)
    return np.asarray(as_dense(row, "a row"), np.float64).reshape(-1)
