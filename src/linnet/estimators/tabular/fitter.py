"""The training of networks for tables: settings chosen for the data, an ensemble, and calibration.

Columns are preprocessed (linnet.data.tabular_encoder), and targets are standardised. Each member of a small ensemble
holds out a different fraction of the rows and keeps the epoch that predicts it best. The held-out predictions, which
cover every row if there are as many members as folds, calibrate the probabilities. The ensemble's z is the mean over
its members. Predictions of numbers are kept within the range of the training targets.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from linnet.checks import check_number
from linnet.config import get_threads
from linnet.data.columns import as_columns
from linnet.data.rows import Rows
from linnet.data.table import Array
from linnet.estimators.mlp.fitter import Fitter, common_plan
from linnet.estimators.mlp.predictor import Predictor
from linnet.estimators.mlp.problem import Problem
from linnet.estimators.mlp.settings import Settings
from linnet.estimators.tabular.calibration import inverse_temperature, largest_factor
from linnet.estimators.tabular.target_scaler import TargetScaler
from linnet.fit.loop.ensemble import Ensemble
from linnet.fit.loop.optimizers import Optimizer
from linnet.fit.loop.schedules import Cosine
from linnet.fit.loop.stopping import EarlyStopping
from linnet.fit.loop.training import Training
from linnet.fit.objective import NetworkObjective
from linnet.heads import Floats, Head
from linnet.model.initialise import initial_theta
from linnet.model.network import Theta

_ROWS_PER_MEMBER = 220_000  # rows that each member is trained on, summed over all epochs
_ROWS_FOR_TWO_MEMBERS = 100_000  # with fewer rows there are four members
_WARM_UP_EPOCHS = 1.0
_RUNAWAY_NORM = 1000.0  # for a mean count of 1, gradients have such a norm only if e^z diverges


def chosen_for(rows: Rows, head: Head, outputs: int, settings: Settings) -> Settings:
    """Return the settings with those that are open chosen by the number of rows and the kind of target."""
    epochs = int(np.clip(_ROWS_PER_MEMBER / len(rows), 25, 100))
    # A few rows with very large counts can move z so far that e^z overflows. The limit is far above the norm of all
    # other steps: clipping those would bias the mean.
    usual = head.typical_slope(float(_mean_target(rows, outputs).max()))
    clip = None if usual is None or isinstance(settings.solver, Optimizer) else _RUNAWAY_NORM * usual
    settings = settings.filled(
        {
            "activation": "gelu" if head.location_scale else "silu",
            "learning_rate_init": 0.02 if head.location_scale else 0.012,
            "max_iter": epochs,
            "n_iter_no_change": max(8, epochs // 4),
            "clip_norm": clip,
        }
    )
    rate, epochs = settings.learning_rate_init, settings.max_iter
    return settings.filled({"learning_rate": Cosine(rate, epochs=epochs, warmup=_WARM_UP_EPOCHS)})


class TabularFitter(Fitter):
    """A training run of a small ensemble."""

    training: Ensemble

    def __init__(self, problem: Problem) -> None:
        rows, head, outputs = problem.rows, problem.head, problem.outputs
        settings = chosen_for(rows, head, outputs, problem.settings)
        start = np.zeros(outputs) if head.location_scale else _constant_z(head, rows, outputs)
        self._scaler = TargetScaler.learn(head, rows, outputs)
        network = settings.network(as_columns(rows.x).count, outputs, self._scaler.head(head), rows.weight_sum)
        if rows.weights is not None:
            rows = rows[np.flatnonzero(rows.weights)]
        pairs = _pairs(
            rows, problem.validation, settings, 4 if len(problem.rows) < _ROWS_FOR_TWO_MEMBERS else 2, problem.seed
        )
        self._held = [held for _, held in pairs if held is not None]
        metrics = [self._scaler.metric(metric) for metric in problem.metrics] if self._held else []
        watched = None
        if self._held:
            watched = f"val_{metrics[0].watched().name if metrics else 'loss'}"
        super().__init__(problem, watched, greater=bool(metrics) and metrics[0].greater_is_better)
        members = []
        for index, (train, held) in enumerate(pairs):
            seed, size = problem.seed + index, settings.rows_per_step(len(train), quietly=True)
            stopping = EarlyStopping(watched or "loss", settings.patience, settings.tol)
            plan = replace(common_plan(settings, len(train), size, seed), threads=1, metrics=metrics, stopping=stopping)
            theta = initial_theta(network, seed, "float32", ["glorot_uniform"] * len(network.layers))
            network.blocks(theta)[-1].biases[:] = start
            aimed = self._scaler.rows(problem.targets.aimed_at(train)).computed_in("float32")
            judged = None if held is None else self._scaler.rows(held).computed_in("float32")
            members.append(Training(network, theta, aimed, plan, judged))
        self.network = replace(network, head=head)
        self.training = Ensemble(members, settings.threads or get_threads())
        self._rows = rows
        self._range = _range(head, rows, outputs)
        self._factor = 1.0  # of z, from calibration

    @property
    def predictor(self) -> Predictor:  # noqa: D102
        problem, members = self.problem, tuple(self._members())
        return Predictor(problem.encoder, self.network, members, self._range, problem.shifts)

    def _members(self) -> list[Theta]:
        """Return the parameters of the members, in the original unit of the target."""
        return [self._scaler.undo(self.network, member.theta, self._factor) for member in self.training.members]

    def _finish(self) -> tuple[Predictor, Rows, Array]:
        """Calibrate; return the held-out rows with predictions by members that were not trained on them."""
        parts = self._held or [self._rows]
        z = np.vstack([self._z(theta, part) for theta, part in zip(self._members(), parts, strict=False)])
        rows = _joined(parts)
        if self._held and self.network.head.has_probabilities:
            validation, targets = self.problem.validation, self.problem.targets
            distinct = sum(map(len, self._held)) if validation is None else len(validation)
            classes = 2 if self._rows.labels is None else targets.outputs
            largest = largest_factor(targets.smoothing, classes, distinct)
            self._factor = inverse_temperature(self.network.head, z, rows, largest)
        mean = self.network.head.mean(z * self._factor).clip(*self._range)
        if rows.values is not None:
            head = self.network.head.with_estimate(mean, rows.values.astype(np.float64), rows.weights)
            self.network = replace(self.network, head=head)
        return self.predictor, rows, mean

    def _z(self, theta: Theta, rows: Rows) -> Floats:
        objective = NetworkObjective(self.network, theta.dtype, rows=len(rows))
        offset = None if rows.offset is None else rows.offset.astype(theta.dtype)
        return objective.predict(theta, rows.x, offset=offset, mean=False).astype(np.float64)


def _pairs(
    rows: Rows, validation: Rows | None, settings: Settings, members: int, seed: int
) -> list[tuple[Rows, Rows | None]]:
    """Return the training and the validation rows of each member."""
    check_number(settings.validation_fraction, "validation_fraction", above=0, below=1)
    if validation is not None:
        return [(rows, validation)] * members
    if len(rows) == 1:
        return [(rows, None)]
    folds = max(2, round(min(1 / settings.validation_fraction, len(rows))))
    return [(rows[train], rows[held]) for train, held in split(rows, folds, min(members, folds), seed)]


def split(rows: Rows, folds: int, count: int, seed: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return the indices of training and held-out rows for `count` members, each of which holds out another fold.

    Folds are stratified by class, or by the value of the target.
    """
    random = np.random.default_rng(seed).permutation(len(rows))
    by = rows.labels if rows.labels is not None else None
    if by is None and rows.values is not None:
        by = rows.values[:, 0]
    order = random if by is None else random[np.argsort(by[random], kind="stable")]
    fold = np.empty(len(rows), np.intp)
    fold[order] = np.arange(len(rows)) % folds
    return [(np.flatnonzero(fold != index), np.flatnonzero(fold == index)) for index in range(count)]


def _joined(parts: Sequence[Rows]) -> Rows:
    """Concatenate the targets and weights of several parts, without their columns."""
    names = [name for name in ("labels", "values", "weights") if getattr(parts[0], name) is not None]
    arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return Rows(np.empty((sum(map(len, parts)), 0)), **arrays)


def _range(head: Head, rows: Rows, outputs: int) -> tuple[Floats, Floats]:
    """Return the least and the greatest prediction of each output: for numbers, the range of the training targets."""
    if head.location_scale and rows.values is not None:
        return rows.values.min(axis=0).astype(np.float64), rows.values.max(axis=0).astype(np.float64)
    return np.full(outputs, -np.inf), np.full(outputs, np.inf)


def _mean_target(rows: Rows, outputs: int) -> Floats:
    """Return the weighted mean of the targets of each output, at least 0.001."""
    if rows.labels is not None:
        mean = np.bincount(rows.labels, weights=rows.weights, minlength=outputs) / rows.weight_sum
    else:
        mean = np.average(np.asarray(rows.values, np.float64), axis=0, weights=rows.weights)
    return np.asarray(np.maximum(mean, 1e-3))


def _constant_z(head: Head, rows: Rows, outputs: int) -> Floats:
    """Return the constant z that, with the offsets, predicts the mean target: for counts Σ w t = Σ w e^(z + offset)."""
    mean = _mean_target(rows, outputs)
    if rows.offset is None or not head.log_link:
        return head.link(np.minimum(mean, 1 - 1e-3) if head.has_probabilities and not head.coupled else mean)
    offset = np.asarray(rows.offset, np.float64)
    largest = offset.max(axis=0)
    factor = np.average(np.exp(offset - largest), axis=0, weights=rows.weights)
    return np.asarray(np.log(mean) - largest - np.log(factor))
