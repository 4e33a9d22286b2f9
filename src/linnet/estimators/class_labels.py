"""Class labels as sorted classes and their indices."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet._sklearn import is_discrete
from linnet.data.characters import broken, first_broken
from linnet.data.targets import Labelled, missing
from linnet.errors import DataError, warn
from linnet.estimators.inputs import one_target

_MIN_ROWS_FOR_WARNING = 21  # that y may be numeric: with fewer rows, many distinct classes are no sign of it


def class_numbers(
    y: object, rows: int, *, quiet: bool = False, fewest: int = 2
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return the sorted classes, at least `fewest` of them, and the index of each row's class."""
    classes, labels = _classes(y, rows, quiet)
    if len(classes) < fewest:
        raise DataError(f"y has only one class, {classes.tolist()[0]!r}: there is nothing to distinguish")
    return classes, labels


def _classes(y: object, rows: int, quiet: bool) -> tuple[NDArray[Any], NDArray[np.int32]]:
    if isinstance(y, Labelled):
        return y.classes, y.codes
    target = one_target(y, quiet=quiet)
    if target.ndim != 1:
        raise DataError(f"y must have one class per row, got shape {target.shape}")
    if len(target) != rows:
        raise DataError(f"y has {len(target)} rows, but X has {rows}")
    if target.dtype.kind in "bui":
        return _integer_classes(target)
    is_missing = missing(target)
    if is_missing.any():
        raise DataError(f"y has no class in row {int(is_missing.argmax())}: fill in or drop missing values first")
    try:
        classes, labels = np.unique(target, return_inverse=True)
    except TypeError:
        raise DataError(
            "y must hold numbers or text, not both: y = [str(label) for label in y] makes them text"
        ) from None
    if (place := first_broken(classes.tolist())) >= 0:
        row = int((labels == place).argmax())
        raise broken(classes.tolist()[place], f"y has in row {row} as a class")
    if not is_discrete(target):
        from sklearn.utils.multiclass import check_classification_targets  # whose error names what is wrong

        try:
            check_classification_targets(target)
        except ValueError as error:
            raise DataError(f"y has no classes: {error}") from None
    if rows >= _MIN_ROWS_FOR_WARNING and len(classes) > rows / 2 and not quiet:
        warn(
            "The number of unique classes is greater than 50% of the number of samples: y could represent a regression "
            "problem, not a classification problem",
            UserWarning,
        )
    return classes, labels.astype(np.int32)


def _integer_classes(target: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return the sorted classes of an array of integers and the index of each row's class.

    Classes in a narrow range are counted rather than sorted.
    """
    low, high = int(target.min()), int(target.max())
    if high - low > len(target) + 1000 or high > np.iinfo(np.int64).max:
        classes, labels = np.unique(target, return_inverse=True)
        return classes, labels.astype(np.int32)
    shifted = target.astype(np.int64, copy=False)
    if low:
        shifted = shifted - low
    is_present = np.bincount(shifted, minlength=high - low + 1) > 0
    if is_present.all():
        return np.arange(low, high + 1).astype(target.dtype), shifted.astype(np.int32)
    index = np.cumsum(is_present, dtype=np.int32) - 1
    return (np.flatnonzero(is_present) + low).astype(target.dtype), index[shifted]
