"""Problems with more columns than rows, solved in the rows' own columns."""

from typing import Any

import numpy as np
import pytest

from linnet.data.columns import Columns
from linnet.fit.solvers.dual_dense import DenseDualProblem
from linnet.fit.solvers.problem import Problem
from linnet.fit.solvers.select import solve
from linnet.fit.solvers.start import starting_point
from linnet.heads import Bernoulli, Categorical, Poisson

RNG = np.random.default_rng(0)
N, WIDE = 40, 300
X = RNG.normal(size=(N, WIDE)) + 2
X[7] = X[3]  # a row twice
PENALTY = RNG.uniform(0.5, 3, WIDE)
LABELS = RNG.integers(0, 3, N).astype(np.int32)
COUNTS = RNG.poisson(2, (N, 1)).astype(float)

PROBLEMS: dict[str, dict[str, Any]] = {
    "two classes": {"head": Bernoulli(), "outputs": 1, "values": COUNTS > 1},
    "many classes": {"head": Categorical(), "outputs": 3, "labels": LABELS},
    "a reference": {"head": Categorical(), "outputs": 3, "labels": LABELS, "fixed": np.array([True, False, False])},
    "counts": {"head": Poisson(), "outputs": 1, "values": COUNTS, "offset": np.log(COUNTS + 1)},
    "weights, no intercept": {
        "head": Poisson(),
        "outputs": 1,
        "values": COUNTS,
        "weights": RNG.random(N),
        "intercept": False,
    },
}


def make(name: str) -> Problem:
    given = dict(PROBLEMS[name])
    if "values" in given:
        given["values"] = given["values"].astype(float)
    codes = np.arange(N, dtype=np.int32) % 4
    l2 = np.concatenate([PENALTY, [0.7] * 4])[:, None] * np.ones(given["outputs"])
    return Problem.in_memory(Columns(N, (X,), codes=(codes,), levels=(4,)), l2=l2, **given)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_way_over_rows_leads_to_the_optimum(name: str) -> None:
    problem = make(name)
    assert DenseDualProblem.possible(problem)
    rows = DenseDualProblem(problem)
    solved = solve(rows.problem)
    point = problem.at(rows.theta(solved.theta))
    assert point.gradient is not None
    start = problem.at(starting_point(problem)).gradient
    assert start is not None
    assert np.abs(point.gradient).max() < 1e-5 * np.abs(start).max()
    direct = solve(problem, "lbfgs", tolerance=1e-14)
    assert point.value == pytest.approx(direct.value, rel=1e-8)
    biases = slice(problem.size - problem.outputs, None)
    ends = [solve(problem).theta.copy(), direct.theta.copy()]
    for theta in ends:  # biases carry no penalty, and those of all classes may move together
        theta[biases] -= theta[biases][0] if problem.rows.labels is not None else 0
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-5)


def test_where_it_does_not_apply() -> None:
    problem = make("many classes")
    assert problem.l2 is not None
    free = problem.l2.copy()
    free[5] = 0
    assert not DenseDualProblem.possible(Problem.in_memory(problem.table, Categorical(), 3, labels=LABELS, l2=free))
    free[5] = [1, 2, 3]
    assert not DenseDualProblem.possible(Problem.in_memory(problem.table, Categorical(), 3, labels=LABELS, l2=free))
