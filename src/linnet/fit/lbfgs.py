"""L-BFGS: quasi-Newton steps from the last changes of theta and gradient, starting from an approximate inverse of the
second derivatives (a preconditioner) instead of a multiple of the identity.
"""

from collections import deque
from collections.abc import Callable

import numpy as np

from linnet.fit.linear import Floats, Point, Problem
from linnet.fit.newton import Solution

Precondition = Callable[[Floats], Floats]

_MEMORY = 12
_ROUNDING = 1e-14
_NOTHING = 1e-15


def lbfgs(
    problem: Problem,
    theta: Floats,
    precondition: Precondition,
    *,
    tolerance: float = 1e-10,
    max_iter: int = 1000,
    refresh: Callable[[Point, int], Precondition | None] | None = None,
) -> Solution:
    """Minimise from a given theta until the gain in sight is below `tolerance` times the objective, or is nothing
    compared with what was gained.

    `refresh(point, iteration)` may hand over a better preconditioner.
    """
    point = first = problem.at(theta)
    changes: deque[tuple[Floats, Floats, float]] = deque(maxlen=_MEMORY)
    small = 0
    dependent = np.zeros(problem.size, np.bool_)
    for iteration in range(max_iter + 1):
        assert point.gradient is not None
        step = -_two_loops(point.gradient, changes, precondition)
        gain = -float(point.gradient @ step)
        norm = float(np.abs(point.gradient).max())
        if not gain > 0:  # rounding has the last word
            return Solution(point.theta, point.value, norm, iteration, norm == 0 or small > 0, abs(gain), dependent)
        small = small + 1 if gain <= tolerance * abs(point.value) + _NOTHING * (first.value - point.value) else 0
        if small == 3 or iteration == max_iter:
            return Solution(point.theta, point.value, norm, iteration, small == 3, 0.5 * gain, dependent)
        following = _search(problem, point, step, gain)
        if following is None:
            if changes:  # once more from the preconditioner alone
                changes.clear()
                continue
            return Solution(point.theta, point.value, norm, iteration, small > 0, 0.5 * gain, dependent)
        assert following.gradient is not None
        moved, bent = following.theta - point.theta, following.gradient - point.gradient
        curvature = float(moved @ bent)
        if curvature > 1e-14 * float(bent @ bent):
            changes.append((moved, bent, 1 / curvature))
        point = following
        better = refresh(point, iteration + 1) if refresh else None
        precondition = better or precondition
    raise AssertionError


def _two_loops(gradient: Floats, changes: deque[tuple[Floats, Floats, float]], precondition: Precondition) -> Floats:
    """The approximate inverse second derivative times the gradient."""
    q = gradient.copy()
    factors = []
    for moved, bent, inverse in reversed(changes):
        a = inverse * float(moved @ q)
        q -= a * bent
        factors.append(a)
    r = precondition(q)
    if changes:
        moved, bent, _ = changes[-1]
        r *= float(moved @ bent) / float(bent @ precondition(bent))
    for (moved, bent, inverse), a in zip(changes, reversed(factors), strict=True):
        r += (a - inverse * float(bent @ r)) * moved
    return r


def _search(problem: Problem, point: Point, step: Floats, gain: float) -> Point | None:
    """A point along step that fulfils the strong Wolfe conditions, by bisection and interpolation."""
    low, high, length = 0.0, np.inf, 1.0
    best = None
    for _ in range(40):
        trial = problem.at(point.theta + length * step)
        assert trial.gradient is not None
        fallen = trial.value <= point.value - 1e-4 * length * gain + _ROUNDING * abs(point.value)
        if not fallen:
            high = length
            # the minimum of the parabola through both values and the first slope, kept away from the ends
            curve = trial.value - point.value + length * gain
            length = np.clip(0.5 * gain * length**2 / curve, 0.1 * length, 0.5 * length) if curve > 0 else length / 2
            if not np.isfinite(length):
                length = 0.1 * high
            length = max(length, low + 0.1 * (high - low))
            continue
        best = trial
        slope = float(trial.gradient @ step)
        if slope < -0.9 * gain:  # still falling as steeply as at the start
            low = length
            length = 2 * length if high == np.inf else 0.5 * (low + high)
            continue
        return trial
    return best
