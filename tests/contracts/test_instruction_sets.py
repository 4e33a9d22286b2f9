"""Every build of the core that runs here, not only the best: part of the battery, in a separate process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from linnet import _native

HERE = Path(__file__).parent
PART = (  # of every kernel something
    "test_objective.py::test_every_head_over_every_shape",
    "test_objective.py::test_every_hidden_activation_in_every_shape",
    "test_training.py::test_every_optimizer",
    "test_training.py::test_dropout",
    "test_determinism.py::test_threads_change_no_sum",
    "test_heads.py",
    "test_cholesky.py",
    "../evaluate/test_kernels.py",
)
# One case out of several: the weighted ones, and batches that are not a multiple of anything.
FILTER = "not plain and not -45- and not -32-"


@pytest.mark.parametrize("isa", [isa for isa in _native.usable if isa != _native.isa])
def test_other_builds_agree_with_the_twin(isa: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "-p", "no:cacheprovider", "-k", FILTER]
    tests = [f"{HERE / part}" for part in PART]
    result = subprocess.run(
        [*command, *tests],
        env={**os.environ, "LINNET_ISA": isa},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-1000:]
    assert " passed" in result.stdout
