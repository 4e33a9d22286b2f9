"""Some rows of a table that is too large to hold, each drawn by its number alone.

Whether a row is drawn depends on nothing but its number: a second pass over the table draws the same rows, however the
table is cut into blocks.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

Numbers = NDArray[np.int64]
MAX_TABLE_BYTES = 1 << 28  # bytes of a table; of a larger one only some rows are held


@dataclass(frozen=True)
class TableSample:
    """Rows of a table: all of them, or some at random if there are too many to hold."""

    table: "pa.Table"
    numbers: Numbers  # of the rows in the whole table, rising
    rows: int  # of the whole table

    @property
    def is_all(self) -> bool:
        """Whether no row was left out."""
        return len(self.numbers) == self.rows


class Sample:
    """Takes a table block by block; keeps all rows up to `most` bytes, and of larger tables a random sample.

    Each time the rows kept are too many, those with a draw in the upper half of what is left go.
    """

    def __init__(self, most: float = np.inf, share: float = 1.0) -> None:
        self.most = most
        self.share = share  # of the rows, that are kept
        self.rows = 0  # seen
        self._tables: list[pa.Table] = []
        self._numbers: list[Numbers] = []
        self._bytes: list[int] = []
        self._held = 0  # bytes

    def add(self, table: "pa.Table") -> None:
        """Add the next rows."""
        numbers = np.arange(self.rows, self.rows + len(table))
        self.rows += len(table)
        self._tables.append(table)
        self._numbers.append(numbers)
        self._bytes.append(0)
        self._keep(len(self._tables) - 1)
        while self._held > (self.most if self.share == 1 else self.most / 4):
            self.share /= 2
            for place in range(len(self._tables)):
                self._keep(place)

    def _keep(self, place: int) -> None:
        if self.share < 1:
            kept = _draws(self._numbers[place]) < self.share
            self._tables[place] = self._tables[place].filter(kept)
            self._numbers[place] = self._numbers[place][kept]
        size = max(self._tables[place].nbytes, self._numbers[place].nbytes)  # a run may stand for any number of rows
        self._held += size - self._bytes[place]
        self._bytes[place] = size

    @property
    def tables(self) -> "list[pa.Table]":
        """The rows kept, block by block."""
        return self._tables

    @property
    def numbers(self) -> Numbers:
        """The numbers of the rows kept."""
        return np.concatenate([*self._numbers, np.empty(0, np.int64)])


def _draws(numbers: Numbers) -> NDArray[np.float64]:
    """Return a pseudo-random number from 0 to 1 for each row number (splitmix64)."""
    x = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((x ^ (x >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) * 2.0**-53
