"""From scores to decisions: a row is predicted as positive if its score is at least the threshold.

A lower threshold finds more of the positives (recall) but is wrong more often (precision). Each distinct score is a
candidate for the threshold; together they make the precision-recall curve.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.plain.confusion import f_beta, precision, recall

Array = NDArray[Any]


def counts(t: Array, score: Array, threshold: float) -> tuple[int, int, int]:
    """Return TP, FP and FN at a threshold, for t = 1 (positive) or 0."""
    positive = score >= threshold
    return int((positive & (t == 1)).sum()), int((positive & (t == 0)).sum()), int((~positive & (t == 1)).sum())


def precision_recall_curve(t: Array, score: Array) -> tuple[Array, Array, Array]:
    """Return precision, recall and threshold at each distinct score, from the highest down."""
    thresholds = np.unique(score)[::-1]
    found = [counts(t, score, threshold) for threshold in thresholds]
    P = np.array([precision(TP, FP) for TP, FP, _ in found])
    R = np.array([recall(TP, FN) for TP, _, FN in found])
    return P, R, thresholds


def average_precision(t: Array, score: Array) -> float:
    """Return the area under the precision-recall curve as a sum of steps, sum_i (R_i - R_{i-1}) P_i."""
    P, R, _ = precision_recall_curve(t, score)
    return float((np.diff(R, prepend=0) * P).sum())


def best_threshold(t: Array, score: Array, beta: float = 1.0) -> tuple[float, float]:
    """Return the threshold with the highest F_beta, and that F_beta; of several such thresholds, the highest.

    Choose it on a development set: on the training rows scores are too optimistic, and the test rows must stay unseen.
    """
    thresholds = np.unique(score)[::-1]
    F = [f_beta(*counts(t, score, threshold), beta) for threshold in thresholds]
    best = int(np.argmax(F))
    return float(thresholds[best]), float(F[best])
