"""Measures of predicted labels, from their confusion matrix."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from linnet._cached import cached_property
from linnet.data.table import Array
from linnet.errors import ConfigError, DataError
from linnet.evaluate.confusion import Confusion
from linnet.evaluate.formulas import Counts, LabelFormula
from linnet.evaluate.inputs import Floats, as_column, codes_of, index_of, positive_label
from linnet.evaluate.measures import Limits, MeanMeasure, Measure, normal_quantile, on_logit_scale, wilson
from linnet.evaluate.metric import IntervalArguments
from linnet.evaluate.objectives import as_costs


@dataclass
class LabelMeasure(Measure):
    """A metric of a confusion matrix."""

    formula: LabelFormula
    cells: Array  # actual * classes + predicted of each row
    classes: int
    scored: Array  # indices of the classes that count

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.cells)

    def _table(self, times: Floats | None) -> Floats:
        counts = np.bincount(self.cells, self.weights if times is None else times, self.classes**2)
        return counts.reshape(self.classes, -1).astype(np.float64)

    @cached_property
    def table(self) -> Floats:
        """The confusion matrix."""
        return self._table(None)

    def value(self, times: Floats | None) -> float:
        """Return the formula's value for the confusion matrix."""
        return self._value(self.table if times is None else self._table(times))

    def draw_value(self, generator: np.random.Generator) -> float:
        """Draw cells instead of rows: the distribution is the same, and no pass over the rows is needed."""
        total = self.table.sum()
        drawn = generator.multinomial(round(total), (self.table / total).ravel())
        return self._value(drawn.reshape(self.table.shape).astype(np.float64))

    def _value(self, table: Floats) -> float:
        return float(self.formula.value(_counts(*_margins(table)), self.scored))

    def limits(self, level: float) -> Limits:
        """Return Wilson's limits for proportions, else those of the delta method on the cells, on the logit scale.

        The variance is that of multinomial cells, with two rows added, spread evenly: otherwise an empty cell would
        count as impossible, and a perfect model as certain.
        """
        share = self.formula.share(_counts(*_margins(self.table)), self.scored)
        if share is not None:
            over, under = share
            return *wilson(over / under if under else float("nan"), under, level), "wilson"
        value = self.value(None)
        present = self.table.sum(axis=1, keepdims=True) > 0
        smooth = self.table + 2 * present / (present.sum() * self.classes)
        low, span = self.formula.low, 1.0 - self.formula.low
        middle, deviation = (self._value(smooth) - low) / span, self._deviation(smooth) / span
        ends = on_logit_scale(middle, normal_quantile(level) * deviation) if 0 < middle < 1 else (middle, middle)
        bottom, top = (low + end * span for end in ends)
        return min(bottom, value), max(top, value), "delta"

    def _deviation(self, table: Floats) -> float:
        """Return sqrt(Σ cells x slope²), with slopes by complex steps.

        Σ cells x slope = 0, because metrics do not depend on the scale of the table. A metric depends on a cell (i, j)
        by tp_i if i = j, by predicted_j and by actual_i.
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


def label_measure(formula: LabelFormula, arguments: IntervalArguments) -> Measure:
    """Prepare a metric of predicted labels."""
    confusion, cells = _read(arguments)
    classes = confusion.classes
    if formula.of_positive:
        label = positive_label(classes, arguments.pos_label)
        if label not in classes.tolist():
            raise ConfigError(f"pos_label={label!r} occurs neither in y_true nor in y_pred")
        scored = [index_of(label, classes, "pos_label")]
    else:
        averaged = confusion.scores(labels=arguments.labels, negative_class=arguments.negative_class, zero_division=0.0)
        scored = [index_of(label, classes, "labels") for label in averaged.classes.tolist()]
    return LabelMeasure(arguments.weights, formula, cells, len(classes), np.array(scored))


def cost_measure(arguments: IntervalArguments) -> Measure:
    """Prepare the mean cost per row of predicted labels."""
    confusion, cells = _read(arguments)
    matrix, classes = as_costs(arguments.costs), len(confusion.classes)
    if len(matrix) != classes:
        raise DataError(f"costs are {matrix.shape}, but there are {classes} classes: name them all with labels")
    return MeanMeasure(arguments.weights, matrix.ravel()[cells], float(matrix.min()))


def _read(arguments: IntervalArguments) -> tuple[Confusion, Array]:
    """Return the confusion matrix of rows without weights, and the cell of each row, actual * classes + predicted."""
    actual = as_column(arguments.y_true, "y_true")
    predicted = as_column(arguments.predictions, "y_pred", len(actual))
    confusion = Confusion.of(actual, predicted, labels=arguments.labels)
    classes = confusion.classes
    codes = codes_of(actual, classes, "y_true").astype(np.intp), codes_of(predicted, classes, "y_pred")
    return confusion, codes[0] * len(classes) + codes[1]
