"""What a model says of rows whose target is known: the one evaluation pass that all numbers of a report come from."""

import warnings
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linnet import evaluate
from linnet.errors import ConfigError, DataError
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
        table = with_target(table, model.roles.target)
        if len(table) < 2:
            raise DataError(f"only {len(table)} rows have a value of {model.roles.target!r}: nothing can be measured")
        weights = None
        if model.roles.weights is not None and model.roles.weights in table.column_names:
            weights = numbers_of(table, model.roles.weights)
            if not (weights.min() >= 0 and weights.sum() > 0):
                raise DataError(f"the weights in {model.roles.weights!r} are negative, or all 0")
            weights = weights * (len(weights) / weights.sum())
        proba = None
        if model.classes is not None and hasattr(model.estimator, "predict_proba"):
            proba = model.predict_proba(table)
        return cls(model, table, model.target_of(table), model.predict(table), proba, weights)

    @property
    def w(self) -> Floats:
        """The weights, 1 each if there are none."""
        return np.ones(len(self.y)) if self.weights is None else self.weights

    def value(self, measure: Measure) -> float:
        """A metric of these rows."""
        return measure(self.y, self.said, self.proba, self.model.classes, self.weights)

    def intervals(self) -> tuple[evaluate.Interval, ...]:
        """The metrics that suit the task, that which chose the model first, with 95 % intervals."""
        task, chooser = self.model.task, self.model.metric
        wanted = [*([as_measure(chooser, task)] if chooser else []), *measures(task)]
        wanted = [m for m in dict.fromkeys(wanted) if self.proba is not None or not m.needs_proba]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a class without rows is seen in the table of classes
            return tuple(self._interval(measure) for measure in wanted)

    def _interval(self, measure: Measure) -> evaluate.Interval:
        try:
            found = self._of_classes(measure) if self.model.classes is not None else self._bootstrap(measure)
        except (DataError, ConfigError):
            found = evaluate.Interval(measure.name, float("nan"), float("nan"), float("nan"), 0.95, "none")
        return evaluate.Interval(measure.name, self.value(measure), found.low, found.high, found.level, found.method)

    def _of_classes(self, measure: Measure) -> evaluate.Interval:
        classes, name = self.model.classes, measure.name
        assert classes is not None
        of = partial(evaluate.interval, sample_weight=self.weights)
        beta = float(name[1:]) if name[0] == "f" and name[1:2].isdigit() else None
        label = name if beta is None else "f_beta"
        options: dict[str, Any] = {} if beta is None else {"beta": beta}
        if len(classes) == 2 and not name.endswith("accuracy") and name != "log_loss":
            given = self.proba[:, 1] if self.proba is not None and measure.needs_proba else self.said == classes[1]
            return of(label, self.y == classes[1], given, pos_label=True, **options)
        if measure.needs_proba:
            return of(name, self.y, self.proba, labels=classes)
        return of(label if name.endswith("accuracy") else f"macro_{label}", self.y, self.said, **options)

    def _bootstrap(self, measure: Measure) -> evaluate.Interval:
        def of_drawn(y: Array, given: Array) -> float:
            return measure(y, given[:, 0], None, None, None if self.weights is None else given[:, 1])

        given = np.column_stack([self.said, self.w])
        draws = _DRAWS if len(self.y) < _LONG else _FEW_DRAWS
        return evaluate.interval(of_drawn, self.y, given, method="bootstrap", n_resamples=draws)
