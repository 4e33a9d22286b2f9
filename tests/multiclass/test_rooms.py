"""Multiclass stands on what other rooms offer, not on their insides."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import linnet.multiclass

FOLDER = Path(linnet.multiclass.__file__).parent
FILES = sorted(FOLDER.rglob("*.py"))


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def is_own(value: ast.expr) -> bool:
    """self, cls or super()."""
    if isinstance(value, ast.Call):
        value = value.func
    return isinstance(value, ast.Name) and value.id in ("self", "cls", "super")


def foreign_private_names(tree: ast.AST) -> Iterator[str]:
    """Private attributes of anything but the object itself, and private names that linnet's modules define."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr) and not is_own(node.value):
            yield ast.unparse(node)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("linnet"):
            yield from (f"{node.module}.{each.name}" for each in node.names if is_private(each.name))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "setattr"):
            name = node.args[1]
            if isinstance(name, ast.Constant) and is_private(str(name.value)) and not is_own(node.args[0]):
                yield ast.unparse(node)


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(FOLDER)) for path in FILES])
def test_no_private_member_of_another_object_is_used(path: Path) -> None:
    assert not list(foreign_private_names(ast.parse(path.read_text())))


@pytest.mark.parametrize(
    "line",
    [
        "model._check_params()",
        "self.estimator._encoder",
        "from linnet.estimators.logistic import _whole_classes",
        "getattr(model, '_penalty')",
    ],
)
def test_what_is_private_is_found(line: str) -> None:
    assert list(foreign_private_names(ast.parse(line)))


@pytest.mark.parametrize(
    "line",
    ["self._draws(X)", "super()._labels(y)", "from linnet._native import core", "model.__dict__", "cls._names"],
)
def test_what_is_its_own_is_not(line: str) -> None:
    assert not list(foreign_private_names(ast.parse(line)))
