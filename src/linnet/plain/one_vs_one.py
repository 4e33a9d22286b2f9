"""One-vs-one: many classes by K (K - 1) / 2 binary classifiers, one per pair, trained on the rows of its two classes.

A binary learner is any function learn(x, t) with t = 0 or 1 that returns a score function: above 0 for 1.
"""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Score = Callable[[Array], Array]
Learner = Callable[[Array, Array], Score]


def fit(learn: Learner, x: Array, t: Array, K: int) -> dict[tuple[int, int], Score]:
    """Return a score function for each pair j < k: above 0 for class k, below for class j."""
    classifiers = {}
    for j, k in combinations(range(K), 2):
        rows = (t == j) | (t == k)
        classifiers[j, k] = learn(x[rows], (t[rows] == k).astype(float))
    return classifiers


def votes(classifiers: dict[tuple[int, int], Score], x: Array, K: int) -> Array:
    """Return rows x classes: votes, plus less than half a vote from the sum of scores, which breaks ties."""
    won, sums = np.zeros((len(x), K)), np.zeros((len(x), K))
    for (j, k), score in classifiers.items():
        s = score(x)
        won[:, k] += s > 0
        won[:, j] += s <= 0
        sums[:, k] += s
        sums[:, j] -= s
    return won + sums / (3 * (np.abs(sums) + 1))


def predict(classifiers: dict[tuple[int, int], Score], x: Array, K: int) -> Array:
    """Return the class with the most votes for each row."""
    return votes(classifiers, x, K).argmax(axis=1)
