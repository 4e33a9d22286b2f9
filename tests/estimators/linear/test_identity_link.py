"""The identity link, whose means are above 0 for some weights only: a fit starts, and stays, at valid means."""

from typing import Any

import numpy as np
import pytest

import linnet
from linnet.errors import FitError, FitWarning

RNG = np.random.default_rng(0)
N = 200
ALONG = np.abs(RNG.normal(size=(N, 3))) + 0.1  # any weights above 0 will do
ACROSS = RNG.normal(size=(N, 3)) + np.array([3, 0, 0])  # few will
MEAN = ALONG @ [1, 0.5, 0.3]


def slope(model: Any, x: Any, y: Any, power: float, offset: Any = 0.0) -> float:
    """The largest slope of the objective, relative to what it is made of."""
    z = x @ model.coef_ + model.intercept_ + offset
    assert (z > 0).all()
    parts = z**-power * (z - y)
    total = np.column_stack([x, np.full(N, float(model.fit_intercept))])
    pull = np.append(model.alpha * model.coef_, 0.0)
    return float(np.abs(total.T @ parts / N + pull).max() / np.abs(total.T).dot(np.abs(parts)).max() * N)


@pytest.mark.parametrize("solver", ["auto", "lbfgs"])
@pytest.mark.parametrize("alpha", [0.0, 0.1])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("power", [-1, 1, 1.5, 2, 3])
def test_every_power_has_its_optimum(power: float, intercept: bool, alpha: float, solver: str) -> None:
    y = MEAN * RNG.gamma(20, 1 / 20, N)
    model = linnet.TweedieRegressor(power=power, link="identity", fit_intercept=intercept, alpha=alpha, solver=solver)
    assert slope(model.fit(ALONG, y), ALONG, y, power) < 1e-6


@pytest.mark.parametrize("power", [1.5, 2])
def test_a_start_is_sought_where_most_weights_give_no_means(power: float) -> None:
    y = np.maximum(ACROSS @ [1, 0.5, 0.3], 0.3) * RNG.gamma(5, 0.2, N)
    model = linnet.TweedieRegressor(power=power, link="identity", fit_intercept=False, alpha=0.01)
    assert slope(model.fit(ACROSS, y), ACROSS, y, power) < 1e-6
    lasso = linnet.TweedieRegressor(power=power, link="identity", fit_intercept=False, alpha=0.01, l1_ratio=1.0)
    assert (ACROSS @ lasso.fit(ACROSS, y).coef_ > 0).all()


@pytest.mark.parametrize("intercept", [False, True])
def test_offsets_below_every_mean(intercept: bool) -> None:
    """Less than the targets' mean would make means of zero and less."""
    offset = -np.abs(RNG.normal(size=N)) * 3
    y = MEAN * RNG.gamma(5, 0.2, N)
    model = linnet.TweedieRegressor(power=2, link="identity", fit_intercept=intercept, alpha=0)
    assert slope(model.fit(ALONG, y, offset=offset), ALONG, y, 2, offset) < 1e-6


def test_a_row_that_can_have_no_mean_is_named() -> None:
    x = ALONG.copy()
    x[17] = 0
    model = linnet.TweedieRegressor(power=2, link="identity", fit_intercept=False)
    with pytest.raises(FitError, match=r"row 17 stays at 0; use fit_intercept=True or link='log'"):
        model.fit(x, MEAN)
    weights = np.ones(N)
    weights[17] = 0
    assert (x @ model.fit(x, MEAN, weights).coef_)[weights > 0].min() > 0


def test_an_optimum_at_the_edge_is_said_to_be_there() -> None:
    """With a negative power means of zero cost little, and the best weights would make some of them negative."""
    y = np.maximum(ACROSS @ [1, 0.5, 0.3], 0.3) * RNG.gamma(5, 0.2, N)
    with pytest.warns(FitWarning, match="some means have reached 0, the boundary of the identity link: use link='log'"):
        linnet.TweedieRegressor(power=-1, link="identity", fit_intercept=False, alpha=0).fit(ACROSS, y)
