"""Newton's method: solve H d = -g, go there, and halve the way while the objective does not fall.

The second derivatives are factored in the order of the columns, levels' first ones last: a column that depends on those
before it is left out, with a coefficient of zero, so that of a full set of levels the first becomes the reference.
Which columns those are is found out once, where all rows still count: later on rows may have become so certain that
they no longer do, and a column that only they tell from others is not dependent but on its way to infinity. It is left
where it is while the others go on, unless its gradient says that the rows are certain of the wrong thing: then, and
where a step is made of roundings and leads nowhere, a little is added to the second derivatives.

Near the optimum each gain goes with the square of the one before: after gains of b and g the next is about g³/b². A
step from there with the second derivatives of the point before, which are off by about the square root of next/g,
leaves next²/g to gain. Where that is nothing the last step is such a one, and its point needs no second derivatives.
Gains tell little of coefficients that hardly bend the objective (of a column of few rows, all of them sure): an end
needs steps, too, that forecast no further ones.
"""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from linnet._native import core
from linnet.fit.solvers.problem import Floats, Point, Problem
from linnet.fit.solvers.solution import Solution, Watch, unwatched

_PIVOT = 1e-10  # of a column's own second derivative: below it the column depends on others
_LEAST_PIVOT = 1e-14  # the same for a column that is known not to: below it there is only rounding
_ROUNDING = 1e-13  # changes of the objective this small, in units of itself, are rounding
_ENOUGH = 1e-9  # a gain this small, in units of the objective, is squared by one more step
_NOTHING = 1e-15  # a gain this small is none
_LEAST_DAMPING = 1e-12  # of second derivatives, added where roundings lead nowhere; then 100 times that
_LEFT = 1e-17  # what may be left after the last step, likewise
_STILL = 1e-8  # of the largest coefficient: a way this short changes nothing
_LONG = 1e-3  # the same: a last step is shorter
_SLOWEST = 1e-2  # a step is this much shorter than the one before, at least


@dataclass(frozen=True, slots=True)
class Factor:
    """The Cholesky factor of a matrix in a given order of its rows."""

    lower: Floats
    kept: NDArray[np.uint8]
    order: NDArray[np.intp]
    scale: Floats

    def solve(self, right: Floats) -> Floats:
        """Solve for one right-hand side, or one a row."""
        x = np.ascontiguousarray(np.atleast_2d(right * self.scale)[:, self.order])
        core.cholesky_solve(self.lower, self.kept, x)
        out = np.empty_like(x)
        out[:, self.order] = x
        out *= self.scale
        return out if right.ndim == 2 else out[0]

    def pivots(self) -> Floats:
        """What is left of each row's diagonal, scaled to ones, that the rows before do not determine."""
        out = np.empty(len(self.order))
        out[self.order] = np.diagonal(self.lower) ** 2
        return out

    @property
    def aliased(self) -> NDArray[np.bool_]:
        """Which rows depend on others."""
        out = np.empty(len(self.order), np.bool_)
        out[self.order] = self.kept == 0
        return out


def factor(
    matrix: Floats, order: NDArray[np.intp], aliased: NDArray[np.bool_] | None = None, *, tolerance: float = _PIVOT
) -> Factor:
    """Factor a positive semidefinite matrix, scaled to a diagonal of ones. `aliased`: the rows that depend on others, if
    that is known; else those whose pivot is below the tolerance.
    """
    diagonal = np.diagonal(matrix)
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    if aliased is not None:
        scale[aliased] = 0
    lower = np.ascontiguousarray(matrix[order[:, None], order])
    lower *= scale[order]
    lower *= scale[order][:, None]
    kept = np.empty(len(order), np.uint8)
    core.cholesky(lower, tolerance if aliased is None else _LEAST_PIVOT, kept)
    return Factor(lower, kept, order, scale)


def settled(step: Floats, last: Floats, theta: Floats, order: int = 1) -> NDArray[np.bool_]:
    """Whether steps to come lead to no other theta, if each is shorter than the one before by what the last two tell.

    That is by their rate, or by its square where the method's `order` is 2. For a theta a row.
    """
    size = np.abs(step)
    rate = np.divide(size, np.abs(last), out=np.ones_like(size), where=np.abs(last) > size)
    to_come = size * rate**order / np.maximum(1 - rate, _SLOWEST)
    return np.asarray((to_come <= _STILL * np.abs(theta).max(axis=-1, keepdims=True, initial=0.0)).all(axis=-1))


def elimination_order(problem: Problem) -> NDArray[np.intp]:
    """Biases and numbers first, first levels last."""
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
    enough: float = _ENOUGH,
    factored: Factor | None = None,
    plain: Floats | None = None,
    short: bool = True,
    exact: bool = True,
    watch: Watch = unwatched,
) -> Solution:
    """Minimise from a given theta, or from a point with derivatives, whose factor may be known. `order`: of
    elimination. `row_stride`: on part of the rows, for a start. `plain`: a theta where all rows count, if the start may not
    be one. `short`: the last step may do with the second derivatives of the point before, which leaves some 1e-9 of
    theta; else there is only rounding left. `exact`: the second derivatives are; else each gain is only a part of the
    one before, and it goes on to the last.
    """
    point = theta if isinstance(theta, Point) else problem.at(theta, curvature=True, row_stride=row_stride)
    assert point.curvature is not None
    factored = factor(point.curvature, order) if factored is None else factored
    if plain is not None and factored.aliased[np.diagonal(point.curvature) > 0].any():
        there = problem.at(plain, curvature=True)
        assert there.curvature is not None
        other = factor(there.curvature, order)
        if (factored.aliased & ~other.aliased).any():  # columns here only seem to depend on others
            point, factored = there, other
    aliased = factored.aliased
    iterations, before, first, damping = 0, np.inf, point.value, 0.0
    moved, away = np.zeros_like(point.theta), None
    while True:
        assert point.gradient is not None
        step = -factored.solve(point.gradient)
        gain = -core.dot(point.gradient, step)  # twice what the quadratic model promises
        norm = float(np.abs(point.gradient).max(initial=0.0))
        watch(iterations, point.value, 0.5 * gain)
        held, left = factored.aliased & ~aliased, gain
        if held.any():  # columns that seem to have come far enough on their way to infinity
            assert point.curvature is not None
            left += float((point.gradient[held] ** 2 / np.maximum(np.diagonal(point.curvature)[held], 1e-300)).sum())
            away = moved if away is None else away
            if left <= _ENOUGH * abs(point.value):  # they have, and so have the others
                return Solution(
                    point.theta, point.value, norm, iterations, False, 0.5 * left, aliased, away, point.z_range
                )
        gained, size = abs(first - point.value), abs(point.value)
        if exact:
            finished = gain <= _NOTHING * (size + gained) or (
                gain <= enough * size
                and gain <= 1e-2 * before
                and (enough > _ENOUGH or not iterations or bool(settled(step, moved, point.theta, 2)))
            )
        else:
            finished = gain <= _LEFT * gained or (gain <= _NOTHING * (size + gained) and gain >= 0.5 * before)
        if finished or iterations == max_iter or not np.isfinite(gain):
            end = point.theta + step if finished and _leads_down(problem, point, step, row_stride) else point.theta
            return Solution(end, point.value, norm, iterations, finished, 0.5 * gain, aliased, step, point.z_range)
        iterations += 1
        # 0.1: a guess
        if short and exact and before < np.inf and (gain / before) ** 4 * gain <= 0.1 * _LEFT * abs(point.value):
            trial = problem.at(point.theta + step, row_stride=row_stride)
            assert trial.gradient is not None
            step_there = -factored.solve(trial.gradient)
            rest = -core.dot(trial.gradient, step_there)
            fallen = trial.value <= point.value + _ROUNDING * abs(point.value)
            little = rest >= 0 and rest * (rest / gain) <= _LEFT * abs(trial.value)
            if fallen and little and settled(step_there, step, trial.theta):
                norm = float(np.abs(trial.gradient).max(initial=0.0))
                watch(iterations, trial.value, 0.5 * rest)
                end = trial.theta + step_there
                return Solution(
                    end, trial.value, norm, iterations, True, 0.5 * rest, aliased, step_there, trial.z_range
                )
        before = gain
        del factored
        point = replace(point, curvature=None)  # the next point's needs the room
        following = _descend(problem, point, step, gain, row_stride)
        stays = following.theta is point.theta or left > 2 * gain
        damping = max(100 * damping, _LEAST_DAMPING) if stays else 0.0
        if damping > 1:
            return Solution(point.theta, point.value, norm, iterations, False, 0.5 * gain, aliased, step, point.z_range)
        point, moved = following, following.theta - point.theta
        assert point.curvature is not None
        if damping:
            point.curvature.reshape(-1)[:: len(order) + 1] *= 1 + damping  # the diagonal
        factored = factor(point.curvature, order, aliased)


def _leads_down(problem: Objective, point: Point, step: Floats, row_stride: int) -> bool:
    """Whether a last step, which promises next to nothing, may be taken: if it is long it may be made of roundings, in
    directions in which only rows that are certain bend the objective, and make them certain of the wrong thing.
    """
    if np.abs(step).max(initial=0.0) <= _LONG * np.abs(point.theta).max(initial=0.0):
        return True
    value = problem.at(point.theta + step, gradient=False, row_stride=row_stride).value
    return bool(value <= point.value + _ROUNDING * abs(point.value))


def aliased_parameters(point: Point, order: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Which parameters depend on others, by the second derivatives at a point."""
    assert point.curvature is not None
    return factor(point.curvature, order).aliased


def _descend(problem: Objective, point: Point, step: Floats, gain: float, row_stride: int) -> Point:
    """The next point on the way along step where the objective has fallen enough."""
    assert point.gradient is not None
    length = 1.0
    trial = problem.at(point.theta + step, curvature=True, row_stride=row_stride)
    rounding = _ROUNDING * abs(point.value)
    while not trial.value <= point.value - 1e-4 * length * gain + rounding:
        length /= 2
        if length < 1e-12:
            return problem.at(point.theta, curvature=True, row_stride=row_stride)
        trial = problem.at(point.theta + length * step, gradient=False, row_stride=row_stride)
    return trial if trial.curvature is not None else problem.at(trial.theta, curvature=True, row_stride=row_stride)
