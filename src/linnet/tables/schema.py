"""How a table is read: the kind of each column, what is left out and why, and the task.

    schema = Schema.of(table, target="price")
    schema.task, schema.reason  # "a number", why
    schema.apply(table)  # numbers, booleans and text columns of levels, as linnet's estimators take them

| kind | becomes |
|---|---|
| number | a number; missing values are left to the encoder |
| boolean | true or false |
| category | text; where there are many levels, the rare ones together are "(other)" |
| date | year, month, weekday, hour and days since the first, those that vary |
| text | hashed n-grams, on request, or if there is nothing else |
| identifier, constant, empty | nothing |
"""

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from linnet.data.runs import Run, finite, runs_of
from linnet.errors import DataError, unknown_name
from linnet.registry import need, saved
from linnet.tables.kinds import Column, Kind, judge_table
from linnet.tables.kinds.base import column_facts, column_of, type_named
from linnet.tables.kinds.category import never_seen
from linnet.tables.kinds.number import Number
from linnet.tables.kinds.text import Text
from linnet.tables.task import Task, check_task, read_task


@saved
@dataclass(frozen=True, slots=True)
class Schema:
    """How the columns of a table are read, in plain values only, so that it can be stored."""

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
        """Learn it from a table. `text`: columns whose words are used. `task`: if not inferred from the target."""
        for name in (*text, *([] if target is None else [target])):
            if name not in table.column_names:
                raise unknown_column(name, table.column_names)
        judged = judge_table(table, target)
        columns = [column for column in judged if column.name != target]
        if len(table):
            columns = _with_text(columns, text, len(table))
        if target is None:
            return cls(len(table), tuple(columns))
        found = next(column for column in judged if column.name == target)
        read = read_task(found, table[target]) if task is None else (check_task(task, found), "as requested")
        return cls(len(table), tuple(columns), found, *read)

    def as_numbers(self) -> "Schema":
        """Return the schema with every column read as numbers and none left out; a DataError names other columns."""
        for column in self.columns:
            if column.missing or not re.fullmatch(r"u?int\d+|halffloat|float|double", column.type):
                found = f"{column.missing:,} missing values" if column.missing else f"values of type {column.type}"
                raise DataError(f"column {column.name!r} has {found}, where only numbers can be used as they are")
        numbers = [
            dataclasses.replace(column, kind=Kind.NUMBER, used=True, note="", levels=None, rare=None)
            for column in self.columns
        ]
        return dataclasses.replace(self, columns=tuple(numbers))

    @property
    def used(self) -> tuple[Column, ...]:
        """The columns that a model uses."""
        return tuple(column for column in self.columns if column.used)

    @property
    def types(self) -> dict[str, pa.DataType]:
        """The types to read columns as, for `Source`: those they had, but any number may be where one was.

        That of the target only where it is text: among numbers words are missing values, which are left out.
        """
        types = {column.name: column.how.type_to_read(column) for column in self.used}
        is_text = self.target is not None and pa.types.is_string(type_named(self.target.type))
        return {**types, self.target.name: pa.string()} if self.target is not None and is_text else types

    @property
    def notices(self) -> list[str]:
        """Notices for the user, one sentence each."""
        out = [f"column {column.name!r} is left out: it {column.note}" for column in self.columns if not column.used]
        if self.target is not None and self.target.missing:
            out.append(f"{self.target.missing:,} rows have no {self.target.name!r}: they are left out")
        return out

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as values of JSON."""
        both = {name: getattr(self, name) for name in self.__slots__}
        target = None if self.target is None else column_facts(self.target)
        return {**both, "columns": tuple(map(column_facts, self.columns)), "target": target}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Schema":
        """Return the schema from the values of `to_dict`."""
        target = values["target"]
        columns = tuple(column_of(column) for column in values["columns"])
        return cls(
            values["rows"], columns, None if target is None else column_of(target), values["task"], values["reason"]
        )

    def has_target(self, table: pa.Table) -> NDArray[np.bool_]:
        """Return which rows have a target; words in a column of numbers are missing."""
        assert self.target is not None
        if self.target.is_number:
            return np.isfinite(self.target_numbers(table))
        return np.asarray(pc.is_valid(table[self.target.name]).to_numpy(), np.bool_)

    def target_numbers(self, table: pa.Table) -> NDArray[np.float64]:
        """The target as numbers, NaN where there is none."""
        assert self.target is not None
        values = Number().numbers(self.target, table[self.target.name])
        return np.asarray(values.cast(pa.float64(), safe=False).to_numpy(), np.float64)  # beyond 2^53 rounded

    def apply(self, table: pa.Table) -> pa.Table:
        """The columns of the model, from a table that has them in any order; an error lists what does not fit."""
        present, used = dict(zip(table.column_names, table.itercolumns(), strict=True)), self.used
        wrong = [f"column {column.name!r} is missing" for column in used if column.name not in present]
        made: dict[str, Any] = {}
        plain = [column.name for column in used if column.name in present and column.how.is_plain(column)]
        as_they_are = {*_all_finite(table.select(plain))}
        for column in used:
            if column.name in as_they_are:
                made[column.name] = present[column.name]
            elif column.name in present:
                try:
                    made |= column.apply(present[column.name])
                except DataError as error:
                    wrong.append(str(error))
        if wrong:
            raise DataError(f"the table does not fit the model: {'; '.join(wrong)}")
        return pa.table(made)

    def never_seen(self, table: pa.Table) -> dict[str, int]:
        """Rows with new levels that count as "(other)", by column, where that is known."""
        asked = [column for column in self.used if column.levels is not None and column.rare is not None]
        counts = {column.name: never_seen(column, table[column.name]) for column in asked}
        return {name: count for name, count in counts.items() if count}


def _all_finite(table: pa.Table) -> Iterator[str]:
    """The columns with finite or missing numbers only, as far as many of them can be checked at once."""
    for run in runs_of(table):
        if isinstance(run, Run):
            yield from compress(run.columns.column_names, finite(run))


def made_of(column: Column) -> list[str]:
    """Return the names of the columns that a column becomes."""
    return column.made_of()


def unknown_column(name: str, names: Sequence[str]) -> DataError:
    """Build the error for a column that does not exist."""
    return DataError(str(unknown_name("column", name, names)))


def _with_text(columns: list[Column], wanted: Sequence[str], rows: int) -> list[Column]:
    """Texts that are requested are used; all are, if there is nothing else to learn from."""
    alone, text = not any(column.used for column in columns), Text()
    out = []
    for column in columns:
        is_text = column.type == "string" and column.how.varies
        asked = column.name in wanted
        if asked and not is_text:
            raise DataError(
                f"column {column.name!r} cannot be used as text: it is {column.kind}, of type {column.type}"
            )
        if asked or (alone and is_text and column.how.are_words):
            column = text.of_words(column, rows, "as requested" if asked else "there is nothing else to learn from")
        out.append(column)
    return out
