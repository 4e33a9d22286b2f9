"""Which solver a convex problem gets: Newton's method while second derivatives are affordable, L-BFGS beyond.

Squared error with more columns than rows is solved by way of the rows; where columns depend on each other, it gives the
smallest coefficients.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.errors import ConfigError, unknown_name
from linnet.fit.coordinate import coordinate
from linnet.fit.lbfgs import Precondition, lbfgs
from linnet.fit.least_norm import smallest_theta, wide
from linnet.fit.linear import Floats, Point, Problem
from linnet.fit.newton import Solution, elimination_order, factor, newton

# scikit-learn's names; those for one optimum mean the same here
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
_NEWTON = ("newton-cholesky", "cholesky", "svd")
_LARGEST_CURVATURE = 2500  # parameters
_LARGEST_GRAM = 2500  # columns of a preconditioner, or rows of a problem with more columns
_PART = 16  # of many rows one block in so many gives a start
_MANY_ROWS = 50_000
_LITTLE = 1e-16  # of what there was to gain: each gradient is a hundred-millionth of what it was


def solve(
    problem: Problem,
    solver: str = "auto",
    *,
    max_iter: int = 1000,
    start: Floats | None = None,
    tolerance: float = 1e-10,
) -> Solution:
    """Minimise the problem from `start`, or from the model that only knows the targets' mean."""
    if solver not in SOLVERS:
        raise unknown_name("solver", solver, SOLVERS)
    if problem.positive or (problem.l1 is not None and problem.l1.any()):
        return coordinate(problem, problem.start() if start is None else start, max_iter=max_iter, tolerance=tolerance)
    squared = problem.head.family == "normal"
    if squared and solver in ("auto", *_NEWTON) and problem.columns.rows < min(problem.columns.count, _LARGEST_GRAM):
        solution = _by_rows(problem)
        if solution is not None:
            return solution
    use_newton = solver in _NEWTON or (solver == "auto" and _newton_pays(problem))
    if use_newton and problem.size > 4 * _LARGEST_CURVATURE:
        raise ConfigError(f"solver={solver!r} needs a matrix of {problem.size} x {problem.size} numbers: use 'auto'")
    theta = problem.start() if start is None else start
    if use_newton:
        if start is None and problem.columns.rows >= _MANY_ROWS and not squared:
            theta = _start_from_part(problem, theta)
        solution = newton(problem, theta, elimination_order(problem), max_iter=max_iter)
        if squared and (solution.dependent & problem.free).any():
            return replace(solution, theta=smallest_theta(problem, solution.theta))
        return solution
    precondition = _Preconditioner(problem)
    return lbfgs(
        problem, theta, precondition.at(None), max_iter=max_iter, refresh=precondition.refresh, tolerance=tolerance
    )


def _by_rows(problem: Problem) -> Solution | None:
    """The solution by way of the rows, if it is one: columns of very different scales may need another way."""
    theta = wide(problem)
    if theta is None:
        return None
    weights = np.ones(problem.columns.rows) if problem.weights is None else problem.weights
    scale = np.repeat(_diagonal(problem, weights), problem.outputs) + problem.ridge

    def gain(point: Point) -> float:
        assert point.gradient is not None
        return float((point.gradient**2 / np.where(scale > 0, scale, 1)).sum())

    point, first = problem.at(theta), problem.at(problem.start())
    left = gain(point)
    if not left <= _LITTLE * gain(first):
        return None
    norm = float(np.abs(point.gradient).max()) if point.gradient is not None else 0.0
    return Solution(theta, point.value, norm, 1, True, left, np.zeros(problem.size, np.bool_))


def _newton_pays(problem: Problem) -> bool:
    """Whether some ten matrices of second derivatives cost less than some hundred gradients."""
    if problem.size > _LARGEST_CURVATURE:
        return False
    together = problem.head.family == "categorical"
    pairs = problem.outputs * (problem.outputs + 1) // 2 if together else problem.outputs
    rows, columns = problem.columns.rows, problem.columns.count + 1
    curvatures = 8.0 * rows * columns * columns * pairs / 2
    gradients = 150.0 * rows * columns * problem.outputs * 2
    return curvatures <= max(5 * gradients, 2e10)  # 2e10: a fraction of a second


def _start_from_part(problem: Problem, theta: Floats) -> Floats:
    """Where Newton's method gets to on part of the rows, unless that is worse than where it set out from."""
    part = newton(problem, theta, elimination_order(problem), every=_PART, enough=1e-6, max_iter=20)
    if not np.isfinite(part.theta).all():
        return theta
    before, after = (problem.at(point, gradient=False).value for point in (theta, part.theta))
    return part.theta if after < before else theta


class _Preconditioner:
    """An approximate inverse of the second derivatives: one matrix for all outputs, or only a diagonal if too wide."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._next = 10

    def refresh(self, point: Point, iteration: int) -> Precondition | None:
        """A better one at a later point, once in a while."""
        if iteration != self._next or self._problem.columns.count > _LARGEST_GRAM:
            return None
        self._next *= 3
        return self.at(point)

    def at(self, point: Point | None) -> Precondition:
        """The preconditioner for a point; None: before anything is known."""
        problem = self._problem
        k, columns = problem.outputs, problem.columns
        ridge = problem.ridge.reshape(-1, k).mean(axis=1)
        weights = self._row_curvature(point)
        free = problem.free
        if columns.count > _LARGEST_GRAM:
            diagonal = _diagonal(problem, weights) + ridge
            inverse = np.where(diagonal > 0, 1 / np.where(diagonal > 0, diagonal, 1), 0.0)
            by_parameter = np.repeat(inverse, k) * free
            return lambda g: g * by_parameter
        gram = np.empty((columns.count + 1, columns.count + 1))
        every = max(1, min(_PART, columns.rows // (8 * (columns.count + 1))))
        problem.core.sandwich(weights, gram, every)
        gram *= every
        gram[np.diag_indices_from(gram)] += ridge + 1e-8 * np.diagonal(gram)
        factored = factor(gram, np.arange(len(gram)))

        def apply(g: Floats) -> Floats:
            by_output = np.ascontiguousarray(g.reshape(-1, k).T)
            return np.ascontiguousarray(factored.solve(by_output).T).ravel() * free

        return apply

    def _row_curvature(self, point: Point | None) -> Floats:
        """The second derivative of each row's loss, averaged over the outputs."""
        problem = self._problem
        rows, k = problem.columns.rows, problem.outputs
        family = problem.head.family
        weights = np.ones(rows) if problem.weights is None else problem.weights
        z = np.empty((rows, k))
        problem.core.predict(problem.start() if point is None else point.theta, z)
        if problem.offset is not None:
            z += problem.offset
        if family == "categorical":
            z -= z.max(axis=1, keepdims=True)
            np.exp(z, out=z)
            z /= z.sum(axis=1, keepdims=True)
            z *= 1 - z
        elif family == "bernoulli":
            e = np.exp(-np.abs(z))
            z = e / (1 + e) ** 2
        elif family == "poisson":
            np.exp(z, out=z)
        else:
            z[:] = 1
        return np.asarray(weights * z.mean(axis=1))


def _diagonal(problem: Problem, weights: Floats) -> Floats:
    """Σ_i w_i x_ij² for every column, and for the intercept."""
    columns = problem.columns
    parts: list[NDArray[Any]] = []
    center = problem.center
    for table in columns.tables:
        step = max(1, 64_000_000 // max(1, 8 * table.shape[1]))
        total = np.zeros(table.shape[1])
        middle = center[: table.shape[1]]
        for first in range(0, len(table), step):
            block = table[first : first + step].astype(np.float64) - middle
            total += weights[first : first + step] @ (block * block)
        center = center[table.shape[1] :]
        parts.append(total)
    if columns.sparse is not None:
        start, indices, values = columns.sparse
        by_entry = np.repeat(weights, np.diff(start)) * values.astype(np.float64) ** 2
        parts.append(np.bincount(indices, by_entry, columns.sparse_columns))
    for codes, levels in zip(columns.codes, columns.levels, strict=True):
        parts.append(np.bincount(codes[codes >= 0], weights[codes >= 0], levels))
    return np.concatenate([*parts, [weights.sum()]])
