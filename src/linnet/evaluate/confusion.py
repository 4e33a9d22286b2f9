"""Confusion matrices, and precision, recall and F-beta by class."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linnet._native import core
from linnet.checks import check_name, is_name
from linnet.data.table import Array
from linnet.errors import DataError, unknown_name
from linnet.evaluate import formulas
from linnet.evaluate.formulas import Counts, Formula, or_nan
from linnet.evaluate.inputs import (
    Floats,
    ZeroDivision,
    all_classes,
    as_column,
    codes_of,
    index_of,
    plain,
    positive_label,
    row_weights,
)
from linnet.evaluate.rates import Rates, check_beta, divide

AVERAGES = ("binary", "micro", "macro", "weighted", "samples")
_MAX_CLASSES = 20_000  # of a confusion matrix, which then takes 3 GB
_CORNER = "actual \\ predicted"


@dataclass(frozen=True)
class ClassScores:
    """Precision, recall and F-beta of each class, and their averages.

    Averages: "micro" from the sums of TP, FP and FN over the classes; "macro": the mean over classes; "weighted": the
    mean weighted by support. A value of NaN (under zero_division=NaN) is left out of a mean.

    Attributes
    ----------
    classes : array
        The label of each class.
    tp : array
        True positives of each class.
    predicted : array
        Rows predicted as each class, TP + FP.
    support : array
        Rows of each class, TP + FN.
    beta : float
        How many times as much recall counts as precision.
    zero_division : {0, 1, NaN, "warn", "raise"}
        The value of 0 / 0.
    """

    classes: Array
    tp: Floats
    predicted: Floats  # TP + FP
    support: Floats  # TP + FN
    beta: float = 1.0
    zero_division: ZeroDivision = "warn"

    @property
    def precision(self) -> Floats:
        """TP / (TP + FP) of each class."""
        return self._by_class(formulas.precision)

    @property
    def recall(self) -> Floats:
        """TP / (TP + FN) of each class."""
        return self._by_class(formulas.recall)

    @property
    def f(self) -> Floats:
        """F-beta of each class: (1 + b²) TP / (TP + FP + b² (TP + FN))."""
        return self._by_class(partial(formulas.f_beta, beta=self.beta))

    def _by_class(self, formula: Formula) -> Floats:
        counts = Counts(self.tp, self.predicted, self.support, np.nan)  # the total, for TN, is unknown and not needed
        values: Floats = formula(counts, self._divide)
        return values

    def _divide(self, over: Any, under: Any, what: str) -> Floats:
        return divide(over, under, self.zero_division, what, self.classes)

    def average(self, how: str) -> tuple[float, float, float]:
        """Return the averages of precision, recall and F-beta.

        Parameters
        ----------
        how : {"micro", "macro", "weighted"}
            The kind of average.
        """
        return self.average_of("precision", how), self.average_of("recall", how), self.average_of("f", how)

    def average_of(self, what: str, how: str) -> float:
        """Return the average of one of the three scores.

        Parameters
        ----------
        what : {"precision", "recall", "f"}
            The score.
        how : {"micro", "macro", "weighted"}
            The kind of average.
        """
        if not is_name(how, "micro", "macro", "weighted"):
            raise unknown_name("average", how, AVERAGES)
        if how == "micro":
            tp, predicted, support = (np.array([counts.sum()]) for counts in (self.tp, self.predicted, self.support))
            pooled = ClassScores(np.array(["all classes"]), tp, predicted, support, self.beta, self.zero_division)
            return float(getattr(pooled, what)[0])
        weights = self.support if how == "weighted" else np.ones(len(self.support))
        return mean_of_known(getattr(self, what), weights)

    def __str__(self) -> str:
        names = [str(plain(label)) for label in self.classes]
        width = max(12, *map(len, names))
        lines = [f"{'':{width}}  precision  recall  {f'F{self.beta:g}':>6}  support"]
        shown = replace(self, zero_division=np.nan)  # printing neither warns nor raises
        averaged = replace(self, zero_division=0.0) if isinstance(self.zero_division, str) else self
        rows = [(n, *v) for n, *v in zip(names, shown.precision, shown.recall, shown.f, self.support, strict=True)]
        total = self.support.sum()
        rows += [(how, *averaged.average(how), total) for how in ("micro", "macro", "weighted")]
        for index, (name, *values, support) in enumerate(rows):
            if index == len(names):
                lines.append("")
            precision, recall, f = ("0 / 0" if np.isnan(value) else f"{value:.4f}" for value in values)
            lines.append(f"{name:{width}}  {precision:>9}  {recall:>6}  {f:>6}  {f'{support:.10g}':>7}")
        return "\n".join(lines)


def mean_of_known(values: Floats, weights: Floats) -> float:
    """Return the weighted mean of the values that are not NaN.

    Without any it is NaN; where their weights are all 0 it is the plain mean.
    """
    defined = ~np.isnan(values)
    if not defined.any():
        return float("nan")
    weights = weights[defined]
    return float(np.average(values[defined], weights=weights if weights.any() else None))


@dataclass(frozen=True)
class Confusion:
    """Counts (or weights) of rows by actual class (rows) and predicted class (columns); matrices add up with `+`.

    Attributes
    ----------
    classes : array
        The sorted labels.
    counts : array of shape (classes, classes)
        The number (weight) of rows of each pair of actual and predicted class.
    """

    classes: Array
    counts: Floats

    @classmethod
    def of(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        *,
        labels: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        all_zero: bool = False,
    ) -> "Confusion":
        """Count rows by actual and predicted class.

        Parameters
        ----------
        y_true, y_pred : array of one class per row
            Actual and predicted classes.
        labels : array or None, default=None
            Further classes, which may have no rows; classes that occur are always counted, all in sorted order.
        sample_weight : array of one weight per row, or None, default=None
            A row of weight w counts as w rows.
        all_zero : bool, default=False
            Allow weights that are all 0, as in a chunk to be added to others.
        """
        actual = as_column(y_true, "y_true")
        predicted = as_column(y_pred, "y_pred", len(actual))
        classes = all_classes([("y_true", actual), ("y_pred", predicted)], labels)
        weights = row_weights(sample_weight, len(actual), all_zero=all_zero)
        if len(classes) > _MAX_CLASSES:
            raise DataError(
                f"y_true and y_pred have {len(classes)} classes, more than {_MAX_CLASSES}: pass labels, not values"
            )
        counts = np.zeros((len(classes), len(classes)))
        core.count_pairs(codes_of(actual, classes, "y_true"), codes_of(predicted, classes, "y_pred"), weights, counts)
        return cls(classes, counts)

    @property
    def total(self) -> float:
        """The number (weight) of all rows."""
        return float(self.counts.sum())

    def __add__(self, other: "Confusion") -> "Confusion":
        if not isinstance(other, Confusion):
            return NotImplemented
        classes = all_classes([("labels", self.classes), ("labels of the other matrix", other.classes)])
        counts = np.zeros((len(classes), len(classes)))
        for matrix in (self, other):
            codes = codes_of(matrix.classes, classes, "labels")
            counts[np.ix_(codes, codes)] += matrix.counts
        return Confusion(classes, counts)

    def take(self, labels: ArrayLike) -> Floats:
        """Return the counts of some classes alone.

        Parameters
        ----------
        labels : array
            The classes, in the order of the result.
        """
        indices = [index_of(label, self.classes, "labels") for label in as_column(labels, "labels").tolist()]
        return self.counts[np.ix_(indices, indices)]

    def normalized(self, by: str | None) -> Floats:
        """Return shares in place of counts.

        Parameters
        ----------
        by : {"true", "pred", "all", None}
            Shares of each actual class, of each predicted class or of all rows; None returns the counts.
        """
        return _normalized(self.counts, by)

    @property
    def accuracy(self) -> float:
        """The share of rows classified correctly."""
        return float(formulas.accuracy(self._counts, or_nan))

    @property
    def balanced_accuracy(self) -> float:
        """The mean recall of the classes that occur."""
        return float(formulas.balanced_accuracy(self._counts, or_nan))

    @property
    def mcc(self) -> float:
        """Matthews' correlation of actual and predicted class, from -1 to 1; 0 for 0 / 0.

        (c s - Σ p_k t_k) / sqrt((s² - Σ p_k²) (s² - Σ t_k²)) with s all rows, c those classified correctly, and p_k and
        t_k the rows predicted as class k and of class k.
        """
        return float(formulas.mcc(self._counts, or_nan))

    @property
    def _counts(self) -> Counts:
        margins = self.counts.diagonal(), self.counts.sum(axis=0), self.counts.sum(axis=1)
        return Counts(*margins, self.total)

    def rates(self, pos_label: object = None, *, zero_division: ZeroDivision = "warn") -> Rates:
        """Return all rates of one class against the rest.

        Parameters
        ----------
        pos_label : label or None, default=None
            The positive class; by default 1, where labels are 0 and 1, or -1 and 1.
        zero_division : {0, 1, NaN, "warn", "raise"}, default="warn"
            The value of 0 / 0; "warn": 0 and a DataWarning; "raise": a DataError.
        """
        label = positive_label(self.classes, pos_label)
        if label not in self.classes.tolist():
            return Rates(0.0, 0.0, 0.0, self.total, zero_division)
        k = index_of(label, self.classes, "pos_label")
        tp = float(self.counts[k, k])
        fp, fn = float(self.counts[:, k].sum()) - tp, float(self.counts[k].sum()) - tp
        return Rates(tp, fp, fn, self.total - tp - fp - fn, zero_division)

    def scores(
        self,
        beta: float = 1.0,
        *,
        labels: ArrayLike | None = None,
        negative_class: object = None,
        zero_division: ZeroDivision = "warn",
    ) -> ClassScores:
        """Return precision, recall and F-beta by class.

        Parameters
        ----------
        beta : float, default=1.0
            How many times as much recall counts as precision.
        labels : array or None, default=None
            The classes to score; by default all.
        negative_class : label or None, default=None
            A class that means "nothing", as O in entity tagging: the other classes are kinds of positives, and only
            they are scored and averaged. A positive predicted as negative is still a miss, and a negative predicted as
            positive still a false alarm.
        zero_division : {0, 1, NaN, "warn", "raise"}, default="warn"
            The value of 0 / 0; "warn": 0 and a DataWarning; "raise": a DataError.
        """
        beta = check_beta(beta)
        counted = (self.classes if labels is None else as_column(labels, "labels")).tolist()
        if negative_class is not None:
            index_of(negative_class, self.classes, "negative_class")
            counted = [label for label in counted if label != negative_class]
            if not counted:
                raise DataError(f"negative_class={plain(negative_class)!r} is the only label: there are no positives")
        indices = [index_of(label, self.classes, "labels") for label in counted]
        return ClassScores(
            self.classes[indices],
            self.counts.diagonal()[indices],
            self.counts.sum(axis=0)[indices],
            self.counts.sum(axis=1)[indices],
            beta,
            zero_division,
        )

    def __str__(self) -> str:
        names = [str(plain(label)) for label in self.classes]
        cells = [[f"{count:.10g}" for count in row] for row in self.counts]
        widths = [max(map(len, (name, *column))) for name, *column in zip(names, *cells, strict=True)]
        first_width = max(len(_CORNER), *map(len, names))
        lines = []
        for name, row in zip([_CORNER, *names], [names, *cells], strict=True):
            lines.append(f"{name:{first_width}}" + "".join(f"  {c:>{w}}" for c, w in zip(row, widths, strict=True)))
        return "\n".join(lines)


def _normalized(counts: Floats, by: str | None) -> Floats:
    if by is None:
        return counts
    axis = {"true": 1, "pred": 0, "all": None}[check_name(by, "normalize", ("true", "pred", "all"))]
    under = np.broadcast_to(counts.sum(axis=axis, keepdims=True), counts.shape)
    return divide(counts, under, 0.0, "share")
