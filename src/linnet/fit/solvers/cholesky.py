"""Cholesky factors of Hessians, in an order that leaves out aliased columns.

The Hessian is factored in the order of the columns, with the first level of each category last: a column that is a
linear combination of those before it is aliased and gets a coefficient of zero, so that the first of a full set of
levels becomes the reference.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linnet._native import core
from linnet.fit.solvers.problem import Floats, Point, Problem

ALIASED_PIVOT = 1e-10  # relative to a column's own second derivative: a smaller pivot means an aliased column
_MIN_PIVOT = 1e-14  # relative, of a column known not to be aliased: a smaller pivot is rounding


@dataclass(frozen=True, slots=True)
class Factor:
    """The Cholesky factor of a symmetric matrix in a given order of its rows, scaled to a diagonal of ones."""

    lower: Floats
    kept: NDArray[np.uint8]
    order: NDArray[np.intp]
    scale: Floats

    def solve(self, right: Floats) -> Floats:
        """Solve for one right-hand side, or for one per row; aliased entries of the solution are zero."""
        x = np.ascontiguousarray(np.atleast_2d(right * self.scale)[:, self.order])
        core.cholesky_solve(self.lower, self.kept, x)
        out = np.empty_like(x)
        out[:, self.order] = x
        out *= self.scale
        return out if right.ndim == 2 else out[0]

    def pivots(self) -> Floats:
        """Return the squared pivot of each row: the share of its diagonal entry that earlier rows do not determine."""
        out = np.empty(len(self.order))
        out[self.order] = np.diagonal(self.lower) ** 2
        return out

    @property
    def aliased(self) -> NDArray[np.bool_]:
        """Which rows are linear combinations of others, and left out."""
        out = np.empty(len(self.order), np.bool_)
        out[self.order] = self.kept == 0
        return out


def factor(
    matrix: Floats,
    order: NDArray[np.intp],
    aliased: NDArray[np.bool_] | None = None,
    *,
    tolerance: float = ALIASED_PIVOT,
) -> Factor:
    """Factor a positive semidefinite matrix.

    `aliased`: the rows to leave out, if they are known; otherwise the rows whose squared pivot, relative to the
    diagonal, is below the tolerance.
    """
    diagonal = np.diagonal(matrix)
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    if aliased is not None:
        scale[aliased] = 0
    lower = np.ascontiguousarray(matrix[order[:, None], order])
    lower *= scale[order]
    lower *= scale[order][:, None]
    kept = np.empty(len(order), np.uint8)
    core.cholesky(lower, tolerance if aliased is None else _MIN_PIVOT, kept)
    return Factor(lower, kept, order, scale)


def elimination_order(problem: Problem) -> NDArray[np.intp]:
    """Return the order in which parameters are eliminated: biases, numeric columns, levels, then first levels."""
    k, columns = problem.outputs, problem.columns
    firsts, start = [], columns.dense + columns.sparse_columns
    for count in columns.levels:
        firsts.append(start)
        start += count
    last = np.zeros(columns.count + 1, np.bool_)
    last[firsts] = True
    by_column = np.concatenate([[columns.count], np.flatnonzero(~last[:-1]), np.flatnonzero(last)]).astype(np.intp)
    return np.asarray((by_column[:, None] * k + np.arange(k)).ravel(), np.intp)


def aliased_parameters(point: Point, order: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return which parameters are aliased, by the Hessian at a point."""
    assert point.curvature is not None
    return factor(point.curvature, order).aliased
