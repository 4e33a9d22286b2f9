"""The options of `linnet.train`, checked once."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from linnet.checks import check_flag, check_name, check_number, check_seed, check_whole, is_integer, is_name, is_real
from linnet.config import checked_threads
from linnet.errors import ConfigError, Parameter
from linnet.tables.inputs import Data
from linnet.tables.rows import Roles


def models() -> tuple[str, ...]:
    """What `model` can be: for counts, each distribution that has a linear regression."""
    from linnet.estimators.linear.counts import count_regressors

    return "auto", "constant", "linear", "logistic", "softmax", "perceptron", *count_regressors(), "mlp", "sequential"


def _parameter(
    default: Any,
    option: str = "",
    *,
    network: str = "",
    sequential: str = "",
    not_sequential: str = "",
    result: bool = True,
    many: bool = False,
) -> Any:
    """Describe a parameter.

    Parameters
    ----------
    default
        Its default value.
    option : str
        What the command calls it, without dashes; "": as it is called here.
    network : str
        Of a network: what `TableNetwork` calls it.
    sequential : str
        The same of one that only `model="sequential"` has.
    not_sequential : str
        Of a network: why `model="sequential"` does not have it.
    result : bool
        Whether it can change the model, so that it is part of how to train it again.
    many : bool
        Whether the option is repeated, once per value.
    """
    known = {"option": option, "network": network, "sequential": sequential, "not_sequential": not_sequential}
    return field(default=default, metadata={**known, "result": result, "many": many})


@dataclass(frozen=True)
class Options:
    """The parameters of `linnet.train`, where they are described; None of a network's: its own default."""

    task: str | None = None
    model: str = "auto"
    hidden_layer_sizes: Sequence[int] | None = _parameter(None, "hidden", network="hidden")
    activation: str | Sequence[str] | None = _parameter(None, network="activation")
    dropout: float | Sequence[float] | None = _parameter(None, network="dropout")
    solver: str | None = _parameter(None, "optimizer", network="optimizer")
    learning_rate_init: float | None = _parameter(None, "learning-rate", network="rate")
    batch_size: int | None = _parameter(None, network="batch_size")
    max_iter: int | None = _parameter(None, "epochs", network="epochs")
    n_iter_no_change: int | None = _parameter(None, "patience", not_sequential="does not stop early")
    loss: str | None = _parameter(None, sequential="loss")
    initializer: str | None = _parameter(None, sequential="initialiser")
    l1: float | None = _parameter(None, sequential="l1")
    l2: float | None = _parameter(None, sequential="l2")
    exposure: str | None = None
    offset: str | None = None
    weights: str | None = None
    class_weight: str | Mapping[Any, float] | None = None
    drop: str | Sequence[str] = _parameter((), many=True)
    text: str | Sequence[str] = _parameter((), many=True)
    valid: Data = 0.2
    metric: str | None = None
    threshold: str | float | None = None
    seed: int = 0
    threads: int | None = _parameter(None, result=False)
    checkpoint: str | None = _parameter(None, result=False)
    resume: bool = _parameter(False, result=False)
    verbose: int = _parameter(0, result=False)

    def __post_init__(self) -> None:
        for name in ("drop", "text"):
            object.__setattr__(self, name, _names_of_columns(getattr(self, name), name))
        for name in ("task", "solver", "loss", "initializer", "exposure", "offset", "weights", "metric"):
            if not isinstance(given := getattr(self, name), str | None):
                raise ConfigError("unknown ", Parameter(name), f" {given!r}: it must be a name")
        for name in ("hidden_layer_sizes", "activation", "dropout"):
            if isinstance(given := getattr(self, name), np.ndarray):
                given = tuple(given.tolist()) if given.ndim else given.item()
                object.__setattr__(self, name, given)
            if name == "hidden_layer_sizes" and not (
                is_integer(given) or isinstance(given, list | tuple | range | None)
            ):
                raise ConfigError(Parameter(name), f" must be a list of integers, got {given!r}")
            if not (given is None or is_real(given) or isinstance(given, str | list | tuple | range)):
                raise ConfigError(Parameter(name), f" must be one for all layers or a list, got {given!r}")
        if is_integer(self.hidden_layer_sizes):
            object.__setattr__(self, "hidden_layer_sizes", (int(self.hidden_layer_sizes),))
        if any(not is_integer(units) or units < 1 for units in self.hidden_layer_sizes or ()):
            raise ConfigError(
                Parameter("hidden_layer_sizes"),
                f" must be positive integers, got {list(self.hidden_layer_sizes or ())}",
            )
        if self.learning_rate_init is not None and not is_name(self.learning_rate_init, "auto"):
            check_number(self.learning_rate_init, "learning_rate_init", above=0)
        for name, least in (("max_iter", 0), ("batch_size", 1), ("n_iter_no_change", 1)):
            if (given := getattr(self, name)) is not None:
                check_whole(given, name, at_least=least)
        for name in ("l1", "l2"):
            if (given := getattr(self, name)) is not None:
                check_number(given, name, at_least=0)
        check_flag(self.resume, "resume")
        if isinstance(self.class_weight, Mapping):  # classes are known as they are written
            object.__setattr__(self, "class_weight", {str(name): each for name, each in self.class_weight.items()})
        check_name(self.model, "model", models())
        check_seed(self.seed)
        if isinstance(self.valid, bool) or (is_real(self.valid) and not 0 < self.valid < 1):
            raise ConfigError(
                Parameter("valid"), f" must be rows, or a share of the rows between 0 and 1, got {self.valid!r}"
            )
        if is_real(self.valid):
            object.__setattr__(self, "valid", float(self.valid))
        if self.threads is not None:
            checked_threads(self.threads)
        if self.threshold is not None and not is_name(self.threshold, "tune"):
            try:
                check_number(float(self.threshold), "threshold", at_least=0, at_most=1)
            except (TypeError, ValueError, OverflowError):  # a ConfigError is one
                raise ConfigError(
                    Parameter("threshold"), f" must be 'tune' or a number from 0 to 1, got {self.threshold!r}"
                ) from None
        if self.resume and self.checkpoint is None:
            raise ConfigError(
                Parameter("resume", True), " continues from a checkpoint: give its file as ", Parameter("checkpoint")
            )
        self._check_network()

    def _check_network(self) -> None:
        """Refuse settings of a network that the model does not have."""
        if self.model == "sequential":
            for name, why in _names("not_sequential").items():
                if getattr(self, name) is not None:
                    raise ConfigError(Parameter("model", "sequential"), f" {why}: leave out ", Parameter(name))
            return
        for name in _names("sequential"):
            if getattr(self, name) is not None:
                raise ConfigError(
                    Parameter(name), " is for ", Parameter("model", "sequential"), f", and the model is {self.model}"
                )

    def roles(self, target: str) -> Roles:
        """The columns with a role of their own."""
        roles = Roles(
            target, **{each.name: getattr(self, each.name) for each in fields(Roles) if each.name != "target"}
        )
        if both := [name for name in self.drop if name in roles.names]:
            raise ConfigError(Parameter("drop", both[0]), ": the column has a role, so it is not learned from anyway")
        return roles

    @property
    def share(self) -> float | None:
        """The share of the rows to hold out; None: they are given."""
        return float(self.valid) if is_real(self.valid) else None

    @property
    def network(self) -> dict[str, Any]:
        """The settings of the network that were given."""
        names = (*_names("network"), *_names("not_sequential"))
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    @property
    def sequential(self) -> dict[str, Any]:
        """The settings of `model="sequential"`, by their names in `TableNetwork`."""
        both = {**_names("network"), **_names("sequential")}
        return {theirs: value for name, theirs in both.items() if (value := getattr(self, name)) is not None}

    @property
    def given(self) -> dict[str, Any]:
        """The parameters that differ from their default and change the result, as values that a file can hold."""
        found: dict[str, Any] = {}
        for name in (each.name for each in fields(self) if each.metadata.get("result", True)):
            value = getattr(self, name) if name != "valid" or self.share is not None else "DATA"
            if value != getattr(type(self), name):
                found[name] = list(value) if isinstance(value, tuple) else value
        return found


def _names_of_columns(given: object, parameter: str) -> tuple[str, ...]:
    if given is None or isinstance(given, str):
        return () if not given else (given,)
    names = tuple(given) if np.iterable(given) else (given,)
    if all(isinstance(name, str) for name in names):
        return tuple(map(str, names))
    raise ConfigError(Parameter(parameter), f" must be the name of a column or a list of names, got {given!r}")


def _names(kind: str) -> dict[str, str]:
    """Return the parameters of a kind, with their names in `TableNetwork` or the reason why it has none."""
    return {each.name: each.metadata[kind] for each in fields(Options) if each.metadata.get(kind)}


def option_names() -> dict[str, str]:
    """Return the command's name of each parameter, without dashes."""
    return {each.name: each.metadata.get("option") or each.name.replace("_", "-") for each in fields(Options)}


def command_of(parameters: Mapping[str, Any], files: Sequence[str] = ()) -> str:
    """The command that trains with these parameters, those of `Options.given` with the target; "DATA" for no files."""
    words, names = ["linnet", "train", *(files or ["DATA"])], option_names()
    repeated = {each.name for each in fields(Options) if each.metadata.get("many")}
    for name, value in parameters.items():
        values = value if name in repeated else [value]
        words += [word for each in values for word in (f"--{names.get(name, name.replace('_', '-'))}", _word(each))]
    return shlex.join(words)


def call_of(parameters: Mapping[str, Any], files: Sequence[str] = ()) -> str:
    """The call in Python that trains with these parameters; "data" for no files."""
    data = "data" if not files else repr(files[0]) if len(files) == 1 else repr(list(files))
    words = [data, repr(parameters["target"])]
    words += [f"{name}={value!r}" for name, value in parameters.items() if name != "target"]
    return f"linnet.train({', '.join(words)})"


def _word(value: Any) -> str:
    """A value as it is typed: several are joined by commas, weights of classes are class=weight."""
    if isinstance(value, Mapping):
        return ",".join(f"{name}={each!r}" for name, each in value.items())
    if isinstance(value, list | tuple):
        return ",".join(map(_word, value))
    return repr(value) if isinstance(value, float) else str(value)
