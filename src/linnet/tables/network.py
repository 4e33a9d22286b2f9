"""One network of a table's columns, exactly as specified: `linnet.train(..., model="sequential")`.

Columns must be numbers, which are taken as they are; there is no ensemble, no early stopping and no calibration. The
layers are trained by `Sequential`, for as many epochs as are asked for, so that a program with the same layers, rows
and seed, or a run of the playground, gives the same bytes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from linnet.checks import check_name, is_name
from linnet.errors import ConfigError, Parameter, unknown_name
from linnet.estimators.sequential.layers import Dense, Dropout, l1_l2
from linnet.estimators.sequential.sequential import Sequential
from linnet.fit.loop.optimizers import OPTIMIZERS, SGD, Optimizer
from linnet.heads import HEADS, Head, count_heads, heads_by_loss
from linnet.registry import UNSAVED, need, saved
from linnet.tables.rows import numbers_of
from linnet.tables.task import Task
from linnet.untrusted import fits

if TYPE_CHECKING:
    import pyarrow as pa

    from linnet.export.onnx.columns import Inputs
    from linnet.export.onnx.file import Outputs

Array = NDArray[Any]

OPTIMIZERS_BY_RATE: Mapping[str, Callable[[float], Optimizer]] = {
    "sgd": SGD,
    "momentum": lambda rate: SGD(rate, momentum=0.9),
    "nesterov": lambda rate: SGD(rate, momentum=0.9, nesterov=True),
    **OPTIMIZERS,
}
_HEADS = heads_by_loss(keras=True)


def losses_of(task: Task) -> tuple[str, ...]:
    """Return the losses that suit a task, its default first."""
    offered = [kind for kind in HEADS.values() if kind.table_loss]
    if task.has_classes:
        several = task is Task.MANY_CLASSES
        return tuple(kind.table_loss for kind in offered if kind.classifies and not (several and kind.is_binary))
    of_counts = [kind.keras_losses[0] for kind in count_heads()] if task is Task.COUNTS else []
    return (*of_counts, *(kind.table_loss for kind in offered if not kind.classifies))


def stack_of(
    hidden: Sequence[tuple[int, str, float]], loss: str, outcomes: int, *, initialiser: str, l1: float, l2: float
) -> list[Dense | Dropout]:
    """Hidden layers of (units, activation, dropout) and the last one for so many classes, 1 for numbers."""
    penalty = l1_l2(l1, l2) if l1 or l2 else None
    how: dict[str, Any] = {"kernel_initializer": initialiser, "kernel_regularizer": penalty}
    layers: list[Dense | Dropout] = []
    for units, activation, dropout in hidden:
        layers.append(Dense(units, activation, **how))
        if dropout:
            layers.append(Dropout(dropout))
    by_class = _HEADS[loss].coupled or outcomes > 2
    layers.append(Dense(outcomes if by_class else 1, _HEADS[loss].default_activation, **how))
    return layers


@saved
@dataclass
class TableNetwork:
    """A network over columns of numbers; `activation` and `dropout` are one for all layers or one for each."""

    task: Task
    hidden: Sequence[int] = ()
    activation: str | Sequence[str] = "relu"
    dropout: float | Sequence[float] = 0.0
    loss: str | None = None  # None: the task's own
    initialiser: str = "glorot_uniform"
    l1: float = 0.0
    l2: float = 0.0
    optimizer: str = "adam"
    rate: float = 0.01
    batch_size: int = 32
    epochs: int = 100
    seed: int = 0
    threads: int | None = field(default=None, metadata=UNSAVED)
    verbose: int = field(default=0, metadata=UNSAVED)
    classes_: Array | None = None  # from here on: what a fit finds
    model_: Sequential | None = None
    history_: dict[str, list[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.task = Task(self.task)  # files have the word
        self.loss = losses_of(self.task)[0] if self.loss is None else self.loss
        if not is_name(self.loss, *losses_of(self.task)):
            if not is_name(self.loss, *_HEADS):
                raise unknown_name("loss", self.loss, losses_of(self.task))
            known = ", ".join(losses_of(self.task))
            raise ConfigError(Parameter("loss", self.loss), f" is not for {self.task}: choose from: {known}")
        check_name(self.optimizer, "solver", OPTIMIZERS_BY_RATE)

    def _check_file(self) -> None:
        need(self.classes_ is None or self.classes_.ndim == 1, self, "classes_")
        need(fits(self.hidden, list[int] | tuple[int, ...]), self, "hidden")

    def fit(self, X: "pa.Table", y: Array, sample_weight: Array | None = None) -> Self:
        """Train from initial weights for all epochs."""
        outcomes = 1
        if self.task.has_classes:
            self.classes_ = np.unique(y)
            outcomes = len(self.classes_)
        sizes = list(self.hidden)
        hidden = list(zip(sizes, self._each("activation", len(sizes)), self._each("dropout", len(sizes)), strict=True))
        assert self.loss is not None
        how: dict[str, Any] = {"initialiser": self.initialiser, "l1": self.l1, "l2": self.l2}
        model = Sequential(stack_of(hidden, self.loss, outcomes, **how), seed=self.seed)
        model.compile(OPTIMIZERS_BY_RATE[self.optimizer](self.rate), loss=self.loss)
        x = _numbers(X)
        if not self.epochs:  # the first weights
            model.build(x.shape[1])
            self.model_ = model
            return self
        trained = model.fit(
            x,
            self._codes(y),
            batch_size=self.batch_size,
            epochs=self.epochs,
            verbose=1 if self.verbose else 0,
            sample_weight=sample_weight,
            threads=self.threads,
        )
        self.model_, self.history_ = model, trained.history
        return self

    def mean_loss(self, X: Any, y: Any) -> float:
        """Return the loss on rows with the penalty, as `Sequential.evaluate` computes it."""
        found = self._fitted().evaluate(_numbers(X), self._codes(y), return_dict=True)
        return found["loss"]

    def predict(self, X: "pa.Table") -> Array:
        """Return the predicted class, mean count or number of each row."""
        mean = self._fitted().predict(_numbers(X)).astype(np.float64)
        if self.classes_ is None:
            return mean[:, 0]
        if mean.shape[1] > 1:
            return np.asarray(self.classes_[mean.argmax(axis=1)])
        return np.asarray(self.classes_[(mean[:, 0] > self._kind().threshold).astype(np.intp)])

    def target_distribution(self) -> tuple[Head, Array] | None:
        """The head of counts and its dispersion; that of numbers is known to the table's model."""
        head = self._fitted().network.head
        return (head, np.array([head.parameter])) if head.counts else None

    @property
    def has_proba(self) -> bool:
        """Whether the loss gives probabilities."""
        return self._kind().has_probabilities

    def _kind(self) -> type[Head]:
        assert self.loss is not None
        return _HEADS[self.loss]

    @property
    def predict_proba(self) -> "Callable[[pa.Table], Array]":
        """The probability of each class, rows x classes; numbers and the perceptron have none."""
        if self.classes_ is None or not self.has_proba:
            raise AttributeError(f"the loss {self.loss} has no probabilities of classes")
        return self._proba

    def _proba(self, X: "pa.Table") -> Array:
        mean = self._fitted().predict(_numbers(X)).astype(np.float64)
        return mean if mean.shape[1] > 1 else np.hstack([1 - mean, mean])

    def _codes(self, y: Array) -> Array:
        if self.classes_ is None:
            return y
        return np.searchsorted(self.classes_, y)

    def _fitted(self) -> Sequential:
        assert self.model_ is not None, "fit it first"
        return self.model_

    def _each(self, name: str, count: int) -> list[Any]:
        given = getattr(self, name)
        values = list(given) if isinstance(given, list | tuple | range) else [given] * count
        if len(values) != count:
            raise ConfigError(
                Parameter(name), f" must be one for all or one for each of the {count} layers, got {values!r}"
            )
        return values

    def _to_graph(self, inputs: "Inputs") -> "Outputs":
        from linnet.export.onnx.columns import Features
        from linnet.export.onnx.network import by_z, mean, network_output, one_column

        model, graph = self._fitted(), inputs.graph
        network = model.network
        x = Features(inputs.table(network.inputs, "float32"), None, 0)
        z = network_output(graph, x, network, model.theta)
        if self.classes_ is None:
            return {"variable": mean(graph, network.head, z)}
        if len(self.classes_) == 2 and network.outputs == 2:  # what tells them apart is the difference alone
            z = graph.add("Sub", one_column(graph, z, 1), one_column(graph, z, 0))
        answers = by_z(graph, z, self.classes_)
        return answers if self.has_proba else {name: answers[name] for name in ("label", "scores")}


def _numbers(table: "pa.Table") -> Array:
    return np.column_stack([numbers_of(table, name) for name in table.column_names])
