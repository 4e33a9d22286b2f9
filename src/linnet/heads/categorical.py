"""Categorical cross-entropy: the categorical distribution."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.heads.base import Floats, Head, Targets
from linnet.heads.registry import registered


@registered
@dataclass(frozen=True)
class Categorical(Head):
    """One class per row out of several: the categorical distribution.

    The mean is softmax(z), the loss logsumexp(z) - z_t, its slope mean - onehot(t).
    """

    family = "categorical"
    default_activation = "softmax"
    loss_name = "categorical cross-entropy"
    keras_losses = ("categorical_crossentropy", "sparse_categorical_crossentropy")
    label_losses = ("sparse_categorical_crossentropy",)
    table_loss = "sparse_categorical_crossentropy"
    title = "categorical"
    formulas = "log Σ e^z − z_t", "p − onehot(t)"
    coupled = True
    nonnegative = True
    loss_is_deviance = True
    linear_in_target = True
    classifies = True
    has_probabilities = True
    target_requirement = "class memberships must be at least 0"

    def is_valid(self, t: Targets) -> NDArray[np.bool_]:
        return np.asarray(t >= 0)

    def link(self, mean: Floats) -> Floats:
        return np.asarray(np.log(mean))

    def log_likelihood(self, deviance: float, t: Targets, weights: Floats, dispersion: float) -> float:
        return -0.5 * deviance

    def draw(self, mean: Floats, dispersion: Floats, random: np.random.RandomState) -> NDArray[Any]:
        """Return the index of a random class for each row."""
        return draw_class(mean, random)


def log_softmax(z: Floats) -> Floats:
    """Return the log-softmax of each row, accurate even where the softmax underflows to 0.

    log p_k = z_k - z_top + log p_top, where -log p_top is the loss of a row whose class has the largest z.

    Parameters
    ----------
    z : array of shape (rows, classes)
        The logits.

    Returns
    -------
    array of shape (rows, classes)
        The log-probabilities.
    """
    top = z.argmax(axis=1)
    largest = np.take_along_axis(z, top[:, None], axis=1)
    return np.asarray(z - largest - Categorical().loss(z, top)[:, None])


def draw_class(probabilities: NDArray[Any], random: np.random.RandomState) -> NDArray[np.intp]:
    """Return the index of a random class for each row.

    Parameters
    ----------
    probabilities : array of shape (rows, classes)
        The class probabilities of each row.
    random : RandomState
        The random number generator.

    Returns
    -------
    array of shape (rows,)
        The class indices.
    """
    cumulative = np.cumsum(probabilities, axis=1)
    classes = (random.random_sample((len(cumulative), 1)) * cumulative[:, -1:] >= cumulative).sum(axis=1)
    return np.asarray(np.minimum(classes, cumulative.shape[1] - 1))
