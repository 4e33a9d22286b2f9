"""Checkpoints of an ensemble: left, killed and resumed, it ends with the bytes of one that was left alone."""

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import linnet
from linnet import Checkpoint, MLPClassifier, MLPRegressor, TabularClassifier
from linnet.errors import ConfigError, DataError
from linnet.fit.checkpoint.checkpoint import read_checkpoint

from ..killed import leave_behind  # noqa: TID252 - of all networks

RNG = np.random.default_rng(3)
ROWS = 300
X = pd.DataFrame(
    {
        "size": np.where(RNG.random(ROWS) < 0.1, np.nan, RNG.normal(50, 9, ROWS)),
        "colour": RNG.choice(["red", "blue", "green"], ROWS),
    }
)
NUMBER = X["size"].fillna(40).to_numpy() + 20 * (X["colour"] == "red") + RNG.normal(0, 4, ROWS)
CLASS = np.digitize(NUMBER, [45, 58])
COUNT = RNG.poisson(np.exp(NUMBER / 40))
WEIGHTS, TIME = RNG.uniform(0.5, 2, ROWS), RNG.uniform(0.5, 2, ROWS)
QUICK: dict[str, Any] = {"preset": "tabular", "random_state": 1, "hidden_layer_sizes": (8,), "max_iter": 14}
RUNS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "classes": (MLPClassifier(**QUICK), CLASS, {}),
    # members end at different epochs, and some long before the others
    "patience": (MLPClassifier(**{**QUICK, "n_iter_no_change": 2, "max_iter": 40}), CLASS > 1, {}),
    "TabularClassifier": (TabularClassifier((8,), random_state=1, max_iter=14), CLASS, {"sample_weight": WEIGHTS}),
    "numbers": (MLPRegressor(**QUICK), NUMBER, {"sample_weight": WEIGHTS}),
    "counts": (MLPRegressor("poisson", **QUICK), COUNT, {"exposure": TIME}),
    "eval_set": (MLPRegressor(**QUICK), NUMBER, {"eval_set": (X[:60], NUMBER[:60]), "eval_metric": "mae"}),
}


def params_of(model: Any) -> dict[str, Any]:
    return {**model.get_params()}


def left_after(epochs: int, model: Any, y: Any, how: dict[str, Any]) -> None:
    for record in model.fit_stream(X, y, **how):
        if record.epoch == epochs:
            break


def outcome_of(model: Any) -> tuple[Any, ...]:
    """Every result of a fit except the time."""
    history = {name: repr(values) for name, values in model.history_.items() if name != "seconds"}
    weights = [array.tobytes() for member in model.members_ for block in member for array in block]
    return weights, history, model.n_iter_, model.stop_reason_, model.predict(X).tobytes()


def test_a_preset_left_at_its_defaults(tmp_path: Path) -> None:
    """What was not chosen by the user is chosen by the preset again."""
    params: dict[str, Any] = {"preset": "tabular", "random_state": 0, "max_iter": 3}
    left_after(1, MLPClassifier(**params, checkpoint=Checkpoint(tmp_path / "run", epochs=1)), CLASS, {})
    resumed = linnet.resume(tmp_path / "run", X, CLASS)
    assert outcome_of(resumed) == outcome_of(MLPClassifier(**params).fit(X, CLASS))


@pytest.mark.parametrize("name", RUNS)
def test_left_after_any_epoch(name: str, tmp_path: Path) -> None:
    made, y, how = RUNS[name]
    whole = type(made)(**params_of(made)).fit(X, y, **how)
    last = whole.n_iter_
    if name == "patience":
        reasons = whole.stop_reason_.split("; ")
        assert len(set(reasons)) == 4, reasons
    for epochs in (0, 1, last // 2, last - 1, last):
        path = tmp_path / f"{epochs}.ckpt"
        every = Checkpoint(path, epochs=1)
        left = type(made)(**{**params_of(made), "checkpoint": every, "threads": 2})
        if epochs:
            left_after(epochs, left, y, how)
        else:
            records = left.fit_stream(X, y, **how)
            next(iter(records))
            records.close()
            path.with_name(path.name + ".previous").replace(path)  # as it was before the first epoch
        saved = read_checkpoint(path)
        assert len(saved.history) == epochs
        assert len(saved.snapshots) == 4
        resumed = linnet.resume(path, X, y, **how)
        assert outcome_of(resumed) == outcome_of(whole)
        assert outcome_of(linnet.resume(path, X, y, **how)) == outcome_of(whole)  # nothing left to do


def test_changes_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    made, y, _ = RUNS["numbers"]
    left_after(3, type(made)(**{**params_of(made), "checkpoint": Checkpoint(path, epochs=1)}), y, {})
    with pytest.raises(DataError, match="cannot resume with other data"):
        linnet.resume(path, X, y + 1e-3)
    with pytest.raises(DataError, match="cannot resume with other data: y has other values"):
        linnet.resume(path, X, 2 * y)
    with pytest.raises(DataError, match="the columns were"):
        linnet.resume(path, X.assign(colour="red"), y)
    with pytest.raises(DataError, match="weights was not given, now it is"):
        linnet.resume(path, X, y, WEIGHTS)
    with pytest.raises(ConfigError, match="max_iter was 14, now 15"):
        linnet.resume(path, X, y, model=MLPRegressor(**{**QUICK, "max_iter": 15}))
    with pytest.raises(ConfigError, match="random_state was 1, now 2"):
        linnet.resume(path, X, y, model=MLPRegressor(**{**QUICK, "random_state": 2}))
    with pytest.raises(ConfigError, match="preset was 'tabular', now None"):
        linnet.resume(path, X, y, model=MLPRegressor(**{**QUICK, "preset": None}))


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_killed_again_and_again(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    params = {**QUICK, "max_iter": 60, "n_iter_no_change": 60, "threads": 1}
    began = time.perf_counter()
    expected = MLPClassifier(**params).fit(X, CLASS)
    longest = (time.perf_counter() - began) / 4

    def whole() -> None:
        assert outcome_of(linnet.resume(path, X, CLASS)) == outcome_of(expected)

    leave_behind(
        path,
        lambda: MLPClassifier(**params, checkpoint=Checkpoint(path, epochs=1)).fit(X, CLASS),
        lambda: linnet.resume(path, X, CLASS),
        whole,
        longest,
    )
