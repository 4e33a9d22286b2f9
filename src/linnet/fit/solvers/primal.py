"""A problem with l2 penalties only, as L-BFGS sees it."""

import numpy as np

from linnet.fit.solvers.lbfgs import SmoothObjective
from linnet.fit.solvers.problem import Floats, Point, Problem


class Primal(SmoothObjective):
    """The objective of a problem, with a bound on its suboptimality where all weights are penalised."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self.size, self.threads = problem.size, problem.data.threads

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
            bound + bias_suboptimality(point.gradient[-problem.outputs :], self._bias_curvature(point.theta)), most
        )

    def _bias_curvature(self, theta: Floats) -> Floats:
        """Σ_i w_i c_ik of each output k, with curvatures c of the losses."""
        problem = self._problem
        if problem.has_rows:  # without squares of the table
            return np.asarray(problem.row_sums.curvature(problem.z(theta)).sum(axis=0))
        return np.asarray(problem.sums.curvature_diagonal(theta)[-1])


def bias_suboptimality(gradient: Floats, curvature: Floats) -> float:
    """About what a step of the biases alone would gain: ½ Σ_k g_k² / c_k."""
    return 0.5 * float((gradient[curvature > 0] ** 2 / curvature[curvature > 0]).sum())
