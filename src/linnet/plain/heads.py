"""Heads: the distribution of the target t, given z of the last layer.

A head is a distribution of t with mean y = a(z). Its loss is -log p(t), constants dropped, and the four classic heads
have the activation for which all share one gradient: dloss/dz = y - t, "mean minus target".

    Normal        a number         y = z            (z - t)^2 / 2
    Bernoulli     0 or 1           y = sigma(z)     log(1 + e^z) - t z
    Categorical   one of K         y = softmax(z)   log sum_k e^z_k - z_t       t one-hot
    Poisson       a count          y = e^z          e^z - t z

Arrays are rows x outputs. The loss of a row is the sum over its outputs. `slope` is dloss/dz; `curvature` is d2loss/dz2
output by output, which Newton's method needs. Other heads: power_variance.py, robust.py.
"""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from linnet.plain.activations import sigma, softmax

Array = NDArray[Any]


class Head(Protocol):
    """The functions that a model needs of its head."""

    def mean(self, z: Array) -> Array:
        """Return the mean of the target."""

    def loss(self, z: Array, t: Array) -> Array:
        """Return -log p(t), constants dropped."""

    def slope(self, z: Array, t: Array) -> Array:
        """Return dloss/dz."""

    def curvature(self, z: Array, t: Array) -> Array:
        """Return d2loss/dz2, output by output."""


class Normal:
    """A number: t = z plus noise of fixed variance, so that the likelihood is greatest where squares are least."""

    def mean(self, z: Array) -> Array:
        return z

    def loss(self, z: Array, t: Array) -> Array:
        return (z - t) ** 2 / 2

    def slope(self, z: Array, t: Array) -> Array:
        return z - t

    def curvature(self, z: Array, t: Array) -> Array:
        return np.ones_like(z)


class Bernoulli:
    """A binary target, t = 1 or 0: p(t) = y^t (1 - y)^(1-t), z = log(y / (1 - y)) the log-odds."""

    def mean(self, z: Array) -> Array:
        return sigma(z)

    def loss(self, z: Array, t: Array) -> Array:
        return np.logaddexp(0, z) - t * z

    def slope(self, z: Array, t: Array) -> Array:
        return sigma(z) - t

    def curvature(self, z: Array, t: Array) -> Array:
        return sigma(z) * sigma(-z)


class Categorical:
    """One of K classes: p(t) = prod_k y_k^t_k, t one-hot or shares of the classes; a row of t usually sums to 1."""

    def mean(self, z: Array) -> Array:
        return softmax(z)

    def loss(self, z: Array, t: Array) -> Array:
        z = z - z.max(axis=1, keepdims=True)
        return -t * (z - np.log(np.exp(z).sum(axis=1, keepdims=True)))

    def slope(self, z: Array, t: Array) -> Array:
        return softmax(z) * t.sum(axis=1, keepdims=True) - t

    def curvature(self, z: Array, t: Array) -> Array:
        y = softmax(z)
        return y * (1 - y) * t.sum(axis=1, keepdims=True)


class Poisson:
    """A count: p(t) = y^t e^-y / t!, whose variance is its mean y = e^z."""

    def mean(self, z: Array) -> Array:
        return np.exp(z)

    def loss(self, z: Array, t: Array) -> Array:
        return np.exp(z) - t * z

    def slope(self, z: Array, t: Array) -> Array:
        return np.exp(z) - t

    def curvature(self, z: Array, t: Array) -> Array:
        return np.exp(z)
