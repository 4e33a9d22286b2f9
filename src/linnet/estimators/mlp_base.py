"""What both multilayer perceptrons share: how they are trained, and what they tell of it."""

import inspect
import warnings
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from linnet.checks import check_number, check_whole
from linnet.data.rows import Rows
from linnet.data.table import Array
from linnet.data.targets import as_weights
from linnet.errors import ConfigError, DataError, FitError, FitWarning
from linnet.estimators import tabular
from linnet.estimators.mlp_fitted import FittedNetwork
from linnet.estimators.mlp_settings import batch_size, is_adaptive, make_network, make_optimizer, written
from linnet.evaluate.metrics import MetricLike, NamedMetric, as_metrics, several_metrics
from linnet.fit.checkpoint import Checkpoint, Saved, checkpointed, resumed
from linnet.fit.ensemble import Ensemble
from linnet.fit.full_batch import FullBatch, minimise
from linnet.fit.loop import Epoch, OptimizerState, Plan, Slice, Training
from linnet.fit.progress import follow, watching
from linnet.fit.schedules import Cosine
from linnet.fit.stopping import EarlyStopping, ReduceLROnPlateau
from linnet.model.activations import Activation
from linnet.model.heads import Head
from linnet.model.initialise import initial_theta
from linnet.model.network import Network, Theta

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
    monitor: str | None  # what early stopping watches
    state: OptimizerState
    fitting: tabular.Fitting | None = None  # of a preset's ensemble

    def members(self, training: Training | Ensemble) -> list[Theta]:
        """The parameters of every network, as they are now."""
        return [training.theta] if self.fitting is None else self.fitting.members()

    @property
    def greater(self) -> bool:
        """Whether more of what is watched is better."""
        return any(f"val_{metric.name}" == self.monitor and metric.greater_is_better for metric in self.metrics)


class MultilayerPerceptron(FittedNetwork, ABC):
    """A network with scikit-learn's parameters and attributes."""

    t_: int
    loss_curve_: list[float]
    history_: dict[str, list[float]]
    _state: OptimizerState
    _seed: int
    _run: Training | Ensemble | None = None  # the one that has the model's parameters

    # ---- what the two kinds decide ----

    @property
    @abstractmethod
    def _default_metric(self) -> str:
        """What early stopping watches unless told."""

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
        now = self._description()
        for name in ("classes", "columns", "metrics"):
            if saved.model[name] != now[name]:
                raise DataError(f"cannot resume with other data: the {name} were {saved.model[name]}, now {now[name]}")
        earlier = saved.model["earlier"]
        self.loss_curve_, self.t_ = [*earlier["loss_curve"]], earlier["t"]
        self._train(run, once=False, saved=saved)

    def _fit_stream(self, X: object, y: object, sample_weight: object, **how: Any) -> Iterator[Epoch]:
        if self._params["solver"] == "lbfgs":
            raise ConfigError("solver='lbfgs' has no epochs to follow: use fit")
        before = dict(self.__dict__)
        try:  # now, so that errors come before the first record is asked for
            run = self._prepare(X, y, sample_weight, **how)
            training = self._training(run, once=False)
            begun = dict(self.__dict__)
        finally:
            self.__dict__ = before  # until then the model is what it was

        def records() -> Iterator[Epoch]:
            unfitted = dict(self.__dict__)
            self.__dict__.update(begun)
            try:
                for record in self._records(training, run):
                    if isinstance(record, Epoch):
                        yield record
            except FitError:
                self.__dict__ = unfitted
                raise
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
        eval_offset: object = None,
        eval_exposure: object = None,
        incremental: bool = False,
        seed: int | None = None,
    ) -> Run:
        params = self._params
        if y is None:
            raise DataError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        full_batch = params["solver"] == "lbfgs"
        early = bool(params["early_stopping"]) and not full_batch
        if full_batch and (incremental or eval_set is not None or params["checkpoint"] is not None):
            raise ConfigError("partial_fit, eval_set and checkpoint need a solver that goes by epochs, not 'lbfgs'")
        if params["preset"] is not None:
            tabular.check_preset(params)
        elif incremental and early:
            raise ConfigError("partial_fit does not support early_stopping=True")
        check_number(params["validation_fraction"], "validation_fraction", above=0, below=1)
        fresh = not (hasattr(self, "_theta") and (incremental or bool(params["warm_start"])))
        if fresh:
            self._seed = int(check_random_state(params["random_state"]).randint(2**31 - 1)) if seed is None else seed
        columns = self._learn(X) if fresh else self._encode(X)
        head, outputs, targets = self._targets(y, columns.rows, "y", fresh=fresh)
        rows = Rows(columns, **targets, offset=self._shift(offset, exposure, columns.rows, head, outputs))
        rows = rows.weighted(self._row_weights(rows, sample_weight))
        if rows.weights is not None and not rows.weights.any():
            raise DataError("every row has weight 0: nothing is left to learn from")
        validation = None
        if eval_set is not None:
            validation = self._evaluation(eval_set, eval_offset, eval_exposure)
            if (rows.offset is None) != (validation.offset is None):
                raise ConfigError(
                    "with an offset or exposure eval_set needs eval_offset or eval_exposure, and only then"
                )
        elif early and params["preset"] is None:
            rows, validation = self._hold_out(rows)
        if params["preset"] is not None:
            return self._prepare_ensemble(rows, validation, head, outputs, eval_metric)
        if eval_metric is not None and validation is None:
            raise ConfigError("eval_metric needs eval_set=(X, y), or early_stopping=True")
        all_at_once = full_batch or batch_size(params, len(rows)) == len(rows)
        dtype = "float64" if all_at_once else "float32"  # the noise of batches drowns that of rounding
        rows = rows.computed_in(dtype)
        validation = None if validation is None else validation.computed_in(dtype)
        network = make_network(params, columns.count, outputs, head, rows.weight_sum)
        if fresh:
            self._take(network, initial_theta(network, self._seed, dtype, ["glorot_uniform"] * len(network.layers)))
            self._state = OptimizerState()
            self.t_, self.loss_curve_, self.history_ = 0, [], {}
        elif network.shapes != self._network.shapes:
            raise ConfigError("hidden_layer_sizes must stay the same to go on with a fitted model: fit a new one")
        else:
            self._take(network, self._parameters())
            self.loss_curve_ = [*self.loss_curve_]  # what a fit that fails leaves alone
            self.history_ = {name: [*numbers] for name, numbers in self.history_.items()}
        self._describe(network)
        self._metrics_given = written(eval_metric)
        wanted = several_metrics(self._default_metric if eval_metric is None and early else eval_metric)
        metrics = as_metrics([metric for metric in wanted if metric != "loss"], head, outputs)
        monitor = None
        if early:
            monitor = "val_loss" if wanted[0] == "loss" else f"val_{metrics[0].name}"
        solver = repr(params["solver"])
        same_solver = incremental and getattr(self, "_solver", solver) == solver
        self._solver = solver
        state = self._state if same_solver else OptimizerState()
        return Run(network, self._theta.astype(dtype), rows, validation, metrics, monitor, state)

    def _prepare_ensemble(
        self, rows: Rows, validation: Rows | None, head: Head, outputs: int, eval_metric: Metrics
    ) -> Run:
        metrics = as_metrics([metric for metric in several_metrics(eval_metric) if metric != "loss"], head, outputs)
        defaults = {name: parameter.default for name, parameter in inspect.signature(type(self)).parameters.items()}
        fitting = tabular.prepare(self._params, defaults, rows, validation, head, outputs, metrics, self._seed)
        self.t_, self.loss_curve_, self.history_, self._state = 0, [], {}, OptimizerState()
        self._metrics_given = written(eval_metric)
        self._take(fitting.network, *fitting.members())
        self._range = fitting.range
        self._describe(fitting.network)
        monitor = None if fitting.monitored is None else f"val_{fitting.monitored.name}"
        return Run(fitting.network, self._theta, rows, validation, metrics, monitor, self._state, fitting)

    def _describe(self, network: Network) -> None:
        self.n_layers_, self.n_outputs_ = len(network.layers) + 1, network.outputs
        output = network.head.output.name
        self.out_activation_ = {"sigmoid": "logistic", "exponential": "exp"}.get(output, output)

    def _evaluation(self, eval_set: object, offset: object, exposure: object) -> Rows:
        if isinstance(eval_set, list) and len(eval_set) == 1:  # as other libraries have it
            eval_set = eval_set[0]
        if not isinstance(eval_set, tuple | list) or len(eval_set) not in (2, 3):
            raise ConfigError("eval_set must be (X, y) or (X, y, sample_weight)")
        columns = self._encode(eval_set[0], "eval_set's X")
        head, outputs, targets = self._targets(eval_set[1], columns.rows, "eval_set's y", fresh=False)
        rows = Rows(columns, **targets, offset=self._shift(offset, exposure, columns.rows, head, outputs))
        if len(eval_set) == 2:
            return rows
        return rows.weighted(as_weights(eval_set[2], np.float64, rows=len(rows), name="eval_set's sample_weight"))

    def _hold_out(self, rows: Rows) -> tuple[Rows, Rows]:
        """Some rows to train on and others for validation, with the same mix of classes."""
        from sklearn.model_selection import train_test_split  # slow to load, and often not needed

        given = rows.targets()
        classes = given if is_classifier(self) and given.ndim == 1 else None
        try:
            train, held = train_test_split(
                np.arange(len(rows)),
                test_size=self._params["validation_fraction"],
                random_state=self._seed,
                stratify=classes,
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
        elif not (once or run.monitor or isinstance(training.plan.optimizer.schedule, Cosine)) and training.ran_out:
            warnings.warn(
                f"Maximum iterations ({training.plan.epochs}) reached and the optimization hasn't converged yet: "
                "raise max_iter, or use early_stopping=True",
                NotConvergedWarning,
                stacklevel=4,
            )

    def _training(self, run: Run, *, once: bool) -> Training | Ensemble:
        if run.fitting is not None:
            self._begin(best=run.monitor is not None)
            return run.fitting.ensemble
        return Training(run.network, run.theta, run.rows, self._plan(run, once=once), run.validation, run.state)

    def _begin(self, *, best: bool) -> None:
        self.n_iter_: int = 0
        self.stop_reason_: str = "in progress"
        self.validation_scores_: list[float] | None = [] if best else None
        self.best_validation_score_: float | None = None
        self.best_loss_: float | None = None if best else min([*self.loss_curve_, np.inf])

    def _plan(self, run: Run, *, once: bool) -> Plan:
        params = self._params
        patience = check_whole(params["n_iter_no_change"], "n_iter_no_change", at_least=1) + 1
        tol = check_number(params["tol"], "tol", at_least=0)
        monitor, adaptive = run.monitor or "loss", is_adaptive(params)
        best = run.monitor is not None
        stopping = EarlyStopping(
            monitor, _FOR_EVER if adaptive else patience, tol, restore_best_weights=best, any_gain=True
        )
        plateau = ReduceLROnPlateau(monitor, 0.2, patience, tol, min_lr=_LEAST_RATE, stop_at_min=True, any_gain=True)
        plan = Plan(
            optimizer=make_optimizer(params, len(run.rows)),
            epochs=1 if once else check_whole(params["max_iter"], "max_iter", at_least=1),
            batch_size=batch_size(params, len(run.rows)),
            shuffle=bool(params["shuffle"]),
            seed=self._seed,
            threads=params["threads"],
            metrics=run.metrics,
            weighted_metrics=True,
            metrics_in_training=False,
            rate_name="learning_rate_init",
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
        self._run = training
        try:
            for record in records:
                if isinstance(record, Epoch) and self._run is training:
                    self._take(run.network, *run.members(training))
                    self._note(record, run)
                yield record
        finally:
            records.close()
            if self._run is training and training.stop_reason != "diverged":  # and no later run has begun
                self._take(run.network, *run.members(training))
                self._state = training.state()
                self.stop_reason_ = training.stop_reason
                self._after(run)
                self._run = None

    def _note(self, record: Epoch, run: Run) -> None:
        self.n_iter_ += 1
        self.t_ += len(run.rows)
        self.loss_: float = record.numbers["loss"]
        self.loss_curve_.append(self.loss_)
        if self.best_loss_ is not None:
            self.best_loss_ = min(self.best_loss_, self.loss_)
        if run.monitor is not None and self.validation_scores_ is not None:
            self.validation_scores_.append(record.numbers[run.monitor])
            self.best_validation_score_ = (max if run.greater else min)(self.validation_scores_)
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

            problem = FullBatch(run.network, run.rows, params["threads"])
            try:
                found = minimise(
                    problem,
                    run.theta,
                    gradient_tolerance=tol,
                    max_iter=check_whole(params["max_iter"], "max_iter", at_least=1),
                    max_evaluations=check_whole(params["max_fun"], "max_fun", at_least=1),
                    watch=watch,
                )
            except KeyboardInterrupt:
                if problem.lowest is None:
                    raise
                found = problem.so_far(len(losses))
                warnings.warn("training interrupted by user; the model is usable", UserWarning, stacklevel=4)
        self._take(run.network, found.theta)
        self.loss_, self.n_iter_ = found.value, found.iterations
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
            self._take(run.network, *run.fitting.members())
            self._measure(held, run.network.head.mean(z))

    def _measure(self, rows: Rows, mean: Array) -> None:
        """Take note of how predictions of held-out rows went."""

    def _description(self) -> dict[str, Any]:
        """What a checkpoint keeps besides the run, to make the model again."""
        classes = getattr(self, "classes_", None)
        return {
            "class": type(self).__name__,
            "params": {name: written(value) for name, value in self._params.items()},
            "seed": self._seed,
            "classes": None if classes is None else written(classes),
            "columns": self._encoder.coefficient_names,
            "metrics": self._metrics_given,
            "earlier": {"loss_curve": [*self.loss_curve_], "t": self.t_},
        }


def goes_by_batches(model: Any) -> bool:
    """Whether the solver has epochs and there is one network, so that there is a partial_fit."""
    return bool(model.solver != "lbfgs" and model.preset is None)
