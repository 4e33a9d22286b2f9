"""Which solver a convex problem gets: the first of a list that suits it. One that does not get to the end hands on
where it got to.

Newton's method serves while second derivatives are affordable, L-BFGS beyond. With more columns than rows a problem is
solved by way of the rows; where columns depend on each other, squared error gives the smallest coefficients.
`tolerance` is L-BFGS' and that of coordinate descent: Newton's method goes on to the last digit.
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

# scikit-learn's names; those for one optimum mean the same here
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
LARGEST_CURVATURE = 2500  # parameters
_MAX_ROWS_FOR_DUAL = 2500  # of a problem with more columns that is solved by way of its rows
_MAX_ROWS_FOR_DENSE_DUAL = (
    1000  # of a sparse matrix; for more, L-BFGS among their combinations is faster than Newton's method
)
_DUAL_MAX_ITER, _DUAL_HISTORY = 300, 24  # of L-BFGS on the dual: iterations, and pairs in its history
_DUAL_ROUNDS = 6  # of L-BFGS on the dual, each from an exact point
_CG_MAX_ITER = 500
_START_ROW_STRIDES = 16, 8  # of many rows one block in so many gives a start, and one in fewer betters it
_MIN_ROWS_FOR_SAMPLED_START = 50_000
_MAX_RELATIVE_CANCELLATION = 1e-6  # of the objective: what rounding predictions may cost
_MAX_RELATIVE_GAIN_LEFT = 1e-16  # of what there was to gain: each gradient is a hundred-millionth of what it was


@dataclass(frozen=True)
class Task:
    """What a solver is to do: a problem, by which name of scikit-learn's it was asked for, and what was done before."""

    problem: Problem
    solver: str
    max_iter: int
    given: Floats | None  # where a user wants it to start
    tolerance: float
    watch: Watch
    before: Solution | None = None  # of a solver that did not get to the end

    @property
    def start(self) -> Floats:
        """Where to start."""
        known = self.given if self.before is None else self.before.theta
        return self.null_start if known is None else known

    @cached_property
    def null_start(self) -> Floats:
        """The model without columns or, where that is not possible, another first theta."""
        return starting_point(self.problem)

    @property
    def done(self) -> int:
        """Iterations of the solvers before."""
        return 0 if self.before is None else self.before.iterations

    @cached_property
    def bare(self) -> bool:
        """Whether it is squared error without a penalty, of which the smallest of all best coefficients are sought."""
        problem = self.problem
        ridge = problem.ridge.reshape(-1, problem.outputs)
        return problem.head.quadratic and bool((ridge == 0).all(axis=0).any())

    @property
    def is_wide(self) -> bool:
        """Whether there are more columns than rows, and the rows are few enough to look at all pairs of them."""
        return self.problem.columns.rows < min(self.problem.columns.count, _MAX_ROWS_FOR_DUAL)

    @property
    def dense_dual_suits(self) -> bool:
        """Whether Newton's method among combinations of the rows may be used."""
        return self.solver == "auto" and self.is_wide and DenseDual.possible(self.problem)


class Solver(Protocol):
    """A way to solve some problems."""

    last: bool  # where it ends, no other solver goes on

    def suits(self, task: Task) -> bool:
        """Whether it is the way for this problem."""

    def solve(self, task: Task) -> Solution | None:
        """Where it got to; None if it was not the way after all."""


class CoordinateDescent:
    """For penalties that make coefficients zero, and coefficients that may not be negative."""

    last = True

    def suits(self, task: Task) -> bool:
        """Whether there is an l1 penalty, or a bound."""
        problem = task.problem
        return problem.positive or (problem.l1 is not None and bool(problem.l1.any()))

    def solve(self, task: Task) -> Solution:
        """Go down one coefficient after the other."""
        how = {"max_iter": task.max_iter, "tolerance": task.tolerance, "watch": task.watch}
        return replace(coordinate(task.problem, task.start, **how), method=Method.COORDINATE)  # type: ignore[arg-type]


class RowProducts:
    """For squared error with more columns than rows: one system of equations with as many unknowns as rows."""

    last = True

    def suits(self, task: Task) -> bool:
        """Whether the table is wide, and an exact solution is sought."""
        return task.problem.head.quadratic and (task.solver in ("auto", *_NEWTON) or task.bare) and task.is_wide

    def solve(self, task: Task) -> Solution | None:
        """The solution by way of the rows, if it is one: columns of very different scales may need another way."""
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
        left = gain(point)
        if not left <= _MAX_RELATIVE_GAIN_LEFT * gain(first):
            return None
        norm = float(np.abs(point.gradient).max()) if point.gradient is not None else 0.0
        none = np.zeros(problem.size, np.bool_)
        return Solution(theta, point.value, norm, 1, True, left, none, method=Method.CHOLESKY, row_products=products)


class Newton:
    """For all that second derivatives can be afforded for."""

    last = True

    def suits(self, task: Task) -> bool:
        """Whether it was asked for, or pays."""
        return task.solver in _NEWTON or ((task.solver == "auto" or task.bare) and _newton_pays(task.problem))

    def solve(self, task: Task) -> Solution:
        """Newton's method, in other columns if some are nearly determined by others."""
        problem, given = task.problem, task.given
        if problem.size > 4 * LARGEST_CURVATURE:
            raise ConfigError(
                f"solver={task.solver!r} needs a matrix of {problem.size} x {problem.size} numbers: use 'auto'"
            )
        theta = task.start
        first: Floats | Point = theta
        dense = problem.columns.dense == problem.columns.count  # of rare levels a part of the rows knows too little
        if (
            given is None
            and problem.columns.rows >= _MIN_ROWS_FOR_SAMPLED_START
            and dense
            and not problem.head.quadratic
        ):
            first = _start_from_part(problem, theta)
        plain = None if first is theta and given is None else theta if given is None else task.null_start
        order = elimination_order(problem)
        objective = CachedHessian(problem)
        points = [first if isinstance(first, Point) else objective.at(first, curvature=True)]  # taken out for good: see
        assert points[0].curvature is not None  # newton, which needs the room
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
    """For columns that others determine, or nearly do, which L-BFGS would be slow to tell apart."""

    last = True

    def suits(self, task: Task) -> bool:
        """Whether that is found out in less time than L-BFGS takes."""
        return _has_weak_columns(task)

    def solve(self, task: Task) -> Solution | None:
        """Newton's method in other columns."""
        basis = find(task.problem)
        return None if basis is None else _in_basis(basis, task)


class ConjugateGradients:
    """For squared error without a penalty: they end at the smallest of all best coefficients."""

    last = False

    def suits(self, task: Task) -> bool:
        """Whether the smallest coefficients are sought."""
        return task.bare

    def solve(self, task: Task) -> Solution:
        """Conjugate gradients from zero."""
        most = min(task.max_iter, _CG_MAX_ITER)
        solution = conjugate_gradients(task.problem, max_iter=most, watch=task.watch)
        return replace(solution, method=Method.CONJUGATE_GRADIENTS)


class DualSparse:
    """For sparse matrices with more columns than rows and a penalty on all: L-BFGS among combinations of the rows."""

    last = False

    def suits(self, task: Task) -> bool:
        """Whether it is possible, and rows are not so few that Newton's method among them is faster."""
        few = task.dense_dual_suits and task.problem.columns.rows <= _MAX_ROWS_FOR_DENSE_DUAL
        return task.given is None and not task.bare and not few and SparseDual.possible(task.problem)

    def solve(self, task: Task) -> Solution:
        """L-BFGS among combinations of the rows."""
        return _solve_sparse_dual(task.problem, task.max_iter, task.tolerance, task.watch)


class DualDense:
    """For more columns than rows and a penalty on all: the problem in as many columns as there are rows."""

    last = False

    def suits(self, task: Task) -> bool:
        """Whether it is possible."""
        return task.dense_dual_suits

    def solve(self, task: Task) -> Solution:
        """The solution among combinations of the rows; L-BFGS goes on from it to the last digit."""
        rows, left = DenseDual(task.problem), task.max_iter - task.done
        found = solve(rows.problem, max_iter=left, tolerance=task.tolerance, watch=task.watch)
        theta, iterations = rows.theta(found.theta), task.done + found.iterations
        return replace(found, theta=theta, iterations=iterations, converged=False)


class LBFGS:
    """For everything else."""

    last = True

    def suits(self, task: Task) -> bool:
        """It is for everything."""
        return True

    def solve(self, task: Task) -> Solution:
        """L-BFGS from where the solvers before got to."""
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
    """Minimise the problem from `start`, or from the model that only knows the targets' mean."""
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
    raise AssertionError("the last solver is for everything")


def _around_zero(problem: Problem, solution: Solution) -> Floats:
    """The same predictions with the least penalty: a class whose coefficients were left out, as a small penalty does
    not tell them from a combination of the others', has its share of them.
    """
    by_class = solution.theta.reshape(-1, problem.outputs)
    ridge = problem.ridge.reshape(-1, problem.outputs)
    alike = (ridge > 0).all(axis=1) & (ridge == ridge[:, :1]).all(axis=1)
    if not problem.head.coupled or problem.fixed is not None or not alike.any():
        return solution.theta
    return np.where(alike[:, None], by_class - by_class.mean(axis=1, keepdims=True), by_class).ravel()


def _has_weak_columns(task: Task) -> bool:
    """Whether columns depend on others, or nearly do so, and no penalty makes up for it, as far as that is found out in
    less time than L-BFGS takes: it would be slow to tell them apart, and end too early.
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
    """Newton's method in columns that take the place of those which others determine, or nearly do."""
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
    """Where combinations of the rows lead in reasonable time: columns of very different scales need another way."""
    rows = SparseDual(problem)
    points = [rows.start()]  # taken out for good: L-BFGS has vectors enough
    steps, before, done = rows.steps(points[0]), points[0].value, 0

    def tell(iteration: int, value: float, gap: float) -> None:
        if iteration or not done:  # later rounds start where the one before ended
            watch(done + iteration, value, gap)

    for turn in range(_DUAL_ROUNDS):
        found = lbfgs(
            rows,
            points.pop(),
            steps,
            history=_DUAL_HISTORY,
            max_iter=min(max_iter, _DUAL_MAX_ITER) - done,
            tolerance=tolerance,
            before=before,
            watch=tell,
        )
        done += found.iterations
        proved = turn > 0 and found.iterations == 0  # no step from a point that is exact
        if proved:
            break
        theta = rows.theta(found.theta)
        if not found.converged:
            break
        points.append(rows.exact(found.theta, theta))
    none = np.zeros(problem.size, np.bool_)
    return replace(found, theta=theta, iterations=done, converged=proved and found.converged, aliased=none)


def newton_pays(rows: int, columns: int, outputs: int = 1, *, together: bool = False) -> bool:
    """Whether some ten matrices of second derivatives cost less than some hundred gradients; `together`: the outputs
    depend on each other.
    """
    pairs = outputs * (outputs + 1) // 2 if together else outputs
    size = columns + 1
    curvatures = 8.0 * rows * size * size * pairs / 2
    gradients = 150.0 * rows * size * outputs * 2
    return curvatures <= max(5 * gradients, 2e10)  # 2e10: a fraction of a second


def _newton_pays(problem: Problem) -> bool:
    together = problem.head.coupled
    return problem.size <= LARGEST_CURVATURE and newton_pays(
        problem.columns.rows, problem.columns.count, problem.outputs, together=together
    )


def _better_than_none(problem: Problem, theta: Floats) -> bool:
    """Whether a start beats the model without columns: from far off, all that is left to gain looks like rounding."""
    null = starting_point(problem)[-problem.outputs :]
    return problem.at(theta, gradient=False).value <= constant_loss(problem, null)


def _start_from_part(problem: Problem, theta: Floats) -> Floats | Point:
    """Where Newton's method gets to on part of the rows, unless that is worse than the model without columns."""
    order = elimination_order(problem)
    part = newton(problem, theta, order, row_stride=_START_ROW_STRIDES[0], enough=1e-6, max_iter=20)
    if np.isfinite(part.theta).all():
        part = newton(problem, part.theta, order, row_stride=_START_ROW_STRIDES[1], enough=np.inf)  # a single step
    if not np.isfinite(part.theta).all():
        return theta
    point = problem.at(part.theta, curvature=True)
    return point if point.value < constant_loss(problem, theta[-problem.outputs :]) else theta
