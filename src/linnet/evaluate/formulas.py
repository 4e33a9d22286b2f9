"""Formulas of metrics of labels, in the counts of a confusion matrix.

Counts are numbers, or arrays with one entry per class. They may be complex: limits in closed form differentiate by
complex steps. The caller passes the division to use, and so decides about 0 / 0.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from linnet.data.table import Array

Divide = Callable[[Any, Any, str], Any]  # of numerator, denominator and the name of the quotient, for a warning


@dataclass(frozen=True)
class Counts:
    """The number (weight) of rows of a class against the rest, or of each class, as arrays."""

    tp: Any
    predicted: Any  # TP + FP
    actual: Any  # TP + FN
    total: Any  # of all rows: one number
    cells: tuple[Any, Any, Any] | None = None  # FP, FN and TN if known: differences of weights are rounded

    @classmethod
    def of_cells(cls, tp: Any, fp: Any, fn: Any, tn: Any) -> "Counts":
        """Build counts from the four cells."""
        return cls(tp, tp + fp, tp + fn, tp + fp + fn + tn, (fp, fn, tn))

    @property
    def fp(self) -> Any:
        """False positives."""
        return self.predicted - self.tp if self.cells is None else self.cells[0]

    @property
    def fn(self) -> Any:
        """False negatives."""
        return self.actual - self.tp if self.cells is None else self.cells[1]

    @property
    def tn(self) -> Any:
        """True negatives."""
        return self.total - self.predicted - self.actual + self.tp if self.cells is None else self.cells[2]

    @property
    def negatives(self) -> Any:
        """FP + TN."""
        return self.total - self.actual if self.cells is None else self.fp + self.tn

    def take(self, indices: Any) -> "Counts":
        """Return the counts of some classes, by their indices."""
        return Counts(self.tp[indices], self.predicted[indices], self.actual[indices], self.total)

    def summed(self) -> "Counts":
        """Return the sums over the classes, for micro averages."""
        return Counts(self.tp.sum(), self.predicted.sum(), self.actual.sum(), self.total)


Formula = Callable[[Counts, Divide], Any]


# ---- one class against the rest ----


def precision(counts: Counts, divide: Divide) -> Any:
    """TP / (TP + FP): the share of rows predicted as positive that are positive."""
    return divide(counts.tp, counts.predicted, "precision")


def recall(counts: Counts, divide: Divide) -> Any:
    """TP / (TP + FN): the share of positive rows that are found."""
    return divide(counts.tp, counts.actual, "recall")


def specificity(counts: Counts, divide: Divide) -> Any:
    """TN / (TN + FP): the share of negative rows predicted as negative."""
    return divide(counts.tn, counts.negatives, "specificity")


def false_positive_rate(counts: Counts, divide: Divide) -> Any:
    """FP / (FP + TN) = 1 - specificity: the rate of Type I errors."""
    return divide(counts.fp, counts.negatives, "false positive rate")


def false_negative_rate(counts: Counts, divide: Divide) -> Any:
    """FN / (FN + TP) = 1 - recall: the rate of Type II errors."""
    return divide(counts.fn, counts.actual, "false negative rate")


def f_beta(counts: Counts, divide: Divide, beta: float = 1.0) -> Any:
    """(1 + b²) P R / (b² P + R) = (1 + b²) TP / (TP + FP + b² (TP + FN)); for an infinite beta the recall."""
    b2 = beta * beta
    if math.isinf(b2):
        return recall(counts, divide)
    return divide((1 + b2) * counts.tp, counts.predicted + b2 * counts.actual, f"F{beta:g}")


def arithmetic_mean(counts: Counts, divide: Divide) -> Any:
    """(P + R) / 2 of precision and recall."""
    return (precision(counts, divide) + recall(counts, divide)) / 2


def geometric_mean(counts: Counts, divide: Divide) -> Any:
    """sqrt(P R) of precision and recall: the Fowlkes-Mallows index."""
    return np.sqrt(precision(counts, divide) * recall(counts, divide))


# ---- all classes ----


def accuracy(counts: Counts, divide: Divide) -> Any:
    """Σ TP / all: the share of rows classified correctly."""
    return divide(counts.tp.sum(), counts.total, "accuracy")


def balanced_accuracy(counts: Counts, divide: Divide) -> Any:
    """Return the mean recall of the classes that occur."""
    return recall(counts.take(counts.actual != 0), divide).mean()


def mcc(counts: Counts, divide: Divide) -> Any:
    """Matthews' correlation of actual and predicted class, (c s - Σ p t) / sqrt((s² - Σ p²) (s² - Σ t²)); 0 for 0 / 0.

    s is the number of rows, c that of rows classified correctly, p and t the rows predicted as and actually of each
    class.
    """
    p, t, s = counts.predicted, counts.actual, counts.total
    under = np.sqrt((p * (s - p)).sum()) * np.sqrt((t * (s - t)).sum())
    return divide(counts.tp.sum() * s - (p * t).sum(), under, "mcc") if under != 0 else 0.0


# ---- the classes that a metric counts, and the form of its limits ----


def or_nan(over: Any, under: Any, what: str = "") -> Any:
    """Return over / under, NaN where that is 0 / 0."""
    return _divide(over, under, float("nan"))


def or_zero(over: Any, under: Any, what: str = "") -> Any:
    """Return over / under, 0 where that is 0 / 0."""
    return _divide(over, under, 0.0)


def _divide(over: Any, under: Any, empty: float) -> Any:
    over, under = np.asarray(over), np.asarray(under)
    out = np.full(over.shape, empty, np.result_type(over, under, np.float64))
    return np.divide(over, under, out=out, where=under != 0)


def _both(over: Any, under: Any, what: str) -> tuple[float, float]:
    return float(over), float(under)


@dataclass(frozen=True)
class LabelFormula(ABC):
    """A formula, and the classes of a confusion matrix to which it is applied."""

    formula: Formula
    proportion: bool = False  # whether it is a share of rows, whose interval is Wilson's
    low: float = 0.0  # the lowest possible value; the highest is 1
    of_positive: ClassVar[bool] = False  # whether only the positive class counts

    @abstractmethod
    def value(self, counts: Counts, scored: Array) -> Any:
        """Return the metric from the counts of all classes, NaN for 0 / 0; `scored`: indices of classes to count."""

    def share(self, counts: Counts, scored: Array) -> tuple[float, float] | None:
        """Return numerator and denominator, if the metric is a share of rows."""
        return self.formula(self.chosen(counts, scored), _both) if self.proportion else None

    def chosen(self, counts: Counts, scored: Array) -> Counts:
        """Return the counts to which the formula is applied."""
        return counts


class OfAll(LabelFormula):
    """A formula applied to all classes at once."""

    def value(self, counts: Counts, scored: Array) -> Any:
        """Return the formula's value."""
        return self.formula(counts, or_nan)


class OfPositive(LabelFormula):
    """A formula applied to the positive class."""

    of_positive = True

    def value(self, counts: Counts, scored: Array) -> Any:
        """Return the formula's value for the positive class."""
        return self.formula(self.chosen(counts, scored), or_nan)

    def chosen(self, counts: Counts, scored: Array) -> Counts:
        """Return the counts of the positive class."""
        return counts.take(scored[0])


class Micro(LabelFormula):
    """A formula of one class, applied to the sums over the classes."""

    def value(self, counts: Counts, scored: Array) -> Any:
        """Return the formula's value for the sums."""
        return self.formula(self.chosen(counts, scored), or_nan)

    def share(self, counts: Counts, scored: Array) -> tuple[float, float] | None:
        """Return the share of rows; over all classes precision, recall and F are the accuracy."""
        if len(scored) == len(counts.tp):
            ratio: tuple[float, float] = accuracy(counts, _both)
            return ratio
        return super().share(counts, scored)

    def chosen(self, counts: Counts, scored: Array) -> Counts:
        """Return the sums."""
        return counts.take(scored).summed()


class Macro(LabelFormula):
    """The mean of a formula of one class over the classes that occur or are predicted."""

    def value(self, counts: Counts, scored: Array) -> Any:
        """Return the mean."""
        counts = counts.take(scored)
        occurs = counts.predicted + counts.actual != 0
        return self.mean(self.formula(counts, or_zero)[occurs], counts.actual[occurs])

    def share(self, counts: Counts, scored: Array) -> tuple[float, float] | None:
        """Return None: a mean of shares is not a share of rows."""
        return None

    def mean(self, values: Any, actual: Any) -> Any:
        """Return the mean over classes, `actual` being their numbers of rows."""
        return values.mean()


class Weighted(Macro):
    """The mean of a formula of one class over the classes, weighted by their rows."""

    def mean(self, values: Any, actual: Any) -> Any:
        """Return the mean weighted by the numbers of rows."""
        return or_nan((values * actual).sum(), actual.sum())
