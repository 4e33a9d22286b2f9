"""Least squares with many answers: of coefficients that fit equally well the smallest, in the sense of Σ coef².

With more columns than rows the answer is sought among combinations of rows. For rows scaled by the roots of their
weights and centered if there is an intercept, and a penalty λ Σ_j f_j coef_j²,

    coef = F⁻¹ X' a      where (X F⁻¹ X' + λ) a = t

has only as many unknowns as there are rows; λ = 0 gives the smallest of all coefficients that fit best.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from linnet.data.columns import Columns
from linnet.fit.linear import Floats, Problem
from linnet.fit.newton import Factor, elimination_order, factor

_BLOCK = 4096  # columns taken together
_RANK = 1e-6  # of the largest singular value, of columns of one size: smaller ones count as zero, as in scikit-learn
_FULL = 0.05  # a sparse column with more entries than this is dealt with as a dense one


def wide(problem: Problem) -> Floats | None:
    """Solve a problem of squared error by way of its rows; None if some columns have a penalty and others none, or if
    levels have none: of those the first is held at zero.
    """
    l2 = problem.ridge.reshape(-1, problem.outputs)[:-1]
    penalty, factors = l2.mean(axis=0), l2.sum(axis=1)  # of an output and of a column: all penalties are products
    if not factors.any() and not problem.columns.levels:
        factors = np.ones_like(factors)
    if not factors.all():
        return None
    factors /= factors.mean()
    assert problem.values is not None
    root = np.sqrt(np.ones(len(problem.values)) if problem.weights is None else problem.weights)[:, None]
    mean = root / np.linalg.norm(root) if problem.intercept else np.zeros_like(root)

    def centered(x: Floats) -> Floats:
        return np.asarray(x - mean @ (mean.T @ x))

    t = problem.values if problem.offset is None else problem.values - problem.offset
    products = centered(centered(row_products(problem, 1 / factors) * (root * root.T)).T)
    problem.row_products = products
    a = np.empty_like(t)
    for strength in np.unique(penalty):
        matrix = products + strength * np.eye(len(products))
        factored = factor(matrix, np.arange(len(matrix)))
        nothing = null_space(factored, matrix, factored.dependent)
        right = centered(root * t)[:, penalty == strength]
        right -= nothing @ _best(nothing, right)  # what no coefficients can reach
        a[:, penalty == strength] = factored.solve(np.ascontiguousarray(right.T)).T
    theta = np.empty(problem.size)
    problem.core.gradient(np.ascontiguousarray(root * centered(a)), theta)
    weights = theta.reshape(-1, problem.outputs)  # a view
    weights[:-1] /= factors[:, None]
    weights[-1] = 0
    z = np.empty_like(t)
    problem.core.predict(theta, z)
    if problem.intercept:
        weights[-1] = (root**2 * (t - z)).sum(axis=0) / (root**2).sum()
    return theta


def gram(problem: Problem) -> Floats | None:
    """X'X, or XX', of the centered and weighted table, as far as a solver without a penalty has computed it."""
    k = problem.outputs
    if problem.row_products is not None:
        return problem.row_products
    if problem.products is None:
        return None
    whole = problem.products[::k, ::k]
    inner, to_bias, weight = whole[:-1, :-1], whole[-1, :-1], float(whole[-1, -1])
    if not problem.intercept:
        return inner.copy()
    with np.errstate(over="ignore", invalid="ignore"):
        out = inner - np.outer(to_bias / weight, to_bias)
    if not np.isfinite(out).all():
        return None
    constant = np.diagonal(out) <= _RANK**2 * np.diagonal(inner)  # but for rounding
    out[constant], out[:, constant] = 0, 0
    return out


def spectrum(products: Floats) -> tuple[int, Floats]:
    """The rank, in any units of the columns, and the singular values, falling, of the table with these products."""
    sizes = np.sqrt(np.maximum(np.diagonal(products), 0))
    sizes = np.where(sizes > 0, sizes, 1.0)
    scaled = np.linalg.eigvalsh(products / np.outer(sizes, sizes))
    squared = np.linalg.eigvalsh(products)[::-1]
    return int((scaled > _RANK**2 * scaled[-1]).sum()), np.sqrt(np.maximum(squared, 0))


def row_products(problem: Problem, scale: Floats) -> Floats:
    """Σ_j scale_j x_ij x_kj for all pairs of rows i, k, dense columns counting from their centers."""
    columns, root = problem.columns, np.sqrt(scale)
    out = np.zeros((columns.rows, columns.rows))
    for here, block in _blocks(columns):
        if isinstance(block, np.ndarray):
            scaled = (block - problem.center[here] if here[0] < columns.dense else block) * root[here]
            out += scaled @ scaled.T
        else:
            entries = block @ scipy.sparse.diags_array(root[here])
            out += (entries @ entries.T).toarray()
    return out


def _blocks(columns: Columns) -> Iterator[tuple[NDArray[np.intp], Any]]:
    """Some columns after some others, each time with their numbers; those with many entries as dense ones."""
    first = 0
    for start in range(0, len(columns.tables), _BLOCK):
        tables = columns.tables[start : start + _BLOCK]  # a data frame has a table a column
        table = tables[0] if len(tables) == 1 else np.hstack(tables)
        for left in range(0, table.shape[1], _BLOCK):
            block = table[:, left : left + _BLOCK]
            yield first + left + np.arange(block.shape[1]), block
        first += table.shape[1]
    if first == columns.count:
        return
    entries = columns.entries().tocsc()
    full = np.diff(entries.indptr) > _FULL * columns.rows
    yield first + np.flatnonzero(~full), entries[:, ~full].tocsr()
    chosen = np.flatnonzero(full)
    for left in range(0, len(chosen), _BLOCK):
        mine = chosen[left : left + _BLOCK]
        yield first + mine, entries[:, mine].toarray()


def shared(problem: Problem, factored: Factor, curvature: Floats) -> Floats:
    """Directions that change no prediction, a column for each number column that depends on others.

    Levels are not among them: of a full set the first is held at zero.
    """
    numbers = np.arange(problem.size) < (problem.columns.dense + problem.columns.sparse_columns) * problem.outputs
    return null_space(factored, curvature, factored.dependent & numbers & problem.free)


def smallest(problem: Problem, directions: Floats, x: Floats) -> Floats:
    """Move theta, or each column of x, along the directions to the smallest weights; biases are of any size."""
    weights = slice(problem.size - problem.outputs)
    return np.asarray(x - directions @ _best(directions[weights], x[weights]))


def smallest_theta(problem: Problem, theta: Floats) -> Floats:
    """Of all that fit as well as theta, that with the smallest weights."""
    curvature = problem.at(theta, curvature=True).curvature
    assert curvature is not None
    return smallest(problem, shared(problem, factor(curvature, elimination_order(problem)), curvature), theta)


def null_space(factored: Factor, matrix: Floats, dependent: NDArray[np.bool_]) -> Floats:
    """For each dependent row of a matrix a column that the matrix takes to zero."""
    lost = np.flatnonzero(dependent)
    out = -factored.solve(matrix[lost])
    out[np.arange(len(lost)), lost] = 1
    return out.T


def _best(a: Floats, x: Floats) -> Floats:
    """The c that make a c nearest to x; the columns of a are independent."""
    if a.shape[1] == 0:
        return np.zeros((0, *x.shape[1:]))
    right = np.ascontiguousarray((a.T @ x).T)
    return factor(a.T @ a, np.arange(a.shape[1])).solve(right).T
