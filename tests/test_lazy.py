"""Names that are loaded when they are first used."""

import importlib
import subprocess
import sys

import pytest

import linnet
from linnet import evaluate


@pytest.mark.parametrize("package", [linnet, evaluate])
def test_every_name_is_there_and_no_other(package: object) -> None:
    for name in package.__all__:  # type: ignore[attr-defined]
        first = getattr(package, name)
        assert getattr(package, name) is first
        assert name in vars(package)  # found without __getattr__ the next time
    with pytest.raises(AttributeError, match="has no attribute 'LinearRegresion'"):
        _ = package.LinearRegresion  # type: ignore[attr-defined]


def test_importing_loads_nothing_heavy() -> None:
    program = "import sys, linnet, linnet.evaluate; print({'numpy', 'scipy', 'sklearn', 'pyarrow'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("former", "name"),
    [("linnet.data.schema", "linnet.tables.schema"), ("linnet.fit.stopping", "linnet.fit.loop.stopping")],
)
def test_former_names_of_modules(former: str, name: str) -> None:
    program = f"""import importlib, warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    former = importlib.import_module({former!r})
assert former is importlib.import_module({name!r}) and former.__spec__.name == {name!r}
print(*(f"{{one.category.__name__}}: {{one.message}}" for one in caught))"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"DeprecationWarning: {former} is now called {name}"


@pytest.mark.parametrize(
    ("module", "former", "name"),
    [
        ("linnet.fit.objective", "Objective", "NetworkObjective"),
        ("linnet.fit.objective", "Sums", "NetworkSums"),
        ("linnet.evaluate.thresholds", "Objective", "ThresholdObjective"),
        ("linnet.theory.likelihood", "logsumexp_between", "logsumexp_bounds"),
    ],
)
def test_former_names_in_modules(module: str, former: str, name: str) -> None:
    home = importlib.import_module(module)
    with pytest.warns(DeprecationWarning, match=f"{module}.{former} is now called {name}"):
        assert getattr(home, former) is getattr(home, name)
    with pytest.raises(AttributeError, match="has no attribute 'Objectives'"):
        home.Objectives  # noqa: B018
