"""Areas under curves: of two classes, each class against the rest, pairs of classes, or several labels per row."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linnet._native import core
from linnet.checks import check_name, is_name
from linnet.config import usable_threads
from linnet.data.table import Array
from linnet.errors import ConfigError, DataError
from linnet.evaluate.curves import Cutoffs
from linnet.evaluate.inputs import (
    Codes,
    Flags,
    Floats,
    as_column,
    as_indicator,
    as_score_table,
    binary,
    codes_of,
    column_classes,
    dense,
    is_indicator,
    row_weights,
)

_COLUMNS_PER_BLOCK = 8  # copied at a time, so that a row's cache line is read once


class ClassCutoffs:
    """Cut-offs of each class against the rest; iterating yields the `Cutoffs` of one class at a time.

    Parameters
    ----------
    y_true : array of one class per row, or rows x labels of 0 and 1
        Actual classes.
    y_score : array of rows x classes
        The score of each class.
    labels : array or None, default=None
        The classes of the columns, sorted, where y_true lacks some.
    sample_weight : array of one weight per row, or None, default=None
        A row of weight w counts as w rows.

    Attributes
    ----------
    classes : array
        The label of each column.
    support : array
        The number (weight) of rows of each class.
    """

    def __init__(
        self,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        labels: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> None:
        self.indicator: Flags | None = None
        self.codes: Codes = np.empty(0, np.int32)
        if is_indicator(y_true):
            self.indicator = as_indicator(y_true, "y_true")
            self.scores = as_score_table(dense(y_score), len(self.indicator))
            if self.scores.shape != self.indicator.shape:
                raise DataError(f"y_score has shape {self.scores.shape}, but y_true has {self.indicator.shape}")
            self.classes = np.arange(self.indicator.shape[1])
        else:
            truth = as_column(y_true, "y_true")
            self.scores = as_score_table(y_score, len(truth))
            self.classes = column_classes(truth, self.scores.shape[1], labels, "y_score")
            self.codes = codes_of(truth, self.classes, "y_true")
        self.weights = row_weights(sample_weight, len(self.scores))
        w = np.ones(len(self.scores)) if self.weights is None else self.weights
        if self.indicator is None:
            counted = np.bincount(self.codes, w, len(self.classes))
        else:
            counted = (w[:, None] * self.indicator).sum(axis=0)
        self.support: Floats = np.asarray(counted, np.float64)

    def flags(self, k: int) -> Flags:
        """Return 1 for the rows of a class and 0 for all others, as uint8.

        Parameters
        ----------
        k : int
            The index of the class.
        """
        if self.indicator is not None:
            return np.ascontiguousarray(self.indicator[:, k])
        return np.asarray(self.codes == k).view(np.uint8)

    def columns(self) -> Iterator[tuple[int, Array]]:
        """Yield the index of each class with its column of scores."""
        for first in range(0, len(self.classes), _COLUMNS_PER_BLOCK):
            block = np.ascontiguousarray(self.scores[:, first : first + _COLUMNS_PER_BLOCK].T)
            yield from enumerate(block, first)

    def __iter__(self) -> Iterator[Cutoffs]:
        for k, column in self.columns():
            yield Cutoffs.counted(column, self.flags(k), self.weights)

    def pairwise_auc(self) -> Floats:
        """Return, as classes x classes, how often column j ranks a row of class j above one of class k (ties: half).

        Each class is sorted once, not once per pair. NaN where a class has no rows.
        """
        count = len(self.classes)
        wins, weight = np.empty((count, count)), np.empty((count, count))
        for j, column in self.columns():
            core.pairwise_wins(column, self.codes, self.weights, j, wins[j], weight[j], usable_threads())
        pairs = weight * self.support[:, None]
        area: Floats = np.divide(wins, pairs, out=np.full((count, count), np.nan), where=pairs > 0)
        return area

    def flat(self) -> Cutoffs:
        """Return the cut-offs of all rows x classes as binary decisions of one kind, for micro averages."""
        flags = self.indicator
        if flags is None:
            flags = (self.codes[:, None] == np.arange(len(self.classes))).view(np.uint8)
        weights = None if self.weights is None else np.repeat(self.weights, len(self.classes))
        return Cutoffs.counted(np.ascontiguousarray(self.scores).ravel(), flags.ravel(), weights)

    def averaged(self, of: Callable[[Cutoffs], float], average: str | None) -> Any:
        """Return a metric of cut-offs, by class or averaged.

        Parameters
        ----------
        of : function of Cutoffs
            The metric.
        average : {"macro", "weighted", "micro", "samples", None}
            "macro": the mean over classes; "weighted": weighted by support; "micro": of all rows x classes as one;
            "samples" (several labels per row): the mean over rows; None: one value per class.
        """
        if average is not None:
            check_name(average, "average", ("micro", "macro", "weighted", "samples"))
        if average == "micro":
            return of(self.flat())
        if average == "samples":
            if self.indicator is None:
                raise ConfigError(
                    "average='samples' needs rows with several labels (a table of 0 and 1), got one class per row"
                )
            rows = zip(np.ascontiguousarray(self.scores), self.indicator, strict=True)
            return float(np.average([of(Cutoffs.counted(*row, None)) for row in rows], weights=self.weights))
        values = np.array([of(cutoffs) for cutoffs in self])
        if average is None:
            return values
        if average == "macro":
            return float(values.mean())
        if not self.support.any():  # no row has a label
            return 0.0
        return float(np.average(np.where(self.support == 0, 0, values), weights=self.support))


def mean_of_pairs(area: Floats, support: Floats, average: str | None) -> float:
    """Return the mean over pairs of classes of both directions, "macro" or "weighted" by the rows of each pair.

    `area`: classes x classes, as `ClassCutoffs.pairwise_auc` returns it.
    """
    if not is_name(average, "macro", "weighted"):
        raise ConfigError(f"average must be 'macro' or 'weighted' with multi_class='ovo', got {average!r}")
    present = np.flatnonzero(support > 0)
    if len(present) < 2:
        raise DataError("multi_class='ovo' needs rows of at least two classes")
    first, second = (present[index] for index in np.triu_indices(len(present), 1))
    pairs = (area[first, second] + area[second, first]) / 2
    weights = support[first] + support[second] if average == "weighted" else None
    return float(np.average(pairs, weights=weights))


def is_table(y_true: ArrayLike, y_score: ArrayLike) -> bool:
    """Return whether the scores are of three classes or more, or the rows have several labels each."""
    y_score = dense(y_score)
    try:
        shape = np.shape(y_score)
    except ValueError as error:
        raise DataError("y_score is not an array: its rows have different lengths") from error
    return is_indicator(y_true) or (len(shape) == 2 and shape[1] > 2)


def _area(
    of: Callable[[Cutoffs], float],
    y_true: ArrayLike,
    y_score: ArrayLike,
    average: str | None,
    pos_label: object,
    sample_weight: ArrayLike | None,
    labels: ArrayLike | None,
    *,
    greater: bool = False,
) -> Any:
    if is_table(y_true, y_score):
        return ClassCutoffs(y_true, y_score, labels=labels, sample_weight=sample_weight).averaged(of, average)
    rows = binary(y_true, y_score, pos_label, greater=greater)
    return of(Cutoffs.counted(rows.scores, rows.flags, row_weights(sample_weight, len(rows.flags))))


def average_precision_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    average: str | None = "macro",
    pos_label: object = None,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
) -> Any:
    """Return the average precision Σ (R_i - R_{i-1}) P_i over the cut-offs.

    Parameters
    ----------
    y_true : array of one class per row, or rows x labels of 0 and 1
        Actual classes.
    y_score : array of one score per row, or rows x classes
        Scores of the positive class, or of each class.
        Several columns: each class against the rest.
    average : {"macro", "weighted", "micro", "samples", None}, default="macro"
        Over classes: their mean, their mean weighted by rows, all rows x classes as one, the mean over rows (for rows x
        labels), or None for one value per class.
    pos_label : label or None, default=None
        The positive class; by default 1, where labels are 0 and 1, or -1 and 1.
    sample_weight : array of one weight per row, or None, default=None
        A row of weight w counts as w rows.
    labels : array or None, default=None
        The classes of the columns, sorted, where y_true lacks some.

    Returns
    -------
    float or array
        One value, or with average=None one per class.
    """
    return _area(lambda c: c.average_precision, y_true, y_score, average, pos_label, sample_weight, labels)


def pr_auc_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    average: str | None = "macro",
    pos_label: object = None,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
) -> Any:
    """Return the area under the precision-recall curve by trapezoids, which flatters between distant points.

    `average_precision_score` sums steps instead.

    Parameters
    ----------
    y_true : array of one class per row, or rows x labels of 0 and 1
        Actual classes.
    y_score : array of one score per row, or rows x classes
        Scores of the positive class, or of each class.
        Several columns: each class against the rest.
    average : {"macro", "weighted", "micro", "samples", None}, default="macro"
        Over classes: their mean, their mean weighted by rows, all rows x classes as one, the mean over rows (for rows x
        labels), or None for one value per class.
    pos_label : label or None, default=None
        The positive class; by default 1, where labels are 0 and 1, or -1 and 1.
    sample_weight : array of one weight per row, or None, default=None
        A row of weight w counts as w rows.
    labels : array or None, default=None
        The classes of the columns, sorted, where y_true lacks some.

    Returns
    -------
    float or array
        One value, or with average=None one per class.
    """
    return _area(lambda c: c.pr_auc, y_true, y_score, average, pos_label, sample_weight, labels)


def roc_auc_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    average: str | None = "macro",
    sample_weight: ArrayLike | None = None,
    max_fpr: float | None = None,
    multi_class: str = "ovr",
    labels: ArrayLike | None = None,
    pos_label: object = None,
) -> Any:
    """Return the area under the ROC curve, from scores of any kind: they need not be probabilities.

    Parameters
    ----------
    y_true : array of one class per row, or rows x labels of 0 and 1
        Actual classes.
    y_score : array of one score per row, or rows x classes
        Scores of the positive class, or of each class.
    average : {"macro", "weighted", "micro", "samples", None}, default="macro"
        Over classes: their mean, their mean weighted by rows, all rows x classes as one, the mean over rows (for rows x
        labels), or None for one value per class.
    sample_weight : array of one weight per row, or None, default=None
        A row of weight w counts as w rows.
    max_fpr : float or None, default=None
        Of two classes: the area up to this false positive rate, see `Cutoffs.partial_roc_auc`.
    multi_class : {"ovr", "ovo"}, default="ovr"
        With more classes: each against the rest, or the mean over pairs of classes of both directions (Hand and Till),
        "macro" or "weighted" by the rows of each pair.
    labels : array or None, default=None
        The classes of the columns, sorted, where y_true lacks some.
    pos_label : label or None, default=None
        The positive class of two; by default 1, or else the greater one.

    Returns
    -------
    float or array
        One value, or with average=None one per class.
    """
    check_name(multi_class, "multi_class", ("ovr", "ovo"))
    if not is_table(y_true, y_score) or multi_class == "ovr" or is_indicator(y_true):

        def of(cutoffs: Cutoffs) -> float:
            return cutoffs.roc_auc if max_fpr is None else cutoffs.partial_roc_auc(max_fpr)

        return _area(of, y_true, y_score, average, pos_label, sample_weight, labels, greater=True)
    if max_fpr is not None:
        raise ConfigError("max_fpr is not available for pairs of classes: use multi_class='ovr'")
    several = ClassCutoffs(y_true, y_score, labels=labels, sample_weight=sample_weight)
    return mean_of_pairs(several.pairwise_auc(), several.support, average)
