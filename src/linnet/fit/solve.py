"""Which solver a convex problem gets: Newton's method while second derivatives are affordable, L-BFGS beyond."""

import numpy as np

from linnet.errors import ConfigError, unknown_name
from linnet.fit.coordinate import coordinate
from linnet.fit.lbfgs import lbfgs
from linnet.fit.linear import Floats, Problem
from linnet.fit.newton import Solution, elimination_order, newton
from linnet.fit.precondition import Preconditioner

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
_LARGEST_CURVATURE = 2500  # parameters
_PART = 16  # of many rows one block in so many gives a start
_MANY_ROWS = 50_000


def solve(
    problem: Problem,
    solver: str = "auto",
    *,
    max_iter: int = 1000,
    start: Floats | None = None,
    tolerance: float = 1e-10,
) -> Solution:
    """Minimise the problem from `start`, or from the model that only knows the targets' mean."""
    if solver not in SOLVERS:
        raise unknown_name("solver", solver, SOLVERS)
    if problem.positive or (problem.l1 is not None and problem.l1.any()):
        return coordinate(problem, problem.start() if start is None else start, max_iter=max_iter, tolerance=tolerance)
    use_newton = solver in _NEWTON or (solver == "auto" and _newton_pays(problem))
    if use_newton and problem.size > 4 * _LARGEST_CURVATURE:
        raise ConfigError(f"solver={solver!r} needs a matrix of {problem.size} x {problem.size} numbers: use 'auto'")
    theta = problem.start() if start is None else start
    if use_newton:
        if start is None and problem.columns.rows >= _MANY_ROWS and problem.head.family != "normal":
            theta = _start_from_part(problem, theta)
        return newton(problem, theta, elimination_order(problem), max_iter=max_iter)
    precondition = Preconditioner(problem)
    return lbfgs(
        problem,
        precondition.reachable(theta),
        precondition.at(None),
        max_iter=max_iter,
        refresh=precondition.refresh,
        tolerance=tolerance,
    )


def _newton_pays(problem: Problem) -> bool:
    """Whether some ten matrices of second derivatives cost less than some hundred gradients."""
    if problem.size > _LARGEST_CURVATURE:
        return False
    together = problem.head.family == "categorical"
    pairs = problem.outputs * (problem.outputs + 1) // 2 if together else problem.outputs
    rows, columns = problem.columns.rows, problem.columns.count + 1
    curvatures = 8.0 * rows * columns * columns * pairs / 2
    gradients = 150.0 * rows * columns * problem.outputs * 2
    return curvatures <= max(5 * gradients, 2e10)  # 2e10: a fraction of a second


def _start_from_part(problem: Problem, theta: Floats) -> Floats:
    """Where Newton's method gets to on part of the rows, unless that is worse than where it set out from."""
    part = newton(problem, theta, elimination_order(problem), every=_PART, enough=1e-6, max_iter=20)
    if not np.isfinite(part.theta).all():
        return theta
    before, after = (problem.at(point, gradient=False).value for point in (theta, part.theta))
    return part.theta if after < before else theta
