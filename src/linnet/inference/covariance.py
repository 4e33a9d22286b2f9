"""The meat of sandwich covariances: Σ s_i s_i' over rows or groups, with s_i the gradient of row i's loss."""

import numpy as np
from numpy.typing import NDArray

from linnet.data.targets import missing
from linnet.errors import DataError
from linnet.fit.solvers.problem import Floats, Problem
from linnet.fit.solvers.products import outer_product

_MAX_JACOBI_SWEEPS = 30
_MAX_OFF_DIAGONAL = 1e-15  # relative norm of what remains off the diagonals


def meat(
    problem: Problem,
    sought: NDArray[np.bool_],
    slope: Floats,
    curved: Floats,
    weights: Floats,
    inverse: Floats,
    kind: str,
    groups: object,
    free: float,
) -> Floats:
    """Return Σ s_i s_i' over rows or groups, size x size, with the correction of `kind`.

    Parameters
    ----------
    problem : Problem
        The problem that was solved.
    sought : array of bool of shape (size,)
        The parameters that are fitted; entries of all others are zero.
    slope, curved : arrays of shape (rows, outputs)
        First and second derivatives of each row's loss in z.
    weights : array of shape (rows,)
        Row weights: a row of weight w counts as w rows.
    inverse : array of shape (size, size)
        The inverse Hessian, for leverages.
    kind : str
        "HC0" to "HC3" or "cluster".
    groups : array of shape (rows,) or None
        The group of each row, for "cluster".
    free : float
        Degrees of freedom of the model.
    """
    k, size = problem.outputs, problem.columns.count + 1
    total = float(weights.sum())
    residual = total - free
    if kind == "cluster":
        count, group = _groups(groups, weights)
        scores = np.empty((count, problem.size))
        problem.row_sums.gradient_by_group(weights[:, None] * slope, group, scores)
        scores[:, ~sought] = 0
        correction = count / (count - 1) * (total - 1) / residual if residual > 0 else np.nan
        return np.asarray(outer_product(scores.T) * correction)
    if kind in ("HC2", "HC3"):
        slope = _without_leverage(problem, slope, curved, inverse, 0.5 if kind == "HC2" else 1.0)
    meat = np.empty((size, k, size, k))
    block = np.empty((size, size))
    for a in range(k):
        for b in range(a, k):
            problem.row_sums.sandwich(weights * slope[:, a] * slope[:, b], block)
            meat[:, a, :, b] = meat[:, b, :, a] = block
    out = meat.reshape(size * k, size * k)
    out[~sought], out[:, ~sought] = 0, 0
    return out * (total / residual if residual > 0 else np.nan) if kind == "HC1" else out


def _without_leverage(problem: Problem, slope: Floats, curved: Floats, inverse: Floats, power: float) -> Floats:
    """Return each row's slope in z, corrected for the row's own influence: (I - W Q)^-power slope.

    W is the curvature of the row's loss in z and Q the covariance of its z, x'Cx for every pair of outputs, so W Q is
    the row's block of the hat matrix: with one output, the leverage h. For classes W = diag(p) - pp' = F F' with F =
    diag(√p) - p√p', and (W Q)^n = F (F'QF)^(n-1) F'Q, so that powers are those of the symmetric F'QF:

        (I - W Q)^-a s = s + F g(F'QF) F'Q s,    g(m) = ((1 - m)^-a - 1) / m
    """
    k, rows, size = problem.outputs, len(slope), problem.columns.count + 1
    by_output = inverse.reshape(size, k, size, k)
    variance = np.empty((rows, k, k))
    of_pair = np.empty(rows)
    for a in range(k):
        for b in range(a, k):
            problem.row_sums.quadratic(np.ascontiguousarray(by_output[:, a, :, b]), of_pair)
            variance[:, a, b] = variance[:, b, a] = of_pair
    if k == 1:
        return np.asarray(slope / np.maximum(1 - curved * variance[:, 0], 1e-12) ** power)
    assert problem.rows.labels is not None
    p = np.maximum(slope, 0.0)  # of the classes other than the row's own, whose p is 1 + slope
    own = np.arange(rows), problem.rows.labels
    p[own] = 1 + slope[own]
    root = np.sqrt(p)
    f = root[:, :, None] * np.eye(k) - p[:, :, None] * root[:, None, :]
    seen = _each(np.swapaxes(f, 1, 2), variance)  # F'Q
    m, turn = _eigenvectors(_each(seen, f))
    m = np.clip(m, 0.0, 1 - 1e-12)
    small = m < 1e-8
    g = np.where(small, power, ((1 - m) ** -power - 1) / np.where(small, 1.0, m))
    pulled = g[:, :, None] * _each(np.swapaxes(turn, 1, 2), _each(seen, slope[:, :, None]))
    return np.asarray(slope + _each(f, _each(turn, pulled))[:, :, 0])


def _each(a: Floats, b: Floats) -> Floats:
    """Return one matrix product per row, with a fixed order of summation."""
    out = np.zeros((len(a), a.shape[1], b.shape[2]))
    for j in range(a.shape[2]):
        out += a[:, :, j, None] * b[:, None, j]
    return out


def _eigenvectors(symmetric: Floats) -> tuple[Floats, Floats]:
    """Return eigenvalues and eigenvectors (as columns) of one symmetric matrix per row, by Jacobi rotations."""
    m, k = symmetric.copy(), symmetric.shape[1]
    turn = np.tile(np.eye(k), (len(m), 1, 1))
    off_diagonal = ~np.eye(k, dtype=np.bool_)
    for _ in range(_MAX_JACOBI_SWEEPS):
        if np.square(m[:, off_diagonal]).sum() <= _MAX_OFF_DIAGONAL**2 * np.square(m).sum():
            break
        for p in range(k):
            for q in range(p + 1, k):
                between = m[:, p, q]
                apart = np.divide(m[:, q, q] - m[:, p, p], 2 * between, out=np.zeros(len(m)), where=between != 0)
                with np.errstate(over="ignore"):  # far apart: no rotation
                    t = np.where(apart < 0, -1.0, 1.0) / (np.abs(apart) + np.sqrt(apart**2 + 1))
                t[between == 0] = 0
                cosine = 1 / np.sqrt(t**2 + 1)
                c, s = cosine[:, None], (t * cosine)[:, None]
                m[:, p], m[:, q] = c * m[:, p] - s * m[:, q], s * m[:, p] + c * m[:, q]
                for x in (m, turn):
                    x[:, :, p], x[:, :, q] = c * x[:, :, p] - s * x[:, :, q], s * x[:, :, p] + c * x[:, :, q]
    return np.diagonal(m, axis1=1, axis2=2).copy(), turn


def _groups(groups: object, weights: Floats) -> tuple[int, NDArray[np.int64]]:
    """Return the number of groups that have rows with a weight, and the group of each row."""
    labels = np.asarray(groups)
    if labels.shape != weights.shape:
        raise DataError(f"groups must have one entry per row, {len(weights)} in all, got shape {labels.shape}")
    is_missing = missing(labels)
    if is_missing.any():
        raise DataError(f"groups has no value in row {int(is_missing.argmax())}: every row needs a group")
    try:
        names, index = np.unique(labels[weights > 0], return_inverse=True)
    except TypeError:
        raise DataError("groups must be numbers or text, not both") from None
    if len(names) < 2:
        raise DataError("groups must name at least two groups")
    group = np.zeros(len(labels), np.int64)
    group[weights > 0] = index.reshape(-1)
    return len(names), group
