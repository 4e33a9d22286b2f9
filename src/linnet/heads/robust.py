"""Losses that are robust to outliers, and the loss of quantiles."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linnet.checks import check_number
from linnet.heads.activations import Activation
from linnet.heads.base import AnyActivation, Floats, Head
from linnet.heads.registry import registered

_TINY = np.finfo(np.float64).tiny


@registered
@dataclass(frozen=True)
class Laplace(AnyActivation):
    """Numeric targets by absolute error: the Laplace distribution.

    The mean is z, the loss |mean - t|, its slope sign(mean - t).

    Parameters
    ----------
    activation : Activation, str or None, default=None
        The activation that computes the mean from z; None for the identity.
    """

    family = "laplace"
    loss_name = "the laplace loss"
    losses = ("absolute_error", "absolute")
    keras_losses = ("mae", "mean_absolute_error")
    nonnegative = True
    location_scale = True

    def dispersion(self, mean: Floats, t: Floats, weights: Floats | None) -> Floats:
        """Return the mean absolute residual of each output: the scale of the distribution."""
        return np.asarray(np.average(np.abs(t - mean), axis=0, weights=weights))

    def distribution(self, mean: Floats, dispersion: Floats) -> Any:
        from scipy import stats  # slow to load, and rarely needed

        return stats.laplace(mean, np.maximum(dispersion, _TINY))


@registered
@dataclass(frozen=True)
class Huber(Head):
    """Numeric targets with outliers: Huber's loss.

    With r = z - t the loss is r² / 2 where |r| is at most the turning point q, and q |r| - q² / 2 beyond.

    Parameters
    ----------
    turning_point : float, default=1.0
        The q from which the loss is linear.
    """

    family = "huber"
    loss_name = "Huber's loss"
    losses = ("huber",)
    nonnegative = True
    location_scale = True

    turning_point: float = 1.0

    def __post_init__(self) -> None:
        check_number(self.turning_point, "turning_point", above=0)

    @property
    def parameter(self) -> float:
        return float(self.turning_point)

    @classmethod
    def of_regressor(cls, parameters: Mapping[str, Any]) -> "Huber":
        return cls(check_number(parameters["huber_delta"], "huber_delta", above=0))

    def standardised(self, centre: Floats, spread: Floats) -> "Huber":
        return replace(self, turning_point=self.turning_point / float(spread.mean()))

    @classmethod
    def _rebuilt(cls, activation: Activation, parameter: float, quasi: bool) -> "Huber":
        cls.with_activation(activation)
        return cls(parameter)


@registered
@dataclass(frozen=True)
class Quantile(Head):
    """A quantile of numeric targets: the quantile (pinball) loss.

    With r = z - t the loss is max((1 - q) r, -q r), whose expectation is smallest at the quantile q.

    Parameters
    ----------
    quantile : float, default=0.5
        q, between 0 and 1.
    """

    family = "quantile"
    loss_name = "the quantile loss"
    losses = ("quantile",)
    nonnegative = True
    location_scale = True

    quantile: float = 0.5

    def __post_init__(self) -> None:
        check_number(self.quantile, "quantile", above=0, below=1)

    @property
    def parameter(self) -> float:
        return float(self.quantile)

    @classmethod
    def of_regressor(cls, parameters: Mapping[str, Any]) -> "Quantile":
        return cls(check_number(parameters["quantile"], "quantile", above=0, below=1))

    @classmethod
    def _rebuilt(cls, activation: Activation, parameter: float, quasi: bool) -> "Quantile":
        cls.with_activation(activation)
        return cls(parameter)
