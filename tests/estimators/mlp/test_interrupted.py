"""Ctrl-C while a perceptron trains: what was learned is kept, and before that nothing has changed."""

import subprocess
import sys
from typing import Any

import pytest

# A process that is sent SIGINT at a moment of its own choosing, and reports how its fit ended.
SCRIPT = """
import os, signal, sys, threading, warnings
import numpy as np
import linnet
from linnet.data.tabular_encoder import TabularEncoder
from linnet.fit.loop.training import Training

signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started the tests may not hear it

def strike(kind, name, time):  # after the call of that number
    original, calls = getattr(kind, name), iter(range(10**6))
    def then(self, *given, **named):
        result = original(self, *given, **named)
        if next(calls) == time:
            os.kill(os.getpid(), signal.SIGINT)
        return result
    setattr(kind, name, then)

def ending(fit):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fit()
        except KeyboardInterrupt:
            return "KeyboardInterrupt"
    return ", ".join(str(warning.message) for warning in caught) or "no word"

X = np.random.default_rng(0).normal(size=(400, 5))
y = (X[:, 0] > 0).astype(int)
model = linnet.MLPClassifier(random_state=0, max_iter=7, **{params!r})
if {fitted!r}:
    model.fit(X[:, :3], 1 - y)
before = {{name: id(value) for name, value in vars(model).items()}}
strike({kind}, {name!r}, {time})
stream = lambda: [*model.fit_stream(X, y)]
print(ending(stream if {streamed!r} else lambda: model.fit(X, y)))
print(before == {{name: id(value) for name, value in vars(model).items()}})
print(getattr(model, "n_iter_", None), getattr(model, "stop_reason_", None))
"""
PRESET: dict[str, Any] = {"preset": "tabular"}


def ended(kind: str, name: str, time: int = 0, *, fitted: bool = False, streamed: bool = False, **params: Any) -> Any:
    """How a fit that was struck after a call ended, whether the model is as it was, its epochs and reason."""
    script = SCRIPT.format(kind=kind, name=name, time=time, fitted=fitted, streamed=streamed, params=params)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:3]


@pytest.mark.pairwise
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("fitted", [False, True])
@pytest.mark.parametrize(
    ("kind", "name", "params"),
    [
        ("TabularEncoder", "learn", PRESET),  # the columns are known
        ("Training", "__init__", PRESET),  # the first network is ready
        ("Training", "_one_epoch", {**PRESET, "threads": 1}),  # and about to begin
        ("Training", "__init__", {}),
        ("Training", "_one_epoch", {}),
    ],
)
def test_before_anything_is_learned_everything_is_as_it_was(
    kind: str, name: str, params: Any, fitted: bool, streamed: bool
) -> None:
    message, unchanged, _ = ended(kind, name, fitted=fitted, streamed=streamed, **params)
    assert (message, unchanged) == ("KeyboardInterrupt", "True")


@pytest.mark.parametrize("threads", [1, 2])
def test_all_networks_of_a_preset_hear_it(threads: int) -> None:
    message, _, rest = ended("Training", "_verdict", 9, **PRESET, threads=threads)  # in the third epoch of four
    assert message == "training interrupted by user; the model is usable"
    assert rest == "2 interrupted"


def test_one_network_keeps_what_it_learned() -> None:
    message, _, rest = ended("Training", "_verdict", 2)
    assert message == "training interrupted by user; the model is usable"
    assert rest.split()[1] == "interrupted"
