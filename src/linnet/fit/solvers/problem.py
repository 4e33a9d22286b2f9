"""A network without hidden layers as a convex problem: the objective that exact solvers minimise.

    objective(theta) = Σ_i w_i loss(z_i, t_i) + ½ Σ_j l2_j θ_j² + Σ_j l1_j |θ_j|        z = x W + b + offset

Sums, not means; biases carry no penalty. Dense columns are centered inside, so that the size of a column's mean does
not matter; `theta` here belongs to the centered columns, `Problem.to_user` and `Problem.from_user` translate.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

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
_COUNTED, _SUMMED = 1 << 20, 1 << 14  # rows
_LEAST_MEAN = 0.1  # of the targets' mean: the smallest mean of a row to start with
_MOST_OUTPUTS = 256  # that the core computes at a time: it has room for those of a block of rows


@dataclass(frozen=True, slots=True)
class Point:
    """The objective at some theta, without the l1 penalty."""

    theta: Floats
    value: float
    gradient: Floats | None = None
    curvature: Floats | None = None
    reach: tuple[float, float] = (-np.inf, np.inf)  # the smallest and the largest z


@dataclass
class Problem:
    """What is minimised. `l2` and `l1` have an entry for every weight (columns x outputs)."""

    columns: Columns
    head: Head
    outputs: int
    labels: Labels | None = None
    values: Floats | None = None
    weights: Floats | None = None
    offset: Floats | None = None  # rows x outputs
    intercept: bool = True
    l2: Floats | None = None
    l1: Floats | None = None
    fixed: NDArray[np.bool_] | None = None  # outputs whose parameters stay zero
    positive: bool = False  # weights may not be negative
    threads: int | None = None
    constant_curvature: Floats | None = field(default=None, init=False, repr=False)  # once known, if it never changes

    half: ClassVar[int] = 0  # products of vectors are the usual ones

    @cached_property
    def center(self) -> Floats:
        """What is taken off the dense columns: about their means, if there is an intercept to make up for it."""
        if not self.intercept:
            return np.zeros(self.columns.dense)
        return self.columns.middle()

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
        """Labels or values, whichever there are."""
        target = self.values if self.labels is None else self.labels
        assert target is not None
        return target

    @cached_property
    def size(self) -> int:
        """Length of theta."""
        return (self.columns.count + 1) * self.outputs

    @cached_property
    def free(self) -> NDArray[np.bool_]:
        """Which parameters are sought: all, but for the biases of a model without intercept and fixed outputs."""
        free = np.ones((self.columns.count + 1, self.outputs), np.bool_)
        free[-1] = self.intercept
        if self.fixed is not None:
            free[:, self.fixed] = False
        return free.ravel()

    @cached_property
    def _held(self) -> NDArray[np.intp]:
        """The parameters that are not sought."""
        return np.flatnonzero(~self.free)

    @cached_property
    def _scratch(self) -> Floats:
        return np.empty(self.size)

    @cached_property
    def nonnegative(self) -> NDArray[np.bool_]:
        """Which parameters may not be negative."""
        return np.arange(self.size) < (self.size - self.outputs if self.positive else 0)

    @cached_property
    def ridge(self) -> Floats:
        """The l2 penalty of every parameter."""
        ridge = np.zeros(self.size)
        if self.l2 is not None:
            ridge.reshape(-1, self.outputs)[:-1] = self.l2
        return ridge

    def z(self, theta: Floats) -> Floats:
        """z = x W + b + offset, rows x outputs."""
        z = np.empty((self.columns.rows, self.outputs))
        self.sums.predict(theta, z)
        if self.offset is not None:
            z += self.offset
        return z

    def at(self, theta: Floats, *, gradient: bool = True, curvature: bool = False, every: int = 1) -> Point:
        """The objective and, if asked, its derivatives; `every`: on one block of rows in so many, scaled up."""
        known = self.constant_curvature if curvature and every == 1 else None
        g = np.empty(self.size) if gradient else None
        h = np.empty((self.size, self.size)) if curvature and known is None else None
        loss, reach = self.sums.at(theta, g, h, every=every)
        pull = np.multiply(self.ridge, theta, out=self._scratch)
        value = loss * every + 0.5 * core.dot(pull, theta)
        if g is not None:
            if every > 1:
                g *= every
            g += pull
            g[self._held] = 0
        if h is not None:
            if every > 1:
                h *= every
            h.reshape(-1)[:: self.size + 1] += self.ridge  # the diagonal
            if len(self._held):
                h[self._held], h[:, self._held] = 0, 0
            if self.head.quadratic and every == 1:
                self.constant_curvature = h
        return Point(theta, value, g, h if known is None else known, reach)

    def whole(self, point: Point) -> Point:
        """The point: all of its gradient is known."""
        return point

    @cached_property
    def penalised(self) -> bool:
        """Whether all weights that are sought carry an l2 penalty."""
        weights = slice(self.size - self.outputs)
        return bool((self.ridge[weights] > 0)[self.free[weights]].all())

    def left(self, point: Point, enough: float) -> float | None:
        """A bound on what is left to gain, ½ g'P⁻¹g with P the penalties' second derivatives, or all that there is;
        None if one is zero.
        """
        if not self.penalised:
            return None
        most = point.value if self.head.nonnegative else np.inf
        if most <= enough:
            return point.value
        assert point.gradient is not None
        weights = slice(self.size - self.outputs)
        squared, ridge = point.gradient[weights] ** 2, self.ridge[weights]
        left = 0.5 * float(np.divide(squared, ridge, out=squared, where=ridge > 0).sum())
        if left > enough or not self.intercept:
            return min(left, most)
        return min(left + self.left_in_biases(point.gradient[-self.outputs :], self.z(point.theta)), most)

    def left_in_biases(self, gradient: Floats, z: Floats) -> float:
        """What biases alone would gain, about: they carry no penalty."""
        curvature = self.head.curvature(z, self.target, expected=True)
        if self.weights is not None:
            curvature[self.weights == 0] = 0
            curvature *= self.weights[:, None]
        total = curvature.sum(axis=0)
        return 0.5 * float((gradient[total > 0] ** 2 / total[total > 0]).sum())

    def start(self) -> Floats:
        """Weights of zero, and the biases that fit the targets' mean; without an intercept, weights for which there is
        a mean.
        """
        if self.head.positive_mean and not self.intercept and self.columns.count:
            return self._inside.copy()
        theta = np.zeros(self.size)
        if self.intercept:
            theta[-self.outputs :] = _null_biases(self)
            if self.fixed is not None:
                theta[-self.outputs :] -= theta[-self.outputs :][self.fixed]
        return theta

    @cached_property
    def _inside(self) -> Floats:
        from linnet.fit.solvers.interior_start import inside  # which solves problems itself

        return inside(self)

    def without_columns(self) -> "Problem":
        """The same for a model that knows only the targets' mean."""
        return replace(self, columns=Columns(self.columns.rows), l2=None, l1=None, fixed=None, positive=False)

    def constant_loss(self, biases: Floats) -> float:
        """The loss sum of a model without columns."""
        if self.offset is not None or not self.head.straight_in_target:
            return self.without_columns().at(biases, gradient=False).value
        if self.labels is not None:
            classes = np.arange(self.outputs, dtype=np.int32)
            losses = self.head.loss(np.tile(biases, (self.outputs, 1)), classes)
            return core.dot(_shares(self), losses)
        assert self.values is not None  # for one z the loss is a straight line in t
        mean = np.average(self.values, axis=0, weights=self.weights)
        total = self.columns.rows if self.weights is None else self.weights.sum()
        return float(total * self.head.loss(biases[None], mean[None])[0])

    def to_user(self, theta: Floats) -> tuple[Floats, Floats]:
        """Weights (columns x outputs) and biases for columns as they are."""
        weights = theta[: -self.outputs].reshape(-1, self.outputs).copy()
        biases = theta[-self.outputs :] - self._at_center(weights)
        return weights, biases if self.intercept else np.zeros(self.outputs)

    def _at_center(self, weights: Floats) -> Floats:
        """What the centers add to z."""
        return column_dots(self.center, weights[: self.columns.dense])

    def from_user(self, weights: Floats, biases: Floats) -> Floats:
        """The theta of given weights and biases; what is held at zero here is taken off all classes, or left out."""
        if self.fixed is not None:  # the same predictions
            weights, biases = weights - weights[:, self.fixed], biases - biases[self.fixed]
        moved = biases + self._at_center(weights)
        return np.concatenate([weights.ravel(), moved if self.intercept else np.zeros_like(moved)])


def linear_output(columns: Columns, weights: Floats, biases: Floats, threads: int | None = None) -> Floats:
    """z = x W + b, rows x outputs."""
    outputs = len(biases)
    z = np.empty((columns.rows, outputs))
    if outputs > _MOST_OUTPUTS:
        for first in range(0, outputs, _MOST_OUTPUTS):
            some = slice(first, first + _MOST_OUTPUTS)
            z[:, some] = linear_output(columns, np.ascontiguousarray(weights[:, some]), biases[some], threads)
        return z
    sums = InMemorySums(columns, np.zeros(columns.dense), Normal(), outputs, usable_threads(threads))
    sums.predict(np.concatenate([weights.ravel(), biases]), z)
    return z


def _shares(problem: Problem) -> Floats:
    """The sum of weights of each class, over some rows at a time: counting makes a copy of their labels."""
    assert problem.labels is not None
    total = np.zeros(problem.outputs)
    for first in range(0, problem.columns.rows, _COUNTED):
        part = slice(first, first + _COUNTED)
        weights = None if problem.weights is None else problem.weights[part]
        total += np.bincount(problem.labels[part], weights, problem.outputs)
    return total


def _null_biases(problem: Problem) -> Floats:
    """The biases of the model without columns; with offsets, for heads without a log link, nearly so.

    With the log link and the variance mean^q, e^b = Σ w t e^((1-q) offset) / Σ w e^((2-q) offset).
    """
    weights = problem.weights
    if problem.labels is not None:
        shares = _shares(problem)
        z = np.log(np.where(shares > 0, shares, 1e-3))
        return np.asarray(z - z.mean())
    assert problem.values is not None
    values, offset = problem.values, problem.offset
    if weights is not None:  # rows without weight may have any offset
        kept = weights > 0
        values, weights = values[kept], weights[kept]
        offset = None if offset is None else offset[kept]
    mean = np.average(values, axis=0, weights=weights)
    if problem.head.log_link and offset is not None:
        q = problem.head.variance_power
        above = values if mean.any() else np.broadcast_to(1e-10, values.shape)
        below = np.broadcast_to(1.0, values.shape)
        return _log_sum(above, 1 - q, offset, weights) - _log_sum(below, 2 - q, offset, weights)
    mean = problem.head.link(mean)
    if offset is None:
        return mean
    biases = np.asarray(mean - np.average(offset, axis=0, weights=weights))
    if problem.head.positive_mean:  # whatever the offsets, no mean is 0 or less
        biases = np.maximum(biases, _LEAST_MEAN * mean - offset.min(axis=0))
    return biases


def _log_sum(values: Floats, factor: float, offset: Floats, weights: Floats | None) -> Floats:
    """log Σ w value e^(factor · offset), output by output, whatever the offsets, over some rows at a time."""
    if factor == 0:
        return np.asarray(np.log(values.sum(axis=0) if weights is None else column_dots(weights, values)))
    parts = [slice(first, first + _SUMMED) for first in range(0, len(values), _SUMMED)]
    highest = [(factor * offset[part]).max(axis=0, where=values[part] > 0, initial=-np.inf) for part in parts]
    top = np.max(highest, axis=0)
    total = np.zeros(values.shape[1])
    for part in parts:
        each = values[part] * np.exp(np.minimum(factor * offset[part] - top, 0.0))
        total += each.sum(axis=0) if weights is None else column_dots(weights[part], each)
    return np.asarray(np.log(total) + top)
