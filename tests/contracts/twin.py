"""A plain twin of the core in NumPy and float64: every formula once, in its simplest form, with no thought of speed.

Sums, never means, as in the core. `x` is rows x inputs, `t` rows x outputs, `w` one weight a row; `masks` holds what
the inputs of each layer are multiplied by in training (None: no dropout there).
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_softmax, ndtr, softmax

from linnet.data.rows import Rows
from linnet.model.heads import Head
from linnet.model.network import Network

Array = NDArray[np.float64]
Masks = Sequence[Array | None]

SELU_SCALE, SELU_ALPHA = 1.0507009873554804934, 1.6732632423543772848


def activation(name: str, leak: float, z: Array) -> Array:
    """h of z, rows x units."""
    match name:
        case "identity":
            return z
        case "sigmoid":
            return np.asarray(expit(z))
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
            return z * np.asarray(ndtr(z))
        case "silu":
            return z * np.asarray(expit(z))
        case "softplus":
            return np.logaddexp(0, z)
        case "exponential":
            return np.exp(z)
        case "softmax":
            return np.asarray(softmax(z, axis=1))
    raise AssertionError(name)


def activation_backward(name: str, leak: float, z: Array, dh: Array) -> Array:
    """dz of dh: through the slope at z, or for softmax through the whole Jacobian of every row."""
    s: Array = np.asarray(expit(z))
    slope: Array
    match name:
        case "identity":
            slope = np.ones_like(z)
        case "sigmoid":
            slope = s * np.asarray(expit(-z))
        case "tanh":
            slope = np.cosh(z) ** -2.0
        case "relu":
            slope = np.where(z > 0, 1.0, 0.0)
        case "leaky_relu":
            slope = np.where(z > 0, 1.0, leak)
        case "elu":
            slope = np.where(z > 0, 1.0, np.exp(np.minimum(z, 0)))
        case "selu":
            slope = SELU_SCALE * np.where(z > 0, 1.0, SELU_ALPHA * np.exp(np.minimum(z, 0)))
        case "gelu":
            slope = np.asarray(ndtr(z)) + z * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
        case "silu":
            slope = s + z * s * (1 - s)
        case "softplus":
            slope = s
        case "exponential":
            slope = np.exp(z)
        case "softmax":
            p = np.asarray(softmax(z, axis=1))
            jacobians = [np.diag(row) - np.outer(row, row) for row in p]
            return np.stack([jacobian @ d for jacobian, d in zip(jacobians, dh, strict=True)])
        case _:
            raise AssertionError(name)
    return dh * slope


def head_loss(head: Head, z: Array, t: Array) -> Array:
    """Loss of each row; z is what the head takes (after the activation where that is not the head's own)."""
    a, b = 2 - head.power, 1 - head.power
    match head.family:
        case "normal":
            each = (z - t) ** 2 / 2
        case "laplace":
            each = np.abs(z - t)
        case "bernoulli":
            each = t * np.logaddexp(0, -z) + (1 - t) * np.logaddexp(0, z)
        case "categorical":
            each = -t * np.asarray(log_softmax(z, axis=1))
        case "poisson":
            each = np.exp(z) - t * z
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
    return np.asarray(each.sum(axis=1))


def head_dz(head: Head, z: Array, t: Array) -> Array:
    mean = head_mean(head, z)
    match head.family:
        case "laplace":
            return np.sign(z - t)
        case "perceptron":
            return np.where(t * z <= 0, -t, 0.0)
        case "categorical":
            return np.asarray(mean * t.sum(axis=1, keepdims=True) - t)  # soft targets need not sum to 1
        case "gamma":
            return np.asarray(1 - t / mean)
        case "tweedie":
            return np.asarray((mean - t) * mean ** (1 - head.power))
        case "tweedie_identity":
            return np.asarray((mean - t) * mean**-head.power)
    return mean - t


def head_curvature(head: Head, z: Array, t: Array) -> Array:
    """The second derivative of each row's loss in each output; linear in t, so that t = mean gives its mean over t."""
    q, mean = head.power, head_mean(head, z)
    match head.family:
        case "laplace" | "perceptron":
            return np.zeros_like(z)
        case "bernoulli":
            return np.asarray(expit(z) * expit(-z))
        case "categorical":
            return np.asarray(mean * (1 - mean) * t.sum(axis=1, keepdims=True))
        case "poisson":
            return mean
        case "gamma":
            return np.asarray(t / mean)
        case "tweedie":
            return np.asarray((2 - q) * mean ** (2 - q) - (1 - q) * t * mean ** (1 - q))
        case "tweedie_identity":
            return np.asarray((1 - q) * mean**-q + q * t * mean ** (-q - 1))
    return np.ones_like(z)


def head_mean(head: Head, z: Array) -> Array:
    match head.family:
        case "bernoulli":
            return np.asarray(expit(z))
        case "categorical":
            return np.asarray(softmax(z, axis=1))
        case "poisson" | "gamma" | "tweedie":
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
        parts, rest = [], theta.astype(np.float64)
        for inputs, outputs in self.shapes:
            w, b, rest = np.split(rest, [inputs * outputs, (inputs + 1) * outputs])
            parts.append((w.reshape(inputs, outputs), b))
        assert len(rest) == 0
        return parts

    def forward(self, theta: Array, x: Array, masks: Masks | None = None) -> list[tuple[Array, Array, Array]]:
        """(input, z, h) of every layer."""
        steps, h = [], x.astype(np.float64)
        for index, (w, b) in enumerate(self.split(theta)):
            mask = masks[index] if masks else None
            a = h if mask is None else h * mask
            z = a @ w + b
            h = activation(*self.activations[index], z)
            steps.append((a, z, h))
        return steps

    def predict(self, theta: Array, x: Array) -> Array:
        return head_mean(self.head, self.forward(theta, x)[-1][2])

    def losses(self, theta: Array, x: Array, t: Array, masks: Masks | None = None) -> Array:
        """Loss of each row, without its weight."""
        return head_loss(self.head, self.forward(theta, x, masks)[-1][2], t)

    def gradient(self, theta: Array, x: Array, t: Array, w: Array, masks: Masks | None = None) -> Array:
        """Sum over rows of weight x dloss/dtheta."""
        steps = self.forward(theta, x, masks)
        parameters = self.split(theta)
        dh = w[:, None] * head_dz(self.head, steps[-1][2], t)
        pieces: list[Array] = []
        for index in reversed(range(len(steps))):
            a, z, _ = steps[index]
            dz = activation_backward(*self.activations[index], z, dh)
            db = dz.sum(axis=0) if self.layers[index].bias else np.zeros(self.shapes[index][1])
            pieces = [(a.T @ dz).ravel(), db, *pieces]
            dh = dz @ parameters[index][0].T
            mask = masks[index] if masks else None
            if mask is not None:
                dh = dh * mask
        return np.concatenate(pieces)

    def penalty(self, theta: Array) -> float:
        """Sum over layers of l1 Σ|w| + l2 Σw²/2, weights only."""
        return float(
            sum(
                layer.l1 * np.abs(w).sum() + layer.l2 * (w**2).sum() / 2
                for layer, (w, _) in zip(self.layers, self.split(theta), strict=True)
            )
        )

    def penalty_gradient(self, theta: Array) -> Array:
        pieces = []
        for layer, (w, b) in zip(self.layers, self.split(theta), strict=True):
            pieces += [(layer.l1 * np.sign(w) + layer.l2 * w).ravel(), np.zeros_like(b)]
        return np.concatenate(pieces)

    def is_weight(self) -> NDArray[np.bool_]:
        """True for weights, False for biases, in the order of theta."""
        pieces = [np.repeat([True, False], [inputs * outputs, outputs]) for inputs, outputs in self.shapes]
        return np.concatenate(pieces)
