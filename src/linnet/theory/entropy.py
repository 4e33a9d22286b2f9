"""Softmax regression from nothing but entropy, step by step.

Wanted: a distribution over K classes for every row, π_ik. Demanded: it is one (Σ_k π_ik = 1), and class by class its
feature sums are those of the data,

    Σ_i π_ik x_i = Σ_i [t_i = k] x_i                                                                    (D x K numbers)

A table of the right answers meets that, and is useless. Of all that do, take the one that claims least: of the largest
entropy -Σ π log π. The Lagrangian of this,

    -Σ π_ik log π_ik - Σ_k λ_k · (Σ_i [t_i = k] x_i - Σ_i π_ik x_i) - Σ_i β_i (1 - Σ_k π_ik)

is stationary in π_ik where -log π_ik - 1 + λ_k · x_i + β_i = 0, so π_ik = e^(x_i · λ_k) / e^(1 - β_i): softmax of
x_i λ. The multipliers of the feature sums are the weights, 1 - β_i is the logarithm of the normaliser. The constraints
are one set too many (summed over the classes the feature sums follow from the rest), so that λ is known up to a vector
added to all classes: that is why logits are known up to a constant.

`softmax_by_entropy` does not know the answer: it hands entropy and constraints to `lagrange`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linnet.errors import DataError, FitError
from linnet.theory.stationary import Stationary, lagrange

Floats = NDArray[np.float64]

_MOST = 400  # unknowns: Newton's method on all probabilities is for looking at
_LEAST = 1e-10  # probability that is told from 0
_SEPARATED = (
    "there is no largest entropy with all probabilities above 0: a plane tells some classes apart without error"
)


@dataclass(frozen=True, slots=True)
class EntropySolution:
    """The distributions of largest entropy, and what the multipliers turned out to be; prints as a derivation."""

    probabilities: Floats  # rows x classes
    weights: Floats  # λ, inputs x classes; their mean over the classes is 0
    log_normaliser: Floats  # of each row: 1 - β
    observed: Floats  # Σ_i [t_i = k] x_i, inputs x classes
    expected: Floats  # Σ_i π_ik x_i
    entropy: float
    stationary: Stationary

    def __str__(self) -> str:
        rows, classes = self.probabilities.shape
        inputs = len(self.weights)
        constraints = self.stationary.constraint_gradients
        extra = len(constraints) - int(np.linalg.matrix_rank(constraints))
        uniform = rows * np.log(classes)
        met = np.abs(self.expected - self.observed).max()
        lines = [
            f"1. unknowns      {rows} rows x {classes} classes = {rows * classes} probabilities",
            f"2. constraints   {rows} sums to 1, {inputs} x {classes} feature sums ({extra} follow from the rest)",
            *_table("   demanded", self.observed),
            f"3. Lagrangian    stationary after {self.stationary.iterations} steps of Newton's method: "
            f"a {self.stationary.kind}",
            "4. multipliers   of the feature sums = the weights of softmax regression (mean 0 over classes)",
            *_table("   weights", self.weights),
            "5. normaliser    of the first rows, log sum_k e^(x . weights): "
            + ", ".join(f"{number:.4f}" for number in self.log_normaliser[:4]),
            f"6. check         expected feature sums are the demanded ones within {met:.1e}",
            f"7. entropy       {self.entropy:.4f}; of the uniform table {uniform:.4f}, of the right answers 0",
        ]
        return "\n".join(lines)


def softmax_by_entropy(x: ArrayLike, t: ArrayLike) -> EntropySolution:
    """Return the distributions over classes of largest entropy with the feature sums of the data.

    x: rows x inputs (put in a column of ones for biases); t: classes 0, 1, ... of the rows. For tables of up to 400
    probabilities; `LogisticRegression(C=inf, fit_intercept=False)` finds the same weights for any size.
    """
    table, labels = np.asarray(x, np.float64), np.asarray(t)
    if table.ndim != 2 or labels.shape != table.shape[:1] or not np.isfinite(table).all():
        raise DataError(f"x must be a finite table and t one class a row, got shapes {table.shape} and {labels.shape}")
    if labels.dtype.kind not in "iu" or not np.array_equal(np.unique(labels), np.arange(labels.max(initial=0) + 1)):
        raise DataError("t must have the classes 0, 1, ..., each at least once")
    rows, classes = len(table), int(labels.max()) + 1
    if rows * classes > _MOST:
        raise DataError(f"{rows} rows x {classes} classes are more than {_MOST} unknowns: take LogisticRegression")
    onehot = np.eye(classes)[labels]
    observed = table.T @ onehot
    demands = [_feature_sum(table[:, j], k, observed[j, k]) for j, k in np.ndindex(observed.shape)]
    sums = [_row_sum(i) for i in range(rows)]
    start = np.full((rows, classes), 1 / classes)
    try:
        found = lagrange(lambda p: -np.sum(p * np.log(p)), [*demands, *sums], start)
    except FitError as error:
        raise DataError(_SEPARATED) from error
    if found.x.min() < _LEAST:  # where it goes on for ever, and the slopes of p log p are lost in rounding
        raise DataError(_SEPARATED)
    factors = found.multipliers[: observed.size].reshape(observed.shape)
    shift = factors.mean(axis=1, keepdims=True)  # what is added to all classes is not determined
    log_normaliser = 1 - found.multipliers[observed.size :] - table @ shift[:, 0]
    p = found.x
    return EntropySolution(p, factors - shift, log_normaliser, observed, table.T @ p, found.value, found)


def _feature_sum(feature: Floats, k: int, demanded: float) -> Callable[[Any], Any]:
    return lambda p: demanded - np.sum(p[:, k] * feature)


def _row_sum(i: int) -> Callable[[Any], Any]:
    return lambda p: 1 - np.sum(p[i])


def _table(name: str, numbers: Floats) -> list[str]:
    rows = ["".join(f"{number:10.4f}" for number in row) for row in numbers]
    return [f"{name if j == 0 else '':<17}{row}" for j, row in enumerate(rows)]
