"""The types of columns: which one fits the values of several files, and how values become it."""

from collections.abc import Mapping

import pyarrow as pa

from linnet.errors import DataError

Types = Mapping[str, pa.DataType]


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
    return pa.list_(pa.null()) if pa.types.is_nested(one) or pa.types.is_nested(other) else pa.string()


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
    if kinds.is_duration(type_):
        return pa.int64()
    if kinds.is_run_end_encoded(type_):
        return plain(type_.value_type)
    return type_


def merge_types(found: dict[str, pa.DataType], schema: pa.Schema) -> None:
    """Widen what was found by the types of one more table."""
    for field in schema:
        found[field.name] = merged(found.get(field.name, pa.null()), field.type)


def keeps_text(type_: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether a value read as the one is, as the other, what it would have been from the start: not so 007."""
    return type_.equals(wanted) or pa.types.is_null(type_) or not pa.types.is_string(wanted)


def converted(table: pa.Table, types: Types, name: str, first_row: int) -> pa.Table:
    """The table with its columns in the given types, or else in plain ones; nested columns without a type stay."""
    columns = []
    for field, column in zip(table.schema, table.columns, strict=True):
        wanted = types.get(field.name, plain(field.type))
        if not pa.types.is_nested(field.type) and not column.type.equals(wanted):
            column = _cast(column, wanted, name, field.name, first_row + 1)
        columns.append(column)
    return pa.table(dict(zip(table.column_names, columns, strict=True)))


def _cast(column: pa.ChunkedArray, wanted: pa.DataType, file: str, name: str, first: int) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type) and not pa.types.is_string(column.type.value_type):
        column = column.cast(column.type.value_type)
    lossy = pa.types.is_floating(wanted) and not pa.types.is_string(column.type)
    try:
        return column.cast(wanted, safe=not lossy)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        low, high = 0, len(column)  # the first bad row lies within
        while high - low > 1:
            middle = (low + high) // 2
            try:
                column.slice(low, middle - low).cast(wanted, safe=not lossy)
                low = middle
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                high = middle
        where = f"{file}, row {first + low}, column {name!r}"
        raise DataError(f"{where}: {str(column[low])[:60]!r} cannot be read as {wanted}") from None
