"""Each room stands on what other rooms offer, not on their insides.

A private name may be used in the room that defines it. Where a name is defined in several rooms, each may use it:
which object it is of cannot be read off the source.

What is known about a distribution is in its head: no other room chooses by the name or the class of one.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import linnet
from linnet.heads import HEADS

FOLDER = Path(linnet.__file__).parent
FILES = sorted(FOLDER.rglob("*.py"))
PROTOCOL = {  # what files and graphs ask of an object, if it has it: see registry.py and export/onnx/file.py
    "_file_state",
    "_from_file",
    "_check_file",
    "_arguments",
    "_to_graph",
    "_made_up_row",
}


HOMONYMS = {  # constants that are so called in several files, for now; `plain` has everything twice on purpose
    *("HEADS", "ACTIVATIONS", "FUNCTIONS", "PRESETS", "DTYPE", "FEATURES"),
}


def room(path: Path) -> str:
    return path.relative_to(FOLDER).parts[0].removesuffix(".py")


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__") and name not in PROTOCOL


def is_own(value: ast.expr) -> bool:
    """self, cls or super()."""
    if isinstance(value, ast.Call):
        value = value.func
    return isinstance(value, ast.Name) and value.id in ("self", "cls", "super")


def foreign_private_names(tree: ast.AST) -> Iterator[str]:
    """Private attributes of anything but the object itself, and private names imported from linnet's modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr) and not is_own(node.value):
            yield node.attr
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("linnet"):
            yield from (each.name for each in node.names if is_private(each.name))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "setattr"):
            name = node.args[1]
            if isinstance(name, ast.Constant) and is_private(str(name.value)) and not is_own(node.args[0]):
                yield str(name.value)


def defined_private_names(tree: ast.AST) -> Iterator[str]:
    """Private functions, methods, classes, variables and attributes that a file makes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and is_private(node.name):
            yield node.name
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_own(node.value):
            yield node.attr
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and is_private(node.id):
            yield node.id


TREES = {path: ast.parse(path.read_text()) for path in FILES}
MODULES = {path.stem for path in FILES} | {"_core"}
DEFINED: dict[str, set[str]] = defaultdict(set)  # rooms, by name
for each_path, each_tree in TREES.items():
    for each_name in defined_private_names(each_tree):
        DEFINED[each_name].add(room(each_path))


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(FOLDER)) for path in FILES])
def test_no_private_name_of_another_room_is_used(path: Path) -> None:
    used = {name for name in foreign_private_names(TREES[path]) if DEFINED[name] and name not in MODULES}
    assert not {name for name in used if room(path) not in DEFINED[name]}


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


HEAD_NAMES = {name for kind in HEADS.values() for name in (kind.family, *kind.losses, *kind.keras_losses)}
HEAD_CLASSES = {kind.__name__ for kind in HEADS.values()}
OF_HEADS = ("heads", "plain", "learn")  # plain programs, and the course about them, have functions by name


def texts(node: ast.AST) -> set[str]:
    return {each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)}


def choices_by_head(tree: ast.AST) -> Iterator[str]:
    """Comparisons that ask which head it is, by its name or its class; an assertion chooses nothing."""
    asserted = {each for node in ast.walk(tree) if isinstance(node, ast.Assert) for each in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            for side in (node.left, *node.comparators):
                is_family = isinstance(side, ast.Attribute) and side.attr in ("family", "core_family")
                is_name = isinstance(side, ast.Constant | ast.Tuple | ast.List | ast.Set) and texts(side) & HEAD_NAMES
                if is_family or is_name:
                    yield ast.unparse(node)
        elif isinstance(node, ast.MatchValue) and texts(node) & HEAD_NAMES:
            yield ast.unparse(node)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
            names = {each.id for each in ast.walk(node.args[1]) if isinstance(each, ast.Name)}
            if names & HEAD_CLASSES and node not in asserted:
                yield ast.unparse(node)


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(FOLDER)) for path in FILES])
def test_nothing_outside_heads_asks_which_head_it_is(path: Path) -> None:
    assert room(path) in OF_HEADS or not list(choices_by_head(TREES[path]))


@pytest.mark.parametrize(
    "line",
    [
        "head.family == other",
        "kind.family in known",
        "loss == 'poisson'",
        "name in ('gamma', 'other')",
        "isinstance(head, Poisson)",
        "issubclass(kind, Normal | Laplace)",
        "match head.family:\n    case 'gamma': pass",
    ],
)
def test_a_choice_by_head_is_found(line: str) -> None:
    assert list(choices_by_head(ast.parse(line)))


@pytest.mark.parametrize("line", ["assert isinstance(head, Poisson)", "HEADS[family].title", "head.counts and task"])
def test_a_fact_of_a_head_is_none(line: str) -> None:
    assert not list(choices_by_head(ast.parse(line)))


def test_a_constant_has_one_meaning() -> None:
    """Such as SOLVERS: who reads a name in one file should not find another thing under it in the next."""
    where = defaultdict(list)
    for path in FILES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            for target in targets:
                if isinstance(target, ast.Name) and target.id.isupper() and not target.id.startswith("_"):
                    where[target.id].append(str(path.relative_to(FOLDER)))
    assert {name: files for name, files in where.items() if len(files) > 1 and name not in HOMONYMS} == {}
