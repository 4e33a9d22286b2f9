"""Approximate inverses of the Hessian, from which L-BFGS starts its steps.

With curvature c_ik of row i's loss in output k, the diagonal block of output k is Σ_i c_ik x_i x_i' + l2_k: one matrix
per output, or its diagonal where there are too many columns, or the rows are not in memory. A sample of the rows is
enough for the sum if those of largest weight are in it. Outputs of a categorical head are coupled, too: adding a
constant to all of them does not change the loss, so that steps have a mean of zero over the outputs (or zero in the
reference class, if there is one).
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from linnet._native import core
from linnet.fit.solvers.cholesky import factor
from linnet.fit.solvers.problem import Floats, Point, Problem

Precondition = Callable[[Floats], Floats]

_ROWS_PER_BLOCK = 1 << 16
_MAX_MATRIX_COLUMNS = 2500
_MAX_MATRIX_ENTRIES = 20_000_000  # of the matrices of all outputs; beyond, outputs share one
_SAMPLED_ROWS_PER_COLUMN = 4
_MIN_SAMPLED_ROWS = 2000
_MIN_RELATIVE_CURVATURE = 1e-12  # of the largest: in directions that only flatter rows determine, all seems flat
_MIN_ITERATIONS_TO_REFRESH = 5


class Preconditioner:
    """The preconditioners of one problem, refreshed from time to time. A new one replaces the one before."""

    def __init__(
        self,
        problem: Problem,
        curved: Callable[[Floats], Floats] | None = None,
        free: NDArray[np.bool_] | None = None,
    ) -> None:
        """Prepare for the objective of a problem, or for another sum over its rows.

        `curved(theta)` returns the curvature of the sum in each z, rows x outputs; `free`: the parameters that are
        minimised.
        """
        self._problem = problem
        free = problem.free if free is None else free
        self._held = np.flatnonzero(~free)
        self._out = np.flatnonzero(~free.reshape(-1, problem.outputs).any(axis=1))  # columns
        self._curvature = curved or (lambda theta: problem.row_sums.curvature(problem.z(theta)))
        self._blocks: dict[int, Precondition] = {}  # by output: replaced one at a time, as each holds a matrix
        columns = problem.columns
        self._diagonal_only = columns.count > _MAX_MATRIX_COLUMNS or not problem.has_rows
        self._ridge = problem.ridge.reshape(-1, problem.outputs)
        self._coupled = problem.head.coupled
        self._level = self._coupled and problem.fixed is None and bool((self._ridge == self._ridge[:, :1]).all())
        self._rows = min(columns.rows, max(_MIN_SAMPLED_ROWS, _SAMPLED_ROWS_PER_COLUMN * (columns.count + 1)))
        # the cost of a refresh, in gradients
        cost = 1.0 if self._diagonal_only else self._rows * (columns.count + 1) / (4 * columns.rows)
        self._next = max(_MIN_ITERATIONS_TO_REFRESH, round(cost / 2))

    def reachable(self, theta: Floats) -> Floats:
        """Return a theta with the same predictions from which steps of zero mean over the outputs reach the optimum."""
        if not self._level:
            return theta
        by_output = theta.reshape(-1, self._problem.outputs)
        return np.asarray(by_output - by_output.mean(axis=1, keepdims=True)).ravel()

    def refresh(self, point: Point, iteration: int) -> Precondition | None:
        """Return a new preconditioner at a later point, at iterations that double each time; otherwise None."""
        if iteration != self._next:
            return None
        self._next *= 2
        return self.at(point.theta)

    def at(self, theta: Floats, *, first: bool = False) -> Precondition:
        """Return the preconditioner at theta; `first`: one matrix for all outputs, before they are known to differ."""
        problem = self._problem
        k, solve = problem.outputs, self._inverse(theta, first)
        fixed = np.flatnonzero(problem.fixed) if problem.fixed is not None else np.empty(0, np.intp)

        def apply(gradient: Floats) -> Floats:
            g = gradient.reshape(-1, k)
            if self._coupled and len(fixed):  # the gradient if no class were fixed
                g = g.copy()
                g[:, fixed[0]] = -g.sum(axis=1)
            elif self._level:
                g = g.copy()
                core.take_off_means(g)
            step = solve(g)
            if self._coupled and len(fixed):
                step -= step[:, fixed]
            elif self._level:
                core.take_off_means(step)
            step = step.ravel()
            step[self._held] = 0
            return step

        return apply

    def _inverse(self, theta: Floats, first: bool) -> Precondition:
        """Return the inverse of each output's block, or of its diagonal.

        It is a function of gradients, (columns + 1) x outputs.
        """
        problem = self._problem
        k, size = problem.outputs, problem.columns.count + 1
        if not problem.has_rows:
            return self._by_diagonal(problem.sums.curvature_diagonal(theta))
        curved = self._curvature(theta)
        np.maximum(curved, _MIN_RELATIVE_CURVATURE * curved.max(axis=0), out=curved)
        if problem.rows.weights is not None:
            curved[problem.rows.weights == 0] = 0  # these rows may hold numbers of any size
        if self._diagonal_only:
            return self._by_diagonal(problem.row_sums.weighted_squares(curved))
        if first or k * size * size > _MAX_MATRIX_ENTRIES or k == 1:
            mean = curved[:, 0] if k == 1 else curved.mean(axis=1)  # without a copy of one entry per row
            return self._by_matrix(mean, self._ridge.mean(axis=1))
        for i in range(k):
            self._blocks.pop(i, None)
            self._blocks[i] = self._by_matrix(curved[:, i], self._ridge[:, i])
        return lambda g: np.concatenate([self._blocks[i](g[:, i : i + 1]) for i in range(k)], axis=1)

    def _by_matrix(self, weights: Floats, ridge: Floats) -> Precondition:
        size = self._problem.columns.count + 1
        gram = np.empty((size, size))
        self._problem.row_sums.sandwich(_heaviest(weights, self._rows), gram)
        if len(self._out):  # or steps move parameters that are not fitted, such as a bias that levels replace
            gram[self._out], gram[:, self._out] = 0, 0
        gram[np.diag_indices_from(gram)] += ridge + 1e-8 * np.diagonal(gram)
        factored = factor(gram, np.arange(size))
        return lambda g: np.ascontiguousarray(factored.solve(np.ascontiguousarray(g.T)).T)

    def _by_diagonal(self, diagonal: Floats) -> Precondition:
        diagonal = diagonal + self._ridge
        inverse = np.where(diagonal > 0, 1 / np.where(diagonal > 0, diagonal, 1), 0.0)
        return lambda g: np.asarray(g * inverse)


def _heaviest(weights: Floats, count: int) -> Floats:
    """Return the weights of a sample of about `count` rows, zero elsewhere.

    It is drawn by systematic sampling with probabilities proportional to the weights, without random numbers; the
    expected weight of a row is its own.
    """
    total = float(weights.sum())
    if count >= len(weights) or total <= 0:
        return np.ascontiguousarray(weights)
    each, before = total / count, 0.0
    out = np.empty(len(weights))
    for first in range(0, len(weights), _ROWS_PER_BLOCK):
        block = weights[first : first + _ROWS_PER_BLOCK]
        sums = before + np.cumsum(np.minimum(block / each, 1.0))
        is_sampled = np.diff(np.floor(sums), prepend=np.floor(before)) > 0
        out[first : first + _ROWS_PER_BLOCK] = np.where(is_sampled, np.maximum(block, each), 0.0)
        before = float(sums[-1])
    return out
