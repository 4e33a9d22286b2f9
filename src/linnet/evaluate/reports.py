"""Classification reports: confusion matrix, averages, curves, areas and best thresholds, from one sort per class."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linnet.checks import check_number
from linnet.data.table import Array
from linnet.errors import ConfigError
from linnet.evaluate.class_curves import ClassCutoffs, is_table
from linnet.evaluate.confusion import ClassScores, Confusion
from linnet.evaluate.curves import Cutoffs
from linnet.evaluate.inputs import Floats, ZeroDivision, as_column, binary, plain, row_weights

_MAX_CLASSES_SHOWN = 10  # classes of a confusion matrix that is printed


@dataclass(frozen=True)
class Report:
    """Metrics of scores: a confusion matrix, scores by class with averages, areas and best F-beta thresholds by class.

    Attributes
    ----------
    confusion : Confusion
        The confusion matrix of the decisions.
    scores : ClassScores
        Precision, recall and F-beta by class, with their averages.
    roc_auc, average_precision, pr_auc : array
        The areas. Two classes: one entry, that of the positive class; several: one per class, each against the rest.
    best_threshold, best_f : array
        The threshold with the highest F-beta, and that F-beta; entries as for the areas.
    labels : array
        The class of each entry.
    threshold : float or None
        The threshold of the decisions; None if the class with the highest score is predicted.
    cutoffs : Cutoffs or None
        All curves, for two classes.
    """

    confusion: Confusion
    scores: ClassScores
    roc_auc: Floats
    average_precision: Floats
    pr_auc: Floats
    best_threshold: Floats
    best_f: Floats
    labels: Array
    threshold: float | None
    cutoffs: Cutoffs | None

    def __str__(self) -> str:
        at = "the class with the highest score" if self.threshold is None else f"threshold {self.threshold:g}"
        c = self.confusion
        lines = [f"Decision: {at}.", "", str(self.scores), ""]
        lines.append(f"accuracy {c.accuracy:.4f}, balanced {c.balanced_accuracy:.4f}, Matthews {c.mcc:.4f}")
        if len(c.classes) <= _MAX_CLASSES_SHOWN:
            lines += ["", str(c)]
        width = max(5, *(len(str(plain(label))) for label in self.labels))
        lines += ["", f"{'':{width}}  ROC AUC  average precision  PR area  best F{self.scores.beta:g}  at threshold"]
        columns = (self.roc_auc, self.average_precision, self.pr_auc, self.best_f, self.best_threshold)
        for label, *v in zip(self.labels, *columns, strict=True):
            name = str(plain(label))
            lines.append(f"{name:{width}}  {v[0]:7.4f}  {v[1]:17.4f}  {v[2]:7.4f}  {v[3]:7.4f}  {v[4]:12.6g}")
        return "\n".join(lines)


def report(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    threshold: float | None = None,
    beta: float = 1.0,
    pos_label: object = None,
    negative_class: object = None,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    zero_division: ZeroDivision = "warn",
) -> Report:
    """Return the confusion matrix, averages, curves with areas and best F-beta thresholds of scores.

    One score per row, or the two columns of `predict_proba`: positive is predicted from `threshold` on. Three columns
    or more: the class with the highest score is predicted.

    Parameters
    ----------
    y_true : array of one class per row, or rows x labels of 0 and 1
        Actual classes.
    y_score : array of one score per row, or rows x classes
        Scores of the positive class, or of each class.
    threshold : float or None, default=None
        Scores at or above it are predicted as positive; by default 0.5 if all scores lie in [0, 1], else 0.
    beta : float, default=1.0
        How many times as much recall counts as precision in F-beta.
    pos_label : label or None, default=None
        The positive class; by default 1, where labels are 0 and 1, or -1 and 1.
    negative_class : label or None, default=None
        A class that means "nothing", left out of the classes scored and averaged; see `Confusion.scores`.
    labels : array or None, default=None
        The classes of the columns, sorted, where y_true lacks some.
    sample_weight : array of one weight per row, or None, default=None
        A row of weight w counts as w rows.
    zero_division : {0, 1, NaN, "warn", "raise"}, default="warn"
        The value of 0 / 0; "warn": 0 and a DataWarning; "raise": a DataError.

    Returns
    -------
    Report
        All metrics; printing it shows them as tables.
    """
    if is_table(y_true, y_score):
        if threshold is not None:
            raise ConfigError("threshold applies to two classes only: with more, the highest score decides")
        several = ClassCutoffs(as_column(y_true, "y_true"), y_score, labels=labels, sample_weight=sample_weight)
        predicted = several.classes[several.scores.argmax(axis=1)]
        confusion = Confusion.of(y_true, predicted, labels=several.classes, sample_weight=several.weights)
        areas = [_areas(cutoffs, beta) for cutoffs in several]
        entries, cutoffs = several.classes, None
    else:
        rows = binary(y_true, y_score, pos_label)
        if threshold is not None:
            threshold = check_number(threshold, "threshold")
        else:
            threshold = 0.5 if rows.scores.min() >= 0 and rows.scores.max() <= 1 else 0.0
        cutoffs = Cutoffs.counted(rows.scores, rows.flags, row_weights(sample_weight, len(rows.flags)))
        confusion = _two_by_two(cutoffs, threshold, rows.known, rows.positive)
        areas, entries = [_areas(cutoffs, beta)], np.array([rows.positive])
    roc, average_precision, pr, best_threshold, best_f = np.array(areas).T
    scores = confusion.scores(beta, negative_class=negative_class, zero_division=zero_division)
    return Report(confusion, scores, roc, average_precision, pr, best_threshold, best_f, entries, threshold, cutoffs)


def _areas(cutoffs: Cutoffs, beta: float) -> tuple[float, ...]:
    return cutoffs.roc_auc, cutoffs.average_precision, cutoffs.pr_auc, *cutoffs.best_f(beta)


def _two_by_two(cutoffs: Cutoffs, threshold: float, known: list[Any], positive: Any) -> Confusion:
    """Return the confusion matrix at a threshold, from the cut-offs; classes are sorted where both are known."""
    rates = cutoffs.at(threshold)
    counts = np.array([[rates.tn, rates.fp], [rates.fn, rates.tp]])
    others = [label for label in known if label != positive] or [0 if positive == 1 else f"not {positive}"]
    if len(known) == 2 and known[0] == positive:
        return Confusion(np.array(known), counts[::-1, ::-1].copy())
    return Confusion(np.array([others[0], positive]), counts)
