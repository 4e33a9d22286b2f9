"""The same numbers as an array, a sparse matrix and a data frame give the same model, by every solver."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import linnet
import linnet.fit.solvers.newton

MODELS = ("LinearRegression", "Ridge", "LogisticRegression", "PoissonRegressor", "GammaRegressor", "TweedieRegressor")
SHAPES = {"long": (90, 8), "square": (40, 35), "wide": (40, 150)}


def draw(seed: int) -> tuple[str, dict[str, Any], pd.DataFrame, Any, dict[str, Any]]:
    """A model with its parameters, a frame whose last column has levels, targets, and what else fit takes."""
    rng = np.random.default_rng(seed)
    name = MODELS[seed % len(MODELS)]
    rows, columns = SHAPES[str(rng.choice([*SHAPES]))]
    x = rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < 0.4)
    if seed % 2:
        x *= np.exp(2 * rng.normal(size=columns))
    frame = pd.DataFrame(x, columns=[f"v{i}" for i in range(columns)])
    frame["level"] = np.array(["a", "b", "c", "d"])[rng.integers(0, 4, rows)]
    z = rng.normal(size=rows) + 0.3 * (frame["level"] == "b").to_numpy()
    params: dict[str, Any] = {}
    if name == "LogisticRegression":
        params = {"C": 10.0 ** rng.integers(-2, 3)}
        y = (z > 0).astype(int) if rng.random() < 0.5 else rng.integers(0, 3, rows)
    elif name in ("LinearRegression", "Ridge"):
        params = {"alpha": 10.0 ** rng.integers(-2, 3)} if name == "Ridge" else {}
        y = z
    else:
        params = {"alpha": 10.0 ** rng.integers(-3, 1)}
        y = rng.gamma(2, np.exp(z)) + 0.01 if name == "GammaRegressor" else rng.poisson(np.exp(z))
        if name == "TweedieRegressor":
            params["power"] = 1.5
    params["fit_intercept"] = bool(rng.random() < 0.7)
    given: dict[str, Any] = {}
    if rng.random() < 0.5:
        given["sample_weight"] = rng.integers(0, 3, rows)
        given["sample_weight"][:3] = 1
        if name == "LogisticRegression":
            y[:3] = [0, 1, y.max()]
    if name in ("PoissonRegressor", "GammaRegressor", "TweedieRegressor") and rng.random() < 0.5:
        given["exposure"] = 2e4 * np.exp(rng.normal(size=rows))
    return name, params, frame, y, given


def as_numbers(frame: pd.DataFrame) -> Any:
    levels = np.unique(frame["level"])
    ones = frame["level"].to_numpy()[:, None] == levels
    return np.hstack([frame.drop(columns="level").to_numpy(), ones])


@pytest.mark.filterwarnings("ignore:.*linear combination")  # in tables with fewer rows than columns
@pytest.mark.pairwise(apart="seed by")
@pytest.mark.parametrize("by", ["auto", "lbfgs", "rows"])
@pytest.mark.parametrize("seed", range(60))
def test_the_form_of_the_table_does_not_matter(seed: int, by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, params, frame, y, given = draw(seed)
    plain = as_numbers(frame)
    base = getattr(linnet, name)(**params).fit(plain, y, **given)
    if by == "rows":  # as if second derivatives were too many
        monkeypatch.setattr(linnet.fit.solvers.newton, "LARGEST_CURVATURE", 0)
    if by == "lbfgs" and name != "LinearRegression":  # which has no solver to choose
        params |= {"solver": "lbfgs"}
    tolerance = 1e-6 if by == "auto" else 1e-5  # L-BFGS leaves 1e-12 of the objective
    for table in (plain, scipy.sparse.csr_array(plain), frame):
        model = getattr(linnet, name)(**params).fit(table, y, **given)
        unique = name != "LinearRegression"  # which of many coefficients are taken depends on the form
        found, wanted = (
            (model.coef_, base.coef_) if unique else (predictions(model, table, given), predictions(base, plain, given))
        )
        scale = np.abs(wanted).max()
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * scale)
        if unique:
            np.testing.assert_allclose(model.intercept_, base.intercept_, rtol=tolerance, atol=tolerance)


SPARSE: dict[str, tuple[Any, Any]] = {  # models whose penalty makes coefficients zero, with their targets
    "two classes": (
        linnet.LogisticRegression(C=0.3, l1_ratio=1.0),
        lambda rng, z: rng.random(len(z)) < 1 / (1 + np.exp(-z)),
    ),
    "three classes": (linnet.LogisticRegression(C=0.03, l1_ratio=0.9), lambda rng, z: rng.integers(0, 3, len(z))),
    "counts": (linnet.PoissonRegressor(alpha=0.01, l1_ratio=0.7), lambda rng, z: rng.poisson(np.exp(z))),
    "amounts": (linnet.GammaRegressor(alpha=0.01, l1_ratio=1.0), lambda rng, z: rng.gamma(2, np.exp(z))),
}


@pytest.mark.parametrize("name", SPARSE)
def test_with_an_l1_penalty_the_forms_agree_to_the_last_digits(name: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3000, 4)) * [1, 1e3, 1e-3, 1] + [0, 1e4, 0, 0]
    z = 0.3 * x[:, 0] + 3e-4 * (x[:, 1] - 1e4)
    frame = pd.DataFrame(x, columns=[*"vwxy"]).assign(
        level=rng.choice([*"abcde"], 3000)
    )  # of even so many, many are as good
    model, target = SPARSE[name]
    y, plain = target(rng, z), as_numbers(frame)
    base = model.fit(plain, y)
    assert (base.coef_ == 0).any()
    for table in (scipy.sparse.csr_array(plain), frame):
        found = type(model)(**model.get_params()).fit(table, y)
        np.testing.assert_allclose(found.coef_, base.coef_, rtol=1e-9)
        np.testing.assert_allclose(found.intercept_, base.intercept_, rtol=1e-9)


def predictions(model: Any, table: Any, given: dict[str, Any]) -> Any:
    weighed = given.get("sample_weight", np.ones(table.shape[0])) > 0
    return model.predict(table)[weighed]


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "bool"])
def test_the_type_of_whole_numbers_does_not_matter(dtype: str) -> None:
    rng = np.random.default_rng(0)
    large = {"int32": 2**30, "int64": 2**50}.get(dtype, 1)
    for rows, columns in ((300, 4), (30, 60)):
        x = rng.integers(0, 2 if dtype == "bool" else 120, (rows, columns)).astype(dtype)
        if dtype.startswith("int"):
            x[:, 0] -= 50
            x[:, 1] *= large // 120 or 1
        y = rng.poisson(2, rows)
        names = [f"c{j}" for j in range(columns)]
        tables = (x, pd.DataFrame(x, columns=names), scipy.sparse.csr_array(x), np.asfortranarray(x))
        for make in (linnet.Ridge, linnet.LogisticRegression, linnet.PoissonRegressor):
            expected = make().fit(x.astype(float), y)
            for table in tables:
                model = make().fit(table, y)
                np.testing.assert_allclose(
                    model.predict(table), expected.predict(x.astype(float)), rtol=1e-9, atol=1e-11
                )
            one = make().fit(x, y)
            np.testing.assert_allclose(one.predict(x[:1].astype(float)), one.predict(x[:1]), rtol=1e-12)


def test_many_sparse_columns_of_different_scales() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(60, 3500)) * (rng.random((60, 3500)) < 0.1) * np.exp(rng.normal(size=3500))
    exposure = 2e4 * np.exp(rng.normal(size=60))
    counts = rng.poisson(exposure * np.exp(0.3 * rng.normal(size=60)))
    for model, y, given in (
        (linnet.GammaRegressor, rng.gamma(2, 1, 60) + 0.01, {}),
        (linnet.PoissonRegressor, counts, {"exposure": exposure}),
    ):
        dense, sparse = (model(alpha=1e-3).fit(form(x), y, **given) for form in (np.asarray, scipy.sparse.csr_array))
        np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-6 * np.abs(dense.coef_).max())
        sparse.set_params(solver="lbfgs").fit(scipy.sparse.csr_array(x), y, **given)
        np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-5 * np.abs(dense.coef_).max())
