"""Which columns matter to a network: the loss when a column is shuffled, and the mean prediction by its values."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from linnet.evaluate.metric import Compared
from linnet.fit.objective import NetworkObjective
from linnet.model.network import Network
from linnet.tables.kinds import Column
from linnet.tables.metrics import metrics_of
from linnet.tables.model import TableModel
from linnet.tables.predictions import Evaluation
from linnet.tables.rows import AppliedRows, Array

if TYPE_CHECKING:
    import pyarrow as pa

_MAX_COLUMNS, _MIN_COLUMNS = 300, 12  # up to 300 columns are all shuffled; of wider tables at least 12
_MAX_ROWS, _MIN_ROWS = 5000, 100
_MAX_VALUES_SHUFFLED = 20_000_000  # rows x columns x columns shuffled x repeats: wide tables get fewer rows
_REPEATS = 5
_DEPENDENCE_COLUMNS = 6
_DEPENDENCE_ROWS, _DEPENDENCE_ROWS_IF_WIDE = 500, 200
_WIDE_COLUMNS = 50  # a table with more columns is wide
_MAX_DEPENDENCE_VALUES = 4_000_000  # rows x columns x steps: wide tables get fewer rows
_MIN_DEPENDENCE_ROWS = 20
_STEPS = 20
_MAX_LEVELS = 8
_MAX_CLASSES = 4


@dataclass(frozen=True, slots=True)
class Importance:
    """The rise of the loss when a column is shuffled: the mean over several shuffles, and the range."""

    name: str
    rise: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Dependence:
    """The mean prediction if a column had the same value in all rows, for several values."""

    name: str
    numeric: bool
    at: tuple[float | str, ...]
    means: tuple[tuple[float, ...], ...]  # one series for each class shown, or one for a number
    of: tuple[str, ...]  # the class, or the target, of each series


def importances(
    evaluation: Evaluation, seed: int, progress: Callable[[float], None] = lambda share: None
) -> tuple[str, tuple[Importance, ...]]:
    """Return the metric that is measured, and the columns, the most important first; a seed fixes the shuffles.

    In wide tables only the columns that change the prediction most are shuffled: the wider the table, the fewer.
    """
    model, columns = evaluation.model, evaluation.model.schema.used
    metric = evaluation.possible(metrics_of(model.task))[0]
    random = np.random.default_rng(seed)
    shuffled: Sequence[Column] = columns
    if len(columns) > _MAX_COLUMNS:
        few = evaluation.rows.applied.take(_sample(len(evaluation.y), _MIN_ROWS, random))
        shuffled = heaviest(model, few, random)[: max(_MIN_COLUMNS, _MAX_COLUMNS**2 // len(columns))]
    most = _MAX_VALUES_SHUFFLED // max(1, len(columns) * len(shuffled) * _REPEATS)
    sample = _sample(len(evaluation.y), min(_MAX_ROWS, max(_MIN_ROWS, most)), random)
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
    for index, column in enumerate(shuffled):
        shuffles = np.concatenate([random.permutation(len(sample)) for _ in range(_REPEATS)])
        moved = rows.with_columns({name: rows.x[name].take(shuffles) for name in column.made_of()})
        predictions = model.predictions(moved)
        rises = [loss - base for loss in losses(predictions.values, predictions.proba)]
        found.append(Importance(column.name, float(np.mean(rises)), min(rises), max(rises)))
        progress((index + 1) / len(shuffled))
    return metric.name, tuple(sorted(found, key=lambda one: -one.rise))


def heaviest(model: TableModel, rows: AppliedRows, random: np.random.Generator) -> list[Column]:
    """Return the columns by the change of z when one is shuffled, the largest first.

    The change is Σ (z' - z)² over rows, outputs and members. Only the layers above the first sums are computed again,
    as the sums change by (x' - x) W of the column alone.
    """
    predictor = model.estimator.predictor
    network = predictor.network
    columns = predictor.encoder.encode(model.read(rows).x)
    blocks = [*columns.tables, *([columns.entries().toarray()] if columns.codes or columns.sparse is not None else [])]
    x = np.hstack([np.asarray(block, np.float64) for block in blocks])
    change = x[random.permutation(len(x))] - x
    inputs: dict[str, list[int]] = {}  # indices of each source column
    for index, source in enumerate(predictor.encoder.sources):
        inputs.setdefault(source, []).append(index)
    moved = dict.fromkeys((column.name for column in model.schema.used), 0.0)
    for member in predictor.members:
        first, *rest = network.blocks(member)
        upper = Network(network.layers[0].units, network.layers, network.head).for_prediction()
        theta = np.zeros(upper.size, member.dtype)
        lowest, *others = upper.blocks(theta)
        np.fill_diagonal(lowest.weights, 1)  # the first layer's sums pass through
        for upper_block, block in zip(others, rest, strict=True):
            upper_block.weights[:], upper_block.biases[:] = block
        objective = NetworkObjective(upper, member.dtype, rows=len(x))

        def z(sums: Array, theta: Array = theta, objective: NetworkObjective = objective) -> Array:
            return objective.predict(theta, sums.astype(theta.dtype), mean=False)

        sums = x @ first.weights + first.biases
        base = z(sums)
        for column in model.schema.used:
            at = [index for made in column.made_of() for index in inputs.get(made, ())]
            moved[column.name] += float(np.square(z(sums + change[:, at] @ first.weights[at]) - base).sum())
    return sorted(model.schema.used, key=lambda column: -moved[column.name])


def dependences(evaluation: Evaluation, ranked: tuple[Importance, ...], seed: int) -> tuple[Dependence, ...]:
    """Return the partial dependence on the most important columns that are numbers, categories or booleans."""
    model = evaluation.model
    columns = {column.name: column for column in model.schema.used}
    most = _DEPENDENCE_ROWS if len(columns) <= _WIDE_COLUMNS else _DEPENDENCE_ROWS_IF_WIDE
    most = min(most, max(_MIN_DEPENDENCE_ROWS, _MAX_DEPENDENCE_VALUES // (max(1, len(columns)) * _STEPS)))
    sample = _sample(len(evaluation.y), most, np.random.default_rng(seed))
    shown = [0]
    if model.classes is not None:
        often = [-(evaluation.y == label).sum() for label in model.classes]
        shown = [1] if len(model.classes) == 2 else np.argsort(often, kind="stable")[:_MAX_CLASSES].tolist()
    out = []
    for one in ranked[:_DEPENDENCE_COLUMNS]:
        if one.rise > 0 and columns[one.name].made_of() == [one.name]:
            at, values = _grid(evaluation.rows.applied.x[one.name], columns[one.name].is_number)
            if len(at) > 1:
                out.append(_dependence(evaluation, sample, one.name, at, values, shown))
    return tuple(out)


def _sample(rows: int, most: int, random: np.random.Generator) -> Array:
    return np.arange(rows) if rows <= most else np.sort(random.permutation(rows)[:most])


def _grid(column: "pa.ChunkedArray", numeric: bool) -> tuple[list[Any], "pa.Array"]:
    """Return values of a column to try: as the page shows them, and as the column holds them."""
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
        rows = order[np.unique(np.minimum(even, len(order) - 1))]
        rows = rows[np.unique(numbers[rows], return_index=True)[1]]
        return numbers[rows].tolist(), column.take(rows)
    values = column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
    counts = sorted(pc.value_counts(values).to_pylist(), key=lambda one: -one["counts"])
    levels = [one["values"] for one in counts if one["values"] is not None][:_MAX_LEVELS]
    return [str(level) for level in levels], pa.array(levels, values.type)


def _dependence(
    evaluation: Evaluation, sample: Array, name: str, at: list[Any], values: "pa.Array", shown: list[int]
) -> Dependence:
    """Return the mean prediction of the rows with each value in turn."""
    model = evaluation.model
    rows = evaluation.rows.applied.take(np.tile(sample, len(at)))
    predictions = model.predictions(rows.with_columns({name: values.take(np.repeat(np.arange(len(at)), len(sample)))}))
    predicted = np.asarray(predictions.values if model.classes is None else predictions.proba, np.float64)
    means = predicted.reshape(len(at), len(sample), -1).mean(axis=1)
    of = [str(model.roles.target if model.classes is None else model.classes[k]) for k in shown]
    return Dependence(
        name, isinstance(at[0], float), tuple(at), tuple(tuple(means[:, k].tolist()) for k in shown), tuple(of)
    )
