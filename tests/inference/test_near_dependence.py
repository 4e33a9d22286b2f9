"""Columns that others nearly determine: all their digits, or a warning that names them and no standard errors."""

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import linnet
from linnet.data.columns import Columns
from linnet.errors import FitWarning

from . import nist

RNG = np.random.default_rng(0)
N = 300
YEAR = RNG.integers(1990, 2020, N).astype(float)
AGE = YEAR - 2005
OTHER = RNG.normal(size=N)
GROUP = np.array(list("abcd"))[RNG.integers(0, 4, N)]
ETA = 0.02 * AGE - 0.002 * AGE**2 + 0.00015 * AGE**3 + 0.3 * OTHER
OFFSET, WEIGHTS = 0.3 * RNG.normal(size=N), RNG.random(N) + 0.01
RAW, CENTERED = (np.column_stack([x, x**2, x**3, OTHER]) for x in (YEAR, AGE))
COUNTS = RNG.poisson(np.exp(ETA)).astype(float)
MODELS: dict[str, tuple[Any, Any]] = {
    "least squares": (linnet.LinearRegression(), ETA + RNG.normal(size=N)),
    "lsqr": (linnet.Ridge(alpha=0, solver="lsqr"), ETA + RNG.normal(size=N)),
    "poisson": (linnet.PoissonRegressor(alpha=0), COUNTS),
    "poisson by L-BFGS": (linnet.PoissonRegressor(alpha=0, solver="lbfgs"), COUNTS),
    "gamma": (linnet.GammaRegressor(alpha=0), RNG.gamma(2, np.exp(ETA))),
    "logistic": (linnet.LogisticRegression(C=np.inf), (RNG.random(N) < 1 / (1 + np.exp(-ETA))).astype(int)),
    "softmax": (
        linnet.LogisticRegression(C=np.inf),
        (np.column_stack([ETA, -ETA, 0 * ETA]) + RNG.gumbel(size=(N, 3))).argmax(axis=1),
    ),
}


def frame(x: Any) -> pd.DataFrame:
    return pd.DataFrame(x, columns=["year", "square", "cube", "other"]).assign(group=GROUP)


KINDS: dict[str, Any] = {"array": np.asarray, "csr": scipy.sparse.csr_array, "frame": frame}


def digits(found: Any, certified: Any) -> float:
    """How many digits agree, at least."""
    return float(-np.log10(np.abs(found / certified - 1).max()))


@pytest.mark.parametrize(
    ("case", "least", "of_errors"), [(nist.FILIP, 7.5, 7.0), (nist.LONGLEY, 11, 11), (nist.WAMPLER5, 7, 9.5)]
)
def test_certified_values(case: nist.Certified, least: float, of_errors: float) -> None:
    model = linnet.LinearRegression().fit(case.table, case.y)
    assert digits(np.append(model.intercept_, model.coef_), case.coefficients) > least
    found = model.inference(case.table, case.y)
    assert digits(found.standard_error, case.standard_errors) > of_errors
    assert found.deviance == pytest.approx(case.residuals, rel=1e-7)
    assert found.df_residual == len(case.y) - len(case.coefficients)
    assert model.rank_ == len(case.coefficients) - 1
    assert not found.notes


@pytest.mark.parametrize("shift", [False, True], ids=["plain", "weights and offset"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MODELS)
def test_a_raw_cubic_is_the_centered_one(name: str, kind: str, shift: bool) -> None:
    """The same predictions, and the same coefficient and standard error of the cube."""
    model, y = MODELS[name]
    given: dict[str, Any] = {"sample_weight": WEIGHTS, "offset": OFFSET} if shift else {}
    found = []
    for x in (RAW, CENTERED):
        table = KINDS[kind](x)
        model.fit(table, y, **given)
        predicted = model.predict_proba(table) if hasattr(model, "predict_proba") else model.predict(table)
        found.append((predicted, model.inference(table, y, **given)))
    (raw, reported), (centered, should) = found
    np.testing.assert_allclose(raw, centered, rtol=1e-6, atol=1e-7)
    assert reported.deviance == pytest.approx(should.deviance, rel=1e-8)
    cubes = [i for i, name in enumerate(reported.names) if name.endswith(("x2", "cube"))]
    np.testing.assert_allclose(reported.coef[cubes], should.coef[cubes], rtol=1e-6)
    np.testing.assert_allclose(reported.standard_error[cubes], should.standard_error[cubes], rtol=1e-6)


@pytest.mark.parametrize("covariance", ["HC0", "HC3", "cluster"])
def test_robust_standard_errors(covariance: str) -> None:
    model, y = MODELS["poisson"]
    groups = np.arange(N) // 10 if covariance == "cluster" else None
    of_cube = [
        model.fit(x, y).inference(x, y, covariance=covariance, groups=groups).standard_error[3] for x in (RAW, CENTERED)
    ]
    assert of_cube[0] == pytest.approx(of_cube[1], rel=1e-6)


@pytest.mark.parametrize("name", ["least squares", "poisson"])
def test_what_the_digits_do_not_tell_is_named(name: str) -> None:
    """Of the powers of a year about five can be distinguished in double precision."""
    model, y = MODELS[name]
    table = pd.DataFrame(YEAR[:, None] ** np.arange(1, 10), columns=[f"power{k}" for k in range(1, 10)])
    with pytest.warns(FitWarning, match="power8 are linear combinations of other columns.*are centered first"):
        model.fit(table, y)
    found = model.inference(table, y)
    assert not (found.standard_error == 0).any()
    zero = found.coef == 0
    assert zero.any()
    assert np.isnan(found.standard_error[zero]).all()
    assert np.isnan(found.p_value[zero]).all()
    assert "Fixed at zero as linear combinations of other columns" in str(found)


def test_predictions_that_lose_digits_are_reported() -> None:
    """The powers up to the fifth are distinguished, but their coefficients cancel each other."""
    year = np.arange(1980.0, 2021.0)
    y = 3 * np.sin(year / 5) + 0.1 * np.random.default_rng(1).normal(size=41)
    with pytest.warns(FitWarning, match="x4.*predictions lose precision"):
        linnet.LinearRegression().fit(year[:, None] ** np.arange(1, 6), y)


def test_a_column_again_is_named_where_it_is_held_at_zero() -> None:
    x = np.column_stack([OTHER, AGE, OTHER - AGE])
    y = COUNTS
    with pytest.warns(FitWarning, match="^x2 is a linear combination of other .* adds nothing to the model: drop it$"):
        model = linnet.PoissonRegressor(alpha=0).fit(x, y)
    assert model.coef_[2] == 0
    assert np.isnan(model.inference(x, y).standard_error[3])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shared = linnet.LinearRegression().fit(x, y)  # the smallest coefficients: nothing is held at zero
        penalised = linnet.PoissonRegressor(alpha=1e-12).fit(x, y)  # and here the penalty decides
    assert shared.coef_.all()
    assert penalised.coef_.all()
    np.testing.assert_allclose(penalised.predict(x), model.predict(x), rtol=1e-9)


def test_a_constant_column_has_no_standard_error() -> None:
    x = np.column_stack([OTHER, np.full(N, 7.0), np.full(N, 0.1)])
    found = linnet.LinearRegression().fit(x, COUNTS).inference(x, COUNTS)
    assert np.isnan(found.standard_error[2:]).all()
    assert np.isfinite(found.standard_error[:2]).all()


def test_a_small_penalty_of_columns_that_nearly_depend() -> None:
    """At the optimum the slope of the loss is the penalty's, column by column, to the digits that there are."""
    near = np.column_stack([OTHER, AGE, OTHER + 1e-7 * RNG.normal(size=N)])
    for alpha in (1e-12, 1e-9, 1e-6):
        model = linnet.Ridge(alpha=alpha).fit(near, COUNTS)
        rest = model.predict(near) - COUNTS
        slope = near.T @ rest + alpha * model.coef_
        assert np.abs(slope).max() < 1e-8 * (np.abs(near).T @ np.abs(rest)).max()


def test_a_combination_is_rounded_once() -> None:
    """Against the sum in rational numbers."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(50, 4)) * [1, 1e8, 1e-8, 1]
    single, codes = rng.normal(size=(50, 2)).astype(np.float32), rng.integers(0, 3, 50).astype(np.int8)
    matrix: Any = scipy.sparse.random_array((50, 5), density=0.5, rng=rng, format="csr")
    sparse = (matrix.indptr.astype(np.int64), matrix.indices, matrix.data)
    columns = Columns(50, (x, single), sparse, 5, (codes,), (3,))
    factors = rng.normal(size=15) * 10.0 ** rng.integers(-8, 9, 15)
    whole = np.hstack([x, single, matrix.toarray(), codes[:, None] == np.arange(3), np.ones((50, 1))])
    factors[0] -= (whole[0] @ factors) / whole[0, 0]  # of the first row next to nothing is left
    out = np.empty(50)
    columns.to_core().combination(factors, out)
    for row, found in zip(whole.tolist(), out.tolist(), strict=True):
        exact = sum(Fraction(a) * Fraction(b) for a, b in zip(row, factors.tolist(), strict=True))
        assert found == pytest.approx(float(exact), rel=1e-13, abs=1e-24)
