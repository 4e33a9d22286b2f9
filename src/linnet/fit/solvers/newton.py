"""Newton's method: solve H d = -g, step to θ + d, and halve the step while the objective does not fall.

The Hessian is factored in the order of the columns, with the first level of each category last: a column that is a
linear combination of those before it is aliased and gets a coefficient of zero, so that of a full set of levels the
first becomes the reference. Which columns those are is found once, at the start: later, rows may be classified with
such certainty that they no longer contribute to the Hessian, and a column that only these rows distinguish from others
is not aliased but diverges. It is held where it is while the others go on, unless its gradient says that those rows are
classified wrongly: then, and where a step is nothing but rounding and does not descend, the Hessian is damped.

Near the optimum convergence is quadratic: after gains of b and g the next one is about next = g³/b². A step with the
Hessian of the previous point, whose relative error is about the square root of next/g, leaves a suboptimality of
next²/g. Where that is negligible the last step is such a one, and its point needs no Hessian of its own. Gains say
little about coefficients along which the objective is nearly flat (those of a column with few nonzero rows, all
classified with certainty), so convergence also requires that the steps forecast no further ones.
"""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from linnet._native import core
from linnet.fit.solvers.problem import Floats, Point, Problem
from linnet.fit.solvers.solution import Solution, Watch, unwatched

_ALIASED_PIVOT = 1e-10  # relative to a column's own second derivative: below it the column is aliased
_MIN_PIVOT = 1e-14  # relative, of a column that is known not to be aliased: below it there is only rounding
_RELATIVE_ROUNDING = 1e-13  # of the objective: smaller changes are rounding
_LAST_STEP_GAIN = 1e-9  # of the objective: one more step squares it
_NEGLIGIBLE_GAIN = 1e-15  # of the objective
_MAX_SUBOPTIMALITY = 1e-17  # of the objective, after the last step
_MIN_DAMPING = 1e-12  # of the Hessian's diagonal, where rounding prevents descent; then 100 times that
_NEGLIGIBLE_STEP = 1e-8  # of the largest coefficient
_LONG_STEP = 1e-3  # of the largest coefficient: a last step is shorter
_SLOWEST_RATE = 1e-2  # steps are taken to shrink by this share, at least


@dataclass(frozen=True, slots=True)
class Factor:
    """The Cholesky factor of a symmetric matrix in a given order of its rows, scaled to a diagonal of ones."""

    lower: Floats
    kept: NDArray[np.uint8]
    order: NDArray[np.intp]
    scale: Floats

    def solve(self, right: Floats) -> Floats:
        """Solve for one right-hand side, or for one per row; aliased entries of the solution are zero."""
        x = np.ascontiguousarray(np.atleast_2d(right * self.scale)[:, self.order])
        core.cholesky_solve(self.lower, self.kept, x)
        out = np.empty_like(x)
        out[:, self.order] = x
        out *= self.scale
        return out if right.ndim == 2 else out[0]

    def pivots(self) -> Floats:
        """Squared pivot of each row: the share of its diagonal entry that the rows before it do not determine."""
        out = np.empty(len(self.order))
        out[self.order] = np.diagonal(self.lower) ** 2
        return out

    @property
    def aliased(self) -> NDArray[np.bool_]:
        """Which rows are linear combinations of others, and left out."""
        out = np.empty(len(self.order), np.bool_)
        out[self.order] = self.kept == 0
        return out


def factor(
    matrix: Floats,
    order: NDArray[np.intp],
    aliased: NDArray[np.bool_] | None = None,
    *,
    tolerance: float = _ALIASED_PIVOT,
) -> Factor:
    """Factor a positive semidefinite matrix. `aliased`: the rows to leave out, if they are known; else those whose
    squared pivot, relative to the diagonal, is below the tolerance.
    """
    diagonal = np.diagonal(matrix)
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    if aliased is not None:
        scale[aliased] = 0
    lower = np.ascontiguousarray(matrix[order[:, None], order])
    lower *= scale[order]
    lower *= scale[order][:, None]
    kept = np.empty(len(order), np.uint8)
    core.cholesky(lower, tolerance if aliased is None else _MIN_PIVOT, kept)
    return Factor(lower, kept, order, scale)


def settled(step: Floats, last: Floats, theta: Floats, order: int = 1) -> NDArray[np.bool_]:
    """Whether the steps to come are negligible, for one theta per row, if they shrink at the rate of the last two.

    `order`: 1 for linear convergence; 2 for quadratic, where the rate is squared.
    """
    size = np.abs(step)
    rate = np.divide(size, np.abs(last), out=np.ones_like(size), where=np.abs(last) > size)
    to_come = size * rate**order / np.maximum(1 - rate, _SLOWEST_RATE)
    return np.asarray(
        (to_come <= _NEGLIGIBLE_STEP * np.abs(theta).max(axis=-1, keepdims=True, initial=0.0)).all(axis=-1)
    )


def elimination_order(problem: Problem) -> NDArray[np.intp]:
    """The order in which parameters are eliminated: biases, numeric columns and levels, the first levels last."""
    k, columns = problem.outputs, problem.columns
    firsts, start = [], columns.dense + columns.sparse_columns
    for count in columns.levels:
        firsts.append(start)
        start += count
    last = np.zeros(columns.count + 1, np.bool_)
    last[firsts] = True
    by_column = np.concatenate([[columns.count], np.flatnonzero(~last[:-1]), np.flatnonzero(last)]).astype(np.intp)
    return np.asarray((by_column[:, None] * k + np.arange(k)).ravel(), np.intp)


class Objective(Protocol):
    """Anything with a value, a gradient and a Hessian."""

    def at(self, theta: Floats, *, gradient: bool = True, curvature: bool = False, row_stride: int = 1) -> Point:
        """Evaluate at theta; `row_stride`: from one block of rows in so many."""


class CachedHessian:
    """The objective of a problem; under a quadratic head, whose Hessian does not depend on theta, that is kept."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self.hessian: Floats | None = None  # once known, of a quadratic head

    def at(self, theta: Floats, *, gradient: bool = True, curvature: bool = False, row_stride: int = 1) -> Point:
        """Evaluate at theta; `row_stride`: from one block of rows in so many."""
        constant = curvature and row_stride == 1 and self._problem.head.quadratic
        if constant and self.hessian is not None:
            return replace(self._problem.at(theta, gradient=gradient), curvature=self.hessian)
        point = self._problem.at(theta, gradient=gradient, curvature=curvature, row_stride=row_stride)
        if constant:
            self.hessian = point.curvature
        return point


def newton(
    problem: Objective,
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
    watch: Watch = unwatched,
) -> Solution:
    """Minimise from a theta, or from a point with gradient and Hessian.

    Parameters
    ----------
    problem : Objective
        What is minimised.
    theta : array or Point
        Where to start.
    order : array of shape (size,)
        The order of elimination: see `elimination_order`.
    max_iter : int
        The largest number of iterations.
    row_stride : int
        Sums are over one block of rows in so many, to find a start.
    enough : float
        A gain, relative to the objective, below which one last step is taken.
    factored : Factor or None
        The factor of the first Hessian, if it is known.
    plain : array or None
        A theta where all rows contribute to the Hessian, if that is not certain of the start.
    short : bool
        Whether the last step may use the previous Hessian, which leaves an error of about 1e-9 of theta; else there is
        only rounding left.
    exact : bool
        Whether the Hessian is exact. If not, convergence is linear, and iterations go on to the last digit.
    watch : callable
        Called with iteration, objective and estimated suboptimality.
    """
    point = theta if isinstance(theta, Point) else problem.at(theta, curvature=True, row_stride=row_stride)
    assert point.curvature is not None
    factored = factor(point.curvature, order) if factored is None else factored
    if plain is not None and factored.aliased[np.diagonal(point.curvature) > 0].any():
        there = problem.at(plain, curvature=True)
        assert there.curvature is not None
        other = factor(there.curvature, order)
        if (factored.aliased & ~other.aliased).any():  # columns that only seem to be aliased here
            point, factored = there, other
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
            if total_gain <= _LAST_STEP_GAIN * abs(point.value):  # far enough out, and all others at their optimum
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


def _leads_down(problem: Objective, point: Point, step: Floats, row_stride: int) -> bool:
    """Whether a last step of negligible gain may be taken. A long one may be nothing but rounding, along directions
    with curvature only from rows classified with certainty, and classify these wrongly.
    """
    if np.abs(step).max(initial=0.0) <= _LONG_STEP * np.abs(point.theta).max(initial=0.0):
        return True
    value = problem.at(point.theta + step, gradient=False, row_stride=row_stride).value
    return bool(value <= point.value + _RELATIVE_ROUNDING * abs(point.value))


def aliased_parameters(point: Point, order: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Which parameters are aliased, by the Hessian at a point."""
    assert point.curvature is not None
    return factor(point.curvature, order).aliased


def _descend(problem: Objective, point: Point, step: Floats, gain: float, row_stride: int) -> Point:
    """The first point of a backtracking line search along the step, with gradient and Hessian; the old one if none
    descends.
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
