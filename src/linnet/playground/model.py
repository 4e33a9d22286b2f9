"""What a state stands for: layers, loss, network and optimizer, as a user of Sequential would write them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linnet.data.rows import Rows
from linnet.errors import ConfigError
from linnet.estimators.sequential.layers import Dense, Dropout
from linnet.estimators.sequential.losses import Loss
from linnet.estimators.sequential.sequential import Sequential
from linnet.estimators.sequential.stack import Stack
from linnet.fit.loop.training import Plan
from linnet.model.initialise import initial_theta
from linnet.model.network import Network, Theta
from linnet.playground.datasets import Dataset
from linnet.playground.state import State
from linnet.tables.network import losses_of, stack_of
from linnet.tables.task import Task

DTYPE = "float32"  # as Sequential trains
FOR_EVER = 10**9  # epochs: a run on screen ends when somebody stops it

_LOSS = {  # of each head
    "bernoulli": "binary_crossentropy",
    "categorical": "sparse_categorical_crossentropy",
    "normal": "mse",
    "poisson": "poisson",
    "perceptron": "perceptron",
}


def heads_of(task: Task) -> tuple[str, ...]:
    """The heads that a task can have, its own first."""
    of_loss = {loss: head for head, loss in _LOSS.items()}
    return tuple(of_loss[loss] for loss in losses_of(task))


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
        """Make the layers; a head that the task cannot have is a ConfigError."""
        possible = heads_of(data.task)
        head = possible[0] if state.head == "task" else state.head
        if head not in possible:
            raise ConfigError(f"head {head!r} is not for {data.task}: choose from: {', '.join(possible)}")
        layers = stack_of(
            [(hidden.units, hidden.activation, hidden.dropout) for hidden in state.layers],
            _LOSS[head],
            data.outcomes,
            initialiser=state.initialiser,
            l1=state.l1,
            l2=state.l2,
        )
        stack, loss = Stack(), Loss(_LOSS[head])
        for layer in layers:
            stack.add(layer)
        stack.set_input(data.x.shape[1])
        return cls(state, head, loss, tuple(layers), stack.network(loss.head(stack.dense()[-1].activation)))

    @property
    def factor(self) -> float:
        """What the head's loss of a row is multiplied by to be the loss that is shown."""
        return self.loss.factor(self.network.outputs)

    def first_theta(self) -> Theta:
        """The parameters that a run begins with."""
        names = [layer.kernel_initializer for layer in self.layers if isinstance(layer, Dense)]
        return initial_theta(self.network, self.state.seed, DTYPE, names)

    def rows(self, data: Dataset, part: slice | NDArray[np.intp]) -> Rows:
        """Some rows of the data set with their targets."""
        return self.loss.rows(data.x[part], data.y[part], self.network.outputs, DTYPE)

    def plan(self) -> Plan:
        """How Sequential's fit would train."""
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
        """The same as a model of its own, with these parameters."""
        model = Sequential(self.layers, seed=self.state.seed)
        model.compile(self.state.make_optimizer(), loss=self.loss.name)
        model.build(self.network.inputs)
        model.set_weights([array for block in self.network.blocks(theta) for array in block])
        return model
