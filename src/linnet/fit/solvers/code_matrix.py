"""Code matrices of binary problems over the same rows: the rows of each problem, and their classes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linnet._cached import cached_property

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class CodeMatrix:
    """A code matrix, groups x problems, with entries +1 (positive), -1 (negative) and 0 (rows are left out).

    Rows belong to groups, usually classes. The matrix is stored by group: group g has the entries from `starts[g]` to
    `starts[g + 1]` of `problem` (ascending within a group) and `sign` (+1 or -1); entries that are not stored are 0.

    Parameters
    ----------
    group : array of shape (rows,)
        Group of each row.
    starts : array of shape (groups + 1,)
        First entry of each group.
    problem, sign : arrays of shape (entries,)
        Problem and sign of each entry.
    problems : int
        Number of problems, including those without entries.
    """

    group: NDArray[np.int32]
    starts: NDArray[np.int64]
    problem: NDArray[np.int32]
    sign: NDArray[np.int8]
    problems: int

    @staticmethod
    def from_dense(codes: NDArray[np.int8], group: NDArray[np.int32]) -> "CodeMatrix":
        """Build the matrix from an array of codes, groups x problems."""
        where, problem = np.nonzero(codes)
        starts = np.searchsorted(where, np.arange(len(codes) + 1)).astype(np.int64)
        return CodeMatrix(group, starts, problem.astype(np.int32), codes[where, problem], codes.shape[1])

    @staticmethod
    def from_pairs(
        negative: NDArray[np.intp], positive: NDArray[np.intp], groups: int, group: NDArray[np.int32]
    ) -> "CodeMatrix":
        """Build the matrix of problems that have one negative and one positive group each."""
        problem = np.arange(len(negative), dtype=np.int32)
        where = np.concatenate([negative, positive])
        order = np.lexsort([np.concatenate([problem, problem]), where])
        starts = np.searchsorted(where[order], np.arange(groups + 1)).astype(np.int64)
        sign = np.repeat(np.array([-1, 1], np.int8), len(negative))
        return CodeMatrix(group, starts, np.concatenate([problem, problem])[order], sign[order], len(negative))

    @staticmethod
    def empty(group: NDArray[np.int32]) -> "CodeMatrix":
        """Build the matrix of no problems."""
        return CodeMatrix(group, np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.int8), 0)

    @property
    def groups(self) -> int:
        """The number of groups."""
        return len(self.starts) - 1

    @cached_property
    def row_order(self) -> NDArray[np.int64]:
        """Row numbers sorted by group; rows of a group keep their order."""
        return np.argsort(self.group, kind="stable").astype(np.int64)

    @cached_property
    def group_starts(self) -> NDArray[np.int64]:
        """First position of each group in `row_order`, followed by the number of rows."""
        counts = np.bincount(self.group, minlength=self.groups)
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    @cached_property
    def _group_of_entry(self) -> NDArray[np.intp]:
        return np.repeat(np.arange(self.groups), np.diff(self.starts))

    @cached_property
    def _entries_by_problem(self) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """Entries sorted by problem, and the first one of each problem."""
        order = np.argsort(self.problem, kind="stable")
        return order, np.searchsorted(self.problem[order], np.arange(self.problems + 1)).astype(np.int64)

    def side_totals(self, by_group: Floats) -> Floats:
        """Return sums of a value per group over the negative and the positive groups of each problem, problems x 2."""
        side = 2 * self.problem.astype(np.intp) + (self.sign > 0)
        return np.asarray(np.bincount(side, by_group[self._group_of_entry], 2 * self.problems).reshape(-1, 2) * 1.0)

    def side_weights(self, weights: Floats | None) -> Floats:
        """Return sums of row weights (None: numbers of rows), problems x (negative, positive)."""
        return self.side_totals(np.bincount(self.group, weights, self.groups).astype(np.float64))

    def side_rows(self) -> Floats:
        """Return numbers of rows, problems x (negative, positive)."""
        return self.side_totals(np.diff(self.group_starts).astype(np.float64))

    def take(self, chosen: NDArray[np.intp]) -> "CodeMatrix":
        """Return the matrix of a subset of the problems, in ascending order."""
        new_index = np.full(self.problems, -1, np.int32)
        new_index[chosen] = np.arange(len(chosen))
        is_kept = new_index[self.problem] >= 0
        starts = np.concatenate([[0], np.cumsum(is_kept)])[self.starts].astype(np.int64)
        subset = CodeMatrix(self.group, starts, new_index[self.problem[is_kept]], self.sign[is_kept], len(chosen))
        subset.__dict__.update(row_order=self.row_order, group_starts=self.group_starts)  # the rows are unchanged
        return subset

    def subsampled(self, row_stride: int, keep_all: NDArray[np.bool_]) -> "CodeMatrix":
        """Return the matrix with one row in `row_stride` of each group, and all rows of the classes in `keep_all`.

        `keep_all` has the shape problems x (negative, positive). Each group becomes two, that of its sampled rows and
        that of its other rows, which come last.
        """
        nth = np.empty(len(self.group), np.int64)  # of its group
        nth[self.row_order] = np.arange(len(self.group)) - np.repeat(self.group_starts[:-1], np.diff(self.group_starts))
        group = self.group + np.where(nth % row_stride == 0, 0, self.groups).astype(np.int32)
        also = keep_all[self.problem, (self.sign > 0).astype(np.intp)]
        after = len(self.problem) + np.concatenate([[0], np.cumsum(also)])[self.starts[1:]]
        starts = np.concatenate([self.starts, after]).astype(np.int64)
        problem, sign = (np.concatenate([entries, entries[also]]) for entries in (self.problem, self.sign))
        return CodeMatrix(group, starts, problem, sign, self.problems)

    def rows(self, problem: int) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
        """Return the row numbers of one problem, ascending, and their classes: 1 (positive) or 0 (negative)."""
        order, starts = self._entries_by_problem
        entries = order[starts[problem] : starts[problem + 1]]
        sign = np.zeros(self.groups, np.int8)
        sign[self._group_of_entry[entries]] = self.sign[entries]
        of_row = sign[self.group]
        rows = np.flatnonzero(of_row)
        return rows, (of_row[rows] > 0).astype(np.int32)
