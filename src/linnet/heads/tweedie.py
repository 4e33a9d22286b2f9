"""Amounts that may be exactly 0: Tweedie distributions."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from linnet.checks import check_name
from linnet.errors import ConfigError
from linnet.heads.activations import Activation
from linnet.heads.base import Floats, Head, Targets
from linnet.heads.gamma import Gamma
from linnet.heads.normal import Normal
from linnet.heads.poisson import Poisson
from linnet.heads.power_variance import PowerVariance
from linnet.heads.registry import registered


@dataclass(frozen=True)
class _Tweedie(PowerVariance):
    power: float = 1.5

    @property
    def parameter(self) -> float:
        return float(self.power)

    @property
    def variance_power(self) -> float:
        return float(self.power)

    @property
    def has_dispersion(self) -> bool:
        return True

    def is_valid(self, t: Targets) -> NDArray[np.bool_]:
        return np.asarray(t > 0 if self.power >= 2 else t >= 0 if self.power >= 1 else np.ones(t.shape, np.bool_))

    @property
    def target_requirement(self) -> str:  # type: ignore[override]
        """The condition for valid targets, for messages."""
        return f"with power={self.power} amounts must be {'above' if self.power >= 2 else 'at least'} 0"

    @classmethod
    def _rebuilt(cls, activation: Activation, parameter: float, quasi: bool) -> Head:
        cls.with_activation(activation)
        return cls(parameter)


@registered
@dataclass(frozen=True)
class TweedieLog(_Tweedie):
    """A Tweedie distribution with the log link.

    The mean is e^z, the loss mean^(2-q) / (2-q) - t mean^(1-q) / (1-q), its slope mean^(1-q) (mean - t).

    Parameters
    ----------
    power : float, default=1.5
        The power q of the mean to which the variance is proportional.
    """

    family: ClassVar[str] = "tweedie"
    default_activation = "exponential"
    loss_name = "Tweedie's loss"
    log_link = True

    @property
    def convex(self) -> bool:
        return 1 <= self.power <= 2

    def recession_directions(self, t: Targets) -> Floats | None:
        return np.asarray(-1.0 * (t == 0)) if self.decay_power else None

    @property
    def decay_power(self) -> float:
        return max(2 - self.power, 0.0) if self.power >= 1 else 0.0


@registered
@dataclass(frozen=True)
class TweedieIdentity(_Tweedie):
    """A Tweedie distribution with the identity link.

    The mean is z, which must be above 0, the loss mean^(2-q) / (2-q) - t mean^(1-q) / (1-q), its slope
    mean^-q (mean - t).

    Parameters
    ----------
    power : float, default=1.5
        The power q of the mean to which the variance is proportional.
    """

    family: ClassVar[str] = "tweedie_identity"
    loss_name = "Tweedie's loss with the identity link"
    positive_mean = True

    @property
    def convex(self) -> bool:
        return self.power == 0

    @property
    def quasi(self) -> bool:
        return self.power == 1


def Tweedie(power: float, link: str = "log") -> Head:
    """Return the head of the Tweedie distribution whose variance is proportional to mean^power.

    For a power of 1 the dispersion is estimated, as for all others; Poisson counts have a dispersion of 1.

    Parameters
    ----------
    power : float
        The power: at most 0, or at least 1. No distribution has a power in between.
    link : {"log", "identity"}, default="log"
        Whether the mean is e^z or z.

    Returns
    -------
    Head
        The head: for some powers `Normal`, `Poisson` or `Gamma`.
    """
    if not (power <= 0 or power >= 1):
        raise ConfigError(f"power must be at most 0 or at least 1, got {power!r}: no distribution has such a variance")
    check_name(link, "link", ("log", "identity"))
    if link == "identity":
        return Normal() if power == 0 else TweedieIdentity(float(power))
    if power in (1, 2):
        return Poisson(overdispersed=True) if power == 1 else Gamma()
    return TweedieLog(float(power))
