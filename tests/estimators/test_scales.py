"""Columns of any scale: every fit ends, and at its optimum."""

import re
from typing import Any

import numpy as np
import pytest

import linnet
from linnet.errors import FitWarning
from linnet.heads import Bernoulli, Categorical

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("solver", ["auto", "lbfgs"])
@pytest.mark.parametrize("scale", [1e-10, 1e5, 1e10, 1e30])
def test_classes_that_can_be_told_apart(scale: float, solver: str, dtype: str) -> None:
    """With next to no penalty all rows become certain: their slopes keep their digits, and steps their length."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(130, 60))
    x[rng.random(x.shape) < 0.5] = 0
    y = rng.integers(0, 5, 130)
    model = linnet.LogisticRegression(C=1e6 if scale > 1 else 1e30, solver=solver).fit((x * scale).astype(dtype), y)
    assert model.n_iter_[0] < (80 if solver == "auto" else 400)
    assert model.score((x * scale).astype(dtype), y) == 1


def test_sure_rows_keep_the_digits_of_their_slopes() -> None:
    for far in (20.0, 50.0, 300.0):
        z, labels = np.array([[far, 0.0, 1.0]]), np.array([0], np.int32)
        others = np.exp(-far) + np.exp(1 - far)
        slope, curved = Categorical().slope(z, labels)[0], Categorical().curvature(z, labels)[0]
        np.testing.assert_allclose(slope, [-others, np.exp(-far), np.exp(1 - far)], rtol=1e-7)
        assert slope[0] == pytest.approx(-(slope[1] + slope[2]), rel=1e-14)
        assert curved[0] == pytest.approx(slope[1] + slope[2], rel=1e-7)
        for side, t in ((1.0, 1.0), (-1.0, 0.0)):
            one = Bernoulli().slope(np.array([[side * far]]), np.array([[t]]))[0, 0]
            assert one == pytest.approx(-side * np.exp(-far), rel=1e-8)


def test_second_derivatives_of_sure_classes_have_their_digits() -> None:
    """p (1 - p) of a class that is sure is what the others have, not 1 less a number next to it."""
    from linnet.data.columns import Columns
    from linnet.fit.solvers.problem import Problem

    x, labels = RNG.normal(size=(40, 2)), np.arange(40, dtype=np.int32) % 3
    offset = 40.0 * (labels[:, None] == np.arange(3))
    problem = Problem.in_memory(Columns(40, (x,)), Categorical(), 3, labels=labels, offset=offset)
    point = problem.at(np.zeros(9), curvature=True)
    assert point.curvature is not None
    h = point.curvature.reshape(3, 3, 3, 3)  # columns x outputs x columns x outputs
    assert np.abs(h.sum(axis=3)).max() < 1e-12 * np.abs(h).max()  # all classes together bend nothing


def test_a_class_left_out_by_a_small_penalty_has_its_share() -> None:
    x = RNG.normal(size=(200, 3))
    y = (x @ RNG.normal(size=(3, 4)) + RNG.gumbel(size=(200, 4))).argmax(axis=1)
    for strength in (1e6, 1e11, 1e14):
        assert np.abs(linnet.LogisticRegression(C=strength).fit(x, y).coef_.sum(axis=0)).max() < 1e-9


def test_what_is_left_is_no_more_than_there_is() -> None:
    """A bound from the penalty alone would keep L-BFGS going forever: it is close to 0, and so is the objective."""
    x, y = RNG.normal(size=(100, 30)), np.arange(100) % 2
    model: Any = linnet.LogisticRegression(C=1e6, solver="lbfgs").fit(x * 1e40, y)
    assert model.n_iter_[0] < 400


def test_no_more_is_said_to_be_left_to_gain_than_the_objective_has() -> None:
    rng = np.random.default_rng(0)
    x, y = 1e10 * rng.normal(size=(60, 40)), rng.integers(0, 3, 60)
    with pytest.warns(FitWarning, match="above its minimum") as caught:
        linnet.LogisticRegression(solver="lbfgs", max_iter=5).fit(x, y)
    objective, gap = re.findall(r"objective (\S+) is up to about (\S+) above", str(caught[0].message))[0]
    assert float(gap) <= 1.01 * float(objective)
