"""`coef_` and `intercept_` determine the predictions, also if they were set by hand."""

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import linnet
from linnet import LogisticRegression, OneVsRestClassifier, Perceptron, ThresholdClassifier
from linnet.errors import DataError, FitWarning, FormatError
from linnet.estimators.linear import GammaRegressor, LinearRegression, PoissonRegressor, Ridge, TweedieRegressor
from linnet.multiclass import LabelTreeClassifier, OneVsOneClassifier, OutputCodeClassifier
from linnet.multiclass.learners import StackedLogistic

RNG = np.random.default_rng(0)
ROWS = 120
X = RNG.normal(size=(ROWS, 4)).round(2)
Z = X @ [1.0, -0.5, 0.3, 0.0]
COUNTS = RNG.poisson(np.exp(Z / 2)).astype(float)
TWO, FOUR = RNG.random(ROWS) < 1 / (1 + np.exp(-Z)), np.digitize(Z + RNG.normal(size=ROWS), [-1, 0, 1])
FRAME = pd.DataFrame(
    {
        "x0": X[:, 0],
        "level": RNG.choice(["a", "b", "c"], ROWS),
        "x1": np.where(X[:, 1] > -1, X[:, 1], np.nan),  # missing values have a coefficient, too
        "kind": pd.Categorical(RNG.choice(["u", "v"], ROWS)),
        "x2": X[:, 2],
    }
)
TABLES: dict[str, Any] = {"dense": X, "sparse": scipy.sparse.csr_array(X), "frame": FRAME}
MODELS: dict[str, tuple[Any, Any]] = {
    "least squares": (LinearRegression(), Z),
    "two targets": (Ridge(0.5), np.stack([Z, -Z], axis=1)),
    "no intercept": (Ridge(0.5, fit_intercept=False), Z),
    "counts": (PoissonRegressor(), COUNTS),
    "amounts": (GammaRegressor(), COUNTS + 0.5),
    "tweedie": (TweedieRegressor(power=1.5), COUNTS),
    "two classes": (LogisticRegression(), TWO),
    "four classes": (LogisticRegression(), FOUR),
    "reference": (LogisticRegression(reference=0), FOUR),
    "perceptron": (Perceptron(max_iter=3), TWO),
    "perceptrons": (Perceptron(max_iter=3), FOUR),
}


def fitted(model: str, table: str) -> Any:
    made, y = MODELS[model]
    params = {"missing": "fill", "threads": 1} | ({} if isinstance(made, Perceptron) else {"tol": 1e-8})
    return type(made)(**{**made.get_params(), **params}).fit(TABLES[table], y)


def numbers(model: Any, table: str) -> np.ndarray:
    """The table with a column for each coefficient."""
    if table != "frame":
        return X
    columns = []
    for name in model.get_feature_names_out():
        column, _, level = name.partition("=")
        if level:
            columns.append(FRAME[column].astype(str) == level)
        elif name.endswith(" missing"):
            columns.append(FRAME[name.removesuffix(" missing")].isna())
        else:
            columns.append(FRAME[name].fillna(FRAME[name].median()))
    return np.stack([np.asarray(column, float) for column in columns], axis=1)


def predictions(model: Any, table: Any) -> np.ndarray:
    """What depends on z alone, and all of z."""
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(table))
    return np.asarray(model.predict(table))


def expected(model: Any, table: str) -> np.ndarray:
    z = numbers(model, table) @ np.atleast_2d(model.coef_).T + model.intercept_
    if isinstance(model, PoissonRegressor | GammaRegressor | TweedieRegressor):
        z = np.exp(z)
    return np.asarray(z if z.shape[1] > 1 else z[:, 0])


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", MODELS)
def test_what_is_set_is_what_predicts(name: str, table: str, tmp_path: Path) -> None:
    model = fitted(name, table)
    np.testing.assert_allclose(predictions(model, TABLES[table]), expected(model, table), rtol=1e-9, atol=1e-12)
    shape = np.shape(model.coef_)
    model.coef_[..., 1] = 0.25  # in place
    model.intercept_ -= 0.5
    np.testing.assert_allclose(predictions(model, TABLES[table]), expected(model, table), rtol=1e-9, atol=1e-12)
    model.coef_ = RNG.normal(size=shape).round(2).tolist()
    model.intercept_ = 0.75 if np.ndim(model.intercept_) == 0 else RNG.normal(size=len(model.intercept_)) / 2
    before = pickle.dumps(model)
    predicted = predictions(model, TABLES[table])
    np.testing.assert_allclose(predicted, expected(model, table), rtol=1e-9, atol=1e-12)
    assert pickle.dumps(model) == before, "predicting writes nothing"
    model.coef_ = np.asarray(model.coef_)
    model.save(tmp_path / "model")
    again = linnet.load(tmp_path / "model")
    np.testing.assert_array_equal(predictions(again, TABLES[table]), predicted)
    again.coef_[:] = 0
    again.save(tmp_path / "second")
    np.testing.assert_allclose(predictions(linnet.load(tmp_path / "second"), TABLES[table]), expected(again, table))


@pytest.mark.parametrize("table", ["dense", "frame"])
@pytest.mark.parametrize("name", MODELS)
def test_onnx_has_what_was_set(name: str, table: str, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime", reason="the test group has onnxruntime")
    model = fitted(name, table)
    model.coef_[:], model.intercept_ = RNG.normal(size=np.shape(model.coef_)), 0.1 * np.ones_like(model.intercept_)
    model.to_onnx(tmp_path / "model.onnx")
    session = runtime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    given: dict[str, Any] = {"X": X}
    if table == "frame":
        given = {}
        for each in session.get_inputs():
            column = FRAME[each.name]
            texts = column.dtype.kind not in "fi"
            given[each.name] = np.asarray(column, object if texts else each.type[7:-1].replace("double", "f8"))[:, None]
    found = dict(zip([each.name for each in session.get_outputs()], session.run(None, given), strict=True))
    if "variable" in found:
        np.testing.assert_allclose(
            found["variable"].reshape(ROWS, -1), predictions(model, TABLES[table]).reshape(ROWS, -1)
        )
    else:
        np.testing.assert_array_equal(found["label"], model.predict(TABLES[table]))


@pytest.mark.parametrize("name", [name for name in MODELS if name[:10] not in ("perceptron", "two target")])
def test_inference_is_about_what_was_set(name: str) -> None:
    model, y = fitted(name, "dense"), MODELS[name][1]
    model.coef_ = model.coef_ + 0.5 * RNG.random(np.shape(model.coef_))
    if name != "no intercept":
        model.intercept_ = model.intercept_ + 0.5 * RNG.random(np.shape(model.intercept_))
    found = model.inference(X, y)
    assert any("not optimal" in note for note in found.notes)
    wanted = np.column_stack([np.atleast_1d(model.intercept_), np.atleast_2d(model.coef_)])
    wanted = wanted[:, 1:] if name == "no intercept" else wanted
    if name == "four classes":
        wanted[:, 0] -= wanted[:, 0].mean()  # from which intercepts of several classes count
    wanted = (wanted - wanted[0])[1:] if name == "reference" else wanted  # the same predictions
    np.testing.assert_allclose(found.coef, wanted.ravel(), atol=1e-9)


def test_an_intercept_by_hand_of_a_model_without_is_an_offset_to_inference() -> None:
    model = Ridge(0.0, fit_intercept=False).fit(X, Z + 3)
    model.intercept_ = 3.0
    other = Ridge(0.0, fit_intercept=False).fit(X, Z + 3, offset=np.full(ROWS, 3.0))
    model.coef_ = other.coef_
    found, wanted = model.inference(X, Z + 3), other.inference(X, Z + 3, offset=np.full(ROWS, 3.0))
    np.testing.assert_allclose(found.standard_error, wanted.standard_error, atol=1e-12)


def test_recalibration_moves_the_mean_probability() -> None:
    """The everyday use: another base rate, the same odds ratios (as scikit-learn's test_write_parameters)."""
    model = LogisticRegression().fit(X, TWO)
    odds = model.predict_proba(X)[:, 1] / model.predict_proba(X)[:, 0]
    model.intercept_[:] += np.log(2)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1] / model.predict_proba(X)[:, 0], 2 * odds)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
    model.coef_[:], model.intercept_[:] = 0, 0
    np.testing.assert_array_equal(model.decision_function(X), 0)
    model.coef_ = scipy.sparse.csr_matrix([[0.0, 2.0, 0.0, 0.0]])
    np.testing.assert_allclose(model.decision_function(X), 2 * X[:, 1])
    model.densify().coef_[0, 1] = 3
    np.testing.assert_allclose(model.decision_function(X), 3 * X[:, 1])


def test_a_warm_start_begins_at_what_was_set() -> None:
    model = PoissonRegressor(warm_start=True, alpha=0.0).fit(X, COUNTS)
    near = model.coef_.round(2).tolist()
    model.coef_, model.intercept_ = near, 0.05
    with pytest.warns(FitWarning):
        model.set_params(max_iter=0).fit(X, COUNTS)
    np.testing.assert_allclose(model.coef_, near)
    assert model.intercept_ == pytest.approx(0.05)


def test_a_link_belongs_to_the_fit(tmp_path: Path) -> None:
    model = TweedieRegressor(power=1.5).fit(X, COUNTS)
    predicted = model.predict(X)
    np.testing.assert_array_equal(model.set_params(power=0.0).predict(X), predicted)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(linnet.load(tmp_path / "model").predict(X), predicted)
    assert (model.fit(X, COUNTS).predict(X) != predicted).any()


def test_a_warm_start_begins_at_coefficients_of_any_form() -> None:
    model = LogisticRegression(warm_start=True).fit(X, FOUR)
    assert model.sparsify().fit(X, FOUR).n_iter_ < LogisticRegression().fit(X, FOUR).n_iter_
    one, other = (Perceptron(warm_start=True, max_iter=1).fit(X, TWO) for _ in range(2))
    other.coef_ = other.coef_[0]
    np.testing.assert_array_equal(other.fit(X, TWO).coef_, one.fit(X, TWO).coef_)
    assert (one.coef_ != Perceptron(max_iter=1).fit(X, TWO).coef_).any()


@pytest.mark.parametrize("name", MODELS)
def test_wrong_shapes_are_named(name: str) -> None:
    model, shape = fitted(name, "dense"), np.shape(MODELS[name][1])
    outputs = 4 if len(getattr(model, "classes_", ())) == 4 else 2 if len(shape) == 2 else 1
    right = model.coef_
    for wrong in (np.zeros((outputs, 5)), np.zeros(3), np.zeros((outputs, 4, 1)), np.zeros((0, 4)), 1.0):
        model.coef_ = wrong
        with pytest.raises(DataError, match=r"coef_ must have 4 coefficients.* got shape \("):
            model.predict(X)
    if outputs != 2:
        model.coef_ = np.zeros((3, 4))
        if not isinstance(model, Ridge):  # which may predict three targets
            with pytest.raises(DataError, match=r"coef_ must have 4 coefficients.* got shape \(3, 4\)"):
                model.predict(X)
    model.coef_ = right
    model.intercept_ = np.zeros(3)
    with pytest.raises(DataError, match=r"intercept_ must be one number.* got shape \(3,\)"):
        model.predict(X)
    model.intercept_ = np.zeros((outputs, 1, 1))
    with pytest.raises(DataError, match=r"intercept_ must be one number"):
        model.predict(X)
    for number in (np.nan, "high", None, 1j, np.ma.masked_array([1.0], [True])):
        model.intercept_ = number
        with pytest.raises(DataError, match="intercept_"):
            model.predict(X)


@pytest.mark.parametrize(
    "model",
    [
        OneVsRestClassifier(LogisticRegression()),
        OneVsRestClassifier(Perceptron(max_iter=3)),
        OneVsOneClassifier(LogisticRegression()),
        OutputCodeClassifier(LogisticRegression(), random_state=0),
        LabelTreeClassifier(LogisticRegression()),
    ],
    ids=["rest", "rest of perceptrons", "pairs", "codes", "tree"],
)
@pytest.mark.parametrize("table", ["dense", "frame"])
@pytest.mark.parametrize("whole", [False, True], ids=["in place", "whole"])
def test_classifiers_inside_a_reduction_may_be_changed(model: Any, table: str, whole: bool, tmp_path: Path) -> None:
    model.estimator.set_params(missing="fill")
    model.fit(TABLES[table], FOUR)
    before, part = model.predict_proba(TABLES[table]), model.estimators_[0]
    if whole:
        part.intercept_ = part.intercept_ + 1.0
        part.coef_ = part.coef_ - np.eye(part.coef_.shape[1])[1]
    else:
        part.intercept_[:] += 1.0
        part.coef_[0, 1] -= 1.0
    after = model.predict_proba(TABLES[table])
    assert np.abs(after - before).max() > 0.05
    single = [each.decision_function(TABLES[table]) for each in model.estimators_]
    np.testing.assert_allclose(model.learners_.outputs(model.learners_.read(TABLES[table]))[1], np.transpose(single))
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(linnet.load(tmp_path / "model").predict_proba(TABLES[table]), after)


def test_a_classifier_of_a_reduction_may_leave_it(tmp_path: Path) -> None:
    model = OneVsRestClassifier(LogisticRegression(missing="fill")).fit(FRAME, FOUR)
    before, part = model.predict_proba(FRAME), model.estimators_[0]
    with pytest.raises(DataError, match="coef_ must have"):
        part.coef_ = [1.0, 2.0]
    part.save(tmp_path / "part")
    for copied in (linnet.load(tmp_path / "part"), copy.deepcopy(part), pickle.loads(pickle.dumps(part))):
        assert type(copied) is LogisticRegression
        np.testing.assert_array_equal(copied.predict_proba(FRAME), part.predict_proba(FRAME))
        copied.intercept_ = 7.0
    part.fit(FRAME, FOUR)
    part.coef_ = 2 * part.coef_
    np.testing.assert_array_equal(model.predict_proba(FRAME), before)


def test_older_files_of_reductions_are_read() -> None:
    model = OneVsRestClassifier(LogisticRegression(missing="fill")).fit(FRAME, FOUR)
    now = model.learners_
    assert isinstance(now, StackedLogistic)
    weights = np.empty(now.coef.T.shape)
    weights[now.encoder.order()] = now.coef.T
    older = StackedLogistic(now.estimator, now.encoder, now.biases, now.iterations, weights=weights)
    np.testing.assert_array_equal(older.coef, now.coef)


def test_a_threshold_stands_on_what_was_set() -> None:
    tuned = ThresholdClassifier(LogisticRegression()).fit(X, TWO)
    tuned.estimator_.intercept_[:] = 50
    assert tuned.predict(X).all()


@pytest.mark.parametrize("name", ["least squares", "two targets", "counts", "four classes", "perceptron"])
@pytest.mark.parametrize("wrong", [np.zeros(3), np.zeros((2, 5)), [1.0, "a"], {}, np.full((4, 4), np.nan)], ids=str)
def test_files_whose_coefficients_cannot_be_are_refused(name: str, wrong: Any, tmp_path: Path) -> None:
    for attribute in ("coef_", "intercept_"):
        model = fitted(name, "dense")
        setattr(model, attribute, wrong)
        model.save(tmp_path / "model")
        with pytest.raises(FormatError, match="model"):
            linnet.load(tmp_path / "model")
