"""From arrays, sparse matrices and data frames to Columns: what was seen first is what is taken afterwards."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import scipy
from numpy.typing import NDArray

from linnet._native import core
from linnet.data.columns import Codes, Columns, code_type
from linnet.data.frames import (
    as_frame,
    categories_of,
    check_whole,
    columns_of,
    has_levels,
    levels_of,
    not_usable,
    numbers,
    parts_of,
)
from linnet.data.sparse import as_csr, as_dense, is_sparse
from linnet.data.table import Array, as_table, check_finite, describe, empty, narrowed
from linnet.data.targets import missing
from linnet.errors import DataError, DataWarning, warn
from linnet.registry import need, saved
from linnet.texts import Texts

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw


AT_ONCE = 1000  # columns of a made-up row that are read at once, which may take a kilobyte each
_MOST_COLUMNS = 1 << 30  # of a matrix in the core
_LEVEL = str | bool | int | float | np.generic | None


@saved
@dataclass(frozen=True, slots=True)
class Level:
    """The levels of one column of a data frame, in the order of their codes; None for a missing value."""

    column: str
    values: tuple[Any, ...]

    def _check_file(self) -> None:
        if isinstance(self.values, Texts):  # very many, which a set would take far more memory for
            need(self.values.are_distinct(), self, "values")
            return
        need(all(isinstance(value, _LEVEL) for value in self.values), self, "values")
        need(len({*self.values}) == len(self.values) > 0, self, "values")

    def places(self, wanted: Iterable[Any]) -> dict[Any, int]:
        """The codes of levels; of very many only those of the wanted ones."""
        if not isinstance(self.values, Texts):
            return {value: code for code, value in enumerate(self.values)}
        known = {*wanted}
        return {value: code for code, value in enumerate(self.values) if value in known}


Missing = Literal["refuse", "fill", "keep"]
Form = Literal["", "array", "sparse", "frame"]


@saved
@dataclass(frozen=True, slots=True)
class Encoder:
    """Makes Columns of what users have: what it has learned from one table is what it takes of any other.

    It never changes: `learn` returns a new one, and what `encode` notices in a table is returned with the columns.

    `gaps`, values that are missing: "refuse" them; "fill" them in data frames: in numbers by the median of the column,
    with a column of zeros and ones that says where, in text and categories by a level of their own; "keep" them:
    numbers stay NaN, and rows have no level. `narrow`: whole numbers become bytes or float32 where these hold them all,
    which other rows of the same columns need not do.
    """

    gaps: Missing = "refuse"
    narrow: bool = False
    kind: Form = ""  # of the table
    width: int = 0  # columns of the table
    names: tuple[str, ...] | None = None  # of the table's columns
    levels: tuple[Level, ...] = ()  # of those that hold levels
    medians: dict[str, float] = field(default_factory=dict)  # of the columns of numbers, if there may be gaps
    marked: tuple[str, ...] = ()  # columns of numbers that had gaps when learned

    @classmethod
    def learn(
        cls, x: object, name: str = "X", *, gaps: Missing = "refuse", narrow: bool = False
    ) -> tuple[Self, Columns]:
        """Return the encoder of tables like this one, and its columns. A table encoded before keeps its encoder."""
        if isinstance(x, Encoded):
            assert isinstance(x.encoder, cls)
            return x.encoder, x.columns
        frame = as_frame(x, name)
        if frame is not None:
            names = tuple(frame.columns)
            levels = tuple(
                Level(column, levels_of(series, name))
                for column, series in columns_of(frame)
                if not isinstance(series, np.ndarray) and has_levels(series)
            )
            encoder = cls(gaps, narrow, "frame", len(names), names, levels)
            if gaps == "fill" and len(frame):
                encoder = encoder._with_gaps_of(frame, name)
            return encoder, encoder._encode_frame(frame, name).columns
        if is_sparse(x):
            matrix = as_csr(x, name)
            if matrix.shape[1] > _MOST_COLUMNS:
                raise DataError(
                    f"{name} has {matrix.shape[1]:,} columns, and {_MOST_COLUMNS:,} are the most: use fewer"
                )
            encoder = cls(gaps, narrow, "sparse", matrix.shape[1])
            return encoder, encoder._encode_sparse(matrix, name)
        table = as_table(x, name=name, gaps=gaps == "keep", narrow=narrow)
        return cls(gaps, narrow, "array", table.shape[1]), Columns(len(table), tables=(table,))

    def encode(self, x: object, name: str = "X") -> Columns:
        """Return the columns of another table; a warning counts levels never seen and gaps where there were none."""
        encoded = self.encode_table(x, name)
        if encoded is not x:
            encoded.warn(name)
        return encoded.columns

    def encode_table(self, x: object, name: str = "X") -> "Encoded":
        """Return the columns of another table with what was noticed in it; a table encoded before, as it is."""
        if isinstance(x, Encoded):
            if x.encoder is not self and x.encoder != self:
                raise DataError(f"{name} was encoded by another model: give its table")
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
        """Columns of single rows: sequences in the table's order of columns, mappings, or tables of one row."""
        if self.kind != "frame":
            return self.encode(np.stack([_one_row(row) for row in rows]))
        assert self.names is not None
        of_rows = [self._by_name(row) for row in rows]
        by_column, marked = {level.column: level for level in self.levels}, {*self.marked}
        tables, marks, codes = [], [], []
        for column in self.names:
            found = np.empty(len(rows), object)
            found[:] = [row[column] for row in of_rows]
            gaps = missing(found)
            if gaps.any() and self.gaps == "refuse":
                raise DataError(f"a row has no value in column {column!r}: fill it in first")
            found[gaps] = None
            if column in by_column:
                level = by_column[column]
                places = level.places(found)
                codes.append(np.array([places.get(value, -1) for value in found], code_type(len(level.values))))
                continue
            values = found.astype(np.float64)  # None becomes NaN
            if self.gaps == "fill":
                values[gaps] = self.medians[column]
                marks += [gaps.view(np.uint8)[:, None]] if column in marked else []
            check_finite(values[:, None], f"column {column!r} of the rows")
            tables.append(values[:, None])
        level_counts = tuple(len(level.values) for level in self.levels)
        return Columns(len(rows), tables=(*tables, *marks), codes=tuple(codes), levels=level_counts)

    def _by_name(self, row: Any) -> dict[str, Any]:
        """The values of a single row, by the names of the columns."""
        assert self.names is not None
        frame = as_frame(row, "a row")
        if frame is not None:
            if len(frame) != 1:
                raise DataError(f"a row must be one row, got a table of {len(frame)}")
            found = dict(zip(frame.columns, frame.row(0), strict=True))
        elif hasattr(row, "items"):
            found = {str(name): value for name, value in row.items()}
        else:
            values = row.reshape(-1).tolist() if isinstance(row, np.ndarray) else list(row)
            if len(values) != self.width:
                raise DataError(f"a row has {len(values)} values, but the model takes {self.width}")
            found = dict(zip(self.names, values, strict=True))
        if lacking := [column for column in self.names if column not in found]:
            raise DataError(f"a row lacks the columns {lacking}: the model takes {', '.join(self.names)}")
        return found

    @property
    def coefficient_names(self) -> list[str]:
        """A name for every coefficient, in the table's order of columns: the column's, or column=level."""
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
        """The table's column that each column comes from, in the order of Columns."""
        leveled = {level.column for level in self.levels}
        names = self.names or tuple(f"x{index}" for index in range(self.width))
        of_levels = [level.column for level in self.levels for _ in level.values]
        return [*(name for name in names if name not in leveled), *self.marked, *of_levels]

    @property
    def count(self) -> int:
        """How many columns it makes."""
        return self.width - len(self.levels) + len(self.marked) + sum(len(level.values) for level in self.levels)

    def known_levels(self, besides: Sequence[str] = ()) -> dict[str, Any]:
        """A level of each column that has levels, by column, none for a missing value nor one of these."""
        return {
            level.column: next((value for value in level.values if value is not None and value not in besides), None)
            for level in self.levels
        }

    def parts(self) -> Iterator[Self]:
        """Encoders of some of a frame's columns each, so few that a table of them takes little memory."""
        by_column, marked = {level.column: level for level in self.levels}, {*self.marked}
        names = iter(self.names or ())
        while some := tuple(islice(names, AT_ONCE)):
            yield replace(
                self,
                width=len(some),
                names=some,
                levels=tuple(by_column[name] for name in some if name in by_column),
                medians={name: self.medians[name] for name in some if name in self.medians},
                marked=tuple(name for name in some if name in marked),
            )

    def row_of_zeros(self) -> "Encoded":
        """A row, encoded: zeros, without gaps, and the first level of each column that has levels.

        Without levels it is a sparse one, for which no model needs room for blocks of rows.
        """
        width = self.width - len(self.levels) + len(self.marked)
        if not self.levels:
            nothing = np.zeros(2, np.int64), np.empty(0, np.int32), np.empty(0)
            return Encoded(self, Columns(1, sparse=nothing, sparse_columns=width))
        counts = tuple(len(level.values) for level in self.levels)
        codes = tuple(np.zeros(1, code_type(count)) for count in counts)
        return Encoded(self, Columns(1, (np.zeros((1, width)),) if width else (), codes=codes, levels=counts))

    def places(self) -> dict[str, list[int]]:
        """The numbers of the coefficients that belong to a column, and of each by its own name."""
        by_column, marked = {level.column: len(level.values) for level in self.levels}, {*self.marked}
        names = self.names or tuple(f"x{index}" for index in range(self.width))
        out = {name: [index] for index, name in enumerate(self.coefficient_names)}
        first = 0
        for column in names:  # a column's own name counts more than one made up of a column and a level
            count = by_column.get(column, 2 if column in marked else 1)
            out[column] = list(range(first, first + count))
            first += count
        return out

    def order(self) -> NDArray[np.intp]:
        """For every coefficient, in the table's order of columns, its place in the order of Columns."""
        if not (self.levels or self.marked):
            return np.arange(self.width)
        assert self.names is not None
        by_column, with_gaps = {level.column: len(level.values) for level in self.levels}, {*self.marked}
        dense, mark = 0, self.width - len(self.levels)
        code = mark + len(self.marked)
        places: list[NDArray[np.intp]] = []  # by column, as there may be very many levels
        for column in self.names:
            if column in by_column:
                places.append(np.arange(code, code + by_column[column]))
                code += by_column[column]
                continue
            marked = column in with_gaps
            places.append(np.array([dense, mark] if marked else [dense]))
            dense, mark = dense + 1, mark + marked
        return np.concatenate(places)

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

    def _with_gaps_of(self, frame: "nw.DataFrame[Any]", name: str) -> Self:
        """The encoder that also knows the medians, and where there are gaps."""
        by_column = {level.column: level for level in self.levels}
        medians: dict[str, float] = {}
        marked: list[str] = []
        for column, series in columns_of(frame, by_column):
            if column in by_column:
                assert not isinstance(series, np.ndarray)
                known: Any = by_column[column].values
                if series.null_count():
                    by_column[column] = Level(column, (*known, None))
            else:
                values = numbers(series, name)
                known = values[~np.isnan(values)]
                marked += [column] if len(known) < len(values) else []
                medians[column] = _median(known) if len(known) else np.nan
            if len(known) == 0:
                raise DataError(f"column {column!r} of {name} has no value at all: leave it out")
        return replace(self, levels=tuple(by_column.values()), medians=medians, marked=tuple(marked))

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
        _, place = core.first_nonfinite(values[None]) if len(values) else (-1, -1)
        if place >= 0:
            where = int(np.searchsorted(rows.indptr, place, side="right")) - 1
            raise DataError(
                f"{name} contains {describe(values[place])} in row {where}, column {rows.indices[place]}: "
                "fill in or drop missing values first"
            )
        start = rows.indptr.astype(np.int64, copy=False)
        return Columns(rows.shape[0], sparse=(start, rows.indices, values), sparse_columns=rows.shape[1])

    def _encode_frame(self, frame: "nw.DataFrame[Any]", name: str) -> "Encoded":
        assert self.names is not None
        present = set(frame.columns)
        missing = [column for column in self.names if column not in present]
        if missing or len(present) != self.width:
            what = f"lacks the columns {missing}" if missing else f"has {len(present)} columns"
            raise DataError(f"{name} {what}: the model takes {', '.join(self.names)}")
        if len(frame) == 0 or self.width == 0:
            raise empty((len(frame), self.width), name)
        if tuple(frame.columns) != self.names:
            frame = frame.select(*self.names)
        by_column, marked = {level.column: level for level in self.levels}, {*self.marked}
        tables, marks, codes = [], [], []
        unseen: dict[str, int] = {}
        filled: dict[str, int] = {}
        for column, series in columns_of(frame, by_column):
            if column in by_column:
                assert not isinstance(series, np.ndarray)
                found = self._codes(series, by_column[column], name)
                none = int((found < 0).sum()) - (series.null_count() if self.gaps == "keep" else 0)
                unseen |= {column: none} if none else {}
                codes.append(found)
                continue
            values = numbers(series, name, narrow=self.narrow)
            if self.gaps == "fill":
                gaps = np.isnan(values)
                if count := int(gaps.sum()):
                    values = np.where(gaps, self.medians[column], values)
                    filled |= {} if column in marked else {column: count}
                marks += [gaps.view(np.uint8)[:, None]] if column in marked else []
            elif self.gaps == "refuse":
                check_whole(series, name, "fill in or drop missing values first")
            if self.gaps != "keep":
                check_finite(values[:, None], f"column {column!r} of {name}")
            tables.append(values[:, None])
        level_counts = tuple(len(level.values) for level in self.levels)
        columns = Columns(len(frame), tables=(*tables, *marks), codes=tuple(codes), levels=level_counts)
        return Encoded(self, columns, unseen, filled)

    def _codes(self, series: "nw.Series[Any]", level: Level, name: str) -> Codes:
        """The code of each row's level, -1 where it is none of those known."""
        if self.gaps == "refuse":
            check_whole(series, name, "fill in a level of its own first")
        kind = code_type(len(level.values))
        if (given := categories_of(series)) is not None:
            values, of_rows = given
            places = level.places((*values, None))
            code_of = np.array([places.get(value, -1) for value in (*values, None)], kind)
            known = np.array_equal(code_of, [*range(len(values)), -1]) and code_of.dtype == of_rows.dtype
            codes: Codes = np.ascontiguousarray(of_rows) if known else np.empty_like(of_rows, code_of.dtype)
            for part in () if known else parts_of(len(of_rows)):
                codes[part] = code_of[of_rows[part]]  # a gap is -1: the last
            return codes
        codes = np.full(len(series), level.places([None]).get(None, -1), kind)
        present = series.drop_nulls()
        if len(present):
            codes[~series.is_null().to_numpy()] = self._codes_of_present(present, level, name)
        return codes

    @staticmethod
    def _codes_of_present(series: "nw.Series[Any]", level: Level, name: str) -> Codes:
        import narwhals.stable.v2 as nw  # loaded by now

        if series.dtype.is_nested():
            raise not_usable(series, name)
        try:
            present = series.unique().to_list()
            places = level.places(present)
            codes = [places.get(value, -1) for value in present]
        except TypeError:
            raise not_usable(series, name) from None
        # the distinct values are few: each library has its own fast way to spread them over the rows
        spread: Codes = series.replace_strict(present, codes, return_dtype=nw.Int32).to_numpy()
        return spread


def _median(values: Array) -> float:
    """The median, also of numbers so large that the sum of the middle two is none."""
    with np.errstate(invalid="ignore", over="ignore"):  # infinities among the values are found later
        low, high = (len(values) - 1) // 2, len(values) // 2 + 1
        middle = np.partition(values, (low, high - 1))[low:high]  # np.median takes far longer for few rows
        found = float(middle.mean())
        return found if np.isfinite(found) else 2 * float((middle / 2).mean())


@dataclass(frozen=True)
class Encoded:
    """An encoded table and what was noticed in it; an estimator with this encoder takes it in place of the table."""

    encoder: Encoder
    columns: Columns
    unseen: Mapping[str, int] = field(default_factory=dict)  # rows with a level never seen in training, by column
    filled: Mapping[str, int] = field(default_factory=dict)  # rows with a gap where training had none, by column

    def __len__(self) -> int:
        return self.columns.rows

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the table."""
        return self.columns.rows, self.encoder.width

    def warn(self, name: str = "X") -> None:
        """Warn of levels never seen and of gaps where there were none, if there are any."""
        never_seen, filled = "levels never seen in training, which have no effect", "gaps where training had none"
        for what, counts in ((never_seen, self.unseen), (f"{filled}, filled with the median", self.filled)):
            if counts:
                rows = ", ".join(f"{count} in column {column!r}" for column, count in counts.items())
                warn(f"{name} has rows with {what}: {rows}", DataWarning)

    @property
    def column_names(self) -> list[str]:
        """As pyarrow's tables have them."""
        return list(self.encoder.names or ())


def _one_row(row: Any) -> NDArray[np.float64]:
    """A row of numbers, also one that is a table or a sparse matrix of its own."""
    if hasattr(row, "toarray") and row.ndim == 1:  # a row of a sparse array
        row = row.reshape(1, -1)
    return np.asarray(as_dense(row, "a row"), np.float64).reshape(-1)
