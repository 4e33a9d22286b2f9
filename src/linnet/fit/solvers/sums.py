"""Sums over rows at a theta: the interface between solvers and data.

Newton's method and L-BFGS need no more than `Sums`, wherever the rows are: in memory, in pages of a file, or on several
machines. Solvers that need single rows, or products of the table with vectors, need `RowSums`, and say so by `suits`
(see `select`).
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from linnet._native import core
from linnet.data.columns import Columns
from linnet.data.targets import Labels
from linnet.heads import Head

Floats = NDArray[np.float64]


class Sums(Protocol):
    """Sums over all rows."""

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

        `expected`: the Hessian's mean over the head's distribution. `row_stride`: sums over one block of rows in so
        many, not scaled up.
        """


class RowSums(Sums, Protocol):
    """Sums over rows, and products of the table with vectors of one entry per row."""

    def predict(self, theta: Floats, z: Floats, /) -> None:
        """Write z = x W + b, rows x outputs, without offsets."""

    def gradient(self, d: Floats, out: Floats, /) -> None:
        """Write Σ_i x_i d_i, of the shape of theta, from d: rows x outputs."""

    def squares(self, d: Floats, out: Floats, /) -> None:
        """Write Σ_i x_i² d_i, of the shape of theta, from d: rows x outputs."""

    def sandwich(self, weights: Floats, out: Floats, /) -> None:
        """Write Σ_i w_i x_i x_i', columns + 1 squared, the intercept last."""

    def gradient_by_group(self, d: Floats, group: NDArray[np.int64], out: Floats, /) -> None:
        """Write Σ_i x_i d_i of each group of rows, groups x parameters."""

    def quadratic(self, matrix: Floats, out: Floats, /) -> None:
        """Write x_i' A x_i of each row, A having columns + 1 rows."""


class InMemorySums:
    """Sums over a table in memory, by the core."""

    def __init__(
        self,
        columns: Columns,
        center: Floats,
        head: Head,
        outputs: int,
        threads: int,
        *,
        labels: Labels | None = None,
        values: Floats | None = None,
        weights: Floats | None = None,
        offset: Floats | None = None,
    ) -> None:
        table = columns.to_core()
        self._linear = core.Linear(table, center, head.core_family, head.parameter, outputs, threads)
        self._rows = labels, values, weights, offset
        self.predict, self.gradient, self.squares = self._linear.predict, self._linear.gradient, self._linear.squares
        self.sandwich, self.quadratic = self._linear.sandwich, self._linear.quadratic
        self.gradient_by_group = self._linear.gradient_by_group

    def at(
        self,
        theta: Floats,
        gradient: Floats | None = None,
        curvature: Floats | None = None,
        *,
        expected: bool = False,
        row_stride: int = 1,
    ) -> tuple[float, tuple[float, float]]:
        """Return Σ_i w_i loss_i and the smallest and largest z; write gradient and Hessian: see `Sums.at`."""
        return self._linear.sums(theta, *self._rows, gradient, curvature, expected=expected, every=row_stride)
