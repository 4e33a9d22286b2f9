"""Optima under constraints: where f is stationary among the x with g_1(x) = ... = g_m(x) = 0, gradients are aligned.

    grad f = sum_i lambda_i grad g_i        that is, L(x, lambda) = f - sum_i lambda_i g_i is stationary

If grad f had a component along the surface g = 0, to which grad g is perpendicular, f could be improved by moving
there. Where a constraint makes no difference its lambda is 0. Newton's method solves the n + m equations; derivatives
are computed by finite differences, to keep the program short.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Function = Callable[[Array], float]


def slopes(f: Callable[[Array], Any], x: Array, e: float = 1e-5) -> Array:
    """Return df/dx_j by central differences, as the last axis."""
    steps = e * np.eye(len(x))
    return np.stack([(np.asarray(f(x + s)) - np.asarray(f(x - s))) / (2 * e) for s in steps], axis=-1)


def lagrange(f: Function, constraints: Sequence[Function], x: Array, steps: int = 50) -> tuple[Array, Array]:
    """Return x and lambda at the stationary point that Newton's method finds from the initial x.

    lagrange(lambda x: x[0] + x[1], [lambda x: x[0] ** 2 + x[1] ** 2 - 1], [1, 0]) goes to x = (0.707, 0.707), where
    grad f = (1, 1) is 0.707 times grad g = (1.414, 1.414).
    """
    n = len(x)

    def equations(both: Array) -> Array:
        x, lam = both[:n], both[n:]
        g = np.array([g(x) for g in constraints])
        dg = np.array([slopes(g, x) for g in constraints]).reshape(-1, n)
        return np.concatenate([slopes(f, x) - lam @ dg, g])

    dg = np.array([slopes(g, np.asarray(x, float)) for g in constraints]).reshape(-1, n)
    lam = np.linalg.lstsq(dg.T, slopes(f, np.asarray(x, float)))[0]  # the best multipliers at the initial x
    both = np.concatenate([x, lam])
    for _ in range(steps):
        both = both - np.linalg.lstsq(slopes(equations, both, 1e-4), equations(both))[0]
    return both[:n], both[n:]
