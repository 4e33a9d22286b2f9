"""Ctrl-C: a real signal to a process that trains."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

CHILD = """
import json, time
import numpy as np
from linnet.data.rows import Rows
from linnet.fit.loop.training import Plan, Training
from linnet.fit.objective import NetworkObjective
from linnet.fit.loop.optimizers import SGD
from linnet.heads.activations import Activation
from linnet.heads import Bernoulli
from linnet.model.network import Layer, Network

inputs, hidden, n, batch, epochs, held = {settings}
rng = np.random.default_rng(0)
network = Network(inputs, (Layer(hidden, Activation("tanh")), Layer(1)), Bernoulli())
theta = (rng.normal(size=network.size) * 0.1).astype("float32")

def rows_of(n):  # one row again and again, without the memory
    x = np.broadcast_to(rng.normal(size=inputs).astype("float32"), (n, inputs))
    return Rows(x, values=rng.integers(0, 2, (n, 1)).astype("float32"))

class Started:  # a metric that reports when the first epoch's rows are done and the validation rows come next
    name, greater_is_better, reported = "started", True, False

    def __call__(self, mean, rows):
        if not self.reported:
            print("started", flush=True)
        self.reported = True
        return 0.0

plan = Plan(SGD(1e-4), epochs=epochs, batch_size=batch, metrics=[Started()] if held else [])
training = Training(network, theta, rows_of(n), plan, rows_of(held) if held else None)
started = bool(held)
for record in training.records():
    if not started:
        print("started", flush=True)
    started = True
ended = time.process_time()
mean = NetworkObjective(network, "float32").predict(training.theta, rng.normal(size=(3, inputs)))
print(json.dumps(dict(
    ended=ended,
    interrupted=training.interrupted,
    reason=training.stop_reason,
    moved=bool((training.theta != theta).any()),
    usable=bool(np.isfinite(training.theta).all() and ((mean > 0) & (mean < 1)).all()),
    updates=training.state().updates,
)))
"""

# inputs, hidden units, rows, rows per batch, epochs, validation rows
LONG_RUNS = {
    "many tiny steps": (20, 30, 100_000, 1, 100_000, 0),
    "one huge step": (50, 300, 4_000_000, 4_000_000, 100, 0),
    "a long validation": (50, 300, 64, 64, 100, 4_000_000),
}


def processor_seconds(process: int) -> float:
    """What a process has used up to now, all its threads together."""
    times = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processor times are read from /proc")
@pytest.mark.parametrize("run", LONG_RUNS)
def test_ctrl_c_ends_training_at_once_and_leaves_a_model(run: str) -> None:
    """It takes a slice of 0.05 s to hear the signal. Of processor time, which other work does not change,
    0.5 s of both threads are far below what a whole step or epoch takes here."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD.replace("{settings}", repr(LONG_RUNS[run]))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "LINNET_THREADS": "2"},
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "started\n"
        time.sleep(0.3)
        sent = processor_seconds(child.pid)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=300)
    finally:
        child.kill()
        child.wait()
    assert child.returncode == 0, err
    result = json.loads(out.splitlines()[-1])
    assert result["reason"] == "interrupted"
    assert result["interrupted"]
    assert result["usable"]
    assert result["ended"] - sent < 2 * 0.5
    if run == "one huge step":
        assert result["updates"] == 0
    else:
        assert result["moved"]
        assert result["updates"] > 0
