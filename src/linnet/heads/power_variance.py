"""Distributions whose variance is a dispersion times the power q of the mean: the Tweedie family.

It includes the normal (q = 0), the Poisson (1), the gamma (2) and the inverse Gaussian distribution (3). With a = 2 - q
and b = 1 - q half the deviance of a target t is t^a / (a b) - t mean^b / b + mean^a / a.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from linnet.heads.base import Floats, Head, Targets, weighted_sum
from linnet.heads.bernoulli import t_log_t
from linnet.heads.normal import normal_log_likelihood

_MAX_SERIES_ARGUMENT, _SERIES_TERMS = 0.05, 15  # up to this argument, the series is exact to rounding
_MAX_RATIO = 1e8  # of a target to its mean: beyond it the deviance is computed relative to the target
_MIN_NORMAL, _MAX_LOG = 1e-290, 600.0  # below the first, and above e to the second, floats lose precision
_MIN_STIRLING = 100.0  # from this argument on, Stirling's series is exact to rounding


@dataclass(frozen=True)
class PowerVariance(Head):
    """A distribution of variance φ mean^q."""

    @property
    def variance_by_likelihood(self) -> bool:
        return self.variance_power == 0

    @property
    def positive_only(self) -> bool:
        return self.variance_power >= 1

    def link(self, mean: Floats) -> Floats:
        return np.asarray(np.log(np.where(mean > 0, mean, 1e-10))) if self.log_link else mean

    def deviance(self, z: Floats, t: Targets, weights: Floats) -> float:
        each = half_deviance(t, z, self.variance_power, log_link=self.log_link)
        return 2 * weighted_sum(weights, np.maximum(each, 0).sum(axis=1))

    def log_likelihood(self, deviance: float, t: Targets, weights: Floats, dispersion: float) -> float:
        """Return the log-likelihood; NaN for powers other than 0, 1, 2 and 3, whose density has no closed form."""
        q = self.variance_power
        if q == 0:
            return normal_log_likelihood(deviance, float(weights.sum()) * t.shape[1])
        if q == 1:
            return weighted_sum(weights, largest_poisson(t).sum(axis=1)) - 0.5 * deviance
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            if q == 2:
                shape = np.float64(1) / dispersion
                largest = np.log(shape) + largest_poisson(np.asarray(shape)) - np.log(t)
                return weighted_sum(weights, largest.sum(axis=1)) - 0.5 * shape * deviance
            if q == 3:
                largest = -0.5 * (np.log(2 * np.pi * dispersion) + 3 * np.log(t))
                return weighted_sum(weights, largest.sum(axis=1)) - 0.5 * deviance / dispersion
        return float("nan")


@np.errstate(all="ignore")  # a row of weight 0 may have any mean
def half_deviance(t: Floats, z: Floats, q: float, *, log_link: bool) -> Floats:
    """Return half the deviance of each target, given z and the power q of the variance.

    With u = t / mean, a = 2 - q and b = 1 - q it is

        mean^a ((u^a - 1) / a - (u - 1)) / b    and also    mean^a (u (u^b - 1) / b - (u - 1)) / a,

    of which the first is accurate where a, the second where b is small or zero. Means and u that would overflow or
    underflow are represented by their logarithms.
    """
    a, b = 2 - q, 1 - q
    mean, log_mean = (np.exp(z), z) if log_link else (z, np.log(z))
    if q == 0:
        return np.asarray(0.5 * (t - mean) ** 2)
    log_t = np.log(np.maximum(t, 0))
    log_u = log_t - log_mean
    plain = (mean > _MIN_NORMAL) & np.isfinite(mean) & (np.abs(log_u) < _MAX_LOG)
    u = np.where(plain, t / mean, np.exp(log_u))
    e = np.where(plain, (t - mean) / mean, u - 1)
    log_u = np.where(plain, np.where((u > 0.5) & (u < 2), np.log1p(e), np.log(u)), log_u)
    far = (_less_one(a, log_u) - e) / b if q > 1.5 else (np.where(u > 0, u * _less_one(b, log_u), 0.0) - e) / a
    by_mean = _times_power(np.where(np.abs(e) < _MAX_SERIES_ARGUMENT, _near(e, q), far), mean, log_mean, a)
    # divided by u^a and multiplied by t^a, where t is far above its mean, or mean^a overflows or underflows
    off = np.exp(-b * log_u) - np.exp(-a * log_u)
    far = (_less_one(-a, log_u) - off) / b if q > 1.5 else (_less_one(-b, log_u) - off) / a
    by_target = _times_power(far, t, log_t, a)
    by_target = np.where(np.isfinite(off), by_target, np.exp(log_t + b * log_mean) / -b)
    of_zero = np.exp(a * log_mean) / a if a > 0 else np.inf
    below = mean**a / a - t * mean**b / b if q < 0 else np.nan  # for q < 0 any t is valid, but means are positive
    by_mean = np.where((u < _MAX_RATIO) & ((u > 1 / _MAX_RATIO) | (a >= 0)), by_mean, by_target)
    each = np.where(t > 0, by_mean, np.where(t == 0, of_zero, below))
    return np.where((mean > 0) | log_link, each, np.inf)


def _less_one(power: float, log_x: Floats) -> Floats:
    """Return (x^power - 1) / power, with the limit log x for a power of 0."""
    return log_x if power == 0 else np.asarray(np.expm1(power * log_x) / power)


def _times_power(f: Floats, x: Floats, log_x: Floats, power: float) -> Floats:
    """Return f x^power, where x^power itself may overflow or underflow."""
    by_power = x**power
    return np.where(
        (by_power > _MIN_NORMAL) & (by_power < 1 / _MIN_NORMAL), f * by_power, np.exp(power * log_x + np.log(f))
    )


def _near(e: Floats, q: float) -> Floats:
    """Return ((1 + e)^(2-q) - 1 - (2 - q) e) / ((1-q) (2-q)) by a series, which is also valid for q = 1 and 2."""
    factors = [0.5]
    for k in range(3, _SERIES_TERMS):
        factors.append(factors[-1] * (3 - k - q) / k)
    return np.asarray(e**2 * np.polynomial.polynomial.polyval(e, factors))


def largest_poisson(t: Floats) -> Floats:
    """Return t log t - t - log t!, the Poisson log-probability of t if t is the mean; Stirling's series for large t."""
    large = np.maximum(t, _MIN_STIRLING)
    stirling = -0.5 * np.log(2 * np.pi * large) - 1 / (12 * large) + 1 / (360 * large**3)
    return np.where(t < _MIN_STIRLING, t_log_t(t) - t - scipy.special.gammaln(t + 1), stirling)
