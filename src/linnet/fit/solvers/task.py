"""A problem on its way through solvers, and what each of these says of itself: see `select`."""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from linnet.fit.solvers.dual_dense import DenseDual
from linnet.fit.solvers.problem import Floats, Problem
from linnet.fit.solvers.solution import Solution, Watch
from linnet.fit.solvers.start import starting_point

NEWTON_SOLVERS = ("newton-cholesky", "cholesky", "svd")  # scikit-learn's names that stand for Newton's method
LARGEST_CURVATURE = 2500  # parameters, of a Hessian
_MAX_ROWS_FOR_DUAL = 2500


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
        return self.solver == "auto" and self.problem.has_rows and self.is_wide and DenseDual.possible(self.problem)


class Solver(Protocol):
    """A solver for some kinds of problems."""

    last: bool  # whether its result is final, also without convergence

    def suits(self, task: Task) -> bool:
        """Whether it is for this problem."""

    def solve(self, task: Task) -> Solution | None:
        """The solution; None if it turned out not to suit."""


def newton_pays(rows: int, columns: int, outputs: int = 1, *, coupled: bool = False) -> bool:
    """Whether about ten Hessians cost less than about a hundred gradients. `coupled`: the Hessian has blocks for all
    pairs of outputs, not for each output alone.
    """
    pairs = outputs * (outputs + 1) // 2 if coupled else outputs
    size = columns + 1
    curvatures = 8.0 * rows * size * size * pairs / 2
    gradients = 150.0 * rows * size * outputs * 2
    return curvatures <= max(5 * gradients, 2e10)  # 2e10: a fraction of a second


def hessian_affordable(problem: Problem) -> bool:
    """Whether Newton's method pays for a problem, and its Hessian fits into memory."""
    return problem.size <= LARGEST_CURVATURE and newton_pays(
        problem.columns.rows, problem.columns.count, problem.outputs, coupled=problem.head.coupled
    )
