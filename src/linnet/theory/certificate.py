"""A proof that a logistic or softmax regression has reached its optimum.

At the optimum the model's expected feature sums equal the data's, class by class and column by column, but for the
penalty's gradient:

    Σ_i w_i p_ik x_ij - Σ_i w_i [y_i = k] x_ij = -∂penalty/∂W_jk

The left side is the gradient of the loss. The duality gap bounds what is left to gain: for every parameter it is
θ·∇L + Ω(θ) + Ω*(-∇L), with Ω = μ|θ| + λθ²/2 its penalty and Ω*(v) = max(|v| - μ, 0)² / (2λ) its conjugate.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.fit.linear import Floats, Problem


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
    gap: float  # bound on what is left to gain, in units of the objective
    objective: float
    segments: tuple[Segment, ...] = ()

    @property
    def mismatch(self) -> float:
        """Largest difference between expected and observed sums that the penalty does not explain, relative to them."""
        rest = np.abs(self.expected - self.observed + self.penalty_gradient)
        return float((rest / np.maximum(1.0, np.abs(self.observed))).max())

    def __str__(self) -> str:
        return (
            f"largest unexplained mismatch of feature sums {self.mismatch:.3g}, duality gap {self.gap:.3g} "
            f"at the objective {self.objective:.10g}"
        )


def certify(
    problem: Problem, theta: Floats, names: list[str], order: NDArray[np.intp], segments: tuple[Segment, ...]
) -> Certificate:
    """Certify a solved problem."""
    k = problem.outputs
    point = problem.at(theta)
    assert point.gradient is not None
    l1 = np.zeros(problem.size)
    if problem.l1 is not None:
        l1[:-k] = problem.l1.ravel()
    ridge, slope = problem.ridge, point.gradient - problem.ridge * theta  # slope: of the loss alone
    target = problem.values if problem.labels is None else np.eye(k)[problem.labels]
    assert target is not None
    weights = np.ones(len(target)) if problem.weights is None else problem.weights
    observed = np.empty(problem.size)
    problem.core.gradient(weights[:, None] * target, observed)
    # sums over columns as the user has them: add back what the centers took off
    back = np.zeros((problem.columns.count + 1, k))
    back[: problem.columns.dense] = problem.center[:, None]
    sums, slopes = observed.reshape(-1, k), slope.reshape(-1, k)
    observed_sums = sums + back * sums[-1]
    slope_sums = slopes + back * slopes[-1]
    own = ridge * theta + l1 * np.sign(theta)
    inside = np.where(theta == 0, np.clip(-slope, -l1, l1), own)  # at zero any slope within l1 will do
    places = np.append(order, problem.columns.count) if problem.intercept else order
    return Certificate(
        names,
        (observed_sums + slope_sums)[places].T,
        observed_sums[places].T,
        inside.reshape(-1, k)[places].T,
        _gap(theta, slope, ridge, l1),
        point.value + float(l1 @ np.abs(theta)),
        segments,
    )


def _gap(theta: Floats, slope: Floats, ridge: Floats, l1: Floats) -> float:
    over = np.maximum(np.abs(slope) - l1, 0)
    penalised = ridge > 0
    conjugate = np.where(penalised, over**2 / (2 * np.where(penalised, ridge, 1)), over * np.abs(theta))
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
