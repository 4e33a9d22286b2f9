"""Log-likelihoods and deviances with all their constants, for comparing models. Sums over rows times weights.

The deviance is twice the distance of the log-likelihood from its largest possible value, times the dispersion.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from linnet.model.heads import Head

Floats = NDArray[np.float64]

# Heads whose distribution has a dispersion that is not known beforehand.
DISPERSED = ("normal", "gamma", "tweedie", "tweedie_identity")


def mean_of(head: Head, z: Floats) -> Floats:
    """The mean of each row's distribution."""
    if head.family == "bernoulli":
        e = np.exp(-np.abs(z))
        return np.asarray(np.where(z >= 0, 1, e) / (1 + e))
    if head.family == "categorical":
        e = np.exp(z - z.max(axis=1, keepdims=True))
        return np.asarray(e / e.sum(axis=1, keepdims=True))
    return z if head.output.name == "identity" else np.exp(z)


def power_of(head: Head) -> float:
    """The power of the mean that the variance goes with."""
    return {"normal": 0.0, "poisson": 1.0, "gamma": 2.0}.get(head.family, head.power)


def variance_of(head: Head, mean: Floats) -> Floats:
    """The variance of each row's distribution, in units of the dispersion."""
    if head.family == "bernoulli":
        return mean * (1 - mean)
    return np.asarray(mean ** power_of(head))


def unit_deviance(head: Head, z: Floats, t: Floats) -> Floats:
    """Deviance of each row."""
    if head.family == "bernoulli":
        each = 2 * (xlogy(t, t) + xlogy(1 - t, 1 - t) + np.logaddexp(0, z) - t * z)
        return np.asarray(each.sum(axis=1))
    if head.family == "categorical":
        top = z.max(axis=1)
        return np.asarray(2 * (top + np.log(np.exp(z - top[:, None]).sum(axis=1)) - (t * z).sum(axis=1)))
    mean, q = mean_of(head, z), power_of(head)
    if q == 0:
        each = (t - mean) ** 2
    elif q == 1:
        each = 2 * (xlogy(t, t / mean) - t + mean)
    elif q == 2:
        each = 2 * (np.log(mean / t) + t / mean - 1)
    else:
        own = np.maximum(t, 0) ** (2 - q) / ((1 - q) * (2 - q)) if q < 2 else t ** (2 - q) / ((1 - q) * (2 - q))
        each = 2 * (own - t * mean ** (1 - q) / (1 - q) + mean ** (2 - q) / (2 - q))
    return np.asarray(each.sum(axis=1))


def log_likelihood(head: Head, z: Floats, t: Floats, weights: Floats, dispersion: float) -> float:
    """Log-likelihood of all rows; NaN for Tweedie's distributions, whose density has no closed form."""
    deviance = float(weights @ unit_deviance(head, z, t))
    if head.family in ("bernoulli", "categorical"):
        return -deviance / 2
    if head.family == "poisson":
        mean = mean_of(head, z)
        return float(weights @ (xlogy(t, mean) - mean - gammaln(t + 1)).sum(axis=1))
    if head.family == "normal":
        variance = deviance / (weights.sum() * t.shape[1])  # the one that makes it largest
        return float(-0.5 * weights.sum() * t.shape[1] * (np.log(2 * np.pi * variance) + 1))
    if head.family == "gamma":
        mean, shape = mean_of(head, z), 1 / dispersion
        each = shape * np.log(shape * t / mean) - shape * t / mean - np.log(t) - gammaln(shape)
        return float(weights @ each.sum(axis=1))
    return float("nan")
