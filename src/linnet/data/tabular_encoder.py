"""Preprocessing of columns for networks, independent of their units: centred, scaled, clipped smoothly and imputed.

| column | becomes |
|---|---|
| numbers x | u / sqrt(1 + (u/3)²), u = (x - median) / (upper quartile - lower quartile) |
| numbers x, by bins | for each bin [a, b] between quantiles: (x - a) / (b - a), clipped to 0 and 1 |
| numbers with missing values | x with the median for missing values, and a column that is 1 there |
| levels | one column per level, except for rare levels; rare, unseen and missing levels are 0 in all |
| sparse numbers | x / the largest |x| of the column |

Where the quartiles are equal, half the range takes the place of their difference. The bins (piecewise linear encodings,
arXiv 2203.05556) let the first layer bend at every quantile of a column.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from linnet.data.columns import Codes, Columns, code_type
from linnet.data.encoder import Encoded, Encoder
from linnet.data.table import Array
from linnet.data.targets import as_weights
from linnet.errors import DataError
from linnet.registry import need, saved

Floats = NDArray[np.float64]

_MIN_ROWS_PER_LEVEL = 3  # rarer levels get no column
_CELLS_PER_BLOCK = 1 << 16  # a compromise between the time per call and the memory per column
LARGEST_SCALED = 1e100  # number whose third is squared: far beyond where it is clipped
_QUANTILE_ROWS = 20_000  # the size of the sample from which bins are learned


@saved
@dataclass(frozen=True, slots=True)
class Numbers:
    """The learned transformation of the dense columns."""

    centre: Floats
    scale: Floats
    gaps: NDArray[np.intp]  # columns with missing values
    edges: tuple[Floats, ...]  # of each column's bins; fewer than 3 where it has none

    def apply(self, x: Floats) -> NDArray[np.float32]:
        """Transform a table with NaN for missing values: rows x columns -> rows x (columns, marks, bins)."""
        missing = np.isnan(x)
        filled = np.where(missing, self.centre, x)
        with np.errstate(over="ignore"):  # infinity is clipped
            parts: list[Array] = [smooth_clip((filled - self.centre) * self.scale), missing[:, self.gaps]]
            for column, edges in zip(filled.T, self.edges, strict=True):
                if len(edges) > 2:
                    parts.append(((column[:, None] - edges[:-1]) / np.diff(edges)).clip(0, 1))
        return np.hstack(parts, dtype=np.float32, casting="same_kind")

    def names(self, columns: Sequence[str]) -> list[str]:
        """Return the names of the transformed columns."""
        bins = [
            f"{column} from {low:g} to {high:g}"
            for column, edges in zip(columns, self.edges, strict=True)
            if len(edges) > 2
            for low, high in pairwise(edges)
        ]
        return [*columns, *(f"{columns[index]} missing" for index in self.gaps), *bins]

    def _check_file(self) -> None:
        count = len(self.edges)
        need(self.centre.shape == self.scale.shape == (count,), self, "centre")
        need(self.gaps.ndim == 1 and ((self.gaps >= 0) & (self.gaps < count)).all(), self, "gaps")
        need(all(edges.ndim == 1 for edges in self.edges), self, "edges")


def smooth_clip(u: Floats) -> Floats:
    """Return u / sqrt(1 + (u/3)²): about u near 0, and always within ±3."""
    u = np.clip(u, -LARGEST_SCALED, LARGEST_SCALED)  # beyond, the square overflows, and u over it would be 0 or NaN
    return np.asarray(u / np.sqrt(1 + np.square(u / 3)))


def learn_numbers(x: Floats, bins: int) -> Numbers:
    """Learn medians, quartiles and bin edges from a table with NaN for missing values; `bins` per column."""
    has_gaps = np.asarray(np.isnan(x).any(axis=0))
    step = -(-len(x) // _QUANTILE_ROWS)
    centre, scale = np.zeros(x.shape[1]), np.ones(x.shape[1])
    edges = [np.empty(0) for _ in range(x.shape[1])]
    complete = np.flatnonzero(~has_gaps)
    block = max(1, _CELLS_PER_BLOCK // max(1, len(x)))  # columns
    blocks = [complete[first : first + block] for first in range(0, len(complete), block)]
    for columns in [*blocks, *np.flatnonzero(has_gaps)[:, None]]:
        present = x[:, columns]
        if has_gaps[columns[0]]:
            present = present[~np.isnan(present)][:, None]
        if len(present) == 0:
            continue
        present.sort(axis=0)
        low, centre[columns], high = np.quantile(present, [0.25, 0.5, 0.75], axis=0)
        with np.errstate(over="ignore", divide="ignore"):
            spread = np.where(high > low, high - low, (present[-1] - present[0]) / 2)
            scale[columns] = np.where((spread > 0) & np.isfinite(1 / spread), 1 / spread, 1.0)
        if bins >= 2:
            for index, values in zip(columns, present.T, strict=True):
                edges[index] = bin_edges(values[:: min(step, len(present))], bins)
    return Numbers(centre, scale, np.flatnonzero(has_gaps), tuple(edges))


def bin_edges(known: Floats, bins: int) -> Floats:
    """Return the quantiles that bound the bins of a column, or all distinct values if there are no more than edges.

    A value that occurs often enough to fill several bins gets only one: the other values share the rest.
    """
    if bins < 2:
        return np.empty(0)
    distinct, counts = np.unique(known, return_counts=True)
    if len(distinct) > bins + 1:
        mass = np.cumsum(np.minimum(counts, len(known) / bins))
        quantiles = np.linspace(0, mass[-1], bins + 1)
        distinct = distinct[np.unique(np.searchsorted(mass, quantiles).clip(max=len(distinct) - 1))]
    with np.errstate(divide="ignore", over="ignore"):
        wide = np.isfinite(1 / np.diff(distinct))
    return distinct[np.append(wide, True)] if len(distinct) else distinct


@partial(saved, name="Preparer")  # its name in files
@dataclass(frozen=True, slots=True)
class TabularEncoder:
    """An encoder that also scales and imputes, with parameters learned from one table.

    Parameters
    ----------
    bins : int or None, default=None
        The number of bins per numeric column; None chooses it by the number of rows.
    encoder : Encoder
        The encoder of the table.
    numbers : Numbers or None
        The transformation of the dense columns.
    codes : tuple of arrays
        For each column of levels, the new code of each old one; the last entry is for missing values.
    largest : array or None
        The largest absolute value of each sparse column.
    """

    bins: int | None = None
    encoder: Encoder = field(default_factory=lambda: Encoder(gaps="keep"))
    numbers: Numbers | None = None
    codes: tuple[Codes, ...] = ()
    largest: Array | None = None

    @classmethod
    def learn(
        cls, x: object, name: str = "X", *, bins: int | None = None, weights: object = None
    ) -> tuple[Self, Columns]:
        """Return an encoder learned from a table, and the table's prepared columns.

        Rows of weight 0 may hold any values: nothing is learned from them.
        """
        encoder, columns = Encoder.learn(x, name, gaps="keep")
        counted: slice | NDArray[np.intp] = slice(None)
        if weights is not None:
            counted = np.flatnonzero(as_weights(weights, np.float64, rows=columns.rows, table=name))
        learned = columns[counted]
        numbers = largest = None
        if columns.tables:
            table = _joined(columns.tables, name)[counted]
            numbers = learn_numbers(table, bins_for(*table.shape) if bins is None else bins)
        if learned.sparse is not None:
            _, indices, values = learned.sparse
            largest = np.zeros(learned.sparse_columns)
            np.maximum.at(largest, indices, np.abs(values))
            largest[largest == 0] = 1.0
        codes = tuple(_common(codes, levels) for codes, levels in zip(learned.codes, learned.levels, strict=True))
        tabular = cls(bins, encoder, numbers, codes, largest)
        return tabular, tabular._prepare(columns, name)

    def encode(self, x: object, name: str = "X") -> Columns:
        """Return the prepared columns of another table; warn of levels never seen in training."""
        return self._prepare(self.encoder.encode(x, name), name)

    def encode_table(self, x: object, name: str = "X") -> Encoded:
        """Return the columns of another table before preparation: see `Encoder.encode_table`."""
        return self.encoder.encode_table(x, name)

    @property
    def coefficient_names(self) -> list[str]:
        """The name of each prepared column, in the order of Columns."""
        names = self.encoder.names or tuple(f"x{index}" for index in range(self.encoder.width))
        leveled = {level.column for level in self.encoder.levels}
        numbers = [name for name in names if name not in leveled]
        found = numbers if self.numbers is None else self.numbers.names(numbers)
        for level, new in zip(self.encoder.levels, self.codes, strict=True):
            kept = zip(level.values, new[:-1], strict=True)
            found += [f"{level.column}={value}" for value, code in kept if code >= 0]
        return found

    @property
    def sources(self) -> list[str]:
        """The name of the table's column behind each prepared column, in the order of Columns."""
        leveled = {level.column for level in self.encoder.levels}
        names = self.encoder.names or tuple(f"x{index}" for index in range(self.encoder.width))
        found = numbers = [name for name in names if name not in leveled]
        if self.numbers is not None:
            bins = zip(numbers, self.numbers.edges, strict=True)
            found = [*numbers, *(numbers[index] for index in self.numbers.gaps)]
            found += [name for name, edges in bins if len(edges) > 2 for _ in edges[1:]]
        kept = zip(self.encoder.levels, self.codes, strict=True)
        return [*found, *(level.column for level, new in kept for code in new[:-1] if code >= 0)]

    @property
    def count(self) -> int:
        """The number of prepared columns."""
        return len(self.sources)

    def _check_file(self) -> None:
        sizes = [len(level.values) for level in self.encoder.levels]
        need(len(self.codes) == len(sizes), self, "codes")
        for codes, size in zip(self.codes, sizes, strict=True):
            need(codes.shape == (size + 1,) and codes.dtype.itemsize <= 4 and (codes >= -1).all(), self, "codes")
            need((codes < size).all(), self, "codes")
        plain = self.encoder.width - len(sizes)
        need(self.numbers is None or len(self.numbers.edges) == plain, self, "numbers")
        need(self.largest is None or self.largest.shape == (plain,), self, "largest")

    def _prepare(self, columns: Columns, name: str) -> Columns:
        tables, sparse = columns.tables, columns.sparse
        if self.numbers is not None:
            dense = _joined(tables, name) if sparse is None else columns.entries().toarray()
            tables, sparse = (self.numbers.apply(dense),), None
        elif self.largest is not None and sparse is not None:
            starts, indices, values = sparse
            sparse = starts, indices, (values / self.largest[indices]).astype(np.float32)
        elif self.largest is not None:
            tables = ((_joined(tables, name) / self.largest).astype(np.float32),)
        kept = [(new[codes], int(new.max()) + 1) for codes, new in zip(columns.codes, self.codes, strict=True)]
        kept = [(codes, levels) for codes, levels in kept if levels]
        return Columns(
            columns.rows,
            tables,
            sparse,
            0 if sparse is None else columns.sparse_columns,
            tuple(codes for codes, _ in kept),
            tuple(levels for _, levels in kept),
        )


def max_columns(rows: int, numbers: int, levels: Iterable[int]) -> int:
    """Return the largest number of columns into which a table may be encoded.

    `numbers`: the number of numeric columns; `levels`: the number of levels of each column that has some.
    """
    bins = bins_for(rows, numbers)
    return numbers * (1 + bins * (bins >= 2)) + sum(min(count, rows // _MIN_ROWS_PER_LEVEL) for count in levels)


def bins_for(rows: int, columns: int) -> int:
    """Return the default number of bins of a column, for a table of this size."""
    return int(np.clip(rows // 100, 0, 16))


def _joined(tables: tuple[Array, ...], name: str) -> Floats:
    table = np.hstack([np.asarray(part, np.float64) for part in tables])
    if np.isinf(table).any():
        row, column = np.argwhere(np.isinf(table))[0]
        raise DataError(f"{name} contains infinity in row {row}, numeric column {column}: remove or cap it first")
    return table


def _common(codes: Codes, levels: int) -> Codes:
    """Return the new codes of levels that are not rare; -1 for rare levels and, in the last entry, missing values."""
    common = np.bincount(codes + 1, minlength=levels + 1)[1:] >= _MIN_ROWS_PER_LEVEL
    return np.append(np.where(common, np.cumsum(common) - 1, -1), -1).astype(code_type(levels))
