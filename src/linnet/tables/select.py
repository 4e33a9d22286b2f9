"""Candidates are fitted one after the other (a constant, linear, a generalized linear model, a network), and the one
that predicts the held-out rows best is kept.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linnet._sklearn import prepared_encoder_of
from linnet.errors import ConfigError, DataError, DataWarning, FitWarning, LinnetError, Parameter, hearing, warn
from linnet.evaluate.metric import Metric, Needs
from linnet.evaluate.metrics import metric_named
from linnet.evaluate.thresholds import best_threshold
from linnet.tables.candidates import Candidate, candidates
from linnet.tables.metrics import as_metric, metrics_of
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
    check_classes,
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

MIN_ROWS = 10
_OF_LAWS = "log_loss"  # the metric that chooses between distributions of counts
_SAME = 1e-6  # part of a metric: smaller differences are rounding
# Parameters of a network that is not tried by itself: more than so many, for which training takes about a gigabyte, and
# more than so many per row. The widest tables of measured expression of genes have some 30,000 per row.
_MAX_PARAMETERS, _MAX_PARAMETERS_PER_ROW = 10_000_000, 50_000

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
    notice: Callable[[LinnetError], None] = lambda message: None,
) -> TableModel:
    """Return the best candidate, with the rows it was trained on and those it was chosen by in `run`.

    `whole`: where all rows are, if `table` has only some of them, with these `numbers`. `begin` is told the name of
    each candidate before it is fitted, `notice` what a user should know.
    """
    task = schema.task
    assert task is not None
    line = _line(task, options)
    chooser, wanted = _metrics(task, line, options)
    rows = _parted(table, schema, options, valid, numbers, whole)
    del table, valid
    if len(line) > 1 and not options.network and options.checkpoint is None and (why := _too_large(rows)):
        line = [candidate for candidate in line if not candidate.by_epochs]
        notice(why)
    blank = TableModel(schema, rows.roles, task, None, rows.classes, metric=chooser.name)
    tried: list[Tried] = []
    fits: list[_Fit] = []
    with hearing(DataWarning) as noticed:
        for candidate in line:
            if candidate.heads and (law := _best_law(fits, options)) is not None:
                candidate = candidate.under(law.head)
            begin(candidate.name)
            started = time.perf_counter()
            try:
                with hearing(FitWarning):
                    training = rows.of(candidate)
                    go_on = options.checkpoint if options.resume and candidate.by_epochs else None
                    model = replace(blank, estimator=_fitted(candidate, training, go_on))
                model, predictions = _with_threshold(model, rows.predictions(model), rows.held_out, options)
                if rows.classes is None:
                    model = replace(model, variance=_variance(predictions, rows.held_out))
                    predictions = replace(predictions, law=model.law)
                evaluation = Evaluation(model, rows.held_out, predictions)
                seconds, scores = _passed(started), evaluation.scores(wanted)
            except ConfigError:  # an option is wrong, whatever the other candidates do
                raise
            except LinnetError as error:
                if options.model != "auto" or (options.checkpoint is not None and candidate.by_epochs):
                    raise
                tried.append(Tried(candidate.name, candidate.what, {}, failed=str(error), seconds=_passed(started)))
                continue
            except KeyboardInterrupt:  # keeps the best so far
                if not fits:
                    raise
                tried.append(Tried(candidate.name, candidate.what, {}, failed="interrupted", seconds=_passed(started)))
                break
            tried.append(Tried(candidate.name, candidate.what, scores, seconds=seconds))
            fits.append(_Fit(candidate.head, scores, len(tried) - 1, model, Run(training, rows.held_out, predictions)))
    for message in dict.fromkeys(noticed):
        warn(message, DataWarning)
    if not fits:
        raise DataError("; ".join(dict.fromkeys(one.failed for one in tried if one.failed)))
    law = _best_law(fits, options)
    best = _best([fit for fit in fits if not fit.head or fit is law], chooser)
    model, run = best.model, best.run
    tried = [replace(one, chosen=place == best.place) for place, one in enumerate(tried)]
    facts: dict[str, Any] = {"rows": len(run.training), "held_out": len(run.held_out), "seed": options.seed}
    if options.metric is None and sum(bool(fit.head) for fit in fits) > 1:
        facts["distribution_metric"] = _OF_LAWS
    if isinstance(model.estimator, TableNetwork):
        both = {"train": (run.training.x, run.training.y), "held_out": (run.held_out.applied.x, run.held_out.y)}
        facts["losses"] = {name: model.estimator.mean_loss(*each) for name, each in both.items()}
    return replace(model, tried=tuple(tried), facts=facts, run=run)


@dataclass(frozen=True)
class _Fit:
    """A candidate that was fitted and evaluated."""

    head: str  # the family of the counts that it fits, if it is of one
    scores: dict[str, float]
    place: int  # in the line
    model: TableModel
    run: Run


def _best(fits: Sequence[_Fit], metric: Metric) -> _Fit:
    """Return the best fit by a metric; of equally good ones the first, which is the simplest."""
    best = fits[0]
    for fit in fits[1:]:
        if _beats(metric, *(one.scores.get(metric.name, float("nan")) for one in (fit, best))):
            best = fit
    return best


def _best_law(fits: Sequence[_Fit], options: Options) -> _Fit | None:
    """The best of the distributions of counts, by the likelihood of the held-out ones unless a metric is asked for.

    Means alone do not tell how far counts spread; and of models with different means a likelihood prefers those that
    know their errors, however large, to those that have small ones.
    """
    of_counts = [fit for fit in fits if fit.head]
    return _best(of_counts, as_metric(options.metric or _OF_LAWS, Task.COUNTS)) if of_counts else None


@dataclass
class _Rows:
    """The training and validation rows in the forms that candidates take, each made once."""

    schema: Schema
    roles: Roles
    classes: Array | None
    table: "pa.Table"  # to train on, as it came; without rows if all are in `some`
    some: Examples
    held_out: KnownRows
    left_out: NDArray[np.int64]  # numbers of rows in the files that are not to be trained on
    whole: TableOnDisk | None
    encoded: Examples | None = None  # for all candidates that can take them so
    read: list[tuple[Any, TableRows]] = field(default_factory=list)  # held-out rows, by encoder

    def of(self, candidate: Candidate) -> Examples:
        """Return the rows to fit a candidate to."""
        if not candidate.from_file:
            return self.some
        if self.encoded is None and self.whole is not None:
            self.encoded = self.whole.examples(self.table, self.schema, self.roles, self.classes, self.left_out)
        elif self.encoded is None:
            self.encoded = self.some.encoded()
        return self.encoded

    def predictions(self, model: TableModel) -> Predictions:
        """Return a model's predictions of the held-out rows, which are encoded once per encoder."""
        encoder = prepared_encoder_of(model.estimator)
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
    """Check the rows and split them."""
    task = schema.task
    assert task is not None
    assert schema.target is not None
    roles = options.roles(schema.target.name)
    known = schema.has_target(table)
    table = table if known.all() else table.filter(known)
    numbers = np.flatnonzero(known) if numbers is None else numbers[known]
    if len(table) < MIN_ROWS:
        raise DataError(f"only {len(table)} rows have a value of {roles.target!r}: at least {MIN_ROWS} are needed")
    check_given(table, roles, numbers)
    y = target_of(table, schema, task)
    left_out: NDArray[np.int64] = numbers[:0]
    if valid is None:
        assert options.share is not None
        inner, outer = split(y, task.has_classes, options.share, options.seed)
        if len(outer) < 2 or len(inner) < 5:
            raise ConfigError(
                Parameter("valid", options.share),
                f" of {len(table):,} rows holds out {len(outer)} and leaves {len(inner)} to "
                f"learn from: {'raise' if len(outer) < 2 else 'lower'} it",
            )
        (table, y), (held_out, of_held_out) = ((table.take(part), y[part]) for part in (inner, outer))
        left_out = numbers[outer]
    some = Examples(with_codes(schema.apply(table)), y, given_of(table, roles))
    if some.x.shape[1] == 0:
        raise DataError("no column is left to learn from: " + ("; ".join(schema.notices) or "there is no other one"))
    classes = np.unique(y) if task.has_classes else None
    try:
        if valid is not None:
            known_rows = KnownRows.of(valid, schema, roles, classes)
        else:
            if classes is not None:
                check_classes(of_held_out, classes, roles.target)
            known_rows = KnownRows.with_targets(held_out, of_held_out, schema, roles)
    except DataError as error:  # no candidate could be measured by them
        raise DataError(f"the held-out rows: {error}") from None
    table = table if whole is not None else table.slice(0, 0)
    return _Rows(schema, roles, classes, table, some, known_rows, left_out, whole)


def _too_large(rows: _Rows) -> LinnetError | None:
    """Why the network is not tried by default, None if it is: it would have far too many parameters for its rows.

    It is an exception that is never raised, so that its parameters are named as the listener names them.
    """
    import pyarrow as pa

    from linnet.data.tabular_encoder import TabularEncoder, max_columns
    from linnet.estimators.tabular.base import parameter_count

    x, outputs = rows.some.x, 1 if rows.classes is None or len(rows.classes) == 2 else len(rows.classes)
    assert isinstance(x, pa.Table)
    most = max(_MAX_PARAMETERS, _MAX_PARAMETERS_PER_ROW * len(x))
    coded = {place for place, type_ in enumerate(x.schema.types) if pa.types.is_dictionary(type_)}
    levels = [len(x.column(place).chunk(0).dictionary) for place in coded]
    inputs = max_columns(len(x), x.num_columns - len(coded), levels)
    if parameter_count(inputs, outputs) > most:  # seldom: then they are counted, as columns may have fewer bins
        inputs = TabularEncoder.learn(x)[0].count
    count = parameter_count(inputs, outputs)
    if count <= most:
        return None
    return ConfigError(
        f"the network is left out: with {inputs:,} inputs it would have {count:,} parameters to learn from {len(x):,} "
        "rows; ",
        Parameter("model", "mlp"),
        " asks for it",
    )


def _beats(metric: Metric, value: float, best: float) -> bool:
    """Whether a candidate is better than a simpler one by more than rounding: a negative binomial distribution without
    dispersion is Poisson's.
    """
    return metric.better(value, best) and not math.isclose(value, best, rel_tol=_SAME)


def _passed(started: float) -> float:
    """Return the seconds since a time."""
    return time.perf_counter() - started


def _variance(predictions: Predictions, rows: KnownRows) -> float:
    """Return the variance of the residuals: the mean of their squares."""
    with np.errstate(over="ignore"):
        return float(np.average((rows.y - predictions.values) ** 2, weights=rows.weights))


def _line(task: Task, options: Options) -> list[Candidate]:
    """Return the candidates, after every check that needs no rows."""
    from linnet.estimators.mlp.settings import check_settings

    line = candidates(task, options)
    network = next((candidate for candidate in line if candidate.by_epochs), None)
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
            raise ConfigError(f"{candidate.name} takes no row weights: use another model, or repeat rows")
    return line


def _metrics(task: Task, line: list[Candidate], options: Options) -> tuple[Metric, list[Metric]]:
    """Return the metric that chooses, which all candidates must support, and all metrics that are reported."""
    every = metrics_of(task) if all(each.proba for each in line) else []
    possible = every or [metric for metric in metrics_of(task) if metric.needs is not Needs.PROBABILITIES]
    chooser = as_metric(options.metric, task) if options.metric else possible[0]
    if chooser.needs is Needs.PROBABILITIES and not every:
        names = ", ".join(metric.name for metric in possible)
        raise ConfigError(
            f"{chooser.name} needs probabilities, which {options.model} does not have: choose from {names}"
        )
    return chooser, [chooser, *(metric for metric in metrics_of(task) if metric.name != chooser.name)]


def _check_checkpoint(network: Candidate | None, options: Options) -> None:
    """Raise at once the errors of the network's fit that can be known without the rows."""
    assert options.checkpoint is not None
    if network is None:
        raise ConfigError(
            "a checkpoint is for the network, and ", Parameter("model", options.model), " has none: use auto or mlp"
        )
    if options.resume:
        try:
            _check_any(options.checkpoint, [network, *(network.under(head) for head in network.heads[1:])])
        except FileNotFoundError:
            raise ConfigError(
                f"there is no checkpoint {options.checkpoint} to resume: the network had not started, or the file is "
                "elsewhere; to start over, give ",
                Parameter("resume", False),
            ) from None


def _check_any(checkpoint: str, networks: list[Candidate]) -> None:
    """Refuse a checkpoint from which none of these networks can continue."""
    from linnet.estimators.mlp.resume import check_resumable

    reasons = []
    for network in networks:
        try:
            check_resumable(checkpoint, network.make())
        except ConfigError as error:
            reasons.append(error)
    if len(reasons) == len(networks):
        raise reasons[0]


def _fitted(candidate: Candidate, rows: Examples, checkpoint: str | None) -> Any:
    """Return the candidate's model, fitted, or continued from a checkpoint."""
    from linnet.estimators.mlp.resume import resume

    model = candidate.make()
    given = {name: values for name, values in rows.given.items() if name in candidate.takes}
    if checkpoint is not None:
        y: Any = rows.y  # encoded already, which `resume` takes as well
        model = resume(checkpoint, rows.x, y, given.pop("sample_weight", None), model=model, **given)
    else:
        model.fit(rows.x, rows.y, **given)
    if candidate.by_epochs:
        model.set_params(checkpoint=None)  # the model file is of the model, not of the run
    return model


def tuned_for(metric: str | None) -> str:
    """The metric that a threshold is tuned for where a model is chosen by this one: itself if it has a best threshold,
    else F1. The others do not depend on it, or are best where all rows are positive, or next to none.
    """
    return metric if metric and metric_named(metric).objective is not None else "f1"


def _with_threshold(
    model: TableModel, predictions: Predictions, rows: KnownRows, options: Options
) -> tuple[TableModel, Predictions]:
    """Return the model with the requested or the best threshold, and the classes that it then predicts."""
    if options.threshold is None:
        return model, predictions
    assert model.classes is not None
    assert predictions.proba is not None
    if options.threshold == "tune":
        positive = rows.y == model.classes[1]
        objective = metric_named(tuned_for(options.metric)).objective
        assert objective is not None
        chosen = objective(float(np.average(positive, weights=rows.weights)))
        found = best_threshold(positive, predictions.proba[:, 1], chosen, sample_weight=rows.weights)
        threshold = found.threshold
    else:
        threshold = float(options.threshold)
    return replace(model, threshold=threshold), predictions.decided(model.classes, threshold)
