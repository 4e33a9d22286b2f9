"""Activations and their slopes, side by side.

Each entry of ACTIVATIONS is a pair of functions on arrays of rows x units:

    a(z)         the output h
    back(z, d)   dE/dz from d = dE/dh: by the chain rule d * a'(z)

Softmax is the one activation whose outputs all depend on all z of the row, so that a' is a matrix, diag(h) - h h'.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Activation = tuple[Callable[[Array], Array], Callable[[Array, Array], Array]]


def sigma(z: Array) -> Array:
    """Logistic sigmoid 1 / (1 + e^-z), written with e^-|z| so that no exponential overflows."""
    e = np.exp(-np.abs(z))
    return np.where(z >= 0, 1, e) / (1 + e)


def softmax(z: Array) -> Array:
    """e^z_k / sum_j e^z_j per row; subtracting the largest z of the row changes nothing but avoids overflow."""
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def softmax_back(z: Array, d: Array) -> Array:
    """dE/dz_k = h_k (d_k - sum_j d_j h_j): the row d times the matrix diag(h) - h h'."""
    h = softmax(z)
    return h * (d - (d * h).sum(axis=1, keepdims=True))


def leaky_relu(leak: float = 0.1) -> Activation:
    """Return z where z > 0, and leak * z below."""
    return lambda z: np.where(z > 0, z, leak * z), lambda z, d: d * np.where(z > 0, 1, leak)


def elu(scale: float = 1.0, alpha: float = 1.0) -> Activation:
    """Return scale * z where z > 0, and scale * alpha (e^z - 1) below, without a corner for alpha = 1."""

    def below(z: Array) -> Array:
        return alpha * np.expm1(np.minimum(z, 0))

    return (
        lambda z: scale * np.where(z > 0, z, below(z)),
        lambda z, d: d * scale * np.where(z > 0, 1, below(z) + alpha),
    )


Phi = np.vectorize(lambda z: math.erfc(-z / math.sqrt(2)) / 2, otypes=[float])  # the Normal distribution function


def phi(z: Array) -> Array:
    """Density of the standard Normal distribution, the slope of Phi."""
    return np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)


ACTIVATIONS: dict[str, Activation] = {
    "identity": (lambda z: z, lambda z, d: d),
    "sigmoid": (sigma, lambda z, d: d * sigma(z) * (1 - sigma(z))),
    "tanh": (np.tanh, lambda z, d: d * (1 - np.tanh(z) ** 2)),
    "relu": (lambda z: np.maximum(0, z), lambda z, d: d * (z > 0)),
    "leaky_relu": leaky_relu(),
    "elu": elu(),
    "selu": elu(scale=1.0507009873554804934, alpha=1.6732632423543772848),
    "gelu": (lambda z: z * Phi(z), lambda z, d: d * (Phi(z) + z * phi(z))),
    "silu": (lambda z: z * sigma(z), lambda z, d: d * sigma(z) * (1 + z * (1 - sigma(z)))),
    "softplus": (lambda z: np.logaddexp(0, z), lambda z, d: d * sigma(z)),
    "exponential": (np.exp, lambda z, d: d * np.exp(z)),
    "softmax": (softmax, softmax_back),
}
