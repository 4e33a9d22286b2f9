"""Poisson regression: the expected count is y = e^z, z = x w + b. Target t = 0, 1, 2, ...

    p(t) = y^t e^-y / t!        E = -(1/N) sum log p(t) = (1/N) sum [e^z - t z] + constant        dE/dz = (y - t) / N

The variance is the mean, so that errors count in relation to what is expected: 3 off is much at 4, and little at 400.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def loss(w: Array, b: float, x: Array, t: Array) -> float:
    """Return the mean negative log-likelihood, without log t!."""
    z = x @ w + b
    return float((np.exp(z) - t * z).mean())


def gradient(w: Array, b: float, x: Array, t: Array) -> tuple[Array, float]:
    """Return dE/dw and dE/db, the means over the rows of (y - t) x and of y - t."""
    delta = np.exp(x @ w + b) - t
    return x.T @ delta / len(x), float(delta.mean())


def fit(
    x: Array,
    t: Array,
    dev: tuple[Array, Array] | None = None,
    *,
    eta: float = 0.01,
    batch_size: int = 32,
    epochs: int = 1000,
    patience: int = 5,
    tolerance: float = 1e-6,
    with_replacement: bool = False,
    seed: int = 0,
) -> tuple[Array, float]:
    """Minibatch gradient descent until the loss on the development rows `dev` has not fallen by `tolerance` for
    `patience` epochs; without `dev`, the loss on the training rows. Return the best w and b met.

    A rate that is fine for yes and no may be far too large here: e^z has no upper limit, nor has its slope.
    """
    N, D = len(x), x.shape[1]
    rng = np.random.default_rng(seed)
    w, b = np.zeros(D), float(np.log(t.mean()))  # the counts' mean is the best constant
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
