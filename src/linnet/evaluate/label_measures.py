"""Metrics of a confusion matrix, prepared for intervals and comparisons."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from linnet.data.table import Array
from linnet.errors import ConfigError, DataError
from linnet.evaluate.confusion import Confusion, balanced_accuracy_of, mcc_of
from linnet.evaluate.inputs import Floats, as_column, codes_of, place_of, positive_label
from linnet.evaluate.measures import Limits, MeanMeasure, Measure, normal_quantile, on_logit_scale, wilson
from linnet.evaluate.metric import Given
from linnet.evaluate.rates import check_beta, f_beta_parts
from linnet.evaluate.thresholds import as_costs

# A proportion of a class k: over, under, from right = TP, said = TP + FP, true = TP + FN and the total.
PROPORTIONS: dict[str, Callable[[Any, Any, Any, Any], tuple[Any, Any]]] = {
    "precision": lambda right, said, true, total: (right, said),
    "recall": lambda right, said, true, total: (right, true),
    "specificity": lambda right, said, true, total: (total - said - true + right, total - true),
    "false_positive_rate": lambda right, said, true, total: (said - right, total - true),
    "false_negative_rate": lambda right, said, true, total: (true - right, true),
}
OF_ONE_CLASS = (*PROPORTIONS, "f_beta", "arithmetic_mean", "geometric_mean")


@dataclass
class LabelMeasure(Measure):
    """A metric of a confusion matrix."""

    name: str
    cells: Array  # true * classes + predicted of each row
    classes: int
    scored: Array  # numbers of the classes that are averaged; or the positive class alone
    beta: float = 1.0

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self.cells)

    def _table(self, times: Floats | None) -> Floats:
        counts = np.bincount(self.cells, self.weights if times is None else times, self.classes**2)
        return counts.reshape(self.classes, -1).astype(np.float64)

    @cached_property
    def table(self) -> Floats:
        """The confusion matrix."""
        return self._table(None)

    def of(self, times: Floats | None) -> float:
        """Count and compute."""
        return _value_of(self, self.table if times is None else self._table(times))

    def draw(self, generator: np.random.Generator) -> float:
        """Draw cells, not rows: that is the same, and needs no pass over the rows."""
        total = self.table.sum()
        drawn = generator.multinomial(round(total), (self.table / total).ravel())
        return _value_of(self, drawn.reshape(self.table.shape).astype(np.float64))

    def value(self, right: Any, said: Any, true: Any) -> Any:
        """Return the metric from TP, TP + FP and TP + FN (possibly complex) of each class; NaN if it is 0 / 0."""
        total = true.sum()
        if self.name == "accuracy":
            return right.sum() / total
        if self.name == "balanced_accuracy":
            return balanced_accuracy_of(right, true)
        if self.name == "mcc":
            return mcc_of(right, said, true, total)
        right, said, true = right[self.scored], said[self.scored], true[self.scored]
        if self.name in OF_ONE_CLASS:
            return self._of_one(self.name, right[0], said[0], true[0], total)
        how, what = self.name.split("_", 1)
        if how == "micro":
            return self._of_one(what, right.sum(), said.sum(), true.sum(), total)
        there = (said + true) != 0
        parts = self._of_one(what, right, said, true, total, empty=0.0)[there]
        return parts.mean() if how == "macro" else _ratio((parts * true[there]).sum(), true.sum())

    def _of_one(self, what: str, right: Any, said: Any, true: Any, total: Any, empty: float = float("nan")) -> Any:
        if what in PROPORTIONS:
            return _ratio(*PROPORTIONS[what](right, said, true, total), empty)
        if what == "arithmetic_mean":
            return (_ratio(right, said) + _ratio(right, true)) / 2
        if what == "geometric_mean":
            return _ratio(right, np.sqrt(said * true))
        return _ratio(*f_beta_parts(right, said, true, self.beta if what == "f_beta" else 1.0), empty)

    def limits(self, level: float) -> Limits:
        """Wilson for proportions; else the delta method on the cells, on the logit scale.

        The variance is that of multinomial cells, to which two rows are added, spread evenly: else a cell that happens
        to be empty would pass for impossible, and a perfect model for one beyond doubt.
        """
        found = self._proportion()
        if found is not None:
            over, under = found
            return *wilson(over / under if under else float("nan"), under, level), "wilson"
        value = self.of(None)
        there = self.table.sum(axis=1, keepdims=True) > 0
        smooth = self.table + 2 * there / (there.sum() * self.classes)
        low, high = (-1.0, 1.0) if self.name == "mcc" else (0.0, 1.0)
        middle, deviation = (_value_of(self, smooth) - low) / (high - low), self._deviation(smooth) / (high - low)
        ends = on_logit_scale(middle, normal_quantile(level) * deviation) if 0 < middle < 1 else (middle, middle)
        bottom, top = (low + end * (high - low) for end in ends)
        return min(bottom, value), max(top, value), "delta"

    def _proportion(self) -> tuple[float, float] | None:
        c = self.table
        right, said, true = c.diagonal()[self.scored].sum(), c[:, self.scored].sum(), c[self.scored].sum()
        how, _, what = self.name.partition("_")
        every = len(self.scored) == self.classes  # precision, recall and F are accuracy if summed over all
        if self.name == "accuracy" or (how == "micro" and every):
            return float(c.trace()), float(c.sum())
        if self.name in PROPORTIONS or (how == "micro" and what in PROPORTIONS):
            over, under = PROPORTIONS[what if how == "micro" else self.name](right, said, true, c.sum())
            return float(over), float(under)
        return None

    def _deviation(self, table: Floats) -> float:
        """sqrt(Σ cells x slope²), for metrics know no scale: Σ cells x slope = 0. Slopes are taken by complex steps.

        The metric depends on a cell (i, j) by right_i if i = j, said_j and true_i.
        """
        margins = np.array([table.diagonal(), table.sum(axis=0), table.sum(axis=1)], complex)
        slopes = np.zeros(margins.shape)
        for at in np.ndindex(margins.shape):
            margins[at] += 1e-30j
            slopes[at] = np.imag(self.value(*margins)) / 1e-30
            margins[at] -= 1e-30j
        by_cell = np.diag(slopes[0]) + slopes[1] + slopes[2][:, None]
        return float(np.sqrt((table * by_cell**2).sum()))


def label_measure(name: str, given: Given) -> Measure:
    """Prepare a metric of predicted labels."""
    truth = as_column(given.y_true, "y_true")
    said = as_column(given.predictions, "y_pred", len(truth))
    confusion = Confusion.of(truth, said, labels=given.labels)
    classes = confusion.classes
    codes = codes_of(truth, classes, "y_true").astype(np.intp), codes_of(said, classes, "y_pred")
    if name == "mean_cost":
        matrix = as_costs(given.costs)
        if len(matrix) != len(classes):
            raise DataError(
                f"costs are {matrix.shape}, but there are {len(classes)} classes: name them all with labels"
            )
        return MeanMeasure(given.weights, matrix[codes], float(matrix.min()))
    name = "f_beta" if name[1:2].isdigit() else name
    if name in OF_ONE_CLASS:
        label = positive_label(classes, given.pos_label)
        if label not in classes.tolist():
            raise ConfigError(f"pos_label={label!r} is neither in y_true nor in y_pred")
        scored = [place_of(label, classes, "pos_label")]
    else:
        averaged = confusion.scores(labels=given.labels, negative_class=given.negative_class, zero_division=0.0)
        scored = [place_of(label, classes, "labels") for label in averaged.classes.tolist()]
    cells = codes[0] * len(classes) + codes[1]
    return LabelMeasure(given.weights, name, cells, len(classes), np.array(scored), check_beta(given.beta))


def _value_of(measure: LabelMeasure, table: Floats) -> float:
    return float(measure.value(table.diagonal(), table.sum(axis=0), table.sum(axis=1)))


def _ratio(over: Any, under: Any, empty: float = float("nan")) -> Any:
    over, under = np.asarray(over), np.asarray(under)
    out = np.full(over.shape, empty, np.result_type(over, under, np.float64))
    return np.divide(over, under, out=out, where=under != 0)
