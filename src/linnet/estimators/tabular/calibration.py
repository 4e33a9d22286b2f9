"""Probabilities that held-out rows confirm: one temperature T, by which z is divided."""

import numpy as np

from linnet._native import core
from linnet.data.rows import Rows
from linnet.heads import Floats, Head

_LARGEST_FACTOR = 1.1  # of z that calibration may find, if targets are not smoothed


def inverse_temperature(head: Head, z: Floats, rows: Rows, largest: float = _LARGEST_FACTOR) -> float:
    """The factor of z with the least loss, from 1/4 to `largest`: few mistakes do not prove there will be fewer."""
    t = rows.labels if rows.labels is not None else np.asarray(rows.values, np.float64)
    weights = np.ones(len(z)) if rows.weights is None else rows.weights
    factors = np.geomspace(0.25, largest, 41)
    for _ in range(3):  # each look is twenty times as close
        losses = [core.dot(weights, head.loss(z * factor, t)) for factor in factors]
        best = int(np.argmin(losses))
        factors = np.linspace(factors[max(0, best - 1)], factors[min(40, best + 1)], 41)
    return float(factors[20])


def largest_factor(smoothing: float, classes: int, held: int) -> float:
    """The largest factor of z that so many held-out rows can speak for.

    Training with smoothing e makes a sure row's z log((1 - e + e/K) / (e/K)), however sure it is. After n rows without
    a mistake the next one is right with odds of n + 1 to 1 (Laplace's rule): so far z may be stretched again.
    """
    if not smoothing:
        return _LARGEST_FACTOR
    own = np.log((1 - smoothing + smoothing / classes) / (smoothing / classes))
    return _LARGEST_FACTOR * max(1.0, float(np.log(held + 1) / own))
