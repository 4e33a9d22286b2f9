"""Heads whose variance grows with the mean: Tweedie's family, the gamma distribution, the negative binomial.

With mean y(z) and variance V(y) the gradient is again mean minus target, now in units of the variance:

    dloss/dz = (y - t) y'(z) / V(y)

    Tweedie             V = y^q           q = 0 is the Normal, 1 the Poisson, 2 the gamma distribution
    negative binomial   V = y + q y^2     q -> 0 is the Poisson distribution

Between q = 1 and 2 the target is the sum of a Poisson number of gamma variables, such as rainfall or claims.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def G(y: Array, a: float) -> Array:
    """Return the integral of y^(a-1): y^a / a, or log y for a = 0."""
    return y**a / a if a else np.log(y)


class TweedieIdentity:
    """An amount with mean y = z > 0 and variance y^q."""

    def __init__(self, q: float) -> None:
        self.q = q

    def mean(self, z: Array) -> Array:
        return z

    def loss(self, z: Array, t: Array) -> Array:
        return G(z, 2 - self.q) - t * G(z, 1 - self.q)

    def slope(self, z: Array, t: Array) -> Array:
        return z**-self.q * (z - t)

    def curvature(self, z: Array, t: Array) -> Array:
        return z**-self.q * (1 - self.q + self.q * t / z)


class Tweedie(TweedieIdentity):
    """An amount with mean y = e^z and variance y^q."""

    def mean(self, z: Array) -> Array:
        return np.exp(z)

    def loss(self, z: Array, t: Array) -> Array:
        return super().loss(np.exp(z), t)

    def slope(self, z: Array, t: Array) -> Array:
        y = np.exp(z)
        return y ** (1 - self.q) * (y - t)

    def curvature(self, z: Array, t: Array) -> Array:
        y, q = np.exp(z), self.q
        return y ** (1 - q) * ((2 - q) * y - (1 - q) * t)


class Gamma(Tweedie):
    """A positive amount with constant relative errors: loss t / y + log y, slope (y - t) / y. Tweedie for q = 2."""

    def __init__(self) -> None:
        super().__init__(2.0)


class NegativeBinomial:
    """An overdispersed count: mean y = e^z, variance y + q y^2."""

    def __init__(self, q: float) -> None:
        self.q = q

    def mean(self, z: Array) -> Array:
        return np.exp(z)

    def loss(self, z: Array, t: Array) -> Array:
        return (t + 1 / self.q) * np.logaddexp(0, z + np.log(self.q)) - t * z  # log(1 + q y)

    def slope(self, z: Array, t: Array) -> Array:
        y = np.exp(z)
        return (y - t) / (1 + self.q * y)

    def curvature(self, z: Array, t: Array) -> Array:
        y = np.exp(z)
        return y * (1 + self.q * t) / (1 + self.q * y) ** 2
