"""More columns than rows, and a penalty on all of them: the best weights are combinations of the rows.

With the penalty ½ λ Σ_j f_j w_j², weights are w = F⁻¹ X' a, and with the products of rows X F⁻¹ X' = T T'

    X w = T v      ½ λ w' F w = ½ λ v' v      where v = T' a

so that the columns of T, no more than there are rows, can take the place of those of X.
"""

from dataclasses import replace

import numpy as np

from linnet.data.columns import Columns
from linnet.fit.solvers.min_norm import row_products
from linnet.fit.solvers.newton import Factor, factor
from linnet.fit.solvers.problem import Floats, Problem
from linnet.fit.solvers.products import product


class DenseDual:
    """A problem in the columns of T, and the way back to the weights of the columns of X."""

    def __init__(self, problem: Problem) -> None:
        l2 = problem.ridge.reshape(-1, problem.outputs)[:-1, 0]
        self._problem = problem
        self._factors = l2 / l2.mean()
        products = row_products(problem, 1 / self._factors)
        none = np.zeros(len(products), np.bool_)  # what looks like a combination of other rows may be of small columns
        self._factored: Factor = factor(products, np.arange(len(products)), none)
        self._t = np.tril(self._factored.lower) / self._factored.scale[:, None]
        aliased = np.flatnonzero(self._factored.aliased)  # rows that are combinations of others
        self._t[aliased] = product(self._factored.solve(products[aliased]), self._t)
        self.problem = replace(
            problem,
            columns=Columns(len(products), (self._t,)),
            l2=np.full((len(products), problem.outputs), float(l2.mean())),
        )

    @staticmethod
    def possible(problem: Problem) -> bool:
        """Whether all columns carry a penalty, the same for all outputs."""
        l2 = problem.ridge.reshape(-1, problem.outputs)[:-1]
        return bool((l2 > 0).all() and (l2 == l2[:, :1]).all())

    def theta(self, theta: Floats) -> Floats:
        """The parameters of the whole problem."""
        v, biases = self.problem.to_user(theta)
        a = self._factored.solve(np.ascontiguousarray(product(self._t, v).T)).T
        out = np.empty(self._problem.size)
        self._problem.sums.gradient(np.ascontiguousarray(a), out)
        weights = out.reshape(-1, self._problem.outputs)  # a view
        weights[:-1] /= self._factors[:, None]
        weights[-1] = biases
        return out
