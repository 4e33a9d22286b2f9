"""Generalized linear models: linear, logistic, softmax and Poisson regression are one program with four heads.

    z = x W + b        y = a(z)        dE/dz = (y - t) / N        dE/dW = x' dE/dz        dE/db = sum over rows of dE/dz

Why one gradient: a density e^(t z - A(z)) (an exponential family with natural parameter z) has the loss A(z) - t z and
the mean A'(z), so that the slope of the loss is the mean minus t. A is z^2/2 for the Normal distribution, log(1 + e^z)
for the Bernoulli, log sum_k e^z_k for the categorical and e^z for the Poisson distribution. Other heads multiply the
difference by something: see power_variance.py.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.plain.heads import Head

Array = NDArray[Any]


def gradient(head: Head, W: Array, b: Array, x: Array, t: Array) -> tuple[Array, Array]:
    """Return dE/dW and dE/db of the mean loss E. Targets are rows x outputs, classes one-hot."""
    delta = head.slope(x @ W + b, t) / len(x)
    return x.T @ delta, delta.sum(axis=0)


def fit(
    head: Head, x: Array, t: Array, *, eta: float = 0.1, batch_size: int = 32, epochs: int = 100, seed: int = 0
) -> tuple[Array, Array]:
    """Minibatch gradient descent from W = 0."""
    rng = np.random.default_rng(seed)
    W, b = np.zeros((x.shape[1], t.shape[1])), np.zeros(t.shape[1])
    for _ in range(epochs):
        order = rng.permutation(len(x))
        for start in range(0, len(x), batch_size):
            rows = order[start : start + batch_size]
            dW, db = gradient(head, W, b, x[rows], t[rows])
            W, b = W - eta * dW, b - eta * db
    return W, b
