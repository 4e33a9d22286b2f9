"""Columns that leak the target: each alone predicts rows that it was not fitted to.

A column's rows are grouped: by level, or by quantiles of its numbers. One half of the rows gives the mean target of
each group, the other half shows how well that predicts: by the area under the ROC curve (two classes), by R² (numbers
and counts), or by the part of errors that are avoided (many classes). For numbers a straight line is tried as well.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from linnet.evaluate import Cutoffs
from linnet.evaluate.metric import Compared
from linnet.evaluate.metrics import r2
from linnet.tables.schema import Schema

_SAMPLE = 40_000  # rows looked at
_MIN_ROWS = 30  # rows, or the numbers mean nothing
_MIN_ROWS_OF_CLASS = 5
_GROUPS = 200  # of a column of numbers
_SUSPECT = {"AUC": 0.99, "R²": 0.93, "errors avoided": 0.97}

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Leak:
    """A column that alone predicts the target almost perfectly."""

    column: str
    measure: str
    value: float

    def __str__(self) -> str:
        number = f"{self.measure} {self.value:.3f}"
        return f"column {self.column!r} alone predicts the target ({number}): is it known beforehand?"


def leaks(table: pa.Table, target: str, schema: Schema | None = None) -> tuple[Leak, ...]:
    """Return the columns that alone predict the target, nearly, the most suspect first."""
    schema = Schema.of(table, target) if schema is None else schema
    assert schema.target is not None
    rng = np.random.default_rng(0)
    rows = np.flatnonzero(schema.has_target(table))
    rows = np.sort(rng.choice(rows, min(len(rows), _SAMPLE), replace=False))
    table = table.take(pa.array(rows))
    truth, classes = _truth(table[target], schema)
    if len(rows) < _MIN_ROWS:
        return ()
    learn = rng.permutation(len(rows)) % 2 == 0
    found = []
    for column in schema.used:
        values = column.how.compared(column, table[column.name])
        if values is None:
            continue
        with np.errstate(over="ignore", invalid="ignore"):  # squares of huge numbers: no suspicion, then
            measure, value = _score(values, truth, classes, learn)
        if value >= _SUSPECT[measure]:
            found.append(Leak(column.name, measure, round(value, 4)))
    return tuple(sorted(found, key=lambda leak: -leak.value))


def _truth(column: pa.ChunkedArray, schema: Schema) -> tuple[Floats, int]:
    """Return the target as numbers, and its number of classes, 0 for a number."""
    assert schema.target is not None
    assert schema.task is not None
    if not schema.task.has_classes:
        values = schema.target.how.compared(schema.target, column)
        assert isinstance(values, np.ndarray)
        return np.nan_to_num(values), 0
    codes = column.combine_chunks().dictionary_encode()
    return codes.indices.to_numpy(zero_copy_only=False).astype(np.float64), max(2, len(codes.dictionary))


def _score(values: Any, truth: Floats, classes: int, learn: NDArray[np.bool_]) -> tuple[str, float]:
    numbers = values if isinstance(values, np.ndarray) else None
    groups, count = _grouped(numbers, learn) if numbers is not None else values
    known, asked = truth[learn], truth[~learn]
    if classes > 2:
        table = np.zeros((count, classes))
        np.add.at(table, (groups[learn], known.astype(np.intp)), 1.0)
        usual = np.bincount(known.astype(np.intp), minlength=classes)
        guess = np.where(table.sum(axis=1) > 0, table.argmax(axis=1), usual.argmax())
        errors, plain = (guess[groups[~learn]] != asked).mean(), (usual.argmax() != asked).mean()
        return "errors avoided", float(1 - errors / plain) if plain > 0 else 0.0
    # a group of few rows counts as if one more row had the overall mean
    sums = np.bincount(groups[learn], known, count) + known.mean()
    means = sums / (np.bincount(groups[learn], minlength=count) + 1)
    predicted = means[groups[~learn]]
    if classes == 2:
        return "AUC", _area(predicted, asked)
    best = _explained(predicted, asked)
    if numbers is not None:
        x, z = np.nan_to_num(numbers[learn]), np.nan_to_num(numbers[~learn])
        spread = ((x - x.mean()) ** 2).sum()
        slope = ((x - x.mean()) * (known - known.mean())).sum() / spread if spread > 0 else 0.0
        best = max(best, _explained(known.mean() + slope * (z - x.mean()), asked))
    return "R²", best


def _grouped(values: Floats, learn: NDArray[np.bool_]) -> tuple[NDArray[np.intp], int]:
    """The group of each row: between which quantiles it lies, missing values being one of their own."""
    known = values[learn & ~np.isnan(values)]
    edges = np.unique(np.quantile(known, np.linspace(0, 1, _GROUPS + 1), method="lower")) if len(known) else np.empty(0)
    groups = np.searchsorted(edges, values, side="right")
    groups[np.isnan(values)] = len(edges) + 1
    return groups, len(edges) + 2


def _area(predicted: Floats, truth: Floats) -> float:
    """The area under the ROC curve; 0 if a class has too few rows to trust it."""
    positive = truth == 1
    if min(int(positive.sum()), int((~positive).sum())) < _MIN_ROWS_OF_CLASS:
        return 0.0
    return Cutoffs.counted(predicted, positive.view(np.uint8), None).roc_auc


def _explained(predicted: Floats, truth: Floats) -> float:
    """R²; 0 for a target that does not vary, which nothing can leak."""
    return r2(Compared(truth, predicted)) if (truth != truth[0]).any() else 0.0
