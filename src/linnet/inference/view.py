"""A problem at its solution, in well-conditioned columns, from which inference is computed."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linnet._cached import cached_property
from linnet.fit.solvers.aliasing import Basis, find, is_weak
from linnet.fit.solvers.cholesky import Factor, aliased_parameters, elimination_order, factor
from linnet.fit.solvers.coordinate import lasso
from linnet.fit.solvers.problem import Floats, Point, Problem
from linnet.fit.solvers.products import product
from linnet.fit.solvers.start import starting_point


@dataclass(frozen=True)
class View:
    """A problem at a theta; where columns are aliased or nearly so, in the columns of a basis."""

    problem: Problem
    outer: Problem
    basis: Basis | None
    point: Point  # the loss, and the gradient of the whole objective
    sought: NDArray[np.bool_]
    information: Floats  # the expected Hessian of the sum of losses
    hessian: Floats  # the information plus the Hessian of the penalty
    bread: Factor  # of the Hessian
    aliased: NDArray[np.bool_]  # parameters that are aliased, or not fitted

    @staticmethod
    def of(problem: Problem, theta: Floats, stuck: NDArray[np.bool_]) -> "View":
        """Return the view of a problem at theta. `stuck`: parameters held at zero by a penalty or a bound."""
        view = View._in(problem, problem, None, theta, stuck)
        if (
            stuck.any()
            or problem.positive
            or not is_weak(problem, view.hessian, factor(view.hessian, view.bread.order))
        ):
            return view
        basis = find(problem)
        if basis is None:
            return view
        inner = basis.problem
        return View._in(inner, problem, basis, basis.inside(theta), np.zeros(inner.size, np.bool_))

    @staticmethod
    def _in(problem: Problem, outer: Problem, basis: Basis | None, theta: Floats, stuck: NDArray[np.bool_]) -> "View":
        g, h = np.empty(problem.size), np.empty((problem.size, problem.size))
        loss, ends = problem.sums.at(theta, g, h, expected=True)
        sought = problem.free & ~stuck
        h[~sought], h[:, ~sought] = 0, 0
        if basis is None:
            penalty = np.diag(np.where(sought, problem.ridge, 0))
            g += product(penalty, theta) + lasso(problem) * np.sign(theta)
        else:
            gradient, penalty = basis.at(theta).gradient, basis.penalty
            assert gradient is not None
            g = gradient
        g[~sought] = 0
        order, hessian = elimination_order(problem), h + penalty
        aliased = factor(hessian, order).aliased
        if aliased[sought].any():  # rows classified with certainty no longer contribute: use a point where all do
            plain = (problem if basis is None else basis).at(starting_point(problem), curvature=True)
            aliased = aliased_parameters(plain, order) | ~sought
        bread = factor(hessian, order, aliased)
        return View(problem, outer, basis, Point(theta, loss, g, z_range=ends), sought, h, hessian, bread, aliased)

    @property
    def gradient(self) -> Floats:
        """The gradient of the whole objective."""
        assert self.point.gradient is not None
        return self.point.gradient

    @cached_property
    def inverse(self) -> Floats:
        """The inverse Hessian, size x size."""
        return self.bread.solve(np.eye(self.problem.size))

    @cached_property
    def move(self) -> Floats:
        """The matrix from theta to weights and biases for the outer problem's columns as the user passed them."""
        move = _to_user_matrix(self.problem)
        return move if self.basis is None else product(np.kron(self.basis.t, np.eye(self.problem.outputs)), move)

    def outside(self, which: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return marked parameters as those of the outer problem; columns outside the basis are not marked."""
        if self.basis is None:
            return which
        out = np.zeros((self.outer.columns.count + 1, self.outer.outputs), np.bool_)
        out[np.append(self.basis.places, -1)] = which.reshape(-1, self.outer.outputs)
        return out.ravel()


def _to_user_matrix(problem: Problem) -> Floats:
    """Return the matrix from theta to weights and biases for columns that are not centered."""
    move = np.eye(problem.size)
    k, dense = problem.outputs, problem.columns.dense
    for output in range(k):
        row = problem.size - k + output
        move[row, np.arange(dense) * k + output] = -problem.center
    return move
