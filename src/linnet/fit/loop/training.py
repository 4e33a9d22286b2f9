"""Training as a stream of records. The core runs slices of an epoch; between slices, Python can interrupt it."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, NamedTuple, Protocol

import numpy as np

from linnet._native import core
from linnet.checks import check_number, check_whole
from linnet.data.columns import as_columns
from linnet.data.rows import Rows
from linnet.data.table import Array
from linnet.errors import FitError, Parameter
from linnet.fit.loop.optimizers import Optimizer
from linnet.fit.loop.steps import ONE_STEP, Slice, StepRecorder
from linnet.fit.loop.stop_reason import StopKind, StopReason
from linnet.fit.loop.stopping import EarlyStopping, ReduceLROnPlateau, Seen, Watch
from linnet.fit.loop.threads import ThreadChoice, max_threads
from linnet.fit.objective import NetworkObjective, left_out, penalty
from linnet.model.initialise import warn_if_hidden_zero
from linnet.model.network import Network, Theta
from linnet.registry import saved

_MAX_ROWS_CHECKED = 64  # for predictions that overflow after the last step: divergence shows in nearly all rows
_SLICE_SECONDS = 0.05  # the time for which the core runs before Python can react to Ctrl-C


class EpochMetric(Protocol):
    """A metric that training computes after every epoch."""

    @property
    def name(self) -> str:
        """The name in the records."""

    @property
    def greater_is_better(self) -> bool:
        """Whether a greater value is better."""

    def __call__(self, mean: Array, rows: Rows) -> float:
        """Return the value for predicted means (rows x outputs) and the rows, which have the targets."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """The record of an epoch.

    Attributes
    ----------
    epoch : int
        Its number, from 1.
    numbers : dict of str to float
        "loss" is the objective, mean loss plus penalty, averaged over the steps of the epoch. The metrics follow by
        name. Those of the validation rows, at the parameters after the epoch, have the prefix ``val_``.
    learning_rate : float
        The rate of the last step.
    seconds : float
        The duration of the epoch.
    """

    epoch: int
    numbers: Mapping[str, float]
    learning_rate: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Plan:
    """The settings of a training.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer.
    epochs : int, default=1
        The largest number of epochs.
    batch_size : int, default=32
        Rows per step.
    shuffle : bool, default=True
        Whether rows are shuffled in every epoch.
    seed : int, default=0
        The seed of shuffling and dropout.
    threads : int or None, default=None
        The largest number of threads, of which as many are used as pay off; None is all.
    metrics : sequence of EpochMetric, default=()
        The metrics to compute in every epoch.
    weighted_metrics : bool, default=False
        Whether metrics use row weights; Keras' metrics do not.
    metrics_in_training : bool, default=True
        Whether metrics are computed on the training rows, too; without, training is faster.
    stopping : EarlyStopping or None, default=None
        When to stop early.
    plateau : ReduceLROnPlateau or None, default=None
        When to reduce the learning rate.
    tolerance : float or None, default=None
        Training has converged when the relative change of the loss in an epoch is at most this.
    loss_factor : float, default=1.0
        The factor of the head's loss.
    relative_weights : bool, default=True
        Whether row weights are divided by their mean, so that only their proportions matter.
    rate_name : str, default="learning_rate"
        The parameter through which users set the learning rate, for messages.
    """

    optimizer: Optimizer
    epochs: int = 1
    batch_size: int = 32
    shuffle: bool = True
    seed: int = 0
    threads: int | None = None
    metrics: Sequence[EpochMetric] = ()
    weighted_metrics: bool = False
    metrics_in_training: bool = True
    stopping: EarlyStopping | None = None
    plateau: ReduceLROnPlateau | None = None
    tolerance: float | None = None
    loss_factor: float = 1.0
    relative_weights: bool = True
    rate_name: str = "learning_rate"

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size"):
            check_whole(getattr(self, name), name, at_least=1)
        if self.tolerance is not None:
            check_number(self.tolerance, "tolerance", at_least=0)


@saved
@dataclass(slots=True)
class OptimizerState:
    """The state of an optimizer, from which a later run continues.

    Attributes
    ----------
    arrays : sequence of arrays of shape (size,)
        The arrays that the optimizer keeps, such as its moments.
    updates : int
        The number of updates so far.
    epochs : int
        The number of epochs so far.
    slowdown : float
        The factor of the learning rate that plateaus have led to.
    """

    arrays: Sequence[Theta] = ()
    updates: int = 0
    epochs: int = 0
    slowdown: float = 1.0

    def _file_state(self) -> dict[str, Any]:
        return {}  # it is twice as large as the model, and only training needs it


@dataclass(slots=True)
class Memory:
    """The state on which a run's decisions depend: its start, its best epoch, and why it ended.

    Attributes
    ----------
    first : int
        The number of epochs of earlier runs.
    last : Epoch or None
        The record of the last epoch.
    stopping, plateau : Seen
        The best values of the metrics that early stopping and the plateau rule watch.
    best_epoch : int
        The number of the best epoch.
    best_theta : array of shape (size,) or None
        The parameters after it.
    cooldown : int
        The number of epochs that the plateau rule still ignores.
    end : StopReason or None
        Why the run ended; None if it has not.
    parameter, best_parameter : float or None
        The parameter of the head, if it is estimated between epochs: the current one, and that after the best epoch.
    """

    first: int = 0
    last: Epoch | None = None
    stopping: Seen = field(default_factory=Seen)
    best_epoch: int = 0
    best_theta: Theta | None = None
    plateau: Seen = field(default_factory=Seen)
    cooldown: int = 0
    end: StopReason | None = None
    parameter: float | None = None
    best_parameter: float | None = None

    def copy(self) -> "Memory":
        """Return an independent copy."""
        return replace(self, stopping=replace(self.stopping), plateau=replace(self.plateau))


class Snapshot(NamedTuple):
    """The state of a run between two epochs.

    With the network, the rows and the plan of the run, a run that continues from it ends with the same bytes.

    Attributes
    ----------
    theta : array of shape (size,)
        The parameters.
    state : OptimizerState
        The state of the optimizer.
    memory : Memory
        The state on which the run's decisions depend.
    """

    theta: Theta
    state: OptimizerState
    memory: Memory


def _array(trainer: core.TrainerF32, index: int, like: Theta) -> Theta:
    """Return the parameters of a trainer (index 0), or an array of its optimizer."""
    values = np.empty_like(like)
    trainer.read(index, values)
    return values


class _StateArrays(Sequence[Theta]):
    """An optimizer's arrays inside a finished trainer, read on access, as most are never needed."""

    def __init__(self, trainer: core.TrainerF32, like: Theta) -> None:
        self._trainer = trainer
        self._like = like

    def __len__(self) -> int:
        return self._trainer.arrays

    def __getitem__(self, index: Any) -> Any:
        if not 0 <= index < len(self):
            raise IndexError(index)
        return _array(self._trainer, index + 1, self._like)

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (list(self),)


class Training:
    """A training run. Iterating over it trains and yields a record per epoch; `theta` is the result so far.

    The run ends after its epochs, when patience runs out, at convergence, or at Ctrl-C: see `stop_reason`. A loss that
    is no longer finite raises a FitError; `theta` then holds the last good parameters.

    Parameters
    ----------
    network : Network
        The network.
    theta : array of shape (size,)
        The initial parameters.
    rows : Rows
        The training rows.
    plan : Plan
        The settings.
    validation : Rows or None, default=None
        Rows on which losses and metrics are computed after every epoch.
    state : OptimizerState or None, default=None
        The optimizer state of an earlier run, from which the new run continues; it counts its own epochs.
    memory : Memory or None, default=None
        The memory of a snapshot, with which the run continues the one of the snapshot.

    Attributes
    ----------
    theta : array of shape (size,)
        The parameters after the last epoch.
    stop_reason : StopReason
        Why the run ended, or its present state.
    interrupted : bool
        Whether Ctrl-C ended it.
    slice_seconds : float
        The time between records inside an epoch. It may be set at any time and changes no result.
    every_step : bool
        Whether each step has a `Step` as its record. It may be set between epochs and changes no result, but takes the
        time of a second training.
    """

    def __init__(
        self,
        network: Network,
        theta: Theta,
        rows: Rows,
        plan: Plan,
        validation: Rows | None = None,
        state: OptimizerState | None = None,
        memory: Memory | None = None,
    ) -> None:
        self.network = network
        self.plan = plan
        self.rows = rows
        self.validation = validation
        self.theta = theta.copy()
        self._at_interrupt = theta.copy()  # allocated now: after Ctrl-C, allocation would take time
        self._over = False
        self.slice_seconds = _SLICE_SECONDS
        self.stop_reason = StopReason(StopKind.NOT_STARTED)
        self.interrupted = False
        self.every_step = False
        self._state = replace(state) if state else OptimizerState()
        self._memory = memory.copy() if memory else Memory(first=self._state.epochs)
        greater = self._directions()
        self._stopping = Watch(plan.stopping, greater, self._memory.stopping) if plan.stopping else None
        self._plateau = Watch(plan.plateau, greater, self._memory.plateau) if plan.plateau else None
        warn_if_hidden_zero(network, theta)

        batch = min(plan.batch_size, len(rows))
        self._max_threads = max_threads(network.to_core(), batch, plan.threads)
        self._threads = ThreadChoice(self._max_threads)
        in_training = plan.metrics and plan.metrics_in_training
        self._fitted = np.empty((len(rows), network.outputs), theta.dtype) if in_training else None
        self._make_trainer(theta, self._state.arrays, self._state.updates)

    def _make_trainer(self, theta: Theta, arrays: Sequence[Theta], updates: int) -> None:
        """Build the core's trainer from a state, for the current head."""
        plan, network = self.plan, self.fitted_network()
        self._trainer = self.make_trainer(plan.optimizer)
        self._trainer.write(0, theta)
        for index, array in enumerate(arrays):
            self._trainer.write(index + 1, array)
        self._trainer.updates = updates
        self._trainer.set_fitted(self._fitted)
        self._objective = NetworkObjective(network, theta.dtype, plan.threads) if self.validation is not None else None

    def make_trainer(self, optimizer: Optimizer) -> core.TrainerF32:
        """Return a trainer of the network on the rows, without parameters so far."""
        plan, rows = self.plan, self.rows
        kind = core.TrainerF32 if self.theta.dtype == np.float32 else core.TrainerF64
        batch = min(plan.batch_size, len(rows))
        trainer = kind(self.fitted_network().to_core(), optimizer.to_core(), batch, plan.seed, self._max_threads)
        columns = as_columns(rows.x).to_core()
        trainer.set_data(columns, rows.labels, rows.values, rows.weights, rows.offset, plan.shuffle, self.scale)
        return trainer

    @property
    def scale(self) -> float:
        """The factor of a row's loss in the objective."""
        return self.plan.loss_factor / self._unit(self.rows)

    def fitted_network(self) -> Network:
        """Return the network with the current parameter of its head, if that is estimated between epochs."""
        parameter = self._memory.parameter
        if parameter is None:
            return self.network
        return replace(self.network, head=self.network.head.with_parameter(parameter))

    def _estimate_parameter(self) -> None:
        """Set the head's parameter to its maximum likelihood estimate given the current means (profile likelihood)."""
        if not self.network.head.is_estimated:
            return
        network, rows = self.fitted_network(), self.rows
        assert rows.values is not None
        objective = NetworkObjective(network, self.theta.dtype, self.plan.threads, rows=len(rows))
        mean = objective.predict(self.theta, rows.x, offset=rows.offset).astype(np.float64)
        head = network.head.with_estimate(mean, rows.values.astype(np.float64), rows.weights)
        if head.parameter != self._memory.parameter:
            self._memory.parameter = head.parameter
            arrays = [_array(self._trainer, index + 1, self.theta) for index in range(self._trainer.arrays)]
            self._make_trainer(self.theta, arrays, self._trainer.updates)

    @property
    def members(self) -> "list[Training]":
        """A list of the run itself; an ensemble has several members."""
        return [self]

    @property
    def last(self) -> Epoch | None:
        """The record of the last epoch, if there was one."""
        return self._memory.last

    @property
    def ran_out(self) -> bool:
        """Whether the run ended because all epochs were done."""
        return self.stop_reason.kind is StopKind.ALL_DONE

    @property
    def learned(self) -> bool:
        """Whether any step was taken, in this run or in the one that it continues."""
        return self.last is not None or self._trainer.updates > self._state.updates

    @property
    def steps(self) -> int:
        """The number of steps in an epoch."""
        return -(-len(self.rows) // min(self.plan.batch_size, len(self.rows)))

    def __iter__(self) -> Iterator[Epoch]:
        return (record for record in self.records() if isinstance(record, Epoch))

    def records(self) -> Generator[Slice | Epoch, None, None]:
        """Train, yielding a record at every epoch and, inside long ones, every few hundredths of a second."""
        memory = self._memory
        try:
            while memory.end is None:
                record = None
                for record in self._one_epoch(self._state.epochs):
                    if isinstance(record, Slice):
                        yield record
                assert isinstance(record, Epoch)
                memory.end = self._verdict(record)
                memory.last = record
                yield record
            self._check_predictions()
            self.stop_reason = memory.end
        except KeyboardInterrupt:
            self.interrupt()
        except GeneratorExit:
            if not self.interrupted:
                self.stop_reason = StopReason(StopKind.LEFT_EARLY)
            raise
        finally:
            self._over = True
            self._trainer.forget_data()
            if memory.best_theta is not None:
                self.theta, memory.parameter = memory.best_theta, memory.best_parameter

    def interrupt(self) -> None:
        """Record that Ctrl-C ended the run, and keep the parameters reached."""
        self.interrupted = True
        self.stop_reason = StopReason(StopKind.INTERRUPTED)
        if self._trainer.finite():
            self._trainer.read(0, self._at_interrupt)
            self.theta = self._at_interrupt

    def now(self) -> Theta:
        """Return the current parameters, even within an epoch."""
        return _array(self._trainer, 0, self.theta)

    def state(self) -> OptimizerState:
        """Return the optimizer state, from which a later run continues as if this one had not ended.

        After divergence it is a new state.
        """
        if self.stop_reason.kind is StopKind.DIVERGED:
            return OptimizerState(epochs=self._state.epochs, slowdown=self._state.slowdown)
        arrays: Sequence[Theta] = _StateArrays(self._trainer, self.theta)
        if not (self._over and arrays) or self.network.head.function is not None:  # a function may refer to the model
            arrays = tuple(arrays)
        return OptimizerState(arrays, self._trainer.updates, self._state.epochs, self._state.slowdown)

    def snapshot(self) -> Snapshot:
        """Return the state of the run, before its first epoch or right after the record of an epoch."""
        return Snapshot(self.theta, self.state(), self._memory.copy())

    def _one_epoch(self, index: int) -> Iterator[Slice | Epoch]:
        began = perf_counter()
        trainer = self._trainer
        trainer.begin_epoch(index)
        steps = trainer.steps
        rates = self.plan.optimizer.schedule.rates(index * steps, steps, steps) * self._state.slowdown
        recorder = StepRecorder(self, index, rates) if self.every_step else None
        seen = 0
        while True:
            threads = self._threads.take()
            start = perf_counter()
            seconds = min(self.slice_seconds, _SLICE_SECONDS / 10) if self._threads.choosing else self.slice_seconds
            if recorder is not None:
                seconds = ONE_STEP
            progress = trainer.run(rates, seconds, threads)
            self._threads.record(threads, perf_counter() - start, progress.rows - seen)
            seen = progress.rows
            if progress.diverged:
                raise self._diverged(f"the loss became non-finite at epoch {index + 1}, step {progress.step}")
            if recorder is not None:
                yield recorder.record(progress, threads)
            if progress.step == steps:
                break
            if recorder is None:
                yield Slice(index + 1, progress.step, steps)
        if not trainer.finite():
            raise self._diverged(f"the parameters became non-finite in epoch {index + 1}")
        self.theta = _array(trainer, 0, self.theta)
        self._state.epochs = index + 1
        total = progress.loss_sum + left_out(self.fitted_network().head, self.rows)
        self._estimate_parameter()

        count = len(self.rows)
        loss = total * self.plan.loss_factor / (count * self._unit(self.rows))
        numbers = {"loss": loss + progress.penalty_sum / count}
        if self._fitted is not None:
            rows = self._measured(self.rows)
            numbers.update({metric.name: metric(self._fitted, rows) for metric in self.plan.metrics})
        if self.validation is not None:
            numbers.update(self._validate(self.validation))
        yield Epoch(index + 1, numbers, float(rates[-1]), perf_counter() - began)

    def _validate(self, rows: Rows) -> dict[str, float]:
        assert self._objective is not None
        sums = self._objective.sums(self.theta, rows)
        loss = sums.loss * self.plan.loss_factor / (len(rows) * self._unit(rows))
        numbers = {"val_loss": loss + penalty(self.network, self.theta)}
        if self.plan.metrics:
            mean = self._objective.predict(self.theta, rows.x, offset=rows.offset)
            numbers.update({"val_" + metric.name: metric(mean, self._measured(rows)) for metric in self.plan.metrics})
        return numbers

    def _verdict(self, record: Epoch) -> StopReason | None:
        """Return the reason to stop after this epoch, or None; reduce the learning rate on a plateau."""
        numbers, plan, memory = record.numbers, self.plan, self._memory
        if self._plateau and plan.plateau:
            self._plateau.improved(numbers)
            if memory.cooldown > 0:
                memory.cooldown -= 1
                memory.plateau.waited = 0
            elif memory.plateau.waited >= max(1, plan.plateau.patience) and record.learning_rate > plan.plateau.min_lr:
                lowest = plan.plateau.min_lr / record.learning_rate
                self._state.slowdown *= max(plan.plateau.factor, lowest)
                memory.cooldown, memory.plateau.waited = plan.plateau.cooldown, 0
            elif memory.plateau.waited >= max(1, plan.plateau.patience) and plan.plateau.stop_at_min:
                words = f"{plan.plateau.monitor} did not improve at the lowest learning rate, {record.learning_rate:g}"
                return StopReason(StopKind.LOWEST_RATE, words)
        if self._stopping and plan.stopping:
            if self._stopping.improved(numbers):
                memory.best_epoch = record.epoch
                if plan.stopping.restore_best_weights:
                    memory.best_theta, memory.best_parameter = self.theta, memory.parameter
            if memory.stopping.waited >= max(1, plan.stopping.patience):
                best = memory.stopping.best
                reached = "always NaN" if best is None else f"best {best:.6g} at epoch {memory.best_epoch}"
                words = f"{plan.stopping.monitor} did not improve for {memory.stopping.waited} epochs ({reached})"
                return StopReason(StopKind.NO_IMPROVEMENT, words)
        loss, previous = numbers["loss"], None if memory.last is None else memory.last.numbers["loss"]
        if plan.tolerance is not None and previous is not None and abs(previous - loss) <= plan.tolerance * abs(loss):
            words = f"converged: the loss changed by less than {plan.tolerance:g} of itself"
            return StopReason(StopKind.CONVERGED, words)
        if record.epoch >= memory.first + plan.epochs:
            return StopReason(StopKind.ALL_DONE, f"all {plan.epochs} epochs done")
        return None

    def _check_predictions(self) -> None:
        """Raise a FitError if predictions overflow at the final parameters, at which no loss has been computed yet."""
        memory, network = self._memory, self.fitted_network()
        theta, rows = self.theta, self.rows[:_MAX_ROWS_CHECKED]
        if memory.best_theta is not None:
            theta = memory.best_theta
        for dtype in (theta.dtype, np.dtype(np.float64)):  # what overflows in float32 is predicted in float64
            objective = NetworkObjective(network.for_prediction(), dtype, self.plan.threads, rows=len(rows))
            if np.isfinite(objective.predict(theta.astype(dtype), rows.x, offset=rows.offset)).all():
                return
        assert memory.last is not None
        raise self._diverged(f"the predictions became non-finite in epoch {memory.last.epoch}")

    def _measured(self, rows: Rows) -> Rows:
        return rows if self.plan.weighted_metrics else rows.weighted(None)

    def _diverged(self, event: str) -> FitError:
        self.stop_reason = StopReason(StopKind.DIVERGED)
        rate = self.plan.optimizer.learning_rate
        penalties = max(max(layer.l1, layer.l2) for layer in self.network.layers)
        decay = getattr(self.plan.optimizer, "weight_decay", 0.0)
        heavy = ", lower the penalties (alpha, l1 or weight_decay)" if rate * max(penalties, decay) > 1 else ""
        name = Parameter(self.plan.rate_name)
        return FitError(f"{event}; lower ", name, f" from {rate:g}{heavy}, or scale the inputs")

    def _unit(self, rows: Rows) -> float:
        """Return the weight that counts as 1: the mean row weight, if weights are relative."""
        return rows.weight_sum / len(rows) if self.plan.relative_weights else 1.0

    def _directions(self) -> dict[str, bool]:
        """Return, for each value in a record by name, whether greater is better."""
        metrics = {metric.name: metric.greater_is_better for metric in self.plan.metrics}
        greater = {"loss": False, **(metrics if self.plan.metrics_in_training else {})}
        if self.validation is not None:
            directions = {"loss": False, **metrics}
            greater.update({"val_" + name: direction for name, direction in directions.items()})
        return greater
