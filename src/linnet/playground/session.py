"""A run that a page starts, steps, changes and watches. It trains by linnet's own loop and is not safe for threads.

A run is a list of legs: each has settings, and weights that were changed by hand before it, and lasts for a number of
whole epochs. So whatever was done on screen can be done again by a program, to the same bytes.
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
from linnet.fit.loop.training import ONE_STEP, Epoch, OptimizerState, Slice, Training
from linnet.heads import Head
from linnet.model.network import Theta
from linnet.playground.datasets import Dataset, Floats, make
from linnet.playground.frame import Scene, Score, input_maps
from linnet.playground.model import Model, head_label, heads_of
from linnet.playground.state import LIVE, MOST_EPOCHS, MOST_LEGS, Past, State

if TYPE_CHECKING:
    from linnet.playground.tables import Table

BUDGET = 0.02  # seconds of training between two frames
_PATIENCE = 5.0  # seconds for an epoch that is asked for
_MOST_SHOWN = 1500  # points
_MOST_DRAWN = 16  # inputs; the page draws more as one block


@dataclass(frozen=True, slots=True)
class Edit:
    """A weight that was set by hand; `source` None is the bias."""

    layer: int
    source: int | None
    unit: int
    value: float


@dataclass(frozen=True, slots=True)
class Leg:
    """Part of a run: its settings, what was edited before it, how many epochs it took."""

    state: State
    edits: tuple[Edit, ...] = ()
    fresh: bool = True  # whether the optimizer begins anew
    epochs: int = 0

    def told(self, now: State) -> dict[str, Any]:
        """The same for a link to a state, as the fields of a `Past`."""
        settings = {name: value for name in LIVE if (value := getattr(self.state, name)) != getattr(now, name)}
        edits = [(edit.layer, edit.source, edit.unit, edit.value) for edit in self.edits]
        return {"epochs": self.epochs, "settings": settings, "edits": edits, "fresh": self.fresh}


class Session:
    """What one page plays with."""

    state: State
    table: "Table | None"
    data: Dataset
    model: Model
    legs: list[Leg]
    step: int  # of the epoch under way; 0 between epochs
    notes: list[str]
    behind: bool  # whether more of the run that a link tells of is to come
    run = 0  # the number of the run: frames of an earlier one can still be under way
    _training: Training
    _records: Generator[Slice | Epoch, None, None]
    _scene: Scene
    _ahead: Iterator[None]  # does what a link tells of, piece by piece

    def __init__(self, state: State | None = None, table: "Table | None" = None) -> None:
        self.open(State() if state is None else state, table)

    # ---- settings ----

    def open(self, state: State, table: "Table | None") -> None:
        """Begin the run that a state tells of: `catch_up` does what was done in it. An error leaves all as it was."""
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
        """Take other settings, or another table; return whether the run began anew. An error leaves all as it was."""
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
        """Begin the run anew."""
        self.open(self.state.without("epochs", "past"), self.table)

    def edit(self, layer: object, source: object, unit: object, value: object) -> None:
        """Set a weight by hand, or with source None a bias, after the epoch under way."""
        edit = _edit(self.model.network.shapes, layer, source, unit, value)
        self.finish_epoch()
        self._go_on(Leg(self.state, (edit,), fresh=False))

    # ---- training ----

    def advance(self, how: str, seconds: float = BUDGET) -> None:
        """Train one "step", one "epoch", "ten", or the "most" that the time allows; others may end early, too.

        A FitError says that the loss became infinite; the parameters are then those of the last whole epoch.
        """
        deadline = perf_counter() + seconds
        wanted = {"step": 0, "epoch": 1, "ten": 10, "most": 10**9}[how]
        self._training.slice_seconds = ONE_STEP if how == "step" else seconds
        while True:
            wanted -= isinstance(self._next(), Epoch)
            if wanted <= 0 or perf_counter() > deadline:
                return

    def finish_epoch(self) -> None:
        """Go on to the end of the epoch under way, if there is one; back to its beginning if it has no end."""
        self._training.slice_seconds = BUDGET
        with suppress(FitError):
            while self.step:
                self._next()

    def one_epoch(self) -> None:
        """Train to the end of the epoch under way, or one whole epoch."""
        self.advance("epoch", _PATIENCE)

    def catch_up(self, seconds: float, epochs: int) -> bool:
        """Do what the state tells of for some seconds, or to a number of epochs; return whether more is to come."""
        deadline = perf_counter() + seconds
        self.behind = False  # if the loss becomes infinite
        self.behind = any(perf_counter() > deadline or self.epochs >= epochs for _ in self._ahead)
        return self.behind

    def give_up(self) -> None:
        """Leave what is to come: from here on the run has the settings of the state."""
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
            self._go_on(Leg(self.state))  # whoever goes on all the same does so with a new optimizer
            raise
        if isinstance(record, Epoch):
            self.legs[-1] = replace(self.legs[-1], epochs=self.legs[-1].epochs + 1)
            self.step = 0
        else:
            self.step = record.step
        return record

    @property
    def theta(self) -> Theta:
        """The parameters as they are now."""
        return self._training.now() if self.step else self._training.theta

    @property
    def head(self) -> Head:
        """The head, with the parameter that was estimated after the last whole epoch, if it has one."""
        return self._training.fitted_network().head

    @property
    def parameter(self) -> dict[str, Any] | None:
        """The parameter of the head that is estimated, with its symbol in formulas."""
        head = self.head
        return {"symbol": head.parameter_symbol, "value": head.parameter} if head.is_estimated else None

    @property
    def epochs(self) -> int:
        """Whole epochs of the run so far."""
        return sum(leg.epochs for leg in self.legs)

    @property
    def is_plain(self) -> bool:
        """Whether nothing was changed on the way, so that the state alone says how the parameters came about."""
        done = [leg for leg in self.legs if leg.epochs or leg.edits]
        return len(done) <= 1 and all(not leg.edits and leg.state.same_training(self.state) for leg in done)

    @property
    def past(self) -> list[Leg]:
        """What was done so far; nothing if the state and a number of epochs say it all, the optimizer's memory too."""
        only, *others = self.legs
        return self.legs if others or only.edits or not only.state.same_training(self.state) else []

    # ---- what the page gets ----

    def frame(self) -> bytes:
        """The run as it is now; its `past` is None if there was too much for a link."""
        past = self.past
        is_short = len(past) <= MOST_LEGS and all(leg.epochs <= MOST_EPOCHS for leg in past)
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
        """The loss on the rows trained on and on those held out."""
        train, test = self.both_scores()
        return train.loss, test.loss

    def both_scores(self) -> tuple[Score, Score]:
        """All that is known of how the network does on the same two."""
        return self._scene.scores(self.theta, self.head, self.state.threshold)

    def means(self, part: NDArray[np.intp]) -> Floats:
        """What the network predicts of some rows, rows x outputs."""
        return self._scene.means(self.theta, self.data.x[part])

    def facts(self) -> dict[str, Any]:
        """What stays the same during a run: the data and the shape of the network."""
        data, network = self.data, self.model.network
        held = np.zeros(len(data), np.bool_)
        held[self.test_part] = True
        step = -(-len(data) // _MOST_SHOWN)
        some = slice(None, None, step)
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
            "maps": input_maps(data) if len(data.inputs) <= _MOST_DRAWN else [],
            "axes": data.axes,
            "ranges": data.ranges,
            "range": data.own(np.array(self._scene.range)).tolist(),
            "picture": data.picture,
            "shapes": network.shapes,
            "activations": [layer.activation.name for layer in network.layers[:-1]] + [network.head.output.name],
            "rows": [len(self.train_part), len(self.test_part)],
            "points": _short(data.points[some], data.ranges),
            "values": data.own(data.y[some]).tolist(),
            "held": held[some].astype(int).tolist(),
            "numbers": np.arange(len(data))[some].tolist(),
            "notes": [*data.notes, *self.notes],
        }

    # ---- inside ----

    def _go_on(self, leg: Leg) -> None:
        """Begin another leg between two epochs; one without epochs is as if it had never been, but for its edits."""
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
            raise ConfigError("data 'table': there is none: start `linnet play FILE`, or open a file on the page")
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
    """Points to as many digits as can be seen: a few thousandths of the ranges."""
    digits = [int(np.ceil(3 - np.log10(high - low))) for low, high in ranges]
    columns = [np.round(points[:, axis], count).tolist() for axis, count in enumerate(digits)]
    return [list(point) for point in zip(*columns, strict=True)]


def _told(state: State, shapes: Sequence[tuple[int, int]]) -> list[Leg]:
    """The legs of the run that a state tells of."""
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
        raise ConfigError(f"{name} must be a whole number from 0 to {count - 1}, got {value!r}")
    return value
