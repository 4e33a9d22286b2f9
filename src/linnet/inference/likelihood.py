"""Log-likelihoods and deviances with all their constants, for comparing models. Sums over rows times weights.

The deviance is twice the distance of the log-likelihood from its largest possible value, times the dispersion.
"""

import numpy as np
import scipy

from linnet._native import core
from linnet.model.heads import Floats, Head, Targets, power_of

_SMALL, _TERMS = 0.05, 15  # below so much a series of so many terms is exact
_LARGE = 100.0


def has_dispersion(head: Head) -> bool:
    """Whether the distribution has a dispersion that is not known beforehand."""
    return head.family in ("normal", "gamma", "tweedie", "tweedie_identity") and power_of(head) != 1


def weighted_sum(weights: Floats, of_rows: Floats) -> float:
    """Σ w x over rows; a row without weight adds nothing, even if its x is infinite."""
    total = core.dot(weights, of_rows)
    return total if np.isfinite(total) else core.dot(weights, np.where(weights > 0, of_rows, 0.0))


def deviance(head: Head, z: Floats, t: Targets, weights: Floats) -> float:
    """Twice the distance of the loss sum from its least, where every mean is its row's t. Row by row and never below 0:
    the difference of two sums would have few digits, or none, where losses are large.

    With variance mean^q and e = (t - mean) / mean it is 2 mean^(2-q) ((1 + e)^(2-q) - 1 - (2 - q) e) / ((1-q) (2-q)).
    """
    if head.family in ("normal", "bernoulli", "categorical"):
        least = 0.0 if t.ndim == 1 or head.family == "normal" else -_t_log_t(t) - _t_log_t(1 - t)
        return 2 * weighted_sum(weights, np.maximum(head.loss(z, t) - np.sum(least, axis=-1), 0))
    q, mean = power_of(head), head.mean(z)
    with np.errstate(all="ignore"):  # a row without weight may have any mean
        e = (t - mean) / mean
        each = mean ** (2 - q) * np.where(np.abs(e) < _SMALL, _near(e, q), _far(e, q))
        each = np.where((mean > 0) | (q == 0), each, np.inf)  # the identity link may leave the means there are
        each = np.where((t == 0) & (mean == 0) & (q < 2), 0.0, each)  # e^z of a far z
    return 2 * weighted_sum(weights, np.maximum(each, 0).sum(axis=1))


def _t_log_t(t: Floats) -> Floats:
    """t log t, which is 0 for t = 0."""
    return np.asarray(t * np.log(np.where(t == 0, 1, t)))


def _near(e: Floats, q: float) -> Floats:
    """((1 + e)^(2-q) - 1 - (2 - q) e) / ((1-q) (2-q)) as a series, which also holds for q = 1 and 2."""
    factors = [0.5]
    for k in range(3, _TERMS):
        factors.append(factors[-1] * (3 - k - q) / k)
    return np.asarray(e**2 * np.polynomial.polynomial.polyval(e, factors))


def _far(e: Floats, q: float) -> Floats:
    """The same by the formula. A negative t has no mean of its own but with q = 0."""
    if q == 1:
        return np.asarray(_t_log_t(1 + e) - e)
    if q == 2:
        return np.asarray(e - np.log1p(e))
    ratio = 1 + e if q == 0 else np.maximum(1 + e, 0)
    return np.asarray((ratio ** (2 - q) - 1 - (2 - q) * e) / ((1 - q) * (2 - q)))


def log_likelihood(head: Head, away: float, t: Targets, weights: Floats, dispersion: float) -> float:
    """Log-likelihood of all rows whose deviance is known; NaN for Tweedie's distributions of other powers than 0, 1, 2
    and 3 (normal, Poisson, gamma, inverse Gaussian), whose density has no closed form.
    """
    if head.family in ("bernoulli", "categorical"):  # targets are 0 or 1
        return -0.5 * away
    q = power_of(head)
    if q == 1:
        return weighted_sum(weights, _largest_poisson(t).sum(axis=1)) - 0.5 * away
    if q == 0:
        count = float(weights.sum()) * t.shape[1]
        variance = away / count  # the one that makes it largest
        with np.errstate(divide="ignore"):
            return float(-0.5 * count * (np.log(2 * np.pi * variance) + 1))
    if q == 2:
        shape = 1 / dispersion
        largest = shape * (np.log(shape) - 1) - scipy.special.gammaln(shape) - np.log(t)
        return weighted_sum(weights, largest.sum(axis=1)) - 0.5 * shape * away
    if q == 3:
        return weighted_sum(weights, -0.5 * np.log(2 * np.pi * dispersion * t**3).sum(axis=1)) - 0.5 * away / dispersion
    return float("nan")


def _largest_poisson(t: Floats) -> Floats:
    """log of the probability of t where t is the mean, t log t - t - log t!; by Stirling's series for large t."""
    large = np.maximum(t, _LARGE)
    stirling = -0.5 * np.log(2 * np.pi * large) - 1 / (12 * large) + 1 / (360 * large**3)
    return np.where(t < _LARGE, _t_log_t(t) - t - scipy.special.gammaln(t + 1), stirling)
