"""Inference on other data than those of the fit warns that they differ; on those of the fit it does not."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import linnet
from linnet.inference.glm import Inference

RNG = np.random.default_rng(0)
N = 1500
TABLE = pd.DataFrame({"kind": RNG.choice([*"abcd"], N), "x": RNG.normal(size=N), "year": RNG.integers(1990, 2020, N)})
WEIGHTS, TIME = RNG.integers(1, 4, N), RNG.uniform(0.1, 3, N)
COUNTS = RNG.poisson(TIME * np.exp(0.3 * TABLE["x"]))
CLASSES = (np.outer(TABLE["x"], [0, 1, 2]) + RNG.gumbel(size=(N, 3))).argmax(axis=1)
AMOUNTS = RNG.gamma(2, np.exp(0.2 * TABLE["x"]))


def warns_of_other_data(found: Inference) -> bool:
    return any("not optimal for these data" in note for note in found.notes)


@pytest.mark.parametrize(
    ("model", "target"),
    [
        (linnet.LinearRegression(), AMOUNTS),
        (linnet.LinearRegression(positive=True), AMOUNTS),
        (linnet.Ridge(alpha=1e6), AMOUNTS),
        (linnet.GammaRegressor(alpha=1), AMOUNTS),
        (linnet.TweedieRegressor(power=1.5, alpha=0), AMOUNTS),
        (linnet.PoissonRegressor(alpha=0), COUNTS),
        (linnet.PoissonRegressor(alpha=1e4), COUNTS),
        (linnet.LogisticRegression(C=np.inf), CLASSES),
        (linnet.LogisticRegression(C=np.inf, class_weight="balanced", reference=1), CLASSES),
        (linnet.LogisticRegression(C=1e-3), CLASSES),
        (linnet.LogisticRegression(C=0.05, l1_ratio=1), CLASSES),
        (linnet.LogisticRegression(C=0.05, l1_ratio=0.5), CLASSES > 0),
        (linnet.LogisticRegression(solver="lbfgs", tol=1e-6, fit_intercept=False), CLASSES),
    ],
    ids=str,
)
def test_the_data_of_the_fit_are_distinguished_from_others(model: Any, target: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(TABLE, target, WEIGHTS)
    assert not warns_of_other_data(model.inference(TABLE, target, WEIGHTS))
    assert not warns_of_other_data(model.inference(TABLE, target, WEIGHTS, covariance="HC0"))
    assert warns_of_other_data(model.inference(TABLE, target))
    assert warns_of_other_data(model.inference(TABLE[:700], target[:700], WEIGHTS[:700]))


def test_an_exposure_that_was_left_out_is_missed() -> None:
    model = linnet.PoissonRegressor(alpha=0).fit(TABLE, COUNTS, exposure=TIME)
    assert not warns_of_other_data(model.inference(TABLE, COUNTS, exposure=TIME))
    assert not warns_of_other_data(model.inference(TABLE, COUNTS, offset=np.log(TIME)))
    found = model.inference(TABLE, COUNTS)
    assert warns_of_other_data(found)
    assert "exposure" in str(found)


def test_a_fit_that_ended_early_is_reported() -> None:
    with pytest.warns(linnet.errors.FitWarning):
        model = linnet.PoissonRegressor(alpha=0, max_iter=1).fit(TABLE, COUNTS, exposure=TIME)
    assert warns_of_other_data(model.inference(TABLE, COUNTS, exposure=TIME))


def test_rounding_is_no_other_data() -> None:
    exact = 3 + 2 * TABLE["x"]
    assert not warns_of_other_data(linnet.LinearRegression().fit(TABLE, exact).inference(TABLE, exact))
    x = TABLE["x"].to_numpy()
    far = np.column_stack([x + 1e12, x, x, 1e-9 * x**2, np.ones(N)])
    assert not warns_of_other_data(linnet.LinearRegression().fit(far, AMOUNTS).inference(far, AMOUNTS))
    separated = TABLE.assign(separated=CLASSES == 2)
    for solver in ("newton-cholesky", "lbfgs"):
        with pytest.warns(linnet.errors.SeparationWarning):
            model = linnet.LogisticRegression(C=np.inf, solver=solver).fit(separated, CLASSES)
        assert not warns_of_other_data(model.inference(separated, CLASSES))
