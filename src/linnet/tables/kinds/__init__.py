"""The kind of a column, recognised by its values and its name, with the reason in plain words.

A kind of column is a class with everything about it: how it is recognised, which columns it becomes, and its form in
files and ONNX graphs. Kinds are asked in the order of `KINDS`; a column is of the first that recognises it.
"""

from collections.abc import Iterator

import pyarrow as pa

from linnet.data.runs import Run, runs_of
from linnet.tables.kinds.base import KINDS, Column, ColumnKind, Kind
from linnet.tables.kinds.boolean import Boolean
from linnet.tables.kinds.category import OTHER, Category
from linnet.tables.kinds.date import Date, text_dates
from linnet.tables.kinds.left_out import Constant, Empty, Identifier
from linnet.tables.kinds.number import Number, is_time, known_numbers, text_numbers
from linnet.tables.kinds.plain import raw_columns
from linnet.tables.kinds.raw import COUNTED, RawColumn
from linnet.tables.kinds.text import Text

__all__ = [
    "KINDS",
    "OTHER",
    "Column",
    "ColumnKind",
    "Kind",
    "RawColumn",
    "is_time",
    "judge",
    "judge_table",
    "known_numbers",
    "text_dates",
    "text_numbers",
]

KINDS.extend([Empty(), Constant(), Boolean(), Date(), Text(), Identifier(), Number(), Category()])


def judge(name: str, column: pa.ChunkedArray, target: bool = False) -> Column:
    """Return how a column is read; the target is never left out."""
    (found,) = judge_table(pa.table({name: column}), name if target else None)
    return found


def judge_table(table: pa.Table, target: str | None = None) -> list[Column]:
    """Return how each column of a table is read."""
    return [_judged(raw) for raw in _raw_columns(table, target)]


def _judged(raw: RawColumn) -> Column:
    for kind in KINDS:
        if (found := kind.recognise(raw)) is not None:
            return found
    raise AssertionError(f"no kind of column has {raw.type}")


def _raw_columns(table: pa.Table, target: str | None) -> Iterator[RawColumn]:
    names, few = table.column_names, len(table) <= COUNTED
    for run in runs_of(table) if few else range(table.num_columns):
        if isinstance(run, Run):
            yield from raw_columns(run, target)
            continue
        column = table.column(run)
        is_float = pa.types.is_floating(column.type)
        if few and (is_float or (pa.types.is_integer(column.type) and not column.null_count)):
            yield from raw_columns(Run(run, table.select([run]), str(column.type)), target)  # in several chunks
        else:
            yield RawColumn(names[run], column, names[run] == target)
