"""Reductions as ONNX files predict the same as in linnet."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn.base
import sklearn.svm

import linnet
from linnet.errors import ConfigError

onnxruntime = pytest.importorskip("onnxruntime")

MODELS: dict[str, Any] = {
    "rest": linnet.OneVsRestClassifier(linnet.LogisticRegression()),
    "one": linnet.OneVsOneClassifier(linnet.LogisticRegression()),
    "codes": linnet.OutputCodeClassifier(linnet.LogisticRegression(), code="sparse", code_size=3, random_state=0),
    "codes-hamming": linnet.OutputCodeClassifier(linnet.LogisticRegression(), decoding="hamming", random_state=0),
    "codes-loss": linnet.OutputCodeClassifier(linnet.LogisticRegression(), decoding="loss", random_state=0),
    "tree": linnet.LabelTreeClassifier(linnet.LogisticRegression(), tree="huffman"),
}


def run(path: Path, X: Any) -> dict[str, Any]:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [given.name for given in session.get_inputs()]
    if isinstance(X, pd.DataFrame):
        feeds = {name: X[[name]].to_numpy() for name in names}
        feeds = {
            name: column.astype(object if column.dtype == object else np.float64) for name, column in feeds.items()
        }
    else:
        feeds = {names[0]: X}
    outputs = [out.name for out in session.get_outputs()]
    return dict(zip(outputs, session.run(outputs, feeds), strict=True))


def table(classes: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, 400)
    return rng.normal(size=(classes, 4))[y] + rng.normal(size=(400, 4)), np.array(["a", "b", "c", "d", "e", "f"])[y]


def check(model: Any, X: Any, path: Path) -> None:
    model.to_onnx(path / "model.onnx")
    out = run(path / "model.onnx", X)
    assert (out["label"] == model.predict(X)).all()
    assert np.allclose(out["probabilities"], model.predict_proba(X), rtol=0, atol=1e-5)


@pytest.mark.parametrize("classes", [2, 6])
@pytest.mark.parametrize("name", MODELS)
def test_a_file_agrees(name: str, classes: int, tmp_path: Path) -> None:
    X, y = table(classes)
    check(MODELS[name].fit(X, y), np.vstack([X, 30 * X]), tmp_path)


LEARNERS: dict[str, Any] = {
    "network": linnet.MLPClassifier((5,), max_iter=20, random_state=0),
    "ensemble": linnet.MLPClassifier(preset="tabular", max_iter=3, random_state=0),
    "perceptron": linnet.Perceptron(),
    "threshold": linnet.ThresholdClassifier(linnet.LogisticRegression()),
    "a reduction": linnet.OneVsRestClassifier(linnet.LogisticRegression()),
}


@pytest.mark.filterwarnings("ignore::linnet.errors.FitWarning")
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("name", MODELS)
def test_a_file_agrees_over_other_learners(name: str, learner: str, tmp_path: Path) -> None:
    X, y = table(4)
    check(sklearn.base.clone(MODELS[name]).set_params(estimator=LEARNERS[learner]).fit(X, y), X, tmp_path)


@pytest.mark.filterwarnings("ignore::linnet.errors.FitWarning")
def test_a_problem_without_a_yes_is_a_constant(tmp_path: Path) -> None:
    X, y = table(3)
    model = linnet.OneVsRestClassifier(linnet.MLPClassifier((4,), max_iter=5, random_state=0))
    model.fit(X, y, sample_weight=(y != "a") * 1.0)
    assert isinstance(model.learners_.models()[0], float)
    check(model, X, tmp_path)


def test_several_labels_per_row(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(300, 4))
    labels = X @ np.random.default_rng(1).normal(size=(4, 3)) + np.random.default_rng(2).normal(size=(300, 3)) > 0
    model = linnet.OneVsRestClassifier(linnet.LogisticRegression()).fit(X, labels)
    check(model, X, tmp_path)


@pytest.mark.filterwarnings("ignore::linnet.errors.FitWarning")
def test_levels_of_a_frame(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=300), "level": np.array(["p", "q", "r"], object)[np.arange(300) % 3]})
    y = (frame["x"] > 0) + 2 * (frame["level"] == "q")
    model = linnet.OneVsOneClassifier(linnet.LogisticRegression()).fit(frame, y)
    check(model, frame, tmp_path)
    network = linnet.MLPClassifier((4,), max_iter=5, random_state=0)
    check(linnet.OneVsRestClassifier(network).fit(frame, y), frame, tmp_path)


def test_what_has_no_form_in_onnx_is_named(tmp_path: Path) -> None:
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 3
    for model, what in (
        (linnet.OneVsRestClassifier(sklearn.svm.LinearSVC()), "not LinearSVC: its own library may export it"),
        (linnet.OneVsRestClassifier(linnet.LogisticRegression(), tie_break="random"), "needs tie_break='score'"),
    ):
        with pytest.raises(ConfigError, match=what):
            model.fit(X, y).to_onnx(tmp_path / "model.onnx")
