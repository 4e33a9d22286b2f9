"""What a model says of rows whose target is known: one pass over them, from which all its metrics come."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linnet import evaluate
from linnet.errors import ConfigError, DataError, hearing
from linnet.estimators.table_metrics import Measure, as_measure, measures
from linnet.estimators.table_model import TableModel, numbers_of, with_target

if TYPE_CHECKING:
    import pyarrow as pa

Array = NDArray[Any]
Floats = NDArray[np.float64]

_DRAWS, _FEW_DRAWS = 1000, 200  # of the bootstrap
_LONG = 20_000  # rows from which the bootstrap draws less often


@dataclass(frozen=True)
class Answers:
    """Targets and predictions of the held-out rows."""

    model: TableModel
    table: "pa.Table"
    y: Array
    said: Array
    proba: Array | None
    weights: Floats | None  # scaled to sum to the number of rows

    @classmethod
    def of(cls, model: TableModel, table: "pa.Table") -> "Answers":
        """Predict the rows that have a target."""
        table = with_target(table, model.schema)
        if len(table) < 2:
            raise DataError(f"only {len(table)} rows have a value of {model.roles.target!r}: nothing can be measured")
        weights = None
        if model.roles.weights is not None and model.roles.weights in table.column_names:
            weights = numbers_of(table, model.roles.weights)
            if not (weights.min() >= 0 and weights.sum() > 0):
                raise DataError(f"the weights in {model.roles.weights!r} are negative, or all 0")
            weights = weights * (len(weights) / weights.sum())
        rows = model.read(table)
        rows.warn()
        proba = model.predict_proba(rows) if model.has_proba else None
        return cls(model, table, model.target_of(table), model.predict(rows), proba, weights)

    @property
    def w(self) -> Floats:
        """The weights, 1 each if there are none."""
        return np.ones(len(self.y)) if self.weights is None else self.weights

    def value(self, measure: Measure) -> float:
        """A metric of these rows."""
        return measure(self.y, self.said, self.proba, self.model.classes, self.weights)

    def scores(self, wanted: Sequence[Measure]) -> dict[str, float]:
        """Those metrics that these predictions have."""
        with hearing():  # of a class without rows: what cannot be computed is NaN
            return {measure.name: self.value(measure) for measure in self._possible(wanted)}

    def _possible(self, wanted: Sequence[Measure]) -> list[Measure]:
        return [measure for measure in wanted if self.proba is not None or not measure.needs_proba]

    def intervals(self, names: Sequence[str] = (), level: float = 0.95) -> tuple[evaluate.Interval, ...]:
        """Metrics with confidence intervals: those named, that which chose the model, and all that suit the task."""
        task, chooser = self.model.task, self.model.metric
        first = [as_measure(name, task) for name in (*names, *([chooser] if chooser else []))]
        wanted = {measure.name: measure for measure in self._possible([*first, *measures(task)])}
        with hearing():  # a class without rows is seen in the table of classes
            return tuple(self._interval(measure, level) for measure in wanted.values())

    def _interval(self, measure: Measure, level: float) -> evaluate.Interval:
        by = self._of_classes if self.model.classes is not None else self._bootstrap
        try:
            found = by(measure, level)
        except (DataError, ConfigError):
            found = evaluate.Interval(measure.name, float("nan"), float("nan"), float("nan"), level, "none")
        return evaluate.Interval(measure.name, self.value(measure), found.low, found.high, found.level, found.method)

    def _of_classes(self, measure: Measure, level: float) -> evaluate.Interval:
        classes, name = self.model.classes, measure.name
        assert classes is not None
        of = partial(evaluate.interval, sample_weight=self.weights, level=level)
        beta = float(name[1:]) if name[0] == "f" and name[1:2].isdigit() else None
        label = name if beta is None else "f_beta"
        options: dict[str, Any] = {} if beta is None else {"beta": beta}
        if len(classes) == 2 and not name.endswith("accuracy") and name != "log_loss":
            given = self.proba[:, 1] if self.proba is not None and measure.needs_proba else self.said == classes[1]
            return of(label, self.y == classes[1], given, pos_label=True, **options)
        if measure.needs_proba:
            return of(name, self.y, self.proba, labels=classes)
        return of(label if name.endswith("accuracy") else f"macro_{label}", self.y, self.said, **options)

    def _bootstrap(self, measure: Measure, level: float) -> evaluate.Interval:
        def of_drawn(y: Array, given: Array) -> float:
            return measure(y, given[:, 0], None, None, None if self.weights is None else given[:, 1])

        given = np.column_stack([self.said, self.w])
        draws = _DRAWS if len(self.y) < _LONG else _FEW_DRAWS
        return evaluate.interval(of_drawn, self.y, given, method="bootstrap", n_resamples=draws, level=level)
