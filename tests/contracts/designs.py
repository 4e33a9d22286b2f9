"""Columns of every kind, each with the dense table of the same numbers."""

from dataclasses import replace

import numpy as np
import scipy.sparse

from linnet._native import core
from linnet.data.columns import Codes, Columns, Sparse
from linnet.data.rows import Rows

from .cases import Array, HeadCase, make_rows, numbers

# If most of a row is zero, a network reads it entry by entry, for first layers of any width or of some.
NARROW = ("frame", "sparse", "codes", "mixed")
SOME_ZEROS = ("image", "images")
MOSTLY_ZERO = ("text", "many levels", "text and more")
DESIGNS = NARROW + SOME_ZEROS + MOSTLY_ZERO


class Whole(Columns):
    """Columns of which a network reads every value, including zeros."""

    __slots__ = ()

    def to_core(self) -> core.Columns:
        """Return the core's view, declared to have no zeros."""
        native = Columns.to_core(self)
        native.entries_per_row = self.count
        return native


def make_columns(kind: str, n: int, seed: int) -> Columns:
    """Tables of all types and layouts, sparse rows in any order and some of them empty, codes and some unknown."""
    tables = (
        numbers(seed, n, 1).astype(np.float32),
        numbers(seed + 1, n, 1),
        np.random.default_rng(seed).integers(0, 9, (n, 1)).astype(np.uint8),
        np.asfortranarray(numbers(seed + 2, n, 9)),
        numbers(seed + 3, n, 20).astype(np.float32)[:, ::2],
        numbers(seed + 4, n, 17).astype(np.float32),
    )
    match kind:
        case "frame":
            return Columns(n, tables)
        case "image":
            return Columns(n, (_with_zeros(numbers(seed, n, 150).astype(np.float32), seed),))
        case "images":
            some = _with_zeros(numbers(seed, n, 90), seed)
            grey = _with_zeros(np.random.default_rng(seed).integers(0, 9, (n, 67)).astype(np.uint8), seed + 1)
            every_other = _with_zeros(numbers(seed + 2, n, 40).astype(np.float32), seed + 2)[:, ::2]
            return Columns(
                n, (some, grey, np.asfortranarray(some[:, :33]), every_other), codes=_codes(n, (9,), seed), levels=(9,)
            )
        case "sparse":
            return Columns(n, sparse=_sparse(n, 45, 0.3, seed), sparse_columns=45)
        case "codes":
            return Columns(n, codes=_codes(n, (5, 1, 40), seed), levels=(5, 1, 40))
        case "mixed":
            starts, indices, values = _sparse(n, 19, 0.2, seed)
            sparse = starts, indices.astype(np.int64), values.astype(np.float32)
            return Columns(n, tables, sparse, 19, _codes(n, (3, 8), seed), (3, 8))
        case "text":
            return Columns(n, sparse=_sparse(n, 1500, 0.01, seed), sparse_columns=1500)
        case "many levels":
            return Columns(n, codes=_codes(n, (700, 30), seed), levels=(700, 30))
        case "text and more":
            starts, indices, values = _sparse(n, 1700, 0.003, seed)
            sparse = starts, indices.astype(np.int64), values.astype(np.float32)
            return Columns(n, tables[:3], sparse, 1700, _codes(n, (3, 90), seed), (3, 90))
    raise AssertionError(kind)


def as_dense(x: Columns) -> Array:
    """The same numbers as one table."""
    entries = [] if x.sparse is None and not x.codes else [x.entries().toarray()]
    return np.hstack([*(table.astype(np.float64) for table in x.tables), *entries])


def make_pair(kind: str, case: HeadCase, n: int, dtype: str, seed: int, *, weighted: bool = False) -> tuple[Rows, Rows]:
    """The same rows twice: over columns, and over one table of the type that is computed in."""
    columns = make_columns(kind, n, seed)
    zeros = columns.count / columns.to_core().entries_per_row
    # the core's limits: for narrow layers, and for those of two panels or more
    assert zeros > 40 if kind in MOSTLY_ZERO else 7 < zeros < 40 if kind in SOME_ZEROS else zeros < 40
    rows = make_rows(case, 1, n, dtype, seed, weighted=weighted)
    return replace(rows, x=columns), replace(rows, x=Whole(n, (as_dense(columns).astype(dtype),)))


def _with_zeros(x: Array, seed: int) -> Array:
    return np.where(np.random.default_rng([seed, 4]).random(x.shape) < 0.08, x, x.dtype.type(0))


def _sparse(n: int, columns: int, density: float, seed: int) -> Sparse:
    rng = np.random.default_rng([seed, 2])
    counts = rng.binomial(columns, density, n)
    counts[[0, n // 2, n - 1]] = 0
    indices = [rng.choice(columns, count, replace=False) for count in counts]
    starts = np.concatenate([[0], np.cumsum(counts)])
    total = int(starts[-1])
    return starts, np.concatenate([*indices]).astype(np.int32), numbers(seed + 5, total)


def _codes(n: int, levels: tuple[int, ...], seed: int) -> tuple[Codes, ...]:
    rng = np.random.default_rng([seed, 3])
    return tuple(rng.integers(-1, count, n).astype(np.int32) for count in levels)


def sorted_rows(x: Columns) -> Columns:
    """The same columns with the entries of each sparse row in rising order."""
    assert x.sparse is not None
    starts, indices, values = x.sparse
    matrix = scipy.sparse.csr_array((values.copy(), indices.copy(), starts), shape=(x.rows, x.sparse_columns))
    matrix.sort_indices()
    return replace(x, sparse=(matrix.indptr.astype(np.int64), matrix.indices, matrix.data))
