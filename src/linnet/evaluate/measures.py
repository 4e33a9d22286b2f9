"""Measures: metrics prepared for given rows, with their value, their value on resampled rows, and closed-form limits.

Intervals and comparisons work on measures, whatever the kind of metric.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from linnet._cached import cached_property
from linnet.data.table import Array
from linnet.errors import ConfigError, hearing
from linnet.evaluate.inputs import Floats, as_column, as_probabilities, binary
from linnet.evaluate.metric import IntervalArguments
from linnet.evaluate.probabilities import bin_edges, bin_sums, calibration_of, row_losses

Limits = tuple[float, float, str]  # of an interval, and the name of the method


@dataclass
class Measure(ABC):
    """A metric prepared for given rows; a row of weight w counts as w rows."""

    weights: Floats | None

    @property
    @abstractmethod
    def rows(self) -> int:
        """The number of rows."""

    @abstractmethod
    def value(self, times: Floats | None) -> float:
        """Return the metric where row i occurs times[i] times (None: as often as its weight); NaN for 0 / 0."""

    def limits(self, level: float) -> Limits:
        """Return the limits of a confidence interval in closed form, and the name of the method."""
        raise ConfigError("method='analytic' is not available for a function: use method='bootstrap'")

    def draw_counts(self, generator: np.random.Generator) -> Floats:
        """Return how often each row occurs in a sample of the same size drawn with replacement."""
        if self.weights is None:
            return np.bincount(generator.integers(0, self.rows, self.rows), minlength=self.rows).astype(np.float64)
        total = self.weights.sum()
        return generator.multinomial(round(total), self.weights / total).astype(np.float64)

    def draw_value(self, generator: np.random.Generator) -> float:
        """Return the metric of rows drawn with replacement."""
        with hearing(), np.errstate(all="ignore"):  # the value of a sample that lacks a class is NaN
            return self.value(self.draw_counts(generator))

    @cached_property
    def w(self) -> Floats:
        """The weights, all 1 if there are none."""
        return np.ones(self.rows) if self.weights is None else self.weights


def normal_quantile(level: float) -> float:
    """Return z such that a standard normal variable lies within ±z with probability `level`."""
    return float(stats.norm.ppf((1 + level) / 2))


def wilson(share: float, n: float, level: float) -> tuple[float, float]:
    """Return Wilson's interval of a proportion: all p with |share - p| <= z sqrt(p (1 - p) / n)."""
    if n <= 0:
        return 0.0, 1.0
    z2 = normal_quantile(level) ** 2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = np.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    return max(0.0, float(middle - half)), min(1.0, float(middle + half))


def on_logit_scale(value: float, half: float) -> tuple[float, float]:
    """Return value ± half, in (0, 1), computed on the logit scale, where the distribution of a rate is less skewed."""
    logit, half = np.log(value / (1 - value)), half / (value * (1 - value))
    low, high = (float(1 / (1 + np.exp(-np.clip(at, -700, 700)))) for at in (logit - half, logit + half))
    return low, high


@dataclass
class MeanMeasure(Measure):
    """A mean over rows: log loss, Brier score, cost."""

    losses: Floats
    lowest: float = 0.0  # the lowest possible mean

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.losses)

    def value(self, times: Floats | None) -> float:
        """Return the weighted mean."""
        return float(np.average(self.losses, weights=self.weights if times is None else times))

    def limits(self, level: float) -> Limits:
        """Return mean ± z standard deviations / sqrt(n)."""
        value, n = self.value(None), float(self.w.sum())
        variance = float(np.average((self.losses - value) ** 2, weights=self.w)) / max(n - 1, 1)
        half = normal_quantile(level) * np.sqrt(variance)
        return max(self.lowest, value - half), value + half, "normal"


@dataclass
class CalibrationMeasure(Measure):
    """The expected calibration error."""

    p: Floats
    flags: Array
    edges: Floats

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.p)

    def value(self, times: Floats | None) -> float:
        """Return the error summed over bins."""
        w = self.weights if times is None else times
        return calibration_of(bin_sums(self.p, self.flags, w, self.edges), self.edges).ece

    def limits(self, level: float) -> Limits:
        """Return normal limits with the sign of each bin's error held fixed; too narrow where the error is near 0."""
        sums = bin_sums(self.p, self.flags, self.weights, self.edges)
        sign = np.sign(sums[2] - sums[1])[np.searchsorted(self.edges[1:-1], self.p)]
        return MeanMeasure(self.weights, sign * (self.flags - self.p)).limits(level)


@dataclass
class FunctionMeasure(Measure):
    """Any function of (y_true, predictions)."""

    function: Callable[[Any, Any], float]
    actual: Array
    predicted: Array

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.actual)

    def value(self, times: Floats | None) -> float:
        """Call the function with rows repeated."""
        if times is None:
            return float(self.function(self.actual, self.predicted))
        index = np.repeat(np.arange(self.rows), times.astype(np.intp))
        return float(self.function(self.actual[index], self.predicted[index]))


def log_loss_measure(arguments: IntervalArguments) -> Measure:
    """Prepare the log loss of probabilities."""
    losses, _ = row_losses(
        arguments.y_true, arguments.predictions, "log", labels=arguments.labels, pos_label=arguments.pos_label
    )
    return MeanMeasure(arguments.weights, losses)


def brier_measure(arguments: IntervalArguments) -> Measure:
    """Prepare the Brier score of probabilities; two columns have the same score as one."""
    losses, columns = row_losses(
        arguments.y_true, arguments.predictions, "brier", labels=arguments.labels, pos_label=arguments.pos_label
    )
    return MeanMeasure(arguments.weights, losses / 2 if columns == 2 else losses)


def calibration_measure(arguments: IntervalArguments) -> Measure:
    """Prepare the expected calibration error of probabilities."""
    table = as_probabilities(arguments.predictions, len(as_column(arguments.y_true, "y_true")))
    flags, p, *_ = binary(arguments.y_true, table, arguments.pos_label, "y_proba", greater=True)
    return CalibrationMeasure(arguments.weights, p, flags, bin_edges(p, arguments.n_bins, "uniform"))
