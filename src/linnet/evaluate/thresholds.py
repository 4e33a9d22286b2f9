"""Decision thresholds: the one that is best for an objective, and decisions by thresholds or costs."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linnet._moved import renamed
from linnet.checks import check_number
from linnet.data.table import Array
from linnet.errors import ConfigError, DataError
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
from linnet.evaluate.objectives import Cost as Cost
from linnet.evaluate.objectives import FBeta as FBeta
from linnet.evaluate.objectives import ObjectiveLike, Threshold, as_costs, as_objective
from linnet.evaluate.objectives import PrecisionAtLeast as PrecisionAtLeast
from linnet.evaluate.objectives import RecallAtLeast as RecallAtLeast
from linnet.evaluate.objectives import ThresholdObjective as ThresholdObjective
from linnet.fit.solvers.products import product

__getattr__ = renamed(__name__, {"Objective": "ThresholdObjective"})


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
