"""The metrics that suit a task, by name."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet import evaluate
from linnet.data.rows import Rows
from linnet.errors import ConfigError, unknown_name
from linnet.evaluate.metrics import mean_absolute_error, r2, root_mean_squared_error
from linnet.inference.likelihood import deviance
from linnet.model.heads import Head

Array = NDArray[Any]
_LEAST_MEAN = 1e-12
Function = Callable[[Array, Array, Any, Any, Any], Any]  # target, said, probabilities, classes, weights


@dataclass(frozen=True)
class Measure:
    """A metric of predictions: of labels or means said, or of probabilities."""

    name: str
    function: Function
    higher: bool = True
    needs_proba: bool = False

    def __call__(self, y: Array, said: Array, proba: Any, classes: Any, weights: Any) -> float:
        """The metric of rows; infinite or NaN where squares of their numbers are."""
        with np.errstate(over="ignore", invalid="ignore"):
            return float(self.function(y, said, proba, classes, weights))


def _log_loss(y: Array, said: Array, proba: Any, classes: Any, weights: Any) -> Any:
    return evaluate.log_loss(y, proba, labels=classes, sample_weight=weights)


def _roc_auc(y: Array, said: Array, proba: Any, classes: Any, weights: Any) -> Any:
    if len(classes) == 2:
        return evaluate.roc_auc_score(y == classes[1], proba[:, 1], sample_weight=weights)
    return evaluate.roc_auc_score(y, proba, multi_class="ovr", labels=classes)


def _average_precision(y: Array, said: Array, proba: Any, classes: Any, weights: Any) -> Any:
    return evaluate.average_precision_score(y == classes[1], proba[:, 1], sample_weight=weights)


def _accuracy(y: Array, said: Array, proba: Any, classes: Any, weights: Any) -> Any:
    return evaluate.accuracy_score(y, said, sample_weight=weights)


def _balanced(y: Array, said: Array, proba: Any, classes: Any, weights: Any) -> Any:
    return evaluate.balanced_accuracy_score(y, said, sample_weight=weights)


def _of_labels(score: Callable[..., float], **how: Any) -> Function:
    def measure(y: Array, said: Array, proba: Any, classes: Any, weights: Any) -> Any:
        if len(classes) == 2:
            return score(y == classes[1], said == classes[1], sample_weight=weights, zero_division=0, **how)
        return score(y, said, average="macro", sample_weight=weights, zero_division=0, **how)

    return measure


def _of_numbers(metric: Callable[[Array, Rows], float]) -> Function:
    def measure(y: Array, said: Array, proba: Any, classes: Any, weights: Any) -> float:
        return metric(said[:, None], Rows(np.empty((len(y), 0)), values=y[:, None], weights=weights))

    return measure


def _poisson_deviance(y: Array, said: Array, proba: Any, classes: Any, weights: Any) -> float:
    """The mean of 2 (y log(y / mean) - y + mean); a model may say means that are not above 0."""
    w = np.ones(len(y)) if weights is None else weights
    z = np.log(np.maximum(said, _LEAST_MEAN))
    return deviance(Head("poisson"), z[:, None], y[:, None], w) / float(w.sum())


_CLASSES = [
    Measure("log_loss", _log_loss, higher=False, needs_proba=True),
    Measure("accuracy", _accuracy),
    Measure("balanced_accuracy", _balanced),
    Measure("f1", _of_labels(evaluate.fbeta_score, beta=1)),
    Measure("roc_auc", _roc_auc, needs_proba=True),
]
_TWO = [
    Measure("precision", _of_labels(evaluate.precision_score)),
    Measure("recall", _of_labels(evaluate.recall_score)),
    Measure("average_precision", _average_precision, needs_proba=True),
]
_NUMBERS = [
    Measure("rmse", _of_numbers(root_mean_squared_error), higher=False),
    Measure("mae", _of_numbers(mean_absolute_error), higher=False),
    Measure("r2", _of_numbers(r2)),
]
_COUNTS = [Measure("poisson_deviance", _poisson_deviance, higher=False), *_NUMBERS]
_BY_TASK = {"two classes": [*_CLASSES, *_TWO], "many classes": _CLASSES, "counts": _COUNTS, "a number": _NUMBERS}


def measures(task: str) -> list[Measure]:
    """The metrics that suit a task, the one that chooses first."""
    return _BY_TASK[task]


def as_measure(name: str, task: str) -> Measure:
    """The metric of a name, such as f2 or f0.5 for any F-beta."""
    known = {measure.name: measure for measure in measures(task)}
    if name in known:
        return known[name]
    beta = re.fullmatch(r"f(\d+(\.\d+)?)", name)
    if beta and task.endswith("classes"):
        return Measure(name, _of_labels(evaluate.fbeta_score, beta=float(beta[1])))
    if any(name == other.name for others in _BY_TASK.values() for other in others):
        raise ConfigError(f"the metric {name} does not suit the task {task!r}: choose from {', '.join(known)}")
    raise unknown_name("metric", name, tuple(known))
