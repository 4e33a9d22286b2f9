"""Training step by step: what each step saw, its gradient, and the parameters before and after it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linnet._native import core
from linnet.errors import ConfigError, Parameter
from linnet.fit.loop.optimizers import SGD
from linnet.model.network import Block, Network, Theta

if TYPE_CHECKING:
    from linnet.fit.loop.training import Training


ONE_STEP = -1.0  # as the seconds of a slice: a record after every step


@dataclass(frozen=True, slots=True)
class Slice:
    """A record inside an epoch.

    Attributes
    ----------
    epoch : int
        The number of the epoch, from 1.
    step : int
        The number of steps done.
    steps : int
        The number of steps in the epoch.
    """

    epoch: int
    step: int
    steps: int


@dataclass(frozen=True, slots=True)
class Step(Slice):
    """The record of one step of training.

    Attributes
    ----------
    epoch : int
        The number of the epoch, from 1.
    step, steps : int
        The number of the step in its epoch, from 1, and how many there are.
    rows : array of shape (batch size,)
        The rows of the batch: their places in the training table.
    learning_rate : float
        The rate of this step.
    loss : float
        The objective on the batch before the step: the mean loss, with dropout, plus the penalty.
    gradient : array of shape (size,)
        The gradient of that objective, before any clipping.
    before, after : array of shape (size,)
        The parameters before and after the step.
    network : Network
        What the parameters mean.
    """

    rows: NDArray[np.intp]
    learning_rate: float
    loss: float
    gradient: Theta
    before: Theta
    after: Theta
    network: Network

    def blocks(self, name: str = "gradient") -> list[Block]:
        """Return the gradient layer by layer, or the parameters.

        Parameters
        ----------
        name : {"gradient", "before", "after"}, default="gradient"
            What to return.

        Returns
        -------
        list of Block
            Weights (inputs x outputs) and biases of each layer.
        """
        return self.network.blocks(getattr(self, name))


def wants_steps(every: str) -> bool:
    """Return whether `every` asks for a record of each step; a ConfigError if it is neither "epoch" nor "step"."""
    if every not in ("epoch", "step"):
        raise ConfigError(Parameter("every"), f' must be "epoch" or "step", got {every!r}')
    return every == "step"


class StepRecorder:
    """Records the steps of an epoch beside the trainer that takes them, which is not changed.

    The core applies gradients while it sums them, and keeps none. So a second trainer takes each step, too, with the
    same rows and dropout masks: by momentum at rate 1 and from rest, so that its velocity is minus the gradient.
    """

    def __init__(self, training: "Training", epoch: int, rates: NDArray[np.float64]) -> None:
        self._training = training
        self._network = training.fitted_network()
        self._epoch = epoch
        self._rates = rates
        self._ones = np.ones_like(rates)
        self._beside = training.make_trainer(SGD(1.0, momentum=0.5))
        self._beside.begin_epoch(epoch)
        self._zeros = np.zeros_like(training.theta)
        self._before = training.now()
        self._losses = 0.0
        self._penalties = 0.0
        self._order = np.arange(len(training.rows), dtype=np.uint32)
        if training.plan.shuffle:
            core.permutation(training.plan.seed, epoch, self._order)

    def record(self, progress: core.Progress, threads: int) -> Step:
        """Return the record of the step that was just taken."""
        training, after = self._training, self._training.now()
        self._beside.write(0, self._before)
        self._beside.write(1, self._zeros)
        self._beside.run(self._ones, ONE_STEP, threads)
        velocity = np.empty_like(after)
        self._beside.read(1, velocity)
        size = min(training.plan.batch_size, len(training.rows))
        rows = self._order[(progress.step - 1) * size : progress.step * size].astype(np.intp)
        losses, penalties = progress.loss_sum - self._losses, progress.penalty_sum - self._penalties
        self._losses, self._penalties = progress.loss_sum, progress.penalty_sum
        before, self._before = self._before, after
        return Step(
            epoch=self._epoch + 1,
            step=progress.step,
            steps=len(self._rates),
            rows=rows,
            learning_rate=float(self._rates[progress.step - 1]),
            loss=(losses * training.scale + penalties) / len(rows),
            gradient=-velocity,
            before=before,
            after=after,
            network=self._network,
        )
