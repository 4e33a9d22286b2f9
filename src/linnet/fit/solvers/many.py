"""Many binary logistic regressions over the same columns: jointly where that is faster, else one by one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet._cached import cached_property
from linnet.config import usable_threads
from linnet.data.columns import Columns
from linnet.data.targets import balanced, class_weights
from linnet.errors import DataError
from linnet.fit.solvers.code_matrix import CodeMatrix
from linnet.fit.solvers.joint_newton import JointNewton
from linnet.fit.solvers.newton import newton_pays
from linnet.fit.solvers.problem import Floats, Problem
from linnet.fit.solvers.solution import Solution
from linnet.heads import Bernoulli

_MIN_JOINT_PROBLEMS = 8  # a problem is solved by one thread: fewer, of many rows, are better solved by all threads
_MAX_ROWS_OF_FEW_PROBLEMS = 20_000
_MAX_DENSE_CELLS = 200_000_000  # of categorical and sparse columns as dense ones


@dataclass(frozen=True)
class BinaryProblems:
    """One logistic regression per column of a code matrix, all over the same table.

        objective_p(θ_p) = Σ_i w_i loss(z_ip, t_ip) + Σ_j (½ l2_j θ_pj² + l1_j |θ_pj|)        z_p = x w_p + b_p

    Parameters
    ----------
    columns : Columns
        The table.
    codes : CodeMatrix
        The rows of each problem, and their classes.
    l2, l1 : arrays of shape (columns,)
        Penalties of each column, the same for all problems.
    weights : array of shape (rows,) or None
        Row weights.
    class_weight : "balanced", a mapping from class (0 or 1) to weight, or None
        Factors of row weights, by the class of a row in each problem.
    intercept : bool
        Whether biases, which carry no penalty, are fitted.
    threads : int or None
        The largest number of threads; None is all.
    """

    columns: Columns
    codes: CodeMatrix
    l2: Floats
    l1: Floats
    weights: Floats | None = None
    class_weight: Mapping[Any, float] | str | None = None
    intercept: bool = True
    threads: int | None = None

    @property
    def count(self) -> int:
        """The number of problems."""
        return self.codes.problems

    @cached_property
    def solvable(self) -> NDArray[np.bool_]:
        """Which problems have rows with a weight in both classes."""
        return np.asarray((self.codes.side_weights(self.weights) > 0).all(axis=1))

    def problem(self, number: int) -> Problem:
        """Return one of the problems, over its own rows."""
        rows, labels = self.codes.rows(number)
        weights = None if self.weights is None else self.weights[rows]
        if self.class_weight is not None:
            by_class = class_weights(self.class_weight, np.arange(2), labels, weights)
            weights = by_class[labels] if weights is None else weights * by_class[labels]
        if weights is not None and len(np.unique(labels[weights > 0])) < 2:
            raise DataError("only one class of y has rows with a weight above 0: there is nothing to separate")
        return Problem.in_memory(
            self.columns if len(rows) == self.columns.rows else self.columns[rows],
            Bernoulli(),
            1,
            values=labels.astype(np.float64)[:, None],
            weights=weights,
            intercept=self.intercept,
            l2=self.l2[:, None],
            l1=self.l1[:, None] if self.l1.any() else None,
            threads=self.threads,
        )

    def suit_joint_newton(self) -> bool:
        """Return whether Newton's method on all problems at once is exact, and faster than separate fits."""
        solvable = int(self.solvable.sum())
        if self.l1.any() or not (self.l2 > 0).all() or not solvable:
            return False
        if not (self.class_weight is None or (isinstance(self.class_weight, str) and self.class_weight == "balanced")):
            return False
        if solvable < _MIN_JOINT_PROBLEMS and self.columns.rows > _MAX_ROWS_OF_FEW_PROBLEMS:
            return False
        rows_per_problem = self.codes.side_rows().sum() / self.count
        cells = self.columns.rows * self.columns.count
        return newton_pays(int(rows_per_problem), self.columns.count) and cells <= _MAX_DENSE_CELLS

    def jointly(self, chosen: NDArray[np.intp]) -> JointNewton:
        """Return Newton's method on a subset of the problems."""
        codes = self.codes.take(chosen)
        return JointNewton(
            _as_dense(self.columns),
            codes,
            self.l2,
            weights=self.weights,
            side_weights=None if self.class_weight is None else balanced(codes.side_weights(self.weights)),
            intercept=self.intercept,
            threads=usable_threads(self.threads),
        )


@dataclass(frozen=True)
class BinarySolutions:
    """Solutions of binary problems: weights (columns x problems) and biases for the user's columns, and iterations.

    A problem without rows in one of its classes has weights of zero and the bias log((n₁ + 1) / (n₀ + 1)), from its
    sums of row weights n, and takes no iterations.
    """

    weights: Floats
    biases: Floats
    iterations: NDArray[np.intp]


def constant_log_odds(codes: CodeMatrix, weights: Floats | None) -> Floats:
    """Return log((n₁ + 1) / (n₀ + 1)) of each problem, from sums n of row weights: finite also for an empty class."""
    total = codes.side_weights(weights)
    return np.asarray(np.log1p(total[:, 1]) - np.log1p(total[:, 0]))


def fit_many(
    problems: BinaryProblems,
    solve_one: Callable[[Problem], Solution],
    *,
    solver: str = "auto",
    max_iter: int = 1000,
    joint: bool = True,
) -> BinarySolutions:
    """Solve all problems: jointly where that is faster, and the others by `solve_one`.

    Parameters
    ----------
    problems : BinaryProblems
        The problems.
    solve_one : callable
        Solves a single problem.
    solver : str, default="auto"
        A name in `linnet.fit.solvers.select.SOLVERS`; only those of Newton's method allow the joint solver.
    max_iter : int, default=1000
        The largest number of iterations of the joint solver.
    joint : bool, default=True
        Whether problems may be solved jointly.
    """
    count = problems.count
    weights, iterations = np.zeros((problems.columns.count, count)), np.zeros(count, np.intp)
    biases = constant_log_odds(problems.codes, problems.weights)
    unsolved = problems.solvable.copy()
    if joint and solver in ("auto", *JointNewton.names) and problems.suit_joint_newton():
        chosen = np.flatnonzero(unsolved)
        found = problems.jointly(chosen).minimise(max_iter=max_iter)
        weights[:, chosen], biases[chosen], iterations[chosen] = found.weights, found.biases, found.iterations
        unsolved[chosen] = ~found.converged
    for number in np.flatnonzero(unsolved):
        problem = problems.problem(int(number))
        solution = solve_one(problem)
        weights_of_problem, bias = problem.to_user(solution.theta)
        weights[:, number], biases[number], iterations[number] = weights_of_problem[:, 0], bias[0], solution.iterations
    return BinarySolutions(weights, biases, iterations)


def _as_dense(columns: Columns) -> Columns:
    """Return the table with categorical and sparse columns as dense ones, in the same order."""
    if columns.dense == columns.count:
        return columns
    tables = list(columns.tables)
    if columns.sparse is not None:
        only = Columns(columns.rows, sparse=columns.sparse, sparse_columns=columns.sparse_columns)
        tables.append(only.entries().toarray())
    for codes, levels in zip(columns.codes, columns.levels, strict=True):
        tables.append((codes[:, None] == np.arange(levels)).view(np.uint8))
    return Columns(columns.rows, tuple(tables))
