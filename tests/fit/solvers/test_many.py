"""Many binary problems over one table are the problems one by one, whichever way they are solved."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse

from linnet.data.columns import Columns
from linnet.data.encoder import Encoder
from linnet.errors import DataError
from linnet.fit.solvers.code_matrix import CodeMatrix
from linnet.fit.solvers.many import BinaryProblems, constant_log_odds, fit_many
from linnet.fit.solvers.problem import Problem
from linnet.fit.solvers.select import solve
from linnet.fit.solvers.solution import Solution
from linnet.heads import Bernoulli

RNG = np.random.default_rng(0)
GROUP = RNG.integers(0, 4, 300).astype(np.int32)
X = RNG.normal(size=(4, 5))[GROUP] + RNG.normal(size=(300, 5))
CODES = np.array([[1, -1, 1, 0, 1], [-1, 1, 1, -1, 1], [-1, -1, -1, 1, 0], [-1, -1, 0, 1, 1]], np.int8)
TABLES: dict[str, Columns] = {
    "dense": Columns(300, (X,)),
    "sparse": Encoder.learn(scipy.sparse.csr_array(X * (np.abs(X) > 1)))[1],
    "levels": Columns(300, (X,), codes=((GROUP % 3).astype(np.int8),), levels=(3,)),
}
WEIGHTS = RNG.integers(0, 3, 300).astype(float)


def problems_of(table: str = "dense", **others: Any) -> BinaryProblems:
    columns, codes = TABLES[table], CodeMatrix.from_dense(CODES, GROUP)
    given = {"l2": np.ones(columns.count), "l1": np.zeros(columns.count)} | others
    return BinaryProblems(columns, codes, **given)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    "others",
    [{}, {"weights": WEIGHTS}, {"class_weight": "balanced", "weights": WEIGHTS}, {"intercept": False}],
    ids=["plain", "weights", "balanced", "no intercept"],
)
def test_solved_jointly_they_are_those_solved_alone(table: str, others: dict[str, Any]) -> None:
    problems = problems_of(table, **others)
    assert problems.suit_joint_newton()
    jointly, alone = (fit_many(problems, solve, joint=joint) for joint in (True, False))
    np.testing.assert_allclose(jointly.weights, alone.weights, rtol=0, atol=1e-7)
    np.testing.assert_allclose(jointly.biases, alone.biases, rtol=0, atol=1e-7)
    assert (jointly.iterations[:4] > 0).all()


@pytest.mark.parametrize(
    ("others", "solver"),
    [
        ({"l1": np.ones(5)}, "auto"),
        ({"l2": np.zeros(5)}, "auto"),
        ({"class_weight": {1: 2.0}}, "auto"),
        ({}, "lbfgs"),
    ],
    ids=["l1", "no penalty", "weights by class", "another solver"],
)
def test_what_joint_newton_is_not_for_is_solved_one_by_one(others: dict[str, Any], solver: str) -> None:
    problems, asked = problems_of(**others), []

    def solve_one(problem: Problem) -> Solution:
        asked.append(problem)
        return solve(problem, solver, tolerance=1e-13)

    found = fit_many(problems, solve_one, solver=solver)
    assert len(asked) == 4  # the last column of codes has one side only
    for number in range(4):
        rows = np.flatnonzero(CODES[GROUP, number])
        t = (CODES[GROUP[rows], number] > 0).astype(float)
        problem = Problem.in_memory(
            Columns(len(rows), (X[rows],)),
            Bernoulli(),
            1,
            values=t[:, None],
            weights=1 + t if "class_weight" in others else None,
            l2=problems.l2[:, None],
            l1=problems.l1[:, None],
        )
        weights, biases = problem.to_user(solve(problem, solver, tolerance=1e-13).theta)
        np.testing.assert_allclose(found.weights[:, number], weights[:, 0], rtol=1e-9, atol=1e-12)
        assert found.biases[number] == pytest.approx(biases[0], rel=1e-9)


def test_what_joint_newton_has_not_solved_is_solved_alone() -> None:
    asked = []

    def solve_one(problem: Problem) -> Solution:
        asked.append(problem)
        return solve(problem)

    stopped = fit_many(problems_of(), solve_one, max_iter=1)
    assert len(asked) == 4
    np.testing.assert_array_equal(stopped.weights, fit_many(problems_of(), solve, joint=False).weights)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weights"])
def test_a_problem_of_one_side_is_a_constant(weights: Any) -> None:
    problems = problems_of(weights=weights)
    found = fit_many(problems, solve)
    there = np.ones(300) if weights is None else weights
    positives = there[CODES[GROUP, 4] > 0].sum()
    assert problems.solvable.tolist() == [True, True, True, True, False]
    assert not found.weights[:, 4].any()
    assert found.iterations[4] == 0
    assert found.biases[4] == pytest.approx(np.log(positives + 1))
    assert constant_log_odds(problems.codes, weights)[4] == found.biases[4]


def test_class_weights_may_not_leave_one_class() -> None:
    with pytest.raises(DataError, match="only one class of y has rows with a weight above 0"):
        fit_many(problems_of(class_weight={1: 0.0}), solve)
