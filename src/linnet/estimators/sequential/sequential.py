"""Sequential: the network with the interface of Keras, on linnet's engine."""

import math
from collections.abc import Collection, Generator, Iterator, Mapping
from numbers import Real
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from linnet.arrays import ArrayLike, Table, Targets
from linnet.checks import check_flag, check_number, check_random
from linnet.data.columns import as_columns
from linnet.data.rows import Rows
from linnet.data.table import Array, as_table, check_fits_float32
from linnet.data.targets import as_weights, class_weights
from linnet.errors import ConfigError, DataError, FitError, warn
from linnet.estimators.inputs import EvalSet
from linnet.estimators.sequential.base import DTYPE, SequentialModel
from linnet.evaluate.metrics import as_metrics
from linnet.fit.full_batch import FullBatch
from linnet.fit.loop.progress import Verbose, check_verbose, follow
from linnet.fit.loop.steps import Slice, Step, wants_steps
from linnet.fit.loop.stop_reason import StopKind, StopReason
from linnet.fit.loop.stopping import EarlyStopping, ReduceLROnPlateau, choose_one
from linnet.fit.loop.training import Epoch, Plan, Training
from linnet.fit.objective import NetworkObjective, NetworkSums, hidden, penalty, predict
from linnet.registry import saved

Validation = EvalSet


class History:
    """The result of `Sequential.fit`.

    Parameters
    ----------
    params : dict
        The arguments of the fit: epochs, steps per epoch and verbose.

    Attributes
    ----------
    history : dict of list of float
        Every loss and metric by epoch.
    epoch : list of int
        The indices of the epochs.
    params : dict
        The arguments of the fit.
    stop_reason : StopReason
        Why training ended.
    """

    def __init__(self, params: dict[str, object]) -> None:
        self.history: dict[str, list[float]] = {}
        self.epoch: list[int] = []
        self.params = params
        self.stop_reason = StopReason(StopKind.NOT_STARTED)

    def __repr__(self) -> str:
        last = ", ".join(f"{name} {values[-1]:.4g}" for name, values in self.history.items())
        return f"<History of {len(self.epoch)} epochs ({self.stop_reason}): {last}>"


@saved
class Sequential(SequentialModel):
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
        rows = self._weighted(loss.rows(table, y, self._outputs(), DTYPE), sample_weight)
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
        rows = self._weighted(loss.rows(table, y, self._outputs(), DTYPE), sample_weight).computed_in("float64")
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
        rows = self._weighted(loss.rows(table, y, outputs, DTYPE), sample_weight)
        validation = None
        if validation_data is not None:
            validation = self._validation_rows(validation_data, table.shape[1])
        elif check_number(validation_split, "validation_split"):
            rows, validation = _split(rows, validation_split)
        if class_weight is not None:  # only for training rows: validation weights all rows alike
            rows = rows.weighted(_weights_by_class(rows, outputs, class_weight))
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

    def _weighted(self, rows: Rows, sample_weight: object, prefix: str = "") -> Rows:
        if sample_weight is None:
            return rows
        name, table = f"{prefix}sample_weight", f"{prefix}x"
        return rows.weighted(as_weights(sample_weight, DTYPE, rows=len(rows), name=name, table=table))

    def _validation_rows(self, data: Validation, columns: int) -> Rows:
        if not isinstance(data, tuple | list) or len(data) not in (2, 3):
            raise ConfigError("validation_data must be (x, y) or (x, y, sample_weight)")
        _, loss = self._compiled()
        table = as_table(data[0], columns=columns, name="validation x")
        check_fits_float32(table, "validation x")
        rows = loss.rows(table, data[1], self._outputs(), DTYPE, "validation y", "validation x")
        return self._weighted(rows, data[2] if len(data) == 3 else None, "validation ")


def _split(rows: Rows, share: float) -> tuple[Rows, Rows]:
    if not isinstance(share, Real) or not 0 < share < 1:
        raise ConfigError(f"validation_split must be between 0 and 1, got {share!r}")
    cut = math.floor(len(rows) * (1 - share))
    if not 0 < cut < len(rows):
        raise DataError(f"validation_split={share} of {len(rows)} rows leaves no rows for training or for validation")
    return rows[:cut], rows[cut:]


def _weights_by_class(rows: Rows, outputs: int, class_weight: Mapping[int, float] | str) -> Array:
    """Return the weight of each row times that of its class."""
    labels, count = _classes(rows, outputs)
    factors = class_weights(class_weight, np.arange(count), labels, rows.weights)[labels]
    weights = factors if rows.weights is None else rows.weights * factors
    large = weights > np.finfo(DTYPE).max
    if large.any():
        row = int(large.argmax())
        raise ConfigError(
            f"class_weight of class {labels[row]} gives row {row} the weight {weights[row]:g}, too large for float32"
        )
    return weights.astype(DTYPE)


def _classes(rows: Rows, outputs: int) -> tuple[Array, int]:
    """Return the class index of each row, from labels, one-hot rows or one binary column, and the number of classes."""
    if rows.labels is not None:
        return rows.labels, outputs
    assert rows.values is not None
    hot = rows.values == 1
    others = rows.values[~hot]
    if (others == 0).all() or (others == -1).all():  # both together would be three classes
        if outputs == 1:
            return hot[:, 0].astype(np.intp), 2
        if (hot.sum(axis=1) == 1).all():
            return hot.argmax(axis=1), outputs
    raise ConfigError(
        "class_weight needs one class per row: class indices, one-hot rows, or one column of 0 and 1 or of -1 and 1"
    )
