"""Models of very many columns, levels and epochs: their files are read in at most four times their size and 8 MB."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import linnet

LEVELS, COLUMNS = 300_000, 20_000

# The memory of a process of its own, before and after it has read a model: libraries are loaded by then, and the peak
# so far counts less than what is in use, as it may be memory that was given back.
READ = """
import resource, sys, tracemalloc
import numpy as np, linnet
few, path = sys.argv[1:]
for _ in range(2):
    linnet.load(few)
np.ones((64, 64)) @ np.ones((64, 64))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
linnet.load(path)
native = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) * (1 if sys.platform == "darwin" else 1024)
tracemalloc.start()
linnet.load(path)
print(native, tracemalloc.get_traced_memory()[1])
"""


def of_levels(count: int) -> tuple[Any, Any]:
    levels = np.array([f"{each:x}" for each in range(count)])
    table = pa.table({"level": pa.DictionaryArray.from_arrays(np.arange(count), levels)})
    return linnet.Ridge(max_iter=1).fit(table, np.arange(count) % 2), table[-5:]


def of_many_levels(count: int) -> tuple[Any, Any]:
    """Columns of a thousand levels each."""
    rows, codes = max(1000, count // 100), np.arange(max(1000, count // 100)) % 1000
    levels = [f"{each:x}" for each in range(1000)]
    column = pa.DictionaryArray.from_arrays(codes, levels)
    table = pa.table({f"c{each}": column for each in range(max(2, count // 1000))})
    return linnet.Ridge(max_iter=1).fit(table, np.arange(rows) % 2), table[-5:]


def of_columns(count: int) -> tuple[Any, Any]:
    table = pa.table({f"c{each}": [1.0, 2.5, each] for each in range(count)})
    return linnet.Ridge(max_iter=1).fit(table, [0.0, 1.0, 2.0]), table


def of_array(count: int) -> tuple[Any, Any]:
    x = np.random.default_rng(0).normal(size=(4, 10 * count))
    return linnet.Ridge(max_iter=1).fit(x, np.arange(4.0)), x


def of_table(count: int) -> tuple[Any, Any]:
    values = np.random.default_rng(0).normal(size=(20, count)).round(3)
    table = {f"c{each}": values[:, each] for each in range(count)} | {"word": ["a", "b"] * 10, "y": values[:, 0] * 2}
    return linnet.train(table, "y", model="linear"), table


def of_units(count: int) -> tuple[Any, Any]:
    x = np.random.default_rng(0).normal(size=(4, 200))
    return linnet.MLPRegressor(hidden_layer_sizes=(count, count), max_iter=1, random_state=0).fit(x, x[:, 0]), x


def of_epochs(count: int) -> tuple[Any, Any]:
    x = np.random.default_rng(0).normal(size=(20, 3))
    model = linnet.MLPRegressor(hidden_layer_sizes=(4,), max_iter=3, random_state=0).fit(x, x[:, 0])
    model.history_ = {name: np.resize(values, count).tolist() for name, values in model.history_.items()}
    return model, x


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("make", "count"),
    [
        *((of_levels, LEVELS), (of_many_levels, LEVELS), (of_columns, 5 * COLUMNS), (of_array, COLUMNS)),
        *((of_table, COLUMNS), (of_units, 1000), (of_epochs, 100_000)),
    ],
)
def test_large_models_are_read_in_the_memory_of_a_few_files(make: Any, count: int, tmp_path: Path) -> None:
    """What is refused for its memory is nothing that is written."""
    few, path = tmp_path / "few.linnet", tmp_path / "many.linnet"
    make(10)[0].save(few)
    model, rows = make(count)
    model.save(path)
    assert linnet.load(path).predict(rows).tolist() == model.predict(rows).tolist()
    done = subprocess.run([sys.executable, "-c", READ, few, path], capture_output=True, text=True, check=True)
    most = 4 * path.stat().st_size + (8 << 20)
    assert max(map(int, done.stdout.split())) < most


def test_a_large_model_that_was_read_gives_the_same_file_again(tmp_path: Path) -> None:
    model, _ = of_levels(LEVELS // 10)
    model.save(tmp_path / "a.linnet")
    linnet.load(tmp_path / "a.linnet").save(tmp_path / "b.linnet")
    assert (tmp_path / "b.linnet").read_bytes() == (tmp_path / "a.linnet").read_bytes()
