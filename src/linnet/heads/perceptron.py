"""The perceptron's loss."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linnet.heads.base import Head, Targets
from linnet.heads.registry import registered


@registered
@dataclass(frozen=True)
class Perceptron(Head):
    """Binary targets ±1, one-vs-rest for several classes: the perceptron's loss.

    The loss is max(0, -t z), its slope -t where t z <= 0. The mean is the score z, whose sign is the prediction.
    """

    family = "perceptron"
    loss_name = "the perceptron loss"
    keras_losses = ("perceptron",)
    table_loss = "perceptron"
    title = "perceptron"
    formulas = "max(0, −t·z)", "−t where t·z ≤ 0, else 0"
    nonnegative = True
    classifies = True
    threshold = 0.0
    target_requirement = "targets must be -1 or 1, or 0 or 1"

    def is_valid(self, t: Targets) -> NDArray[np.bool_]:
        return np.isin(t, (-1, 0, 1))
