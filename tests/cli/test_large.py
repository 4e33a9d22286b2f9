"""A file of one gigabyte: a linear model of all its rows, in memory that does not depend on how many there are."""

import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest

import linnet
from linnet.tables.io.sources import open_source

ROWS, TIMES = 100_000, 110
MEGABYTES = 900  # of memory; the columns alone are 1,400 as numbers


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read off /proc")
def test_a_linear_model_of_a_gigabyte(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = {f"x{index}": rng.normal(size=ROWS).round(6) for index in range(9)}
    town = rng.integers(0, 20, ROWS)
    z = x["x0"] - 2 * x["x1"] + 0.1 * town - 1
    bought = np.where(rng.random(ROWS) < 1 / (1 + np.exp(-z)), "yes", "no")
    table = pa.table({**x, "town": [f"town {code}" for code in town], "bought": bought})
    block, large = tmp_path / "block.csv", tmp_path / "large.csv"
    csv.write_csv(table, block)
    header, _, text = block.read_bytes().partition(b"\n")
    with large.open("wb") as file:
        file.write(header + b"\n")
        for _ in range(TIMES):
            file.write(text)
    assert large.stat().st_size > 1e9
    words = ["train", "large.csv", "--target", "bought", "--model", "logistic", "--valid", "block.csv"]
    with subprocess.Popen(
        [sys.executable, "-m", "linnet", *words], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as command:
        most = 0.0
        while command.poll() is None:
            status = Path(f"/proc/{command.pid}/status").read_text()
            most = max(most, *(int(size) / 1024 for size in re.findall(r"RssAnon:\s+(\d+)", status)), 0.0)
            time.sleep(0.01)
        assert command.stdout is not None
        output = command.stdout.read()
    large.unlink()
    assert command.returncode == 0, output
    assert f"learn from all {ROWS * TIMES:,}, other models from those" in output
    assert most < MEGABYTES
    assert sorted(path.name for path in tmp_path.iterdir()) == ["block.csv", "model.linnet"]
    found = linnet.load(tmp_path / "model.linnet").estimator
    # each row occurs this many times, which equals a weight
    frame = open_source([block]).read()
    same = linnet.LogisticRegression(missing="fill").fit(
        frame.drop_columns(["bought"]), np.asarray(frame["bought"]), sample_weight=np.full(ROWS, float(TIMES))
    )
    assert found.coef_ == pytest.approx(same.coef_, rel=1e-6)
    assert found.intercept_ == pytest.approx(same.intercept_, rel=1e-6)
