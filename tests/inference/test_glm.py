"""Inference against statsmodels, and laws that hold for every model."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.linalg
import scipy.sparse
import statsmodels.api as sm

import linnet
from linnet.errors import ConfigError, DataError, SeparationWarning
from linnet.inference.glm import Inference

RNG = np.random.default_rng(0)
N = 800
X = RNG.normal(size=(N, 3)) * [1, 10, 0.1] + [0, 5, 1]
A = sm.add_constant(X)
ETA = (X - [0, 5, 1]) @ [0.5, -0.03, 0.0] + 0.2
COUNTS = RNG.integers(1, 4, N)
GROUPS = RNG.integers(0, 30, N)
OFFSET = RNG.normal(size=N) * 0.1
COUNT = RNG.poisson(np.exp(ETA))
YES = (RNG.random(N) < 1 / (1 + np.exp(-ETA))).astype(int)
REAL = ETA + RNG.normal(size=N) * (1 + (X[:, 0] > 0))
AMOUNT = RNG.gamma(2, np.exp(ETA) / 2)


def assert_agrees(ours: Inference, theirs: Any, *, p: bool = True) -> None:
    np.testing.assert_allclose(ours.coef, theirs.params, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(ours.standard_error, theirs.bse, rtol=1e-7)
    if p:
        np.testing.assert_allclose(ours.p_value, theirs.pvalues, rtol=1e-5, atol=1e-12)
        np.testing.assert_allclose(np.stack([ours.low, ours.high], 1), theirs.conf_int(), rtol=1e-6, atol=1e-8)
    assert ours.log_likelihood == pytest.approx(theirs.llf, rel=1e-10)
    assert ours.aic == pytest.approx(theirs.aic, rel=1e-10)


@pytest.mark.parametrize("kind", ["model", "HC0", "cluster"])
def test_poisson_agrees_with_statsmodels(kind: str) -> None:
    groups = GROUPS if kind == "cluster" else None
    options = {"cov_kwds": {"groups": groups}} if kind == "cluster" else {}
    theirs = sm.GLM(COUNT, A, family=sm.families.Poisson(), offset=OFFSET)
    theirs = theirs.fit(tol=1e-14, cov_type="nonrobust" if kind == "model" else kind, **options)
    model = linnet.PoissonRegressor(alpha=0).fit(X, COUNT, offset=OFFSET)
    ours = model.inference(X, COUNT, offset=OFFSET, covariance=kind, groups=groups)
    assert_agrees(ours, theirs)
    assert ours.deviance == pytest.approx(theirs.deviance)
    assert ours.null_deviance == pytest.approx(theirs.null_deviance)
    assert ours.df_residual == theirs.df_resid
    np.testing.assert_allclose(ours.covariance, theirs.cov_params(), rtol=1e-6, atol=1e-12)


def test_binomial_with_weights_agrees_with_statsmodels() -> None:
    theirs = sm.GLM(YES, A, family=sm.families.Binomial(), freq_weights=COUNTS).fit(tol=1e-14)
    model = linnet.LogisticRegression(C=np.inf).fit(X, YES, COUNTS)
    ours = model.inference(X, YES, COUNTS)
    assert_agrees(ours, theirs)
    repeated = np.repeat(np.arange(N), COUNTS)
    again = linnet.LogisticRegression(C=np.inf).fit(X[repeated], YES[repeated])
    for kind in ("model", "HC0", "HC1", "HC3"):
        weighted = model.inference(X, YES, COUNTS, covariance=kind)
        plain = again.inference(X[repeated], YES[repeated], covariance=kind)
        np.testing.assert_allclose(weighted.standard_error, plain.standard_error, rtol=1e-8)


@pytest.mark.parametrize("kind", ["model", "HC0", "HC1", "HC2", "HC3"])
def test_least_squares_agrees_with_statsmodels(kind: str) -> None:
    theirs = sm.OLS(REAL, A).fit()
    if kind != "model":
        theirs = theirs.get_robustcov_results(kind, use_t=True)
    assert_agrees(linnet.LinearRegression().fit(X, REAL).inference(X, REAL, covariance=kind), theirs)


def test_gamma_agrees_with_statsmodels() -> None:
    theirs = sm.GLM(AMOUNT, A, family=sm.families.Gamma(sm.families.links.Log())).fit(tol=1e-14)
    ours = linnet.GammaRegressor(alpha=0).fit(X, AMOUNT).inference(X, AMOUNT)
    assert_agrees(ours, theirs, p=False)  # statsmodels takes z for t
    assert ours.dispersion == pytest.approx(theirs.scale)


def test_tweedie_agrees_with_statsmodels() -> None:
    amounts = np.where(COUNT > 0, AMOUNT, 0.0)
    family = sm.families.Tweedie(sm.families.links.Log(), var_power=1.5)
    theirs = sm.GLM(amounts, A, family=family).fit(tol=1e-14)
    ours = linnet.TweedieRegressor(power=1.5, alpha=0).fit(X, amounts).inference(X, amounts)
    np.testing.assert_allclose(ours.coef, theirs.params, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(ours.standard_error, theirs.bse, rtol=1e-7)
    assert (ours.dispersion, ours.deviance) == pytest.approx((theirs.scale, theirs.deviance))


def classes() -> Any:
    p = np.exp(np.stack([0 * ETA, ETA, 0.3 - ETA], 1))
    return (np.random.default_rng(1).random((N, 1)) > (p / p.sum(1, keepdims=True)).cumsum(1)).sum(1)


@pytest.mark.parametrize("kind", ["HC2", "HC3"])
def test_leverages_of_several_classes_are_those_of_the_whole_hat_matrix(kind: str) -> None:
    """s_i -> (I - H_ii)^-½ s_i or (I - H_ii)^-1 s_i, H_ii the row's block of D (D'V⁻¹D)⁻¹ D'V⁻¹, D = V (x' ⊗ I)."""
    few = slice(0, 60)
    x, y = X[few, :2], classes()[few]
    model = linnet.LogisticRegression(C=np.inf, reference=0, tol=1e-12).fit(x, y)
    ours = model.inference(x, y, covariance=kind)
    p = model.predict_proba(x)[:, 1:]
    rows = np.hstack([np.ones((60, 1)), x])
    d = [np.kron(np.eye(2), row) for row in rows]  # by class, as the table lists them: z = d beta
    v = [np.diag(q) - np.outer(q, q) for q in p]
    bread = np.linalg.inv(sum(di.T @ vi @ di for di, vi in zip(d, v, strict=True)))
    middle = np.zeros_like(bread)
    for di, vi, q, label in zip(d, v, p, y, strict=True):
        left = np.eye(2) - vi @ di @ bread @ di.T
        residual = (np.arange(1, 3) == label) - q
        freed = scipy.linalg.fractional_matrix_power(left, -0.5 if kind == "HC2" else -1) @ residual
        middle += np.outer(di.T @ freed, di.T @ freed)
    expected = np.sqrt(np.diag(bread @ middle @ bread))
    np.testing.assert_allclose(ours.standard_error, expected, rtol=1e-7)
    free = linnet.LogisticRegression(C=np.inf, tol=1e-12).fit(x, y).inference(x, y, covariance=kind)
    np.testing.assert_allclose(free.standard_error, expected, rtol=1e-6)
    again = np.repeat(np.arange(60), 1 + np.arange(60) % 3)
    counted = model.fit(x, y, 1 + np.arange(60) % 3).inference(x, y, 1 + np.arange(60) % 3, covariance=kind)
    repeated = model.fit(x[again], y[again]).inference(x[again], y[again], covariance=kind)
    np.testing.assert_allclose(counted.standard_error, repeated.standard_error, rtol=1e-7)


def test_multinomial_agrees_with_statsmodels() -> None:
    y = classes()
    theirs = sm.MNLogit(y, A).fit(disp=0, tol=1e-14, method="newton")
    model = linnet.LogisticRegression(C=np.inf).fit(X, y)
    ours = model.inference(X, y)
    np.testing.assert_allclose(ours.coef, theirs.params.T.ravel(), rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(ours.standard_error, theirs.bse.T.ravel(), rtol=1e-6)
    assert ours.log_likelihood == pytest.approx(theirs.llf)
    assert (ours.aic, ours.bic) == pytest.approx((theirs.aic, theirs.bic))
    chosen = linnet.LogisticRegression(C=np.inf, reference=0).fit(X, y).inference(X, y)
    np.testing.assert_allclose(chosen.standard_error, ours.standard_error, rtol=1e-6)
    assert ours.names[:2] == ["1: intercept", "1: x0"]


def test_standard_errors_are_the_spread_over_samples() -> None:
    """The real thing: fit again and again on new targets."""
    rng = np.random.default_rng(2)
    model = linnet.PoissonRegressor(alpha=0)
    coefs, errors = [], []
    for _ in range(300):
        y = rng.poisson(np.exp(ETA))
        inference = model.fit(X, y).inference(X, y)
        coefs.append(inference.coef)
        errors.append(inference.standard_error)
    np.testing.assert_allclose(np.std(coefs, axis=0), np.mean(errors, axis=0), rtol=0.15)


def test_a_penalty_is_spoken_of() -> None:
    model = linnet.PoissonRegressor(alpha=1.0).fit(X, COUNT)
    inference = model.inference(X, COUNT)
    assert "The fit is penalised" in str(inference)
    free = linnet.PoissonRegressor(alpha=0).fit(X, COUNT).inference(X, COUNT)
    assert "penalised" not in str(free)
    assert (inference.standard_error[1:] < free.standard_error[1:]).all()


@pytest.mark.parametrize("penalties", [None, {"x0": 0}])
def test_standard_errors_of_penalised_classes_are_the_spread_over_samples(penalties: Any) -> None:
    """Intercepts, and columns without a penalty, count from the mean of all classes: so do their errors."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(150, 2))
    model = linnet.LogisticRegression(C=1.0, column_penalty=penalties)
    truth = linnet.LogisticRegression().fit(x, rng.integers(0, 3, 150)).predict_proba(x)
    coefs, errors = [], []
    for _ in range(400):
        y = (rng.random((150, 1)) > np.cumsum(truth, axis=1)).sum(axis=1)
        table = model.fit(x, y).inference(x, y)
        np.testing.assert_allclose(table.coef.reshape(3, 3), np.column_stack([model.intercept_, model.coef_]))
        coefs.append(table.coef)
        errors.append(table.standard_error)
    np.testing.assert_allclose(np.std(coefs, axis=0), np.mean(errors, axis=0), rtol=0.15)
    assert "at zero" not in str(table)
    assert 4 < table.df_model < 6  # of three classes one is determined by the others


def test_the_errors_of_centered_classes_are_those_of_differences() -> None:
    """The difference of two classes has the same standard error however coefficients are counted."""
    x, y = X / [1, 10, 0.1], classes()
    around = linnet.LogisticRegression(C=1e9).fit(x, y).inference(x, y).covariance
    covariance = linnet.LogisticRegression(C=np.inf, reference=0).fit(x, y).inference(x, y).covariance
    contrast = np.kron([[-1, 1, 0], [-1, 0, 1]], np.eye(4))  # of classes 1 and 2 to class 0
    np.testing.assert_allclose(contrast @ around @ contrast.T, covariance, rtol=1e-5, atol=1e-8)


def test_a_class_without_weight_does_not_exist() -> None:
    y = classes()
    weights = (y != 1).astype(float)
    for C in (1.0, np.inf):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SeparationWarning)  # its intercept is minus infinity
            model = linnet.LogisticRegression(C=C).fit(X, y, sample_weight=weights)
        ours = model.inference(X, y, sample_weight=weights)
        assert not any(name.startswith("1: ") for name in ours.names)
        assert [f"{model.classes_[k]}" for k in ours.output] == [name.split(": ")[0] for name in ours.names]
        there = y != 1
        theirs = linnet.LogisticRegression(C=np.inf).fit(X[there], y[there]).inference(X[there], y[there])
        assert ours.null_deviance == pytest.approx(theirs.null_deviance)
        if np.isinf(C):
            assert ours.df_model == theirs.df_model
            assert ours.deviance == pytest.approx(theirs.deviance)
            np.testing.assert_allclose(ours.standard_error, theirs.standard_error, rtol=1e-4)


def test_intercepts_are_marked_whatever_columns_are_called() -> None:
    frame = pd.DataFrame(X, columns=["intercept", "(intercept)", "x"])
    table = linnet.LinearRegression().fit(frame, REAL).inference(frame, REAL)
    assert table.names == ["((intercept))", "intercept", "(intercept)", "x"]
    assert table.is_intercept.tolist() == [True, False, False, False]
    assert table.to_frame().index.is_unique
    bare = linnet.LinearRegression(fit_intercept=False).fit(frame, REAL).inference(frame, REAL)
    assert not bare.is_intercept.any()


def test_groups_without_weight_do_not_count() -> None:
    model, weights = linnet.PoissonRegressor(alpha=0), (GROUPS > 3).astype(float)
    table = model.fit(X, COUNT, weights).inference(X, COUNT, weights, covariance="cluster", groups=GROUPS)
    keep = GROUPS > 3
    rest = model.fit(X[keep], COUNT[keep]).inference(X[keep], COUNT[keep], covariance="cluster", groups=GROUPS[keep])
    np.testing.assert_allclose(table.standard_error, rest.standard_error, rtol=1e-7)
    for bad in ([None] + [1] * (N - 1), [np.nan, *GROUPS[1:]], ["a", *GROUPS[1:].tolist()]):
        with pytest.raises(DataError, match="groups"):
            model.inference(X, COUNT, covariance="cluster", groups=np.array(bad, object))


def test_no_row_is_left_for_the_variance() -> None:
    x, y = X[:4], REAL[:4]
    table = linnet.LinearRegression().fit(x, y).inference(x, y, covariance="HC1")
    assert np.isnan(table.standard_error).all()


def test_what_cannot_be_negative_is_spoken_of() -> None:
    x = X / [1, 10, 0.1]
    model = linnet.LinearRegression(positive=True).fit(x, -x[:, 0] + x[:, 1] + REAL)
    table = model.inference(x, -x[:, 0] + x[:, 1] + REAL)
    assert "Held at zero by the bound of zero: x0" in str(table)
    assert "Coefficients are constrained to be nonnegative" in str(table)
    assert np.isnan(table.standard_error[1])


def test_what_the_penalty_holds_at_zero_is_named() -> None:
    table = linnet.LogisticRegression(C=0.02, l1_ratio=1).fit(X, YES).inference(X, YES)
    zero = table.coef == 0
    assert zero.any()
    assert "Held at zero by the penalty" in str(table)
    assert np.isnan(table.standard_error[zero]).all()


def test_the_table_prints_and_converts() -> None:
    frame = pd.DataFrame({"age": X[:, 1], "region": np.array(["a", "b", "c"])[GROUPS % 3]})
    model = linnet.PoissonRegressor(alpha=0).fit(frame, COUNT)
    inference = model.inference(frame, COUNT)
    assert "Fixed at zero as linear combinations of other columns: region=a." in str(inference)
    table = inference.to_frame()
    assert list(table.index) == ["intercept", "age", "region=a", "region=b", "region=c"]
    assert list(table.columns) == ["coef", "std err", "z", "p", "0.025", "0.975"]
    assert np.isnan(table.loc["region=a", "std err"])


def test_what_makes_no_sense() -> None:
    model = linnet.PoissonRegressor(alpha=0).fit(X, COUNT)
    with pytest.raises(ConfigError, match="covariance must be one of model, HC0"):
        model.inference(X, COUNT, covariance="HC9")
    with pytest.raises(ConfigError, match="needs groups"):
        model.inference(X, COUNT, covariance="cluster")
    with pytest.raises(DataError, match="groups must have one entry per row"):
        model.inference(X, COUNT, covariance="cluster", groups=[1, 2])
    both = np.stack([REAL, AMOUNT], axis=1)
    with pytest.raises(ConfigError, match="inference needs a single target"):
        linnet.LinearRegression().fit(X, both).inference(X, both)
    wide = scipy.sparse.csr_array((N, 20_000))
    with pytest.raises(ConfigError, match="inference supports at most 10000 coefficients, got 20001"):
        linnet.Ridge().fit(wide, REAL).inference(wide, REAL)


# ---- separation ----


def test_complete_separation_is_named() -> None:
    x = np.concatenate([RNG.normal(size=50) - 5, RNG.normal(size=50) + 5])
    y = np.repeat(["no", "yes"], 50)
    with pytest.warns(SeparationWarning, match=r"complete separation: dose separates classes 'no' and 'yes'"):
        linnet.LogisticRegression(C=np.inf).fit(pd.DataFrame({"dose": x}), y)


def test_a_level_without_events_is_named() -> None:
    level = np.array(["a", "b", "c"])[GROUPS % 3]
    frame = pd.DataFrame({"v": X[:, 0], "level": level})
    with pytest.warns(SeparationWarning, match=r"quasi-complete separation: level=b separates"):
        linnet.LogisticRegression(C=np.inf).fit(frame, np.where(level == "b", 0, YES))
    with pytest.warns(SeparationWarning, match=r"level=b separates rows of 0 from rows above 0"):
        linnet.PoissonRegressor(alpha=0).fit(frame, np.where(level == "b", 0, COUNT))


def test_a_separated_class_of_several_is_named() -> None:
    y = classes()
    x = np.column_stack([X, np.where(y == 2, 3.0, -3.0) + RNG.random(N)])
    with pytest.warns(SeparationWarning, match=r"x3 separates .*2"):
        linnet.LogisticRegression(C=np.inf).fit(x, y)


def test_of_many_columns_some_are_named() -> None:
    x = np.random.default_rng(3).normal(size=(40, 60))
    with pytest.warns(SeparationWarning, match=r"complete separation: x\d+(, x\d+){9} and \d+ more separate classes"):
        linnet.LogisticRegression(C=np.inf).fit(x, YES[:40])


AT_ONE = np.array([[0.0], [0], [0], [1], [1], [1]])


@pytest.mark.parametrize("solver", ["auto", "lbfgs"])
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
def test_a_column_that_is_certain_where_it_is_one_is_named(form: Any, solver: str) -> None:
    """Even when all rows that tell it from the intercept have become certain."""
    x = form(AT_ONE)
    for y in ([0, 1, 0, 1, 1, 1], [0, 1, 2, 1, 1, 1]):
        with pytest.warns(SeparationWarning, match=r"quasi-complete separation: x0 separates class.* on 3 rows"):
            linnet.LogisticRegression(C=np.inf, solver=solver).fit(x, y)
    with pytest.warns(SeparationWarning, match=r"x0 separates rows of 0 from rows above 0"):
        linnet.PoissonRegressor(alpha=0, solver=solver).fit(x, [1, 2, 3, 0, 0, 0])


def test_a_warm_start_far_out_is_still_separated() -> None:
    y = [0, 1, 0, 1, 1, 1]
    model = linnet.LogisticRegression(C=np.inf, warm_start=True)
    for _ in range(3):
        with pytest.warns(SeparationWarning, match="x0 separates"):
            model.fit(AT_ONE, y)


def test_the_table_says_that_a_coefficient_is_infinite() -> None:
    y = [0, 1, 0, 1, 1, 1]
    with pytest.warns(SeparationWarning):
        model = linnet.LogisticRegression(C=np.inf).fit(AT_ONE, y)
    table = model.inference(AT_ONE, y)
    assert "at zero" not in str(table)
    assert "Without a standard error, because of separation: the maximum likelihood estimate is infinite: x0" in str(
        table
    )
    assert table.df_model == 2
    assert table.standard_error[0] == pytest.approx(np.sqrt(1.5)), "the intercept's is that of the other three rows"


def test_more_sparse_columns_than_rows_tell_everything_apart() -> None:
    x = scipy.sparse.csr_array(RNG.normal(size=(50, 3000)) * (RNG.random((50, 3000)) < 0.05))
    for classes_of_rows in (YES[:50], GROUPS[:50] % 3):
        with pytest.warns(SeparationWarning, match="complete separation"):
            linnet.LogisticRegression(C=np.inf).fit(x, classes_of_rows)


def test_nothing_is_reported_without_separation() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        linnet.LogisticRegression(C=np.inf).fit(X, YES)
        linnet.LogisticRegression(C=np.inf).fit(X, classes())
        linnet.PoissonRegressor(alpha=0).fit(X, COUNT)
        x = np.concatenate([RNG.normal(size=50) - 5, RNG.normal(size=50) + 5])[:, None]
        linnet.LogisticRegression(C=10).fit(x, np.repeat([0, 1], 50))
    assert caught == []


@pytest.mark.parametrize("covariance", ["model", "HC0", "HC3"])
def test_a_row_without_weight_does_not_exist(covariance: str) -> None:
    """Not even where its loss is infinite."""
    offset, weights = np.zeros(len(COUNT)), np.ones(len(COUNT))
    offset[5], weights[5] = 1000.0, 0.0
    model = linnet.PoissonRegressor(alpha=0).fit(X, COUNT, sample_weight=weights, offset=offset)
    ours = model.inference(X, COUNT, sample_weight=weights, offset=offset, covariance=covariance)
    keep = weights > 0
    rest = linnet.PoissonRegressor(alpha=0).fit(X[keep], COUNT[keep])
    theirs = rest.inference(X[keep], COUNT[keep], covariance=covariance)
    np.testing.assert_allclose(ours.standard_error, theirs.standard_error, rtol=1e-8)
    for name in ("deviance", "null_deviance", "log_likelihood", "aic"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), rel=1e-10), name


def test_the_deviance_of_large_targets() -> None:
    y = 1e8 + REAL
    table = linnet.TweedieRegressor(power=0, link="log", alpha=0).fit(X, y).inference(X, y)
    plain = linnet.LinearRegression().fit(X, REAL).inference(X, REAL)
    assert table.deviance == pytest.approx(plain.deviance, rel=1e-6)
    assert table.null_deviance == pytest.approx(plain.null_deviance, rel=1e-6)


@pytest.mark.parametrize("kind", ["model", "HC0"])
@pytest.mark.parametrize("seed", range(4))
def test_rounding_is_no_evidence(seed: int, kind: str) -> None:
    """A column that is 0 but in rows that are certain anyway moves nothing; without it all else is the same."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, 600)
    x = rng.normal(size=(600, 4)) + 1.5 * np.eye(4)[y]
    flag = (y == 1) & (rng.random(600) < 0.1)
    x[flag, 1] += 60
    both = np.column_stack([x, flag])
    table = linnet.LogisticRegression().fit(both, y).inference(both, y, covariance=kind)
    empty = np.array([name.endswith("x4") for name in table.names])
    assert (np.abs(table.coef[empty]) < 1e-9).all()
    assert np.isnan([table.standard_error[empty], table.p_value[empty], table.low[empty]]).all()
    assert any(note.startswith("Held near zero by the penalty alone") and "2: x4" in note for note in table.notes)
    bare = linnet.LogisticRegression().fit(x, y).inference(x, y, covariance=kind)
    np.testing.assert_allclose(table.statistic[~empty], bare.statistic, rtol=1e-5)


def test_as_many_coefficients_as_rows_are_reported() -> None:
    x, y = RNG.normal(size=(5, 4)), RNG.normal(size=5)
    found = linnet.LinearRegression().fit(x, y).inference(x, y)
    assert np.isnan(found.dispersion)
    assert np.isnan(found.standard_error).all()
    assert "There are as many coefficients as rows (5 and 5)" in str(found)


@pytest.mark.filterwarnings("ignore:The Identity link function does not respect the domain")
@pytest.mark.parametrize("link", ["log", "identity"])
def test_the_dispersion_of_power_1_is_estimated(link: str) -> None:
    """Quasi-Poisson, as R and statsmodels have it; Poisson regression itself takes it to be 1."""
    x = np.abs(RNG.normal(size=(300, 2))) + 0.5
    y = RNG.poisson(4 * x.sum(axis=1) * RNG.gamma(2, 0.5, 300)).astype(float)
    links = {"log": sm.families.links.Log(), "identity": sm.families.links.Identity()}
    theirs = sm.GLM(y, sm.add_constant(x), family=sm.families.Poisson(links[link])).fit(scale="X2", tol=1e-12)
    found = linnet.TweedieRegressor(power=1, link=link, alpha=0).fit(x, y).inference(x, y)
    assert found.uses_t
    assert found.dispersion == pytest.approx(theirs.scale, rel=1e-8)
    np.testing.assert_allclose(found.standard_error, theirs.bse, rtol=1e-6)
    assert "The dispersion is estimated" in str(found)
    assert linnet.PoissonRegressor(alpha=0).fit(x, y).inference(x, y).dispersion == 1


def test_a_score_of_targets_next_to_nothing() -> None:
    """Their deviance is 2 (log mean - log t - 1): large, but a number."""
    x, y = RNG.normal(size=(200, 2)), RNG.gamma(2, 1, 200)
    y[:3] = [1e-300, 1e-20, 1e-14]
    model = linnet.GammaRegressor(alpha=0).fit(x, y)
    mean = model.predict(x)
    away = 2 * (y / mean - 1 - np.log(y) + np.log(mean)).sum()
    null = 2 * (y / y.mean() - 1 - np.log(y) + np.log(y.mean())).sum()
    found = model.inference(x, y)
    assert found.deviance == pytest.approx(away, rel=1e-12)
    assert np.isfinite(found.log_likelihood)
    assert model.score(x, y) == pytest.approx(1 - away / null, rel=1e-9)
