"""A random number for each row that depends on a seed and on the row's own values alone.

Not on the rows beside it, nor on how the table is cut into parts; and as zeros count for nothing and whole numbers as
floats, a row of an array, of a sparse matrix and of a data frame of the same numbers has the same number.
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
_NAN = np.uint64(0x7FF8000000000000)  # of the many ways to write it the usual one
_CELLS = 1 << 20  # at a time


def row_draws(X: Any, seed: int) -> NDArray[np.float64]:
    """A number in [0, 1) for each row of a table: equal rows have equal ones, others are as good as independent."""
    columns = _mixed(np.arange(1, X.shape[1] + 1, dtype=np.uint64) * _GOLDEN + np.uint64(seed))
    total = _sums(X, columns)
    return np.asarray((_mixed(total + _GOLDEN) >> np.uint64(11)) * 2.0**-53)


def _sums(X: Any, columns: Keys) -> Keys:
    """Σ_j mixed(value_j, column_j) modulo 2^64, by row."""
    if hasattr(X, "tocsr"):
        rows = X.tocsr()
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        ends = np.concatenate([np.zeros(1, np.uint64), np.cumsum(_terms(rows.data, columns[rows.indices]))])
        return np.asarray(ends[rows.indptr[1:]] - ends[rows.indptr[:-1]])
    total = np.zeros(X.shape[0], np.uint64)
    if isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
        step = max(1, _CELLS // max(1, X.shape[1]))
        for first in range(0, len(X), step):
            part = slice(first, first + step)
            total[part] = _terms(X[part], columns).sum(axis=1, dtype=np.uint64)
        return total
    frame = None if isinstance(X, np.ndarray) else as_frame(X, "X")
    table = np.asarray(X, object) if frame is None else None
    for place, key in enumerate(columns):
        if table is not None:
            total += _terms_of_any(table[:, place].tolist(), key)
        elif frame is not None:
            series = frame[frame.columns[place]]
            total += _terms(numbers(series, "X"), key) if series.dtype.is_numeric() else _terms_of_any(series, key)
    return total


def _terms(values: NDArray[Any], keys: Any) -> Keys:
    """What numbers add to their rows; 0 adds nothing."""
    floats = np.add(values, 0.0, dtype=np.float64)  # a copy, in which -0 is 0
    bits = floats.view(np.uint64)
    bits[floats != floats] = _NAN
    there = bits != 0
    return np.where(there, _mixed(bits ^ keys), np.uint64(0))


def _terms_of_any(values: Iterable[Any], key: np.uint64) -> Keys:
    """What numbers, texts and anything else that can be written add to their rows; a missing value adds nothing."""
    known: dict[Any, tuple[bool, int]] = {}  # the bits of a number, or of a text
    of_rows = []
    for value in values:
        name = (type(value), value) if isinstance(value, str | Real) else str(value)
        if name not in known:
            known[name] = _bits(value)
        of_rows.append(known[name])
    bits = np.array([bits for _, bits in of_rows], np.uint64)
    there = np.array([there for there, _ in of_rows], np.bool_)
    return np.where(there, _mixed(bits ^ key), np.uint64(0))


def _bits(value: Any) -> tuple[bool, int]:
    if value is None or str(value != value) != "False":  # NaN is not itself, and of pandas' NA not even that is known
        return False, 0
    if isinstance(value, Real):
        number = float(value) + 0.0
        return number != 0, int(np.float64(number).view(np.uint64))
    text = str(value).encode("utf-8", "surrogatepass")
    return True, int.from_bytes(blake2b(text, digest_size=8).digest(), "little")


def _mixed(x: Keys) -> Keys:
    """SplitMix64's last steps: every bit depends on all bits of x."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))
