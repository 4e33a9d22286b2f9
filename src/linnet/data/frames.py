"""The columns of data frames, of any library, one at a time: numbers, or levels.

narwhals is loaded when there is a frame.
"""

import sys
from collections.abc import Collection, Iterator
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linnet.data.characters import broken, check_names, first_broken, is_whole
from linnet.data.table import Array, by_type, narrowed
from linnet.errors import DataError

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw


_PART = 1 << 16  # rows


def as_frame(x: Any, name: str) -> "nw.DataFrame[Any] | None":
    """Return a data frame, its columns called by text, and None for anything else."""
    if isinstance(x, np.ndarray | list | tuple) or hasattr(x, "tocsr"):
        return None
    import narwhals.stable.v2 as nw

    if hasattr(x, "set_axis") and hasattr(x, "columns"):
        names = [str(column) for column in x.columns]
        if len({*names}) < len(names):
            twice = next(column for column in names if names.count(column) > 1)
            raise DataError(f"{name} has several columns called {twice!r}: give each a name of its own")
        if not all(isinstance(column, str) for column in x.columns):
            x = x.set_axis(names, axis=1)  # pandas also has columns called 0, 1, 2
        _check_texts(x, names, name)
    x = _plain_arrow(x)
    frame = nw.from_native(x, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        raise DataError(f"{name} is a lazy frame, which has no rows yet: use {name}.collect()")
    return frame if isinstance(frame, nw.DataFrame) else None


def _check_texts(x: Any, names: list[str], name: str) -> None:
    """Raise a DataError for half a character in a column's name, a cell or a category; only Python's texts have it."""
    check_names(names, name)
    for place, kind in enumerate(getattr(x, "dtypes", ())):
        if str(kind) not in ("object", "category"):
            continue
        values = x.iloc[:, place]
        if str(kind) == "category":
            wrong = [code for code, level in enumerate(values.cat.categories) if not is_whole(level)]
            there = np.isin(values.cat.codes.to_numpy(), wrong)
            row = int(there.argmax()) if there.any() else -1
        else:
            row = first_broken(values.tolist())
        if row >= 0:
            raise broken(values.iloc[row], f"column {names[place]!r} of {name} has in row {row}")


def _plain_arrow(x: Any) -> Any:
    """The frame, with types of pyarrow's that neither pandas nor narwhals computes with as others that they know."""
    pa: Any = sys.modules.get("pyarrow")
    if pa is None:
        return x
    if isinstance(x, pa.RecordBatch):
        x = pa.Table.from_batches([x])
    if isinstance(x, pa.Table):
        for place, field in enumerate(x.schema):
            column, kind = x.column(place), field.type
            if pa.types.is_string_view(kind):
                x = x.set_column(place, field.name, column.cast(pa.large_string()))
            elif pa.types.is_dictionary(kind) and any(chunk.dictionary.null_count for chunk in column.chunks):
                x = x.set_column(place, field.name, column.cast(kind.value_type).dictionary_encode())
    elif hasattr(x, "assign") and hasattr(x, "dtypes"):
        kinds = {column: getattr(kind, "pyarrow_dtype", None) for column, kind in x.dtypes.items()}
        levels = [column for column, kind in kinds.items() if kind is not None and pa.types.is_dictionary(kind)]
        if levels:
            x = x.assign(**{column: pa.array(x[column]).to_pandas().array for column in levels})
    return x


def columns_of(
    frame: "nw.DataFrame[Any]", leveled: Collection[str] = ()
) -> "Iterator[tuple[str, nw.Series[Any] | Array]]":
    """The columns by name. Numbers of an Arrow table that NumPy has in place are arrays, but for columns that must have
    levels: making a series takes more time than thousands of numbers do.
    """
    pa: Any = sys.modules.get("pyarrow")
    table: Any = frame.to_native()
    if pa is None or not isinstance(table, pa.Table):
        yield from zip(frame.columns, frame.iter_columns(), strict=True)
        return
    kinds = (np.float64, np.float32, np.int64, np.int32, np.int16, np.int8, np.uint64, np.uint32, np.uint16, np.uint8)
    in_place = {pa.from_numpy_dtype(kind) for kind in kinds}
    for name, column in zip(table.column_names, table.itercolumns(), strict=True):
        plain = column.num_chunks == 1 and column.type in in_place and not column.null_count and name not in leveled
        yield name, column.chunk(0).to_numpy() if plain else frame.get_column(name)


def has_levels(series: "nw.Series[Any]") -> bool:
    """Whether the column holds levels; whether it can be used is another question."""
    import narwhals.stable.v2 as nw

    dtype = series.dtype
    if dtype == nw.Object:  # pandas' for anything, also for numbers
        return not all(isinstance(value, Real) for value in series.drop_nulls().to_list())
    return dtype in (nw.String, nw.Categorical, nw.Enum) or isinstance(dtype, nw.Enum)


def categories_of(series: "nw.Series[Any]") -> tuple[list[Any], NDArray[Any]] | None:
    """The categories of a column of pandas' or Arrow's that has them, and every row's place among them, -1 where it has
    none; where they lie, if that can be.
    """
    native: Any = series.to_native()
    given: Any = getattr(native, "array", None)
    if hasattr(given, "codes"):
        return given.categories.tolist(), given.codes  # series.cat.codes would be a copy
    chunks = getattr(native, "chunks", None)
    if not isinstance(chunks, list) or not chunks or not hasattr(chunks[0], "dictionary"):
        return None
    places: dict[Any, int] = {}
    codes = []
    for chunk in chunks:
        own = [places.setdefault(value, len(places)) for value in chunk.dictionary.to_pylist()]
        gaps = chunk.indices.null_count
        of_rows = (chunk.indices.cast("int64").fill_null(-1) if gaps else chunk.indices).to_numpy()
        known = own == list(range(len(own)))
        codes.append(of_rows if known else np.array([*own, -1], np.int32)[of_rows])
    return list(places), codes[0] if len(codes) == 1 else np.concatenate(codes)


def levels_of(series: "nw.Series[Any]", name: str) -> tuple[Any, ...]:
    """The levels present: in the order of the categories, or sorted."""
    import narwhals.stable.v2 as nw

    if (given := categories_of(series)) is not None:
        values, of_rows = given
        found = np.zeros(len(values) + 1, np.bool_)  # the last for rows without a level
        for part in parts_of(len(of_rows)):
            found[of_rows[part]] = True
        return tuple(value for value, is_present in zip(values, found, strict=False) if is_present)
    dtype = series.dtype
    if dtype == nw.Object and series.implementation.is_polars():  # which does not look into it
        raise not_usable(series, name)
    try:
        present = set(series.drop_nulls().unique().to_list())
        if dtype == nw.Categorical or isinstance(dtype, nw.Enum):
            return tuple(value for value in series.cat.get_categories().to_list() if value in present)
        return tuple(sorted(present, key=lambda value: (str(type(value)), value)))
    except TypeError:
        raise not_usable(series, name) from None


def parts_of(rows: int) -> Iterator[slice]:
    """Some rows after some others: as indices codes of a byte would take eight."""
    return (slice(first, first + _PART) for first in range(0, rows, _PART))


def numbers(series: "nw.Series[Any] | Array", name: str, *, narrow: bool = False) -> Array:
    """The numbers of a column, NaN where one is missing; in place where its type allows. `narrow`: see `as_table`."""
    if isinstance(series, np.ndarray):
        return _whole_numbers(series, narrow=narrow) if series.dtype.kind in "iu" else series
    import narwhals.stable.v2 as nw

    missing = series.null_count()
    if missing == len(series):  # of whatever type
        return np.full(len(series), np.nan)
    dtype = series.dtype
    if not (dtype.is_numeric() or dtype in (nw.Boolean, nw.Object)):
        raise not_usable(series, name)
    if dtype in (nw.Int128, nw.UInt128):  # NumPy has none
        series = series.cast(nw.Float64)
    values = _joined(series.drop_nulls() if missing else series)
    if values.dtype == np.bool_:
        values = values.view(np.uint8)
    elif values.dtype.kind in "iu" and not missing:
        values = _whole_numbers(values, narrow=narrow)
    elif values.dtype not in (np.float32, np.float64):
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            raise not_usable(series, name) from None
    if not missing:
        return values
    every = np.full(len(series), np.nan)
    every[~series.is_null().to_numpy()] = values
    return every


def _whole_numbers(values: Array, *, narrow: bool) -> Array:
    return values if values.dtype == np.uint8 else narrowed(values) if narrow else by_type(values)


def _joined(series: "nw.Series[Any]") -> Array:
    """The values of a column as an array; those of an Arrow table of several chunks are put together once."""
    chunks = getattr(series.to_native(), "chunks", None)
    if isinstance(chunks, list) and len(chunks) > 1:
        return np.concatenate([chunk.to_numpy(zero_copy_only=False) for chunk in chunks])
    return series.to_numpy()


def check_whole(series: "nw.Series[Any] | Array", name: str, remedy: str) -> None:
    """Raise a DataError that names the first row without a value."""
    if not isinstance(series, np.ndarray) and series.null_count():
        row = int(series.is_null().arg_true()[0])
        raise DataError(f"{name} has no value in row {row}, column {series.name!r}: {remedy}")


def not_usable(series: "nw.Series[Any]", name: str) -> DataError:
    """Build the error for a column of a type that no model takes, or not here."""
    import narwhals.stable.v2 as nw

    if hasattr(series.to_native(), "sparse"):
        return DataError(
            f"column {series.name!r} of {name} is one of pandas' sparse columns: use {name}.sparse.to_coo() if all "
            "are, or .sparse.to_dense() for a single one"
        )
    dtype, wanted = series.dtype, "numbers or levels"
    if dtype in (nw.String, nw.Categorical) or isinstance(dtype, nw.Enum):  # levels are refused only in their place
        wanted = "numbers, as in training"
    elif dtype.is_temporal():
        wanted += ": make numbers of it, such as the year or the days since a date"
    return DataError(f"column {series.name!r} of {name} has type {dtype}: it must hold {wanted}")
