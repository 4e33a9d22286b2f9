"""All facts of a report as plain values: what the page shows, and what programs get as JSON."""

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
    """What was trained on what, how good it is on rows it has not seen, and what it has learned.

    What the sections of the page measure are attributes, too, by the names that they have in JSON: `metrics`,
    `of_classes`, `of_numbers`, `coefficients`, `images`, `importance`, `importance_metric`, `dependence`, `history`.
    """

    target: Column
    task: Task
    reason: str  # for the task
    model: str  # the name of the candidate that was chosen
    what: str  # that is, in words
    estimator: str  # that is, in Python
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
    notices: tuple[str, ...]
    command: str
    versions: Mapping[str, str]
    by_section: Mapping[str, Any]

    def __getattr__(self, name: str) -> Any:
        known = self.__dict__.get("by_section", {})  # not there yet while a copy is made
        if name not in known:
            raise AttributeError(f"a report has no {name!r}: it has {', '.join(known)}")
        return known[name]

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as values that JSON has: numbers that are not finite are None."""
        own = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        found = own.pop("by_section")
        return {name: _plain(value) for name, value in (own | found).items()}


def how_trained(facts: Mapping[str, Any], files: Sequence[str]) -> str:
    """Return the command or the call that trains the model again; "" where it is not known."""
    parameters = facts.get("parameters")
    if parameters is None:  # a file of before: options by the names of the command
        settings = facts.get("settings")
        return "" if settings is None else command_of(settings, files)
    return (command_of if facts.get("by") == "command" else call_of)(parameters, files)


def versions() -> dict[str, str]:
    """The versions that a repetition needs."""
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
