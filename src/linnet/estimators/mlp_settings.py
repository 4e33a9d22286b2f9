"""scikit-learn's parameters of a multilayer perceptron, and ours beside them, as the engine's own things."""

import hashlib
import inspect
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

import numpy as np

from linnet.checks import check_number, check_whole
from linnet.errors import ConfigError, unknown_name
from linnet.fit.checkpoint import Checkpoint
from linnet.fit.optimizers import SGD, Adagrad, Adam, AdamW, Optimizer, RMSprop
from linnet.fit.schedules import Constant, Cosine, ExponentialDecay, InverseScaling, Schedule, StepDecay, Times
from linnet.model.activations import Activation, as_activation
from linnet.model.heads import Head
from linnet.model.network import Layer, Network

SOLVERS = ("adam", "sgd", "lbfgs", "adamw", "rmsprop", "adagrad")
SCHEDULES = ("constant", "invscaling", "adaptive", "cosine", "exponential", "step")
Params = Mapping[str, Any]


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
        return solver
    schedule = _schedule(params, rows)
    betas = params["beta_1"], params["beta_2"], params["epsilon"]
    if solver == "adam":
        return Adam(schedule, *betas, clip_norm=clip)
    if solver == "adamw":
        return AdamW(schedule, params["weight_decay"], *betas, clip_norm=clip)
    if solver == "sgd":
        momentum = check_number(params["momentum"], "momentum", at_least=0, below=1)
        return SGD(schedule, momentum, bool(params["nesterovs_momentum"]) and momentum > 0, clip_norm=clip)
    if solver == "rmsprop":
        return RMSprop(schedule, clip_norm=clip)
    if solver == "adagrad":
        return Adagrad(schedule, clip_norm=clip)
    raise unknown_name("solver", solver, SOLVERS)


def is_adaptive(params: Params) -> bool:
    """Whether the rate falls when nothing improves: as in scikit-learn with plain SGD only."""
    return bool(params["solver"] == "sgd" and params["learning_rate"] == "adaptive")


def batch_size(params: Params, rows: int) -> int:
    """Rows of a step."""
    size = params["batch_size"]
    if size == "auto":
        return min(200, rows)
    if check_whole(size, "batch_size", at_least=1) > rows:
        warnings.warn(f"batch_size={size} is more than there are rows: it is clipped to {rows}", stacklevel=6)
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


_OBJECTS: dict[str, type] = {
    each.__name__: each
    for each in (
        *(SGD, Adagrad, RMSprop, Adam, AdamW),
        *(Constant, StepDecay, InverseScaling, ExponentialDecay, Cosine),
        *(Activation, Checkpoint),
    )
}


def written(value: Any) -> Any:
    """A parameter as JSON can say it; of what it cannot, such as a function, the name."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple | np.ndarray):
        return [written(item) for item in value]
    if isinstance(value, Mapping):
        return {"dict": [[written(key), written(item)] for key, item in value.items()]}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if type(value).__name__ in _OBJECTS:
        names = [name for name in inspect.signature(type(value)).parameters if name != "lr"]
        parts = {name: getattr(value, "schedule" if name == "learning_rate" else name, None) for name in names}
        if isinstance(value, Schedule):
            parts["learning_rate"] = value.learning_rate
        return {"object": type(value).__name__, "with": {name: written(part) for name, part in parts.items()}}
    name = getattr(value, "__qualname__", type(value).__name__)
    return {"unknown": name, "digest": hashlib.sha256(repr(_content(value)).encode()).hexdigest()}


def _content(value: Any) -> Any:
    """What a function does, as far as it can be compared: its code, constants, defaults and what it encloses."""
    function = getattr(value, "__func__", value)
    code = getattr(function, "__code__", None)
    if code is None:
        inside = getattr(value, "__dict__", {}) if not isinstance(value, type) else {}
        return type(value).__name__, sorted((name, written(part)) for name, part in inside.items())
    enclosed = [cell.cell_contents for cell in function.__closure__ or ()]
    return *_code(code), [written(part) for part in (*(function.__defaults__ or ()), *enclosed)]


def _code(code: CodeType) -> tuple[Any, ...]:
    constants = [_code(part) if isinstance(part, CodeType) else repr(part) for part in code.co_consts]
    return code.co_code, code.co_names, constants


def read_back(value: Any, name: str) -> Any:
    """The parameter again."""
    if isinstance(value, list):
        return [read_back(item, name) for item in value]
    if not isinstance(value, dict):
        return value
    if "dict" in value:
        return {read_back(key, name): read_back(item, name) for key, item in value["dict"]}
    if "object" in value and value["object"] in _OBJECTS:
        parts = {part: read_back(item, name) for part, item in value["with"].items()}
        return _OBJECTS[value["object"]](**parts)
    raise ConfigError(
        f"{name} was {value.get('unknown')}, which no file can hold: give the model with its parameters, as in "
        "resume(path, X, y, model=MLPRegressor(...))"
    )
