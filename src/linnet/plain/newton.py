"""Newton's method: repeated steps to the minimum of the parabola that approximates the objective.

    theta <- theta - H^-1 g        g = dE/dtheta        H = d2E/dtheta2        E = sum_i loss_i + l2 |W|^2 / 2

For a generalized linear model g = x' (y - t) and H = x' diag(c) x with the curvature c of each row's loss. Each step is
a least-squares fit with weights c, hence its other name, iteratively reweighted least squares (IRLS).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.plain.activations import softmax
from linnet.plain.heads import Categorical, Head

Array = NDArray[Any]


def minimise(E: Callable[[Array], float], g: Callable[[Array], Array], H: Callable[[Array], Array], n: int) -> Array:
    """Return the theta of n parameters that minimises E, starting from 0; g and H are the derivatives of E.

    Where the approximation is poor a full step may lead uphill: it is halved until E falls. H may be singular, as for
    softmax, whose logits are determined up to a constant: of all solutions, that of smallest norm is taken.
    """
    theta = np.zeros(n)
    for _ in range(100):
        step = np.linalg.lstsq(H(theta), g(theta), rcond=1e-12)[0]
        while np.abs(step).max() > 1e-12 and E(theta - step) > E(theta):
            step = step / 2
        theta = theta - step
        if np.abs(step).max() <= 1e-12 * (1 + np.abs(theta).max()):
            break
    return theta


def irls(head: Head, x: Array, t: Array, *, l2: float = 0.0) -> tuple[Array, float]:
    """Fit w and b of a model with one output and any smooth head; b is not penalised."""
    x = np.hstack([x, np.ones((len(x), 1))])
    t, free = t[:, None], np.append(np.full(x.shape[1] - 1, l2), 0.0)
    theta = minimise(
        lambda theta: float(head.loss(x @ theta[:, None], t).sum() + free @ theta**2 / 2),
        lambda theta: (x.T @ head.slope(x @ theta[:, None], t))[:, 0] + free * theta,
        lambda theta: x.T @ (head.curvature(x @ theta[:, None], t) * x) + np.diag(free),
        x.shape[1],
    )
    return theta[:-1], float(theta[-1])


def softmax_regression(x: Array, t: Array, K: int, *, l2: float = 0.0) -> tuple[Array, Array]:
    """Fit W and b of softmax regression. The K outputs of a row are coupled: its curvature is diag(p) - p p'."""
    x, t = np.hstack([x, np.ones((len(x), 1))]), np.eye(K)[t]
    M, head = x.shape[1], Categorical()
    free = np.repeat(np.append(np.full(M - 1, l2), 0.0), K)

    def H(theta: Array) -> Array:
        p = softmax(x @ theta.reshape(M, K))
        c = p[:, :, None] * np.eye(K) - p[:, :, None] * p[:, None, :]
        return np.einsum("ia,ikl,ib->akbl", x, c, x).reshape(M * K, M * K) + np.diag(free)

    theta = minimise(
        lambda theta: float(head.loss(x @ theta.reshape(M, K), t).sum() + free @ theta**2 / 2),
        lambda theta: (x.T @ head.slope(x @ theta.reshape(M, K), t)).ravel() + free * theta,
        H,
        M * K,
    )
    return theta.reshape(M, K)[:-1], theta.reshape(M, K)[-1]
