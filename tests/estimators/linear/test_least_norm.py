"""Least squares with many solutions: the smallest coefficients, as scikit-learn's LinearRegression gives them."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn.linear_model as sk
import statsmodels.api as sm

import linnet
from linnet.errors import FitWarning
from linnet.fit.solvers import lbfgs, min_norm, newton

RNG = np.random.default_rng(0)


def frame(x: Any) -> pd.DataFrame:
    return pd.DataFrame(x, columns=[f"c{j}" for j in range(x.shape[1])])


KINDS: dict[str, Any] = {"dense": np.asarray, "csr": scipy.sparse.csr_array, "frame": frame}
BASE = RNG.normal(size=(120, 5)) * [1, 10, 0.1, 1, 1] + [0, 0, 3, 1, 0]
LEVELS = RNG.integers(0, 60, 80)
SHAPES = {
    "duplicates, sums and constants": np.hstack([BASE, BASE[:, :2], BASE[:, 1:2] - BASE[:, 3:4], np.ones((120, 1))]),
    "wide": RNG.normal(size=(60, 150)) + 2,
    "wide of low rank": RNG.normal(size=(60, 10)) @ RNG.normal(size=(10, 150)) + 1,
    "wide, rows again": np.repeat(RNG.normal(size=(30, 150)), 2, axis=0),
    "one row": RNG.normal(size=(1, 4)),
}


def make_y(rows: int, targets: int = 1) -> Any:
    y = np.random.default_rng(1).normal(size=(rows, targets)) * np.arange(1, targets + 1) + 3
    return y if targets > 1 else y[:, 0]


def make_weights(rows: int) -> Any:
    weights = np.random.default_rng(2).random(rows) + 0.1
    weights[3:6] = 0
    return weights


def no_other_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every solve from here on use the dual."""
    monkeypatch.setattr(newton, "newton", None)
    monkeypatch.setattr(lbfgs, "lbfgs", None)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_smallest_of_the_best(
    kind: str, shape: str, weighted: bool, intercept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "wide" in shape:
        no_other_way(monkeypatch)
    x = SHAPES[shape]
    y, weights = make_y(len(x)), make_weights(len(x)) if weighted else None
    theirs = sk.LinearRegression(fit_intercept=intercept).fit(x, y, weights)
    for model in (linnet.LinearRegression(fit_intercept=intercept), linnet.Ridge(alpha=0, fit_intercept=intercept)):
        model.fit(KINDS[kind](x), y, weights)
        np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=1e-7, atol=1e-9)
        assert model.intercept_ == pytest.approx(theirs.intercept_, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", ["wide", "wide of low rank", "wide, rows again"])
@pytest.mark.parametrize("kind", KINDS)
def test_ridge_with_more_columns_than_rows(
    kind: str, shape: str, weighted: bool, intercept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_other_way(monkeypatch)
    x = SHAPES[shape]
    y, weights = make_y(len(x), 3), make_weights(len(x)) if weighted else None
    params: dict[str, Any] = {"alpha": [0.3, 1.0, 10.0], "fit_intercept": intercept}
    theirs = sk.Ridge(solver="svd", **params).fit(x, y, weights)
    ours = linnet.Ridge(**params).fit(KINDS[kind](x), y, weights)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("kind", ["float32", "uint8", "bool frame", "sparse float32", "few entries"])
def test_every_type_of_wide_table(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    no_other_way(monkeypatch)
    rng = np.random.default_rng(3)
    x: Any = rng.integers(0, 2, (50, 120)) * 1.0
    x = x * (rng.random(x.shape) < 0.05) if kind == "few entries" else x
    tables: dict[str, Any] = {
        "float32": x.astype(np.float32),
        "uint8": x.astype(np.uint8),
        "bool frame": frame(x > 0).assign(c0=x[:, 0]),
        "sparse float32": scipy.sparse.csr_array(x.astype(np.float32)),
        "few entries": scipy.sparse.csr_array(x),
    }
    y = make_y(50)
    ours = linnet.Ridge().fit(tables[kind], y)
    np.testing.assert_allclose(ours.coef_, sk.Ridge().fit(x, y).coef_, rtol=1e-7, atol=1e-10)


def test_by_rows_or_by_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same solution by every solver, with offsets and penalties by column as well."""
    x, y = SHAPES["wide"], make_y(60)
    rng = np.random.default_rng(4)
    params: dict[str, Any] = {"column_penalty": rng.random(150) + 0.1}
    offset = rng.normal(size=60)
    with monkeypatch.context() as during:
        no_other_way(during)
        by_rows = linnet.Ridge(**params).fit(x, y, make_weights(60), offset=offset)
    monkeypatch.setattr(min_norm.DualLeastSquares, "suits", lambda self, attempt: False)
    by_columns = linnet.Ridge(**params).fit(x, y, make_weights(60), offset=offset)
    np.testing.assert_allclose(by_rows.coef_, by_columns.coef_, rtol=1e-7, atol=1e-10)
    assert by_rows.intercept_ == pytest.approx(by_columns.intercept_)


def test_columns_of_which_some_have_no_penalty() -> None:
    x, y = SHAPES["wide"], make_y(60)
    model = linnet.Ridge(column_penalty=np.arange(150) >= 10).fit(x, y)
    slope = x.T @ (y - model.predict(x))  # at the optimum the penalty's, column by column
    np.testing.assert_allclose(slope[10:], model.coef_[10:], atol=1e-8)
    np.testing.assert_allclose(slope[:10], 0, atol=1e-8)


def test_columns_of_very_different_scales() -> None:
    """Beside a column of 1e12 the dual would lose all digits of the others, so another solver is used."""
    x, y = SHAPES["wide"].copy(), make_y(60)
    x[:, 7] *= 1e12
    model = linnet.Ridge().fit(x, y)
    slope = x.T @ (y - model.predict(x))
    np.testing.assert_allclose(np.delete(slope, 7), np.delete(model.coef_, 7), atol=1e-6)


def test_more_levels_than_rows() -> None:
    table = pd.DataFrame({"level": [f"l{i:02}" for i in LEVELS], "other": [f"o{i:02}" for i in LEVELS[::-1]]})
    hot = np.hstack([LEVELS[:, None] == np.unique(LEVELS), LEVELS[::-1, None] == np.unique(LEVELS)]) * 1.0
    assert hot.shape[1] > len(hot)
    y = make_y(len(hot))
    ridge = linnet.Ridge().fit(table, y)
    np.testing.assert_allclose(ridge.coef_, sk.Ridge().fit(hot, y).coef_, rtol=1e-7, atol=1e-10)
    with pytest.warns(FitWarning, match="17 levels of other .* are linear combinations of other columns"):
        plain = linnet.LinearRegression().fit(table, y)
    np.testing.assert_allclose(plain.predict(table), sk.LinearRegression().fit(hot, y).predict(hot), atol=1e-8)
    names = plain.get_feature_names_out().tolist()
    assert plain.coef_[names.index("level=" + table["level"].min())] == 0


@pytest.mark.parametrize("kind", ["model", "HC0", "HC1", "HC3"])
@pytest.mark.filterwarnings("ignore:The design matrix is rank-deficient")
def test_inference_is_of_the_smallest_coefficients(kind: str) -> None:
    x = SHAPES["duplicates, sums and constants"][:, :-1]
    y = make_y(len(x))
    theirs = sm.OLS(y, x).fit()
    theirs = theirs if kind == "model" else theirs.get_robustcov_results(kind)
    ours = linnet.LinearRegression(fit_intercept=False).fit(x, y).inference(x, y, covariance=kind)
    np.testing.assert_allclose(ours.coef, theirs.params, rtol=1e-7)
    np.testing.assert_allclose(ours.standard_error, theirs.bse, rtol=1e-7)
    assert ours.df_model == 5
    assert "of all coefficients that fit equally well these are the smallest" in str(ours)


def test_an_exact_fit_ends() -> None:
    """Where nothing is left of the objective, a part of it is no measure of what is left to gain."""
    x, y = SHAPES["wide"], make_y(60)
    model = linnet.Ridge(alpha=0, solver="lbfgs").fit(x, y)
    assert model.n_iter_ < 200
    np.testing.assert_allclose(model.predict(x), y, atol=1e-6)


@pytest.mark.usefixtures("teams_of_any_size")
def test_threads_change_nothing() -> None:
    x, y = SHAPES["wide"], make_y(60)
    assert len({linnet.Ridge(threads=threads).fit(x, y).coef_.tobytes() for threads in (1, 2, 3, 8)}) == 1


SOLVERS = ("auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs")


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shape", ["duplicates, sums and constants", "wide"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_solver_gives_the_smallest(kind: str, shape: str, solver: str) -> None:
    x = SHAPES[shape]
    y, weights = make_y(len(x), 2), make_weights(len(x))
    theirs = sk.LinearRegression().fit(x, y, weights)
    ours = linnet.Ridge(alpha=0, solver=solver).fit(KINDS[kind](x), y, weights)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", ["wide", "wide of low rank", "duplicates, sums and constants"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_smallest_where_no_matrix_can_be_afforded(
    kind: str, shape: str, intercept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Conjugate gradients never leave the combinations of the rows."""
    monkeypatch.setattr(newton, "hessian_affordable", lambda problem: False)
    monkeypatch.setattr(min_norm.DualLeastSquares, "suits", lambda self, attempt: False)
    x = SHAPES[shape]
    y, weights, offset = make_y(len(x)), make_weights(len(x)), RNG.normal(size=len(x))
    theirs = sk.LinearRegression(fit_intercept=intercept).fit(x, y - offset, weights)
    ours = linnet.Ridge(alpha=0, solver="lsqr", fit_intercept=intercept).fit(KINDS[kind](x), y, weights, offset=offset)
    assert ours.solver_ == "sparse_cg"
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-8)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, rel=1e-6, abs=1e-8)
