"""The facts of a report as plain values: shown by the page, and written as JSON."""

import dataclasses
import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linnet.tables.kinds import Column
from linnet.tables.model import Tried
from linnet.tables.options import call_of, command_of
from linnet.tables.task import Task


@dataclass(frozen=True)
class Facts:
    """What was trained on which data, how good the model is on rows it has not seen, and what it has learned.

    The facts of the sections of the page, such as `metrics`, are attributes, too, by their names in JSON: each section
    lists its own in `empty`.

    Attributes
    ----------
    target : Column
        The target, as it was read.
    task : Task
        Two classes, several classes, counts or numbers.
    reason : str
        Why it is that task.
    model, what, estimator : str
        The name of the chosen candidate, a description, and its Python code.
    files : tuple of str
        The files of the training data.
    rows, held_out : int
        The number of training rows (None if unknown) and of test rows.
    seed : int or None
        The seed of the training.
    roles : dict of str to str
        Columns with a role: exposure, offset, weights.
    classes : tuple of str
        The classes, the second of two being the positive one; () for numbers.
    threshold : float or None
        The decision threshold, if one was set.
    columns : tuple of Column
        All other columns.
    tried : tuple of Tried
        The candidates.
    metric, distribution_metric : str
        The metric by which the model was chosen, and for counts the one that chose the distribution.
    notices : tuple of str
        What a reader should know about the data.
    command : str
        How to repeat the training.
    versions : dict of str to str
        The versions of the programs.
    by_section : dict
        The facts of the sections, by name.
    """

    target: Column
    task: Task
    reason: str
    model: str
    what: str
    estimator: str
    files: tuple[str, ...]
    rows: int | None
    held_out: int
    seed: int | None
    roles: Mapping[str, str]
    classes: tuple[str, ...]
    threshold: float | None
    columns: tuple[Column, ...]
    tried: tuple[Tried, ...]
    metric: str
    distribution_metric: str
    notices: tuple[str, ...]
    command: str
    versions: Mapping[str, str]
    by_section: Mapping[str, Any]

    def __getattr__(self, name: str) -> Any:
        known = self.__dict__.get("by_section", {})  # missing while a copy is made
        if name not in known:
            raise AttributeError(f"a report has no {name!r}: it has {', '.join(known)}")
        return known[name]

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as values of JSON; NaN and infinite numbers become None."""
        own = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        found = own.pop("by_section")
        return {name: _plain(value) for name, value in (own | found).items()}


def how_trained(facts: Mapping[str, Any], files: Sequence[str]) -> str:
    """Return the command or the Python call that trains the model again; "" if it is unknown."""
    parameters = facts.get("parameters")
    if parameters is None:  # an older file has the options of the command instead
        settings = facts.get("settings")
        return "" if settings is None else command_of(settings, files)
    return (command_of if facts.get("by") == "command" else call_of)(parameters, files)


def versions() -> dict[str, str]:
    """Return the versions needed to repeat the training."""
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


def _plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
