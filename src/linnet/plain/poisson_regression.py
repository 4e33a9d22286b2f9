"""Poisson regression: the expected count is y = e^z, z = x w + b. Target t = 0, 1, 2, ...

    p(t) = y^t e^-y / t!        E = -(1/N) sum log p(t) = (1/N) sum [e^z - t z] + constant        dE/dz = (y - t) / N

The variance equals the mean, so that errors are measured relative to it: an error of 3 is large at 4, and small at 400.
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
    """Return the best w and b of minibatch gradient descent with early stopping.

    Training ends when the loss on the development rows `dev` (without `dev`, on the training rows) has not fallen by
    `tolerance` for `patience` epochs. A learning rate that suits logistic regression may be far too large here, as
    neither e^z nor its slope is bounded.
    """
    N, D = len(x), x.shape[1]
    rng = np.random.default_rng(seed)
    w, b = np.zeros(D), float(np.log(t.mean()))  # the mean count is the best constant prediction
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
