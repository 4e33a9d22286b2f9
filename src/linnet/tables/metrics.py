"""The metrics that suit a task, by name: value, direction and confidence interval of each in one place."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet import evaluate
from linnet.data.rows import Rows
from linnet.errors import ConfigError, DataError, unknown_name
from linnet.evaluate.metrics import mean_absolute_error, r2, root_mean_squared_error
from linnet.heads import Poisson
from linnet.tables.task import Task

Array = NDArray[Any]

_LEAST_MEAN = 1e-12
_DRAWS, _FEW_DRAWS = 1000, 200  # of the bootstrap
_MANY_ROWS = 20_000  # from which on the bootstrap draws less often


@dataclass(frozen=True)
class Compared:
    """Targets and what is predicted of the same rows."""

    y: Array
    predicted: Array  # classes, mean counts or numbers
    proba: Array | None = None  # rows x classes, if there are any
    classes: Array | None = None  # the second of two is the positive one
    weights: Array | None = None  # 1 each if there are none
    surprise: Array | None = None  # of counts: -log of the probability that was predicted for the actual one

    @property
    def two(self) -> bool:
        """Whether there are two classes, of which one is positive."""
        return self.classes is not None and len(self.classes) == 2

    def positive(self, labels: Array) -> Array:
        """Which labels are the positive class of two."""
        assert self.classes is not None
        return np.asarray(labels == self.classes[1])


@dataclass(frozen=True)
class Metric:
    """A metric of predictions: of labels or means, or of probabilities."""

    name: str
    compute: Callable[[Compared], Any]
    greater_is_better: bool = True
    needs_proba: bool = False
    resampled_as: str = ""  # its name in `linnet.evaluate.interval`, if that knows it
    options: Mapping[str, Any] = field(default_factory=dict)  # for `interval`
    of_positive: bool = False  # of two classes, of the positive one alone; else the mean over classes

    def __call__(self, rows: Compared) -> float:
        """The metric of rows; infinite or NaN where squares of their numbers are."""
        with np.errstate(over="ignore", invalid="ignore"):
            return float(self.compute(rows))

    def better(self, one: float, other: float) -> bool:
        """Whether one value is better than another; what is no number is worst."""
        return self.rank(one) > self.rank(other)

    def rank(self, value: float) -> float:
        """The value, or its negative where less is better: the greater, the better."""
        return (value if self.greater_is_better else -value) if np.isfinite(value) else -np.inf

    def interval(self, rows: Compared, level: float) -> evaluate.Interval:
        """The metric with a confidence interval, whose limits are NaN where none can be computed."""
        try:
            found = self._resampled(rows, level) if self.resampled_as else self._bootstrap(rows, level)
        except (DataError, ConfigError):
            found = evaluate.Interval(self.name, float("nan"), float("nan"), float("nan"), level, "none")
        return replace(found, metric=self.name, value=self(rows))

    def _resampled(self, rows: Compared, level: float) -> evaluate.Interval:
        how: dict[str, Any] = {"sample_weight": rows.weights, "level": level, **self.options}
        if rows.two and self.of_positive:
            given = rows.proba[:, 1] if rows.proba is not None and self.needs_proba else rows.positive(rows.predicted)
            return evaluate.interval(self.resampled_as, rows.positive(rows.y), given, pos_label=True, **how)
        if self.needs_proba:
            return evaluate.interval(self.resampled_as, rows.y, rows.proba, labels=rows.classes, **how)
        name = f"macro_{self.resampled_as}" if self.of_positive else self.resampled_as
        return evaluate.interval(name, rows.y, rows.predicted, **how)

    def _bootstrap(self, rows: Compared, level: float) -> evaluate.Interval:
        def of_drawn(y: Array, given: Array) -> float:
            weights = None if rows.weights is None else given[:, 1]
            return self(Compared(y, given[:, 0], weights=weights, surprise=given[:, 2]))

        none = np.ones(len(rows.y))
        others = [none if each is None else each for each in (rows.weights, rows.surprise)]
        given = np.column_stack([rows.predicted, *others])
        draws = _DRAWS if len(rows.y) < _MANY_ROWS else _FEW_DRAWS
        return evaluate.interval(of_drawn, rows.y, given, method="bootstrap", n_resamples=draws, level=level)


def _log_loss(rows: Compared) -> Any:
    return evaluate.log_loss(rows.y, rows.proba, labels=rows.classes, sample_weight=rows.weights)


def _roc_auc(rows: Compared) -> Any:
    assert rows.proba is not None
    if rows.two:
        return evaluate.roc_auc_score(rows.positive(rows.y), rows.proba[:, 1], sample_weight=rows.weights)
    return evaluate.roc_auc_score(rows.y, rows.proba, multi_class="ovr", labels=rows.classes)


def _average_precision(rows: Compared) -> Any:
    assert rows.proba is not None
    return evaluate.average_precision_score(rows.positive(rows.y), rows.proba[:, 1], sample_weight=rows.weights)


def _accuracy(rows: Compared) -> Any:
    return evaluate.accuracy_score(rows.y, rows.predicted, sample_weight=rows.weights)


def _balanced(rows: Compared) -> Any:
    return evaluate.balanced_accuracy_score(rows.y, rows.predicted, sample_weight=rows.weights)


def _of_labels(name: str, score: Callable[..., float], resampled_as: str, **how: Any) -> Metric:
    """A metric of the positive class of two, or of the mean over classes."""

    def compute(rows: Compared) -> Any:
        given: dict[str, Any] = {"sample_weight": rows.weights, "zero_division": 0, **how}
        if rows.two:
            return score(rows.positive(rows.y), rows.positive(rows.predicted), **given)
        return score(rows.y, rows.predicted, average="macro", **given)

    return Metric(name, compute, resampled_as=resampled_as, options=how, of_positive=True)


def _f_beta(beta: str) -> Metric:
    return _of_labels(f"f{beta}", evaluate.fbeta_score, "f_beta", beta=float(beta))


def _of_numbers(metric: Callable[[Array, Rows], float]) -> Callable[[Compared], float]:
    def compute(rows: Compared) -> float:
        given = Rows(np.empty((len(rows.y), 0)), values=rows.y[:, None], weights=rows.weights)
        return metric(rows.predicted[:, None], given)

    return compute


def _mean_surprise(rows: Compared) -> float:
    return float("nan") if rows.surprise is None else float(np.average(rows.surprise, weights=rows.weights))


def _poisson_deviance(rows: Compared) -> float:
    """The mean of 2 (y log(y / mean) - y + mean); a model may predict means that are not above 0."""
    w = np.ones(len(rows.y)) if rows.weights is None else rows.weights
    z = np.log(np.maximum(rows.predicted, _LEAST_MEAN))
    return Poisson().deviance(z[:, None], rows.y[:, None], w) / float(w.sum())


_CLASSES = [
    Metric("log_loss", _log_loss, greater_is_better=False, needs_proba=True, resampled_as="log_loss"),
    Metric("accuracy", _accuracy, resampled_as="accuracy"),
    Metric("balanced_accuracy", _balanced, resampled_as="balanced_accuracy"),
    _f_beta("1"),
    Metric("roc_auc", _roc_auc, needs_proba=True, resampled_as="roc_auc", of_positive=True),
]
_TWO = [
    _of_labels("precision", evaluate.precision_score, "precision"),
    _of_labels("recall", evaluate.recall_score, "recall"),
    Metric(
        "average_precision", _average_precision, needs_proba=True, resampled_as="average_precision", of_positive=True
    ),
]
_NUMBERS = [
    Metric("rmse", _of_numbers(root_mean_squared_error), greater_is_better=False),
    Metric("mae", _of_numbers(mean_absolute_error), greater_is_better=False),
    Metric("r2", _of_numbers(r2)),
]
_COUNTS = [
    Metric("poisson_deviance", _poisson_deviance, greater_is_better=False),
    *_NUMBERS,
    Metric("log_loss", _mean_surprise, greater_is_better=False),
]
_BY_TASK = {
    Task.TWO_CLASSES: [*_CLASSES, *_TWO],
    Task.MANY_CLASSES: _CLASSES,
    Task.COUNTS: _COUNTS,
    Task.NUMBER: _NUMBERS,
}


def metrics_of(task: Task) -> list[Metric]:
    """The metrics that suit a task, the one that chooses first."""
    return _BY_TASK[task]


def as_metric(name: str, task: Task) -> Metric:
    """The metric of a name, such as f2 or f0.5 for any F-beta."""
    known = {metric.name: metric for metric in metrics_of(task)}
    if name in known:
        return known[name]
    beta = re.fullmatch(r"f(\d+(\.\d+)?)", name)
    if beta and task.has_classes:
        return _f_beta(beta[1])
    if any(name == other.name for others in _BY_TASK.values() for other in others):
        raise ConfigError(f"the metric {name} does not suit the task {task!r}: choose from {', '.join(known)}")
    raise unknown_name("metric", name, tuple(known))
