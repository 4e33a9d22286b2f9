"""scikit-learn's parameters of a multilayer perceptron, and ours beside them, as the engine's own things."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linnet.checks import check_flag, check_number, check_random, check_whole
from linnet.config import checked_threads
from linnet.errors import ConfigError, unknown_name, warn
from linnet.fit.optimizers import OPTIMIZERS, SGD, Adam, AdamW, Optimizer
from linnet.fit.schedules import Constant, Cosine, ExponentialDecay, InverseScaling, Schedule, StepDecay, Times
from linnet.model.activations import as_activation
from linnet.model.heads import Head, Normal
from linnet.model.network import Layer, Network

SOLVERS = tuple(dict.fromkeys(("adam", "sgd", "lbfgs", *OPTIMIZERS)))  # scikit-learn's first
SCHEDULES = ("constant", "invscaling", "adaptive", "cosine", "exponential", "step")
Params = Mapping[str, Any]
FOR_EVER = 10**9  # epochs
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
    "label_smoothing": {"at_least": 0, "below": 1},  # of classes
    "huber_delta": {"above": 0},  # of numbers
    "quantile": {"above": 0, "below": 1},
}


@dataclass(frozen=True, kw_only=True)
class BySamples(InverseScaling):
    """scikit-learn's inverse scaling: the rate of an epoch falls with the number of rows seen before it."""

    rows: int = 1

    def factor(self, time: Times) -> Times:  # noqa: D102
        return (1 + np.floor(time) * self.rows) ** -self.power


def make_network(params: Params, inputs: int, outputs: int, head: Head, rows: float) -> Network:
    """The layers; penalties are divided by the number of rows, or the sum of their weights, as the loss is."""
    widths = hidden_widths(params["hidden_layer_sizes"])
    activations = [as_activation(name) for name in _each(params["activation"], len(widths), "activation")]
    rates = [0.0, *_each(params["dropout"], len(widths), "dropout")]  # of a layer's units: the next layer's inputs
    l1 = check_number(params["l1"], "l1", at_least=0) / rows
    l2 = check_number(params["alpha"], "alpha", at_least=0) / rows
    hidden = [
        Layer(units, activation, check_number(rate, "dropout", at_least=0, below=1), l1, l2)
        for units, activation, rate in zip(widths, activations, rates[:-1], strict=True)
    ]
    top = Layer(outputs, dropout=check_number(rates[-1], "dropout", at_least=0, below=1), l1=l1, l2=l2)
    return Network(inputs, (*hidden, top), head)


def hidden_widths(sizes: object) -> list[int]:
    """Units of the hidden layers, one or several or none."""
    given: list[Any] = list(sizes) if isinstance(sizes, Sequence | np.ndarray) else [sizes]
    for size in given:
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1:
            raise ConfigError(f"hidden_layer_sizes must be > 0 and whole, got {sizes!r}")
    return [int(size) for size in given]


def make_optimizer(params: Params, rows: int) -> Optimizer:
    """The solver with its schedule."""
    solver, clip = params["solver"], params["clip_norm"]
    if isinstance(solver, Optimizer):
        if clip is not None:
            raise ConfigError("clip_norm goes with the name of a solver; an optimizer object takes it itself")
        return solver
    schedule = _schedule(params, rows)
    betas = params["beta_1"], params["beta_2"], params["epsilon"]
    if solver == "adam":
        return Adam(schedule, *betas, clip_norm=clip)
    if solver == "adamw":
        return AdamW(schedule, params["weight_decay"], *betas, clip_norm=clip)
    if solver == "sgd":
        momentum = check_number(params["momentum"], "momentum", at_least=0, at_most=1)
        return SGD(schedule, momentum, bool(params["nesterovs_momentum"]) and momentum > 0, clip_norm=clip)
    if isinstance(solver, str) and solver in OPTIMIZERS:
        return OPTIMIZERS[solver](schedule, clip_norm=clip)
    raise unknown_name("solver", solver, SOLVERS)


def check_values(params: Params) -> None:
    """Refuse values without a meaning, also of what the solver and the loss chosen take no notice of."""
    solver, schedule = params["solver"], params["learning_rate"]
    if not isinstance(solver, Optimizer) and not (isinstance(solver, str) and solver in SOLVERS):
        raise unknown_name("solver", solver, SOLVERS)
    if not isinstance(schedule, Schedule) and not (isinstance(schedule, str) and schedule in SCHEDULES):
        raise unknown_name("learning_rate", schedule, SCHEDULES)
    for name, bounds in _BOUNDS.items():
        if name in params:
            check_number(params[name], name, **bounds)
    for name in _FLAGS:
        check_flag(params[name], name)
    if not isinstance(params["verbose"], bool | np.bool_):
        check_whole(params["verbose"], "verbose")
    for name in ("max_iter", "max_fun"):
        check_whole(params[name], name, at_least=1)
    check_patience(params)
    if not (isinstance(params["batch_size"], str) and params["batch_size"] == "auto"):
        check_whole(params["batch_size"], "batch_size", at_least=1)
    if params["clip_norm"] is not None:
        check_number(params["clip_norm"], "clip_norm", above=0)
    if params["threads"] is not None:
        checked_threads(params["threads"])
    check_random(params["random_state"])


def check_settings(params: Params) -> None:
    """Raise now what would be raised when there are rows."""
    check_values(params)
    make_network(params, 1, 1, Normal(), 1.0)
    make_optimizer(params, 1)


def check_patience(params: Params) -> int:
    """Epochs without a gain that are waited for; infinity means all."""
    patience = params["n_iter_no_change"]
    if isinstance(patience, float | np.floating) and patience == np.inf:
        return FOR_EVER
    return check_whole(patience, "n_iter_no_change", at_least=1)


def is_adaptive(params: Params) -> bool:
    """Whether the rate falls when nothing improves: as in scikit-learn with plain SGD only."""
    return bool(params["solver"] == "sgd" and params["learning_rate"] == "adaptive")


def batch_size(params: Params, rows: int, *, quietly: bool = False) -> int:
    """Rows of a step."""
    size = params["batch_size"]
    if isinstance(size, str) and size == "auto":
        return min(200, rows)
    if check_whole(size, "batch_size", at_least=1) > rows and not quietly:
        warn(f"batch_size={size} is more than there are rows: it is clipped to {rows}", UserWarning)
    return min(int(size), rows)


def _schedule(params: Params, rows: int) -> Schedule:
    name, rate = params["learning_rate"], params["learning_rate_init"]
    if isinstance(name, Schedule):
        return name
    if name not in SCHEDULES:
        raise unknown_name("learning_rate", name, SCHEDULES)
    check_number(rate, "learning_rate_init", above=0)
    if name == "cosine":
        return Cosine(rate, epochs=check_whole(params["max_iter"], "max_iter", at_least=1))
    if name == "exponential":
        return ExponentialDecay(rate)
    if name == "step":
        return StepDecay(rate)
    if name == "invscaling" and params["solver"] == "sgd":  # the others take no notice, as in scikit-learn
        return BySamples(rate, power=check_number(params["power_t"], "power_t", at_least=0), rows=rows)
    return Constant(rate)


def _each(value: Any, count: int, name: str) -> list[Any]:
    """One value for each hidden layer, given one for all or a list."""
    if isinstance(value, list | tuple | np.ndarray):
        if len(value) != count:
            raise ConfigError(f"{name} must be one for all or one a hidden layer, {count} in all, got {value!r}")
        return list(value)
    return [value] * count
