"""Comparisons of two models on the same rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from linnet.checks import check_flag
from linnet.errors import DataError, hearing
from linnet.evaluate.inputs import all_classes, as_column
from linnet.evaluate.intervals import as_generator, check_level, check_resamples, measure, name_of, percentiles


@dataclass(frozen=True)
class McNemar:
    """The result of McNemar's test of whether two models err equally often on the same rows.

    Attributes
    ----------
    only_a, only_b : int
        Rows that only the first, or only the second, model predicts correctly; all other rows carry no information.
    statistic : float
        chi², or for the exact test the smaller of the two counts.
    p_value : float
        Of the hypothesis that both err equally often.
    exact : bool
        Whether the binomial test was used.
    """

    only_a: int
    only_b: int
    statistic: float
    p_value: float
    exact: bool

    def __str__(self) -> str:
        test = "exact" if self.exact else f"chi² {self.statistic:.4g}"
        return (
            f"only the first is correct in {self.only_a} rows, only the second in {self.only_b}: "
            f"p = {self.p_value:.3g} ({test})"
        )


def mcnemar(
    y_true: ArrayLike, pred_a: ArrayLike, pred_b: ArrayLike, *, exact: bool | None = None, correction: bool = True
) -> McNemar:
    """Test whether two models err equally often on the same rows (McNemar).

    Parameters
    ----------
    y_true : array of one class per row
        Actual classes.
    pred_a, pred_b : array of one class per row
        The predicted classes of the two models.
    exact : bool or None, default=None
        Use the binomial test of `only_a` out of `only_a + only_b` rows; by default if there are fewer than 25 such
        rows.
    correction : bool, default=True
        Use the continuity correction: chi² = (|a - b| - 1)² / (a + b).

    Returns
    -------
    McNemar
        The counts, the statistic and the p-value.
    """
    if exact is not None:
        check_flag(exact, "exact")
    check_flag(correction, "correction")
    truth = as_column(y_true, "y_true")
    first, second = (as_column(pred, name, len(truth)) for pred, name in ((pred_a, "pred_a"), (pred_b, "pred_b")))
    all_classes([("y_true", truth), ("pred_a", first), ("pred_b", second)])  # must be of one type
    correct_a, correct_b = first == truth, second == truth
    only_a, only_b = int((correct_a & ~correct_b).sum()), int((correct_b & ~correct_a).sum())
    total = only_a + only_b
    if exact is None:
        exact = total < 25
    if exact or total == 0:
        p = float(stats.binomtest(only_a, total, 0.5).pvalue) if total else 1.0
        return McNemar(only_a, only_b, float(min(only_a, only_b)), p, True)
    statistic = (abs(only_a - only_b) - int(correction)) ** 2 / total
    return McNemar(only_a, only_b, statistic, float(stats.chi2.sf(statistic, 1)), False)


@dataclass(frozen=True)
class Comparison:
    """Two models compared by a metric on the same rows.

    Attributes
    ----------
    metric : str
        The name of the metric.
    a, b : float
        Its values for the two models.
    difference : float
        a - b.
    low, high : float
        The confidence limits of the difference.
    p_value : float
        Two-sided, of the hypothesis that the difference is 0.
    level : float
        The confidence level.
    """

    metric: str
    a: float
    b: float
    difference: float
    low: float
    high: float
    p_value: float
    level: float

    def __str__(self) -> str:
        return (
            f"{self.metric}: {self.a:.4f} - {self.b:.4f} = {self.difference:+.4f} "
            f"({self.level:.0%}: {self.low:+.4f} to {self.high:+.4f}), p = {self.p_value:.3g}"
        )


def compare(
    metric: Any,
    y_true: ArrayLike,
    predictions_a: ArrayLike,
    predictions_b: ArrayLike,
    *,
    level: float = 0.95,
    n_resamples: int = 2000,
    random_state: Any = 0,
    **options: Any,
) -> Comparison:
    """Compare two models by the paired bootstrap: both are measured on the same resampled rows.

    The limits of the difference are percentiles. The p-value is twice the smaller share of differences on either side
    of zero, with one added to each count.

    Parameters
    ----------
    metric : str or callable
        As for `interval`.
    y_true : array of one target per row
        Actual classes or values.
    predictions_a, predictions_b : array
        The predictions of the two models, as the metric needs them.
    level : float, default=0.95
        The confidence level.
    n_resamples : int, default=2000
        The number of bootstrap samples.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the bootstrap.
    **options
        As for `interval`.

    Returns
    -------
    Comparison
        Both values, their difference with its interval, and the p-value.
    """
    level = check_level(level)
    first = measure(metric, y_true, predictions_a, **options)
    second = measure(metric, y_true, predictions_b, **options)
    generator = as_generator(random_state)
    draws = np.empty(check_resamples(n_resamples))
    with hearing(), np.errstate(all="ignore"):  # the value of a sample that lacks a class is NaN
        for i in range(len(draws)):
            times = first.draw_counts(generator)
            draws[i] = first.value(times) - second.value(times)
    defined = draws[~np.isnan(draws)]
    if not len(defined):
        raise DataError("the metric is undefined on every bootstrap sample: the models cannot be compared")
    below, above = int((defined <= 0).sum()), int((defined >= 0).sum())
    p = min(1.0, 2 * (min(below, above) + 1) / (len(defined) + 1))
    a, b = first.value(None), second.value(None)
    return Comparison(name_of(metric), a, b, a - b, *percentiles(draws, level), p, level)
