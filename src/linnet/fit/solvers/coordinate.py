"""Problems with an l1 penalty: Newton's method whose steps minimise the quadratic model plus the penalty.

The steps are on a working set of columns, which grows until no other column would improve the objective.

A parameter is zero exactly where its gradient is within the penalty: |∂objective/∂θ_j| <= l1_j. Coordinate descent
finds the parameters that are zero, but converges slowly to the others where columns are correlated; once the nonzero
parameters and their signs are known, they are the solution of linear equations.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from linnet._native import core
from linnet.fit.solvers.cached_hessian import CachedHessian
from linnet.fit.solvers.cholesky import Factor, elimination_order, factor
from linnet.fit.solvers.problem import Floats, Point, Problem
from linnet.fit.solvers.products import linear_output, product
from linnet.fit.solvers.solution import Method, Solution, Watch, ignore_progress
from linnet.fit.solvers.solver import Attempt, Solver

_MAX_PARAMETERS_WITHOUT_WORKING_SET = 1500
_MAX_WORKING_PARAMETERS = 5000  # solved for at once: a matrix of 200 MB
_FIRST_WORKING_COLUMNS = 100
_MAX_SWEEPS = 100  # of coordinate descent, before linear equations are solved
_MAX_TURNS = 30  # of coordinate descent followed by linear equations
_MIN_PIVOT = 1e-14  # relative: below it columns are aliased up to rounding
_MIN_EXCHANGE_PIVOT = 1e-4  # of an exchange of two parameters, relative to the largest pivot
_GAIN_PER_TOLERANCE = 1e-6  # relative gain of columns outside the working set that is negligible, per tolerance
_NEGLIGIBLE_GAIN = 1e-18  # of the objective


class CoordinateDescent(Solver):
    """For l1 penalties, and for weights that must not be negative."""

    last = True

    def suits(self, attempt: Attempt) -> bool:
        """Return whether the objective has corners; without rows in memory it must be solved in all columns at once.

        The requested solver does not matter: no other one can handle corners.
        """
        problem = attempt.problem
        return not problem.is_smooth and (problem.has_rows or problem.size <= _MAX_WORKING_PARAMETERS)

    def solve(self, attempt: Attempt) -> Solution:
        """Run coordinate descent, with Newton steps."""
        solution = coordinate(
            attempt.problem,
            attempt.start,
            tolerance=attempt.tolerance,
            max_iter=attempt.max_iter,
            watch=attempt.watch,
        )
        return replace(solution, method=Method.COORDINATE)


def coordinate(
    problem: Problem, theta: Floats, *, tolerance: float = 1e-12, max_iter: int = 1000, watch: Watch = ignore_progress
) -> Solution:
    """Minimise a problem with an l1 penalty, or with weights that must not be negative, from theta."""
    if problem.size <= _MAX_PARAMETERS_WITHOUT_WORKING_SET or not problem.has_rows:
        return _proximal_newton(problem, theta, tolerance, max_iter, watch)
    return _working_sets(problem, theta, tolerance, max_iter, watch)


def lasso(problem: Problem) -> Floats:
    """Return the l1 penalty of each parameter."""
    l1 = np.zeros(problem.size)
    if problem.l1 is not None:
        l1[: -problem.outputs] = problem.l1.ravel()
    return l1


def _proximal_newton(
    problem: Problem, theta: Floats, tolerance: float, max_iter: int, watch: Watch = ignore_progress
) -> Solution:
    l1 = lasso(problem)
    tolerance *= 1.0 if problem.head.convex else 1e-4  # else convergence is linear
    objective = CachedHessian(problem)
    point = objective.at(theta, curvature=True)
    total = first = point.value + core.dot(l1, np.abs(point.theta))
    iterations = 0
    while True:
        assert point.gradient is not None
        assert point.curvature is not None
        scale = abs(total) + abs(first - total)
        step = _model_step(problem, point, l1, 1e-7 * tolerance * scale)
        gain = -core.dot(point.gradient, step) - core.dot(l1, np.abs(point.theta + step) - np.abs(point.theta))
        norm = float(violation(problem, point.theta, point.gradient, l1).max())
        watch(iterations, total, max(gain, 0.0))
        finished = gain <= tolerance * scale
        if finished or iterations == max_iter or not np.isfinite(gain):
            end = _last(problem, point, step, l1, total) if finished else point.theta
            return Solution(end, total, norm, iterations, finished, max(gain, 0.0), np.zeros(problem.size, np.bool_))
        iterations += 1
        length, following = 1.0, None
        while following is None:
            moved = point.theta + length * step
            trial = objective.at(moved, curvature=length == 1.0, gradient=length == 1.0)
            value = trial.value + core.dot(l1, np.abs(moved))
            if value <= total - 1e-4 * length * gain + 1e-13 * abs(total):
                following = trial if length == 1.0 else objective.at(moved, curvature=True)
                total = value
            elif length < 1e-12:
                return Solution(point.theta, total, norm, iterations, False, gain, np.zeros(problem.size, np.bool_))
            length /= 2
        point = following


def _last(problem: Problem, point: Point, step: Floats, l1: Floats, total: float) -> Floats:
    """Return the end of a last step of negligible gain.

    It is solved to full precision, unless rounding makes the objective rise.
    """
    near = point.theta + step
    for end in (_best_of_signs(problem, point, near, l1), near):
        if problem.at(end, gradient=False).value + core.dot(l1, np.abs(end)) <= total + 1e-13 * abs(total):
            return end
    return point.theta


def _model_step(problem: Problem, point: Point, l1: Floats, tolerance: float) -> Floats:
    """Return the step to the minimum of a point's quadratic model plus the penalty.

    Coordinate descent runs until a sweep gains less than the tolerance; where that takes long, linear equations are
    solved for the nonzero parameters.
    """
    assert point.gradient is not None
    assert point.curvature is not None
    free, sign = problem.free.astype(np.uint8), problem.nonnegative.astype(np.uint8)
    end, slope, step = point.theta, point.gradient, np.empty(problem.size)
    for _ in range(_MAX_TURNS):
        rounds = core.lasso_step(point.curvature, slope, end, l1, free, sign, tolerance, _MAX_SWEEPS, step)
        end = _balanced(problem, end + step, l1)
        if rounds < _MAX_SWEEPS:
            break
        solved = _balanced(problem, _best_of_signs(problem, point, end, l1), l1)
        if not _modelled(point, solved, l1) <= _modelled(point, end, l1):
            break  # only rounding is left
        end = solved
        slope = point.gradient + product(point.curvature, end - point.theta)
        gains = violation(problem, end, slope, l1) ** 2 / np.maximum(np.diagonal(point.curvature), 1e-300)
        if gains.max(initial=0.0) <= tolerance:
            break
    return np.asarray(end - point.theta)


def _modelled(point: Point, end: Floats, l1: Floats) -> float:
    """Return the change of a point's quadratic model plus the penalty from the point to `end`."""
    assert point.gradient is not None
    assert point.curvature is not None
    step = end - point.theta
    rise = core.dot(point.gradient + 0.5 * product(point.curvature, step), step)
    return rise + core.dot(l1, np.abs(end) - np.abs(point.theta))


def _balanced(problem: Problem, theta: Floats, l1: Floats) -> Floats:
    """Return the theta with the same predictions and the smallest penalty.

    Adding a constant to all classes' weights of a column changes no prediction. Coordinate descent would get there only
    by very small steps.
    """
    k = problem.outputs
    by_class, l1, l2 = (part.reshape(-1, k)[:-1] for part in (theta, l1, problem.ridge))
    alike = (l1 > 0).all(axis=1) & (l1 == l1[:, :1]).all(axis=1) & (l2 == l2[:, :1]).all(axis=1)
    if not problem.head.coupled or problem.fixed is not None or problem.positive or not alike.any():
        return theta
    w, lasso, ridge = by_class[alike], l1[alike][:, :1], l2[alike][:, :1]
    # the derivative of Σ_k l1 |w_k - c| + l2 (w_k - c)² / 2 at c rises; between two weights it is a straight line in c
    rising = np.sort(w, axis=1)
    below = 2 * np.arange(k + 1) - k  # of c between weights: more of them below than above
    total = w.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        between = np.where(ridge > 0, (total - below * lasso / ridge) / k, np.nan)  # k l2 c + l1 below = l2 total
    ends = np.hstack([np.full((len(w), 1), -np.inf), rising, np.full((len(w), 1), np.inf)])
    fits = (between >= ends[:, :-1]) & (between <= ends[:, 1:])
    at_weight = np.where(
        (lasso * below[:-1] + ridge * (k * rising - total) <= 0)
        & (lasso * below[1:] + ridge * (k * rising - total) >= 0),
        rising,
        np.nan,
    )
    found = np.where(fits, between, np.nan)
    c = np.where(np.isnan(at_weight).all(axis=1), _first(found), _first(at_weight))
    out = theta.copy()
    out.reshape(-1, k)[:-1][alike] = w - c[:, None]
    return out


def _first(x: Floats) -> Floats:
    """Return the first entry of each row that is not NaN."""
    return np.asarray(x[np.arange(len(x)), np.argmin(np.isnan(x), axis=1)])


def _best_of_signs(problem: Problem, point: Point, end: Floats, l1: Floats) -> Floats:
    """Return the minimum of a point's quadratic model plus the penalty among thetas with the signs of `end`, or zeros.

    Nonzero parameters solve linear equations. On the way to the solution those whose signs would change are set to
    zero, and the equations of the others solved again. Along the null space of aliased columns the model is flat, and
    the penalty alone decides: it leads to where one more parameter is zero.
    """
    assert point.gradient is not None
    assert point.curvature is not None
    bound = (l1 > 0) | problem.nonnegative
    order = elimination_order(problem)
    while True:
        chosen = order[(problem.free & ((end != 0) | ~bound))[order]]
        h = point.curvature[np.ix_(chosen, chosen)]
        factored = factor(h, np.arange(len(chosen)), tolerance=_MIN_PIVOT)
        slope = (point.gradient + product(point.curvature, end - point.theta) + l1 * np.sign(end))[chosen]
        step, longest = np.zeros_like(end), 1.0
        aliased = np.flatnonzero(factored.aliased & bound[chosen])
        if len(aliased) > 1:
            fewer = _with_fewer_aliased(h, factored, slope, end[chosen], bound[chosen])
            if fewer is not None:
                end = end.copy()
                end[chosen] = fewer
                continue
        if len(aliased):
            along = -factored.solve(h[aliased[0]])
            along[aliased[0]] = 1
            steep, bent = core.dot(slope, along), core.dot(along, product(h, along))
            step[chosen] = -np.sign(steep) * along
            longest = abs(steep) / bent if bent > 0 else np.inf if steep else 0.0
        if not len(aliased) or longest < _to_crossing(end, step, bound)[0]:
            step[chosen], longest = -factored.solve(slope), 1.0
        length, first = _to_crossing(end, step, bound)
        if length >= longest:
            return end + step
        end = end + length * step
        end[first] = 0


def _with_fewer_aliased(
    h: Floats, factored: Factor, slope: Floats, end: Floats, bound: NDArray[np.bool_]
) -> Floats | None:
    """Return `end` with about one more zero per aliased parameter, from a single factorisation; None if there is none.

    Along an aliased parameter's direction of the null space the penalty alone decides, and leads to where one of the
    parameters is zero: that one, or one of those that it depends on, which it then replaces, as in the simplex method.
    With hundreds of aliased parameters, a factorisation for each would take a hundred times as long.
    """
    end, changed = end.copy(), False
    kept, aliased = np.flatnonzero(~factored.aliased), np.flatnonzero(factored.aliased & bound)
    null = -factored.solve(h[aliased])[:, kept]  # the change of the kept parameters as an aliased one grows by 1
    for row, j in enumerate(aliased):
        along = np.zeros_like(end)
        along[kept], along[j] = null[row], 1.0
        steep, bent = core.dot(slope, along), core.dot(along, product(h, along))
        step = -np.sign(steep) * along
        length, first = _to_crossing(end, step, bound)
        if not steep or not np.isfinite(length) or (bent > 0 and abs(steep) / bent < length):
            continue  # not aliased up to rounding
        end += length * step
        end[first], changed = 0.0, True
        if first == j:
            continue
        place = int(np.flatnonzero(kept == first)[0])
        pivot = null[row, place]
        if abs(pivot) < _MIN_EXCHANGE_PIVOT * np.abs(null[row]).max():
            break  # the rest would be rounding: factor again
        share = null[row + 1 :, place] / pivot
        null[row + 1 :] -= share[:, None] * null[row]
        null[row + 1 :, place] = -share
        kept[place] = j
    return end if changed else None


def _to_crossing(end: Floats, step: Floats, bound: NDArray[np.bool_]) -> tuple[float, int]:
    """Return the multiple of the step at which the first of the bound parameters becomes zero, and its index."""
    lengths = np.divide(-end, step, out=np.full_like(end, np.inf), where=bound & (step * end < 0))
    first = int(lengths.argmin())
    return float(lengths[first]), first


def violation(problem: Problem, theta: Floats, gradient: Floats, l1: Floats) -> Floats:
    """Return by how much each parameter violates the optimality conditions."""
    at_zero = np.maximum(np.abs(gradient) - l1, 0)
    at_zero = np.where(problem.nonnegative, np.maximum(-gradient - l1, 0), at_zero)
    elsewhere = np.abs(gradient + l1 * np.sign(theta))
    return np.where(problem.free, np.where(theta == 0, at_zero, elsewhere), 0.0)


def _working_sets(problem: Problem, theta: Floats, tolerance: float, max_iter: int, watch: Watch) -> Solution:
    """Solve for a working set of columns with all others fixed, then choose the next set.

    The working set holds all columns with nonzero weights and the same number of columns that violate the optimality
    conditions most, and grows with them; once there are more than can be solved for at once, those with the largest
    violations take turns. Iterations end when no column outside the set would improve the objective by itself.
    """
    k = problem.outputs
    l1 = lasso(problem)
    max_columns = max(1, _MAX_WORKING_PARAMETERS // k - 1)
    size = min(max_columns, _FIRST_WORKING_COLUMNS)
    theta = theta.copy()
    iterations, first, chosen, solved = 0, None, np.empty(0, np.intp), True
    while True:
        point = problem.at(theta)
        assert point.gradient is not None
        broken = violation(problem, theta, point.gradient, l1)
        total = point.value + core.dot(l1, np.abs(theta))
        first = total if first is None else first
        by_column = gains_of_columns(problem, theta, broken)
        gap = float(by_column.sum())
        watch(iterations, total, gap)
        out = np.ones(len(by_column), np.bool_)
        out[chosen] = False
        gain_goal = max(_GAIN_PER_TOLERANCE * tolerance, _NEGLIGIBLE_GAIN) * (abs(total) + abs(first - total))
        converged = gap <= gain_goal or (len(chosen) > 0 and solved and float(by_column[out].sum()) <= gain_goal)
        if converged or iterations >= max_iter or not np.isfinite(total):
            none = np.zeros(problem.size, np.bool_)
            return Solution(theta, total, float(broken.max()), iterations, converged, gap, none)
        used = np.abs(theta.reshape(-1, k)[:-1]).max(axis=1) > 0
        size = min(max_columns, max(size, 2 * int(used.sum())))
        order = np.lexsort((-by_column, ~used)) if used.sum() < size else np.argsort(-by_column, kind="stable")
        chosen = np.sort(order[:size])
        part = part_of(problem, theta, chosen)
        solution = _proximal_newton(part, _theta_of(problem, part, theta, chosen), tolerance, max_iter - iterations)
        solved = solution.converged
        iterations += max(1, solution.iterations)
        weights, biases = part.to_user(solution.theta)
        all_weights, _ = problem.to_user(theta)
        all_weights[chosen] = weights
        theta = problem.from_user(all_weights, biases)
        theta[~problem.free] = 0


def gains_of_columns(problem: Problem, theta: Floats, broken: Floats) -> Floats:
    """Return the approximate gain of each column by itself: ½ violation² / curvature, summed over outputs."""
    curved = problem.sums.curvature_diagonal(theta) + problem.ridge.reshape(-1, problem.outputs)
    with np.errstate(divide="ignore", invalid="ignore"):
        gains = 0.5 * broken.reshape(curved.shape) ** 2 / curved
    gains[broken.reshape(curved.shape) == 0] = 0
    return np.asarray(gains[:-1].sum(axis=1))


def part_of(problem: Problem, theta: Floats, chosen: NDArray[np.intp]) -> Problem:
    """Return the problem in the chosen columns; the contribution of the others to z becomes an offset."""
    weights, biases = problem.to_user(theta)
    weights[chosen] = 0
    offset = linear_output(problem.table, weights, np.zeros_like(biases), problem.data.threads)
    if problem.rows.offset is not None:
        offset += problem.rows.offset

    def of(penalty: Floats | None) -> Floats | None:
        return None if penalty is None else np.asarray(penalty).reshape(problem.columns.count, -1)[chosen]

    chosen_only = problem.with_rows(x=problem.table.take(chosen), offset=offset)
    return replace(chosen_only, l2=of(problem.l2), l1=of(problem.l1))


def _theta_of(problem: Problem, part: Problem, theta: Floats, chosen: NDArray[np.intp]) -> Floats:
    weights, biases = problem.to_user(theta)
    return part.from_user(weights[chosen], biases)
