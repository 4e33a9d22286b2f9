"""What the benchmark trains: network shapes, data, initial weights and row orders.

Every side gets the arrays made here, so all of them do the same arithmetic.
MNIST is read from LINNET_DATA (a directory holding mnist/), by default
shared/data beside the repository; without it, synthetic digits stand in.
`sgemm_rate` measures what the machine could do at best.
"""

from __future__ import annotations

import gzip
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Integers = NDArray[np.int32]
PIXELS = 784


@dataclass(frozen=True)
class Workload:
    """One training problem: softmax cross-entropy on integer labels."""

    name: str
    layers: tuple[int, ...]
    optimizer: str
    lr: float
    batch: int
    rows: int
    target_ratio: float
    activation: str = "relu"
    # Rows per timed epoch for the sides that are slow here; their times are scaled.
    slow_rows: int | None = None

    @property
    def steps(self) -> int:
        """Updates per epoch; rows are a multiple of the batch."""
        return self.rows // self.batch

    @property
    def title(self) -> str:
        """Its units from input to output, its optimizer and its batch."""
        return f"{'-'.join(map(str, self.layers))}, {self.optimizer}, batch {self.batch}"


# The rates for batch 1 are lower because 0.1 makes single-row steps diverge, and
# a diverging loss says nothing about whether the sides compute the same.
WORKLOADS = (
    Workload("softmax-b32", (784, 10), "sgd", 0.1, 32, 4992, 4.0),
    Workload("mlp10-b32", (784, 10, 10), "sgd", 0.1, 32, 4992, 4.0),
    Workload("softmax-b1", (784, 10), "sgd", 0.01, 1, 5000, 5.0, slow_rows=1000),
    Workload("mlp10-b1", (784, 10, 10), "sgd", 0.01, 1, 5000, 5.0, slow_rows=1000),
    Workload("tabular-64-64", (20, 64, 64, 2), "adam", 1e-3, 256, 99840, 2.5),
    Workload("mlp-256-128", (784, 256, 128, 10), "adam", 1e-3, 128, 19968, 1.5),
    Workload("mlp-1024-1024", (784, 1024, 1024, 10), "adam", 1e-3, 256, 19968, 1.2),
)
BY_NAME = {workload.name: workload for workload in WORKLOADS}


def data_root() -> Path:
    """Directory with one folder per data set."""
    override = os.environ.get("LINNET_DATA")
    if override:
        return Path(override)
    return Path(__file__).resolve().parents[2] / "shared" / "data"


def _read_idx(path: Path, header: int, count: int) -> NDArray[Any]:
    """The first `count` bytes after the header of a gzipped IDX file."""
    with gzip.open(path) as stream:
        stream.read(header)
        return np.frombuffer(stream.read(count), dtype=np.uint8)


def _synthetic_digits(rows: int, seed: int) -> tuple[Floats, Integers]:
    """Ten fixed sparse patterns with pixel noise, shaped like MNIST; a tenth of the labels are wrong."""
    patterns = np.random.default_rng(0)
    centers = patterns.random((10, PIXELS)) * (patterns.random((10, PIXELS)) < 0.2)
    rng = np.random.default_rng([1, seed])
    y = rng.integers(0, 10, rows).astype(np.int32)
    noise = rng.normal(0.0, 0.3, (rows, PIXELS)) * (centers[y] > 0)
    x = np.clip(centers[y] + noise, 0.0, 1.0).astype(np.float32)
    return x, np.where(rng.random(rows) < 0.1, rng.integers(0, 10, rows), y).astype(np.int32)


def digits(rows: int, *, test: bool = False) -> tuple[Floats, Integers]:
    """The first rows of MNIST with pixels in [0, 1], or their synthetic stand-in."""
    part = "t10k" if test else "train"
    images = data_root() / "mnist" / f"{part}-images-idx3-ubyte.gz"
    if not images.exists():
        return _synthetic_digits(rows, int(test))
    names = images.with_name(f"{part}-labels-idx1-ubyte.gz")
    x = _read_idx(images, 16, rows * PIXELS).reshape(rows, PIXELS)
    y = _read_idx(names, 8, rows).astype(np.int32)
    return x.astype(np.float32) / np.float32(255.0), y


def _tabular(rows: int, columns: int) -> tuple[Floats, Integers]:
    """Two classes split by a curved surface with some label noise."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, columns)).astype(np.float32)
    score = np.sin(2.0 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.5 * x[:, 3] ** 2 - 0.5
    score += 0.3 * rng.normal(size=rows)
    return x, (score > 0).astype(np.int32)


def load(workload: Workload) -> tuple[Floats, Integers]:
    """Inputs and class numbers of a workload."""
    if workload.layers[0] == PIXELS:
        return digits(workload.rows)
    return _tabular(workload.rows, workload.layers[0])


def initial_weights(workload: Workload) -> list[tuple[Floats, Floats]]:
    """Kernels (inputs x units, Glorot uniform) and zero biases, layer by layer."""
    rng = np.random.default_rng(1)
    out = []
    for fan_in, units in zip(workload.layers, workload.layers[1:], strict=False):
        limit = np.sqrt(6.0 / (fan_in + units))
        kernel = rng.uniform(-limit, limit, (fan_in, units)).astype(np.float32)
        out.append((kernel, np.zeros(units, dtype=np.float32)))
    return out


def row_order(workload: Workload, epoch: int) -> Integers:
    """The permutation every side uses in the given epoch."""
    rng = np.random.default_rng([2, epoch])
    return rng.permutation(workload.rows).astype(np.int32)


def sgemm_rate(seconds: float = 1.0) -> dict[str, float]:
    """Best float32 matmul GFLOP/s of PyTorch and NumPy on one and two threads."""
    import torch
    from threadpoolctl import threadpool_limits

    rates = {}
    rng = np.random.default_rng(0)
    for m, k, n in ((256, 1024, 1024), (1024, 1024, 1024)):
        a, b = (rng.random(shape, dtype=np.float32) for shape in ((m, k), (k, n)))
        pairs = {
            "torch": (torch.matmul, torch.from_numpy(a), torch.from_numpy(b)),
            "numpy": (np.matmul, a, b),
        }
        for threads in (1, 2):
            torch.set_num_threads(threads)
            for library, (multiply, left, right) in pairs.items():
                best, end = np.inf, time.perf_counter() + seconds
                with threadpool_limits(threads):
                    while time.perf_counter() < end:
                        start = time.perf_counter()
                        multiply(left, right)
                        best = min(best, time.perf_counter() - start)
                key = f"{library} {m}x{k}x{n} {threads} thread(s)"
                rates[key] = 2e-9 * m * k * n / best
    return rates
