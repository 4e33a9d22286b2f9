"""Rare but legitimate fits of linear models: extreme offsets, other starting values, weights of any size."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse
import sklearn.linear_model

import linnet
from linnet.errors import DataError, SeparationWarning

RNG = np.random.default_rng(0)
N = 300
X = RNG.normal(size=(N, 3))
COUNT = RNG.poisson(np.exp(0.5 * X[:, 0] + 0.2))
AMOUNT = RNG.gamma(2, np.exp(X[:, 0])) + 0.01
LABEL = (X[:, 0] + RNG.normal(size=N) > 0.8).astype(int)


@pytest.mark.parametrize("spread", [1, 8, 12, 20])
@pytest.mark.parametrize("power", [1, 1.5, 2, 2.5])
def test_offsets_of_any_spread_have_an_optimum(power: float, spread: float) -> None:
    """There the gradient Σ x (mean^(2-q) - t mean^(1-q)) vanishes."""
    offset = np.random.default_rng(int(spread)).normal(size=N) * spread
    model = linnet.TweedieRegressor(power=power, alpha=0).fit(X, AMOUNT, offset=offset)
    z = X @ model.coef_ + model.intercept_ + offset
    up, down = np.exp((2 - power) * z), AMOUNT * np.exp((1 - power) * z)
    columns = np.column_stack([X, np.ones(N)])
    assert np.abs(columns.T @ (up - down) / (np.abs(columns).T @ (up + down))).max() < 1e-6


@pytest.mark.parametrize("model", [linnet.GammaRegressor, linnet.PoissonRegressor])
@pytest.mark.parametrize("solver", ["auto", "lbfgs"])
@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_a_start_from_targets_of_another_size_is_none(model: Any, solver: str, alpha: float) -> None:
    y = AMOUNT if model is linnet.GammaRegressor else COUNT
    for factor in (1e-6, 1e12, 1e15):
        again = model(alpha=alpha, solver=solver, warm_start=True).fit(X, y).fit(X, y * factor)
        fresh = model(alpha=alpha, solver=solver).fit(X, y * factor)
        np.testing.assert_allclose(again.coef_, fresh.coef_, rtol=0, atol=1e-7)


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_weights_of_any_size(size: float) -> None:
    w = RNG.uniform(0.1, 3, N)
    for model, y in ((linnet.LogisticRegression(C=np.inf), LABEL), (linnet.LinearRegression(), AMOUNT)):
        plain = model.fit(X, y, sample_weight=w).coef_
        np.testing.assert_allclose(model.fit(X, y, sample_weight=w * size).coef_, plain, rtol=0, atol=1e-8)


@pytest.mark.parametrize("y", [LABEL, RNG.integers(0, 3, N)], ids=["two", "three"])
def test_balanced_classes_weigh_the_same_with_the_weights_of_rows(y: Any) -> None:
    w = RNG.integers(1, 4, N) * (1 + 3 * (y == 1))
    ours = linnet.LogisticRegression(class_weight="balanced").fit(X, y, sample_weight=w)
    theirs = sklearn.linear_model.LogisticRegression(class_weight="balanced", tol=1e-10, max_iter=10_000)
    np.testing.assert_allclose(ours.coef_, theirs.fit(X, y, sample_weight=w).coef_, rtol=0, atol=1e-6)
    repeated = linnet.LogisticRegression(class_weight="balanced").fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(ours.coef_, repeated.coef_, rtol=0, atol=1e-9)
    w[y == 0] = 0  # which is as if it were not there; of two classes coefficients are differences, penalised once
    if y.max() == 2:
        there = linnet.LogisticRegression(class_weight="balanced", C=1).fit(X[y > 0], y[y > 0], sample_weight=w[y > 0])
        with pytest.warns(SeparationWarning, match="class 0"):
            some = linnet.LogisticRegression(class_weight="balanced", C=0.5).fit(X, y, sample_weight=w)
        p = some.predict_proba(X)[:, 1:]
        np.testing.assert_allclose(p, there.predict_proba(X), rtol=0, atol=1e-6)


def test_labels_of_numbers_and_names_are_refused() -> None:
    y = np.array(["a" if one else 1 for one in LABEL], object)
    for model in (linnet.LogisticRegression(), linnet.Perceptron(), linnet.MLPClassifier(max_iter=1)):
        with pytest.raises(DataError, match="numbers or text, not both"):
            model.fit(X, y)


def test_sparse_targets_are_told_how_to_become_arrays() -> None:
    y = scipy.sparse.csr_array(LABEL[:, None])
    for model in (linnet.LogisticRegression(), linnet.LinearRegression(), linnet.PoissonRegressor()):
        with pytest.raises(DataError, match=r"y is a sparse matrix: use y.toarray\(\)"):
            model.fit(X, y)


@pytest.mark.parametrize("solver", ["newton-cholesky", "lbfgs"])
@pytest.mark.parametrize("far", [1000.0, -1e300])
@pytest.mark.parametrize(
    "model",
    [
        linnet.PoissonRegressor(alpha=0),
        linnet.GammaRegressor(alpha=0),
        linnet.TweedieRegressor(power=1.5, alpha=0.1),
        linnet.LogisticRegression(C=np.inf),
    ],
    ids=str,
)
def test_a_row_without_weight_may_have_any_offset(model: Any, far: float, solver: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3))
    y = rng.integers(1, 3, 300)
    offset, weights = np.zeros(300), np.ones(300)
    offset[7], weights[7] = far, 0
    there = weights > 0
    wanted = model.fit(x[there], y[there]).inference(x[there], y[there])
    found = model.set_params(solver=solver).fit(x, y, weights, offset=offset).inference(x, y, weights, offset=offset)
    np.testing.assert_allclose(found.coef, wanted.coef, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(found.standard_error, wanted.standard_error, rtol=1e-5)
    assert found.deviance == pytest.approx(wanted.deviance, rel=1e-9)
