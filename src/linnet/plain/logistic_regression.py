"""Logistic regression: the probability of t = 1 is y = sigma(z), z = x w + b the log-odds. The target t is 1 or 0.

    p(t) = y^t (1 - y)^(1-t)        E = -(1/N) sum log p(t) = (1/N) sum [log(1 + e^z) - t z]        dE/dz = (y - t) / N

The chain in full: dE/dy = (y - t) / (y (1 - y)) and dy/dz = y (1 - y), so that all but y - t cancels.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def sigma(z: Array) -> Array:
    """1 / (1 + e^-z), by e^-|z|, which never overflows."""
    e = np.exp(-np.abs(z))
    return np.where(z >= 0, 1, e) / (1 + e)


def loss(w: Array, b: float, x: Array, t: Array) -> float:
    """Return the mean cross-entropy."""
    z = x @ w + b
    return float((np.logaddexp(0, z) - t * z).mean())


def gradient(w: Array, b: float, x: Array, t: Array) -> tuple[Array, float]:
    """Return dE/dw and dE/db, the means over the rows of (y - t) x and of y - t."""
    delta = sigma(x @ w + b) - t
    return x.T @ delta / len(x), float(delta.mean())


def fit(
    x: Array,
    t: Array,
    dev: tuple[Array, Array] | None = None,
    *,
    eta: float = 0.1,
    batch_size: int = 32,
    epochs: int = 1000,
    patience: int = 5,
    tolerance: float = 1e-6,
    with_replacement: bool = False,
    seed: int = 0,
) -> tuple[Array, float]:
    """Return the best w and b of minibatch gradient descent with early stopping.

    Training ends when the loss on the development rows `dev` (without `dev`, on the training rows) has not fallen by
    `tolerance` for `patience` epochs. Rows are shuffled in each epoch, or drawn with replacement, so that a row may
    occur twice and another not at all.
    """
    N, D = len(x), x.shape[1]
    rng = np.random.default_rng(seed)
    w, b = np.zeros(D), 0.0  # zeros will do, as the loss is convex
    best, kept, waited = np.inf, (w, b), 0
    for _ in range(epochs):
        order = rng.choice(N, N, replace=with_replacement)
        for start in range(0, N, batch_size):
            rows = order[start : start + batch_size]
            dw, db = gradient(w, b, x[rows], t[rows])
            w, b = w - eta * dw, b - eta * db
        now = loss(w, b, *(dev or (x, t)))
        waited = 0 if now < best - tolerance else waited + 1
        if now < best:
            best, kept = now, (w, b)
        if waited == patience:
            break
    return kept
