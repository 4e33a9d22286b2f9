"""Sums over rows at a theta: the interface between solvers and data.

Newton's method and L-BFGS need no more of the data than `RowSource` and `Sums` say, wherever the rows are: in memory
(`InMemory`), in pages of a file, or on several machines. Everything in it is a sum, so that a source in parts adds what
its parts give; the order of the parts must be fixed, or results differ in their last digits from run to run.

Other solvers, and inference, need single rows, or products of the table with vectors. They need an `InMemory`, and say
so by `suits` (see `select`).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from linnet.data.columns import Columns, as_columns
from linnet.data.rows import Rows
from linnet.fit.solvers.products import TableProducts
from linnet.heads import Head

Floats = NDArray[np.float64]
_COUNTED_ROWS = 1 << 20  # labels at a time


class Layout(Protocol):
    """The shape of a table: which columns there are, in this order. `Columns` is one."""

    @property
    def rows(self) -> int:
        """Number of rows, of all parts."""

    @property
    def dense(self) -> int:
        """Number of dense columns: those that are centered."""

    @property
    def sparse_columns(self) -> int:
        """Number of sparse columns."""

    @property
    def levels(self) -> tuple[int, ...]:
        """Number of levels of each category; each level is a column."""

    @property
    def count(self) -> int:
        """Number of columns in all."""


@dataclass(frozen=True)
class TargetSums:
    """Sums over the rows' targets, from which fits start. Those of parts of the rows add: `one + other`.

    Parameters
    ----------
    weight : float
        Σ_i w_i, the number of rows if they have no weights.
    target : array of shape (outputs,)
        Σ_i w_i t_i; for heads of classes, Σ w_i over the rows of each class.
    offset, least_offset : arrays of shape (outputs,), or None
        Σ_i w_i offset_i, and the smallest offset of a row with a weight; None if there are no offsets.
    """

    weight: float
    target: Floats
    offset: Floats | None = None
    least_offset: Floats | None = None

    def __add__(self, other: "TargetSums") -> "TargetSums":
        weight, target = self.weight + other.weight, self.target + other.target
        if self.offset is None or other.offset is None or self.least_offset is None or other.least_offset is None:
            return TargetSums(weight, target)
        least = np.minimum(self.least_offset, other.least_offset)
        return TargetSums(weight, target, self.offset + other.offset, least)


class Sums(Protocol):
    """Sums over all rows, for one head. Theta: see `linnet.fit.solvers.problem`; size is its length."""

    def at(
        self,
        theta: Floats,
        gradient: Floats | None = None,
        curvature: Floats | None = None,
        *,
        expected: bool = False,
        row_stride: int = 1,
    ) -> tuple[float, tuple[float, float]]:
        """Return Σ_i w_i loss_i and the smallest and largest z; write the gradient, of shape (size,), and the Hessian,
        (size, size), where arrays are given.

        `expected`: the Hessian's mean over the head's distribution. `row_stride`: estimates from about one row in so
        many, scaled up, are enough.
        """

    def curvature_diagonal(self, theta: Floats) -> Floats:
        """Σ_i w_i c_ik x_ij² of each column j and, last, Σ_i w_i c_ik: (columns + 1) x outputs. c_ik is the second
        derivative of row i's loss in z_k, its mean over the head's distribution.
        """

    @property
    def targets(self) -> TargetSums:
        """Sums over the targets."""


class RowSource(Protocol):
    """Rows to fit to, wherever they are."""

    @property
    def columns(self) -> Layout:
        """The shape of the table."""

    @property
    def threads(self) -> int | None:
        """How many threads of this machine may be used; None: all."""

    def middle(self) -> Floats:
        """Roughly where each dense column lies; only the digits of results depend on it."""

    def sums(self, head: Head, outputs: int, center: Floats) -> Sums:
        """Sums under a head with so many outputs; `center` is subtracted from the dense columns."""


@dataclass(frozen=True)
class InMemory:
    """Rows in memory: see `RowSource`."""

    rows: Rows
    threads: int | None = None

    @property
    def columns(self) -> Columns:
        """The table."""
        return as_columns(self.rows.x)

    def middle(self) -> Floats:
        """Roughly where each dense column lies: see `Columns.middle`."""
        return self.columns.middle(self.rows.weights)

    def sums(self, head: Head, outputs: int, center: Floats) -> "InMemorySums":
        """Sums under a head: see `RowSource.sums`."""
        return InMemorySums(self.rows, head, outputs, center, self.threads)


class InMemorySums(TableProducts):
    """Sums over rows in memory, by the core, and products of their table with vectors."""

    def __init__(self, rows: Rows, head: Head, outputs: int, center: Floats, threads: int | None = None) -> None:
        columns = as_columns(rows.x)
        super().__init__(columns, center, outputs, threads, head)
        self._rows, self._head = rows, head
        self._shape = (columns.rows, outputs)
        self._size = (columns.count + 1) * outputs

    def at(
        self,
        theta: Floats,
        gradient: Floats | None = None,
        curvature: Floats | None = None,
        *,
        expected: bool = False,
        row_stride: int = 1,
    ) -> tuple[float, tuple[float, float]]:
        """Return Σ_i w_i loss_i and the smallest and largest z; write gradient and Hessian: see `Sums.at`.

        `row_stride`: one block of rows in so many.
        """
        rows = self._rows.labels, self._rows.values, self._rows.weights, self._rows.offset
        loss, z_range = self._core.sums(theta, *rows, gradient, curvature, expected=expected, row_stride=row_stride)
        if row_stride > 1:
            for sums in (gradient, curvature):
                if sums is not None:
                    sums *= row_stride
        return loss * row_stride, z_range

    def z(self, theta: Floats) -> Floats:
        """z = x W + b + offset, rows x outputs."""
        z = np.empty(self._shape)
        self.predict(theta, z)
        if self._rows.offset is not None:
            z += self._rows.offset
        return z

    def curvature(self, z: Floats) -> Floats:
        """w_i ∂²loss_i/∂z_ik², rows x outputs, its mean over the head's distribution."""
        curved = self._head.curvature(z, self._rows.targets(), expected=True)
        weights = self._rows.weights
        if weights is not None:
            curved[weights == 0] = 0  # whatever their z, which may overflow
            curved *= weights[:, None]
        return curved

    def weighted_squares(self, weights: Floats) -> Floats:
        """Σ_i w_ik x_ij² of each column j and, last, of the intercept: (columns + 1) x outputs, or x 1 if w has one
        column.
        """
        out = np.empty(self._size)
        self.squares(np.ascontiguousarray(np.broadcast_to(weights, self._shape)), out)
        return out.reshape(-1, self._shape[1])[:, : weights.shape[1]]

    def curvature_diagonal(self, theta: Floats) -> Floats:
        """The diagonal of the expected Hessian, (columns + 1) x outputs: see `Sums.curvature_diagonal`."""
        return self.weighted_squares(self.curvature(self.z(theta)))

    @cached_property
    def targets(self) -> TargetSums:
        """Sums over the targets; a row without weight counts for nothing, whatever its target and offset."""
        values, weights, offset = self._rows.values, self._rows.weights, self._rows.offset
        if weights is not None:
            kept = weights > 0
            weights = weights[kept]
            values, offset = (None if each is None else each[kept] for each in (values, offset))

        def total(each: Floats) -> Floats:
            return np.asarray((each if weights is None else each * weights[:, None]).sum(axis=0))

        weight = float(self._shape[0] if weights is None else weights.sum())
        target = self._class_weights() if values is None else total(values)
        if offset is None:
            return TargetSums(weight, target)
        return TargetSums(weight, target, total(offset), offset.min(axis=0, initial=np.inf))

    def _class_weights(self) -> Floats:
        """The sum of row weights of each class."""
        labels, weights = self._rows.labels, self._rows.weights
        assert labels is not None
        total = np.zeros(self._shape[1])
        for first in range(0, self._shape[0], _COUNTED_ROWS):  # in parts: counting makes a copy of the labels
            part = slice(first, first + _COUNTED_ROWS)
            total += np.bincount(labels[part], None if weights is None else weights[part], self._shape[1])
        return total
