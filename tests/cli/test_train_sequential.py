"""`linnet train --model sequential` trains, from a file, what a program with Sequential trains."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest

import linnet
from linnet import SGD, Dense, Dropout, Sequential, l1_l2

from .in_process import Completed, call

RNG = np.random.default_rng(3)
ROWS = 120
X = RNG.normal(size=(ROWS, 3)).astype(np.float32)
X[:, 2] = 1  # a column that other models would leave out
Z = X[:, 0] - 0.5 * X[:, 1]
TARGETS = {
    "two classes": np.where(Z > 0, "yes", "no"),
    "many classes": np.digitize(Z, [-0.5, 0.5]),
    "counts": RNG.poisson(np.exp(1 + Z)),
    "a number": Z + 0.1,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    columns = {f"x{k}": X[:, k].astype(np.float64) for k in range(3)}
    for task, y in TARGETS.items():
        table = pa.table({**columns, "y": y})
        csv.write_csv(table.slice(0, 80), tmp_path / f"{task}-train.csv")
        csv.write_csv(table.slice(80), tmp_path / f"{task}-test.csv")
    return tmp_path


def trained(folder: Path, task: str, *more: object) -> Completed:
    files = f"{task}-train.csv", "--valid", f"{task}-test.csv"
    return call("train", *files, "--target", "y", "--task", task, "--model", "sequential", *more, cwd=folder)


@pytest.mark.parametrize(
    ("task", "loss", "top"),
    [
        ("two classes", "binary_crossentropy", Dense(1, "sigmoid", kernel_initializer="he_normal")),
        ("two classes", "sparse_categorical_crossentropy", Dense(2, "softmax", kernel_initializer="he_normal")),
        ("many classes", "perceptron", Dense(3, kernel_initializer="he_normal")),
        ("counts", "poisson", Dense(1, "exponential", kernel_initializer="he_normal")),
        ("a number", "mse", Dense(1, kernel_initializer="he_normal")),
    ],
)
def test_a_file_and_a_program_train_the_same(folder: Path, task: str, loss: str, top: Dense) -> None:
    how = ("--hidden", "5,4", "--activation", "tanh,relu", "--dropout", "0.25,0", "--initializer", "he_normal")
    rule = ("--optimizer", "nesterov", "--learning-rate", 0.003, "--batch-size", 7, "--epochs", 5, "--seed", 4)
    result = trained(folder, task, "--loss", loss, *how, *rule, "--l1", 0.001, "--l2", 0.01, "--json")
    assert result.code == 0, result.err

    penalty: Any = l1_l2(0.001, 0.01)
    hidden = [Dense(5, "tanh", kernel_initializer="he_normal"), Dense(4, "relu", kernel_initializer="he_normal")]
    for layer in (*hidden, top):
        layer.kernel_regularizer = penalty
    model = Sequential([hidden[0], Dropout(0.25), hidden[1], top], seed=4)
    model.compile(SGD(0.003, momentum=0.9, nesterov=True), loss=loss)
    y = TARGETS[task]
    if task.endswith("classes"):
        y = np.unique(y, return_inverse=True)[1]
    model.fit(X[:80], y[:80], batch_size=7, epochs=5, verbose=0)
    losses = json.loads(result.out)["losses"]
    assert losses["train"] == model.evaluate(X[:80], y[:80])
    assert losses["held_out"] == model.evaluate(X[80:], y[80:])


@pytest.mark.parametrize("task", TARGETS)
def test_its_model_predicts_scores_exports_and_reports(folder: Path, task: str) -> None:
    pytest.importorskip("onnx", reason="the test group has onnx")
    runtime = pytest.importorskip("onnxruntime", reason="the test group has onnxruntime")
    result = trained(folder, task, "--hidden", 4, "--epochs", 60, "--report", "report.html")
    assert result.code == 0, result.err
    assert "on the training rows" in result.out
    model = linnet.load(folder / "model.linnet")
    rows = csv.read_csv(folder / f"{task}-test.csv")
    y, answers = model.target_of(rows), model.predict(rows)
    if task.endswith("classes"):
        assert (answers == y).mean() > 0.8
        assert np.allclose(model.predict_proba(rows).sum(axis=1), 1)
    else:
        assert np.corrcoef(answers, y)[0, 1] > 0.5
    assert call("evaluate", "model.linnet", f"{task}-test.csv", cwd=folder).code == 0
    model.to_onnx(folder / "model.onnx")
    session = runtime.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
    first = session.run(None, {f"x{k}": X[80:, [k]].astype(np.float64) for k in range(3)})[0]
    if task.endswith("classes"):
        assert (first == answers).all()
    else:
        assert np.allclose(first[:, 0], answers, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("loss", ["perceptron", "sparse_categorical_crossentropy"])
def test_two_classes_by_another_loss_are_exported_alike(folder: Path, loss: str) -> None:
    pytest.importorskip("onnx", reason="the test group has onnx")
    runtime = pytest.importorskip("onnxruntime", reason="the test group has onnxruntime")
    assert trained(folder, "two classes", "--loss", loss).code == 0
    model = linnet.load(folder / "model.linnet")
    assert model.has_proba is (loss != "perceptron")
    rows = csv.read_csv(folder / "two classes-test.csv")
    model.to_onnx(folder / "model.onnx")
    session = runtime.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
    label = session.run(["label"], {f"x{k}": X[80:, [k]].astype(np.float64) for k in range(3)})[0]
    assert (label == model.predict(rows)).all()
    assert (label == model.target_of(rows)).mean() > 0.8


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--loss", "mse"), "--loss mse is not for two classes: choose from: binary_crossentropy"),
        (("--loss", "bce"), "unknown --loss 'bce'"),
        (("--optimizer", "sdg"), "did you mean 'sgd'"),
        (("--initializer", "he"), "unknown --initializer 'he'"),
        (("--hidden", "3,3", "--activation", "relu,tanh,relu"), "--activation must be one for all or one for each"),
        (("--dropout", "much"), "--dropout must be numbers such as 0.1,0"),
        (("--patience", 3), "leave out --patience"),
        (("--class-weight", "balanced"), "--model sequential does not support --class-weight"),
        (("--checkpoint", "run.checkpoint"), "a checkpoint is for the network"),
        (("--model", "mlp", "--l2", 0.1), "--l2 is for --model sequential"),
    ],
)
def test_what_does_not_go_together_is_refused(folder: Path, more: tuple[object, ...], message: str) -> None:
    found = trained(folder, "two classes", *more)
    assert found.code != 0
    assert message in " ".join(found.err.split())


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["red", "blue"] * 40, "column 'extra' has values of type string, where only numbers"),
        ([None, 1.5] * 40, "column 'extra' has 40 missing values"),
    ],
)
def test_columns_that_are_no_numbers_are_named(folder: Path, column: list[Any], message: str) -> None:
    table = csv.read_csv(folder / "a number-train.csv")
    csv.write_csv(table.append_column("extra", pa.array(column)), folder / "a number-train.csv")
    found = trained(folder, "a number")
    assert found.code != 0
    assert message in " ".join(found.err.split())
