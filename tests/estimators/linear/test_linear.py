"""Linear models against scikit-learn, and laws that hold for all of them."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
import sklearn.linear_model as sk
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.metrics import d2_tweedie_score
from sklearn.preprocessing import StandardScaler

import linnet
from linnet.errors import ConfigError, DataError, DataWarning, FitWarning

RNG = np.random.default_rng(0)
N, P = 1500, 6
SCALES = np.logspace(-2, 3, P)
X = RNG.normal(size=(N, P)) * SCALES + 5
ETA = (X - 5) @ (RNG.normal(size=P) / SCALES * 0.3)
W = RNG.random(N) + 0.1
TARGETS = {
    "real": ETA + RNG.normal(size=N),
    "count": RNG.poisson(np.exp(ETA)).astype(float),
    "amount": RNG.gamma(2, np.exp(ETA) / 2),
}
TARGETS["claims"] = TARGETS["amount"] * (TARGETS["count"] > 0)

REGRESSORS: dict[str, tuple[str, dict[str, Any], str]] = {
    "poisson": ("PoissonRegressor", {"alpha": 0.1}, "count"),
    "poisson, no penalty": ("PoissonRegressor", {"alpha": 0.0}, "count"),
    "poisson, no intercept": ("PoissonRegressor", {"alpha": 0.1, "fit_intercept": False}, "count"),
    "gamma": ("GammaRegressor", {"alpha": 0.1}, "amount"),
    "tweedie 1.5": ("TweedieRegressor", {"alpha": 0.1, "power": 1.5}, "claims"),
    "tweedie 0": ("TweedieRegressor", {"alpha": 0.1, "power": 0}, "real"),
    "tweedie 0, log": ("TweedieRegressor", {"alpha": 0.1, "power": 0, "link": "log"}, "amount"),
    "tweedie 1": ("TweedieRegressor", {"alpha": 0.1, "power": 1}, "count"),
    "tweedie 2": ("TweedieRegressor", {"alpha": 0.1, "power": 2}, "amount"),
    "ridge": ("Ridge", {"alpha": 2.0}, "real"),
    "ridge, no intercept": ("Ridge", {"alpha": 2.0, "fit_intercept": False}, "real"),
    "least squares": ("LinearRegression", {}, "real"),
    "nonnegative": ("LinearRegression", {"positive": True}, "real"),
}


def both(name: str, params: dict[str, Any], **tight: Any) -> tuple[Any, Any]:
    """The same model here and in scikit-learn, at its tightest tolerance."""
    return getattr(linnet, name)(**params), getattr(sk, name)(**params, **tight)


@pytest.mark.parametrize("weights", [None, W], ids=["plain", "weighted"])
@pytest.mark.parametrize("case", REGRESSORS)
def test_regressors_agree_with_scikit_learn(case: str, weights: Any) -> None:
    name, params, target = REGRESSORS[case]
    tight = {"solver": "newton-cholesky", "tol": 1e-12, "max_iter": 1000} if name.endswith("Regressor") else {}
    ours, theirs = both(name, params, **tight)
    y = TARGETS[target]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scikit-learn's line search
        theirs.fit(X, y, weights)
    ours.fit(X, y, weights)
    np.testing.assert_allclose(ours.coef_ * SCALES, theirs.coef_ * SCALES, rtol=1e-6, atol=1e-8)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, rel=1e-6, abs=1e-7)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6)
    assert ours.score(X, y, weights) == pytest.approx(theirs.score(X, y, weights), abs=1e-8)


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
@pytest.mark.parametrize("params", [{}, {"C": 0.01}, {"class_weight": "balanced"}, {"fit_intercept": False}], ids=str)
def test_logistic_regression_agrees_with_scikit_learn(load: Any, params: dict[str, Any]) -> None:
    x, y = load(return_X_y=True)
    scale = x.std(axis=0)
    ours, theirs = both("LogisticRegression", params, solver="newton-cholesky", tol=1e-12, max_iter=1000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs.fit(x, y)
    ours.fit(x, y)
    np.testing.assert_allclose(ours.coef_ * scale, theirs.coef_ * scale, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ours.predict_proba(x), theirs.predict_proba(x), atol=1e-7)
    np.testing.assert_array_equal(ours.predict(x), theirs.predict(x))
    np.testing.assert_allclose(ours.predict_log_proba(x), theirs.predict_log_proba(x), rtol=1e-5, atol=1e-6)
    assert ours.coef_.shape == theirs.coef_.shape
    assert ours.intercept_.shape == theirs.intercept_.shape


@pytest.mark.parametrize(("C", "ratio"), [(0.1, 1.0), (1.0, 0.5)])
@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_l1_gives_the_same_zeros(load: Any, C: float, ratio: float) -> None:
    x, y = load(return_X_y=True)
    x = StandardScaler().fit_transform(x)
    ours = linnet.LogisticRegression(C=C, l1_ratio=ratio).fit(x, y)
    theirs = sk.LogisticRegression(C=C, l1_ratio=ratio, solver="saga", tol=1e-10, max_iter=100_000).fit(x, y)
    np.testing.assert_array_equal(ours.coef_ == 0, theirs.coef_ == 0)
    assert (ours.coef_ == 0).any()
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)


def test_working_sets_find_the_few_columns_that_matter() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 4000))
    y = x[:, :10].sum(axis=1) + rng.normal(size=300)
    ours = linnet.TweedieRegressor(power=0, alpha=0.2, l1_ratio=1).fit(x, y)
    theirs = sk.Lasso(alpha=0.2, tol=1e-10).fit(x, y)
    np.testing.assert_array_equal(ours.coef_ == 0, theirs.coef_ == 0)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-7)
    sparse = linnet.TweedieRegressor(power=0, alpha=0.2, l1_ratio=1).fit(scipy.sparse.csr_array(x), y)
    np.testing.assert_allclose(sparse.coef_, ours.coef_, atol=1e-9)


FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


def claims(n: int = 2000) -> dict[str, Any]:
    rng = np.random.default_rng(2)
    return {
        "age": rng.integers(18, 80, n),
        "region": np.array(["north", "east", "south", "west"])[rng.integers(0, 4, n)],
        "power": rng.normal(size=n).astype(np.float32),
        "brand": np.array(["a", "b", "c"])[rng.integers(0, 3, n)],
    }


def one_hot(data: dict[str, Any]) -> np.ndarray[Any, Any]:
    def hot(name: str) -> Any:
        return data[name][:, None] == np.unique(data[name])

    return np.hstack([data["age"][:, None], hot("region"), data["power"][:, None].astype(float), hot("brand")]) * 1.0


@pytest.mark.filterwarnings(
    "ignore:x4, x8 are linear combinations of other columns"
)  # of 0/1 columns; levels have a reference
@pytest.mark.parametrize("alpha", [0.0, 0.01])
@pytest.mark.parametrize("kind", [*FRAMES, "sparse"])
def test_frames_sparse_and_dense_give_the_same_model(kind: str, alpha: float) -> None:
    data = claims()
    y = np.random.default_rng(3).poisson(np.exp(0.01 * data["age"] + (data["region"] == "west") - 1)).astype(float)
    x = one_hot(data)
    plain = linnet.PoissonRegressor(alpha=alpha).fit(x, y)
    table = scipy.sparse.csr_matrix(x) if kind == "sparse" else FRAMES[kind](data)
    model = linnet.PoissonRegressor(alpha=alpha).fit(table, y)
    np.testing.assert_allclose(model.predict(table), plain.predict(x), rtol=1e-9)
    if alpha:
        np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-9, atol=1e-10)
    if kind in FRAMES:
        names = model.get_feature_names_out().tolist()
        assert names[:5] == ["age", "region=east", "region=north", "region=south", "region=west"]
        assert len(names) == len(model.coef_) == 9
        if not alpha:  # the first level is the reference
            assert model.coef_[names.index("region=east")] == model.coef_[names.index("brand=a")] == 0


@pytest.mark.parametrize("kind", FRAMES)
def test_an_unseen_level_has_no_effect_and_is_counted(kind: str) -> None:
    data = claims()
    y = np.random.default_rng(3).poisson(1.0, 2000).astype(float)
    model = linnet.PoissonRegressor(alpha=0.01).fit(FRAMES[kind](data), y)
    changed = {name: values[:5].copy() for name, values in data.items()}
    changed["region"] = np.array(["moon", "moon", *changed["region"][2:]])
    with pytest.warns(DataWarning, match="2 in column 'region'"):
        means = model.predict(FRAMES[kind](changed))
    names = model.get_feature_names_out().tolist()
    z = model.intercept_ + changed["age"] * model.coef_[0] + changed["power"] * model.coef_[names.index("power")]
    z = z + [model.coef_[names.index(f"brand={b}")] for b in changed["brand"]]
    np.testing.assert_allclose(means[:2], np.exp(z[:2]), rtol=1e-6)


def test_exposure_is_an_offset_on_the_log_scale() -> None:
    exposure = np.random.default_rng(4).random(N) + 0.2
    y = TARGETS["count"]
    one = linnet.PoissonRegressor(alpha=0.1).fit(X, y, exposure=exposure)
    other = linnet.PoissonRegressor(alpha=0.1).fit(X, y, offset=np.log(exposure))
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_allclose(one.predict(X, exposure=exposure), one.predict(X) * exposure)
    rates = sk.PoissonRegressor(alpha=0.1 * N / exposure.sum(), solver="newton-cholesky", tol=1e-12, max_iter=500)
    rates.fit(X, y / exposure, exposure)
    np.testing.assert_allclose(one.coef_ * SCALES, rates.coef_ * SCALES, rtol=1e-6, atol=1e-8)


def test_an_exposure_needs_a_log_link() -> None:
    y, exposure = TARGETS["count"], np.ones(len(X))
    for model in (linnet.TweedieRegressor(), linnet.TweedieRegressor(power=1.5, link="identity")):
        with pytest.raises(ConfigError, match="an exposure needs a model with the log link"):
            model.fit(X, y + 1, exposure=exposure)
        with pytest.raises(ConfigError, match="an exposure needs a model with the log link"):
            model.fit(X, y + 1).predict(X, exposure=exposure)
    linnet.TweedieRegressor(power=0, link="log").fit(X, y + 1, exposure=exposure)


def test_the_score_is_that_of_a_null_model_with_the_same_exposure() -> None:
    rng = np.random.default_rng(0)
    exposure = rng.uniform(1, 100, len(X))
    y = rng.poisson(exposure)
    model = linnet.PoissonRegressor(alpha=0).fit(X, y, exposure=exposure)
    assert 0 <= model.score(X, y, exposure=exposure) < 0.2, "only the exposure matters"
    table = model.inference(X, y, exposure=exposure)
    assert model.score(X, y, exposure=exposure) == pytest.approx(1 - table.deviance / table.null_deviance)
    gamma = linnet.GammaRegressor(alpha=0).fit(X, y + 1.0)
    theirs = d2_tweedie_score(y + 1.0, gamma.predict(X), power=2, sample_weight=exposure)
    assert gamma.score(X, y + 1.0, exposure) == pytest.approx(theirs)
    assert gamma.score(X, np.full(len(X), 2.0)) == 0


def test_scores_know_the_offset() -> None:
    offset = 5 * np.random.default_rng(0).normal(size=len(X))
    model = linnet.Ridge(alpha=1e-9).fit(X, offset, offset=offset)
    assert model.score(X, offset, offset=offset) == pytest.approx(1)
    logistic = linnet.LogisticRegression(C=1e-9).fit(X, offset > 0, offset=100 * offset)
    assert logistic.score(X, offset > 0, offset=100 * offset) == 1


def test_any_affine_change_of_columns_leaves_predictions_alone() -> None:
    y = TARGETS["count"]
    model = linnet.PoissonRegressor(alpha=0).fit(X, y)
    for shift, factor in ((0.0, 1e-6), (1e6, 1.0), (-3e3, 1e9)):
        moved = linnet.PoissonRegressor(alpha=0).fit(X * factor + shift, y)
        np.testing.assert_allclose(moved.predict(X * factor + shift), model.predict(X), rtol=1e-6)


@pytest.mark.usefixtures("teams_of_any_size")
def test_threads_change_nothing() -> None:
    y = (TARGETS["count"] > 0).astype(int)
    thetas = {linnet.LogisticRegression(threads=threads).fit(X, y).coef_.tobytes() for threads in (1, 2, 3, 8)}
    assert len(thetas) == 1


def test_reference_holds_one_class_at_zero() -> None:
    x, y = load_iris(return_X_y=True)
    model = linnet.LogisticRegression(reference=1).fit(x, y)
    assert (model.coef_[1] == 0).all()
    assert model.intercept_[1] == 0
    assert model.score(x, y) > 0.95
    with pytest.raises(ConfigError, match="reference='red' is not a class"):
        linnet.LogisticRegression(reference="red").fit(x, y)


def test_sampling_follows_the_probabilities() -> None:
    x, y = load_iris(return_X_y=True)
    model = linnet.LogisticRegression(C=0.01).fit(x, y)
    many = np.repeat(x[60:61], 20_000, axis=0)
    drawn = model.sample(many, 0)
    np.testing.assert_allclose(np.bincount(drawn, minlength=3) / 20_000, model.predict_proba(many[:1])[0], atol=0.015)
    np.testing.assert_array_equal(drawn, model.sample(many, 0))


def test_column_penalties() -> None:
    y = TARGETS["count"]
    heavy = linnet.PoissonRegressor(alpha=0.1, column_penalty=[0, 1e12, 1, 1, 1, 1]).fit(X, y)
    assert abs(heavy.coef_[1]) < 1e-9
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(P)])
    by_name = linnet.PoissonRegressor(alpha=0.1, column_penalty={"c0": 0, "c1": 1e12}).fit(frame, y)
    np.testing.assert_allclose(by_name.coef_, heavy.coef_, rtol=1e-9, atol=1e-15)
    with pytest.raises(ConfigError, match="column_penalty names 'c9'"):
        linnet.PoissonRegressor(column_penalty={"c9": 1}).fit(frame, y)


def test_warm_start_goes_on() -> None:
    y = TARGETS["count"]
    model = linnet.PoissonRegressor(alpha=0.1, warm_start=True).fit(X, y)
    assert model.n_iter_ > 1
    assert model.fit(X, y).n_iter_ == 0


@pytest.mark.parametrize("C", [1.0, np.inf])
@pytest.mark.parametrize("solver", ["auto", "lbfgs"])
@pytest.mark.parametrize(
    "change", [{"reference": 1}, {"reference": None}, {"fit_intercept": False}, {"column_penalty": {"x1": 0}}]
)
def test_a_warm_start_may_have_another_form(change: dict[str, Any], solver: str, C: float) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(120, 3)) + 1, rng.integers(0, 3, 120)
    warm = linnet.LogisticRegression(C=C, solver=solver, warm_start=True, reference=2).fit(x, y)
    cold = linnet.LogisticRegression(C=C, solver=solver, reference=2)
    warm.set_params(**change).fit(x, y)
    cold.set_params(**change).fit(x, y)
    np.testing.assert_allclose(warm.coef_, cold.coef_, atol=2e-5)
    np.testing.assert_allclose(warm.intercept_, cold.intercept_, atol=2e-5)


def test_a_new_reference_changes_no_prediction() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(120, 3)) + 1, rng.integers(0, 3, 120)
    model = linnet.LogisticRegression(C=np.inf, warm_start=True).fit(x, y)
    before = model.predict_proba(x)
    model.set_params(reference=1, max_iter=0).fit(x, y)
    np.testing.assert_allclose(model.predict_proba(x), before, rtol=1e-7)
    assert not model.coef_[1].any()


def test_a_fit_that_ends_early_says_so() -> None:
    with pytest.warns(FitWarning, match=r"has not converged after 1 iterations: .* raise max_iter"):
        linnet.PoissonRegressor(alpha=0.1, max_iter=1).fit(X, TARGETS["count"])


def test_a_fit_that_ends_early_names_the_columns_that_are_furthest_from_their_optimum() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 30))
    table = pd.DataFrame(x, columns=[f"x{place}" for place in range(30)]).rename(columns={"x7": "size", "x3": "age"})
    y = np.where(x[:, 7] > 0, rng.poisson(np.exp(1 + 0.3 * x[:, 3])), 0)  # 0 wherever the size is negative
    for how in ({"l1_ratio": 1.0}, {"solver": "lbfgs"}, {}):
        model = linnet.PoissonRegressor(alpha=1e-6, max_iter=1, **how)
        with pytest.warns(
            FitWarning, match=r"above its minimum, mostly for the coefficients of (age|size), [^,]*, [^,]*, and"
        ):
            model.fit(table, y)
        assert model.n_iter_ == 1


ANY_NUMBER = ("1", None, True, [1.0, 2.0, 3.0], float("nan"))
WRONG: dict[str, tuple[Any, ...]] = {
    "alpha": (*ANY_NUMBER, -1.0, np.inf),
    "C": (*ANY_NUMBER, -1.0, 0.0),
    "l1_ratio": ("1", True, float("nan"), -0.1, 1.1),
    "max_iter": ("1", 1.5, -1, True),
    "tol": (*ANY_NUMBER, -1e-4, np.inf),
    "fit_intercept": ("yes", 1, None),
    "warm_start": ("yes", 1, None),
    "positive": ("yes", 1, None),
    "verbose": ("yes", -1, None),
    "class_weight": ("heavy", 3, {7: 1.0}, {0: -1.0}, {0: np.nan}, {0: "1"}),
    "column_penalty": ("a", [1.0], [-1.0] * P, [np.nan] * P, {"x0": -1}, {"x0": "1"}, {"x99": 1}),
    "power": (*ANY_NUMBER, np.inf, 0.5),
    "link": ("logit", 3),
    "solver": ("best", 3),
    "penalty": ("l3", 3),
    "reference": (7, "a"),
    "threads": (0, "2", -1),
}


@pytest.mark.parametrize(
    "name",
    ["LinearRegression", "Ridge", "LogisticRegression", "PoissonRegressor", "GammaRegressor", "TweedieRegressor"],
)
def test_a_parameter_without_a_meaning_is_named(name: str) -> None:
    model = getattr(linnet, name)
    y = (TARGETS["real"] > 0) if name == "LogisticRegression" else TARGETS["count"] + 1
    for parameter, values in WRONG.items():
        if parameter not in model().get_params():
            continue
        for value in values:
            if parameter == "threads" and value is None:
                continue
            with pytest.raises(ConfigError, match=parameter):
                model(**{parameter: value}).fit(X, y)
    model(tol=np.float32(1e-6), fit_intercept=np.bool_(True)).fit(X, y)


def test_several_targets_may_have_several_penalties() -> None:
    y = np.column_stack([TARGETS["count"]] * 2)
    model = linnet.Ridge(alpha=[1.0, 5.0]).fit(X, y)
    np.testing.assert_allclose(model.coef_[1], linnet.Ridge(alpha=5.0).fit(X, y[:, 1]).coef_)
    for alpha in ([1.0], [1.0, -1.0], [1.0, np.nan], [[1.0, 2.0]]):
        with pytest.raises(ConfigError, match="alpha must be"):
            linnet.Ridge(alpha=alpha).fit(X, y)


def test_the_reference_of_two_classes_is_the_first() -> None:
    y = np.where((TARGETS["real"] > 0), "yes", "no")
    plain = linnet.LogisticRegression().fit(X, y)
    np.testing.assert_array_equal(linnet.LogisticRegression(reference="no").fit(X, y).coef_, plain.coef_)
    with pytest.raises(ConfigError, match="reference='yes': with two classes the reference is always the first, 'no'"):
        linnet.LogisticRegression(reference="yes").fit(X, y)


def test_column_penalties_by_exact_names() -> None:
    y = TARGETS["count"]
    level = np.array(["u", "v"])[np.arange(N) % 2]
    frame = pd.DataFrame({"a": X[:, 0], "a=b": X[:, 1], "g": level})

    def fit(penalty: Any) -> Any:
        return linnet.PoissonRegressor(alpha=0.1, column_penalty=penalty).fit(frame, y).coef_

    np.testing.assert_array_equal(fit({"a": 0}), fit([0, 1, 1, 1]))
    np.testing.assert_array_equal(fit({"a=b": 0}), fit([1, 0, 1, 1]))
    np.testing.assert_array_equal(fit({"g": 3}), fit([1, 1, 3, 3]))
    np.testing.assert_array_equal(fit({"g=u": 3}), fit([1, 1, 3, 1]))
    for wrong in ("g=w", "b", "a="):
        with pytest.raises(ConfigError, match="column_penalty names"):
            fit({wrong: 0})


BAD: dict[str, tuple[Any, str]] = {
    "negative count": (
        lambda: linnet.PoissonRegressor().fit(X, -TARGETS["count"] - 1),
        "y contains -.* in row 0: counts",
    ),
    "zero amount": (lambda: linnet.GammaRegressor().fit(X, np.zeros(N)), "y contains 0 in row 0: amounts"),
    "missing": (lambda: linnet.Ridge().fit(X, np.full(N, np.nan)), "y contains NaN in row 0"),
    "one class": (lambda: linnet.LogisticRegression().fit(X, np.ones(N, int)), "y has only one class, "),
    "rows": (lambda: linnet.Ridge().fit(X, TARGETS["real"][1:]), "y has 1499 rows, but X has 1500"),
    "exposure": (
        lambda: linnet.PoissonRegressor().fit(X, TARGETS["count"], exposure=np.zeros(N)),
        "exposure contains 0 in row 0: exposures must be above 0",
    ),
    "power": (
        lambda: linnet.TweedieRegressor(power=0.5).fit(X, TARGETS["count"]),
        "power must be at most 0 or at least 1",
    ),
    "solver": (
        lambda: linnet.Ridge(solver="lbfsg").fit(X, TARGETS["real"]),
        "unknown solver 'lbfsg': did you mean 'lbfgs'",
    ),
    "C": (lambda: linnet.LogisticRegression(C=-1).fit(X, TARGETS["count"] > 0), "C must be above 0"),
    "null": (
        lambda: linnet.Ridge().fit(pl.DataFrame({"a": [1.0, None]}), [0.0, 1.0]),
        "X has no value in row 1, column 'a'",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case: str) -> None:
    call, message = BAD[case]
    with pytest.raises((ConfigError, DataError), match=message):
        call()


def test_hostile_columns() -> None:
    """Duplicated, constant, huge, and more columns than rows: predictions stay right."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(200, 3))
    y = rng.poisson(np.exp(0.5 * x[:, 0])).astype(float)
    plain = linnet.PoissonRegressor(alpha=0).fit(x, y).predict(x)
    ugly = np.hstack([x, x[:, :1], np.ones((200, 1)), 1e12 + 1e3 * x[:, 1:2]])
    with pytest.warns(FitWarning, match="^x3, x5 are linear combinations of other columns"):
        model = linnet.PoissonRegressor(alpha=0).fit(ugly, y)
    np.testing.assert_allclose(model.predict(ugly), plain, rtol=1e-5)
    wide = rng.normal(size=(30, 100))
    ridge = linnet.Ridge(alpha=1.0).fit(wide, y[:30])
    np.testing.assert_allclose(ridge.predict(wide), sk.Ridge(alpha=1.0).fit(wide, y[:30]).predict(wide), rtol=1e-8)


def test_large_counts() -> None:
    rng = np.random.default_rng(6)
    x = rng.normal(size=(300, 2))
    y = rng.poisson(1e9 * np.exp(0.1 * x[:, 0])).astype(float)
    model = linnet.PoissonRegressor(alpha=0).fit(x, y)
    np.testing.assert_allclose(model.coef_, [0.1, 0], atol=1e-4)
    assert model.intercept_ == pytest.approx(np.log(1e9), abs=1e-4)


def test_a_fit_that_fails_leaves_the_model_as_it_was() -> None:
    model = linnet.PoissonRegressor(alpha=0.1).fit(X, TARGETS["count"])
    before = model.predict(X)
    with pytest.raises(DataError, match="counts must be at least 0"):
        model.fit(X[:, :3], -W)
    np.testing.assert_array_equal(model.predict(X), before)


def test_verbose_tells_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = (X.sum(axis=1) + np.random.default_rng(1).normal(size=200) > 0).astype(int)
    for solver in ("newton-cholesky", "lbfgs"):
        linnet.LogisticRegression(verbose=2, solver=solver).fit(X, y)
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].startswith("iteration 0: objective 138.")
        gaps = [float(line.split()[-1]) for line in lines]
        assert gaps[-1] < 1e-5 * gaps[0]
    linnet.LogisticRegression(verbose=2, l1_ratio=1, solver="saga").fit(X, y)
    assert "suboptimality" in capsys.readouterr().out
    linnet.LogisticRegression(verbose=1).fit(X, y)
    assert "objective" in capsys.readouterr().out
    linnet.LogisticRegression().fit(X, y)
    assert capsys.readouterr().out == ""
