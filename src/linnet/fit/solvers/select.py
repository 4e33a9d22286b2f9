"""Which solver a convex problem gets: the first of a list that suits it. One that does not converge hands on the point
it has reached.

Newton's method is used while the Hessian is affordable, L-BFGS beyond. With more columns than rows the dual is solved;
where columns are aliased, squared error gives the minimum-norm solution. `tolerance` is that of L-BFGS and of
coordinate descent: Newton's method goes on to the last digit.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from linnet.errors import ConfigError, unknown_name
from linnet.fit.solvers.aliasing import Basis, find, is_weak
from linnet.fit.solvers.coordinate import coordinate
from linnet.fit.solvers.dual_dense import DenseDual
from linnet.fit.solvers.dual_sparse import SparseDual
from linnet.fit.solvers.lbfgs import lbfgs
from linnet.fit.solvers.min_norm import conjugate_gradients, wide
from linnet.fit.solvers.newton import CachedHessian, elimination_order, factor, newton
from linnet.fit.solvers.null_model import constant_loss
from linnet.fit.solvers.preconditioner import Preconditioner, curvature, squares
from linnet.fit.solvers.primal import Primal
from linnet.fit.solvers.problem import Floats, Point, Problem
from linnet.fit.solvers.solution import Aliasing, Method, Solution, Watch, unwatched
from linnet.fit.solvers.start import starting_point

# scikit-learn's names; all lead to the same optimum
SOLVERS = (
    "auto",
    "lbfgs",
    "liblinear",
    "newton-cg",
    "newton-cholesky",
    "sag",
    "saga",
    "svd",
    "cholesky",
    "lsqr",
    "sparse_cg",
)
_NEWTON = ("newton-cholesky", "cholesky", "svd")
LARGEST_CURVATURE = 2500  # parameters, of a Hessian
_MAX_ROWS_FOR_DUAL = 2500
_MAX_ROWS_FOR_DENSE_DUAL = 1000  # of a sparse table: with more, L-BFGS on the dual is faster than Newton's method
_DUAL_MAX_ITER, _DUAL_HISTORY = 300, 24  # of L-BFGS on the dual: iterations, and pairs in its history
_DUAL_ROUNDS = 6  # of L-BFGS on the dual, each from an exact point
_CG_MAX_ITER = 500
_START_ROW_STRIDES = 16, 8  # of the blocks of rows that a start is computed from, and then improved
_MIN_ROWS_FOR_SAMPLED_START = 50_000
_MAX_RELATIVE_CANCELLATION = 1e-6  # of the objective: what rounding of predictions may cost without a warning
_MAX_RELATIVE_GAIN_LEFT = 1e-16  # of the gain at the start: gradients are 1e-8 of what they were


@dataclass(frozen=True)
class Task:
    """A problem to solve, scikit-learn's name of the solver asked for, and what earlier solvers have reached."""

    problem: Problem
    solver: str
    max_iter: int
    given: Floats | None  # the start that was asked for
    tolerance: float
    watch: Watch
    before: Solution | None = None  # of a solver that has not converged

    @property
    def start(self) -> Floats:
        """Where to start: at what earlier solvers have reached, as asked for, or at the null model."""
        known = self.given if self.before is None else self.before.theta
        return self.null_start if known is None else known

    @cached_property
    def null_start(self) -> Floats:
        """The model without columns: see `starting_point`."""
        return starting_point(self.problem)

    @property
    def done(self) -> int:
        """Iterations of earlier solvers."""
        return 0 if self.before is None else self.before.iterations

    @cached_property
    def bare(self) -> bool:
        """Whether it is squared error without a penalty, whose minimum-norm solution is wanted."""
        problem = self.problem
        ridge = problem.ridge.reshape(-1, problem.outputs)
        return problem.head.quadratic and bool((ridge == 0).all(axis=0).any())

    @property
    def is_wide(self) -> bool:
        """Whether there are more columns than rows, and few enough rows for a matrix of all pairs of them."""
        return self.problem.columns.rows < min(self.problem.columns.count, _MAX_ROWS_FOR_DUAL)

    @property
    def dense_dual_suits(self) -> bool:
        """Whether the dense dual may be solved."""
        return self.solver == "auto" and self.is_wide and DenseDual.possible(self.problem)


class Solver(Protocol):
    """A solver for some kinds of problems."""

    last: bool  # whether its result is final, also without convergence

    def suits(self, task: Task) -> bool:
        """Whether it is for this problem."""

    def solve(self, task: Task) -> Solution | None:
        """The solution; None if it turned out not to suit."""


class CoordinateDescent:
    """For l1 penalties, and weights that must not be negative."""

    last = True

    def suits(self, task: Task) -> bool:
        """Whether there is an l1 penalty, or a bound on weights."""
        problem = task.problem
        return problem.positive or (problem.l1 is not None and bool(problem.l1.any()))

    def solve(self, task: Task) -> Solution:
        """Coordinate descent, with Newton steps."""
        how = {"max_iter": task.max_iter, "tolerance": task.tolerance, "watch": task.watch}
        return replace(coordinate(task.problem, task.start, **how), method=Method.COORDINATE)  # type: ignore[arg-type]


class RowProducts:
    """For squared error with more columns than rows: one linear system with as many unknowns as rows."""

    last = True

    def suits(self, task: Task) -> bool:
        """Whether the table is wide, and an exact solution is wanted."""
        return task.problem.head.quadratic and (task.solver in ("auto", *_NEWTON) or task.bare) and task.is_wide

    def solve(self, task: Task) -> Solution | None:
        """The dual's solution; None if its gradient is not zero, as with columns of very different scales."""
        problem = task.problem
        found = wide(problem)
        if found is None:
            return None
        theta, products = found
        weights = np.ones(problem.columns.rows) if problem.weights is None else problem.weights
        scale = np.repeat(squares(problem, weights[:, None]), problem.outputs) + problem.ridge

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


class Newton:
    """For all problems whose Hessian is affordable."""

    last = True

    def suits(self, task: Task) -> bool:
        """Whether it was asked for, or pays."""
        return task.solver in _NEWTON or ((task.solver == "auto" or task.bare) and _newton_pays(task.problem))

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
        if is_weak(problem, points[0].curvature, factors[0]) and (basis := find(problem)) is not None:
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


class ConjugateGradients:
    """For squared error without a penalty: iterations end at the minimum-norm solution."""

    last = False

    def suits(self, task: Task) -> bool:
        """Whether the minimum-norm solution is wanted."""
        return task.bare

    def solve(self, task: Task) -> Solution:
        """Conjugate gradients from zero."""
        most = min(task.max_iter, _CG_MAX_ITER)
        solution = conjugate_gradients(task.problem, max_iter=most, watch=task.watch)
        return replace(solution, method=Method.CONJUGATE_GRADIENTS)


class DualSparse:
    """For sparse tables with more columns than rows, all penalised: L-BFGS on the dual."""

    last = False

    def suits(self, task: Task) -> bool:
        """Whether it is possible, and rows are not so few that the dense dual is faster."""
        few = task.dense_dual_suits and task.problem.columns.rows <= _MAX_ROWS_FOR_DENSE_DUAL
        return task.given is None and not task.bare and not few and SparseDual.possible(task.problem)

    def solve(self, task: Task) -> Solution:
        """L-BFGS on the dual."""
        return _solve_sparse_dual(task.problem, task.max_iter, task.tolerance, task.watch)


class DualDense:
    """For more columns than rows, all penalised: the dual as a problem in as many columns as rows."""

    last = False

    def suits(self, task: Task) -> bool:
        """Whether the dense dual may be solved."""
        return task.dense_dual_suits

    def solve(self, task: Task) -> Solution:
        """The solution of the dual; L-BFGS goes on from it to the last digit."""
        dual, remaining = DenseDual(task.problem), task.max_iter - task.done
        found = solve(dual.problem, max_iter=remaining, tolerance=task.tolerance, watch=task.watch)
        theta, iterations = dual.theta(found.theta), task.done + found.iterations
        return replace(found, theta=theta, iterations=iterations, converged=False)


class LBFGS:
    """For all other problems."""

    last = True

    def suits(self, task: Task) -> bool:
        """Always."""
        return True

    def solve(self, task: Task) -> Solution:
        """L-BFGS from what earlier solvers have reached."""
        problem, done = task.problem, task.done
        precondition = Preconditioner(problem)
        solution = lbfgs(
            Primal(problem),
            precondition.reachable(task.start),
            precondition.at(task.null_start, first=True),
            max_iter=task.max_iter - done,
            before=problem.at(task.null_start, gradient=False).value,
            refresh=precondition.refresh,
            tolerance=task.tolerance,
            watch=lambda iteration, value, gap: task.watch(done + iteration, value, gap),
        )
        return replace(solution, iterations=done + solution.iterations)


_IN_ORDER: Sequence[Solver] = (
    CoordinateDescent(),
    RowProducts(),
    Newton(),
    NewtonInBasis(),
    ConjugateGradients(),
    DualSparse(),
    DualDense(),
    LBFGS(),
)


def solve(
    problem: Problem,
    solver: str = "auto",
    *,
    max_iter: int = 1000,
    start: Floats | None = None,
    tolerance: float = 1e-12,
    watch: Watch = unwatched,
) -> Solution:
    """Minimise the problem from `start`, or from the model without columns where that is better."""
    if solver not in SOLVERS:
        raise unknown_name("solver", solver, SOLVERS)
    if start is not None and not _better_than_none(problem, start):
        start = None
    task = Task(problem, solver, max_iter, start, tolerance, watch)
    for each in _IN_ORDER:
        if not each.suits(task):
            continue
        solution = each.solve(task)
        if solution is not None and (each.last or solution.converged):
            return solution
        task = task if solution is None else replace(task, before=solution)
    raise AssertionError("the last solver suits every problem")


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
    if not _newton_pays(problem):
        return False
    k, size = problem.outputs, problem.columns.count + 1
    output = 0 if problem.fixed is None else int(np.flatnonzero(~problem.fixed)[0])
    products = np.empty((size, size))
    weights = curvature(problem, problem.z(task.null_start))[:, output]
    problem.sums.sandwich(np.ascontiguousarray(weights), products)
    products[np.diag_indices(size)] += problem.ridge.reshape(-1, k)[:, output]
    if not problem.intercept:
        products[-1], products[:, -1] = 0, 0
    one = replace(problem, outputs=1, labels=None, fixed=None, l2=None, l1=None)
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


def newton_pays(rows: int, columns: int, outputs: int = 1, *, coupled: bool = False) -> bool:
    """Whether about ten Hessians cost less than about a hundred gradients. `coupled`: the Hessian has blocks for all
    pairs of outputs, not for each output alone.
    """
    pairs = outputs * (outputs + 1) // 2 if coupled else outputs
    size = columns + 1
    curvatures = 8.0 * rows * size * size * pairs / 2
    gradients = 150.0 * rows * size * outputs * 2
    return curvatures <= max(5 * gradients, 2e10)  # 2e10: a fraction of a second


def _newton_pays(problem: Problem) -> bool:
    return problem.size <= LARGEST_CURVATURE and newton_pays(
        problem.columns.rows, problem.columns.count, problem.outputs, coupled=problem.head.coupled
    )


def _better_than_none(problem: Problem, theta: Floats) -> bool:
    """Whether a start is better than the model without columns: from far off, gains look like rounding."""
    null = starting_point(problem)[-problem.outputs :]
    return problem.at(theta, gradient=False).value <= constant_loss(problem, null)


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
