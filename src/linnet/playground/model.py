"""The model of a state: layers, loss, network and optimizer, as a user of Sequential would write them."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from linnet.data.rows import Rows
from linnet.errors import ConfigError
from linnet.estimators.sequential.layers import Dense, Dropout
from linnet.estimators.sequential.losses import Loss
from linnet.estimators.sequential.sequential import Sequential
from linnet.estimators.sequential.stack import Stack
from linnet.fit.loop.training import Plan
from linnet.heads import HEADS, Head
from linnet.model.initialise import initial_theta
from linnet.model.network import Network, Theta
from linnet.playground.datasets import Dataset
from linnet.playground.state import State
from linnet.tables.network import losses_of, stack_of
from linnet.tables.task import Task

DTYPE = "float32"  # as Sequential trains
FOR_EVER = 10**9  # epochs: a run on the page ends when the user stops it


def heads_of(task: Task) -> dict[str, str]:
    """Return the heads of a task, the default first: the name of the loss by the name of the family."""
    return {Loss(loss).kind.family: loss for loss in losses_of(task)}


def head_label(family: str) -> str:
    """Return the name of a head on the page."""
    title = HEADS[family].title
    return title[:1].upper() + title[1:]


@dataclass(frozen=True)
class Model:
    """A network to train on a data set."""

    state: State
    head: str
    loss: Loss
    layers: tuple[Dense | Dropout, ...]
    network: Network

    @classmethod
    def of(cls, state: State, data: Dataset) -> "Model":
        """Build the layers; a head that does not suit the task is a ConfigError."""
        possible = heads_of(data.task)
        head = next(iter(possible)) if state.head == "task" else state.head
        if head not in possible:
            raise ConfigError(f"head {head!r} does not suit {data.task}: choose from: {', '.join(possible)}")
        layers = stack_of(
            [(hidden.units, hidden.activation, hidden.dropout) for hidden in state.layers],
            possible[head],
            data.outcomes,
            initialiser=state.initialiser,
            l1=state.l1,
            l2=state.l2,
        )
        stack, loss = Stack(), Loss(possible[head])
        for layer in layers:
            stack.add(layer)
        stack.set_input(data.x.shape[1])
        return cls(state, head, loss, tuple(layers), stack.network(loss.head(stack.dense()[-1].activation)))

    @property
    def has_scores_only(self) -> bool:
        """Whether there are classes without probabilities, as with the perceptron."""
        return self.network.head.classifies and not self.network.head.has_probabilities

    def with_head(self, head: Head) -> "Model":
        """Return the model with the head parameter that a run has estimated."""
        return replace(self, network=replace(self.network, head=head))

    @property
    def factor(self) -> float:
        """The factor from the head's loss of a row to the loss on the page."""
        return self.loss.factor(self.network.outputs)

    def first_theta(self) -> Theta:
        """Return the initial parameters of a run."""
        names = [layer.kernel_initializer for layer in self.layers if isinstance(layer, Dense)]
        return initial_theta(self.network, self.state.seed, DTYPE, names)

    def rows(self, data: Dataset, part: slice | NDArray[np.intp]) -> Rows:
        """Return a subset of the rows of the data set with their targets."""
        return self.loss.rows(data.x[part], data.y[part], self.network.outputs, DTYPE)

    def plan(self) -> Plan:
        """Return the training plan of Sequential's fit."""
        return Plan(
            optimizer=self.state.make_optimizer(),
            epochs=FOR_EVER,
            batch_size=self.state.batch,
            seed=self.state.seed,
            threads=1,  # such small networks gain nothing from more
            loss_factor=self.factor,
            relative_weights=False,
            rate_name="the learning rate",
        )

    def sequential(self, theta: Theta) -> Sequential:
        """Return the network with these parameters as a Sequential."""
        model = Sequential(self.layers, seed=self.state.seed)
        model.compile(self.state.make_optimizer(), loss=self.loss.name)
        model.build(self.network.inputs)
        model.set_weights([array for block in self.network.blocks(theta) for array in block])
        model.set_head(self.network.head)  # with the parameter that was estimated
        return model
