"""Linear models on hostile data: correct results, or errors that name what is wrong and where."""

from contextlib import nullcontext
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
import sklearn.linear_model as sk

import linnet
from linnet.errors import DataError, FitWarning, SeparationWarning

RNG = np.random.default_rng(0)
N = 120
X = RNG.normal(size=(N, 4))
ETA = X @ [0.5, -0.5, 0.3, 0.0]
REAL = ETA + RNG.normal(size=N)
COUNT = RNG.poisson(np.exp(ETA)).astype(float)
YES = (RNG.random(N) < 1 / (1 + np.exp(-ETA))).astype(int)
LEVELS = np.array(["a", "b", "c"])[RNG.integers(0, 3, N)]


def frame(x: Any) -> pd.DataFrame:
    return pd.DataFrame(x, columns=[f"c{j}" for j in range(x.shape[1])])


KINDS: dict[str, Any] = {"dense": np.asarray, "csr": scipy.sparse.csr_array, "frame": frame}
TABLES: dict[str, Any] = {kind: make(X) for kind, make in KINDS.items()} | {"levels": pd.DataFrame({"level": LEVELS})}
FREE: dict[str, tuple[Any, Any]] = {
    "least squares": (linnet.LinearRegression(), REAL),
    "poisson": (linnet.PoissonRegressor(alpha=0), COUNT),
    "logistic": (linnet.LogisticRegression(C=np.inf), YES),
}
PENALISED: dict[str, tuple[Any, Any]] = {
    "ridge": (linnet.Ridge(), REAL),
    "poisson": (linnet.PoissonRegressor(alpha=0.1), COUNT),
    "logistic": (linnet.LogisticRegression(), YES),
}
MODELS = {f"{name}, free": case for name, case in FREE.items()} | PENALISED
kinds = pytest.mark.parametrize("kind", KINDS)
tables = pytest.mark.parametrize("kind", TABLES)


def mean(model: Any, x: Any) -> Any:
    return model.predict_proba(x) if hasattr(model, "predict_proba") else model.predict(x)


def some(table: Any, rows: Any) -> Any:
    return table.iloc[rows] if isinstance(table, pd.DataFrame) else table[rows]


# ---- columns ----


@kinds
@pytest.mark.parametrize("name", PENALISED)
def test_more_columns_than_rows(kind: str, name: str) -> None:
    x = np.random.default_rng(1).normal(size=(N, 300))
    model, y = PENALISED[name]
    other = getattr(sk, type(model).__name__)
    exact = {} if name == "ridge" else {"solver": "newton-cholesky", "tol": 1e-12, "max_iter": 100}
    theirs = other(**({"alpha": 0.1} if name == "poisson" else {}), **exact).fit(x, y)
    model.fit(KINDS[kind](x), y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=1e-6, atol=1e-8)


@kinds
@pytest.mark.parametrize("name", FREE)
def test_columns_that_add_nothing(kind: str, name: str) -> None:
    """Duplicated, collinear, constant, of 1e12: the predictions are those without them."""
    model, y = FREE[name]
    huge = 1e12 * X[:, 3:]
    ugly = np.hstack([X[:, :3], huge, X[:, :1], X[:, :1] - 2 * X[:, 1:2], np.ones((N, 1)), np.full((N, 1), 1e12)])
    plain = mean(model.fit(X, y), X)
    table = KINDS[kind](ugly)
    free = (
        nullcontext()
        if name == "least squares"
        else pytest.warns(FitWarning, match="^.4, .5 are linear combinations of other")
    )
    with free:  # of least squares they have a share
        model.fit(table, y)
    np.testing.assert_allclose(mean(model, table), plain, rtol=1e-6, atol=1e-8)


@kinds
@pytest.mark.parametrize("name", PENALISED)
def test_duplicates_share_a_penalty(kind: str, name: str) -> None:
    """The same column twice acts like one that is longer by a factor of √2."""
    model, y = PENALISED[name]
    once = mean(model.fit(X * [2**0.5, 1, 1, 1], y), X * [2**0.5, 1, 1, 1])
    table = KINDS[kind](np.hstack([X, X[:, :1]]))
    np.testing.assert_allclose(mean(model.fit(table, y), table), once, rtol=1e-7)
    coef = np.atleast_2d(model.coef_)
    np.testing.assert_allclose(coef[:, 0], coef[:, 4], rtol=1e-6)


@pytest.mark.parametrize("name", FREE)
def test_levels_that_add_nothing(name: str) -> None:
    model, y = FREE[name]
    table = pd.DataFrame({"level": LEVELS})
    plain = mean(model.fit(table, y), table)
    ugly = table.assign(again=LEVELS, same="always", number=(LEVELS == "b") * 1e12)
    with pytest.warns(
        FitWarning, match="^level=b, again=b, again=c are linear combinations of other columns and add nothing"
    ):
        model.fit(ugly, y)
    np.testing.assert_allclose(mean(model, ugly), plain, rtol=1e-6)
    assert not np.isnan(model.inference(ugly, y).coef).any()


@pytest.mark.parametrize("kind", KINDS)
def test_one_cell_of_1e12_only_says_which_class_its_row_has(kind: str) -> None:
    """A coefficient of any size that is right for the row makes it certain: all other rows fit as without it."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, 4))
    y = (x[:, 0] + rng.normal(size=200) > 0).astype(int)
    without = linnet.LogisticRegression().fit(np.delete(x, 1, axis=0), np.delete(y, 1))
    assert (without.coef_[0, 1] > 0) == (y[1] == 1)
    x[1, 1] = 1e12
    table = KINDS[kind](x)
    model = linnet.LogisticRegression().fit(table, y)
    np.testing.assert_allclose(model.coef_, without.coef_, rtol=1e-6)
    inference = model.inference(table, y)
    assert np.isfinite(inference.standard_error).all()
    assert len(inference.notes) == 1, "that the fit is penalised"


@tables
def test_no_column_matters(kind: str) -> None:
    """All coefficients are zero, which is found quickly."""
    wide = TABLES[kind] if kind == "levels" else KINDS[kind](np.random.default_rng(2).normal(size=(N, 1600)))
    for name, strength in (("LogisticRegression", {"C": 1e-3}), ("PoissonRegressor", {"alpha": 10.0})):
        model = getattr(linnet, name)(l1_ratio=1, **strength).fit(wide, YES)
        assert not model.coef_.any()
        assert model.n_iter_ <= 10


@pytest.mark.parametrize("solver", ["auto", "lbfgs"])
@kinds
def test_ridge_is_exact_by_every_solver(kind: str, solver: str) -> None:
    x = X * [1, 30, 0.1, 1] + 2
    model = linnet.Ridge(solver=solver).fit(KINDS[kind](x), REAL)
    np.testing.assert_allclose(model.coef_, sk.Ridge().fit(x, REAL).coef_, rtol=1e-6)


# ---- targets and weights ----


@tables
def test_a_class_with_one_row(kind: str) -> None:
    y = YES.copy()
    y[17] = 2
    x = X if kind != "levels" else (LEVELS[:, None] == ["a", "b", "c"]) * 1.0
    theirs = sk.LogisticRegression(solver="newton-cholesky", tol=1e-12).fit(x, y)
    ours = linnet.LogisticRegression().fit(TABLES[kind], y)
    np.testing.assert_allclose(ours.predict_proba(TABLES[kind]), theirs.predict_proba(x), atol=1e-7)


@tables
@pytest.mark.parametrize("name", MODELS)
def test_rows_of_weight_zero_are_not_there(kind: str, name: str) -> None:
    model, y = MODELS[name]
    weights = np.random.default_rng(3).integers(0, 3, N).astype(float)
    rows = np.flatnonzero(weights)
    table = TABLES[kind]
    left = some(table, rows)
    with_them = mean(model.fit(table, y, weights), table)
    one = model.inference(table, y, weights)
    without = mean(model.fit(left, y[rows], weights[rows]), table)
    other = model.inference(left, y[rows], weights[rows])
    np.testing.assert_allclose(with_them, without, rtol=1e-7)
    np.testing.assert_allclose(one.standard_error, other.standard_error, rtol=1e-7)
    assert one.df_residual == other.df_residual


@tables
def test_large_counts(kind: str) -> None:
    """At the optimum the sums of the counts, and of a column times the counts, are those of the means."""
    y = np.round(1e9 * np.exp(ETA - ETA.max()) * np.random.default_rng(4).random(N))
    y[:3] = 1e9, 0, 1
    table = TABLES[kind]
    model = linnet.PoissonRegressor(alpha=0).fit(table, y)
    mu = model.predict(table)
    assert mu.sum() == pytest.approx(y.sum(), rel=1e-9)
    if kind == "levels":
        sums = pd.DataFrame({"mu": mu, "y": y}).groupby(LEVELS).sum()
        np.testing.assert_allclose(sums["mu"], sums["y"], rtol=1e-9)
    else:
        np.testing.assert_allclose(X.T @ (mu - y) / y.sum(), 0, atol=1e-9)
    assert np.isfinite(model.inference(table, y).standard_error[1:]).any()


@tables
def test_no_counts_at_all(kind: str) -> None:
    with pytest.warns(SeparationWarning, match="the intercept separates rows of 0 from rows above 0"):
        model = linnet.PoissonRegressor().fit(TABLES[kind], np.zeros(N))
    assert model.predict(TABLES[kind]).max() < 1e-20


def at(row: int, value: Any, y: Any) -> Any:
    changed = y.astype(object) if value is None else y.astype(float)
    changed[row] = value
    return changed


ONES = np.ones(N)
POISSON, LOGISTIC, RIDGE = linnet.PoissonRegressor(), linnet.LogisticRegression(), linnet.Ridge()
TARGETS: dict[str, tuple[Any, str]] = {
    "negative count": (lambda x: POISSON.fit(x, at(7, -2, COUNT)), "y contains -2 in row 7: counts"),
    "missing count": (
        lambda x: POISSON.fit(x, at(7, np.nan, COUNT)),
        "y contains NaN in row 7: fill",
    ),
    "None for a count": (
        lambda x: POISSON.fit(x, at(7, None, COUNT)),
        "y contains NaN in row 7: fill",
    ),
    "endless count": (lambda x: POISSON.fit(x, at(7, np.inf, COUNT)), "y contains infinity in row 7"),
    "zero amount": (lambda x: linnet.GammaRegressor().fit(x, at(7, 0, COUNT + 1)), "y contains 0 in row 7: amounts"),
    "missing class": (
        lambda x: LOGISTIC.fit(x, at(7, np.nan, YES)),
        "y has no class in row 7: fill",
    ),
    "None for a class": (
        lambda x: LOGISTIC.fit(x, at(7, None, YES)),
        "y has no class in row 7: fill",
    ),
    "NA for a class": (
        lambda x: LOGISTIC.fit(x, pd.array(at(7, None, YES.astype(str)), dtype="string")),
        "y has no class in row 7: fill",
    ),
    "one class": (lambda x: LOGISTIC.fit(x, ["yes"] * N), "y has only one class, 'yes': there"),
    "one class with weight": (
        lambda x: LOGISTIC.fit(x, YES, 1.0 * YES),
        "only one class of y has rows with a weight above 0",
    ),
    "text for numbers": (lambda x: RIDGE.fit(x, ["a"] * N), "y has type <U1: it must hold numbers"),
    "short classes": (lambda x: LOGISTIC.fit(x, YES[1:]), "y has 119 rows, but X has 120"),
    "short numbers": (lambda x: RIDGE.fit(x, REAL[1:]), "y has 119 rows, but X has 120"),
    "short weights": (lambda x: RIDGE.fit(x, REAL, ONES[1:]), "sample_weight has 119 rows, but X has 120"),
    "no weight": (lambda x: RIDGE.fit(x, REAL, 0 * ONES), "sample_weight is zero for every row: at least"),
    "negative weight": (lambda x: RIDGE.fit(x, REAL, -ONES), "sample_weight contains -1 in row 0: weights"),
    "missing weight": (
        lambda x: RIDGE.fit(x, REAL, at(9, np.nan, ONES)),
        "sample_weight contains NaN in row 9",
    ),
}


@tables
@pytest.mark.parametrize("case", TARGETS)
def test_bad_targets(case: str, kind: str) -> None:
    call, message = TARGETS[case]
    with pytest.raises(DataError, match=message):
        call(TABLES[kind])


# ---- small tables ----


@tables
def test_one_row(kind: str) -> None:
    row = some(TABLES[kind], [0])
    for model in (linnet.Ridge(), linnet.LinearRegression(), linnet.PoissonRegressor(), linnet.GammaRegressor(alpha=0)):
        np.testing.assert_allclose(model.fit(row, [3.0]).predict(row), [3.0])
    with pytest.raises(DataError, match="y has only one class, 1"):
        linnet.LogisticRegression().fit(row, [1])


EMPTY: dict[str, Any] = {
    "no rows": np.empty((0, 3)),
    "no columns": np.empty((5, 0)),
    "sparse, no rows": scipy.sparse.csr_array((0, 3)),
    "sparse, no columns": scipy.sparse.csr_array((5, 0)),
    "frame, no rows": pd.DataFrame({"a": [], "b": []}),
    "frame, no columns": pd.DataFrame(index=range(5)),
    "levels, no rows": pd.DataFrame({"a": pd.Categorical([])}),
    "polars, nothing": pl.DataFrame(),
}


@pytest.mark.parametrize("case", EMPTY)
def test_empty_tables(case: str) -> None:
    table = EMPTY[case]
    with pytest.raises(DataError, match="X is empty: it has 0"):
        linnet.Ridge().fit(table, np.ones(table.shape[0]))


def test_a_sparse_matrix_without_entries() -> None:
    model = linnet.PoissonRegressor().fit(scipy.sparse.csr_array((N, 3)), COUNT)
    assert not model.coef_.any()
    assert np.exp(model.intercept_) == pytest.approx(COUNT.mean())


@pytest.mark.parametrize("solver", ["auto", "lbfgs"])
@kinds
def test_numbers_without_squares(kind: str, solver: str) -> None:
    """Their coefficients are found, or an error names the column."""
    for name, y, free in (
        ("LogisticRegression", YES, {"C": np.inf}),
        ("PoissonRegressor", YES, {"alpha": 0}),
        ("Ridge", REAL, {"alpha": 0}),
    ):
        plain = getattr(linnet, name)(solver=solver, **free).fit(KINDS[kind](X), y)
        for size in (1e150, 1e-150):
            scale = np.where(np.arange(X.shape[1]) == 1, size, 1.0)
            model = getattr(linnet, name)(solver=solver, **free).fit(KINDS[kind](X * scale), y)
            np.testing.assert_allclose(model.coef_ * scale, plain.coef_, rtol=1e-3)
            scale[1] **= 1.5
            with np.errstate(all="ignore"), pytest.raises(DataError, match=r"column '.1' of X has values of about"):
                getattr(linnet, name)(solver=solver, **free).fit(KINDS[kind](X * scale), y)


def test_small_columns_under_a_penalty_have_no_coefficient() -> None:
    x = X * [1, 1e-200, 1, 1]
    model = linnet.LogisticRegression().fit(x, YES)
    without = linnet.LogisticRegression().fit(np.delete(X, 1, axis=1), YES)
    np.testing.assert_allclose(np.delete(model.coef_, 1, axis=1), without.coef_, rtol=1e-6)
