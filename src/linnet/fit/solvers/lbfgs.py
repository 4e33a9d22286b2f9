"""L-BFGS: quasi-Newton steps from a history of the last changes of theta and of the gradient.

Steps start from an approximate inverse of the Hessian (a preconditioner) instead of a multiple of the identity.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from linnet._native import core
from linnet.config import usable_threads
from linnet.fit.solvers.preconditioner import Precondition, Preconditioner
from linnet.fit.solvers.problem import Floats, Point, Problem
from linnet.fit.solvers.solution import Solution, Watch, ignore_progress
from linnet.fit.solvers.solver import Attempt, Solver

_MIN_HISTORY = 5  # pairs of changes, kept even if they are large
_MAX_HISTORY_BYTES = 100_000_000
_MIN_PARAMETERS_FOR_THREADS = 30_000
_RELATIVE_ROUNDING = 1e-14  # of the objective
_MAX_STALLED_ITERATIONS = 100  # iterations in which the suboptimality has not halved
_NEGLIGIBLE_GAIN = 1e-15  # of the objective: rounding


class SmoothObjective(ABC):
    """An objective of L-BFGS: a problem, or a function of vectors with an inner product of their own.

    `size`: the length of vectors. `dual_size`: the number of entries that are coordinates in row space, each of which
    is stored with its image (see core/objective/lbfgs_history.hpp); 0: the inner product is the usual one. `threads`:
    the largest number of threads; None: all.
    """

    size: int
    threads: int | None
    dual_size: int = 0

    @abstractmethod
    def at(self, theta: Floats) -> Point:
        """Return the objective, and the entries of the gradient that inner products with steps need."""

    def with_full_gradient(self, point: Point) -> Point:
        """Return the point with its full gradient."""
        return point

    def suboptimality_bound(self, point: Point, enough: float) -> float | None:
        """Return a bound on the objective minus its minimum, sharp where it is below `enough`.

        None if none is known.
        """
        return None


class Primal(SmoothObjective):
    """The objective of a problem, with a bound on its suboptimality where all weights are penalised."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self.size, self.threads = problem.size, problem.data.threads

    def at(self, theta: Floats) -> Point:
        """Return the objective and its gradient."""
        return self._problem.at(theta)

    def suboptimality_bound(self, point: Point, enough: float) -> float | None:
        """Return ½ g'P⁻¹g with P the Hessian of the penalty, or the objective itself where it cannot be negative.

        None if a weight has no penalty. Biases have none either: their gain is taken to be that of a Newton step.
        """
        problem = self._problem
        if not problem.penalised:
            return None
        most = point.value if problem.head.nonnegative else np.inf
        if most <= enough:
            return point.value
        assert point.gradient is not None
        weights = slice(problem.size - problem.outputs)
        squared, ridge = point.gradient[weights] ** 2, problem.ridge[weights]
        bound = 0.5 * float(np.divide(squared, ridge, out=squared, where=ridge > 0).sum())
        if bound > enough or not problem.intercept:
            return min(bound, most)
        return min(
            bound + bias_suboptimality(point.gradient[-problem.outputs :], self._bias_curvature(point.theta)), most
        )

    def _bias_curvature(self, theta: Floats) -> Floats:
        """Return Σ_i w_i c_ik of each output k, with curvatures c of the losses."""
        problem = self._problem
        if problem.has_rows:  # without squares of the table
            return np.asarray(problem.row_sums.curvature(problem.z(theta)).sum(axis=0))
        return np.asarray(problem.sums.curvature_diagonal(theta)[-1])


def bias_suboptimality(gradient: Floats, curvature: Floats) -> float:
    """Return the approximate gain of a step of the biases alone: ½ Σ_k g_k² / c_k."""
    return 0.5 * float((gradient[curvature > 0] ** 2 / curvature[curvature > 0]).sum())


class LBFGS(Solver):
    """For all problems whose objective has no corners."""

    names = ("lbfgs", "liblinear", "newton-cg", "sag", "saga", "lsqr", "sparse_cg")
    last = True

    def suits(self, attempt: Attempt) -> bool:
        """Return whether the objective has no corners."""
        return attempt.problem.is_smooth

    def solve(self, attempt: Attempt) -> Solution:
        """Run L-BFGS from the end of earlier solvers."""
        problem, done = attempt.problem, attempt.done
        precondition = Preconditioner(problem)
        solution = lbfgs(
            Primal(problem),
            precondition.reachable(attempt.start),
            precondition.at(attempt.null_start, first=True),
            max_iter=attempt.max_iter - done,
            before=problem.at(attempt.null_start, gradient=False).value,
            refresh=precondition.refresh,
            tolerance=attempt.tolerance,
            watch=lambda iteration, value, gap: attempt.watch(done + iteration, value, gap),
        )
        return replace(solution, iterations=done + solution.iterations)


def lbfgs(
    problem: SmoothObjective,
    start: Floats | Point,
    precondition: Precondition,
    *,
    history: int = 12,
    tolerance: float = 1e-12,
    gradient_tolerance: float = 0.0,
    max_iter: int = 1000,
    before: float | None = None,
    refresh: Callable[[Point, int], Precondition | None] | None = None,
    watch: Watch = ignore_progress,
) -> Solution:
    """Minimise from a theta, or from a point with its gradient.

    Iterations end where the suboptimality is at most `tolerance` times the objective, or times the gain so far if that
    is less: by the problem's bound or, without one, by the forecasts of three consecutive steps. They also end where
    no entry of the gradient is above `gradient_tolerance`.

    Parameters
    ----------
    problem : SmoothObjective
        The objective to minimise.
    start : array or Point
        The initial theta.
    precondition : callable
        Returns approximately the inverse Hessian times a vector.
    history : int, default=12
        The number of pairs of changes to keep; fewer where they are large.
    tolerance : float, default=1e-12
        The relative suboptimality to reach.
    gradient_tolerance : float, default=0.0
        The largest entry of the gradient at which to end.
    max_iter : int, default=1000
        The largest number of iterations.
    before : float or None, default=None
        The objective from which gains count; None: that of the start.
    refresh : callable or None, default=None
        Called with a point and the iteration; may return a better preconditioner.
    watch : callable, optional
        Called with iteration, objective and estimated suboptimality.
    """
    point = start if isinstance(start, Point) else problem.with_full_gradient(problem.at(start))
    del start  # or its vectors stay in memory
    before = point.value if before is None else before
    steps = _Steps(problem, precondition, history)
    small, best, since = 0, np.inf, 0
    aliased = np.zeros(problem.size, np.bool_)
    for iteration in range(max_iter + 1):
        assert point.gradient is not None
        step = steps.step(point.gradient)
        gain = -core.dot(point.gradient, step, problem.dual_size)
        norm = float(np.abs(point.gradient).max())
        gained, value = max(before - point.value, 0.0), abs(point.value)
        goal = tolerance * min(gained, value) + _NEGLIGIBLE_GAIN * max(gained, value)
        bound = problem.suboptimality_bound(point, goal)
        suboptimality = 0.5 * abs(gain) if bound is None else bound
        watch(iteration, point.value, suboptimality)
        small = small + 1 if 0.5 * gain <= goal else 0
        if suboptimality <= 0.5 * best:
            best, since = suboptimality, iteration
        finished = norm <= gradient_tolerance or (suboptimality <= goal if bound is not None else small == 3)
        if small > 0 and (iteration - since >= _MAX_STALLED_ITERATIONS or not gain > 0):
            finished = True  # at the limit of rounding
        if finished or iteration == max_iter or not gain > 0:
            converged = (finished or norm == 0) and np.isfinite(point.value)
            return Solution(point.theta, point.value, norm, iteration, converged, suboptimality, aliased)
        following = _search(problem, point, step, gain)
        if following is None:
            if steps.forget():  # try again from the preconditioner alone
                continue
            converged = 0.5 * gain <= goal
            return Solution(point.theta, point.value, norm, iteration, converged, suboptimality, aliased)
        following = problem.with_full_gradient(following)
        assert following.gradient is not None
        steps.replace(refresh(following, iteration + 1) if refresh else None)
        steps.remember(following.theta - point.theta, following.gradient - point.gradient)
        point = following
    raise AssertionError


class _Steps:
    """Quasi-Newton steps from the history of changes and the preconditioner."""

    def __init__(self, problem: SmoothObjective, precondition: Precondition, history: int) -> None:
        kind = (
            core.LbfgsHistoryF32 if problem.dual_size else core.LbfgsHistoryF64
        )  # images are known to single precision only
        pair_bytes = (8 if problem.dual_size else 16) * problem.size
        history = max(_MIN_HISTORY, min(history, _MAX_HISTORY_BYTES // pair_bytes))
        threads = usable_threads(problem.threads) if problem.size >= _MIN_PARAMETERS_FOR_THREADS else 1
        self._history = kind(problem.size, problem.dual_size, history, threads)
        self._dual_size = problem.dual_size
        self._precondition = precondition
        self._scale = 1.0

    def replace(self, precondition: Precondition | None) -> None:
        """Continue with a better preconditioner, if there is one."""
        self._precondition = precondition or self._precondition

    def remember(self, moved: Floats, bent: Floats) -> None:
        """Add a change of theta and of the gradient to the history."""
        curvature = core.dot(moved, bent, self._dual_size)
        if curvature > 1e-14 * core.dot(bent, bent, self._dual_size):
            self._history.push(moved, bent)
            unscaled = core.dot(bent, self._precondition(bent), self._dual_size)
            if unscaled > 0:  # else the preconditioner is only rounding, as for rows classified with certainty
                self._scale = curvature / unscaled

    def forget(self) -> bool:
        """Drop the history; return whether it had any entries."""
        had = len(self._history) > 0
        self._history.clear()
        self._scale = 1.0
        return had

    def step(self, gradient: Floats) -> Floats:
        """Return minus the approximate inverse Hessian times the gradient."""
        q = gradient.copy()
        self._history.forward(q)
        r = self._precondition(q)
        r *= self._scale
        self._history.backward(r)
        return np.negative(r, out=r)


def _search(problem: SmoothObjective, point: Point, step: Floats, gain: float) -> Point | None:
    """Return a point along the step that satisfies the Wolfe conditions, by interpolation and bisection, or None."""
    low, high, length = 0.0, np.inf, 1.0
    best = None
    for _ in range(40):
        trial = problem.at(point.theta + length * step)
        assert trial.gradient is not None
        descends = trial.value <= point.value - 1e-4 * length * gain + _RELATIVE_ROUNDING * abs(point.value)
        if not descends:
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
