"""How well predictions meet their targets, as scikit-learn's score methods have it."""

import numpy as np
from numpy.typing import NDArray

from linnet.data.rows import Rows
from linnet.data.sparse import as_dense
from linnet.data.table import Array
from linnet.data.targets import as_array, as_values, as_weights
from linnet.errors import DataWarning, known_as, warn
from linnet.evaluate.metrics import r2


def accuracy(y: object, predicted: Array, sample_weight: object = None) -> float:
    """The share of rows whose class is predicted; of several labels all must be."""
    target: Array = as_array(as_dense(y), "y")
    if target.ndim == 2 and target.shape[1] == 1 and predicted.ndim == 1:
        target = target[:, 0]
    alike = target.shape == predicted.shape and len(target) > 0 and is_text(target) == is_text(predicted)
    if not alike or not is_discrete(target) or (target.ndim == 2 and not np.isin(target, (0, 1)).all()):
        from sklearn.metrics import accuracy_score  # which knows more forms, and says what is wrong

        return float(accuracy_score(y, predicted, sample_weight=sample_weight))
    right = (target == predicted).reshape(len(target), -1).all(axis=1)
    return float(np.average(right, weights=_weights(sample_weight, len(right))))


def r_squared(y: object, predicted: Array, sample_weight: object = None) -> float:
    """1 - squared error / squared error of the weighted mean, averaged over targets."""
    rows = len(predicted)
    mean = predicted.reshape(rows, -1)
    values = as_values(y, mean.shape[1], np.float64, rows=rows, table="X")
    weights = _weights(sample_weight, rows)
    if rows < 2:
        category = known_as("UndefinedMetricWarning", DataWarning)
        warn("R^2 score is not well-defined with less than two samples.", category)
        return float("nan")
    return r2(mean, Rows(np.empty((rows, 0)), values=values, weights=weights))


def is_text(target: Array) -> bool:
    """Whether it holds text, as far as its type tells."""
    return target.dtype.kind in "UO"


def is_discrete(target: Array) -> bool:
    """Whether it holds nothing but whole numbers, booleans or text: classes without a doubt."""
    if target.dtype.kind == "f":
        return bool((np.isfinite(target) & (target == np.floor(target))).all())
    if target.dtype.kind == "O":
        return all(isinstance(value, str) for value in target.flat)
    return target.dtype.kind in "biuU"


def _weights(sample_weight: object, rows: int) -> NDArray[np.float64] | None:
    return None if sample_weight is None else as_weights(sample_weight, np.float64, rows=rows, table="X")
