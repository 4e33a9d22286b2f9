"""Input tables: two-dimensional arrays that the core can read in place; errors name the row and the column."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet._native import core
from linnet.config import usable_threads
from linnet.errors import DataError, DataTypeError

Array = NDArray[Any]

_MIN_VALUES_PER_THREAD = 500_000
_MAX_FLOAT32_INTEGER = 1 << 24  # integers up to this size are exact in float32
_READ_IN_PLACE = (np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.uint8))


def as_table(
    x: object, *, columns: int | None = None, name: str = "x", gaps: bool = False, narrow: bool = False
) -> Array:
    """Return x as a table of float32, float64 or uint8, as a view of the caller's memory where possible.

    Parameters
    ----------
    x : array
        The table.
    columns : int, default=None
        The number of columns it must have, if known.
    name : str, default="x"
        Its name in messages.
    gaps : bool, default=False
        Whether NaN and infinity are accepted.
    narrow : bool, default=False
        Whether the type of integers may depend on their values; it may then differ between tables.

    Returns
    -------
    array of shape (rows, columns)
        The table.
    """
    if hasattr(x, "tocsr"):
        raise DataError(f"{name} is a sparse matrix, and sparse data is not supported here: use {name}.toarray()")
    check_unmasked(x, name)
    names = _column_names(x)
    table = _numeric(x, name, names, narrow)
    if table.ndim == 1 and len(table) == 0:
        raise empty((0, 0), name)
    if table.ndim != 2:
        raise DataError(_wrong_dimensions(table, name, columns))
    if table.shape[0] == 0 or table.shape[1] == 0:
        raise empty(table.shape, name)
    if columns is not None and table.shape[1] != columns:
        raise DataError(f"{name} has {table.shape[1]} columns, but the model takes {columns}")
    if not gaps:
        check_finite(table, name, names)
    return table


def check_unmasked(x: object, name: str) -> None:
    """Raise a DataError if entries are masked, as NumPy would compute with the values under the mask."""
    if np.ma.is_masked(x):
        raise DataError(f"{name} is masked: fill in or drop missing values first")


def empty(shape: tuple[int, ...], name: str) -> DataError:
    """Return the error for a table without rows or columns, worded as in scikit-learn."""
    size = f"0 sample(s) (shape={shape})" if shape[0] == 0 else f"0 feature(s) (shape={shape})"
    return DataError(f"{name} is empty: it has {size} while a minimum of 1 is required.")


def check_finite(table: Array, name: str, names: list[str] | None = None) -> None:
    """Raise a DataError that names the first row and column with a NaN or an infinity."""
    threads = table.size // _MIN_VALUES_PER_THREAD
    row, column = core.first_nonfinite(table, min(usable_threads(), threads) if threads > 1 else 1)
    if row >= 0:
        where = f"column {column}" + (f" ({names[column]!r})" if names else "") if table.shape[1] > 1 else ""
        raise DataError(
            f"{name} contains {describe(table[row, column])} in row {row}{', ' + where if where else ''}: "
            "fill in or drop missing values first"
        )


def check_fits_float32(table: Array, name: str) -> None:
    """Raise a DataError if a float64 value overflows in float32."""
    if table.dtype != np.float64:
        return
    largest = max(abs(float(table.max())), abs(float(table.min())))
    if largest > float(np.finfo(np.float32).max):
        row, column = np.unravel_index(int(np.abs(table).argmax()), table.shape)
        raise DataError(
            f"{name} contains {largest:.3g} in row {row}, column {column}, too large for float32: scale the column"
        )


def too_large(objects: Array) -> str:
    """Describe the first integer that overflows in float64, for a message."""
    for index, value in np.ndenumerate(objects):
        try:
            float(value)
        except OverflowError:
            column = f", column {index[1]}" if len(index) > 1 else ""
            return f"a number in row {index[0]}{column} that is too large for float64"
        except (TypeError, ValueError):  # not a number: another error
            continue
    raise AssertionError("every number fits")


def describe(value: object) -> str:
    """Return a value that is not finite as a word: NaN, infinity or minus infinity."""
    number = float(value)  # type: ignore[arg-type]
    if np.isnan(number):
        return "NaN"
    return "infinity" if number > 0 else "minus infinity"


def _column_names(x: object) -> list[str] | None:
    columns = getattr(x, "columns", None)
    return None if columns is None else [str(column) for column in columns]


def narrowed(values: Array, *, least: type[np.generic] = np.uint8) -> Array:
    """Return integers in the smallest of uint8, float32 and float64, starting from `least`, that holds them exactly."""
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    if least == np.uint8 and low >= 0 and high <= 255:
        return values.view(np.uint8) if values.dtype.itemsize == 1 else values.astype(np.uint8)
    return values.astype(np.float32 if max(-low, high) <= _MAX_FLOAT32_INTEGER else np.float64)


def by_type(values: Array) -> Array:
    """Return numbers of a type that the core cannot read in the smallest type that holds all values of that type."""
    return values.astype(np.float32 if values.dtype.itemsize <= 2 else np.float64)


def _numeric(x: object, name: str, names: list[str] | None, narrow: bool) -> Array:
    try:
        array: Array = np.asarray(x)
    except ValueError as error:
        raise DataError(f"{name} is not a table: its rows have different lengths") from error
    if array.ndim == 0:
        raise DataError(_wrong_dimensions(array, name, None))
    if array.dtype in _READ_IN_PLACE:
        return array if _aligned(array) else array.copy()
    if array.dtype == np.bool_:
        return array.view(np.uint8)
    if array.dtype.kind in "iuf":
        return narrowed(array) if narrow and array.dtype.kind != "f" else by_type(array)
    if array.dtype.kind in "OUS":
        try:
            return array.astype(np.float64)
        except OverflowError:
            raise DataError(f"{name} contains {too_large(array)}: scale the column") from None
        except (TypeError, ValueError):
            raise DataTypeError(_not_a_number(array, name, names)) from None
    kind = "Complex data not supported: " if array.dtype.kind == "c" else ""
    raise DataError(f"{kind}{name} has type {array.dtype}: it must hold numbers")


def _aligned(array: Array) -> bool:
    """Return whether the core can read an array in place: native byte order, aligned, strides of whole elements."""
    return array.flags.aligned and array.dtype.isnative and all(s % array.dtype.itemsize == 0 for s in array.strides)


def _not_a_number(array: Array, name: str, names: list[str] | None) -> str:
    for index, value in np.ndenumerate(array.astype(object)):  # not NumPy's strings, for their repr
        try:
            float(value)
        except (TypeError, ValueError):
            where = f"row {index[0]}"
            if len(index) > 1:
                where += f", column {index[1]}" + (f" ({names[index[1]]!r})" if names else "")
            advice = "it must hold numbers; encode categories as numbers first"
            if not isinstance(value, str):
                advice = "it must hold numbers (an argument must be a string or a number)"
            return f"{name} contains {value!r} in {where}: {advice}"
    return f"{name} must hold numbers"


def _wrong_dimensions(table: Array, name: str, columns: int | None) -> str:
    if table.ndim == 1:
        remedy = "reshape(1, -1) for one row" if len(table) == columns else "reshape(-1, 1) for one column"
        return f"{name} must be two-dimensional, got one dimension. Reshape your data: {name}.{remedy}"
    if table.ndim == 0:
        return f"{name} must be two-dimensional, got a single value"
    return f"{name} must be two-dimensional, got shape {table.shape}: use {name}.reshape(len({name}), -1)"
