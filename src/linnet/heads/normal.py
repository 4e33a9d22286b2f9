"""Squared error: the normal distribution."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from linnet.heads.base import AnyActivation, Floats, Targets
from linnet.heads.registry import registered

_TINY = np.finfo(np.float64).tiny


@registered
@dataclass(frozen=True)
class Normal(AnyActivation):
    """Numeric targets with constant variance: the normal distribution.

    The mean is z, the loss (mean - t)² / 2, its slope mean - t.

    Parameters
    ----------
    activation : Activation, str or None, default=None
        The activation that computes the mean from z; None for the identity.
    """

    family = "normal"
    loss_name = "the normal loss"
    losses = ("squared_error", "squared")
    keras_losses = ("mse", "mean_squared_error")
    table_loss = "mse"
    default_metric = "r2"
    quadratic = True
    nonnegative = True
    loss_is_deviance = True
    location_scale = True
    title = "normal"
    formulas = "(z − t)²", "2(z − t)"

    def keras_factor(self, outputs: int) -> float:
        return 2 / outputs  # Keras' squared error has no factor 1/2

    @property
    def has_dispersion(self) -> bool:
        return True

    @property
    def variance_by_likelihood(self) -> bool:
        return True

    def log_likelihood(self, deviance: float, t: Targets, weights: Floats, dispersion: float) -> float:
        return normal_log_likelihood(deviance, float(weights.sum()) * t.shape[1])

    def dispersion(self, mean: Floats, t: Floats, weights: Floats | None) -> Floats:
        """Return the mean squared residual of each output."""
        return np.asarray(np.average((t - mean) ** 2, axis=0, weights=weights))

    def variance(self, mean: Floats, dispersion: Floats) -> Floats:
        return np.broadcast_to(dispersion, mean.shape)

    def log_probability(self, mean: Floats, t: Floats, dispersion: Floats) -> Floats:
        variance = np.maximum(dispersion, _TINY)
        return np.asarray(-0.5 * (np.log(2 * np.pi * variance) + (t - mean) ** 2 / variance))

    def distribution(self, mean: Floats, dispersion: Floats) -> Any:
        from scipy import stats  # slow to load, and rarely needed

        return stats.norm(mean, np.sqrt(np.maximum(dispersion, _TINY)))


def normal_log_likelihood(deviance: float, count: float) -> float:
    """Return the log-likelihood of `count` values at the maximum-likelihood variance, deviance / count."""
    with np.errstate(divide="ignore"):
        return float(-0.5 * count * (np.log(2 * np.pi * deviance / count) + 1))
