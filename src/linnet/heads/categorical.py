"""Categorical cross-entropy: one class out of many."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.heads.base import Floats, Head, Targets, registered


@registered
@dataclass(frozen=True)
class Categorical(Head):
    """One class out of many: the mean is softmax(z), the loss logsumexp(z) - z_t, and the slope mean - onehot(t)."""

    family = "categorical"
    own_activation = "softmax"
    loss_name = "categorical cross-entropy"
    keras_losses = ("categorical_crossentropy", "sparse_categorical_crossentropy")
    label_losses = ("sparse_categorical_crossentropy",)
    table_loss = "sparse_categorical_crossentropy"
    title = "categorical"
    formulas = "log Σ e^z − z_t", "p − onehot(t)"
    coupled = True
    nonnegative = True
    loss_is_deviance = True
    straight_in_target = True
    classifies = True
    has_probabilities = True
    wanted = "class memberships must be at least 0"

    def is_valid(self, t: Targets) -> NDArray[np.bool_]:
        return np.asarray(t >= 0)

    def link(self, mean: Floats) -> Floats:
        return np.asarray(np.log(mean))

    def log_likelihood(self, deviance: float, t: Targets, weights: Floats, dispersion: float) -> float:
        return -0.5 * deviance

    def draw(self, mean: Floats, dispersion: Floats, random: np.random.RandomState) -> NDArray[Any]:
        """A class for each row, by its place among the probabilities."""
        return draw_class(mean, random)


def log_softmax(z: Floats) -> Floats:
    """Return the logarithms of the categorical head's mean, exact also where the mean itself is 0.

    log p_k = z_k - z_top + log p_top, and -log p_top is the loss of a row whose class is the one with the largest z.
    """
    top = z.argmax(axis=1)
    largest = np.take_along_axis(z, top[:, None], axis=1)
    return np.asarray(z - largest - Categorical().loss(z, top)[:, None])


def draw_class(probabilities: NDArray[Any], random: np.random.RandomState) -> NDArray[np.intp]:
    """The place of a class for each row, drawn with the row's probabilities (rows x classes)."""
    shares = np.cumsum(probabilities, axis=1)
    places = (random.random_sample((len(shares), 1)) * shares[:, -1:] >= shares).sum(axis=1)
    return np.asarray(np.minimum(places, shares.shape[1] - 1))
