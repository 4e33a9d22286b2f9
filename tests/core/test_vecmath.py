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
LEVELS = [isa for isa in ("v2", "v3", "v4") if isa in _native.supported]  # of x86-64

pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no g++ on this machine")


def run(level: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    assert COMPILER is not None
    program = folder / f"vecmath_{level}"
    build = [COMPILER, *FLAGS, f"-march=x86-64-{level}", str(SOURCE), "-o", str(program)]
    built = subprocess.run(build, capture_output=True, text=True, timeout=300, check=False)
    assert built.returncode == 0, built.stderr[-3000:]
    return subprocess.run([str(program), *arguments], capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize("level", LEVELS)
def test_every_function_is_within_its_bound(level: str, tmp_path: Path) -> None:
    result = run(level, tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    names = {line.split()[0] for line in result.stdout.splitlines()}
    assert {"exp", "expm1", "log", "log1p", "tanh", "sigmoid", "softplus", "erf", "gauss_cdf"} <= names
