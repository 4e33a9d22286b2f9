"""Targets and row weights, checked; errors name the row."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.checks import check_number
from linnet.data.table import Array, check_finite, check_fits_float32, check_unmasked, too_large
from linnet.errors import ConfigError, DataError, Parameter

Labels = NDArray[np.int32]
MAX_SQUARABLE = 1e150  # sums of squares of larger values may overflow, and those of values below 1 / 1e150 underflow


@dataclass(frozen=True)
class Labelled:
    """An encoded target: the classes in order, and the index of each row's class."""

    classes: Array
    codes: Array  # int32, or float64 for two classes

    def __len__(self) -> int:
        return len(self.codes)


def as_labels(y: object, classes: int, *, rows: int, name: str = "y", table: str = "x") -> Labels:
    """Return class indices from 0 to classes - 1, one per row."""
    column = _numbers(_one_column(as_array(y, name), rows, name, table), name)
    labels: Array = column
    if column.dtype.kind == "f":
        check_finite(np.atleast_2d(column).T.astype(np.float64), name)
        bad = column != np.floor(column)
        if bad.any():
            row = int(bad.argmax())
            raise DataError(f"{name} contains {column[row]:g} in row {row}: class indices must be integers")
    elif column.dtype.kind not in "iub":
        raise DataError(
            f"{name} has type {column.dtype}: it must hold class indices from 0 to {classes - 1}; "
            f"classes, {name} = np.unique({name}, return_inverse=True) encodes class names"
        )
    bad = (labels < 0) | (labels >= classes)
    if bad.any():
        row = int(bad.argmax())
        raise DataError(
            f"{name} contains class {labels[row]} in row {row}, but the model has {classes} outputs: "
            f"classes must be 0 to {classes - 1}"
        )
    return np.ascontiguousarray(labels, np.int32)


def as_values(y: object, outputs: int, dtype: Any, *, rows: int, name: str = "y", table: str = "x") -> Array:
    """Return finite numeric targets, rows x outputs; for one output y may have one dimension."""
    values = _numbers(as_array(y, name), name)
    if values.dtype.kind == "O":
        raise DataError(f"Unknown label type: {name} holds objects, but must hold numbers")
    if values.dtype.kind not in "iubf":
        raise DataError(f"{name} has type {values.dtype}: it must hold numbers")
    shape = values.shape
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or values.shape[1] != outputs:
        raise DataError(f"{name} has shape {shape}, but the model has {outputs} output{'s' * (outputs > 1)}")
    _check_rows(values, rows, name, table)
    return _as_type(values, dtype, name)


def missing(values: Array) -> NDArray[np.bool_]:
    """Return a mask of missing values in a one-dimensional array: None, NaN, or pandas' NA and NaT."""
    if values.dtype == object:  # NaN != NaN is True, and pandas' NA != NA is NA
        return np.array([value is None or str(value != value) != "False" for value in values], np.bool_)
    return np.asarray(values != values)


def check_values(values: Array, good: Array, name: str, what: str) -> None:
    """Raise a DataError that names the first row and column where `good` is false."""
    if not good.all():
        row, column = np.argwhere(~good)[0]
        where = f"row {row}" + (f", column {column}" if values.shape[1] > 1 else "")
        raise DataError(f"{name} contains {values[row, column]:g} in {where}: {what}")


def check_squarable(values: Array, name: str) -> None:
    """Raise a DataError if squares of the values overflow, or underflow for all of them."""
    largest = float(max(values.max(), -values.min()))
    if largest > MAX_SQUARABLE or 0 < largest < 1 / MAX_SQUARABLE:
        size = "large" if largest > 1 else "small"
        raise DataError(
            f"{name} has values of about {largest:.3g}, too {size} for their squares to be computed: scale {name}"
        )


def as_weights(weights: object, dtype: Any, *, rows: int, name: str = "sample_weight", table: str = "x") -> Array:
    """Return row weights: one finite number of at least 0 per row, not all 0."""
    column = _numbers(_one_column(as_array(weights, name), rows, name, table), name)
    if column.dtype.kind not in "iubf":
        raise DataError(f"{name} has type {column.dtype}: it must hold numbers")
    column = _as_type(column[:, None], dtype, name)[:, 0]
    if (column < 0).any():
        row = int((column < 0).argmax())
        raise DataError(f"{name} contains {column[row]:g} in row {row}: weights must be at least 0")
    if not column.any():
        raise DataError(f"{name} is zero for every row: at least one weight must be above 0")
    with np.errstate(over="ignore"):
        total = float(column.sum(dtype=np.float64))
    if not np.isfinite(total):
        row = int(column.argmax())
        raise DataError(f"{name} contains {column[row]:g} in row {row}, too large to be summed over rows: scale {name}")
    return column


def balanced(totals: Array) -> Array:
    """Return factors that give all classes the same total weight, from their weights along the last axis."""
    present = totals > 0
    mean = totals.sum(axis=-1, keepdims=True) / np.maximum(present.sum(axis=-1, keepdims=True), 1)
    return np.asarray(mean / np.where(present, totals, 1.0))


def class_weights(
    class_weight: object, names: Array, labels: Array, weights: Array | None = None
) -> NDArray[np.float64]:
    """Return the weight of each class, from a dict by class (1 for classes that it does not name) or "balanced".

    "balanced" gives class k the weight Σw / (K Σ_k w), with the row weights w and the number K of classes that have
    rows with a weight.
    """
    if isinstance(class_weight, str) and class_weight == "balanced":
        return balanced(np.bincount(labels, weights, len(names)).astype(np.float64, copy=False))
    if not isinstance(class_weight, Mapping):
        raise ConfigError(
            Parameter("class_weight"), f" must be a dict of class: weight, or 'balanced', got {class_weight!r}"
        )
    indices = {name: index for index, name in enumerate(names.tolist())}
    by_class = np.ones(len(names))
    for name, weight in class_weight.items():
        if name not in indices:
            raise ConfigError(
                Parameter("class_weight"), f" names {name!r}, which is not a class: choose from {names.tolist()}"
            )
        by_class[indices[name]] = check_number(weight, "class_weight", repr(name), at_least=0)
    return by_class


def as_array(y: object, name: str) -> Array:
    """Return y as an array of at least one dimension."""
    if hasattr(y, "tocsr"):
        raise DataError(f"{name} is a sparse matrix: use {name}.toarray()")
    check_unmasked(y, name)
    try:
        array: Array = np.asarray(y)
    except ValueError as error:
        raise DataError(f"{name} is not an array: its rows have different lengths") from error
    if array.ndim == 0:
        raise DataError(f"{name} must have one entry per row, got the single value {array.item()!r}")
    return array


def _numbers(array: Array, name: str) -> Array:
    """Return an array of objects as float64 if all are numbers; any other array as it is."""
    if array.dtype.kind != "O":
        return array
    try:
        return array.astype(np.float64)
    except OverflowError:
        raise DataError(f"{name} contains {too_large(array)}: scale {name}") from None
    except (TypeError, ValueError):
        return array


def _as_type(values: Array, dtype: Any, name: str) -> Array:
    """Return the values in the type of the computation; raise a DataError if they are not finite in it."""
    if values.dtype.kind == "f" and values.dtype.itemsize > 8:
        values = values.astype(np.float64)
    if values.dtype == np.float64:
        check_finite(values, name)
        if np.dtype(dtype) == np.float32:
            check_fits_float32(values, name)
    values = np.ascontiguousarray(values, dtype)
    check_finite(values, name)
    return values


def _one_column(array: Array, rows: int, name: str, table: str) -> Array:
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise DataError(f"{name} must have one number per row, got shape {array.shape}")
    _check_rows(array, rows, name, table)
    return array


def _check_rows(array: Array, rows: int, name: str, table: str) -> None:
    if len(array) != rows:
        raise DataError(f"{name} has {len(array)} rows, but {table} has {rows}")


def label_index(label: object, classes: list[Any]) -> int | None:
    """Return the index of a label among the classes; None if it is not one of them (an array never is)."""
    for index, candidate in enumerate(classes):
        try:
            same = candidate == label
        except Exception:  # a user's object may raise anything
            continue
        if isinstance(same, bool | np.bool_) and same:
            return index
    return None
