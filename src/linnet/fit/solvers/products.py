"""Products of tables and matrices with a fixed order of summation.

The order in a BLAS depends on its threads and on the processor, so every result is computed with these products.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet._native import core
from linnet.config import usable_threads
from linnet.data.columns import Columns
from linnet.heads import Head, Normal

Floats = NDArray[np.float64]
_MAX_OUTPUTS = 256  # computed by the core at a time, as it holds the outputs of a block of rows
_MIN_PRODUCTS_FOR_THREADS = 4_000_000  # multiply-adds
_SQUARED_ERROR = Normal()  # products do not depend on the head


class TableProducts:
    """Products of a table in memory with vectors.

    `center` is subtracted from the dense columns; the last column, of ones, is that of the biases.
    """

    def __init__(
        self, columns: Columns, center: Floats, outputs: int, threads: int | None, head: Head = _SQUARED_ERROR
    ) -> None:
        self._core = core.Linear(
            columns.to_core(), center, head.core_family, head.parameter, outputs, usable_threads(threads)
        )

    def predict(self, theta: Floats, z: Floats) -> None:
        """Write z = x W + b, rows x outputs, without offsets."""
        self._core.predict(theta, z)

    def gradient(self, d: Floats, out: Floats) -> None:
        """Write Σ_i x_i d_i, of the shape of theta, from d: rows x outputs."""
        self._core.gradient(d, out)

    def squares(self, d: Floats, out: Floats) -> None:
        """Write Σ_i x_i² d_i, of the shape of theta, from d: rows x outputs."""
        self._core.squares(d, out)

    def sandwich(self, weights: Floats, out: Floats) -> None:
        """Write Σ_i w_i x_i x_i', columns + 1 squared."""
        self._core.sandwich(weights, out)

    def gradient_by_group(self, d: Floats, group: NDArray[np.int64], out: Floats) -> None:
        """Write Σ_i x_i d_i of each group of rows, groups x parameters."""
        self._core.gradient_by_group(d, group, out)

    def quadratic(self, matrix: Floats, out: Floats) -> None:
        """Write x_i' A x_i of each row, A having columns + 1 rows."""
        self._core.quadratic(matrix, out)


def linear_output(columns: Columns, weights: Floats, biases: Floats, threads: int | None = None) -> Floats:
    """Return z = x W + b, rows x outputs, from weights (columns x outputs) and biases."""
    outputs = len(biases)
    z = np.empty((columns.rows, outputs))
    if outputs > _MAX_OUTPUTS:
        for first in range(0, outputs, _MAX_OUTPUTS):
            block = slice(first, first + _MAX_OUTPUTS)
            z[:, block] = linear_output(columns, np.ascontiguousarray(weights[:, block]), biases[block], threads)
        return z
    table = TableProducts(columns, np.zeros(columns.dense), outputs, threads)
    table.predict(np.concatenate([weights.ravel(), biases]), z)
    return z


def product(a: NDArray[Any], b: Floats) -> Floats:
    """Return A B, or A b for a vector b; A may have any memory layout."""
    if b.ndim == 1:
        return product(a, b[:, None])[:, 0]
    rows, (depth, width) = len(a), b.shape
    if 0 in (rows, depth, width):
        return np.zeros((rows, width))
    threads = None if rows * depth * width > _MIN_PRODUCTS_FOR_THREADS else 1
    table = a if a.dtype in (np.float32, np.float64, np.uint8) else a.astype(np.float64)
    return linear_output(Columns(rows, tables=(table,)), b.astype(np.float64, copy=False), np.zeros(width), threads)


def outer_product(a: NDArray[Any], weights: Floats | None = None) -> Floats:
    """Return A diag(w) A', or A A' without weights, rows x rows."""
    rows, depth = a.shape
    if 0 in (rows, depth):
        return np.zeros((rows, rows))
    out = np.empty((rows + 1, rows + 1))
    table = TableProducts(Columns(depth, tables=(a.T,)), np.zeros(rows), 1, None)
    table.sandwich(np.ones(depth) if weights is None else weights, out)
    return out[:-1, :-1]


def column_dots(a: Floats, b: Floats) -> Floats:
    """Return Σ_i a_ik b_ik for each column k; a may have a single column, or be a vector with one value per row."""
    a = a[:, None] if a.ndim == 1 else a
    first = np.ascontiguousarray(a[:, 0]) if a.shape[1] == 1 else None
    return np.array(
        [
            core.dot(np.ascontiguousarray(a[:, k]) if first is None else first, np.ascontiguousarray(b[:, k]))
            for k in range(b.shape[1])
        ]
    )
