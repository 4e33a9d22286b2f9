"""Error-correcting output codes: each class has a codeword of +1 and -1, and one binary classifier predicts each bit.

The code matrix M is classes x bits; classifier l separates the classes with M_kl = +1 from those with -1 (0: left out).
If codewords differ in at least d bits, the actual codeword remains the nearest if fewer than d/2 bits are wrong. A
binary learner is any function learn(x, t) with t = 0 or 1 that returns a score function: above 0 for 1.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Score = Callable[[Array], Array]
Learner = Callable[[Array, Array], Score]


def exhaustive(K: int) -> Array:
    """Return all 2^(K-1) - 1 ways to split K classes in two, as columns: codewords differ in 2^(K-2) bits."""
    columns = np.arange(2 ** (K - 1) - 1)
    bits = columns >> np.arange(K)[:, None] & 1
    bits[-1] = 1  # the last class is always +1: the other half of the columns are the same splits
    return 2 * bits - 1


def fit(learn: Learner, x: Array, t: Array, M: Array) -> list[Score]:
    """Return a score function per bit."""
    classifiers = []
    for bits in M.T:
        rows = bits[t] != 0
        classifiers.append(learn(x[rows], (bits[t[rows]] > 0).astype(float)))
    return classifiers


def hamming(s: Array, M: Array) -> Array:
    """Choose the class whose codeword differs from the signs of the scores (rows x bits) in the fewest bits."""
    return (np.where(s > 0, 1, -1) @ M.T).argmax(axis=1)  # the product is the number of equal minus different bits


def likelihood(s: Array, M: Array) -> Array:
    """Choose the most probable class, where a score is the log-odds of +1: log P(bit) = -log(1 + e^(-bit s))."""
    log_p = -np.logaddexp(0, -s[:, None, :] * M)  # rows x classes x bits; log 1/2 where M is 0
    return log_p.sum(axis=2).argmax(axis=1)
