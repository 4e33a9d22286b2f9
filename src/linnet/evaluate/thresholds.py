"""Where to cut: the threshold that serves an objective best, out of every cut-off there is."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from linnet._moved import renamed
from linnet.checks import check_number
from linnet.data.table import Array
from linnet.errors import ConfigError, DataError, DataWarning, warn
from linnet.evaluate.class_curves import ClassCutoffs
from linnet.evaluate.confusion import Confusion
from linnet.evaluate.curves import Cutoffs
from linnet.evaluate.inputs import Floats, as_probabilities, as_score_table, place_of, plain, sorted_labels
from linnet.evaluate.rates import Rates, check_beta
from linnet.fit.solvers.products import product
from linnet.registry import saved

__getattr__ = renamed(__name__, {"Objective": "ThresholdObjective"})


@dataclass(frozen=True)
class Threshold:
    """A chosen threshold, the objective's value there, all rates there, and whether its condition was met."""

    threshold: float
    value: float
    rates: Rates
    met: bool = True

    def __str__(self) -> str:
        r = self.rates
        return (
            f"threshold {self.threshold:.6g}: value {self.value:.4f}, TP {r.tp:g}, FP {r.fp:g}, FN {r.fn:g}, "
            f"TN {r.tn:g}{'' if self.met else ' (the condition cannot be met)'}"
        )


class ThresholdObjective(ABC):
    """What a threshold should achieve."""

    needs_positives = True

    @abstractmethod
    def place(self, cutoffs: Cutoffs) -> tuple[int, float, bool]:
        """Return the cut-off to choose (-1: above all scores), the value there, and whether the condition is met."""

    def choose(self, cutoffs: Cutoffs) -> Threshold:
        """Return the best threshold."""
        if self.needs_positives and not cutoffs.positives:
            raise DataError(f"y_true has one class only, no positives: {self} cannot be tuned")
        place, value, met = self.place(cutoffs)
        threshold = float(cutoffs.thresholds[place]) if place >= 0 else float("inf")
        if not met:
            warn(f"no threshold has {self}: the nearest has {value:.4g}", DataWarning)
        return Threshold(threshold, value, cutoffs.at(threshold), met)


@saved
@dataclass(frozen=True)
class FBeta(ThresholdObjective):
    """The highest F-beta; of several such thresholds the highest."""

    beta: float = 1.0

    def __post_init__(self) -> None:
        check_beta(self.beta)

    def place(self, cutoffs: Cutoffs) -> tuple[int, float, bool]:
        """Scan F-beta."""
        f = cutoffs.f_beta(self.beta)
        best = int(f.argmax())
        return best, float(f[best]), True

    def __str__(self) -> str:
        return f"F{self.beta:g}"


@saved
@dataclass(frozen=True)
class RecallAtLeast(ThresholdObjective):
    """Recall of at least this much, with the highest precision; of several such thresholds the highest recall."""

    recall: float

    def __post_init__(self) -> None:
        check_number(self.recall, "recall", above=0, at_most=1)

    def place(self, cutoffs: Cutoffs) -> tuple[int, float, bool]:
        """Look at the cut-offs that find enough."""
        precision = np.where(cutoffs.recall >= self.recall, cutoffs.precision, -1.0)
        best = _last_largest(precision)
        return best, float(precision[best]), True

    def __str__(self) -> str:
        return f"recall >= {self.recall:g}"


@saved
@dataclass(frozen=True)
class PrecisionAtLeast(ThresholdObjective):
    """Precision of at least this much, with the highest recall; of several such thresholds the highest precision.

    Where no threshold has that precision, the most precise one is taken, with a DataWarning.
    """

    precision: float

    def __post_init__(self) -> None:
        check_number(self.precision, "precision", above=0, at_most=1)

    def place(self, cutoffs: Cutoffs) -> tuple[int, float, bool]:
        """Look at the cut-offs that are right often enough."""
        good = cutoffs.precision >= self.precision
        if not good.any():
            best = _last_largest(cutoffs.precision)
            return best, float(cutoffs.precision[best]), False
        recall = np.where(good, cutoffs.recall, -1.0)
        best = int(recall.argmax())
        return best, float(recall[best]), True

    def __str__(self) -> str:
        return f"precision >= {self.precision:g}"


@saved
class Cost(ThresholdObjective):
    """The lowest mean cost per row; `matrix[i][j]` is the cost of predicting class j for a row of class i.

    Two classes: rows and columns are (negative, positive). It may be best never to predict positive: then the threshold
    is infinite. Several classes: see `least_cost`.
    """

    needs_positives = False

    def __init__(self, matrix: object) -> None:
        self.matrix = as_costs(matrix)

    def __repr__(self) -> str:
        return f"Cost({self.matrix.tolist()})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cost) and np.array_equal(self.matrix, other.matrix)

    def __hash__(self) -> int:
        return hash(self.matrix.tobytes())

    def place(self, cutoffs: Cutoffs) -> tuple[int, float, bool]:
        """Scan the cost."""
        if len(self.matrix) != 2:
            raise ConfigError(f"two classes need a cost matrix of 2 x 2, got {self.matrix.shape}")
        tp, fp = np.append(0.0, cutoffs.tp), np.append(0.0, cutoffs.fp)
        (of_tn, of_fp), (of_fn, of_tp) = self.matrix
        positives, negatives = cutoffs.positives, cutoffs.negatives
        cost = of_tp * tp + of_fn * (positives - tp) + of_fp * fp + of_tn * (negatives - fp)
        best = int(cost.argmin())
        return best - 1, float(cost[best] / (positives + negatives)), True

    def __str__(self) -> str:
        return "the lowest cost"


def _last_largest(values: Floats) -> int:
    return len(values) - 1 - int(values[::-1].argmax())


def as_costs(matrix: object) -> Floats:
    """Return a square matrix of finite costs."""
    try:
        costs = np.asarray(matrix, np.float64)
    except (TypeError, ValueError):
        costs = np.empty(0)
    if costs.ndim != 2 or costs.shape[0] != costs.shape[1] or len(costs) < 2 or not np.isfinite(costs).all():
        raise ConfigError(f"costs must be a square matrix of finite numbers, one row per actual class, got {matrix!r}")
    return costs


_NAMED = re.compile(r"(?:f(?P<beta>[\d.]+))|(?:(?P<kind>recall|precision)\s*>=\s*(?P<least>[\d.]+))", re.IGNORECASE)
ObjectiveLike = str | ThresholdObjective | Any


def as_objective(objective: ObjectiveLike) -> ThresholdObjective:
    """Return an objective: itself, "f1", "f0.5", "recall>=0.9", "precision>=0.8", or the cost matrix given."""
    if isinstance(objective, ThresholdObjective):
        return objective
    if not isinstance(objective, str):
        return Cost(objective)
    found = _NAMED.fullmatch(objective.strip())
    try:
        if found and found["beta"]:
            return FBeta(float(found["beta"]))
        if found:
            kind = RecallAtLeast if found["kind"].lower() == "recall" else PrecisionAtLeast
            return kind(float(found["least"]))
    except ValueError as error:
        raise ConfigError(f"objective {objective!r}: {error}") from None
    raise ConfigError(
        f"unknown objective {objective!r}: write 'f1' (or any beta), 'recall>=0.9', 'precision>=0.8', a cost matrix, "
        "or a ThresholdObjective"
    )


def best_threshold(
    y_true: object,
    y_score: object,
    objective: ObjectiveLike = "f1",
    *,
    pos_label: object = None,
    sample_weight: object = None,
) -> Threshold:
    """Return the threshold that serves the objective best on these rows: a development set, or out-of-fold scores.

    Scores at or above it are then predicted as positive. Every distinct score is a candidate.

    Parameters
    ----------
    y_true : array of one class per row
        Actual classes, two at most.
    y_score : array of one score per row, or rows x 2
        Scores of the positive class, or the two columns of `predict_proba`.
    objective : str, Objective or matrix
        "f1" (or any beta), "recall>=0.9", "precision>=0.8", an `Objective`, or a cost matrix.
    pos_label
        The positive class; by default 1.
    sample_weight : array of one weight per row, or None
        A row of weight w counts as w rows.
    """
    cutoffs = Cutoffs.of(y_true, y_score, pos_label=pos_label, sample_weight=sample_weight)
    return as_objective(objective).choose(cutoffs)


def class_thresholds(
    y_true: object,
    y_score: object,
    objective: ObjectiveLike = "f1",
    *,
    labels: object = None,
    negative_class: object = None,
    sample_weight: object = None,
) -> dict[Any, Threshold]:
    """Return a threshold for each class against the rest, by label; none for `negative_class`. See `by_thresholds`."""
    chosen = as_objective(objective)
    several = ClassCutoffs(y_true, y_score, labels=labels, sample_weight=sample_weight)
    nothing = None if negative_class is None else place_of(negative_class, several.classes, "negative_class")
    known = several.classes.tolist()
    return {plain(known[k]): chosen.choose(cutoffs) for k, cutoffs in enumerate(several) if k != nothing}


def by_thresholds(
    y_score: object, thresholds: Mapping[Any, Threshold | float], *, negative_class: object = None
) -> Array:
    """Return the class of each row: the one whose score is furthest above its threshold.

    `thresholds`: by label, as `class_thresholds` gives them; columns of scores are those of the sorted labels. If no
    score reaches its threshold the nearest one is taken, or, where there is one, the `negative_class`.
    """
    found = {label: one.threshold if isinstance(one, Threshold) else float(one) for label, one in thresholds.items()}
    if negative_class is not None:
        found[negative_class] = float("inf")
    classes = np.array(sorted(found))
    table = as_score_table(y_score, len(np.asarray(y_score)))
    if table.shape[1] != len(classes):
        raise DataError(f"y_score has {table.shape[1]} columns, but thresholds are of {len(classes)} classes")
    nothing = None if negative_class is None else place_of(negative_class, classes, "negative_class")
    return np.asarray(classes[furthest_above(table, np.array([found[k] for k in classes.tolist()]), nothing)])


def furthest_above(scores: Array, thresholds: Floats, negative: int | None = None) -> Array:
    """Return the number of the class whose score is furthest above its threshold; see `by_thresholds`."""
    margin = scores - thresholds
    if negative is None:
        return np.asarray(margin.argmax(axis=1))
    margin[:, negative] = -np.inf
    best = margin.argmax(axis=1)
    reached = margin[np.arange(len(margin)), best] >= 0
    return np.where(reached, best, negative)


def least_cost(y_proba: object, costs: object, *, labels: object = None) -> Array:
    """Return the class of the lowest expected cost Σ_i p_i costs[i][j] of each row: its label, or its number."""
    matrix = as_costs(costs)
    table = as_probabilities(y_proba, len(np.asarray(y_proba)))
    if table.shape[1] == 1:
        table = np.hstack([1 - table, table])
    if table.shape[1] != len(matrix):
        raise DataError(f"y_proba has {table.shape[1]} columns, but costs are {len(matrix)} x {len(matrix)}")
    best = np.asarray(product(table, matrix).argmin(axis=1))
    if labels is None:
        return best
    names = sorted_labels(labels)
    if len(names) != len(matrix):
        raise ConfigError(f"labels names {len(names)} classes, but costs are {len(matrix)} x {len(matrix)}")
    return np.asarray(names[best])


def mean_cost(
    y_true: object, y_pred: object, costs: object, *, labels: object = None, sample_weight: object = None
) -> float:
    """Return the mean cost per row; `costs[i][j]`: of predicting class j for a row of class i (classes sorted)."""
    matrix = as_costs(costs)
    confusion = Confusion.of(y_true, y_pred, labels=labels, sample_weight=sample_weight)
    if len(confusion.classes) != len(matrix):
        raise DataError(
            f"costs are {len(matrix)} x {len(matrix)}, but there are {len(confusion.classes)} classes: "
            "name them all with labels"
        )
    return float((confusion.counts * matrix).sum() / confusion.total)
