"""The dual of a problem with a sparse table of more columns than rows, all of them penalised, for L-BFGS.

The best weights are w = S X'a, with S the inverse of the columns' penalties and one coefficient a per row and output.
With the Gram matrix of the rows K = X S X'

    z = K a + b + offset        ½ Σ_j l2_j w_j² = ½ a'K a

and the gradient in the metric of the penalty is S X'r with r = ∂loss/∂z + a. So a point is (a, K a, b), a gradient
(r, K r, Σ_i ∂loss/∂z_i), and their inner product a'K r plus that of the biases: L-BFGS never handles a vector of one
entry per column, tries step lengths without reading the data, and reads them once per step.

Products with K are of values rounded to single precision, K̃, so that the copy of X they need takes half its memory. The
optimum, r = 0, depends on K through z only: once it is found for K̃, `exact` replaces K̃ a by the true K a = X w, and
from there the error of K̃ is relative to the next steps alone. So all digits are those of X, and a few rounds end at
the optimum of K, or show that columns differ by less than single precision resolves.
"""

from dataclasses import replace

import numpy as np

from linnet._native import core
from linnet.config import usable_threads
from linnet.fit.solvers.lbfgs import SmoothObjective, bias_suboptimality, lbfgs
from linnet.fit.solvers.preconditioner import Precondition
from linnet.fit.solvers.problem import Floats, Point, Problem
from linnet.fit.solvers.solution import Solution, Watch
from linnet.fit.solvers.solver import Attempt, Solver
from linnet.fit.solvers.start import starting_point

_MAX_ROWS_FOR_DENSE_DUAL = 1000  # with more rows in a sparse table, L-BFGS on the dual is faster than Newton's method
_DUAL_MAX_ITER, _DUAL_HISTORY = 300, 24  # of L-BFGS on the dual: iterations, and pairs in its history
_DUAL_ROUNDS = 6  # of L-BFGS on the dual, each from an exact point


class SparseDualObjective(SmoothObjective):
    """The dual objective for L-BFGS; `theta` converts its points to parameters of the problem."""

    def __init__(self, problem: Problem) -> None:
        assert problem.table.sparse is not None
        self._problem = problem
        self._shape = (problem.columns.rows, problem.outputs)
        self.dual_size = problem.columns.rows * problem.outputs
        self.size = 2 * self.dual_size + problem.outputs
        self.threads = problem.data.threads
        penalty = problem.ridge[: -problem.outputs : problem.outputs]  # the same for all outputs
        self._products = core.RowProducts(
            problem.table.sparse, np.ascontiguousarray(penalty), usable_threads(problem.data.threads)
        )

    @staticmethod
    def possible(problem: Problem) -> bool:
        """Return whether the table is one sparse matrix whose columns carry an l2 penalty, the same for all outputs."""
        columns, limits = problem.table, core.RowProducts
        l2 = problem.ridge.reshape(-1, problem.outputs)[:-1]
        return (
            columns.sparse is not None
            and columns.sparse_columns == columns.count
            and columns.rows <= min(columns.count, limits.most_rows)
            and len(columns.sparse[1]) <= limits.most_entries
            and problem.fixed is None
            and bool((l2 > 0).all() and (l2 == l2[:, :1]).all())
        )

    def start(self) -> Point:
        """Return the point of weights zero and null biases."""
        theta = np.zeros(self.size)
        theta[2 * self.dual_size :] = starting_point(self._problem)[-self._problem.outputs :]
        return self.with_full_gradient(self.at(theta))

    def at(self, theta: Floats) -> Point:
        """Return the objective, and the gradient without K r: see `with_full_gradient`."""
        problem, half = self._problem, self.dual_size
        z = self._z(theta)
        loss, gradient = np.empty(len(z)), np.empty(self.size)
        slope = gradient[:half].reshape(self._shape)  # a view
        problem.head.rows(z, problem.rows.targets(), loss=loss, slope=slope)
        if problem.rows.weights is not None:  # a row without weight adds nothing, even if its loss is infinite
            loss = np.where(problem.rows.weights > 0, problem.rows.weights * loss, 0.0)
            slope[:] = np.where(problem.rows.weights[:, None] > 0, problem.rows.weights[:, None] * slope, 0.0)
        gradient[2 * half :] = slope.sum(axis=0) if problem.intercept else 0.0
        slope += theta[:half].reshape(self._shape)
        return Point(theta, float(loss.sum()) + 0.5 * core.dot(theta[:half], theta[half : 2 * half]), gradient)

    def with_full_gradient(self, point: Point) -> Point:
        """Return the point with K r in its gradient."""
        assert point.gradient is not None
        r, image = (point.gradient[part].reshape(self._shape) for part in (slice(self.dual_size), self._images))
        self._products.apply(r, image)
        return point

    def suboptimality_bound(self, point: Point, enough: float) -> float:
        """Return ½ r'K r, which is g'P⁻¹g of `Primal.suboptimality_bound` here."""
        assert point.gradient is not None
        if self._problem.head.nonnegative and point.value <= enough:
            return point.value
        r, image = point.gradient[: self.dual_size], point.gradient[self._images]
        bound = 0.5 * core.dot(r, image)
        if bound > enough or not self._problem.intercept:
            return bound
        curved = self._problem.row_sums.curvature(self._z(point.theta)).sum(axis=0)
        return bound + bias_suboptimality(point.gradient[2 * self.dual_size :], curved)

    def steps(self, start: Point) -> Precondition:
        """Return a diagonal preconditioner.

        Biases are scaled to move z as far as other coordinates do, and all so that the first step leads to the minimum
        of the quadratic model along it.
        """
        problem, half = self._problem, self.dual_size
        assert start.gradient is not None
        scales = [1.0, self._bias_scale() if problem.intercept else 1.0]  # of coordinates and images, and of biases

        def scaled(gradient: Floats) -> Floats:
            step = gradient * scales[0]
            step[2 * half :] = gradient[2 * half :] * scales[1]
            return step

        step = scaled(start.gradient)
        moved = step[self._images].reshape(self._shape) + step[2 * half :]
        curved = problem.row_sums.curvature(self._z(start.theta))
        curvature_along = core.dot(step, step, half) + float((curved * moved**2).sum())
        if curvature_along > 0:
            length = core.dot(start.gradient, step, half) / curvature_along
            scales[:] = [scale * length for scale in scales]
        return scaled

    def theta(self, point: Floats) -> Floats:
        """Return the theta of the problem from a point of the dual."""
        biases = slice(-self._problem.outputs, None)
        theta, ridge = np.empty(self._problem.size), self._problem.ridge
        self._problem.row_sums.gradient(point[: self.dual_size].reshape(self._shape), theta)
        theta[: biases.start] /= ridge[: biases.start]
        theta[biases] = point[2 * self.dual_size :]
        return theta

    def exact(self, point: Floats, theta: Floats) -> Point:
        """Return the point with the true K a, from a point whose theta is known."""
        point = point.copy()
        image = point[self._images].reshape(self._shape)  # a view
        self._problem.row_sums.predict(theta, image)
        image -= point[2 * self.dual_size :]
        return self.with_full_gradient(self.at(point))

    @property
    def _images(self) -> slice:
        return slice(self.dual_size, 2 * self.dual_size)

    def _z(self, theta: Floats) -> Floats:
        z = theta[self._images].reshape(self._shape) + theta[2 * self.dual_size :]
        return z if self._problem.rows.offset is None else z + self._problem.rows.offset

    def _bias_scale(self) -> float:
        """Return the mean of all entries of K: how far the dual coordinates move z, compared with the biases."""
        ones = np.ones((self._shape[0], 1))
        image = np.empty_like(ones)
        self._products.apply(ones, image)
        return float(image.sum()) / len(image) ** 2


class DualSparse(Solver):
    """For sparse tables with more columns than rows, all penalised: L-BFGS on the dual."""

    last = False

    def suits(self, attempt: Attempt) -> bool:
        """Return whether the dual is possible, no start was requested, and the dense dual is not faster."""
        problem, rows = attempt.problem, attempt.problem.columns.rows
        is_small = attempt.solver == "auto" and rows < problem.columns.count and rows <= _MAX_ROWS_FOR_DENSE_DUAL
        if is_small or attempt.initial is not None or attempt.wants_min_norm or not problem.has_rows:
            return False
        return SparseDualObjective.possible(problem)

    def solve(self, attempt: Attempt) -> Solution:
        """Run L-BFGS on the dual."""
        return _solve_sparse_dual(attempt.problem, attempt.max_iter, attempt.tolerance, attempt.watch)


def _solve_sparse_dual(problem: Problem, max_iter: int, tolerance: float, watch: Watch) -> Solution:
    """Run L-BFGS on the dual, in rounds that start from exact points.

    It does not converge if columns have very different scales.
    """
    dual = SparseDualObjective(problem)
    points = [dual.start()]  # popped, so that its vectors are freed
    steps, before, done = dual.steps(points[0]), points[0].value, 0

    def report(iteration: int, value: float, gap: float) -> None:
        if iteration or not done:  # later rounds start where the one before ended
            watch(done + iteration, value, gap)

    for turn in range(_DUAL_ROUNDS):
        solution = lbfgs(
            dual,
            points.pop(),
            steps,
            history=_DUAL_HISTORY,
            max_iter=min(max_iter, _DUAL_MAX_ITER) - done,
            tolerance=tolerance,
            before=before,
            watch=report,
        )
        done += solution.iterations
        proved = turn > 0 and solution.iterations == 0  # no step from an exact point
        if proved:
            break
        theta = dual.theta(solution.theta)
        if not solution.converged:
            break
        points.append(dual.exact(solution.theta, theta))
    none = np.zeros(problem.size, np.bool_)
    return replace(solution, theta=theta, iterations=done, converged=proved and solution.converged, aliased=none)
