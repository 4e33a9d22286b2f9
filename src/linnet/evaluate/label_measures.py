"""Metrics of a confusion matrix, prepared for intervals and comparisons."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from linnet.data.table import Array
from linnet.errors import ConfigError, DataError
from linnet.evaluate.confusion import Confusion
from linnet.evaluate.formulas import Counts, LabelFormula
from linnet.evaluate.inputs import Floats, as_column, codes_of, place_of, positive_label
from linnet.evaluate.measures import Limits, MeanMeasure, Measure, normal_quantile, on_logit_scale, wilson
from linnet.evaluate.metric import Given
from linnet.evaluate.thresholds import as_costs


@dataclass
class LabelMeasure(Measure):
    """A metric of a confusion matrix."""

    formula: LabelFormula
    cells: Array  # actual * classes + predicted of each row
    classes: int
    scored: Array  # places of the classes that it is of

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
        return self._value(self.table if times is None else self._table(times))

    def draw(self, generator: np.random.Generator) -> float:
        """Draw cells, not rows: that has the same distribution, and needs no pass over the rows."""
        total = self.table.sum()
        drawn = generator.multinomial(round(total), (self.table / total).ravel())
        return self._value(drawn.reshape(self.table.shape).astype(np.float64))

    def _value(self, table: Floats) -> float:
        return float(self.formula.value(_counts(*_margins(table)), self.scored))

    def limits(self, level: float) -> Limits:
        """Wilson for proportions; else the delta method on the cells, on the logit scale.

        The variance is that of multinomial cells, to which two rows are added, spread evenly: else a cell that happens
        to be empty would pass for impossible, and a perfect model for one beyond doubt.
        """
        found = self.formula.share(_counts(*_margins(self.table)), self.scored)
        if found is not None:
            over, under = found
            return *wilson(over / under if under else float("nan"), under, level), "wilson"
        value = self.of(None)
        there = self.table.sum(axis=1, keepdims=True) > 0
        smooth = self.table + 2 * there / (there.sum() * self.classes)
        low, span = self.formula.low, 1.0 - self.formula.low
        middle, deviation = (self._value(smooth) - low) / span, self._deviation(smooth) / span
        ends = on_logit_scale(middle, normal_quantile(level) * deviation) if 0 < middle < 1 else (middle, middle)
        bottom, top = (low + end * span for end in ends)
        return min(bottom, value), max(top, value), "delta"

    def _deviation(self, table: Floats) -> float:
        """sqrt(Σ cells x slope²), for metrics know no scale: Σ cells x slope = 0. Slopes are taken by complex steps.

        The metric depends on a cell (i, j) by tp_i if i = j, predicted_j and actual_i.
        """
        margins = np.array(_margins(table), complex)
        slopes = np.zeros(margins.shape)
        for at in np.ndindex(margins.shape):
            margins[at] += 1e-30j
            slopes[at] = np.imag(self.formula.value(_counts(*margins), self.scored)) / 1e-30
            margins[at] -= 1e-30j
        by_cell = np.diag(slopes[0]) + slopes[1] + slopes[2][:, None]
        return float(np.sqrt((table * by_cell**2).sum()))


def _margins(table: Floats) -> tuple[Floats, Floats, Floats]:
    return table.diagonal(), table.sum(axis=0), table.sum(axis=1)


def _counts(tp: Any, predicted: Any, actual: Any) -> Counts:
    return Counts(tp, predicted, actual, actual.sum())


def label_measure(formula: LabelFormula, given: Given) -> Measure:
    """Prepare a metric of predicted labels."""
    confusion, cells = _read(given)
    classes = confusion.classes
    if formula.of_positive:
        label = positive_label(classes, given.pos_label)
        if label not in classes.tolist():
            raise ConfigError(f"pos_label={label!r} is neither in y_true nor in y_pred")
        scored = [place_of(label, classes, "pos_label")]
    else:
        averaged = confusion.scores(labels=given.labels, negative_class=given.negative_class, zero_division=0.0)
        scored = [place_of(label, classes, "labels") for label in averaged.classes.tolist()]
    return LabelMeasure(given.weights, formula, cells, len(classes), np.array(scored))


def cost_measure(given: Given) -> Measure:
    """Prepare the mean cost per row of predicted labels."""
    confusion, cells = _read(given)
    matrix, classes = as_costs(given.costs), len(confusion.classes)
    if len(matrix) != classes:
        raise DataError(f"costs are {matrix.shape}, but there are {classes} classes: name them all with labels")
    return MeanMeasure(given.weights, matrix.ravel()[cells], float(matrix.min()))


def _read(given: Given) -> tuple[Confusion, Array]:
    """The confusion matrix of rows without weights, and each row's place in it, actual * classes + predicted."""
    actual = as_column(given.y_true, "y_true")
    predicted = as_column(given.predictions, "y_pred", len(actual))
    confusion = Confusion.of(actual, predicted, labels=given.labels)
    classes = confusion.classes
    codes = codes_of(actual, classes, "y_true").astype(np.intp), codes_of(predicted, classes, "y_pred")
    return confusion, codes[0] * len(classes) + codes[1]
