"""Losses of r = z - t other than those of the four classic heads: absolute error, Huber's, quantiles, the perceptron's.

    Laplace       |r|                                            minimal at the median
    Huber         r^2 / 2 where |r| <= q, else q |r| - q^2 / 2   squared for small errors, absolute for large ones
    Quantile      (1 - q) r above t, -q r below                  minimal at the quantile q
    Perceptron    max(0, -t z), t = +1 or -1                     only mistakes have a loss

At a corner, where there is no slope, that of the flat side or 0 is used. The curvature is 0 elsewhere.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Laplace:
    """A number, with outliers: -log of the density e^-|t - z| / 2."""

    def mean(self, z: Array) -> Array:
        return z

    def loss(self, z: Array, t: Array) -> Array:
        return np.abs(z - t)

    def slope(self, z: Array, t: Array) -> Array:
        return np.sign(z - t)

    def curvature(self, z: Array, t: Array) -> Array:
        return np.zeros_like(z)


class Huber(Laplace):
    """A number, with outliers that are further than q from the mean."""

    def __init__(self, q: float) -> None:
        self.q = q

    def loss(self, z: Array, t: Array) -> Array:
        r, q = z - t, self.q
        return np.where(np.abs(r) <= q, r**2 / 2, q * np.abs(r) - q**2 / 2)

    def slope(self, z: Array, t: Array) -> Array:
        return np.clip(z - t, -self.q, self.q)

    def curvature(self, z: Array, t: Array) -> Array:
        return np.where(np.abs(z - t) <= self.q, 1.0, 0.0)


class Quantile(Laplace):
    """The number that a share q of the targets lies below."""

    def __init__(self, q: float) -> None:
        self.q = q

    def loss(self, z: Array, t: Array) -> Array:
        return np.where(z > t, (1 - self.q) * (z - t), self.q * (t - z))

    def slope(self, z: Array, t: Array) -> Array:
        return np.where(z > t, 1 - self.q, np.where(z < t, -self.q, 0.0))


class Perceptron(Laplace):
    """The side of a plane, t = +1 or -1: z is a score, whose sign is the prediction."""

    def loss(self, z: Array, t: Array) -> Array:
        return np.maximum(0, -t * z)

    def slope(self, z: Array, t: Array) -> Array:
        return np.where(t * z <= 0, -t, 0.0)
