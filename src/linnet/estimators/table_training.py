"""From a table to a model: candidates are fitted one after the other (a constant, linear, a generalized linear model, a
network), and the one that predicts the held-out rows best is kept.
"""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linnet.checks import check_number, check_seed
from linnet.config import checked_threads
from linnet.data.schema import Schema
from linnet.errors import ConfigError, DataError, FitWarning, LinnetError, hearing
from linnet.estimators.candidates import Candidate, candidates
from linnet.estimators.table_answers import Answers
from linnet.estimators.table_metrics import Measure, as_measure, measures
from linnet.estimators.table_model import (
    Array,
    Examples,
    Roles,
    TableModel,
    Tried,
    check_given,
    target_of,
    with_target,
)
from linnet.estimators.table_network import TableNetwork
from linnet.estimators.table_whole import Whole
from linnet.evaluate.thresholds import Cost, Objective, as_objective, best_threshold

if TYPE_CHECKING:
    import pyarrow as pa

LEAST_ROWS = 10


def split(y: Array, classes: bool, part: float, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows to train on and rows to hold out, in order; each class gives its share, but never all of its rows."""
    random = np.random.default_rng(seed).permutation(len(y))
    if not classes:
        count = min(max(1, round(part * len(y))), len(y) - 1)
        return np.sort(random[count:]), np.sort(random[:count])
    held = np.zeros(len(y), np.bool_)
    _, codes = np.unique(y[random].astype(str), return_inverse=True)
    for code in range(codes.max() + 1):
        rows = random[codes == code]
        held[rows[: min(round(part * len(rows)), len(rows) - 1)]] = True
    return np.flatnonzero(~held), np.flatnonzero(held)


@dataclass(frozen=True)
class Options:
    """How to train."""

    model: str = "auto"
    params: Mapping[str, Any] = field(default_factory=dict)  # of the network, or of the sequential one
    valid: float = 0.2  # the part of the rows to hold out
    metric: str | None = None
    threshold: str | None = None  # "tune", or a number
    class_weight: Any = None
    seed: int = 0
    threads: int | None = None
    verbose: int = 0
    checkpoint: str | None = None  # the file to keep the network's run in
    resume: bool = False  # go on from it

    def __post_init__(self) -> None:
        check_seed(self.seed)
        check_number(self.valid, "valid", at_least=0, below=1)
        if self.threads is not None:
            checked_threads(self.threads)
        if self.threshold not in (None, "tune"):
            try:
                check_number(float(self.threshold), "threshold", at_least=0, at_most=1)
            except ValueError:  # a ConfigError is one
                raise ConfigError(f"threshold must be 'tune' or a number from 0 to 1, got {self.threshold!r}") from None


Told = Callable[[str], None]


def train(
    table: "pa.Table",
    schema: Schema,
    roles: Roles,
    options: Options,
    *,
    valid: "pa.Table | None" = None,
    numbers: NDArray[np.int64] | None = None,
    whole: Whole | None = None,
    begin: Told = lambda name: None,
) -> tuple[TableModel, Examples, "pa.Table"]:
    """Return the best candidate, the rows it was trained on, and those it was not. `begin` is told each one's name.

    `whole`: where all rows are, if `table` has only some of them, with these `numbers`.
    """
    task = schema.task
    assert task is not None
    classes = task.endswith("classes")
    line = _line(task, roles, options)
    chooser, wanted = _measures(task, line, options)
    known = schema.has_target(table)
    table, numbers = table.filter(known), np.flatnonzero(known) if numbers is None else numbers[known]
    if len(table) < LEAST_ROWS:
        raise DataError(f"only {len(table)} rows have a value of {roles.target!r}: at least {LEAST_ROWS} are needed")
    check_given(table, roles, numbers)
    held: NDArray[np.int64] = numbers[:0]
    if valid is None:
        inner, outer = split(target_of(table, schema, task), classes, options.valid, options.seed)
        if len(outer) < 2 or len(inner) < 5:
            raise ConfigError(
                f"--valid {options.valid:g} of {len(table):,} rows holds out {len(outer)} and leaves {len(inner)} to "
                f"learn from: {'raise' if len(outer) < 2 else 'lower'} it"
            )
        table, valid, held = table.take(inner), table.take(outer), numbers[outer]
    else:
        valid = with_target(valid, schema)
    some = Examples.of(table, schema, roles)
    if some.x.shape[1] == 0:
        raise DataError("no column is left to learn from: " + ("; ".join(schema.notices) or "there is no other one"))
    named = np.unique(target_of(table, schema, task)) if classes else None
    _check_held(valid, schema, roles, named)
    every: Examples | None = None  # row, for the models that read them from a file
    blank = TableModel(schema, roles, task, None, named, metric=chooser.name)
    tried: list[Tried] = []
    best: tuple[float, TableModel, Examples] | None = None
    network = next((candidate for candidate in line if candidate.name == "mlp"), None)
    for candidate in line:
        begin(candidate.name)
        started = time.perf_counter()
        try:
            with hearing(FitWarning):
                if whole is not None and candidate.from_file and every is None:
                    every = whole.examples(table, schema, roles, named, held)
                rows = every if every is not None and candidate.from_file else some
                given = {name: values for name, values in rows.given.items() if name in candidate.takes}
                go_on = options.checkpoint if options.resume and candidate is network else None
                estimator = _fitted(candidate, rows, given, go_on)
            model = replace(blank, estimator=estimator)
            _set_threshold(model, valid, options)
            answers = Answers.of(model, valid)
            seconds, scores = _passed(started), answers.scores(wanted)
            model.measure(answers.said, answers.y, answers.weights)
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
        value = scores.get(chooser.name, float("nan")) * (1 if chooser.higher else -1)
        value = value if np.isfinite(value) else -np.inf
        if best is None or value > best[0]:
            best = value, model, rows
            tried = [replace(one, chosen=one is tried[-1]) for one in tried]
    if best is None:
        raise DataError("; ".join(dict.fromkeys(one.failed for one in tried if one.failed)))
    model = replace(best[1], tried=tuple(tried))
    model.facts = {"rows": len(best[2]), "held_out": len(valid), "seed": options.seed}
    if isinstance(model.estimator, TableNetwork):
        held_out = Examples.of(valid, schema, roles, named)
        losses = [model.estimator.mean_loss(rows.x, rows.y) for rows in (best[2], held_out)]
        model.facts["losses"] = dict(zip(("train", "held_out"), losses, strict=True))
    return model, best[2], valid


def _passed(started: float) -> float:
    """Seconds since then."""
    return time.perf_counter() - started


def _check_held(valid: "pa.Table", schema: Schema, roles: Roles, classes: Array | None) -> None:
    """Refuse held-out rows that no candidate could be measured by."""
    assert schema.task is not None
    try:
        schema.apply(valid.slice(0, 1))
        target_of(valid, schema, schema.task, classes)
    except DataError as error:
        raise DataError(f"the held-out rows: {error}") from None


def _line(task: str, roles: Roles, options: Options) -> list[Candidate]:
    """The candidates, once all that can be told without the rows is known to be right."""
    from linnet.estimators.mlp_settings import check_settings

    line = candidates(
        task,
        options.model,
        params=options.params,
        class_weight=options.class_weight,
        shifts=tuple(roles.shifts),
        seed=options.seed,
        threads=options.threads,
        verbose=options.verbose,
        checkpoint=options.checkpoint,
    )
    network = next((candidate for candidate in line if candidate.name == "mlp"), None)
    if network is not None:
        check_settings(network.make().get_params())
    if options.checkpoint is not None:
        _check_checkpoint(network, options)
    if options.threshold is not None and task != "two classes":
        raise ConfigError(f"a threshold is for two classes, and the task is {task!r}")
    for candidate in line:
        if options.threshold is not None and not candidate.proba:
            raise ConfigError(f"a threshold is on probabilities, and {candidate.name} has none: use logistic or mlp")
        if roles.weights is not None and "sample_weight" not in candidate.takes:
            raise ConfigError(f"{candidate.name} takes no weights of rows: use another model, or repeat rows")
    return line


def _measures(task: str, line: list[Candidate], options: Options) -> tuple[Measure, list[Measure]]:
    """The metric that chooses, which all candidates must have, and all that are told."""
    possible = [measure for measure in measures(task) if not measure.needs_proba or all(each.proba for each in line)]
    chooser = as_measure(options.metric, task) if options.metric else possible[0]
    if chooser.needs_proba and chooser not in possible:
        names = ", ".join(measure.name for measure in possible)
        raise ConfigError(f"{chooser.name} needs probabilities, which {options.model} has not: choose from {names}")
    return chooser, [chooser, *(m for m in measures(task) if m.name != chooser.name)]


def _check_checkpoint(network: Candidate | None, options: Options) -> None:
    """Refuse now what would be refused when it is the network's turn, as far as it can be told without the rows."""
    from linnet.estimators.resume import check_resumable

    assert options.checkpoint is not None
    if network is None:
        raise ConfigError(f"a checkpoint is for the network, and --model {options.model} has none: use auto or mlp")
    if options.resume:
        try:
            check_resumable(options.checkpoint, network.make())
        except FileNotFoundError:
            raise ConfigError(
                f"there is no checkpoint {options.checkpoint} to resume: the network had not begun, or the file is "
                "elsewhere; to begin, give --checkpoint instead"
            ) from None


def _fitted(candidate: Candidate, rows: Examples, given: dict[str, Any], checkpoint: str | None) -> Any:
    """The candidate's model, fitted, or gone on with from a checkpoint."""
    from linnet.estimators.resume import resume

    model = candidate.make()
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


def _set_threshold(model: TableModel, valid: "pa.Table", options: Options) -> None:
    if options.threshold is None:
        return
    if options.threshold != "tune":
        model.threshold = float(options.threshold)
        return
    assert model.classes is not None
    answers = Answers.of(model, valid)
    assert answers.proba is not None
    positive = answers.y == model.classes[1]
    objective = _objective(tuned_for(options.metric), float(np.average(positive, weights=answers.weights)))
    found = best_threshold(positive, answers.proba[:, 1], objective, sample_weight=answers.weights)
    model.threshold = found.threshold
