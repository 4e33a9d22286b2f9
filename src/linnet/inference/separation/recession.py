"""The search for a direction of separation.

Let g be the gains of a direction d: the amounts by which it moves a row's own class away from each other class, or z in
the direction in which it may grow (`ways`). A separation is a d with g >= 0 throughout and g > 0 somewhere.
`by_linear_program` decides whether there is one, for tables small enough for a linear program.

`beyond` looks at the point that a fit has reached. Some outcomes are almost impossible there, and those that gain by a
separation are among them; all others are as likely as they will ever be, and gain nothing. So d should be a zero of

    F(d) = ½ Σ_likely g² + ½ Σ_others min(g - 1, 0)²

sought from the fit's own coefficients, scaled so that all these others gain 1. Outcomes may also be unlikely because
coefficients are large but finite. F has no zero then, but its minimum shows which outcomes these are: an outcome that
truly gains could gain more without a change to any other term, so it does not fall short of 1 there. Outcomes that do
fall short join the likely ones, and F is minimised again, until it has a zero or no gaining outcomes remain.
"""

from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from linnet._native import core
from linnet.fit.solvers.lbfgs import SmoothObjective, lbfgs
from linnet.fit.solvers.preconditioner import Preconditioner
from linnet.fit.solvers.problem import Floats, Point, Problem
from linnet.fit.solvers.solution import Solution

FAR = 10.0  # in z: beyond it an outcome is almost impossible
_LIKELY, _GAINS, _OWN = 0, 1, 2  # kinds of outcomes; _OWN: the row's own class, or any of a row without weight
_MIN_STEPS = 300  # at least this number, or that of the fit if it is larger
_RELATIVE_TOLERANCE = 1e-3  # of F, where it has no zero
_ZERO_PER_OUTCOME = 1e-13  # F of a direction by which no outcome loses more than rounding
_MIN_RELATIVE_SHORTFALL = 0.1  # of the largest: less may be rounding
_INACTIVE_CURVATURE = 0.1  # of an outcome that does not fall short of 1, but may soon


def ways(problem: Problem) -> Floats:
    """Return the direction of z in which the likelihood rises without end, rows x outputs: 1 up, -1 down, else none."""
    assert problem.rows.values is not None
    directions = problem.head.recession_directions(problem.rows.values)
    assert directions is not None  # `separation` excludes other heads
    return directions


def beyond(problem: Problem, solution: Solution, free: NDArray[np.bool_]) -> Floats:
    """Return a direction of `free` parameters, from a solution, along which likely outcomes stay as they are.

    No row loses by it, if there is a separation and the steps were enough.
    """
    shortfall = _Shortfall(problem, solution.theta, free)
    precondition = Preconditioner(problem, shortfall.curvature, free)
    point = shortfall.at(precondition.reachable(np.where(free, solution.theta, 0.0)) / FAR)
    steps, done, max_steps = precondition.at(point.theta), 0, max(_MIN_STEPS, solution.iterations)
    while gaining := shortfall.gaining():
        result = lbfgs(
            shortfall,
            point,
            steps,
            tolerance=_RELATIVE_TOLERANCE,
            max_iter=max_steps - done,
            refresh=lambda point, iteration: precondition.refresh(point, done + iteration),  # noqa: B023
        )
        done += result.iterations
        if result.value <= _ZERO_PER_OUTCOME * gaining or done >= max_steps:
            return result.theta
        if not shortfall.demote(result.theta) and not result.iterations:
            return result.theta
        point = shortfall.at(result.theta)
    return point.theta


class _Shortfall(SmoothObjective):
    """The function F, as an objective of L-BFGS."""

    def __init__(self, problem: Problem, theta: Floats, free: NDArray[np.bool_]) -> None:
        self._problem, self._held = problem, np.flatnonzero(~free)
        self.size, self.threads = problem.size, problem.data.threads
        self._own, self._ways = None, np.empty(0)
        z = problem.z(theta)
        if problem.rows.labels is not None:
            self._own = np.arange(len(z)), problem.rows.labels
            far = (
                z.max(axis=1, keepdims=True) - z >= FAR
            )  # from the most likely class, which need not be the actual one
            self._kinds = np.where(far, _GAINS, _LIKELY).astype(np.int8)
            self._kinds[self._own] = _OWN
        else:
            self._ways = ways(problem)
            stays = np.abs(self._ways) != 1
            far = (problem.head.decay_power or 1.0) * self._ways * z >= FAR
            self._kinds = np.where(far & ~stays, _GAINS, _LIKELY).astype(np.int8)
            self._ways[stays] = 1
        if problem.rows.weights is not None:
            self._kinds[problem.rows.weights == 0] = _OWN

    def gaining(self) -> int:
        """Return the number of outcomes that should gain."""
        return int((self._kinds == _GAINS).sum())

    def at(self, theta: Floats) -> Point:
        """Return F and its gradient."""
        short = self._short(theta)
        value = 0.5 * core.dot(short.ravel(), short.ravel())
        if self._own is not None:
            total = short.sum(axis=1)
            np.negative(short, out=short)
            short[self._own] = total
        else:
            short *= self._ways
        gradient = np.empty(self.size)
        self._problem.row_sums.gradient(short, gradient)
        gradient[self._held] = 0
        return Point(theta, value, gradient)

    def curvature(self, theta: Floats) -> Floats:
        """Return approximate second derivatives in each z, rows x outputs."""
        curved = np.where((self._kinds == _LIKELY) | (self._short(theta) < 0), 1.0, _INACTIVE_CURVATURE)
        curved[self._kinds == _OWN] = 0
        if self._own is not None:
            curved[self._own] = curved.sum(axis=1)
        return curved

    def demote(self, theta: Floats) -> bool:
        """Turn outcomes that fall short of 1 at a minimum into likely ones; return whether there were any."""
        short = self._short(theta)
        short[self._kinds != _GAINS] = 0
        wrong = short < _MIN_RELATIVE_SHORTFALL * short.min()
        self._kinds[wrong] = _LIKELY
        return bool(wrong.any())

    def _short(self, theta: Floats) -> Floats:
        """Return the gains of likely outcomes, and min(g - 1, 0) of others, rows x outputs."""
        z = np.empty(self._kinds.shape)
        self._problem.row_sums.predict(theta, z)
        gains = self._gains(z)
        should = self._kinds == _GAINS
        gains -= should
        np.minimum(gains, 0, out=gains, where=should)
        gains[self._kinds == _OWN] = 0
        return gains

    def _gains(self, z: Floats) -> Floats:
        """Return the gains of a direction that moves rows by z, in place."""
        return np.multiply(z, self._ways, out=z) if self._own is None else np.subtract(z[self._own][:, None], z, out=z)


def by_linear_program(problem: Problem, free: NDArray[np.bool_], spread: Floats) -> Floats | None:
    """Return the direction with the largest sum of gains, by a linear program. `spread`: the range of each column."""
    from scipy import optimize  # slow to load

    linprog: Any = optimize.linprog

    columns, k = problem.table, problem.outputs
    counts = np.ones(columns.rows, np.bool_) if problem.rows.weights is None else problem.rows.weights > 0
    blocks: list[Any] = [np.ones((columns.rows, 1))]
    if columns.count > columns.dense:
        blocks = [columns.entries(), *blocks]
    if columns.dense:
        blocks = [np.hstack(columns.tables) - problem.center, *blocks]
    design = scipy.sparse.hstack([scipy.sparse.csr_array(block) for block in blocks], format="csr")
    x = scipy.sparse.coo_array(design[counts] @ scipy.sparse.diags_array(1 / spread))
    row, column = x.coords

    def moves(output: NDArray[Any] | int) -> "scipy.sparse.csr_array[Any]":
        """Return the matrix from theta to z of one output, the same or another for each row."""
        return scipy.sparse.csr_array((x.data, (row, column * k + output)), shape=(x.shape[0], problem.size))

    still = scipy.sparse.csr_array((0, problem.size))
    if problem.rows.labels is not None:
        t = problem.rows.labels[counts]
        own = moves(t[row])
        gains = scipy.sparse.vstack([(own - moves(other))[t != other] for other in range(k)])
    else:
        sign = ways(problem)[counts]
        gains = scipy.sparse.vstack([(moves(j) * sign[:, [j]])[np.abs(sign[:, j]) == 1] for j in range(k)])
        still = scipy.sparse.vstack([moves(j)[np.abs(sign[:, j]) != 1] for j in range(k)])
    result = linprog(
        -gains.sum(axis=0),
        A_ub=-gains,
        b_ub=np.zeros(gains.shape[0]),
        A_eq=still,
        b_eq=np.zeros(still.shape[0]),
        bounds=[(-1, 1) if is_free else (0, 0) for is_free in free],
    )
    return result.x / np.repeat(spread, k) if result.status == 0 else None
