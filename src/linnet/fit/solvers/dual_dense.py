"""The dual of a problem with more columns than rows, all penalised, as a problem with as many columns as rows.

With the penalty ½ λ Σ_j f_j w_j² the best weights are combinations of the rows, w = F⁻¹ X' a, and with the Gram matrix
of the rows X F⁻¹ X' = T T'

    X w = T v      ½ λ w' F w = ½ λ v' v      where v = T' a

so that the columns of T, one per row, replace those of X.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from linnet.data.columns import Columns
from linnet.fit.solvers.cholesky import Factor, factor
from linnet.fit.solvers.min_norm import is_wide, row_products
from linnet.fit.solvers.problem import Floats, Problem
from linnet.fit.solvers.products import product
from linnet.fit.solvers.solution import Solution
from linnet.fit.solvers.solver import Attempt, Solver


class DenseDualProblem:
    """The problem in the columns of T (`problem`); `theta` converts its parameters to those of the columns of X."""

    def __init__(self, problem: Problem) -> None:
        l2 = problem.ridge.reshape(-1, problem.outputs)[:-1, 0]
        self._problem = problem
        self._factors = l2 / l2.mean()
        products = row_products(problem, 1 / self._factors)
        none = np.zeros(len(products), np.bool_)  # rows that look aliased may differ in columns of small values
        self._factored: Factor = factor(products, np.arange(len(products)), none)
        self._t = np.tril(self._factored.lower) / self._factored.scale[:, None]
        aliased = np.flatnonzero(self._factored.aliased)  # rows that are linear combinations of others
        self._t[aliased] = product(self._factored.solve(products[aliased]), self._t)
        self.problem = replace(
            problem.with_rows(x=Columns(len(products), (self._t,))),
            l2=np.full((len(products), problem.outputs), float(l2.mean())),
        )

    @staticmethod
    def possible(problem: Problem) -> bool:
        """Return whether all columns carry an l2 penalty, the same for all outputs."""
        l2 = problem.ridge.reshape(-1, problem.outputs)[:-1]
        return bool((l2 > 0).all() and (l2 == l2[:, :1]).all())

    def theta(self, theta: Floats) -> Floats:
        """Return the theta of the original problem from that of the dual."""
        v, biases = self.problem.to_user(theta)
        a = self._factored.solve(np.ascontiguousarray(product(self._t, v).T)).T
        out = np.empty(self._problem.size)
        self._problem.row_sums.gradient(np.ascontiguousarray(a), out)
        weights = out.reshape(-1, self._problem.outputs)  # a view
        weights[:-1] /= self._factors[:, None]
        weights[-1] = biases
        return out


class DualDense(Solver):
    """For more columns than rows, all penalised: the dual as a problem with as many columns as rows.

    `solve_inner` solves that problem; its parameters are those of `select.solve`.
    """

    last = False

    def __init__(self, solve_inner: Callable[..., Solution]) -> None:
        self._solve_inner = solve_inner

    def suits(self, attempt: Attempt) -> bool:
        """Return whether the dual is possible, and a matrix of all pairs of rows is affordable."""
        problem = attempt.problem
        return attempt.solver == "auto" and problem.has_rows and is_wide(problem) and DenseDualProblem.possible(problem)

    def solve(self, attempt: Attempt) -> Solution:
        """Return the solution of the dual, from which L-BFGS continues to full precision."""
        dual, remaining = DenseDualProblem(attempt.problem), attempt.max_iter - attempt.done
        solution = self._solve_inner(dual.problem, max_iter=remaining, tolerance=attempt.tolerance, watch=attempt.watch)
        theta, iterations = dual.theta(solution.theta), attempt.done + solution.iterations
        return replace(solution, theta=theta, iterations=iterations, converged=False)
