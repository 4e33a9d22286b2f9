"""What both multilayer perceptrons share: how they are trained, and what they tell of it."""

import inspect
import warnings
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from linnet.checks import check_number, check_whole
from linnet.data.columns import Columns, Encoder
from linnet.data.missing import Missing
from linnet.data.prepare import Preparer
from linnet.data.rows import Rows
from linnet.data.table import Array
from linnet.data.targets import as_weights
from linnet.errors import ConfigError, DataError, FitWarning
from linnet.estimators import tabular
from linnet.estimators.linear_model import as_offset, check_form
from linnet.estimators.mlp_settings import batch_size, is_adaptive, make_network, make_optimizer, written
from linnet.evaluate.metrics import MetricLike, NamedMetric, as_metrics
from linnet.fit.checkpoint import Checkpoint, Saved, checkpointed, resumed
from linnet.fit.ensemble import Ensemble
from linnet.fit.full_batch import FullBatch, minimise
from linnet.fit.loop import Epoch, OptimizerState, Plan, Slice, Training
from linnet.fit.objective import Objective
from linnet.fit.progress import follow, watching
from linnet.fit.schedules import Cosine
from linnet.fit.stopping import EarlyStopping, ReduceLROnPlateau
from linnet.model.activations import Activation
from linnet.model.heads import Head, Normal
from linnet.model.initialise import initial_theta
from linnet.model.network import Block, Network, Theta

Activations = str | Activation | Sequence[str | Activation]
Metrics = MetricLike | Sequence[MetricLike] | None

_LEAST_RATE = 1e-6  # where learning_rate="adaptive" gives up
_FOR_EVER = 10**9


class NotConvergedWarning(FitWarning, ConvergenceWarning):
    """Training ended before it converged."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a call of fit works on."""

    network: Network
    theta: Theta
    rows: Rows
    validation: Rows | None
    metrics: list[NamedMetric]
    monitored: NamedMetric | None  # by early stopping
    state: OptimizerState
    fitting: tabular.Fitting | None = None  # of a preset's ensemble


class MultilayerPerceptron(BaseEstimator, ABC):
    """A network with scikit-learn's parameters and attributes."""

    _missing: Missing
    threads: int | None
    n_outputs_: int
    _encoder: Encoder | Preparer
    _network: Network
    _theta: Theta
    _members: list[Theta]  # of a preset's ensemble, _theta the first of them
    _range: tuple[Array, Array]  # of an ensemble's predictions
    _state: OptimizerState
    _seed: int

    # ---- what the two kinds decide ----

    @abstractmethod
    def _targets(self, y: object, rows: int, name: str, *, fresh: bool) -> tuple[Head, int, dict[str, Any]]:
        """The head, its outputs, and the targets as Rows takes them; `fresh`: the first that the model sees."""

    @abstractmethod
    def _row_weights(self, rows: Rows, sample_weight: object) -> Array | None:
        """The weights of rows to train on."""

    _default_metric: str  # that early stopping watches

    # ---- training ----

    def _fit(self, X: object, y: object, sample_weight: object, **how: Any) -> Self:
        """Fit, or leave everything as it was."""
        before = dict(self.__dict__)
        try:
            run = self._prepare(X, y, sample_weight, **how)
            if self._params["solver"] == "lbfgs":
                self._solve(run)
            else:
                self._train(run, once=how.get("incremental", False))
        except BaseException:
            self.__dict__ = before
            raise
        return self

    def go_on(self, saved: Saved, X: object, y: object, sample_weight: object, **how: Any) -> None:
        """Train from a checkpoint to the end: see linnet.resume."""
        run = self._prepare(X, y, sample_weight, seed=saved.model["seed"], **how)
        for name, was in (("classes", saved.model["classes"]), ("columns", saved.model["columns"])):
            now = self._description()[name]
            if was != now:
                raise DataError(f"cannot resume with other data: the {name} were {was}, now {now}")
        self._train(run, once=False, saved=saved)

    def _fit_stream(self, X: object, y: object, sample_weight: object, **how: Any) -> Iterator[Epoch]:
        if self._params["solver"] == "lbfgs":
            raise ConfigError("solver='lbfgs' has no epochs to follow: use fit")
        run = self._prepare(X, y, sample_weight, **how)  # now, so that errors come before the first record is asked for
        training = self._training(run, once=False)

        def records() -> Iterator[Epoch]:
            for record in self._records(training, run):
                if isinstance(record, Epoch):
                    yield record
            if training.interrupted:
                raise KeyboardInterrupt

        return records()

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
        incremental: bool = False,
        seed: int | None = None,
    ) -> Run:
        params = self._params
        if y is None:
            raise DataError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        early = bool(params["early_stopping"]) and params["solver"] != "lbfgs"
        if params["preset"] is not None:
            tabular.check_preset(params, incremental=incremental)
        elif incremental and early:
            raise ConfigError("partial_fit does not support early_stopping=True")
        if incremental and params["solver"] == "lbfgs":
            raise ConfigError("partial_fit needs a solver that goes by batches, not 'lbfgs'")
        fresh = not (hasattr(self, "_theta") and (incremental or bool(params["warm_start"])))
        if fresh:
            self._seed = int(check_random_state(params["random_state"]).randint(2**31 - 1)) if seed is None else seed
        columns = self._learn(X) if fresh else self._encode(X)
        head, outputs, targets = self._targets(y, columns.rows, "y", fresh=fresh)
        rows = Rows(columns, **targets, offset=self._shift(offset, exposure, columns.rows, head, outputs))
        rows = rows.weighted(self._row_weights(rows, sample_weight))
        validation = None if eval_set is None else self._evaluation(eval_set)
        if params["preset"] is not None:
            return self._prepare_ensemble(rows, validation, head, outputs, eval_metric)
        if early and validation is None:
            rows, validation = self._hold_out(rows)
        if eval_metric is not None and validation is None:
            raise ConfigError("eval_metric needs eval_set=(X, y), or early_stopping=True")
        all_at_once = params["solver"] == "lbfgs" or batch_size(params, len(rows)) == len(rows)
        dtype = "float64" if all_at_once else "float32"  # the noise of batches drowns that of rounding
        rows = rows.computed_in(dtype)
        validation = None if validation is None else validation.computed_in(dtype)
        network = make_network(params, columns.count, outputs, head, rows.weight_sum)
        if fresh:
            self._members = []
            self._theta = initial_theta(network, self._seed, dtype, ["glorot_uniform"] * len(network.layers))
            self._state = OptimizerState()
            self.t_: int = 0
            self.loss_curve_: list[float] = []
            self.history_: dict[str, list[float]] = {}
        elif network.shapes != self._network.shapes:
            raise ConfigError("hidden_layer_sizes must stay the same to go on with a fitted model: fit a new one")
        self._network = network
        self.n_layers_, self.n_outputs_ = len(network.layers) + 1, outputs
        self.out_activation_ = {"sigmoid": "logistic", "exponential": "exp"}.get(head.output.name, head.output.name)
        wanted = self._default_metric if eval_metric is None and early else eval_metric
        metrics = as_metrics(wanted, head, outputs)
        state = self._state if incremental else OptimizerState(epochs=self._state.epochs)
        monitored = metrics[0] if early else None
        return Run(network, self._theta.astype(dtype), rows, validation, metrics, monitored, state)

    def _prepare_ensemble(
        self, rows: Rows, validation: Rows | None, head: Head, outputs: int, eval_metric: Metrics
    ) -> Run:
        metrics = as_metrics(eval_metric, head, outputs)
        fitting = tabular.prepare(self._params, self._defaults(), rows, validation, head, outputs, metrics, self._seed)
        self._network, self._state = fitting.network, OptimizerState()
        self.t_, self.loss_curve_, self.history_ = 0, [], {}
        self._take(fitting)
        return Run(fitting.network, self._theta, rows, validation, metrics, fitting.monitored, self._state, fitting)

    def _take(self, fitting: tabular.Fitting) -> None:
        """Take over an ensemble's parameters as they are now."""
        self._members, self._range = fitting.members(), fitting.range
        self._theta = self._members[0]
        self.n_layers_, self.n_outputs_ = len(self._network.layers) + 1, self._network.outputs
        output = self._network.head.output.name
        self.out_activation_ = {"sigmoid": "logistic"}.get(output, output)

    def _evaluation(self, eval_set: object) -> Rows:
        if not isinstance(eval_set, tuple | list) or len(eval_set) not in (2, 3):
            raise ConfigError("eval_set must be (X, y) or (X, y, sample_weight)")
        columns = self._encode(eval_set[0])
        _, _, targets = self._targets(eval_set[1], columns.rows, "eval_set's y", fresh=False)
        rows = Rows(columns, **targets)
        if len(eval_set) == 2:
            return rows
        return rows.weighted(as_weights(eval_set[2], np.float64, rows=len(rows), name="eval_set's sample_weight"))

    def _hold_out(self, rows: Rows) -> tuple[Rows, Rows]:
        """Some rows to train on and others for validation, with the same mix of classes."""
        from sklearn.model_selection import train_test_split  # slow to load, and often not needed

        params = self._params
        part = check_number(params["validation_fraction"], "validation_fraction", above=0, below=1)
        classes = rows.labels
        if classes is None and self._default_metric == "accuracy" and rows.values is not None:
            classes = rows.values[:, 0].astype(np.int32) if rows.values.shape[1] == 1 else None
        try:
            train, held = train_test_split(
                np.arange(len(rows)), test_size=part, random_state=self._seed, stratify=classes
            )
        except ValueError as error:
            raise DataError(f"no rows can be held out for early_stopping: {error}") from None
        if len(held) < 2:
            raise DataError("The validation set is too small: raise validation_fraction, or give eval_set")
        return rows[np.sort(train)], rows[np.sort(held)]

    def _train(self, run: Run, *, once: bool, saved: Saved | None = None) -> None:
        if saved is None:
            training = self._training(run, once=once)
        else:
            training = resumed(saved, run.network, run.rows, self._plan(run, once=once), run.validation)
            for record in saved.history:
                self._note(record, run)
        records = self._records(training, run, saved)
        verbose = int(self._params["verbose"])
        try:
            for _ in follow(records, training.plan.epochs, 2 if verbose > 1 else 1 if verbose else 0):
                pass
        except KeyboardInterrupt:  # between two records: the run itself has not heard it
            training.interrupt()
        finally:
            records.close()
        if training.interrupted:
            warnings.warn("training interrupted by user; the model is usable", UserWarning, stacklevel=4)
        elif not (once or run.monitored or isinstance(training.plan.optimizer.schedule, Cosine)) and training.ran_out:
            warnings.warn(
                f"Maximum iterations ({training.plan.epochs}) reached and the optimization hasn't converged yet: "
                "raise max_iter, or use early_stopping=True",
                NotConvergedWarning,
                stacklevel=4,
            )

    def _training(self, run: Run, *, once: bool) -> Training | Ensemble:
        if run.fitting is not None:
            self._begin(best=run.monitored is not None)
            return run.fitting.ensemble
        return Training(run.network, run.theta, run.rows, self._plan(run, once=once), run.validation, run.state)

    def _begin(self, *, best: bool) -> None:
        self.n_iter_: int = 0
        self.validation_scores_: list[float] | None = [] if best else None
        self.best_validation_score_: float | None = None
        self.best_loss_: float | None = None if best else min([*self.loss_curve_, np.inf])

    def _plan(self, run: Run, *, once: bool) -> Plan:
        params = self._params
        patience = check_whole(params["n_iter_no_change"], "n_iter_no_change", at_least=1) + 1
        tol = check_number(params["tol"], "tol", at_least=0)
        monitor = "loss" if run.monitored is None else f"val_{run.monitored.name}"
        best = run.monitored is not None
        adaptive = is_adaptive(params)
        stopping = EarlyStopping(monitor, _FOR_EVER if adaptive else patience, tol, restore_best_weights=best)
        plateau = ReduceLROnPlateau(monitor, 0.2, patience, tol, min_lr=_LEAST_RATE, stop_at_min=True)
        plan = Plan(
            optimizer=make_optimizer(params, len(run.rows)),
            epochs=1 if once else check_whole(params["max_iter"], "max_iter", at_least=1),
            batch_size=batch_size(params, len(run.rows)),
            shuffle=bool(params["shuffle"]),
            seed=self._seed,
            threads=params["threads"],
            metrics=run.metrics,
            metrics_in_training=False,
            stopping=None if once else stopping,
            plateau=plateau if adaptive and not once else None,
        )
        self._begin(best=best)
        return plan

    def _records(
        self, training: Training | Ensemble, run: Run, saved: Saved | None = None
    ) -> Generator[Slice | Epoch, None, None]:
        """The run's records; the model takes over its parameters and numbers epoch by epoch."""
        checkpoint = self._params["checkpoint"]
        records = training.records()
        if checkpoint is not None and isinstance(training, Training):
            if not isinstance(checkpoint, Checkpoint):
                checkpoint = Checkpoint(checkpoint, seconds=1.0)
            records = checkpointed(training, checkpoint, saved=saved, model=self._description())
        try:
            for record in records:
                if isinstance(record, Epoch):
                    self._theta = training.theta
                    if run.fitting is not None:
                        self._take(run.fitting)
                    self._note(record, run)
                yield record
        finally:
            records.close()
            if training.stop_reason != "diverged":
                self._theta, self._state = training.theta, training.state()
                self.stop_reason_ = training.stop_reason
                self._after(run)

    def _note(self, record: Epoch, run: Run) -> None:
        self.n_iter_ += 1
        self.t_ += len(run.rows)
        self.loss_: float = record.numbers["loss"]
        self.loss_curve_.append(self.loss_)
        if self.best_loss_ is not None:
            self.best_loss_ = min(self.best_loss_, self.loss_)
        if run.monitored is not None and self.validation_scores_ is not None:
            self.validation_scores_.append(record.numbers[f"val_{run.monitored.name}"])
            best = max if run.monitored.greater_is_better else min
            self.best_validation_score_ = best(self.validation_scores_)
        numbers = {**record.numbers, "learning_rate": record.learning_rate, "seconds": record.seconds}
        for name, value in numbers.items():
            self.history_.setdefault(name, []).append(value)

    def _solve(self, run: Run) -> None:
        """Full-batch L-BFGS on the same objective."""
        params, losses = self._params, list[float]()
        tol = check_number(params["tol"], "tol", at_least=0)
        with watching(int(params["verbose"]), tol) as show:

            def watch(iteration: int, value: float, gap: float) -> None:
                losses.append(value)
                show(iteration, value, gap)

            found = minimise(
                FullBatch(run.network, run.rows, params["threads"]),
                run.theta,
                gradient_tolerance=tol,
                max_iter=min(check_whole(params[name], name, at_least=1) for name in ("max_iter", "max_fun")),
                watch=watch,
            )
        self._theta, self.loss_, self.n_iter_ = found.theta, found.value, found.iterations
        self.t_ += found.iterations * len(run.rows)
        self.loss_curve_, self.history_, self.best_loss_ = losses, {"loss": losses}, found.value
        self.validation_scores_ = self.best_validation_score_ = None
        self.stop_reason_ = "converged" if found.converged else f"all {found.iterations} iterations done"
        self._after(run)
        if not found.converged:
            warnings.warn(
                f"lbfgs failed to converge after {found.iterations} iterations: the largest entry of the gradient is "
                f"{found.gradient_norm:.3g}, but tol is {tol:g}: raise max_iter, or scale the data",
                NotConvergedWarning,
                stacklevel=4,
            )

    def _after(self, run: Run) -> None:
        """Take note of what else a fit shows."""
        if run.fitting is not None:
            held, z = run.fitting.finish()
            self._take(run.fitting)
            self._measure(held, run.network.head.mean(z))

    def _measure(self, rows: Rows, mean: Array) -> None:
        """Take note of how predictions of held-out rows went."""

    # ---- the fitted network ----

    @property
    def coefs_(self) -> list[Array]:
        """The weights of each layer, inputs x outputs: views, so that writing to them changes the model."""
        return [block.weights for block in self._network.blocks(self._theta)]

    @property
    def intercepts_(self) -> list[Array]:
        """The biases of each layer, as views."""
        return [block.biases for block in self._network.blocks(self._theta)]

    def activations(self, X: object) -> list[Array]:
        """Return what each hidden layer makes of the rows: its features, rows x units."""
        check_is_fitted(self)
        columns, features, end = self._encode(X), [], 0
        for count, (inputs, outputs) in enumerate(self._network.shapes[:-1], 1):
            end += (inputs + 1) * outputs
            layers = self._network.layers[:count]
            below = Network(self._network.inputs, layers, Normal(layers[-1].activation))
            features.append(Objective(below, self._theta.dtype, rows=len(columns)).predict(self._theta[:end], columns))
        return features

    def gradients(self, X: object, y: object, sample_weight: object = None) -> list[tuple[Array, Array]]:
        """Return the derivatives of the objective on these rows by each layer's weights and biases."""
        check_is_fitted(self)
        problem, theta = self.objective(X, y, sample_weight)
        gradient = problem.at(theta).gradient
        assert gradient is not None
        return [(block.weights, block.biases) for block in self._network.blocks(gradient)]

    def objective(self, X: object, y: object, sample_weight: object = None) -> tuple[FullBatch, Array]:
        """Return what training minimises, on these rows and without dropout, and the parameters found, in float64."""
        check_is_fitted(self)
        columns = self._encode(X)
        _, _, targets = self._targets(y, columns.rows, "y", fresh=False)
        rows = Rows(columns, **targets)
        rows = rows.weighted(self._row_weights(rows, sample_weight))
        return FullBatch(self._network.without_dropout(), rows, self._params["threads"]), self._theta.astype(np.float64)

    def _output(self, X: object, offset: object = None, exposure: object = None, *, mean: bool = True) -> Array:
        check_is_fitted(self)
        columns = self._encode(X)
        network = self._network
        shift = self._shift(offset, exposure, columns.rows, network.head, network.outputs)
        objective = self._objective(len(columns))
        if not self._members:
            return objective.predict(self._theta, columns, offset=shift, mean=mean)
        z = sum(
            objective.predict(theta, columns, offset=shift, mean=False).astype(np.float64) for theta in self._members
        )
        z = np.asarray(z) / len(self._members)
        return network.head.mean(z).clip(*self._range) if mean else z

    @property
    def members_(self) -> list[list[Block]]:
        """The weights and biases of each layer of each network: one, or those of a preset's ensemble."""
        return [self._network.blocks(theta) for theta in self._members or [self._theta]]

    def _objective(self, rows: int) -> Objective:
        """The network ready to predict; for a single row it is kept, since making it takes longer than using it."""
        ready: Objective | None = self.__dict__.get("_ready")
        if rows == 1 and ready and ready.network is self._network and ready.dtype == self._theta.dtype:
            return ready
        objective = Objective(self._network, self._theta.dtype, self.threads, rows=rows)
        if rows == 1:
            self._ready = objective
        return objective

    def __getstate__(self) -> Any:
        return {name: value for name, value in super().__getstate__().items() if name != "_ready"}

    @staticmethod
    def _shift(offset: object, exposure: object, rows: int, head: Head, outputs: int) -> Array | None:
        if exposure is not None and head.output.name != "exponential":
            raise ConfigError("an exposure needs a loss with the log link: loss='poisson' or 'gamma'")
        return as_offset(offset, exposure, rows, outputs)

    def _description(self) -> dict[str, Any]:
        """What a checkpoint keeps besides the run, to make the model again."""
        classes = getattr(self, "classes_", None)
        return {
            "class": type(self).__name__,
            "params": {name: written(value) for name, value in self._params.items()},
            "seed": self._seed,
            "classes": None if classes is None else [str(name) for name in classes.tolist()],
            "columns": self._encoder.coefficient_names,
        }

    # ---- scikit-learn ----

    @property
    def _params(self) -> dict[str, Any]:
        return {**self.get_params(deep=False)}

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        return {name: parameter.default for name, parameter in inspect.signature(cls).parameters.items()}

    def _learn(self, X: object) -> Columns:
        if self._params["preset"] is not None:
            preparer = Preparer()
            columns = preparer.learn(X)
            check_form(self, X, reset=True)
            self._missing, self._encoder = Missing(), preparer
            return columns
        missing, encoder = Missing(), Encoder()
        columns = encoder.learn(missing.learn(X))
        check_form(self, X, reset=True)
        self._missing, self._encoder = missing, encoder
        return columns

    def _encode(self, X: object) -> Columns:
        check_form(self, X, reset=False)
        return self._encoder.encode(self._missing.fill(X))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_theta")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self._params["preset"] is not None
        tags.non_deterministic = False
        return tags


def goes_by_batches(model: Any) -> bool:
    """Whether the solver has epochs, so that there is a partial_fit."""
    return bool(model.solver != "lbfgs")
