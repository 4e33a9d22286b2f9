"""Binary cross-entropy: the Bernoulli distribution."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.heads.base import Floats, Head, Targets
from linnet.heads.registry import registered


@registered
@dataclass(frozen=True)
class Bernoulli(Head):
    """Binary targets, one or several independent ones per row: the Bernoulli distribution.

    The mean is 1 / (1 + e^-z), the loss log(1 + e^z) - t z, its slope mean - t.
    """

    family = "bernoulli"
    default_activation = "sigmoid"
    loss_name = "binary cross-entropy"
    keras_losses = ("binary_crossentropy",)
    table_loss = "binary_crossentropy"
    is_binary = True
    title = "Bernoulli"
    formulas = "log(1 + e^z) − t·z", "p − t"
    nonnegative = True
    loss_is_deviance = True  # of targets of 0 and 1
    linear_in_target = True
    classifies = True
    has_probabilities = True
    target_requirement = "binary targets must be between 0 and 1"

    def is_valid(self, t: Targets) -> NDArray[np.bool_]:
        return (t >= 0) & (t <= 1)

    def link(self, mean: Floats) -> Floats:
        mean = np.where((mean > 0) & (mean < 1), mean, np.clip(mean, 1e-3, 1 - 1e-3))
        return np.asarray(np.log(mean / (1 - mean)))

    def recession_directions(self, t: Targets) -> Floats:
        return np.asarray(2 * t - 1)

    def saturated_loss(self, t: Targets) -> Floats | float:
        return 0.0 if t.ndim == 1 else np.sum(-t_log_t(t) - t_log_t(1 - t), axis=-1)

    def log_likelihood(self, deviance: float, t: Targets, weights: Floats, dispersion: float) -> float:
        return -0.5 * deviance

    def draw(self, mean: Floats, dispersion: Floats, random: np.random.RandomState) -> NDArray[Any]:
        """Return random labels, 1 with the probability `mean` and 0 otherwise."""
        return (random.random_sample(mean.shape) < mean).astype(np.float64)


def t_log_t(t: Floats) -> Floats:
    """Return t log t, with the limit 0 for t = 0."""
    return np.asarray(t * np.log(np.where(t == 0, 1, t)))
