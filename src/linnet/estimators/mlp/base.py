"""The base class of network estimators: a fitter fits, and a predictor predicts."""

import os
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from operator import is_
from typing import Any, ClassVar, Literal, Self, overload

import numpy as np
from numpy.typing import NDArray

from linnet._sklearn import Estimator, check_fitted, check_form, metadata
from linnet.arrays import ArrayLike, Table, Targets
from linnet.checks import check_random
from linnet.data.columns import Columns
from linnet.data.encoder import Encoder
from linnet.data.rows import Rows
from linnet.data.table import Array
from linnet.data.tabular_encoder import TabularEncoder
from linnet.errors import ConfigError, DataError, FitError, Parameter, unknown_name
from linnet.estimators.inputs import shift_names
from linnet.estimators.mlp.fitter import Fitted, Fitter, NetworkFitter, Recipe, solve
from linnet.estimators.mlp.predictor import Predictor, shift
from linnet.estimators.mlp.problem import (
    Metrics,
    Problem,
    Start,
    check_weights,
    evaluation_rows,
    hold_out,
    metrics_by_epoch,
)
from linnet.estimators.mlp.settings import Activations, Settings
from linnet.estimators.mlp.targets import TargetSpec
from linnet.export.parameters import comparable, to_json
from linnet.fit.checkpoint.checkpoint import Checkpoint
from linnet.fit.full_batch import FullBatch
from linnet.fit.loop.optimizers import Optimizer
from linnet.fit.loop.schedules import Schedule
from linnet.fit.loop.steps import Step, wants_steps
from linnet.fit.loop.stop_reason import StopKind, StopReason
from linnet.fit.loop.training import Epoch, OptimizerState
from linnet.model.network import Block, Network, Theta, need_parameters
from linnet.registry import need
from linnet.untrusted import fits

_OUTPUT_NAMES = {"sigmoid": "logistic", "exponential": "exp"}  # scikit-learn's names


class NetworkEstimator(Estimator):
    """A network, or an ensemble of networks, with scikit-learn's attributes."""

    # ---- the parameters that all have, which the docstring of each estimator explains ----

    hidden_layer_sizes: int | Sequence[int] | str
    activation: Activations
    solver: str | Optimizer
    alpha: float | str
    l1: float
    dropout: float | Sequence[float] | str
    weight_decay: float | str
    batch_size: int | str
    learning_rate: str | Schedule
    learning_rate_init: float | str
    max_iter: int | str
    n_iter_no_change: float | str
    tol: float | str
    validation_fraction: float | str
    clip_norm: float | str | None
    random_state: Any
    verbose: int | bool
    checkpoint: str | os.PathLike[str] | Checkpoint | None
    threads: int | None
    initializer: str | Sequence[str] = "glorot_uniform"  # also of models in files that are older than it

    # ---- what a fit leaves ----

    coefs_: list[Array]
    intercepts_: list[Array]
    n_iter_: int
    n_layers_: int
    n_outputs_: int
    out_activation_: str
    t_: int
    loss_: float
    loss_curve_: list[float]
    best_loss_: float | None
    validation_scores_: list[float] | None
    best_validation_score_: float | None
    history_: dict[str, list[float]]
    stop_reason_: StopReason
    _encoder: Encoder | TabularEncoder
    _predictor: Predictor
    _views: list[Array]  # the arrays first put into coefs_ and intercepts_
    _state: OptimizerState
    _solver: str  # the optimizer that `_state` belongs to
    _seed: int
    _metrics_given: Any  # as a checkpoint keeps them
    _streamed: Fitter | None = None  # of a fit_stream that has not ended
    _file_types: ClassVar[Mapping[str, Any]] = {
        "best_loss_": float | None,
        "best_validation_score_": float | None,
        "dispersion_": NDArray[np.float64] | None,
        "history_": dict[str, list[float]],
        "loss_": float,
        "loss_curve_": list[float],
        "n_iter_": int,
        "n_outputs_": int,
        "stop_reason_": StopReason,
        "t_": int,
        "validation_scores_": list[float] | None,
        "_encoder": Encoder | TabularEncoder,
        "_seed": int,
    }

    # ---- what subclasses define ----

    @property
    def _recipe(self) -> Recipe:
        """How tables are encoded and networks trained: as one network, unless a subclass overrides it."""
        return ONE_NETWORK

    @classmethod
    @abstractmethod
    def _resolve(cls, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters with the values that "auto" stands for, unless these depend on the data."""

    @abstractmethod
    def _learn_targets(self, y: object, rows: int, classes: Any = None) -> tuple[TargetSpec, Mapping[str, Any]]:
        """Return the specification of the targets of a first fit, and the targets as arguments of Rows.

        `classes`: all classes that later rows may have; None: those in `y`.
        """

    @property
    @abstractmethod
    def _targets(self) -> TargetSpec:
        """The specification of the targets of a fitted model."""

    def _settings(self) -> Settings:
        """Return the parameters, checked."""
        return Settings.of(self._resolve(self._params))

    def _check(self, settings: Settings, *, by_epochs: bool, incremental: bool) -> None:
        """Raise a ConfigError for settings that exclude each other."""
        if settings.full_batch and (by_epochs or settings.checkpoint is not None):
            raise ConfigError("partial_fit, eval_set and checkpoint need a solver that trains by epochs, not 'lbfgs'")
        if settings.full_batch and settings.clip_norm is not None:
            raise ConfigError("clip_norm is for solvers that train by epochs, not for 'lbfgs'")
        if settings.full_batch and self._recipe.ensemble:
            raise ConfigError(
                Parameter("solver", "lbfgs"), " cannot train networks for tables, which are trained by epochs"
            )
        if incremental and settings.early_stopping:
            raise ConfigError("partial_fit does not support early_stopping=True")

    # ---- fitting ----

    def _fit(self, X: object, y: object, sample_weight: object, **options: Any) -> Self:
        """Fit the model; if that fails, it stays as it was."""
        self._train(self._prepare(X, y, sample_weight, **options), once=options.get("incremental", False))
        return self

    def _train(self, problem: Problem, *, once: bool) -> None:
        if problem.settings.full_batch:
            self._take(problem, solve(problem))
        else:
            self._take(problem, self._recipe.fitter(problem, once).run(lambda: self._description(problem)))

    @overload
    def fit_stream(
        self,
        X: Table,
        y: Targets,
        sample_weight: ArrayLike | None = None,
        *,
        every: Literal["epoch"] = "epoch",
        **options: Any,
    ) -> Iterator[Epoch]: ...

    @overload
    def fit_stream(
        self, X: Table, y: Targets, sample_weight: ArrayLike | None = None, *, every: Literal["step"], **options: Any
    ) -> Iterator[Step | Epoch]: ...

    def fit_stream(
        self, X: Table, y: Targets, sample_weight: ArrayLike | None = None, *, every: str = "epoch", **options: Any
    ) -> Iterator[Step | Epoch]:
        """Train like `fit`, and yield the record of each epoch as soon as it ends.

        Leaving the loop ends the training; the model keeps what it has learned.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The training table.
        y : array of shape (rows,) or (rows, targets)
            The targets.
        sample_weight : array of shape (rows,), default=None
            Row weights: a row of weight w counts as w rows.
        every : {"epoch", "step"}, default="epoch"
            With "step", each step has a record, too. The training is the same to the last bit, at the cost of a second
            gradient and some microseconds per step.
        **options
            The other arguments of `fit`, by name.

        Yields
        ------
        Step
            The rows of a step, its learning rate, loss and gradient, and the parameters before and after it.
        Epoch
            The losses and metrics of an epoch.
        """
        every_step = wants_steps(every)
        if every_step and self._recipe.ensemble:
            raise ConfigError(Parameter("every", "step"), " is for one network: this one trains several side by side")
        self._check_options(options, "fit_stream")
        problem = self._prepare(X, y, sample_weight, **options)  # now, so that errors precede the first record
        if problem.settings.full_batch:
            raise ConfigError("solver='lbfgs' has no epochs to stream: use fit")
        fitter = self._recipe.fitter(problem, False)
        for training in fitter.training.members:
            training.every_step = every_step
        return self._records(problem, fitter)

    def _records(self, problem: Problem, fitter: Fitter) -> Iterator[Step | Epoch]:
        """Yield the run's records; the model takes over its parameters after each epoch, unless a later fit began."""
        before, training = dict(self.__dict__), fitter.training
        records = fitter.records(lambda: self._description(problem))
        self._streamed = fitter
        try:
            for record in records:
                if isinstance(record, Epoch) and self._streamed is fitter:
                    self._take(problem, fitter.now())
                    self._streamed = fitter
                if isinstance(record, Epoch | Step):
                    yield record
        except FitError:
            if self._streamed is fitter:
                self.__dict__ = before
            raise
        finally:
            records.close()
            if self._streamed is fitter and training.stop_reason.kind is not StopKind.DIVERGED:
                self._take(problem, fitter.fitted())
        if training.interrupted:
            if not training.learned:
                self.__dict__ = before
            raise KeyboardInterrupt

    def _check_options(self, options: Mapping[str, object], method: str) -> None:
        """Raise an error for options that are not arguments of `fit`."""
        options_of_fit = [name for name in metadata(type(self), "fit") if name != "sample_weight"]
        for name in options:
            if name not in options_of_fit:
                raise unknown_name(f"option of {method}", name, options_of_fit)

    # ---- from the arguments of fit to a problem ----

    def _prepare(
        self,
        X: object,
        y: object,
        sample_weight: object,
        *,
        eval_set: object = None,
        eval_metric: Metrics = None,
        offset: object = None,
        exposure: object = None,
        eval_offset: object = None,
        eval_exposure: object = None,
        incremental: bool = False,
        classes: Any = None,
        seed: int | None = None,
    ) -> Problem:
        if y is None:
            raise DataError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        settings, recipe = self._settings(), self._recipe
        self._check(settings, by_epochs=incremental or eval_set is not None, incremental=incremental)
        early = bool(settings.early_stopping) and not (settings.full_batch or recipe.ensemble)
        fresh = not (self.__sklearn_is_fitted__() and (incremental or bool(settings.warm_start)))
        if seed is None:
            seed = int(check_random(settings.random_state).randint(2**31 - 1)) if fresh else self._seed
        like = object.__new__(type(self)) if fresh else self  # learns the columns, as the fit may fail and leave self
        encoder: Encoder | TabularEncoder
        if fresh:
            encoder, columns = recipe.learn_encoder(X, sample_weight)
            check_form(like, X, reset=True)
        else:
            encoder, columns = self._encoder, self._encode(X)
        if fresh:
            targets, values = self._learn_targets(y, columns.rows, classes)
        else:
            targets, values = self._targets, self._targets.encode(y, columns.rows, "y")
        added = shift(offset, exposure, columns.rows, targets.head, targets.outputs)
        rows = Rows(columns, **values, offset=added)
        rows = rows.weighted(targets.weights(rows, sample_weight))
        check_weights(rows)
        validation = None
        if eval_set is not None:
            validation = evaluation_rows(like, encoder, targets, eval_set, eval_offset, eval_exposure)
            if (rows.offset is None) != (validation.offset is None):
                raise ConfigError(
                    "eval_set needs eval_offset or eval_exposure if, and only if, the fit has an offset or exposure"
                )
        elif early:
            rows, validation = hold_out(rows, settings.validation_fraction, seed, stratified=targets.stratified)
        if eval_metric is not None and validation is None and not recipe.ensemble:
            raise ConfigError("eval_metric needs eval_set=(X, y), or early_stopping=True")
        metrics, watched = metrics_by_epoch(eval_metric, targets, early=early)
        return Problem(
            settings=settings,
            encoder=encoder,
            features={name: getattr(like, name) for name in _FEATURES if hasattr(like, name)},
            targets=targets,
            rows=rows,
            validation=validation,
            metrics=metrics,
            metrics_given=comparable(to_json(eval_metric)),
            watched=watched,
            shifts=shift_names(offset, exposure),
            seed=seed,
            start=Start() if fresh else self._start(settings, incremental=incremental),
        )

    def _start(self, settings: Settings, *, incremental: bool) -> Start:
        """Return the state from which a fit continues the previous one."""
        predictor, same_solver = self._current(), self._solver == repr(settings.solver)
        return Start(
            predictor.theta,
            predictor.network.shapes,
            self.loss_curve_,
            self.history_,
            self.t_,
            self._state if incremental and same_solver else OptimizerState(),
        )

    # ---- the result of a fit ----

    def _take(self, problem: Problem, fitted: Fitted) -> None:
        """Take over the result of a fit."""
        log, network = fitted.log, fitted.predictor.network
        for name in _FEATURES:
            self.__dict__.pop(name, None)
        self.__dict__.update({**problem.features, **problem.targets.attributes})
        self._seed, self._solver, self._metrics_given = (
            problem.seed,
            repr(problem.settings.solver),
            problem.metrics_given,
        )
        self._state, self._streamed = fitted.state, None
        self._show(fitted.predictor)
        self.n_layers_, self.n_outputs_ = len(network.layers) + 1, network.outputs
        self.out_activation_ = _OUTPUT_NAMES.get(network.head.output.name, network.head.output.name)
        self.n_iter_, self.t_ = log.epochs, log.rows_seen
        self.loss_curve_, self.history_ = log.loss_curve, log.history
        self.best_loss_, self.validation_scores_ = log.best_loss, log.validation_scores
        self.best_validation_score_, self.stop_reason_ = log.best_validation_score, fitted.stop_reason
        self.__dict__.pop("loss_", None)
        if log.loss is not None:
            self.loss_ = log.loss
        self.__dict__.pop("dispersion_", None)
        if fitted.done and problem.targets.has_spread:
            self.__dict__["dispersion_"] = fitted.dispersion

    def _show(self, predictor: Predictor) -> None:
        """Take over a predictor; `coefs_` and `intercepts_` become views of its first network's parameters."""
        self._predictor, self._encoder = predictor, predictor.encoder
        blocks = predictor.blocks[0]
        self.coefs_ = [block.weights for block in blocks]
        self.intercepts_ = [block.biases for block in blocks]
        self._views = [*self.coefs_, *self.intercepts_]

    def _current(self) -> Predictor:
        """Return the predictor, with the arrays that a user may have assigned to `coefs_` and `intercepts_`."""
        arrays, views = [*self.coefs_, *self.intercepts_], self._views
        if len(arrays) == len(views) and all(map(is_, arrays, views)):
            return self._predictor
        theta = self._predictor.theta.copy()
        blocks = self._predictor.network.blocks(theta)
        for name, assigned, current in (
            ("coefs_", self.coefs_, [block.weights for block in blocks]),
            ("intercepts_", self.intercepts_, [block.biases for block in blocks]),
        ):
            if [np.shape(array) for array in assigned] != (shapes := [view.shape for view in current]):
                raise DataError(
                    f"{name} must be arrays of the shapes {shapes}, got {[np.shape(array) for array in assigned]}"
                )
            for array, view in zip(assigned, current, strict=True):
                view[:] = array
        return self._predictor.with_theta(theta)

    @property
    def predictor(self) -> Predictor:
        """The predictor: the encoder, the network, and the parameters of each member of the ensemble."""
        return self._current()

    @property
    def members_(self) -> list[list[Block]]:
        """The weights and biases of each layer, for each network of the ensemble (or the single network)."""
        return self._current().blocks

    # ---- predicting ----

    def _encode(self, X: object) -> Columns:
        check_form(self, X, reset=False)
        return self._encoder.encode(X, "X")

    def _output(self, X: object, offset: object = None, exposure: object = None, *, mean: bool = True) -> Array:
        check_fitted(self)
        columns, predictor = self._encode(X), self._current()
        added = None
        if offset is not None or exposure is not None:
            added = predictor.shift(offset, exposure, columns.rows)
        return predictor.output(columns, added, self.threads, mean=mean)

    def activations(self, X: Table) -> list[Array]:
        """Return the outputs of the hidden layers, which are the features that the network has learned.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows.

        Returns
        -------
        list of arrays of shape (rows, units)
            The activations of each hidden layer of the first network.
        """
        check_fitted(self)
        return self._current().hidden(self._encode(X))

    def gradients(
        self,
        X: Table,
        y: Targets,
        sample_weight: ArrayLike | None = None,
        *,
        offset: ArrayLike | None = None,
        exposure: ArrayLike | None = None,
    ) -> list[tuple[Array, Array]]:
        """Return the gradient of the objective on these rows, by layer.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows.
        y : array of shape (rows,) or (rows, targets)
            Their targets.
        sample_weight : array of shape (rows,), default=None
            Row weights: a row of weight w counts as w rows.
        offset : array of shape (rows,) or (rows, outputs), default=None
            Added to z, the linear predictor.
        exposure : array of shape (rows,), default=None
            Multiplies the mean, as its logarithm is added to z: how long, or for how many, each row was
            observed. Needs a log link.

        Returns
        -------
        list of (array of shape (inputs, units), array of shape (units,))
            The derivatives with respect to the weights and the biases of each layer.
        """
        problem, theta = self.objective(X, y, sample_weight, offset=offset, exposure=exposure)
        gradient = problem.at(theta).gradient
        assert gradient is not None
        return [(block.weights, block.biases) for block in problem.network.blocks(gradient)]

    def objective(
        self,
        X: Table,
        y: Targets,
        sample_weight: ArrayLike | None = None,
        *,
        offset: ArrayLike | None = None,
        exposure: ArrayLike | None = None,
    ) -> tuple[FullBatch, Array]:
        """Return the objective that training minimises, on these rows and without dropout, and the fitted parameters.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows.
        y : array of shape (rows,) or (rows, targets)
            Their targets.
        sample_weight : array of shape (rows,), default=None
            Row weights: a row of weight w counts as w rows.
        offset : array of shape (rows,) or (rows, outputs), default=None
            Added to z, the linear predictor.
        exposure : array of shape (rows,), default=None
            Multiplies the mean, as its logarithm is added to z: how long, or for how many, each row was
            observed. Needs a log link.

        Returns
        -------
        objective : FullBatch
            The mean loss plus the penalties, with its gradient, as a function of the parameter vector.
        theta : array of shape (parameters,)
            The fitted parameters of the first network, in float64.
        """
        check_fitted(self)
        columns, targets, predictor = self._encode(X), self._targets, self._current()
        added = predictor.shift(offset, exposure, columns.rows)
        rows = Rows(columns, **targets.encode(y, columns.rows, "y"), offset=added)
        rows = rows.weighted(targets.weights(rows, sample_weight)).computed_in("float64")
        network, theta = predictor.network.without_dropout(), predictor.theta.astype(np.float64)
        return FullBatch.in_memory(network, targets.aimed_at(rows), self.threads), theta

    # ---- files ----

    def _description(self, problem: Problem) -> dict[str, Any]:
        """Return what a checkpoint keeps besides the state of the run, from which the model can be made again."""
        classes, start = problem.targets.attributes.get("classes_"), problem.start
        return {
            "class": type(self).__name__,
            "params": {name: to_json(value) for name, value in self._params.items()},
            "explicit": True,  # parameters that the user did not set are "auto"; in older files, at their defaults
            "seed": problem.seed,
            "classes": None if classes is None else comparable(to_json(classes)),
            "columns": problem.encoder.coefficient_names,
            "metrics": problem.metrics_given,
            "earlier": {
                "loss_curve": [*start.loss_curve],
                "t": start.rows_seen,
                "history": {name: [*numbers] for name, numbers in start.history.items()},
            },
        }

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name not in _NOT_SAVED}
        if not self.__sklearn_is_fitted__():
            return state
        predictor = self._current()
        state |= {"_network": predictor.network, "_theta": predictor.theta, "_members": [*predictor.members]}
        state |= {} if predictor.range is None else {"_range": predictor.range}
        return state | {"_shifts": predictor.shifts}

    def __setstate__(self, state: dict[str, Any]) -> None:
        parts = {name: state[name] for name in _OF_PREDICTOR if name in state}
        super().__setstate__({name: value for name, value in state.items() if name not in _OF_PREDICTOR})
        if "stop_reason_" in state:
            self.stop_reason_ = StopReason.read(state["stop_reason_"])
        if "_theta" in parts:
            members: tuple[Theta, ...] = (parts["_theta"], *parts["_members"][1:])
            network, limits, shifts = parts["_network"], parts.get("_range"), parts.get("_shifts", ())
            self._show(Predictor(self._encoder, network, members, limits, shifts))

    def _file_state(self) -> dict[str, Any]:
        state = super()._file_state()
        if "history_" in state:
            history = state["history_"].items()
            state["history_"] = {name: numbers for name, numbers in history if name != "seconds"}
        if state.get("initializer") == NetworkEstimator.initializer:  # files have the bytes they had without it
            del state["initializer"]
        return state

    def _check_file(self) -> None:
        super()._check_file()
        if not self.__sklearn_is_fitted__():
            return
        network, theta, members = self._predictor.network, self._predictor.theta, self._predictor.members
        need_parameters(self, network, theta)
        need(isinstance(network, Network) and len({id(member) for member in members}) == len(members), self, "members")
        kind = theta.dtype, theta.shape
        alike = all(isinstance(each, np.ndarray) and (each.dtype, each.shape) == kind for each in members)
        need(alike, self, "members")
        need(self._encoder.count == network.inputs, self, "network")
        need(fits(self._predictor.shifts, tuple[str, ...]), self, "shifts")
        spread = self.__dict__.get("dispersion_")
        need(spread is None or (spread.shape == (network.outputs,) and (spread >= 0).all()), self, "dispersion_")
        self._check_outputs(network.outputs, several=getattr(self, "_multilabel", False))

    def _input_encoder(self) -> Encoder | None:
        encoder = self.__dict__.get("_encoder")
        return encoder.encoder if isinstance(encoder, TabularEncoder) else encoder

    def _by_epoch(self) -> Mapping[str, Sequence[float]]:
        return self.history_

    def __sklearn_is_fitted__(self) -> bool:
        return "_predictor" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self._recipe.allows_missing
        tags.non_deterministic = False
        return tags


ONE_NETWORK = Recipe(
    learn_encoder=lambda X, weights: Encoder.learn(X, gaps="fill"),
    fitter=lambda problem, once: NetworkFitter(problem, once=once),
    ensemble=False,
    allows_missing=False,
)
_NOT_SAVED = ("_streamed", "_views", "_predictor", "coefs_", "intercepts_")  # in files: made from the rest
_FEATURES = ("n_features_in_", "feature_names_in_")
_OF_PREDICTOR = ("_network", "_theta", "_members", "_range", "_shifts")  # in files
