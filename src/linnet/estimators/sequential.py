"""Sequential: the network as users of Keras write it, on linnet's engine."""

import math
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from linnet.data.rows import Rows
from linnet.data.table import Array, as_table, check_fits_float32
from linnet.data.targets import as_weights
from linnet.errors import ConfigError, DataError
from linnet.estimators.layers import Dense, Dropout, Input
from linnet.estimators.losses import Loss
from linnet.evaluate.metrics import NamedMetric, as_metric
from linnet.fit.loop import OptimizerState, Plan, Training
from linnet.fit.objective import Objective, penalty
from linnet.fit.optimizers import Optimizer, as_optimizer
from linnet.fit.progress import follow
from linnet.fit.stopping import choose_one
from linnet.model.initialise import initial_theta
from linnet.model.network import Network, Theta

_DTYPE = "float32"  # as in Keras

MetricLike = str | NamedMetric | Callable[[Any, Any], float]


class History:
    """What `fit` returns: `history`, a list of numbers an epoch for every loss and metric, and why training ended."""

    def __init__(self, params: dict[str, object]) -> None:
        self.history: dict[str, list[float]] = {}
        self.epoch: list[int] = []
        self.params = params
        self.stop_reason = ""


class Sequential:
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
        self.layers: list[Dense | Dropout] = []
        self._columns: int | None = None
        self._network: Network | None = None
        self._theta: Theta | None = None
        self._optimizer: Optimizer | None = None
        self._loss: Loss | None = None
        self._metrics: list[MetricLike] = []
        self._state = OptimizerState()
        for layer in layers:
            self.add(layer)

    # ---- building ----

    def add(self, layer: Input | Dense | Dropout) -> None:
        """Put a layer on top."""
        if not isinstance(layer, Input | Dense | Dropout):
            raise ConfigError(f"a Sequential model is made of Input, Dense and Dropout, got {layer!r}")
        if layer.columns is not None:
            if self.layers and layer.columns != self._width():
                raise ConfigError(
                    f"the layer says it has {layer.columns} inputs, but the one below has {self._width()}"
                )
            if not self.layers:
                self._columns = layer.columns
        if not isinstance(layer, Input):
            self.layers.append(layer)
        self._network = self._theta = None
        self._state = OptimizerState()

    def compile(
        self,
        optimizer: str | Optimizer = "rmsprop",
        loss: str | None = None,
        metrics: Sequence[MetricLike] | None = None,
    ) -> None:
        """Choose optimizer, loss and metrics. A loss that has no meaning over the last layer's activation is an error.

        Losses: categorical_crossentropy (softmax), sparse_categorical_crossentropy (softmax), binary_crossentropy
        (sigmoid), poisson (exponential), mse and mae (any activation), perceptron (linear).
        """
        if loss is None:
            raise ConfigError("compile needs a loss, such as loss='categorical_crossentropy'")
        chosen = Loss(loss)
        dense = self._dense()
        head = chosen.head(dense[-1].activation)
        for metric in metrics or ():
            as_metric(metric, head, dense[-1].units)
        self._optimizer = as_optimizer(optimizer)
        self._loss = chosen
        self._metrics = list(metrics or ())
        self._network = None
        self._state = OptimizerState()

    def build(self, input_shape: int | Sequence[int | None] | None = None) -> None:
        """Make the parameters, for inputs of the given shape: (columns,) or (None, columns)."""
        if input_shape is not None:
            sizes = (
                [input_shape] if isinstance(input_shape, int) else [size for size in input_shape if size is not None]
            )
            columns = Input(sizes).columns
            if self._columns not in (None, columns):
                raise ConfigError(f"the model takes {self._columns} columns, not {columns}")
            self._columns = columns
        if self._columns is None:
            raise ConfigError(
                "the number of columns is not known yet: give the first layer input_dim, or fit the model"
            )
        dense = self._dense()
        # before compile only the shapes matter, and squared error goes with any activation
        head = (self._loss or Loss("mse")).head(dense[-1].activation)
        rates = self._dropout_rates()
        layers = tuple(layer.to_layer(rate) for layer, rate in zip(dense, rates, strict=True))
        self._network = Network(self._columns, layers, head)
        if self._theta is None:
            names = [layer.kernel_initializer for layer in dense]
            self._theta = initial_theta(self._network, self.seed, _DTYPE, names)

    # ---- training ----

    def fit(
        self,
        x: object,
        y: object,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: Literal["auto", 0, 1, 2] = "auto",
        callbacks: Collection[object] | None = None,
        validation_split: float = 0.0,
        validation_data: tuple[object, object] | tuple[object, object, object] | None = None,
        shuffle: bool = True,
        class_weight: Mapping[int, float] | None = None,
        sample_weight: object = None,
        *,
        tolerance: float | None = None,
        threads: int | None = None,
    ) -> History:
        """Train, going on from where an earlier `fit` ended.

        `batch_size` None is 32. `verbose`: 1 a progress bar, 2 a line an epoch, 0 nothing, "auto" a bar on a terminal.
        `callbacks` may hold EarlyStopping and ReduceLROnPlateau. `validation_split` holds out the last of the rows.
        Row weights multiply each row's loss; the loss is divided by the number of rows (Keras' convention). With
        `tolerance` training also ends when the loss changes by less than this part of itself in an epoch.

        Ctrl-C ends training with a warning and leaves the model usable. A loss that becomes infinite raises FitError,
        and the model keeps the parameters of the last good epoch.
        """
        optimizer, loss = self._compiled()
        if verbose not in ("auto", 0, 1, 2):
            raise ConfigError(f"verbose must be 0, 1, 2 or 'auto', got {verbose!r}")
        stopping, plateau = choose_one(callbacks)
        table = self._table(x)
        if self._network is None or self._theta is None:
            self.build(table.shape[1])
        network = self._built()
        rows = self._weighted(loss.rows(table, y, network.outputs, _DTYPE), sample_weight, class_weight)
        validation = None
        if validation_data is not None:
            validation = self._validation_rows(validation_data)
        elif validation_split:
            rows, validation = self._split(rows, validation_split)
        plan = Plan(
            optimizer=optimizer,
            epochs=epochs,
            batch_size=32 if batch_size is None else batch_size,
            shuffle=shuffle,
            seed=self.seed,
            threads=threads,
            metrics=[as_metric(metric, network.head, network.outputs) for metric in self._metrics],
            stopping=stopping,
            plateau=plateau,
            tolerance=tolerance,
            loss_factor=loss.factor(network.outputs),
            relative_weights=False,
        )
        training = Training(network, self._weights(), rows, plan, validation, self._state)
        steps = math.ceil(len(rows) / min(plan.batch_size, len(rows)))
        result = History({"epochs": epochs, "steps": steps, "verbose": verbose})
        try:
            for record in follow(training, verbose):
                result.epoch.append(len(result.epoch))
                for name, value in record.numbers.items():
                    result.history.setdefault(name, []).append(value)
        finally:
            self._theta = training.theta
            self._state = training.state()
            result.stop_reason = training.stop_reason
        if training.interrupted:
            warnings.warn(
                f"training interrupted after {len(result.epoch)} of {epochs} epochs; the model is usable",
                UserWarning,
                stacklevel=2,
            )
        return result

    def evaluate(
        self, x: object, y: object, sample_weight: object = None, *, return_dict: bool = False
    ) -> float | list[float] | dict[str, float]:
        """Loss and metrics on given rows: one number, a list (loss first), or a dict."""
        _, loss = self._compiled()
        table = self._table(x)
        network, theta = self._built(), self._weights()
        rows = self._weighted(loss.rows(table, y, network.outputs, _DTYPE), sample_weight, None)
        objective = Objective(network, _DTYPE)
        mean_loss = objective.sums(theta, rows).loss * loss.factor(network.outputs) / len(rows)
        numbers = {"loss": mean_loss + penalty(network, theta)}
        if self._metrics:
            mean = objective.predict(theta, rows.x)
            for metric in (as_metric(metric, network.head, network.outputs) for metric in self._metrics):
                numbers[metric.name] = metric(mean, rows)
        if return_dict:
            return numbers
        values = list(numbers.values())
        return values if len(values) > 1 else values[0]

    def predict(self, x: object) -> Array:
        """The last layer's output, rows x units: probabilities, rates or numbers (for the perceptron its scores)."""
        table = self._table(x)
        return Objective(self._built(), _DTYPE).predict(self._weights(), table)

    # ---- parameters ----

    def get_weights(self) -> list[Array]:
        """Copies of W (inputs x units) and b (units) of every Dense layer, in order."""
        arrays = []
        for layer, block in zip(self._dense(), self._built().blocks(self._weights()), strict=True):
            arrays.append(block.weights.copy())
            if layer.use_bias:
                arrays.append(block.biases.copy())
        return arrays

    def set_weights(self, weights: Sequence[object]) -> None:
        """Take parameters in the order and shapes of `get_weights`."""
        theta = np.zeros_like(self._weights())
        given = [np.asarray(array) for array in weights]
        wanted = [array.shape for array in self.get_weights()]
        if [array.shape for array in given] != wanted:
            raise DataError(f"weights must have the shapes {wanted}, got {[array.shape for array in given]}")
        arrays = iter(given)
        for layer, block in zip(self._dense(), self._built().blocks(theta), strict=True):
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
        print_fn(_summary(self.layers, self._built()))

    # ---- inside ----

    def _dense(self) -> list[Dense]:
        dense = [layer for layer in self.layers if isinstance(layer, Dense)]
        if not dense:
            raise ConfigError("the model has no Dense layer yet: add one")
        if isinstance(self.layers[-1], Dropout):
            raise ConfigError("Dropout has no meaning on top of the last layer: it would drop answers")
        return dense

    def _dropout_rates(self) -> list[float]:
        """The rate on the inputs of each Dense layer; of two Dropouts in a row both must keep a unit."""
        rates, keep = [], 1.0
        for layer in self.layers:
            if isinstance(layer, Dropout):
                keep *= 1 - layer.rate
            else:
                rates.append(1 - keep)
                keep = 1.0
        return rates

    def _width(self) -> int | None:
        dense = [layer for layer in self.layers if isinstance(layer, Dense)]
        return dense[-1].units if dense else self._columns

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

    def _table(self, x: object, name: str = "x") -> Array:
        table = as_table(x, columns=self._columns, name=name)
        check_fits_float32(table, name)
        return table

    def _weighted(self, rows: Rows, sample_weight: object, class_weight: Mapping[int, float] | None) -> Rows:
        weights = None if sample_weight is None else as_weights(sample_weight, _DTYPE, rows=len(rows))
        if class_weight is not None:
            by_class = _class_weights(rows, class_weight)
            weights = by_class if weights is None else weights * by_class
        return rows.weighted(weights)

    def _validation_rows(self, data: tuple[object, object] | tuple[object, object, object]) -> Rows:
        if not isinstance(data, tuple | list) or len(data) not in (2, 3):
            raise ConfigError("validation_data must be (x, y) or (x, y, sample_weight)")
        _, loss = self._compiled()
        table = self._table(data[0], "validation x")
        rows = loss.rows(table, data[1], self._built().outputs, _DTYPE, "validation y")
        return self._weighted(rows, data[2] if len(data) == 3 else None, None)

    def _split(self, rows: Rows, part: float) -> tuple[Rows, Rows]:
        if not 0 < part < 1:
            raise ConfigError(f"validation_split must be between 0 and 1, got {part!r}")
        cut = math.floor(len(rows) * (1 - part))
        if not 0 < cut < len(rows):
            raise DataError(f"validation_split={part} of {len(rows)} rows leaves no rows for one of the two parts")
        return rows[:cut], rows[cut:]


def _class_weights(rows: Rows, class_weight: Mapping[int, float]) -> Array:
    if rows.labels is not None:
        labels: Array = rows.labels
    elif rows.values is not None and rows.values.shape[1] == 1:
        labels = rows.values[:, 0]
    else:
        raise ConfigError("class_weight needs one class a row")
    weights = np.ones(len(rows), _DTYPE)
    for label, weight in class_weight.items():
        if not 0 <= weight < float("inf"):
            raise ConfigError(f"class_weight of class {label} must be at least 0 and finite, got {weight!r}")
        weights[labels == label] = weight
    if not weights.any():
        raise DataError("class_weight leaves every row with weight 0")
    return weights


def _summary(layers: Sequence[Dense | Dropout], network: Network) -> str:
    shapes = iter(zip(network.shapes, network.layers, strict=True))
    lines, width = [], network.inputs
    for layer in layers:
        if isinstance(layer, Dense):
            (inputs, width), spec = next(shapes)
            what = f"Dense ({layer.activation.name.replace('identity', 'linear')})"
            lines.append((what, f"(None, {width})", f"{(inputs + spec.bias) * width:,}"))
        else:
            lines.append((f"Dropout ({layer.rate:g})", f"(None, {width})", "0"))
    rule = "-" * 58
    table = "\n".join(f"{what:<26} {shape:<18} {count:>12}" for what, shape, count in lines)
    head = f"{'Layer':<26} {'Output shape':<18} {'Parameters':>12}"
    return f"{head}\n{rule}\n{table}\n{rule}\nTotal parameters: {network.free_parameters:,}"
