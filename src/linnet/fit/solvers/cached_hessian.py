"""A cache of the Hessian of a quadratic head, which does not depend on theta."""

from dataclasses import replace

from linnet.fit.solvers.problem import Floats, Point, Problem


class CachedHessian:
    """The objective of a problem, which computes the Hessian of a quadratic head only once."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self.hessian: Floats | None = None  # once known, of a quadratic head

    def at(self, theta: Floats, *, gradient: bool = True, curvature: bool = False, row_stride: int = 1) -> Point:
        """Evaluate at theta; `row_stride`: from one block of rows in `row_stride`."""
        constant = curvature and row_stride == 1 and self._problem.head.quadratic
        if constant and self.hessian is not None:
            return replace(self._problem.at(theta, gradient=gradient), curvature=self.hessian)
        point = self._problem.at(theta, gradient=gradient, curvature=curvature, row_stride=row_stride)
        if constant:
            self.hessian = point.curvature
        return point
