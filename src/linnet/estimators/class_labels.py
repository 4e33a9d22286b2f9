"""Class labels as sorted classes and their indices."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet._sklearn import is_discrete
from linnet.data.characters import broken, first_broken
from linnet.data.targets import Labelled, missing
from linnet.errors import DataError, warn
from linnet.estimators.inputs import one_target

_MAX_ROWS_WITH_A_CLASS_EACH = 20  # without a warning that y may be numeric


def class_numbers(
    y: object, rows: int, *, quiet: bool = False, fewest: int = 2
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return the sorted classes, at least `fewest`, and the index of each row's class among them."""
    classes, labels = _classes(y, rows, quiet)
    if len(classes) < fewest:
        raise DataError(f"y has only one class, {classes.tolist()[0]!r}: there is nothing to tell apart")
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
        return _whole_classes(target)
    lacking = missing(target)
    if lacking.any():
        raise DataError(f"y has no class in row {int(lacking.argmax())}: fill in or drop missing values first")
    try:
        classes, labels = np.unique(target, return_inverse=True)
    except TypeError:
        raise DataError("y must hold numbers or names, not both: y = [str(label) for label in y] makes names") from None
    if (place := first_broken(classes.tolist())) >= 0:
        row = int((labels == place).argmax())
        raise broken(classes.tolist()[place], f"y has in row {row} as a class")
    if not is_discrete(target):
        from sklearn.utils.multiclass import check_classification_targets  # which says what is wrong

        try:
            check_classification_targets(target)
        except ValueError as error:
            raise DataError(f"y has no classes: {error}") from None
    if rows > _MAX_ROWS_WITH_A_CLASS_EACH and len(classes) > rows / 2 and not quiet:
        warn(
            "The number of unique classes is greater than 50% of the number of samples: y could represent a regression "
            "problem, not a classification problem",
            UserWarning,
        )
    return classes, labels.astype(np.int32)


def _whole_classes(target: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Sorted classes and their indices of an array of whole numbers, without sorting where they lie close together."""
    low, high = int(target.min()), int(target.max())
    if high - low > len(target) + 1000 or high > np.iinfo(np.int64).max:
        classes, labels = np.unique(target, return_inverse=True)
        return classes, labels.astype(np.int32)
    above = target.astype(np.int64, copy=False)
    if low:
        above = above - low
    found = np.bincount(above, minlength=high - low + 1) > 0
    if found.all():
        return np.arange(low, high + 1).astype(target.dtype), above.astype(np.int32)
    place = np.cumsum(found, dtype=np.int32) - 1
    return (np.flatnonzero(found) + low).astype(target.dtype), place[above]
