"""Separation: a direction in which coefficients may grow for ever, because it only makes what is right more certain.

Where the classes can be told apart by a line (completely, or all but rows that lie on it), the likelihood has no
maximum. Newton's steps then do not become small but tend to that direction d, and d proves it: no row's own class
loses by it, and some gain.
"""

from dataclasses import dataclass

import numpy as np

from linnet.fit.linear import Floats, Problem
from linnet.fit.newton import Solution

_SMALL_STEP = 1e-3  # in z: a fit that has an optimum takes smaller last steps
_SLACK = 1e-6  # of the largest gain
_PART = 1e-3  # a column takes part if it moves z by this part of what the first one does


@dataclass(frozen=True, slots=True)
class Separation:
    """The columns (in the core's order, the number of columns standing for the intercept) and outputs concerned."""

    complete: bool
    columns: tuple[int, ...]
    outputs: tuple[int, ...]
    rows: int  # that become ever more certain


def separation(problem: Problem, solution: Solution) -> Separation | None:
    """The separation that a solution without penalty ran into, if any."""
    family = problem.head.family
    if solution.step is None or family not in ("bernoulli", "categorical", "poisson"):
        return None
    d = np.where(problem.ridge > 0, 0.0, solution.step)
    weights, biases = d[: -problem.outputs], d[-problem.outputs :]
    if not weights.any() and 2 * np.abs(biases).max() < _SMALL_STEP:
        return None
    z = np.empty((problem.columns.rows, problem.outputs))
    problem.core.predict(d, z)
    gain = _gain(problem, z)
    if problem.weights is not None:
        gain = gain[problem.weights > 0]
    largest = float(gain.max())
    if largest < _SMALL_STEP or float(gain.min()) < -_SLACK * largest:
        return None
    moved = np.abs(d.reshape(-1, problem.outputs)) * _spread(problem)[:, None]
    part = moved > _PART * moved[:-1].max() if len(moved) > 1 else moved > 0
    winning = gain > _SLACK * largest
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
