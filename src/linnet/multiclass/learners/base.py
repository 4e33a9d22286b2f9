"""The interface between a reduction and its binary classifiers."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linnet.data.encoder import Encoder
from linnet.evaluate.inputs import Floats

if TYPE_CHECKING:
    from linnet.export.onnx.columns import Inputs
    from linnet.export.onnx.graph import Tensor

_BLOCK_BYTES = 128_000_000  # memory for the scores of one block of rows


class Learners(ABC):
    """Binary classifiers, one per problem."""

    count: int

    @abstractmethod
    def read(self, X: Any) -> Any:
        """Return a table in the representation that the other methods take."""

    @abstractmethod
    def take(self, table: Any, rows: Any) -> Any:
        """The given rows of a table."""

    @abstractmethod
    def size(self, table: Any) -> int:
        """The number of rows of a table."""

    @abstractmethod
    def outputs(self, table: Any, problems: slice = slice(None)) -> tuple[Floats, Floats]:
        """Log-odds and scores, rows x the problems of the slice."""

    @abstractmethod
    def log_odds_of_pairs(self, table: Any, row: NDArray[np.int64], problem: NDArray[np.int32]) -> Floats:
        """The log-odds for (row, problem) pairs; the result for a pair does not depend on the other pairs."""

    @abstractmethod
    def models(self) -> list[Any]:
        """The classifiers; for a problem with rows of one class only, its log-odds as a float."""

    @abstractmethod
    def z_graph(self, inputs: "Inputs") -> "Tensor":
        """The log-odds of all problems in an ONNX graph, in float64."""

    @abstractmethod
    def input_encoder(self) -> Encoder | None:
        """The encoder of the classifiers' tables, or None if they have none."""

    def blocks(self, table: Any, width: int) -> Iterator[tuple[slice, Any]]:
        """Yield slices of rows and the table's rows in each, small enough for `width` float64 values per row."""
        rows = self.size(table)
        step = max(1, _BLOCK_BYTES // (8 * max(1, width)))
        if step >= rows:
            yield slice(0, rows), table
            return
        for first in range(0, rows, step):
            block = slice(first, min(first + step, rows))
            yield block, self.take(table, block)
