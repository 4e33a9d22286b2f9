"""A full report of scores, as scikit-learn's functions give it and as linnet.evaluate does.

Both sides compute the confusion matrix, precision, recall and F1 by class and in all averages, precision-recall and ROC
curves with their areas, and the threshold of the highest F1, of two classes or of each class against the rest. The sums
of all numbers must agree to 1e-9 before a time counts.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import clocked, compared, race, show

SIDES = ("linnet", "sklearn")
AVERAGES = ("micro", "macro", "weighted")


@dataclass(frozen=True)
class Scores:
    """What is reported on."""

    title: str
    rows: int
    classes: int
    target: float = 5.0
    most_rounds: int = 3


REPORTS = {
    "report-binary": Scores("full report, 10 million scores, two classes", 10_000_000, 2),
    "report-classes": Scores("full report, 1 million rows x 100 classes", 1_000_000, 100, most_rounds=1),
}
EVALUATION_NAMES = list(REPORTS)


def data(scores: Scores) -> tuple[Any, Any]:
    """Labels and scores of a model that is right more often than not."""
    rng = np.random.default_rng(0)
    if scores.classes == 2:
        y = (rng.random(scores.rows) < 0.3).astype(np.int64)
        return y, 1 / (1 + np.exp(-rng.normal(2 * y - 1.0, 1.5)))
    y = rng.integers(0, scores.classes, scores.rows)
    z = rng.standard_normal((scores.rows, scores.classes))
    z[np.arange(scores.rows), y] += 2.5
    np.exp(z, out=z)
    z /= z.sum(axis=1, keepdims=True)
    return y, z


def of_linnet(y: Any, s: Any) -> dict[str, float]:
    """The report by linnet.evaluate."""
    import linnet.evaluate as ev

    found = {"areas": 0.0, "best": 0.0, "points": 0.0}
    several = [ev.Cutoffs.of(y, s)] if s.ndim == 1 else ev.ClassCutoffs(y, s)
    for cutoffs in several:
        precision, recall, _ = cutoffs.precision_recall_curve()
        fpr, tpr, _ = cutoffs.roc_curve()
        found["points"] += precision[0] + recall[0] + fpr[-1] + tpr[-1]
        found["areas"] += cutoffs.roc_auc + cutoffs.average_precision + cutoffs.pr_auc
        found["best"] += sum(cutoffs.best_f())
    said = (s >= 0.5).astype(np.int64) if s.ndim == 1 else s.argmax(axis=1)
    confusion = ev.Confusion.of(y, said)
    scores = confusion.scores()
    found["right"] = float(confusion.counts.trace())
    found["scores"] = float(scores.f.sum() + sum(sum(scores.average(how)) for how in AVERAGES))
    return found


def of_sklearn(y: Any, s: Any) -> dict[str, float]:
    """The same by scikit-learn's functions, none of them called twice for the same numbers."""
    import sklearn.metrics as sk

    found = {"areas": 0.0, "best": 0.0, "points": 0.0}
    for k in (1,) if s.ndim == 1 else range(s.shape[1]):
        truth, score = (y, s) if s.ndim == 1 else ((y == k).astype(np.int64), np.ascontiguousarray(s[:, k]))
        precision, recall, thresholds = sk.precision_recall_curve(truth, score)
        fpr, tpr, _ = sk.roc_curve(truth, score)
        found["points"] += precision[0] + recall[0] + fpr[-1] + tpr[-1]
        average_precision = -np.sum(np.diff(recall) * precision[:-1])
        found["areas"] += sk.auc(fpr, tpr) + average_precision + sk.auc(recall, precision)
        with np.errstate(invalid="ignore"):
            f = np.nan_to_num(2 * precision * recall / (precision + recall))[:-1]
        found["best"] += thresholds[f.argmax()] + f.max()
    said = (s >= 0.5).astype(np.int64) if s.ndim == 1 else s.argmax(axis=1)
    found["right"] = float(sk.confusion_matrix(y, said).trace())
    found["scores"] = float(sk.precision_recall_fscore_support(y, said)[2].sum())
    for how in AVERAGES:
        found["scores"] += sum(sk.precision_recall_fscore_support(y, said, average=how)[:3])
    return found


class Worker:
    """One library in its own process."""

    def __init__(self, name: str) -> None:
        warnings.simplefilter("ignore")
        self.name = name

    def setup(self, report: str) -> None:
        """Make the scores."""
        self.given = data(REPORTS[report])

    def run(self) -> tuple[float, float, dict[str, float]]:
        """Seconds on the clock, of all threads, and the numbers."""
        return clocked(lambda: (of_linnet if self.name == "linnet" else of_sklearn)(*self.given))


def run(names: list[str], *, rounds: int, turn_seconds: float) -> dict[str, Any]:
    """Time the reports and print the table."""
    facts: dict[str, Any] = {"workloads": {}}
    lines = []
    for name in names:
        report = REPORTS[name]
        most = min(rounds, report.most_rounds)
        results, found = race(Worker, SIDES, name, rounds=most, turn_seconds=turn_seconds)
        ours, theirs = found["linnet"], found["sklearn"]
        good = all(abs(ours[key] - theirs[key]) <= 1e-9 * abs(theirs[key]) for key in theirs)
        lines.append(compared(name, report.title, results, report.target, differs=None if good else "other numbers"))
        facts["workloads"][name] = {side: {**vars(results[side]), "found": found[side]} for side in SIDES}
    header = ["workload", "", "linnet", "scikit-learn", "ratio", "of processor time", "target"]
    show(header, lines)
    return {**facts, "tables": {"evaluate": (header, lines)}}
