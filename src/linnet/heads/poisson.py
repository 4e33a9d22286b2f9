"""Counts: the Poisson distribution."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.heads.activations import Activation
from linnet.heads.base import Floats, Head, Targets
from linnet.heads.power_variance import PowerVariance, half_deviance, largest_poisson
from linnet.heads.registry import registered


@registered
@dataclass(frozen=True)
class Poisson(PowerVariance):
    """Counts: the Poisson distribution.

    The mean is e^z, the loss e^z - t z (log t! dropped), its slope mean - t.

    Parameters
    ----------
    overdispersed : bool, default=False
        Whether the variance is an estimated multiple of the mean (quasi-Poisson).
    """

    family = "poisson"
    default_activation = "exponential"
    loss_name = "the Poisson loss"
    losses = ("poisson",)
    keras_losses = ("poisson",)
    log_link = True
    linear_in_target = True
    title = "Poisson"
    formulas = "e^z − t·z", "e^z − t"
    counts = True
    target_requirement = "counts must be at least 0"

    overdispersed: bool = False

    @property
    def variance_power(self) -> float:
        return 1.0

    @property
    def quasi(self) -> bool:
        return self.overdispersed

    @property
    def has_dispersion(self) -> bool:
        return self.overdispersed

    def is_valid(self, t: Targets) -> NDArray[np.bool_]:
        return np.asarray(t >= 0)

    def typical_slope(self, mean: float) -> float:
        return mean

    def recession_directions(self, t: Targets) -> Floats:
        return np.asarray(-1.0 * (t == 0))

    @property
    def decay_power(self) -> float:
        return 1.0

    def dispersion(self, mean: Floats, t: Floats, weights: Floats | None) -> Floats:
        """Return 1 for each output: the variance is the mean."""
        return np.ones(mean.shape[1])

    def variance(self, mean: Floats, dispersion: Floats) -> Floats:
        return mean

    def log_probability(self, mean: Floats, t: Floats, dispersion: Floats) -> Floats:
        return largest_poisson(t) - half_deviance(t, self.link(mean), 1.0, log_link=True)

    def distribution(self, mean: Floats, dispersion: Floats) -> Any:
        from scipy import stats  # slow to load, and rarely needed

        return stats.poisson(mean)

    @classmethod
    def _rebuilt(cls, activation: Activation, parameter: float, quasi: bool) -> Head:
        cls.with_activation(activation)
        return cls(quasi)
