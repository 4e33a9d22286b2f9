"""From settings and rows to a fitted network. A fitter owns its training run, and its result shares nothing with it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from linnet.data.columns import Columns, as_columns
from linnet.data.encoder import Encoder
from linnet.data.rows import Rows
from linnet.data.table import Array
from linnet.data.tabular_encoder import TabularEncoder
from linnet.errors import ConfigError, FitWarning, FormatError, known_as, warn
from linnet.estimators.mlp.predictor import Predictor
from linnet.estimators.mlp.problem import Problem
from linnet.estimators.mlp.settings import ALL_EPOCHS, Settings
from linnet.fit.checkpoint.checkpoint import Checkpoint, Saved, checkpointed, resumed
from linnet.fit.full_batch import FullBatch, minimise
from linnet.fit.loop.ensemble import Ensemble
from linnet.fit.loop.progress import follow, watching
from linnet.fit.loop.schedules import Cosine
from linnet.fit.loop.steps import Slice
from linnet.fit.loop.stop_reason import StopKind, StopReason
from linnet.fit.loop.stopping import EarlyStopping, ReduceLROnPlateau
from linnet.fit.loop.training import Epoch, OptimizerState, Plan, Training
from linnet.fit.objective import NetworkObjective
from linnet.heads import Floats
from linnet.model.initialise import initial_theta, warn_if_hidden_zero
from linnet.model.network import Network, Theta

_MAX_ESTIMATION_ROUNDS = 50  # in each, the network and then its head's parameter are fitted
_ESTIMATION_TOLERANCE = 1e-6  # relative, on the head's parameter
_MIN_ADAPTIVE_RATE = 1e-6  # learning rate at which learning_rate="adaptive" stops


@dataclass
class Log:
    """The losses and metrics of a run by epoch, appended to those of the fits that it continues."""

    loss_curve: list[float] = field(default_factory=list)
    history: dict[str, list[float]] = field(default_factory=dict)
    rows_seen: int = 0
    epochs: int = 0
    loss: float | None = None
    best_loss: float | None = None
    validation_scores: list[float] | None = None
    best_validation_score: float | None = None

    def note(self, record: Epoch, rows: int, watched: str | None, *, greater: bool) -> None:
        """Append the record of an epoch.

        `rows`: the number of rows of the epoch; `watched`: the name of the number that early stopping watches;
        `greater`: whether a greater value of it is better.
        """
        self.epochs += 1
        self.rows_seen += rows
        self.loss = record.numbers["loss"]
        self.loss_curve.append(self.loss)
        if self.best_loss is not None:
            self.best_loss = min(self.best_loss, self.loss)
        if watched is not None and self.validation_scores is not None:
            self.validation_scores.append(record.numbers[watched])
            self.best_validation_score = (max if greater else min)(self.validation_scores)
        numbers = {**record.numbers, "learning_rate": record.learning_rate, "seconds": record.seconds}
        for name, value in numbers.items():
            self.history.setdefault(name, []).append(value)


@dataclass(frozen=True)
class Fitted:
    """The result of a fit, and how it was reached."""

    predictor: Predictor
    log: Log
    stop_reason: StopReason
    state: OptimizerState
    dispersion: Floats | None = None  # of the targets around their means, if it is measured
    done: bool = False  # whether the run has ended


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a kind of network estimator encodes tables and trains."""

    learn_encoder: Callable[[object, object], tuple[Encoder | TabularEncoder, Columns]]  # of a table and row weights
    fitter: "Callable[[Problem, bool], Fitter]"  # of a problem, and whether for a single epoch
    ensemble: bool  # whether several networks are trained, each of which holds out rows of its own
    allows_missing: bool  # whether arrays may have missing values


class Fitter(ABC):
    """A training run by epochs, of one network or of several in parallel."""

    training: Training | Ensemble
    network: Network  # for prediction

    def __init__(self, problem: Problem, watched: str | None, *, greater: bool) -> None:
        start = problem.start
        self.problem = problem
        self.watched = watched
        self._greater = greater
        history = {name: [*values] for name, values in start.history.items()}
        self.log = Log([*start.loss_curve], history, start.rows_seen)
        if watched is None:
            self.log.best_loss = min([*self.log.loss_curve, np.inf])
        else:
            self.log.validation_scores = []

    @property
    @abstractmethod
    def predictor(self) -> Predictor:
        """The predictor with the current parameters."""

    @abstractmethod
    def _finish(self) -> tuple[Predictor, Rows, Array]:
        """Return the final predictor, and rows with their predicted means, from which the dispersion is measured."""

    def now(self) -> Fitted:
        """Return the current result, while the run is in progress."""
        return Fitted(self.predictor, self.log, StopReason(StopKind.IN_PROGRESS), self.problem.start.state)

    def fitted(self) -> Fitted:
        """Return the result, once the run has ended."""
        predictor, dispersion = self.predictor, None
        if self.problem.targets.has_spread or predictor.range is not None:
            predictor, rows, mean = self._finish()
            dispersion = _dispersion(self.problem, rows, mean)
        return Fitted(predictor, self.log, self.training.stop_reason, self.training.state(), dispersion, done=True)

    def go_on(self, saved: Saved) -> None:
        """Continue from a checkpoint of this run."""
        self.training = resumed(saved, self.training)
        for record in saved.history:
            if self.watched not in (None, *record.numbers):
                raise FormatError(
                    f"the checkpoint has no {self.watched} of epoch {record.epoch}, which early stopping needs"
                )
            self._note(record)

    def records(
        self, model: Callable[[], Mapping[str, Any]], saved: Saved | None = None
    ) -> Generator[Slice | Epoch, None, None]:
        """Train, yielding the run's records; checkpoints, if there are any, include the description from `model`."""
        checkpoint = self.problem.settings.checkpoint
        if checkpoint is None:
            records = self.training.records()
        else:
            if not isinstance(checkpoint, Checkpoint):
                checkpoint = Checkpoint(checkpoint, seconds=1.0)
            records = checkpointed(self.training, checkpoint, saved=saved, model=model())
        try:
            for record in records:
                if isinstance(record, Epoch):
                    self._note(record)
                yield record
        finally:
            records.close()

    def run(self, model: Callable[[], Mapping[str, Any]], saved: Saved | None = None) -> Fitted:
        """Train to the end. Ctrl-C ends the run and keeps what was learned; before the first step it is raised."""
        training, verbose = self.training, int(self.problem.settings.verbose)
        records = self.records(model, saved)
        try:
            for _ in follow(records, training.plan.epochs, 2 if verbose > 1 else 1 if verbose else 0):
                pass
        except KeyboardInterrupt:  # between two records: the run itself has not noticed it
            training.interrupt()
        finally:
            records.close()
        if training.interrupted and not training.learned:
            raise KeyboardInterrupt
        fitted = self.fitted()
        if training.interrupted:
            warn("training interrupted by user; the model is usable", UserWarning)
        elif self._should_have_converged and training.ran_out:
            warn(
                f"Maximum iterations ({training.plan.epochs}) reached and the optimization hasn't converged yet: "
                "raise max_iter, or use early_stopping=True",
                known_as("ConvergenceWarning", FitWarning),
            )
        return fitted

    @property
    def _should_have_converged(self) -> bool:
        return self.watched is None and not isinstance(self.training.plan.optimizer.schedule, Cosine)

    def _note(self, record: Epoch) -> None:
        self.log.note(record, len(self.problem.rows), self.watched, greater=self._greater)


class NetworkFitter(Fitter):
    """A training run of one network; `once`: for a single epoch, whatever `max_iter` is."""

    training: Training

    def __init__(self, problem: Problem, *, once: bool = False) -> None:
        greater = any(
            f"val_{metric.name}" == problem.watched and metric.greater_is_better for metric in problem.metrics
        )
        super().__init__(problem, problem.watched, greater=greater)
        rows = problem.targets.aimed_at(problem.rows)
        size = problem.settings.rows_per_step(len(rows))
        dtype = "float64" if size == len(rows) else "float32"  # rounding errors are below the noise of minibatches
        self._once = once
        self._rows = rows.computed_in(dtype)
        self.network, theta = _begin(problem, self._rows, dtype)
        self._validation = None if problem.validation is None else problem.validation.computed_in(dtype)
        plan = _plan(problem, size, once=once)
        self.training = Training(self.network, theta, self._rows, plan, self._validation, problem.start.state)

    @property
    def predictor(self) -> Predictor:  # noqa: D102
        problem = self.problem
        return Predictor(problem.encoder, self.training.fitted_network(), (self.training.theta,), shifts=problem.shifts)

    def _finish(self) -> tuple[Predictor, Rows, Array]:
        rows = self._rows if self._validation is None else self._validation
        return self.predictor, rows, predicted(self.network, self.training.theta, rows)

    @property
    def _should_have_converged(self) -> bool:
        return not self._once and super()._should_have_converged


def _begin(problem: Problem, rows: Rows, dtype: str) -> tuple[Network, Theta]:
    """Return the network and its initial parameters: new ones, or those of the previous fit."""
    start = problem.start
    network = problem.settings.network(as_columns(rows.x).count, problem.outputs, problem.head, rows.weight_sum)
    if start.theta is None:
        theta = initial_theta(network, problem.seed, dtype, problem.settings.initialisers(len(network.layers)))
        warn_if_hidden_zero(network, theta)
        return network, theta
    if network.shapes != start.shapes:
        raise ConfigError("hidden_layer_sizes must not change when training continues: fit a new model")
    return network, start.theta.astype(dtype)


def _plan(problem: Problem, batch_size: int, *, once: bool) -> Plan:
    settings, watched = problem.settings, problem.watched or "loss"
    patience, best = settings.patience + 1, problem.watched is not None
    stopping = EarlyStopping(
        watched,
        ALL_EPOCHS if settings.is_adaptive else patience,
        settings.tol,
        restore_best_weights=best,
        any_gain=True,
    )
    plateau = ReduceLROnPlateau(
        watched, 0.2, patience, settings.tol, min_lr=_MIN_ADAPTIVE_RATE, stop_at_min=True, any_gain=True
    )
    plan = common_plan(settings, len(problem.rows), batch_size, problem.seed)
    return replace(
        plan,
        epochs=1 if once else plan.epochs,
        threads=settings.threads,
        metrics=problem.metrics,
        stopping=None if once else stopping,
        plateau=plateau if settings.is_adaptive and not once else None,
    )


def common_plan(settings: Settings, rows: int, batch_size: int, seed: int) -> Plan:
    """Return the plan that single networks and the members of an ensemble share."""
    return Plan(
        optimizer=settings.optimizer(rows),
        epochs=settings.max_iter,
        batch_size=batch_size,
        shuffle=bool(settings.shuffle),
        seed=seed,
        weighted_metrics=True,
        metrics_in_training=False,
        rate_name="learning_rate_init",
    )


def predicted(network: Network, theta: Theta, rows: Rows) -> Array:
    """Return the means that a network predicts for rows, in float64."""
    objective = NetworkObjective(network, theta.dtype, rows=len(rows))
    return objective.predict(theta, rows.x, offset=rows.offset).astype(np.float64)


def _with_estimate(network: Network, theta: Theta, rows: Rows) -> Network:
    """Return the network with the maximum likelihood estimate of its head's parameter, if that is estimated."""
    if not network.head.is_estimated:
        return network
    assert rows.values is not None
    mean = predicted(network, theta, rows)
    return replace(network, head=network.head.with_estimate(mean, rows.values.astype(np.float64), rows.weights))


def _dispersion(problem: Problem, rows: Rows, mean: Array) -> Floats | None:
    if not problem.targets.has_spread:
        return None
    assert rows.values is not None
    return problem.head.dispersion(mean, rows.values.astype(np.float64), rows.weights)


def solve(problem: Problem) -> Fitted:
    """Fit by full-batch L-BFGS, to the same objective as that of the solvers by epochs."""
    settings, losses, interrupted = problem.settings, list[float](), False
    rows = problem.targets.aimed_at(problem.rows).computed_in("float64")
    network, theta = _begin(problem, rows, "float64")
    with watching(int(settings.verbose), settings.tol) as show:

        def watch(iteration: int, value: float, gap: float) -> None:
            losses.append(value)
            show(iteration, value, gap)

        for _ in range(_MAX_ESTIMATION_ROUNDS):
            full = FullBatch.in_memory(network, rows, settings.threads)
            try:
                result = minimise(
                    full,
                    theta,
                    gradient_tolerance=settings.tol,
                    max_iter=settings.max_iter,
                    max_evaluations=settings.max_fun,
                    watch=watch,
                )
            except KeyboardInterrupt:
                if full.lowest is None:
                    raise
                result, interrupted = full.best_so_far(len(losses)), True
                warn("training interrupted by user; the model is usable", UserWarning)
            parameter, theta = network.head.parameter, result.theta
            network = _with_estimate(network, theta, rows)
            if interrupted or abs(network.head.parameter - parameter) <= _ESTIMATION_TOLERANCE * parameter:
                break
    reason = StopReason(StopKind.ALL_DONE, f"all {result.iterations} iterations done")
    if interrupted or result.converged:
        reason = StopReason(StopKind.INTERRUPTED if interrupted else StopKind.CONVERGED)
    log = Log(
        losses,
        {"loss": losses},
        problem.start.rows_seen + result.iterations * len(rows),
        epochs=result.iterations,
        loss=result.value,
        best_loss=result.value,
    )
    if not (result.converged or interrupted):
        warn(
            f"lbfgs failed to converge after {result.iterations} iterations: the largest entry of the gradient is "
            f"{result.gradient_norm:.3g}, but tol is {settings.tol:g}: raise max_iter, or scale the data",
            known_as("ConvergenceWarning", FitWarning),
        )
    predictor = Predictor(problem.encoder, network, (result.theta,), shifts=problem.shifts)
    spread = None
    if problem.targets.has_spread:
        spread = _dispersion(problem, rows, predicted(network, result.theta, rows))
    return Fitted(predictor, log, reason, OptimizerState(), spread, done=True)
