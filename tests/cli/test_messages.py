"""Messages name parameters: Python's where Python is asked, and options where the command is."""

import ast
import pickle
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest

import linnet
from linnet.cli.options import in_options
from linnet.data.targets import class_weights
from linnet.errors import ConfigError, DataError, FitError, LinnetError, Parameter, unknown_name

from .in_process import call

RNG = np.random.default_rng(0)
ROWS = 120
SIZE = RNG.normal(size=ROWS)
SOLD = np.where(SIZE + RNG.normal(size=ROWS) > 0, "yes", "no")
TABLE = pa.table({"size": SIZE, "valid seed": RNG.normal(size=ROWS), "sold": SOLD})

DOORS: list[tuple[dict[str, Any], str, tuple[object, ...], str]] = [
    (
        {"model": "logistic", "max_iter": 3},
        "max_iter is for the network, and model='logistic' is not one",
        ("--model", "logistic", "--epochs", 3),
        "--epochs is for the network, and --model logistic is not one",
    ),
    ({"seed": -1}, "seed must be an integer", ("--seed", -1), "--seed must be an integer"),
    ({"threads": 0}, "threads must be an integer", ("--threads", 0), "--threads must be an integer"),
    (
        {"valid": 0.001},
        "valid=0.001 of 120 rows holds out 0",
        ("--valid", 0.001),
        "--valid 0.001 of 120 rows holds out 0",
    ),
    ({"drop": "sold"}, "drop='sold': the column has a role", ("--drop", "sold"), "--drop sold: the column has a role"),
    (
        {"exposure": "size"},
        "exposure is for counts, and the task is 'two classes': set task, or drop the column",
        ("--exposure", "size"),
        "--exposure is for counts, and the task is 'two classes': set --task, or drop the column",
    ),
    (
        {"model": "sequential", "n_iter_no_change": 3},
        "model='sequential' does not stop early: leave out n_iter_no_change",
        ("--model", "sequential", "--patience", 3),
        "--model sequential does not stop early: leave out --patience",
    ),
    (
        {"model": "mlp", "solver": "adm"},
        "unknown solver 'adm': did you mean 'adam'?",
        ("--model", "mlp", "--optimizer", "adm"),
        "unknown --optimizer 'adm': did you mean 'adam'?",
    ),
    (
        {"model": "sequential", "solver": "adm"},
        "unknown solver 'adm': did you mean 'adam'?",
        ("--model", "sequential", "--optimizer", "adm"),
        "unknown --optimizer 'adm': did you mean 'adam'?",
    ),
    (
        {"model": "mlp", "hidden_layer_sizes": (0,)},
        "hidden_layer_sizes must be positive integers",
        ("--model", "mlp", "--hidden", "0"),
        "--hidden must be positive integers",
    ),
    (
        {"class_weight": {"yes": -5}},
        "class_weight of 'yes' must be at least 0",
        ("--class-weight", "yes=-5"),
        "--class-weight of 'yes' must be at least 0",
    ),
    (
        {"class_weight": {"si": 5}},
        "class_weight names 'si', which is not a class",
        ("--class-weight", "si=5"),
        "--class-weight names 'si', which is not a class",
    ),
    ({"task": "classes"}, "unknown task 'classes'", ("--task", "classes"), "unknown --task 'classes'"),
    ({"metric": "acuracy"}, "unknown metric 'acuracy'", ("--metric", "acuracy"), "unknown --metric 'acuracy'"),
    (
        {"text": "model='mlp'"},
        "unknown column \"model='mlp'\"",
        ("--text", "model='mlp'"),
        "unknown column \"model='mlp'\"",  # what a user wrote, although it looks like a parameter
    ),
    (
        {"checkpoint": "none.ckpt", "resume": True},
        "to start over, give resume=False",
        ("--resume", "none.ckpt"),
        "to start over, give --checkpoint instead of --resume",
    ),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    csv.write_csv(TABLE, folder / "data.csv")
    return folder


@pytest.mark.parametrize(
    ("given", "in_python", "words", "in_shell"), DOORS, ids=[shlex.join(map(str, door[2])) for door in DOORS]
)
def test_each_door_spells_parameters_in_its_own_way(
    folder: Path, given: dict[str, Any], in_python: str, words: tuple[object, ...], in_shell: str
) -> None:
    with pytest.raises((ConfigError, DataError)) as caught:
        linnet.train(TABLE, "sold", **given)
    assert in_python in str(caught.value)
    result = call("train", "data.csv", "--target", "sold", *words, "-o", "m.linnet", cwd=folder)
    assert result.code == 2
    assert in_shell in result.err


def test_divergence_names_the_rate_of_each_door(folder: Path) -> None:
    words = ("train", "data.csv", "--target", "size", "--drop", "sold", "--model", "sequential", "--optimizer", "sgd")
    result = call(*words, "--learning-rate", "1e30", "--epochs", 9, "-o", "m.linnet", cwd=folder)
    assert "lower --learning-rate from 1e+30" in result.err


def test_what_users_wrote_is_no_parameter() -> None:
    error = ConfigError("the column 'max_iter' holds task='a b': set ", Parameter("task", "a number"))
    assert str(error) == "the column 'max_iter' holds task='a b': set task='a number'"
    assert in_options(error) == "the column 'max_iter' holds task='a b': set --task 'a number'"


def test_an_error_keeps_its_parts_on_its_way_between_processes() -> None:
    for error in (unknown_name("solver", "adm", ["adam"]), FitError("lower ", Parameter("max_iter"))):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), again.args) == (type(error), str(error), (str(error),))
        assert in_options(again) == in_options(error) != str(error)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: class_weights({"a": np.nan}, np.array(["a", "b"]), np.array([0, 1])),
        lambda: linnet.Ridge(column_penalty={"size": -1.0}).fit(TABLE.select(["size"]), SIZE),
    ],
    ids=["a class", "a column"],
)
def test_a_number_for_one_of_several_names_it(wrong: Callable[[], object]) -> None:
    with pytest.raises(LinnetError, match=r"^(class_weight of 'a'|column_penalty of 'size') must be at least 0"):
        wrong()


def texts(tree: ast.AST) -> Iterator[str]:
    """All texts in a program but for docstrings."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def test_nothing_below_the_command_knows_its_options() -> None:
    root = Path(linnet.__file__).parent
    files = [path for path in root.rglob("*.py") if path.relative_to(root).parts[0] != "cli"]
    assert len(files) > 200
    for path in files:
        found = [text for text in texts(ast.parse(path.read_text())) if re.search(r"(?<![\w-])--[a-z]", text)]
        assert not found, path


def test_options_in_a_program_are_found() -> None:
    assert [*texts(ast.parse('"""--a"""\nraise E(f"set --task {x}")\n'))] == ["set --task "]
