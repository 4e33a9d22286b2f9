"""A model of a whole table: how its columns are read, an estimator, its threshold, and where it all came from.

`train` splits the table, fits the candidates one after the other (linear, then a generalized linear model, then a
network) and keeps the one that predicts the held-out rows best.
"""

import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linnet.data.schema import Schema
from linnet.errors import ConfigError, DataError, FitWarning
from linnet.estimators.candidates import candidates
from linnet.estimators.table_metrics import Measure, as_measure, measures
from linnet.evaluate.thresholds import as_objective, best_threshold

if TYPE_CHECKING:
    import pyarrow as pa

    from linnet.estimators.onnx_file import Answers
    from linnet.persist.onnx_columns import Inputs

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Roles:
    """Columns with a task of their own; none of them is learned from."""

    target: str
    exposure: str | None = None
    offset: str | None = None
    weights: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Those there are."""
        return tuple(name for name in (self.target, self.exposure, self.offset, self.weights) if name is not None)


@dataclass(frozen=True, slots=True)
class Tried:
    """A candidate and how it did on the held-out rows."""

    name: str
    what: str  # in words
    seconds: float
    scores: dict[str, float]  # by metric, of the held-out rows
    chosen: bool = False
    failed: str = ""  # why, if it did


@dataclass
class TableModel:
    """A fitted model that takes tables as they come: columns in any order, with gaps, of files or frames."""

    schema: Schema
    roles: Roles
    task: str
    estimator: Any
    classes: Array | None = None  # in the order of probabilities; the second of two is the positive one
    threshold: float | None = None  # on the probability of the positive class
    tried: tuple[Tried, ...] = ()
    metric: str = ""  # that chose
    facts: dict[str, Any] = field(default_factory=dict)  # files, rows, command, versions

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns that prediction reads."""
        roles = (self.roles.exposure, self.roles.offset)
        return (*(column.name for column in self.schema.used), *(name for name in roles if name is not None))

    def _given(self, table: "pa.Table") -> tuple["pa.Table", dict[str, Array]]:
        given = {}
        for name, role in (("exposure", self.roles.exposure), ("offset", self.roles.offset)):
            if role is not None:
                given[name] = numbers_of(table, role)
        return self.schema.apply(table), given

    def predict(self, table: "pa.Table") -> Array:
        """The class, mean count or number of each row."""
        if self.classes is None:
            x, given = self._given(table)
            return np.asarray(self.estimator.predict(x, **given))
        if self.threshold is not None:
            positive = self.predict_proba(table)[:, 1] >= self.threshold
            return np.asarray(self.classes[positive.astype(np.intp)])
        return np.asarray(self.estimator.predict(self.schema.apply(table)))

    def predict_proba(self, table: "pa.Table") -> Array:
        """The probability of each class, rows x classes."""
        if self.classes is None:
            raise ConfigError(f"{self.task!r} has no probabilities: the model predicts numbers")
        if not _has_proba(self.estimator):
            raise ConfigError(f"{type(self.estimator).__name__} has no probabilities: train --model logistic or mlp")
        return np.asarray(self.estimator.predict_proba(self.schema.apply(table)))

    def sample(self, table: "pa.Table", random_state: int | None = None) -> Array:
        """Draw from the predicted distribution of each row."""
        x, given = self._given(table)
        if not hasattr(self.estimator, "sample"):
            raise ConfigError(f"{type(self.estimator).__name__} has no distribution to draw from")
        return np.asarray(self.estimator.sample(x, random_state=random_state, **given))

    def predict_interval(self, table: "pa.Table", level: float = 0.95) -> tuple[Array, Array]:
        """Limits between which a new value of each row lies with the given probability."""
        x, given = self._given(table)
        if not hasattr(self.estimator, "predict_interval"):
            raise ConfigError(f"{type(self.estimator).__name__} gives no intervals")
        low, high = self.estimator.predict_interval(x, level, **given)
        return np.asarray(low), np.asarray(high)

    def target_of(self, table: "pa.Table") -> Array:
        """The target of rows that all have one."""
        return target_of(table, self.schema, self.task, self.classes)

    def scores(self, table: "pa.Table", names: Sequence[str] = ()) -> dict[str, float]:
        """Metrics of the model on rows with a target."""
        return _scores(self, table, [as_measure(name, self.task) for name in names] or measures(self.task))

    def intervals(
        self, table: "pa.Table", names: Sequence[str], level: float = 0.95
    ) -> dict[str, tuple[float, float, float]]:
        """Metrics of the model on rows with a target: value, lower and upper limit."""
        y, said = self.target_of(table), self.predict(table)
        proba = self.predict_proba(table) if self.classes is not None and _has_proba(self.estimator) else None
        weights = self._weights(table)
        wanted = [as_measure(name, self.task) for name in names]
        return {
            measure.name: measure.interval(y, said, proba, self.classes, weights, level)
            for measure in wanted
            if proba is not None or not measure.needs_proba
        }

    def _weights(self, table: "pa.Table") -> Array | None:
        name = self.roles.weights
        return None if name is None or name not in table.column_names else numbers_of(table, name)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file of data, which `linnet.load` reads and which cannot run code."""
        from linnet.estimators.model_file import save

        save(self, path)

    def to_onnx(self, path: str | os.PathLike[str]) -> None:
        """Write the model as a function of raw columns to an ONNX file: see docs/guide/tables.md. Needs onnx."""
        from linnet.estimators.onnx_file import to_onnx

        to_onnx(self, path)

    def _to_graph(self, inputs: "Inputs") -> "Answers":
        from linnet.estimators.onnx_file import answers_of
        from linnet.persist.onnx_columns import Inputs, table_columns
        from linnet.persist.onnx_network import above, if_yes, labels, one_column

        graph = inputs.graph
        answers = answers_of(self.estimator, Inputs(graph, table_columns(graph, self.schema), _shifts(self.roles)))
        if self.classes is not None and self.threshold is not None:
            reached = above(graph, one_column(graph, answers["probabilities"], 1), self.threshold)
            answers["label"] = labels(graph, if_yes(graph, reached), self.classes)
        return answers


def _has_proba(estimator: Any) -> bool:
    return hasattr(estimator, "predict_proba")


def numbers_of(table: "pa.Table", name: str) -> Array:
    """A column of finite numbers, or an error that names row and column."""
    if name not in table.column_names:
        raise DataError(f"column {name!r} is missing: the table has {', '.join(table.column_names[:20])}")
    try:
        values = np.asarray(table[name].cast("float64"), np.float64)
    except Exception:
        raise DataError(f"column {name!r} has type {table[name].type}, where numbers were expected") from None
    if not np.isfinite(values).all():
        raise DataError(f"column {name!r} has no value in row {int(np.argmin(np.isfinite(values)))}")
    return values


def target_of(table: "pa.Table", schema: Schema, task: str, classes: Array | None = None) -> Array:
    """The target as estimators take it: classes as they are written, numbers as numbers."""
    assert schema.target is not None
    name = schema.target.name
    if name not in table.column_names:
        raise DataError(f"the target {name!r} is missing: the table has {', '.join(table.column_names[:20])}")
    if task in ("counts", "a number"):
        values = schema.target_numbers(table)
        row = int(np.argmin(np.isfinite(values)))
        if not np.isfinite(values[row]):
            raise DataError(f"the target {name!r} has no value in row {row}")
        if task == "counts" and (values < 0).any():
            raise DataError(f"the target {name!r} has {values.min():g} in row {int(values.argmin())}: no count")
        return values
    found = np.array([str(value) for value in table[name].to_pylist()], dtype=object)
    if classes is not None:
        unknown = ~np.isin(found, classes)
        if unknown.any():
            row = int(unknown.argmax())
            raise DataError(f"the target {name!r} is {found[row]!r} in row {row}, a class the model has not seen")
    return found


def with_target(table: "pa.Table", name: str) -> "pa.Table":
    """The rows that have a target."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = table[name]
    known = pc.is_valid(column)
    if pa.types.is_floating(column.type):
        known = pc.and_(known, pc.is_finite(column))
    return table.filter(pc.fill_null(known, False))


def _scores(model: TableModel, table: "pa.Table", wanted: Sequence[Measure]) -> dict[str, float]:
    y, weights, said, proba = model.target_of(table), model._weights(table), model.predict(table), None
    if model.classes is not None and _has_proba(model.estimator):
        proba = model.predict_proba(table)
    return {m.name: m(y, said, proba, model.classes, weights) for m in wanted if proba is not None or not m.needs_proba}


def split(y: Array, classes: bool, part: float, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows to train on and rows to hold out, in order; each class gives its share."""
    random = np.random.default_rng(seed).permutation(len(y))
    if not classes:
        count = min(max(1, round(part * len(y))), len(y) - 1)
        return np.sort(random[count:]), np.sort(random[:count])
    held = np.zeros(len(y), np.bool_)
    _, codes = np.unique(y[random].astype(str), return_inverse=True)
    for code in range(codes.max() + 1):
        rows = random[codes == code]
        held[rows[: round(part * len(rows))]] = True
    if not held.any():
        held[random[0]] = True
    return np.flatnonzero(~held), np.flatnonzero(held)


@dataclass(frozen=True)
class Options:
    """How to train."""

    model: str = "auto"
    params: Mapping[str, Any] = field(default_factory=dict)  # of the network
    valid: float = 0.2  # the part of the rows to hold out
    metric: str | None = None
    threshold: str | None = None  # "tune", or a number
    class_weight: str | None = None
    seed: int = 0
    threads: int | None = None
    verbose: int = 0


Told = Callable[[str], None]


def train(
    table: "pa.Table",
    schema: Schema,
    roles: Roles,
    options: Options,
    *,
    valid: "pa.Table | None" = None,
    begin: Told = lambda name: None,
) -> tuple[TableModel, "pa.Table", "pa.Table"]:
    """Return the best candidate, the rows it was trained on, and those it was not. `begin` is told each one's name."""
    task = schema.task
    assert task is not None
    table = with_target(table, roles.target)
    if len(table) < 10:
        raise DataError(f"only {len(table)} rows have a value of {roles.target!r}: at least 10 are needed")
    classes = task.endswith("classes")
    y = target_of(table, schema, task)
    if valid is None:
        inner, outer = split(y, classes, options.valid, options.seed)
        table, valid, y = table.take(inner), table.take(outer), y[inner]
    else:
        valid = with_target(valid, roles.target)
    x = schema.apply(table)
    if x.num_columns == 0:
        raise DataError("no column is left to learn from: " + "; ".join(schema.notices))
    given = {"sample_weight": None if roles.weights is None else numbers_of(table, roles.weights)}
    given |= {name: numbers_of(table, role) for name, role in _shifts(roles).items()}
    given = {name: value for name, value in given.items() if value is not None}
    chooser = as_measure(options.metric, task) if options.metric else measures(task)[0]
    wanted = [chooser, *(m for m in measures(task) if m.name != chooser.name)]
    blank = TableModel(schema, roles, task, None, np.unique(y) if classes else None, metric=chooser.name)
    tried: list[Tried] = []
    best: tuple[float, TableModel] | None = None
    for candidate in candidates(
        task,
        options.model,
        params=options.params,
        class_weight=options.class_weight,
        shifted=bool(_shifts(roles)),
        seed=options.seed,
        threads=options.threads,
        verbose=options.verbose,
    ):
        begin(candidate.name)
        started = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FitWarning)
                estimator = candidate.make().fit(x, y, **{k: v for k, v in given.items() if k in candidate.takes})
            model = replace(blank, estimator=estimator)
            _set_threshold(model, valid, options)
            seconds, scores = time.perf_counter() - started, _scores(model, valid, wanted)
        except (DataError, ConfigError) as error:
            if options.model != "auto":
                raise
            tried.append(Tried(candidate.name, candidate.what, time.perf_counter() - started, {}, failed=str(error)))
            continue
        except KeyboardInterrupt:  # keeps the best so far
            if best is None:
                raise
            tried.append(Tried(candidate.name, candidate.what, time.perf_counter() - started, {}, failed="interrupted"))
            break
        tried.append(Tried(candidate.name, candidate.what, seconds, scores))
        value = scores.get(chooser.name, float("nan")) * (1 if chooser.higher else -1)
        if best is None or value > best[0]:
            best = value, model
            tried = [replace(one, chosen=one is tried[-1]) for one in tried]
    if best is None:
        raise DataError("; ".join(one.failed for one in tried if one.failed))
    model = replace(best[1], tried=tuple(tried))
    model.facts = {"rows": len(table), "held_out": len(valid), "seed": options.seed}
    return model, table, valid


def _shifts(roles: Roles) -> dict[str, str]:
    return {name: role for name, role in (("exposure", roles.exposure), ("offset", roles.offset)) if role is not None}


def _set_threshold(model: TableModel, valid: "pa.Table", options: Options) -> None:
    if options.threshold is None:
        return
    if model.classes is None or len(model.classes) != 2:
        raise ConfigError(f"a threshold is for two classes, and the task is {model.task!r}")
    if options.threshold != "tune":
        try:
            model.threshold = float(options.threshold)
        except ValueError:
            raise ConfigError(f"--threshold must be 'tune' or a number, got {options.threshold!r}") from None
        return
    named = options.metric or "f1"
    objective = as_objective(named if named.startswith("f") or ">=" in named else "f1")
    positive = model.target_of(valid) == model.classes[1]
    model.threshold = best_threshold(positive, model.predict_proba(valid)[:, 1], objective).threshold
