"""Separation: a direction in which coefficients may grow for ever, because it only makes what is right more certain.

Where the classes can be told apart by a line (completely, or all but rows that lie on it), the likelihood has no
maximum. Newton's steps then do not become small but tend to that direction d, and d proves it: no row's own class
loses by it, and some gain. So does any theta that tells the classes apart.
"""

from dataclasses import dataclass

import numpy as np

from linnet.fit.linear import Floats, Problem
from linnet.fit.newton import Solution, dependent, elimination_order, factor
from linnet.fit.solve import LARGEST_CURVATURE

_SMALL_STEP = 1e-3  # in z: a fit that has an optimum takes smaller last steps
_FAR = 10.0  # in z: without it no row has become nearly certain
_SLACK = 1e-6  # of the largest gain
_PART = 0.05  # a column takes part if it moves z by this part of what the first one does


@dataclass(frozen=True, slots=True)
class Separation:
    """The columns (in the core's order, the number of columns standing for the intercept) and outputs concerned."""

    complete: bool
    columns: tuple[int, ...]
    outputs: tuple[int, ...]
    rows: int  # that become ever more certain


def separation(problem: Problem, solution: Solution) -> Separation | None:
    """The separation that a solution without penalty ran into, if any."""
    free = problem.free & (problem.ridge == 0)
    if problem.l1 is not None:
        free[: -problem.outputs] &= problem.l1.ravel() == 0
    if not free.any() or problem.head.family not in ("bernoulli", "categorical", "poisson"):
        return None
    step = solution.step
    if free[: -problem.outputs].any():
        theta = np.where(free, solution.theta, 0.0)
        z = _moved(problem, theta)
        found = _proof(problem, theta, z, 0.0, 0.0)
        if found is not None:
            return found
        if step is None and np.abs(z).max() > _FAR:
            step = _newton_step(problem, solution.theta)
    if step is None:
        return None
    step = np.where(free, step, 0.0)
    if not step[: -problem.outputs].any() and 2 * np.abs(step).max() <= _SMALL_STEP:
        return None
    return _proof(problem, step, _moved(problem, step), _SMALL_STEP, _SLACK)


def _newton_step(problem: Problem, theta: Floats) -> Floats | None:
    """Where Newton's method would go on to, if that can be afforded."""
    if problem.size > LARGEST_CURVATURE:
        return None
    order = elimination_order(problem)
    lost = dependent(problem.at(problem.start(), curvature=True), order)
    point = problem.at(theta, curvature=True)
    assert point.gradient is not None
    assert point.curvature is not None
    return np.negative(factor(point.curvature, order, lost).solve(point.gradient))


def _moved(problem: Problem, d: Floats) -> Floats:
    """By how much a direction moves every row's z."""
    z = np.empty((problem.columns.rows, problem.outputs))
    problem.core.predict(d, z)
    return z


def _proof(problem: Problem, d: Floats, z: Floats, least: float, slack: float) -> Separation | None:
    """What a direction proves that moves some z by more than so much and may take a little from others."""
    gain = _gain(problem, z)
    if problem.weights is not None:
        gain = gain[problem.weights > 0]
    largest = float(gain.max())
    if largest <= least or float(gain.min()) < -slack * largest:
        return None
    by_output = d.reshape(-1, problem.outputs)
    if problem.labels is not None:  # moving all classes together changes nothing: those concerned leave the others
        by_output = by_output - np.median(by_output, axis=1, keepdims=True)
    moved = np.abs(by_output) * _spread(problem)[:, None]
    part = moved > _PART * moved[:-1].max() if len(moved) > 1 else moved > 0
    winning = gain > slack * largest
    columns = tuple(int(j) for j in np.flatnonzero(part.any(axis=1)) if j < problem.columns.count)
    outputs = tuple(int(k) for k in np.flatnonzero(part.any(axis=0)))
    return Separation(bool(winning.all()), columns, outputs, int(winning.sum()))


def _gain(problem: Problem, z: Floats) -> Floats:
    """By how much the direction raises each row's certainty; negative where it lowers it."""
    if problem.labels is not None:
        own = z[np.arange(len(z)), problem.labels]
        others = z.copy()
        others[np.arange(len(z)), problem.labels] = -np.inf
        return np.asarray(own - others.max(axis=1))
    assert problem.values is not None
    t = problem.values
    if problem.head.family == "poisson":  # rows with counts must stay where they are, those without may sink
        return np.asarray(np.where(t > 0, -np.abs(z), -z).min(axis=1))
    side = 2 * t - 1
    return np.asarray(np.where(side**2 == 1, side * z, -np.abs(z)).min(axis=1))


def _spread(problem: Problem) -> Floats:
    """How far each column reaches, so that coefficients can be compared; 1 for levels and the intercept."""
    spread = np.ones(problem.columns.count + 1)
    spread[: problem.columns.dense] = np.maximum(problem.columns.about()[1], 1e-300)
    return spread
