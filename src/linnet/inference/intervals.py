"""What targets are to be expected around their means: intervals and draws from a head's distribution.

| head | distribution around the mean | dispersion, from residuals r |
|---|---|---|
| normal | normal, variance φ | φ = mean of r² |
| laplace | Laplace, scale φ | φ = mean of abs(r) |
| poisson | Poisson | 1 |
| gamma | gamma, variance φ mean² | φ = mean of (r / mean)² |
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.errors import ConfigError
from linnet.model.heads import Floats, Head

DISTRIBUTIONS = ("normal", "laplace", "poisson", "gamma")


def dispersion(head: Head, mean: Floats, t: Floats, weights: Floats | None) -> Floats | None:
    """The dispersion of each output, from means and targets (rows x outputs); None where there is no distribution."""
    if head.family not in DISTRIBUTIONS:
        return None
    if head.family == "poisson":
        return np.ones(mean.shape[1])
    r = (t - mean) / (mean if head.family == "gamma" else 1.0)
    return np.asarray(np.average(np.abs(r) if head.family == "laplace" else r**2, axis=0, weights=weights))


def interval(head: Head, mean: Floats, phi: Floats, level: float) -> tuple[Floats, Floats]:
    """The ends of the middle part of each distribution that has the probability `level`."""
    if not 0 < level < 1:
        raise ConfigError(f"level must be between 0 and 1, got {level!r}")
    law = _distribution(head, mean, phi)
    return np.asarray(law.ppf((1 - level) / 2)), np.asarray(law.ppf((1 + level) / 2))


def draw(head: Head, mean: Floats, phi: Floats, random: np.random.RandomState) -> NDArray[Any]:
    """One target for each row and output."""
    return np.asarray(_distribution(head, mean, phi).rvs(size=mean.shape, random_state=random))


def _distribution(head: Head, mean: Floats, phi: Floats) -> Any:
    from scipy import stats  # slow to load, and rarely needed

    tiny = np.finfo(np.float64).tiny
    match head.family:
        case "normal":
            return stats.norm(mean, np.sqrt(np.maximum(phi, tiny)))
        case "laplace":
            return stats.laplace(mean, np.maximum(phi, tiny))
        case "poisson":
            return stats.poisson(mean)
        case "gamma":
            shape = 1 / np.maximum(phi, 1e-12)
            return stats.gamma(shape, scale=mean / shape)
    raise ConfigError(f"the {head.family} loss has no distribution: intervals and samples need one of {DISTRIBUTIONS}")
