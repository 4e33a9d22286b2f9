"""The choice of a solver for a convex problem: the first of a list that suits.

A solver that does not converge passes the point it has reached to the next. Newton's method is used while the Hessian
is affordable, L-BFGS beyond. With more columns than rows the dual is solved; where columns are aliased, squared error
gives the minimum-norm solution. `tolerance` is for L-BFGS and coordinate descent: Newton's method continues to full
precision.

scikit-learn's names of solvers state a preference, as all lead to the same optimum. Where solvers of the requested name
cannot reach it, the others are used: coordinate descent for an objective with corners, and for squared error without a
penalty the solvers that end at the minimum-norm solution.
"""

from collections.abc import Sequence
from dataclasses import replace

from linnet.checks import check_name
from linnet.errors import ConfigError
from linnet.fit.solvers.coordinate import CoordinateDescent
from linnet.fit.solvers.dual_dense import DualDense
from linnet.fit.solvers.dual_sparse import DualSparse
from linnet.fit.solvers.lbfgs import LBFGS
from linnet.fit.solvers.min_norm import ConjugateGradients, DualLeastSquares
from linnet.fit.solvers.newton import Newton, NewtonInBasis
from linnet.fit.solvers.null_model import constant_loss
from linnet.fit.solvers.problem import Floats, Problem
from linnet.fit.solvers.solution import Solution, Watch, ignore_progress
from linnet.fit.solvers.solver import Attempt, Solver
from linnet.fit.solvers.start import starting_point


def solve(
    problem: Problem,
    solver: str = "auto",
    *,
    max_iter: int = 1000,
    start: Floats | None = None,
    tolerance: float = 1e-12,
    watch: Watch = ignore_progress,
) -> Solution:
    """Minimise the problem from `start`, or from the model without columns where that is better."""
    check_name(solver, "solver", SOLVERS)
    if start is not None and not _better_than_none(problem, start):
        start = None
    attempt = Attempt(problem, solver, max_iter, start, tolerance, watch)
    for each in _IN_ORDER:
        if not each.suits(attempt):
            continue
        solution = each.solve(attempt)
        if solution is not None and (each.last or solution.converged):
            return solution
        if solution is not None:
            if not _better_than_none(problem, solution.theta):  # after an overflow
                solution = replace(solution, theta=attempt.null_start)
            attempt = replace(attempt, before=solution)
    raise ConfigError(
        f"an l1 penalty, or a bound on weights, with {problem.size} parameters needs rows in memory: "
        "use fewer columns, or an l2 penalty only"
    )


def _better_than_none(problem: Problem, theta: Floats) -> bool:
    """Return whether a start is better than the null model: from very far away, gains look like rounding."""
    null = starting_point(problem)[-problem.outputs :]
    return problem.at(theta, gradient=False).value <= constant_loss(problem, null)


_IN_ORDER: Sequence[Solver] = (
    CoordinateDescent(),
    DualLeastSquares(),
    Newton(),
    NewtonInBasis(),
    ConjugateGradients(),
    DualSparse(),
    DualDense(solve),
    LBFGS(),
)
SOLVERS = ("auto", *sorted({name for each in _IN_ORDER for name in each.names}))  # all lead to the same optimum
