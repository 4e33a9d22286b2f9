"""Least squares with more unknowns than equations: the minimum-norm solution, which has the smallest Σ coef².

With more columns than rows the dual is solved. For rows scaled by the square roots of their weights, and centered if
there is an intercept, and a penalty λ Σ_j f_j coef_j²,

    coef = F⁻¹ X' a      where (X F⁻¹ X' + λ) a = t

has one unknown per row; λ = 0 gives the minimum-norm solution.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from linnet._native import core
from linnet.data.columns import Columns
from linnet.fit.solvers.aliasing import reference_levels
from linnet.fit.solvers.cholesky import Factor, factor
from linnet.fit.solvers.problem import Floats, Point, Problem
from linnet.fit.solvers.products import column_dots, outer_product, product
from linnet.fit.solvers.solution import Method, Solution, Watch
from linnet.fit.solvers.solver import Attempt, Solver

_MAX_ROWS = 2500  # for which a matrix of all pairs of rows is affordable
_COLUMNS_PER_BLOCK = 4096
_MAX_RELATIVE_GAIN_LEFT = 1e-16  # of the gain at the start: gradients have fallen to 1e-8 of their initial size
_CG_MAX_ITER = 500
_RELATIVE_RANK_TOLERANCE = 1e-6  # of the largest singular value of scaled columns: as in scikit-learn
_CG_TOLERANCE = 1e-12  # of the first gradient's norm: iterations end below it
_CG_ACCEPTED = 1e-9  # of the first gradient's norm: the solution has converged below it
_MAX_SPARSE_DENSITY = 0.05  # a sparse column with a larger share of entries is handled as a dense one


def is_wide(problem: Problem) -> bool:
    """Return whether there are more columns than rows, and a matrix of all pairs of rows is affordable."""
    return problem.columns.rows < min(problem.columns.count, _MAX_ROWS)


class DualLeastSquares(Solver):
    """For squared error with more columns than rows: one linear system with one unknown per row."""

    names = ("newton-cholesky", "cholesky", "svd")
    last = True

    def suits(self, attempt: Attempt) -> bool:
        """Return whether the table is wide, and an exact solution is wanted.

        Without a penalty it is, whatever solver is requested: only the minimum-norm solution is the same for all.
        """
        problem = attempt.problem
        exact = attempt.solver in ("auto", *self.names) or attempt.wants_min_norm
        return problem.head.quadratic and exact and problem.has_rows and is_wide(problem)

    def solve(self, attempt: Attempt) -> Solution | None:
        """Return the dual's solution; None if its gradient is not zero, as with columns of very different scales."""
        problem = attempt.problem
        solution = wide(problem)
        if solution is None:
            return None
        theta, products = solution
        weights = np.ones(problem.columns.rows) if problem.rows.weights is None else problem.rows.weights
        scale = np.repeat(problem.row_sums.weighted_squares(weights[:, None]), problem.outputs) + problem.ridge

        def gain(point: Point) -> float:
            assert point.gradient is not None
            return float((point.gradient**2 / np.where(scale > 0, scale, 1)).sum())

        point, first = problem.at(theta), problem.at(attempt.null_start)
        gap = gain(point)
        if not gap <= _MAX_RELATIVE_GAIN_LEFT * gain(first):
            return None
        norm = float(np.abs(point.gradient).max()) if point.gradient is not None else 0.0
        none = np.zeros(problem.size, np.bool_)
        return Solution(theta, point.value, norm, 1, True, gap, none, method=Method.CHOLESKY, row_products=products)


class ConjugateGradients(Solver):
    """For squared error without a penalty: iterations end at the minimum-norm solution."""

    last = False

    def suits(self, attempt: Attempt) -> bool:
        """Return whether the minimum-norm solution is wanted, whatever solver is requested: see `DualLeastSquares`."""
        return attempt.wants_min_norm and attempt.problem.has_rows

    def solve(self, attempt: Attempt) -> Solution:
        """Run conjugate gradients from zero."""
        max_iter = min(attempt.max_iter, _CG_MAX_ITER)
        solution = conjugate_gradients(attempt.problem, max_iter=max_iter, watch=attempt.watch)
        return replace(solution, method=Method.CONJUGATE_GRADIENTS)


def wide(problem: Problem) -> tuple[Floats, Floats] | None:
    """Solve the dual of a problem of squared error.

    Return theta, and the centered and weighted Gram matrix of the rows; None if only some columns are penalised, or
    levels of categories, whose first one is fixed at zero, are not.
    """
    l2 = problem.ridge.reshape(-1, problem.outputs)[:-1]
    penalty, factors = l2.mean(axis=0), l2.sum(axis=1)  # per output and per column: each penalty is their product
    if not factors.any() and not problem.columns.levels:
        factors = np.ones_like(factors)
    if not factors.all():
        return None
    factors /= factors.mean()
    assert problem.rows.values is not None
    root = np.sqrt(np.ones(len(problem.rows.values)) if problem.rows.weights is None else problem.rows.weights)[:, None]
    mean = root / np.sqrt((root**2).sum()) if problem.intercept else np.zeros_like(root)

    def centered(x: Floats) -> Floats:
        return np.asarray(x - mean * product(x.T, mean[:, 0]))

    t = problem.rows.values if problem.rows.offset is None else problem.rows.values - problem.rows.offset
    products = centered(centered(row_products(problem, 1 / factors) * (root * root.T)).T)
    a = np.empty_like(t)
    for strength in np.unique(penalty):
        matrix = products + strength * np.eye(len(products))
        factored = factor(matrix, np.arange(len(matrix)))
        null = null_space(factored, matrix, factored.aliased)
        right = centered(root * t)[:, penalty == strength]
        right -= product(null, _best(null, right))  # the component that no coefficients can fit
        a[:, penalty == strength] = factored.solve(np.ascontiguousarray(right.T)).T
    theta = np.empty(problem.size)
    problem.row_sums.gradient(np.ascontiguousarray(root * centered(a)), theta)
    weights = theta.reshape(-1, problem.outputs)  # a view
    weights[:-1] /= factors[:, None]
    weights[-1] = 0
    z = np.empty_like(t)
    problem.row_sums.predict(theta, z)
    if problem.intercept:
        weights[-1] = (root**2 * (t - z)).sum(axis=0) / (root**2).sum()
    return theta, products


def conjugate_gradients(problem: Problem, *, max_iter: int, watch: Watch) -> Solution:
    """Solve a problem of squared error by conjugate gradients from zero.

    They stay in the row space, so without a penalty they end at the minimum-norm solution. That rules out a
    preconditioner: columns of very different scales take many iterations. Of a full set of levels the first is fixed at
    zero.
    """
    assert problem.rows.values is not None
    k, rows = problem.outputs, problem.columns.rows
    w = np.ones(rows) if problem.rows.weights is None else problem.rows.weights
    total = float(w.sum())
    ridge = problem.ridge.reshape(-1, k)[:-1]
    held = np.zeros(problem.columns.count, np.bool_)
    held[reference_levels(problem)] = True

    def centered(x: Floats) -> Floats:
        return x - column_dots(w, x) / total if problem.intercept else x

    def moved(v: Floats) -> Floats:
        z = np.empty((rows, k))
        problem.row_sums.predict(np.concatenate([v.ravel(), np.zeros(k)]), z)
        return centered(z)

    def slope(r: Floats, v: Floats) -> Floats:
        """Return minus the gradient."""
        out = np.empty(problem.size)
        problem.row_sums.gradient(np.ascontiguousarray(w[:, None] * r), out)
        descent = out.reshape(-1, k)[:-1] - ridge * v
        descent[held] = 0
        return descent

    t = problem.rows.values if problem.rows.offset is None else problem.rows.values - problem.rows.offset
    v = np.zeros((problem.columns.count, k))
    r = centered(np.array(t))
    s = slope(r, v)
    p, size = s.copy(), column_dots(s, s)
    first, done = size.copy(), 0
    while True:
        going = size > _CG_TOLERANCE**2 * first
        watch(
            done, 0.5 * float(column_dots(w[:, None] * r, r).sum() + column_dots(ridge * v, v).sum()), float(size.sum())
        )
        if done == max_iter or not going.any():
            break
        done += 1
        q = moved(p)
        curved = column_dots(w[:, None] * q, q) + column_dots(ridge * p, p)
        length = np.where(going & (curved > 0), size / np.where(curved > 0, curved, 1.0), 0.0)
        v += length * p
        r = r - length * q
        s = slope(r, v)
        before, size = size, column_dots(s, s)
        p = s + np.where(going & (before > 0), size / np.where(before > 0, before, 1.0), 0.0) * p
    theta = np.concatenate([v.ravel(), np.zeros(k)])
    if problem.intercept:
        z = np.empty((rows, k))
        problem.row_sums.predict(theta, z)
        theta[-k:] = column_dots(w, t - z) / total
    point = problem.at(theta)
    assert point.gradient is not None
    norm = float(np.abs(point.gradient).max())
    none = np.zeros(problem.size, np.bool_)
    converged = bool((size <= _CG_ACCEPTED**2 * first).all())
    return Solution(theta, point.value, norm, done, converged, 0.5 * float(size.sum()), none)


def gram(problem: Problem, solution: Solution) -> Floats | None:
    """Return X'X, or XX', of the centered and weighted table, if the solution of a problem without penalties has it."""
    k = problem.outputs
    if solution.row_products is not None:
        return solution.row_products
    if solution.hessian is None:
        return None
    block = solution.hessian[::k, ::k]  # outputs are independent and have the same Hessian
    inner, to_bias, weight = block[:-1, :-1], block[-1, :-1], float(block[-1, -1])
    if not problem.intercept:
        return inner.copy()
    with np.errstate(over="ignore", invalid="ignore"):
        out = inner - np.outer(to_bias / weight, to_bias)
    if not np.isfinite(out).all():
        return None
    constant = np.diagonal(out) <= _RELATIVE_RANK_TOLERANCE**2 * np.diagonal(inner)  # up to rounding
    out[constant], out[:, constant] = 0, 0
    return out


def spectrum(products: Floats) -> tuple[int, Floats]:
    """Return rank and singular values in descending order from X'X or XX'; the rank ignores the units of columns."""
    sizes = np.sqrt(np.maximum(np.diagonal(products), 0))
    sizes = np.where(sizes > 0, sizes, 1.0)
    scaled, squared = _eigenvalues(products / np.outer(sizes, sizes)), _eigenvalues(products)[::-1]
    return int((scaled > _RELATIVE_RANK_TOLERANCE**2 * scaled[-1]).sum()), np.sqrt(np.maximum(squared, 0))


def _eigenvalues(symmetric: Floats) -> Floats:
    """Return the eigenvalues in ascending order, by sums of fixed order."""
    values = np.zeros(len(symmetric))
    if len(values):
        core.eigenvalues(np.array(symmetric, order="C"), values)
    return values


def row_products(problem: Problem, scale: Floats) -> Floats:
    """Return Σ_j scale_j x_ij x_kj for all pairs of rows i, k, with dense columns centered."""
    columns, root = problem.table, np.sqrt(scale)
    out = np.zeros((columns.rows, columns.rows))
    for here, block in _blocks(columns):
        if isinstance(block, np.ndarray):
            centered = block - problem.center[here] if here[0] < columns.dense else block.astype(np.float64)
            out += outer_product(centered, scale[here])
        else:
            entries = block @ scipy.sparse.diags_array(root[here])
            out += (entries @ entries.T).toarray()
    return out


def _blocks(columns: Columns) -> Iterator[tuple[NDArray[np.intp], Any]]:
    """Yield indices and values of blocks of columns: an array, or a sparse matrix where few values are not zero."""
    first = 0
    for start in range(0, len(columns.tables), _COLUMNS_PER_BLOCK):
        tables = columns.tables[start : start + _COLUMNS_PER_BLOCK]  # a data frame has one table per column
        table = tables[0] if len(tables) == 1 else np.hstack(tables)
        for left in range(0, table.shape[1], _COLUMNS_PER_BLOCK):
            block = table[:, left : left + _COLUMNS_PER_BLOCK]
            yield first + left + np.arange(block.shape[1]), block
        first += table.shape[1]
    if first == columns.count:
        return
    entries = columns.entries().tocsc()
    full = np.diff(entries.indptr) > _MAX_SPARSE_DENSITY * columns.rows
    yield first + np.flatnonzero(~full), entries[:, ~full].tocsr()
    chosen = np.flatnonzero(full)
    for left in range(0, len(chosen), _COLUMNS_PER_BLOCK):
        columns_of_block = chosen[left : left + _COLUMNS_PER_BLOCK]
        yield first + columns_of_block, entries[:, columns_of_block].toarray()


def null_space(factored: Factor, matrix: Floats, aliased: NDArray[np.bool_]) -> Floats:
    """Return a basis of the null space of a symmetric matrix: one column per aliased row."""
    indices = np.flatnonzero(aliased)
    out = -factored.solve(matrix[indices])
    out[np.arange(len(indices)), indices] = 1
    return out.T


def _best(a: Floats, x: Floats) -> Floats:
    """Return the c that minimises |a c - x|²; the columns of a are linearly independent."""
    if a.shape[1] == 0:
        return np.zeros((0, *x.shape[1:]))
    right = np.ascontiguousarray(product(a.T, x).T)
    return factor(outer_product(a.T), np.arange(a.shape[1])).solve(right).T
