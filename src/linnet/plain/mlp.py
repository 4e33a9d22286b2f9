"""The complete multilayer perceptron: forward, backward, dropout, penalties, initial weights, training.

Layers l = 1 ... L on the inputs o_0 = x, and a head that compares their output with the target t:

    z_l = o_{l-1} W_l + b_l        o_l = a_l(z_l)        y = mean(o_L)        E = sum_i w_i loss(o_L, t)_i + penalty

Backwards, each delta_l = dE/dz_l follows from that of the next layer, so that one pass gives all derivatives:

    dE/do_L = w loss'(o_L, t)      delta_l = dE/do_l * a_l'(z_l)      dE/do_{l-1} = delta_l W_l'
                                   dE/dW_l = o_{l-1}' delta_l         dE/db_l = sum over rows of delta_l

With a head that computes its mean from z (softmax, sigma, exp), the last activation is the identity, and delta_L is
w (y - t). Row weights w_i are 1/N for the mean loss. All W and b are concatenated in one vector theta, which is all
that an optimizer needs to know of a network.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from linnet.plain.activations import Activation
from linnet.plain.heads import Head

Array = NDArray[Any]
Masks = Sequence[Any]  # factors of the inputs of each layer: arrays of rows x units, or 1


class Optimizer(Protocol):
    """An optimizer: see optimizers.py."""

    def step(self, theta: Array, g: Array) -> Array:
        """Return the next theta, from theta and the gradient g at theta."""


@dataclass
class MLP:
    """A network of any depth. Without hidden layers it is a generalized linear model."""

    widths: Sequence[int]  # D, H_1, H_2, ..., K
    activations: Sequence[Activation]  # of each layer
    head: Head
    dropout: Any = 0.0  # share of a layer's inputs that is dropped in training; one number, or one per layer
    l1: Any = 0.0  # the penalty is l1 sum |W| + l2 sum W^2 / 2, not on b; one number each, or one per layer
    l2: Any = 0.0

    def __post_init__(self) -> None:
        self.shapes = list(pairwise(self.widths))  # M inputs x K outputs of each W
        self.no_masks = [1.0] * len(self.shapes)
        settings = self.dropout, self.l1, self.l2
        self.dropout, self.l1, self.l2 = (np.broadcast_to(setting, len(self.shapes)) for setting in settings)

    def start(self, rng: np.random.Generator) -> Array:
        """Return the initial theta: W uniform within +-1/sqrt(M), so that no two units are equal, and b = 0."""
        layers = [(rng.uniform(-1, 1, M * K) / np.sqrt(M), np.zeros(K)) for M, K in self.shapes]
        return np.concatenate([part for layer in layers for part in layer])

    def layers(self, theta: Array) -> list[tuple[Array, Array]]:
        """Return (W, b) of each layer as views, through which theta can be written."""
        ends = np.cumsum([size for M, K in self.shapes for size in (M * K, K)])
        parts = np.split(theta, ends[:-1])
        return [(W.reshape(shape), b) for W, b, shape in zip(parts[::2], parts[1::2], self.shapes, strict=True)]

    def forward(self, theta: Array, x: Array, masks: Masks | None = None) -> tuple[list[Array], list[Array]]:
        """Return z_1 ... z_L and o_0 ... o_L; with masks, each o but the last is multiplied by its mask."""
        masks, z, o = masks or self.no_masks, [], [x]
        for l, (W, b) in enumerate(self.layers(theta)):
            a, _ = self.activations[l]
            o[l] = o[l] * masks[l]
            z.append(o[l] @ W + b)
            o.append(a(z[l]))
        return z, o

    def gradient(self, theta: Array, x: Array, t: Array, w: Array, masks: Masks | None = None) -> Array:
        """Return dE/dtheta without the penalty: one forward pass, one backward pass."""
        masks, g = masks or self.no_masks, np.zeros_like(theta)
        layers, slopes = self.layers(theta), self.layers(g)
        z, o = self.forward(theta, x, masks)
        d = w[:, None] * self.head.slope(o[-1], t)  # dE/do_L
        for l in reversed(range(len(layers))):
            (W, _), (dW, db), (_, back) = layers[l], slopes[l], self.activations[l]
            delta = back(z[l], d)
            dW[:] = o[l].T @ delta
            db[:] = delta.sum(axis=0)
            d = delta @ W.T * masks[l]
        return g

    def losses(self, theta: Array, x: Array, t: Array, masks: Masks | None = None) -> Array:
        """Return the loss per row, without the penalty."""
        return self.head.loss(self.forward(theta, x, masks)[1][-1], t).sum(axis=1)

    def predict(self, theta: Array, x: Array) -> Array:
        """Return the mean y of each row's target: class probabilities, expected counts, numbers."""
        return self.head.mean(self.forward(theta, x)[1][-1])

    def penalty(self, theta: Array) -> float:
        """Return the sum over layers of l1 sum |W| + l2 sum W^2 / 2."""
        layers = zip(self.layers(theta), self.l1, self.l2, strict=True)
        return float(sum(l1 * np.abs(W).sum() + l2 * (W**2).sum() / 2 for (W, _), l1, l2 in layers))

    def penalty_gradient(self, theta: Array) -> Array:
        """Return the penalty's slope: l1 sign(W) + l2 W, and 0 for b."""
        g = np.zeros_like(theta)
        for (W, _), (dW, _), l1, l2 in zip(self.layers(theta), self.layers(g), self.l1, self.l2, strict=True):
            dW[:] = l1 * np.sign(W) + l2 * W
        return g

    def masks(self, rows: int, rng: np.random.Generator) -> list[Array]:
        """Draw dropout masks: 0 for a share p of a layer's inputs, 1/(1 - p) for the rest, so that means stay equal."""
        return [(rng.random((rows, M)) >= p) / (1 - p) for (M, _), p in zip(self.shapes, self.dropout, strict=True)]


def epoch(
    mlp: MLP, theta: Array, x: Array, t: Array, w: Array, optimizer: Optimizer, batches: Iterable[tuple[Array, Masks]]
) -> tuple[Array, float]:
    """Take one step per batch (its rows and dropout masks). Return theta and the mean of E over the steps."""
    total = 0.0
    for rows, masks in batches:
        B = len(rows)
        total += float(w[rows] @ mlp.losses(theta, x[rows], t[rows], masks)) + B * mlp.penalty(theta)
        g = mlp.gradient(theta, x[rows], t[rows], w[rows] / B, masks) + mlp.penalty_gradient(theta)
        theta = optimizer.step(theta, g)
    return theta, total / len(x)


def train(
    mlp: MLP, x: Array, t: Array, optimizer: Optimizer, *, batch_size: int = 32, epochs: int = 10, seed: int = 0
) -> tuple[Array, list[float]]:
    """Train by minibatches of rows, shuffled in each epoch. Return theta and E of each epoch."""
    rng = np.random.default_rng(seed)
    theta, history = mlp.start(rng), []
    for _ in range(epochs):
        order = np.split(rng.permutation(len(x)), range(batch_size, len(x), batch_size))
        batches = [(rows, mlp.masks(len(rows), rng)) for rows in order]
        theta, E = epoch(mlp, theta, x, t, np.ones(len(x)), optimizer, batches)
        history.append(E)
    return theta, history
