"""What a network goes by: how much worse it gets without a column, and how its answer moves with one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from linnet.estimators.table_metrics import measures
from linnet.estimators.table_model import TableModel
from linnet.report.answers import Answers, Array

_MOST_ROWS = 5000
_MOST_COLUMNS = 1000
_WORK = 4_000_000  # rows x columns, which bounds the rows of wide tables
_REPEATS = 5
_SHOWN = 6  # columns whose dependence is computed
_DEPENDENCE_ROWS = 500
_STEPS = 20
_MOST_LEVELS = 8
_MOST_CLASSES = 4

Told = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Importance:
    """How much the loss rises when a column is shuffled: the mean over a few shuffles, and the least and most."""

    name: str
    rise: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Dependence:
    """The mean answer if a column had this value in all rows."""

    name: str
    numeric: bool
    at: tuple[float, ...] | tuple[str, ...]
    means: tuple[tuple[float, ...], ...]  # of each class shown, or of the one number
    of: tuple[str, ...]  # what the means are of


def importances(answers: Answers, seed: int, progress: Told = lambda done: None) -> tuple[str, tuple[Importance, ...]]:
    """The metric that rises, and the columns, the most important first. The same seed, the same shuffles."""
    model, columns = answers.model, answers.model.schema.used
    measure = next(m for m in measures(model.task) if answers.proba is not None or not m.needs_proba)
    if len(columns) > _MOST_COLUMNS:
        return measure.name, ()
    random = np.random.default_rng(seed)
    part = _some(len(answers.y), min(_MOST_ROWS, max(200, _WORK // len(columns) ** 2)), random)
    table, y = answers.table.take(part), answers.y[part]
    weights = None if answers.weights is None else answers.weights[part]

    def loss(rows: Any) -> float:
        proba = None if answers.proba is None else model.predict_proba(rows)
        said = y if measure.needs_proba else model.predict(rows)
        return measure(y, said, proba, model.classes, weights) * (-1 if measure.higher else 1)

    base = loss(table)
    found = []
    for place, column in enumerate(columns):
        at, field = table.column_names.index(column.name), table.schema.field(column.name)
        rises = []
        for _ in range(_REPEATS):
            shuffled = table[column.name].take(random.permutation(len(part)))
            rises.append(loss(table.set_column(at, field, shuffled)) - base)
        found.append(Importance(column.name, float(np.mean(rises)), min(rises), max(rises)))
        progress((place + 1) / len(columns))
    return measure.name, tuple(sorted(found, key=lambda one: -one.rise))


def dependences(answers: Answers, ranked: tuple[Importance, ...], seed: int) -> tuple[Dependence, ...]:
    """Partial dependence on the most important columns that are numbers, categories or true and false."""
    model = answers.model
    kinds = {column.name: column.kind for column in model.schema.used}
    rows = answers.table.take(_some(len(answers.y), _DEPENDENCE_ROWS, np.random.default_rng(seed)))
    shown = [0]
    if model.classes is not None:
        often = [-(answers.y == label).sum() for label in model.classes]
        shown = [1] if len(model.classes) == 2 else np.argsort(often, kind="stable")[:_MOST_CLASSES].tolist()
    out = []
    for one in ranked[:_SHOWN]:
        if one.rise > 0 and kinds[one.name] in ("number", "category", "boolean"):
            at, raw = _grid(model, answers.table, one.name, kinds[one.name] == "number")
            if len(at) > 1:
                out.append(_dependence(model, rows, one.name, at, raw, shown))
    return tuple(out)


def _some(rows: int, most: int, random: np.random.Generator) -> Array:
    return np.arange(rows) if rows <= most else np.sort(random.permutation(rows)[:most])


def _grid(model: TableModel, table: Any, name: str, numeric: bool) -> tuple[list[Any], list[Any]]:
    """Values of a column to try, and the same as they stand in the table."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = model.schema.apply(table.select([column.name for column in model.schema.used]))[name]
    if numeric:
        numbers = np.asarray(values.cast(pa.float64()).to_numpy(), np.float64)
        known = np.flatnonzero(np.isfinite(numbers))
        order = known[np.argsort(numbers[known], kind="stable")]
        if not len(order):
            return [], []
        low, high = numbers[order[int(0.02 * (len(order) - 1))]], numbers[order[int(0.98 * (len(order) - 1))]]
        even = np.searchsorted(numbers[order], np.linspace(low, high, _STEPS))
        places = order[np.unique(np.minimum(even, len(order) - 1))]
        places = places[np.unique(numbers[places], return_index=True)[1]]
        return numbers[places].tolist(), [table[name][int(place)] for place in places]
    counts = sorted(pc.value_counts(values).to_pylist(), key=lambda one: -one["counts"])
    levels = [one["values"] for one in counts if one["values"] is not None][:_MOST_LEVELS]
    raw = [table[name][int(pc.index(values, pa.scalar(level, values.type)).as_py())] for level in levels]
    return [str(level) for level in levels], raw


def _dependence(model: TableModel, rows: Any, name: str, at: list[Any], raw: list[Any], shown: list[int]) -> Dependence:
    import pyarrow as pa

    place, field = rows.column_names.index(name), rows.schema.field(name)
    means = []
    for value in raw:
        same = rows.set_column(place, field, pa.repeat(value, len(rows)).cast(field.type))
        answer = model.predict(same) if model.classes is None else model.predict_proba(same)
        means.append(np.atleast_1d(np.asarray(answer, np.float64).mean(axis=0)))
    found = np.array(means)
    of = [str(model.roles.target if model.classes is None else model.classes[k]) for k in shown]
    return Dependence(
        name, isinstance(at[0], float), tuple(at), tuple(tuple(found[:, k].tolist()) for k in shown), tuple(of)
    )
