"""Maximum entropy: of all distributions with given mean features, the one that assumes least beyond them.

Maximise -sum_i p_i log p_i subject to sum_i p_i = 1 and sum_i p_i f_i = m. The Lagrangian is stationary where
p_i = e^(lambda . f_i) / Z: softmax, with the multipliers as weights. They minimise the dual,

    D(lambda) = log sum_i e^(lambda . f_i) - lambda . m      dD = sum_i p_i f_i - m      d2D = covariance of f under p

Its slope is "expected minus observed". Softmax regression is the case of one distribution over the classes per row: its
weights are the multipliers of the constraints sum_i p_ik x_i = sum_i [t_i = k] x_i, one vector per class.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.plain.activations import softmax

Array = NDArray[Any]


def entropy(p: Array) -> float:
    """Return -sum p log p in nats, where 0 log 0 is 0."""
    return float(-(p[p > 0] * np.log(p[p > 0])).sum())


def maximum_entropy(f: Array, m: Array) -> tuple[Array, Array]:
    """Return p and lambda for outcomes with features f (outcomes x moments) of mean m, by Newton's method.

    Some distribution with all p above 0 must have this mean: no die has a mean of 7, and 6 leaves only one outcome.
    """
    f = f - m  # the same p, and the dual becomes log sum_i e^(lambda . f_i)
    lam = np.zeros(f.shape[1])
    for _ in range(100):
        p = softmax((f @ lam)[None])[0]
        g = p @ f
        step = np.linalg.lstsq((f - g).T @ (p[:, None] * (f - g)), g)[0]
        while np.logaddexp.reduce(f @ (lam - step)) > np.logaddexp.reduce(f @ lam) and np.abs(step).max() > 1e-13:
            step = step / 2  # too far: uphill
        lam = lam - step
    return softmax((f @ lam)[None])[0], lam


def classifier(x: Array, t: Array, K: int, eta: float = 1.0, steps: int = 10_000) -> tuple[Array, Array]:
    """Return p (rows x classes) and lambda (inputs x classes) of largest entropy with the data's feature sums.

    Gradient descent on the dual, whose gradient is expected minus observed, is batch gradient descent for softmax
    regression. The one-hot targets satisfy the constraints, too, with entropy 0, but predict nothing for new rows.
    """
    observed = x.T @ np.eye(K)[t]
    lam = np.zeros((x.shape[1], K))
    for _ in range(steps):
        lam = lam - eta * (x.T @ softmax(x @ lam) - observed) / len(x)
    return softmax(x @ lam), lam
