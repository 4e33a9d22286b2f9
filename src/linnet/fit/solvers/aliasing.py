"""Aliased and nearly aliased columns, such as year, year² and year³, whose contribution must not be lost in rounding.

Let ρ be the share of a column that is orthogonal to the columns before it. The Hessian contains ρ², which drowns in
rounding where ρ is below 1e-8, and has few digits above. So such a column is replaced by its orthogonal remainder:

    q = x_s + Σ_k f_k x_k + f_0

with the factors f that make it orthogonal to the columns before. Whatever the f, q is computed from them and the
columns in twice the precision and rounded once (core/kernels/combination.hpp): the model in the new columns is the
model in the old ones, but well conditioned, and the weights of the old columns are T times those of the new.

A column is aliased where its remainder is no larger than the rounding of its own values, and of those of the columns it
is a combination of, can produce: it is left out. Where many weights fit equally well, and a penalty prefers some of
them (or, for squared error without a penalty, the minimum norm), T leads to the preferred ones.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from linnet._cached import cached_property
from linnet._native import core
from linnet.data.columns import Columns
from linnet.data.table import Array
from linnet.fit.solvers.cached_hessian import CachedHessian
from linnet.fit.solvers.cholesky import Factor, elimination_order, factor
from linnet.fit.solvers.problem import Floats, Point, Problem
from linnet.fit.solvers.products import TableProducts, column_dots, linear_output, product

_WEAK_PIVOT = 1e-8  # relative to a column's own second derivative: smaller pivots have few digits
_MAX_ALIASED_SHARE = 1e-10  # of a column's squared norm: a column with a larger remainder is never aliased
_ALIASED_ROUNDING = 256  # in units of the columns' rounding errors: a column with a smaller remainder is aliased
_EXACT_ROUNDING = 4  # in units of the columns' rounding errors: a smaller remainder is rounding
_ORTHOGONALISATION_ROUNDS = 4  # each reduces the share that is not orthogonal
_COLUMNS_PER_PASS = 64
_NEGLIGIBLE_CONTRIBUTION = 1e-6  # of another column, relative to the column: it is rounding
_MAX_CANCELLATION = 20  # relative size of cancelling columns beyond which a small remainder may be accidental
_ROWS_PER_BLOCK = 1 << 16


@dataclass(frozen=True)
class Basis:
    """New columns of a problem: the old ones that are kept, in order, and the remainders of nearly aliased ones."""

    outer: Problem
    columns: Columns
    places: NDArray[np.intp]  # index of the old column that each new one equals, or is the remainder of
    made: tuple[int, ...]  # new columns that are remainders, in the order in which they were computed
    factors: Floats  # T before weights are shared: (old columns + 1) x (new columns + 1), biases last
    aliased: NDArray[np.bool_]  # old columns that are left out
    made_up: NDArray[np.bool_]  # aliased columns that are combinations of columns, not of the intercept alone
    inexact: NDArray[np.bool_]  # aliased columns that are combinations of other columns up to rounding only
    determined: NDArray[np.intp]  # indices of the aliased columns that are not zero throughout
    null: Floats  # (old columns + 1) x determined: a basis of the columns' null space
    shares: NDArray[np.bool_]  # determined columns that share their effect with the columns they combine

    @cached_property
    def problem(self) -> Problem:
        """The problem in the new columns, without penalties: see `penalty`."""
        return replace(self.outer.with_rows(x=self.columns), l2=None, l1=None)

    @cached_property
    def _objective(self) -> CachedHessian:
        return CachedHessian(self.problem)

    @cached_property
    def t(self) -> Floats:
        """T, (old columns + 1) x (new columns + 1), biases last: weights of old columns from those of new ones."""
        ridge = self.outer.ridge.reshape(-1, self.outer.outputs).sum(axis=1)
        numbers = self.outer.columns.dense + self.outer.columns.sparse_columns
        measure = ridge if ridge.any() else 1.0 * (np.arange(len(ridge)) < numbers)
        null = self.null[:, self.shares]
        scaled = measure[:, None] * null
        products = product(null.T, scaled)
        right = np.ascontiguousarray(product(scaled.T, self.factors).T)
        best = factor(products, np.arange(len(products))).solve(right).T
        return np.asarray(self.factors - product(null, best))

    @property
    def left_out(self) -> NDArray[np.bool_]:
        """The old columns that a warning should name.

        They are fixed at zero because they are aliased, or aliased up to rounding only.
        """
        return self.made_up & (self.inexact | ~self.t[:-1].any(axis=1))

    def outside(self, theta: Floats) -> Floats:
        """Return the theta in the old columns from that in the new ones."""
        weights, biases = self.problem.to_user(theta)
        by_output = product(self.t, np.vstack([weights, biases]))
        return self.outer.from_user(np.ascontiguousarray(by_output[:-1]), by_output[-1])

    def inside(self, theta: Floats) -> Floats:
        """Return the theta in the new columns with the predictions of a theta in the old columns."""
        weights, biases = self.outer.to_user(theta)
        rest = np.vstack([weights, biases])
        rest = rest - product(self.null, rest[self.determined])
        left = np.zeros((len(self.places) + 1, self.outer.outputs))
        for new in reversed(self.made):  # later remainders may contain earlier ones
            left[new] = rest[self.places[new]] / self.factors[self.places[new], new]
            rest = rest - self.factors[:, new, None] * left[new]
        stay = np.setdiff1d(np.arange(len(self.places)), self.made)
        left[stay], left[-1] = rest[self.places[stay]], rest[-1]
        return self.problem.from_user(np.ascontiguousarray(left[:-1]), left[-1])

    def at(self, theta: Floats, *, gradient: bool = True, curvature: bool = False, row_stride: int = 1) -> Point:
        """Return the objective in the new columns, penalties included: see `Problem.at`."""
        point = self._objective.at(theta, gradient=gradient, curvature=curvature, row_stride=row_stride)
        if not self.outer.ridge.any():
            return point
        k = self.outer.outputs
        ridge, t = self.outer.ridge.reshape(-1, k)[:-1], self.t[:-1, :-1]
        weights = product(t, self.problem.to_user(theta)[0])
        pull = ridge * weights
        slope, curved = point.gradient, point.curvature
        if slope is not None:
            slope = slope.copy()
            slope.reshape(-1, k)[:-1] += product(t.T, pull)
            slope[~self.problem.free] = 0
        if curved is not None:
            curved = curved + self.penalty
        value = point.value + 0.5 * core.dot(pull.ravel(), weights.ravel())
        return replace(point, value=value, gradient=slope, curvature=curved)

    @cached_property
    def penalty(self) -> Floats:
        """The Hessian of the penalty in the new columns."""
        k, size = self.outer.outputs, self.problem.size
        ridge, t = self.outer.ridge.reshape(-1, k)[:-1], self.t[:-1, :-1]
        out = np.zeros((len(self.places) + 1, k, len(self.places) + 1, k))
        for output in range(k):
            out[:-1, output, :-1, output] = product(t.T, ridge[:, output, None] * t)
        hessian = out.reshape(size, size)
        hessian[~self.problem.free], hessian[:, ~self.problem.free] = 0, 0
        return hessian


def is_weak(problem: Problem, curvature: Floats, factored: Factor) -> bool:
    """Return whether columns may be aliased or nearly so, by the Hessian and its factor.

    First levels do not count, as they are known to be aliased.
    """
    k = problem.outputs
    output = (
        0 if problem.fixed is None else int(np.flatnonzero(~problem.fixed)[0])
    )  # any output will do: they share the columns
    weak = (factored.pivots() < _WEAK_PIVOT) & (np.diagonal(curvature) > 0)
    weak[reference_levels(problem) * k + output] = False
    return bool(weak[:-k][output::k].any())


def reference_levels(problem: Problem) -> NDArray[np.intp]:
    """Return the indices of the first levels of categories without missing values.

    They are aliased with the other levels and the intercept; without an intercept, all but that of the first category
    are.
    """
    columns = problem.table
    starts = columns.dense + columns.sparse_columns + np.cumsum([0, *columns.levels])[:-1]
    complete = [bool((codes >= 0).all()) for codes in columns.codes]
    return starts[np.array(complete, np.bool_)][0 if problem.intercept else 1 :].astype(np.intp)


def find(problem: Problem) -> Basis | None:
    """Return new columns for a problem with aliased or nearly aliased columns; None if it has none."""
    return _Search(problem).basis()


class _Search:
    """The search for a basis. The factors f of a combination are those of all old columns and, last, f_0."""

    def __init__(self, problem: Problem) -> None:
        self._problem, self._columns = problem, problem.table
        count = problem.columns.count
        self._weights = np.ones(problem.columns.rows) if problem.rows.weights is None else problem.rows.weights
        self._total = core.dot(self._weights, np.ones_like(self._weights))
        self._table = TableProducts(problem.table, problem.center, 1, problem.data.threads)
        self._native = problem.table.to_core()
        self._middle = np.zeros(count + 1)
        self._middle[: problem.columns.dense] = problem.center
        self._products = np.empty((count + 1, count + 1))
        self._table.sandwich(self._weights, self._products)
        if not problem.intercept:
            self._products[-1], self._products[:, -1] = 0, 0
        self._order = elimination_order(replace(problem, outputs=1, fixed=None))
        self._kept = factor(self._products, self._order, tolerance=_WEAK_PIVOT)
        self._known = reference_levels(problem)
        self._made: list[tuple[int, Floats, Floats]] = []  # old columns, the factors of their remainders, remainders
        # by column: factors with a remainder of zero, and whether it is exactly zero
        self._aliased: dict[int, tuple[Floats, bool]] = {}

    def basis(self) -> Basis | None:
        """Return the basis, or None if none is needed."""
        count, dense = self._columns.count, self._columns.dense
        aliased = self._kept.aliased[:-1]
        weak = aliased & (np.diagonal(self._products)[:-1] > 0)
        weak[self._known] = False
        if not weak.any():
            return None
        places = self._order[np.append(weak, False)[self._order]]
        for first in range(0, len(places), _COLUMNS_PER_PASS):
            self._examine_batch(places[first : first + _COLUMNS_PER_PASS])
        stay, made = np.flatnonzero(~aliased), [place for place, _, _ in self._made]
        taken, before = self._columns.take(stay), int((stay < dense).sum())
        columns = replace(taken, tables=(*taken.tables, *(left[:, None] for _, _, left in self._made)))
        new = np.concatenate([stay[:before], made, stay[before:]]).astype(np.intp)
        factors = np.zeros((count + 1, len(new) + 1))
        factors[new, np.arange(len(new))] = factors[-1, -1] = 1
        for index, (_, f, _) in enumerate(self._made, before):
            factors[:, index] = f
        aliased[made] = False
        made_up, inexact = np.zeros((2, count), np.bool_)
        for place, (f, exact) in self._aliased.items():
            parts = np.abs(f[:-1] * self._rounding)
            sizes = np.abs(f[:-1]) * self._sizes
            others = (sizes > _NEGLIGIBLE_CONTRIBUTION * max(sizes[place], parts[place])) & (np.arange(count) != place)
            few = np.abs(f[:-1][others])
            counted = bool(
                ((few < _MAX_CANCELLATION) & (np.abs(few - np.rint(few)) < _NEGLIGIBLE_CONTRIBUTION)).all()
            )  # such as dummies that sum to 1
            made_up[place] = others.any()
            inexact[place] = not exact or (
                parts[others].max(initial=0.0) > _MAX_CANCELLATION * parts[place] and not counted
            )
        if len(new) + self._problem.intercept >= np.count_nonzero(self._weights):
            inexact[:] = False  # no further column can distinguish rows
        ends = range(before, before + len(made))
        return Basis(self._problem, columns, new, tuple(ends), factors, aliased, made_up, inexact, *self._determined())

    def _examine_batch(self, places: NDArray[np.intp]) -> None:
        """Examine columns: those that clearly have no remainder in one pass, the others one by one."""
        by = self._kept.solve(self._products[places])
        f = np.array([self._less(self._alone(int(place)), each) for place, each in zip(places, by, strict=True)])
        left = linear_output(
            self._columns, np.ascontiguousarray(f[:, :-1].T), f[:, -1].copy(), self._problem.data.threads
        )
        norms = column_dots(self._weights, left**2)
        for place, factors, norm in zip(places.tolist(), f, norms, strict=True):
            if norm <= (_EXACT_ROUNDING * self._rounding_of(factors)) ** 2 * self._total:
                self._mark_aliased(place, factors, exact=True)
            else:
                self._examine(place, factors)

    def _examine(self, place: int, f: Floats) -> None:
        """Orthogonalise a column to the columns before it, and keep the remainder unless it is rounding."""
        left, norm = np.empty(self._columns.rows), np.inf
        for _ in range(_ORTHOGONALISATION_ROUNDS):
            self._native.combination(f, left)
            weighted = self._weights * left
            before, norm = norm, core.dot(weighted, left)
            if not norm < 0.25 * before:
                break
            slope = np.empty(len(f))
            self._table.gradient(weighted[:, None], slope)
            f = self._less(f, self._kept.solve(slope))
            for _, other, q in self._made:  # whose mean square is 1
                f = f - other * (core.dot(weighted, q) / self._total)
        size, rounding = (norm / self._total) ** 0.5, self._rounding_of(f)
        if size <= _ALIASED_ROUNDING * rounding and norm <= _MAX_ALIASED_SHARE * self._products[place, place]:
            self._mark_aliased(place, f, exact=size <= _EXACT_ROUNDING * rounding)
        else:
            self._made.append((place, f / size, left / size))

    def _mark_aliased(self, place: int, f: Floats, *, exact: bool) -> None:
        """Record an aliased column; factors that contribute less than its own rounding become zero."""
        negligible = np.abs(f[:-1]) * self._sizes <= _EXACT_ROUNDING * self._rounding[place]
        negligible[place] = False
        self._aliased[place] = np.where(np.append(negligible, False), 0.0, f), exact

    def _alone(self, place: int) -> Floats:
        """Return the factors of one centered column."""
        f = np.zeros(self._columns.count + 1)
        f[place], f[-1] = 1, -self._middle[place]
        return f

    def _less(self, f: Floats, by: Floats) -> Floats:
        """Return factors minus multiples of the centered columns and of the intercept."""
        f = f - by
        f[-1] += core.dot(self._middle, by)
        return f

    def _rounding_of(self, f: Floats) -> float:
        """Return the root mean square error of a combination, due to rounding of the columns' values."""
        return float(np.sqrt(((f[:-1] * self._rounding) ** 2).sum()))

    @cached_property
    def _sizes(self) -> Floats:
        """Root mean squares of the centered columns."""
        return np.sqrt(np.diagonal(self._products)[:-1] / self._total)

    @cached_property
    def _rounding(self) -> Floats:
        """Root mean square of the rounding error of each column's numbers."""
        columns = self._columns
        plain = TableProducts(columns, np.zeros(columns.dense), 1, self._problem.data.threads)
        squares = np.empty(columns.count + 1)
        plain.squares(np.ascontiguousarray(self._weights[:, None]), squares)
        precision = np.full(columns.count, np.finfo(np.float64).eps / 2)
        first = 0
        for table in columns.tables:
            precision[first : first + table.shape[1]] = _precision(table)
            first += table.shape[1]
        if columns.sparse is not None:
            precision[first : first + columns.sparse_columns] = _precision(columns.sparse[2][:, None])
        return np.asarray(precision * np.sqrt(squares[:-1] / self._total))

    def _determined(self) -> tuple[NDArray[np.intp], Floats, NDArray[np.bool_]]:
        """Return the indices of aliased columns, a basis of the null space, and which columns share their effect.

        See `Basis`.
        """
        problem, columns = self._problem, self._columns
        numbers = columns.dense + columns.sparse_columns
        found = {place: f for place, (f, _) in self._aliased.items()}
        starts = np.cumsum([numbers, *columns.levels])
        for place in self._known:
            f = np.zeros(columns.count + 1)
            which = int(np.searchsorted(starts, place))
            f[place : starts[which + 1]] = 1
            if problem.intercept:
                f[-1] = -1
            else:
                other = int(np.flatnonzero([(codes >= 0).all() for codes in columns.codes])[0])
                f[starts[other] : starts[other + 1]] = -1
            found[int(place)] = f
        null = np.stack(list(found.values()), axis=1) if found else np.zeros((columns.count + 1, 0))
        places = np.array(list(found), np.intp)
        ridge = np.asarray(problem.ridge.reshape(-1, problem.outputs)[:-1].any(axis=1))
        squared = problem.head.quadratic and not ridge.any()
        return places, null, ridge[places] | (squared & (places < numbers))


def _precision(table: Array) -> Floats:
    """Return the relative rounding error of each column's values; integers in float32 count as exact in float64."""
    double = np.finfo(np.float64).eps / 2
    if table.dtype != np.float32:
        return np.full(table.shape[1], double)
    integers = np.ones(table.shape[1], np.bool_)
    for first in range(0, len(table), _ROWS_PER_BLOCK):
        block = table[first : first + _ROWS_PER_BLOCK]
        integers &= (block == np.rint(block)).all(axis=0)
    return np.where(integers, double, np.finfo(np.float32).eps / 2)
