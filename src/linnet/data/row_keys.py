"""Random numbers per row that depend only on a seed and on the values of the row.

They do not depend on other rows, nor on how a table is split into blocks. As zeros are ignored and integers are
converted to floats, equal rows of an array, a sparse matrix and a data frame of numbers get equal random numbers.
"""

from collections.abc import Iterable
from hashlib import blake2b
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.data.frames import as_frame, numbers

Keys = NDArray[np.uint64]
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_NAN = np.uint64(0x7FF8000000000000)  # one bit pattern for all NaN
_CELLS_PER_BLOCK = 1 << 20


def row_draws(X: Any, seed: int) -> NDArray[np.float64]:
    """Return a random number in [0, 1) for each row of a table: equal for equal rows, otherwise as if independent."""
    columns = _mixed(np.arange(1, X.shape[1] + 1, dtype=np.uint64) * _GOLDEN + np.uint64(seed))
    total = _sums(X, columns)
    return np.asarray((_mixed(total + _GOLDEN) >> np.uint64(11)) * 2.0**-53)


def _sums(X: Any, columns: Keys) -> Keys:
    """Return Σ_j mixed(value_j, column_j) modulo 2^64 for each row."""
    if hasattr(X, "tocsr"):
        rows = X.tocsr()
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        ends = np.concatenate([np.zeros(1, np.uint64), np.cumsum(_terms(rows.data, columns[rows.indices]))])
        return np.asarray(ends[rows.indptr[1:]] - ends[rows.indptr[:-1]])
    total = np.zeros(X.shape[0], np.uint64)
    if isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
        step = max(1, _CELLS_PER_BLOCK // max(1, X.shape[1]))
        for first in range(0, len(X), step):
            block = slice(first, first + step)
            total[block] = _terms(X[block], columns).sum(axis=1, dtype=np.uint64)
        return total
    frame = None if isinstance(X, np.ndarray) else as_frame(X, "X")
    table = np.asarray(X, object) if frame is None else None
    for index, key in enumerate(columns):
        if table is not None:
            total += _terms_of_any(table[:, index].tolist(), key)
        elif frame is not None:
            series = frame[frame.columns[index]]
            total += _terms(numbers(series, "X"), key) if series.dtype.is_numeric() else _terms_of_any(series, key)
    return total


def _terms(values: NDArray[Any], keys: Any) -> Keys:
    """Return the terms of numbers in the sums of their rows: 0 for zeros."""
    floats = np.add(values, 0.0, dtype=np.float64)  # a copy, in which -0 is 0
    bits = floats.view(np.uint64)
    bits[floats != floats] = _NAN
    nonzero = bits != 0
    return np.where(nonzero, _mixed(bits ^ keys), np.uint64(0))


def _terms_of_any(values: Iterable[Any], key: np.uint64) -> Keys:
    """Return the terms of numbers, text and other values in the sums of their rows: 0 for zeros and missing values."""
    known: dict[Any, tuple[bool, int]] = {}  # by value: whether it counts, and its bits
    by_row = []
    for value in values:
        name = (type(value), value) if isinstance(value, str | Real) else str(value)
        if name not in known:
            known[name] = _bits(value)
        by_row.append(known[name])
    bits = np.array([bits for _, bits in by_row], np.uint64)
    counts = np.array([counts for counts, _ in by_row], np.bool_)
    return np.where(counts, _mixed(bits ^ key), np.uint64(0))


def _bits(value: Any) -> tuple[bool, int]:
    """Return whether a value counts (is neither zero nor missing), and its bits, or a hash for text."""
    if value is None or str(value != value) != "False":  # NaN != NaN is True, and pandas' NA != NA is NA
        return False, 0
    if isinstance(value, Real):
        number = float(value) + 0.0
        return number != 0, int(np.float64(number).view(np.uint64))
    text = str(value).encode("utf-8", "surrogatepass")
    return True, int.from_bytes(blake2b(text, digest_size=8).digest(), "little")


def _mixed(x: Keys) -> Keys:
    """Apply the output function of SplitMix64: every bit depends on all bits of x."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))
