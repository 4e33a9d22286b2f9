"""Checkpoints of a multilayer perceptron, and linnet.resume after a kill."""

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

import linnet
from linnet import SGD, Checkpoint, Cosine, LeakyReLU, MLPClassifier, MLPRegressor
from linnet.errors import ConfigError, DataError

from ..killed import leave_behind  # noqa: TID252 - of all networks

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X, Y = load_digits(return_X_y=True)
X, Y = X[:500] / 16, Y[:500]
MODELS: dict[str, dict[str, Any]] = {
    "adam": {"hidden_layer_sizes": (20,), "dropout": 0.2, "max_iter": 12},
    "patience": {"hidden_layer_sizes": (12, 6), "early_stopping": True, "n_iter_no_change": 3, "max_iter": 40},
    "objects": {
        "hidden_layer_sizes": (10,),
        "activation": [LeakyReLU(0.3)],
        "solver": SGD(Cosine(0.3, epochs=10, warmup=1), momentum=0.8, nesterov=True, clip_norm=2.0),
        "class_weight": {3: 2.0},
        "max_iter": 10,
    },
    "adaptive": {
        "hidden_layer_sizes": (10,),
        "solver": "sgd",
        "learning_rate": "adaptive",
        "n_iter_no_change": 1,
        "tol": 0.05,
        "max_iter": 15,
    },
}


def left_after(epochs: int, model: Any, *data: Any, **how: Any) -> None:
    for record in model.fit_stream(*data, **how):
        if record.epoch == epochs:
            break


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", [0, None])
def test_a_run_that_was_left_ends_where_it_would_have_ended(name: str, seed: int | None, tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    interrupted = MLPClassifier(**MODELS[name], random_state=seed, checkpoint=Checkpoint(path, epochs=1))
    left_after(4, interrupted, X, Y)
    resumed = linnet.resume(path, X, Y)
    whole = MLPClassifier(**MODELS[name], random_state=seed)
    if seed is None:
        whole._train(whole._prepare(X, Y, None, seed=interrupted._seed), once=False)
    else:
        whole.fit(X, Y)
    assert resumed.n_iter_ == whole.n_iter_ > 4
    assert resumed.loss_curve_ == whole.loss_curve_
    assert resumed.stop_reason_ == whole.stop_reason_
    assert resumed.validation_scores_ == whole.validation_scores_
    for a, b in zip(resumed.coefs_ + resumed.intercepts_, whole.coefs_ + whole.intercepts_, strict=True):
        np.testing.assert_array_equal(a, b)
    again = linnet.resume(path, X, Y)  # a run that is over has nothing left to do
    np.testing.assert_array_equal(again.predict_proba(X), whole.predict_proba(X))
    assert again.n_iter_ == whole.n_iter_


def test_data_frames_and_everything_fit_takes(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    frame = pd.DataFrame({"a": X[:, 20], "b": np.where(Y % 2, "odd", "even"), "c": np.where(Y == 1, np.nan, X[:, 30])})
    how = {"exposure": 1 + X[:, 40], "eval_set": (frame[:50], Y[:50]), "eval_metric": "mae"}
    how["eval_exposure"] = 1 + X[:50, 40]
    params: dict[str, Any] = {"loss": "poisson", "hidden_layer_sizes": (5,), "max_iter": 9, "random_state": 1}
    weights = 1 + X[:, 50]
    left_after(3, MLPRegressor(**params, checkpoint=Checkpoint(path, epochs=2)), frame, Y, weights, **how)
    resumed = linnet.resume(path, frame, Y, weights, **how)
    whole = MLPRegressor(**params).fit(frame, Y, weights, **how)
    np.testing.assert_array_equal(resumed.predict(frame), whole.predict(frame))
    np.testing.assert_array_equal(resumed.history_["val_mae"], whole.history_["val_mae"])


def test_a_second_fit_goes_on_with_the_records_of_the_first(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    params: dict[str, Any] = {"hidden_layer_sizes": (8,), "max_iter": 5, "random_state": 0, "warm_start": True}
    whole = MLPClassifier(**params).fit(X, Y).fit(X, Y)
    left = MLPClassifier(**params, checkpoint=Checkpoint(path, epochs=1)).fit(X, Y)
    left_after(2, left, X, Y)
    resumed = linnet.resume(path, X, Y)
    assert resumed.loss_curve_ == resumed.history_["loss"] == whole.history_["loss"]
    assert len(whole.history_["loss"]) == 10


def test_what_has_changed_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    left_after(2, MLPClassifier(**MODELS["adam"], random_state=0, checkpoint=Checkpoint(path, epochs=1)), X, Y)
    with pytest.raises(DataError, match="X has other values"):
        linnet.resume(path, X + 1, Y)
    with pytest.raises(DataError, match="y has other values"):
        linnet.resume(path, X, Y[::-1])
    with pytest.raises(
        DataError, match=r"the classes have changed .10 before, 10 now.: now they lack 0, .* and have 'a', 'b'"
    ):
        linnet.resume(path, X, np.array(list("abcdefghij"))[Y])
    with pytest.raises(DataError, match="weights was not given, now it is"):
        linnet.resume(path, X, Y, np.ones(len(Y)) * 2)
    with pytest.raises(ConfigError, match=r"dropout was 0\.2, now 0\.3"):
        linnet.resume(path, X, Y, model=MLPClassifier(**{**MODELS["adam"], "dropout": 0.3}))
    with pytest.raises(ConfigError, match="it was MLPClassifier, now MLPRegressor"):
        linnet.resume(path, X, Y, model=MLPRegressor())
    with pytest.raises(FileNotFoundError):
        linnet.resume(tmp_path / "none", X, Y)
    with pytest.raises(ConfigError, match="unknown option of resume 'offset': choose from: eval_metric, eval_set"):
        linnet.resume(path, X, Y, offset=Y)
    left_after(2, MLPClassifier(**MODELS["adam"], checkpoint=path), X, Y % 2)
    with pytest.raises(DataError, match=r"the classes were \[0, 1\], now \['no', 'yes'\]"):
        linnet.resume(path, X, np.where(Y % 2, "yes", "no"))


def test_a_model_whose_run_cannot_go_on_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    model = MLPClassifier(**MODELS["adam"], random_state=0)
    left_after(2, MLPClassifier(**MODELS["adam"], random_state=0, checkpoint=path), X, Y)
    model.fit(X[:, :10], Y)
    before, probabilities = dict(vars(model)), model.predict_proba(X[:, :10])
    with pytest.raises(DataError, match="y has other values"):
        linnet.resume(path, X, Y[::-1], model=model)
    assert vars(model) == before
    np.testing.assert_array_equal(model.predict_proba(X[:, :10]), probabilities)


def test_a_function_has_to_be_given_again(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"

    def loss(y: Any, t: Any) -> Any:
        return np.log(np.cosh(y - t))

    params: dict[str, Any] = {"loss": loss, "hidden_layer_sizes": (5,), "max_iter": 6, "random_state": 0}
    left_after(2, MLPRegressor(**params, checkpoint=Checkpoint(path, epochs=1)), X, Y)
    with pytest.raises(ConfigError, match=r"loss was .*, which no file can hold: pass the model"):
        linnet.resume(path, X, Y)
    resumed = linnet.resume(path, X, Y, model=MLPRegressor(**params, checkpoint=path))
    np.testing.assert_array_equal(resumed.predict(X), MLPRegressor(**params).fit(X, Y).predict(X))


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_killed_again_and_again(tmp_path: Path) -> None:
    """A process that trains is killed at random moments until the run is done: the bytes of one that was left alone."""
    path = tmp_path / "run.ckpt"
    params: dict[str, Any] = {"hidden_layer_sizes": (30,), "dropout": 0.2, "max_iter": 60, "random_state": 0}
    params |= {"tol": 0.0, "n_iter_no_change": 1000, "threads": 1}
    began = time.perf_counter()
    expected = MLPClassifier(**params).fit(X, Y).predict_proba(X)
    longest = time.perf_counter() - began

    def whole() -> None:
        np.testing.assert_array_equal(linnet.resume(path, X, Y).predict_proba(X), expected)

    leave_behind(
        path,
        lambda: MLPClassifier(**params, checkpoint=Checkpoint(path, epochs=1)).fit(X, Y),
        lambda: linnet.resume(path, X, Y),
        whole,
        longest,
    )


def test_the_run_goes_on_in_the_file_that_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    left_after(2, MLPClassifier(**MODELS["adam"], random_state=0, checkpoint="run.ckpt"), X, Y)
    (tmp_path / "there").mkdir()
    Path("run.ckpt").rename("there/run.ckpt")
    Path("run.ckpt").write_text("notes")
    resumed = linnet.resume("there/run.ckpt", X, Y)
    assert Path("run.ckpt").read_text() == "notes"
    assert linnet.resume("there/run.ckpt", X, Y).n_iter_ == resumed.n_iter_ == 12


def test_another_function_is_another_parameter(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    params: dict[str, Any] = {"hidden_layer_sizes": (5,), "max_iter": 6, "random_state": 0}
    first = MLPRegressor(lambda y, t: np.log(np.cosh(y - t)), **params, checkpoint=Checkpoint(path, epochs=1))
    left_after(2, first, X, Y)
    with pytest.raises(ConfigError, match="loss was"):
        linnet.resume(path, X, Y, model=MLPRegressor(lambda y, t: (y - t) ** 4, **params))
    with pytest.raises(ConfigError, match="random_state was 0, now 9"):
        linnet.resume(path, X, Y, model=first.set_params(random_state=9))
    with pytest.raises(ConfigError, match=r"unknown option of resume .evalset.: did you mean .eval_set."):
        linnet.resume(path, X, Y, model=first.set_params(random_state=0), evalset=1)
    left_after(2, MLPClassifier((5,), random_state=np.random.RandomState(3), max_iter=5, checkpoint=path), X, Y)
    assert linnet.resume(path, X, Y).n_iter_ == 5
    with pytest.raises(
        DataError, match=r"the classes have changed .10 before, 10 now.: now they lack 0, .* and have '0', '1'"
    ):
        linnet.resume(path, X, Y.astype(str))
