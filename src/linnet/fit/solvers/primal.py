"""A problem with l2 penalties only, as L-BFGS sees it."""

import numpy as np

from linnet.fit.solvers.lbfgs import SmoothObjective
from linnet.fit.solvers.problem import Floats, Point, Problem


class Primal(SmoothObjective):
    """The objective of a problem, with a bound on its suboptimality where all weights are penalised."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self.size, self.most_threads = problem.size, problem.most_threads

    def at(self, theta: Floats) -> Point:
        """The objective and its gradient."""
        return self._problem.at(theta)

    def suboptimality_bound(self, point: Point, enough: float) -> float | None:
        """½ g'P⁻¹g with P the Hessian of the penalty, or the objective itself where it cannot be negative; None if a
        weight has no penalty. Biases, which have none either, are taken to gain what a Newton step would.
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
            bound + bias_suboptimality(problem, point.gradient[-problem.outputs :], problem.z(point.theta)), most
        )


def bias_suboptimality(problem: Problem, gradient: Floats, z: Floats) -> float:
    """About what a step of the biases alone would gain, ½ Σ_k g_k² / Σ_i w_i c_ik with curvatures c of the losses."""
    curvature = problem.head.curvature(z, problem.target, expected=True)
    if problem.weights is not None:
        curvature[problem.weights == 0] = 0
        curvature *= problem.weights[:, None]
    total = curvature.sum(axis=0)
    return 0.5 * float((gradient[total > 0] ** 2 / total[total > 0]).sum())
