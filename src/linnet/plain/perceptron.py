"""Rosenblatt's perceptron: z = x w + b, and the prediction is the sign of z. It learns from its mistakes only.

A row with t = +1 or -1 is a mistake if t z <= 0. Then w changes by eta t x and b by eta t, which raises t z by
eta (|x|^2 + 1). If a plane separates the classes, the number of mistakes is finite.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def perceptron(
    x: Array,
    t: Array,
    *,
    eta: float = 1.0,
    epochs: int = 1000,
    seed: int | None = 0,
    with_replacement: bool = False,
) -> tuple[Array, float, list[int]]:
    """Return w, b and the number of mistakes per epoch; with seed=None the rows are not shuffled.

    With replacement, an epoch is as many rows drawn uniformly, so an epoch without mistakes need not have seen all.
    """
    rng = np.random.default_rng(seed)
    w, b = np.zeros(x.shape[1]), 0.0
    mistakes = []
    for _ in range(epochs):
        drawn = rng.integers(len(x), size=len(x)) if with_replacement else rng.permutation(len(x))
        order = np.arange(len(x)) if seed is None else drawn
        mistakes.append(0)
        for i in order:
            if t[i] * (x[i] @ w + b) <= 0:
                w = w + eta * t[i] * x[i]
                b = b + eta * t[i]
                mistakes[-1] += 1
        if mistakes[-1] == 0:
            break
    return w, b, mistakes


def predict(w: Array, b: float, x: Array) -> Array:
    """Return +1 or -1 per row."""
    return np.where(x @ w + b > 0, 1, -1)
