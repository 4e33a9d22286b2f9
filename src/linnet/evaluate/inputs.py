"""What users hand over: labels, scores, probabilities and weights, checked so that an error names the row."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linnet.data.sparse import as_dense
from linnet.data.table import Array, check_finite, check_unmasked
from linnet.data.targets import as_weights
from linnet.errors import ConfigError, DataError

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Flags = NDArray[np.uint8]
ZeroDivision = float | Literal["warn", "raise"]

_SMALL_RANGE = 1 << 16  # whole numbers within such a range are counted, not sorted


def as_column(y: object, name: str, rows: int | None = None, *, quantity: bool = False) -> Array:
    """Return one label per row, without missing values; numbers are whole, unless they may be of a quantity."""
    check_unmasked(y, name)
    try:
        column: Array = np.asarray(y)
    except ValueError as error:
        raise DataError(f"{name} is not an array: its rows have different lengths") from error
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.ndim == 2:
        raise DataError(
            f"{name} must have one label per row, got shape {column.shape}: of one-hot rows give {name}.argmax(axis=1)"
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
        broken = column != np.floor(column)
        if broken.any():
            row = int(broken.argmax())
            raise DataError(
                f"{name} has {column[row]:g} in row {row}, which is no class: of scores give {name} >= a threshold, or "
                "take a metric of scores"
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
    except TypeError:  # pandas.NA has no truth
        return False


def _above(column: Array, low: int) -> NDArray[np.uint64]:
    """Return how far whole numbers lie above `low`, in any type of theirs; those below come out as huge."""
    return column.astype(np.uint64, copy=False) - np.uint64(low % 2**64)


def distinct(column: Array, name: str) -> Array:
    """Return the sorted distinct labels of a column."""
    if column.dtype == np.bool_:
        return np.unique(column)
    if column.dtype.kind in "iu":
        low, high = int(column.min()), int(column.max())
        if high - low < _SMALL_RANGE:
            seen = np.bincount(_above(column, low).view(np.int64))
            return np.array([low + int(offset) for offset in np.flatnonzero(seen)], column.dtype)
    try:
        return np.unique(column)
    except TypeError:
        kinds = sorted({type(value).__name__ for value in column})
        raise DataError(f"{name} mixes labels of different types: {', '.join(kinds)}") from None


def all_classes(columns: Sequence[tuple[str, Array]], labels: object = None) -> Array:
    """Return the sorted union of the labels of all columns, and of those that are given."""
    parts = [distinct(column, name) for name, column in columns]
    if labels is not None:
        parts.append(as_column(labels, "labels"))
    text = [part.dtype.kind in "US" for part in parts]
    if any(text) != all(text) and not any(part.dtype.kind == "O" for part in parts):
        names = [name for name, _ in columns] + ["labels"] * (labels is not None)
        raise DataError(f"{' and '.join(names)} mix text and numbers: give both the same labels")
    return distinct(np.concatenate(parts), "labels") if len(parts) > 1 else parts[0]


def codes_of(column: Array, classes: Array, name: str) -> Codes:
    """Return the place of each row's label among the sorted classes; a label that is not there is an error."""
    whole = column.dtype.kind in "iub" and classes.dtype.kind in "iub"
    if whole:
        low, high = int(classes[0]), int(classes[-1])
        if high - low + 1 == len(classes):
            codes = _above(column, low)
            if codes.max() < len(classes):
                return codes.astype(np.int32)
    places = np.searchsorted(classes, column)
    found = np.minimum(places, len(classes) - 1)
    wrong = np.asarray(classes[found] != column)
    if wrong.any():
        row = int(wrong.argmax())
        known = ", ".join(map(repr, classes.tolist()[:20])) + (", ..." if len(classes) > 20 else "")
        raise DataError(f"{name} has the label {plain(column[row])!r} in row {row}, but the labels are {known}")
    return found.astype(np.int32)


def plain(label: Any) -> Any:
    """Return a label as Python's own value, for messages."""
    return label.item() if isinstance(label, np.generic) else label


def place_of(label: object, classes: Array, parameter: str) -> int:
    """Return where a label is among the classes; a ConfigError names the parameter if it is not there."""
    for place, known in enumerate(classes.tolist()):
        if known == label:
            return place
    raise ConfigError(f"{parameter}={plain(label)!r} is not among the labels {classes.tolist()[:20]}")


def sorted_labels(labels: object) -> Array:
    """Return labels that name the columns of a table: sorted and distinct, as the columns are."""
    column = as_column(labels, "labels")
    if not np.array_equal(column, distinct(column, "labels")):
        raise ConfigError(f"labels must be sorted and distinct, as the columns are, got {column.tolist()[:20]}")
    return column


def column_classes(truth: Array, columns: int, labels: object, name: str) -> Array:
    """Return the sorted classes of the columns of a table: those of y_true, and of `labels` if they are given."""
    classes = all_classes([("y_true", truth)], None if labels is None else sorted_labels(labels))
    if columns != len(classes):
        raise DataError(
            f"{name} has {columns} columns, but there are {len(classes)} classes: name them all with labels"
        )
    return classes


def positive_label(classes: Array, pos_label: object, *, greater: bool = False) -> Any:
    """Return the label that counts as positive: as given, or 1 where labels are 0 and 1, or -1 and 1.

    `greater`: of two other labels it is the greater one.
    """
    known = classes.tolist()
    if pos_label is None:
        if set(known) <= {0, 1} or set(known) <= {-1, 1}:
            return 1
        if greater and len(known) == 2:
            return known[1]
        raise ConfigError(f"pos_label must name the positive class: y_true has the labels {known[:20]}")
    if len(known) > 1 and pos_label not in known:
        raise ConfigError(f"pos_label={plain(pos_label)!r} is not a label of y_true, which has {known[:20]}")
    return plain(pos_label)


def _two_classes(column: Array, pos_label: object, *, greater: bool = False) -> tuple[list[Any], Any]:
    """Return the labels of a column, two at most, and the positive one."""
    if column.dtype == np.bool_ and pos_label is None:
        return [False, True], True
    classes = distinct(column, "y_true")
    if len(classes) > 2:
        raise DataError(
            f"y_true has {len(classes)} classes, and this needs two: give scores of rows x classes, or y_true == label"
        )
    return classes.tolist(), positive_label(classes, pos_label, greater=greater)


def as_flags(y_true: object, pos_label: object = None) -> Flags:
    """Return 1 for rows of the positive class and 0 for those of the other one; a third class is an error."""
    column = as_column(y_true, "y_true")
    positive = _two_classes(column, pos_label)[1]
    return np.asarray(column == positive).view(np.uint8)


class Binary(NamedTuple):
    """Two classes and scores of the positive one: its flags, the scores, the labels that occur, the positive label."""

    flags: Flags
    scores: Array
    known: list[Any]
    positive: Any


def binary(
    y_true: object, y_score: object, pos_label: object = None, name: str = "y_score", *, greater: bool = False
) -> Binary:
    """Return the rows of two classes with the score of the positive class of each.

    Two columns are those of the sorted classes, as `predict_proba` gives them. `greater`: see `positive_label`.
    """
    column = as_column(y_true, "y_true")
    table = as_score_table(y_score, len(column), name)
    if table.shape[1] > 2:
        raise DataError(
            f"{name} has {table.shape[1]} columns, and this needs the score of one class: give that column, and "
            "y_true == that class"
        )
    known, positive = _two_classes(column, pos_label, greater=greater)
    place = 0 if table.shape[1] == 1 else _positive_column(known, positive, name)
    flags = np.asarray(column == positive).view(np.uint8)
    return Binary(flags, np.ascontiguousarray(table[:, place]), known, positive)


def _positive_column(known: list[Any], positive: Any, name: str) -> int:
    both = sorted({*known, positive})
    if len(both) == 1:
        if positive == 1:
            return 1
        raise DataError(f"{name} has two columns, but y_true has one class only: give the column of the positive class")
    return both.index(positive)


def as_scores(scores: object, rows: int, name: str = "y_score") -> Array:
    """Return one finite score per row, in float32 or float64."""
    table = as_score_table(scores, rows, name)
    if table.shape[1] != 1:
        raise DataError(f"{name} has {table.shape[1]} columns: give the one of the positive class")
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
        except (TypeError, ValueError):
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
    """Return rows x 1 or rows x classes of numbers from 0 to 1 in float64."""
    table = as_score_table(y_proba, rows, name).astype(np.float64, copy=False)
    bad = (table < 0) | (table > 1)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise DataError(f"{name} contains {table[row, column]:g} in row {row}: probabilities are from 0 to 1")
    return table


def dense(y: object) -> Any:
    """Return y, a sparse matrix as a dense one."""
    return as_dense(y)


def is_indicator(y_true: object) -> bool:
    """Whether rows may have several labels: a table of 0 and 1 with one column per label."""
    shape: tuple[int, ...] = getattr(y_true, "shape", ())
    if isinstance(y_true, list | tuple) and y_true and isinstance(y_true[0], list | tuple | np.ndarray):
        shape = (len(y_true), len(y_true[0]))
    return len(shape) == 2 and shape[1] > 1


def as_indicator(y: object, name: str, like: tuple[int, ...] | None = None) -> Flags:
    """Return rows x labels of 0 and 1."""
    check_unmasked(y, name)
    table: Array = np.asarray(dense(y))
    if table.ndim != 2 or (like is not None and table.shape != like):
        wanted = "rows x labels" if like is None else f"the shape of y_true, {like}"
        raise DataError(f"{name} must have {wanted}, got shape {table.shape}")
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
    """Return one finite weight of at least 0 per row, not all of them 0 unless that is allowed, as in a chunk."""
    if sample_weight is None:
        return None
    given = np.asarray(sample_weight)
    if given.ndim and len(given) != rows:
        raise DataError(f"sample_weight has {len(given)} rows, but y_true has {rows}")
    if all_zero and given.dtype.kind in "iubf" and not given.any():
        return np.zeros(rows)
    return np.ascontiguousarray(as_weights(sample_weight, np.float64, rows=rows))


def check_zero_division(zero_division: object) -> ZeroDivision:
    """Return the policy for 0 / 0: a number to use (0, 1 or NaN), "warn" (0 and a DataWarning) or "raise"."""
    if isinstance(zero_division, str):
        if zero_division in ("warn", "raise"):
            return zero_division  # type: ignore[return-value]
    elif isinstance(zero_division, int | float) and (zero_division in (0, 1) or np.isnan(zero_division)):
        return float(zero_division)
    raise ConfigError(f"zero_division must be 0, 1, NaN, 'warn' or 'raise', got {zero_division!r}")
