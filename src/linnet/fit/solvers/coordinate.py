"""Problems with an l1 penalty: Newton's method whose steps minimise the quadratic model with the penalty in it, on a
working set of columns that grows until no column left out would help.

A parameter is zero exactly where its gradient is within the penalty: |∂objective/∂θ_j| <= l1_j. Going round the
coordinates finds out which those are, but is slow to find the last digits of the others where columns go together;
once it is known which are not zero, and their signs, these solve linear equations.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from linnet._native import core
from linnet.fit.solvers.newton import CachedHessian, elimination_order, factor
from linnet.fit.solvers.preconditioner import curvature, squares
from linnet.fit.solvers.problem import Floats, Point, Problem, linear_output
from linnet.fit.solvers.products import product
from linnet.fit.solvers.solution import Solution, Watch, unwatched

_LARGEST_WHOLE = 1500  # parameters of a problem without working sets
_LARGEST_SET = 5000  # parameters solved for together: a matrix of 200 MB
_FIRST_SET = 100  # columns
_ROUNDS, _TURNS = 100, 30  # of the coordinates, before equations are solved, and of both
_PIVOT = 1e-14  # of a diagonal of ones: below it columns depend on each other, but for rounding
_ENOUGH, _NOTHING = 1e-6, 1e-18  # of the tolerance, and of the objective: what columns left out may gain


def coordinate(
    problem: Problem, theta: Floats, *, tolerance: float = 1e-12, max_iter: int = 1000, watch: Watch = unwatched
) -> Solution:
    """Minimise a problem with an l1 penalty (or with parameters that may not be negative)."""
    if problem.size <= _LARGEST_WHOLE:
        return _proximal_newton(problem, theta, tolerance, max_iter, watch)
    return _working_sets(problem, theta, tolerance, max_iter, watch)


def lasso(problem: Problem) -> Floats:
    """The l1 penalty of every parameter."""
    l1 = np.zeros(problem.size)
    if problem.l1 is not None:
        l1[: -problem.outputs] = problem.l1.ravel()
    return l1


def _proximal_newton(
    problem: Problem, theta: Floats, tolerance: float, max_iter: int, watch: Watch = unwatched
) -> Solution:
    l1 = lasso(problem)
    tolerance *= 1.0 if problem.head.convex else 1e-4  # else a gain is only a part of the one before
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
    """Where a last step, which promises next to nothing, leads: to the last digit, unless that is made of roundings and
    the objective rises.
    """
    near = point.theta + step
    for end in (_best_of_signs(problem, point, near, l1), near):
        if problem.at(end, gradient=False).value + core.dot(l1, np.abs(end)) <= total + 1e-13 * abs(total):
            return end
    return point.theta


def _model_step(problem: Problem, point: Point, l1: Floats, tolerance: float) -> Floats:
    """The step to the minimum of a point's quadratic model with the penalty in it: round the coordinates until a round
    gains less than the tolerance; where that takes long, by way of the equations of those that are not zero.
    """
    assert point.gradient is not None
    assert point.curvature is not None
    free, sign = problem.free.astype(np.uint8), problem.nonnegative.astype(np.uint8)
    end, slope, step = point.theta, point.gradient, np.empty(problem.size)
    for _ in range(_TURNS):
        rounds = core.lasso_step(point.curvature, slope, end, l1, free, sign, tolerance, _ROUNDS, step)
        end = _balanced(problem, end + step, l1)
        if rounds < _ROUNDS:
            break
        solved = _balanced(problem, _best_of_signs(problem, point, end, l1), l1)
        if not _modelled(point, solved, l1) <= _modelled(point, end, l1):
            break  # made of roundings
        end = solved
        slope = point.gradient + product(point.curvature, end - point.theta)
        left = violation(problem, end, slope, l1) ** 2 / np.maximum(np.diagonal(point.curvature), 1e-300)
        if left.max(initial=0.0) <= tolerance:
            break
    return np.asarray(end - point.theta)


def _modelled(point: Point, end: Floats, l1: Floats) -> float:
    """By how much a point's quadratic model, with the penalty in it, rises on the way to an end."""
    assert point.gradient is not None
    assert point.curvature is not None
    step = end - point.theta
    rise = core.dot(point.gradient + 0.5 * product(point.curvature, step), step)
    return rise + core.dot(l1, np.abs(end) - np.abs(point.theta))


def _balanced(problem: Problem, theta: Floats, l1: Floats) -> Floats:
    """The same predictions with the least penalty: all classes' weights of a column may move together, and do so to
    where as many are penalised one way as the other. Coordinates by themselves get there only by very small steps.
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
    """The first number of each row that is one."""
    return np.asarray(x[np.arange(len(x)), np.argmin(np.isnan(x), axis=1)])


def _best_of_signs(problem: Problem, point: Point, end: Floats, l1: Floats) -> Floats:
    """The minimum of a point's quadratic model among those with the signs of one that is nearly there, or zero.

    Parameters that are not zero solve linear equations. On the way to the solution those whose signs would change are
    put to zero, and the others' equations solved again. Where columns depend on each other, the model does not bend
    along what they sum to nothing with: the penalty alone says how far to go, which is to where one more is zero.
    """
    assert point.gradient is not None
    assert point.curvature is not None
    bound = (l1 > 0) | problem.nonnegative
    order = elimination_order(problem)
    while True:
        chosen = order[(problem.free & ((end != 0) | ~bound))[order]]
        h = point.curvature[np.ix_(chosen, chosen)]
        factored = factor(h, np.arange(len(chosen)), tolerance=_PIVOT)
        slope = (point.gradient + product(point.curvature, end - point.theta) + l1 * np.sign(end))[chosen]
        step, longest = np.zeros_like(end), 1.0
        aliased = np.flatnonzero(factored.aliased & bound[chosen])
        if len(aliased):
            along = -factored.solve(h[aliased[0]])
            along[aliased[0]] = 1
            steep, bent = core.dot(slope, along), core.dot(along, product(h, along))
            step[chosen] = -np.sign(steep) * along
            longest = abs(steep) / bent if bent > 0 else np.inf if steep else 0.0
        if not len(aliased) or longest < _to_crossing(end, step, bound)[0]:
            step[chosen], longest = -factored.solve(slope), 1.0
        part, first = _to_crossing(end, step, bound)
        if part >= longest:
            return end + step
        end = end + part * step
        end[first] = 0


def _to_crossing(end: Floats, step: Floats, bound: NDArray[np.bool_]) -> tuple[float, int]:
    """How many steps there are to where the first of the bound parameters is zero, and which that is."""
    parts = np.divide(-end, step, out=np.full_like(end, np.inf), where=bound & (step * end < 0))
    first = int(parts.argmin())
    return float(parts[first]), first


def violation(problem: Problem, theta: Floats, gradient: Floats, l1: Floats) -> Floats:
    """By how much each parameter breaks the conditions of an optimum."""
    at_zero = np.maximum(np.abs(gradient) - l1, 0)
    at_zero = np.where(problem.nonnegative, np.maximum(-gradient - l1, 0), at_zero)
    elsewhere = np.abs(gradient + l1 * np.sign(theta))
    return np.where(problem.free, np.where(theta == 0, at_zero, elsewhere), 0.0)


def _working_sets(problem: Problem, theta: Floats, tolerance: float, max_iter: int, watch: Watch) -> Solution:
    """Solve for the columns that matter, the others held; then look again which those are.

    The working set holds all columns in use and as many again of those that break the conditions of an optimum most. It
    grows with them; once there are more than can be solved for together, those that break the conditions most take
    turns. It ends when what the columns left out could gain, each by itself, is nothing.
    """
    k = problem.outputs
    l1 = lasso(problem)
    most = max(1, _LARGEST_SET // k - 1)
    size = min(most, _FIRST_SET)
    theta = theta.copy()
    iterations, first, chosen, solved = 0, None, np.empty(0, np.intp), True
    while True:
        point = problem.at(theta)
        assert point.gradient is not None
        broken = violation(problem, theta, point.gradient, l1)
        total = point.value + core.dot(l1, np.abs(theta))
        first = total if first is None else first
        by_column = _gains(problem, theta, broken)
        left = float(by_column.sum())
        watch(iterations, total, left)
        out = np.ones(len(by_column), np.bool_)
        out[chosen] = False
        enough = max(_ENOUGH * tolerance, _NOTHING) * (abs(total) + abs(first - total))
        converged = left <= enough or (len(chosen) > 0 and solved and float(by_column[out].sum()) <= enough)
        if converged or iterations >= max_iter or not np.isfinite(total):
            none = np.zeros(problem.size, np.bool_)
            return Solution(theta, total, float(broken.max()), iterations, converged, left, none)
        used = np.abs(theta.reshape(-1, k)[:-1]).max(axis=1) > 0
        size = min(most, max(size, 2 * int(used.sum())))
        order = np.lexsort((-by_column, ~used)) if used.sum() < size else np.argsort(-by_column, kind="stable")
        chosen = np.sort(order[:size])
        part = part_of(problem, theta, chosen)
        found = _proximal_newton(part, _theta_of(problem, part, theta, chosen), tolerance, max_iter - iterations)
        solved = found.converged
        iterations += max(1, found.iterations)
        weights, biases = part.to_user(found.theta)
        all_weights, _ = problem.to_user(theta)
        all_weights[chosen] = weights
        theta = problem.from_user(all_weights, biases)
        theta[~problem.free] = 0


def _gains(problem: Problem, theta: Floats, broken: Floats) -> Floats:
    """About what each column by itself would gain where it breaks the conditions of an optimum: ½ slope² / curvature,
    which is the same in any units of the column.
    """
    curved = squares(problem, curvature(problem, problem.z(theta))) + problem.ridge.reshape(-1, problem.outputs)
    with np.errstate(divide="ignore", invalid="ignore"):
        gains = 0.5 * broken.reshape(curved.shape) ** 2 / curved
    gains[broken.reshape(curved.shape) == 0] = 0
    return np.asarray(gains[:-1].sum(axis=1))


def part_of(problem: Problem, theta: Floats, chosen: NDArray[np.intp]) -> Problem:
    """The problem in some of the columns; what the others contribute is an offset."""
    weights, biases = problem.to_user(theta)
    weights[chosen] = 0
    offset = linear_output(problem.columns, weights, np.zeros_like(biases), problem.threads)
    if problem.offset is not None:
        offset += problem.offset

    def of(penalty: Floats | None) -> Floats | None:
        return None if penalty is None else np.asarray(penalty).reshape(problem.columns.count, -1)[chosen]

    return replace(problem, columns=problem.columns.take(chosen), offset=offset, l2=of(problem.l2), l1=of(problem.l1))


def _theta_of(problem: Problem, part: Problem, theta: Floats, chosen: NDArray[np.intp]) -> Floats:
    weights, biases = problem.to_user(theta)
    return part.from_user(weights[chosen], biases)
