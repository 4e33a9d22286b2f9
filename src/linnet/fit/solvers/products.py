"""Matrix products whose summation order is fixed: those of a BLAS depend on its threads and on the processor. Whatever
enters a result goes through these.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet._native import core
from linnet.config import usable_threads
from linnet.data.columns import Columns

Floats = NDArray[np.float64]
_MAX_OUTPUTS = 256  # that the core computes at a time: it has room for those of a block of rows
_PLAIN = getattr(core.Family, "normal")  # noqa: B009 (the stub names no families)
_MIN_PRODUCTS_FOR_THREADS = 4_000_000  # multiply-adds


def product(a: NDArray[Any], b: Floats) -> Floats:
    """A B, or A b for a vector b; A may have any memory layout."""
    if b.ndim == 1:
        return product(a, b[:, None])[:, 0]
    rows, (depth, width) = len(a), b.shape
    out = np.zeros((rows, width))
    if 0 in (rows, depth, width):
        return out
    threads = usable_threads() if rows * depth * width > _MIN_PRODUCTS_FOR_THREADS else 1
    table = a if a.dtype in (np.float32, np.float64, np.uint8) else a.astype(np.float64)
    columns = Columns(rows, tables=(table,)).to_core()
    for first in range(0, width, _MAX_OUTPUTS):
        some = np.ascontiguousarray(b[:, first : first + _MAX_OUTPUTS], np.float64)
        theta = np.concatenate([some.ravel(), np.zeros(some.shape[1])])
        part = out if width <= _MAX_OUTPUTS else np.empty((rows, some.shape[1]))
        core.Linear(columns, np.zeros(depth), _PLAIN, 0.0, some.shape[1], threads).predict(theta, part)
        if part is not out:
            out[:, first : first + _MAX_OUTPUTS] = part
    return out


def outer_product(a: NDArray[Any], weights: Floats | None = None) -> Floats:
    """A diag(w) A', or A A' without weights, rows x rows."""
    rows, depth = a.shape
    if 0 in (rows, depth):
        return np.zeros((rows, rows))
    out = np.empty((rows + 1, rows + 1))
    columns = Columns(depth, tables=(a.T,)).to_core()
    sums = core.Linear(columns, np.zeros(rows), _PLAIN, 0.0, 1, usable_threads())
    sums.sandwich(np.ones(depth) if weights is None else weights, out)
    return out[:-1, :-1]


def column_dots(a: Floats, b: Floats) -> Floats:
    """Σ_i a_ik b_ik for each column k; a may have a single column, or be a vector of one number per row."""
    a = a[:, None] if a.ndim == 1 else a
    first = np.ascontiguousarray(a[:, 0]) if a.shape[1] == 1 else None
    places = range(b.shape[1])
    return np.array(
        [
            core.dot(np.ascontiguousarray(a[:, i]) if first is None else first, np.ascontiguousarray(b[:, i]))
            for i in places
        ]
    )
