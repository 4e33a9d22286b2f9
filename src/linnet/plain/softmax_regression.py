"""Softmax regression: class probabilities p_k = e^z_k / sum_j e^z_j, z = x W + b. The target t is a class, 0 ... K-1.

    E = -(1/N) sum log p_t = (1/N) sum [log sum_k e^z_k - z_t]        dE/dz = (p - 1_t) / N        1_t: one-hot row of t

A constant added to all z of a row changes nothing, so that the z of one class may be held at 0; with two classes the
other is then the logit of logistic regression.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def softmax(z: Array) -> Array:
    """e^z_k / sum_j e^z_j along the last axis; subtracting the largest z changes nothing but avoids overflow."""
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def loss(W: Array, b: Array, x: Array, t: Array) -> float:
    """Return the mean cross-entropy."""
    z = x @ W + b
    z = z - z.max(axis=1, keepdims=True)
    return float((np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(t)), t]).mean())


def gradient(W: Array, b: Array, x: Array, t: Array) -> tuple[Array, Array]:
    """Return dE/dW and dE/db: the mean over the rows of x' (p - 1_t), and of p - 1_t.

    Column k of dE/dW is the mean of p_k x over rows of other classes, and of (p_k - 1) x over rows of class k.
    """
    delta = softmax(x @ W + b) - np.eye(W.shape[1])[t]
    return x.T @ delta / len(x), delta.mean(axis=0)


def predict(W: Array, b: Array, x: Array) -> Array:
    """Return the most probable class of each row. The region of a class is convex."""
    return (x @ W + b).argmax(axis=1)


def sample(W: Array, b: Array, x: Array, rng: np.random.Generator) -> Array:
    """Draw a class per row from the predicted distribution: the first whose cumulative probability exceeds u."""
    p = softmax(x @ W + b)
    return (p.cumsum(axis=1) > rng.random((len(x), 1))).argmax(axis=1)


def stochastic(x: Array, t: Array, K: int, *, eta: float = 0.1, steps: int = 1000, seed: int = 0) -> Array:
    """Stochastic gradient descent in its plainest form: W = 0; pick a row at random; W <- W - eta x' (p - 1_t).

    The weights of the actual class change by eta (1 - p_t) x, those of any other class k by -eta p_k x. There is no
    bias: for one, add a column of ones to x.
    """
    rng = np.random.default_rng(seed)
    W = np.zeros((x.shape[1], K))
    for i in rng.integers(len(x), size=steps):
        p = softmax(x[i] @ W)
        p[t[i]] -= 1
        W = W - eta * np.outer(x[i], p)
    return W


def fit(
    x: Array,
    t: Array,
    K: int,
    dev: tuple[Array, Array] | None = None,
    *,
    eta: float = 0.1,
    batch_size: int = 32,
    epochs: int = 1000,
    patience: int = 5,
    tolerance: float = 1e-6,
    with_replacement: bool = False,
    seed: int = 0,
) -> tuple[Array, Array]:
    """Return the best W and b of minibatch gradient descent with early stopping.

    Training ends when the loss on the development rows `dev` (without `dev`, on the training rows) has not fallen by
    `tolerance` for `patience` epochs.
    """
    N, D = len(x), x.shape[1]
    rng = np.random.default_rng(seed)
    W, b = np.zeros((D, K)), np.zeros(K)
    best, kept, waited = np.inf, (W, b), 0
    for _ in range(epochs):
        order = rng.choice(N, N, replace=with_replacement)
        for start in range(0, N, batch_size):
            rows = order[start : start + batch_size]
            dW, db = gradient(W, b, x[rows], t[rows])
            W, b = W - eta * dW, b - eta * db
        now = loss(W, b, *(dev or (x, t)))
        waited = 0 if now < best - tolerance else waited + 1
        if now < best:
            best, kept = now, (W, b)
        if waited == patience:
            break
    return kept
