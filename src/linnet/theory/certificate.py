"""A proof that a logistic or softmax regression has reached its optimum.

At the optimum the model's expected feature sums equal the data's, class by class and column by column, but for the
penalty's gradient:

    Σ_i w_i p_ik x_ij - Σ_i w_i [y_i = k] x_ij = -∂penalty/∂W_jk

The left side is the gradient of the loss. The duality gap bounds what is left to gain: for every parameter it is
θ·∇L + Ω(θ) + Ω*(-∇L), with Ω = μ|θ| + λθ²/2 its penalty and Ω*(v) = max(|v| - μ, 0)² / (2λ) its conjugate, at the
intercepts that are best for these weights, plus what those gain. Where λ is zero there is no such bound but an
estimate: max(|∇L| - μ, 0) |θ| or, without any penalty, Newton's decrement ½ g'H⁻¹g.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.fit.solvers.cholesky import aliased_parameters, elimination_order, factor
from linnet.fit.solvers.coordinate import lasso, part_of
from linnet.fit.solvers.newton import newton
from linnet.fit.solvers.problem import Floats, Problem
from linnet.fit.solvers.start import starting_point

_LARGEST = 10_000  # parameters


@dataclass(frozen=True, slots=True)
class Segment:
    """The classes met on the way from one point to another: (class, from, to), the way being 0 to 1."""

    pieces: tuple[tuple[Any, float, float], ...]

    @property
    def convex(self) -> bool:
        """Whether no class is left and met again."""
        met = [name for name, _, _ in self.pieces]
        return len(met) == len(set(met))


@dataclass(frozen=True)
class Certificate:
    """Feature sums by class (or the second class of two) and column, the intercept last."""

    names: list[str]
    expected: Floats  # classes x columns
    observed: Floats
    penalty_gradient: Floats
    gap: float  # what is left to gain, in units of the objective
    is_bound: bool  # whether no more can be left; else the gap is an estimate
    objective: float
    scale: Floats  # of each column's sums: √(Σ w · Σ w x²), which no Σ w |x| exceeds
    segments: tuple[Segment, ...] = ()

    @property
    def mismatch(self) -> float:
        """Largest difference between expected and observed sums that the penalty does not explain, relative to the size
        of the column: the same in any units.
        """
        rest = np.abs(self.expected - self.observed + self.penalty_gradient)
        return float((rest / np.where(self.scale > 0, self.scale, 1)).max())

    def __str__(self) -> str:
        kind = "duality gap" if self.is_bound else "estimated gap"
        return (
            f"largest unexplained mismatch of feature sums {self.mismatch:.3g}, {kind} {self.gap:.3g} "
            f"at the objective {self.objective:.10g}"
        )


def certify(
    problem: Problem, theta: Floats, names: list[str], order: NDArray[np.intp], segments: tuple[Segment, ...]
) -> Certificate:
    """Certify a solved problem."""
    k = problem.outputs
    l1, ridge = lasso(problem), problem.ridge
    objective, slope = _at(problem, theta)
    target = problem.rows.values if problem.rows.labels is None else np.eye(k)[problem.rows.labels]
    assert target is not None
    weights = np.ones(len(target)) if problem.rows.weights is None else problem.rows.weights
    observed = np.empty(problem.size)
    problem.row_sums.gradient(weights[:, None] * target, observed)
    # sums over columns as the user has them: add back what the centers took off
    back = np.zeros((problem.columns.count + 1, k))
    back[: problem.columns.dense] = problem.center[:, None]
    sums, slopes = observed.reshape(-1, k), slope.reshape(-1, k)
    observed_sums = sums + back * sums[-1]
    slope_sums = slopes + back * slopes[-1]
    own = ridge * theta + l1 * np.sign(theta)
    inside = np.where(theta == 0, np.clip(-slope, -l1, l1), own)  # at zero any slope within l1 will do
    if problem.fixed is not None:  # slopes of all classes cancel: the class held at zero takes what the others leave
        by_class = inside.reshape(-1, k)
        by_class[:, problem.fixed] = 0
        by_class[:, problem.fixed] = -by_class.sum(axis=1, keepdims=True)
    squared = problem.row_sums.weighted_squares(weights[:, None])[:, 0]
    squared[: problem.columns.dense] += problem.center**2 * weights.sum()
    gap, is_bound = _left(problem, theta)
    places = np.append(order, problem.columns.count) if problem.intercept else order
    return Certificate(
        names,
        (observed_sums + slope_sums)[places].T,
        observed_sums[places].T,
        inside.reshape(-1, k)[places].T,
        gap,
        is_bound,
        objective,
        np.sqrt(weights.sum() * squared)[places],
        segments,
    )


def _at(problem: Problem, theta: Floats) -> tuple[float, Floats]:
    """The objective, and the slope of the loss alone, also where parameters are held at zero."""
    slope = np.empty(problem.size)
    loss, _ = problem.sums.at(theta, slope)
    return loss + float(0.5 * problem.ridge @ theta**2 + lasso(problem) @ np.abs(theta)), slope


def _left(problem: Problem, theta: Floats) -> tuple[float, bool]:
    """What is left to gain, and whether no more can be."""
    ridge, l1 = problem.ridge, lasso(problem)
    bare = problem.free & (ridge == 0) & (l1 == 0)
    bare[-problem.outputs :] = False
    gained, at = 0.0, theta
    if bare.any():
        gained = _decrement(problem, theta, bare)
    elif problem.intercept:
        at = _best_biases(problem, theta)
        gained = max(_at(problem, theta)[0] - _at(problem, at)[0], 0.0)  # less is rounding
    slope = _at(problem, at)[1]
    some = problem.free & ((ridge > 0) | (l1 > 0))
    gap = gained + _gap(at[some], slope[some], ridge[some], l1[some])
    return gap, not bare.any() and bool((ridge[some] > 0).all())


def _best_biases(problem: Problem, theta: Floats) -> Floats:
    """The same weights with the intercepts that are best for them."""
    weights, biases = problem.to_user(theta)
    rest = part_of(problem, theta, np.empty(0, np.intp))
    best = newton(
        rest, rest.from_user(weights[:0], biases), elimination_order(rest), plain=starting_point(rest), short=False
    )
    return problem.from_user(weights, best.theta)


def _decrement(problem: Problem, theta: Floats, bare: NDArray[np.bool_]) -> float:
    """½ g'H⁻¹g in the columns without a penalty and the intercept; infinite if they are too many to tell."""
    chosen = np.flatnonzero(bare.reshape(-1, problem.outputs).any(axis=1))
    rest = part_of(problem, theta, chosen)
    if rest.size > _LARGEST:
        return float("inf")
    weights, biases = problem.to_user(theta)
    point = rest.at(rest.from_user(weights[chosen], biases), curvature=True)
    order = elimination_order(rest)
    aliased = aliased_parameters(rest.at(starting_point(rest), curvature=True), order)
    assert point.gradient is not None
    assert point.curvature is not None
    return 0.5 * float(point.gradient @ factor(point.curvature, order, aliased).solve(point.gradient))


def _gap(theta: Floats, slope: Floats, ridge: Floats, l1: Floats) -> float:
    over = np.maximum(np.abs(slope) - l1, 0)
    conjugate = np.where(ridge > 0, over**2 / (2 * np.where(ridge > 0, ridge, 1)), over * np.abs(theta))
    each = theta * slope + 0.5 * ridge * theta**2 + l1 * np.abs(theta) + conjugate
    return float(np.abs(each).sum())


def walk(z_start: Floats, z_end: Floats, names: list[Any]) -> Segment:
    """The classes with the largest z on the way between two points: the upper envelope of straight lines."""
    slope = z_end - z_start
    pieces, at = [], 0.0
    here = int(np.lexsort((-slope, -z_start))[0])
    while True:
        lead = z_start[here] - z_start
        steeper = slope > slope[here]
        with np.errstate(divide="ignore", invalid="ignore"):
            meets = np.where(steeper, lead / (slope - slope[here]), np.inf)
        meets = np.where(meets >= at - 1e-15, meets, np.inf)
        following = int(np.lexsort((-slope, meets))[0])
        end = float(min(1.0, meets[following]))
        if end > at:
            pieces.append((names[here], at, end))
        if end >= 1.0:
            return Segment(tuple(pieces) or ((names[here], at, 1.0),))
        here, at = following, end
