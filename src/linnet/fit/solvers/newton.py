"""Newton's method: solve H d = -g, step to θ + d, and halve the step while the objective does not fall.

The aliased columns (see `cholesky`) are found once, at the start: later, rows may be classified with such certainty
that they no longer contribute to the Hessian, and a column that only these rows distinguish from others is not aliased
but diverges. It is held fixed while the others continue, unless its gradient shows that those rows are classified
wrongly: then, and where a step is nothing but rounding and does not descend, the Hessian is damped.

Near the optimum convergence is quadratic: after gains of b and g the next one is about next = g³/b². A step with the
Hessian of the previous point, whose relative error is about the square root of next/g, leaves a suboptimality of
next²/g. Where that is negligible the last step is of this kind, and its point needs no Hessian of its own. Gains say
little about coefficients along which the objective is nearly flat (of a column with few nonzero rows, all classified
with certainty), so convergence also requires that the steps forecast no further ones.
"""

from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from linnet._native import core
from linnet.errors import ConfigError
from linnet.fit.solvers.aliasing import Basis, find, is_weak
from linnet.fit.solvers.cached_hessian import CachedHessian
from linnet.fit.solvers.cholesky import ALIASED_PIVOT, Factor, elimination_order, factor
from linnet.fit.solvers.null_model import constant_loss
from linnet.fit.solvers.problem import Floats, Point, Problem
from linnet.fit.solvers.solution import Aliasing, Method, Solution, Watch, ignore_progress
from linnet.fit.solvers.solver import Attempt, Solver
from linnet.fit.solvers.start import starting_point

LARGEST_CURVATURE = 2500  # the largest number of parameters for which a Hessian is computed

_RELATIVE_ROUNDING = 1e-13  # of the objective: smaller changes are rounding
_LAST_STEP_GAIN = 1e-9  # of the objective: one more step squares it
_NEGLIGIBLE_GAIN = 1e-15  # of the objective
_MAX_SUBOPTIMALITY = 1e-17  # of the objective, after the last step
_MIN_DAMPING = 1e-12  # of the Hessian's diagonal, where rounding prevents descent; then 100 times that
_NEGLIGIBLE_STEP = 1e-8  # of the largest coefficient
_MAX_RELATIVE_LAST_STEP = 1e-3  # of the largest coefficient: a last step is normally shorter
_SLOWEST_RATE = 1e-2  # steps are assumed to shrink by at least this share
_START_ROW_STRIDES = 16, 8  # of blocks of rows, from which a start is computed, and then improved
_MIN_ROWS_FOR_SAMPLED_START = 50_000
_MAX_RELATIVE_CANCELLATION = 1e-6  # of the objective: a larger cost of rounded predictions gets a warning


def settled(step: Floats, last: Floats, theta: Floats, order: int = 1) -> NDArray[np.bool_]:
    """Return whether future steps are negligible, for one theta per row, if they shrink at the rate of the last two.

    `order`: 1 for linear convergence; 2 for quadratic, where the rate is squared.
    """
    size = np.abs(step)
    rate = np.divide(size, np.abs(last), out=np.ones_like(size), where=np.abs(last) > size)
    to_come = size * rate**order / np.maximum(1 - rate, _SLOWEST_RATE)
    return np.asarray(
        (to_come <= _NEGLIGIBLE_STEP * np.abs(theta).max(axis=-1, keepdims=True, initial=0.0)).all(axis=-1)
    )


class TwiceDifferentiable(Protocol):
    """An objective of Newton's method: anything with a value, a gradient and a Hessian."""

    def at(self, theta: Floats, *, gradient: bool = True, curvature: bool = False, row_stride: int = 1) -> Point:
        """Evaluate at theta; `row_stride`: estimate from about one row in `row_stride`."""


def newton(
    problem: TwiceDifferentiable,
    theta: Floats | Point,
    order: NDArray[np.intp],
    *,
    max_iter: int = 100,
    row_stride: int = 1,
    enough: float = _LAST_STEP_GAIN,
    factored: Factor | None = None,
    plain: Floats | None = None,
    short: bool = True,
    exact: bool = True,
    watch: Watch = ignore_progress,
) -> Solution:
    """Minimise from a theta, or from a point with gradient and Hessian.

    Parameters
    ----------
    problem : TwiceDifferentiable
        The objective to minimise.
    theta : array or Point
        The initial theta.
    order : array of shape (size,)
        The order of elimination: see `elimination_order`.
    max_iter : int
        The largest number of iterations.
    row_stride : int
        Sums are over one block of rows in `row_stride`, to find a start.
    enough : float
        The gain, relative to the objective, below which one last step is taken.
    factored : Factor or None
        The factor of the first Hessian, if it is known.
    plain : array or None
        A theta where all rows contribute to the Hessian, if that is not certain for the start.
    short : bool
        Whether the last step may use the previous Hessian, which leaves a relative error of about 1e-9; otherwise only
        rounding is left.
    exact : bool
        Whether the Hessian is exact. If not, convergence is linear, and iterations continue to full precision.
    watch : callable
        Called with iteration, objective and estimated suboptimality.
    """
    point = theta if isinstance(theta, Point) else problem.at(theta, curvature=True, row_stride=row_stride)
    assert point.curvature is not None
    factored = factor(point.curvature, order) if factored is None else factored
    if plain is not None and factored.aliased[np.diagonal(point.curvature) > 0].any():
        plain_point = problem.at(plain, curvature=True)
        assert plain_point.curvature is not None
        other = factor(plain_point.curvature, order)
        if (factored.aliased & ~other.aliased).any():  # columns that only seem to be aliased here
            point, factored = plain_point, other
    aliased = factored.aliased
    iterations, before, first, damping = 0, np.inf, point.value, 0.0
    moved, away = np.zeros_like(point.theta), None
    while True:
        assert point.gradient is not None
        step = -factored.solve(point.gradient)
        gain = -core.dot(point.gradient, step)  # twice what the quadratic model forecasts
        norm = float(np.abs(point.gradient).max(initial=0.0))
        watch(iterations, point.value, 0.5 * gain)
        held, total_gain = factored.aliased & ~aliased, gain
        if held.any():  # columns whose coefficients diverge
            assert point.curvature is not None
            total_gain += float(
                (point.gradient[held] ** 2 / np.maximum(np.diagonal(point.curvature)[held], 1e-300)).sum()
            )
            away = moved if away is None else away
            if total_gain <= _LAST_STEP_GAIN * abs(point.value):  # far enough out, with all others at the optimum
                gap, at = 0.5 * total_gain, point.theta
                return Solution(at, point.value, norm, iterations, False, gap, aliased, away, point.z_range)
        gained, size = abs(first - point.value), abs(point.value)
        if exact:
            finished = gain <= _NEGLIGIBLE_GAIN * (size + gained) or (
                gain <= enough * size
                and gain <= 1e-2 * before
                and (enough > _LAST_STEP_GAIN or not iterations or bool(settled(step, moved, point.theta, 2)))
            )
        else:
            finished = gain <= _MAX_SUBOPTIMALITY * gained or (
                gain <= _NEGLIGIBLE_GAIN * (size + gained) and gain >= 0.5 * before
            )
        if finished or iterations == max_iter or not np.isfinite(gain):
            end = point.theta + step if finished and _leads_down(problem, point, step, row_stride) else point.theta
            return Solution(end, point.value, norm, iterations, finished, 0.5 * gain, aliased, step, point.z_range)
        iterations += 1
        # 0.1: the forecast is rough
        if (
            short
            and exact
            and gain <= before < np.inf
            and (gain / before) ** 4 * gain <= 0.1 * _MAX_SUBOPTIMALITY * abs(point.value)
        ):
            trial = problem.at(point.theta + step, row_stride=row_stride)
            assert trial.gradient is not None
            step_there = -factored.solve(trial.gradient)
            rest = -core.dot(trial.gradient, step_there)
            descends = trial.value <= point.value + _RELATIVE_ROUNDING * abs(point.value)
            converged = rest >= 0 and rest * (rest / gain) <= _MAX_SUBOPTIMALITY * abs(trial.value)
            if descends and converged and settled(step_there, step, trial.theta):
                norm = float(np.abs(trial.gradient).max(initial=0.0))
                watch(iterations, trial.value, 0.5 * rest)
                end, gap = trial.theta + step_there, 0.5 * rest
                return Solution(end, trial.value, norm, iterations, True, gap, aliased, step_there, trial.z_range)
        before = gain
        del factored
        point = replace(point, curvature=None)  # the memory is needed for the next one
        following = _descend(problem, point, step, gain, row_stride)
        stays = following.theta is point.theta or total_gain > 2 * gain
        damping = max(100 * damping, _MIN_DAMPING) if stays else 0.0
        if damping > 1:
            return Solution(point.theta, point.value, norm, iterations, False, 0.5 * gain, aliased, step, point.z_range)
        point, moved = following, following.theta - point.theta
        assert point.curvature is not None
        if damping:
            point.curvature.reshape(-1)[:: len(order) + 1] *= 1 + damping  # the diagonal
        factored = factor(point.curvature, order, aliased)


def _leads_down(problem: TwiceDifferentiable, point: Point, step: Floats, row_stride: int) -> bool:
    """Return whether a last step of negligible gain may be taken.

    A long step may be only rounding, along directions whose curvature comes from rows classified with certainty alone,
    and misclassify these.
    """
    if np.abs(step).max(initial=0.0) <= _MAX_RELATIVE_LAST_STEP * np.abs(point.theta).max(initial=0.0):
        return True
    value = problem.at(point.theta + step, gradient=False, row_stride=row_stride).value
    return bool(value <= point.value + _RELATIVE_ROUNDING * abs(point.value))


def _descend(problem: TwiceDifferentiable, point: Point, step: Floats, gain: float, row_stride: int) -> Point:
    """Return the first point of a backtracking line search along the step, with gradient and Hessian.

    It is the old point if no step length descends.
    """
    assert point.gradient is not None
    length = 1.0
    trial = problem.at(point.theta + step, curvature=True, row_stride=row_stride)
    rounding = _RELATIVE_ROUNDING * abs(point.value)
    while not trial.value <= point.value - 1e-4 * length * gain + rounding:
        length /= 2
        if length < 1e-12:
            return problem.at(point.theta, curvature=True, row_stride=row_stride)
        trial = problem.at(point.theta + length * step, gradient=False, row_stride=row_stride)
    return trial if trial.curvature is not None else problem.at(trial.theta, curvature=True, row_stride=row_stride)


def newton_pays(rows: int, columns: int, outputs: int = 1, *, coupled: bool = False) -> bool:
    """Return whether about ten Hessians cost less than about a hundred gradients.

    `coupled`: the Hessian has blocks for all pairs of outputs, not for each output alone.
    """
    pairs = outputs * (outputs + 1) // 2 if coupled else outputs
    size = columns + 1
    curvatures = 8.0 * rows * size * size * pairs / 2
    gradients = 150.0 * rows * size * outputs * 2
    return curvatures <= max(5 * gradients, 2e10)  # 2e10: a fraction of a second


def hessian_affordable(problem: Problem) -> bool:
    """Return whether Newton's method pays for a problem, and its Hessian fits into memory."""
    return problem.size <= LARGEST_CURVATURE and newton_pays(
        problem.columns.rows, problem.columns.count, problem.outputs, coupled=problem.head.coupled
    )


class Newton(Solver):
    """For all problems whose Hessian is affordable."""

    names = ("newton-cholesky", "cholesky", "svd")
    last = True

    def suits(self, attempt: Attempt) -> bool:
        """Return whether Newton's method was requested, or pays."""
        return attempt.solver in self.names or (
            (attempt.solver == "auto" or attempt.wants_min_norm) and hessian_affordable(attempt.problem)
        )

    def solve(self, attempt: Attempt) -> Solution:
        """Run Newton's method, in a basis of other columns if some are aliased or nearly so."""
        problem, start = attempt.problem, attempt.initial
        if problem.size > 4 * LARGEST_CURVATURE:
            raise ConfigError(
                f"solver={attempt.solver!r} needs a matrix of {problem.size} x {problem.size} values: use 'auto'"
            )
        theta = attempt.start
        first: Floats | Point = theta
        dense = problem.columns.dense == problem.columns.count  # a sample of the rows has too few of rare levels
        if (
            start is None
            and problem.columns.rows >= _MIN_ROWS_FOR_SAMPLED_START
            and dense
            and not problem.head.quadratic
        ):
            first = _start_from_sample(problem, theta)
        plain = None if first is theta and start is None else theta if start is None else attempt.null_start
        order = elimination_order(problem)
        objective = CachedHessian(problem)
        points = [first if isinstance(first, Point) else objective.at(first, curvature=True)]  # popped below, as
        assert points[0].curvature is not None  # newton needs the memory
        factors = [factor(points[0].curvature, order)]
        if (
            problem.has_rows  # the search for a basis reads them
            and is_weak(problem, points[0].curvature, factors[0])
            and (basis := find(problem)) is not None
        ):
            points.clear()
            factors.clear()
            return replace(_in_basis(basis, attempt), hessian=objective.hessian)
        solution = newton(
            objective,
            points.pop(),
            order,
            factored=factors.pop(),
            max_iter=attempt.max_iter,
            plain=plain,
            exact=problem.head.convex,
            watch=attempt.watch,
        )
        return replace(
            solution,
            theta=_around_zero(problem, solution),
            method=Method.CHOLESKY,
            hessian=objective.hessian,
            aliasing=None if problem.has_rows else _aliasing_by_sums(problem, solution),
        )


class NewtonInBasis(Solver):
    """For aliased and nearly aliased columns, on which L-BFGS converges slowly."""

    last = True

    def suits(self, attempt: Attempt) -> bool:
        """Return whether columns are aliased or nearly so, if that can be determined in less time than L-BFGS takes."""
        return _has_weak_columns(attempt)

    def solve(self, attempt: Attempt) -> Solution | None:
        """Run Newton's method in a basis of other columns."""
        basis = find(attempt.problem)
        return None if basis is None else _in_basis(basis, attempt)


def _aliasing_by_sums(problem: Problem, solution: Solution) -> Aliasing | None:
    """Return the aliased columns that the factorisation has left out, except for first levels and constant columns."""
    k, columns = problem.outputs, problem.columns
    aliased = np.asarray(solution.aliased.reshape(-1, k)[:-1].all(axis=1))
    left_out = aliased.copy()
    starts = columns.dense + columns.sparse_columns + np.cumsum([0, *columns.levels])[:-1]
    left_out[starts] = False
    if not left_out.any():
        return None
    hessian = problem.at(solution.theta, curvature=True).curvature
    assert hessian is not None
    output = 0 if problem.fixed is None else int(np.flatnonzero(~problem.fixed)[0])
    block = hessian[output::k, output::k]
    squares, to_bias, weight = np.diagonal(block)[:-1], block[-1, :-1], float(block[-1, -1])
    left_out &= squares - (to_bias**2 / weight if weight else 0) > ALIASED_PIVOT * squares
    return Aliasing(int((~aliased).sum()), left_out, np.zeros_like(left_out)) if left_out.any() else None


def _around_zero(problem: Problem, solution: Solution) -> Floats:
    """Return the theta with the same predictions and the smallest penalty.

    One of several classes may have been left out as aliased, where the penalty is too small to distinguish them.
    """
    by_class = solution.theta.reshape(-1, problem.outputs)
    ridge = problem.ridge.reshape(-1, problem.outputs)
    alike = (ridge > 0).all(axis=1) & (ridge == ridge[:, :1]).all(axis=1)
    if not problem.head.coupled or problem.fixed is not None or not alike.any():
        return solution.theta
    return np.where(alike[:, None], by_class - by_class.mean(axis=1, keepdims=True), by_class).ravel()


def _has_weak_columns(attempt: Attempt) -> bool:
    """Return whether columns are aliased or nearly so, and no penalty compensates for it.

    It is examined only where that takes less time than L-BFGS, which would converge slowly and end too early.
    """
    problem = attempt.problem
    if not problem.has_rows or not hessian_affordable(problem):
        return False
    k, size = problem.outputs, problem.columns.count + 1
    output = 0 if problem.fixed is None else int(np.flatnonzero(~problem.fixed)[0])
    products = np.empty((size, size))
    weights = problem.row_sums.curvature(problem.z(attempt.null_start))[:, output]
    problem.row_sums.sandwich(np.ascontiguousarray(weights), products)
    products[np.diag_indices(size)] += problem.ridge.reshape(-1, k)[:, output]
    if not problem.intercept:
        products[-1], products[:, -1] = 0, 0
    single = replace(problem, outputs=1, fixed=None, l2=None, l1=None)
    return is_weak(single, products, factor(products, elimination_order(single)))


def _in_basis(basis: Basis, attempt: Attempt) -> Solution:
    """Run Newton's method in the columns of a basis, and return its solution in the columns of the problem."""
    problem, inner, start = basis.outer, basis.problem, attempt.initial
    first = starting_point(inner) if start is None else basis.inside(start)
    plain = None if start is None else starting_point(inner)
    order, exact = elimination_order(inner), problem.head.convex
    found = newton(basis, first, order, max_iter=attempt.max_iter, plain=plain, exact=exact, watch=attempt.watch)
    aliased = np.repeat(np.append(basis.aliased, False), problem.outputs)
    aliased.reshape(-1, problem.outputs)[np.append(basis.places, -1)] = found.aliased.reshape(-1, problem.outputs)
    theta, step = basis.outside(found.theta), None if found.step is None else basis.outside(found.step)
    solution = replace(found, theta=theta, step=step, aliased=aliased)
    solution = replace(solution, theta=_around_zero(problem, solution))
    aliasing = Aliasing(len(basis.places), basis.left_out, basis.inexact)
    if basis.made and problem.at(solution.theta, gradient=False).value - found.value > _MAX_RELATIVE_CANCELLATION * abs(
        found.value
    ):
        cancelling = np.isin(np.arange(problem.columns.count), basis.places[list(basis.made)])
        aliasing = replace(aliasing, cancelling=cancelling)
    return replace(solution, method=Method.CHOLESKY, aliasing=aliasing)


def _start_from_sample(problem: Problem, theta: Floats) -> Floats | Point:
    """Return the result of Newton's method on a sample of the rows, unless the model without columns is better."""
    order = elimination_order(problem)
    sample = newton(problem, theta, order, row_stride=_START_ROW_STRIDES[0], enough=1e-6, max_iter=20)
    if np.isfinite(sample.theta).all():
        sample = newton(problem, sample.theta, order, row_stride=_START_ROW_STRIDES[1], enough=np.inf)  # a single step
    if not np.isfinite(sample.theta).all():
        return theta
    point = problem.at(sample.theta, curvature=True)
    return point if point.value < constant_loss(problem, theta[-problem.outputs :]) else theta
