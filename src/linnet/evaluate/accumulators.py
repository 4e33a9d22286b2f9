"""Metrics of data in chunks, or on several machines, equal to the metrics of all rows at once.

Each accumulator takes chunks by `update`, and accumulators add up with `+`. Counts are exact, whatever the order; with
weights the sums agree with those of all rows up to the rounding of a different order of addition.
"""

from itertools import permutations
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from linnet.data.table import Array
from linnet.errors import ConfigError, DataError
from linnet.evaluate.class_curves import mean_of_pairs
from linnet.evaluate.confusion import Confusion
from linnet.evaluate.curves import Cutoffs
from linnet.evaluate.inputs import (
    Codes,
    Floats,
    as_column,
    as_flags,
    as_probabilities,
    as_score_table,
    as_scores,
    check_label,
    codes_of,
    row_weights,
    sorted_labels,
)
from linnet.evaluate.probabilities import Calibration, bin_edges, bin_sums, calibration_of, row_losses

Run = tuple[Floats, Floats, Floats]  # distinct scores, falling; the weight of positives and of negatives at each


class ConfusionAccumulator:
    """Confusion matrix over chunks. Memory: classes²."""

    def __init__(self) -> None:
        self._sum: Confusion | None = None

    def update(self, y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Add a chunk.

        Parameters
        ----------
        y_true, y_pred : array of one class per row
            Actual and predicted classes.
        sample_weight : array of one weight per row, or None, default=None
            A row of weight w counts as w rows.
        """
        chunk = Confusion.of(y_true, y_pred, sample_weight=sample_weight, all_zero=True)
        self._sum = chunk if self._sum is None else self._sum + chunk
        return self

    def __add__(self, other: Self) -> Self:
        both = type(self)()
        sums = [each._sum for each in (self, other) if each._sum is not None]
        both._sum = sums[0] + sums[1] if len(sums) == 2 else sums[0] if sums else None
        return both

    def result(self) -> Confusion:
        """Return the confusion matrix of all rows so far, with all metrics."""
        if self._sum is None or not self._sum.total:
            raise DataError("no rows with weight yet: call update first")
        return self._sum


def merge(a: Run, b: Run) -> Run:
    """Merge two runs; the weights at a score that both have are added."""
    if not len(a[0]) or not len(b[0]):  # a chunk of weight 0
        return b if len(b[0]) else a
    scores = np.concatenate([a[0], b[0]])
    order = np.argsort(-scores, kind="stable")  # two runs: one pass
    scores = scores[order]
    first = np.flatnonzero(np.append(True, scores[1:] != scores[:-1]))
    positives, negatives = (np.add.reduceat(np.concatenate([a[i], b[i]])[order], first) for i in (1, 2))
    return scores[first], positives, negatives


class ScoreAccumulator:
    """Every cut-off of scores over chunks.

    Memory: 24 bytes for each distinct score, at most twice that while merging. Scores rounded to d digits have at most
    10^d + 1 values in [0, 1], however many rows there are.

    Parameters
    ----------
    pos_label : label or None, default=None
        The positive class; by default 1, where labels are 0 and 1, or -1 and 1.
    """

    def __init__(self, pos_label: object = None) -> None:
        self.pos_label = None if pos_label is None else check_label(pos_label, [], "pos_label", "y_true")
        self._runs: list[Run] = []

    def update(self, y_true: ArrayLike, y_score: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Add a chunk; it may have one class only.

        Parameters
        ----------
        y_true : array of one class per row
            Actual classes.
        y_score : array of one score per row
            Scores of the positive class.
        sample_weight : array of one weight per row, or None, default=None
            A row of weight w counts as w rows.
        """
        column = as_column(y_true, "y_true")
        flags = as_flags(column == self.pos_label if self.pos_label is not None else column)
        return self.take(as_scores(y_score, len(flags)), flags, row_weights(sample_weight, len(flags), all_zero=True))

    def take(self, scores: Array, flags: Array, weights: Floats | None) -> Self:
        """Add a chunk that has been validated already.

        Parameters
        ----------
        scores : array of one score per row
            Float32 or float64.
        flags : array of uint8
            1 for positives, 0 for negatives.
        weights : array of one weight per row, or None
            A row of weight w counts as w rows.
        """
        cutoffs = Cutoffs.counted(scores, flags, weights)
        self._push((cutoffs.thresholds, np.diff(cutoffs.tp, prepend=0.0), np.diff(cutoffs.fp, prepend=0.0)))
        return self

    def _push(self, run: Run) -> None:
        self._runs.append(run)
        while len(self._runs) > 1 and len(self._runs[-2][0]) <= 2 * len(self._runs[-1][0]):
            self._runs[-2:] = [merge(*self._runs[-2:])]

    def __add__(self, other: Self) -> Self:
        if self.pos_label != other.pos_label:
            raise ConfigError(f"pos_label differs: {self.pos_label!r} and {other.pos_label!r}")
        both = type(self)(self.pos_label)
        for run in [*self._runs, *other._runs]:
            both._push(run)
        return both

    def result(self) -> Cutoffs:
        """Return the cut-offs of all rows so far, with all curves, areas and thresholds."""
        if not self._runs:
            raise DataError("no rows with weight yet: call update first")
        while len(self._runs) > 1:
            self._runs[-2:] = [merge(*self._runs[-2:])]
        scores, positives, negatives = self._runs[0]
        if not len(scores):
            raise DataError("no rows with weight yet: call update first")
        return Cutoffs(scores, np.cumsum(positives), np.cumsum(negatives))


def _chunk(classes: Array, y_true: ArrayLike, y_score: ArrayLike, sample_weight: object) -> tuple[Codes, Array, Any]:
    """Return the class indices, scores (rows x classes) and weights of a chunk."""
    codes = codes_of(as_column(y_true, "y_true"), classes, "y_true")
    table = as_score_table(y_score, len(codes))
    if table.shape[1] != len(classes):
        raise DataError(f"y_score has {table.shape[1]} columns, but there are {len(classes)} classes")
    return codes, table, row_weights(sample_weight, len(codes), all_zero=True)


def _same_labels(first: Any, second: Any) -> Any:
    """Return a new accumulator of the same classes; both accumulators must have them."""
    if not np.array_equal(first.classes, second.classes):
        raise ConfigError("labels differ: both must name the same classes")
    return type(first)(first.classes)


class ClassScoreAccumulator:
    """Cut-offs of each class against the rest over chunks.

    Parameters
    ----------
    labels : array
        All classes, in the order of the columns of scores: sorted.
    """

    def __init__(self, labels: ArrayLike) -> None:
        self.classes = sorted_labels(labels)
        self._by_class = [ScoreAccumulator() for _ in self.classes]

    def update(self, y_true: ArrayLike, y_score: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Add a chunk; a class that is not among the labels is an error.

        Parameters
        ----------
        y_true : array of one class per row
            Actual classes.
        y_score : array of rows x classes
            The score of each class.
        sample_weight : array of one weight per row, or None, default=None
            A row of weight w counts as w rows.
        """
        codes, table, weights = _chunk(self.classes, y_true, y_score, sample_weight)
        for k, of_class in enumerate(self._by_class):
            of_class.take(np.ascontiguousarray(table[:, k]), (codes == k).view(np.uint8), weights)
        return self

    def __add__(self, other: Self) -> Self:
        both: Self = _same_labels(self, other)
        both._by_class = [a + b for a, b in zip(self._by_class, other._by_class, strict=True)]
        return both

    def result(self) -> dict[Any, Cutoffs]:
        """Return the cut-offs of each class, by label."""
        return {label: each.result() for label, each in zip(self.classes.tolist(), self._by_class, strict=True)}


class PairScoreAccumulator:
    """One-vs-one ROC AUC over chunks. Memory: about 48 bytes for each distinct score of every column.

    Parameters
    ----------
    labels : array
        All classes, in the order of the columns of scores: sorted.
    """

    def __init__(self, labels: ArrayLike) -> None:
        self.classes = sorted_labels(labels)
        self._support = np.zeros(len(self.classes))
        pairs = permutations(range(len(self.classes)), 2)
        self._by_pair = {pair: ScoreAccumulator() for pair in pairs}

    def update(self, y_true: ArrayLike, y_score: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Add a chunk; a class that is not among the labels is an error.

        Parameters
        ----------
        y_true : array of one class per row
            Actual classes.
        y_score : array of rows x classes
            The score of each class.
        sample_weight : array of one weight per row, or None, default=None
            A row of weight w counts as w rows.
        """
        codes, table, weights = _chunk(self.classes, y_true, y_score, sample_weight)
        w = np.ones(len(codes)) if weights is None else weights
        self._support += np.bincount(codes, w, len(self.classes))
        rows_of = [np.flatnonzero(codes == k) for k in range(len(self.classes))]
        for (j, k), of_pair in self._by_pair.items():
            rows = np.concatenate([rows_of[j], rows_of[k]])
            if len(rows):
                scores, flags = np.ascontiguousarray(table[rows, j]), np.arange(len(rows)) < len(rows_of[j])
                of_pair.take(scores, flags.view(np.uint8), None if weights is None else weights[rows])
        return self

    def __add__(self, other: Self) -> Self:
        both: Self = _same_labels(self, other)
        both._support = self._support + other._support
        both._by_pair = {pair: of_pair + other._by_pair[pair] for pair, of_pair in self._by_pair.items()}
        return both

    def roc_auc(self, average: str = "macro") -> float:
        """Return the mean over pairs of classes of both directions; see `roc_auc_score`.

        Parameters
        ----------
        average : {"macro", "weighted"}, default="macro"
            The plain mean, or weighted by the rows of each pair.
        """
        area = np.full((len(self.classes), len(self.classes)), np.nan)
        for (j, k), of_pair in self._by_pair.items():
            if self._support[j] and self._support[k]:
                area[j, k] = of_pair.result().roc_auc
        return mean_of_pairs(area, self._support, average)


class ProbabilityAccumulator:
    """Log loss, Brier score and (for two classes) calibration over chunks. Memory: the bins of the calibration.

    Parameters
    ----------
    labels : array, default=(0, 1)
        All classes, sorted.
    n_bins : int, default=10
        The number of bins, of equal width.
    """

    def __init__(self, labels: ArrayLike = (0, 1), n_bins: int = 10) -> None:
        self.classes = sorted_labels(labels)
        self.edges = bin_edges(np.zeros(1), n_bins, "uniform")
        self._sums = np.zeros(3)  # log loss, Brier, weight
        self._bins = np.zeros((3, n_bins))

    def update(self, y_true: ArrayLike, y_proba: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Add a chunk.

        Parameters
        ----------
        y_true : array of one class per row
            Actual classes.
        y_proba : array of one probability per row, or rows x classes
            Probabilities of the positive class, or of each class.
        sample_weight : array of one weight per row, or None, default=None
            A row of weight w counts as w rows.
        """
        column = as_column(y_true, "y_true")
        codes = codes_of(column, self.classes, "y_true")
        table = as_probabilities(y_proba, len(column))
        if table.shape[1] == 1 and len(self.classes) == 2:
            table = np.hstack([1 - table, table])
        weights = row_weights(sample_weight, len(column), all_zero=True)
        w = np.ones(len(column)) if weights is None else weights
        all_codes = np.arange(len(self.classes))
        losses = [row_losses(codes, table, name, labels=all_codes)[0] for name in ("log", "brier")]
        factor = 0.5 if len(self.classes) == 2 else 1.0  # two columns have the same score as one
        self._sums += [(w * losses[0]).sum(), factor * (w * losses[1]).sum(), w.sum()]
        if len(self.classes) == 2:
            self._bins += bin_sums(np.ascontiguousarray(table[:, 1]), codes, weights, self.edges)
        return self

    def __add__(self, other: Self) -> Self:
        if not np.array_equal(self.classes, other.classes) or not np.array_equal(self.edges, other.edges):
            raise ConfigError("labels or n_bins differ")
        both = type(self)(self.classes, len(self.edges) - 1)
        both._sums, both._bins = self._sums + other._sums, self._bins + other._bins
        return both

    @property
    def log_loss(self) -> float:
        """The mean log loss of all rows so far."""
        return float(self._sums[0] / self._weight())

    @property
    def brier(self) -> float:
        """The Brier score of all rows so far."""
        return float(self._sums[1] / self._weight())

    @property
    def calibration(self) -> Calibration:
        """The reliability diagram of all rows so far."""
        self._weight()
        if len(self.classes) != 2:
            raise ConfigError("calibration needs two classes")
        return calibration_of(self._bins, self.edges)

    def _weight(self) -> float:
        if not self._sums[2]:
            raise DataError("no rows with weight yet: call update first")
        return float(self._sums[2])
