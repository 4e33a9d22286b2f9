"""Many binary logistic regressions over the same columns, minimised together.

    objective_p(theta_p) = Σ_i w_i loss(z_ip, t_ip) + ½ Σ_j l2_j θ_pj²         z_p = x w_p + b_p

Rows belong to groups (classes), and problem p says of each group whether its rows are yes (+1), no (-1) or not there
(0). The second derivatives of all problems together are a matrix a problem, so that Newton's method takes its steps
problem by problem, from sums that one pass over the rows gives for all of them; a problem that is done costs nothing.
Rows of which a problem is so sure that they hardly bend its objective are left out of its second derivatives, and once
the end is near these are kept as they are; the gradient is always that of all rows, so that steps, a little longer or
shorter than Newton's, end in the same place. Where that goes slowly, or coefficients are still on their way (those of
columns that hardly bend the objective), the next second derivatives are of all rows again.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from linnet._native import core
from linnet.data.columns import Columns
from linnet.fit.solvers.newton import settled
from linnet.fit.solvers.problem import Floats
from linnet.fit.solvers.products import product

_BYTES = 64_000_000  # of the second derivatives that are in memory together
_ROUNDING = 1e-13  # changes of the objective this small, in units of itself, are rounding
_ENOUGH = 1e-18  # so much is left to gain, in units of the objective, where the next step is not worth a pass
_FAR, _NEAR = 1e-2, 1e-3  # gains, in units of the objective
_LEFT_OUT = 1e-1, 1e-2  # far from the end, and not: rows of less curvature than so much of the mean tell little of it
_NOTHING = 1e-15  # a gain this small is none
_SHORTEST = 1e-6  # part of a step
_THIN = 8  # one row in so many is enough to begin with
_ROWS_LEFT = 20  # a column and a side, at least
_ROUGH = 2e-2  # a gain this small, in units of the first objective, ends the search for a start


@dataclass(frozen=True)
class Sides:
    """Which rows each problem sees, and as what: entries of a code matrix, group by group.

    `group` has the group of every row. The entries of group g are those from `starts[g]` to `starts[g + 1]` of
    `problem` (rising) and `sign` (+1 or -1); what is not there is 0.
    """

    group: NDArray[np.int32]
    starts: NDArray[np.int64]
    problem: NDArray[np.int32]
    sign: NDArray[np.int8]
    problems: int

    @staticmethod
    def of_codes(codes: NDArray[np.int8], group: NDArray[np.int32]) -> "Sides":
        """The entries of a code matrix, groups x problems."""
        where, problem = np.nonzero(codes)
        starts = np.searchsorted(where, np.arange(len(codes) + 1)).astype(np.int64)
        return Sides(group, starts, problem.astype(np.int32), codes[where, problem], codes.shape[1])

    @staticmethod
    def of_pairs(first: NDArray[np.intp], second: NDArray[np.intp], groups: int, group: NDArray[np.int32]) -> "Sides":
        """Problems of two groups each: no for the first, yes for the second."""
        problem = np.arange(len(first), dtype=np.int32)
        where = np.concatenate([first, second])
        order = np.lexsort([np.concatenate([problem, problem]), where])
        starts = np.searchsorted(where[order], np.arange(groups + 1)).astype(np.int64)
        sign = np.repeat(np.array([-1, 1], np.int8), len(first))
        return Sides(group, starts, np.concatenate([problem, problem])[order], sign[order], len(first))

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The rows, group by group."""
        return np.argsort(self.group, kind="stable").astype(np.int64)

    @cached_property
    def first(self) -> NDArray[np.int64]:
        """Where the rows of each group begin in that order, and where the last ends."""
        counts = np.bincount(self.group, minlength=len(self.starts) - 1)
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    @cached_property
    def _group_of_entry(self) -> NDArray[np.intp]:
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @cached_property
    def _by_problem(self) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """The entries, problem by problem, and where those of each begin."""
        order = np.argsort(self.problem, kind="stable")
        return order, np.searchsorted(self.problem[order], np.arange(self.problems + 1)).astype(np.int64)

    def totals(self, by_group: Floats) -> Floats:
        """Sums over the groups on either side, problems x (no, yes)."""
        places = 2 * self.problem.astype(np.intp) + (self.sign > 0)
        return np.asarray(np.bincount(places, by_group[self._group_of_entry], 2 * self.problems).reshape(-1, 2) * 1.0)

    def only(self, chosen: NDArray[np.intp]) -> "Sides":
        """Some of the problems, in rising order."""
        place = np.full(self.problems, -1, np.int32)
        place[chosen] = np.arange(len(chosen))
        kept = place[self.problem] >= 0
        starts = np.concatenate([[0], np.cumsum(kept)])[self.starts].astype(np.int64)
        some = Sides(self.group, starts, place[self.problem[kept]], self.sign[kept], len(chosen))
        some.__dict__.update(order=self.order, first=self.first)  # of the same rows
        return some

    def thinned(self, whole: NDArray[np.bool_]) -> "Sides":
        """One in `_THIN` rows of each group, and all rows on the sides (problems x (no, yes)) that are to stay whole.

        Rows that are drawn and rows that are not are groups of their own, the former first.
        """
        groups = len(self.starts) - 1
        nth = np.empty(len(self.group), np.int64)  # of its group
        nth[self.order] = np.arange(len(self.group)) - np.repeat(self.first[:-1], np.diff(self.first))
        group = self.group + np.where(nth % _THIN == 0, 0, groups).astype(np.int32)
        too = whole[self.problem, (self.sign > 0).astype(np.intp)]
        after = len(self.problem) + np.concatenate([[0], np.cumsum(too)])[self.starts[1:]]
        starts = np.concatenate([self.starts, after]).astype(np.int64)
        problem, sign = (np.concatenate([part, part[too]]) for part in (self.problem, self.sign))
        return Sides(group, starts, problem, sign, self.problems)

    def rows(self, problem: int) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
        """The rows of one problem, as they lie, and whether they are yes (1) or no (0)."""
        order, starts = self._by_problem
        mine = order[starts[problem] : starts[problem + 1]]
        sign = np.zeros(len(self.starts) - 1, np.int8)
        sign[self._group_of_entry[mine]] = self.sign[mine]
        of_row = sign[self.group]
        rows = np.flatnonzero(of_row)
        return rows, (of_row[rows] > 0).astype(np.int32)


@dataclass(frozen=True)
class Together:
    """The problems and what they share. `ridge`: the l2 penalty of each column; all must be above 0."""

    columns: Columns  # dense
    sides: Sides
    ridge: Floats
    weights: Floats | None = None  # of rows
    by_answer: Floats | None = None  # problems x (no, yes): more weights, of a problem's rows
    intercept: bool = True
    threads: int = 1

    def minimise(self, max_iter: int = 100) -> tuple[Floats, Floats, NDArray[np.intp], NDArray[np.bool_]]:
        """Weights (columns x problems) and biases for the columns as they are, iterations, and which problems came to
        an end.
        """
        size, problems = self.columns.count + 1, self.sides.problems
        center = self.columns.middle() if self.intercept else np.zeros(self.columns.count)
        sums = core.Binaries(self.columns.to_core(), center, self.threads)
        theta, done = np.zeros((problems, size)), np.zeros(problems, np.bool_)
        iterations = np.zeros(problems, np.intp)
        together = max(1, _BYTES // (16 * size * size))
        fewer, thin = self._thinned()
        for start in range(0, problems, together):
            some = np.arange(start, min(start + together, problems))
            group = _Group(self, sums, some)
            at, few = group.start(), np.flatnonzero(thin[some])
            if len(few):
                rough = _Group(fewer, sums, some[few])
                at[few] = rough.newton(at[few], max_iter, enough=_ROUGH)[0]
                group.expect(few, rough)
            theta[some], iterations[some], done[some] = group.newton(at, max_iter)
        weights = np.ascontiguousarray(theta[:, :-1].T)
        return weights, theta[:, -1] - product(center[None], weights)[0], iterations, done

    def _thinned(self) -> tuple["Together", NDArray[np.bool_]]:
        """The problems with fewer rows, which weigh more, to find a start near the end; and which have fewer."""
        whole = self.sides.totals(np.diff(self.sides.first) * 1.0) < _THIN * _ROWS_LEFT * len(self.ridge)
        if whole.all():
            return self, np.zeros(len(whole), np.bool_)
        fewer = self.sides.thinned(whole)
        total, left = (
            sides.totals(np.bincount(sides.group, self.weights, len(sides.starts) - 1).astype(np.float64))
            for sides in (self.sides, fewer)
        )
        heavier = np.divide(total, left, out=np.ones_like(total), where=left > 0)
        by_answer = heavier if self.by_answer is None else heavier * self.by_answer
        thin = (left > 0).all(axis=1) & (~whole).any(axis=1)
        return replace(self, sides=fewer, by_answer=by_answer), np.asarray(thin)


class _Group:
    """Problems whose second derivatives are in memory together."""

    def __init__(self, together: Together, sums: core.Binaries, chosen: NDArray[np.intp]) -> None:
        self._together, self._sums = together, sums
        self._sides = together.sides.only(chosen)
        self._by_answer = None if together.by_answer is None else together.by_answer[chosen]
        self._ridge = np.append(together.ridge, 0.0)
        self._curvature = np.zeros((len(chosen), len(self._ridge), len(self._ridge)))
        self._bias_curvature = np.zeros(len(chosen))  # without what was left out
        self._least = np.zeros(len(chosen))  # curvature of rows that second derivatives need; infinite: none are needed
        self._whole = np.zeros(len(chosen), np.bool_)  # no rows are left out any more
        self._exact = np.zeros(len(chosen), np.bool_)  # whether second derivatives are of this point and all rows
        counts = np.diff(self._sides.first).astype(np.float64)
        self._rows = self._sides.totals(counts).sum(axis=1)

    def newton(
        self, theta: Floats, max_iter: int, enough: float = 0.0
    ) -> tuple[Floats, NDArray[np.intp], NDArray[np.bool_]]:
        """Theta, iterations, and which problems came to an end; the rules are those of `linnet.fit.solvers.newton`.

        `enough`: a gain, in units of the first objective, with which a problem comes to an end, too.
        """
        theta, count = theta.copy(), len(theta)
        iterations, done = np.zeros(count, np.intp), np.zeros(count, np.bool_)
        active = np.arange(count)
        value, gradient = self._at(theta, active)
        first, before, last = value.copy(), np.zeros(count), np.zeros_like(theta)
        for iteration in range(max_iter + 1):
            step = np.empty_like(gradient)
            self._sums.solve(self._curvature[active], gradient, step)
            np.negative(step, out=step)
            gain = -(gradient * step).sum(axis=1)
            nothing = enough * np.abs(first[active]) + _NOTHING * (np.abs(value) + np.abs(first[active] - value))
            quick = gain <= 1e-2 * before[active]  # after this step, gain / before of the gain will be left
            near, slow = gain <= _NEAR * np.abs(value), ~quick & (before[active] > 0)
            no_gain, exact = gain <= nothing, self._exact[active]
            ends = no_gain | (quick & (gain * gain <= _ENOUGH * np.abs(value) * before[active]))
            on_their_way = ends & ~(no_gain & exact) & (enough == 0) & ~settled(step, last[active], theta[active])
            ends &= ~on_their_way
            again = on_their_way | (near & slow & ~exact)
            self._whole[active[again]] = True
            theta[active[ends]] += step[ends]
            done[active[ends]] = True
            far = gain > _FAR * np.abs(value)
            self._leave_out(active, np.where(self._whole[active], 0.0, np.where(far, *_LEFT_OUT)))
            self._least[active[near & ~slow & ~again]] = np.inf  # the last ones are good enough
            iterations[active], before[active], last[active] = iteration, gain, step
            left = ~ends & np.isfinite(gain)
            if iteration == max_iter or not left.any():
                break
            active = active[left]
            value, gradient, stuck = self._descend(theta, active, value[left], step[left], gain[left])
            if stuck.any():  # rounding has the last word, which is not for this solver to say
                active, value, gradient = active[~stuck], value[~stuck], gradient[~stuck]
            if not len(active):
                break
        return theta, iterations, done & np.isfinite(theta).all(axis=1)

    def start(self) -> Floats:
        """Weights of zero, and the biases that fit the shares of yes."""
        together, sides = self._together, self._sides
        theta = np.zeros((sides.problems, len(self._ridge)))
        if together.intercept:
            counts = np.bincount(sides.group, together.weights, len(sides.starts) - 1)
            total = sides.totals(counts.astype(np.float64))
            total = total if self._by_answer is None else total * self._by_answer
            theta[:, -1] = np.log(total[:, 1] / total[:, 0])
        return theta

    def expect(self, few: NDArray[np.intp], rough: "_Group") -> None:
        """Leave rows out from the first time on, by what the same problems' sums over fewer rows were."""
        self._bias_curvature[few] = rough._bias_curvature
        self._leave_out(few, _LEFT_OUT[0])

    def _leave_out(self, active: NDArray[np.intp], part: Floats | float) -> None:
        """Of the next second derivatives the rows with less than a part of the mean curvature of the last ones."""
        self._least[active] = part * self._bias_curvature[active] / self._rows[active]

    def _at(self, theta: Floats, active: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """The objective of the active problems and its gradient; second derivatives are left in `_curvature`."""
        count, size = len(active), theta.shape[1]
        sides = self._sides if count == self._sides.problems else self._sides.only(active)
        here, least = np.ascontiguousarray(theta[active]), np.ascontiguousarray(self._least[active])
        value, gradient, curvature = np.empty(count), np.empty((count, size)), np.empty((count, size, size))
        by_answer = None if self._by_answer is None else np.ascontiguousarray(self._by_answer[active])
        self._sums.sums(
            here,
            sides.order,
            sides.first,
            sides.starts,
            sides.problem,
            sides.sign,
            self._together.weights,
            by_answer,
            least,
            value,
            gradient,
            curvature,
        )
        new = np.isfinite(least)
        self._bias_curvature[active[new]] = curvature[new, -1, -1]
        self._exact[active] = least == 0
        pull = self._ridge * here
        value += 0.5 * (pull * here).sum(axis=1)
        gradient += pull
        every = np.arange(size)
        curvature[:, every, every] += self._ridge
        if not self._together.intercept:
            gradient[:, -1], curvature[:, -1], curvature[:, :, -1], curvature[:, -1, -1] = 0, 0, 0, 1
        self._curvature[active[new]] = curvature[new]
        return value, gradient

    def _descend(
        self, theta: Floats, active: NDArray[np.intp], value: Floats, step: Floats, gain: Floats
    ) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Move each problem along its step, as far as its objective falls enough; `stuck`: those that it leads
        nowhere.
        """
        start, length = theta[active], np.ones(len(active))
        theta[active] = start + step
        found = self._at(theta, active)
        while True:
            risen = ~(found[0] <= value - 1e-4 * length * gain + _ROUNDING * np.abs(value)) & (length > _SHORTEST)
            if not risen.any():
                break
            length[risen] /= 2
            theta[active[risen]] = start[risen] + length[risen, None] * step[risen]
            for part, again in zip(found, self._at(theta, active[risen]), strict=True):
                part[risen] = again
        return *found, length <= _SHORTEST
