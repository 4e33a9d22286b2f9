"""Every public name of linnet.evaluate documents each of its parameters, with a type."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

from linnet import evaluate


def documented() -> Iterator[tuple[str, Any]]:
    """Yield functions, classes and their public methods."""
    for name in evaluate.__all__:
        value = getattr(evaluate, name)
        if not inspect.isclass(value):
            yield name, value
            continue
        yield name, value
        for key, member in inspect.getmembers(value):
            own = any(key in vars(base) for base in value.__mro__ if base.__module__.startswith("linnet"))
            if own and not key.startswith("_") and (inspect.isfunction(member) or inspect.ismethod(member)):
                yield f"{name}.{key}", member


CASES = dict(documented())


def listed(docstring: str) -> set[str]:
    """Return the names that have an entry in the sections of parameters and attributes."""
    names: set[str] = set()
    for section in re.findall(
        r"^(?:Parameters|Attributes)\n-+\n((?:.+\n|\n(?!\S+\n-))*)", docstring + "\n", re.MULTILINE
    ):
        for entry in re.findall(r"^(\*{0,2}\w+(?:, \w+)*)(?: : .+)?$", section, re.MULTILINE):
            names |= {name.strip().lstrip("*") for name in entry.split(",")}
    return names


@pytest.mark.parametrize("name", CASES)
def test_every_parameter_is_documented(name: str) -> None:
    value = CASES[name]
    parameters = set(inspect.signature(value).parameters) - {"self"}
    if "." not in name and inspect.isclass(value) and name in ("Metric", "ThresholdObjective"):
        return  # built by linnet, not by its users
    docstring = inspect.getdoc(value) or ""
    missing = parameters - listed(docstring)
    assert not missing


def test_each_summary_stands_alone() -> None:
    for name, value in CASES.items():
        first = (inspect.getdoc(value) or "").split("\n")[0]
        assert first.endswith("."), name
        assert not first.startswith("The same"), name
