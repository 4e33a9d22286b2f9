"""The layers, loss and parameters of a Sequential model. Its training is in `sequential.py`."""

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
    """A stack of layers with a loss, and its parameters."""

    def __init__(self, layers: Sequence[Input | Dense | Dropout] = (), *, seed: int = 0) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**64:
            raise ConfigError(f"seed must be an integer from 0 to 2^64 - 1, got {seed!r}")
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
        """The layers, from the input to the output."""
        return list(self._stack.layers)

    def add(self, layer: Input | Dense | Dropout) -> None:
        """Append a layer. The other layers keep their parameters; the new one's are initialised when they are needed.

        Parameters
        ----------
        layer : Input, Dense or Dropout
            The layer.
        """
        self._stack.add(layer)
        self._network = None
        self._state = OptimizerState()

    def compile(
        self,
        optimizer: str | Optimizer = "rmsprop",
        loss: str | None = None,
        metrics: MetricLike | Sequence[MetricLike] | None = None,
    ) -> None:
        """Choose the optimizer, the loss and the metrics.

        Parameters
        ----------
        optimizer : str or Optimizer, default="rmsprop"
            The optimizer, by name or as an object.
        loss : str
            The loss, which must suit the activation of the last layer: "categorical_crossentropy" or
            "sparse_categorical_crossentropy" (softmax), "binary_crossentropy" (sigmoid), "poisson" or
            "negative_binomial" (exponential), "mse" or "mae" (any), "perceptron" (linear).
        metrics : str, NamedMetric, function, or a sequence of these, default=None
            What is measured after each epoch besides the loss.
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
            self.build()  # now, with the new head, so that predicting changes nothing
            network = self.network
            if known is not None and type(known.head) is type(network.head):  # keep its estimated parameter
                self._network = replace(network, head=network.head.with_parameter(known.head.parameter))

    def build(self, input_shape: int | Sequence[int | None] | None = None) -> None:
        """Initialise the parameters.

        Parameters
        ----------
        input_shape : int, (columns,), (None, columns) or None, default=None
            The shape of the input; None if the first layer has it.
        """
        if input_shape is not None:
            self._stack.set_input(input_shape)
        # before compile only the shapes matter, and squared error suits any activation
        loss = self._loss or Loss("mse")
        network = self._stack.network(loss.head(self._stack.dense()[-1].activation))
        if self._theta is None or len(self._theta) < network.size:
            names = [layer.kernel_initializer for layer in self._stack.dense()]
            theta = initial_theta(network, self.seed, DTYPE, names)
            if self._theta is not None:  # the parameters of the layers before those that were added
                theta[: len(self._theta)] = self._theta
            self._theta = theta
        self._network = network  # last: another thread that sees it finds the parameters, too

    # ---- parameters ----

    def get_weights(self) -> list[Array]:
        """Return copies of W (inputs x units) and b (units) of every Dense layer, in order.

        Returns
        -------
        list of arrays
            W and, with `use_bias`, b of each layer, in float32.
        """
        return self._by_layer(self.theta)

    def _by_layer(self, vector: Array) -> list[Array]:
        """Return copies of the parts of a vector of all parameters, or of their derivatives."""
        arrays = []
        for layer, block in zip(self._stack.dense(), self.network.blocks(vector), strict=True):
            arrays.append(block.weights.copy())
            if layer.use_bias:
                arrays.append(block.biases.copy())
        return arrays

    def set_weights(self, weights: Sequence[object]) -> None:
        """Set the parameters.

        Parameters
        ----------
        weights : sequence of arrays
            W and b of every Dense layer, in the order and the shapes of `get_weights`.
        """
        theta = np.zeros_like(self.theta)
        if not isinstance(weights, Sequence):
            raise DataError(f"weights must be a list of arrays like that of get_weights, got {type(weights).__name__}")
        new = [as_array(array, f"weights[{index}]") for index, array in enumerate(weights)]
        shapes = [array.shape for array in self.get_weights()]
        if [array.shape for array in new] != shapes:
            raise DataError(f"weights must have the shapes {shapes}, got {[array.shape for array in new]}")
        arrays = (
            as_values(array, columns, DTYPE, rows=len(array), name=f"weights[{index}]").reshape(array.shape)
            for index, array in enumerate(new)
            for columns in [array.shape[1] if array.ndim == 2 else 1]
        )
        for layer, block in zip(self._stack.dense(), self.network.blocks(theta), strict=True):
            block.weights[:] = next(arrays)
            if layer.use_bias:
                block.biases[:] = next(arrays)
        self._theta = theta

    def set_head(self, head: Head) -> None:
        """Set the head, of the same class, with another value of its estimated parameter, such as a dispersion.

        Parameters
        ----------
        head : Head
            The new head.
        """
        if type(head) is not type(self.network.head):
            raise ConfigError(f"the model's head is {self.network.head!r}, not {head!r}: compile it with another loss")
        self._network = replace(self.network, head=head)

    def count_params(self) -> int:
        """Return the number of parameters."""
        return self.network.free_parameters

    def summary(self, print_fn: Callable[[str], object] = print) -> None:
        """Print the layers, their output shapes and their numbers of parameters.

        Parameters
        ----------
        print_fn : function, default=print
            Called with the text.
        """
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

    # ---- internals ----

    def _compiled(self) -> tuple[Optimizer, Loss]:
        if self._optimizer is None or self._loss is None:
            raise ConfigError("compile the model first: model.compile(optimizer='sgd', loss='mse')")
        return self._optimizer, self._loss

    @property
    def network(self) -> Network:
        """The shapes, activations and penalties of the layers, and the head; built on first use."""
        if self._network is None:
            self.build()
        assert self._network is not None
        return self._network

    @property
    def theta(self) -> Theta:
        """All parameters in one vector; `get_weights` returns them by layer."""
        _ = self.network  # built on first use
        assert self._theta is not None
        return self._theta

    def _outputs(self) -> int:
        return self._stack.dense()[-1].units

    def _table(self, x: object, name: str = "x") -> Array:
        table = as_table(x, columns=self._stack.columns, name=name)
        check_fits_float32(table, name)
        return table

    def _parameters(self, table: Array) -> tuple[Network, Theta]:
        """Return the network for a table and its parameters, which are initialised on first use."""
        if self._network is None or self._theta is None:
            self.build(table.shape[1])
        return self.network, self.theta
