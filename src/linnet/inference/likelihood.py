"""Log-likelihoods and deviances with all their constants, for comparing models. Sums over rows times weights.

The deviance is twice the distance of the log-likelihood from its largest possible value, times the dispersion.
"""

import numpy as np
from scipy.special import gammaln, xlogy

from linnet._native import core
from linnet.model.heads import Floats, Head, Targets

# Heads whose distribution has a dispersion that is not known beforehand.
DISPERSED = ("normal", "gamma", "tweedie", "tweedie_identity")


def power_of(head: Head) -> float:
    """The power of the mean that the variance goes with."""
    return {"normal": 0.0, "poisson": 1.0, "gamma": 2.0}.get(head.family, head.power)


def weighted_sum(weights: Floats, of_rows: Floats) -> float:
    """Σ w x over rows; a row without weight adds nothing, even if its x is infinite."""
    return core.dot(weights, np.where(weights > 0, of_rows, 0.0))


def least_loss(head: Head, t: Targets, weights: Floats) -> float:
    """Σ w loss where every mean is its row's t: a deviance is twice what a loss sum lies above it."""
    q = power_of(head)
    if t.ndim == 1 or head.family == "normal":  # labels, or squares
        return 0.0
    if head.family == "bernoulli":
        each = np.zeros_like(t) if ((t == 0) | (t == 1)).all() else -xlogy(t, t) - xlogy(1 - t, 1 - t)
    elif head.family == "categorical":
        each = -xlogy(t, t)
    elif q == 1:
        each = t - xlogy(t, t)
    elif q == 2:
        each = 1 + np.log(t)
    else:  # a negative t has no mean of its own but with q = 0
        each = -((t if q == 0 else np.maximum(t, 0)) ** (2 - q)) / ((1 - q) * (2 - q))
    return weighted_sum(weights, each.sum(axis=1))


def log_likelihood(head: Head, loss: float, t: Targets, weights: Floats, dispersion: float) -> float:
    """Log-likelihood of all rows whose loss sum is known; NaN for Tweedie's distributions, whose density has no closed
    form.
    """
    if head.family in ("bernoulli", "categorical"):
        return -loss
    if head.family == "poisson":
        return -loss - weighted_sum(weights, gammaln(t + 1).sum(axis=1))
    if head.family == "normal":
        count = float(weights.sum()) * t.shape[1]
        variance = 2 * loss / count  # the one that makes it largest
        return float(-0.5 * count * (np.log(2 * np.pi * variance) + 1))
    if head.family == "gamma":
        shape = 1 / dispersion
        rest = shape * np.log(shape * t) - np.log(t) - gammaln(shape)
        return weighted_sum(weights, rest.sum(axis=1)) - shape * loss
    return float("nan")
