"""What a model predicts of rows, all of it from one pass, and how it compares with targets that are known."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from linnet.errors import ConfigError, hearing
from linnet.evaluate import Interval
from linnet.evaluate.metric import Compared, Metric, Needs
from linnet.tables.metrics import as_metric, metrics_of
from linnet.tables.rows import Array, Floats, KnownRows, TableRows

if TYPE_CHECKING:
    import pyarrow as pa

    from linnet.tables.model import TableModel


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
    """

    values: Array
    proba: Array | None
    rows: TableRows

    def decided(self, classes: Array, threshold: float | None) -> "Predictions":
        """The same probabilities with the classes that a threshold makes of them."""
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
    predicted: Array
    proba: Array | None

    @classmethod
    def of(cls, model: "TableModel", data: Any) -> "Evaluation":
        """Predict the rows of data that have a target, with a warning of what is odd about them."""
        rows = model.known_rows(data)
        found = model.predictions(rows.applied)
        found.rows.warn()
        return cls(model, rows, found.values, found.proba)

    @property
    def table(self) -> "pa.Table":
        """The rows as they came."""
        return self.rows.table

    @property
    def y(self) -> Array:
        """Their targets."""
        return self.rows.y

    @property
    def weights(self) -> Floats | None:
        """Their weights, scaled to sum to the number of rows."""
        return self.rows.weights

    @property
    def w(self) -> Floats:
        """The weights, 1 each if there are none."""
        return np.ones(len(self.y)) if self.weights is None else self.weights

    @property
    def compared(self) -> Compared:
        """Targets and predictions as metrics take them."""
        return Compared(self.y, self.predicted, self.proba, self.model.classes, self.weights)

    def scores(self, wanted: Sequence[Metric]) -> dict[str, float]:
        """Those metrics that these predictions have."""
        with hearing():  # of a class without rows: what cannot be computed is NaN
            return {metric.name: metric(self.compared) for metric in self.possible(wanted)}

    def possible(self, wanted: Sequence[Metric]) -> list[Metric]:
        """Those metrics that these predictions have, probabilities or not."""
        return [metric for metric in wanted if self.proba is not None or metric.needs is not Needs.PROBABILITIES]

    def chooser(self) -> Metric:
        """The metric that chose the model; the task's own for a model that none has chosen."""
        try:
            return as_metric(self.model.metric, self.model.task)
        except ConfigError:  # a network of the playground is chosen by hand
            return self.possible(metrics_of(self.model.task))[0]

    def intervals(self, names: Sequence[str] = (), level: float = 0.95) -> tuple[Interval, ...]:
        """Metrics with confidence intervals: those named, that which chose the model, and all that suit the task."""
        task = self.model.task
        first = [*(as_metric(name, task) for name in names), self.chooser()]
        wanted = {metric.name: metric for metric in self.possible([*first, *metrics_of(task)])}
        with hearing():  # a class without rows is seen in the table of classes
            return tuple(metric.interval(self.compared, level) for metric in wanted.values())
