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
from linnet.fit.linear import Floats, Point, Problem, linear_output
from linnet.fit.newton import Solution, Watch, elimination_order, factor, unwatched

_LARGEST_SET = 1500  # parameters solved for together
_FIRST_SET = 100


def coordinate(
    problem: Problem, theta: Floats, *, tolerance: float = 1e-12, max_iter: int = 1000, watch: Watch = unwatched
) -> Solution:
    """Minimise a problem with an l1 penalty (or with parameters that may not be negative)."""
    if problem.size <= _LARGEST_SET:
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
    free = problem.free.astype(np.uint8)
    sign = problem.nonnegative.astype(np.uint8)
    tolerance *= 1.0 if problem.head.convex else 1e-4  # else a gain is only a part of the one before
    point = problem.at(theta, curvature=True)
    total = first = point.value + float(l1 @ np.abs(point.theta))
    step = np.empty(problem.size)
    iterations = 0
    while True:
        assert point.gradient is not None
        assert point.curvature is not None
        scale = abs(total) + abs(first - total)
        core.lasso_step(
            point.curvature, point.gradient, point.theta, l1, free, sign, 1e-7 * tolerance * scale, 10_000, step
        )
        gain = -float(point.gradient @ step + l1 @ (np.abs(point.theta + step) - np.abs(point.theta)))
        norm = float(violation(problem, point.theta, point.gradient, l1).max())
        watch(iterations, total, max(gain, 0.0))
        finished = gain <= tolerance * scale
        if finished or iterations == max_iter or not np.isfinite(gain):
            end = _last_digits(problem, point, point.theta + step, l1) if finished else point.theta
            return Solution(end, total, norm, iterations, finished, max(gain, 0.0), np.zeros(problem.size, np.bool_))
        iterations += 1
        length, following = 1.0, None
        while following is None:
            moved = point.theta + length * step
            trial = problem.at(moved, curvature=length == 1.0, gradient=length == 1.0)
            value = trial.value + float(l1 @ np.abs(moved))
            if value <= total - 1e-4 * length * gain + 1e-13 * abs(total):
                following = trial if length == 1.0 else problem.at(moved, curvature=True)
                total = value
            elif length < 1e-12:
                return Solution(point.theta, total, norm, iterations, False, gain, np.zeros(problem.size, np.bool_))
            length /= 2
        point = following


def _last_digits(problem: Problem, point: Point, end: Floats, l1: Floats) -> Floats:
    """The minimum of the quadratic model of a point, given nearly: with the same zeros and signs, if it has them."""
    assert point.gradient is not None
    assert point.curvature is not None
    sought = problem.free & ((end != 0) | ((l1 == 0) & ~problem.nonnegative))
    slope = point.gradient + point.curvature @ (end - point.theta) + l1 * np.sign(end)
    order = elimination_order(problem)
    chosen = order[sought[order]]
    exact = end.copy()
    exact[chosen] -= factor(point.curvature[np.ix_(chosen, chosen)], np.arange(len(chosen))).solve(slope[chosen])
    kept = (np.sign(exact) == np.sign(end)) | (l1 == 0) & ~problem.nonnegative
    return exact if kept.all() else end


def violation(problem: Problem, theta: Floats, gradient: Floats, l1: Floats) -> Floats:
    """By how much each parameter breaks the conditions of an optimum."""
    at_zero = np.maximum(np.abs(gradient) - l1, 0)
    at_zero = np.where(problem.nonnegative, np.maximum(-gradient - l1, 0), at_zero)
    elsewhere = np.abs(gradient + l1 * np.sign(theta))
    return np.where(problem.free, np.where(theta == 0, at_zero, elsewhere), 0.0)


def _working_sets(problem: Problem, theta: Floats, tolerance: float, max_iter: int, watch: Watch) -> Solution:
    """Solve for the columns that matter, the others held; then look again which those are."""
    k = problem.outputs
    l1 = lasso(problem)
    most = max(1, _LARGEST_SET // k - 1)
    size = min(most, _FIRST_SET)
    theta = theta.copy()
    steepest = 0.0
    iterations = 0
    dependent = np.zeros(problem.size, np.bool_)
    for _ in range(max_iter):
        point = problem.at(theta)
        assert point.gradient is not None
        broken = violation(problem, theta, point.gradient, l1)
        worst = float(broken.max())
        steepest = max(steepest, float(np.abs(point.gradient).max()))
        total = point.value + float(l1 @ np.abs(theta))
        watch(iterations, total, worst * float(np.abs(theta).sum()))
        if worst <= max(1e-3 * tolerance**0.5, 1e-9) * steepest:
            return Solution(theta, total, worst, iterations, True, worst * float(np.abs(theta).sum()), dependent)
        by_column = broken.reshape(-1, k)[:-1].max(axis=1)
        used = np.abs(theta.reshape(-1, k)[:-1]).max(axis=1) > 0
        size = min(most, max(size, 2 * int(used.sum())))
        order = np.lexsort((-by_column, ~used)) if used.sum() <= size else np.argsort(-by_column)
        chosen = np.sort(order[:size])
        part = part_of(problem, theta, chosen)
        solved = _proximal_newton(part, _theta_of(problem, part, theta, chosen), tolerance, max_iter)
        iterations += max(1, solved.iterations)
        weights, biases = part.to_user(solved.theta)
        all_weights, _ = problem.to_user(theta)
        all_weights[chosen] = weights
        theta = problem.from_user(all_weights, biases)
        theta[~problem.free] = 0
    return Solution(theta, total, worst, iterations, False, worst * float(np.abs(theta).sum()), dependent)


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
