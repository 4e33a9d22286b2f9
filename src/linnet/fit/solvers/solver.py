"""What a solver is, and what it is given: a problem on its way through the list of `select`."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from linnet.fit.solvers.problem import Floats, Problem
from linnet.fit.solvers.solution import Solution, Watch
from linnet.fit.solvers.start import starting_point


@dataclass(frozen=True)
class Attempt:
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
    def wants_min_norm(self) -> bool:
        """Whether it is squared error without a penalty, whose minimum-norm solution is wanted."""
        problem = self.problem
        ridge = problem.ridge.reshape(-1, problem.outputs)
        return problem.head.quadratic and bool((ridge == 0).all(axis=0).any())


class Solver(ABC):
    """A solver for some kinds of problems."""

    names: ClassVar[tuple[str, ...]] = ()  # scikit-learn's names of it
    last: ClassVar[bool]  # whether its result is final, also without convergence

    @abstractmethod
    def suits(self, attempt: Attempt) -> bool:
        """Whether it is for this problem: whether that has what the solver needs, and it is a good choice."""

    @abstractmethod
    def solve(self, attempt: Attempt) -> Solution | None:
        """The solution; None if it turned out not to suit."""
