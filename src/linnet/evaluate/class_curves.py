"""Areas under curves: of two classes, each class against the rest, pairs of classes, or several labels per row."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from linnet._native import core
from linnet.config import usable_threads
from linnet.data.table import Array
from linnet.errors import ConfigError, DataError, unknown_name
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

_BLOCK = 8  # columns copied at a time: a row's cache line is read once


class ClassCutoffs:
    """Cut-offs of each class against the rest, from scores of rows x classes; one class at a time is in memory.

    `y_true` has one class per row, or rows x labels of 0 and 1 where a row may have several. `labels` names the classes
    of the columns where y_true lacks some.
    """

    def __init__(self, y_true: object, y_score: object, *, labels: object = None, sample_weight: object = None) -> None:
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
        """Return 1 for rows of class k, else 0."""
        if self.indicator is not None:
            return np.ascontiguousarray(self.indicator[:, k])
        return np.asarray(self.codes == k).view(np.uint8)

    def columns(self) -> Iterator[tuple[int, Array]]:
        """Yield each class's number and its scores."""
        for first in range(0, len(self.classes), _BLOCK):
            block = np.ascontiguousarray(self.scores[:, first : first + _BLOCK].T)
            yield from enumerate(block, first)

    def __iter__(self) -> Iterator[Cutoffs]:
        for k, column in self.columns():
            yield Cutoffs.counted(column, self.flags(k), self.weights)

    def pairwise_auc(self) -> Floats:
        """Return classes x classes: how often column j ranks a row of class j above one of class k (ties: half).

        One sort per class, not one per pair. NaN where a class has no rows.
        """
        count = len(self.classes)
        wins, weight = np.empty((count, count)), np.empty((count, count))
        for j, column in self.columns():
            core.pairwise_wins(column, self.codes, self.weights, j, wins[j], weight[j], usable_threads())
        pairs = weight * self.support[:, None]
        area: Floats = np.divide(wins, pairs, out=np.full((count, count), np.nan), where=pairs > 0)
        return area

    def flat(self) -> Cutoffs:
        """Return the cut-offs of all rows x classes taken as yes/no decisions of one kind, for micro averages."""
        flags = self.indicator
        if flags is None:
            flags = (self.codes[:, None] == np.arange(len(self.classes))).view(np.uint8)
        weights = None if self.weights is None else np.repeat(self.weights, len(self.classes))
        return Cutoffs.counted(np.ascontiguousarray(self.scores).ravel(), flags.ravel(), weights)

    def averaged(self, of: Callable[[Cutoffs], float], average: str | None) -> Any:
        """Return a number of cut-offs by class (None) or averaged.

        "macro": the mean over classes; "weighted": weighted by support; "micro": of all rows x classes as one;
        "samples" (several labels per row): the mean over rows.
        """
        if average == "micro":
            return of(self.flat())
        if average == "samples":
            if self.indicator is None:
                raise ConfigError("average='samples' needs rows x labels of 0 and 1; here each row has one class")
            rows = zip(np.ascontiguousarray(self.scores), self.indicator, strict=True)
            return float(np.average([of(Cutoffs.counted(*row, None)) for row in rows], weights=self.weights))
        if average not in (None, "macro", "weighted"):
            raise unknown_name("average", average, ("micro", "macro", "weighted", "samples"))
        values = np.array([of(cutoffs) for cutoffs in self])
        if average is None:
            return values
        if average == "macro":
            return float(values.mean())
        if not self.support.any():  # no row has a label
            return 0.0
        return float(np.average(np.where(self.support == 0, 0, values), weights=self.support))


def mean_of_pairs(area: Floats, support: Floats, average: str | None) -> float:
    """Return the mean over pairs of classes of both directions, "macro" or "weighted" by how many rows a pair has.

    `area`: classes x classes, as of `ClassCutoffs.pairwise_auc`.
    """
    if average not in ("macro", "weighted"):
        raise ConfigError(f"multi_class='ovo' has the averages 'macro' and 'weighted', got {average!r}")
    there = np.flatnonzero(support > 0)
    if len(there) < 2:
        raise DataError("one-vs-one needs rows of at least two classes")
    first, second = (there[index] for index in np.triu_indices(len(there), 1))
    pairs = (area[first, second] + area[second, first]) / 2
    weights = support[first] + support[second] if average == "weighted" else None
    return float(np.average(pairs, weights=weights))


def is_table(y_true: object, y_score: object) -> bool:
    """Whether these are scores of three classes or more, or of several labels per row."""
    shape = np.shape(dense(y_score))
    return is_indicator(y_true) or (len(shape) == 2 and shape[1] > 2)


def _area(
    of: Callable[[Cutoffs], float],
    y_true: object,
    y_score: object,
    average: str | None,
    pos_label: object,
    sample_weight: object,
    labels: object,
    *,
    greater: bool = False,
) -> Any:
    if is_table(y_true, y_score):
        return ClassCutoffs(y_true, y_score, labels=labels, sample_weight=sample_weight).averaged(of, average)
    rows = binary(y_true, y_score, pos_label, greater=greater)
    return of(Cutoffs.counted(rows.scores, rows.flags, row_weights(sample_weight, len(rows.flags))))


def average_precision_score(
    y_true: object,
    y_score: object,
    *,
    average: str | None = "macro",
    pos_label: object = None,
    sample_weight: object = None,
    labels: object = None,
) -> Any:
    """Return Σ (R_i - R_{i-1}) P_i over the cut-offs.

    Two classes: that of the positive class, from one score per row or the two columns of `predict_proba`. Rows x
    classes: each class against the rest, by class or averaged; see `ClassCutoffs.averaged`.
    """
    return _area(lambda c: c.average_precision, y_true, y_score, average, pos_label, sample_weight, labels)


def pr_auc_score(
    y_true: object,
    y_score: object,
    *,
    average: str | None = "macro",
    pos_label: object = None,
    sample_weight: object = None,
    labels: object = None,
) -> Any:
    """Return the trapezoid area under the precision-recall curve; otherwise as `average_precision_score`."""
    return _area(lambda c: c.pr_auc, y_true, y_score, average, pos_label, sample_weight, labels)


def roc_auc_score(
    y_true: object,
    y_score: object,
    *,
    average: str | None = "macro",
    sample_weight: object = None,
    max_fpr: float | None = None,
    multi_class: str = "ovr",
    labels: object = None,
    pos_label: object = None,
) -> Any:
    """Return the area under the ROC curve. It needs no probabilities: any scores do.

    Parameters
    ----------
    y_true : array of one class per row, or rows x labels of 0 and 1
        Actual classes.
    y_score : array of one score per row, or rows x classes
        Scores of the positive class, or of each class.
    average : {"macro", "weighted", "micro", "samples", None}
        Over classes, see `ClassCutoffs.averaged`; None: one area per class.
    sample_weight : array of one weight per row, or None
        A row of weight w counts as w rows.
    max_fpr : float or None
        Of two classes: the area up to this false positive rate, see `Cutoffs.partial_roc_auc`.
    multi_class : {"ovr", "ovo"}
        Of more classes: each against the rest, or the mean over pairs of classes of both directions (Hand and Till),
        "macro" or "weighted" by how many rows a pair has.
    labels : array or None
        The classes of the columns, where y_true lacks some.
    pos_label
        Of two classes: the positive one; by default 1, or else the greater one.
    """
    if multi_class not in ("ovr", "ovo"):
        raise unknown_name("multi_class", multi_class, ("ovr", "ovo"))
    if not is_table(y_true, y_score) or multi_class == "ovr" or is_indicator(y_true):

        def of(cutoffs: Cutoffs) -> float:
            return cutoffs.roc_auc if max_fpr is None else cutoffs.partial_roc_auc(max_fpr)

        return _area(of, y_true, y_score, average, pos_label, sample_weight, labels, greater=True)
    if max_fpr is not None:
        raise ConfigError("max_fpr: pairs of classes have whole areas only; use multi_class='ovr'")
    several = ClassCutoffs(y_true, y_score, labels=labels, sample_weight=sample_weight)
    return mean_of_pairs(several.pairwise_auc(), several.support, average)
