"""The class of metrics: value, direction, what is compared with the targets, and intervals.

`linnet.evaluate.metrics` has all metrics by name. Training, tables, intervals, comparisons, thresholds and reports look
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
    from linnet.evaluate.objectives import ThresholdObjective

_RESAMPLES, _FEWER_RESAMPLES = 1000, 200  # bootstrap samples
_ROWS_FOR_FEWER_RESAMPLES = 20_000


class Needs(Enum):
    """The kind of predictions that a metric compares with the targets."""

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
    proba: Array | None = None  # rows x classes, or of the positive class; None if the model has no probabilities
    classes: Array | None = None  # the second of two is the positive one
    weights: Array | None = None  # None: 1 each
    surprise: Array | None = None  # for counts: -log of the predicted probability of the actual count

    @classmethod
    def of_means(
        cls, mean: Array, rows: Rows, head: Head, needs: Needs = Needs.NUMBERS, labels: bool = False
    ) -> "Compared":
        """Pair the targets of rows with the means (rows x outputs) that a network with this head predicts.

        One output is the mean of the second of two classes; several outputs are classes, or with `labels` separate
        labels.
        """
        outputs = mean.shape[1]
        if needs is Needs.NUMBERS:
            return cls(_values(mean, rows), mean, weights=rows.weights)
        if outputs > 1 and not labels:
            y, predicted = true_labels(rows), mean.argmax(axis=1)
        else:
            y, predicted = ((_values(mean, rows) > 0.5).astype(np.intp), (mean > head.threshold).astype(np.intp))
        if outputs == 1:
            y, predicted, mean = y[:, 0], predicted[:, 0], mean[:, 0]
        proba = mean.astype(np.float64) if needs is Needs.PROBABILITIES else None
        return cls(y, predicted, proba, None if y.ndim == 2 else np.arange(max(outputs, 2)), rows.weights)

    def take(self, rows: Array) -> "Compared":
        """Return some of the rows, by their indices."""

        def of_rows(values: Array | None) -> Any:
            return None if values is None else values[rows]

        return replace(
            self,
            y=self.y[rows],
            predicted=self.predicted[rows],
            proba=of_rows(self.proba),
            weights=of_rows(self.weights),
            surprise=of_rows(self.surprise),
        )

    @property
    def two(self) -> bool:
        """Whether there are two classes, one of them positive."""
        return self.classes is not None and len(self.classes) == 2

    def positive(self, labels: Array) -> Array:
        """Return, for each label, whether it is the positive one of two classes."""
        assert self.classes is not None
        return np.asarray(labels == self.classes[1])

    @property
    def positive_proba(self) -> Array:
        """The probability of the positive class."""
        assert self.proba is not None
        return self.proba if self.proba.ndim == 1 else self.proba[:, 1]

    def mean(self, of_rows: Array) -> float:
        """Return the weighted mean over rows, and over the outputs of each row; NaN if all weights are 0."""
        if of_rows.ndim > 1:
            of_rows = of_rows.mean(axis=1)
        if self.weights is None:
            return float(of_rows.mean(dtype=np.float64))
        weights = self.weights.astype(np.float64)
        return float((weights * of_rows).sum() / weights.sum()) if weights.any() else float("nan")


@dataclass(frozen=True)
class IntervalArguments:
    """The arguments of `linnet.evaluate.interval`, without the metric."""

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


Prepare = Callable[[IntervalArguments], "Measure"]


@dataclass(frozen=True)
class Metric:
    """A metric of predictions, as `metric_named` returns it.

    Attributes
    ----------
    name : str
        The name.
    compute : function of Compared, or None
        Returns the value; None if `prepare` does.
    greater_is_better : bool
        Whether a greater value is better.
    needs : Needs
        Whether it compares labels, probabilities or predicted values with the targets.
    prepare : function of IntervalArguments, or None
        Builds the measure of rows, which has limits in closed form and can be resampled; None: the metric is resampled
        as a function.
    prepare_mean : function of IntervalArguments, or None
        For a metric of one class: builds the measure of its mean over several classes.
    of_distribution : bool
        Whether it is the mean surprise, which any predicted distribution has.
    of_positive : bool
        Whether, with two classes, only the positive one is measured.
    averaged : bool
        Whether, with several classes or labels, it is the mean over them ("macro").
    reported : Reported
        The kinds of targets whose models are reported with it; models are chosen by the first such metric.
    headline : Reported
        The kinds of targets whose reports show it at the top.
    title, meaning : str
        The name that reports show, if `name` is not fit for it, and one phrase that explains the metric.
    is_proper_name : bool
        Whether the title keeps its capital within a sentence.
    share : bool
        Whether it is between 0 and 1, with 1 the best.
    objective : function of float, or None
        Returns the objective of thresholds tuned for the metric, from the share of positive rows.
    accumulator : str
        The class of `linnet.evaluate` that computes it over chunks; "" if there is none.
    complete : bool
        Whether its name is enough: the mean cost also needs costs.
    any_head : bool
        Whether means of any head are treated as classes, as in Keras.
    labels : bool or None
        Whether a network's outputs are labels (True) or classes (False); None: as the head defines.
    """

    name: str
    compute: Callable[[Compared], Any] | None = None
    greater_is_better: bool = True
    needs: Needs = Needs.LABELS
    prepare: "Prepare | None" = None
    prepare_mean: "Prepare | None" = None
    of_distribution: bool = False
    of_positive: bool = False
    averaged: bool = False
    reported: Reported = Reported.NEVER
    headline: Reported = Reported.NEVER
    title: str = ""
    is_proper_name: bool = False
    meaning: str = ""
    share: bool = False
    objective: "Callable[[float], ThresholdObjective] | None" = None
    accumulator: str = ""
    complete: bool = True
    any_head: bool = False
    labels: bool | None = None

    def __call__(self, rows: Compared) -> float:
        """Return the value for rows; infinite or NaN where squares overflow."""
        with np.errstate(over="ignore", invalid="ignore"):
            if self.compute is not None:
                return float(self.compute(rows))
            return self.measure(rows).value(None)

    def has(self, rows: Compared) -> bool:
        """Return whether these predictions are of the kind that the metric needs.

        Parameters
        ----------
        rows : Compared
            Targets and predictions.
        """
        has_surprise = self.of_distribution and rows.surprise is not None
        return has_surprise or self.needs is not Needs.PROBABILITIES or rows.proba is not None

    def better(self, one: float, other: float) -> bool:
        """Return whether one value is better than another; NaN and infinity are worst.

        Parameters
        ----------
        one, other : float
            Values of the metric.
        """
        return self.rank(one) > self.rank(other)

    def rank(self, value: float) -> float:
        """Return a number that is greater for better values: the value, or its negative if a smaller one is better.

        Parameters
        ----------
        value : float
            A value of the metric.
        """
        return (value if self.greater_is_better else -value) if np.isfinite(value) else -np.inf

    def in_words(self) -> str:
        """Return the metric's title, such as "ROC AUC" or "Balanced accuracy"."""
        return self.title or self.name.replace("_", " ").capitalize()

    def in_text(self) -> str:
        """Return the metric's title as it is written inside a sentence."""
        words = self.in_words()
        lower = words[1:2].islower() and not self.is_proper_name  # unlike ROC AUC and R²
        return words[0].lower() + words[1:] if lower else words

    def measure(self, rows: Compared) -> "Measure":
        """Prepare the metric for rows: its value on resampled rows, and its limits in closed form.

        Parameters
        ----------
        rows : Compared
            Targets and predictions.
        """
        from linnet.evaluate.intervals import measure
        from linnet.evaluate.measures import MeanMeasure

        if rows.surprise is not None and self.of_distribution:
            return MeanMeasure(rows.weights, rows.surprise)
        options: dict[str, Any] = {"sample_weight": rows.weights}
        if rows.two and self.of_positive:
            of_scores = self.needs is Needs.PROBABILITIES
            predictions = rows.positive_proba if of_scores else rows.positive(rows.predicted)
            return measure(self, rows.positive(rows.y), predictions, pos_label=True, **options)
        if self.needs is Needs.PROBABILITIES:
            return measure(self, rows.y, np.asarray(rows.proba), labels=rows.classes, **options)
        if not self.of_positive:
            return measure(self, rows.y, rows.predicted, **options)
        if self.prepare_mean is None:
            raise ConfigError(f"the metric {self.name} needs two classes, and there are more: choose 'f1'")
        return measure(replace(self, prepare=self.prepare_mean), rows.y, rows.predicted, **options)

    def interval(self, rows: Compared, level: float) -> "Interval":
        """Return the metric with a confidence interval; the limits are NaN where none can be computed.

        Parameters
        ----------
        rows : Compared
            Targets and predictions.
        level : float
            The confidence level.
        """
        from linnet.evaluate.intervals import Interval

        try:
            limits = self._bootstrap(rows, level) if self.prepare is None else self.measure(rows).limits(level)
        except (DataError, ConfigError):
            limits = float("nan"), float("nan"), "none"
        low, high, method = limits
        return Interval(self.name, self(rows), low, high, level, method)

    def _bootstrap(self, rows: Compared, level: float) -> tuple[float, float, str]:
        from linnet.evaluate.intervals import interval

        def of_drawn(drawn: Array, _: Array) -> float:
            if rows.weights is not None and not rows.weights[drawn].any():
                return float("nan")  # only rows of weight 0 were drawn
            return self(rows.take(drawn))

        index = np.arange(len(rows.y))
        draws = _RESAMPLES if len(index) < _ROWS_FOR_FEWER_RESAMPLES else _FEWER_RESAMPLES
        result = interval(of_drawn, index, index, method="bootstrap", n_resamples=draws, level=level)
        return result.low, result.high, result.method

    def of_chunks(self, chunks: Iterable[tuple[Any, ...]], **options: Any) -> float:
        """Return the metric of data in chunks.

        Parameters
        ----------
        chunks : iterable of tuples
            (y_true, predictions) or (y_true, predictions, sample_weight).
        **options
            Arguments of the accumulator, such as the labels of all classes.

        Returns
        -------
        float
            The value over all chunks.
        """
        from linnet import evaluate

        if not self.accumulator:
            raise ConfigError(f"the metric {self.name} has no accumulator: it needs all rows at once")
        accumulator = getattr(evaluate, self.accumulator)(**options)
        for chunk in chunks:
            accumulator.update(*chunk)
        return float(getattr(accumulator.result() if hasattr(accumulator, "result") else accumulator, self.name))

    def bound(self, name: str, head: Head, outputs: int) -> "NamedMetric":
        """Return the metric as training computes it.

        Parameters
        ----------
        name : str
            The name under which it is recorded.
        head : Head
            The head of the network.
        outputs : int
            The number of outputs.
        """
        # a perceptron's scores are not probabilities: classes to metrics that accept any head, labels to the others
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
                f"the metric {name} is for classes, but this model predicts values: choose 'rmse' or 'r2'"
            )
        if not head.has_probabilities and self.needs is Needs.PROBABILITIES:
            raise ConfigError(f"the metric {name} needs probabilities, which a perceptron does not have: choose 'f1'")
        if not self.averaged and outputs > 1 and labels:
            raise ConfigError(
                f"the metric {name} needs one class per row, not {outputs} binary labels: choose 'f1' or 'loss'"
            )
        if not self.averaged and outputs > 1 and self.of_positive:
            raise ConfigError(f"the metric {name} needs two classes, and there are {outputs}: choose 'f1'")


def true_labels(rows: Rows) -> NDArray[np.intp]:
    """Return the class of each row: its label, or the largest of its target values."""
    if rows.labels is not None:
        return rows.labels.astype(np.intp)
    assert rows.values is not None
    return np.asarray(rows.values.argmax(axis=1), np.intp)


def _values(mean: Array, rows: Rows) -> Array:
    """Return targets as rows x outputs."""
    if rows.values is not None:
        return rows.values
    assert rows.labels is not None
    one_hot: Array = rows.labels[:, None] == np.arange(mean.shape[1])
    return one_hot.astype(mean.dtype)


@dataclass(frozen=True)
class NamedMetric:
    """A metric computed in training, with its name and direction.

    Parameters
    ----------
    name : str
        The name under which it is recorded.
    compute : function of (mean, rows)
        Returns the value, from the predicted means (rows x outputs) and the rows.
    greater_is_better : bool, default=True
        Whether a greater value is better.
    guessed : bool, default=False
        Whether the direction is a guess: a warning is issued if it decides when training ends.
    """

    name: str
    compute: Callable[[Array, Rows], float]
    greater_is_better: bool = True
    guessed: bool = False  # whether the direction is a guess

    def __call__(self, mean: Array, rows: Rows) -> float:
        """Return the value."""
        return self.compute(mean, rows)

    def watched(self) -> "NamedMetric":
        """Return the metric itself, now used to decide when training ends; a guessed direction gets a warning."""
        if self.guessed:
            warn(
                f"a greater {self.name} is assumed to be better: if it is not, pass "
                f"NamedMetric({self.name!r}, lambda mean, rows: ..., greater_is_better=False), or a function whose "
                "name ends in error or loss",
                UserWarning,
            )
        return self
