"""Duals as solvers of `select`: squared error by one linear system, and sparse tables by L-BFGS."""

from dataclasses import replace

import numpy as np

from linnet.fit.solvers.dual_sparse import SparseDual
from linnet.fit.solvers.lbfgs import lbfgs
from linnet.fit.solvers.min_norm import wide
from linnet.fit.solvers.problem import Point, Problem
from linnet.fit.solvers.solution import Method, Solution, Watch
from linnet.fit.solvers.task import NEWTON_SOLVERS, Task

_MAX_ROWS_FOR_DENSE_DUAL = 1000  # of a sparse table: with more, L-BFGS on the dual is faster than Newton's method
_DUAL_MAX_ITER, _DUAL_HISTORY = 300, 24  # of L-BFGS on the dual: iterations, and pairs in its history
_DUAL_ROUNDS = 6  # of L-BFGS on the dual, each from an exact point
_MAX_RELATIVE_GAIN_LEFT = 1e-16  # of the gain at the start: gradients are 1e-8 of what they were


class RowProducts:
    """For squared error with more columns than rows: one linear system with as many unknowns as rows."""

    last = True

    def suits(self, task: Task) -> bool:
        """Whether the table is wide, and an exact solution is wanted."""
        if not task.problem.has_rows:
            return False
        return task.problem.head.quadratic and (task.solver in ("auto", *NEWTON_SOLVERS) or task.bare) and task.is_wide

    def solve(self, task: Task) -> Solution | None:
        """The dual's solution; None if its gradient is not zero, as with columns of very different scales."""
        problem = task.problem
        found = wide(problem)
        if found is None:
            return None
        theta, products = found
        weights = np.ones(problem.columns.rows) if problem.rows.weights is None else problem.rows.weights
        scale = np.repeat(problem.row_sums.weighted_squares(weights[:, None]), problem.outputs) + problem.ridge

        def gain(point: Point) -> float:
            assert point.gradient is not None
            return float((point.gradient**2 / np.where(scale > 0, scale, 1)).sum())

        point, first = problem.at(theta), problem.at(task.null_start)
        gap = gain(point)
        if not gap <= _MAX_RELATIVE_GAIN_LEFT * gain(first):
            return None
        norm = float(np.abs(point.gradient).max()) if point.gradient is not None else 0.0
        none = np.zeros(problem.size, np.bool_)
        return Solution(theta, point.value, norm, 1, True, gap, none, method=Method.CHOLESKY, row_products=products)


class DualSparse:
    """For sparse tables with more columns than rows, all penalised: L-BFGS on the dual."""

    last = False

    def suits(self, task: Task) -> bool:
        """Whether it is possible, and rows are not so few that the dense dual is faster."""
        few = task.dense_dual_suits and task.problem.columns.rows <= _MAX_ROWS_FOR_DENSE_DUAL
        rows_needed = task.given is None and not task.bare and not few and task.problem.has_rows
        return rows_needed and SparseDual.possible(task.problem)

    def solve(self, task: Task) -> Solution:
        """L-BFGS on the dual."""
        return _solve_sparse_dual(task.problem, task.max_iter, task.tolerance, task.watch)


def _solve_sparse_dual(problem: Problem, max_iter: int, tolerance: float, watch: Watch) -> Solution:
    """L-BFGS on the dual, in rounds from exact points; without convergence where columns have very different scales."""
    dual = SparseDual(problem)
    points = [dual.start()]  # popped, so that its vectors are freed
    steps, before, done = dual.steps(points[0]), points[0].value, 0

    def report(iteration: int, value: float, gap: float) -> None:
        if iteration or not done:  # later rounds start where the one before ended
            watch(done + iteration, value, gap)

    for turn in range(_DUAL_ROUNDS):
        found = lbfgs(
            dual,
            points.pop(),
            steps,
            history=_DUAL_HISTORY,
            max_iter=min(max_iter, _DUAL_MAX_ITER) - done,
            tolerance=tolerance,
            before=before,
            watch=report,
        )
        done += found.iterations
        proved = turn > 0 and found.iterations == 0  # no step from an exact point
        if proved:
            break
        theta = dual.theta(found.theta)
        if not found.converged:
            break
        points.append(dual.exact(found.theta, theta))
    none = np.zeros(problem.size, np.bool_)
    return replace(found, theta=theta, iterations=done, converged=proved and found.converged, aliased=none)
