"""The accuracy of the core's own exp, log, tanh ...: compiled and run for every instruction set this machine has."""

import shutil
import subprocess
from pathlib import Path

import pytest

from linnet import _native

SOURCE = Path(__file__).with_name("vecmath_accuracy.cpp")
CORE = SOURCE.parents[2] / "core"
COMPILER = shutil.which("g++")
FLAGS = ["-std=c++20", "-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", f"-I{CORE}"]
LINES = [line.split() for line in (CORE / "isas.txt").read_text().splitlines() if not line.startswith("#")]
ISAS = {isa: flags for isa, _, *flags in LINES if isa in _native.supported}

pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no g++ on this machine")


def run(isa: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    assert COMPILER is not None
    program = folder / f"vecmath_{isa}"
    build = [COMPILER, *FLAGS, *ISAS[isa], str(SOURCE), "-o", str(program)]
    built = subprocess.run(build, capture_output=True, text=True, timeout=300, check=False)
    assert built.returncode == 0, built.stderr[-3000:]
    return subprocess.run([str(program), *arguments], capture_output=True, text=True, timeout=300, check=False)


def test_every_build_is_in_the_list() -> None:
    assert {*_native.built} <= {isa for isa, *_ in LINES}
    assert {*_native.supported} == {*ISAS}


@pytest.mark.parametrize("isa", ISAS)
def test_every_function_is_within_its_bound(isa: str, tmp_path: Path) -> None:
    result = run(isa, tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    names = {line.split()[0] for line in result.stdout.splitlines()}
    assert {"exp", "expm1", "log", "log1p", "tanh", "sigmoid", "softplus", "erf", "gauss_cdf"} <= names
