"""Detection of separation: a direction along which the likelihood rises without end.

Where a hyperplane separates the classes (completely, or up to rows that lie on it), the likelihood has no maximum.
Newton's steps then do not become small but tend to such a direction d, and d proves it: along it, the linear predictor
of no row's own class falls, and that of some rises. Any theta that separates the classes proves it as well. Where
neither does and yet the fit has not converged, `recession` searches for d. Separation by a single column (`one_column`)
is found directly.

The absence of such a direction can be proved as well. Let d be one, scaled so that the largest of its gains u (the
amount by which it moves a row's own class away from another) is 1, and let r be the probability of that other class.
Then

    -g'd = Σ w r u,    d'Hd <= Σ w r u² <= -g'd    and    (g'd)² <= g'H⁻¹g · d'Hd,    so    -g'd <= g'H⁻¹g

while -g'd is at least w r of the row whose gain is 1. So g'H⁻¹g, which Newton's method computes, is at least the
smallest w r. For counts r is the mean of a row with a count of 0, and u by how much its z decreases; for Tweedie's
amounts, some of which are 0, r is mean^(2-q), and d'Hd has an additional factor of 2-q < 1.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from linnet._native import core
from linnet.fit.solvers.cholesky import Factor, elimination_order, factor
from linnet.fit.solvers.min_norm import null_space
from linnet.fit.solvers.newton import LARGEST_CURVATURE, newton
from linnet.fit.solvers.problem import Floats, Point, Problem
from linnet.fit.solvers.products import product
from linnet.fit.solvers.solution import Solution
from linnet.fit.solvers.start import starting_point
from linnet.inference.separation.one_column import intercept_alone, one_column_each
from linnet.inference.separation.recession import FAR, beyond, by_linear_program, ways

_MIN_SEPARATING_STEP = 1e-3  # in z: the last steps to an optimum are smaller
_DIVERGING_STEP = 0.1  # in z: under separation each Newton step moves rows by 1 or more
_MIN_PROBABILITY = 1e-9  # of any outcome, for a Hessian that is precise enough
_MAX_PROGRAM_ENTRIES = 2_000_000  # of a linear program
_MAX_NEWTON_PRODUCTS, _MAX_NEWTON_STEPS = 2e10, 10  # of a check of L-BFGS's solution, which takes some seconds
_RELATIVE_SLACK = 1e-6  # of the largest gain
_ROUNDED_SHARE = 1e-12  # of the sum of weights: the difference of two sums that should be equal
_RELATIVE_TRACE = 1e-6  # relative move of a column without a standard error: rounding moves others by less
_FAR_OUT = 1e9  # in z: the rows that gain least no longer contribute there
_MAX_COLUMNS_ONE_BY_ONE = 8  # up to this number, columns are added one by one, beyond it in doubled numbers
_MIN_RELATIVE_MOVE = 0.05  # of z, compared with the column that moves it most, to count as separating


@dataclass(frozen=True, slots=True)
class Separation:
    """The columns (by their indices in the core's order) that separate outputs, or all rows with a count of 0."""

    complete: bool
    columns: tuple[int, ...]
    outputs: tuple[int, ...]
    rows: int  # the number of rows whose probability tends to 1
    direction: Floats  # of theta


def separation(problem: Problem, solution: Solution) -> Separation | None:
    """Return the separation that keeps a problem from having a solution, or None. `solution`: the end of a solver."""
    free = _unpenalised(problem)
    if not free.any() or _has_optimum(problem, solution):
        return None
    by_intercept = intercept_alone(problem)
    if by_intercept is not None:
        return _proof(problem, by_intercept, _MIN_SEPARATING_STEP, _RELATIVE_SLACK)
    step, z = solution.step, None
    if free[: -problem.outputs].any():
        theta = np.where(free, solution.theta, 0.0)
        z = _moved(problem, theta)
        result = _sparse_proof(problem, theta, 0.0, 0.0) or _by_one_column(problem, free)
        if result is not None:
            return result
        if step is None and np.abs(z).max() > FAR:
            solution = _by_newton(problem, solution)
            step = solution.step
            if _has_optimum(problem, solution):
                return None
    moved = np.inf
    if step is not None:
        step = np.where(free, step, 0.0)
        moved = np.ptp(_moved(problem, step))
        result = (
            _sparse_proof(problem, step, _MIN_SEPARATING_STEP, _RELATIVE_SLACK)
            if moved > _MIN_SEPARATING_STEP
            else None
        )
        if result is not None:
            return result
    if z is None or np.abs(z).max() <= FAR:
        return None
    if moved > _DIVERGING_STEP or not solution.converged:  # L-BFGS has no step, and rounding may spoil Newton's
        result = _sparse_proof(problem, beyond(problem, solution, free), _MIN_SEPARATING_STEP, _RELATIVE_TRACE)
        if result is not None:
            return result
    if solution.converged or problem.columns.rows * problem.size > _MAX_PROGRAM_ENTRIES:
        return None
    d = by_linear_program(problem, free, _spread(problem))
    return None if d is None else _sparse_proof(problem, d, _MIN_SEPARATING_STEP, _RELATIVE_SLACK)


def ruled_out_by_sums(problem: Problem, solution: Solution) -> bool:
    """Return whether sums over the rows are enough to rule out a separation; finding one requires single rows."""
    free = _unpenalised(problem)
    if not free.any() or _has_optimum(problem, solution):
        return True
    if not free[: -problem.outputs].any():
        # then only the intercept can separate: if a class has no rows, or all counts are 0
        totals = problem.sums.targets
        smaller = totals.target
        if problem.head.has_probabilities:
            smaller = np.minimum(smaller, totals.weight - smaller)
        return bool((smaller > _ROUNDED_SHARE * totals.weight).all())
    low, high = problem.at(solution.theta, gradient=False).z_range
    return _min_probability(problem, low, high) > np.exp(-FAR) or _has_optimum(problem, _by_newton(problem, solution))


def _unpenalised(problem: Problem) -> NDArray[np.bool_]:
    """Return which parameters a separation can move: none with heads that allow no separation."""
    free = problem.free & (problem.ridge == 0)
    if problem.l1 is not None:
        free[: -problem.outputs] &= problem.l1.ravel() == 0
    return np.asarray(free & bool(problem.head.has_probabilities or problem.head.decay_power))


def endless(
    problem: Problem, point: Point, bread: Factor, aliased: NDArray[np.bool_], move: Floats, outer: Problem
) -> NDArray[np.bool_]:
    """Return which parameters of an outer problem are infinite because of a separation.

    Far out along its direction some rows no longer contribute, and the other rows do not determine these parameters.
    `bread`: the factored Hessian. `aliased`: parameters that stay at zero. `move`: the matrix from theta to outer
    parameters.
    """
    assert point.gradient is not None
    step = -bread.solve(point.gradient)
    gap = -0.5 * core.dot(point.gradient, step)
    solution = Solution(point.theta, np.nan, np.nan, 0, True, gap, aliased, step, point.z_range)
    result = None if _has_optimum(problem, solution) else separation(problem, replace(solution, step=None))
    if result is None:
        return np.zeros(outer.size, np.bool_)
    worst, best = _counted(problem, _gains(problem, _moved(problem, result.direction)))
    length = min(_FAR_OUT / float(best.max()), 0.1 / max(-float(worst.min()), 1e-300))  # rounding may move z by 0.1
    far_curvature = problem.at(point.theta + length * result.direction, curvature=True).curvature
    assert far_curvature is not None
    factored = factor(far_curvature, elimination_order(problem), aliased)
    ways = null_space(factored, far_curvature, factored.aliased & ~aliased)
    spread, outer_spread = (np.repeat(_spread(each), each.outputs)[:, None] for each in (problem, outer))
    largest = (spread * np.abs(ways)).max(axis=0)
    return np.asarray((outer_spread * np.abs(product(move, ways)) > _RELATIVE_TRACE * largest).any(axis=1))


def _by_one_column(problem: Problem, free: NDArray[np.bool_]) -> Separation | None:
    """Return the separation by columns each of which separates by itself, or None."""
    unpenalised = (free | ~problem.free).reshape(-1, problem.outputs)[:-1]
    directions = one_column_each(problem, np.asarray(unpenalised.all(axis=1)))
    if directions is None:
        return None
    direction, ways = directions
    proof = _proof(problem, direction, _MIN_SEPARATING_STEP, _RELATIVE_SLACK)
    if proof is None:
        return None
    ways[(ways == 1).any(axis=1)] *= ways[(ways == 1).any(axis=1)] == 1  # away from one class is towards the others
    columns, outputs = np.flatnonzero(ways.any(axis=1)), np.flatnonzero(ways.any(axis=0))
    return replace(proof, columns=tuple(columns.tolist()), outputs=tuple(outputs.tolist()))


def _has_optimum(problem: Problem, solution: Solution) -> bool:
    """Return whether the suboptimality estimated by Newton's method rules out a separation: see the top of the file."""
    low, high = solution.z_range
    if solution.step is None or not solution.converged:
        return False
    min_likelihood = _min_probability(problem, low, high) * problem.sums.targets.min_weight
    # twice the suboptimality, and twice that for rounding
    return bool(min_likelihood > _MIN_PROBABILITY and 4 * solution.gap < min_likelihood)


def _min_probability(problem: Problem, low: float, high: float) -> float:
    """Return a lower bound on the probability of an outcome, or on the mean of a count, for z from low to high."""
    if problem.head.coupled:
        return float(np.exp(low - high) / problem.outputs)
    if problem.head.decay_power:
        return float(np.exp(problem.head.decay_power * min(low, 0.0)))
    return float(0.5 * np.exp(-max(high, -low)))


def _by_newton(problem: Problem, solution: Solution) -> Solution:
    """Return the solution after some Newton steps, if they are affordable: steps of L-BFGS prove nothing."""
    if problem.size > LARGEST_CURVATURE or problem.columns.rows * problem.size**2 > _MAX_NEWTON_PRODUCTS:
        return solution
    return newton(
        problem, solution.theta, elimination_order(problem), max_iter=_MAX_NEWTON_STEPS, plain=starting_point(problem)
    )


def _moved(problem: Problem, d: Floats) -> Floats:
    """Return the amounts by which a direction moves each row's z, rows x outputs."""
    z = np.empty((problem.columns.rows, problem.outputs))
    problem.row_sums.predict(d, z)
    return z


def _sparse_proof(problem: Problem, d: Floats, least: float, slack: float) -> Separation | None:
    """Return the separation that a direction proves, by the biases alone if they suffice: a class may have no rows."""
    biases = np.where(np.arange(problem.size) < problem.size - problem.outputs, 0.0, d)
    for direction in (biases, d):
        proof = _proof(problem, direction, least, slack)
        if proof is not None:
            return _with_fewer_columns(problem, proof)
    return None


def _with_fewer_columns(problem: Problem, found: Separation) -> Separation:
    """Return the separation with the fewest columns that prove the same.

    Columns are added by how much they move z, first one by one, then in doubled numbers.
    """
    by_output = _apart(problem, found.direction)
    moved = (np.abs(by_output[:-1]) * _spread(problem)[:-1, None]).max(axis=1)
    order, count = np.argsort(-moved, kind="stable"), 1
    while count < len(found.columns):
        sparse = np.zeros_like(by_output)
        sparse[order[:count]], sparse[-1] = by_output[order[:count]], by_output[-1]
        if problem.intercept:
            sparse[-1] += _middle_biases(problem, _moved(problem, sparse.ravel()))
        proof = _proof(problem, sparse.ravel(), _MIN_SEPARATING_STEP, _RELATIVE_SLACK)
        if proof is not None and proof.complete == found.complete and proof.rows >= found.rows:
            return replace(found, columns=proof.columns, outputs=proof.outputs)
        count += 1 if count < _MAX_COLUMNS_ONE_BY_ONE else count
    return found


def _middle_biases(problem: Problem, z: Floats) -> Floats:
    """Return the biases, to be added to z, with which no row loses, with the largest margin; zeros if there are none.

    For classes that means b_a - b_b >= m_ab, the largest z_b - z_a of class a's rows. Then b_a - b_c is at least the
    length of the longest path from a to c, and these lengths, for any c, are a solution.
    """
    counted = slice(None) if problem.rows.weights is None else problem.rows.weights > 0
    z = z[counted]
    if problem.rows.labels is None:
        way = ways(problem)[counted]
        low = np.where(way == 1, -z, -np.inf).max(axis=0)
        high = np.where(way == -1, -z, np.inf).min(axis=0)
        possible = np.isfinite(low) & np.isfinite(high) & (np.abs(way) == 1).all(axis=0)
        return np.where(possible, np.where(possible, low, 0.0) / 2 + np.where(possible, high, 0.0) / 2, 0.0)
    own = problem.rows.labels[counted]
    ways_between = np.stack(
        [(z[own == a] - z[own == a][:, [a]]).max(axis=0, initial=-np.inf) for a in range(z.shape[1])]
    )
    for b in range(len(ways_between)):
        np.maximum(ways_between, ways_between[:, [b]] + ways_between[b], out=ways_between)
    return ways_between.mean(axis=1) if np.isfinite(ways_between).all() else np.zeros(len(ways_between))


def _apart(problem: Problem, d: Floats) -> Floats:
    """Return a direction as (columns + 1) x outputs; of classes relative to the median, as only differences matter."""
    by_output = d.reshape(-1, problem.outputs)
    return by_output if problem.rows.labels is None else by_output - np.median(by_output, axis=1, keepdims=True)


def _proof(problem: Problem, d: Floats, least: float, slack: float) -> Separation | None:
    """Return the separation that a direction proves, or None.

    It proves one if it moves some z by more than `least` and no row loses more than `slack` times the largest gain.
    """
    worst, best = _counted(problem, _gains(problem, _moved(problem, d)))
    largest = float(best.max())
    if largest <= least or float(worst.min()) < -slack * largest:
        return None
    moved = np.abs(_apart(problem, d)) * _spread(problem)[:, None]
    separates = moved > _MIN_RELATIVE_MOVE * (moved[:-1].max(initial=0.0) or moved.max())
    columns = tuple(int(j) for j in np.flatnonzero(separates.any(axis=1)) if j < problem.columns.count)
    complete, rows = bool((worst > slack * largest).all()), int((best > slack * largest).sum())
    concerned = separates.any(axis=0) | (
        complete and problem.rows.labels is not None
    )  # each class is separated from all others
    outputs = tuple(int(k) for k in np.flatnonzero(concerned))
    return Separation(complete, columns, outputs, rows, d)


def _gains(problem: Problem, z: Floats) -> tuple[Floats, Floats]:
    """Return the smallest and the largest gain of each row: the rise of z of its own class against that of another."""
    if problem.rows.labels is not None:
        own = z[np.arange(len(z)), problem.rows.labels]
        others = np.ma.masked_array(z, np.arange(problem.outputs) == problem.rows.labels[:, None])
        return own - others.max(axis=1).data, own - others.min(axis=1).data
    way = ways(problem)
    gains = np.where(np.abs(way) == 1, way * z, -np.abs(z))  # other rows must not move
    return gains.min(axis=1), gains.max(axis=1)


def _counted(problem: Problem, gains: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Return the gains of rows that have a weight."""
    worst, best = gains
    return gains if problem.rows.weights is None else (worst[problem.rows.weights > 0], best[problem.rows.weights > 0])


def _spread(problem: Problem) -> Floats:
    """Return the range of each dense column, to compare coefficients; 1 for other columns and the intercept."""
    spread = np.ones(problem.columns.count + 1)
    spread[: problem.columns.dense] = np.maximum(problem.table.spread(problem.rows.weights), 1e-300)
    return spread
