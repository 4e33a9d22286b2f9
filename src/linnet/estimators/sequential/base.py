"""What a Sequential model is: layers, a loss and parameters. How it is trained is in `sequential.py`."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from linnet.data.table import Array, as_table, check_fits_float32
from linnet.data.targets import as_array, as_values
from linnet.errors import ConfigError, DataError
from linnet.estimators.sequential.layers import Dense, Dropout, Input
from linnet.estimators.sequential.losses import Loss
from linnet.estimators.sequential.stack import Stack
from linnet.estimators.sequential.summary import summary
from linnet.evaluate.metrics import MetricLike, as_metrics, several_metrics
from linnet.export.saved import Saved, check_width
from linnet.fit.loop.optimizers import Optimizer, as_optimizer
from linnet.fit.loop.training import OptimizerState
from linnet.heads import Head
from linnet.model.initialise import initial_theta
from linnet.model.network import Network, Theta, need_parameters
from linnet.registry import need
from linnet.untrusted import fits

if TYPE_CHECKING:
    from linnet.export.onnx.columns import Inputs
    from linnet.export.onnx.file import Outputs

DTYPE = "float32"  # as in Keras


class SequentialModel(Saved):
    """A stack of layers under a loss, and its parameters."""

    def __init__(self, layers: Sequence[Input | Dense | Dropout] = (), *, seed: int = 0) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**64:
            raise ConfigError(f"seed must be a whole number from 0 to 2^64 - 1, got {seed!r}")
        self.seed = int(seed)
        self._stack = Stack()
        self._network: Network | None = None
        self._theta: Theta | None = None
        self._optimizer: Optimizer | None = None
        self._loss: Loss | None = None
        self._metrics: list[MetricLike] = []
        self._state = OptimizerState()
        if not isinstance(layers, Sequence):
            raise ConfigError(f"layers must be a list, such as Sequential([Dense(3)]), got {layers!r}")
        for layer in layers:
            self.add(layer)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._stack.layers!r})"

    def _to_graph(self, inputs: "Inputs") -> "Outputs":
        from linnet.export.onnx.columns import Features
        from linnet.export.onnx.network import mean, network_output

        network, graph = self.network, inputs.graph
        x = Features(inputs.table(network.inputs, DTYPE), None, 0)
        output = mean(graph, network.head, network_output(graph, x, network, self.theta))
        return {"probabilities" if network.head.has_probabilities else "variable": output}

    # ---- building ----

    @property
    def layers(self) -> list[Dense | Dropout]:
        """The layers, from the bottom up."""
        return list(self._stack.layers)

    def add(self, layer: Input | Dense | Dropout) -> None:
        """Put a layer on top. The layers below keep their parameters; the new one's are made when they are needed."""
        self._stack.add(layer)
        self._network = None
        self._state = OptimizerState()

    def compile(
        self,
        optimizer: str | Optimizer = "rmsprop",
        loss: str | None = None,
        metrics: MetricLike | Sequence[MetricLike] | None = None,
    ) -> None:
        """Choose optimizer, loss and metrics. A loss that has no meaning over the last layer's activation is an error.

        Losses: categorical_crossentropy (softmax), sparse_categorical_crossentropy (softmax), binary_crossentropy
        (sigmoid), poisson and negative_binomial (exponential), mse and mae (any activation), perceptron (linear).
        """
        if loss is None:
            raise ConfigError("compile needs a loss, such as loss='categorical_crossentropy'")
        chosen = Loss(loss)
        top = self._stack.dense()[-1]
        as_metrics(metrics, chosen.head(top.activation), top.units)
        self._optimizer = as_optimizer(optimizer)
        self._loss = chosen
        self._metrics = several_metrics(metrics)
        known, self._network = self._network, None
        self._state = OptimizerState()
        if self._theta is not None:
            self.build()  # now, under its new head, so that predicting changes nothing
            network = self.network
            if known is not None and type(known.head) is type(network.head):  # what was estimated of it stays
                self._network = replace(network, head=network.head.with_parameter(known.head.parameter))

    def build(self, input_shape: int | Sequence[int | None] | None = None) -> None:
        """Make the parameters, for inputs of the given shape: (columns,) or (None, columns)."""
        if input_shape is not None:
            self._stack.set_input(input_shape)
        # before compile only the shapes matter, and squared error goes with any activation
        loss = self._loss or Loss("mse")
        network = self._stack.network(loss.head(self._stack.dense()[-1].activation))
        if self._theta is None or len(self._theta) < network.size:
            names = [layer.kernel_initializer for layer in self._stack.dense()]
            theta = initial_theta(network, self.seed, DTYPE, names)
            if self._theta is not None:  # of the layers below those that were added
                theta[: len(self._theta)] = self._theta
            self._theta = theta
        self._network = network  # last: another thread that sees it finds the parameters, too

    # ---- parameters ----

    def get_weights(self) -> list[Array]:
        """Copies of W (inputs x units) and b (units) of every Dense layer, in order."""
        arrays = []
        for layer, block in zip(self._stack.dense(), self.network.blocks(self.theta), strict=True):
            arrays.append(block.weights.copy())
            if layer.use_bias:
                arrays.append(block.biases.copy())
        return arrays

    def set_weights(self, weights: Sequence[object]) -> None:
        """Take parameters in the order and shapes of `get_weights`."""
        theta = np.zeros_like(self.theta)
        if not isinstance(weights, Sequence):
            raise DataError(f"weights must be a list of arrays as get_weights gives it, got {type(weights).__name__}")
        given = [as_array(array, f"weights[{place}]") for place, array in enumerate(weights)]
        wanted = [array.shape for array in self.get_weights()]
        if [array.shape for array in given] != wanted:
            raise DataError(f"weights must have the shapes {wanted}, got {[array.shape for array in given]}")
        arrays = (
            as_values(array, wide, DTYPE, rows=len(array), name=f"weights[{place}]").reshape(array.shape)
            for place, array in enumerate(given)
            for wide in [array.shape[1] if array.ndim == 2 else 1]
        )
        for layer, block in zip(self._stack.dense(), self.network.blocks(theta), strict=True):
            block.weights[:] = next(arrays)
            if layer.use_bias:
                block.biases[:] = next(arrays)
        self._theta = theta

    def set_head(self, head: Head) -> None:
        """Take a head with another value of the parameter that is estimated, such as a dispersion."""
        if type(head) is not type(self.network.head):
            raise ConfigError(f"the model's head is {self.network.head!r}, not {head!r}: compile it with another loss")
        self._network = replace(self.network, head=head)

    def count_params(self) -> int:
        """Number of parameters."""
        return self.network.free_parameters

    def summary(self, print_fn: Callable[[str], object] = print) -> None:
        """Print the layers, their output shapes and their numbers of parameters."""
        print_fn(summary(self._stack.layers, self.network))

    # ---- files ----

    def _check_file(self) -> None:
        if self._network is not None or self._theta is not None:
            need_parameters(self, self._network, self._theta)
        need(isinstance(self._stack, Stack) and fits(self.seed, int) and 0 <= self.seed < 2**64, self, "stack")
        need(fits(self._optimizer, Optimizer | None) and fits(self._loss, Loss | None), self, "loss")
        need(fits(self._metrics, list[str]), self, "metrics")
        if self._network is not None and self._loss is not None:
            head = self._loss.head(self._stack.dense()[-1].activation).with_parameter(self._network.head.parameter)
            need(self._network == self._stack.network(head), self, "network")

    def _made_up_row(self, size: int) -> Array | None:
        if self._network is None:
            return None
        check_width(self._network.inputs, size)
        return np.zeros((1, self._network.inputs))

    # ---- inside ----

    def _compiled(self) -> tuple[Optimizer, Loss]:
        if self._optimizer is None or self._loss is None:
            raise ConfigError("compile the model first: model.compile(optimizer='sgd', loss='mse')")
        return self._optimizer, self._loss

    @property
    def network(self) -> Network:
        """The layers' shapes, activations and penalties, and the head; built now if need be."""
        if self._network is None:
            self.build()
        assert self._network is not None
        return self._network

    @property
    def theta(self) -> Theta:
        """All parameters in one vector, of which `get_weights` has the parts."""
        _ = self.network  # built now if need be
        assert self._theta is not None
        return self._theta

    def _outputs(self) -> int:
        return self._stack.dense()[-1].units

    def _table(self, x: object, name: str = "x") -> Array:
        table = as_table(x, columns=self._stack.columns, name=name)
        check_fits_float32(table, name)
        return table

    def _parameters(self, table: Array) -> tuple[Network, Theta]:
        """The network for a table and its parameters, made now if need be."""
        if self._network is None or self._theta is None:
            self.build(table.shape[1])
        return self.network, self.theta
