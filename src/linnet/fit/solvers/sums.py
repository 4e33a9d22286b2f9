"""What solvers ask of the rows: sums over all of them at some theta.

Newton's method and L-BFGS need no more than `Sums`, wherever the rows are: in memory, in the pages of a file, or on
several machines. Solvers that look at rows one by one, or at products with them, need `RowSums`, and say so by
`suits` (see `select`).
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
        """The sum of weighted losses, and the smallest and largest z; fill in the gradient and the second derivatives.

        `expected`: the second derivatives' means over the head's distribution. `row_stride`: of one block of rows in so
        many, not scaled up.
        """


class RowSums(Sums, Protocol):
    """Products of the table with vectors that have an entry for every row, which are at hand."""

    def predict(self, theta: Floats, z: Floats, /) -> None:
        """Fill in z = x W + b, rows x outputs, without offsets."""

    def gradient(self, d: Floats, out: Floats, /) -> None:
        """Fill in Σ_i x_i d_i, for all parameters, from d: rows x outputs."""

    def squares(self, d: Floats, out: Floats, /) -> None:
        """Fill in Σ_i x_i² d_i, for all parameters, from d: rows x outputs."""

    def sandwich(self, weights: Floats, out: Floats, /) -> None:
        """Fill in Σ_i w_i x_i x_i', of one output, the intercept last."""

    def gradient_by_group(self, d: Floats, group: NDArray[np.int64], out: Floats, /) -> None:
        """Fill in Σ_i x_i d_i for each group of rows, groups x parameters."""

    def quadratic(self, matrix: Floats, out: Floats, /) -> None:
        """Fill in x_i' A x_i for each row."""


class InMemorySums:
    """Sums of the core over a table at hand."""

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
        """The sum of weighted losses, and the smallest and largest z; fill in gradient and second derivatives."""
        return self._linear.sums(theta, *self._rows, gradient, curvature, expected=expected, every=row_stride)
