"""Sums over rows at a theta: the interface between solvers and data.

Newton's method and L-BFGS need only a `RowSource` and its `Sums`, wherever the rows are: in memory (`InMemory`), in
pages of a file, or on several machines. Everything is a sum, so that a source in several parts adds the sums of its
parts; the order of the parts must be fixed, or results differ by rounding from run to run.

Other solvers, and inference, need single rows, or products of the table with vectors. They require a source that has
`rows`, which `suits` checks (see `select`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from linnet._cached import cached_property
from linnet.data.columns import Columns, as_columns
from linnet.data.rows import Rows
from linnet.fit.solvers.products import TableProducts
from linnet.heads import Head

Floats = NDArray[np.float64]
RowFunction = Callable[[Floats, Any, Floats], float]  # of means (rows x outputs), targets, weights: a sum over rows
Total = Callable[[RowFunction], float]  # of such a function: its sum over all rows
_LABELS_PER_BLOCK = 1 << 20  # counted at a time


class Layout(Protocol):
    """The shape of a table: the kinds of its columns, in this order. `Columns` is one."""

    @property
    def rows(self) -> int:
        """The number of rows."""

    @property
    def dense(self) -> int:
        """The number of dense columns, which are centered."""

    @property
    def sparse_columns(self) -> int:
        """The number of sparse columns."""

    @property
    def levels(self) -> tuple[int, ...]:
        """The number of levels of each category; each level is a column."""

    @property
    def count(self) -> int:
        """The total number of columns."""


@dataclass(frozen=True)
class TargetSums:
    """Sums over the rows' targets, from which fits start. Sums of disjoint sets of rows add with `+`.

    Parameters
    ----------
    weight : float
        Σ_i w_i; without weights, the number of rows.
    target : array of shape (outputs,)
        Σ_i w_i t_i; for heads of classes, Σ w_i over the rows of each class.
    offset, min_offset : arrays of shape (outputs,), or None
        Σ_i w_i offset_i, and the smallest offset of a row with a weight; None if there are no offsets.
    min_weight : float
        The smallest weight above 0, 1 if the rows have no weights.
    """

    weight: float
    target: Floats
    offset: Floats | None = None
    min_offset: Floats | None = None
    min_weight: float = 1.0

    def __add__(self, other: "TargetSums") -> "TargetSums":
        weight, target = self.weight + other.weight, self.target + other.target
        lightest = min(self.min_weight, other.min_weight)
        if self.offset is None or other.offset is None or self.min_offset is None or other.min_offset is None:
            return TargetSums(weight, target, min_weight=lightest)
        min_offset = np.minimum(self.min_offset, other.min_offset)
        return TargetSums(weight, target, self.offset + other.offset, min_offset, lightest)


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
        """Return Σ_i w_i loss_i and the smallest and largest z.

        Parameters
        ----------
        theta : array of shape (size,)
            The parameters.
        gradient : array of shape (size,), or None
            Where to write the gradient.
        curvature : array of shape (size, size), or None
            Where to write the Hessian.
        expected : bool
            Whether the Hessian is averaged over the head's distribution.
        row_stride : int
            The sums may be estimated from about one row in `row_stride`, scaled up.
        """

    def curvature_diagonal(self, theta: Floats) -> Floats:
        """Return Σ_i w_i c_ik x_ij² of each column j and, last, Σ_i w_i c_ik: (columns + 1) x outputs.

        c_ik is the second derivative of row i's loss in z_k, its mean over the head's distribution.
        """

    def totals_at(self, theta: Floats) -> Total:
        """Return a function `total` for theta: `total(f)` is the sum of `f` over all rows, added up over its parts."""

    @property
    def targets(self) -> TargetSums:
        """Sums over the targets."""


class RowSource(Protocol):
    """Rows to fit to, in memory or elsewhere."""

    @property
    def rows(self) -> Rows | None:
        """The rows, if all are in memory; their sums are `InMemorySums` then."""

    @property
    def columns(self) -> Layout:
        """The shape of the table."""

    @property
    def target_columns(self) -> int:
        """Number of columns of the targets: 1 for classes."""

    @property
    def weight(self) -> float:
        """Sum of the rows' weights: the number of rows if they have none."""

    @property
    def threads(self) -> int | None:
        """The largest number of threads of this machine; None: all."""

    def middle(self) -> Floats:
        """Return the rough location of each dense column; it affects only the accuracy of results."""

    def sums(self, head: Head, outputs: int, center: Floats) -> Sums:
        """Return sums under a head with `outputs` outputs; `center` is subtracted from the dense columns."""


@dataclass(frozen=True)
class InMemory:
    """Rows in memory: see `RowSource`."""

    rows: Rows
    threads: int | None = None

    @property
    def columns(self) -> Columns:
        """The table."""
        return as_columns(self.rows.x)

    @property
    def target_columns(self) -> int:
        """Number of columns of the targets: 1 for classes."""
        return 1 if self.rows.values is None else self.rows.values.shape[1]

    @property
    def weight(self) -> float:
        """Sum of the rows' weights: see `Rows.weight_sum`."""
        return self.rows.weight_sum

    def middle(self) -> Floats:
        """Return the rough location of each dense column: see `Columns.middle`."""
        return self.columns.middle(self.rows.weights)

    def sums(self, head: Head, outputs: int, center: Floats) -> "InMemorySums":
        """Return sums under a head: see `RowSource.sums`."""
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

        With `row_stride` > 1, one block of rows in `row_stride` is used.
        """
        rows = self._rows.labels, self._rows.values, self._rows.weights, self._rows.offset
        loss, z_range = self._core.sums(theta, *rows, gradient, curvature, expected=expected, row_stride=row_stride)
        if row_stride > 1:
            for sums in (gradient, curvature):
                if sums is not None:
                    sums *= row_stride
        return loss * row_stride, z_range

    def z(self, theta: Floats) -> Floats:
        """Return z = x W + b + offset, rows x outputs."""
        z = np.empty(self._shape)
        self.predict(theta, z)
        if self._rows.offset is not None:
            z += self._rows.offset
        return z

    def curvature(self, z: Floats) -> Floats:
        """Return w_i ∂²loss_i/∂z_ik², rows x outputs, its mean over the head's distribution."""
        curved = self._head.curvature(z, self._rows.targets(), expected=True)
        weights = self._rows.weights
        if weights is not None:
            curved[weights == 0] = 0  # whatever their z, which may overflow
            curved *= weights[:, None]
        return curved

    def weighted_squares(self, weights: Floats) -> Floats:
        """Return Σ_i w_ik x_ij² of each column j and, last, of the intercept.

        The shape is (columns + 1) x outputs, or x 1 if w has one column.
        """
        out = np.empty(self._size)
        self.squares(np.ascontiguousarray(np.broadcast_to(weights, self._shape)), out)
        return out.reshape(-1, self._shape[1])[:, : weights.shape[1]]

    def curvature_diagonal(self, theta: Floats) -> Floats:
        """Return the diagonal of the expected Hessian, (columns + 1) x outputs: see `Sums.curvature_diagonal`."""
        return self.weighted_squares(self.curvature(self.z(theta)))

    def totals_at(self, theta: Floats) -> Total:
        """Return a function that sums over the rows at theta: see `Sums.totals_at`."""
        mean, rows = self._head.mean(self.z(theta)), self._rows
        weights = np.ones(len(rows)) if rows.weights is None else rows.weights
        return lambda each: each(mean, rows.targets(), weights)

    @cached_property
    def targets(self) -> TargetSums:
        """Sums over the targets; rows without weight do not count, whatever their targets and offsets."""
        values, weights, offset = self._rows.values, self._rows.weights, self._rows.offset
        if weights is not None:
            has_weight = weights > 0
            weights = weights[has_weight]
            values, offset = (None if each is None else each[has_weight] for each in (values, offset))

        def total(each: Floats) -> Floats:
            return np.asarray((each if weights is None else each * weights[:, None]).sum(axis=0))

        weight = float(self._shape[0] if weights is None else weights.sum())
        lightest = 1.0 if weights is None else float(weights.min(initial=np.inf))
        target = self._class_weights() if values is None else total(values)
        if offset is None:
            return TargetSums(weight, target, min_weight=lightest)
        return TargetSums(weight, target, total(offset), offset.min(axis=0, initial=np.inf), lightest)

    def _class_weights(self) -> Floats:
        """Return the sum of row weights of each class."""
        labels, weights = self._rows.labels, self._rows.weights
        assert labels is not None
        total = np.zeros(self._shape[1])
        for first in range(0, self._shape[0], _LABELS_PER_BLOCK):  # counting copies the labels
            block = slice(first, first + _LABELS_PER_BLOCK)
            total += np.bincount(labels[block], None if weights is None else weights[block], self._shape[1])
        return total
