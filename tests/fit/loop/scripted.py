"""A network to watch: one bias under absolute error, far from its target, moves up by the learning rate every epoch."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.data.rows import Rows
from linnet.fit.loop.optimizers import SGD
from linnet.fit.loop.schedules import Schedule
from linnet.fit.loop.training import Plan, Training
from linnet.heads import Laplace
from linnet.model.network import Layer, Network

NETWORK = Network(1, (Layer(1),), Laplace())


class Scripted:
    """A metric with scripted values, one per epoch."""

    name = "score"

    def __init__(self, values: Sequence[float], *, greater_is_better: bool = False) -> None:
        self.greater_is_better = greater_is_better
        self._values = iter(values)

    def __call__(self, mean: NDArray[Any], rows: Rows) -> float:
        return next(self._values)


def training_of(
    values: Sequence[float] = (),
    *,
    rate: float | Schedule = 1.0,
    target: float = 1e6,
    greater: bool = False,
    **plan: Any,
) -> Training:
    """A run whose "score" takes these values, and whose bias counts the epochs in units of the learning rate."""
    metrics = [Scripted(values, greater_is_better=greater)] if values else []
    plan.setdefault("epochs", len(values) or 1)
    rows = Rows(np.zeros((4, 1)), values=np.full((4, 1), target))
    return Training(NETWORK, np.zeros(2), rows, Plan(SGD(rate), metrics=metrics, **plan))


def bias_of(training: Training) -> float:
    return float(training.theta[1])
