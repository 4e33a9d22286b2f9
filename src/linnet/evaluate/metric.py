"""What a metric is: its value on rows, its direction, what it needs, and how far it can be trusted.

`linnet.evaluate.metrics` has them all, by name. Training, tables, intervals, comparisons, thresholds and reports look
them up there.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum, Flag, auto
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linnet.data.rows import Rows
from linnet.data.table import Array
from linnet.errors import ConfigError, DataError, warn
from linnet.heads import Head

if TYPE_CHECKING:
    from linnet.evaluate.intervals import Interval
    from linnet.evaluate.measures import Measure
    from linnet.evaluate.thresholds import ThresholdObjective

_DRAWS, _FEW_DRAWS = 1000, 200  # of the bootstrap
_MANY_ROWS = 20_000  # from which on the bootstrap draws less often


class Needs(Enum):
    """What is compared with the targets."""

    LABELS = auto()  # predicted classes
    PROBABILITIES = auto()  # of each class, or scores
    NUMBERS = auto()  # predicted means


class Reported(Flag):
    """The kinds of targets whose models are reported with a metric."""

    NEVER = 0
    TWO_CLASSES = auto()
    MANY_CLASSES = auto()
    COUNTS = auto()
    NUMBER = auto()


@dataclass(frozen=True)
class Compared:
    """Targets and predictions of the same rows."""

    y: Array  # labels, rows x labels of 0 and 1, or numbers: one per row, or rows x outputs
    predicted: Array  # likewise
    proba: Array | None = None  # rows x classes, or of the positive class, if there are any
    classes: Array | None = None  # the second of two is the positive one
    weights: Array | None = None  # 1 each if there are none
    surprise: Array | None = None  # of counts: -log of the predicted probability of the actual one

    @classmethod
    def of_means(
        cls, mean: Array, rows: Rows, head: Head, needs: Needs = Needs.NUMBERS, labels: bool = False
    ) -> "Compared":
        """The targets of rows and the means (rows x outputs) that a network with this head predicts for them.

        One output is that of the second of two classes; several are classes, or `labels` of their own.
        """
        outputs = mean.shape[1]
        if needs is Needs.NUMBERS:
            return cls(_values(mean, rows), mean, weights=rows.weights)
        if outputs > 1 and not labels:
            y, predicted = true_labels(rows), mean.argmax(axis=1)
        else:
            y, predicted = ((_values(mean, rows) > 0.5).astype(np.intp), (mean > head.cut).astype(np.intp))
        if outputs == 1:
            y, predicted, mean = y[:, 0], predicted[:, 0], mean[:, 0]
        proba = mean.astype(np.float64) if needs is Needs.PROBABILITIES else None
        return cls(y, predicted, proba, None if y.ndim == 2 else np.arange(max(outputs, 2)), rows.weights)

    @property
    def two(self) -> bool:
        """Whether there are two classes, of which one is positive."""
        return self.classes is not None and len(self.classes) == 2

    def positive(self, labels: Array) -> Array:
        """Which labels are the positive class of two."""
        assert self.classes is not None
        return np.asarray(labels == self.classes[1])

    @property
    def positive_proba(self) -> Array:
        """The probability of the positive class of two."""
        assert self.proba is not None
        return self.proba if self.proba.ndim == 1 else self.proba[:, 1]

    def mean(self, of_rows: Array) -> float:
        """The mean over rows, and over the outputs of each, by the weights of rows; NaN where none has any."""
        if of_rows.ndim > 1:
            of_rows = of_rows.mean(axis=1)
        if self.weights is None:
            return float(of_rows.mean(dtype=np.float64))
        weights = self.weights.astype(np.float64)
        return float((weights * of_rows).sum() / weights.sum()) if weights.any() else float("nan")


@dataclass(frozen=True)
class Given:
    """What `linnet.evaluate.interval` is given, besides the metric."""

    y_true: Any
    predictions: Any
    weights: NDArray[np.float64] | None
    pos_label: Any = None
    beta: float = 1.0
    labels: Any = None
    negative_class: Any = None
    average: str = "macro"
    multi_class: str = "ovr"
    costs: Any = None
    n_bins: int = 10


Prepare = Callable[[Given], "Measure"]


@dataclass(frozen=True)
class Metric:
    """A metric of predictions: its value, its direction, what it needs, how it is resampled, and its words."""

    name: str
    compute: Callable[[Compared], Any] | None = None  # its value; None: that of `prepare`
    greater_is_better: bool = True
    needs: Needs = Needs.LABELS
    # the metric of given rows, to be resampled and with limits in closed form; None: it is resampled as a function
    prepare: "Prepare | None" = None
    prepare_mean: "Prepare | None" = None  # likewise of a metric of one class: its mean over several
    of_distribution: bool = False  # it is the mean surprise, of any predicted distribution
    of_positive: bool = False  # of two classes it is that of the positive one alone
    averaged: bool = False  # of several classes or labels it is the mean over them ("macro")
    reported: Reported = Reported.NEVER  # the first metric that a kind of targets is reported with chooses models
    headline: Reported = Reported.NEVER  # the kinds of targets whose reports have it at the top
    title: str = ""  # what people call it, if it is not its name
    is_proper_name: bool = False  # whether that keeps its capital inside a sentence
    meaning: str = ""  # in a few words
    share: bool = False  # whether it is between 0 and 1, with 1 the best
    # of thresholds tuned for it, by the share of positive rows
    objective: "Callable[[float], ThresholdObjective] | None" = None
    accumulator: str = ""  # the class of `linnet.evaluate` that has it of data in chunks
    complete: bool = True  # whether its name is enough: the mean cost also needs costs
    any_head: bool = False  # whether means of any head are taken for classes, as in Keras
    labels: bool | None = None  # whether a network's outputs are labels, or classes; None: as the head has it

    def __call__(self, rows: Compared) -> float:
        """The metric of rows; infinite or NaN where squares of their numbers are."""
        with np.errstate(over="ignore", invalid="ignore"):
            if self.compute is not None:
                return float(self.compute(rows))
            return self.measure(rows).of(None)

    def has(self, rows: Compared) -> bool:
        """Whether the predictions of rows are what it needs."""
        of_counts = self.of_distribution and rows.surprise is not None
        return of_counts or self.needs is not Needs.PROBABILITIES or rows.proba is not None

    def better(self, one: float, other: float) -> bool:
        """Whether one value is better than another; what is no number is worst."""
        return self.rank(one) > self.rank(other)

    def rank(self, value: float) -> float:
        """The value, or its negative where less is better: the greater, the better."""
        return (value if self.greater_is_better else -value) if np.isfinite(value) else -np.inf

    def in_words(self) -> str:
        """What people call it."""
        return self.title or self.name.replace("_", " ").capitalize()

    def in_text(self) -> str:
        """What people call it inside a sentence."""
        words = self.in_words()
        lower = words[1:2].islower() and not self.is_proper_name  # ROC AUC and R² keep their capitals
        return words[0].lower() + words[1:] if lower else words

    def measure(self, rows: Compared) -> "Measure":
        """The metric prepared for rows: its value on resampled rows, and its limits in closed form."""
        from linnet.evaluate.intervals import measure
        from linnet.evaluate.measures import MeanMeasure

        if rows.surprise is not None and self.of_distribution:
            return MeanMeasure(rows.weights, rows.surprise)
        how: dict[str, Any] = {"sample_weight": rows.weights}
        if rows.two and self.of_positive:
            given = rows.positive_proba if self.needs is Needs.PROBABILITIES else rows.positive(rows.predicted)
            return measure(self, rows.positive(rows.y), given, pos_label=True, **how)
        if self.needs is Needs.PROBABILITIES:
            return measure(self, rows.y, rows.proba, labels=rows.classes, **how)
        if not self.of_positive:
            return measure(self, rows.y, rows.predicted, **how)
        if self.prepare_mean is None:
            raise ConfigError(f"the metric {self.name} is of one class of two, and there are more: choose 'f1'")
        return measure(replace(self, prepare=self.prepare_mean), rows.y, rows.predicted, **how)

    def interval(self, rows: Compared, level: float) -> "Interval":
        """The metric with a confidence interval, whose limits are NaN where none can be computed."""
        from linnet.evaluate.intervals import Interval

        try:
            limits = self._bootstrap(rows, level) if self.prepare is None else self.measure(rows).limits(level)
        except (DataError, ConfigError):
            limits = float("nan"), float("nan"), "none"
        low, high, method = limits
        return Interval(self.name, self(rows), low, high, level, method)

    def _bootstrap(self, rows: Compared, level: float) -> tuple[float, float, str]:
        from linnet.evaluate.intervals import interval

        def of_drawn(y: Array, given: Array) -> float:
            return self(Compared(y, given[:, 0], weights=None if rows.weights is None else given[:, 1]))

        given = np.column_stack([rows.predicted, np.ones(len(rows.y)) if rows.weights is None else rows.weights])
        draws = _DRAWS if len(rows.y) < _MANY_ROWS else _FEW_DRAWS
        found = interval(of_drawn, rows.y, given, method="bootstrap", n_resamples=draws, level=level)
        return found.low, found.high, found.method

    def of_chunks(self, chunks: Iterable[tuple[Any, ...]], **how: Any) -> float:
        """The metric of data in chunks of (y_true, predictions) or (y_true, predictions, sample_weight).

        `how`: for its accumulator, such as the labels of all classes.
        """
        from linnet import evaluate

        if not self.accumulator:
            raise ConfigError(f"the metric {self.name} has no accumulator: it needs all rows at once")
        found = getattr(evaluate, self.accumulator)(**how)
        for chunk in chunks:
            found.update(*chunk)
        return float(getattr(found.result() if hasattr(found, "result") else found, self.name))

    def bound(self, name: str, head: Head, outputs: int) -> "NamedMetric":
        """The metric as training computes it, under the name that was given for it."""
        # a perceptron's scores, no probabilities, are of classes to metrics that take any head, else of labels
        independent = not head.coupled and (head.has_probabilities or not self.any_head)
        labels = independent if self.labels is None else self.labels
        if self.needs is not Needs.NUMBERS:
            self._check_head(name, head, outputs, labels)

        def compute(mean: Array, rows: Rows) -> float:
            return self(Compared.of_means(mean, rows, head, self.needs, labels))

        return NamedMetric(name, compute, self.greater_is_better)

    def _check_head(self, name: str, head: Head, outputs: int, labels: bool) -> None:
        if self.labels is False and outputs < 2:
            raise ConfigError(f"{name} needs one output per class: for a single output use 'binary_accuracy'")
        if not (head.classifies or self.any_head):
            raise ConfigError(
                f"the metric {name} is for classes, and this model predicts numbers: choose 'rmse' or 'r2'"
            )
        if not head.has_probabilities and self.needs is Needs.PROBABILITIES:
            raise ConfigError(f"the metric {name} needs probabilities, which a perceptron does not have: choose 'f1'")
        if not self.averaged and outputs > 1 and labels:
            raise ConfigError(
                f"the metric {name} needs one class per row, not {outputs} yes/no labels: choose 'f1' or 'loss'"
            )
        if not self.averaged and outputs > 1 and self.of_positive:
            raise ConfigError(f"the metric {name} is of one class of two, and there are {outputs}: choose 'f1'")


def true_labels(rows: Rows) -> NDArray[np.intp]:
    """The class of each row: its label, or the largest of its target values."""
    if rows.labels is not None:
        return rows.labels.astype(np.intp)
    assert rows.values is not None
    return np.asarray(rows.values.argmax(axis=1), np.intp)


def _values(mean: Array, rows: Rows) -> Array:
    """Targets as rows x outputs."""
    if rows.values is not None:
        return rows.values
    assert rows.labels is not None
    one_hot: Array = rows.labels[:, None] == np.arange(mean.shape[1])
    return one_hot.astype(mean.dtype)


@dataclass(frozen=True)
class NamedMetric:
    """A metric of a training, with its name and direction; `compute` takes the means (rows x outputs) and the rows."""

    name: str
    compute: Callable[[Array, Rows], float]
    greater_is_better: bool = True
    guessed: bool = False  # whether the direction is a guess

    def __call__(self, mean: Array, rows: Rows) -> float:
        """Its value."""
        return self.compute(mean, rows)

    def watched(self) -> "NamedMetric":
        """The metric, which now decides when training ends: a warning if its direction is a guess."""
        if self.guessed:
            warn(
                f"the metric {self.name} is taken to be better the greater it is; if it is not, give "
                f"NamedMetric({self.name!r}, lambda mean, rows: ..., greater_is_better=False), or a function whose "
                "name ends in error or loss",
                UserWarning,
            )
        return self
