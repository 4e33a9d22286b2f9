"""The convex problem of a network without hidden layers: data, head and penalties.

    objective(θ) = Σ_i w_i loss(z_i, t_i) + ½ Σ_j l2_j θ_j² + Σ_j l1_j |θ_j|        z = x W + b + offset

Sums over rows, not means; biases carry no penalty. Parameters are one vector θ: the weights W, columns x outputs in C
order, followed by the biases. Dense columns are centered inside, so that a column's mean costs no digits: θ belongs to
the centered columns, and `Problem.to_user` and `Problem.from_user` convert it from and to columns as given.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet._native import core
from linnet.config import usable_threads
from linnet.data.columns import Columns
from linnet.data.targets import Labels
from linnet.fit.solvers.products import column_dots
from linnet.fit.solvers.sums import InMemorySums, RowSums
from linnet.heads import Head, Normal

Floats = NDArray[np.float64]
_MAX_OUTPUTS = 256  # that the core computes at a time: it has room for those of a block of rows


@dataclass(frozen=True, slots=True)
class Point:
    """The objective at a theta, without the l1 penalty."""

    theta: Floats
    value: float
    gradient: Floats | None = None
    curvature: Floats | None = None  # the Hessian
    z_range: tuple[float, float] = (-np.inf, np.inf)  # the smallest and the largest z of all rows


@dataclass
class Problem:
    """Data, head and penalties of a linear model.

    Parameters
    ----------
    columns : Columns
        The table.
    head : Head
        The distribution of the targets.
    outputs : int
        Number of outputs: of z per row.
    labels : array of shape (rows,), or None
        Class of each row, for heads of classes.
    values : array of shape (rows, outputs), or None
        Targets of other heads.
    weights : array of shape (rows,), or None
        Row weights.
    offset : array of shape (rows, outputs), or None
        What is added to z.
    intercept : bool
        Whether biases are fitted; if not, they are zero.
    l2, l1 : arrays of shape (columns, outputs), or None
        Penalties of each weight.
    fixed : array of shape (outputs,), or None
        Outputs whose parameters are fixed at zero.
    positive : bool
        Whether weights must not be negative.
    threads : int or None
        How many threads may be used; None: all.
    """

    columns: Columns
    head: Head
    outputs: int
    labels: Labels | None = None
    values: Floats | None = None
    weights: Floats | None = None
    offset: Floats | None = None
    intercept: bool = True
    l2: Floats | None = None
    l1: Floats | None = None
    fixed: NDArray[np.bool_] | None = None
    positive: bool = False
    threads: int | None = None

    # ---- data ----

    @cached_property
    def center(self) -> Floats:
        """What is subtracted from each dense column: about its mean, or zero without an intercept to make up for it."""
        if not self.intercept:
            return np.zeros(self.columns.dense)
        return self.columns.middle(self.weights)

    @cached_property
    def sums(self) -> RowSums:
        """Sums over the rows."""
        return InMemorySums(
            self.columns,
            self.center,
            self.head,
            self.outputs,
            self.most_threads,
            labels=self.labels,
            values=self.values,
            weights=self.weights,
            offset=self.offset,
        )

    @property
    def most_threads(self) -> int:
        """How many threads may be used."""
        return usable_threads(self.threads)

    @property
    def target(self) -> NDArray[Any]:
        """Labels, or values."""
        target = self.values if self.labels is None else self.labels
        assert target is not None
        return target

    # ---- parameters ----

    @cached_property
    def size(self) -> int:
        """Length of theta: (columns + 1) x outputs."""
        return (self.columns.count + 1) * self.outputs

    @cached_property
    def free(self) -> NDArray[np.bool_]:
        """Which parameters are fitted: all but those of fixed outputs, and biases without an intercept."""
        free = np.ones((self.columns.count + 1, self.outputs), np.bool_)
        free[-1] = self.intercept
        if self.fixed is not None:
            free[:, self.fixed] = False
        return free.ravel()

    @cached_property
    def _held(self) -> NDArray[np.intp]:
        """Places of the parameters that are not fitted."""
        return np.flatnonzero(~self.free)

    @cached_property
    def nonnegative(self) -> NDArray[np.bool_]:
        """Which parameters must not be negative."""
        return np.arange(self.size) < (self.size - self.outputs if self.positive else 0)

    @cached_property
    def ridge(self) -> Floats:
        """The l2 penalty of each parameter."""
        ridge = np.zeros(self.size)
        if self.l2 is not None:
            ridge.reshape(-1, self.outputs)[:-1] = self.l2
        return ridge

    @cached_property
    def penalised(self) -> bool:
        """Whether all weights that are fitted carry an l2 penalty."""
        weights = slice(self.size - self.outputs)
        return bool((self.ridge[weights] > 0)[self.free[weights]].all())

    def to_user(self, theta: Floats) -> tuple[Floats, Floats]:
        """Weights (columns x outputs) and biases for columns as given."""
        weights = theta[: -self.outputs].reshape(-1, self.outputs).copy()
        biases = theta[-self.outputs :] - self._at_center(weights)
        return weights, biases if self.intercept else np.zeros(self.outputs)

    def from_user(self, weights: Floats, biases: Floats) -> Floats:
        """The theta of weights and biases for columns as given; those of a fixed output are subtracted from all."""
        if self.fixed is not None:  # which leaves predictions as they are
            weights, biases = weights - weights[:, self.fixed], biases - biases[self.fixed]
        moved = biases + self._at_center(weights)
        return np.concatenate([weights.ravel(), moved if self.intercept else np.zeros_like(moved)])

    def _at_center(self, weights: Floats) -> Floats:
        """What the centers contribute to z."""
        return column_dots(self.center, weights[: self.columns.dense])

    # ---- the objective ----

    def z(self, theta: Floats) -> Floats:
        """z = x W + b + offset, rows x outputs."""
        z = np.empty((self.columns.rows, self.outputs))
        self.sums.predict(theta, z)
        if self.offset is not None:
            z += self.offset
        return z

    def at(self, theta: Floats, *, gradient: bool = True, curvature: bool = False, row_stride: int = 1) -> Point:
        """The objective without the l1 penalty and, if asked, its gradient and Hessian; entries of parameters that are
        not fitted are zero. `row_stride`: sums over one block of rows in so many, scaled up.
        """
        g = np.empty(self.size) if gradient else None
        h = np.empty((self.size, self.size)) if curvature else None
        loss, z_range = self.sums.at(theta, g, h, row_stride=row_stride)
        pull = np.multiply(self.ridge, theta, out=self._scratch)
        value = loss * row_stride + 0.5 * core.dot(pull, theta)
        if g is not None:
            if row_stride > 1:
                g *= row_stride
            g += pull
            g[self._held] = 0
        if h is not None:
            if row_stride > 1:
                h *= row_stride
            h.reshape(-1)[:: self.size + 1] += self.ridge  # the diagonal
            if len(self._held):
                h[self._held], h[:, self._held] = 0, 0
        return Point(theta, value, g, h, z_range)

    @cached_property
    def _scratch(self) -> Floats:
        return np.empty(self.size)


def linear_output(columns: Columns, weights: Floats, biases: Floats, threads: int | None = None) -> Floats:
    """z = x W + b, rows x outputs, from weights (columns x outputs) and biases."""
    outputs = len(biases)
    z = np.empty((columns.rows, outputs))
    if outputs > _MAX_OUTPUTS:
        for first in range(0, outputs, _MAX_OUTPUTS):
            some = slice(first, first + _MAX_OUTPUTS)
            z[:, some] = linear_output(columns, np.ascontiguousarray(weights[:, some]), biases[some], threads)
        return z
    sums = InMemorySums(columns, np.zeros(columns.dense), Normal(), outputs, usable_threads(threads))
    sums.predict(np.concatenate([weights.ravel(), biases]), z)
    return z
