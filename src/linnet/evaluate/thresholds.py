"""Decision thresholds: the cut-off that maximises an objective, and decisions by thresholds or costs."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linnet._moved import renamed
from linnet.checks import check_number
from linnet.data.table import Array
from linnet.errors import ConfigError, DataError, DataWarning, warn
from linnet.evaluate.class_curves import ClassCutoffs
from linnet.evaluate.confusion import Confusion
from linnet.evaluate.curves import Cutoffs
from linnet.evaluate.inputs import (
    Floats,
    as_probabilities,
    as_score_table,
    check_label,
    index_of,
    plain,
    row_count,
    sorted_labels,
)
from linnet.evaluate.rates import Rates, check_beta
from linnet.fit.solvers.products import product
from linnet.registry import saved

__getattr__ = renamed(__name__, {"Objective": "ThresholdObjective"})


@dataclass(frozen=True)
class Threshold:
    """A chosen threshold.

    Attributes
    ----------
    threshold : float
        Scores at or above it are predicted as positive; inf predicts none.
    value : float
        The objective's value there: F-beta, precision, recall or cost.
    rates : Rates
        All rates at the threshold.
    met : bool
        Whether the objective's condition is met, such as a precision of at least 0.9.
    """

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
    """The objective that a threshold optimises. Subclasses implement `best_cutoff`."""

    needs_positives = True

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "place" in vars(cls) and "best_cutoff" not in vars(cls):
            warn(f"{cls.__name__}.place is now called best_cutoff", DeprecationWarning)
            cls.best_cutoff = vars(cls)["place"]  # type: ignore[method-assign]

    @abstractmethod
    def best_cutoff(self, cutoffs: Cutoffs) -> tuple[int, float, bool]:
        """Return the index of the best cut-off, its value, and whether the condition is met.

        Parameters
        ----------
        cutoffs : Cutoffs
            All candidates.

        Returns
        -------
        index : int
            The index of the cut-off; -1 for a threshold above all scores.
        value : float
            The objective's value there.
        met : bool
            Whether the objective's condition is met.
        """

    def place(self, cutoffs: Cutoffs) -> tuple[int, float, bool]:
        """Return the result of `best_cutoff`, whose former name this is.

        Parameters
        ----------
        cutoffs : Cutoffs
            All candidates.
        """
        warn("place is now called best_cutoff", DeprecationWarning)
        return self.best_cutoff(cutoffs)

    def choose(self, cutoffs: Cutoffs) -> Threshold:
        """Return the best threshold, with a DataWarning where no cut-off meets the condition.

        Parameters
        ----------
        cutoffs : Cutoffs
            All candidates.
        """
        if self.needs_positives and not cutoffs.positives:
            raise DataError(f"y_true has one class only, no positives: {self} cannot be tuned")
        index, value, met = self.best_cutoff(cutoffs)
        threshold = float(cutoffs.thresholds[index]) if index >= 0 else float("inf")
        if not met:
            warn(f"no threshold has {self}: the closest has {value:.4g}", DataWarning)
        return Threshold(threshold, value, cutoffs.at(threshold), met)


@saved
@dataclass(frozen=True)
class FBeta(ThresholdObjective):
    """The highest F-beta; of several thresholds with it the highest.

    Parameters
    ----------
    beta : float, default=1.0
        How many times as much recall counts as precision.
    """

    beta: float = 1.0

    def __post_init__(self) -> None:
        check_beta(self.beta)

    def best_cutoff(self, cutoffs: Cutoffs) -> tuple[int, float, bool]:
        """Return the cut-off with the highest F-beta.

        Parameters
        ----------
        cutoffs : Cutoffs
            All candidates.
        """
        f = cutoffs.f_beta(self.beta)
        best = int(f.argmax())
        return best, float(f[best]), True

    def __str__(self) -> str:
        return f"F{self.beta:g}"


@saved
@dataclass(frozen=True)
class RecallAtLeast(ThresholdObjective):
    """Recall of at least a given value, with the highest precision; of several thresholds the highest recall.

    Parameters
    ----------
    recall : float
        The lowest recall, above 0 and at most 1.
    """

    recall: float

    def __post_init__(self) -> None:
        check_number(self.recall, "recall", above=0, at_most=1)

    def best_cutoff(self, cutoffs: Cutoffs) -> tuple[int, float, bool]:
        """Return the most precise cut-off with enough recall.

        Parameters
        ----------
        cutoffs : Cutoffs
            All candidates.
        """
        precision = np.where(cutoffs.recall >= self.recall, cutoffs.precision, -1.0)
        best = _last_largest(precision)
        return best, float(precision[best]), True

    def __str__(self) -> str:
        return f"recall >= {self.recall:g}"


@saved
@dataclass(frozen=True)
class PrecisionAtLeast(ThresholdObjective):
    """Precision of at least a given value, with the highest recall; of several thresholds the highest precision.

    Where no threshold has that precision, the most precise one is chosen, with a DataWarning.

    Parameters
    ----------
    precision : float
        The lowest precision, above 0 and at most 1.
    """

    precision: float

    def __post_init__(self) -> None:
        check_number(self.precision, "precision", above=0, at_most=1)

    def best_cutoff(self, cutoffs: Cutoffs) -> tuple[int, float, bool]:
        """Return the cut-off with the highest recall among those with enough precision.

        Parameters
        ----------
        cutoffs : Cutoffs
            All candidates.
        """
        precise = cutoffs.precision >= self.precision
        if not precise.any():
            best = _last_largest(cutoffs.precision)
            return best, float(cutoffs.precision[best]), False
        recall = np.where(precise, cutoffs.recall, -1.0)
        best = int(recall.argmax())
        return best, float(recall[best]), True

    def __str__(self) -> str:
        return f"precision >= {self.precision:g}"


@saved
class Cost(ThresholdObjective):
    """The lowest mean cost per row.

    If never predicting positive costs least, the threshold is infinite.

    Parameters
    ----------
    matrix : matrix of classes x classes
        `matrix[i][j]` is the cost of predicting class j for a row of class i, classes in sorted order; of two classes
        the negative one comes first. `least_cost` decides between several classes.
    """

    needs_positives = False

    def __init__(self, matrix: ArrayLike) -> None:
        self.matrix = as_costs(matrix)

    def __repr__(self) -> str:
        return f"Cost({self.matrix.tolist()})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cost) and np.array_equal(self.matrix, other.matrix)

    def __hash__(self) -> int:
        return hash(self.matrix.tobytes())

    def best_cutoff(self, cutoffs: Cutoffs) -> tuple[int, float, bool]:
        """Return the cut-off with the lowest cost.

        Parameters
        ----------
        cutoffs : Cutoffs
            All candidates.
        """
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
    except (TypeError, ValueError, OverflowError):
        costs = np.empty(0)
    if costs.ndim != 2 or costs.shape[0] != costs.shape[1] or len(costs) < 2 or not np.isfinite(costs).all():
        raise ConfigError(f"costs must be a square matrix of finite numbers, one row per actual class, got {matrix!r}")
    return costs


_NAMED = re.compile(r"(?:f(?P<beta>[\d.]+))|(?:(?P<kind>recall|precision)\s*>=\s*(?P<least>[\d.]+))", re.IGNORECASE)
ObjectiveLike = str | ThresholdObjective | Any


def as_objective(objective: ObjectiveLike) -> ThresholdObjective:
    """Return an objective from an objective, "f1", "f0.5", "recall>=0.9", "precision>=0.8" or a cost matrix."""
    if isinstance(objective, ThresholdObjective):
        return objective
    if not isinstance(objective, str):
        try:
            return Cost(objective)
        except ConfigError as error:
            raise ConfigError(f"objective must be a name, a ThresholdObjective or costs: {error}") from None
    match = _NAMED.fullmatch(objective.strip())
    try:
        if match and match["beta"]:
            return FBeta(float(match["beta"]))
        if match:
            kind = RecallAtLeast if match["kind"].lower() == "recall" else PrecisionAtLeast
            return kind(float(match["least"]))
    except ValueError as error:
        raise ConfigError(f"objective {objective!r}: {error}") from None
    raise ConfigError(
        f"unknown objective {objective!r}: write 'f1' (or any beta), 'recall>=0.9', 'precision>=0.8', a cost matrix, "
        "or a ThresholdObjective"
    )


def best_threshold(
    y_true: ArrayLike,
    y_score: ArrayLike,
    objective: ObjectiveLike = "f1",
    *,
    pos_label: object = None,
    sample_weight: ArrayLike | None = None,
) -> Threshold:
    """Return the threshold with the best value of an objective; every distinct score is a candidate.

    Tune it on a development set or on out-of-fold scores, not on the rows that the model was fitted to.

    Parameters
    ----------
    y_true : array of one class per row
        Actual classes.
    y_score : array of one score per row, or rows x 2
        Scores of the positive class, or the two columns of `predict_proba`.
    objective : str, ThresholdObjective or matrix, default="f1"
        "f1" (or any beta, such as "f0.5"), "recall>=0.9", "precision>=0.8", an objective such as `FBeta(2)`, or a cost
        matrix, see `Cost`.
    pos_label : label or None, default=None
        The positive class; by default 1, where labels are 0 and 1, or -1 and 1.
    sample_weight : array of one weight per row, or None, default=None
        A row of weight w counts as w rows.

    Returns
    -------
    Threshold
        The threshold, the objective's value and all rates there.
    """
    cutoffs = Cutoffs.of(y_true, y_score, pos_label=pos_label, sample_weight=sample_weight)
    return as_objective(objective).choose(cutoffs)


def class_thresholds(
    y_true: ArrayLike,
    y_score: ArrayLike,
    objective: ObjectiveLike = "f1",
    *,
    labels: ArrayLike | None = None,
    negative_class: object = None,
    sample_weight: ArrayLike | None = None,
) -> dict[Any, Threshold]:
    """Return a threshold for each class against the rest.

    Parameters
    ----------
    y_true : array of one class per row
        Actual classes.
    y_score : array of rows x classes
        The score of each class.
    objective : str, ThresholdObjective or matrix, default="f1"
        See `best_threshold`.
    labels : array or None, default=None
        The classes of the columns, sorted, where y_true lacks some.
    negative_class : label or None, default=None
        A class that means "nothing", which gets no threshold; see `by_thresholds`.
    sample_weight : array of one weight per row, or None, default=None
        A row of weight w counts as w rows.

    Returns
    -------
    dict of label to Threshold
        To be passed to `by_thresholds`.
    """
    chosen = as_objective(objective)
    several = ClassCutoffs(y_true, y_score, labels=labels, sample_weight=sample_weight)
    negative = None if negative_class is None else index_of(negative_class, several.classes, "negative_class")
    known = several.classes.tolist()
    return {plain(known[k]): chosen.choose(cutoffs) for k, cutoffs in enumerate(several) if k != negative}


def by_thresholds(
    y_score: ArrayLike, thresholds: Mapping[Any, Threshold | float], *, negative_class: object = None
) -> Array:
    """Return the class of each row: the one whose score is furthest above its threshold.

    Parameters
    ----------
    y_score : array of rows x classes
        The score of each class, in the order of the sorted labels.
    thresholds : dict of label to Threshold or float
        As returned by `class_thresholds`.
    negative_class : label or None, default=None
        The class of rows where no score reaches its threshold; by default the class whose score comes closest.

    Returns
    -------
    array
        One label per row.
    """
    if not isinstance(thresholds, Mapping):
        raise ConfigError(f"thresholds must be a dict of thresholds by label, got {thresholds!r}")
    by_label = {plain(label): _threshold_of(label, entry) for label, entry in thresholds.items()}
    if negative_class is not None:
        negative_label = check_label(negative_class, [], "negative_class", "thresholds")
        try:
            by_label[negative_label] = float("inf")
        except TypeError:  # it is not hashable
            raise ConfigError(f"negative_class={negative_class!r} is not a label") from None
    try:
        classes = np.array(sorted(by_label))
    except TypeError:
        kinds = sorted({type(label).__name__ for label in by_label})
        raise ConfigError(
            f"the labels of thresholds, and negative_class, are of different types: {', '.join(kinds)}"
        ) from None
    table = as_score_table(y_score, row_count(y_score, "y_score"))
    if table.shape[1] != len(classes):
        raise DataError(f"y_score has {table.shape[1]} columns, but there are thresholds for {len(classes)} classes")
    negative = None if negative_class is None else index_of(negative_class, classes, "negative_class")
    return np.asarray(classes[furthest_above(table, np.array([by_label[k] for k in classes.tolist()]), negative)])


def _threshold_of(label: Any, entry: Any) -> float:
    return entry.threshold if isinstance(entry, Threshold) else check_number(entry, f"the threshold of {label!r}")


def furthest_above(scores: Array, thresholds: Floats, negative: int | None = None) -> Array:
    """Return the index of the class whose score is furthest above its threshold; see `by_thresholds`."""
    margin = scores - thresholds
    if negative is None:
        return np.asarray(margin.argmax(axis=1))
    margin[:, negative] = -np.inf
    best = margin.argmax(axis=1)
    reached = margin[np.arange(len(margin)), best] >= 0
    return np.where(reached, best, negative)


def least_cost(y_proba: ArrayLike, costs: ArrayLike, *, labels: ArrayLike | None = None) -> Array:
    """Return the class with the lowest expected cost Σ_i p_i costs[i][j] for each row.

    Parameters
    ----------
    y_proba : array of one probability per row, or rows x classes
        Probabilities of the positive class, or of each class in sorted order.
    costs : matrix of classes x classes
        `costs[i][j]` is the cost of predicting class j for a row of class i, classes in sorted order.
    labels : array or None, default=None
        The sorted labels of the classes.

    Returns
    -------
    array
        One label per row; without `labels`, the index of the class.
    """
    matrix = as_costs(costs)
    table = as_probabilities(y_proba, row_count(y_proba, "y_proba"))
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
    y_true: ArrayLike,
    y_pred: ArrayLike,
    costs: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean cost per row.

    Parameters
    ----------
    y_true, y_pred : array of one class per row
        Actual and predicted classes.
    costs : matrix of classes x classes
        `costs[i][j]` is the cost of predicting class j for a row of class i, classes in sorted order.
    labels : array or None, default=None
        The classes, where some occur neither in y_true nor in y_pred.
    sample_weight : array of one weight per row, or None, default=None
        A row of weight w counts as w rows.
    """
    matrix = as_costs(costs)
    confusion = Confusion.of(y_true, y_pred, labels=labels, sample_weight=sample_weight)
    if len(confusion.classes) != len(matrix):
        raise DataError(
            f"costs are {len(matrix)} x {len(matrix)}, but there are {len(confusion.classes)} classes: "
            "name them all with labels"
        )
    return float((confusion.counts * matrix).sum() / confusion.total)
