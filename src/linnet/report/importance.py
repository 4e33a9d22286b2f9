"""Which columns matter to a network: how much worse it gets without one, and how its prediction moves with one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from linnet.evaluate.metric import Compared
from linnet.fit.objective import NetworkObjective
from linnet.model.network import Network
from linnet.tables.kinds import Column, Kind
from linnet.tables.metrics import metrics_of
from linnet.tables.model import TableModel
from linnet.tables.predictions import Evaluation
from linnet.tables.rows import AppliedRows, Array
from linnet.tables.schema import made_of

if TYPE_CHECKING:
    import pyarrow as pa

_MAX_COLUMNS, _MIN_COLUMNS = 300, 12  # up to 300 are all shuffled; of wider tables at least 12
_MAX_ROWS, _MIN_ROWS = 5000, 100
_MAX_VALUES_SHUFFLED = 20_000_000  # rows x columns x columns shuffled x repeats: wide tables get fewer rows
_REPEATS = 5
_DEPENDENCE_COLUMNS = 6
_DEPENDENCE_ROWS, _DEPENDENCE_ROWS_IF_WIDE = 500, 200
_WIDE_COLUMNS = 50  # more make a table wide
_MAX_DEPENDENCE_VALUES = 4_000_000  # rows x columns x steps: wide tables get fewer rows
_MIN_DEPENDENCE_ROWS = 20
_STEPS = 20
_MAX_LEVELS = 8
_MAX_CLASSES = 4


@dataclass(frozen=True, slots=True)
class Importance:
    """How much the loss rises when a column is shuffled: the mean over a few shuffles, and the least and most."""

    name: str
    rise: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Dependence:
    """The mean prediction if a column had this value in all rows."""

    name: str
    numeric: bool
    at: tuple[float | str, ...]
    means: tuple[tuple[float, ...], ...]  # of each class shown, or of the one number
    of: tuple[str, ...]  # what the means are of


def importances(
    evaluation: Evaluation, seed: int, progress: Callable[[float], None] = lambda share: None
) -> tuple[str, tuple[Importance, ...]]:
    """The metric that gets worse, and the columns, the most important first; a seed fixes the shuffles.

    In wide tables only the columns that move the network most are shuffled: the wider, the fewer.
    """
    model, columns = evaluation.model, evaluation.model.schema.used
    metric = evaluation.possible(metrics_of(model.task))[0]
    random = np.random.default_rng(seed)
    shuffled: Sequence[Column] = columns
    if len(columns) > _MAX_COLUMNS:
        few = evaluation.rows.applied.take(_some(len(evaluation.y), _MIN_ROWS, random))
        shuffled = heaviest(model, few, random)[: max(_MIN_COLUMNS, _MAX_COLUMNS**2 // len(columns))]
    most = _MAX_VALUES_SHUFFLED // max(1, len(columns) * len(shuffled) * _REPEATS)
    sample = _some(len(evaluation.y), min(_MAX_ROWS, max(_MIN_ROWS, most)), random)
    y, weights = evaluation.y[sample], None if evaluation.weights is None else evaluation.weights[sample]

    def losses(predicted: Array, proba: Array | None) -> list[float]:
        """Of each repetition of the rows."""
        slices = [slice(first, first + len(y)) for first in range(0, len(predicted), len(y))]
        every = [
            Compared(y, predicted[at], None if proba is None else proba[at], model.classes, weights) for at in slices
        ]
        return [-metric(rows) if metric.greater_is_better else metric(rows) for rows in every]

    (base,) = losses(evaluation.predicted[sample], None if evaluation.proba is None else evaluation.proba[sample])
    rows = evaluation.rows.applied.take(np.tile(sample, _REPEATS))
    found = []
    for place, column in enumerate(shuffled):
        shuffles = np.concatenate([random.permutation(len(sample)) for _ in range(_REPEATS)])
        moved = rows.with_columns({name: rows.x[name].take(shuffles) for name in made_of(column)})
        predictions = model.predictions(moved)
        rises = [loss - base for loss in losses(predictions.values, predictions.proba)]
        found.append(Importance(column.name, float(np.mean(rises)), min(rises), max(rises)))
        progress((place + 1) / len(shuffled))
    return metric.name, tuple(sorted(found, key=lambda one: -one.rise))


def heaviest(model: TableModel, rows: AppliedRows, random: np.random.Generator) -> list[Column]:
    """The columns by how far z moves when one is shuffled, Σ (z' - z)² over rows, outputs and members, most first.

    Only what is above the first layer's sums is computed again: they change by (x' - x) W of the column alone.
    """
    predictor = model.estimator.predictor
    network = predictor.network
    columns = predictor.encoder.encode(model.read(rows).x)
    parts = [*columns.tables, *([columns.entries().toarray()] if columns.codes or columns.sparse is not None else [])]
    x = np.hstack([np.asarray(part, np.float64) for part in parts])
    change = x[random.permutation(len(x))] - x
    places: dict[str, list[int]] = {}
    for place, source in enumerate(predictor.encoder.sources):
        places.setdefault(source, []).append(place)
    moved = dict.fromkeys((column.name for column in model.schema.used), 0.0)
    for member in predictor.members:
        first, *rest = network.blocks(member)
        upper = Network(network.layers[0].units, network.layers, network.head).for_prediction()
        theta = np.zeros(upper.size, member.dtype)
        lowest, *others = upper.blocks(theta)
        np.fill_diagonal(lowest.weights, 1)  # the first layer's sums pass through
        for mine, block in zip(others, rest, strict=True):
            mine.weights[:], mine.biases[:] = block
        objective = NetworkObjective(upper, member.dtype, rows=len(x))

        def z(sums: Array, theta: Array = theta, objective: NetworkObjective = objective) -> Array:
            return objective.predict(theta, sums.astype(theta.dtype), mean=False)

        sums = x @ first.weights + first.biases
        base = z(sums)
        for column in model.schema.used:
            at = [place for made in made_of(column) for place in places.get(made, ())]
            moved[column.name] += float(np.square(z(sums + change[:, at] @ first.weights[at]) - base).sum())
    return sorted(model.schema.used, key=lambda column: -moved[column.name])


def dependences(evaluation: Evaluation, ranked: tuple[Importance, ...], seed: int) -> tuple[Dependence, ...]:
    """Partial dependence on the most important columns that are numbers, categories or true and false."""
    model = evaluation.model
    kinds = {column.name: column.kind for column in model.schema.used}
    most = _DEPENDENCE_ROWS if len(kinds) <= _WIDE_COLUMNS else _DEPENDENCE_ROWS_IF_WIDE
    most = min(most, max(_MIN_DEPENDENCE_ROWS, _MAX_DEPENDENCE_VALUES // (max(1, len(kinds)) * _STEPS)))
    sample = _some(len(evaluation.y), most, np.random.default_rng(seed))
    shown = [0]
    if model.classes is not None:
        often = [-(evaluation.y == label).sum() for label in model.classes]
        shown = [1] if len(model.classes) == 2 else np.argsort(often, kind="stable")[:_MAX_CLASSES].tolist()
    out = []
    for one in ranked[:_DEPENDENCE_COLUMNS]:
        if one.rise > 0 and kinds[one.name] in (Kind.NUMBER, Kind.CATEGORY, Kind.BOOLEAN):
            at, values = _grid(evaluation.rows.applied.x[one.name], kinds[one.name] is Kind.NUMBER)
            if len(at) > 1:
                out.append(_dependence(evaluation, sample, one.name, at, values, shown))
    return tuple(out)


def _some(rows: int, most: int, random: np.random.Generator) -> Array:
    return np.arange(rows) if rows <= most else np.sort(random.permutation(rows)[:most])


def _grid(column: "pa.ChunkedArray", numeric: bool) -> tuple[list[Any], "pa.Array"]:
    """Values of a column to try: as the page shows them, and as the column has them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if numeric:
        numbers = np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), np.float64)
        known = np.flatnonzero(np.isfinite(numbers))
        order = known[np.argsort(numbers[known], kind="stable")]
        if not len(order):
            return [], column.slice(0, 0)
        low, high = numbers[order[int(0.02 * (len(order) - 1))]], numbers[order[int(0.98 * (len(order) - 1))]]
        even = np.searchsorted(numbers[order], np.linspace(low, high, _STEPS))
        places = order[np.unique(np.minimum(even, len(order) - 1))]
        places = places[np.unique(numbers[places], return_index=True)[1]]
        return numbers[places].tolist(), column.take(places)
    values = column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
    counts = sorted(pc.value_counts(values).to_pylist(), key=lambda one: -one["counts"])
    levels = [one["values"] for one in counts if one["values"] is not None][:_MAX_LEVELS]
    return [str(level) for level in levels], pa.array(levels, values.type)


def _dependence(
    evaluation: Evaluation, sample: Array, name: str, at: list[Any], values: "pa.Array", shown: list[int]
) -> Dependence:
    """Predict the rows with each value in turn."""
    model = evaluation.model
    rows = evaluation.rows.applied.take(np.tile(sample, len(at)))
    predictions = model.predictions(rows.with_columns({name: values.take(np.repeat(np.arange(len(at)), len(sample)))}))
    predicted = np.asarray(predictions.values if model.classes is None else predictions.proba, np.float64)
    means = predicted.reshape(len(at), len(sample), -1).mean(axis=1)
    of = [str(model.roles.target if model.classes is None else model.classes[k]) for k in shown]
    return Dependence(
        name, isinstance(at[0], float), tuple(at), tuple(tuple(means[:, k].tolist()) for k in shown), tuple(of)
    )
