"""What a fit gives does not depend on the BLAS that NumPy was built with, nor on the kernels and threads it picks."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PROGRAM = Path(__file__).with_name("fits_of_all_kinds.py")
KERNELS = ({"OPENBLAS_CORETYPE": "Haswell"}, {"OPENBLAS_CORETYPE": "Prescott", "OPENBLAS_NUM_THREADS": "1"})


def run(settings: dict[str, str]) -> list[str]:
    done = subprocess.run(
        [sys.executable, str(PROGRAM)], env={**os.environ, **settings}, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_the_bytes_of_every_fit_are_the_same_under_any_kernel() -> None:
    with ThreadPoolExecutor() as pool:
        first, second = pool.map(run, KERNELS)
    assert len(first) > 150
    assert [line for line, other in zip(first, second, strict=True) if line != other] == []
