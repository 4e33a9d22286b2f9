"""Sequential: the network as users of Keras write it, on linnet's engine."""

import math
import warnings
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from linnet.data.rows import Rows
from linnet.data.table import Array, as_table, check_fits_float32
from linnet.data.targets import as_weights, class_weights
from linnet.errors import ConfigError, DataError, FitError
from linnet.estimators.layers import Dense, Dropout, Input
from linnet.estimators.losses import Loss
from linnet.estimators.saved import Saved
from linnet.estimators.stack import Stack
from linnet.estimators.summary import summary
from linnet.evaluate.metrics import MetricLike, as_metrics, several_metrics
from linnet.fit.loop import Epoch, OptimizerState, Plan, Slice, Training
from linnet.fit.objective import Objective, penalty
from linnet.fit.optimizers import Optimizer, as_optimizer
from linnet.fit.progress import Verbose, follow
from linnet.fit.stopping import EarlyStopping, ReduceLROnPlateau, choose_one
from linnet.model.initialise import initial_theta
from linnet.model.network import Network, Theta

if TYPE_CHECKING:
    from linnet.estimators.onnx_file import Answers
    from linnet.persist.onnx_columns import Inputs

_DTYPE = "float32"  # as in Keras

Validation = tuple[object, object] | tuple[object, object, object]


class History:
    """What `fit` returns: `history`, a list of numbers an epoch for every loss and metric, and why training ended."""

    def __init__(self, params: dict[str, object]) -> None:
        self.history: dict[str, list[float]] = {}
        self.epoch: list[int] = []
        self.params = params
        self.stop_reason = "not started"

    def __repr__(self) -> str:
        last = ", ".join(f"{name} {values[-1]:.4g}" for name, values in self.history.items())
        return f"<History of {len(self.epoch)} epochs ({self.stop_reason}): {last}>"


class Sequential(Saved):
    """A stack of layers: linear, logistic, softmax and Poisson regression, the perceptron, or a multilayer perceptron.

    Parameters, defaults and results follow Keras: trained in float32, `loss` is the mean over the batches of an epoch.
    Unlike Keras, the same `seed` gives the same bytes for any number of threads.

    >>> from linnet import Dense, Sequential
    >>> model = Sequential([Dense(3, input_dim=4, activation="softmax")])
    >>> model.count_params()
    15
    """

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
        self._run: Training | None = None  # the one that has the model's parameters
        if not isinstance(layers, Sequence):
            raise ConfigError(f"layers must be a list, such as Sequential([Dense(3)]), got {layers!r}")
        for layer in layers:
            self.add(layer)

    def __repr__(self) -> str:
        return f"Sequential({self._stack.layers!r})"

    def _to_graph(self, inputs: "Inputs") -> "Answers":
        from linnet.persist.onnx_columns import Features
        from linnet.persist.onnx_network import mean, network_output

        network, graph = self._built(), inputs.graph
        x = Features(inputs.table(network.inputs, _DTYPE), None, 0)
        output = mean(graph, network.head, network_output(graph, x, network, self._weights()))
        return {"probabilities" if network.head.family in ("bernoulli", "categorical") else "variable": output}

    # ---- building ----

    @property
    def layers(self) -> list[Dense | Dropout]:
        """The layers, from the bottom up."""
        return list(self._stack.layers)

    def add(self, layer: Input | Dense | Dropout) -> None:
        """Put a layer on top."""
        self._stack.add(layer)
        self._network = self._theta = None
        self._state = OptimizerState()

    def compile(
        self,
        optimizer: str | Optimizer = "rmsprop",
        loss: str | None = None,
        metrics: MetricLike | Sequence[MetricLike] | None = None,
    ) -> None:
        """Choose optimizer, loss and metrics. A loss that has no meaning over the last layer's activation is an error.

        Losses: categorical_crossentropy (softmax), sparse_categorical_crossentropy (softmax), binary_crossentropy
        (sigmoid), poisson (exponential), mse and mae (any activation), perceptron (linear).
        """
        if loss is None:
            raise ConfigError("compile needs a loss, such as loss='categorical_crossentropy'")
        chosen = Loss(loss)
        top = self._stack.dense()[-1]
        as_metrics(metrics, chosen.head(top.activation), top.units)
        self._optimizer = as_optimizer(optimizer)
        self._loss = chosen
        self._metrics = several_metrics(metrics)
        self._network = None
        self._state = OptimizerState()

    def build(self, input_shape: int | Sequence[int | None] | None = None) -> None:
        """Make the parameters, for inputs of the given shape: (columns,) or (None, columns)."""
        if input_shape is not None:
            self._stack.set_input(input_shape)
        # before compile only the shapes matter, and squared error goes with any activation
        loss = self._loss or Loss("mse")
        self._network = self._stack.network(loss.head(self._stack.dense()[-1].activation))
        if self._theta is None:
            names = [layer.kernel_initializer for layer in self._stack.dense()]
            self._theta = initial_theta(self._network, self.seed, _DTYPE, names)

    # ---- training ----

    def fit(
        self,
        x: object,
        y: object,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: Verbose = "auto",
        callbacks: Collection[object] | EarlyStopping | ReduceLROnPlateau | None = None,
        validation_split: float = 0.0,
        validation_data: Validation | None = None,
        shuffle: bool = True,
        class_weight: Mapping[int, float] | str | None = None,
        sample_weight: object = None,
        *,
        tolerance: float | None = None,
        threads: int | None = None,
    ) -> History:
        """Train, going on from where an earlier `fit` ended.

        `batch_size` None is 32. `verbose`: 1 a progress bar, 2 a line an epoch, 0 nothing, "auto" a bar on a terminal.
        `callbacks` may hold EarlyStopping and ReduceLROnPlateau. `validation_split` holds out the last of the rows.
        Row weights multiply each row's loss; the loss is divided by the number of rows (Keras' convention).
        `class_weight` is a dict of class: weight, or "balanced". With `tolerance` training also ends when the loss
        changes by less than this part of itself in an epoch. `threads` None takes as many as pay.

        Ctrl-C ends training with a warning and leaves the model usable. A loss that becomes infinite raises FitError,
        and the model stays as it was before.
        """
        if verbose not in ("auto", 0, 1, 2):
            raise ConfigError(f"verbose must be 0, 1, 2 or 'auto', got {verbose!r}")
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
        except KeyboardInterrupt:  # between two records: the run itself has not heard it
            training.interrupt()
        finally:
            records.close()
            result.stop_reason = training.stop_reason
        if training.interrupted:
            warnings.warn(
                f"training interrupted after {len(result.epoch)} of {epochs} epochs; the model is usable",
                UserWarning,
                stacklevel=2,
            )
        return result

    def fit_stream(self, x: object, y: object, **options: Any) -> Iterator[Epoch]:
        """Train as `fit` does, with the same options, yielding each epoch's record as it comes.

        Leaving the loop early ends the training, as does Ctrl-C, which is passed on; the model keeps what it learned.
        """
        training = self._training(x, y, **options)  # now, so that errors come before the first record is asked for

        def records() -> Iterator[Epoch]:
            for record in self._follow(training):
                if isinstance(record, Epoch):
                    yield record
            if training.interrupted:
                raise KeyboardInterrupt

        return records()

    @overload
    def evaluate(
        self,
        x: object,
        y: object,
        batch_size: int | None = None,
        verbose: Verbose = "auto",
        sample_weight: object = None,
        *,
        return_dict: Literal[True],
    ) -> dict[str, float]: ...

    @overload
    def evaluate(
        self,
        x: object,
        y: object,
        batch_size: int | None = None,
        verbose: Verbose = "auto",
        sample_weight: object = None,
        *,
        return_dict: Literal[False] = False,
    ) -> float | list[float]: ...

    def evaluate(
        self,
        x: object,
        y: object,
        batch_size: int | None = None,
        verbose: Verbose = "auto",
        sample_weight: object = None,
        *,
        return_dict: bool = False,
    ) -> float | list[float] | dict[str, float]:
        """Loss and metrics on given rows: one number, a list (loss first), or a dict.

        `batch_size` and `verbose` are Keras' and change nothing.
        """
        _, loss = self._compiled()
        table = self._table(x)
        rows = self._weighted(loss.rows(table, y, self._outputs(), _DTYPE), sample_weight)
        network, theta = self._parameters(table)
        objective = Objective(network, _DTYPE, rows=len(rows))
        mean_loss = objective.sums(theta, rows).loss * loss.factor(network.outputs) / len(rows)
        numbers = {"loss": mean_loss + penalty(network, theta)}
        if metrics := as_metrics(self._metrics, network.head, network.outputs):
            mean = objective.predict(theta, rows.x)
            numbers.update({metric.name: metric(mean, rows.weighted(None)) for metric in metrics})
        if return_dict:
            return numbers
        values = list(numbers.values())
        return values if len(values) > 1 else values[0]

    def predict(self, x: object, batch_size: int | None = None, verbose: Verbose = "auto") -> Array:
        """The last layer's output, rows x units: probabilities, rates or numbers (for the perceptron its scores).

        `batch_size` and `verbose` are Keras' and change nothing.
        """
        table = self._table(x)
        network, theta = self._parameters(table)
        return Objective(network, _DTYPE, rows=len(table)).predict(theta, table)

    # ---- parameters ----

    def get_weights(self) -> list[Array]:
        """Copies of W (inputs x units) and b (units) of every Dense layer, in order."""
        arrays = []
        for layer, block in zip(self._stack.dense(), self._built().blocks(self._weights()), strict=True):
            arrays.append(block.weights.copy())
            if layer.use_bias:
                arrays.append(block.biases.copy())
        return arrays

    def set_weights(self, weights: Sequence[object]) -> None:
        """Take parameters in the order and shapes of `get_weights`."""
        theta = np.zeros_like(self._weights())
        if not isinstance(weights, Sequence):
            raise DataError(f"weights must be a list of arrays as get_weights gives it, got {type(weights).__name__}")
        given = [np.asarray(array) for array in weights]
        wanted = [array.shape for array in self.get_weights()]
        if [array.shape for array in given] != wanted:
            raise DataError(f"weights must have the shapes {wanted}, got {[array.shape for array in given]}")
        arrays = iter(given)
        for layer, block in zip(self._stack.dense(), self._built().blocks(theta), strict=True):
            block.weights[:] = next(arrays)
            if layer.use_bias:
                block.biases[:] = next(arrays)
        if not np.isfinite(theta).all():
            raise DataError("weights must be finite")
        self._theta = theta

    def count_params(self) -> int:
        """Number of parameters."""
        return self._built().free_parameters

    def summary(self, print_fn: Callable[[str], object] = print) -> None:
        """Print the layers, their output shapes and their numbers of parameters."""
        print_fn(summary(self._stack.layers, self._built()))

    # ---- inside ----

    def _compiled(self) -> tuple[Optimizer, Loss]:
        if self._optimizer is None or self._loss is None:
            raise ConfigError("compile the model first: model.compile(optimizer='sgd', loss='mse')")
        return self._optimizer, self._loss

    def _built(self) -> Network:
        if self._network is None:
            self.build()
        assert self._network is not None
        return self._network

    def _weights(self) -> Theta:
        self._built()
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
        return self._built(), self._weights()

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
        """Check everything, then and only then make the parameters and the run."""
        optimizer, loss = self._compiled()
        outputs = self._outputs()
        stopping, plateau = choose_one(callbacks)
        table = self._table(x)
        rows = self._weighted(loss.rows(table, y, outputs, _DTYPE), sample_weight)
        validation = None
        if validation_data is not None:
            validation = self._validation_rows(validation_data, table.shape[1])
        elif validation_split:
            rows, validation = _split(rows, validation_split)
        if class_weight is not None:  # of the rows trained on: validation counts every row alike
            by_class = class_weights(*_classes(rows, outputs), class_weight, _DTYPE)
            rows = rows.weighted(by_class if rows.weights is None else rows.weights * by_class)
        if rows.weights is not None and not rows.weights.any():
            raise DataError("every row trained on has weight 0: nothing is left to learn from")
        plan = Plan(
            optimizer=optimizer,
            epochs=epochs,
            batch_size=32 if batch_size is None else batch_size,
            shuffle=bool(shuffle),
            seed=self.seed,
            threads=threads,
            metrics=as_metrics(self._metrics, loss.head(self._stack.dense()[-1].activation), outputs),
            stopping=stopping,
            plateau=plateau,
            tolerance=tolerance,
            loss_factor=loss.factor(outputs),
            relative_weights=False,
        )
        known = self._stack.columns, self._network, self._theta
        try:
            network, theta = self._parameters(table)
            return Training(network, theta, rows, plan, validation, self._state)
        except Exception:  # the number of columns of a table that was refused means nothing
            self._stack.columns, self._network, self._theta = known
            raise

    def _follow(self, training: Training) -> Generator[Slice | Epoch, None, None]:
        """The run's records. The model takes over its parameters epoch by epoch, unless a later run has begun.

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

    def _weighted(self, rows: Rows, sample_weight: object) -> Rows:
        return rows.weighted(None if sample_weight is None else as_weights(sample_weight, _DTYPE, rows=len(rows)))

    def _validation_rows(self, data: Validation, columns: int) -> Rows:
        if not isinstance(data, tuple | list) or len(data) not in (2, 3):
            raise ConfigError("validation_data must be (x, y) or (x, y, sample_weight)")
        _, loss = self._compiled()
        table = as_table(data[0], columns=columns, name="validation x")
        check_fits_float32(table, "validation x")
        rows = loss.rows(table, data[1], self._outputs(), _DTYPE, "validation y")
        return self._weighted(rows, data[2] if len(data) == 3 else None)


def _split(rows: Rows, part: float) -> tuple[Rows, Rows]:
    if not isinstance(part, Real) or not 0 < part < 1:
        raise ConfigError(f"validation_split must be between 0 and 1, got {part!r}")
    cut = math.floor(len(rows) * (1 - part))
    if not 0 < cut < len(rows):
        raise DataError(f"validation_split={part} of {len(rows)} rows leaves no rows for one of the two parts")
    return rows[:cut], rows[cut:]


def _classes(rows: Rows, outputs: int) -> tuple[Array, int]:
    """The class of every row and the number of classes."""
    if rows.labels is not None:
        return rows.labels, outputs
    if rows.values is not None and rows.values.shape[1] == 1 and np.isin(rows.values, (-1, 0, 1)).all():
        return (rows.values[:, 0] > 0).astype(np.intp), 2
    raise ConfigError("class_weight needs one class a row")
