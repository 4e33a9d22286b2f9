"""L-BFGS: quasi-Newton steps from the last changes of theta and gradient, starting from an approximate inverse of the
second derivatives (a preconditioner) instead of a multiple of the identity.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from linnet._native import core
from linnet.fit.solvers.preconditioner import Precondition
from linnet.fit.solvers.problem import Floats, Point
from linnet.fit.solvers.solution import Solution, Watch, unwatched

_LEAST_MEMORY = 5  # changes that are remembered even if they are large
_MEMORY_BYTES = 100_000_000
_LONG = 30_000  # parameters that pay for threads
_ROUNDING = 1e-14
_LONG_WAIT = 100  # iterations in which what is left did not halve
_NOTHING = 1e-15  # of the objective: what rounding leaves


class SmoothObjective(ABC):
    """What L-BFGS minimises: a problem, or one whose vectors have an inner product of their own.

    `size`: length of vectors. `dual_size`: how many of their entries are coordinates in row space, each of which is
    stored with its image (see core/objective/lbfgs_history.hpp); 0: the inner product is the usual one.
    `most_threads`: how many threads may be used.
    """

    size: int
    most_threads: int
    dual_size: int = 0

    @abstractmethod
    def at(self, theta: Floats) -> Point:
        """The objective and as much of its gradient as inner products with steps need."""

    def with_full_gradient(self, point: Point) -> Point:
        """The point with all of its gradient."""
        return point

    def suboptimality_bound(self, point: Point, enough: float) -> float | None:
        """A bound on the objective minus its minimum, sharp where it is below `enough`; None if none is known."""
        return None


def lbfgs(
    problem: SmoothObjective,
    start: Floats | Point,
    precondition: Precondition,
    *,
    memory: int = 12,
    tolerance: float = 1e-12,
    gradient_tolerance: float = 0.0,
    max_iter: int = 1000,
    before: float | None = None,
    refresh: Callable[[Point, int], Precondition | None] | None = None,
    watch: Watch = unwatched,
) -> Solution:
    """Minimise from a theta, or from a point with its gradient, until no more than `tolerance` times the objective is
    left, or times what was gained if that is less: by the problem's bound or, where it has none, by what three steps on
    end promise; or until no entry of the gradient is above `gradient_tolerance`.

    `before`: the objective that gains count from, if not that of the start. `memory`: of so many changes, fewer if they
    are large. `refresh(point, iteration)` may hand over a better preconditioner.
    """
    point = start if isinstance(start, Point) else problem.with_full_gradient(problem.at(start))
    del start  # which would keep its vectors
    before = point.value if before is None else before
    steps = _Steps(problem, precondition, memory)
    small, least, since = 0, np.inf, 0
    aliased = np.zeros(problem.size, np.bool_)
    for iteration in range(max_iter + 1):
        assert point.gradient is not None
        step = steps.step(point.gradient)
        gain = -core.dot(point.gradient, step, problem.dual_size)
        norm = float(np.abs(point.gradient).max())
        gained, value = max(before - point.value, 0.0), abs(point.value)
        enough = tolerance * min(gained, value) + _NOTHING * max(gained, value)
        bound = problem.suboptimality_bound(point, enough)
        left = 0.5 * abs(gain) if bound is None else bound
        watch(iteration, point.value, left)
        small = small + 1 if 0.5 * gain <= enough else 0
        if left <= 0.5 * least:
            least, since = left, iteration
        finished = norm <= gradient_tolerance or (left <= enough if bound is not None else small == 3)
        if small > 0 and (iteration - since >= _LONG_WAIT or not gain > 0):
            finished = True  # rounding has the last word
        if finished or iteration == max_iter or not gain > 0:
            return Solution(point.theta, point.value, norm, iteration, finished or norm == 0, left, aliased)
        following = _search(problem, point, step, gain)
        if following is None:
            if steps.forget():  # once more from the preconditioner alone
                continue
            return Solution(point.theta, point.value, norm, iteration, 0.5 * gain <= enough, left, aliased)
        following = problem.with_full_gradient(following)
        assert following.gradient is not None
        steps.replace(refresh(following, iteration + 1) if refresh else None)
        steps.remember(following.theta - point.theta, following.gradient - point.gradient)
        point = following
    raise AssertionError


class _Steps:
    """Steps from gradients: the changes so far, and the preconditioner for what they do not know."""

    def __init__(self, problem: SmoothObjective, precondition: Precondition, memory: int) -> None:
        kept = core.NarrowChanges if problem.dual_size else core.Changes  # images are known to single precision only
        each = (8 if problem.dual_size else 16) * problem.size
        memory = max(_LEAST_MEMORY, min(memory, _MEMORY_BYTES // each))
        threads = problem.most_threads if problem.size >= _LONG else 1
        self._changes = kept(problem.size, problem.dual_size, memory, threads)
        self._dual_size = problem.dual_size
        self._precondition = precondition
        self._scale = 1.0

    def replace(self, precondition: Precondition | None) -> None:
        """Go on with a better preconditioner, if there is one."""
        self._precondition = precondition or self._precondition

    def remember(self, moved: Floats, bent: Floats) -> None:
        """Take note of a change of theta and of the gradient."""
        curvature = core.dot(moved, bent, self._dual_size)
        if curvature > 1e-14 * core.dot(bent, bent, self._dual_size):
            self._changes.push(moved, bent)
            unscaled = core.dot(bent, self._precondition(bent), self._dual_size)
            if unscaled > 0:  # not where the preconditioner, of rows that are certain, is nothing but rounding
                self._scale = curvature / unscaled

    def forget(self) -> bool:
        """Go back to the preconditioner alone; False: there was nothing else."""
        had = len(self._changes) > 0
        self._changes.clear()
        self._scale = 1.0
        return had

    def step(self, gradient: Floats) -> Floats:
        """The way to go: minus the approximate inverse second derivative times the gradient."""
        q = gradient.copy()
        self._changes.forward(q)
        r = self._precondition(q)
        r *= self._scale
        self._changes.backward(r)
        return np.negative(r, out=r)


def _search(problem: SmoothObjective, point: Point, step: Floats, gain: float) -> Point | None:
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
        slope = core.dot(trial.gradient, step, problem.dual_size)
        if slope < -0.9 * gain:  # still falling as steeply as at the start
            low = length
            length = 2 * length if high == np.inf else 0.5 * (low + high)
            continue
        return trial
    return best
