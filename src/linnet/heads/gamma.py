"""Positive amounts: the gamma distribution."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.heads.base import Floats, Targets
from linnet.heads.power_variance import PowerVariance
from linnet.heads.registry import registered


@registered
@dataclass(frozen=True)
class Gamma(PowerVariance):
    """Positive amounts whose standard deviation is proportional to the mean: the gamma distribution.

    The mean is e^z, the loss t e^-z + z, its slope 1 - t / mean.
    """

    family = "gamma"
    default_activation = "exponential"
    loss_name = "the gamma loss"
    losses = ("gamma",)
    title = "gamma"
    log_link = True
    linear_in_target = True
    target_requirement = "amounts of a gamma distribution must be above 0"

    @property
    def variance_power(self) -> float:
        return 2.0

    @property
    def has_dispersion(self) -> bool:
        return True

    def is_valid(self, t: Targets) -> NDArray[np.bool_]:
        return np.asarray(t > 0)

    def typical_slope(self, mean: float) -> float:
        return 1.0

    def dispersion(self, mean: Floats, t: Floats, weights: Floats | None) -> Floats:
        """Return the mean squared relative residual of each output: the variance divided by mean²."""
        return np.asarray(np.average(((t - mean) / mean) ** 2, axis=0, weights=weights))

    def distribution(self, mean: Floats, dispersion: Floats) -> Any:
        from scipy import stats  # slow to load, and rarely needed

        shape = 1 / np.maximum(dispersion, 1e-12)
        return stats.gamma(shape, scale=mean / shape)
