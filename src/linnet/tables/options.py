"""How to train on a table: all that `linnet.train` can be asked for, checked once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from linnet.checks import check_number, check_seed
from linnet.config import checked_threads
from linnet.errors import ConfigError, unknown_name
from linnet.heads import count_heads
from linnet.tables.inputs import Data
from linnet.tables.rows import Roles

MODELS = (
    *("auto", "constant", "linear", "logistic", "softmax", "perceptron"),
    *(kind.family for kind in count_heads()),
    *("mlp", "sequential"),
)
OF_NETWORK = (
    *("hidden_layer_sizes", "activation", "dropout", "solver", "learning_rate_init"),
    *("batch_size", "max_iter", "n_iter_no_change"),
)
OF_SEQUENTIAL = ("loss", "initializer", "l1", "l2")  # and of no other model


@dataclass(frozen=True)
class Options:
    """The parameters of `linnet.train`, where they are described; None of a network's: its own default."""

    task: str | None = None
    model: str = "auto"
    hidden_layer_sizes: Sequence[int] | None = None
    activation: str | Sequence[str] | None = None
    dropout: float | Sequence[float] | None = None
    solver: str | None = None
    learning_rate_init: float | None = None
    batch_size: int | None = None
    max_iter: int | None = None
    n_iter_no_change: int | None = None
    loss: str | None = None
    initializer: str | None = None
    l1: float | None = None
    l2: float | None = None
    exposure: str | None = None
    offset: str | None = None
    weights: str | None = None
    class_weight: str | Mapping[Any, float] | None = None
    drop: str | Sequence[str] = ()
    text: str | Sequence[str] = ()
    valid: Data = 0.2
    metric: str | None = None
    threshold: str | float | None = None
    seed: int = 0
    threads: int | None = None
    checkpoint: str | None = None
    resume: bool = False
    verbose: int = 0

    def __post_init__(self) -> None:
        for name in ("drop", "text"):
            given = getattr(self, name)
            object.__setattr__(self, name, (given,) if isinstance(given, str) else tuple(given or ()))
        if isinstance(self.class_weight, Mapping):  # classes are known as they are written
            object.__setattr__(self, "class_weight", {str(name): each for name, each in self.class_weight.items()})
        if self.model not in MODELS:
            raise unknown_name("model", self.model, MODELS)
        check_seed(self.seed)
        if isinstance(self.valid, int | float) and not 0 < self.valid < 1:
            raise ConfigError(f"valid must be rows, or a share of the rows between 0 and 1, got {self.valid!r}")
        if self.threads is not None:
            checked_threads(self.threads)
        if self.threshold not in (None, "tune"):
            try:
                check_number(float(self.threshold), "threshold", at_least=0, at_most=1)
            except (TypeError, ValueError):  # a ConfigError is one
                raise ConfigError(f"threshold must be 'tune' or a number from 0 to 1, got {self.threshold!r}") from None
        if self.resume and self.checkpoint is None:
            raise ConfigError("resume=True goes on from a checkpoint: give its file as checkpoint")
        self._check_network()

    def _check_network(self) -> None:
        """Refuse settings of a network that the model does not have."""
        if self.model == "sequential":
            if self.n_iter_no_change is not None:
                raise ConfigError("model='sequential' trains for all its epochs: leave out n_iter_no_change")
            return
        for name in OF_SEQUENTIAL:
            if getattr(self, name) is not None:
                raise ConfigError(f"{name}= is for model='sequential', and the model is {self.model}")

    def roles(self, target: str) -> Roles:
        """The columns with a role of their own."""
        roles = Roles(target, self.exposure, self.offset, self.weights)
        if both := [name for name in self.drop if name in roles.names]:
            raise ConfigError(f"drop={both[0]!r}: the column has a role, so it is not learned from anyway")
        return roles

    @property
    def share(self) -> float | None:
        """The share of the rows to hold out; None: they are given."""
        return float(self.valid) if isinstance(self.valid, int | float) else None

    @property
    def network(self) -> dict[str, Any]:
        """The settings of a network that are given."""
        return {name: value for name in OF_NETWORK if (value := getattr(self, name)) is not None}

    @property
    def sequential(self) -> dict[str, Any]:
        """The settings of one network just as it is asked for, by the names that `TableNetwork` has for them."""
        theirs = {
            "hidden_layer_sizes": "hidden",
            "solver": "optimizer",
            "learning_rate_init": "rate",
            "max_iter": "epochs",
            "initializer": "initialiser",
        }
        own = {name: value for name in OF_SEQUENTIAL if (value := getattr(self, name)) is not None}
        return {theirs.get(name, name): value for name, value in {**self.network, **own}.items()}

    @property
    def given(self) -> dict[str, Any]:
        """The parameters that differ from their default and change the result, as values that a file can hold."""
        unchanged = ("threads", "checkpoint", "resume", "verbose")
        found: dict[str, Any] = {}
        for name in (each.name for each in fields(self) if each.name not in unchanged):
            value = getattr(self, name) if name != "valid" or self.share is not None else "DATA"
            if value != getattr(type(self), name):
                found[name] = list(value) if isinstance(value, tuple) else value
        return found
