"""Newton's method as solvers of `select`: in the columns of a problem, or in a basis where some are aliased."""

from dataclasses import replace

import numpy as np

from linnet.errors import ConfigError
from linnet.fit.solvers.aliasing import Basis, find, is_weak
from linnet.fit.solvers.newton import CachedHessian, elimination_order, factor, newton
from linnet.fit.solvers.null_model import constant_loss
from linnet.fit.solvers.problem import Floats, Point, Problem
from linnet.fit.solvers.solution import Aliasing, Method, Solution
from linnet.fit.solvers.start import starting_point
from linnet.fit.solvers.task import LARGEST_CURVATURE, NEWTON_SOLVERS, Task, hessian_affordable

_START_ROW_STRIDES = 16, 8  # of the blocks of rows that a start is computed from, and then improved
_MIN_ROWS_FOR_SAMPLED_START = 50_000
_MAX_RELATIVE_CANCELLATION = 1e-6  # of the objective: what rounding of predictions may cost without a warning


class Newton:
    """For all problems whose Hessian is affordable."""

    last = True

    def suits(self, task: Task) -> bool:
        """Whether it was asked for, or pays."""
        return task.solver in NEWTON_SOLVERS or (
            (task.solver == "auto" or task.bare) and hessian_affordable(task.problem)
        )

    def solve(self, task: Task) -> Solution:
        """Newton's method, in a basis of other columns if some are aliased or nearly so."""
        problem, given = task.problem, task.given
        if problem.size > 4 * LARGEST_CURVATURE:
            raise ConfigError(
                f"solver={task.solver!r} needs a matrix of {problem.size} x {problem.size} numbers: use 'auto'"
            )
        theta = task.start
        first: Floats | Point = theta
        dense = problem.columns.dense == problem.columns.count  # a sample of the rows has too few of rare levels
        if (
            given is None
            and problem.columns.rows >= _MIN_ROWS_FOR_SAMPLED_START
            and dense
            and not problem.head.quadratic
        ):
            first = _start_from_sample(problem, theta)
        plain = None if first is theta and given is None else theta if given is None else task.null_start
        order = elimination_order(problem)
        objective = CachedHessian(problem)
        points = [first if isinstance(first, Point) else objective.at(first, curvature=True)]  # popped below, as
        assert points[0].curvature is not None  # newton needs the memory
        factors = [factor(points[0].curvature, order)]
        if (
            problem.has_rows  # the search for a basis reads them
            and is_weak(problem, points[0].curvature, factors[0])
            and (basis := find(problem)) is not None
        ):
            points.clear()
            factors.clear()
            return replace(_in_basis(basis, task), hessian=objective.hessian)
        solution = newton(
            objective,
            points.pop(),
            order,
            factored=factors.pop(),
            max_iter=task.max_iter,
            plain=plain,
            exact=problem.head.convex,
            watch=task.watch,
        )
        return replace(
            solution, theta=_around_zero(problem, solution), method=Method.CHOLESKY, hessian=objective.hessian
        )


class NewtonInBasis:
    """For aliased and nearly aliased columns, on which L-BFGS converges slowly."""

    last = True

    def suits(self, task: Task) -> bool:
        """Whether there are any, as far as finding out takes less time than L-BFGS."""
        return _has_weak_columns(task)

    def solve(self, task: Task) -> Solution | None:
        """Newton's method in a basis of other columns."""
        basis = find(task.problem)
        return None if basis is None else _in_basis(basis, task)


def _around_zero(problem: Problem, solution: Solution) -> Floats:
    """Theta with the same predictions and the least penalty: of classes, one may have been left out as aliased, where
    the penalty is too small to tell.
    """
    by_class = solution.theta.reshape(-1, problem.outputs)
    ridge = problem.ridge.reshape(-1, problem.outputs)
    alike = (ridge > 0).all(axis=1) & (ridge == ridge[:, :1]).all(axis=1)
    if not problem.head.coupled or problem.fixed is not None or not alike.any():
        return solution.theta
    return np.where(alike[:, None], by_class - by_class.mean(axis=1, keepdims=True), by_class).ravel()


def _has_weak_columns(task: Task) -> bool:
    """Whether columns are aliased or nearly so, and no penalty makes up for it, as far as finding out takes less time
    than L-BFGS, which would converge slowly and end too early.
    """
    problem = task.problem
    if not problem.has_rows or not hessian_affordable(problem):
        return False
    k, size = problem.outputs, problem.columns.count + 1
    output = 0 if problem.fixed is None else int(np.flatnonzero(~problem.fixed)[0])
    products = np.empty((size, size))
    weights = problem.row_sums.curvature(problem.z(task.null_start))[:, output]
    problem.row_sums.sandwich(np.ascontiguousarray(weights), products)
    products[np.diag_indices(size)] += problem.ridge.reshape(-1, k)[:, output]
    if not problem.intercept:
        products[-1], products[:, -1] = 0, 0
    one = replace(problem, outputs=1, fixed=None, l2=None, l1=None)
    return is_weak(one, products, factor(products, elimination_order(one)))


def _in_basis(basis: Basis, task: Task) -> Solution:
    """Newton's method in the columns of a basis, and its solution in those of the problem."""
    problem, inner, given = basis.outer, basis.problem, task.given
    first = starting_point(inner) if given is None else basis.inside(given)
    plain = None if given is None else starting_point(inner)
    order, exact = elimination_order(inner), problem.head.convex
    found = newton(basis, first, order, max_iter=task.max_iter, plain=plain, exact=exact, watch=task.watch)
    aliased = np.repeat(np.append(basis.aliased, False), problem.outputs)
    aliased.reshape(-1, problem.outputs)[np.append(basis.places, -1)] = found.aliased.reshape(-1, problem.outputs)
    theta, step = basis.outside(found.theta), None if found.step is None else basis.outside(found.step)
    solution = replace(found, theta=theta, step=step, aliased=aliased)
    solution = replace(solution, theta=_around_zero(problem, solution))
    aliasing = Aliasing(len(basis.places), basis.left_out, basis.inexact)
    if basis.made and problem.at(solution.theta, gradient=False).value - found.value > _MAX_RELATIVE_CANCELLATION * abs(
        found.value
    ):
        cancelling = np.isin(np.arange(problem.columns.count), basis.places[list(basis.made)])
        aliasing = replace(aliasing, cancelling=cancelling)
    return replace(solution, method=Method.CHOLESKY, aliasing=aliasing)


def _start_from_sample(problem: Problem, theta: Floats) -> Floats | Point:
    """The result of Newton's method on a sample of the rows, unless that is worse than the model without columns."""
    order = elimination_order(problem)
    sample = newton(problem, theta, order, row_stride=_START_ROW_STRIDES[0], enough=1e-6, max_iter=20)
    if np.isfinite(sample.theta).all():
        sample = newton(problem, sample.theta, order, row_stride=_START_ROW_STRIDES[1], enough=np.inf)  # a single step
    if not np.isfinite(sample.theta).all():
        return theta
    point = problem.at(sample.theta, curvature=True)
    return point if point.value < constant_loss(problem, theta[-problem.outputs :]) else theta
