"""Newton's method on many rows: how far it goes, and what it looks at on the way."""

from typing import Any

import numpy as np
import pytest

from linnet.data.columns import Columns
from linnet.fit.linear import Point, Problem
from linnet.fit.newton import elimination_order, factor
from linnet.fit.solve import solve
from linnet.model.heads import Bernoulli, Poisson

RNG = np.random.default_rng(0)
N, WIDE = 60_000, 12
X = RNG.normal(size=(N, WIDE)) + RNG.normal(size=(N, 1))
Z = X @ (RNG.normal(size=WIDE) / 4) - 1
TARGETS = {
    "two classes": (Bernoulli(), (RNG.random(N) < 1 / (1 + np.exp(-Z))).astype(float)),
    "counts": (Poisson(), RNG.poisson(np.exp(Z)).astype(float)),
}


class Counted(Problem):
    """Counts what it is asked for on all rows."""

    def at(self, theta: Any, *, gradient: bool = True, curvature: bool = False, every: int = 1) -> Point:
        if every == 1:
            self.asked = [*getattr(self, "asked", []), curvature]
        return super().at(theta, gradient=gradient, curvature=curvature, every=every)


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("rows", [1000, N])
def test_nothing_is_left_to_gain(name: str, rows: int) -> None:
    head, values = TARGETS[name]
    problem = Counted(Columns(rows, (X[:rows],)), head, 1, values=values[:rows, None])
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
