"""Preconditioners: what they approximate, and that the optimum does not depend on them."""

from typing import Any

import numpy as np
import pytest

from linnet.data.columns import Columns
from linnet.fit.solvers.cholesky import elimination_order
from linnet.fit.solvers.lbfgs import Primal, lbfgs
from linnet.fit.solvers.newton import newton
from linnet.fit.solvers.preconditioner import Preconditioner, _heaviest
from linnet.fit.solvers.problem import Floats, Problem
from linnet.fit.solvers.select import solve
from linnet.fit.solvers.start import starting_point
from linnet.heads import Bernoulli, Categorical, Poisson


def softmax_problem(**changes: Any) -> Problem:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 6)) @ rng.normal(size=(6, 6)) * np.array([1, 1, 10, 1, 0.1, 1])
    labels = (x[:, :3] + rng.gumbel(size=(400, 3))).argmax(axis=1).astype(np.int32)
    settings: dict[str, Any] = {"l2": np.full((6, 3), 0.5)} | changes
    return Problem.in_memory(Columns(400, (x,)), Categorical(), 3, labels=labels, **settings)


def by_newton(problem: Problem) -> Floats:
    return newton(problem, starting_point(problem), elimination_order(problem)).theta


def parameters(problem: Problem, theta: Floats) -> Floats:
    """Biases, which carry no penalty, count from the first class."""
    by_output = theta.reshape(-1, problem.outputs).copy()
    by_output[-1] -= by_output[-1, 0]
    return by_output


@pytest.mark.parametrize(
    "changes",
    [{}, {"fixed": np.array([False, True, False])}, {"l2": np.outer(np.ones(6), [0.1, 1, 10])}, {"intercept": False}],
    ids=["all classes", "a reference", "another penalty for every class", "no intercept"],
)
def test_lbfgs_finds_the_optimum_of_newton(changes: dict[str, Any]) -> None:
    problem = softmax_problem(**changes)
    precondition = Preconditioner(problem)
    start = precondition.reachable(np.where(problem.free, np.random.default_rng(1).normal(size=problem.size), 0.0))
    first = precondition.at(starting_point(problem), first=True)
    solved = lbfgs(Primal(problem), start, first, refresh=precondition.refresh, tolerance=1e-14)
    assert solved.converged
    np.testing.assert_allclose(parameters(problem, solved.theta), parameters(problem, by_newton(problem)), atol=1e-5)
    assert solved.iterations < 30 or "l2" in changes  # no user can ask for those


def test_it_is_the_inverse_where_outputs_do_not_depend_on_each_other() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(300, 4))
    values = (rng.random((300, 2)) < 0.4).astype(float)
    problem = Problem.in_memory(Columns(300, (x,)), Bernoulli(), 2, values=values, l2=np.full((4, 2), 2.0))
    point = problem.at(rng.normal(size=problem.size), curvature=True)
    assert point.gradient is not None
    assert point.curvature is not None
    step = Preconditioner(problem).at(point.theta)(point.gradient)
    np.testing.assert_allclose(step, np.linalg.solve(point.curvature, point.gradient), rtol=1e-6)


@pytest.mark.parametrize("changes", [{}, {"fixed": np.array([True, False, False])}], ids=["all", "a reference"])
def test_it_is_symmetric_and_positive(changes: dict[str, Any]) -> None:
    problem = softmax_problem(**changes)
    apply = Preconditioner(problem).at(starting_point(problem))
    matrix = np.stack([apply(row) for row in np.eye(problem.size) * problem.free])
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
    assert np.linalg.eigvalsh(matrix).min() > -1e-12


def test_some_rows_stand_for_all() -> None:
    weights = np.random.default_rng(3).random(10_000) ** 8
    some = _heaviest(weights, 500)
    assert 400 < np.count_nonzero(some) <= 500
    assert some.sum() == pytest.approx(weights.sum(), rel=1e-2)
    assert (some[weights > weights.sum() / 500] >= weights[weights > weights.sum() / 500]).all()
    np.testing.assert_array_equal(_heaviest(weights, 10_000), weights)
    np.testing.assert_array_equal(_heaviest(np.zeros(9), 3), np.zeros(9))


def test_without_an_intercept_levels_are_not_taken_for_one() -> None:
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 4, 400).astype(np.int8)
    values = rng.poisson(1.0, (400, 1)).astype(float)
    columns = Columns(400, (rng.normal(size=(400, 2)),), codes=(codes,), levels=(4,))
    problem = Problem.in_memory(columns, Poisson(), 1, values=values, intercept=False)
    point = problem.at(rng.normal(size=problem.size) * problem.free, curvature=True)
    assert point.gradient is not None
    assert point.curvature is not None
    step = Preconditioner(problem).at(point.theta)(point.gradient)
    np.testing.assert_allclose(step[:-1], np.linalg.solve(point.curvature[:-1, :-1], point.gradient[:-1]), rtol=1e-6)
    assert step[-1] == 0


def test_rows_that_are_certain_do_not_end_a_fit_early() -> None:
    rng = np.random.default_rng(5)
    for _ in range(60):
        x, level = rng.normal(size=(60, 4)), rng.integers(0, 3, 60).astype(np.int8)
        labels = (50 * x[:, :4] + rng.gumbel(size=(60, 4))).argmax(axis=1).astype(np.int32)
        labels[:4] = range(4)
        columns = Columns(60, (x,), codes=(level,), levels=(3,))
        problem = Problem.in_memory(columns, Categorical(), 4, labels=labels)
        losses = [solve(problem, solver).value for solver in ("lbfgs", "newton-cholesky")]
        assert losses[0] == pytest.approx(losses[1], rel=1e-6, abs=1e-3)
