"""preset="tabular": what a practitioner would do by hand for a table, as settings, members and a last touch.

The columns are prepared (linnet.data.prepare), targets standardised. Every member of a small ensemble holds out another
part of the rows and keeps the epoch that predicts it best. Those held-out predictions, of every row where members are
as many as parts, calibrate the probabilities: one temperature T, the z of all members divided by it. The ensemble's z
is the mean of its members'. Predictions of numbers are kept within the range of the training targets.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.checks import check_number, check_whole
from linnet.config import get_threads
from linnet.data.columns import as_columns
from linnet.data.rows import Rows
from linnet.data.table import Array
from linnet.errors import ConfigError, DataError, unknown_name
from linnet.estimators.mlp_settings import batch_size, check_patience, make_network, make_optimizer
from linnet.estimators.written import plain, written
from linnet.evaluate.metrics import NamedMetric
from linnet.fit.ensemble import Ensemble
from linnet.fit.loop import Plan, Training
from linnet.fit.objective import Objective
from linnet.fit.schedules import Cosine
from linnet.fit.stopping import EarlyStopping
from linnet.model.heads import Floats, Head
from linnet.model.initialise import initial_theta
from linnet.model.network import Network, Theta

_ROWS_TO_SEE = 220_000  # by each member, over all its epochs
PRESETS = ("tabular",)
_SCALED = ("normal", "laplace", "huber", "quantile", "custom")  # heads whose targets can have any unit
_LARGE = 1000.0  # a centre of so many spreads
_SHARPEST = 1.1  # factor of z that calibration may find, if targets are not smoothed
_FAR = 1000.0  # no gradient of a mean count of 1 has such a norm, unless e^z runs away


@dataclass(frozen=True)
class Recipe:
    """Settings by the number of rows: `params` take the place of parameters left at their defaults."""

    params: Mapping[str, Any]
    members: int
    parts: int  # one of which each member holds out
    warmup: float = 1.0  # epochs

    def holding_out(self, fraction: float) -> "Recipe":
        """The same with members that hold out about this part of the rows."""
        check_number(fraction, "validation_fraction", above=0, below=1)
        return replace(self, parts=max(2, round(1 / fraction)))


def recipe(rows: int, classes: bool, clip_norm: float | None) -> Recipe:
    """The settings for so many rows, of classes (or counts) or of numbers."""
    epochs = int(np.clip(_ROWS_TO_SEE / rows, 25, 100))
    params = {
        "hidden_layer_sizes": (128, 128),
        "activation": "silu" if classes else "gelu",
        "solver": "adamw",
        "alpha": 0.0,
        "batch_size": 128,
        "learning_rate_init": 0.012 if classes else 0.02,
        "max_iter": epochs,
        "n_iter_no_change": max(8, epochs // 4),
        "tol": 0.0,
        "dropout": 0.1,
        "weight_decay": 0.02,
        "clip_norm": clip_norm,
    }
    return Recipe(params, members=4 if rows < 100_000 else 2, parts=8)


def check_preset(params: Mapping[str, Any]) -> None:
    """Refuse what does not go together with a preset."""
    name, kept = _parts(params["preset"])
    if name not in PRESETS:
        raise unknown_name("preset", name, PRESETS)
    for each in kept:
        if each not in params:
            raise unknown_name("parameter in preset", each, params)
    if params["solver"] == "lbfgs":
        raise ConfigError(f"solver='lbfgs' does not go with preset={name!r}, whose networks train by epochs")
    if params["warm_start"]:
        raise ConfigError(
            f"warm_start does not go with preset={name!r}: which rows its networks hold out, and how "
            "columns are scaled, is settled anew in every fit; to go on after a crash use checkpoint= and linnet.resume"
        )


def with_preset(params: Mapping[str, Any], defaults: Mapping[str, Any], chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters, with the preset's choice where one is at its default and the preset does not say it stays."""
    _, kept = _parts(params["preset"])
    free = [name for name in chosen if at_default(params, defaults, name) and name not in kept]
    return {**params, **{name: chosen[name] for name in free}}


def at_default(params: Mapping[str, Any], defaults: Mapping[str, Any], name: str) -> bool:
    """Whether a parameter has its default value, as a tuple, a list or an array."""
    return bool(plain(written(params[name])) == plain(written(defaults[name])))


def _parts(preset: Any) -> tuple[Any, tuple[Any, ...]]:
    """The name of a preset, and the parameters that stay."""
    return (preset[0], tuple(preset[1:])) if isinstance(preset, list | tuple) and preset else (preset, ())


@dataclass(frozen=True, slots=True)
class Unit:
    """Where targets lie and how far they spread: they are trained on as (t - centre) / spread, by output."""

    centre: Floats
    spread: Floats

    def head(self, head: Head) -> Head:
        """The same head for standardised targets."""
        if head.family == "huber":
            return replace(head, power=head.power / float(self.spread.mean()))
        if head.function is None:
            return head
        function = head.function

        def scaled(z: Floats, t: Floats) -> tuple[Floats, Floats]:
            loss, slope = function(z * self.spread + self.centre, t * self.spread + self.centre)
            return loss, slope * self.spread

        return replace(head, function=scaled)

    def rows(self, rows: Rows) -> Rows:
        """The same rows with standardised targets."""
        if rows.values is None:
            return rows
        values = ((rows.values - self.centre) / self.spread).astype(rows.values.dtype)
        offset = None if rows.offset is None else (rows.offset / self.spread).astype(rows.values.dtype)
        return replace(rows, values=values, offset=offset)

    def metric(self, metric: NamedMetric) -> NamedMetric:
        """The same metric, in the target's own unit."""

        def compute(mean: Array, rows: Rows) -> float:
            values = None if rows.values is None else rows.values * self.spread + self.centre
            return metric(mean * self.spread + self.centre, replace(rows, values=values))

        return replace(metric, compute=compute)

    def undo(self, network: Network, theta: Theta, factor: float = 1.0) -> Theta:
        """The parameters that predict in the target's own unit, times a factor."""
        fine = (np.abs(self.centre) > _LARGE * self.spread).any()  # float32 would lose the spread in the centre
        theta = theta.astype(np.float64) if fine else theta.copy()
        weights, biases = network.blocks(theta)[-1]
        weights *= (self.spread * factor).astype(theta.dtype)
        biases[:] = (biases * self.spread + self.centre) * factor
        return theta


def unit_of(head: Head, rows: Rows, outputs: int) -> Unit:
    """Mean and deviation of the targets, 0 and 1 where their unit has a meaning to the head."""
    if head.family not in _SCALED or rows.values is None:
        return Unit(np.zeros(outputs), np.ones(outputs))
    with np.errstate(over="ignore", invalid="ignore"):
        centre = np.average(rows.values, axis=0, weights=rows.weights)
        spread = np.sqrt(np.average(np.square(rows.values - centre), axis=0, weights=rows.weights))
    if not np.isfinite(spread).all():
        largest = np.abs(rows.values).max()
        raise DataError(f"y has numbers of about {largest:.3g}, too large for their squares to be computed: scale it")
    return Unit(centre, np.where(spread > 0, spread, 1.0))


def split(rows: Rows, parts: int, count: int, seed: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Rows to train on and rows to hold out for `count` members, each holding out another of the parts.

    The classes, or small and large targets, are spread evenly over the parts.
    """
    random = np.random.default_rng(seed).permutation(len(rows))
    by = rows.labels if rows.labels is not None else None
    if by is None and rows.values is not None:
        by = rows.values[:, 0]
    order = random if by is None else random[np.argsort(by[random], kind="stable")]
    part = np.empty(len(rows), np.intp)
    part[order] = np.arange(len(rows)) % parts
    return [(np.flatnonzero(part != index), np.flatnonzero(part == index)) for index in range(count)]


@dataclass(slots=True)
class Fitting:
    """An ensemble about to be trained, and what it takes to finish it."""

    network: Network  # as it predicts, in the user's units
    rows: Rows
    held: Sequence[Rows]  # of each member
    unit: Unit
    range: tuple[Floats, Floats]  # of predictions
    ensemble: Ensemble
    monitored: NamedMetric | None
    sharpest: float = _SHARPEST  # the most it may become
    sharpness: float = 1.0  # what z is multiplied by

    def members(self) -> list[Theta]:
        """The members' parameters in the user's units."""
        return [self.unit.undo(self.network, member.theta, self.sharpness) for member in self.ensemble.members]

    def finish(self) -> tuple[Rows, Floats]:
        """Calibrate; return held-out rows and their z, each from a member that has not seen it."""
        members = self.members()
        parts = self.held or [self.rows]
        z = np.vstack([self._z(theta, part) for theta, part in zip(members, parts, strict=False)])
        rows = joined(parts)
        if self.held and self.network.head.family in ("bernoulli", "categorical"):
            self.sharpness = inverse_temperature(self.network.head, z, rows, self.sharpest)
        return rows, z * self.sharpness

    def _z(self, theta: Theta, rows: Rows) -> Floats:
        objective = Objective(self.network, theta.dtype, rows=len(rows))
        offset = None if rows.offset is None else rows.offset.astype(theta.dtype)
        return objective.predict(theta, rows.x, offset=offset, mean=False).astype(np.float64)


def joined(parts: Sequence[Rows]) -> Rows:
    """Targets and weights of several parts, without their columns."""
    names = [name for name in ("labels", "values", "weights") if getattr(parts[0], name) is not None]
    whole = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return Rows(np.empty((sum(map(len, parts)), 0)), **whole)


def inverse_temperature(head: Head, z: Floats, rows: Rows, most: float = _SHARPEST) -> float:
    """The factor of z with the least loss, from 1/4 to `most`: few mistakes are no proof that there will be fewer."""
    t = rows.labels if rows.labels is not None else np.asarray(rows.values, np.float64)
    weights = np.ones(len(z)) if rows.weights is None else rows.weights
    factors = np.geomspace(0.25, most, 41)
    for _ in range(3):  # each look is twenty times as close
        losses = [float(np.dot(weights, head.loss(z * factor, t))) for factor in factors]
        best = int(np.argmin(losses))
        factors = np.linspace(factors[max(0, best - 1)], factors[min(40, best + 1)], 41)
    return float(factors[20])


def sharpest(smoothing: float, classes: int, held: int) -> float:
    """The largest factor of z that so many held-out rows can speak for.

    Training with smoothing e makes a sure row's z log((1 - e + e/K) / (e/K)), however sure it is. After n rows without
    a mistake the next one is right with odds of n + 1 to 1 (Laplace's rule): so far z may be stretched again.
    """
    if not smoothing:
        return _SHARPEST
    own = np.log((1 - smoothing + smoothing / classes) / (smoothing / classes))
    return _SHARPEST * max(1.0, float(np.log(held + 1) / own))


def prepare(
    params: Mapping[str, Any],
    defaults: Mapping[str, Any],
    rows: Rows,
    validation: Rows | None,
    head: Head,
    outputs: int,
    metrics: Sequence[NamedMetric],
    seed: int,
    trained_on: Callable[[Rows], Rows],
) -> Fitting:
    """Make the members of an ensemble for these rows; `trained_on` gives rows the targets that training aims at."""
    start = np.zeros(outputs) if head.family in _SCALED else first_guess(head, rows, outputs)
    norm = None
    if head.family in ("poisson", "gamma"):
        # a few rows of very large counts can pull z so far that e^z is no number; the norm is far from that of any
        # other step, which would bias the mean
        norm = _FAR if head.family == "gamma" else _FAR * float(mean_target(rows, outputs).max())
    chosen = recipe(len(rows), head.family not in _SCALED, norm)
    if not at_default(params, defaults, "validation_fraction"):
        chosen = chosen.holding_out(params["validation_fraction"])
    own_rate = not at_default(params, defaults, "learning_rate") or "learning_rate" in _parts(params["preset"])[1]
    params = with_preset(params, defaults, chosen.params)
    if not own_rate:
        schedule = Cosine(params["learning_rate_init"], epochs=params["max_iter"], warmup=chosen.warmup)
        params["learning_rate"] = schedule
    unit = unit_of(head, rows, outputs)
    network = make_network(params, as_columns(rows.x).count, outputs, unit.head(head), rows.weight_sum)
    if rows.weights is not None:
        rows = rows[np.flatnonzero(rows.weights)]
    held: list[Rows] = []
    pairs: list[tuple[Rows, Rows | None]] = [(rows, None)]
    if validation is not None:
        held = [validation] * chosen.members
        pairs = [(rows, part) for part in held]
    elif len(rows) > 1:
        parts = min(chosen.parts, len(rows))
        cuts = split(rows, parts, min(chosen.members, parts), seed)
        held = [rows[cut] for _, cut in cuts]
        pairs = [(rows[train], part) for (train, _), part in zip(cuts, held, strict=True)]
    metrics = [unit.metric(metric) for metric in metrics] if held else []
    loss = NamedMetric("loss", lambda mean, rows: np.nan, greater_is_better=False)
    monitored = metrics[0].watched() if metrics else loss
    trainings = []
    for index, (train, hold) in enumerate(pairs):
        plan = Plan(
            optimizer=make_optimizer(params, len(train)),
            epochs=check_whole(params["max_iter"], "max_iter", at_least=1),
            batch_size=batch_size(params, len(train), quietly=True),
            shuffle=bool(params["shuffle"]),
            seed=seed + index,
            threads=1,
            metrics=metrics,
            weighted_metrics=True,
            metrics_in_training=False,
            rate_name="learning_rate_init",
            stopping=EarlyStopping(f"val_{monitored.name}" if held else "loss", check_patience(params), params["tol"]),
        )
        theta = initial_theta(network, seed + index, "float32", ["glorot_uniform"] * len(network.layers))
        network.blocks(theta)[-1].biases[:] = start
        inside = None if hold is None else unit.rows(hold).computed_in("float32")
        seen = unit.rows(trained_on(train)).computed_in("float32")
        trainings.append(Training(network, theta, seen, plan, inside))
    low, high = np.full(outputs, -np.inf), np.full(outputs, np.inf)
    if head.family in _SCALED and rows.values is not None:
        low, high = rows.values.min(axis=0).astype(np.float64), rows.values.max(axis=0).astype(np.float64)
    different = sum(map(len, held)) if validation is None else len(validation)
    most = sharpest(params.get("label_smoothing", 0.0), 2 if rows.labels is None else outputs, different)
    return Fitting(
        network=replace(network, head=head),
        rows=rows,
        held=held,
        unit=unit,
        range=(low, high),
        ensemble=Ensemble(trainings, params["threads"] or get_threads()),
        monitored=monitored if held else None,
        sharpest=most,
    )


def mean_target(rows: Rows, outputs: int) -> Floats:
    """The mean of each output's targets, a thousandth at least."""
    if rows.labels is not None:
        mean = np.bincount(rows.labels, weights=rows.weights, minlength=outputs) / rows.weight_sum
    else:
        mean = np.average(np.asarray(rows.values, np.float64), axis=0, weights=rows.weights)
    return np.asarray(np.maximum(mean, 1e-3))


def first_guess(head: Head, rows: Rows, outputs: int) -> Floats:
    """The z that, with the rows' offsets added, predicts the mean target: Σ w t = Σ w e^(z + offset) for counts."""
    mean = mean_target(rows, outputs)
    if head.family == "bernoulli":
        mean = np.minimum(mean, 1 - 1e-3)
        return np.asarray(np.log(mean / (1 - mean)))
    if rows.offset is None:
        return np.asarray(np.log(mean))
    offset = np.asarray(rows.offset, np.float64)
    largest = offset.max(axis=0)
    factor = np.average(np.exp(offset - largest), axis=0, weights=rows.weights)
    return np.asarray(np.log(mean) - largest - np.log(factor))
