"""What users of scikit-learn expect of an estimator, from estimators that do not load scikit-learn."""

import copy
import pickle
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
import sklearn
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning, NotFittedError, UndefinedMetricWarning
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr
from sklearn.utils.metadata_routing import UNCHANGED

import linnet
from linnet._sklearn import accuracy, metadata, r_squared
from linnet.errors import ConfigError, DataError, DataTypeError, DataWarning, FitWarning

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 3))
NUMBERS = np.abs(X @ [1.0, 2.0, 3.0]) + 0.1
CLASSES = (X[:, 0] + 0.3 * RANDOM.normal(size=60) > 0).astype(int)

REGRESSORS = ("LinearRegression", "Ridge", "PoissonRegressor", "GammaRegressor", "TweedieRegressor", "MLPRegressor")
CLASSIFIERS = ("LogisticRegression", "Perceptron", "MLPClassifier")

# Fits, predicts and scores on what {table} is, and prints what was loaded on the way.
PROGRAM = """
import sys
import warnings

import numpy as np
{loaded}
import linnet

warnings.simplefilter("ignore")
x = np.random.default_rng(0).normal(size=(60, 3))
few = np.arange(60) % 3
labels, weights = np.stack([few > 0, few > 1], axis=1), np.ones(60)
table = {table}
before = set(sys.modules)


def use(model, y):
    model.fit(table, y).score(table, y)
    model.score(table, y, sample_weight=weights)
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        if hasattr(model, method):
            getattr(model, method)(table)
    repr(model.set_params(**model.get_params()))


for name in {names}:
    model = getattr(linnet, name)
    targets = [np.abs(x @ [1.0, 2.0, 3.0]) + 0.1]
    if hasattr(model, "decision_function"):
        targets = [few, few > 1, few.astype(float), np.array(list("abc"))[few], np.array(list("abc"), object)[few]]
    for y in targets:
        use(model(), y)
        if "MLP" in name:
            use(model(max_iter=2, early_stopping=True), y)
            use(model(max_iter=2, solver="lbfgs"), y)
            model(max_iter=2).partial_fit(table, y[:, None]).partial_fit(table, y, weights)
    if "MLP" in name:
        use(model(max_iter=2), labels)
    heavy = [module for module in set(sys.modules) - before if module.startswith(("sklearn", "pandas", "scipy.stats"))]
    print(name, heavy)
"""
TABLES = {
    "array": ("", "x"),
    "list": ("", "x.tolist()"),
    "sparse": ("import scipy.sparse", "scipy.sparse.csr_array(x)"),
    "polars": ("import polars", "polars.DataFrame({'a': x[:, 0], 'b': list('uvw') * 20})"),
    "pyarrow": ("import pyarrow", "pyarrow.table({'a': x[:, 0], 'b': list('uvw') * 20})"),
}


@pytest.mark.parametrize("kind", TABLES)
def test_no_heavy_library_is_loaded(kind: str) -> None:
    loaded, table = TABLES[kind]
    names = [*REGRESSORS, *CLASSIFIERS]
    program = PROGRAM.replace("{loaded}", loaded).replace("{table}", table).replace("{names}", repr(names))
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.stdout.splitlines() == [f"{name} []" for name in names], run.stderr


def test_a_model_that_outlives_python_is_no_news() -> None:
    """Such as one that a notebook, a thread or the parameters of a test still refer to."""
    program = """
import ctypes, linnet
model = linnet.MLPRegressor(max_iter=1000, random_state=0).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
ctypes.pythonapi.Py_IncRef(ctypes.py_object(model))
"""
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")


# ---- parameters ----


def test_parameters_by_name() -> None:
    model = linnet.Ridge(alpha=3.0)
    assert list(model.get_params()) == sorted(model.get_params())
    assert model.set_params(alpha=2.0, positive=True) is model
    assert (model.alpha, model.positive) == (2.0, True)
    with pytest.raises(ConfigError, match=r"Invalid parameter 'alfa' for estimator Ridge\(alpha=2.0, positive=True\)"):
        model.set_params(alfa=1)
    with pytest.raises(ValueError, match="Valid parameters are: \\['alpha', "):
        model.set_params(alfa__alpha=1)


class Holder(linnet.Ridge):
    """An estimator that holds another one."""

    def __init__(self, inner: Any = None, *, alpha: float = 1.0) -> None:
        super().__init__(alpha)
        self.inner = inner


def test_parameters_of_an_estimator_inside() -> None:
    model = Holder(linnet.LogisticRegression(C=2.0))
    assert model.get_params()["inner__C"] == 2.0
    assert set(model.get_params(deep=False)) == {"inner", "alpha"}
    model.set_params(inner__C=5.0, inner=linnet.LogisticRegression(C=7.0), alpha=4.0)
    assert (model.inner.C, model.alpha) == (5.0, 4.0)
    assert repr(model) == "Holder(alpha=4.0, inner=LogisticRegression(C=5.0))"
    again = clone(model)
    assert again.inner is not model.inner
    assert again.inner.C == 5.0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", [*REGRESSORS, *CLASSIFIERS, "preset"])
def test_a_subclass_may_have_fewer_parameters(kind: str) -> None:
    """What it does not ask for, it hands on, or leaves at the default."""
    fixed: dict[str, Any] = {"fit_intercept": False}
    if kind == "preset" or kind.startswith("MLP"):
        fixed = {"hidden_layer_sizes": (4,), "max_iter": 20, "random_state": 0}
    if kind == "preset":
        kind, fixed["preset"] = "MLPClassifier", "tabular"
    family: Any = getattr(linnet, kind)

    class Narrow(family):  # type: ignore[misc]
        def __init__(self, own: float = 1.0) -> None:
            super().__init__(**fixed)
            self.own = own

    y = CLASSES if kind in CLASSIFIERS else NUMBERS
    model = clone(Narrow(own=2.0))
    assert model.get_params() == {"own": 2.0}
    np.testing.assert_array_equal(model.fit(X, y).predict(X), family(**fixed).fit(X, y).predict(X))


def test_the_text_shows_what_was_changed() -> None:
    assert repr(linnet.MLPClassifier()) == "MLPClassifier()"
    assert repr(linnet.MLPClassifier((5,), alpha=0.1)) == "MLPClassifier(alpha=0.1, hidden_layer_sizes=(5,))"
    long = linnet.MLPClassifier((50, 50), alpha=0.1, learning_rate_init=0.01, max_iter=1000, random_state=0)
    assert repr(long).splitlines() == [
        "MLPClassifier(alpha=0.1,",
        "              hidden_layer_sizes=(50, 50),",
        "              learning_rate_init=0.01,",
        "              max_iter=1000,",
        "              random_state=0)",
    ]
    assert repr(make_pipeline(StandardScaler(), linnet.Ridge(2.0))).endswith("('ridge', Ridge(alpha=2.0))])")


def test_notebooks_show_scikit_learns_diagram() -> None:
    model = linnet.LogisticRegression(C=0.125)
    shown = model._repr_html_()
    assert shown is not None
    assert "sk-container" in shown
    assert "0.125" in shown
    assert "<span>Not fitted" in shown
    fitted = model.fit(X, CLASSES)._repr_html_()
    assert fitted is not None
    assert "<span>Fitted" in fitted
    assert "LogisticRegression" in estimator_html_repr(make_pipeline(StandardScaler(), model))
    with sklearn.config_context(display="text"):
        assert model._repr_html_() is None


def test_copies_and_pickles_predict_the_same() -> None:
    for name, y in [(name, NUMBERS) for name in REGRESSORS] + [(name, CLASSES) for name in CLASSIFIERS]:
        with warnings.catch_warnings(action="ignore"):
            model = getattr(linnet, name)().fit(X, y)
        for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
            np.testing.assert_array_equal(again.predict(X), model.predict(X))
        with pytest.raises(NotFittedError, match=f"This {name} instance is not fitted yet. Call 'fit'"):
            clone(model).predict(X)
        assert is_classifier(model) == (name in CLASSIFIERS)
        assert is_regressor(model) == (name in REGRESSORS)


def test_partial_fit_is_there_for_some_parameters_only() -> None:
    assert hasattr(linnet.MLPClassifier(), "partial_fit")
    model = linnet.MLPClassifier(solver="lbfgs")
    with pytest.raises(AttributeError, match="This 'MLPClassifier' has no attribute 'partial_fit'"):
        _ = model.partial_fit


# ---- metadata ----


def test_requests_are_there_for_methods_with_metadata() -> None:
    assert not hasattr(linnet.Perceptron(), "set_fit_request")
    assert hasattr(linnet.Perceptron(), "set_score_request")
    assert not hasattr(linnet.MLPClassifier(), "set_predict_request")
    assert hasattr(linnet.MLPRegressor, "set_predict_request")
    with pytest.raises(RuntimeError, match="only available when metadata routing is enabled"):
        linnet.Ridge().set_fit_request(sample_weight=True)


def test_what_is_passed_on_has_no_request_of_its_own() -> None:
    """`**fit_params` are the names of others."""
    for kind in (linnet.OneVsRestClassifier, linnet.ThresholdClassifier):
        assert "fit_params" not in metadata(kind, "fit")
        assert "sample_weight" in metadata(kind, "fit")


def test_requests_are_kept() -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        model = linnet.Ridge().set_fit_request(sample_weight=True)
        model.set_fit_request(sample_weight=UNCHANGED, offset="shift").set_predict_request(offset=False)
        for each in (model, clone(model), pickle.loads(pickle.dumps(model))):
            routing = each.get_metadata_routing()
            assert routing.fit.requests == {"sample_weight": True, "offset": "shift"}
            assert routing.predict.requests == {"offset": False}
            assert routing.score.requests == {"sample_weight": None, "offset": None}
        assert linnet.Ridge().get_metadata_routing().fit.requests == {"sample_weight": None, "offset": None}
        with pytest.raises(TypeError, match=r"Unexpected args: {'weights'} in fit"):
            model.set_fit_request(weights=True)


def test_what_was_not_asked_for_is_an_error() -> None:
    weights = np.linspace(0.1, 1, 60)
    with sklearn.config_context(enable_metadata_routing=True):
        with pytest.raises(ValueError, match="not explicitly set as requested or not requested for Ridge"):
            cross_validate(linnet.Ridge(), X, NUMBERS, params={"sample_weight": weights}, error_score="raise")
        routed = linnet.Ridge().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        found = cross_validate(routed, X, NUMBERS, params={"sample_weight": weights}, cv=2)["test_score"]
    train = slice(30, None)
    by_hand = linnet.Ridge().fit(X[train], NUMBERS[train], weights[train])
    assert found[0] == by_hand.score(X[:30], NUMBERS[:30], weights[:30])


# ---- columns ----

FRAMES: dict[str, Any] = {
    "pandas": lambda table, names: pd.DataFrame(table, columns=names),
    "polars": lambda table, names: pl.DataFrame(table, schema=names),
    "pyarrow": lambda table, names: pa.table(dict(zip(names, table.T, strict=True))),
    "batch": lambda table, names: pa.RecordBatch.from_arrays([pa.array(column) for column in table.T], names),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_names_of_columns(kind: str) -> None:
    frame = FRAMES[kind]
    model = linnet.Ridge().fit(frame(X, ["a", "b", "c"]), NUMBERS)
    assert model.feature_names_in_.dtype == object
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.n_features_in_ == 3
    with pytest.warns(UserWarning, match="X does not have valid feature names, but Ridge was fitted with"):
        model.predict(X)
    with pytest.raises(DataError, match="must be in the same order as they were in fit"):
        model.predict(frame(X, ["b", "a", "c"]))
    others = r"unseen at fit time:\n- d\nFeature names seen at fit time, yet now missing:\n- c\n$"
    with pytest.raises(DataError, match=others):
        model.predict(frame(X, ["a", "b", "d"]))
    model.fit(X, NUMBERS)
    assert not hasattr(model, "feature_names_in_")
    with pytest.warns(UserWarning, match="X has feature names, but Ridge was fitted without feature names"):
        model.predict(frame(X, ["a", "b", "c"]))


def test_numbers_of_columns() -> None:
    for table in (X, X.tolist(), scipy.sparse.csr_array(X)):
        model = linnet.MLPRegressor(hidden_layer_sizes=(3,), solver="lbfgs", max_iter=500, random_state=0)
        model.fit(table, NUMBERS)
        assert model.n_features_in_ == 3
        with pytest.raises(DataError, match="X has 2 features, but MLPRegressor is expecting 3 features as input"):
            model.predict(table[:, :2] if hasattr(table, "shape") else [row[:2] for row in table])


def test_columns_called_by_numbers_have_no_names() -> None:
    assert not hasattr(linnet.Ridge().fit(pd.DataFrame(X), NUMBERS), "feature_names_in_")
    with pytest.raises(DataTypeError, match=r"your input has \['int', 'str'\]"):
        linnet.Ridge().fit(pd.DataFrame(X, columns=["a", "b", 3]), NUMBERS)


# ---- scores and warnings ----


@pytest.mark.parametrize("weights", [None, np.linspace(0, 1, 60)], ids=["", "weighted"])
def test_scores_are_scikit_learns(weights: Any) -> None:
    guessed = np.where(np.arange(60) % 4 == 0, 1 - CLASSES, CLASSES)
    names, objects = np.array(["no", "yes"]), np.array(["no", "yes"], object)
    for y, predicted in (
        (CLASSES, guessed),
        (CLASSES.astype(float), guessed),
        (CLASSES == 1, guessed),
        (CLASSES[:, None], guessed),
        (names[CLASSES], names[guessed]),
        (objects[CLASSES], names[guessed]),
        (pd.Series(names[CLASSES]), names[guessed]),
        (pl.Series(names[CLASSES]), names[guessed]),
        (CLASSES.tolist(), guessed),
        (np.c_[CLASSES, CLASSES], np.c_[guessed, CLASSES]),
        (scipy.sparse.csr_array(np.c_[CLASSES, CLASSES]), np.c_[guessed, CLASSES]),
    ):
        assert accuracy(y, predicted, weights) == pytest.approx(
            accuracy_score(y, predicted, sample_weight=weights), 1e-15
        )
    for y, predicted in (
        (NUMBERS, X[:, 0]),
        (NUMBERS[:, None], X[:, 0]),
        (X, X[::-1]),
        (np.c_[NUMBERS, np.ones(60)], np.c_[NUMBERS, X[:, 0]]),
        (np.ones(60), np.ones(60)),
    ):
        assert r_squared(y, predicted, weights) == pytest.approx(r2_score(y, predicted, sample_weight=weights), 1e-12)


def test_targets_that_are_no_classes_have_no_accuracy() -> None:
    for y, message in ((NUMBERS, "continuous"), (np.array(["a"] * 60), "Mix of label"), (CLASSES[:5], "inconsistent")):
        with pytest.raises(ValueError, match=message):
            accuracy(y, CLASSES)


def test_warnings_are_scikit_learns_and_ours() -> None:
    with pytest.warns(ConvergenceWarning, match="Maximum iterations") as caught:
        linnet.MLPRegressor(max_iter=2).fit(X, NUMBERS)
    assert issubclass(caught[0].category, FitWarning)
    with pytest.warns(DataConversionWarning, match="column-vector") as caught:
        linnet.LogisticRegression().fit(X, CLASSES[:, None])
    assert issubclass(caught[0].category, DataWarning)
    with pytest.warns(UndefinedMetricWarning, match="less than two samples"):
        assert np.isnan(linnet.Ridge().fit(X, NUMBERS).score(X[:1], NUMBERS[:1]))
    with pytest.warns(UserWarning, match="number of unique classes is greater than 50%"):
        linnet.LogisticRegression().fit(X[:30], [f"id {row}" for row in range(30)])


def test_each_class_has_its_share_of_the_rows_held_out() -> None:
    y = np.repeat(["a", "b", "c"], [40, 15, 5])
    model = linnet.MLPClassifier(early_stopping=True, validation_fraction=0.2, max_iter=2, random_state=0)
    counts = []

    def count(t: Any, mean: Any) -> float:
        counts.append(np.unique(t, return_counts=True)[1].tolist())
        return 0.0

    with warnings.catch_warnings(action="ignore"):
        model.fit(X, y, eval_metric=count)
    assert counts[0] == [8, 3, 1]
    with pytest.raises(DataError, match="class 'd' has only one"):
        model.fit(X, [*y[:-1], "d"])
    with pytest.raises(DataError, match="validation set is too small or too large, 1 of 4 rows"):
        model.fit(X[:4], y[[0, 1, 40, 41]])
