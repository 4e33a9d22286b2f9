"""How a multilayer perceptron is built and trained: an estimator's parameters, checked once.

A parameter may be "auto". `resolve` replaces it with the estimator's own default; values that are still "auto" then
depend on the data, and `Settings.filled` sets them once the data is known (docs/decisions/0021-auto.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from linnet.checks import check_flag, check_number, check_random, check_whole, is_integer
from linnet.config import checked_threads
from linnet.errors import ConfigError, Parameter, unknown_name, warn
from linnet.fit.loop.optimizers import OPTIMIZERS, SGD, Adam, AdamW, Optimizer
from linnet.fit.loop.schedules import Constant, Cosine, ExponentialDecay, InverseScaling, Schedule, StepDecay, Times
from linnet.heads import Head, Normal
from linnet.heads.activations import Activation, as_activation
from linnet.model.initialise import INITIALISERS
from linnet.model.network import Layer, Network

AUTO = "auto"
Activations = str | Activation | Sequence[str | Activation]
NETWORK_SOLVERS = tuple(dict.fromkeys(("adam", "sgd", "lbfgs", *OPTIMIZERS)))  # scikit-learn's first
SCHEDULES = ("constant", "invscaling", "adaptive", "cosine", "exponential", "step")
ALL_EPOCHS = 10**9  # more than any run has
_DEFAULT_BATCH_SIZE = 200  # rows, as in scikit-learn
CHOSEN = (  # parameters that may be "auto"
    *("hidden_layer_sizes", "activation", "solver", "alpha", "batch_size", "learning_rate", "learning_rate_init"),
    *("max_iter", "tol", "validation_fraction", "n_iter_no_change", "dropout", "weight_decay", "clip_norm"),
)
_FLAGS = ("shuffle", "early_stopping", "warm_start", "nesterovs_momentum")
_BOUNDS: Mapping[str, Mapping[str, float]] = {
    "alpha": {"at_least": 0},
    "l1": {"at_least": 0},
    "learning_rate_init": {"above": 0},
    "power_t": {"at_least": 0},
    "tol": {"at_least": 0},
    "momentum": {"at_least": 0, "at_most": 1},
    "validation_fraction": {"at_least": 0, "below": 1},
    "beta_1": {"at_least": 0, "below": 1},
    "beta_2": {"at_least": 0, "below": 1},
    "epsilon": {"above": 0},
    "weight_decay": {"at_least": 0},
}


@dataclass(frozen=True, kw_only=True)
class BySamples(InverseScaling):
    """scikit-learn's inverse scaling: the learning rate falls with the number of rows seen before the epoch.

    Attributes
    ----------
    rows : int, default=1
        Rows per epoch.
    """

    rows: int = 1

    def factor(self, time: Times) -> Times:  # noqa: D102
        return (1 + np.floor(time) * self.rows) ** -self.power


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The parameters that networks share, by their names in the estimators; the defaults are scikit-learn's.

    `open`: the names of the parameters that depend on the data; they have scikit-learn's value until `filled` is
    called.
    """

    hidden_layer_sizes: int | Sequence[int] = (100,)
    activation: Activations = "relu"
    solver: str | Optimizer = "adam"
    alpha: float = 0.0001
    batch_size: int | str = AUTO  # 200 rows, or all if there are fewer
    learning_rate: str | Schedule = "constant"
    learning_rate_init: float = 0.001
    power_t: float = 0.5
    max_iter: int = 200
    shuffle: bool = True
    random_state: Any = None
    tol: float = 1e-4
    verbose: int | bool = False
    warm_start: bool = False
    momentum: float = 0.9
    nesterovs_momentum: bool = True
    early_stopping: bool = False
    validation_fraction: float = 0.1
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-8
    n_iter_no_change: float = 10
    max_fun: int = 15000
    dropout: float | Sequence[float] = 0.0
    l1: float = 0.0
    weight_decay: float = 0.004
    clip_norm: float | None = None
    checkpoint: Any = None
    threads: int | None = None
    initializer: str | Sequence[str] = "glorot_uniform"
    open: frozenset[str] = frozenset()

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> Self:
        """Return the settings among an estimator's resolved parameters; invalid values raise a ConfigError."""
        names = {field.name for field in fields(cls)}
        values = {name: value for name, value in params.items() if name in names}
        auto = frozenset(name for name, value in values.items() if is_auto(value) and name in CHOSEN)
        return cls(**{name: value for name, value in values.items() if name not in auto}, open=auto)

    def filled(self, choices: Mapping[str, Any]) -> Self:
        """Return the settings with `choices`, made for the data, in place of those that are open."""
        return replace(self, **{name: value for name, value in choices.items() if name in self.open})

    def __post_init__(self) -> None:
        """Refuse invalid values, even of parameters that the solver ignores."""
        if not isinstance(self.solver, Optimizer) and not (
            isinstance(self.solver, str) and self.solver in NETWORK_SOLVERS
        ):
            raise unknown_name("solver", self.solver, NETWORK_SOLVERS)
        schedule = self.learning_rate
        if not isinstance(schedule, Schedule) and not (isinstance(schedule, str) and schedule in SCHEDULES):
            raise unknown_name("learning_rate", schedule, SCHEDULES)
        for name, bounds in _BOUNDS.items():
            check_number(getattr(self, name), name, **bounds)
        for name in _FLAGS:
            check_flag(getattr(self, name), name)
        if not isinstance(self.verbose, bool | np.bool_):
            check_whole(self.verbose, "verbose")
        for name in ("max_iter", "max_fun"):
            object.__setattr__(self, name, min(check_whole(getattr(self, name), name, at_least=1), ALL_EPOCHS))
        if not _is_endless(self.n_iter_no_change):
            check_whole(self.n_iter_no_change, "n_iter_no_change", at_least=1)
        if not is_auto(self.batch_size):
            check_whole(self.batch_size, "batch_size", at_least=1)
        if self.clip_norm is not None:
            check_number(self.clip_norm, "clip_norm", above=0)
        if self.threads is not None:
            checked_threads(self.threads)
        check_random(self.random_state)
        names: Any = self.initializer if isinstance(self.initializer, list | tuple) else [self.initializer]
        for name in names:
            if not isinstance(name, str) or name not in INITIALISERS:
                raise unknown_name("initializer", name, INITIALISERS)

    def initialisers(self, layers: int) -> list[str]:
        """Return the initialiser of each layer."""
        if isinstance(self.initializer, str):
            return [self.initializer] * layers
        if len(self.initializer) != layers:
            raise ConfigError(
                Parameter("initializer"), f" must have one name per layer, which are {layers}, got {self.initializer!r}"
            )
        return list(self.initializer)

    def check_components(self) -> None:
        """Raise the errors that the network and the optimizer would raise once there are rows."""
        self.network(1, 1, Normal(), 1.0)
        if not self.full_batch:
            self.optimizer(1)

    @property
    def full_batch(self) -> bool:
        """Whether every step sees all rows and there are no epochs."""
        return isinstance(self.solver, str) and self.solver == "lbfgs"

    @property
    def patience(self) -> int:
        """The number of epochs without an improvement after which training ends."""
        return ALL_EPOCHS if _is_endless(self.n_iter_no_change) else int(self.n_iter_no_change)

    @property
    def is_adaptive(self) -> bool:
        """Whether the learning rate falls when nothing improves: as in scikit-learn, only with "sgd"."""
        return bool(self.solver == "sgd" and self.learning_rate == "adaptive")

    def rows_per_step(self, rows: int, *, quietly: bool = False) -> int:
        """Return the batch size for a training set of `rows` rows; `quietly`: without a warning that it is clipped."""
        if is_auto(self.batch_size):
            return min(_DEFAULT_BATCH_SIZE, rows)
        if (size := int(self.batch_size)) > rows and not quietly:
            warn(f"batch_size={size} is larger than the number of rows and is clipped to {rows}", UserWarning)
        return min(size, rows)

    def network(self, inputs: int, outputs: int, head: Head, rows: float) -> Network:
        """Return the network. Its penalties, like its loss, are divided by `rows`, the sum of the row weights."""
        widths = hidden_widths(self.hidden_layer_sizes)
        activations = [as_activation(name) for name in _each(self.activation, len(widths), "activation")]
        rates = [0.0, *_each(self.dropout, len(widths), "dropout")]  # of a layer's units: the next layer's inputs
        rates = [check_number(rate, "dropout", at_least=0, below=1) for rate in rates]
        l1, l2 = float(self.l1) / rows, float(self.alpha) / rows
        hidden = [
            Layer(units, activation, rate, l1, l2)
            for units, activation, rate in zip(widths, activations, rates[:-1], strict=True)
        ]
        return Network(inputs, (*hidden, Layer(outputs, dropout=rates[-1], l1=l1, l2=l2)), head)

    def optimizer(self, rows: int) -> Optimizer:
        """Return the optimizer with its schedule, for epochs of `rows` rows."""
        solver, clip = self.solver, self.clip_norm
        if isinstance(solver, Optimizer):
            if clip is not None:
                raise ConfigError(
                    "clip_norm applies to a solver given by name: set the clip_norm of the optimizer object instead"
                )
            return solver
        schedule = self._schedule(rows)
        betas = self.beta_1, self.beta_2, self.epsilon
        if solver == "adam":
            return Adam(schedule, *betas, clip_norm=clip)
        if solver == "adamw":
            return AdamW(schedule, self.weight_decay, *betas, clip_norm=clip)
        if solver == "sgd":
            momentum = float(self.momentum)
            return SGD(schedule, momentum, bool(self.nesterovs_momentum) and momentum > 0, clip_norm=clip)
        return OPTIMIZERS[solver](schedule, clip_norm=clip)

    def _schedule(self, rows: int) -> Schedule:
        name, rate = self.learning_rate, self.learning_rate_init
        if isinstance(name, Schedule):
            return name
        if name == "cosine":
            return Cosine(rate, epochs=self.max_iter)
        if name == "exponential":
            return ExponentialDecay(rate)
        if name == "step":
            return StepDecay(rate)
        if name == "invscaling" and self.solver == "sgd":  # other solvers ignore it, as in scikit-learn
            return BySamples(rate, power=float(self.power_t), rows=rows)
        return Constant(rate)


SCIKIT_LEARN: Mapping[str, Any] = {field.name: field.default for field in fields(Settings) if field.name != "open"}


def is_auto(value: object) -> bool:
    """Return whether a parameter is "auto"."""
    return isinstance(value, str) and value == AUTO


def resolve(params: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters with `defaults` in place of "auto"."""
    return {name: defaults[name] if name in CHOSEN and is_auto(value) else value for name, value in params.items()}


def check_settings(params: Mapping[str, Any]) -> None:
    """Raise the errors that the parameters would raise in a fit."""
    Settings.of(resolve(params, SCIKIT_LEARN)).check_components()


def hidden_widths(sizes: Any) -> list[int]:
    """Return the number of units of each hidden layer, from one number or a sequence, which may be empty."""
    widths: list[Any] = list(sizes) if _has_several(sizes) else [sizes]
    for width in widths:
        if not is_integer(width) or int(width) < 1:
            raise ConfigError(Parameter("hidden_layer_sizes"), f" must be positive integers, got {sizes!r}")
    return [int(width) for width in widths]


def _has_several(value: Any) -> bool:
    """Return whether a value is a sequence or an array with dimensions."""
    return isinstance(value, list | tuple | range) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _is_endless(epochs: object) -> bool:
    return isinstance(epochs, float) and epochs == np.inf


def _each(value: Any, count: int, name: str) -> list[Any]:
    """Return one value per hidden layer, from a single value or a sequence of one per layer."""
    if _has_several(value):
        if len(value) != count:
            raise ConfigError(
                Parameter(name), f" must be one value or one per hidden layer, {count} in all, got {value!r}"
            )
        return list(value)
    return [value] * count
