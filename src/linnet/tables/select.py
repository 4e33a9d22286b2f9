"""Candidates are fitted one after the other (a constant, linear, a generalized linear model, a network), and the one
that predicts the held-out rows best is kept.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linnet.errors import ConfigError, DataError, DataWarning, FitWarning, LinnetError, hearing, warn
from linnet.evaluate.thresholds import Cost, Objective, as_objective, best_threshold
from linnet.tables.candidates import Candidate, candidates
from linnet.tables.metrics import Metric, as_metric, metrics_of
from linnet.tables.model import Run, TableModel, Tried
from linnet.tables.network import TableNetwork
from linnet.tables.on_disk import TableOnDisk
from linnet.tables.options import Options
from linnet.tables.predictions import Evaluation, Predictions
from linnet.tables.rows import (
    Array,
    Examples,
    KnownRows,
    Roles,
    TableRows,
    check_given,
    given_of,
    target_of,
    with_codes,
)
from linnet.tables.schema import Schema
from linnet.tables.split import split
from linnet.tables.task import Task

if TYPE_CHECKING:
    import pyarrow as pa

LEAST_ROWS = 10

Told = Callable[[str], None]


def best_model(
    table: "pa.Table",
    schema: Schema,
    options: Options,
    *,
    valid: "pa.Table | None" = None,
    numbers: NDArray[np.int64] | None = None,
    whole: TableOnDisk | None = None,
    begin: Told = lambda name: None,
) -> TableModel:
    """Return the best candidate, with the rows it was trained on and those it was chosen by in `run`.

    `whole`: where all rows are, if `table` has only some of them, with these `numbers`. `begin` is told the name of
    each candidate before it is fitted.
    """
    task = schema.task
    assert task is not None
    line = _line(task, options)
    chooser, wanted = _metrics(task, line, options)
    rows = _parted(table, schema, options, valid, numbers, whole)
    rows.shares_encoder = sum(candidate.from_file for candidate in line) > 1
    blank = TableModel(schema, rows.roles, task, None, rows.classes, metric=chooser.name)
    tried: list[Tried] = []
    best: tuple[float, TableModel, Run] | None = None
    network = next((candidate for candidate in line if candidate.name == "mlp"), None)
    with hearing(DataWarning) as noticed:
        for candidate in line:
            begin(candidate.name)
            started = time.perf_counter()
            try:
                with hearing(FitWarning):
                    training = rows.of(candidate)
                    go_on = options.checkpoint if options.resume and candidate is network else None
                    model = replace(blank, estimator=_fitted(candidate, training, go_on))
                model, predictions = _with_threshold(model, rows.predictions(model), rows.held_out, options)
                model = replace(model, variance=_variance(predictions, rows.held_out) if rows.classes is None else None)
                evaluation = Evaluation(model, rows.held_out, predictions.values, predictions.proba)
                seconds, scores = _passed(started), evaluation.scores(wanted)
            except ConfigError:  # an option is wrong, whatever the other candidates do
                raise
            except LinnetError as error:
                if options.model != "auto" or (options.checkpoint is not None and candidate is network):
                    raise
                tried.append(Tried(candidate.name, candidate.what, {}, failed=str(error), seconds=_passed(started)))
                continue
            except KeyboardInterrupt:  # keeps the best so far
                if best is None:
                    raise
                tried.append(Tried(candidate.name, candidate.what, {}, failed="interrupted", seconds=_passed(started)))
                break
            tried.append(Tried(candidate.name, candidate.what, scores, seconds=seconds))
            value = scores.get(chooser.name, float("nan"))
            if best is None or chooser.better(value, best[0]):
                best = value, model, Run(training, rows.held_out, predictions)
                tried = [replace(one, chosen=one is tried[-1]) for one in tried]
    for message in dict.fromkeys(noticed):
        warn(message, DataWarning)
    if best is None:
        raise DataError("; ".join(dict.fromkeys(one.failed for one in tried if one.failed)))
    _, model, run = best
    facts: dict[str, Any] = {"rows": len(run.training), "held_out": len(run.held_out), "seed": options.seed}
    if isinstance(model.estimator, TableNetwork):
        both = {"train": (run.training.x, run.training.y), "held_out": (run.held_out.applied.x, run.held_out.y)}
        facts["losses"] = {name: model.estimator.mean_loss(*each) for name, each in both.items()}
    return replace(model, tried=tuple(tried), facts=facts, run=run)


@dataclass
class _Rows:
    """The rows to train on and those held out, in the forms that candidates take, each made once."""

    schema: Schema
    roles: Roles
    classes: Array | None
    table: "pa.Table"  # to train on
    some: Examples
    held_out: KnownRows
    left_out: NDArray[np.int64]  # numbers of rows in the files that are not to be trained on
    whole: TableOnDisk | None
    shares_encoder: bool = False  # whether several candidates can take rows that are encoded before
    encoded: Examples | None = None
    read: list[tuple[Any, TableRows]] = field(default_factory=list)  # held-out rows, by encoder

    def of(self, candidate: Candidate) -> Examples:
        """The rows to fit a candidate to."""
        if not candidate.from_file or (self.whole is None and not self.shares_encoder):
            return self.some
        if self.encoded is None and self.whole is not None:
            self.encoded = self.whole.examples(self.table, self.schema, self.roles, self.classes, self.left_out)
        elif self.encoded is None:
            self.encoded = self.some.encoded()
        return self.encoded

    def predictions(self, model: TableModel) -> Predictions:
        """What a model predicts of the held-out rows, which are encoded once per encoder."""
        encoder = getattr(model.estimator, "_encoder", None)
        rows = next((rows for known, rows in self.read if known is encoder), None)
        if rows is None:
            rows = model.read(self.held_out.applied)
            rows.warn()
            self.read.append((encoder, rows))
        return model.predictions(rows)


def _parted(
    table: "pa.Table",
    schema: Schema,
    options: Options,
    valid: "pa.Table | None",
    numbers: NDArray[np.int64] | None,
    whole: TableOnDisk | None,
) -> _Rows:
    """Check the rows, and part them."""
    task = schema.task
    assert task is not None
    assert schema.target is not None
    roles = options.roles(schema.target.name)
    known = schema.has_target(table)
    table = table if known.all() else table.filter(known)
    numbers = np.flatnonzero(known) if numbers is None else numbers[known]
    if len(table) < LEAST_ROWS:
        raise DataError(f"only {len(table)} rows have a value of {roles.target!r}: at least {LEAST_ROWS} are needed")
    check_given(table, roles, numbers)
    y = target_of(table, schema, task)
    left_out: NDArray[np.int64] = numbers[:0]
    if valid is None:
        assert options.share is not None
        inner, outer = split(y, task.has_classes, options.share, options.seed)
        if len(outer) < 2 or len(inner) < 5:
            raise ConfigError(
                f"valid={options.share:g} of {len(table):,} rows holds out {len(outer)} and leaves {len(inner)} to "
                f"learn from: {'raise' if len(outer) < 2 else 'lower'} it"
            )
        table, valid, y, left_out = table.take(inner), table.take(outer), y[inner], numbers[outer]
    some = Examples(with_codes(schema.apply(table)), y, given_of(table, roles))
    if some.x.shape[1] == 0:
        raise DataError("no column is left to learn from: " + ("; ".join(schema.notices) or "there is no other one"))
    classes = np.unique(y) if task.has_classes else None
    try:
        held_out = KnownRows.of(valid, schema, roles, classes)
    except DataError as error:  # no candidate could be measured by them
        raise DataError(f"the held-out rows: {error}") from None
    return _Rows(schema, roles, classes, table, some, held_out, left_out, whole)


def _passed(started: float) -> float:
    """Seconds since then."""
    return time.perf_counter() - started


def _variance(predictions: Predictions, rows: KnownRows) -> float:
    """How far numbers lie from what is predicted: the mean of the squared residuals."""
    with np.errstate(over="ignore"):
        return float(np.average((rows.y - predictions.values) ** 2, weights=rows.weights))


def _line(task: Task, options: Options) -> list[Candidate]:
    """The candidates, once all that can be told without the rows is known to be right."""
    from linnet.estimators.mlp.settings import check_settings

    line = candidates(task, options)
    network = next((candidate for candidate in line if candidate.name == "mlp"), None)
    if network is not None:
        check_settings(network.make().get_params())
    if options.checkpoint is not None:
        _check_checkpoint(network, options)
    if options.threshold is not None and task is not Task.TWO_CLASSES:
        raise ConfigError(f"a threshold is for two classes, and the task is {task!r}")
    for candidate in line:
        if options.threshold is not None and not candidate.proba:
            raise ConfigError(f"a threshold is on probabilities, and {candidate.name} has none: use logistic or mlp")
        if options.weights is not None and "sample_weight" not in candidate.takes:
            raise ConfigError(f"{candidate.name} takes no weights of rows: use another model, or repeat rows")
    return line


def _metrics(task: Task, line: list[Candidate], options: Options) -> tuple[Metric, list[Metric]]:
    """The metric that chooses, which all candidates must have, and all that are told."""
    possible = [metric for metric in metrics_of(task) if not metric.needs_proba or all(each.proba for each in line)]
    chooser = as_metric(options.metric, task) if options.metric else possible[0]
    if chooser.needs_proba and chooser not in possible:
        names = ", ".join(metric.name for metric in possible)
        raise ConfigError(f"{chooser.name} needs probabilities, which {options.model} has not: choose from {names}")
    return chooser, [chooser, *(metric for metric in metrics_of(task) if metric.name != chooser.name)]


def _check_checkpoint(network: Candidate | None, options: Options) -> None:
    """Refuse now what would be refused when it is the network's turn, as far as it can be told without the rows."""
    from linnet.estimators.mlp.resume import check_resumable

    assert options.checkpoint is not None
    if network is None:
        raise ConfigError(f"a checkpoint is for the network, and model={options.model!r} has none: use auto or mlp")
    if options.resume:
        try:
            check_resumable(options.checkpoint, network.make())
        except FileNotFoundError:
            raise ConfigError(
                f"there is no checkpoint {options.checkpoint} to resume: the network had not begun, or the file is "
                "elsewhere; to start over, leave out resume=True"
            ) from None


def _fitted(candidate: Candidate, rows: Examples, checkpoint: str | None) -> Any:
    """The candidate's model, fitted, or gone on with from a checkpoint."""
    from linnet.estimators.mlp.resume import resume

    model = candidate.make()
    given = {name: values for name, values in rows.given.items() if name in candidate.takes}
    if checkpoint is not None:
        model = resume(checkpoint, rows.x, rows.y, given.pop("sample_weight", None), model=model, **given)
    else:
        model.fit(rows.x, rows.y, **given)
    if candidate.name == "mlp":
        model.set_params(checkpoint=None)  # the model file is of the model, not of the run
    return model


def tuned_for(metric: str | None) -> str:
    """The metric that a threshold is tuned for where a model is chosen by this one: itself if it has a best threshold,
    else F1. The others do not depend on it, or are best where all rows are positive, or next to none.
    """
    return metric if metric and re.fullmatch(r"f[\d.]+|(balanced_)?accuracy", metric) else "f1"


def _objective(metric: str, share: float) -> Objective:
    """The same as an objective, given the share of positive rows: 1 - balanced accuracy is ½ (FN / P + FP / N)."""
    if metric.endswith("accuracy"):
        return Cost([[0, 1], [1, 0]] if metric == "accuracy" else [[0, share], [1 - share, 0]])
    return as_objective(metric)


def _with_threshold(
    model: TableModel, predictions: Predictions, rows: KnownRows, options: Options
) -> tuple[TableModel, Predictions]:
    """The model with the threshold that is asked for, or the best one, and the classes that it then predicts."""
    if options.threshold is None:
        return model, predictions
    assert model.classes is not None
    assert predictions.proba is not None
    if options.threshold == "tune":
        positive = rows.y == model.classes[1]
        objective = _objective(tuned_for(options.metric), float(np.average(positive, weights=rows.weights)))
        found = best_threshold(positive, predictions.proba[:, 1], objective, sample_weight=rows.weights)
        threshold = found.threshold
    else:
        threshold = float(options.threshold)
    return replace(model, threshold=threshold), predictions.decided(model.classes, threshold)
