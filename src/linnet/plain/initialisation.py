"""Initial weights of a layer with M inputs and K outputs. Biases start at 0.

Weights must differ, or all units of a layer compute the same, get the same gradient and stay equal. Their size: a
unit's z is a sum of M products, whose variance is M times that of one weight (for inputs of size 1); backwards, K takes
the place of M.

    uniform        +-1/sqrt(M)              variance 1 / (3M)
    glorot         variance 2 / (M + K)     forwards and backwards about 1, for tanh
    he             variance 2 / M           twice as much, as ReLU sets half of the units to 0
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def between(rng: np.random.Generator, bound: float, M: int, K: int) -> Array:
    """Uniform numbers within +-bound, whose variance is bound^2 / 3."""
    return bound * (2 * rng.random((M, K)) - 1)


def uniform(rng: np.random.Generator, M: int, K: int) -> Array:
    """Uniform within +-1/sqrt(M)."""
    return between(rng, 1 / np.sqrt(M), M, K)


def glorot_uniform(rng: np.random.Generator, M: int, K: int) -> Array:
    """Uniform with variance 2 / (M + K)."""
    return between(rng, np.sqrt(6 / (M + K)), M, K)


def glorot_normal(rng: np.random.Generator, M: int, K: int) -> Array:
    """Normal with variance 2 / (M + K)."""
    return np.sqrt(2 / (M + K)) * rng.standard_normal((M, K))


def he_uniform(rng: np.random.Generator, M: int, K: int) -> Array:
    """Uniform with variance 2 / M."""
    return between(rng, np.sqrt(6 / M), M, K)


def he_normal(rng: np.random.Generator, M: int, K: int) -> Array:
    """Normal with variance 2 / M."""
    return np.sqrt(2 / M) * rng.standard_normal((M, K))


def zeros(rng: np.random.Generator, M: int, K: int) -> Array:
    """Zero: only for models without hidden layers."""
    return np.zeros((M, K))
