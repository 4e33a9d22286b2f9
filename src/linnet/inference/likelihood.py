"""Log-likelihoods and deviances with all their constants, for comparing models. Sums over rows times weights.

The deviance is twice the distance of the log-likelihood from its largest possible value, times the dispersion.
"""

import numpy as np
from scipy.special import gammaln, xlogy

from linnet.model.heads import Floats, Head, Targets

# Heads whose distribution has a dispersion that is not known beforehand.
DISPERSED = ("normal", "gamma", "tweedie", "tweedie_identity")


def power_of(head: Head) -> float:
    """The power of the mean that the variance goes with."""
    return {"normal": 0.0, "poisson": 1.0, "gamma": 2.0}.get(head.family, head.power)


def weighted_sum(weights: Floats, of_rows: Floats) -> float:
    """Σ w x over rows; a row without weight adds nothing, even if its x is infinite."""
    return float(weights @ np.where(weights > 0, of_rows, 0.0))


def unit_deviance(head: Head, z: Floats, t: Targets) -> Floats:
    """Deviance of each row: twice its loss, from the least one on."""
    return np.asarray(2 * (head.loss(z, t) - _least_loss(head, t)))


def _least_loss(head: Head, t: Targets) -> Floats:
    """The loss of each row where the mean is t."""
    q = power_of(head)
    if t.ndim == 1 or head.family == "normal":  # labels, or squares
        return np.zeros(len(t))
    if head.family == "bernoulli":
        each = -xlogy(t, t) - xlogy(1 - t, 1 - t)
    elif head.family == "categorical":
        each = -xlogy(t, t)
    elif q == 1:
        each = t - xlogy(t, t)
    elif q == 2:
        each = 1 + np.log(t)
    else:  # a negative t has no mean of its own but with q = 0
        each = -((t if q == 0 else np.maximum(t, 0)) ** (2 - q)) / ((1 - q) * (2 - q))
    return np.asarray(each.sum(axis=1))


def log_likelihood(head: Head, z: Floats, t: Targets, weights: Floats, dispersion: float) -> float:
    """Log-likelihood of all rows; NaN for Tweedie's distributions, whose density has no closed form."""
    loss = head.loss(z, t)
    if head.family in ("bernoulli", "categorical"):
        return -weighted_sum(weights, loss)
    if head.family == "poisson":
        return -weighted_sum(weights, loss + gammaln(t + 1).sum(axis=1))
    if head.family == "normal":
        count = float(weights.sum()) * t.shape[1]
        variance = 2 * weighted_sum(weights, loss) / count  # the one that makes it largest
        return float(-0.5 * count * (np.log(2 * np.pi * variance) + 1))
    if head.family == "gamma":
        shape = 1 / dispersion
        rest = shape * np.log(shape * t) - np.log(t) - gammaln(shape)
        return weighted_sum(weights, rest.sum(axis=1) - shape * loss)
    return float("nan")
