"""All numbers of a report, as plain values: what the page shows, and what programs get as JSON."""

import dataclasses
import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linnet.errors import DataWarning, hearing
from linnet.evaluate import Interval
from linnet.report.class_facts import ClassFacts, class_facts
from linnet.report.coefficients import Coefficients, WeightImage, coefficients, weight_images
from linnet.report.importance import Dependence, Importance, Told, dependences, importances
from linnet.report.number_facts import NumberFacts, number_facts
from linnet.tables.kinds import Column
from linnet.tables.model import TableModel, Tried
from linnet.tables.options import call_of, command_of
from linnet.tables.predictions import Evaluation
from linnet.tables.rows import Examples
from linnet.tables.task import Task

_NO_CURVES = ("seconds", "learning_rate")


@dataclass(frozen=True, slots=True)
class Facts:
    """What was trained on what, how good it is on rows it has not seen, and what it has learned."""

    target: Column
    task: Task
    reason: str  # for the task
    model: str  # the name of the candidate that was chosen
    what: str  # that is, in words
    estimator: str  # the same in Python
    files: tuple[str, ...]
    rows: int | None  # trained on
    held_out: int
    seed: int | None
    roles: Mapping[str, str]  # columns with a task of their own: exposure, offset, weights
    classes: tuple[str, ...]  # the second of two is the positive one
    threshold: float | None  # if one was set
    columns: tuple[Column, ...]
    tried: tuple[Tried, ...]
    metric: str  # that chose
    distribution_metric: str  # that chose between distributions of counts, if another one
    metrics: tuple[Interval, ...]
    history: Mapping[str, tuple[float, ...]]
    of_classes: ClassFacts | None
    of_numbers: NumberFacts | None
    coefficients: Coefficients | None
    importance: tuple[Importance, ...]
    importance_metric: str
    dependence: tuple[Dependence, ...]
    images: tuple[WeightImage, ...]
    notices: tuple[str, ...]
    command: str
    versions: Mapping[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON has: numbers that are not finite are None."""
        return {field.name: _plain(getattr(self, field.name)) for field in dataclasses.fields(self)}


def facts_of(
    model: TableModel,
    data: Any = None,
    *,
    training: Examples | None = None,
    files: Sequence[str] = (),
    command: str = "",
    notices: Sequence[str] = (),
    progress: Told = lambda done: None,
) -> Facts:
    """Measure a model on rows that it was not trained on, of any kind; None: those held out of its training.

    `training`: the rows it was trained on, for the intervals of coefficients; `files`: where they came from, which a
    model file does not say. `command`: if not to be told by the settings that the model was trained with. `progress` is
    told which part is done.
    """
    with hearing(DataWarning) as said:
        if data is None:
            assert model.run is not None, "a model from a file has no rows"
            found = model.run.predictions
            found.rows.warn()
            evaluation = Evaluation(model, model.run.held_out, found)
        else:
            evaluation = Evaluation.of(model, data)
    return _measured(evaluation, training, files, command, (*notices, *said), progress)


def _measured(
    evaluation: Evaluation,
    training: Examples | None,
    files: Sequence[str],
    command: str,
    notices: Sequence[str],
    progress: Told,
) -> Facts:
    model = evaluation.model
    assert model.schema.target is not None
    metrics = evaluation.intervals()
    progress(0.2)
    known = model.facts
    seed = known.get("seed")
    chosen = next((one for one in model.tried if one.chosen), None)
    linear = coefficients(evaluation, training)
    progress(0.4)
    rises, importance = "", tuple[Importance, ...]()
    if hasattr(model.estimator, "coefs_"):
        rises, importance = importances(evaluation, seed or 0, lambda done: progress(0.4 + 0.5 * done))
        if len(importance) < len(model.schema.used):
            told = f"the {len(importance):,} that move the network most were shuffled to see how much each matters"
            notices = (*notices, f"of {len(model.schema.used):,} columns {told}")
    dependence = dependences(evaluation, importance, seed or 0)
    progress(1.0)
    roles = {"exposure": model.roles.exposure, "offset": model.roles.offset, "weights": model.roles.weights}
    return Facts(
        target=model.schema.target,
        task=model.task,
        reason=model.schema.reason,
        model=chosen.name if chosen else type(model.estimator).__name__,
        what=chosen.what if chosen else "",
        estimator=repr(model.estimator) if hasattr(model.estimator, "get_params") else type(model.estimator).__name__,
        files=tuple(files),
        rows=known.get("rows"),
        held_out=len(evaluation.y),
        seed=seed,
        roles={name: role for name, role in roles.items() if role is not None},
        classes=() if model.classes is None else tuple(str(name) for name in model.classes),
        threshold=model.threshold,
        columns=model.schema.columns,
        tried=model.tried,
        metric=model.metric,
        distribution_metric=known.get("distribution_metric", ""),
        metrics=metrics,
        history=_history(model.estimator),
        of_classes=class_facts(evaluation) if model.classes is not None else None,
        of_numbers=number_facts(evaluation) if model.classes is None else None,
        coefficients=linear,
        importance=importance,
        importance_metric=rises,
        dependence=dependence,
        images=weight_images(model),
        notices=tuple(dict.fromkeys((*notices, *model.schema.notices))),
        command=command or _how(known, files),
        versions=known.get("versions") or versions(),
    )


def _how(facts: Mapping[str, Any], files: Sequence[str]) -> str:
    """The command or the call that trains the model again; "" where it is not known."""
    parameters = facts.get("parameters")
    if parameters is None:  # a file of before: options by the names of the command
        settings = facts.get("settings")
        return "" if settings is None else command_of(settings, files)
    return (command_of if facts.get("by") == "command" else call_of)(parameters, files)


def versions() -> dict[str, str]:
    """What a repetition needs the same of."""
    import numpy
    import pyarrow
    import scipy

    import linnet

    found = {"linnet": linnet.__version__, "Python": platform.python_version(), "NumPy": numpy.__version__}
    return found | {
        "SciPy": scipy.__version__,
        "pyarrow": pyarrow.__version__,
        "machine": f"{platform.system()} {platform.machine()}",
    }


def _history(estimator: Any) -> dict[str, tuple[float, ...]]:
    """Numbers by epoch."""
    history = getattr(estimator, "history_", None) or {}
    if not history and hasattr(estimator, "mistakes_"):
        history = {"mistakes": estimator.mistakes_}
    return {name: tuple(float(v) for v in values) for name, values in history.items() if name not in _NO_CURVES}


def _plain(value: Any) -> Any:
    """What JSON has of a value."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
