"""Metrics of predicted labels, named as in scikit-learn."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linnet.checks import check_flag, check_name
from linnet.data.table import Array
from linnet.errors import ConfigError, DataError
from linnet.evaluate.confusion import AVERAGES, ClassScores, Confusion, mean_of_known
from linnet.evaluate.inputs import (
    ZeroDivision,
    as_column,
    as_indicator,
    distinct,
    index_of,
    is_indicator,
    row_weights,
)
from linnet.evaluate.metric import Compared
from linnet.evaluate.rates import Rates, check_beta


def confusion_matrix(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    normalize: str | None = None,
) -> Array:
    """Return counts of rows by actual class (rows) and predicted class (columns).

    Parameters
    ----------
    y_true, y_pred : array of one class per row
        Actual and predicted classes.
    labels : array or None, default=None
        Count these classes alone, in this order; by default all, sorted.
    sample_weight : array of one weight per row, or None, default=None
        A row of weight w counts as w rows.
    normalize : {"true", "pred", "all", None}, default=None
        Return shares of each actual class, of each predicted class or of all rows in place of counts.

    Returns
    -------
    array of shape (classes, classes)
        Integers, or float64 with weights or shares.
    """
    confusion = Confusion.of(y_true, y_pred, labels=labels, sample_weight=sample_weight)
    if labels is not None:
        listed = as_column(labels, "labels")
        if not np.isin(listed, distinct(as_column(y_true, "y_true"), "y_true")).any():
            raise ConfigError(f"labels: at least one must occur in y_true, got {listed.tolist()[:20]}")
        confusion = Confusion(listed, confusion.take(listed))
    if normalize is not None:
        return confusion.normalized(normalize)
    return confusion.counts if sample_weight is not None else confusion.counts.astype(np.int64)


def accuracy_score(
    y_true: ArrayLike, y_pred: ArrayLike, *, normalize: bool = True, sample_weight: ArrayLike | None = None
) -> float:
    """Return the share of rows classified correctly.

    Parameters
    ----------
    y_true, y_pred : array of one class per row, or rows x labels of 0 and 1
        Actual and predicted classes.
        Of rows x labels, a row counts as correct if all its labels are.
    normalize : bool, default=True
        Return the share of rows; if False, their number.
    sample_weight : array of one weight per row, or None, default=None
        A row of weight w counts as w rows.

    Returns
    -------
    float
        From 0 to 1, or the number (weight) of correct rows.
    """
    check_flag(normalize, "normalize")
    if is_indicator(y_true):
        actual = as_indicator(y_true, "y_true")
        predicted = as_indicator(y_pred, "y_pred", actual.shape)
        correct = (actual == predicted).all(axis=1)
        weights = row_weights(sample_weight, len(actual))
        if normalize:
            return Compared(actual, predicted, weights=weights).mean(correct)
        return float((correct if weights is None else correct * weights).sum())
    confusion = Confusion.of(y_true, y_pred, sample_weight=sample_weight)
    return confusion.accuracy if normalize else float(confusion.counts.trace())


def balanced_accuracy_score(
    y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None, adjusted: bool = False
) -> float:
    """Return the mean recall of the classes that occur.

    Parameters
    ----------
    y_true, y_pred : array of one class per row
        Actual and predicted classes.
    sample_weight : array of one weight per row, or None, default=None
        A row of weight w counts as w rows.
    adjusted : bool, default=False
        Rescale so that chance has 0 and a perfect prediction 1.

    Returns
    -------
    float
        From 0 to 1; adjusted, it may be negative.
    """
    check_flag(adjusted, "adjusted")
    confusion = Confusion.of(y_true, y_pred, sample_weight=sample_weight)
    score = confusion.balanced_accuracy
    if not adjusted:
        return score
    chance = 1 / int((confusion.counts.sum(axis=1) > 0).sum())
    return (score - chance) / (1 - chance) if chance < 1 else 0.0


def matthews_corrcoef(y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Return Matthews' correlation of actual and predicted classes.

    Parameters
    ----------
    y_true, y_pred : array of one class per row
        Actual and predicted classes.
    sample_weight : array of one weight per row, or None, default=None
        A row of weight w counts as w rows.

    Returns
    -------
    float
        From -1 to 1, where any constant prediction has 0; see `Confusion.mcc` for the formula.
    """
    return Confusion.of(y_true, y_pred, sample_weight=sample_weight).mcc


def binary_rates(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    pos_label: object = None,
    sample_weight: ArrayLike | None = None,
    zero_division: ZeroDivision = "warn",
) -> Rates:
    """Return TP, FP, FN, TN and all rates of one class against the rest.

    Parameters
    ----------
    y_true, y_pred : array of one class per row
        Actual and predicted classes.
    pos_label : label or None, default=None
        The positive class; by default 1, where labels are 0 and 1, or -1 and 1.
    sample_weight : array of one weight per row, or None, default=None
        A row of weight w counts as w rows.
    zero_division : {0, 1, NaN, "warn", "raise"}, default="warn"
        The value of 0 / 0; "warn": 0 and a DataWarning; "raise": a DataError.

    Returns
    -------
    Rates
        The four counts, and every rate as a property.
    """
    confusion = Confusion.of(y_true, y_pred, sample_weight=sample_weight)
    return confusion.rates(pos_label, zero_division=zero_division)


def precision_recall_fscore_support(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    beta: float = 1.0,
    labels: ArrayLike | None = None,
    pos_label: object = 1,
    average: str | None = None,
    sample_weight: ArrayLike | None = None,
    zero_division: ZeroDivision = "warn",
    negative_class: object = None,
) -> tuple[Any, Any, Any, Any]:
    """Return precision, recall, F-beta and support, by class or averaged.

    Parameters
    ----------
    y_true, y_pred : array of one class per row, or rows x labels of 0 and 1
        Actual and predicted classes.
    beta : float, default=1.0
        How many times as much recall counts as precision.
    labels : array or None, default=None
        The classes to score; by default all.
    pos_label : label, default=1
        The class scored by average="binary".
    average : {None, "binary", "micro", "macro", "weighted", "samples"}, default=None
        "samples", for rows x labels: the mean over rows. See `ClassScores` for the others.
    sample_weight : array of one weight per row, or None, default=None
        A row of weight w counts as w rows.
    zero_division : {0, 1, NaN, "warn", "raise"}, default="warn"
        The value of 0 / 0; "warn": 0 and a DataWarning; "raise": a DataError.
    negative_class : label or None, default=None
        A class that means "nothing", left out of the classes scored and averaged; see `Confusion.scores`.

    Returns
    -------
    precision, recall, f_beta : float or array
        One value, or with average=None one per class.
    support : array or None
        The number (weight) of rows of each class; None if averaged.
    """
    scores, weights = _class_scores(
        y_true, y_pred, average, beta, labels, pos_label, sample_weight, zero_division, negative_class
    )
    support = scores.support if average is None else None
    precision, recall, f = (_averaged(scores, what, average, weights) for what in ("precision", "recall", "f"))
    return precision, recall, f, support


def _class_scores(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    average: str | None,
    beta: float,
    labels: ArrayLike | None,
    pos_label: object,
    sample_weight: ArrayLike | None,
    zero_division: ZeroDivision,
    negative_class: object,
) -> tuple[ClassScores, Any]:
    """Return scores by class (or of the positive one, or by row), and the weights of rows if rows are averaged."""
    beta = check_beta(beta)
    if average is not None:
        check_name(average, "average", AVERAGES)
    if is_indicator(y_true):
        if negative_class is not None:
            raise ConfigError('negative_class: rows x labels of 0 and 1 have no class that means "nothing"')
        return _label_scores(y_true, y_pred, average, beta, labels, sample_weight, zero_division)
    if average == "samples":
        raise ConfigError(
            "average='samples' needs rows with several labels (a table of 0 and 1), got one class per row"
        )
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
        others.pop(index_of(negative_class, confusion.classes, "negative_class"))
        if not others:
            raise DataError(f"negative_class={negative_class!r} is the only label: there are no positives")
        pos_label = others[0]
    rates = confusion.rates(pos_label)
    tp, predicted, support = (np.array([count]) for count in (rates.tp, rates.tp + rates.fp, rates.tp + rates.fn))
    return ClassScores(np.array([pos_label]), tp, predicted, support, beta, zero_division), None


def _label_scores(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    average: str | None,
    beta: float,
    labels: ArrayLike | None,
    sample_weight: ArrayLike | None,
    zero_division: ZeroDivision,
) -> tuple[ClassScores, Any]:
    """Return scores of rows with several labels each: by label (column), or by row for the average "samples"."""
    if average == "binary":
        raise ConfigError(
            "average='binary' needs one class per row, and y_true has rows x labels: choose 'micro', 'macro', "
            "'weighted', 'samples' or None"
        )
    actual = as_indicator(y_true, "y_true")
    found = as_indicator(y_pred, "y_pred", actual.shape)
    names = np.arange(actual.shape[1])
    if labels is not None:
        listed = as_column(labels, "labels")
        names = names[[index_of(label, names, "labels") for label in listed.tolist()]]
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
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    pos_label: object = 1,
    average: str | None = "binary",
    sample_weight: ArrayLike | None = None,
    zero_division: ZeroDivision = "warn",
    negative_class: object = None,
) -> Any:
    """Return the precision TP / (TP + FP): the share of rows predicted as a class that belong to it.

    Parameters
    ----------
    y_true, y_pred : array of one class per row, or rows x labels of 0 and 1
        Actual and predicted classes.
    labels : array or None, default=None
        The classes to score; by default all.
    pos_label : label, default=1
        The class scored by average="binary".
    average : {"binary", "micro", "macro", "weighted", "samples", None}, default="binary"
        "binary": the positive class of two; "micro": from the counts of all classes; "macro": the mean over classes;
        "weighted": the mean weighted by the rows of each class; "samples", for rows x labels: the mean over rows;
        None: one value per class.
    sample_weight : array of one weight per row, or None, default=None
        A row of weight w counts as w rows.
    zero_division : {0, 1, NaN, "warn", "raise"}, default="warn"
        The value of 0 / 0; "warn": 0 and a DataWarning; "raise": a DataError.
    negative_class : label or None, default=None
        A class that means "nothing", left out of the classes scored and averaged; see `Confusion.scores`.

    Returns
    -------
    float or array
        One value, or with average=None one per class.
    """
    scores, weights = _class_scores(
        y_true, y_pred, average, 1.0, labels, pos_label, sample_weight, zero_division, negative_class
    )
    return _averaged(scores, "precision", average, weights)


def recall_score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    pos_label: object = 1,
    average: str | None = "binary",
    sample_weight: ArrayLike | None = None,
    zero_division: ZeroDivision = "warn",
    negative_class: object = None,
) -> Any:
    """Return the recall TP / (TP + FN): the share of a class's rows that are predicted as that class.

    Parameters
    ----------
    y_true, y_pred : array of one class per row, or rows x labels of 0 and 1
        Actual and predicted classes.
    labels : array or None, default=None
        The classes to score; by default all.
    pos_label : label, default=1
        The class scored by average="binary".
    average : {"binary", "micro", "macro", "weighted", "samples", None}, default="binary"
        "binary": the positive class of two; "micro": from the counts of all classes; "macro": the mean over classes;
        "weighted": the mean weighted by the rows of each class; "samples", for rows x labels: the mean over rows;
        None: one value per class.
    sample_weight : array of one weight per row, or None, default=None
        A row of weight w counts as w rows.
    zero_division : {0, 1, NaN, "warn", "raise"}, default="warn"
        The value of 0 / 0; "warn": 0 and a DataWarning; "raise": a DataError.
    negative_class : label or None, default=None
        A class that means "nothing", left out of the classes scored and averaged; see `Confusion.scores`.

    Returns
    -------
    float or array
        One value, or with average=None one per class.
    """
    scores, weights = _class_scores(
        y_true, y_pred, average, 1.0, labels, pos_label, sample_weight, zero_division, negative_class
    )
    return _averaged(scores, "recall", average, weights)


def fbeta_score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    beta: float,
    labels: ArrayLike | None = None,
    pos_label: object = 1,
    average: str | None = "binary",
    sample_weight: ArrayLike | None = None,
    zero_division: ZeroDivision = "warn",
    negative_class: object = None,
) -> Any:
    """Return F-beta, (1 + b²) TP / (TP + FP + b² (TP + FN)): a mean of precision and recall.

    Parameters
    ----------
    y_true, y_pred : array of one class per row, or rows x labels of 0 and 1
        Actual and predicted classes.
    beta : float
        How many times as much recall counts as precision.
    labels : array or None, default=None
        The classes to score; by default all.
    pos_label : label, default=1
        The class scored by average="binary".
    average : {"binary", "micro", "macro", "weighted", "samples", None}, default="binary"
        "binary": the positive class of two; "micro": from the counts of all classes; "macro": the mean over classes;
        "weighted": the mean weighted by the rows of each class; "samples", for rows x labels: the mean over rows;
        None: one value per class.
    sample_weight : array of one weight per row, or None, default=None
        A row of weight w counts as w rows.
    zero_division : {0, 1, NaN, "warn", "raise"}, default="warn"
        The value of 0 / 0; "warn": 0 and a DataWarning; "raise": a DataError.
    negative_class : label or None, default=None
        A class that means "nothing", left out of the classes scored and averaged; see `Confusion.scores`.

    Returns
    -------
    float or array
        One value, or with average=None one per class.
    """
    scores, weights = _class_scores(
        y_true, y_pred, average, beta, labels, pos_label, sample_weight, zero_division, negative_class
    )
    return _averaged(scores, "f", average, weights)


def f1_score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    pos_label: object = 1,
    average: str | None = "binary",
    sample_weight: ArrayLike | None = None,
    zero_division: ZeroDivision = "warn",
    negative_class: object = None,
) -> Any:
    """Return F1, 2 TP / (2 TP + FP + FN): the harmonic mean of precision and recall.

    Parameters
    ----------
    y_true, y_pred : array of one class per row, or rows x labels of 0 and 1
        Actual and predicted classes.
    labels : array or None, default=None
        The classes to score; by default all.
    pos_label : label, default=1
        The class scored by average="binary".
    average : {"binary", "micro", "macro", "weighted", "samples", None}, default="binary"
        "binary": the positive class of two; "micro": from the counts of all classes; "macro": the mean over classes;
        "weighted": the mean weighted by the rows of each class; "samples", for rows x labels: the mean over rows;
        None: one value per class.
    sample_weight : array of one weight per row, or None, default=None
        A row of weight w counts as w rows.
    zero_division : {0, 1, NaN, "warn", "raise"}, default="warn"
        The value of 0 / 0; "warn": 0 and a DataWarning; "raise": a DataError.
    negative_class : label or None, default=None
        A class that means "nothing", left out of the classes scored and averaged; see `Confusion.scores`.

    Returns
    -------
    float or array
        One value, or with average=None one per class.
    """
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
