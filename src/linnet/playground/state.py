"""The state of the page as one object: the content of a link, a preset, and the page's request.

`State.of` takes JSON values and refuses invalid ones by the name of the field; fields that are not given have their
defaults, so that a link names only what differs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, TypeVar

from linnet.checks import check_number, check_whole
from linnet.errors import ConfigError, unknown_name
from linnet.estimators.sequential.losses import Loss
from linnet.fit.loop.optimizers import Optimizer
from linnet.heads.activations import ACTIVATIONS
from linnet.model.initialise import INITIALISERS
from linnet.playground.approximate import Curve
from linnet.tables.network import OPTIMIZERS_BY_RATE, losses_of
from linnet.tables.task import Task

MAX_LAYERS = 6
MAX_UNITS = 16
MAX_POINTS = 1000  # drawn by hand
MAX_CLASSES = 6
MAX_EPOCHS = 100_000
MAX_ROWS = 1_000_000
MAX_PINS = 4
MAX_LEGS = 60  # of a run in a link

DATA = (
    *("circle", "xor", "gaussians", "spirals", "moons", "blobs", "pinwheels"),
    *("plane", "multi_gauss", "counts", "bursts", "drawn", "digits", "table"),
)
FEATURES = ("x1", "x2", "x1^2", "x2^2", "x1*x2", "sin(x1)", "sin(x2)")
OPTIMIZER_NAMES = tuple(OPTIMIZERS_BY_RATE)
HEADS = ("task", *dict.fromkeys(Loss(loss).kind.family for task in Task for loss in losses_of(task)))
SPEEDS = ("step", "epoch", "ten", "most")
VIEWS = ("train", "backprop", "approximation")

# a change of LIVE fields takes effect during a run, that of SEEN fields has no effect on it, any other starts over
LIVE = ("batch", "l1", "l2", "optimizer", "rate")
SEEN = ("epochs", "threshold", "shown", "speed", "view", "test", "row", "place", "curve", "pins", "past")


def _list(given: object, name: str) -> Sequence[Any]:
    if not isinstance(given, list | tuple):
        raise ConfigError(f"{name} must be a list, got {_cut(given)}")
    return given


def _choice(value: object, name: str, choices: Sequence[str]) -> None:
    if not isinstance(value, str) or value not in choices:
        raise unknown_name(name, value, choices)


def _within(value: object, name: str, low: int, high: int) -> int:
    whole = check_whole(value, name, at_least=low)
    if whole > high:
        raise ConfigError(f"{name} must be an integer from {low} to {high}, got {value!r}")
    return whole


def _text(value: object, name: str) -> None:
    if not isinstance(value, str) or len(value) > 1000:
        raise ConfigError(f"{name} must be the name of a column, got {_cut(value)}")


def _cut(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


_Part = TypeVar("_Part", bound="Hidden | Past")


@dataclass(frozen=True, slots=True)
class Hidden:
    """A hidden layer; `dropout` is the rate at which its units are dropped in training."""

    units: int = 4
    activation: str = "tanh"
    dropout: float = 0.0

    def __post_init__(self) -> None:
        if check_whole(self.units, "units", at_least=1) > MAX_UNITS:
            raise ConfigError(f"units must be at most {MAX_UNITS}, got {self.units}")
        _choice(self.activation, "activation", ACTIVATIONS)
        object.__setattr__(self, "dropout", check_number(self.dropout, "dropout", at_least=0, at_most=0.9))


@dataclass(frozen=True, slots=True)
class Past:
    """Part of a run whose settings or weights were changed on the way.

    Its settings are given where they differ from the state's; edits are weights that were set by hand before it, as
    (layer, source or None for the bias, unit, value); `fresh`: whether the optimizer started over.
    """

    epochs: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    edits: tuple[tuple[Any, ...], ...] = ()
    fresh: bool = True

    def __post_init__(self) -> None:
        _within(self.epochs, "epochs", 0, MAX_EPOCHS)
        if not isinstance(self.settings, Mapping) or not self.settings.keys() <= set(LIVE):
            raise ConfigError(f"settings must be an object of {', '.join(LIVE)}, got {_cut(self.settings)}")
        edits = tuple(tuple(_list(edit, "an edit")) for edit in _list(self.edits, "edits"))
        if any(len(edit) != 4 for edit in edits):
            raise ConfigError(f"edits must be lists of layer, source, unit and value, got {_cut(self.edits)}")
        object.__setattr__(self, "edits", edits)
        if not isinstance(self.fresh, bool):
            raise ConfigError(f"fresh must be true or false, got {self.fresh!r}")


@dataclass(frozen=True, slots=True)
class State:
    """Data, network, training and view."""

    data: str = "circle"
    classes: int = 3  # of blobs and pinwheels
    noise: float = 0.1  # the standard deviation of the noise in positions
    ratio: float = 0.5  # the share of training rows
    seed: int = 0
    points: tuple[tuple[float, float, int], ...] = ()  # drawn: x1, x2, class
    target: str = ""  # the column of a table to predict
    axes: tuple[str, ...] = ()  # two columns of a table; none: its principal components
    features: tuple[str, ...] = ("x1", "x2")
    layers: tuple[Hidden, ...] = (Hidden(4), Hidden(2))
    head: str = "task"
    initialiser: str = "glorot_uniform"
    l1: float = 0.0
    l2: float = 0.0
    optimizer: str = "adam"
    rate: float = 0.01
    batch: int = 10
    epochs: int = 0  # trained so far, repeated when a link is opened
    threshold: float = 0.5
    shown: int = 0  # the class whose precision and recall are shown, if there are more than two
    speed: str = "epoch"
    view: str = "train"
    test: bool = False  # whether the test rows are drawn
    row: int = 0  # the row whose values and gradients are shown
    place: int = 0  # the step of the backpropagation view
    curve: Mapping[str, Any] = field(default_factory=dict)  # settings of the approximation view that are not defaults
    pins: tuple[str, ...] = ()  # runs to compare with: their curves, as the page writes them
    past: tuple[Past, ...] = ()  # the run so far, if something was changed on the way

    def __post_init__(self) -> None:
        _choice(self.data, "data", DATA)
        _within(self.classes, "classes", 2, MAX_CLASSES)
        check_number(self.noise, "noise", at_least=0, at_most=1)
        check_number(self.ratio, "ratio", at_least=0.1, at_most=0.9)
        _within(self.seed, "seed", 0, 2**32 - 1)
        if len(self.points) > MAX_POINTS:
            raise ConfigError(f"points must be at most {MAX_POINTS}, got {len(self.points)}")
        _text(self.target, "target")
        if len(self.axes) not in (0, 2):
            raise ConfigError(f"axes must be two columns or none, got {len(self.axes)}")
        for name in self.axes:
            _text(name, "axes")
        for name in self.features:
            _choice(name, "features", FEATURES)
        if not self.features or len(set(self.features)) != len(self.features):
            raise ConfigError(f"features must be at least one, without repetition, got {list(self.features)}")
        if len(self.layers) > MAX_LAYERS:
            raise ConfigError(f"layers must be at most {MAX_LAYERS}, got {len(self.layers)}")
        _choice(self.head, "head", HEADS)
        _choice(self.initialiser, "initialiser", INITIALISERS)
        check_number(self.l1, "l1", at_least=0, at_most=10)
        check_number(self.l2, "l2", at_least=0, at_most=10)
        _choice(self.optimizer, "optimizer", OPTIMIZER_NAMES)
        check_number(self.rate, "rate", above=0, at_most=100)
        _within(self.batch, "batch", 1, 100_000)
        _within(self.epochs, "epochs", 0, MAX_EPOCHS)
        check_number(self.threshold, "threshold", at_least=0, at_most=1)
        _within(self.shown, "shown", 0, 1000)
        _choice(self.speed, "speed", SPEEDS)
        _choice(self.view, "view", VIEWS)
        if not isinstance(self.test, bool):
            raise ConfigError(f"test must be true or false, got {self.test!r}")
        _within(self.row, "row", 0, MAX_ROWS)
        _within(self.place, "place", 0, 2 * MAX_LAYERS + 3)
        Curve.of(self.curve)
        if len(self.pins) > MAX_PINS or not all(isinstance(pin, str) and len(pin) <= 10_000 for pin in self.pins):
            raise ConfigError(f"pins must be at most {MAX_PINS} runs as the page writes them, got {_cut(self.pins)}")
        if len(self.past) > MAX_LEGS:
            raise ConfigError(f"past must have at most {MAX_LEGS} parts, got {len(self.past)}")
        for part in self.past:
            replace(self, past=(), **part.settings)

    @classmethod
    def of(cls, given: object) -> "State":
        """Build a state from JSON values, or raise a ConfigError that names the field."""
        if not isinstance(given, Mapping):
            raise ConfigError(f"a state must be an object of fields, got {type(given).__name__}")
        known = [each.name for each in fields(cls)]
        for name in given:
            if name not in known:
                raise unknown_name("field of a state", name, known)
        values = dict(given)
        for name in _LISTS:
            if name in values:
                values[name] = _LISTS[name](_list(values[name], name))
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """Return the state as JSON values."""
        return asdict(self)

    def make_optimizer(self) -> Optimizer:
        """Return the optimizer with its rate; momentum is 0.9."""
        return OPTIMIZERS_BY_RATE[self.optimizer](self.rate)

    def same_run(self, other: "State") -> bool:
        """Return whether two states differ only in fields that may change during a run."""
        return self.without(*LIVE, *SEEN) == other.without(*LIVE, *SEEN)

    def same_training(self, other: "State") -> bool:
        """Return whether two states differ only in fields that do not affect training."""
        return self.without(*SEEN) == other.without(*SEEN)

    def without(self, *names: str) -> "State":
        """Return the state with defaults in these fields."""
        plain = State()
        return replace(self, **{name: getattr(plain, name) for name in names})


def _parts(kind: type[_Part], name: str) -> Callable[[Sequence[Any]], tuple[_Part, ...]]:
    """Return a function that builds objects of a class from a list of JSON objects."""
    known = [each.name for each in fields(kind)]

    def made(given: Sequence[Any]) -> tuple[_Part, ...]:
        parts = []
        for number, part in enumerate(given, 1):
            if not isinstance(part, Mapping) or not part.keys() <= set(known):
                raise ConfigError(f"{name} {number} must have {', '.join(known)}, got {_cut(part)}")
            try:
                parts.append(kind(**part))
            except ConfigError as error:
                raise ConfigError(f"{name} {number}: {error}") from None
        return tuple(parts)

    return made


def _points(given: Sequence[Any]) -> tuple[tuple[float, float, int], ...]:
    points = []
    for number, point in enumerate(given, 1):
        if not isinstance(point, Sequence) or isinstance(point, str) or len(point) != 3:
            raise ConfigError(f"points: point {number} must be [x1, x2, class], got {_cut(point)}")
        name = f"points: point {number}"
        x1, x2 = (check_number(value, name, at_least=-6, at_most=6) for value in point[:2])
        points.append((x1, x2, _within(point[2], name, 0, MAX_CLASSES - 1)))
    return tuple(points)


_LISTS: dict[str, Callable[[Sequence[Any]], Any]] = {
    "points": _points,
    "axes": tuple,
    "features": tuple,
    "layers": _parts(Hidden, "layers: layer"),
    "pins": tuple,
    "past": _parts(Past, "past: part"),
}
