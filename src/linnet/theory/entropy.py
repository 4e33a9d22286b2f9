"""Softmax regression derived from maximum entropy, step by step.

Wanted: a distribution π_i over K classes for every row i. The constraints: each sums to one (Σ_k π_ik = 1), and class
by class the feature sums are those of the data,

    Σ_i π_ik x_i = Σ_i [t_i = k] x_i                                                                     (D x K values)

The one-hot targets themselves satisfy them, but are useless. Of all solutions take the one that assumes least: that
with the largest entropy -Σ π log π. The Lagrangian

    -Σ π_ik log π_ik - Σ_k λ_k · (Σ_i [t_i = k] x_i - Σ_i π_ik x_i) - Σ_i β_i (1 - Σ_k π_ik)

is stationary in π_ik where -log π_ik - 1 + λ_k · x_i + β_i = 0, so π_ik = e^(x_i · λ_k) / e^(1 - β_i): the softmax of
x_i λ. The multipliers of the feature sums are the weights, 1 - β_i is the logarithm of the normaliser. One set of
constraints is redundant (the feature sums of one class follow from the rest), so λ is determined up to a vector added
to all classes: that is why logits are determined up to a constant.

`softmax_by_entropy` does not use this result: it passes entropy and constraints to `lagrange`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linnet.errors import DataError, FitError
from linnet.theory.stationary import Stationary, lagrange

Floats = NDArray[np.float64]

_MAX_UNKNOWNS = 400  # Newton's method on all probabilities is a demonstration, not a solver
_MIN_PROBABILITY = 1e-10  # below which a probability counts as 0
_SEPARATED = "there is no largest entropy with all probabilities above 0: a plane separates some classes without error"


@dataclass(frozen=True, slots=True)
class EntropySolution:
    """The distributions of largest entropy and their multipliers; print it for the derivation with numbers.

    Parameters
    ----------
    probabilities : array of shape (rows, classes)
        π.
    weights : array of shape (inputs, classes)
        λ, the multipliers of the feature sums, with mean 0 over the classes.
    log_normaliser : array of shape (rows,)
        1 - β, from the multipliers of the row sums.
    observed : array of shape (inputs, classes)
        The feature sums of the data, Σ_i [t_i = k] x_i.
    expected : array of shape (inputs, classes)
        The feature sums of the solution, Σ_i π_ik x_i.
    entropy : float
        The entropy of all rows together, in nats.
    stationary : Stationary
        The solution of the Lagrangian.
    """

    probabilities: Floats
    weights: Floats
    log_normaliser: Floats
    observed: Floats
    expected: Floats
    entropy: float
    stationary: Stationary

    def __str__(self) -> str:
        rows, classes = self.probabilities.shape
        inputs = len(self.weights)
        constraints = self.stationary.constraint_gradients
        extra = len(constraints) - int(np.linalg.matrix_rank(constraints))
        uniform = rows * np.log(classes)
        violation = np.abs(self.expected - self.observed).max()
        lines = [
            f"1. unknowns      {rows} rows x {classes} classes = {rows * classes} probabilities",
            f"2. constraints   {rows} sums to 1, {inputs} x {classes} feature sums ({extra} follow from the rest)",
            *_table("   observed", self.observed),
            f"3. Lagrangian    stationary after {self.stationary.iterations} steps of Newton's method: "
            f"a {self.stationary.kind}",
            "4. multipliers   of the feature sums = the weights of softmax regression (mean 0 over classes)",
            *_table("   weights", self.weights),
            "5. normaliser    of the first rows, log sum_k e^(x . weights): "
            + ", ".join(f"{number:.4f}" for number in self.log_normaliser[:4]),
            f"6. check         expected feature sums equal the observed ones within {violation:.1e}",
            f"7. entropy       {self.entropy:.4f}; of uniform distributions {uniform:.4f}, of the targets 0",
        ]
        return "\n".join(lines)


def softmax_by_entropy(x: ArrayLike, t: ArrayLike) -> EntropySolution:
    """Return the class distributions of largest entropy whose feature sums equal those of the data.

    `LogisticRegression(C=np.inf, fit_intercept=False)` finds the same weights, for data of any size.

    Parameters
    ----------
    x : array of shape (rows, inputs)
        The inputs; include a column of ones for biases. Rows times classes may be at most 400.
    t : array of shape (rows,)
        The class of each row: 0, 1, ...

    Returns
    -------
    EntropySolution
        The probabilities, and the weights found as Lagrange multipliers; print it for the derivation.

    Raises
    ------
    DataError
        If a plane separates some classes, so that no largest entropy is reached.
    """
    table, labels = np.asarray(x, np.float64), np.asarray(t)
    if table.ndim != 2 or labels.shape != table.shape[:1] or not np.isfinite(table).all():
        raise DataError(
            f"x must be a table of finite numbers and t one class per row, got shapes {table.shape} and {labels.shape}"
        )
    if labels.dtype.kind not in "iu" or not np.array_equal(np.unique(labels), np.arange(labels.max(initial=0) + 1)):
        raise DataError("t must have the classes 0, 1, ..., each at least once")
    rows, classes = len(table), int(labels.max()) + 1
    if rows * classes > _MAX_UNKNOWNS:
        raise DataError(
            f"{rows} rows x {classes} classes exceed the limit of {_MAX_UNKNOWNS} unknowns: use LogisticRegression"
        )
    onehot = np.eye(classes)[labels]
    observed = table.T @ onehot
    feature_sums = [_feature_sum(table[:, j], k, observed[j, k]) for j, k in np.ndindex(observed.shape)]
    row_sums = [_row_sum(i) for i in range(rows)]
    start = np.full((rows, classes), 1 / classes)
    try:
        point = lagrange(lambda p: -np.sum(p * np.log(p)), [*feature_sums, *row_sums], start)
    except FitError as error:
        raise DataError(_SEPARATED) from error
    if point.x.min() < _MIN_PROBABILITY:  # here the weights diverge, and the slopes of p log p are lost in rounding
        raise DataError(_SEPARATED)
    factors = point.multipliers[: observed.size].reshape(observed.shape)
    shift = factors.mean(axis=1, keepdims=True)  # a vector added to all classes is not determined
    log_normaliser = 1 - point.multipliers[observed.size :] - table @ shift[:, 0]
    p = point.x
    return EntropySolution(p, factors - shift, log_normaliser, observed, table.T @ p, point.value, point)


@dataclass(frozen=True, slots=True)
class LookupClassifier:
    """The classifier that meets all constraints of `softmax_by_entropy` and has learned nothing.

    For a row of the data it returns the class of that row with probability 1; for any other row class 0. Its expected
    feature sums are the observed ones, term by term, and its entropy is 0: the smallest, not the largest, that the
    constraints allow. Where equal rows have different classes, it returns the shares of these classes.

    Parameters
    ----------
    rows : array of shape (distinct rows, inputs)
        The distinct rows of the data.
    shares : array of shape (distinct rows, classes)
        The share of each class among the rows that are equal.
    observed : array of shape (inputs, classes)
        The feature sums of the data, Σ_i [t_i = k] x_i.
    expected : array of shape (inputs, classes)
        The feature sums of the classifier, Σ_i π_ik x_i.
    entropy : float
        The entropy on all rows of the data together, in nats.
    """

    rows: Floats
    shares: Floats
    observed: Floats
    expected: Floats
    entropy: float

    @classmethod
    def of(cls, x: ArrayLike, t: ArrayLike) -> "LookupClassifier":
        """Return the classifier that looks rows of x up.

        Parameters
        ----------
        x : array of shape (rows, inputs)
            The inputs.
        t : array of shape (rows,)
            The class of each row: 0, 1, ...
        """
        table, labels = np.asarray(x, np.float64), np.asarray(t)
        if table.ndim != 2 or table.size == 0 or labels.shape != table.shape[:1] or not np.isfinite(table).all():
            raise DataError(
                f"x must be a table of finite numbers and t one class per row, got shapes {table.shape} and "
                f"{labels.shape}"
            )
        if labels.dtype.kind not in "iu" or labels.min() < 0:
            raise DataError("t must have the classes 0, 1, ...")
        onehot = np.eye(int(labels.max()) + 1)[labels]
        rows, place, counts = np.unique(table, axis=0, return_inverse=True, return_counts=True)
        shares = np.zeros((len(rows), onehot.shape[1]))
        np.add.at(shares, place.ravel(), onehot)
        shares /= counts[:, None]
        p = shares[place.ravel()]
        entropy = -float((p[p > 0] * np.log(p[p > 0])).sum())
        return cls(rows, shares, table.T @ onehot, table.T @ p, entropy + 0.0)

    def predict_proba(self, x: ArrayLike) -> Floats:
        """Return the probability of each class: as in the data if the row is one of them, and otherwise class 0.

        Parameters
        ----------
        x : array of shape (rows, inputs)
            The inputs.

        Returns
        -------
        array of shape (rows, classes)
            The probabilities.
        """
        known = {row.tobytes(): share for row, share in zip(self.rows + 0.0, self.shares, strict=True)}
        other = np.eye(self.shares.shape[1])[0]
        table = np.asarray(x, np.float64) + 0.0  # of -0 and 0 one
        return np.array([known.get(row.tobytes(), other) for row in table])

    def predict(self, x: ArrayLike) -> NDArray[np.int64]:
        """Return the most probable class of each row.

        Parameters
        ----------
        x : array of shape (rows, inputs)
            The inputs.

        Returns
        -------
        array of shape (rows,)
            The classes.
        """
        return np.asarray(self.predict_proba(x).argmax(axis=1))


def _feature_sum(feature: Floats, k: int, observed: float) -> Callable[[Any], Any]:
    return lambda p: observed - np.sum(p[:, k] * feature)


def _row_sum(i: int) -> Callable[[Any], Any]:
    return lambda p: 1 - np.sum(p[i])


def _table(name: str, values: Floats) -> list[str]:
    rows = ["".join(f"{value:10.4f}" for value in row) for row in values]
    return [f"{name if j == 0 else '':<17}{row}" for j, row in enumerate(rows)]
