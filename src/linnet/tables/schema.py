"""How a table is read: the kind of each column, what is left out and why, and the task.

    schema = Schema.of(table, target="price")
    schema.task, schema.reason  # "a number", why
    schema.apply(table)  # numbers, booleans and text columns of levels, as linnet's estimators take them

| kind | becomes |
|---|---|
| number | a number; gaps are left to the encoder |
| boolean | true or false |
| category | text; where there are many levels, the rare ones together are "(other)" |
| date | year, month, weekday, hour and days since the first, those that vary |
| text | hashed n-grams, if asked for, or if there is nothing else |
| identifier, constant, empty | nothing |
"""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from linnet.errors import DataError, unknown_name
from linnet.registry import need, saved
from linnet.tables.kinds import (
    OTHER,
    Column,
    Kind,
    column_facts,
    date_parts,
    is_time,
    judge,
    level_digest,
    short_levels,
    text_dates,
    text_numbers,
    text_words,
)
from linnet.tables.task import Task, check_task, read_task
from linnet.tables.text import hashed_ngrams

_BINS, _FEW_BINS = 1024, 256  # columns of a text
_LONG = 100_000  # rows from which a text gets the fewer ones


@saved
@dataclass(frozen=True, slots=True)
class Schema:
    """How the columns of a table are read; plain values only, so that it can be written down."""

    rows: int
    columns: tuple[Column, ...]  # without the target
    target: Column | None = None
    task: Task | None = None
    reason: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "task", None if self.task is None else Task(self.task))  # files have the word

    def _check_file(self) -> None:
        columns = [column.name for column in (*self.columns, *([] if self.target is None else [self.target]))]
        need(len({*columns}) == len(columns), self, "columns")
        need(self.task is None or self.target is not None, self, "task")
        assert self.types is not None  # all of them are known to pyarrow

    @classmethod
    def of(
        cls, table: pa.Table, target: str | None = None, *, task: str | None = None, text: Sequence[str] = ()
    ) -> "Schema":
        """Learn it from a table. `text`: columns whose words are used. `task`: if not to be read off the target."""
        for name in (*text, *([] if target is None else [target])):
            if name not in table.column_names:
                raise unknown_column(name, table.column_names)
        both = zip(table.column_names, table.itercolumns(), strict=True)
        columns = [judge(name, column) for name, column in both if name != target]
        if len(table):
            columns = _with_text(columns, text, len(table))
        if target is None:
            return cls(len(table), tuple(columns))
        found = judge(target, table[target], target=True)
        read = read_task(found, table[target]) if task is None else (check_task(task, found), "as asked for")
        return cls(len(table), tuple(columns), found, *read)

    def as_numbers(self) -> "Schema":
        """The same with every column read as the number that it is, none left out; a DataError names what is none."""
        for column in self.columns:
            if column.missing or not re.fullmatch(r"u?int\d+|halffloat|float|double", column.type):
                found = f"{column.missing:,} gaps" if column.missing else f"values of type {column.type}"
                raise DataError(f"column {column.name!r} has {found}, where only numbers can be used as they are")
        numbers = [
            dataclasses.replace(column, kind=Kind.NUMBER, used=True, note="", levels=None, rare=None)
            for column in self.columns
        ]
        return dataclasses.replace(self, columns=tuple(numbers))

    @property
    def used(self) -> tuple[Column, ...]:
        """The columns that a model gets."""
        return tuple(column for column in self.columns if column.used)

    @property
    def types(self) -> dict[str, pa.DataType]:
        """The types to read columns as, for `Source`: those they had, but any number may be where one was.

        That of the target only where it is text: among numbers words are missing values, which are left out.
        """
        types = {column.name: _wide(column) for column in self.used}
        is_text = self.target is not None and pa.types.is_string(_type(self.target.type))
        return {**types, self.target.name: pa.string()} if self.target is not None and is_text else types

    @property
    def notices(self) -> list[str]:
        """What a user should know, a sentence each."""
        out = [f"column {column.name!r} is left out: it {column.note}" for column in self.columns if not column.used]
        if self.target is not None and self.target.missing:
            out.append(f"{self.target.missing:,} rows have no {self.target.name!r}: they are left out")
        return out

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON has."""
        both = {name: getattr(self, name) for name in self.__slots__}
        target = None if self.target is None else column_facts(self.target)
        return {**both, "columns": tuple(map(column_facts, self.columns)), "target": target}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Schema":
        """The schema of which `to_dict` made the values."""
        target = values["target"]
        columns = tuple(_column(column) for column in values["columns"])
        return cls(
            values["rows"], columns, None if target is None else _column(target), values["task"], values["reason"]
        )

    def has_target(self, table: pa.Table) -> NDArray[np.bool_]:
        """Which rows have a target; where it is a number, a word is none."""
        assert self.target is not None
        if self.target.kind is Kind.NUMBER:
            return np.isfinite(self.target_numbers(table))
        return np.asarray(pc.is_valid(table[self.target.name]).to_numpy(), np.bool_)

    def target_numbers(self, table: pa.Table) -> NDArray[np.float64]:
        """The target as numbers, NaN where there is none."""
        assert self.target is not None
        values = _numbers(self.target, table[self.target.name])
        return np.asarray(values.cast(pa.float64(), safe=False).to_numpy(), np.float64)  # beyond 2^53 rounded

    def apply(self, table: pa.Table) -> pa.Table:
        """The columns of the model, from a table with those learned in any order; an error lists what does not fit."""
        present = dict(zip(table.column_names, table.itercolumns(), strict=True))
        absent = [column.name for column in self.used if column.name not in present]
        wrong = [f"column {name!r} is missing" for name in absent]
        made: dict[str, Any] = {}
        for column in self.used:
            if column.name in present:
                try:
                    made |= _apply(column, present[column.name])
                except DataError as error:
                    wrong.append(str(error))
        if wrong:
            raise DataError(f"the table does not fit the model: {'; '.join(wrong)}")
        return pa.table(made)

    def never_seen(self, table: pa.Table) -> dict[str, int]:
        """Rows with levels that fall into "(other)" without having been among them, by column, where it is known."""
        asked = [column for column in self.used if column.levels is not None and column.rare is not None]
        counts = {column.name: _never_seen(column, table[column.name]) for column in asked}
        return {name: count for name, count in counts.items() if count}


def _never_seen(column: Column, values: pa.ChunkedArray) -> int:
    """How many rows have a level that counts as one of the rare ones, but was in no row when the schema was learned."""
    text = short_levels(values.cast(pa.string())).drop_null()
    counts = pc.value_counts(text.filter(pc.invert(pc.is_in(text, pa.array(column.levels, pa.string())))))
    known = set(column.rare or ())
    rows = zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True)
    return sum(count for level, count in rows if level_digest(level) not in known)


def made_of(column: Column) -> list[str]:
    """The names of the columns that one becomes."""
    if column.kind is Kind.DATE:
        return [f"{column.name} {part}" for part in column.parts]
    return [f"{column.name} #{place}" for place in range(column.bins)] if column.kind is Kind.TEXT else [column.name]


def unknown_column(name: str, names: Sequence[str]) -> DataError:
    """Build the error for a column that is not there."""
    return DataError(str(unknown_name("column", name, names)))


def _with_text(columns: list[Column], wanted: Sequence[str], rows: int) -> list[Column]:
    """Texts that are asked for are used; all are, if there is nothing else to learn from."""
    bins = _BINS if rows <= _LONG else _FEW_BINS
    alone = not any(column.used for column in columns)
    out = []
    for column in columns:
        is_text = column.type == "string" and column.kind not in (Kind.CONSTANT, Kind.EMPTY)
        asked, only = column.name in wanted, alone and is_text and column.kind in (Kind.TEXT, Kind.IDENTIFIER)
        if asked and not is_text:
            raise DataError(
                f"column {column.name!r} cannot be used as text: it is {column.kind}, of type {column.type}"
            )
        if asked or only:
            why = "as asked for" if asked else "there is nothing else to learn from"
            note = f"its words and their parts are hashed into {bins} columns: {why}"
            column = dataclasses.replace(column, kind=Kind.TEXT, used=True, bins=bins, note=note, levels=None, style="")
        out.append(column)
    return out


def _column(values: Mapping[str, Any]) -> Column:
    lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list | tuple)}
    return Column(**{**values, **lists})


@cache
def _type(name: str) -> pa.DataType:
    """The type of a name that pyarrow wrote."""
    zoned = re.fullmatch(r"timestamp\[(\w+), tz=(.+)\]", name)
    return pa.timestamp(zoned[1], zoned[2]) if zoned else pa.type_for_alias(name)


def _wide(column: Column) -> pa.DataType:
    """The type that holds what a column may have later: 2.5 or a gap where there were whole numbers."""
    type_ = _type(column.type)
    if pa.types.is_duration(type_):
        return pa.duration("ns")
    return pa.float64() if column.kind is Kind.NUMBER and pa.types.is_integer(type_) else type_


# ---- one column ----


def _apply(column: Column, values: pa.ChunkedArray) -> dict[str, Any]:
    """The columns that one becomes, by name."""
    name, given = column.name, values.type
    if pa.types.is_null(given):
        values = values.cast(_type(column.type))
    elif pa.types.is_dictionary(given) or pa.types.is_large_string(given):
        values = values.cast(pa.string())
    match column.kind:
        case Kind.NUMBER:
            return {name: _numbers(column, values)}
        case Kind.BOOLEAN:
            return {name: _booleans(column, values)}
        case Kind.DATE:
            dates = _dates(column, values)
            start = pa.scalar(column.start, pa.string()).cast(pa.timestamp("s"))
            parts = date_parts(dates, start, column.parts)
            return dict(zip(made_of(column), parts.values(), strict=True))
        case Kind.CATEGORY:
            return {name: _levels(column, values)}
        case _:
            if not pa.types.is_string(values.type):
                raise _retyped(column, values, "text")
            hashed = hashed_ngrams(values, column.bins)
            return {made: hashed[place] for place, made in enumerate(made_of(column))}


def _numbers(column: Column, values: Any) -> Any:
    if is_time(values.type) and is_time(_type(column.type)):
        return hours(values)
    if pa.types.is_string(values.type):
        found = text_numbers(values, column.style or "1,234.5")
        if not column.style and len(text_words(values, found)):
            raise _retyped(column, text_words(values, found), "numbers")
        values = found
    number = pa.types.is_integer(values.type) or pa.types.is_floating(values.type) or pa.types.is_boolean(values.type)
    if not number or is_time(_type(column.type)):
        raise _retyped(column, values, f"values of type {column.type}" if number else "numbers")
    if not pa.types.is_floating(values.type) or pc.all(finite := pc.is_finite(values), min_count=0).as_py():
        return values
    return pc.if_else(finite, values, pa.scalar(None, values.type))


def _booleans(column: Column, values: Any) -> Any:
    if pa.types.is_boolean(values.type):
        return values
    try:
        return values.cast(pa.bool_())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise _retyped(column, values, "true or false") from None


def _dates(column: Column, values: Any) -> Any:
    if pa.types.is_string(values.type) and column.style:
        return text_dates(values, column.style)
    try:
        if not (pa.types.is_date(values.type) or pa.types.is_timestamp(values.type) or pa.types.is_string(values.type)):
            raise pa.ArrowInvalid
        return values.cast(pa.timestamp("s", getattr(values.type, "tz", None)), safe=False)
    except pa.ArrowInvalid:
        raise _retyped(column, values, "dates") from None


def _levels(column: Column, values: Any) -> Any:
    if pa.types.is_floating(values.type) or pa.types.is_temporal(values.type) or pa.types.is_nested(values.type):
        raise _retyped(column, values, "the names of levels")
    values = short_levels(values.cast(pa.string()))
    if column.levels is None:
        return values
    rare = pc.and_(pc.is_valid(values), pc.invert(pc.is_in(values, pa.array(column.levels, pa.string()))))
    return pc.if_else(rare, OTHER, values)


def hours(values: Any) -> Any:
    """Times of day and lengths of time as hours."""
    unit = {"s": 3600.0, "ms": 3.6e6, "us": 3.6e9, "ns": 3.6e12}[values.type.unit]
    whole = values.cast(pa.int32() if values.type.bit_width == 32 else pa.int64())
    return pc.divide(whole.cast(pa.float64()), unit)


def _retyped(column: Column, values: Any, expected: str) -> DataError:
    known = values.drop_null()
    such = f" such as {str(known[0].as_py())[:40]!r}" if len(known) else ""
    return DataError(f"column {column.name!r} has type {values.type}{such}, where {expected} were expected")
