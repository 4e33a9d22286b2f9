"""The columns of data frames of any library, as numbers or levels.

narwhals is loaded only when there is a frame.
"""

import sys
from collections.abc import Collection, Iterator
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linnet.data.characters import broken, check_names, first_broken, is_whole
from linnet.data.runs import Run, runs_of
from linnet.data.table import Array, by_type, narrowed
from linnet.errors import DataError

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw


_ROWS_PER_BLOCK = 1 << 16
_MAX_ROWS_COPIED = 256  # copying a column of so few rows takes less time than making an array of it in place


def as_frame(x: Any, name: str) -> "nw.DataFrame[Any] | None":
    """Return a data frame as narwhals' class, with text as column names; None for anything else."""
    if isinstance(x, np.ndarray | list | tuple) or hasattr(x, "tocsr"):
        return None
    import narwhals.stable.v2 as nw

    if hasattr(x, "set_axis") and hasattr(x, "columns"):
        names = [str(column) for column in x.columns]
        if len({*names}) < len(names):
            twice = next(column for column in names if names.count(column) > 1)
            raise DataError(f"{name} has several columns called {twice!r}: column names must be distinct")
        if not all(isinstance(column, str) for column in x.columns):
            x = x.set_axis(names, axis=1)  # in pandas, columns may be called 0, 1, 2
        _check_texts(x, names, name)
    x = _plain_arrow(x)
    frame = nw.from_native(x, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        raise DataError(f"{name} is a lazy frame: use {name}.collect()")
    return frame if isinstance(frame, nw.DataFrame) else None


def _check_texts(x: Any, names: list[str], name: str) -> None:
    """Raise a DataError for a lone surrogate in a column name, a cell or a category; only Python strings have them."""
    check_names(names, name)
    for index, kind in enumerate(getattr(x, "dtypes", ())):
        if str(kind) not in ("object", "category"):
            continue
        values = x.iloc[:, index]
        if str(kind) == "category":
            invalid = [code for code, level in enumerate(values.cat.categories) if not is_whole(level)]
            is_invalid = np.isin(values.cat.codes.to_numpy(), invalid)
            row = int(is_invalid.argmax()) if is_invalid.any() else -1
        else:
            row = first_broken(values.tolist())
        if row >= 0:
            raise broken(values.iloc[row], f"column {names[index]!r} of {name} has in row {row}")


def _plain_arrow(x: Any) -> Any:
    """Return the frame, with pyarrow types that pandas and narwhals do not support converted to ones that they do."""
    pa: Any = sys.modules.get("pyarrow")
    if pa is None:
        return x
    if isinstance(x, pa.RecordBatch):
        x = pa.Table.from_batches([x])
    if isinstance(x, pa.Table):
        names = x.schema.names
        special = [pa.types.is_string_view(kind) or pa.types.is_dictionary(kind) for kind in x.schema.types]
        for index in (index for index, is_special in enumerate(special) if is_special):
            name, column = names[index], x.column(index)
            if pa.types.is_string_view(column.type):
                x = x.set_column(index, name, column.cast(pa.large_string()))
            elif any(chunk.dictionary.null_count for chunk in column.chunks):
                x = x.set_column(index, name, column.cast(column.type.value_type).dictionary_encode())
    elif hasattr(x, "assign") and hasattr(x, "dtypes"):
        kinds = {column: getattr(kind, "pyarrow_dtype", None) for column, kind in x.dtypes.items()}
        levels = [column for column, kind in kinds.items() if kind is not None and pa.types.is_dictionary(kind)]
        if levels:
            x = x.assign(**{column: pa.array(x[column]).to_pandas().array for column in levels})
    return x


def columns_of(
    frame: "nw.DataFrame[Any]", leveled: Collection[str] = (), *, gaps: bool = False
) -> "Iterator[tuple[str, nw.Series[Any] | Array]]":
    """Yield the columns with their names, as series, or as arrays where NumPy can read Arrow columns in place.

    Creating a series takes longer than computing with thousands of numbers. Columns in `leveled` are always series.
    `gaps`: numeric columns with missing values come as arrays, too, with NaN for missing values.
    """
    pa: Any = sys.modules.get("pyarrow")
    table: Any = frame.to_native()
    if pa is None or not isinstance(table, pa.Table):
        yield from zip(frame.columns, frame.iter_columns(), strict=True)
        return
    names = table.column_names
    for run in runs_of(table):
        if not isinstance(run, Run):
            yield names[run], frame.get_column(names[run])
            continue
        is_short = len(table) <= _MAX_ROWS_COPIED
        for index, name in enumerate(run.columns.column_names):
            column = run.columns.column(index)
            if name in leveled or (column.null_count and not (gaps and run.type == "double")):
                yield name, frame.get_column(name)
            else:
                yield name, run.matrix[index] if is_short or column.null_count else column.chunk(0).to_numpy()


def has_levels(series: "nw.Series[Any]") -> bool:
    """Return whether a column holds levels rather than numbers, without checking that its type is supported."""
    import narwhals.stable.v2 as nw

    dtype = series.dtype
    if dtype == nw.Object:  # in pandas, columns of objects may hold numbers
        return not all(isinstance(value, Real) for value in series.drop_nulls().to_list())
    return dtype in (nw.String, nw.Categorical, nw.Enum) or isinstance(dtype, nw.Enum)


def categories_of(series: "nw.Series[Any]") -> tuple[list[Any], NDArray[Any]] | None:
    """Return the categories of a pandas or Arrow column and the code of each row (-1: missing); None for other columns.

    Codes are not copied if possible.
    """
    native: Any = series.to_native()
    array: Any = getattr(native, "array", None)
    if hasattr(array, "codes"):
        return array.categories.tolist(), array.codes  # series.cat.codes would be a copy
    chunks = getattr(native, "chunks", None)
    if not isinstance(chunks, list) or not chunks or not hasattr(chunks[0], "dictionary"):
        return None
    code_of: dict[Any, int] = {}
    codes = []
    for chunk in chunks:
        own = [code_of.setdefault(value, len(code_of)) for value in chunk.dictionary.to_pylist()]
        missing = chunk.indices.null_count
        indices = (chunk.indices.cast("int64").fill_null(-1) if missing else chunk.indices).to_numpy()
        unchanged = own == list(range(len(own)))
        codes.append(indices if unchanged else np.array([*own, -1], np.int32)[indices])
    return list(code_of), codes[0] if len(codes) == 1 else np.concatenate(codes)


def levels_of(series: "nw.Series[Any]", name: str) -> tuple[Any, ...]:
    """Return the levels that occur in a column, in the order of its categories, or sorted."""
    import narwhals.stable.v2 as nw

    if (categories := categories_of(series)) is not None:
        values, codes = categories
        occurs = np.zeros(len(values) + 1, np.bool_)  # the last entry: for missing values
        for block in slices_of(len(codes)):
            occurs[codes[block]] = True
        return tuple(value for value, is_present in zip(values, occurs, strict=False) if is_present)
    dtype = series.dtype
    if dtype == nw.Object and series.implementation.is_polars():  # for which polars has no operations
        raise not_usable(series, name)
    try:
        present = set(series.drop_nulls().unique().to_list())
        if dtype == nw.Categorical or isinstance(dtype, nw.Enum):
            return tuple(value for value in series.cat.get_categories().to_list() if value in present)
        return tuple(sorted(present, key=lambda value: (str(type(value)), value)))
    except TypeError:
        raise not_usable(series, name) from None


def slices_of(rows: int) -> Iterator[slice]:
    """Return consecutive slices of rows: NumPy converts an index of one-byte codes to eight bytes per row."""
    return (slice(first, first + _ROWS_PER_BLOCK) for first in range(0, rows, _ROWS_PER_BLOCK))


def numbers(series: "nw.Series[Any] | Array", name: str, *, narrow: bool = False) -> Array:
    """Return the numbers of a column, NaN for missing values, without a copy where its type allows.

    With `narrow` the type of integers may depend on their values, as in `as_table`.
    """
    if isinstance(series, np.ndarray):
        return _integers(series, narrow=narrow) if series.dtype.kind in "iu" else series
    import narwhals.stable.v2 as nw

    missing = series.null_count()
    if missing == len(series):  # then the type does not matter
        return np.full(len(series), np.nan)
    dtype = series.dtype
    if not (dtype.is_numeric() or dtype in (nw.Boolean, nw.Object)):
        raise not_usable(series, name)
    if dtype in (nw.Int128, nw.UInt128):  # which NumPy does not have
        series = series.cast(nw.Float64)
    values = _joined(series.drop_nulls() if missing else series)
    if values.dtype == np.bool_:
        values = values.view(np.uint8)
    elif values.dtype.kind in "iu" and not missing:
        values = _integers(values, narrow=narrow)
    elif values.dtype not in (np.float32, np.float64):
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            raise not_usable(series, name) from None
    if not missing:
        return values
    all_rows = np.full(len(series), np.nan)
    all_rows[~series.is_null().to_numpy()] = values
    return all_rows


def _integers(values: Array, *, narrow: bool) -> Array:
    return values if values.dtype == np.uint8 else narrowed(values) if narrow else by_type(values)


def _joined(series: "nw.Series[Any]") -> Array:
    """Return the values of a column as an array; the chunks of an Arrow column are concatenated once."""
    chunks = getattr(series.to_native(), "chunks", None)
    if isinstance(chunks, list) and len(chunks) > 1:
        return np.concatenate([chunk.to_numpy(zero_copy_only=False) for chunk in chunks])
    return series.to_numpy()


def check_whole(series: "nw.Series[Any] | Array", name: str, remedy: str) -> None:
    """Raise a DataError that names the first row with a missing value."""
    if not isinstance(series, np.ndarray) and series.null_count():
        row = int(series.is_null().arg_true()[0])
        raise DataError(f"{name} has no value in row {row}, column {series.name!r}: {remedy}")


def not_usable(series: "nw.Series[Any]", name: str) -> DataError:
    """Return the error for a column whose type is not supported, or not in this place."""
    import narwhals.stable.v2 as nw

    if hasattr(series.to_native(), "sparse"):
        return DataError(
            f"column {series.name!r} of {name} is a sparse column of pandas: use {name}.sparse.to_coo() if all columns "
            "are sparse, or .sparse.to_dense() for a single one"
        )
    dtype, expected = series.dtype, "numbers or levels"
    if dtype in (nw.String, nw.Categorical) or isinstance(dtype, nw.Enum):  # levels where training had numbers
        expected = "numbers, as in training"
    elif dtype.is_temporal():
        expected += ": convert it to numbers, such as the year or the days since a date"
    return DataError(f"column {series.name!r} of {name} has type {dtype}: it must hold {expected}")
