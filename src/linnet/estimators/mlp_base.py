"""What both multilayer perceptrons share: how they are trained, and what they tell of it."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np

from linnet.checks import check_number, check_whole
from linnet.data.rows import Rows
from linnet.data.table import Array
from linnet.errors import ConfigError, DataError, FitError, FitWarning, FormatError, known_as, unknown_name, warn
from linnet.estimators.base import metadata
from linnet.estimators.mlp_prepare import PreparedNetwork, Run
from linnet.estimators.mlp_settings import FOR_EVER, check_patience, is_adaptive, make_optimizer
from linnet.estimators.written import plain, written
from linnet.fit.checkpoint import Checkpoint, Saved, checkpointed, resumed
from linnet.fit.ensemble import Ensemble
from linnet.fit.full_batch import FullBatch, minimise
from linnet.fit.loop import Epoch, Plan, Slice, Training
from linnet.fit.progress import follow, watching
from linnet.fit.schedules import Cosine
from linnet.fit.stopping import EarlyStopping, ReduceLROnPlateau
from linnet.model.activations import Activation

Activations = str | Activation | Sequence[str | Activation]

_LEAST_RATE = 1e-6  # where learning_rate="adaptive" gives up
_SHOWN = 8  # names in a message


class MultilayerPerceptron(PreparedNetwork):
    """A network with scikit-learn's parameters and attributes."""

    _run: Training | Ensemble | None = None  # the one that has the model's parameters

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
        self._check_options(how, "resume")
        run = self._prepare(X, y, sample_weight, seed=saved.model["seed"], **how)
        now = self._description()
        for name in ("classes", "columns", "metrics"):
            if saved.model[name] != now[name]:
                raise DataError(f"cannot resume with other data: the {name} {_change(saved.model[name], now[name])}")
        earlier = saved.model["earlier"]
        self.loss_curve_, self.t_ = [*earlier["loss_curve"]], earlier["t"]
        self.history_ = {name: [*numbers] for name, numbers in earlier["history"].items()}
        self._train(run, once=False, saved=saved)

    def fit_stream(self, X: object, y: object, sample_weight: object = None, **options: Any) -> Iterator[Epoch]:
        """Train as `fit` does, with the same options, yielding each epoch's record as it comes.

        Leaving the loop ends the training; the model keeps what it learned.
        """
        self._check_options(options, "fit_stream")
        if self._params["solver"] == "lbfgs":
            raise ConfigError("solver='lbfgs' has no epochs to follow: use fit")
        before = dict(self.__dict__)
        try:  # now, so that errors come before the first record is asked for
            run = self._prepare(X, y, sample_weight, **options)
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
                if not training.learned:
                    self.__dict__ = unfitted
                raise KeyboardInterrupt

        return records()

    def _train(self, run: Run, *, once: bool, saved: Saved | None = None) -> None:
        training = self._training(run, once=once)
        if saved is not None:
            training = run.going_on(resumed(saved, training))
            for record in saved.history:
                if run.monitor not in (None, *record.numbers):
                    raise FormatError(
                        f"the checkpoint has no {run.monitor} of epoch {record.epoch}, which the run watches"
                    )
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
        if training.interrupted and not training.learned:
            raise KeyboardInterrupt
        if training.interrupted:
            warn("training interrupted by user; the model is usable", UserWarning)
        elif not (once or run.monitor or isinstance(training.plan.optimizer.schedule, Cosine)) and training.ran_out:
            warn(
                f"Maximum iterations ({training.plan.epochs}) reached and the optimization hasn't converged yet: "
                "raise max_iter, or use early_stopping=True",
                known_as("ConvergenceWarning", FitWarning),
            )

    def _check_options(self, given: Mapping[str, object], method: str) -> None:
        """Refuse what fit does not take either."""
        known = [name for name in metadata(type(self), "fit") if name != "sample_weight"]
        for name in given:
            if name not in known:
                raise unknown_name(f"option of {method}", name, known)

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
        patience = check_patience(params) + 1
        tol = check_number(params["tol"], "tol", at_least=0)
        monitor, adaptive = run.monitor or "loss", is_adaptive(params)
        best = run.monitor is not None
        stopping = EarlyStopping(
            monitor, FOR_EVER if adaptive else patience, tol, restore_best_weights=best, any_gain=True
        )
        plateau = ReduceLROnPlateau(monitor, 0.2, patience, tol, min_lr=_LEAST_RATE, stop_at_min=True, any_gain=True)
        plan = Plan(
            optimizer=make_optimizer(params, len(run.rows)),
            epochs=1 if once else check_whole(params["max_iter"], "max_iter", at_least=1),
            batch_size=run.batch_size,
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
        if checkpoint is not None:
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
        params, losses, interrupted = self._params, list[float](), False
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
                found, interrupted = problem.so_far(len(losses)), True
                warn("training interrupted by user; the model is usable", UserWarning)
        self._take(run.network, found.theta)
        self.loss_, self.n_iter_ = found.value, found.iterations
        self.t_ += found.iterations * len(run.rows)
        self.loss_curve_, self.history_, self.best_loss_ = losses, {"loss": losses}, found.value
        self.validation_scores_ = self.best_validation_score_ = None
        done = "converged" if found.converged else f"all {found.iterations} iterations done"
        self.stop_reason_ = "interrupted" if interrupted else done
        self._after(run)
        if not (found.converged or interrupted):
            warn(
                f"lbfgs failed to converge after {found.iterations} iterations: the largest entry of the gradient is "
                f"{found.gradient_norm:.3g}, but tol is {tol:g}: raise max_iter, or scale the data",
                known_as("ConvergenceWarning", FitWarning),
            )

    def _after(self, run: Run) -> None:
        """Take note of what else a fit shows."""
        if run.fitting is not None:
            held, z = run.fitting.finish()
            self._take(run.network, *run.fitting.members())
            self._measure(held, run.network.head.mean(z).clip(*run.fitting.range))  # as they are predicted

    def _measure(self, rows: Rows, mean: Array) -> None:
        """Take note of how predictions of held-out rows went."""

    def _description(self) -> dict[str, Any]:
        """What a checkpoint keeps besides the run, to make the model again."""
        classes = getattr(self, "classes_", None)
        return {
            "class": type(self).__name__,
            "params": {name: written(value) for name, value in self._params.items()},
            "seed": self._seed,
            "classes": None if classes is None else plain(written(classes)),
            "columns": self._encoder.coefficient_names,
            "metrics": self._metrics_given,
            "earlier": {
                "loss_curve": [*self.loss_curve_],
                "t": self.t_,
                "history": {name: [*numbers] for name, numbers in self.history_.items()},
            },
        }


def _change(old: Any, new: Any) -> str:
    """What was and what is; of long lists only what differs."""
    if not (isinstance(old, list) and isinstance(new, list)) or len(old) + len(new) <= 2 * _SHOWN:
        return f"were {_shown(old)}, now {_shown(new)}"
    parts = {"lack": [item for item in old if item not in new], "have": [item for item in new if item not in old]}
    told = [f"{what} {', '.join(map(_plain, items[:_SHOWN]))}" for what, items in parts.items() if items]
    return f"are {len(new)} and were {len(old)}: now they {' and '.join(told) or 'are in another order'}"


def _shown(value: Any) -> str:
    return f"[{', '.join(map(_plain, value))}]" if isinstance(value, list) else str(value)


def _plain(item: Any) -> str:
    """As Python writes it, and not as NumPy does."""
    return repr(item.item() if isinstance(item, np.generic) else item)


def goes_by_batches(model: Any) -> bool:
    """Whether the solver has epochs and there is one network, so that there is a partial_fit."""
    return bool(model.solver != "lbfgs" and model.preset is None)
