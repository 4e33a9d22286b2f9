"""What a model predicts of rows, all of it from one pass, and how it compares with targets that are known."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from linnet._cached import cached_property
from linnet.errors import ConfigError, hearing
from linnet.evaluate import Interval
from linnet.evaluate.intervals import check_level
from linnet.evaluate.metric import Compared, Metric
from linnet.heads import Head
from linnet.tables.metrics import as_metric, metrics_of
from linnet.tables.rows import Array, Floats, KnownRows, TableRows
from linnet.tables.task import Task

if TYPE_CHECKING:
    import pyarrow as pa

    from linnet.tables.model import TableModel


_MAX_SURPRISE = -float(np.log(np.finfo(np.float64).eps))


@dataclass(frozen=True)
class Law:
    """The distribution of a new value around its mean: a head, and the dispersion that was found for it."""

    head: Head
    dispersion: Floats

    def interval(self, mean: Array, level: float) -> tuple[Array, Array]:
        """The limits between which a new value of each row lies with probability `level`."""
        low, high = self.head.interval(mean[:, None], self.dispersion, level)
        return low[:, 0], high[:, 0]

    def draw(self, mean: Array, random: np.random.RandomState) -> Array:
        """A new value of each row."""
        return np.asarray(self.head.draw(mean[:, None], self.dispersion, random)[:, 0])

    def variance(self, mean: Array) -> Array:
        """The variance of a new value of each row."""
        return self.head.variance(mean[:, None], self.dispersion)[:, 0]

    def log_probability(self, mean: Array, y: Array) -> Array:
        """The logarithm of the probability, or density, of each row's value."""
        return self.head.log_probability(mean[:, None], y[:, None], self.dispersion)[:, 0]

    @property
    def parameter(self) -> float | None:
        """The head's parameter that was estimated, such as the dispersion of a negative binomial distribution."""
        return float(self.dispersion[0]) if self.head.parameter_symbol else None


@dataclass(frozen=True)
class Predictions:
    """What a model predicts of rows, and what it noticed in them.

    Attributes
    ----------
    values : array of one value per row
        The class, the mean count or the number.
    proba : array of rows x classes, or None
        The probability of each class, where there are classes and the model has probabilities.
    rows : TableRows
        The rows as the model has read them: `rows.unseen`, `rows.rare` and `rows.filled` count, by column, levels never
        seen in training and missing values where training had none.
    law : Law or None
        The distribution of a new value around its mean, where numbers or counts are predicted.
    """

    values: Array
    proba: Array | None
    rows: TableRows
    law: Law | None = None

    def decided(self, classes: Array, threshold: float | None) -> "Predictions":
        """Return the predictions with the classes that a threshold makes of their probabilities."""
        assert self.proba is not None
        return replace(self, values=decide(classes, self.proba, threshold))


def decide(classes: Array, proba: Array, threshold: float | None) -> Array:
    """The class per row: the most probable one, or the second of two where its probability reaches the threshold."""
    places = proba.argmax(axis=1) if threshold is None else (proba[:, 1] >= threshold).astype(np.intp)
    return np.asarray(classes[places])


@dataclass(frozen=True)
class Evaluation:
    """Targets and predictions of the same rows."""

    model: "TableModel"
    rows: KnownRows
    predictions: Predictions

    @classmethod
    def of(cls, model: "TableModel", data: Any) -> "Evaluation":
        """Predict the rows of data that have a target, with a warning of what is odd about them."""
        rows = model.known_rows(data)
        found = model.predictions(rows.applied)
        found.rows.warn()
        return cls(model, rows, found)

    @property
    def predicted(self) -> Array:
        """The predicted classes, mean counts or numbers."""
        return self.predictions.values

    @property
    def proba(self) -> Array | None:
        """The predicted probabilities, rows x classes, if there are any."""
        return self.predictions.proba

    @property
    def table(self) -> "pa.Table":
        """The table of the rows."""
        return self.rows.table

    @property
    def y(self) -> Array:
        """Targets of the rows."""
        return self.rows.y

    @property
    def weights(self) -> Floats | None:
        """Row weights, scaled to sum to the number of rows."""
        return self.rows.weights

    @property
    def w(self) -> Floats:
        """Row weights, 1 each if there are none."""
        return np.ones(len(self.y)) if self.weights is None else self.weights

    @cached_property
    def compared(self) -> Compared:
        """Targets and predictions as metrics take them."""
        law = self.predictions.law if self.model.task is Task.COUNTS else None
        surprise = None
        if law is not None:  # kept below -log of float64's epsilon, as that of classes is
            surprise = np.minimum(-law.log_probability(self.predicted, self.y), _MAX_SURPRISE)
        return Compared(self.y, self.predicted, self.proba, self.model.classes, self.weights, surprise)

    def scores(self, wanted: Sequence[Metric]) -> dict[str, float]:
        """Return the metrics that suit the predictions, with their values."""
        with hearing():  # of a class without rows: what cannot be computed is NaN
            return {metric.name: metric(self.compared) for metric in self.possible(wanted)}

    def possible(self, wanted: Sequence[Metric]) -> list[Metric]:
        """Those metrics that these predictions have, probabilities or not."""
        return [metric for metric in wanted if metric.has(self.compared)]

    def chooser(self) -> Metric:
        """The metric that chose the model; the task's own for a model that none has chosen."""
        try:
            return as_metric(self.model.metric, self.model.task)
        except ConfigError:  # a network of the playground is chosen by hand
            return self.possible(metrics_of(self.model.task))[0]

    def intervals(self, names: Sequence[str] = (), level: float = 0.95) -> tuple[Interval, ...]:
        """Metrics with confidence intervals: those named, that which chose the model, and all that suit the task."""
        task, level = self.model.task, check_level(level)
        if not np.iterable(names) or not all(isinstance(name, str) for name in names):
            raise ConfigError(f"metrics must be a list of names, got {names!r}")
        asked = (names,) if isinstance(names, str) else names
        first = [*(as_metric(name, task) for name in asked), self.chooser()]
        wanted = {metric.name: metric for metric in self.possible([*first, *metrics_of(task)])}
        with hearing():  # a class without rows is seen in the table of classes
            return tuple(metric.interval(self.compared, level) for metric in wanted.values())
