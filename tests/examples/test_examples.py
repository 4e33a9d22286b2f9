import gzip
import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "examples"
PICTURES = {  # what each example draws
    "learning_behaviors.py": {"depth_and_batch_size.png", "optimizers.png", "softmax_weights.png"},
}


def write_mnist(folder: Path) -> None:
    """A few random images in the format of MNIST's files."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for name, rows in (("train", 50), ("t10k", 20)):
        images = struct.pack(">4i", 2051, rows, 28, 28) + rng.bytes(rows * 784)
        labels = struct.pack(">2i", 2049, rows) + bytes(row % 10 for row in range(rows))
        (folder / f"{name}-images-idx3-ubyte.gz").write_bytes(gzip.compress(images))
        (folder / f"{name}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(labels))


def test_every_example_is_known() -> None:
    assert {path.name for path in FOLDER.glob("*.py")} == PICTURES.keys()


@pytest.mark.parametrize("data", ["bundled digits", "files like MNIST's"])
@pytest.mark.parametrize("name", PICTURES)
def test_an_example_runs(tmp_path: Path, name: str, data: str) -> None:
    if data != "bundled digits":
        write_mnist(tmp_path / "data" / "mnist")
    out = tmp_path / "new" / "pictures"
    done = subprocess.run(
        [sys.executable, "-W", "error", FOLDER / name, "--epochs", "1", "--out", out],
        env={**os.environ, "LINNET_DATA": str(tmp_path / "data")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert str(out) in done.stdout
    assert {path.name for path in out.iterdir()} == PICTURES[name]
    for path in out.iterdir():
        picture = path.read_bytes()
        assert picture.startswith(b"\x89PNG\r\n\x1a\n")
        assert len(picture) > 20_000
