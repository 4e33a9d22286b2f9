"""A proof that a logistic or softmax regression has reached its optimum.

At the optimum the model's expected feature sums equal those of the data, class by class and column by column, up to the
gradient of the penalty:

    Σ_i w_i p_ik x_ij - Σ_i w_i [y_i = k] x_ij = -∂penalty/∂W_jk

The left side is the gradient of the loss. The duality gap bounds how far the objective is above its minimum: it is the
sum over parameters of θ·∇L + Ω(θ) + Ω*(-∇L), where Ω = μ|θ| + λθ²/2 is the penalty and Ω*(v) = max(|v| - μ, 0)² / (2λ)
its conjugate, at the best intercepts for these weights, plus the decrease from moving to these intercepts. Where λ is
zero there is no bound but an estimate: max(|∇L| - μ, 0) |θ| or, without any penalty, Newton's decrement ½ g'H⁻¹g.
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

_MAX_PARAMETERS = 10_000  # for the Hessian of Newton's decrement


@dataclass(frozen=True, slots=True)
class Segment:
    """The classes predicted along the line between two points.

    Parameters
    ----------
    pieces : tuple of (class, start, end)
        The predicted classes in order, with the parts of the line where each is predicted; 0 is the first point, 1 the
        second.
    """

    pieces: tuple[tuple[Any, float, float], ...]

    @property
    def convex(self) -> bool:
        """Whether no class appears twice, as it must be for convex decision regions."""
        names = [name for name, _, _ in self.pieces]
        return len(names) == len(set(names))


@dataclass(frozen=True)
class Certificate:
    """Expected and observed feature sums of a fitted model, and a bound on its distance from the optimum.

    Feature sums have one row per class (for two classes one row, of the second) and one column per coefficient, the
    intercept last.

    Parameters
    ----------
    names : list of str
        The names of the columns.
    expected : array of shape (classes, columns)
        Σ_i w_i p_ik x_ij, by the model's probabilities.
    observed : array of shape (classes, columns)
        Σ_i w_i [y_i = k] x_ij, by the data.
    penalty_gradient : array of shape (classes, columns)
        The gradient of the penalty.
    gap : float
        The suboptimality, objective minus minimum: an upper bound or an estimate.
    is_bound : bool
        Whether the gap is a bound; otherwise it is an estimate.
    objective : float
        The objective: the weighted sum of the losses plus the penalty.
    scale : array of shape (columns,)
        √(Σ w · Σ w x²), an upper bound of Σ w |x|.
    segments : tuple of Segment
        The classes predicted along the requested segments.
    """

    names: list[str]
    expected: Floats
    observed: Floats
    penalty_gradient: Floats
    gap: float
    is_bound: bool
    objective: float
    scale: Floats
    segments: tuple[Segment, ...] = ()

    @property
    def mismatch(self) -> float:
        """The largest difference between expected and observed sums that the penalty does not explain.

        It is relative to `scale`, and thus independent of the units of the columns.
        """
        unexplained = np.abs(self.expected - self.observed + self.penalty_gradient)
        return float((unexplained / np.where(self.scale > 0, self.scale, 1)).max())

    def __str__(self) -> str:
        kind = "duality gap" if self.is_bound else "estimated gap"
        return (
            f"largest unexplained mismatch of feature sums {self.mismatch:.3g}, {kind} {self.gap:.3g} "
            f"at the objective {self.objective:.10g}"
        )


def certify(
    problem: Problem, theta: Floats, names: list[str], order: NDArray[np.intp], segments: tuple[Segment, ...]
) -> Certificate:
    """Return the certificate of a solved problem.

    Parameters
    ----------
    problem : Problem
        The data and the penalty.
    theta : array
        The parameters to certify.
    names : list of str
        The names of the columns, the intercept last.
    order : array of int
        The indices, in the core's order, of the user's columns.
    segments : tuple of Segment
        The segments to attach.

    Returns
    -------
    Certificate
        The certificate.
    """
    k = problem.outputs
    l1, ridge = lasso(problem), problem.ridge
    objective, slope = _at(problem, theta)
    target = problem.rows.values if problem.rows.labels is None else np.eye(k)[problem.rows.labels]
    assert target is not None
    weights = np.ones(len(target)) if problem.rows.weights is None else problem.rows.weights
    observed = np.empty(problem.size)
    problem.row_sums.gradient(weights[:, None] * target, observed)
    # sums over the user's columns: add back the centers, which the problem has subtracted
    centers = np.zeros((problem.columns.count + 1, k))
    centers[: problem.columns.dense] = problem.center[:, None]
    sums, slopes = observed.reshape(-1, k), slope.reshape(-1, k)
    observed_sums = sums + centers * sums[-1]
    slope_sums = slopes + centers * slopes[-1]
    nonzero = ridge * theta + l1 * np.sign(theta)
    penalty_slope = np.where(theta == 0, np.clip(-slope, -l1, l1), nonzero)  # at zero: a subgradient within ±l1
    if problem.fixed is not None:  # slopes of all classes sum to zero: the fixed class balances the others
        by_class = penalty_slope.reshape(-1, k)
        by_class[:, problem.fixed] = 0
        by_class[:, problem.fixed] = -by_class.sum(axis=1, keepdims=True)
    squared = problem.row_sums.weighted_squares(weights[:, None])[:, 0]
    squared[: problem.columns.dense] += problem.center**2 * weights.sum()
    gap, is_bound = _gap_and_kind(problem, theta)
    columns = np.append(order, problem.columns.count) if problem.intercept else order
    return Certificate(
        names,
        (observed_sums + slope_sums)[columns].T,
        observed_sums[columns].T,
        penalty_slope.reshape(-1, k)[columns].T,
        gap,
        is_bound,
        objective,
        np.sqrt(weights.sum() * squared)[columns],
        segments,
    )


def _at(problem: Problem, theta: Floats) -> tuple[float, Floats]:
    """Return the objective, and the gradient of the loss alone, including parameters held at zero."""
    slope = np.empty(problem.size)
    loss, _ = problem.sums.at(theta, slope)
    return loss + float(0.5 * problem.ridge @ theta**2 + lasso(problem) @ np.abs(theta)), slope


def _gap_and_kind(problem: Problem, theta: Floats) -> tuple[float, bool]:
    """Return the suboptimality, objective minus minimum, and whether it is a bound rather than an estimate."""
    ridge, l1 = problem.ridge, lasso(problem)
    unpenalised = problem.free & (ridge == 0) & (l1 == 0)
    unpenalised[-problem.outputs :] = False
    decrease, at = 0.0, theta
    if unpenalised.any():
        decrease = _decrement(problem, theta, unpenalised)
    elif problem.intercept:
        at = _with_best_biases(problem, theta)
        decrease = max(_at(problem, theta)[0] - _at(problem, at)[0], 0.0)  # below 0 only by rounding
    slope = _at(problem, at)[1]
    penalised = problem.free & ((ridge > 0) | (l1 > 0))
    gap = decrease + _gap(at[penalised], slope[penalised], ridge[penalised], l1[penalised])
    return gap, not unpenalised.any() and bool((ridge[penalised] > 0).all())


def _with_best_biases(problem: Problem, theta: Floats) -> Floats:
    """Return the parameters with the intercepts that minimise the objective for the given weights."""
    weights, biases = problem.to_user(theta)
    subproblem = part_of(problem, theta, np.empty(0, np.intp))
    best = newton(
        subproblem,
        subproblem.from_user(weights[:0], biases),
        elimination_order(subproblem),
        plain=starting_point(subproblem),
        short=False,
    )
    return problem.from_user(weights, best.theta)


def _decrement(problem: Problem, theta: Floats, unpenalised: NDArray[np.bool_]) -> float:
    """Return ½ g'H⁻¹g in the unpenalised columns and the intercept; infinite if there are too many to compute it."""
    chosen = np.flatnonzero(unpenalised.reshape(-1, problem.outputs).any(axis=1))
    subproblem = part_of(problem, theta, chosen)
    if subproblem.size > _MAX_PARAMETERS:
        return float("inf")
    weights, biases = problem.to_user(theta)
    point = subproblem.at(subproblem.from_user(weights[chosen], biases), curvature=True)
    order = elimination_order(subproblem)
    aliased = aliased_parameters(subproblem.at(starting_point(subproblem), curvature=True), order)
    assert point.gradient is not None
    assert point.curvature is not None
    return 0.5 * float(point.gradient @ factor(point.curvature, order, aliased).solve(point.gradient))


def _gap(theta: Floats, slope: Floats, ridge: Floats, l1: Floats) -> float:
    over = np.maximum(np.abs(slope) - l1, 0)
    conjugate = np.where(ridge > 0, over**2 / (2 * np.where(ridge > 0, ridge, 1)), over * np.abs(theta))
    terms = theta * slope + 0.5 * ridge * theta**2 + l1 * np.abs(theta) + conjugate
    return float(np.abs(terms).sum())


def walk(z_start: Floats, z_end: Floats, names: list[Any]) -> Segment:
    """Return the classes with the largest z along a segment: the upper envelope of straight lines.

    Parameters
    ----------
    z_start, z_end : array of shape (classes,)
        The logits at the two ends.
    names : list
        The classes.

    Returns
    -------
    Segment
        The predicted class of each piece.
    """
    slope = z_end - z_start
    pieces, at = [], 0.0
    leader = int(np.lexsort((-slope, -z_start))[0])
    while True:
        lead = z_start[leader] - z_start
        steeper = slope > slope[leader]
        with np.errstate(divide="ignore", invalid="ignore"):
            crossing = np.where(steeper, lead / (slope - slope[leader]), np.inf)
        crossing = np.where(crossing >= at - 1e-15, crossing, np.inf)
        following = int(np.lexsort((-slope, crossing))[0])
        end = float(min(1.0, crossing[following]))
        if end > at:
            pieces.append((names[leader], at, end))
        if end >= 1.0:
            return Segment(tuple(pieces) or ((names[leader], at, 1.0),))
        leader, at = following, end
