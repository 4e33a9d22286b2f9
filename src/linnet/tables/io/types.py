"""The types of columns: which one fits the values of several files, and how values become it."""

import re
from collections.abc import Mapping, Sequence
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from linnet.errors import DataError

Types = Mapping[str, pa.DataType]

MAX_COLUMNS_NAMED = 50  # columns in one error
_UNITS = ("s", "ms", "us", "ns")


def merged(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """The narrowest type that holds the values of both; text, if nothing else does."""
    if one.equals(other) or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    is_number = [pa.types.is_integer(type_) or pa.types.is_floating(type_) for type_ in (one, other)]
    if all(is_number):
        whole = pa.types.is_integer(one) and pa.types.is_integer(other)
        return pa.int64() if whole else pa.float64()
    dates = [pa.types.is_date(type_) or pa.types.is_timestamp(type_) for type_ in (one, other)]
    zones = {getattr(type_, "tz", None) for type_ in (one, other)}
    if all(dates) and len(zones) == 1:
        fine = any(getattr(type_, "unit", "s") != "s" for type_ in (one, other))
        return pa.timestamp("ns" if fine else "s", zones.pop())
    if pa.types.is_duration(one) and pa.types.is_duration(other):
        return pa.duration(max(one.unit, other.unit, key=_UNITS.index))
    return pa.list_(pa.null()) if pa.types.is_nested(one) or pa.types.is_nested(other) else pa.string()


@cache
def plain(type_: pa.DataType) -> pa.DataType:
    """One type for all ways to store the same: text for text, categories and bytes, float64 for decimals."""
    kinds = pa.types
    if kinds.is_dictionary(type_) or kinds.is_large_string(type_) or kinds.is_string_view(type_):
        return pa.string()
    if kinds.is_binary(type_) or kinds.is_large_binary(type_) or kinds.is_fixed_size_binary(type_):
        return pa.string()
    if kinds.is_decimal(type_) or kinds.is_float16(type_):
        return pa.float64()
    if kinds.is_date64(type_):
        return pa.timestamp("ms")
    if kinds.is_run_end_encoded(type_):
        return plain(type_.value_type)
    return type_


def merge_types(found: dict[str, pa.DataType], schema: pa.Schema) -> None:
    """Widen what was found by the types of one more table."""
    for field in schema:
        found[field.name] = merged(found.get(field.name, pa.null()), field.type)


def becomes(type_: pa.DataType, wanted: pa.DataType | None) -> bool:
    """Whether any value read as the one is, as the other, what it would have been from the start: not so 007 as text.

    None: nested, which stays.
    """
    if wanted is None or type_.equals(wanted) or pa.types.is_null(type_):
        return True
    return not pa.types.is_string(wanted) and merged(type_, wanted).equals(wanted)


def converted(table: pa.Table, types: Types, name: str, first_row: int) -> pa.Table:
    """Return the table with columns of the given types, or plain ones; nested columns without a type stay as they are.

    An error names every column that does not fit its type, each with the first row where it does not.
    """
    if all(field.type.equals(types.get(field.name) or plain(field.type)) for field in table.schema):
        return table
    columns, wrong = [], []
    for field, column in zip(table.schema, table.columns, strict=True):
        wanted = types.get(field.name, plain(field.type))
        if pa.types.is_run_end_encoded(field.type):
            column = pc.run_end_decode(column)
        if pa.types.is_nested(column.type):
            if field.name in types:
                wrong.append(f"column {field.name!r}: lists or objects where {in_words(wanted)} is expected")
        elif not column.type.equals(wanted):
            try:
                column = _cast(column, wanted)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                row = _first_misfit(column, wanted)
                found = f"{str(column[row])[:60]!r} where {in_words(wanted)} is expected"
                wrong.append(f"row {first_row + 1 + row}, column {field.name!r}: {found}")
        columns.append(column)
    if wrong:
        raise misfits(name, wrong)
    return pa.table(dict(zip(table.column_names, columns, strict=True)))


def misfits(file: str, wrong: Sequence[str]) -> DataError:
    """Build the error for columns of a file with other types than expected, each with its row and value."""
    more = "; and other columns" if len(wrong) > MAX_COLUMNS_NAMED else ""
    return DataError(f"{file}, {'; '.join(wrong[:MAX_COLUMNS_NAMED])}{more}")


def in_words(type_: object) -> str:
    """Return a type in words."""
    words = {"int": "a whole number", "uint": "a whole number", "double": "a number", "float": "a number"}
    words |= {"bool": "true or false", "date": "a date", "timestamp": "a date and time", "time": "a time of day"}
    words |= {"duration": "a length of time", "string": "text"}
    found = re.match(r"[a-z]+", str(type_))
    return words.get(found[0] if found else "", str(type_))


def _cast(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type) and not pa.types.is_string(column.type.value_type):
        column = column.cast(column.type.value_type)
    if column.null_count == len(column):
        return pa.chunked_array([pa.nulls(len(column), wanted)])
    of_time = [pa.types.is_temporal(type_) for type_ in (column.type, wanted)]
    if of_time[0] != of_time[1] and not (pa.types.is_string(column.type) or pa.types.is_string(wanted)):
        raise pa.ArrowInvalid  # pyarrow makes a number of seconds, or of days, of it
    lossy = pa.types.is_floating(wanted) and not pa.types.is_string(column.type)
    return column.cast(wanted, safe=not lossy)


def _first_misfit(column: pa.ChunkedArray, wanted: pa.DataType) -> int:
    """The first row that cannot be cast, found by halving."""
    low, high = 0, len(column)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            _cast(column.slice(low, middle - low), wanted)
            low = middle
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            high = middle
    return low
