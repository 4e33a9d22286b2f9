"""The columns of data frames, of any library, one at a time: numbers, or levels.

narwhals is loaded when there is a frame.
"""

import sys
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linnet.data.table import Array
from linnet.errors import DataError

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw


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
    x = _plain_arrow(x)
    frame = nw.from_native(x, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        raise DataError(f"{name} is a lazy frame, which has no rows yet: use {name}.collect()")
    return frame if isinstance(frame, nw.DataFrame) else None


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


def has_levels(series: "nw.Series[Any]") -> bool:
    """Whether the column holds levels; whether it can be used is another question."""
    import narwhals.stable.v2 as nw

    dtype = series.dtype
    if dtype == nw.Object:  # pandas' for anything, also for numbers
        return not all(isinstance(value, Real) for value in series.drop_nulls().to_list())
    return dtype in (nw.String, nw.Categorical, nw.Enum) or isinstance(dtype, nw.Enum)


def pandas_categories(series: "nw.Series[Any]") -> tuple[list[Any], NDArray[Any]] | None:
    """The categories of a pandas column that has them, and every row's place among them, -1 where it has none."""
    categories: Any = getattr(series.to_native(), "cat", None)
    if not hasattr(categories, "codes"):
        return None
    return categories.categories.tolist(), categories.codes.to_numpy()


def levels_of(series: "nw.Series[Any]", name: str) -> tuple[Any, ...]:
    """The levels present: in the order of the categories, or sorted."""
    import narwhals.stable.v2 as nw

    if (given := pandas_categories(series)) is not None:
        values, of_rows = given
        found = np.bincount(of_rows.astype(np.intp) + 1, minlength=len(values) + 1)[1:] > 0
        return tuple(value for value, is_present in zip(values, found, strict=True) if is_present)
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


def numbers(series: "nw.Series[Any]", name: str) -> Array:
    """The numbers of a column, NaN where one is missing; in place where its type allows."""
    import narwhals.stable.v2 as nw

    missing = series.null_count()
    if missing == len(series):  # of whatever type
        return np.full(len(series), np.nan)
    dtype = series.dtype
    if not (dtype.is_numeric() or dtype in (nw.Boolean, nw.Object)):
        raise not_usable(series, name)
    if dtype in (nw.Int128, nw.UInt128):  # NumPy has none
        series = series.cast(nw.Float64)
    values: Array = (series.drop_nulls() if missing else series).to_numpy()
    if values.dtype == np.bool_:
        values = values.view(np.uint8)
    elif values.dtype not in (np.float32, np.float64, np.uint8):
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            raise not_usable(series, name) from None
    if not missing:
        return values
    every = np.full(len(series), np.nan)
    every[~series.is_null().to_numpy()] = values
    return every


def check_whole(series: "nw.Series[Any]", name: str, remedy: str) -> None:
    """Raise a DataError that names the first row without a value."""
    if series.null_count():
        row = int(series.is_null().arg_true()[0])
        raise DataError(f"{name} has no value in row {row}, column {series.name!r}: {remedy}")


def not_usable(series: "nw.Series[Any]", name: str) -> DataError:
    """Build the error for a column of a type that no model takes."""
    if hasattr(series.to_native(), "sparse"):
        return DataError(
            f"column {series.name!r} of {name} is one of pandas' sparse columns: use {name}.sparse.to_coo() if all "
            "are, or .sparse.to_dense() for a single one"
        )
    return DataError(f"column {series.name!r} of {name} has type {series.dtype}: it must hold numbers or levels")
