"""Distributions whose variance is a power q of the mean, times a dispersion: Poisson's (q = 1), the gamma (2) and
Tweedie's, which the normal (0) and the inverse Gaussian distribution (3) belong to as well.

With a = 2 - q and b = 1 - q half the deviance of a target t is t^a / (a b) - t mean^b / b + mean^a / a.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from linnet.heads.base import Floats, Head, Targets, weighted_sum
from linnet.heads.bernoulli import t_log_t
from linnet.heads.normal import normal_log_likelihood

_SMALL, _TERMS = 0.05, 15  # below so much a series of so many terms is exact
_MANY = 1e8  # times its mean: the deviance of a target beyond it is measured by the target
_TINY, _FAR = 1e-290, 600.0  # below so much, and beyond e^so much, numbers lose their digits
_LARGE = 100.0


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
        """NaN for other powers than 0, 1, 2 and 3 (normal, Poisson, gamma, inverse Gaussian): no density is known."""
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


@np.errstate(all="ignore")  # a row without weight may have any mean
def half_deviance(t: Floats, z: Floats, q: float, *, log_link: bool) -> Floats:
    """Half of each target's deviance: with u = t / mean, a = 2 - q and b = 1 - q it is

        mean^a ((u^a - 1) / a - (u - 1)) / b    and as well    mean^a (u (u^b - 1) / b - (u - 1)) / a,

    of which one keeps its digits where a, and the other where b, is small or zero. Logarithms stand for means, and for
    u, that are too large or too small to be numbers.
    """
    a, b = 2 - q, 1 - q
    mean, log_mean = (np.exp(z), z) if log_link else (z, np.log(z))
    if q == 0:
        return np.asarray(0.5 * (t - mean) ** 2)
    log_t = np.log(np.maximum(t, 0))
    log_u = log_t - log_mean
    plain = (mean > _TINY) & np.isfinite(mean) & (np.abs(log_u) < _FAR)
    u = np.where(plain, t / mean, np.exp(log_u))
    e = np.where(plain, (t - mean) / mean, u - 1)
    log_u = np.where(plain, np.where((u > 0.5) & (u < 2), np.log1p(e), np.log(u)), log_u)
    far = (_less_one(a, log_u) - e) / b if q > 1.5 else (np.where(u > 0, u * _less_one(b, log_u), 0.0) - e) / a
    by_mean = _times_power(np.where(np.abs(e) < _SMALL, _near(e, q), far), mean, log_mean, a)
    # the same divided by u^a, times t^a, where t is far above its mean, or the mean's power too small or too large
    off = np.exp(-b * log_u) - np.exp(-a * log_u)
    far = (_less_one(-a, log_u) - off) / b if q > 1.5 else (_less_one(-b, log_u) - off) / a
    by_target = _times_power(far, t, log_t, a)
    by_target = np.where(np.isfinite(off), by_target, np.exp(log_t + b * log_mean) / -b)
    of_zero = np.exp(a * log_mean) / a if a > 0 else np.inf
    below = mean**a / a - t * mean**b / b if q < 0 else np.nan  # distributions of any t still have means above 0
    by_mean = np.where((u < _MANY) & ((u > 1 / _MANY) | (a >= 0)), by_mean, by_target)
    each = np.where(t > 0, by_mean, np.where(t == 0, of_zero, below))
    return np.where((mean > 0) | log_link, each, np.inf)


def _less_one(power: float, log_x: Floats) -> Floats:
    """(x^power - 1) / power, which is log x where the power is 0."""
    return log_x if power == 0 else np.asarray(np.expm1(power * log_x) / power)


def _times_power(f: Floats, x: Floats, log_x: Floats, power: float) -> Floats:
    """f x^power, where x^power by itself may be too large or too small to be a number."""
    by_power = x**power
    return np.where((by_power > _TINY) & (by_power < 1 / _TINY), f * by_power, np.exp(power * log_x + np.log(f)))


def _near(e: Floats, q: float) -> Floats:
    """((1 + e)^(2-q) - 1 - (2 - q) e) / ((1-q) (2-q)) as a series, which also holds for q = 1 and 2."""
    factors = [0.5]
    for k in range(3, _TERMS):
        factors.append(factors[-1] * (3 - k - q) / k)
    return np.asarray(e**2 * np.polynomial.polynomial.polyval(e, factors))


def largest_poisson(t: Floats) -> Floats:
    """log of the probability of t where t is the mean, t log t - t - log t!; by Stirling's series for large t."""
    large = np.maximum(t, _LARGE)
    stirling = -0.5 * np.log(2 * np.pi * large) - 1 / (12 * large) + 1 / (360 * large**3)
    return np.where(t < _LARGE, t_log_t(t) - t - scipy.special.gammaln(t + 1), stirling)
