"""Metrics of predicted labels, named as in scikit-learn."""

from typing import Any

import numpy as np

from linnet.data.table import Array
from linnet.errors import ConfigError, DataError
from linnet.evaluate.confusion import ClassScores, Confusion, mean_of_known
from linnet.evaluate.inputs import (
    ZeroDivision,
    as_column,
    as_indicator,
    distinct,
    is_indicator,
    place_of,
    row_weights,
)
from linnet.evaluate.metric import Compared
from linnet.evaluate.rates import Rates, check_beta


def confusion_matrix(
    y_true: object, y_pred: object, *, labels: object = None, sample_weight: object = None, normalize: str | None = None
) -> Array:
    """Return counts by actual (rows) and predicted class (columns); `normalize` by "true", "pred" or "all".

    With `labels` those classes alone are counted, in that order.
    """
    whole = Confusion.of(y_true, y_pred, labels=labels, sample_weight=sample_weight)
    if labels is not None:
        wanted = as_column(labels, "labels")
        if not np.isin(wanted, distinct(as_column(y_true, "y_true"), "y_true")).any():
            raise ConfigError(f"labels: at least one must occur in y_true, got {wanted.tolist()[:20]}")
        whole = Confusion(wanted, whole.take(wanted))
    if normalize is not None:
        return whole.normalized(normalize)
    return whole.counts if sample_weight is not None else whole.counts.astype(np.int64)


def accuracy_score(y_true: object, y_pred: object, *, normalize: bool = True, sample_weight: object = None) -> float:
    """Return the share of rows classified correctly; with normalize=False their number.

    Of rows x labels of 0 and 1, a row counts as correct if all its labels are.
    """
    if is_indicator(y_true):
        actual = as_indicator(y_true, "y_true")
        predicted = as_indicator(y_pred, "y_pred", actual.shape)
        right = (actual == predicted).all(axis=1)
        weights = row_weights(sample_weight, len(actual))
        if normalize:
            return Compared(actual, predicted, weights=weights).mean(right)
        return float((right if weights is None else right * weights).sum())
    confusion = Confusion.of(y_true, y_pred, sample_weight=sample_weight)
    return confusion.accuracy if normalize else float(confusion.counts.trace())


def balanced_accuracy_score(
    y_true: object, y_pred: object, *, sample_weight: object = None, adjusted: bool = False
) -> float:
    """Return the mean recall of the classes that occur; adjusted: 0 for chance, 1 for perfect."""
    confusion = Confusion.of(y_true, y_pred, sample_weight=sample_weight)
    score = confusion.balanced_accuracy
    if not adjusted:
        return score
    chance = 1 / int((confusion.counts.sum(axis=1) > 0).sum())
    return (score - chance) / (1 - chance) if chance < 1 else 0.0


def matthews_corrcoef(y_true: object, y_pred: object, *, sample_weight: object = None) -> float:
    """Return Matthews' correlation coefficient; see `Confusion.mcc`."""
    return Confusion.of(y_true, y_pred, sample_weight=sample_weight).mcc


def binary_rates(
    y_true: object,
    y_pred: object,
    *,
    pos_label: object = None,
    sample_weight: object = None,
    zero_division: ZeroDivision = "warn",
) -> Rates:
    """Return TP, FP, FN, TN and all rates of one class against the rest."""
    confusion = Confusion.of(y_true, y_pred, sample_weight=sample_weight)
    return confusion.rates(pos_label, zero_division=zero_division)


def precision_recall_fscore_support(
    y_true: object,
    y_pred: object,
    *,
    beta: float = 1.0,
    labels: object = None,
    pos_label: object = 1,
    average: str | None = None,
    sample_weight: object = None,
    zero_division: ZeroDivision = "warn",
    negative_class: object = None,
) -> tuple[Any, Any, Any, Any]:
    """Return precision, recall, F-beta and support, by class (average=None) or averaged (support is then None).

    Parameters
    ----------
    y_true, y_pred : array of one class per row, or rows x labels of 0 and 1
        Actual and predicted classes.
    beta : float
        How many times as much recall counts as precision.
    labels : array or None
        The classes to score; None: all.
    pos_label
        The class scored by average="binary".
    average : {None, "binary", "micro", "macro", "weighted", "samples"}
        "samples", for rows x labels: the mean over rows of what each row's labels give.
    sample_weight : array of one weight per row, or None
        A row of weight w counts as w rows.
    zero_division : {0, 1, NaN, "warn", "raise"}
        The value of what is 0 / 0; "warn": 0 and a DataWarning; "raise": a DataError.
    negative_class
        A class that means "nothing", left out of what is scored and averaged; see `Confusion.scores`.
    """
    scores, weights = _class_scores(
        y_true, y_pred, average, beta, labels, pos_label, sample_weight, zero_division, negative_class
    )
    support = scores.support if average is None else None
    precision, recall, f = (_averaged(scores, what, average, weights) for what in ("precision", "recall", "f"))
    return precision, recall, f, support


def _class_scores(
    y_true: object,
    y_pred: object,
    average: str | None,
    beta: float,
    labels: object,
    pos_label: object,
    sample_weight: object,
    zero_division: ZeroDivision,
    negative_class: object,
) -> tuple[ClassScores, Any]:
    """Scores by class (or of the positive one, or by row), and the weights of rows if these are what is averaged."""
    beta = check_beta(beta)
    if is_indicator(y_true):
        if negative_class is not None:
            raise ConfigError("negative_class: rows x labels of 0 and 1 have no class that means nothing")
        return _label_scores(y_true, y_pred, average, beta, labels, sample_weight, zero_division)
    if average == "samples":
        raise ConfigError("average='samples' needs rows x labels of 0 and 1; here each row has one class")
    confusion = Confusion.of(y_true, y_pred, labels=labels, sample_weight=sample_weight)
    if average != "binary":
        scores = confusion.scores(beta, labels=labels, negative_class=negative_class, zero_division=zero_division)
        return scores, None
    count = len(confusion.classes)
    if count > 2:
        raise ConfigError(
            f"average='binary' needs two classes, and there are {count}: choose 'micro', 'macro', 'weighted' or None"
        )
    if negative_class is not None:
        others = confusion.classes.tolist()
        others.pop(place_of(negative_class, confusion.classes, "negative_class"))
        if not others:
            raise DataError(f"negative_class={negative_class!r} is the only label: no positives are left")
        pos_label = others[0]
    rates = confusion.rates(pos_label)
    tp, predicted, support = (np.array([count]) for count in (rates.tp, rates.tp + rates.fp, rates.tp + rates.fn))
    return ClassScores(np.array([pos_label]), tp, predicted, support, beta, zero_division), None


def _label_scores(
    y_true: object,
    y_pred: object,
    average: str | None,
    beta: float,
    labels: object,
    sample_weight: object,
    zero_division: ZeroDivision,
) -> tuple[ClassScores, Any]:
    """Scores of rows that may have several labels: by label (a column), or by row for the average "samples"."""
    if average == "binary":
        raise ConfigError(
            "average='binary' needs one class per row, and y_true has rows x labels: choose 'micro', 'macro', "
            "'weighted', 'samples' or None"
        )
    actual = as_indicator(y_true, "y_true")
    found = as_indicator(y_pred, "y_pred", actual.shape)
    names = np.arange(actual.shape[1])
    if labels is not None:
        wanted = as_column(labels, "labels")
        names = names[[place_of(label, names, "labels") for label in wanted.tolist()]]
        actual, found = actual[:, names], found[:, names]
    weights = row_weights(sample_weight, len(actual))
    if average == "samples":
        tp, predicted, support = (table.sum(axis=1, dtype=np.float64) for table in (actual & found, found, actual))
        names = np.arange(len(actual))
    else:
        w = np.ones(len(actual)) if weights is None else weights
        tp, predicted, support = ((w[:, None] * table).sum(axis=0) for table in (actual & found, found, actual))
        weights = None
    return ClassScores(names, tp, predicted, support, beta, zero_division), weights


def _averaged(scores: ClassScores, what: str, average: str | None, weights: Any) -> Any:
    if average is None:
        return getattr(scores, what)
    if average == "binary":
        return float(getattr(scores, what)[0])
    if average == "samples":
        values = getattr(scores, what)
        return mean_of_known(values, np.ones(len(values)) if weights is None else weights)
    return scores.average_of(what, average)


def precision_score(
    y_true: object,
    y_pred: object,
    *,
    labels: object = None,
    pos_label: object = 1,
    average: str | None = "binary",
    sample_weight: object = None,
    zero_division: ZeroDivision = "warn",
    negative_class: object = None,
) -> Any:
    """Return TP / (TP + FP); parameters are those of `precision_recall_fscore_support`."""
    scores, weights = _class_scores(
        y_true, y_pred, average, 1.0, labels, pos_label, sample_weight, zero_division, negative_class
    )
    return _averaged(scores, "precision", average, weights)


def recall_score(
    y_true: object,
    y_pred: object,
    *,
    labels: object = None,
    pos_label: object = 1,
    average: str | None = "binary",
    sample_weight: object = None,
    zero_division: ZeroDivision = "warn",
    negative_class: object = None,
) -> Any:
    """Return TP / (TP + FN); parameters are those of `precision_recall_fscore_support`."""
    scores, weights = _class_scores(
        y_true, y_pred, average, 1.0, labels, pos_label, sample_weight, zero_division, negative_class
    )
    return _averaged(scores, "recall", average, weights)


def fbeta_score(
    y_true: object,
    y_pred: object,
    *,
    beta: float,
    labels: object = None,
    pos_label: object = 1,
    average: str | None = "binary",
    sample_weight: object = None,
    zero_division: ZeroDivision = "warn",
    negative_class: object = None,
) -> Any:
    """Return (1 + b²) TP / (TP + FP + b² (TP + FN)); parameters are those of `precision_recall_fscore_support`."""
    scores, weights = _class_scores(
        y_true, y_pred, average, beta, labels, pos_label, sample_weight, zero_division, negative_class
    )
    return _averaged(scores, "f", average, weights)


def f1_score(
    y_true: object,
    y_pred: object,
    *,
    labels: object = None,
    pos_label: object = 1,
    average: str | None = "binary",
    sample_weight: object = None,
    zero_division: ZeroDivision = "warn",
    negative_class: object = None,
) -> Any:
    """Return 2 TP / (2 TP + FP + FN); parameters are those of `precision_recall_fscore_support`."""
    return fbeta_score(
        y_true,
        y_pred,
        beta=1.0,
        labels=labels,
        pos_label=pos_label,
        average=average,
        sample_weight=sample_weight,
        zero_division=zero_division,
        negative_class=negative_class,
    )
