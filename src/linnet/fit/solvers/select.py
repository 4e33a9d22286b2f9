"""Which solver a convex problem gets: the first of a list that suits it. One that does not converge hands on the point
it has reached.

Newton's method is used while the Hessian is affordable, L-BFGS beyond. With more columns than rows the dual is solved;
where columns are aliased, squared error gives the minimum-norm solution. `tolerance` is that of L-BFGS and of
coordinate descent: Newton's method goes on to the last digit.
"""

from collections.abc import Sequence
from dataclasses import replace

from linnet.errors import ConfigError, unknown_name
from linnet.fit.solvers.coordinate import can_descend, coordinate
from linnet.fit.solvers.dual_dense import DenseDual
from linnet.fit.solvers.dual_solvers import DualSparse, RowProducts
from linnet.fit.solvers.lbfgs import lbfgs
from linnet.fit.solvers.min_norm import conjugate_gradients
from linnet.fit.solvers.newton_solvers import Newton, NewtonInBasis
from linnet.fit.solvers.null_model import constant_loss
from linnet.fit.solvers.preconditioner import Preconditioner
from linnet.fit.solvers.primal import Primal
from linnet.fit.solvers.problem import Floats, Problem
from linnet.fit.solvers.solution import Method, Solution, Watch, unwatched
from linnet.fit.solvers.start import starting_point
from linnet.fit.solvers.task import Solver, Task

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
_CG_MAX_ITER = 500
_FEWER_COLUMNS = "use fewer columns, or an l2 penalty only"


class CoordinateDescent:
    """For l1 penalties, and weights that must not be negative."""

    last = True

    def suits(self, task: Task) -> bool:
        """Whether there is an l1 penalty, or a bound on weights."""
        return not task.problem.is_smooth and can_descend(task.problem)

    def solve(self, task: Task) -> Solution:
        """Coordinate descent, with Newton steps."""
        how = {"max_iter": task.max_iter, "tolerance": task.tolerance, "watch": task.watch}
        return replace(coordinate(task.problem, task.start, **how), method=Method.COORDINATE)  # type: ignore[arg-type]


class ConjugateGradients:
    """For squared error without a penalty: iterations end at the minimum-norm solution."""

    last = False

    def suits(self, task: Task) -> bool:
        """Whether the minimum-norm solution is wanted."""
        return task.bare and task.problem.has_rows

    def solve(self, task: Task) -> Solution:
        """Conjugate gradients from zero."""
        most = min(task.max_iter, _CG_MAX_ITER)
        solution = conjugate_gradients(task.problem, max_iter=most, watch=task.watch)
        return replace(solution, method=Method.CONJUGATE_GRADIENTS)


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
        """Whether the objective has no corners."""
        return task.problem.is_smooth

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
    raise ConfigError(
        f"an l1 penalty, or a bound on weights, of {problem.size} parameters needs rows in memory: {_FEWER_COLUMNS}"
    )


def _better_than_none(problem: Problem, theta: Floats) -> bool:
    """Whether a start is better than the model without columns: from far off, gains look like rounding."""
    null = starting_point(problem)[-problem.outputs :]
    return problem.at(theta, gradient=False).value <= constant_loss(problem, null)
