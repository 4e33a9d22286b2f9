"""The same run gives the same model file: on any number of threads, with or without a checkpoint, killed or not."""

import copy
import os
import signal
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linnet
from linnet import Checkpoint, LogisticRegression, MLPClassifier, MLPRegressor, TabularRegressor, ThresholdClassifier
from linnet.multiclass import LabelTreeClassifier, OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier

from .test_model_file import ARRAY, COUNTS, MODELS, TABLE, TWO, WORDS

pytestmark = pytest.mark.filterwarnings("ignore")

NET = MLPClassifier((4,), max_iter=3, random_state=0)
OTHERS: dict[str, tuple[Any, Any, Any]] = {
    "one versus rest": (OneVsRestClassifier(LogisticRegression(), random_state=0), TABLE, WORDS),
    "one versus rest, networks": (OneVsRestClassifier(NET, random_state=0), ARRAY, WORDS),
    "one versus one": (OneVsOneClassifier(NET), ARRAY, WORDS),
    "code": (OutputCodeClassifier(LogisticRegression(), random_state=0), ARRAY, WORDS),
    "tree": (LabelTreeClassifier(LogisticRegression()), ARRAY, WORDS),
    "threshold": (ThresholdClassifier(NET, "f2"), TABLE, WORDS == "no"),
}
EVERY = {**MODELS, **OTHERS}
EVERY["mlp, all options"][0].random_state = 3  # its generator would go on from fit to fit
RESUMED: dict[str, tuple[Any, Any, Any, dict[str, Any]]] = {
    "tuples, arrays and numbers of NumPy": (
        MLPClassifier(
            np.array([8, 4]),  # type: ignore[arg-type]
            activation=("tanh", "relu"),
            alpha=np.float64(0.25),
            l1=np.float32(0.5),  # type: ignore[arg-type]
            class_weight={"no": 2},
        ),
        TABLE,
        WORDS,
        {},
    ),
    "early stopping": (MLPClassifier((6,), early_stopping=True, n_iter_no_change=2, tol=0.1), TABLE, WORDS, {}),
    "an ensemble": (MLPClassifier((6,), preset="tabular"), TABLE, WORDS, {}),
    "TabularRegressor": (TabularRegressor("gamma", (6,)), TABLE, COUNTS + 1.0, {}),
    "numbers": (MLPRegressor(hidden_layer_sizes=[5]), ARRAY, TWO, {}),
    "counts": (MLPRegressor("poisson", (5,)), ARRAY, COUNTS, {"exposure": 1 + COUNTS}),
}


def fitted_bytes(model: Any, x: Any, y: Any, path: Path, **params: Any) -> bytes:
    model = copy.deepcopy(model)
    known = model.get_params()
    model.set_params(**{name: value for name, value in params.items() if name in known})
    model.fit(x, y).save(path)
    return path.read_bytes()


@pytest.mark.parametrize("name", EVERY)
def test_threads_verbosity_and_paths_are_not_in_the_file(name: str, tmp_path: Path) -> None:
    model, x, y = EVERY[name]
    (tmp_path / "elsewhere").mkdir()
    once = fitted_bytes(model, x, y, tmp_path / "a.linnet", threads=1, estimator__threads=1)
    other: dict[str, Any] = {"threads": 2, "verbose": 1, "n_jobs": 2, "checkpoint": tmp_path / "run.ckpt"}
    other |= {f"estimator__{name}": other[name] for name in ("threads", "verbose")}
    if model.get_params().get("solver") == "lbfgs":
        del other["checkpoint"]  # there are no epochs
    twice = fitted_bytes(model, x, y, tmp_path / "elsewhere" / "b.linnet", **other)
    assert once == twice
    assert b"seconds" not in once
    assert bytes(tmp_path) not in once


def of_resumed(name: str, path: Path) -> tuple[Any, bytes]:
    """A model that keeps its run at a path, and the file of a run that was left alone."""
    model, x, y, how = RESUMED[name]
    model = copy.deepcopy(model).set_params(max_iter=8, random_state=0)
    whole = copy.deepcopy(model).fit(x, y, **how)
    whole.save(path)
    return model, path.read_bytes()


@pytest.mark.parametrize("name", RESUMED)
def test_a_run_that_went_on_from_a_checkpoint(name: str, tmp_path: Path) -> None:
    _, x, y, how = RESUMED[name]
    model, expected = of_resumed(name, tmp_path / "whole.linnet")
    model.set_params(checkpoint=Checkpoint(tmp_path / "run.ckpt", epochs=1), threads=2)
    for record in model.fit_stream(x, y, **how):
        if record.epoch == 3:
            break
    resumed = linnet.resume(tmp_path / "run.ckpt", x, y, **how)
    assert resumed.n_iter_ > 3
    resumed.save(tmp_path / "resumed.linnet")
    assert (tmp_path / "resumed.linnet").read_bytes() == expected


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize("name", ["early stopping", "an ensemble"])
def test_a_run_that_was_killed_within_an_epoch(name: str, tmp_path: Path) -> None:
    _, x, y, how = RESUMED[name]
    model, expected = of_resumed(name, tmp_path / "whole.linnet")
    child = os.fork()
    if child == 0:
        records = model.set_params(checkpoint=Checkpoint(tmp_path / "run.ckpt", epochs=2)).fit_stream(x, y, **how)
        for record in records:
            if record.epoch == 3:
                os.kill(os.getpid(), signal.SIGKILL)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    linnet.resume(tmp_path / "run.ckpt", x, y, **how).save(tmp_path / "resumed.linnet")
    assert (tmp_path / "resumed.linnet").read_bytes() == expected


def test_an_unfitted_model_and_one_that_was_read_give_the_same_file_again(tmp_path: Path) -> None:
    MLPClassifier((3,), threads=2, checkpoint=tmp_path / "run").save(tmp_path / "a.linnet")
    read = linnet.load(tmp_path / "a.linnet")
    assert (read.threads, read.checkpoint) == (None, None)
    read.save(tmp_path / "b.linnet")
    assert (tmp_path / "a.linnet").read_bytes() == (tmp_path / "b.linnet").read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert "seconds" in MLPClassifier((3,), max_iter=2).fit(ARRAY, WORDS).history_
