"""Nested models: likelihood-ratio tests, and what counts as a degree of freedom."""

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.stats
import statsmodels.api as sm

import linnet
from linnet.errors import ConfigError, DataError

RNG = np.random.default_rng(0)
N = 800
X = RNG.normal(size=(N, 3)) * [1, 10, 0.1] + [0, 5, 1]
A = sm.add_constant(X)
ETA = (X - [0, 5, 1]) @ [0.5, -0.03, 0.0] + 0.2
COUNT = RNG.poisson(np.exp(ETA))
YES = (RNG.random(N) < 1 / (1 + np.exp(-ETA))).astype(int)
REAL = ETA + RNG.normal(size=N)
AMOUNT = RNG.gamma(2, np.exp(ETA) / 2)


def test_models_of_different_targets_are_not_compared() -> None:
    big = linnet.PoissonRegressor(alpha=0).fit(X, COUNT).inference(X, COUNT)
    other = linnet.PoissonRegressor(alpha=0).fit(X[:, :1], COUNT[::-1] + 1).inference(X[:, :1], COUNT[::-1] + 1)
    normal = linnet.LinearRegression().fit(X[:, :1], COUNT).inference(X[:, :1], COUNT)
    for smaller in (other, normal):
        with pytest.raises(DataError, match="the same targets and the same distribution"):
            big.likelihood_ratio_test(smaller)


def test_likelihood_ratio() -> None:
    full = linnet.PoissonRegressor(alpha=0).fit(X, COUNT).inference(X, COUNT)
    small = linnet.PoissonRegressor(alpha=0).fit(X[:, :1], COUNT).inference(X[:, :1], COUNT)
    statistic, freedom, p = full.likelihood_ratio_test(small)
    assert freedom == 2
    assert statistic == pytest.approx(small.deviance - full.deviance)
    assert 0 < p < 1
    with pytest.raises(ConfigError, match="must be the smaller one"):
        small.likelihood_ratio_test(full)


NESTED: dict[str, tuple[Any, Any]] = {
    "gamma": (linnet.GammaRegressor(alpha=0), AMOUNT),
    "inverse Gaussian": (linnet.TweedieRegressor(power=3, alpha=0), AMOUNT),
    "Tweedie 1.5": (linnet.TweedieRegressor(power=1.5, alpha=0), COUNT),
    "normal": (linnet.LinearRegression(), REAL),
    "normal by Tweedie": (linnet.TweedieRegressor(power=0, alpha=0), REAL),
    "Poisson": (linnet.PoissonRegressor(alpha=0), COUNT),
    "logistic": (linnet.LogisticRegression(C=np.inf), YES),
}


@pytest.mark.parametrize("case", NESTED)
def test_likelihood_ratios_of_nested_models_are_not_negative(case: str) -> None:
    """Columns of noise bring little, but never less than nothing, and the p-values are spread evenly."""
    model, y = NESTED[case]
    rng = np.random.default_rng(1)
    small = model.fit(X[:, :2], y).inference(X[:, :2], y)
    found = []
    for _ in range(40):
        x = np.column_stack([X[:, :2], rng.normal(size=(N, 2))])
        statistic, freedom, p = model.fit(x, y).inference(x, y).likelihood_ratio_test(small)
        assert statistic >= 0
        assert freedom == 2
        found.append(p)
    assert 0.35 < np.mean(found) < 0.65
    copied = np.column_stack([X[:, :2], X[:, 0] + X[:, 1], rng.normal(size=N)])  # one that adds nothing at all
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", linnet.errors.FitWarning)
        model.fit(copied, y)
    assert model.inference(copied, y).likelihood_ratio_test(small)[1] == 1


@pytest.mark.parametrize("case", ["gamma", "inverse Gaussian", "Tweedie 1.5"])
def test_likelihood_ratios_have_one_dispersion(case: str) -> None:
    model, y = NESTED[case]
    family = {
        "gamma": sm.families.Gamma(sm.families.links.Log()),
        "inverse Gaussian": sm.families.InverseGaussian(sm.families.links.Log()),
        "Tweedie 1.5": sm.families.Tweedie(var_power=1.5, link=sm.families.links.Log()),
    }[case]
    big, small = (sm.GLM(y, A[:, :columns], family=family).fit(tol=1e-12, maxiter=500) for columns in (4, 2))
    statistic, freedom, p = (
        model.fit(X, y).inference(X, y).likelihood_ratio_test(model.fit(X[:, :1], y).inference(X[:, :1], y))
    )
    theirs = (small.deviance - big.deviance) / big.scale
    assert statistic == pytest.approx(theirs, rel=1e-7)
    assert (freedom, p) == (2, pytest.approx(scipy.stats.chi2.sf(theirs, 2), rel=1e-6))


def test_the_likelihood_ratio_of_least_squares_agrees_with_statsmodels() -> None:
    model = linnet.LinearRegression()
    found = (
        model.fit(X, REAL).inference(X, REAL).likelihood_ratio_test(model.fit(X[:, :1], REAL).inference(X[:, :1], REAL))
    )
    theirs = sm.OLS(REAL, A).fit().compare_lr_test(sm.OLS(REAL, A[:, :2]).fit())
    np.testing.assert_allclose(found, [theirs[0], theirs[2], theirs[1]], rtol=1e-8)


def test_a_likelihood_ratio_that_makes_no_sense() -> None:
    free = linnet.PoissonRegressor(alpha=0)
    big, small = free.fit(X, COUNT).inference(X, COUNT), free.fit(X[:, :1], COUNT).inference(X[:, :1], COUNT)
    shrunken = linnet.PoissonRegressor(alpha=1)
    for one, other, name in (
        (big, shrunken.fit(X[:, :1], COUNT).inference(X[:, :1], COUNT), "the other model"),
        (shrunken.fit(X, COUNT).inference(X, COUNT), small, "this model"),
    ):
        with pytest.raises(ConfigError, match=f"needs maximum likelihood fits, but {name} has a penalty"):
            one.likelihood_ratio_test(other)
    noise = np.random.default_rng(9).normal(size=(N, 3))
    with pytest.raises(DataError, match="it is not nested in this one"):
        free.fit(noise, COUNT).inference(noise, COUNT).likelihood_ratio_test(small)
    gamma, few = linnet.GammaRegressor(alpha=0), AMOUNT[:4]
    with pytest.raises(DataError, match="no degrees of freedom remain to estimate the dispersion"):
        gamma.fit(X[:4], few).inference(X[:4], few).likelihood_ratio_test(
            gamma.fit(X[:4, :1], few).inference(X[:4, :1], few)
        )


def test_degrees_of_freedom_under_a_penalty_are_effective_ones() -> None:
    for alpha in (1e-6, 100.0, 1e4, 1e12):
        table = linnet.Ridge(alpha).fit(X, REAL).inference(X, REAL)
        centered = X - X.mean(axis=0)
        hat = centered @ np.linalg.solve(centered.T @ centered + alpha * np.eye(3), centered.T)
        assert table.df_model == pytest.approx(1 + np.trace(hat), rel=1e-9)
        assert table.df_residual == pytest.approx(N - table.df_model)
        assert table.aic == pytest.approx(2 * table.df_model - 2 * table.log_likelihood)
        assert f"count {table.df_model:.4g} effective degrees of freedom" in str(table)
        assert "not all 4 coefficients" in str(table)
        assert "no likelihood-ratio test" in str(table)
    lasso = linnet.LogisticRegression(C=0.02, l1_ratio=1).fit(X, YES).inference(X, YES)
    assert lasso.df_model == (lasso.coef != 0).sum()
    wide = np.random.default_rng(0).normal(size=(20, 40))  # of more coefficients than rows a few count
    table = linnet.Ridge(100.0).fit(wide, REAL[:20]).inference(wide, REAL[:20])
    assert 1 < table.df_model < 20
    assert np.isfinite(table.standard_error).all()
