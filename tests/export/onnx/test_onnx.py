"""Models as ONNX files: onnxruntime predicts what linnet predicts."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

import linnet
from linnet import (
    Dense,
    Dropout,
    LeakyReLU,
    LogisticRegression,
    MLPClassifier,
    MLPRegressor,
    Perceptron,
    Sequential,
    TabularClassifier,
    TabularRegressor,
)
from linnet.errors import ConfigError, MissingExtraError
from linnet.estimators.linear import (
    GammaRegressor,
    LinearRegression,
    NegativeBinomialRegressor,
    PoissonRegressor,
    Ridge,
    TweedieRegressor,
)
from linnet.estimators.threshold import ThresholdClassifier
from linnet.heads.activations import ACTIVATIONS

onnx = pytest.importorskip("onnx", reason="the test group has onnx")
runtime = pytest.importorskip("onnxruntime", reason="the test group has onnxruntime")
pytestmark = pytest.mark.filterwarnings(
    "ignore:Maximum iterations", "ignore:lbfgs failed to converge", "ignore:X has rows with"
)

RNG = np.random.default_rng(0)
ROWS = 300
X = RNG.normal(size=(ROWS, 4)) * [1, 2, 0.5, 1] + [0, 1, 0, -1]
Z = X @ [1, 0.5, -1, 0.5]
COUNTS, AMOUNTS = RNG.poisson(np.exp(Z / 2)), RNG.gamma(2, np.exp(Z / 2)) + 1e-3
YEARS, SHIFT = RNG.uniform(0.5, 3, ROWS), RNG.normal(size=ROWS)
THREE = np.digitize(Z + RNG.normal(size=ROWS), [-1, 0.5])
TWO = THREE > 1
CLASSES = {
    "text": np.array(["no", "perhaps", "ü"])[THREE],
    "objects": np.array(["b", "a", ""], dtype=object)[THREE],
    "whole": np.array([7, -3, 12], np.int32)[THREE],
    "numbers": np.array([0.5, 1.5, 2.5])[THREE].round(),
    "two words": np.where(TWO, "yes", "no"),
    "two numbers": np.where(TWO, 3, 1).astype(np.uint8),
    "true and false": TWO,
}
FRAME = pd.DataFrame(
    {
        "size": X[:, 1],
        "<script> ü": RNG.choice(["x", "y", '"z"'], ROWS),
        "day": pd.Categorical(RNG.choice(["Mon", "Tue"], ROWS)),
        "label": RNG.choice(["rare", *"abc"], ROWS, p=[0.005, 0.395, 0.3, 0.3]),
        "grade": pd.Categorical(RNG.choice([1, 2, 30], ROWS)),
        "on": TWO ^ (RNG.random(ROWS) < 0.3),
        "depth": X[:, 2].astype(np.float32),
        "weeks": RNG.integers(0, 5, ROWS),
    }
)
GAPS = FRAME.assign(
    size=FRAME["size"].where(FRAME["size"] > -1),
    day=FRAME["day"].where(FRAME["weeks"] > 0),
    label=FRAME["label"].where(FRAME["weeks"] != 1, None),
    grade=FRAME["grade"].where(FRAME["weeks"] != 2),
)
NET: dict[str, Any] = {"max_iter": 30, "random_state": 0, "hidden_layer_sizes": (8, 5)}
PRESET: dict[str, Any] = {"preset": "tabular", "max_iter": 3, "random_state": 0}


def answers(model: Any, folder: Path, feeds: Mapping[str, Any]) -> dict[str, Any]:
    """The outputs of onnxruntime for a model's file."""
    path = folder / "model.onnx"
    model.to_onnx(path)
    onnx.checker.check_model(onnx.load(path), full_check=True)
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    types = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(string)": object}
    given = {each.name: np.asarray(feeds[each.name]).astype(types[each.type]) for each in session.get_inputs()}
    given = {name: values if values.ndim == 2 else values[:, None] for name, values in given.items()}
    names = [each.name for each in session.get_outputs()]
    return dict(zip(names, session.run(None, given), strict=True))


def of_frame(frame: pd.DataFrame) -> dict[str, Any]:
    """Raw columns as a graph takes them."""
    text = {
        name: isinstance(next(iter(column.dropna().tolist()), ""), str) for name, column in frame.astype(object).items()
    }
    return {
        str(name): frame[name].astype(object).where(frame[name].notna(), "").to_numpy()
        if text[name]
        else frame[name].astype(float).to_numpy()
        for name in frame
    }


def check_numbers(found: Any, expected: Any) -> None:
    """Agree to 1e-5 of each number, or of the column's scale."""
    expected = np.asarray(expected, np.float64)
    expected = expected if expected.ndim == 2 else expected[:, None]
    assert found.shape == expected.shape
    assert np.isfinite(found).all()
    size = np.maximum(np.abs(expected), np.abs(expected).mean(axis=0))
    assert (np.abs(found - expected) <= 1e-5 * size).all()


def check_classes(model: Any, x: Any, found: dict[str, Any], label: str = "label") -> None:
    """The same classes, except where two are equally probable, and the same probabilities."""
    p, predicted = model.predict_proba(x), model.predict(x)
    assert found[label].shape == predicted.shape
    assert np.abs(found["probabilities"] - p).max() < 1e-5
    ordered = np.sort(p, axis=1)
    told_apart = ordered[:, -1] - ordered[:, -2] > 1e-6
    assert (found[label] == predicted)[told_apart].all()
    assert len(np.unique(predicted)) > 1
    kind = predicted.dtype.kind
    assert found[label].dtype.kind == {"U": "O", "u": "i"}.get(kind, kind)


# ---- arrays ----


@pytest.mark.parametrize(
    ("model", "y", "shifts"),
    [
        (LinearRegression(), Z, {}),
        (LinearRegression(fit_intercept=False), Z, {"offset": SHIFT}),
        (Ridge(2.0), np.stack([Z, Z**2, -Z], axis=1), {}),
        (Ridge(), np.stack([Z, Z**2], axis=1), {"offset": np.stack([SHIFT, SHIFT**2], axis=1)}),
        (PoissonRegressor(alpha=0.1), COUNTS, {}),
        (PoissonRegressor(alpha=0.1), COUNTS, {"exposure": YEARS}),
        (PoissonRegressor(alpha=0.1), COUNTS, {"exposure": YEARS, "offset": SHIFT}),
        (GammaRegressor(alpha=0.1), AMOUNTS, {"exposure": YEARS}),
        (NegativeBinomialRegressor(alpha=0.1, dispersion=0.5), np.round(AMOUNTS), {"exposure": YEARS}),
        (TweedieRegressor(power=1.5, alpha=0.1), AMOUNTS, {}),
        (TweedieRegressor(power=3, alpha=0.1), AMOUNTS, {}),
        (TweedieRegressor(power=0), Z, {}),
        (TweedieRegressor(power=1.5, link="identity", alpha=0.1), np.abs(Z) + 30, {}),
    ],
)
def test_numbers_of_linear_models(model: Any, y: Any, shifts: dict[str, Any], tmp_path: Path) -> None:
    model.fit(X, y, **shifts)
    found = answers(model, tmp_path, {"X": X, **shifts})
    assert found.keys() == {"variable"}
    assert found["variable"].dtype == np.float64
    np.testing.assert_allclose(found["variable"].reshape(y.shape), model.predict(X, **shifts), rtol=1e-10)


@pytest.mark.parametrize("classes", CLASSES)
@pytest.mark.parametrize("how", [{}, NET, PRESET], ids=["linear", "adam", "tabular"])
def test_classes_of_every_type(how: dict[str, Any], classes: str, tmp_path: Path) -> None:
    model = (MLPClassifier(**how) if how else LogisticRegression()).fit(X, CLASSES[classes])
    found = answers(model, tmp_path, {"X": X})
    assert [*found] == ["label", "probabilities"]
    check_classes(model, X, found)


@pytest.mark.parametrize("y", [TWO, THREE])
def test_perceptron(y: Any, tmp_path: Path) -> None:
    model = Perceptron(max_iter=20).fit(X, y)
    found = answers(model, tmp_path, {"X": X})
    assert [*found] == ["label", "scores"]
    np.testing.assert_allclose(found["scores"].squeeze(), model.decision_function(X), rtol=1e-10, atol=1e-9)
    assert (found["label"] == model.predict(X)).all()


def test_an_offset_of_classes(tmp_path: Path) -> None:
    for y, offset in ((TWO, SHIFT), (THREE, np.stack([SHIFT, SHIFT**2, -SHIFT], axis=1))):
        model = LogisticRegression().fit(X, y, offset=offset)
        found = answers(model, tmp_path, {"X": X, "offset": offset})
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(X, offset=offset), rtol=1e-9)
        assert (found["label"] == model.predict(X, offset=offset)).all()


@pytest.mark.parametrize("solver", ["adam", "lbfgs"])
@pytest.mark.parametrize("activation", [*ACTIVATIONS, LeakyReLU(0.3)], ids=str)
def test_activations(activation: Any, solver: str, tmp_path: Path) -> None:
    scale = 0.5 if activation == "exponential" else 3.0  # where others saturate
    x = X / X.std(axis=0) * scale
    how: dict[str, Any] = {**NET, "hidden_layer_sizes": 8, "solver": solver}
    model = MLPRegressor(activation=activation, **how).fit(x, Z)
    found = answers(model, tmp_path, {"X": x})
    assert found["variable"].dtype == (np.float32 if solver == "adam" else np.float64)
    assert model.predict(x).std() > 0
    check_numbers(found["variable"], model.predict(x))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("activation", [name for name in ACTIVATIONS if name != "exponential"])
def test_activations_far_out(activation: str, dtype: Any, tmp_path: Path) -> None:
    z = np.linspace(-1000, 1000, 401)[:, None]
    how: dict[str, Any] = {**NET, "hidden_layer_sizes": 1, "solver": "lbfgs" if dtype == np.float64 else "adam"}
    model = MLPRegressor(activation=activation, **how).fit(z / 1000, z[:, 0] / 1000)
    model.coefs_, model.intercepts_ = [np.ones((1, 1), dtype)] * 2, [np.zeros(1, dtype)] * 2
    found = answers(model, tmp_path, {"X": z})["variable"]
    assert found.dtype == dtype
    np.testing.assert_allclose(found[:, 0], model.predict(z), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("how", [NET, PRESET, {**NET, "solver": "lbfgs"}], ids=["adam", "tabular", "lbfgs"])
@pytest.mark.parametrize(
    "loss",
    ["squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", lambda y, t: np.log(np.cosh(y - t))],
)
def test_losses(loss: Any, how: dict[str, Any], tmp_path: Path) -> None:
    y = {"poisson": COUNTS, "gamma": AMOUNTS}.get(loss if isinstance(loss, str) else "", Z)
    model = MLPRegressor(loss, **how).fit(X, y)
    found = answers(model, tmp_path, {"X": X})
    check_numbers(found["variable"], model.predict(X))
    several = MLPRegressor(loss, **how).fit(X, np.stack([y, y + 1], axis=1))
    check_numbers(answers(several, tmp_path, {"X": X})["variable"], several.predict(X))


def test_predictions_stay_within_the_range_of_targets(tmp_path: Path) -> None:
    model = MLPRegressor(**{**PRESET, "max_iter": 20}).fit(X, Z)
    far = model.predict(10 * X)
    assert far.min() == Z.min()
    assert far.max() == Z.max()
    check_numbers(answers(model, tmp_path, {"X": 10 * X})["variable"], far)


@pytest.mark.parametrize("how", [NET, PRESET], ids=["adam", "tabular"])
def test_counts_with_exposure(how: dict[str, Any], tmp_path: Path) -> None:
    shifts: dict[str, Any] = {"exposure": YEARS, "offset": SHIFT}
    model = MLPRegressor("poisson", **how).fit(X, COUNTS, **shifts)
    found = answers(model, tmp_path, {"X": X, **shifts})
    check_numbers(found["variable"], model.predict(X, **shifts))


@pytest.mark.parametrize("how", [NET, PRESET], ids=["adam", "tabular"])
def test_several_labels(how: dict[str, Any], tmp_path: Path) -> None:
    y = np.stack([TWO, Z > 0, X[:, 0] > 0], axis=1).astype(int)
    model = MLPClassifier(**how).fit(X, y)
    found = answers(model, tmp_path, {"X": X})
    assert np.abs(found["probabilities"] - model.predict_proba(X)).max() < 1e-5
    clear = np.abs(model.predict_proba(X) - 0.5) > 1e-6
    assert (found["label"] == model.predict(X))[clear].all()


@pytest.mark.parametrize("how", [{}, PRESET], ids=["linear", "tabular"])
def test_sparse_columns(how: dict[str, Any], tmp_path: Path) -> None:
    x = scipy.sparse.csr_array(scipy.sparse.random(ROWS, 40, 0.2, random_state=0))
    model = (MLPClassifier(**how) if how else LogisticRegression()).fit(x, THREE)
    check_classes(model, x, answers(model, tmp_path, {"X": x.toarray()}))


@pytest.mark.parametrize(
    ("activation", "units", "loss", "y", "output"),
    [
        ("softmax", 3, "sparse_categorical_crossentropy", THREE, "probabilities"),
        ("sigmoid", 1, "binary_crossentropy", TWO, "probabilities"),
        ("exponential", 1, "poisson", COUNTS, "variable"),
        ("linear", 1, "perceptron", 2 * TWO - 1, "variable"),
        *((name, 2, "mse", np.stack([Z, -Z], axis=1), "variable") for name in ACTIVATIONS),
    ],
)
def test_sequential(activation: str, units: int, loss: str, y: Any, output: str, tmp_path: Path) -> None:
    x = X / X.std(axis=0)
    model = Sequential([Dense(6, activation="tanh"), Dropout(0.2), Dense(units, activation=activation, use_bias=False)])
    model.compile("adam", loss)
    model.fit(x, y, epochs=2, verbose=0)
    found = answers(model, tmp_path, {"X": x})
    assert [*found] == [output]
    check_numbers(found[output], model.predict(x))


# ---- data frames ----


@pytest.mark.parametrize(
    ("make", "frame"),
    [
        (LogisticRegression, FRAME),
        (lambda: MLPClassifier(**NET), GAPS),
        (lambda: MLPClassifier(**{**NET, "solver": "lbfgs"}), GAPS),
        (lambda: TabularClassifier(max_iter=3, random_state=0), GAPS),
    ],
    ids=["linear", "adam", "lbfgs", "tabular"],
)
@pytest.mark.parametrize("classes", ["true and false", "text"])
def test_frames_with_gaps_and_unseen_levels(make: Any, frame: pd.DataFrame, classes: str, tmp_path: Path) -> None:
    model = make().fit(frame, CLASSES[classes])
    later = frame.sample(frac=1, random_state=0)
    later["label"] = later["label"].where(later.index % 5 > 0, "new")
    later["day"] = later["day"].cat.add_categories("Wed")
    later.loc[::7, "day"] = "Wed"
    later["grade"] = later["grade"].cat.add_categories(99)
    later.loc[::9, "grade"] = 99
    if frame is GAPS:
        later.loc[::4, "depth"] = np.nan  # which had no gaps in training
    found = answers(model, tmp_path, of_frame(later))
    check_classes(model, later, found, "label_")  # a column is called label


@pytest.mark.parametrize(
    "made", [MLPRegressor(**NET), TabularRegressor(max_iter=3, random_state=0)], ids=["adam", "tabular"]
)
def test_numbers_from_frames(made: Any, tmp_path: Path) -> None:
    y = Z + FRAME["weeks"].to_numpy() + (FRAME["label"] == "a").to_numpy()
    for names in ([*FRAME], ["day", "label"], ["size", "weeks"]):
        model = clone(made).fit(GAPS[names], y)
        check_numbers(answers(model, tmp_path, of_frame(GAPS[names]))["variable"], model.predict(GAPS[names]))


def test_numbers_far_from_zero_keep_their_digits(tmp_path: Path) -> None:
    x = pd.DataFrame({"when": 1.6e9 + 1000 * X[:, 0], "size": X[:, 1]})
    for table in (x, x.to_numpy()):
        model = MLPRegressor(**PRESET).fit(table, Z)
        feeds = of_frame(x) if table is x else {"X": table}
        check_numbers(answers(model, tmp_path, feeds)["variable"], model.predict(table))


def test_names_that_are_taken(tmp_path: Path) -> None:
    x = pd.DataFrame({"exposure": X[:, 0], "variable": X[:, 1]})
    model = PoissonRegressor().fit(x, COUNTS, exposure=YEARS)
    found = answers(model, tmp_path, {**of_frame(x), "exposure_": YEARS})
    check_numbers(found["variable_"], model.predict(x, exposure=YEARS))
    with pytest.raises(ConfigError, match="a column called '' cannot be an input"):
        LinearRegression().fit(pd.DataFrame({"": Z}), Z).to_onnx(tmp_path / "no.onnx")
    assert not (tmp_path / "no.onnx").exists()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (pd.Categorical(pd.to_datetime(["2024-01-01", "2024-01-02"] * 150)), "'when' has levels such as Timestamp"),
        (np.array(["", None, "a"] * 100, dtype=object), "'when' has empty text and missing values"),
    ],
)
def test_levels_that_onnx_cannot_distinguish(values: Any, message: str, tmp_path: Path) -> None:
    model = MLPRegressor(**NET).fit(pd.DataFrame({"when": values}), Z)
    with pytest.raises(ConfigError, match=message):
        model.to_onnx(tmp_path / "no.onnx")


def test_classes_that_onnx_cannot_distinguish(tmp_path: Path) -> None:
    model = LogisticRegression().fit(X, TWO)
    model.classes_ = np.array(["2024-01-01", "2024-01-02"], "datetime64[D]")
    with pytest.raises(ConfigError, match=r"classes such as datetime.date.* cannot be in an ONNX file"):
        model.to_onnx(tmp_path / "no.onnx")


# ---- thresholds ----


@pytest.mark.parametrize(
    ("model", "classes"),
    [
        (ThresholdClassifier(LogisticRegression(), "f2"), "two words"),
        (ThresholdClassifier(LogisticRegression(), "f2", pos_label="no"), "two words"),
        (ThresholdClassifier(LogisticRegression(), "f2", response_method="decision_function"), "true and false"),
        (
            ThresholdClassifier(LogisticRegression(), "f2", response_method="decision_function", pos_label="no"),
            "two words",
        ),
        (ThresholdClassifier(Perceptron(max_iter=20), "f0.5"), "two numbers"),
        (ThresholdClassifier(Perceptron(max_iter=20), "f1"), "whole"),
        (ThresholdClassifier(MLPClassifier(**NET), "recall>=0.9"), "two words"),
        (ThresholdClassifier(MLPClassifier(**PRESET), "f1", cv=0.5), "text"),
        (ThresholdClassifier(LogisticRegression(), "f1"), "whole"),
        (ThresholdClassifier(LogisticRegression(), "f1", negative_class="no"), "text"),
        (ThresholdClassifier(LogisticRegression(), [[0, 1, 2], [5, 0, 1], [1, 1, 0]]), "text"),
        (ThresholdClassifier(LogisticRegression(), [[0, 1], [5, 0]]), "two words"),
    ],
)
def test_thresholds(model: Any, classes: str, tmp_path: Path) -> None:
    model.fit(X, CLASSES[classes])
    found = answers(model, tmp_path, {"X": X})
    if hasattr(model, "predict_proba"):
        assert np.abs(found["probabilities"] - model.predict_proba(X)).max() < 1e-5
    else:
        np.testing.assert_allclose(found["scores"].squeeze(), model.decision_function(X), rtol=1e-9, atol=1e-9)
    differ = found["label"] != model.predict(X)
    assert len(np.unique(found["label"])) > 1
    if differ.any():  # thresholds are scores of rows, so that some lie on them
        scores = model._scores(model.estimator_, X[differ]) - model.threshold_
        assert (np.abs(scores).min(axis=1) < 1e-6).all()


def test_rows_on_the_threshold(tmp_path: Path) -> None:
    model = LogisticRegression().fit(X, CLASSES["two words"])
    tuned = ThresholdClassifier(model, cv="prefit").fit(X, CLASSES["two words"])
    model.coef_[:], model.intercept_[:], tuned.threshold_ = 0, 0, 0.5
    assert set(answers(tuned, tmp_path, {"X": X})["label"]) == set(tuned.predict(X)) == {"yes"}
    assert set(answers(model, tmp_path, {"X": X})["label"]) == set(model.predict(X)) == {"no"}


def test_foreign_estimators_are_refused(tmp_path: Path) -> None:
    model = ThresholdClassifier(GaussianNB(), "f1").fit(X, TWO)
    with pytest.raises(ConfigError, match="not GaussianNB"):
        model.to_onnx(tmp_path / "no.onnx")


# ---- the file ----


def test_the_same_model_gives_the_same_bytes(tmp_path: Path) -> None:
    model = MLPClassifier(**PRESET).fit(GAPS, THREE)
    model.save(tmp_path / "model.linnet")
    model.to_onnx(tmp_path / "a.onnx")
    linnet.load(tmp_path / "model.linnet").to_onnx(tmp_path / "b.onnx")
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()


def test_parameters_that_users_set_are_exported(tmp_path: Path) -> None:
    model = MLPRegressor(**NET).fit(X, Z)
    model.coefs_[-1] = np.ones_like(model.coefs_[-1])
    check_numbers(answers(model, tmp_path, {"X": X})["variable"], model.predict(X))


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtraError, match=r"to_onnx needs onnx: pip install 'linnet\[onnx\]'"):
        LinearRegression().fit(X, Z).to_onnx(tmp_path / "no.onnx")


def test_a_model_that_is_not_fitted(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not fitted yet"):
        LinearRegression().to_onnx(tmp_path / "no.onnx")


def test_onnx_is_loaded_when_it_is_needed() -> None:
    code = "import sys, linnet; linnet.Ridge().fit([[1.], [2.]], [1, 2]).predict([[1.]]); print('onnx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
