"""Newton's method on many rows: how far it goes, and what it looks at on the way."""

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from linnet.data.columns import Columns
from linnet.fit.solvers.cholesky import elimination_order, factor
from linnet.fit.solvers.problem import Point, Problem
from linnet.fit.solvers.select import solve
from linnet.heads import Bernoulli, Categorical, Poisson, head_named

RNG = np.random.default_rng(0)
N, WIDE = 60_000, 12
X = RNG.normal(size=(N, WIDE)) + RNG.normal(size=(N, 1))
Z = X @ (RNG.normal(size=WIDE) / 4) - 1
TARGETS = {
    "two classes": (Bernoulli(), (RNG.random(N) < 1 / (1 + np.exp(-Z))).astype(float)),
    "counts": (Poisson(), RNG.poisson(np.exp(Z)).astype(float)),
}


class Counted(Problem):
    """Counts the sums that are requested over all rows."""

    asked: list[bool]

    def at(self, theta: Any, *, gradient: bool = True, curvature: bool = False, row_stride: int = 1) -> Point:
        if row_stride == 1:
            self.__dict__.setdefault("asked", []).append(curvature)
        return super().at(theta, gradient=gradient, curvature=curvature, row_stride=row_stride)


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("rows", [1000, N])
def test_nothing_is_left_to_gain(name: str, rows: int) -> None:
    head, values = TARGETS[name]
    problem = Counted.in_memory(Columns(rows, (X[:rows],)), head, 1, values=values[:rows, None])
    found = solve(problem)
    assert found.converged
    assert all(problem.asked[:-1]), "second derivatives, but for the last point"
    if rows == N and name == "two classes":  # a good start, so that the gains fall quickly
        assert problem.asked == [True, True, False]
    end = problem.at(found.theta, curvature=True)
    assert end.gradient is not None
    assert end.curvature is not None
    left = 0.5 * end.gradient @ factor(end.curvature, elimination_order(problem)).solve(end.gradient)
    assert left <= 1e-17 * end.value


@pytest.mark.parametrize(
    ("family", "power", "penalty"),
    [("tweedie", 0, 0), ("tweedie", 3, 1), ("tweedie", 2.5, 1), ("tweedie", -1, 1), ("tweedie_identity", 1.5, 1)],
)
def test_nothing_is_left_where_second_derivatives_are_not_exact(family: str, power: float, penalty: float) -> None:
    """Where a row's loss bends downwards its expected bend is taken, and each gain is only a part of the one before."""
    x, t = load_diabetes(return_X_y=True)
    head = head_named(family, power)
    assert not head.convex
    problem = Problem.in_memory(
        Columns(len(x), (x,)), head, 1, values=t[:, None], l2=np.full((10, 1), penalty * len(x))
    )
    found = solve(problem)
    assert found.converged
    end = problem.at(found.theta, curvature=True)
    assert end.gradient is not None
    assert end.curvature is not None
    rest = factor(end.curvature, elimination_order(problem)).solve(end.gradient)
    assert np.abs(rest).max() <= 1e-8 * np.abs(found.theta[:-1]).max()


def test_a_last_step_of_roundings_is_not_taken() -> None:
    for seed in range(12):  # separable classes, so that in the end all rows are certain
        rng = np.random.default_rng(seed)
        x, labels = rng.normal(size=(100, 60)), rng.integers(0, 3, 100).astype(np.int32)
        problem = Problem.in_memory(Columns(100, (x,)), Categorical(), 3, labels=labels)
        found = solve(problem, "newton-cholesky")
        assert problem.at(found.theta).value <= max(found.value, 1e-9)
