"""Calibration of probabilities on held-out rows by temperature scaling: z is divided by one temperature T."""

import numpy as np

from linnet._native import core
from linnet.data.rows import Rows
from linnet.heads import Floats, Head

_MAX_FACTOR = 1.1  # the largest inverse temperature, if targets are not smoothed


def inverse_temperature(head: Head, z: Floats, rows: Rows, largest: float = _MAX_FACTOR) -> float:
    """Return the inverse temperature, a factor of z from 1/4 to `largest`, that minimises the loss on `rows`.

    The upper limit keeps a few rows without mistakes from making all predictions certain.
    """
    t = rows.labels if rows.labels is not None else np.asarray(rows.values, np.float64)
    weights = np.ones(len(z)) if rows.weights is None else rows.weights
    factors = np.geomspace(0.25, largest, 41)
    for _ in range(3):  # each grid is 20 times finer than the one before
        losses = [core.dot(weights, head.loss(z * factor, t)) for factor in factors]
        best = int(np.argmin(losses))
        factors = np.linspace(factors[max(0, best - 1)], factors[min(40, best + 1)], 41)
    return float(factors[20])


def largest_factor(smoothing: float, classes: int, held: int) -> float:
    """Return the largest factor of z that `held` held-out rows can justify.

    With label smoothing e, the optimal z of a certain row is log((1 - e + e/K) / (e/K)). After n rows without a
    mistake, the odds that the next one is correct are n + 1 to 1 (Laplace's rule of succession), so z may grow to log(n
    + 1).
    """
    if not smoothing:
        return _MAX_FACTOR
    largest_z = np.log((1 - smoothing + smoothing / classes) / (smoothing / classes))
    return _MAX_FACTOR * max(1.0, float(np.log(held + 1) / largest_z))
