"""Overdispersed counts: the negative binomial distribution."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from linnet.checks import check_number, is_name
from linnet.heads.activations import Activation
from linnet.heads.base import Floats, Head, Targets, weighted_sum
from linnet.heads.power_variance import half_deviance, largest_poisson
from linnet.heads.registry import registered

MIN_ALPHA = 1e-8  # below it the distribution is Poisson up to rounding
_MAX_ALPHA = 1e8
_MAX_MEAN = 1e150  # the square of a larger mean may overflow


@registered
@dataclass(frozen=True)
class NegativeBinomial(Head):
    """Overdispersed counts: the negative binomial distribution.

    The mean is m = e^z, the variance m + α m². With r = 1 / α the loss is (t + r) log(1 + α e^z) - t z, its slope
    (m - t) / (1 + α m). It is the distribution of a Poisson count whose rate has a gamma distribution; α = 0 is the
    Poisson distribution.

    Parameters
    ----------
    alpha : float, default=1.0
        The dispersion α, above 0.
    estimated : bool, default=False
        Whether α is estimated from the data, by maximum likelihood, together with the means.
    """

    family = "negative_binomial"
    default_activation = "exponential"
    loss_name = "the negative binomial loss"
    losses = ("negative_binomial",)
    keras_losses = ("negative_binomial",)
    log_link = True
    linear_in_target = True
    title = "negative binomial"
    formulas = (
        "(t + 1/d) log(1 + d·e^z) − t·z − t·log(d) − log(Γ(t + 1/d)/Γ(1/d))",
        "(e^z − t)/(1 + d·e^z)",
    )
    parameter_symbol = "d"
    counts = True
    target_requirement = "counts must be at least 0"

    alpha: float = 1.0
    estimated: bool = False

    def __post_init__(self) -> None:
        check_number(self.alpha, "alpha", above=0)

    @classmethod
    def with_activation(cls, activation: Activation) -> "NegativeBinomial":
        super().with_activation(activation)
        return cls(estimated=True)  # as no α is given

    @property
    def parameter(self) -> float:
        return float(self.alpha)

    @classmethod
    def of_regressor(cls, parameters: Mapping[str, Any]) -> "NegativeBinomial":
        return cls.of_dispersion(parameters.get("dispersion", "estimate"))

    @classmethod
    def of_dispersion(cls, dispersion: float | str) -> "NegativeBinomial":
        """Return the head with a dispersion α.

        Parameters
        ----------
        dispersion : float or "estimate"
            α; "estimate" if it is estimated from the data.

        Returns
        -------
        NegativeBinomial
            The head.
        """
        if is_name(dispersion, "estimate"):
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

    def typical_slope(self, mean: float) -> float:
        return mean

    def recession_directions(self, t: Targets) -> Floats:
        return np.asarray(-1.0 * (t == 0))

    @property
    def decay_power(self) -> float:
        return 1.0

    # ---- likelihood ----

    def deviance(self, z: Floats, t: Targets, weights: Floats) -> float:
        """Return 2 Σ w (t log(t / m) - (t + r) log((t + r) / (m + r)))."""
        return 2 * weighted_sum(weights, _half_deviance(t, z, 1 / self.alpha).sum(axis=1))

    def log_likelihood(self, deviance: float, t: Targets, weights: Floats, dispersion: float) -> float:
        return weighted_sum(weights, _largest(t, np.asarray(1 / self.alpha)).sum(axis=1)) - 0.5 * deviance

    @property
    def estimated_parameters(self) -> int:
        return int(self.estimated)

    def with_parameter(self, parameter: float) -> "NegativeBinomial":
        return replace(self, alpha=parameter)

    def with_estimate(self, mean: Floats, t: Floats, weights: Floats | None) -> "NegativeBinomial":
        """Return the head with the maximum-likelihood α for these means (rows x outputs), if α is estimated."""
        if not self.estimated:
            return self
        row_weights = np.ones(len(t)) if weights is None else weights.astype(np.float64)
        return replace(self, alpha=best_alpha(mean, t, row_weights))

    def dropped_terms(self, t: Targets) -> Floats | None:
        """Return log Γ(r) - log Γ(t + r) - t log α, if α is estimated: with it the loss tends to Poisson's as α -> 0.

        With L(x) = x log x - x - log x! it is t + L(t + r) - L(r) - (t + r - 1) log(1 + t / r), without cancellation.
        """
        if not self.estimated:
            return None
        r = 1 / self.alpha
        terms = t + largest_poisson(t + r) - largest_poisson(np.asarray(r)) - (t + r - 1) * np.log1p(t / r)
        return np.asarray(terms.sum(axis=1))

    def dispersion(self, mean: Floats, t: Floats, weights: Floats | None) -> Floats:
        """Return the α of each output; if α is estimated, the maximum-likelihood estimate."""
        outputs = range(mean.shape[1])
        return np.array([self.with_estimate(mean[:, [k]], t[:, [k]], weights).alpha for k in outputs])

    def variance(self, mean: Floats, dispersion: Floats) -> Floats:
        return np.asarray(mean + dispersion * mean**2)

    def log_probability(self, mean: Floats, t: Floats, dispersion: Floats) -> Floats:
        r = 1 / np.maximum(dispersion, MIN_ALPHA)
        return _largest(t, r) - _half_deviance(t, self.link(mean), r)

    def distribution(self, mean: Floats, dispersion: Floats) -> Any:
        from scipy import stats  # slow to load, and rarely needed

        r = 1 / np.maximum(dispersion, MIN_ALPHA)
        return stats.nbinom(r, r / (r + mean))

    def _file_state(self) -> dict[str, Any]:
        return {**super()._file_state(), "quasi": self.estimated}

    @classmethod
    def _rebuilt(cls, activation: Activation, parameter: float, quasi: bool) -> Head:
        super().with_activation(activation)
        return cls(parameter, quasi)


def _half_deviance(t: Floats, z: Floats, r: Floats | float) -> Floats:
    """Return half the deviance of each target: that of a Poisson t with mean m, minus that of t + r with mean m + r."""
    with np.errstate(all="ignore"):  # a row of weight 0 may have any mean
        shifted = half_deviance(t + r, np.exp(z) + r, 1.0, log_link=False)
        return np.maximum(half_deviance(t, z, 1.0, log_link=True) - shifted, 0)


def _largest(t: Floats, r: Floats) -> Floats:
    """Return the log-probability of t if t is the mean.

    With L(x) = x log x - x - log x! it is L(t) - L(t + r) - log(1 + t / r) + L(r).
    """
    return np.asarray(largest_poisson(t) - largest_poisson(t + r) - np.log1p(t / r) + largest_poisson(r))


def best_alpha(mean: Floats, t: Floats, weights: Floats) -> float:
    """Return the maximum-likelihood α for given means; MIN_ALPHA where counts are not overdispersed.

    With r = 1 / α it solves Σ w (ψ(t + r) - ψ(r) - log(1 + m / r) + (m - t) / (m + r)) = 0, in log r. Near α = 0 the
    likelihood increases with α if Σ w ((t - m)² - t) > 0.

    Parameters
    ----------
    mean, t : array of shape (rows, outputs)
        Means and counts.
    weights : array of shape (rows,)
        Row weights.

    Returns
    -------
    float
        α.
    """
    return best_alpha_of(lambda each: each(mean, t, weights))


def best_alpha_of(total: Callable[[Callable[[Floats, Floats, Floats], float]], float]) -> float:
    """Return the maximum-likelihood α from sums over rows, which may be in memory or elsewhere.

    `total(f)` is the sum of f(mean, t, weights) over all parts of the rows.
    """
    if total(_excess) <= 0:
        return MIN_ALPHA

    def slope(log_r: float) -> float:
        return total(partial(_slope_in_log_r, np.exp(log_r)))

    low, high = -np.log(_MAX_ALPHA), -np.log(MIN_ALPHA)
    if slope(low) <= 0:
        return _MAX_ALPHA
    if slope(high) >= 0:
        return MIN_ALPHA
    root: float = scipy.optimize.brentq(slope, low, high, xtol=1e-14, rtol=4 * np.finfo(np.float64).eps)
    return float(np.exp(-root))


def _excess(mean: Floats, t: Floats, weights: Floats) -> float:
    """Return Σ w ((t - m)² - t)."""
    return weighted_sum(weights, ((t - _bounded(mean)) ** 2 - t).sum(axis=1))


def _slope_in_log_r(r: float, mean: Floats, t: Floats, weights: Floats) -> float:
    """Return Σ w (ψ(t + r) - ψ(r) - log(1 + m / r) + (m - t) / (m + r))."""
    mean, digamma = _bounded(mean), scipy.special.digamma
    terms = digamma(t + r) - digamma(r) - np.log1p(mean / r) + (mean - t) / (mean + r)
    return weighted_sum(weights, terms.sum(axis=1))


def _bounded(mean: Floats) -> Floats:
    """Return means small enough to be squared: a row without weight may have any mean."""
    return np.minimum(mean, _MAX_MEAN)
