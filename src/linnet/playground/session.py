"""A run that a page starts, steps, changes and watches. It uses linnet's own training loop and is not thread-safe.

A run is a list of legs: each has settings, and weights that were edited by hand before it, and lasts for a number of
whole epochs. So a program can repeat everything done on the page, to the same bytes.
"""

from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linnet.checks import check_number
from linnet.errors import ConfigError, FitError, hearing
from linnet.fit.loop.steps import ONE_STEP, Slice
from linnet.fit.loop.training import Epoch, OptimizerState, Training
from linnet.heads import Head
from linnet.model.network import Theta
from linnet.playground.datasets import Dataset, Floats, make
from linnet.playground.frame import Scene, Score, input_maps
from linnet.playground.model import Model, head_label, heads_of
from linnet.playground.state import LIVE, MAX_EPOCHS, MAX_LEGS, Past, State

if TYPE_CHECKING:
    from linnet.playground.tables import Table

BUDGET = 0.02  # seconds of training between two frames
_EPOCH_SECONDS = 5.0  # limit for a requested epoch
_MAX_POINTS = 1500  # drawn on the page
_MAX_INPUTS = 16  # drawn one by one; the page draws more as one block


@dataclass(frozen=True, slots=True)
class Edit:
    """A weight set by hand; `source` None is the bias."""

    layer: int
    source: int | None
    unit: int
    value: float


@dataclass(frozen=True, slots=True)
class Leg:
    """Part of a run: its settings, the edits before it, and its number of epochs."""

    state: State
    edits: tuple[Edit, ...] = ()
    fresh: bool = True  # whether the optimizer begins anew
    epochs: int = 0

    def told(self, now: State) -> dict[str, Any]:
        """Return the leg as the fields of a `Past`, for a link to the state `now`."""
        settings = {name: value for name in LIVE if (value := getattr(self.state, name)) != getattr(now, name)}
        edits = [(edit.layer, edit.source, edit.unit, edit.value) for edit in self.edits]
        return {"epochs": self.epochs, "settings": settings, "edits": edits, "fresh": self.fresh}


class Session:
    """The run of one page."""

    state: State
    table: "Table | None"
    data: Dataset
    model: Model
    legs: list[Leg]
    step: int  # of the epoch under way; 0 between epochs
    notes: list[str]
    behind: bool  # whether epochs of a link remain to be repeated
    run = 0  # the number of the run: frames of an earlier one may still arrive
    _training: Training
    _records: Generator[Slice | Epoch, None, None]
    _scene: Scene
    _ahead: Iterator[None]  # repeats the epochs of a link, one by one

    def __init__(self, state: State | None = None, table: "Table | None" = None) -> None:
        self.open(State() if state is None else state, table)

    # ---- settings ----

    def open(self, state: State, table: "Table | None") -> None:
        """Start the run of a state; `catch_up` repeats the epochs it holds. An error changes nothing."""
        data = _data(state, table)
        model = Model.of(state, data)
        legs = _told(state, model.network.shapes)
        train_part, test_part = data.split(state.ratio, state.seed)
        scene = Scene(model, data, train_part, test_part)
        self._leave()
        self.state, self.table, self.data, self.model = state, table, data, model
        self.train_part, self.test_part, self._scene = train_part, test_part, scene
        self.legs, self._ahead, self.behind = [Leg(state)], self._again(legs), False
        self.run += 1
        self._train(model.first_theta(), OptimizerState())

    def apply(self, state: State, table: "Table | None" = None) -> bool:
        """Take other settings, or another table; return whether the run started over. An error changes nothing."""
        table = self.table if table is None else table
        if not self.state.same_run(state) or (state.data == "table" and table is not self.table):
            self.open(state.without("epochs", "past"), table)
            return True
        if not self.state.same_training(state):
            self.finish_epoch()
            self._go_on(Leg(state))
        self.state = state
        return False

    def reset(self) -> None:
        """Start the run over."""
        self.open(self.state.without("epochs", "past"), self.table)

    def edit(self, layer: object, source: object, unit: object, value: object) -> None:
        """Set a weight by hand, or with source None a bias, after the current epoch."""
        edit = _edit(self.model.network.shapes, layer, source, unit, value)
        self.finish_epoch()
        self._go_on(Leg(self.state, (edit,), fresh=False))

    # ---- training ----

    def advance(self, how: str, seconds: float = BUDGET) -> None:
        """Train one "step", one "epoch", "ten", or the "most" that the time allows; the others may end early, too.

        A FitError means that the loss became infinite; the parameters are then those of the last whole epoch.
        """
        deadline = perf_counter() + seconds
        wanted = {"step": 0, "epoch": 1, "ten": 10, "most": 10**9}[how]
        self._training.slice_seconds = ONE_STEP if how == "step" else seconds
        while True:
            wanted -= isinstance(self._next(), Epoch)
            if wanted <= 0 or perf_counter() > deadline:
                return

    def finish_epoch(self) -> None:
        """Continue to the end of the current epoch, if there is one; if the loss becomes infinite, to its start."""
        self._training.slice_seconds = BUDGET
        with suppress(FitError):
            while self.step:
                self._next()

    def one_epoch(self) -> None:
        """Train to the end of the current epoch, or one whole epoch."""
        self.advance("epoch", _EPOCH_SECONDS)

    def catch_up(self, seconds: float, epochs: int) -> bool:
        """Repeat the epochs of the state for `seconds`, or up to `epochs`; return whether more remain."""
        deadline = perf_counter() + seconds
        self.behind = False  # if the loss becomes infinite
        self.behind = any(perf_counter() > deadline or self.epochs >= epochs for _ in self._ahead)
        return self.behind

    def give_up(self) -> None:
        """Drop the remaining epochs: from here on the run has the settings of the state."""
        self.behind = False
        if not self.legs[-1].state.same_training(self.state):
            self.finish_epoch()
            self._go_on(Leg(self.state))

    def _again(self, legs: Sequence[Leg]) -> Iterator[None]:
        for leg in legs:
            self._go_on(leg)
            while self.legs[-1].epochs < leg.epochs:
                yield
                self.advance("epoch")

    def _next(self) -> Slice | Epoch:
        try:
            record = next(self._records)
        except FitError:
            self.step = 0
            self._go_on(Leg(self.state))  # a continued run has a new optimizer
            raise
        if isinstance(record, Epoch):
            self.legs[-1] = replace(self.legs[-1], epochs=self.legs[-1].epochs + 1)
            self.step = 0
        else:
            self.step = record.step
        return record

    @property
    def theta(self) -> Theta:
        """The current parameters."""
        return self._training.now() if self.step else self._training.theta

    @property
    def head(self) -> Head:
        """The head, with its parameter as estimated after the last whole epoch, if it has one."""
        return self._training.fitted_network().head

    @property
    def parameter(self) -> dict[str, Any] | None:
        """The estimated parameter of the head, with its symbol in formulas."""
        head = self.head
        return {"symbol": head.parameter_symbol, "value": head.parameter} if head.is_estimated else None

    @property
    def epochs(self) -> int:
        """Whole epochs of the run so far."""
        return sum(leg.epochs for leg in self.legs)

    @property
    def is_plain(self) -> bool:
        """Whether nothing was changed on the way: the state alone determines the parameters."""
        done = [leg for leg in self.legs if leg.epochs or leg.edits]
        return len(done) <= 1 and all(not leg.edits and leg.state.same_training(self.state) for leg in done)

    @property
    def past(self) -> list[Leg]:
        """The legs so far; empty if the state and a number of epochs determine the run and the optimizer's memory."""
        only, *others = self.legs
        return self.legs if others or only.edits or not only.state.same_training(self.state) else []

    # ---- what the page gets ----

    def frame(self) -> bytes:
        """Return the current state of the run; its `past` is None if it is too long for a link."""
        past = self.past
        is_short = len(past) <= MAX_LEGS and all(leg.epochs <= MAX_EPOCHS for leg in past)
        told = {
            "epoch": self.epochs,
            "step": self.step,
            "steps": self._training.steps,
            "run": self.run,
            "behind": self.behind,
            "past": [leg.told(self.state) for leg in past] if is_short else None,
            "parameter": self.parameter,
        }
        return self._scene.frame(self.theta, self.head, self.state.threshold, self.state.shown, told)

    def scores(self) -> tuple[float, float]:
        """Return the loss on the training rows and on the test rows."""
        train, test = self.both_scores()
        return train.loss, test.loss

    def both_scores(self) -> tuple[Score, Score]:
        """Return all scores on the training rows and on the test rows."""
        return self._scene.scores(self.theta, self.head, self.state.threshold)

    def means(self, part: NDArray[np.intp]) -> Floats:
        """Return the predictions of the network for some rows, rows x outputs."""
        return self._scene.means(self.theta, self.data.x[part])

    def facts(self) -> dict[str, Any]:
        """Return what stays the same during a run: the data and the shape of the network."""
        data, network = self.data, self.model.network
        held = np.zeros(len(data), np.bool_)
        held[self.test_part] = True
        step = -(-len(data) // _MAX_POINTS)
        shown = slice(None, None, step)
        return {
            "is": "facts",
            "run": self.run,
            "state": self.state.to_dict(),
            "task": data.task,
            "head": self.model.head,
            "heads": [(family, head_label(family)) for family in heads_of(data.task)],
            "scores": self.model.has_scores_only,
            "loss": self.model.loss.name,
            "unit": f"of {self.state.target} in standard deviations" if data.is_scaled else "",
            "metric": "accuracy" if data.classes else "R²",
            "classes": data.classes,
            "inputs": data.inputs,
            "maps": input_maps(data) if len(data.inputs) <= _MAX_INPUTS else [],
            "axes": data.axes,
            "ranges": data.ranges,
            "range": data.own(np.array(self._scene.range)).tolist(),
            "picture": data.picture,
            "shapes": network.shapes,
            "activations": [layer.activation.name for layer in network.layers[:-1]] + [network.head.output.name],
            "rows": [len(self.train_part), len(self.test_part)],
            "points": _short(data.points[shown], data.ranges),
            "values": data.own(data.y[shown]).tolist(),
            "held": held[shown].astype(int).tolist(),
            "numbers": np.arange(len(data))[shown].tolist(),
            "notes": [*data.notes, *self.notes],
        }

    # ---- inside ----

    def _go_on(self, leg: Leg) -> None:
        """Start another leg between two epochs; a leg without epochs leaves no trace but its edits."""
        model = Model.of(leg.state, self.data).with_head(self.head)
        scene = Scene(model, self.data, self.train_part, self.test_part)
        leg = replace(leg, fresh=leg.fresh or not leg.state.same_training(self.legs[-1].state))
        theta, optimizer = self.theta.copy(), OptimizerState() if leg.fresh else self._training.state()
        blocks = model.network.blocks(theta)
        for edit in leg.edits:
            if edit.source is None:
                blocks[edit.layer].biases[edit.unit] = edit.value
            else:
                blocks[edit.layer].weights[edit.source, edit.unit] = edit.value
        self._leave()
        if not self.legs[-1].epochs:
            last = self.legs.pop()
            edits = {(edit.layer, edit.source, edit.unit): edit for edit in (*last.edits, *leg.edits)}
            leg = replace(leg, edits=tuple(edits.values()), fresh=leg.fresh or last.fresh)
        self.legs.append(replace(leg, epochs=0))
        self.model, self._scene = model, scene
        self._train(theta, optimizer)

    def _train(self, theta: Theta, state: OptimizerState) -> None:
        rows = self.model.rows(self.data, self.train_part)
        with hearing() as self.notes:
            self._training = Training(self.model.network, theta, rows, self.model.plan(), state=state)
        self.step = 0
        self._records = self._training.records()

    def _leave(self) -> None:
        if hasattr(self, "_records"):
            self._records.close()


def _data(state: State, table: "Table | None") -> Dataset:
    if state.data == "table":
        if table is None:
            raise ConfigError("data='table' needs a table: start `linnet play FILE`, or open a file on the page")
        return table.dataset(state.target, state.axes)
    return make(
        state.data,
        noise=state.noise,
        seed=state.seed,
        classes=state.classes,
        features=state.features,
        points=state.points,
    )


def _short(points: Floats, ranges: Sequence[tuple[float, float]]) -> list[list[float]]:
    """Return points rounded to the digits that can be seen: a few thousandths of the ranges."""
    digits = [int(np.ceil(3 - np.log10(high - low))) for low, high in ranges]
    columns = [np.round(points[:, axis], count).tolist() for axis, count in enumerate(digits)]
    return [list(point) for point in zip(*columns, strict=True)]


def _told(state: State, shapes: Sequence[tuple[int, int]]) -> list[Leg]:
    """Return the legs of the run that a state describes."""
    legs = [
        Leg(
            replace(state, past=(), **part.settings),
            tuple(_edit(shapes, *edit) for edit in part.edits),
            part.fresh,
            part.epochs,
        )
        for part in state.past or (Past(state.epochs),)
    ]
    return legs if legs[-1].state.same_training(state) else [*legs, Leg(state)]


def _edit(shapes: Sequence[tuple[int, int]], layer: object, source: object, unit: object, value: object) -> Edit:
    at = _place(layer, len(shapes), "layer")
    return Edit(
        at,
        None if source is None else _place(source, shapes[at][0], "source"),
        _place(unit, shapes[at][1], "unit"),
        check_number(value, "value", at_least=-1000, at_most=1000),
    )


def _place(value: object, count: int, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < count:
        raise ConfigError(f"{name} must be an integer from 0 to {count - 1}, got {value!r}")
    return value
