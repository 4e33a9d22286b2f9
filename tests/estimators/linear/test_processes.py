"""Tests that need a process of their own: the memory a fit takes, and Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

linux = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")


def run(code: str) -> Any:
    """What the code prints last, as JSON; its products take one thread, so that others may work."""
    child = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        text=True,
        timeout=120,
    )
    assert child.returncode == 0, child.stderr
    return json.loads(child.stdout.splitlines()[-1])


MEMORY = """
import json, warnings
import numpy as np, pandas as pd, scipy.sparse as sp
import linnet

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
rows = 100_000

def memory(kind):  # not ru_maxrss, which a process has from its parent
    line = next(line for line in open("/proc/self/status") if line.startswith(kind))
    return int(line.split()[1]) * 1024

def now():
    return memory("VmRSS")

def peak():
    return memory("VmHWM")

MODELS = {"ridge": linnet.Ridge(), "logistic": linnet.LogisticRegression(), "poisson": linnet.PoissonRegressor()}
for model in MODELS.values():  # what is loaded at the first fit is not the data's
    model.fit(pd.DataFrame({"a": rng.random(99), "b": ["u", "v", "w"] * 33}), rng.integers(0, 2, 99))
    model.fit(sp.random(99, 9, 0.5, format="csr", random_state=0), rng.integers(0, 2, 99))
"""

TABLES = {
    "dense": "x = rng.standard_normal((rows, 100)); size = x.nbytes",
    "whole numbers": "x = rng.integers(-100, 1000, (rows, 100)); size = x.nbytes",
    "frame of whole numbers": """
x = pd.DataFrame({f"n{i}": rng.integers(-100, 1000, rows) for i in range(100)}, copy=False)
size = int(x.memory_usage().sum())
""",
    "sparse whole numbers": """
columns = np.tile(np.arange(0, 500, 10, dtype=np.int32), rows)  # 50 entries per row
columns += rng.integers(0, 10, len(columns), np.int32)
starts = np.arange(0, len(columns) + 1, 50, dtype=np.int32)
x = sp.csr_array((rng.integers(1, 9, len(columns)), columns, starts), shape=(rows, 500))
size = x.data.nbytes + x.indices.nbytes + x.indptr.nbytes
""",
    "levels": """
rows = 500_000
levels = pd.Index(["a", "b", "c"])
x = pd.DataFrame(
    {f"c{i}": pd.Categorical.from_codes(rng.integers(0, 3, rows, np.int8), levels) for i in range(120)}, copy=False
)
size = int(x.memory_usage().sum())
""",
    "constant column": "x = rng.standard_normal((rows, 100)); x[:, 7] = 0; size = x.nbytes",
    "sparse": """
columns = np.tile(np.arange(0, 500, 10, dtype=np.int32), rows)  # 50 entries per row
columns += rng.integers(0, 10, len(columns), np.int32)
starts = np.arange(0, len(columns) + 1, 50, dtype=np.int32)
x = sp.csr_array((rng.standard_normal(len(columns)), columns, starts), shape=(rows, 500))
size = x.data.nbytes + x.indices.nbytes + x.indptr.nbytes
""",
    "frame": """
levels = pd.Index([f"level {i}" for i in range(30)])
x = pd.DataFrame(
    {f"n{i}": rng.standard_normal(rows) for i in range(60)}
    | {f"c{i}": pd.Categorical.from_codes(rng.integers(0, 30, rows, np.int8), levels) for i in range(10)},
    copy=False,
)
size = int(x.memory_usage().sum())
""",
}


@linux
@pytest.mark.parametrize("kind", TABLES)
def test_a_fit_takes_less_memory_than_the_data(kind: str) -> None:
    taken = run(
        MEMORY
        + TABLES[kind]
        + """
y = rng.integers(0, 2, rows)
before, taken = now(), {}
for name, model in MODELS.items():
    model.fit(x, y)
    taken[name] = (peak() - before) / size
print(json.dumps(taken))
"""
    )
    assert len(taken) == 3
    assert max(taken.values()) < 1, taken


CLAIMS = """
rows = 600_000
levels = [pd.Index([f"level {i}" for i in range(n)]) for n in (2, 6, 10, 10, 11, 12, 22)]
x = pd.DataFrame(
    {f"n{i}": rng.standard_normal(rows) for i in range(2)}
    | {f"c{len(a)}{a[0]}": pd.Categorical.from_codes(rng.integers(0, len(a), rows, np.int8), a) for a in levels},
    copy=False,
)
exposure = rng.uniform(0.1, 1, rows)
y = rng.poisson(exposure / 10).astype(np.float64)
size = int(x.memory_usage().sum()) + y.nbytes + exposure.nbytes
open("/proc/self/clear_refs", "w").write("5")  # resets the peak
before = now()
model = linnet.PoissonRegressor(alpha=1e-6).fit(x, y, exposure=exposure)
print(json.dumps({"taken": (peak() - before) / size, "steps": model.n_iter_}))
"""


@linux
def test_levels_of_a_byte_stay_of_a_byte() -> None:
    result = run(MEMORY + CLAIMS)
    assert result["steps"] > 1
    assert result["taken"] < 1, result


WORDS = """
rows, columns, each = 12_000, 120_000, 200
places = np.sort((columns * rng.random((rows, each)) ** 4).astype(np.int32))  # few words often, many once
starts = np.arange(0, each * rows + 1, each, dtype=np.int32)
x = sp.csr_array((rng.uniform(0.02, 0.1, each * rows), places.ravel(), starts), shape=(rows, columns))
x.sum_duplicates()
x = sp.csr_array((x.data.copy(), x.indices.copy(), x.indptr), shape=x.shape)
del places
size = x.data.nbytes + x.indices.nbytes + x.indptr.nbytes
y = np.asarray(x[:, :300].sum(axis=1)).ravel() > np.asarray(x[:, 300:2000].sum(axis=1)).ravel()
open("/proc/self/clear_refs", "w").write("5")  # resets the peak
before = now()
model = linnet.LogisticRegression(C=10).fit(x, y)
print(json.dumps({"taken": (peak() - before) / size, "steps": int(model.n_iter_[0]), "right": model.score(x, y)}))
"""


@linux
def test_words_take_less_than_their_own_memory_again() -> None:
    """More columns than rows: the copy by columns and all steps of L-BFGS."""
    result = run(MEMORY + WORDS)
    assert result["steps"] > 20, "changes of many steps are remembered"
    assert result["right"] > 0.9
    assert result["taken"] < 1, result


WIDE = """
rows, columns = 1_000, 100_000
x = {x}
y = np.asarray(x[:, :20].sum(axis=1)).ravel() + rng.standard_normal(rows)
print(json.dumps({result}))
"""


@linux
def test_a_hundred_thousand_columns_dense() -> None:
    """A few iterations take as much memory as many."""
    wide = {"x": "rng.standard_normal((rows, columns), np.float32)"}
    wide["result"] = """{
        "least squares": float(np.abs(linnet.LinearRegression().fit(x, y).predict(x) - y).max()),
        "logistic": linnet.LogisticRegression(max_iter=2).fit(x, y > 0).score(x, y > 0),
        "peak": peak(),
    }"""
    result = run(MEMORY + WIDE.format(**wide))
    assert result["least squares"] < 1e-8
    assert result["logistic"] > 0.99
    assert result["peak"] < 4e9


@linux
def test_a_hundred_thousand_columns_sparse() -> None:
    places = "np.tile(np.arange(0, columns, 500), rows) + rng.integers(0, 500, 200 * rows)"
    arrays = f"rng.standard_normal(200 * rows), {places}, np.arange(0, 200 * rows + 1, 200)"
    wide = {"x": f"sp.csr_array(({arrays}), shape=(rows, columns))"}
    wide["result"] = """{
        "ridge": float(np.abs(x.T @ (y - (ridge := linnet.Ridge().fit(x, y)).predict(x)) - ridge.coef_).max()),
        "least squares": float(np.abs(linnet.LinearRegression().fit(x, y).predict(x) - y).max()),
        "logistic": linnet.LogisticRegression(C=100).fit(x, y > 0).score(x, y > 0),
        "peak": peak(),
    }"""
    result = run(MEMORY + WIDE.format(**wide))
    assert result["ridge"] < 1e-10  # the condition of an optimum: X'(y - z) = alpha coef
    assert result["least squares"] < 1e-8
    assert result["logistic"] > 0.99
    assert result["peak"] < 1e9


INTERRUPTED = """
import json
import numpy as np
import linnet

rng = np.random.default_rng(0)
x, y = rng.integers(0, 256, (60_000, 784), np.uint8), rng.integers(0, 10, 60_000)
model = linnet.LogisticRegression(tol=0, max_iter=10**9).fit(x[:200, :20], y[:200])
before, names = model.predict_proba(x[:50, :20]), sorted(vars(model))
print("started", flush=True)
try:
    while True:
        model.fit(x, y)
except KeyboardInterrupt:
    same = bool((model.predict_proba(x[:50, :20]) == before).all()) and sorted(vars(model)) == names
    model.set_params(tol=1e-6).fit(x[:100, :5], y[:100])
    print(json.dumps({"unchanged": same, "can be fitted": model.coef_.shape == (10, 5)}))
"""


def test_ctrl_c_ends_a_fit_and_leaves_the_model_as_it_was() -> None:
    child = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", INTERRUPTED], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "started\n"
        time.sleep(1)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=300)  # it would go on forever
    finally:
        child.kill()
        child.wait()
    assert child.returncode == 0, err
    assert json.loads(out) == {"unchanged": True, "can be fitted": True}


STEPS = """
import os, signal, threading
import numpy as np
from linnet._native import core

{before}
threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    {call}
except KeyboardInterrupt:
    print("true" if {early} else "false")
"""


@pytest.mark.parametrize(
    ("before", "call", "early"),
    [
        (
            "a, kept = np.eye(5000), np.full(5000, 7, np.uint8)",
            "core.cholesky(a, 1e-10, kept)",
            "kept[-1] == 7",
        ),
        (  # it never gains less than -1
            "x, f, a = np.ones(300), np.ones(300, np.uint8), np.eye(300)",
            "core.lasso_step(a, x, x, x, f, f, -1.0, 2**31 - 1, np.empty(300))",
            "True",
        ),
    ],
    ids=["cholesky", "lasso"],
)
def test_ctrl_c_is_heard_within_a_step(before: str, call: str, early: str) -> None:
    assert run(STEPS.format(before=before, call=call, early=early))
