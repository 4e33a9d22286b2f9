"""What a network goes by: how much worse it gets without a column, and how its answer moves with one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from linnet.data.kinds import Column
from linnet.data.schema import made_of
from linnet.estimators.table_answers import Answers, Array
from linnet.estimators.table_metrics import measures
from linnet.estimators.table_model import TableModel
from linnet.fit.objective import Objective
from linnet.model.network import Network

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_COLUMNS, _LEAST_COLUMNS = 300, 12  # of a table whose columns are all shuffled; of any that are shuffled
_MOST_ROWS, _LEAST_ROWS = 5000, 100
_WORK = 20_000_000  # rows x columns x columns shuffled x repeats, which bounds the rows of wide tables
_REPEATS = 5
_SHOWN = 6  # columns whose dependence is computed
_DEPENDENCE_ROWS, _FEW_DEPENDENCE_ROWS = 500, 200
_WIDE = 50  # columns
_VALUES = 4_000_000  # rows x columns x steps, which bounds the rows of a dependence in wide tables
_LEAST_DEPENDENCE_ROWS = 20
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
    at: tuple[float | str, ...]
    means: tuple[tuple[float, ...], ...]  # of each class shown, or of the one number
    of: tuple[str, ...]  # what the means are of


def importances(answers: Answers, seed: int, progress: Told = lambda done: None) -> tuple[str, tuple[Importance, ...]]:
    """The metric that rises, and the columns, the most important first. The same seed, the same shuffles.

    In wide tables only the columns that move the network most are shuffled: the wider, the fewer.
    """
    model, columns = answers.model, answers.model.schema.used
    measure = next(m for m in measures(model.task) if answers.proba is not None or not m.needs_proba)
    random = np.random.default_rng(seed)
    shuffled: Sequence[Column] = columns
    if len(columns) > _MOST_COLUMNS:
        rows = answers.table.take(_some(len(answers.y), _LEAST_ROWS, random))
        shuffled = heaviest(model, rows, random)[: max(_LEAST_COLUMNS, _MOST_COLUMNS**2 // len(columns))]
    most = _WORK // max(1, len(columns) * len(shuffled) * _REPEATS)
    part = _some(len(answers.y), min(_MOST_ROWS, max(_LEAST_ROWS, most)), random)
    y, weights = answers.y[part], None if answers.weights is None else answers.weights[part]

    def losses(rows: Any) -> list[float]:
        """Of each repetition of the rows."""
        proba = None if answers.proba is None else model.predict_proba(rows)
        said = model.predict(rows) if proba is None or not measure.needs_proba else np.tile(y, len(rows) // len(y))
        slices = [slice(first, first + len(y)) for first in range(0, len(rows), len(y))]
        found = [measure(y, said[at], proba if proba is None else proba[at], model.classes, weights) for at in slices]
        return [-loss if measure.higher else loss for loss in found]

    (base,) = losses(answers.table.take(part))
    table = answers.table.take(np.tile(part, _REPEATS))
    found = []
    for place, column in enumerate(shuffled):
        at, field = table.column_names.index(column.name), table.schema.field(column.name)
        shuffles = np.concatenate([random.permutation(len(part)) for _ in range(_REPEATS)])
        rises = [loss - base for loss in losses(table.set_column(at, field, table[column.name].take(shuffles)))]
        found.append(Importance(column.name, float(np.mean(rises)), min(rises), max(rises)))
        progress((place + 1) / len(shuffled))
    return measure.name, tuple(sorted(found, key=lambda one: -one.rise))


def heaviest(model: TableModel, table: "pa.Table", random: np.random.Generator) -> list[Column]:
    """The columns by how far z moves when one is shuffled, Σ (z' - z)² over rows, outputs and members, most first.

    Only what is above the first layer's sums is computed again: they change by (x' - x) W of the column alone.
    """
    estimator, network = model.estimator, model.estimator._network
    columns = estimator._encoder.encode(model.schema.apply(table))
    parts = [*columns.tables, *([columns.entries().toarray()] if columns.codes or columns.sparse is not None else [])]
    x = np.hstack([np.asarray(part, np.float64) for part in parts])
    change = x[random.permutation(len(x))] - x
    places: dict[str, list[int]] = {}
    for place, source in enumerate(estimator._encoder.sources):
        places.setdefault(source, []).append(place)
    moved = dict.fromkeys((column.name for column in model.schema.used), 0.0)
    for member in estimator._members:
        first, *rest = network.blocks(member)
        upper = Network(network.layers[0].units, network.layers, network.head).for_prediction()
        theta = np.zeros(upper.size, member.dtype)
        lowest, *others = upper.blocks(theta)
        np.fill_diagonal(lowest.weights, 1)  # the first layer's sums pass through
        for mine, block in zip(others, rest, strict=True):
            mine.weights[:], mine.biases[:] = block
        objective = Objective(upper, member.dtype, rows=len(x))

        def z(sums: Array, theta: Array = theta, objective: Objective = objective) -> Array:
            return objective.predict(theta, sums.astype(theta.dtype), mean=False)

        sums = x @ first.weights + first.biases
        base = z(sums)
        for column in model.schema.used:
            at = [place for made in made_of(column) for place in places.get(made, ())]
            moved[column.name] += float(np.square(z(sums + change[:, at] @ first.weights[at]) - base).sum())
    return sorted(model.schema.used, key=lambda column: -moved[column.name])


def dependences(answers: Answers, ranked: tuple[Importance, ...], seed: int) -> tuple[Dependence, ...]:
    """Partial dependence on the most important columns that are numbers, categories or true and false."""
    model = answers.model
    kinds = {column.name: column.kind for column in model.schema.used}
    most = _DEPENDENCE_ROWS if len(kinds) <= _WIDE else _FEW_DEPENDENCE_ROWS
    most = min(most, max(_LEAST_DEPENDENCE_ROWS, _VALUES // (max(1, len(kinds)) * _STEPS)))
    part = _some(len(answers.y), most, np.random.default_rng(seed))
    shown = [0]
    if model.classes is not None:
        often = [-(answers.y == label).sum() for label in model.classes]
        shown = [1] if len(model.classes) == 2 else np.argsort(often, kind="stable")[:_MOST_CLASSES].tolist()
    out = []
    for one in ranked[:_SHOWN]:
        if one.rise > 0 and kinds[one.name] in ("number", "category", "boolean"):
            at, raw = _grid(model, answers.table, one.name, kinds[one.name] == "number")
            if len(at) > 1:
                out.append(_dependence(answers, part, one.name, at, raw, shown))
    return tuple(out)


def _some(rows: int, most: int, random: np.random.Generator) -> Array:
    return np.arange(rows) if rows <= most else np.sort(random.permutation(rows)[:most])


def _grid(model: TableModel, table: Any, name: str, numeric: bool) -> tuple[list[Any], list[Any]]:
    """Values of a column to try, and the same as they stand in the table."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = model.schema.apply(table.select([column.name for column in model.schema.used]))[name]
    if numeric:
        numbers = np.asarray(values.cast(pa.float64(), safe=False).to_numpy(), np.float64)
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


def _dependence(
    answers: Answers, part: Array, name: str, at: list[Any], raw: list[Any], shown: list[int]
) -> Dependence:
    """Predict the rows with each value in turn."""
    import pyarrow as pa

    model, table = answers.model, answers.table.take(np.tile(part, len(raw)))
    place, field = table.column_names.index(name), table.schema.field(name)
    values = pa.chunked_array([pa.repeat(value, len(part)).cast(field.type) for value in raw])
    table = table.set_column(place, field, values)
    answer = np.asarray(model.predict(table) if model.classes is None else model.predict_proba(table), np.float64)
    means = answer.reshape(len(raw), len(part), -1).mean(axis=1)
    of = [str(model.roles.target if model.classes is None else model.classes[k]) for k in shown]
    return Dependence(
        name, isinstance(at[0], float), tuple(at), tuple(tuple(means[:, k].tolist()) for k in shown), tuple(of)
    )
