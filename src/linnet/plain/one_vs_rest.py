"""One-vs-rest: many classes by K binary classifiers, class k against all others.

A binary learner is any function learn(x, t) with t = 0 or 1 that returns a score function: above 0 for 1.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Score = Callable[[Array], Array]
Learner = Callable[[Array, Array], Score]


def fit(learn: Learner, x: Array, t: Array, K: int) -> list[Score]:
    """Return K score functions, each trained on all rows."""
    return [learn(x, (t == k).astype(float)) for k in range(K)]


def scores(classifiers: list[Score], x: Array) -> Array:
    """Return rows x classes."""
    return np.stack([score(x) for score in classifiers], axis=1)


def by_score(s: Array) -> Array:
    """Choose the class with the highest score."""
    return s.argmax(axis=1)


def by_lot(s: Array, u: Array) -> Array:
    """Draw one of the classes with a score above 0, with equal probability; u has a uniform number in [0, 1) per row.

    If there is none, the class with the highest score is chosen. One wrong classifier can make the prediction wrong.
    """
    tied = s > 0
    tied = np.where(tied.any(axis=1, keepdims=True), tied, s == s.max(axis=1, keepdims=True))
    return np.array([np.flatnonzero(row)[int(v * row.sum())] for row, v in zip(tied, u, strict=True)])
