"""The distribution of largest entropy under given moments.

Over outcomes i with features f_i, maximise -Σ p_i log p_i subject to Σ p_i = 1 and Σ p_i f_i = m. With Lagrange's
multipliers λ this becomes a problem without constraints, the dual:

    minimise  log Σ_i e^(λ·f_i) - λ·m        with gradient  E_p f - m  and second derivative  Cov_p f

and the solution is exponential, p_i ∝ e^(λ·f_i). Softmax regression is the same problem with one set of outcomes a row:
its gradient, too, is "expected features minus observed features".
"""

from dataclasses import dataclass

import numpy as np
import scipy.optimize
from numpy.typing import ArrayLike, NDArray

from linnet.errors import ConfigError, DataError
from linnet.fit.solvers.newton import newton
from linnet.fit.solvers.problem import Point
from linnet.heads import log_softmax

Floats = NDArray[np.float64]
_TRIES = 10
_OFF = 1e-9  # of the features' mean distance from a moment
_ROUNDS = 20  # of giving outcomes and features the same scale


@dataclass(frozen=True, slots=True)
class MaxEnt:
    """A distribution of largest entropy."""

    probabilities: Floats
    multipliers: Floats  # λ; infinite, away from them, where the moments leave outcomes no probability at all
    entropy: float  # in nats
    gap: float  # dual minus primal: how far the entropy can be from the largest
    moments: Floats  # reached


@dataclass(frozen=True, slots=True)
class _Dual:
    """log Σ e^(λ·f_i) - λ·m, with f counted from m."""

    f: Floats

    def at(self, theta: Floats, *, gradient: bool = True, curvature: bool = False, row_stride: int = 1) -> Point:
        value, log_p = _log_sum_exp(self.f @ theta)
        p = np.exp(log_p)
        mean = p @ self.f
        spread = self.f - mean
        return Point(theta, value, mean, spread.T @ (p[:, None] * spread))


def _log_sum_exp(z: Floats) -> tuple[float, Floats]:
    """log Σ e^z, and the logarithms of the shares in the sum."""
    log_p = log_softmax(z[None])[0]
    return float(z.max() - log_p.max()), log_p


def maxent(features: ArrayLike, moments: ArrayLike = ()) -> MaxEnt:
    """Return the distribution over outcomes of largest entropy whose mean features are `moments`.

    `features`: one row an outcome, one column a moment; one dimension will do for one moment.

    >>> die = maxent([1, 2, 3, 4, 5, 6], 4.5)
    >>> die.probabilities.round(3)
    array([0.054, 0.079, 0.114, 0.165, 0.24 , 0.347])
    """
    f = np.asarray(features, np.float64)
    m = np.atleast_1d(np.asarray(moments, np.float64))
    f = f[:, None] if f.ndim == 1 else f
    if f.ndim != 2 or len(f) == 0:
        raise DataError(f"features must have one row an outcome and one column a moment, got shape {f.shape}")
    if m.size == 0:
        f = f[:, :0]
    if m.shape != (f.shape[1],):
        raise ConfigError(
            f"moments must have one number a column of features, {f.shape[1]} in all, got shape {m.shape}"
        )
    if not (np.isfinite(f).all() and np.isfinite(m).all()):
        raise DataError("features and moments must be finite")
    scale = np.maximum(np.abs(f - m).max(axis=0, initial=0.0), 1e-300)
    centered = (f - m) / scale
    possible = _possible(centered, f, m)
    inside = centered[possible]
    theta, order = np.zeros(f.shape[1]), np.arange(f.shape[1])
    for _ in range(_TRIES):  # a small probability is no small part of a moment: once more from there
        theta = newton(_Dual(inside), theta, order, enough=1e-14, plain=np.zeros_like(theta), short=False).theta
        dual, log_p = _log_sum_exp(inside @ theta)
        off = np.abs(np.exp(log_p) @ inside)
        if (off <= _OFF * (np.exp(log_p) @ np.abs(inside))).all():
            break
    else:
        column = int(np.argmax(off))
        reached = m[column] + float(np.exp(log_p) @ inside[:, column]) * scale[column]
        raise DataError(
            f"moment {column} = {m[column]:g} could not be reached, only {reached:g}: the features differ too much in "
            "size, or the moments are too near the edge of what is possible"
        )
    p = np.zeros(len(f))
    p[possible] = np.exp(log_p)
    multipliers = theta / scale
    entropy = 0.0 - float(p[possible] @ log_p)
    if not possible.all():
        multipliers = np.copysign(np.inf, -centered[~possible].sum(axis=0))
    return MaxEnt(p, multipliers, entropy, dual - entropy, m + (p[possible] @ inside) * scale)


def _possible(centered: Floats, f: Floats, m: Floats) -> NDArray[np.bool_]:
    """Which outcomes can have any probability; an error if no distribution has the moments."""
    n, d = centered.shape
    if d == 0:
        return np.ones(n, np.bool_)
    for column in range(d):
        low, high = float(f[:, column].min()), float(f[:, column].max())
        if not low <= m[column] <= high:
            raise DataError(
                f"no distribution over these outcomes has moment {column} = {m[column]:g}: "
                f"its feature lies between {low:g} and {high:g}"
            )
    # The largest support, by one linear program: maximise Σ s with s <= q, s <= 1 over unnormalised q with Σ q f = 0.
    # As q is not normalised each outcome may have a scale of its own, and so may each feature.
    equal = centered.copy()
    for _ in range(_ROUNDS):
        for axis in (1, 0):
            size = np.abs(equal).max(axis=axis, keepdims=True)
            equal /= np.where(size > 0, np.sqrt(size), 1)
    result = scipy.optimize.linprog(
        np.concatenate([np.zeros(n), -np.ones(n)]),
        A_ub=np.hstack([-np.eye(n), np.eye(n)]),
        b_ub=np.zeros(n),
        A_eq=np.hstack([equal.T, np.zeros((d, n))]),
        b_eq=np.zeros(d),
        bounds=[(0, None)] * n + [(0, 1)] * n,
    )
    possible = result.x[n:] > 1e-7 if result.x is not None else np.zeros(n, np.bool_)
    if not possible.any():
        raise DataError(
            "no distribution over these outcomes has all these moments together: each lies within the range "
            "of its feature, but the point they make is outside the convex hull of the outcomes"
        )
    return np.asarray(possible)
