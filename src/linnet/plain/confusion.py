"""Counts of correct and wrong predictions, and the rates computed from them. Classes are 0 ... K-1.

                    predicted positive          predicted negative
    positive        TP                          FN, Type II errors (misses)
    negative        FP, Type I errors           TN

    precision P = TP / (TP + FP)     recall R = TP / (TP + FN)     F_beta = (1 + beta^2) P R / (beta^2 P + R)

Written with counts, F_beta = (1 + beta^2) TP / (TP + FP + beta^2 (TP + FN)), which also has a value where P has none.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def confusion_matrix(t: Array, predicted: Array, K: int) -> Array:
    """Return C, where C[i, j] is the number of rows of class i that were predicted as class j."""
    C = np.zeros((K, K), int)
    for i, j in zip(t, predicted, strict=True):
        C[i, j] += 1
    return C


def counts(C: Array, positives: list[int]) -> tuple[Array, Array, Array]:
    """Return TP, FP and FN of each of these classes, taken as positive against all others.

    If one class means "nothing", leave it out as the negative one: a positive predicted as negative is still a miss,
    and a negative predicted as positive a false alarm.
    """
    TP = C.diagonal()[positives]
    return TP, C.sum(axis=0)[positives] - TP, C.sum(axis=1)[positives] - TP


def precision(TP: Any, FP: Any) -> Any:
    """Share of the rows predicted as positive that are positive."""
    return TP / (TP + FP)


def recall(TP: Any, FN: Any) -> Any:
    """Share of the positive rows that are found: also sensitivity, true positive rate."""
    return TP / (TP + FN)


def f_beta(TP: Any, FP: Any, FN: Any, beta: float = 1.0) -> Any:
    """Harmonic mean of precision and recall in which recall counts beta times as much."""
    return (1 + beta**2) * TP / (TP + FP + beta**2 * (TP + FN))


def micro_f(C: Array, positives: list[int], beta: float = 1.0) -> float:
    """F_beta of the counts added up over classes: each row has the same weight."""
    TP, FP, FN = counts(C, positives)
    return float(f_beta(TP.sum(), FP.sum(), FN.sum(), beta))


def macro_f(C: Array, positives: list[int], beta: float = 1.0) -> float:
    """Mean of the classes' F_beta: each class has the same weight."""
    return float(f_beta(*counts(C, positives), beta).mean())
