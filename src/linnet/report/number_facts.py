"""Facts of a regression on held-out rows: predicted against actual values, residuals, frequencies of counts."""

from dataclasses import dataclass

import numpy as np

from linnet.heads import Poisson
from linnet.tables.predictions import Evaluation, Law
from linnet.tables.rows import Floats, numbers_of
from linnet.tables.task import Task

_MAX_POINTS = 800  # more are counted in cells
_CELLS_PER_SIDE = 40
_BARS = 30
_MIN_RELATIVE_RANGE = 1e-12  # of an axis, below which its bins would be rounding
_MIN_RANGE = 1e-300
_GROUPS = 10
_MAX_COUNT = 20
_TAIL_SHARE = 0.005  # of rows at either end that do not stretch an axis


@dataclass(frozen=True, slots=True)
class Cloud:
    """Points or, where there are many, the midpoints of cells with their numbers of points."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    rows: tuple[float, ...] = ()  # in each cell
    cell: tuple[float, float] = (0.0, 0.0)  # width and height


@dataclass(frozen=True, slots=True)
class Group:
    """A tenth of the rows, in the order of predictions."""

    predicted: float
    observed: float
    low: float  # 95 % limits of the observed mean
    high: float
    rows: int


@dataclass(frozen=True, slots=True)
class Histogram:
    """The number of rows between edges."""

    edges: tuple[float, ...]
    rows: tuple[float, ...]
    outside: int = 0  # rows beyond the edges


@dataclass(frozen=True, slots=True)
class CountFacts:
    """How many rows have 0, 1, 2 and so on (the last entry: that count or more), as observed and as predicted."""

    observed: tuple[float, ...]
    expected: tuple[float, ...]
    dispersion: float  # mean over rows of (y - mean)² / variance; 1 where the distribution is right
    distribution: str = "Poisson"  # the predicted one
    parameter: float | None = None  # its estimated parameter: d in the variance mean + d mean²


@dataclass(frozen=True, slots=True)
class NumberFacts:
    """Facts of a regression. A residual is actual - predicted."""

    actual: Cloud  # by predicted
    residual: Cloud  # by predicted
    residuals: Histogram
    groups: tuple[Group, ...]
    per_exposure: bool = False  # whether groups are rates
    mean_residual: float = 0.0
    counts: CountFacts | None = None


def number_facts(evaluation: Evaluation) -> NumberFacts:
    """Return the facts of a regression on the rows of an evaluation."""
    y, mean, w = evaluation.y.astype(np.float64), evaluation.predicted.astype(np.float64), evaluation.w
    exposure = evaluation.model.roles.exposure
    time = np.ones(len(y)) if exposure is None else numbers_of(evaluation.table, exposure)
    residuals = y - mean
    return NumberFacts(
        _cloud(mean, y),
        _cloud(mean, residuals),
        _histogram(residuals, w),
        _groups(y, mean, time, w),
        exposure is not None,
        float(np.average(residuals, weights=w)),
        _counts(y, mean, w, evaluation.predictions.law) if evaluation.model.task is Task.COUNTS else None,
    )


def _cloud(x: Floats, y: Floats) -> Cloud:
    if len(x) <= _MAX_POINTS:
        return Cloud(tuple(x.tolist()), tuple(y.tolist()))
    ranges = [_inner(values) for values in (x, y)]
    counts, *edges = np.histogram2d(x, y, _CELLS_PER_SIDE, ranges)
    at_x, at_y = np.nonzero(counts)
    middles = [(along[1:] + along[:-1]) / 2 for along in edges]
    cell = float(edges[0][1] - edges[0][0]), float(edges[1][1] - edges[1][0])
    return Cloud(
        tuple(middles[0][at_x].tolist()), tuple(middles[1][at_y].tolist()), tuple(counts[at_x, at_y].tolist()), cell
    )


def _inner(values: Floats) -> tuple[float, float]:
    """Return the range of nearly all values; of all values, if that is not much wider."""
    low, high = float(values.min()), float(values.max())
    inner_low, inner_high = (float(q) for q in np.quantile(values, [_TAIL_SHARE, 1 - _TAIL_SHARE]))
    spread = inner_high - inner_low
    low, high = max(low, inner_low - spread / 2), min(high, inner_high + spread / 2)
    if high - low > _MIN_RELATIVE_RANGE * max(abs(low), abs(high)) and high - low > _MIN_RANGE:
        return low, high
    half = max(0.5, 1e-6 * abs(high))  # bins of less could not be told apart
    return low - half, high + half


def _histogram(values: Floats, w: Floats) -> Histogram:
    low, high = _inner(values)
    rows, edges = np.histogram(values, _BARS, (low, high), weights=w)
    return Histogram(tuple(edges.tolist()), tuple(rows.tolist()), int(((values < low) | (values > high)).sum()))


def _groups(y: Floats, mean: Floats, time: Floats, w: Floats) -> tuple[Group, ...]:
    """Return tenths of the rows by predicted value (per unit of exposure), with the predicted and observed means."""
    order = np.argsort(mean / time, kind="stable")
    out = []
    for group in np.array_split(order, min(_GROUPS, len(order))):
        weight, total = w[group], float((w[group] * time[group]).sum())
        if total <= 0:
            continue
        predicted, observed = float((weight * mean[group]).sum()) / total, float((weight * y[group]).sum()) / total
        residuals = weight * (y[group] - observed * time[group])
        half = 1.96 * float(np.sqrt((residuals**2).sum())) / total * np.sqrt(len(group) / max(1, len(group) - 1))
        out.append(Group(predicted, observed, observed - float(half), observed + float(half), len(group)))
    return tuple(out)


def _counts(y: Floats, mean: Floats, w: Floats, law: Law | None) -> CountFacts:
    """Return the frequencies of counts. `law`: the predicted distribution, None for a constant in older files."""
    law = Law(Poisson(), np.ones(1)) if law is None else law
    y, mean = np.round(y), np.maximum(mean, 1e-12)
    last = int(min(y.max(), max(2, np.quantile(y, 1 - _TAIL_SHARE / 5) + 1), _MAX_COUNT))
    at_most = np.arange(last)
    observed = [float(w[y == k].sum()) for k in at_most]
    expected = [float(w @ np.exp(law.log_probability(mean, np.full(len(y), float(k))))) for k in at_most]
    observed.append(float(w.sum()) - sum(observed))
    expected.append(max(0.0, float(w.sum()) - sum(expected)))
    dispersion = float(np.average((y - mean) ** 2 / law.variance(mean), weights=w))
    return CountFacts(tuple(observed), tuple(expected), dispersion, law.head.title, law.parameter)
