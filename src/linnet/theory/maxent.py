"""The distribution of largest entropy with given moments.

Over outcomes i with features f_i, maximise -Σ p_i log p_i subject to Σ p_i = 1 and Σ p_i f_i = m. With Lagrange
multipliers λ this becomes a problem without constraints, the dual:

    minimise  log Σ_i e^(λ·f_i) - λ·m        with gradient  E_p f - m  and second derivative  Cov_p f

and the solution is exponential, p_i ∝ e^(λ·f_i). Softmax regression solves the same problem with one set of outcomes
per row: its gradient, too, is "expected features minus observed features".
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
_MAX_TRIES = 10
_MOMENT_TOLERANCE = 1e-9  # relative to the mean distance of the features from the moment
_SCALING_ROUNDS = 20  # that give outcomes and features a common scale


@dataclass(frozen=True, slots=True)
class MaxEnt:
    """A distribution of largest entropy.

    Parameters
    ----------
    probabilities : array of shape (outcomes,)
        p.
    multipliers : array of shape (moments,)
        λ; infinite where the moments exclude outcomes, so that these have probability 0.
    entropy : float
        The entropy, in nats.
    gap : float
        The dual minus the primal objective: an upper bound on the difference between the maximum and the entropy.
    moments : array of shape (moments,)
        The moments reached.
    """

    probabilities: Floats
    multipliers: Floats
    entropy: float
    gap: float
    moments: Floats


@dataclass(frozen=True, slots=True)
class _Dual:
    """The dual objective log Σ e^(λ·f_i) - λ·m, where f is centered at m."""

    f: Floats

    def at(self, theta: Floats, *, gradient: bool = True, curvature: bool = False, row_stride: int = 1) -> Point:
        value, log_p = _log_sum_exp(self.f @ theta)
        p = np.exp(log_p)
        mean = p @ self.f
        spread = self.f - mean
        return Point(theta, value, mean, spread.T @ (p[:, None] * spread))


def _log_sum_exp(z: Floats) -> tuple[float, Floats]:
    """Return log Σ e^z, and the log-softmax of z."""
    log_p = log_softmax(z[None])[0]
    return float(z.max() - log_p.max()), log_p


def maxent(features: ArrayLike, moments: ArrayLike = ()) -> MaxEnt:
    """Return the distribution of largest entropy whose mean features are the given moments.

    Parameters
    ----------
    features : array of shape (outcomes, moments) or (outcomes,)
        The features of each outcome; one dimension for a single moment.
    moments : array of shape (moments,), default=()
        The means of the features; without any, the distribution is uniform.

    Returns
    -------
    MaxEnt
        The distribution and its multipliers.

    Raises
    ------
    DataError
        If no distribution has these moments.

    Examples
    --------
    >>> die = maxent([1, 2, 3, 4, 5, 6], 4.5)
    >>> die.probabilities.round(3)
    array([0.054, 0.079, 0.114, 0.165, 0.24 , 0.347])
    """
    f = np.asarray(features, np.float64)
    m = np.atleast_1d(np.asarray(moments, np.float64))
    f = f[:, None] if f.ndim == 1 else f
    if f.ndim != 2 or len(f) == 0:
        raise DataError(f"features must have one row per outcome and one column per moment, got shape {f.shape}")
    if m.size == 0:
        f = f[:, :0]
    if m.shape != (f.shape[1],):
        raise ConfigError(
            f"moments must have one number per column of features, {f.shape[1]} in all, got shape {m.shape}"
        )
    if not (np.isfinite(f).all() and np.isfinite(m).all()):
        raise DataError("features and moments must be finite")
    scale = np.maximum(np.abs(f - m).max(axis=0, initial=0.0), 1e-300)
    centered = (f - m) / scale
    possible = _possible(centered, f, m)
    inside = centered[possible]
    theta, order = np.zeros(f.shape[1]), np.arange(f.shape[1])
    for _ in range(_MAX_TRIES):  # outcomes of small probability may matter to a moment: continue until it is reached
        theta = newton(_Dual(inside), theta, order, enough=1e-14, plain=np.zeros_like(theta), short=False).theta
        dual, log_p = _log_sum_exp(inside @ theta)
        error = np.abs(np.exp(log_p) @ inside)
        if (error <= _MOMENT_TOLERANCE * (np.exp(log_p) @ np.abs(inside))).all():
            break
    else:
        column = int(np.argmax(error))
        reached = m[column] + float(np.exp(log_p) @ inside[:, column]) * scale[column]
        raise DataError(
            f"moment {column} = {m[column]:g} could not be reached, only {reached:g}: the scales of the features "
            "differ too much, or the moments are too close to the boundary of the possible ones"
        )
    p = np.zeros(len(f))
    p[possible] = np.exp(log_p)
    multipliers = theta / scale
    entropy = 0.0 - float(p[possible] @ log_p)
    if not possible.all():
        multipliers = np.copysign(np.inf, -centered[~possible].sum(axis=0))
    return MaxEnt(p, multipliers, entropy, dual - entropy, m + (p[possible] @ inside) * scale)


def _possible(centered: Floats, f: Floats, m: Floats) -> NDArray[np.bool_]:
    """Return the outcomes that can have a probability above 0; a DataError if no distribution has the moments."""
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
    # As q is not normalised, each outcome and each feature can be rescaled.
    balanced = centered.copy()
    for _ in range(_SCALING_ROUNDS):
        for axis in (1, 0):
            size = np.abs(balanced).max(axis=axis, keepdims=True)
            balanced /= np.where(size > 0, np.sqrt(size), 1)
    result = scipy.optimize.linprog(
        np.concatenate([np.zeros(n), -np.ones(n)]),
        A_ub=np.hstack([-np.eye(n), np.eye(n)]),
        b_ub=np.zeros(n),
        A_eq=np.hstack([balanced.T, np.zeros((d, n))]),
        b_eq=np.zeros(d),
        bounds=[(0, None)] * n + [(0, 1)] * n,
    )
    possible = result.x[n:] > 1e-7 if result.x is not None else np.zeros(n, np.bool_)
    if not possible.any():
        raise DataError(
            "no distribution over these outcomes has all these moments jointly: each lies within the range "
            "of its feature, but their point is outside the convex hull of the outcomes"
        )
    return np.asarray(possible)
