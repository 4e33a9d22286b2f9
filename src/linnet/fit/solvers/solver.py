"""Solvers and their input: a problem on its way through the list of `select`."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from linnet._cached import cached_property
from linnet.fit.solvers.problem import Floats, Problem
from linnet.fit.solvers.solution import Solution, Watch
from linnet.fit.solvers.start import starting_point


@dataclass(frozen=True)
class Attempt:
    """A problem to solve, scikit-learn's name of the requested solver, and the result of earlier solvers."""

    problem: Problem
    solver: str
    max_iter: int
    initial: Floats | None  # the requested start
    tolerance: float
    watch: Watch
    before: Solution | None = None  # by a solver that has not converged

    @property
    def start(self) -> Floats:
        """The initial theta: the end of earlier solvers, the requested start, or the null model."""
        theta = self.initial if self.before is None else self.before.theta
        return self.null_start if theta is None else theta

    @cached_property
    def null_start(self) -> Floats:
        """The model without columns: see `starting_point`."""
        return starting_point(self.problem)

    @property
    def done(self) -> int:
        """Iterations of earlier solvers."""
        return 0 if self.before is None else self.before.iterations

    @cached_property
    def wants_min_norm(self) -> bool:
        """Whether the minimum-norm solution is wanted: that of squared error without a penalty."""
        problem = self.problem
        ridge = problem.ridge.reshape(-1, problem.outputs)
        return problem.head.quadratic and bool((ridge == 0).all(axis=0).any())


class Solver(ABC):
    """A solver for some kinds of problems."""

    names: ClassVar[tuple[str, ...]] = ()  # scikit-learn's names of the solver
    last: ClassVar[bool]  # whether the result is final, even without convergence

    @abstractmethod
    def suits(self, attempt: Attempt) -> bool:
        """Return whether the problem has what the solver needs, and the solver is a good choice."""

    @abstractmethod
    def solve(self, attempt: Attempt) -> Solution | None:
        """Return the solution; None if the solver turned out not to suit."""
