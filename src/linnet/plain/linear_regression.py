"""Linear regression: y = x w + b, with the w and b of least mean squared error.

    E = (1/N) sum_i (y_i - t_i)^2 / 2        dE/dw = (1/N) x' (y - t)        dE/db = (1/N) sum_i (y_i - t_i)

At the minimum the slopes are zero, which is a system of linear equations; or gradient descent leads there.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def predict(w: Array, b: float, x: Array) -> Array:
    """Return y = x w + b, one number per row."""
    return x @ w + b


def loss(w: Array, b: float, x: Array, t: Array) -> float:
    """Return half the mean squared error."""
    return float(((predict(w, b, x) - t) ** 2).mean() / 2)


def gradient(w: Array, b: float, x: Array, t: Array) -> tuple[Array, float]:
    """Return dE/dw and dE/db, the means over the rows of (y - t) x and of y - t."""
    delta = predict(w, b, x) - t
    return x.T @ delta / len(x), float(delta.mean())


def closed_form(x: Array, t: Array) -> tuple[Array, float]:
    """Solve the normal equations x'x w = x't, where b is the weight of a constant input 1."""
    x = np.hstack([x, np.ones((len(x), 1))])
    w = np.linalg.solve(x.T @ x, x.T @ t)
    return w[:-1], float(w[-1])


def gradient_descent(
    x: Array, t: Array, *, eta: float = 0.1, batch_size: int | None = None, epochs: int = 100, seed: int = 0
) -> tuple[Array, float, list[tuple[Array, float]]]:
    """Return w, b and the path to them. A step uses the mean gradient of a batch of rows.

    A batch has all rows in batch gradient descent (batch_size=None), one in stochastic (batch_size=1), and several in
    minibatch gradient descent. Small batches make many noisy steps per epoch, large ones few smooth steps.
    """
    N, D = x.shape
    B = batch_size or N
    rng = np.random.default_rng(seed)
    w, b = np.zeros(D), 0.0
    path = [(w, b)]
    for _ in range(epochs):
        order = rng.permutation(N)
        for start in range(0, N, B):
            rows = order[start : start + B]
            dw, db = gradient(w, b, x[rows], t[rows])
            w, b = w - eta * dw, b - eta * db
            path.append((w, b))
    return w, b, path
