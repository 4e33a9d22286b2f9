"""A plain twin of the core in NumPy and float64: every formula once, in its simplest form, with no thought of speed.

Functions and losses are written down, their derivatives are taken by linnet.theory.graph.

Sums, never means, as in the core. `x` is rows x inputs, `t` rows x outputs, `w` one weight a row; `masks` holds what
the inputs of each layer are multiplied by in training (None: no dropout there).
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr, softmax

from linnet.data.rows import Rows
from linnet.heads import Head
from linnet.model.network import Network
from linnet.theory import graph

Array = NDArray[np.float64]
Masks = Sequence[Array | None]

SELU_SCALE, SELU_ALPHA = 1.0507009873554804934, 1.6732632423543772848


def activation(name: str, leak: float, z: Array) -> Any:
    """h of z, rows x units."""
    match name:
        case "identity":
            return z
        case "sigmoid":
            return expit(z)
        case "tanh":
            return np.tanh(z)
        case "relu":
            return np.where(z > 0, z, 0.0)
        case "leaky_relu":
            return np.where(z > 0, z, leak * z)
        case "elu":
            return np.where(z > 0, z, np.expm1(np.minimum(z, 0)))
        case "selu":
            return SELU_SCALE * np.where(z > 0, z, SELU_ALPHA * np.expm1(np.minimum(z, 0)))
        case "gelu":
            return z * ndtr(z)
        case "silu":
            return z * expit(z)
        case "softplus":
            return np.logaddexp(0, z)
        case "exponential":
            return np.exp(z)
        case "softmax":
            return graph.softmax(z)
    raise AssertionError(name)


def head_loss(head: Head, z: Array, t: Array) -> Any:
    """Loss of each row; z is what the head takes (after the activation where that is not the head's own)."""
    a, b = 2 - head.parameter, 1 - head.parameter
    match head.family:
        case "normal":
            each = (z - t) ** 2 / 2
        case "laplace":
            each = np.abs(z - t)
        case "huber":
            r, q = z - t, head.parameter
            each = np.where(np.abs(r) <= q, r**2 / 2, q * np.abs(r) - q**2 / 2)
        case "quantile":
            each = np.where(z > t, (1 - head.parameter) * (z - t), head.parameter * (t - z))
        case "custom":
            each = np.log(np.cosh(z - t))
        case "bernoulli":
            each = t * np.logaddexp(0, -z) + (1 - t) * np.logaddexp(0, z)
        case "categorical":
            each = -t * (z - graph.logsumexp(z, keepdims=True))
        case "poisson":
            each = np.exp(z) - t * z
        case "negative_binomial":
            q, u = head.parameter, z + np.log(head.parameter)  # log(1 + e^u) in two forms: both keep digits
            each = (t + 1 / q) * np.where(u > 0, u + np.log1p(np.exp(-u)), np.log1p(np.exp(u))) - t * z
        case "perceptron":
            each = np.where(t * z <= 0, -t * z, 0.0)
        case "gamma":
            each = t / np.exp(z) + z
        case "tweedie":
            each = np.exp(z) ** a / a - t * np.exp(z) ** b / b
        case "tweedie_identity":
            each = (z**a / a if a else np.log(z)) - t * (z**b / b if b else np.log(z))
        case _:
            raise AssertionError(head)
    return each.sum(axis=1)


def head_dz(head: Head, z: Array, t: Array) -> Any:
    return graph.grad(lambda z: head_loss(head, z, t).sum())(z)


def head_curvature(head: Head, z: Array, t: Array) -> Array:
    """The second derivative of each row's loss in each output; linear in t, so that t = mean gives its mean over t."""
    units = np.eye(z.shape[1])
    return np.stack([graph.grad(lambda z, e=e: np.sum(head_dz(head, z, t) @ e))(z) @ e for e in units], axis=1)


def head_mean(head: Head, z: Array) -> Array:
    match head.family:
        case "bernoulli":
            return np.asarray(expit(z))
        case "categorical":
            return np.asarray(softmax(z, axis=1))
        case "poisson" | "negative_binomial" | "gamma" | "tweedie":
            return np.exp(z)
    return z


def dense_targets(network: Network, rows: Rows) -> Array:
    """Values as they are; labels as one-hot rows, or as +1 and -1 for the perceptron."""
    if rows.values is not None:
        return rows.values.astype(np.float64)
    assert rows.labels is not None
    hot = rows.labels[:, None] == np.arange(network.outputs)
    return np.where(hot, 1.0, -1.0 if network.head.family == "perceptron" else 0.0)


class Twin:
    """The network's sums, predictions and penalties, from its description alone."""

    def __init__(self, network: Network) -> None:
        self.layers = network.layers
        self.head = network.head
        widths = [network.inputs, *(layer.units for layer in network.layers)]
        self.shapes = list(pairwise(widths))
        last = "identity" if network.head.fused else network.head.output.name
        self.activations = [(layer.activation.name, layer.activation.slope) for layer in network.layers[:-1]]
        self.activations.append((last, network.head.output.slope))

    def split(self, theta: Array) -> list[tuple[Array, Array]]:
        """(W, b) of every layer: theta is W in row order and then b, layer by layer."""
        parts, start = [], 0
        for inputs, outputs in self.shapes:
            middle, end = start + inputs * outputs, start + (inputs + 1) * outputs
            parts.append((theta[start:middle].reshape(inputs, outputs), theta[middle:end]))
            start = end
        assert start == len(theta)
        return parts

    def forward(self, theta: Array, x: Array, masks: Masks | None = None) -> Any:
        """What the head takes."""
        h: Any = x.astype(np.float64)
        for index, (w, b) in enumerate(self.split(theta)):
            mask = masks[index] if masks else None
            z = (h if mask is None else h * mask) @ w
            h = activation(*self.activations[index], z + b if self.layers[index].bias else z)
        return h

    def predict(self, theta: Array, x: Array) -> Array:
        return head_mean(self.head, self.forward(theta, x))

    def losses(self, theta: Array, x: Array, t: Array, masks: Masks | None = None) -> Any:
        """Loss of each row, without its weight."""
        return head_loss(self.head, self.forward(theta, x, masks), t)

    def gradient(self, theta: Array, x: Array, t: Array, w: Array, masks: Masks | None = None) -> Any:
        """Sum over rows of weight x dloss/dtheta."""
        return graph.grad(lambda theta: w @ self.losses(theta, x, t, masks))(theta.astype(np.float64))

    def penalty(self, theta: Array) -> Any:
        """Sum over layers of l1 Σ|w| + l2 Σw²/2, weights only."""
        return sum(
            layer.l1 * np.abs(w).sum() + layer.l2 * (w**2).sum() / 2
            for layer, (w, _) in zip(self.layers, self.split(theta), strict=True)
        )

    def penalty_gradient(self, theta: Array) -> Any:
        return graph.grad(self.penalty)(theta)

    def is_weight(self) -> NDArray[np.bool_]:
        """True for weights, False for biases, in the order of theta."""
        pieces = [np.repeat([True, False], [inputs * outputs, outputs]) for inputs, outputs in self.shapes]
        return np.concatenate(pieces)
