"""Every public class and function documents each of its parameters, with a type, as an editor shows it."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import linnet
from linnet import evaluate, heads, multiclass, theory
from linnet.cli.train import train as train_command
from linnet.fit.loop.optimizers import OPTIMIZERS
from linnet.heads import HEADS
from linnet.tables.kinds import KINDS as KINDS_OF_COLUMNS

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


# ---- lists that people read, of what a registry holds ----

GUIDE = Path(__file__).parents[1] / "docs" / "guide"


def words_of(text: str | None) -> set[str]:
    return set(re.findall(r"\w+", text or ""))


@pytest.mark.parametrize("kind", [linnet.MLPRegressor, linnet.TabularRegressor], ids=lambda kind: kind.__name__)
def test_a_regressor_names_all_losses(kind: type) -> None:
    assert {each.losses[0] for each in HEADS.values() if each.losses} <= words_of(inspect.getdoc(kind))


def test_compile_names_all_losses() -> None:
    words = words_of(inspect.getdoc(linnet.Sequential.compile))
    assert not [family for family, kind in HEADS.items() if kind.keras_losses and not words & {*kind.keras_losses}]


@pytest.mark.parametrize("kind", [linnet.MLPClassifier, linnet.MLPRegressor], ids=lambda kind: kind.__name__)
def test_a_network_names_all_optimizers(kind: type) -> None:
    assert {*OPTIMIZERS} <= words_of(inspect.getdoc(kind))


def test_the_command_names_all_optimizers() -> None:
    (option,) = inspect.get_annotations(train_command)["optimizer"].__metadata__
    assert {*OPTIMIZERS} <= words_of(option.help)


def test_the_guide_names_all_kinds_of_columns() -> None:
    table = (GUIDE / "tables.md").read_text(encoding="utf-8").split("| kind | recognised by | becomes |")[1]
    first_cells = [line.split("|")[1] for line in table.split("\n\n")[0].splitlines() if line.startswith("| ")]
    assert {str(each.kind) for each in KINDS_OF_COLUMNS} == words_of(" ".join(first_cells))
