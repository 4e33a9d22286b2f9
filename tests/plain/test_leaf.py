"""linnet.plain stands by itself: NumPy and the standard library, nothing else of linnet."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import linnet.plain

FILES = sorted(Path(linnet.plain.__file__).parent.glob("*.py"))


def imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, path
            found.add(str(node.module))
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_only_numpy_and_the_standard_library(path: Path) -> None:
    for name in imported(path):
        top = name.partition(".")[0]
        assert top == "numpy" or top in sys.stdlib_module_names or name.startswith("linnet.plain."), name


def test_every_file_is_in_the_table_and_no_other() -> None:
    assert linnet.plain.__doc__ is not None
    rows = [line.split("|")[1] for line in linnet.plain.__doc__.splitlines() if line.startswith("| ")][1:]
    assert {name.strip() for row in rows for name in row.split(",")} == {path.stem for path in FILES} - {"__init__"}


def test_programs_are_loaded_when_they_are_named() -> None:
    program = "import sys, linnet; print('numpy' in sys.modules, linnet.plain.mlp.MLP.__name__, 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "MLP", "True"]
    with pytest.raises(AttributeError, match="no attribute 'mpl'"):
        _ = linnet.plain.mpl  # type: ignore[attr-defined]


def test_files_are_short_enough_to_read_at_one_sitting() -> None:
    assert max(len(path.read_text().splitlines()) for path in FILES) <= 140


def test_training_a_network_loads_no_engine() -> None:
    program = """import sys, numpy as np
from linnet.plain import activations, heads, mlp, optimizers
net = mlp.MLP([2, 3, 1], [activations.ACTIVATIONS["tanh"]] + [activations.ACTIVATIONS["identity"]], heads.Normal())
mlp.train(net, np.ones((4, 2)), np.ones((4, 1)), optimizers.SGD(), epochs=1)
others = sorted(name for name in sys.modules if name.startswith("linnet.") and "plain" not in name)
print(others, "scipy" in sys.modules)"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['linnet._lazy', 'linnet._moved'] False"
