"""Two models compared on the same rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from linnet.checks import check_whole
from linnet.errors import DataError, hearing
from linnet.evaluate.inputs import as_column
from linnet.evaluate.intervals import as_generator, check_level, measure, name_of, percentiles


@dataclass(frozen=True)
class McNemar:
    """McNemar's test: do two models err equally often on the same rows?

    `only_a` and `only_b` count rows that only the first or only the second has right; rows that both have right or
    wrong do not count.
    """

    only_a: int
    only_b: int
    statistic: float
    p_value: float
    exact: bool

    def __str__(self) -> str:
        how = "exact" if self.exact else f"chi² {self.statistic:.4g}"
        return (
            f"only the first is right in {self.only_a} rows, only the second in {self.only_b}: "
            f"p = {self.p_value:.3g} ({how})"
        )


def mcnemar(
    y_true: object, pred_a: object, pred_b: object, *, exact: bool | None = None, correction: bool = True
) -> McNemar:
    """Test whether two models err equally often on the same rows.

    Exact: binomial test of `only_a` out of all rows that one alone has right. Else chi² = (|a - b| - 1)² / (a + b) with
    the continuity correction. By default exact below 25 such rows.
    """
    truth = as_column(y_true, "y_true")
    right_a = as_column(pred_a, "pred_a", len(truth)) == truth
    right_b = as_column(pred_b, "pred_b", len(truth)) == truth
    only_a, only_b = int((right_a & ~right_b).sum()), int((right_b & ~right_a).sum())
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
    """Two models on the same rows: their values, the difference a - b with its interval, and a two-sided p-value."""

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
    y_true: object,
    predictions_a: object,
    predictions_b: object,
    *,
    level: float = 0.95,
    n_resamples: int = 2000,
    random_state: Any = 0,
    **options: Any,
) -> Comparison:
    """Compare two models by the paired bootstrap: both are measured on the same drawn rows.

    The interval of the difference is that of percentiles. The p-value is twice the smaller share of draws on either
    side of zero, where one is added to the count of each side.

    Parameters
    ----------
    metric : str or callable
        As for `interval`.
    y_true : array of one target per row
        Actual classes or numbers.
    predictions_a, predictions_b : array
        The predictions of the two models, as the metric needs them.
    level : float
        The confidence that the interval of the difference has.
    n_resamples : int
        How often the bootstrap draws.
    random_state : int, RandomState, Generator or None
        For the draws.
    **options
        As for `interval`.
    """
    level = check_level(level)
    first = measure(metric, y_true, predictions_a, **options)
    second = measure(metric, y_true, predictions_b, **options)
    generator = as_generator(random_state)
    draws = np.empty(check_whole(n_resamples, "n_resamples", at_least=2))
    with hearing(), np.errstate(all="ignore"):  # a draw may lack a class, and is then NaN
        for i in range(len(draws)):
            times = first.drawn(generator)
            draws[i] = first.of(times) - second.of(times)
    known = draws[~np.isnan(draws)]
    if not len(known):
        raise DataError("the metric is undefined on all rows drawn: there is nothing to compare")
    below, above = int((known <= 0).sum()), int((known >= 0).sum())
    p = min(1.0, 2 * (min(below, above) + 1) / (len(known) + 1))
    a, b = first.of(None), second.of(None)
    return Comparison(name_of(metric), a, b, a - b, *percentiles(draws, level), p, level)
