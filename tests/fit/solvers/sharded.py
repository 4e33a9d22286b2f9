"""Rows that are not in memory as far as solvers see: a source in parts, whose sums are added."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np

from linnet._cached import cached_property
from linnet.data.rows import Rows
from linnet.fit.solvers.problem import Floats, Problem
from linnet.fit.solvers.sums import InMemory, InMemorySums, Layout, RowFunction, TargetSums, Total
from linnet.heads import Head


@dataclass(frozen=True)
class Shape:
    """The layout of a table in parts."""

    rows: int
    dense: int
    sparse_columns: int
    levels: tuple[int, ...]

    @property
    def count(self) -> int:
        return self.dense + self.sparse_columns + sum(self.levels)


class ShardedSums:
    """Sums over all parts: what each of them gives, added in order."""

    def __init__(self, parts: Sequence[InMemorySums]) -> None:
        self._parts = parts

    def at(
        self,
        theta: Floats,
        gradient: Floats | None = None,
        curvature: Floats | None = None,
        *,
        expected: bool = False,
        row_stride: int = 1,
    ) -> tuple[float, tuple[float, float]]:
        losses, ranges = [], []
        outs = [each for each in (gradient, curvature) if each is not None]
        totals = [np.zeros_like(each) for each in outs]
        for part in self._parts:
            loss, z_range = part.at(theta, gradient, curvature, expected=expected, row_stride=row_stride)
            losses.append(loss)
            ranges.append(z_range)
            for total, out in zip(totals, outs, strict=True):
                total += out
        for total, out in zip(totals, outs, strict=True):
            out[:] = total
        return sum(losses), (min(low for low, _ in ranges), max(high for _, high in ranges))

    def curvature_diagonal(self, theta: Floats) -> Floats:
        return reduce(add, (part.curvature_diagonal(theta) for part in self._parts))

    def totals_at(self, theta: Floats) -> Total:
        totals = [part.totals_at(theta) for part in self._parts]

        def total(each: RowFunction) -> float:
            return sum(of_part(each) for of_part in totals)

        return total

    @cached_property
    def targets(self) -> TargetSums:
        return reduce(add, (part.targets for part in self._parts))


@dataclass(frozen=True)
class Sharded:
    """Rows in parts, as pages of a file or the machines of a cluster have them."""

    parts: tuple[InMemory, ...]
    threads: int | None = None
    rows: None = None

    @property
    def target_columns(self) -> int:
        return self.parts[0].target_columns

    @property
    def weight(self) -> float:
        return sum(part.weight for part in self.parts)

    @property
    def columns(self) -> Layout:
        one = self.parts[0].columns
        rows = sum(part.columns.rows for part in self.parts)
        return Shape(rows, one.dense, one.sparse_columns, one.levels)

    def middle(self) -> Floats:
        return np.asarray(np.mean([part.middle() for part in self.parts], axis=0))

    def sums(self, head: Head, outputs: int, center: Floats) -> ShardedSums:
        return ShardedSums([part.sums(head, outputs, center) for part in self.parts])


def sharded(rows: Rows, ends: Sequence[int]) -> Sharded:
    """The rows in parts that end at these places."""
    return Sharded(tuple(InMemory(rows[slice(*each)]) for each in pairwise([0, *ends, len(rows)])))


def in_parts(problem: Problem, ends: Sequence[int] = (500, 501)) -> Problem:
    """The problem over three parts of its rows, one of which is a single row."""
    return replace(problem, data=sharded(problem.rows, ends))
