"""Many binary logistic regressions over the same columns, minimised jointly.

    objective_p(θ_p) = Σ_i w_i loss(z_ip, t_ip) + ½ Σ_j l2_j θ_pj²         z_p = x w_p + b_p

The sum is over the rows of problem p, which its column of the code matrix selects. Problems do not share parameters, so
the joint Hessian is block diagonal: Newton's method solves one system per problem, from sums that one pass over the
rows gives for all problems, and a problem that has converged costs nothing.

Rows whose loss has almost no curvature are left out of a problem's Hessian, and near the optimum the last Hessian is
reused. The gradient is always that of all rows, so steps differ a little from Newton's but converge to the same point.
Where that is slow, or coefficients still move (of columns along which the objective is nearly flat), the next Hessian
is that of all rows again.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from linnet._native import core
from linnet.data.columns import Columns
from linnet.fit.solvers.code_matrix import CodeMatrix
from linnet.fit.solvers.newton import settled
from linnet.fit.solvers.problem import Floats
from linnet.fit.solvers.products import product

_HESSIAN_BYTES = 64_000_000  # of all Hessians in memory at once
_RELATIVE_ROUNDING = 1e-13  # of the objective: smaller changes are rounding
_NEGLIGIBLE_GAIN = 1e-15  # of the objective
_LAST_GAIN = 1e-18  # of the objective: expected gain below which the next step is not worth a pass over the rows
_FAR_GAIN, _NEAR_GAIN = 1e-2, 1e-3  # of the objective: larger gains are far from the optimum, smaller ones near it
_MIN_RELATIVE_CURVATURE = 1e-1, 1e-2  # of a row in the Hessian, relative to the mean: far from the optimum, else
_SHORTEST_STEP = 1e-6  # as a share of a Newton step
_ROW_STRIDE = 8  # of the sample of rows from which a start is computed
_SAMPLED_ROWS_PER_COLUMN = 20  # at least, in each class of a problem
_ROUGH_GAIN = 2e-2  # of the first objective: smaller gains end the search for a start


@dataclass(frozen=True)
class JointSolution:
    """Weights (columns x problems) and biases for the user's columns, iterations, and which problems have converged."""

    weights: Floats
    biases: Floats
    iterations: NDArray[np.intp]
    converged: NDArray[np.bool_]


@dataclass(frozen=True)
class JointNewton:
    """Newton's method on all problems of a code matrix at once.

    Parameters
    ----------
    columns : Columns
        The table; all columns must be dense.
    codes : CodeMatrix
        The rows of each problem, and their classes.
    l2 : array of shape (columns,)
        The penalty of each column, the same for all problems; all must be above 0.
    weights : array of shape (rows,) or None
        Row weights.
    side_weights : array of shape (problems, 2) or None
        Factors of the weights of each problem's negative and positive rows.
    intercept : bool
        Whether biases are fitted.
    threads : int
        The number of threads.
    """

    names: ClassVar[tuple[str, ...]] = ("newton-cholesky",)  # scikit-learn's names of it

    columns: Columns
    codes: CodeMatrix
    l2: Floats
    weights: Floats | None = None
    side_weights: Floats | None = None
    intercept: bool = True
    threads: int = 1

    def minimise(self, max_iter: int = 100) -> JointSolution:
        """Minimise all problems, in at most `max_iter` iterations each."""
        size, problems = self.columns.count + 1, self.codes.problems
        center = self.columns.middle(self.weights) if self.intercept else np.zeros(self.columns.count)
        sums = core.Binaries(self.columns.to_core(), center, self.threads)
        theta, done = np.zeros((problems, size)), np.zeros(problems, np.bool_)
        iterations = np.zeros(problems, np.intp)
        at_once = max(1, _HESSIAN_BYTES // (16 * size * size))
        sample, is_sampled = self._subsampled()
        for start in range(0, problems, at_once):
            block = np.arange(start, min(start + at_once, problems))
            batch = _Batch(self, sums, block)
            at, sampled = batch.start(), np.flatnonzero(is_sampled[block])
            if len(sampled):
                rough = _Batch(sample, sums, block[sampled])
                at[sampled] = rough.newton(at[sampled], max_iter, enough=_ROUGH_GAIN)[0]
                batch.expect(sampled, rough)
            theta[block], iterations[block], done[block] = batch.newton(at, max_iter)
        weights = np.ascontiguousarray(theta[:, :-1].T)
        return JointSolution(weights, theta[:, -1] - product(center[None], weights)[0], iterations, done)

    def _subsampled(self) -> tuple["JointNewton", NDArray[np.bool_]]:
        """Return the problems on a sample of the rows, reweighted to all rows, and which problems are sampled.

        Classes with few rows keep all of them.
        """
        keep_all = self.codes.side_rows() < _ROW_STRIDE * _SAMPLED_ROWS_PER_COLUMN * len(self.l2)
        if keep_all.all():
            return self, np.zeros(len(keep_all), np.bool_)
        sample = self.codes.subsampled(_ROW_STRIDE, keep_all)
        total, sampled = self.codes.side_weights(self.weights), sample.side_weights(self.weights)
        factors = np.divide(total, sampled, out=np.ones_like(total), where=sampled > 0)
        side_weights = factors if self.side_weights is None else factors * self.side_weights
        is_sampled = (sampled > 0).all(axis=1) & (~keep_all).any(axis=1)
        return replace(self, codes=sample, side_weights=side_weights), np.asarray(is_sampled)


class _Batch:
    """Problems whose Hessians are in memory at once."""

    def __init__(self, method: JointNewton, sums: core.Binaries, chosen: NDArray[np.intp]) -> None:
        self._method, self._sums = method, sums
        self._codes = method.codes.take(chosen)
        self._side_weights = None if method.side_weights is None else method.side_weights[chosen]
        self._l2 = np.append(method.l2, 0.0)
        self._hessian = np.zeros((len(chosen), len(self._l2), len(self._l2)))
        self._bias_curvature = np.zeros(len(chosen))  # summed over the rows that entered the last Hessian
        self._least = np.zeros(len(chosen))  # curvature of a row to enter the next Hessian; inf: the last one is reused
        self._all_rows = np.zeros(len(chosen), np.bool_)  # whether all rows enter from now on
        self._exact = np.zeros(len(chosen), np.bool_)  # whether the Hessian is that of this point and all rows
        self._rows = self._codes.side_rows().sum(axis=1)

    def newton(
        self, theta: Floats, max_iter: int, enough: float = 0.0
    ) -> tuple[Floats, NDArray[np.intp], NDArray[np.bool_]]:
        """Return theta (problems x parameters), iterations, and which problems have converged.

        The rules are those of `linnet.fit.solvers.newton`; a gain below `enough` times the first objective is
        convergence, too.
        """
        theta, count = theta.copy(), len(theta)
        iterations, done = np.zeros(count, np.intp), np.zeros(count, np.bool_)
        active = np.arange(count)
        value, gradient = self._at(theta, active)
        first, before, last = value.copy(), np.zeros(count), np.zeros_like(theta)
        for iteration in range(max_iter + 1):
            step = np.empty_like(gradient)
            self._sums.solve(self._hessian[active], gradient, step)
            np.negative(step, out=step)
            gain = -(gradient * step).sum(axis=1)
            negligible = enough * np.abs(first[active]) + _NEGLIGIBLE_GAIN * (
                np.abs(value) + np.abs(first[active] - value)
            )
            quick = gain <= 1e-2 * before[active]  # so that gain / before of the gain remains after this step
            near, slow = gain <= _NEAR_GAIN * np.abs(value), ~quick & (before[active] > 0)
            no_gain, exact = gain <= negligible, self._exact[active]
            ends = no_gain | (quick & (gain * gain <= _LAST_GAIN * np.abs(value) * before[active]))
            still_moving = ends & ~(no_gain & exact) & (enough == 0) & ~settled(step, last[active], theta[active])
            ends &= ~still_moving
            again = still_moving | (near & slow & ~exact)
            self._all_rows[active[again]] = True
            theta[active[ends]] += step[ends]
            done[active[ends]] = True
            far = gain > _FAR_GAIN * np.abs(value)
            self._leave_out(active, np.where(self._all_rows[active], 0.0, np.where(far, *_MIN_RELATIVE_CURVATURE)))
            self._least[active[near & ~slow & ~again]] = np.inf  # the last Hessian is good enough
            iterations[active], before[active], last[active] = iteration, gain, step
            going = ~ends & np.isfinite(gain)
            if iteration == max_iter or not going.any():
                break
            active = active[going]
            value, gradient, stuck = self._descend(theta, active, value[going], step[going], gain[going])
            if stuck.any():  # at the limit of rounding: left to the solver of single problems
                active, value, gradient = active[~stuck], value[~stuck], gradient[~stuck]
            if not len(active):
                break
        return theta, iterations, done & np.isfinite(theta).all(axis=1)

    def start(self) -> Floats:
        """Return weights of zero, with the log-odds of the positive class as biases."""
        theta = np.zeros((self._codes.problems, len(self._l2)))
        if self._method.intercept:
            total = self._codes.side_weights(self._method.weights)
            total = total if self._side_weights is None else total * self._side_weights
            theta[:, -1] = np.log(total[:, 1] / total[:, 0])
        return theta

    def expect(self, few: NDArray[np.intp], rough: "_Batch") -> None:
        """Leave rows out of the first Hessian, by the curvature that these problems had on a sample of rows."""
        self._bias_curvature[few] = rough._bias_curvature
        self._leave_out(few, _MIN_RELATIVE_CURVATURE[0])

    def _leave_out(self, active: NDArray[np.intp], share: Floats | float) -> None:
        """Leave rows with less than `share` of the last mean curvature out of the next Hessian."""
        self._least[active] = share * self._bias_curvature[active] / self._rows[active]

    def _at(self, theta: Floats, active: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Return the objective of the active problems and its gradient; their Hessians are stored in `_hessian`."""
        count, size = len(active), theta.shape[1]
        codes = self._codes if count == self._codes.problems else self._codes.take(active)
        here, least = np.ascontiguousarray(theta[active]), np.ascontiguousarray(self._least[active])
        value, gradient, hessian = np.empty(count), np.empty((count, size)), np.empty((count, size, size))
        side_weights = None if self._side_weights is None else np.ascontiguousarray(self._side_weights[active])
        self._sums.sums(
            here,
            codes.row_order,
            codes.group_starts,
            codes.starts,
            codes.problem,
            codes.sign,
            self._method.weights,
            side_weights,
            least,
            value,
            gradient,
            hessian,
        )
        new = np.isfinite(least)
        self._bias_curvature[active[new]] = hessian[new, -1, -1]
        self._exact[active] = least == 0
        penalty_slope = self._l2 * here
        value += 0.5 * (penalty_slope * here).sum(axis=1)
        gradient += penalty_slope
        diagonal = np.arange(size)
        hessian[:, diagonal, diagonal] += self._l2
        if not self._method.intercept:
            gradient[:, -1], hessian[:, -1], hessian[:, :, -1], hessian[:, -1, -1] = 0, 0, 0, 1
        self._hessian[active[new]] = hessian[new]
        return value, gradient

    def _descend(
        self, theta: Floats, active: NDArray[np.intp], value: Floats, step: Floats, gain: Floats
    ) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Backtrack along each problem's step until its objective has fallen enough.

        Return the objective and gradient there, and for which problems no step length was enough.
        """
        start, length = theta[active], np.ones(len(active))
        theta[active] = start + step
        objective = self._at(theta, active)
        while True:
            risen = ~(objective[0] <= value - 1e-4 * length * gain + _RELATIVE_ROUNDING * np.abs(value)) & (
                length > _SHORTEST_STEP
            )
            if not risen.any():
                break
            length[risen] /= 2
            theta[active[risen]] = start[risen] + length[risen, None] * step[risen]
            for part, again in zip(objective, self._at(theta, active[risen]), strict=True):
                part[risen] = again
        return *objective, length <= _SHORTEST_STEP
