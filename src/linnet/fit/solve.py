"""Which solver a convex problem gets: Newton's method while second derivatives are affordable, L-BFGS beyond.

With more columns than rows a problem is solved by way of the rows; where columns depend on each other, squared error
gives the smallest coefficients. `tolerance` is L-BFGS' and that of coordinate descent: Newton's method goes on to the
last digit.
"""

from dataclasses import replace

import numpy as np

from linnet.errors import ConfigError, unknown_name
from linnet.fit.by_rows import ByRows
from linnet.fit.coordinate import coordinate
from linnet.fit.lbfgs import lbfgs
from linnet.fit.least_norm import smallest_theta, wide
from linnet.fit.linear import Floats, Point, Problem
from linnet.fit.newton import Solution, Watch, elimination_order, newton, unwatched
from linnet.fit.precondition import Preconditioner, squares
from linnet.fit.row_space import RowSpace

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
_MOST_ROWS = 2500  # of a problem with more columns that is solved by way of its rows
_FEW_ROWS = 1000  # of a sparse matrix; for more, L-BFGS among their combinations is faster than Newton's method
_ROW_STEPS, _ROW_MEMORY = 300, 24  # of L-BFGS among combinations of the rows
_ROW_ROUNDS = 6  # each with a start that is exact
_PARTS = 16, 8  # of many rows one block in so many gives a start, and one in fewer betters it
_MANY_ROWS = 50_000
_LITTLE = 1e-16  # of what there was to gain: each gradient is a hundred-millionth of what it was


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
    if problem.positive or (problem.l1 is not None and problem.l1.any()):
        theta = problem.start() if start is None else start
        return coordinate(problem, theta, max_iter=max_iter, tolerance=tolerance, watch=watch)
    squared = problem.head.family == "normal"
    wider_than_long = problem.columns.rows < min(problem.columns.count, _MOST_ROWS)
    if squared and solver in ("auto", *_NEWTON) and wider_than_long:
        solution = _by_rows(problem)
        if solution is not None:
            return solution
    use_newton = solver in _NEWTON or (solver == "auto" and _newton_pays(problem))
    if use_newton and problem.size > 4 * LARGEST_CURVATURE:
        raise ConfigError(f"solver={solver!r} needs a matrix of {problem.size} x {problem.size} numbers: use 'auto'")
    if use_newton:
        theta = problem.start() if start is None else start
        first: Floats | Point = theta
        dense = problem.columns.dense == problem.columns.count  # of rare levels a part of the rows knows too little
        if start is None and problem.columns.rows >= _MANY_ROWS and dense and not squared:
            first = _start_from_part(problem, theta)
        plain = None if first is theta and start is None else theta if start is None else problem.start()
        order, exact = elimination_order(problem), problem.head.convex
        solution = newton(problem, first, order, max_iter=max_iter, plain=plain, exact=exact, watch=watch)
        if squared and (solution.dependent & problem.free).any():
            return replace(solution, theta=smallest_theta(problem, solution.theta))
        return solution
    done, found = 0, start
    exact = solver == "auto" and wider_than_long and ByRows.possible(problem)
    if start is None and not (exact and problem.columns.rows <= _FEW_ROWS) and RowSpace.possible(problem):
        solution = _in_row_space(problem, max_iter, tolerance, watch)
        if solution.converged:
            return solution
        found, done = solution.theta, solution.iterations
    if exact:
        rows = ByRows(problem)
        solution = solve(rows.problem, max_iter=max_iter - done, tolerance=tolerance, watch=watch)
        found, done = rows.theta(solution.theta), done + solution.iterations  # and on to the last digit
    precondition = Preconditioner(problem)
    solution = lbfgs(
        problem,
        precondition.reachable(problem.start() if found is None else found),
        precondition.at(None),
        max_iter=max_iter - done,
        before=problem.at(problem.start(), gradient=False).value,
        refresh=precondition.refresh,
        tolerance=tolerance,
        watch=lambda iteration, value, gap: watch(done + iteration, value, gap),
    )
    return replace(solution, iterations=done + solution.iterations)


def _in_row_space(problem: Problem, max_iter: int, tolerance: float, watch: Watch) -> Solution:
    """Where combinations of the rows lead in reasonable time: columns of very different scales need another way."""
    rows = RowSpace(problem)
    points = [rows.start()]  # taken out for good: L-BFGS has vectors enough
    steps, before, done = rows.steps(points[0]), points[0].value, 0

    def tell(iteration: int, value: float, gap: float) -> None:
        if iteration or not done:  # later rounds start where the one before ended
            watch(done + iteration, value, gap)

    for turn in range(_ROW_ROUNDS):
        found = lbfgs(
            rows,
            points.pop(),
            steps,
            memory=_ROW_MEMORY,
            max_iter=min(max_iter, _ROW_STEPS) - done,
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
    return replace(found, theta=theta, iterations=done, converged=proved and found.converged, dependent=none)


def _by_rows(problem: Problem) -> Solution | None:
    """The solution by way of the rows, if it is one: columns of very different scales may need another way."""
    theta = wide(problem)
    if theta is None:
        return None
    weights = np.ones(problem.columns.rows) if problem.weights is None else problem.weights
    scale = np.repeat(squares(problem, weights[:, None]), problem.outputs) + problem.ridge

    def gain(point: Point) -> float:
        assert point.gradient is not None
        return float((point.gradient**2 / np.where(scale > 0, scale, 1)).sum())

    point, first = problem.at(theta), problem.at(problem.start())
    left = gain(point)
    if not left <= _LITTLE * gain(first):
        return None
    norm = float(np.abs(point.gradient).max()) if point.gradient is not None else 0.0
    return Solution(theta, point.value, norm, 1, True, left, np.zeros(problem.size, np.bool_))


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
    together = problem.head.family == "categorical"
    return problem.size <= LARGEST_CURVATURE and newton_pays(
        problem.columns.rows, problem.columns.count, problem.outputs, together=together
    )


def _better_than_none(problem: Problem, start: Floats) -> bool:
    """Whether a start beats the model without columns: from far off, all that is left to gain looks like rounding."""
    return problem.at(start, gradient=False).value <= problem.constant_loss(problem.start()[-problem.outputs :])


def _start_from_part(problem: Problem, theta: Floats) -> Floats | Point:
    """Where Newton's method gets to on part of the rows, unless that is worse than the model without columns."""
    order = elimination_order(problem)
    part = newton(problem, theta, order, every=_PARTS[0], enough=1e-6, max_iter=20)
    if np.isfinite(part.theta).all():
        part = newton(problem, part.theta, order, every=_PARTS[1], enough=np.inf)  # a single step
    if not np.isfinite(part.theta).all():
        return theta
    point = problem.at(part.theta, curvature=True)
    return point if point.value < problem.constant_loss(theta[-problem.outputs :]) else theta
