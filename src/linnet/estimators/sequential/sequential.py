"""Sequential: the network with the interface of Keras, on linnet's engine."""

from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from linnet.arrays import ArrayLike, Table, Targets
from linnet.checks import check_flag, check_number, check_random, is_integer
from linnet.data.columns import as_columns
from linnet.data.table import Array, as_table, check_fits_float32
from linnet.data.targets import as_array, as_values
from linnet.errors import ConfigError, DataError, FitError, warn
from linnet.estimators.sequential.history import History
from linnet.estimators.sequential.layers import Dense, Dropout, Input
from linnet.estimators.sequential.losses import Loss
from linnet.estimators.sequential.rows import DTYPE, Validation, split, validation_rows, weighted, weights_by_class
from linnet.estimators.sequential.stack import Stack
from linnet.estimators.sequential.summary import summary
from linnet.evaluate.metrics import MetricLike, as_metrics, several_metrics
from linnet.export.saved import Saved, check_width
from linnet.fit.full_batch import FullBatch
from linnet.fit.loop.optimizers import Optimizer, as_optimizer
from linnet.fit.loop.progress import Verbose, check_verbose, follow
from linnet.fit.loop.steps import Slice, Step, wants_steps
from linnet.fit.loop.stopping import EarlyStopping, ReduceLROnPlateau, choose_one
from linnet.fit.loop.training import Epoch, OptimizerState, Plan, Training
from linnet.fit.objective import NetworkObjective, NetworkSums, hidden, penalty, predict
from linnet.heads import Head
from linnet.model.initialise import initial_theta
from linnet.model.network import Network, Theta, need_parameters
from linnet.registry import need, saved
from linnet.untrusted import fits

if TYPE_CHECKING:
    from linnet.export.onnx.columns import Inputs
    from linnet.export.onnx.file import Outputs


@saved
class Sequential(Saved):
    """A stack of layers: linear, logistic, softmax and Poisson regression, the perceptron, or a multilayer perceptron.

    Parameters, defaults and results follow Keras: networks are trained in float32, and `loss` is the mean over the
    batches of an epoch. Unlike Keras, the same `seed` gives the same bytes for any number of threads.

    Parameters
    ----------
    layers : sequence of Input, Dense and Dropout, default=()
        The layers, from the input to the output.
    seed : int, default=0
        Seed of the initial weights, of shuffling and of dropout.

    >>> from linnet import Dense, Sequential
    >>> model = Sequential([Dense(3, input_dim=4, activation="softmax")])
    >>> model.count_params()
    15
    """

    _run: Training | None = None  # the run whose parameters the model takes over

    def __init__(self, layers: Sequence[Input | Dense | Dropout] = (), *, seed: int = 0) -> None:
        if not is_integer(seed) or not 0 <= int(seed) < 2**64:
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

    # ---- training ----

    def fit(
        self,
        x: Table,
        y: Targets,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: Verbose = "auto",
        callbacks: Collection[object] | EarlyStopping | ReduceLROnPlateau | None = None,
        validation_split: float = 0.0,
        validation_data: Validation | None = None,
        shuffle: bool = True,
        class_weight: Mapping[int, float] | str | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        tolerance: float | None = None,
        threads: int | None = None,
    ) -> History:
        """Train, starting from the parameters and the optimizer state of the previous `fit`.

        Ctrl-C ends training with a warning and leaves the model usable. A loss that becomes infinite raises a FitError,
        and the model stays as it was before.

        Parameters
        ----------
        x : array or data frame of shape (rows, columns)
            The training table.
        y : array of shape (rows,) or (rows, outputs)
            The targets; for "sparse_categorical_crossentropy", class indices.
        batch_size : int or None, default=None
            Rows per step; None is 32.
        epochs : int, default=1
            The number of epochs.
        verbose : int or "auto", default="auto"
            0 is silent, 1 shows a progress bar, 2 prints one line per epoch, "auto" shows a bar on a terminal.
        callbacks : EarlyStopping, ReduceLROnPlateau, a collection of them, or None, default=None
            What may end training early, or lower the learning rate.
        validation_split : float, default=0.0
            Share of the rows, the last ones, that is held out for validation.
        validation_data : (x, y) or (x, y, sample_weight), default=None
            Rows for validation, in place of a split.
        shuffle : bool, default=True
            Whether rows are shuffled in each epoch.
        class_weight : dict, "balanced" or None, default=None
            The weight of each class, by index, which multiplies the weights of its rows.
        sample_weight : array of shape (rows,), default=None
            Row weights, which multiply the loss of each row; the sum is divided by the number of rows, as in Keras.
        tolerance : float or None, default=None
            Training also ends when the relative change of the loss in an epoch is smaller.
        threads : int or None, default=None
            The largest number of threads; None uses as many as pay off. The result has the same bytes for
            any number.

        Returns
        -------
        History
            The losses and metrics by epoch.
        """
        check_verbose(verbose)
        training = self._training(
            x,
            y,
            batch_size=batch_size,
            epochs=epochs,
            callbacks=callbacks,
            validation_split=validation_split,
            validation_data=validation_data,
            shuffle=shuffle,
            class_weight=class_weight,
            sample_weight=sample_weight,
            tolerance=tolerance,
            threads=threads,
        )
        result = History({"epochs": epochs, "steps": training.steps, "verbose": verbose})
        records = self._follow(training)
        try:
            for record in follow(records, training.plan.epochs, verbose):
                if isinstance(record, Epoch):
                    result.epoch.append(len(result.epoch))
                    for name, value in record.numbers.items():
                        result.history.setdefault(name, []).append(value)
        except FitError as error:
            error.history = result
            raise
        except KeyboardInterrupt:  # between two records: the run itself has not noticed it
            training.interrupt()
        finally:
            records.close()
            result.stop_reason = training.stop_reason
        if training.interrupted:
            warn(
                f"training interrupted after {len(result.epoch)} of {epochs} epochs; the model is usable",
                UserWarning,
            )
        return result

    @overload
    def fit_stream(
        self, x: Table, y: Targets, *, every: Literal["epoch"] = "epoch", **options: Any
    ) -> Iterator[Epoch]: ...

    @overload
    def fit_stream(self, x: Table, y: Targets, *, every: Literal["step"], **options: Any) -> Iterator[Step | Epoch]: ...

    def fit_stream(self, x: Table, y: Targets, *, every: str = "epoch", **options: Any) -> Iterator[Step | Epoch]:
        """Train like `fit`, and yield the record of each epoch as soon as it ends.

        Leaving the loop ends the training, as does Ctrl-C, which is raised; the model keeps what it has learned.

        Parameters
        ----------
        x : array or data frame of shape (rows, columns)
            The training table.
        y : array of shape (rows,) or (rows, outputs)
            The targets.
        every : {"epoch", "step"}, default="epoch"
            With "step", each step has a record, too. The training is the same to the last bit, at the cost of a second
            gradient and some microseconds per step.
        **options
            The other arguments of `fit`, by name, except `verbose`.

        Yields
        ------
        Step
            The rows of a step, its learning rate, loss and gradient, and the parameters before and after it.
        Epoch
            The losses and metrics of an epoch.
        """
        every_step = wants_steps(every)
        training = self._training(x, y, **options)  # now, so that errors precede the first record
        training.every_step = every_step

        def records() -> Iterator[Step | Epoch]:
            for record in self._follow(training):
                if isinstance(record, Epoch | Step):
                    yield record
            if training.interrupted:
                raise KeyboardInterrupt

        return records()

    @overload
    def evaluate(
        self,
        x: Table,
        y: Targets,
        batch_size: int | None = None,
        verbose: Verbose = "auto",
        sample_weight: ArrayLike | None = None,
        *,
        return_dict: Literal[True],
    ) -> dict[str, float]: ...

    @overload
    def evaluate(
        self,
        x: Table,
        y: Targets,
        batch_size: int | None = None,
        verbose: Verbose = "auto",
        sample_weight: ArrayLike | None = None,
        *,
        return_dict: Literal[False] = False,
    ) -> float | list[float]: ...

    def evaluate(
        self,
        x: Table,
        y: Targets,
        batch_size: int | None = None,
        verbose: Verbose = "auto",
        sample_weight: ArrayLike | None = None,
        *,
        return_dict: bool = False,
    ) -> float | list[float] | dict[str, float]:
        """Return the loss and the metrics on a table.

        Parameters
        ----------
        x : array or data frame of shape (rows, columns)
            The rows.
        y : array of shape (rows,) or (rows, outputs)
            Their targets.
        batch_size, verbose : int or None, int or "auto"
            Ignored; accepted because Keras has them.
        sample_weight : array of shape (rows,), default=None
            Row weights of the loss.
        return_dict : bool, default=False
            Whether the result is a dict by name.

        Returns
        -------
        float, list of float or dict of float
            The loss, followed by the metrics if there are any.
        """
        _, loss = self._compiled()
        table = self._table(x)
        rows = weighted(loss.rows(table, y, self._outputs(), DTYPE), sample_weight)
        network, theta = self._parameters(table)
        objective = NetworkObjective(network, DTYPE, rows=len(rows))
        mean_loss = objective.sums(theta, rows).loss * loss.factor(network.outputs) / len(rows)
        numbers = {"loss": mean_loss + penalty(network, theta)}
        if metrics := as_metrics(self._metrics, network.head, network.outputs):
            mean = objective.predict(theta, rows.x)
            numbers.update({metric.name: metric(mean, rows.weighted(None)) for metric in metrics})
        if return_dict:
            return numbers
        values = list(numbers.values())
        return values if len(values) > 1 else values[0]

    def predict(self, x: Table, batch_size: int | None = None, verbose: Verbose = "auto") -> Array:
        """Return the outputs of the last layer: probabilities, means, or for the perceptron scores.

        Parameters
        ----------
        x : array or data frame of shape (rows, columns)
            The rows.
        batch_size, verbose : int or None, int or "auto"
            Ignored; accepted because Keras has them.

        Returns
        -------
        array of shape (rows, units)
            The outputs, in float32.
        """
        table = self._table(x)
        network, theta = self._parameters(table)
        return predict(network, [theta], as_columns(table))[0]

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

    def _to_graph(self, inputs: "Inputs") -> "Outputs":
        from linnet.export.onnx.columns import Features
        from linnet.export.onnx.network import mean, network_output

        network, graph = self.network, inputs.graph
        x = Features(inputs.table(network.inputs, DTYPE), None, 0)
        output = mean(graph, network.head, network_output(graph, x, network, self.theta))
        return {"probabilities" if network.head.has_probabilities else "variable": output}

    def activations(self, x: Table) -> list[Array]:
        """Return the outputs of the hidden layers, which are the features that the network has learned.

        Parameters
        ----------
        x : array or data frame of shape (rows, columns)
            The rows.

        Returns
        -------
        list of arrays of shape (rows, units)
            The outputs of each Dense layer but the last, in float32 and without dropout.
        """
        table = self._table(x)
        network, theta = self._parameters(table)
        return hidden(network, theta, as_columns(table))

    def gradients(self, x: Table, y: Targets, sample_weight: ArrayLike | None = None) -> list[Array]:
        """Return the gradient of the objective on these rows.

        Parameters
        ----------
        x : array or data frame of shape (rows, columns)
            The rows.
        y : array of shape (rows,) or (rows, outputs)
            Their targets.
        sample_weight : array of shape (rows,), default=None
            Row weights.

        Returns
        -------
        list of arrays
            The derivatives with respect to the arrays of `get_weights`, in the same order, in float64: of the loss
            plus the penalties, without dropout.
        """
        problem, theta = self.objective(x, y, sample_weight)
        gradient = problem.at(theta).gradient
        assert gradient is not None
        return self._by_layer(gradient)

    def objective(self, x: Table, y: Targets, sample_weight: ArrayLike | None = None) -> tuple[FullBatch, Array]:
        """Return the objective that training minimises, on these rows and without dropout, and the parameters.

        Parameters
        ----------
        x : array or data frame of shape (rows, columns)
            The rows.
        y : array of shape (rows,) or (rows, outputs)
            Their targets.
        sample_weight : array of shape (rows,), default=None
            Row weights, which multiply the loss of each row; the sum is divided by the number of rows.

        Returns
        -------
        objective : FullBatch
            The mean loss plus the penalties, with its gradient, as a function of the parameter vector.
        theta : array of shape (parameters,)
            The parameters, in float64.
        """
        _, loss = self._compiled()
        table = self._table(x)
        network, theta = self._parameters(table)
        rows = weighted(loss.rows(table, y, self._outputs(), DTYPE), sample_weight).computed_in("float64")
        factor, network = loss.factor(network.outputs), network.without_dropout()
        sums = NetworkObjective(network, "float64", rows=len(rows)).sums

        def as_in_keras(theta: Array) -> NetworkSums:
            total = sums(theta, rows, gradient=True)
            assert total.gradient is not None
            return NetworkSums(total.loss * factor, float(len(rows)), total.gradient * factor)

        return FullBatch(network, as_in_keras), theta.astype(np.float64)

    def sample(self, x: Table, random_state: Any = None) -> NDArray[Any]:
        """Return a target for each row, drawn from the predicted distribution.

        Parameters
        ----------
        x : array or data frame of shape (rows, columns)
            The rows.
        random_state : int, RandomState, Generator or None, default=None
            Source of random numbers; None uses NumPy's global one.

        Returns
        -------
        array of shape (rows,) or (rows, outputs)
            Class indices of a softmax, 0 and 1 of a sigmoid, counts of an exponential.
        """
        self._compiled()
        mean = self.predict(x).astype(np.float64)
        head = self.network.head
        if not (head.has_probabilities or head.log_link):
            raise ConfigError(
                "sample needs a loss that predicts a distribution, such as crossentropy or poisson: this one predicts "
                "means only, and MLPRegressor also estimates the spread around them"
            )
        dispersion = np.full(mean.shape[1], head.parameter if head.estimated_parameters else 1.0)
        return head.draw(mean, dispersion, check_random(random_state))

    # ---- internals ----

    def _compiled(self) -> tuple[Optimizer, Loss]:
        if self._optimizer is None or self._loss is None:
            raise ConfigError("compile the model first: model.compile(optimizer='sgd', loss='mse')")
        return self._optimizer, self._loss

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

    def _training(
        self,
        x: object,
        y: object,
        *,
        batch_size: int | None = None,
        epochs: int = 1,
        callbacks: Collection[object] | EarlyStopping | ReduceLROnPlateau | None = None,
        validation_split: float = 0.0,
        validation_data: Validation | None = None,
        shuffle: bool = True,
        class_weight: Mapping[int, float] | str | None = None,
        sample_weight: object = None,
        tolerance: float | None = None,
        threads: int | None = None,
    ) -> Training:
        """Check the arguments, and only then initialise the parameters and return the run."""
        optimizer, loss = self._compiled()
        outputs = self._outputs()
        stopping, plateau = choose_one(callbacks)
        table = self._table(x)
        rows = weighted(loss.rows(table, y, outputs, DTYPE), sample_weight)
        validation = None
        if validation_data is not None:
            validation = validation_rows(validation_data, loss, outputs, table.shape[1])
        elif check_number(validation_split, "validation_split"):
            rows, validation = split(rows, validation_split)
        if class_weight is not None:  # only for training rows: validation weights all rows alike
            rows = rows.weighted(weights_by_class(rows, outputs, class_weight))
        if rows.weights is not None and not rows.weights.any():
            raise DataError("every training row has weight 0: there is nothing to learn from")
        plan = Plan(
            optimizer=optimizer,
            epochs=epochs,
            batch_size=32 if batch_size is None else batch_size,
            shuffle=check_flag(shuffle, "shuffle"),
            seed=self.seed,
            threads=threads,
            metrics=as_metrics(self._metrics, loss.head(self._stack.dense()[-1].activation), outputs),
            stopping=stopping,
            plateau=plateau,
            tolerance=tolerance,
            loss_factor=loss.factor(outputs),
            relative_weights=False,
        )
        previous = self._stack.columns, self._network, self._theta
        try:
            network, theta = self._parameters(table)
            return Training(network, theta, rows, plan, validation, self._state)
        except Exception:  # forget the number of columns of a table that was refused
            self._stack.columns, self._network, self._theta = previous
            raise

    def _follow(self, training: Training) -> Generator[Slice | Epoch, None, None]:
        """Yield the run's records. The model takes over its parameters after each epoch, unless a later run has begun.

        A run that diverges leaves the model as it was before.
        """
        self._run, before = training, (self._theta, self._state)
        try:
            for record in training.records():
                if isinstance(record, Epoch) and self._run is training:
                    self._theta = training.theta
                yield record
        except FitError:
            if self._run is training:
                self._theta, self._state = before
                self._run = None
            raise
        finally:
            if self._run is training:
                self._theta, self._state, self._run = training.theta, training.state(), None
                self._network = training.fitted_network()
