"""Counts that spread more than Poisson's: the negative binomial distribution."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from linnet.checks import check_number
from linnet.heads.activations import Activation
from linnet.heads.base import Floats, Head, Targets, registered, weighted_sum
from linnet.heads.power_variance import half_deviance, largest_poisson

LEAST_ALPHA = 1e-8  # below it the distribution is Poisson's in every digit that counts
_MOST_ALPHA = 1e8
_MOST_MEAN = 1e150  # the square of a larger one may overflow


@registered
@dataclass(frozen=True)
class NegativeBinomial(Head):
    """Counts of mean m = e^z and variance m + α m². With r = 1 / α the loss is (t + r) log(1 + α e^z) - t z, and the
    slope (m - t) / (1 + α m). It is a Poisson count whose rate varies by a gamma distribution; with α = 0, Poisson's.

    `estimated`: α is to be found from the data, by maximum likelihood, beside the means.
    """

    family = "negative_binomial"
    own_activation = "exponential"
    loss_name = "the negative binomial loss"
    losses = ("negative_binomial",)
    keras_losses = ("negative_binomial",)
    log_link = True
    straight_in_target = True
    title = "negative binomial"
    formulas = (
        "(t + 1/d) log(1 + d·e^z) − t·z − t·log(d) − log(Γ(t + 1/d)/Γ(1/d))",
        "(e^z − t)/(1 + d·e^z)",
    )
    parameter_symbol = "d"
    counts = True
    wanted = "counts must be at least 0"

    alpha: float = 1.0
    estimated: bool = False

    def __post_init__(self) -> None:
        check_number(self.alpha, "alpha", above=0)

    @classmethod
    def with_activation(cls, activation: Activation) -> "NegativeBinomial":
        super().with_activation(activation)
        return cls(estimated=True)  # as it is not given

    @property
    def parameter(self) -> float:
        return float(self.alpha)

    @classmethod
    def of_regressor(cls, parameters: Mapping[str, Any]) -> "NegativeBinomial":
        return cls.of_dispersion(parameters.get("dispersion", "estimate"))

    @classmethod
    def of_dispersion(cls, dispersion: float | str) -> "NegativeBinomial":
        """The head of a dispersion α, or of one that is to be estimated: "estimate"."""
        if dispersion == "estimate":
            return cls(estimated=True)
        return cls(check_number(dispersion, "dispersion", above=0))

    def is_valid(self, t: Targets) -> NDArray[np.bool_]:
        return np.asarray(t >= 0)

    @property
    def positive_only(self) -> bool:
        return True

    @property
    def variance_power(self) -> float:
        return 1.0  # near a mean of 0

    def link(self, mean: Floats) -> Floats:
        return np.asarray(np.log(np.where(mean > 0, mean, 1e-10)))

    def usual_slope(self, mean: float) -> float:
        return mean

    def for_ever(self, t: Targets) -> Floats:
        return np.asarray(-1.0 * (t == 0))

    @property
    def fading(self) -> float:
        return 1.0

    # ---- likelihood ----

    def deviance(self, z: Floats, t: Targets, weights: Floats) -> float:
        """Twice Σ w (t log(t / m) - (t + r) log((t + r) / (m + r)))."""
        return 2 * weighted_sum(weights, _half_deviance(t, z, 1 / self.alpha).sum(axis=1))

    def log_likelihood(self, deviance: float, t: Targets, weights: Floats, dispersion: float) -> float:
        return weighted_sum(weights, _largest(t, np.asarray(1 / self.alpha)).sum(axis=1)) - 0.5 * deviance

    @property
    def own_parameters(self) -> int:
        return int(self.estimated)

    def with_parameter(self, parameter: float) -> "NegativeBinomial":
        return replace(self, alpha=parameter)

    def with_estimate(self, mean: Floats, t: Floats, weights: Floats | None) -> "NegativeBinomial":
        """The head with the α of largest likelihood for these means (rows x outputs), if it is to be estimated."""
        if not self.estimated:
            return self
        every = np.ones(len(t)) if weights is None else weights.astype(np.float64)
        return replace(self, alpha=best_alpha(mean, t, every))

    def left_out(self, t: Targets) -> Floats | None:
        """log Γ(r) - log Γ(t + r) - t log α, if α is estimated: with it the loss goes to Poisson's as α goes to 0.

        With L(x) = x log x - x - log x! it is t + L(t + r) - L(r) - (t + r - 1) log(1 + t / r), which keeps its digits.
        """
        if not self.estimated:
            return None
        r = 1 / self.alpha
        each = t + largest_poisson(t + r) - largest_poisson(np.asarray(r)) - (t + r - 1) * np.log1p(t / r)
        return np.asarray(each.sum(axis=1))

    def dispersion(self, mean: Floats, t: Floats, weights: Floats | None) -> Floats:
        """The α of each output, the most likely one if it is estimated."""
        outputs = range(mean.shape[1])
        return np.array([self.with_estimate(mean[:, [k]], t[:, [k]], weights).alpha for k in outputs])

    def variance(self, mean: Floats, dispersion: Floats) -> Floats:
        return np.asarray(mean + dispersion * mean**2)

    def log_probability(self, mean: Floats, t: Floats, dispersion: Floats) -> Floats:
        r = 1 / np.maximum(dispersion, LEAST_ALPHA)
        return _largest(t, r) - _half_deviance(t, self.link(mean), r)

    def distribution(self, mean: Floats, dispersion: Floats) -> Any:
        from scipy import stats  # slow to load, and rarely needed

        r = 1 / np.maximum(dispersion, LEAST_ALPHA)
        return stats.nbinom(r, r / (r + mean))

    def _file_state(self) -> dict[str, Any]:
        return {**super()._file_state(), "quasi": self.estimated}

    @classmethod
    def _rebuilt(cls, activation: Activation, parameter: float, quasi: bool) -> Head:
        super().with_activation(activation)
        return cls(parameter, quasi)


def _half_deviance(t: Floats, z: Floats, r: Floats | float) -> Floats:
    """Half of each target's deviance: the difference of two of Poisson's, of t from m and of t + r from m + r."""
    with np.errstate(all="ignore"):  # a row without weight may have any mean
        of_rest = half_deviance(t + r, np.exp(z) + r, 1.0, log_link=False)
        return np.maximum(half_deviance(t, z, 1.0, log_link=True) - of_rest, 0)


def _largest(t: Floats, r: Floats) -> Floats:
    """The log-probability of t where t is the mean: with L(x) = x log x - x - log x! it is L(t) - L(t + r) -
    log(1 + t / r) + L(r).
    """
    return np.asarray(largest_poisson(t) - largest_poisson(t + r) - np.log1p(t / r) + largest_poisson(r))


def best_alpha(mean: Floats, t: Floats, weights: Floats) -> float:
    """The α of largest likelihood for given means, LEAST_ALPHA where counts spread no more than Poisson's.

    With r = 1 / α it is where Σ w (ψ(t + r) - ψ(r) - log(1 + m / r) + (m - t) / (m + r)) = 0, found on a scale of log
    r; as α goes to 0 the likelihood rises with α if Σ w ((t - m)² - t) > 0.
    """
    mean = np.clip(mean, np.finfo(np.float64).tiny, _MOST_MEAN)  # a row without weight may have any mean
    if weighted_sum(weights, ((t - mean) ** 2 - t).sum(axis=1)) <= 0:
        return LEAST_ALPHA

    def slope(log_r: float) -> float:
        r = np.exp(log_r)
        digamma = scipy.special.digamma
        each = digamma(t + r) - digamma(r) - np.log1p(mean / r) + (mean - t) / (mean + r)
        return weighted_sum(weights, each.sum(axis=1))

    low, high = -np.log(_MOST_ALPHA), -np.log(LEAST_ALPHA)
    if slope(low) <= 0:
        return _MOST_ALPHA
    if slope(high) >= 0:
        return LEAST_ALPHA
    root: float = scipy.optimize.brentq(slope, low, high, xtol=1e-14, rtol=4 * np.finfo(np.float64).eps)
    return float(np.exp(-root))
