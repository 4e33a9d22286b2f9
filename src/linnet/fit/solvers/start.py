"""Initial parameters: weights of zero, and the biases of the model without columns.

With the identity link every row's mean must be above 0, which weights of zero cannot give without an intercept. Then
the start is a theta where

    ½ Σ_i max(m - z_i, 0)²        z = x W + offset

is 0, with m of the targets' size. Newton's method finds it, with steps that count only the rows still short of m.
"""

from dataclasses import replace

import numpy as np

from linnet.errors import FitError
from linnet.fit.solvers.cholesky import elimination_order, factor
from linnet.fit.solvers.null_model import null_biases
from linnet.fit.solvers.problem import Floats, Problem
from linnet.heads import Normal

_MAX_STEPS = 100
_SHORTEST_STEP = 1e-6  # as a share of a Newton step


def starting_point(problem: Problem) -> Floats:
    """Return a theta to start from: weights of zero and null biases or, where these are invalid, a theta with z > 0."""
    if problem.head.positive_mean and not problem.intercept and problem.columns.count:
        return _interior(problem)
    theta = np.zeros(problem.size)
    if problem.intercept:
        theta[-problem.outputs :] = null_biases(problem)
        if problem.fixed is not None:
            theta[-problem.outputs :] -= theta[-problem.outputs :][problem.fixed]
    return theta


def _interior(problem: Problem) -> Floats:
    """Return a theta with z > 0 in all rows that have a weight."""
    if not problem.has_rows:
        raise FitError(
            "link='identity' without an intercept needs rows in memory: use fit_intercept=True or link='log'"
        )
    values, weights = problem.rows.values, problem.rows.weights
    assert values is not None
    counts = np.ones(problem.columns.rows, np.bool_) if weights is None else weights > 0
    sizes = np.abs(values[counts]).mean(axis=0)
    margin = np.broadcast_to(np.where(sizes > 0, sizes, 1.0), values.shape).copy()
    order = elimination_order(problem)

    def shortfall(z: Floats) -> float:
        return float(0.5 * np.square(np.maximum(margin - z, 0.0)[counts]).sum())

    theta = np.zeros(problem.size)
    z = problem.z(theta)
    for _ in range(_MAX_STEPS):
        if (z[counts] > 0).all():
            return theta
        short = ((z < margin).any(axis=1) & counts).astype(np.float64)
        gradient, products = np.empty(problem.size), np.empty((problem.size, problem.size))
        missing = replace(problem.with_rows(values=margin, weights=short), head=Normal())
        missing.sums.at(theta, gradient, products)
        held = ~problem.free
        gradient[held], products[held], products[:, held] = 0, 0, 0
        step, length, before = -factor(products, order).solve(gradient), 1.0, shortfall(z)
        z = problem.z(theta + step)
        while shortfall(z) >= before and length > _SHORTEST_STEP:
            length /= 2
            z = problem.z(theta + length * step)
        theta = theta + length * step
        if length <= _SHORTEST_STEP:
            break
    worst = int(np.where(counts, z.min(axis=1), np.inf).argmin())
    raise FitError(
        "found no coefficients that give every row a positive mean, as link='identity' without an intercept requires: "
        f"row {worst} stays at {z[worst].min():.3g}; use fit_intercept=True or link='log'"
    )
