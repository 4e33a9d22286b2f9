"""Checks of labels, scores, probabilities and weights: an error names the row."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linnet.data.sparse import as_dense
from linnet.data.table import Array, check_finite, check_unmasked
from linnet.data.targets import as_weights, label_index
from linnet.errors import ConfigError, DataError

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Flags = NDArray[np.uint8]
ZeroDivision = float | Literal["warn", "raise"]

_MAX_COUNTED_RANGE = 1 << 16  # integers within this range are counted, not sorted


def as_column(y: object, name: str, rows: int | None = None, *, quantity: bool = False) -> Array:
    """Return one label per row, without missing values: integers or text, with `quantity` any numbers."""
    check_unmasked(y, name)
    try:
        column: Array = np.asarray(y)
    except ValueError as error:
        raise DataError(f"{name} is not an array: its rows have different lengths") from error
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.ndim == 2:
        raise DataError(
            f"{name} must have one label per row, got shape {column.shape}: for one-hot rows use {name}.argmax(axis=1)"
        )
    if column.ndim != 1:
        raise DataError(f"{name} must have one label per row, got shape {column.shape}")
    if len(column) == 0:
        raise DataError(f"{name} is empty: a metric needs at least one row")
    if rows is not None and len(column) != rows:
        raise DataError(f"{name} has {len(column)} rows, but y_true has {rows}")
    missing = _missing(column)
    if missing.any():
        raise DataError(f"{name} is missing in row {int(missing.argmax())}: fill in or drop missing labels first")
    if column.dtype.kind == "f" and not quantity:
        fractional = column != np.floor(column)
        if fractional.any():
            row = int(fractional.argmax())
            raise DataError(
                f"{name} has {column[row]:g} in row {row}, which is not a class: compare scores with a threshold, or "
                "use a metric of scores"
            )
    return column


def _missing(column: Array) -> Array:
    if column.dtype.kind == "f":
        return np.isnan(column)
    if column.dtype.kind == "O":
        return np.array([value is None or not _equals_itself(value) for value in column])
    return np.isnat(column) if column.dtype.kind in "mM" else np.zeros(1, bool)


def _equals_itself(value: Any) -> bool:
    try:
        return bool(value == value)
    except TypeError:  # pandas.NA has no truth value
        return False


def _above(column: Array, low: int) -> NDArray[np.uint64]:
    """Return integers of any type minus `low`; the result of a smaller integer is huge."""
    return column.astype(np.uint64, copy=False) - np.uint64(low % 2**64)


def distinct(column: Array, name: str) -> Array:
    """Return the sorted distinct labels of a column."""
    if column.dtype == np.bool_:
        return np.unique(column)
    if column.dtype.kind in "iu":
        low, high = int(column.min()), int(column.max())
        if high - low < _MAX_COUNTED_RANGE:
            seen = np.bincount(_above(column, low).view(np.int64))
            return np.array([low + int(offset) for offset in np.flatnonzero(seen)], column.dtype)
    try:
        return np.unique(column)
    except TypeError:
        kinds = sorted({type(value).__name__ for value in column})
        raise DataError(f"{name} mixes labels of different types: {', '.join(kinds)}") from None


def all_classes(columns: Sequence[tuple[str, Array]], labels: object = None) -> Array:
    """Return the sorted union of the labels of all columns and of `labels`."""
    distinct_labels = [distinct(column, name) for name, column in columns]
    if labels is not None:
        distinct_labels.append(as_column(labels, "labels"))
    text = [each.dtype.kind in "US" for each in distinct_labels]
    if any(text) != all(text) and not any(each.dtype.kind == "O" for each in distinct_labels):
        names = [name for name, _ in columns] + ["labels"] * (labels is not None)
        raise DataError(f"{' and '.join(names)} mix text and numbers: use the same labels in each")
    return distinct(np.concatenate(distinct_labels), "labels") if len(distinct_labels) > 1 else distinct_labels[0]


def codes_of(column: Array, classes: Array, name: str) -> Codes:
    """Return the index of each row's label in the sorted classes; an unknown label is an error."""
    if column.dtype.kind in "iub" and classes.dtype.kind in "iub":
        low, high = int(classes[0]), int(classes[-1])
        if high - low + 1 == len(classes):
            codes = _above(column, low)
            if codes.max() < len(classes):
                return codes.astype(np.int32)
    positions = np.minimum(np.searchsorted(classes, column), len(classes) - 1)
    unknown = np.asarray(classes[positions] != column)
    if unknown.any():
        row = int(unknown.argmax())
        listing = ", ".join(map(repr, classes.tolist()[:20])) + (", ..." if len(classes) > 20 else "")
        raise DataError(f"{name} has the label {plain(column[row])!r} in row {row}, but the labels are {listing}")
    return positions.astype(np.int32)


def plain(label: Any) -> Any:
    """Return a label as a built-in Python value, for messages."""
    is_numpy = isinstance(label, np.generic) or (isinstance(label, np.ndarray) and not label.ndim)
    return label.item() if is_numpy else label


def index_of(label: object, classes: Array, parameter: str) -> int:
    """Return the index of a label in the classes; for an unknown label a ConfigError names the parameter."""
    index = label_index(label, classes.tolist())
    if index is not None:
        return index
    raise ConfigError(f"{parameter}={plain(label)!r} is not among the labels {classes.tolist()[:20]}")


def sorted_labels(labels: object) -> Array:
    """Return the labels that name the columns of a table: sorted and distinct, as the columns are."""
    column = as_column(labels, "labels")
    if not np.array_equal(column, distinct(column, "labels")):
        raise ConfigError(f"labels must be sorted and distinct, as the columns are, got {column.tolist()[:20]}")
    return column


def column_classes(truth: Array, columns: int, labels: object, name: str) -> Array:
    """Return the sorted classes of the columns of a table: those of y_true, with `labels` if there are any."""
    classes = all_classes([("y_true", truth)], None if labels is None else sorted_labels(labels))
    if columns != len(classes):
        raise DataError(
            f"{name} has {columns} columns, but there are {len(classes)} classes: name them all with labels"
        )
    return classes


def positive_label(classes: Array, pos_label: object, *, greater: bool = False) -> Any:
    """Return the positive label: `pos_label`, or 1 where labels are 0 and 1, or -1 and 1.

    `greater`: of two other labels the greater one is positive.
    """
    labels = classes.tolist()
    if pos_label is None:
        if set(labels) <= {0, 1} or set(labels) <= {-1, 1}:
            return 1
        if greater and len(labels) == 2:
            return labels[1]
        raise ConfigError(f"pos_label must name the positive class: y_true has the labels {labels[:20]}")
    return check_label(pos_label, labels, "pos_label", "y_true")


def check_label(label: object, known: list[Any], parameter: str, of: str) -> Any:
    """Return a label after checking that it occurs in `of`; with fewer than two known labels, any label may occur."""
    if (len(known) > 1 and label_index(label, known) is None) or not _is_scalar(label):
        raise ConfigError(f"{parameter}={plain(label)!r} is not a label of {of}, which has {known[:20]}")
    return plain(label)


def _is_scalar(label: object) -> bool:
    if isinstance(label, list | tuple | dict | set | frozenset):
        return False
    try:
        label == label  # noqa: B015
    except Exception:  # a user's object may raise anything
        return False
    return isinstance(label, str | bytes) or not hasattr(label, "__len__") or np.shape(label) == ()  # type: ignore[call-overload]


def _two_classes(column: Array, pos_label: object, *, greater: bool = False) -> tuple[list[Any], Any]:
    """Return the labels of a column, two at most, and the positive one."""
    if column.dtype == np.bool_ and pos_label is None:
        return [False, True], True
    classes = distinct(column, "y_true")
    if len(classes) > 2:
        raise DataError(
            f"y_true has {len(classes)} classes, but two are needed: pass scores of rows x classes, or y_true == label"
        )
    return classes.tolist(), positive_label(classes, pos_label, greater=greater)


def as_flags(y_true: object, pos_label: object = None) -> Flags:
    """Return 1 for rows of the positive class and 0 for those of the other one; a third class is an error."""
    column = as_column(y_true, "y_true")
    positive = _two_classes(column, pos_label)[1]
    return np.asarray(column == positive).view(np.uint8)


class Binary(NamedTuple):
    """Two classes and scores of the positive one: 0/1 flags of positives, scores, known labels, the positive label."""

    flags: Flags
    scores: Array
    known: list[Any]
    positive: Any


def binary(
    y_true: object, y_score: object, pos_label: object = None, name: str = "y_score", *, greater: bool = False
) -> Binary:
    """Return the rows of two classes, with the score of the positive class of each row.

    Two columns are scores of the sorted classes, as from `predict_proba`. `greater`: see `positive_label`.
    """
    column = as_column(y_true, "y_true")
    table = as_score_table(y_score, len(column), name)
    if table.shape[1] > 2:
        raise DataError(
            f"{name} has {table.shape[1]} columns, but the score of one class is needed: pass its column, and "
            "y_true == that class"
        )
    labels, positive = _two_classes(column, pos_label, greater=greater)
    index = 0 if table.shape[1] == 1 else _positive_column(labels, positive, name)
    flags = np.asarray(column == positive).view(np.uint8)
    return Binary(flags, np.ascontiguousarray(table[:, index]), labels, positive)


def _positive_column(known: list[Any], positive: Any, name: str) -> int:
    both = sorted({*known, positive})
    if len(both) == 1:
        if positive == 1:
            return 1
        raise DataError(f"{name} has two columns, but y_true has one class only: pass the column of the positive class")
    return both.index(positive)


def as_scores(scores: object, rows: int, name: str = "y_score") -> Array:
    """Return one finite score per row, in float32 or float64."""
    table = as_score_table(scores, rows, name)
    if table.shape[1] != 1:
        raise DataError(f"{name} has {table.shape[1]} columns: pass the one of the positive class")
    return np.ascontiguousarray(table[:, 0])


def as_score_table(scores: object, rows: int, name: str = "y_score") -> Array:
    """Return rows x classes of finite scores, in float32 or float64; one column stays one column."""
    check_unmasked(scores, name)
    try:
        table: Array = np.asarray(scores)
    except ValueError as error:
        raise DataError(f"{name} is not an array: its rows have different lengths") from error
    if table.dtype.kind == "O":
        try:
            table = table.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            raise DataError(f"{name} holds objects: it must hold numbers") from None
    if table.dtype.kind not in "iubf":
        raise DataError(f"{name} has type {table.dtype}: it must hold numbers")
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2:
        raise DataError(f"{name} must have one score per row, or one per row and class, got shape {table.shape}")
    if len(table) != rows:
        raise DataError(f"{name} has {len(table)} rows, but y_true has {rows}")
    if table.shape[1] == 0:
        raise DataError(f"{name} has no columns")
    if table.dtype != np.float32:
        table = table.astype(np.float64, copy=False)
    check_finite(table, name)
    return table


def as_probabilities(y_proba: object, rows: int, name: str = "y_proba") -> Floats:
    """Return rows x 1 or rows x classes of values from 0 to 1 in float64."""
    table = as_score_table(y_proba, rows, name).astype(np.float64, copy=False)
    bad = (table < 0) | (table > 1)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise DataError(f"{name} contains {table[row, column]:g} in row {row}: probabilities must be from 0 to 1")
    return table


def row_count(table: object, name: str) -> int:
    """Return the number of rows of a table."""
    try:
        shape: tuple[int, ...] = np.shape(table)  # type: ignore[call-overload]
    except ValueError as error:
        raise DataError(f"{name} is not an array: its rows have different lengths") from error
    if not shape:
        raise DataError(f"{name} must have one score per row, or one per row and class, got {table!r}")
    return shape[0]


def dense(y: object) -> Any:
    """Return y, dense if it is a sparse matrix."""
    return as_dense(y)


def is_indicator(y_true: object) -> bool:
    """Return whether rows may have several labels: a table of 0 and 1 with one column per label."""
    shape = getattr(y_true, "shape", ())
    if not isinstance(shape, tuple):
        return False
    if isinstance(y_true, list | tuple) and y_true and isinstance(y_true[0], list | tuple | np.ndarray):
        shape = (len(y_true), len(y_true[0]))
    return len(shape) == 2 and shape[1] > 1


def as_indicator(y: object, name: str, like: tuple[int, ...] | None = None) -> Flags:
    """Return rows x labels of 0 and 1."""
    check_unmasked(y, name)
    y = dense(y)
    try:
        table: Array = np.asarray(y)
    except ValueError as error:
        raise DataError(f"{name} is not an array: its rows have different lengths") from error
    if table.ndim != 2 or (like is not None and table.shape != like):
        expected = "rows x labels" if like is None else f"the shape of y_true, {like}"
        raise DataError(f"{name} must have {expected}, got shape {table.shape}")
    if not table.size:
        raise DataError(f"{name} is empty: a metric needs at least one row")
    wrong = ~((table == 0) | (table == 1))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise DataError(
            f"{name} has {plain(table[row, column])!r} in row {row}, column {column}: a table of labels holds 0 and 1"
        )
    return table.astype(np.uint8)


def row_weights(sample_weight: object, rows: int, *, all_zero: bool = False) -> Floats | None:
    """Return one finite weight of at least 0 per row, not all 0 unless `all_zero` allows it, as in a chunk."""
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(sample_weight)
    except ValueError as error:
        raise DataError("sample_weight is not an array: its rows have different lengths") from error
    if weights.ndim and len(weights) != rows:
        raise DataError(f"sample_weight has {len(weights)} rows, but y_true has {rows}")
    if all_zero and weights.dtype.kind in "iubf" and not weights.any():
        return np.zeros(rows)
    return np.ascontiguousarray(as_weights(sample_weight, np.float64, rows=rows))


def check_zero_division(zero_division: object) -> ZeroDivision:
    """Return the policy for 0 / 0: a number to use (0, 1 or NaN), "warn" (0 and a DataWarning) or "raise"."""
    if isinstance(zero_division, str):
        if zero_division in ("warn", "raise"):
            return zero_division  # type: ignore[return-value]
    elif isinstance(zero_division, int | float) and (zero_division in (0, 1) or zero_division != zero_division):
        return float(zero_division)
    raise ConfigError(f"zero_division must be 0, 1, NaN, 'warn' or 'raise', got {zero_division!r}")
