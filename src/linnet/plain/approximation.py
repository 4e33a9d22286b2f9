"""Universal approximation by construction: networks with one hidden layer that are built, not trained.

    relu_network      a new unit starts at each breakpoint u_j with the change of slope as its weight
    step_network      a squashing function, compressed horizontally, becomes a step; a sum of steps is a staircase
    ridge_network     D inputs: a sum of cosines of k . x, which can approximate any f, each by ReLUs along k

Each returns W (D x units), b, v and c of the network y(x) = v . phi(x W + b) + c.
"""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Function = Callable[[Array], Array]
Weights = tuple[Array, Array, Array, float]


def relu(z: Array) -> Array:
    """max(0, z)."""
    return np.maximum(0, z)


def network(phi: Function, weights: Weights, x: Array) -> Array:
    """Return y for rows x of D numbers."""
    W, b, v, c = weights
    return phi(x @ W + b) @ v + c


def relu_network(f: Function, u: Array) -> Weights:
    """Approximate f by straight pieces between the breakpoints u_0 < u_1 < ... < u_k: k pieces, k units.

    y(x) = f(u_0) + sum_j (s_j - s_{j-1}) relu(x - u_j), where s_j is the slope of piece j and s_{-1} = 0.
    """
    slopes = np.diff(f(u)) / np.diff(u)
    return np.ones((1, len(slopes))), -u[:-1], np.diff(slopes, prepend=0), float(f(u[:1])[0])


def step_network(f: Function, u: Array, steepness: float = 1e4, low: float = 0.0, high: float = 1.0) -> Weights:
    """Approximate f by levels f(middle of piece), with a unit that steps from `low` to `high` at each inner breakpoint.

    For any phi that is nondecreasing and goes from `low` to `high`: phi(steepness (x - u_j)) is nearly a step at u_j.
    """
    levels = f((u[:-1] + u[1:]) / 2)
    rise = np.diff(levels) / (high - low)
    return np.full((1, len(rise)), steepness), -steepness * u[1:-1], rise, float(levels[0] - low * rise.sum())


def ridge_network(f: Function, D: int, frequencies: int = 8, pieces: int = 64) -> Weights:
    """Approximate f on [0, 1]^D: samples -> sum of c_k cos(pi k . x) over k in {-n+1 ... n-1}^D -> ReLUs along each k.

    Mirrored at 0, f is even and periodic in each input; its Fourier series is a sum of ridges, functions of one number
    k . x. `relu_network` approximates each of them with units of its own.
    """
    n = frequencies
    grid = np.minimum(np.arange(2 * n), 2 * n - np.arange(2 * n)) / n  # 0 ... 1 and back: the mirrored axis
    points = np.stack(np.meshgrid(*[grid] * D, indexing="ij"), axis=-1)
    c = np.fft.fftn(f(points.reshape(-1, D)).reshape((2 * n,) * D)).real / (2 * n) ** D
    Ws, bs, vs, constant = [], [], [], 0.0
    for k in product(range(-n + 1, n), repeat=D):
        ends = np.minimum(k, 0).sum(), np.maximum(k, 0).sum()  # k . x is between them
        if not any(k):
            constant += c[k]
            continue
        _, b, v, y0 = relu_network(lambda s: np.cos(np.pi * s), np.linspace(*ends, pieces * (ends[1] - ends[0]) + 1))
        Ws.append(np.outer(k, np.ones(len(b))))
        bs.append(b)
        vs.append(c[k] * v)
        constant += c[k] * y0
    return np.hstack(Ws), np.concatenate(bs), np.concatenate(vs), float(constant)
