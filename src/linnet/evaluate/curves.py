"""ROC, precision-recall and gain curves with their areas, from one sort of the scores."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linnet._cached import cached_property
from linnet._native import core
from linnet.checks import check_flag, check_number
from linnet.config import usable_threads
from linnet.data.table import Array
from linnet.errors import DataError, DataWarning, warn
from linnet.evaluate.formulas import Counts, f_beta, or_nan
from linnet.evaluate.inputs import Flags, Floats, binary, row_weights
from linnet.evaluate.rates import Rates, check_beta


@dataclass(frozen=True)
class Cutoffs:
    """Every distinct score, from the highest down, with the weight of positives and negatives at or above it.

    Rows whose score is at least the threshold are predicted as positive. All curves, areas and best thresholds follow.

    Attributes
    ----------
    thresholds : array
        The distinct scores, falling.
    tp, fp : array
        The number (weight) of positives and of negatives whose score is at least the threshold.
    """

    thresholds: Floats
    tp: Floats
    fp: Floats

    @classmethod
    def of(
        cls, y_true: ArrayLike, y_score: ArrayLike, *, pos_label: object = None, sample_weight: ArrayLike | None = None
    ) -> "Cutoffs":
        """Sort the scores once. Rows of weight 0 do not count, and their scores are not cut-offs.

        Parameters
        ----------
        y_true : array of one class per row
            Actual classes.
        y_score : array of one score per row, or rows x 2
            Scores of the positive class, or the two columns of `predict_proba`.
        pos_label : label or None, default=None
            The positive class; by default 1, where labels are 0 and 1, or -1 and 1.
        sample_weight : array of one weight per row, or None, default=None
            A row of weight w counts as w rows.
        """
        rows = binary(y_true, y_score, pos_label)
        return cls.counted(rows.scores, rows.flags, row_weights(sample_weight, len(rows.flags)))

    @classmethod
    def counted(cls, scores: Array, flags: Flags, weights: Floats | None) -> "Cutoffs":
        """Build cut-offs from arrays that have been validated already.

        Parameters
        ----------
        scores : array of one score per row
            Float32 or float64.
        flags : array of uint8
            1 for positives, 0 for negatives.
        weights : array of one weight per row, or None
            A row of weight w counts as w rows.
        """
        flags = np.ascontiguousarray(flags)
        if weights is not None:
            return cls(*core.cutoffs(scores, flags, weights, usable_threads()))
        positive = flags.view(np.bool_)
        high, low = scores[positive], scores[~positive]
        high.sort()
        low.sort()
        return cls(*core.merge_cutoffs(high, low))

    @property
    def positives(self) -> float:
        """The weight of all positives."""
        return float(self.tp[-1])

    @property
    def negatives(self) -> float:
        """The weight of all negatives."""
        return float(self.fp[-1])

    @cached_property
    def _areas(self) -> tuple[float, float, float, float, int]:
        return core.areas(self.tp, self.fp, 1.0)

    @property
    def roc_auc(self) -> float:
        """The area under the ROC curve: the probability that a positive scores above a negative, ties counting half.

        NaN, with a DataWarning, if there is only one class.
        """
        if not self.positives or not self.negatives:
            _warn_one_class("ROC AUC", self.positives)
            return float("nan")
        return self._areas[0] / (self.positives * self.negatives)

    def partial_roc_auc(self, max_fpr: float) -> float:
        """Return the area under the ROC curve up to a false positive rate, scaled to 0.5 for chance and 1 for perfect.

        With a the area, (1 + (a - m²/2) / (m - m²/2)) / 2 for m = max_fpr (McClish).

        Parameters
        ----------
        max_fpr : float
            The highest false positive rate, above 0 and at most 1.
        """
        m = check_number(max_fpr, "max_fpr", above=0, at_most=1)
        if m == 1 or not self.positives or not self.negatives:
            return self.roc_auc
        fpr, tpr, _ = self.roc_curve()
        inside = int(np.searchsorted(fpr, m, side="right"))
        x = np.append(fpr[:inside], m)
        y = np.append(tpr[:inside], np.interp(m, fpr[inside - 1 : inside + 1], tpr[inside - 1 : inside + 1]))
        chance = m * m / 2
        return float(1 + (np.trapezoid(y, x) - chance) / (m - chance)) / 2

    @property
    def average_precision(self) -> float:
        """Σ (R_i - R_{i-1}) P_i over the cut-offs: the mean precision at the positives; 0 without positives."""
        if not self.positives:
            _warn_one_class("average precision", self.positives)
            return 0.0
        return self._areas[1] / self.positives

    @property
    def pr_auc(self) -> float:
        """The area under the precision-recall curve by the trapezoidal rule, too large between distant points."""
        if not self.positives:
            _warn_one_class("precision-recall area", self.positives)
            return 0.5  # between the point (0, 1) and precision 0 at recall 1
        return self._areas[2] / self.positives

    def best_f(self, beta: float = 1.0) -> tuple[float, float]:
        """Return the threshold with the highest F-beta, and that F-beta; of several thresholds the highest.

        Parameters
        ----------
        beta : float, default=1.0
            How many times as much recall counts as precision.
        """
        beta = check_beta(beta)
        if np.isinf(beta):  # recall alone, which is 1 only once the last positive is found
            best = int(self.recall.argmax())
            return float(self.thresholds[best]), float(self.recall[best])
        areas = self._areas if beta == 1 else core.areas(self.tp, self.fp, beta)
        return float(self.thresholds[areas[4]]), areas[3]

    @cached_property
    def precision(self) -> Floats:
        """TP / (TP + FP) at each cut-off."""
        return self.tp / (self.tp + self.fp)

    @cached_property
    def recall(self) -> Floats:
        """TP / P at each cut-off; 1 if there are no positives."""
        return self.tp / self.positives if self.positives else np.ones_like(self.tp)

    def f_beta(self, beta: float = 1.0) -> Floats:
        """Return F-beta at each cut-off.

        Parameters
        ----------
        beta : float, default=1.0
            How many times as much recall counts as precision.
        """
        beta = check_beta(beta)
        if np.isinf(beta):
            return self.recall  # 1 where there are no positives
        counts = Counts(self.tp, self.tp + self.fp, self.positives, self.positives + self.negatives)
        return np.asarray(f_beta(counts, or_nan, beta))

    def precision_recall_curve(self, *, drop_intermediate: bool = False) -> tuple[Floats, Floats, Floats]:
        """Return precision, recall and thresholds from the lowest up; the last point (1, 0) has no threshold.

        Parameters
        ----------
        drop_intermediate : bool, default=False
            Leave out points between two others of the same recall.
        """
        if not self.positives:
            _warn_one_class("recall", self.positives)
        keep: Any = slice(None)
        if check_flag(drop_intermediate, "drop_intermediate") and len(self.tp) > 2:
            rises = np.diff(self.tp) != 0
            keep = np.concatenate([[True], rises[:-1] | rises[1:], [True]])
        return (
            np.append(self.precision[keep][::-1], 1.0),
            np.append(self.recall[keep][::-1], 0.0),
            self.thresholds[keep][::-1],
        )

    def roc_curve(self, *, drop_intermediate: bool = True) -> tuple[Floats, Floats, Floats]:
        """Return false and true positive rates and thresholds from the highest down, from (0, 0) at threshold inf.

        Parameters
        ----------
        drop_intermediate : bool, default=True
            Leave out points on a straight line between their neighbours.
        """
        tp, fp, thresholds = self.tp, self.fp, self.thresholds
        if check_flag(drop_intermediate, "drop_intermediate") and len(tp) > 2:
            gained, lost = np.diff(tp), np.diff(fp)
            corner = (gained[1:] != gained[:-1]) | (lost[1:] != lost[:-1])
            keep = np.concatenate([[True], corner, [True]])
            tp, fp, thresholds = tp[keep], fp[keep], thresholds[keep]
        tpr, fpr = np.append(0.0, tp), np.append(0.0, fp)
        for rate, total in ((tpr, self.positives), (fpr, self.negatives)):
            if total:
                rate /= total
            else:
                _warn_one_class("the ROC curve", self.positives)
                rate[:] = np.nan
        return fpr, tpr, np.append(np.inf, thresholds)

    def gain_curve(self) -> tuple[Floats, Floats]:
        """Return the share of rows with the highest scores, and the share of all positives among them, from (0, 0)."""
        rows = self.tp + self.fp
        return np.append(0.0, rows / rows[-1]), np.append(0.0, self.recall)

    def at(self, threshold: float) -> Rates:
        """Return all rates at a threshold.

        Parameters
        ----------
        threshold : float
            Rows whose score is at least this are predicted as positive.
        """
        threshold = check_number(threshold, "threshold", at_most=np.inf)
        above = int(np.searchsorted(-self.thresholds, -threshold, side="right"))
        tp, fp = (float(self.tp[above - 1]), float(self.fp[above - 1])) if above else (0.0, 0.0)
        return Rates(tp, fp, self.positives - tp, self.negatives - fp)

    def __str__(self) -> str:
        first, last = self.thresholds[0], self.thresholds[-1]
        return (
            f"{len(self.thresholds)} cut-offs from {first:.6g} down to {last:.6g} of {self.positives:.10g} positives "
            f"and {self.negatives:.10g} negatives"
        )


def _warn_one_class(what: str, positives: float) -> None:
    missing = "negatives" if positives else "positives"
    warn(f"y_true has no {missing}: {what} is undefined", DataWarning)


def precision_recall_curve(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    pos_label: object = None,
    sample_weight: ArrayLike | None = None,
    drop_intermediate: bool = False,
) -> tuple[Floats, Floats, Floats]:
    """Return precision, recall and thresholds at every cut-off.

    Parameters
    ----------
    y_true : array of one class per row
        Actual classes.
    y_score : array of one score per row, or rows x 2
        Scores of the positive class, or the two columns of `predict_proba`.
    pos_label : label or None, default=None
        The positive class; by default 1, where labels are 0 and 1, or -1 and 1.
    sample_weight : array of one weight per row, or None, default=None
        A row of weight w counts as w rows.
    drop_intermediate : bool, default=False
        Leave out points between two others of the same recall.

    Returns
    -------
    precision, recall : array
        From the lowest threshold up; the last point is (1, 0).
    thresholds : array
        One fewer than points.
    """
    cutoffs = Cutoffs.of(y_true, y_score, pos_label=pos_label, sample_weight=sample_weight)
    return cutoffs.precision_recall_curve(drop_intermediate=drop_intermediate)


def roc_curve(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    pos_label: object = None,
    sample_weight: ArrayLike | None = None,
    drop_intermediate: bool = True,
) -> tuple[Floats, Floats, Floats]:
    """Return false positive rates, true positive rates and thresholds.

    Parameters
    ----------
    y_true : array of one class per row
        Actual classes.
    y_score : array of one score per row, or rows x 2
        Scores of the positive class, or the two columns of `predict_proba`.
    pos_label : label or None, default=None
        The positive class; by default 1, where labels are 0 and 1, or -1 and 1.
    sample_weight : array of one weight per row, or None, default=None
        A row of weight w counts as w rows.
    drop_intermediate : bool, default=True
        Leave out points on a straight line between their neighbours.

    Returns
    -------
    fpr, tpr : array
        From (0, 0) to (1, 1).
    thresholds : array
        Falling, the first is inf.
    """
    cutoffs = Cutoffs.of(y_true, y_score, pos_label=pos_label, sample_weight=sample_weight)
    return cutoffs.roc_curve(drop_intermediate=drop_intermediate)


def cumulative_gain_curve(
    y_true: ArrayLike, y_score: ArrayLike, *, pos_label: object = None, sample_weight: ArrayLike | None = None
) -> tuple[Floats, Floats]:
    """Return the share of all positives found among the rows with the highest scores.

    Parameters
    ----------
    y_true : array of one class per row
        Actual classes.
    y_score : array of one score per row, or rows x 2
        Scores of the positive class, or the two columns of `predict_proba`.
    pos_label : label or None, default=None
        The positive class; by default 1, where labels are 0 and 1, or -1 and 1.
    sample_weight : array of one weight per row, or None, default=None
        A row of weight w counts as w rows.

    Returns
    -------
    rows, positives : array
        The share of rows, by falling score, and the share of all positives among them, from (0, 0).
    """
    return Cutoffs.of(y_true, y_score, pos_label=pos_label, sample_weight=sample_weight).gain_curve()


def _as_numbers(values: object, name: str) -> Floats:
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"{name} must hold numbers: {error}") from None


def auc(x: ArrayLike, y: ArrayLike) -> float:
    """Return the area under a curve by trapezoids.

    Parameters
    ----------
    x : array
        At least two values that rise or fall throughout.
    y : array
        One value for each x.
    """
    x, y = _as_numbers(x, "x"), _as_numbers(y, "y")
    if x.shape != y.shape or x.ndim != 1 or len(x) < 2:
        raise DataError(f"x and y must have the same length of at least 2, got shapes {x.shape} and {y.shape}")
    steps = np.diff(x)
    if not ((steps >= 0).all() or (steps <= 0).all()):
        raise DataError("x must be monotonic: rising or falling throughout")
    return float(np.abs(np.trapezoid(y, x)))
