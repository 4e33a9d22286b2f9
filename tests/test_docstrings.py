"""Every public class and function documents each of its parameters, with a type, as an editor shows it."""

import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import linnet
from linnet import evaluate, heads, multiclass, theory

MODULES: list[ModuleType] = [linnet, evaluate, heads, multiclass, theory]
BUILT_BY_LINNET = {"linnet.evaluate.Metric", "linnet.evaluate.ThresholdObjective"}  # users never call these classes
TABLE_NAMES = {"X", "x", "y", "y_true", "y_pred", "y_proba", "sample_weight", "offset"}
KINDS = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def is_method(member: object) -> bool:
    return inspect.isfunction(member) or inspect.ismethod(member)


def documented() -> Iterator[tuple[str, Any]]:
    """Yield functions, classes and their public methods; of scikit-learn's metadata requests, none."""
    for module in MODULES:
        for name in module.__all__:
            value = getattr(module, name)
            if not callable(value) or value.__module__.startswith("linnet.tables"):
                continue
            yield f"{module.__name__}.{name}", value
            if not inspect.isclass(value):
                continue
            for key, member in inspect.getmembers(value):
                own = any(key in vars(base) for base in value.__mro__ if base.__module__.startswith("linnet"))
                if own and not key.startswith("_") and not key.endswith("_request") and is_method(member):
                    yield f"{module.__name__}.{name}.{key}", member


CASES = dict(documented())


def docstrings(name: str) -> list[str]:
    """Return the docstring, and for a method those of the methods that it overrides."""
    owner = CASES.get(name.rpartition(".")[0])
    if owner is None:
        return [inspect.getdoc(CASES[name]) or ""]
    overridden = (vars(base).get(name.rpartition(".")[2]) for base in owner.__mro__)
    return [inspect.getdoc(CASES[name]) or "", *(inspect.getdoc(each) or "" for each in overridden if each)]


def listed(docstring: str) -> dict[str, bool]:
    """Return the names in the sections of parameters and attributes, and whether each has a type."""
    names: dict[str, bool] = {}
    for section in re.findall(
        r"^(?:Parameters|Attributes)\n-+\n((?:.+\n|\n(?!\S+\n-))*)", docstring + "\n", re.MULTILINE
    ):
        for entry, kind in re.findall(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)( : .+)?$", section, re.MULTILINE):
            names |= {name.strip().lstrip("*"): bool(kind) for name in entry.split(",")}
    return names


def test_every_parameter_is_documented_with_a_type() -> None:
    undocumented, untyped = [], []
    for name, value in CASES.items():
        if name in BUILT_BY_LINNET:
            continue
        typed: dict[str, bool] = {}
        for docstring in reversed(docstrings(name)):
            typed |= listed(docstring)
        for each in inspect.signature(value).parameters.values():
            if each.name not in {*typed, "self"}:
                undocumented.append(f"{name}: {each.name}")
            elif not typed.get(each.name, True) and each.kind not in KINDS:
                untyped.append(f"{name}: {each.name}")
    assert not undocumented
    assert not untyped


def test_arrays_and_tables_have_types_of_their_own() -> None:
    for name, value in CASES.items():
        parameters = inspect.signature(value).parameters
        for each in TABLE_NAMES & set(parameters):
            assert parameters[each].annotation not in (object, "object"), f"{name}: {each}"


def test_each_summary_stands_alone() -> None:
    for name in CASES:
        summary = docstrings(name)[0].split("\n")[0]
        assert summary.endswith("."), name
        assert not summary.startswith("The same"), name
