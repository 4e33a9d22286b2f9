"""Approximate inverses of the second derivatives, for L-BFGS to start its steps from.

With curvature c_ik of row i's loss in output k, output k's own block of second derivatives is Σ_i c_ik x_i x_i' + l2_k:
a matrix an output, or its diagonal where there are too many columns. A few rows are enough for the sum if those that
weigh most are among them. Outputs of a categorical head also depend on each other: the loss does not change when all
move together, so that steps are taken off their mean (or off the reference class, where there is one).
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from linnet._native import core
from linnet.fit.solvers.newton import factor
from linnet.fit.solvers.problem import Floats, Point, Problem

Precondition = Callable[[Floats], Floats]

_PART = 1 << 16  # rows looked at together
_WIDEST = 2500  # columns of a matrix
_LARGEST = 20_000_000  # numbers in the matrices of all outputs; beyond, they share one
_ROWS = 4  # to look at, times the columns,
_FEWEST = 2000  # but no fewer
_CERTAIN = 1e-12  # of the largest curvature: where rows are surer, what tells only them apart seems not to bend at all
_FIRST = 5  # iterations until the first refresh, at least


class Preconditioner:
    """The preconditioners of one problem, better from time to time. A new one takes the place of the one before."""

    def __init__(
        self,
        problem: Problem,
        curved: Callable[[Floats], Floats] | None = None,
        free: NDArray[np.bool_] | None = None,
    ) -> None:
        """Of a problem, or of other sums over its rows: `curved(theta)` are their second derivatives in each z, and
        `free` tells which parameters they seek.
        """
        self._problem = problem
        free = problem.free if free is None else free
        self._held = np.flatnonzero(~free)
        self._out = np.flatnonzero(~free.reshape(-1, problem.outputs).any(axis=1))  # columns
        self._curvature = curved or (lambda theta: curvature(problem, problem.z(theta)))
        self._blocks: dict[int, Precondition] = {}  # by output; each is a matrix, so that there is one at a time
        columns = problem.columns
        self._ridge = problem.ridge.reshape(-1, problem.outputs)
        self._together = problem.head.coupled
        self._level = self._together and problem.fixed is None and bool((self._ridge == self._ridge[:, :1]).all())
        self._rows = min(columns.rows, max(_FEWEST, _ROWS * (columns.count + 1)))
        # a refresh costs as much as so many gradients
        cost = self._rows * (columns.count + 1) / (4 * columns.rows) if columns.count <= _WIDEST else 1.0
        self._next = max(_FIRST, round(cost / 2))

    def reachable(self, theta: Floats) -> Floats:
        """Theta moved, without a change of predictions, to where steps lead to the optimum."""
        if not self._level:
            return theta
        by_output = theta.reshape(-1, self._problem.outputs)
        return np.asarray(by_output - by_output.mean(axis=1, keepdims=True)).ravel()

    def refresh(self, point: Point, iteration: int) -> Precondition | None:
        """A better one at a later point, once in a while."""
        if iteration != self._next:
            return None
        self._next *= 2
        return self.at(point.theta)

    def at(self, theta: Floats, *, first: bool = False) -> Precondition:
        """The preconditioner at theta; `first`: one matrix for all outputs, before they are known to differ."""
        problem = self._problem
        k, size = problem.outputs, problem.columns.count + 1
        curved = self._curvature(theta)
        np.maximum(curved, _CERTAIN * curved.max(axis=0), out=curved)
        if problem.columns.count > _WIDEST:
            solve = self._by_diagonal(curved)
        elif first or k * size * size > _LARGEST or k == 1:
            mean = curved[:, 0] if k == 1 else curved.mean(axis=1)  # no copy of what may be as long as a column
            solve = self._by_matrix(mean, self._ridge.mean(axis=1))
        else:
            for i in range(k):
                self._blocks.pop(i, None)
                self._blocks[i] = self._by_matrix(curved[:, i], self._ridge[:, i])
            solve = lambda g: np.concatenate([self._blocks[i](g[:, i : i + 1]) for i in range(k)], axis=1)  # noqa: E731
        fixed = np.flatnonzero(problem.fixed) if problem.fixed is not None else np.empty(0, np.intp)

        def apply(gradient: Floats) -> Floats:
            g = gradient.reshape(-1, k)
            if self._together and len(fixed):  # the gradient of the form in which no class is left out
                g = g.copy()
                g[:, fixed[0]] = -g.sum(axis=1)
            elif self._level:
                g = g.copy()
                core.take_off_means(g)
            step = solve(g)
            if self._together and len(fixed):
                step -= step[:, fixed]
            elif self._level:
                core.take_off_means(step)
            step = step.ravel()
            step[self._held] = 0
            return step

        return apply

    def _by_matrix(self, weights: Floats, ridge: Floats) -> Precondition:
        size = self._problem.columns.count + 1
        gram = np.empty((size, size))
        self._problem.sums.sandwich(_heaviest(weights, self._rows), gram)
        if len(self._out):  # or steps are those of what may not move, such as a bias that levels make up for
            gram[self._out], gram[:, self._out] = 0, 0
        gram[np.diag_indices_from(gram)] += ridge + 1e-8 * np.diagonal(gram)
        factored = factor(gram, np.arange(size))
        return lambda g: np.ascontiguousarray(factored.solve(np.ascontiguousarray(g.T)).T)

    def _by_diagonal(self, curved: Floats) -> Precondition:
        diagonal = squares(self._problem, curved) + self._ridge
        inverse = np.where(diagonal > 0, 1 / np.where(diagonal > 0, diagonal, 1), 0.0)
        return lambda g: np.asarray(g * inverse)


def _heaviest(weights: Floats, count: int) -> Floats:
    """Weights of about `count` rows that stand for all: a row is kept with a chance that grows with its weight.

    Systematic sampling: no random numbers, and the expected weight of a row is its own.
    """
    total = float(weights.sum())
    if count >= len(weights) or total <= 0:
        return np.ascontiguousarray(weights)
    each, before = total / count, 0.0
    out = np.empty(len(weights))
    for first in range(0, len(weights), _PART):
        part = weights[first : first + _PART]
        sums = before + np.cumsum(np.minimum(part / each, 1.0))
        kept = np.diff(np.floor(sums), prepend=np.floor(before)) > 0
        out[first : first + _PART] = np.where(kept, np.maximum(part, each), 0.0)
        before = float(sums[-1])
    return out


def curvature(problem: Problem, z: Floats) -> Floats:
    """The second derivative of each row's loss in each output alone, times the row's weight."""
    curved = problem.head.curvature(z, problem.target, expected=True)
    if problem.weights is not None:
        curved[problem.weights == 0] = 0  # whatever their z, which may be too far out to be a number
        curved *= problem.weights[:, None]
    return curved


def squares(problem: Problem, weights: Floats) -> Floats:
    """Σ_i w_ik x_ij² for every column, and for the intercept: columns + 1 by outputs, or by 1 if w has one column."""
    k, out = problem.outputs, np.empty(problem.size)
    problem.sums.squares(np.ascontiguousarray(np.broadcast_to(weights, (problem.columns.rows, k))), out)
    return out.reshape(-1, k)[:, : weights.shape[1]]
