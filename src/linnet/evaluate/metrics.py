"""Metrics by name, for the record of every epoch."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.data.rows import Rows
from linnet.data.table import Array
from linnet.errors import ConfigError, unknown_name, warn
from linnet.heads import Head


@dataclass(frozen=True)
class NamedMetric:
    """A metric with its name and direction; `compute` takes the means (rows x outputs) and the rows."""

    name: str
    compute: Callable[[Array, Rows], float]
    greater_is_better: bool = True
    guessed: bool = False  # nothing says whether greater is better

    def __call__(self, mean: Array, rows: Rows) -> float:
        """Its value."""
        return self.compute(mean, rows)

    def watched(self) -> "NamedMetric":
        """The metric, which now decides when training ends: a warning if its direction is a guess."""
        if self.guessed:
            warn(
                f"the metric {self.name} is taken to be better the greater it is; if it is not, give "
                f"NamedMetric({self.name!r}, lambda mean, rows: ..., greater_is_better=False), or a function whose "
                "name ends in error or loss",
                UserWarning,
            )
        return self


def true_labels(rows: Rows) -> NDArray[np.intp]:
    """The class of each row: its label, or the largest of its target values."""
    if rows.labels is not None:
        return rows.labels.astype(np.intp)
    assert rows.values is not None
    return np.asarray(rows.values.argmax(axis=1), np.intp)


def one_of_many_accuracy(mean: Array, rows: Rows) -> float:
    """Part of the rows whose largest output is the true class."""
    return _average(mean.argmax(axis=1) == true_labels(rows), rows)


def yes_no_accuracy(mean: Array, rows: Rows, cut: float = 0.5) -> float:
    """Part of all yes/no answers that are right, "yes" where the mean is above the cut."""
    return _average(((mean > cut) == (_values(mean, rows) > 0.5)).mean(axis=1), rows)


def mean_squared_error(mean: Array, rows: Rows) -> float:
    """Mean over rows and outputs of (mean - t)²."""
    return _average(np.square(mean - _values(mean, rows), dtype=np.float64).mean(axis=1), rows)


def mean_absolute_error(mean: Array, rows: Rows) -> float:
    """Mean over rows and outputs of |mean - t|."""
    return _average(np.abs(mean - _values(mean, rows), dtype=np.float64).mean(axis=1), rows)


def root_mean_squared_error(mean: Array, rows: Rows) -> float:
    """The root of the mean squared error."""
    return float(np.sqrt(mean_squared_error(mean, rows)))


def r2(mean: Array, rows: Rows) -> float:
    """1 - squared error / squared error of the weighted mean, averaged over outputs; 0 for a constant target."""
    t = _values(mean, rows).astype(np.float64)
    weights = np.ones(len(t)) if rows.weights is None else rows.weights.astype(np.float64)
    if not weights.any():
        return float("nan")
    left = np.average((t - mean) ** 2, axis=0, weights=weights)
    whole = np.average((t - np.average(t, axis=0, weights=weights)) ** 2, axis=0, weights=weights)
    ratio = np.divide(left, whole, out=(left > 0).astype(np.float64), where=whole > 0)
    return float((1 - ratio).mean())


def macro_f1(mean: Array, rows: Rows, cut: float = 0.5) -> float:
    """Mean over classes of F1 = 2TP / (2TP + FP + FN); a class neither present nor predicted counts as 0."""
    if mean.shape[1] == 1:
        pairs, classes = 2 * (_values(mean, rows)[:, 0] > 0.5) + (mean[:, 0] > cut), 2
    else:
        classes = mean.shape[1]
        pairs = classes * true_labels(rows) + mean.argmax(axis=1)
    counts = np.bincount(pairs, rows.weights, minlength=classes * classes).reshape(classes, classes)
    right = counts.diagonal()
    both = counts.sum(axis=0) + counts.sum(axis=1)
    return float(np.divide(2 * right, both, out=np.zeros(classes), where=both > 0).mean())


def macro_f1_of_outputs(mean: Array, rows: Rows, cut: float = 0.5) -> float:
    """Mean over independent yes/no outputs of the F1 of "yes"; an output without any yes counts as 0."""
    said, true = mean > cut, _values(mean, rows) > 0.5
    weights = np.ones(len(said)) if rows.weights is None else rows.weights.astype(np.float64)
    right, both = ((weights[:, None] * counted).sum(axis=0) for counted in (said & true, 1 * said + true))
    return float(np.divide(2 * right, both, out=np.zeros(len(both)), where=both > 0).mean())


def _average(of_rows: Array, rows: Rows) -> float:
    """The mean over rows by their weights; NaN where none has any."""
    if rows.weights is None:
        return float(of_rows.mean(dtype=np.float64))
    weights = rows.weights.astype(np.float64)
    return float((weights * of_rows).sum() / weights.sum()) if weights.any() else float("nan")


def _values(mean: Array, rows: Rows) -> Array:
    if rows.values is not None:
        return rows.values
    assert rows.labels is not None
    one_hot: Array = rows.labels[:, None] == np.arange(mean.shape[1])
    return one_hot.astype(mean.dtype)


_ERRORS = {
    "mse": mean_squared_error,
    "mean_squared_error": mean_squared_error,
    "mae": mean_absolute_error,
    "mean_absolute_error": mean_absolute_error,
    "rmse": root_mean_squared_error,
}
_ONE_OF_MANY = ("categorical_accuracy", "sparse_categorical_accuracy")
_PROBABILITIES = ("log_loss", "brier", "roc_auc", "average_precision")
_DECISIONS = ("balanced_accuracy", "precision", "recall")  # and F-beta
NAMES = (
    *("accuracy", "acc", *_ONE_OF_MANY, "binary_accuracy", "balanced_accuracy", "macro_f1", "f1", "f2", "f0.5"),
    *("precision", "recall", *_PROBABILITIES, "r2", *_ERRORS),
)
_FUNCTIONS = {"log_loss": "log_loss", "brier": "brier_score_loss"}  # of linnet.evaluate; others end in _score
# How the names of functions end that are better the smaller, and the greater, they are.
_FALLING = ("error", "loss", "deviance", "mse", "mae", "mape", "smape", "rmse", "msle", "rmsle", "nll", "brier", "cost")
_RISING = ("score", "accuracy", "acc", "auc", "r2", "f1", "precision", "recall", "gain", "profit", "correlation")


MetricLike = str | NamedMetric | Callable[[Any, Any], float]


def as_metric(metric: MetricLike, head: Head, outputs: int) -> NamedMetric:
    """Look up a metric by name for a head, or wrap a function of (targets, means) that gives a number.

    A function is taken to be better the greater it is, unless its name ends in error, loss, deviance or the like, as
    scikit-learn's do; a name that says neither gets a warning where it decides. `NamedMetric` says what is better. The
    metrics by name heed the weights of rows.
    """
    if isinstance(metric, NamedMetric):
        return metric
    if callable(metric):
        return _of_function(metric)
    if not isinstance(metric, str):
        raise ConfigError(f"a metric must be a name or a function of (targets, means), got {metric!r}")
    if metric in _ERRORS:
        return NamedMetric(metric, _ERRORS[metric], greater_is_better=False)
    if metric in _ONE_OF_MANY and outputs < 2:
        raise ConfigError(f"{metric} needs one output a class: for a single output use 'binary_accuracy'")
    if metric == "r2":
        return NamedMetric(metric, r2)
    cut = head.cut
    independent = head.has_probabilities and not head.coupled  # outputs are labels of their own
    if metric == "macro_f1" and independent and outputs > 1:
        return NamedMetric(metric, partial(macro_f1_of_outputs, cut=cut))
    if metric == "macro_f1":
        return NamedMetric(metric, partial(macro_f1, cut=cut))
    if metric in _ONE_OF_MANY or (metric in ("accuracy", "acc") and outputs > 1 and not independent):
        return NamedMetric(metric, one_of_many_accuracy)
    if metric in ("accuracy", "acc", "binary_accuracy"):
        return NamedMetric(metric, partial(yes_no_accuracy, cut=cut))
    if metric in _PROBABILITIES or metric in _DECISIONS or _beta(metric) is not None:
        return _of_classes(metric, head, outputs, cut)
    raise unknown_name("metric", metric, NAMES)


def _of_function(function: Callable[[Any, Any], float]) -> NamedMetric:
    """A function of (targets, means) with the direction that its name tells."""
    named: Any = function
    while isinstance(named, partial):  # with some arguments filled in it is still the same metric
        named = named.func
    name = getattr(named, "__name__", type(named).__name__)
    falls = name.lower().endswith(_FALLING)
    guessed = not falls and not name.lower().endswith(_RISING)

    def compute(mean: Array, rows: Rows) -> float:
        try:
            return float(function(rows.targets(), mean))
        except (TypeError, ValueError) as error:
            raise ConfigError(
                f"the metric {name} cannot take the targets and the predicted means, probabilities for classes: "
                f"{error}; metrics of the classes said go by name, such as 'accuracy' or 'f1'"
            ) from error

    return NamedMetric(name, compute, not falls, guessed)


def _beta(metric: str) -> float | None:
    """The beta of f1, f2, f0.5 and so on."""
    found = re.fullmatch(r"f(\d+(\.\d+)?)", metric)
    return float(found[1]) if found else None


def _of_classes(metric: str, head: Head, outputs: int, cut: float) -> NamedMetric:
    """A metric of linnet.evaluate: of the second of two classes, else the mean over classes ("macro")."""
    if not head.classifies:
        raise ConfigError(f"the metric {metric} is for classes, and this model predicts numbers: choose 'rmse' or 'r2'")
    if not head.has_probabilities and metric in _PROBABILITIES:
        raise ConfigError(f"the metric {metric} needs probabilities, which a perceptron does not have: choose 'f1'")
    labels = not head.coupled and outputs > 1  # independent yes/no answers
    if labels and metric in ("balanced_accuracy", "log_loss", "brier"):
        raise ConfigError(
            f"the metric {metric} needs one class a row, not {outputs} yes/no labels: choose 'f1' or 'loss'"
        )

    def compute(mean: Array, rows: Rows) -> float:
        from linnet import evaluate

        beta = _beta(metric)
        name = _FUNCTIONS.get(metric, f"{metric}_score") if beta is None else "fbeta_score"
        score: Callable[..., float] = getattr(evaluate, name)
        how: dict[str, Any] = {"sample_weight": rows.weights}
        if outputs > 1 and not labels:
            true, said = true_labels(rows), mean.argmax(axis=1)
        else:
            true, said = (_values(mean, rows) > 0.5).astype(np.intp), (mean > cut).astype(np.intp)
        if outputs == 1:
            true, said, mean = true[:, 0], said[:, 0], mean[:, 0]
        if metric in _PROBABILITIES:
            if not labels:
                how["labels"] = np.arange(max(outputs, 2))
            return float(score(true, mean.astype(np.float64), **how))
        if metric != "balanced_accuracy":
            how |= {"average": "binary" if outputs == 1 else "macro", "zero_division": 0}
            how |= {} if beta is None else {"beta": beta}
        return float(score(true, said, **how))

    return NamedMetric(metric, compute, greater_is_better=metric not in ("log_loss", "brier"))


def several_metrics(metrics: Any) -> list[Any]:
    """Return a list of metrics, given one or several or none."""
    if metrics is None:
        return []
    one = isinstance(metrics, str | NamedMetric) or callable(metrics) or not isinstance(metrics, Iterable)
    return [metrics] if one else list(metrics)


def as_metrics(
    metrics: MetricLike | Sequence[MetricLike] | None,
    head: Head,
    outputs: int,
) -> list[NamedMetric]:
    """Look up several; no two may have the same name, and none the name of the loss."""
    several = several_metrics(metrics)
    chosen = [as_metric(metric, head, outputs) for metric in several]
    names = [metric.name for metric in chosen]
    for name in names:
        if name == "loss" or names.count(name) > 1:
            raise ConfigError(f"a metric named {name!r} is there already: give each its own name with NamedMetric")
    return chosen
