"""What a reduction asks of its binary classifiers."""

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

_BLOCK_BYTES = 128_000_000  # of the scores of a block of rows


class Learners(ABC):
    """Binary classifiers, one per problem."""

    count: int

    @abstractmethod
    def read(self, X: Any) -> Any:
        """A table in the representation that the other methods take."""

    @abstractmethod
    def part(self, table: Any, rows: Any) -> Any:
        """Some of the rows of such a table."""

    @abstractmethod
    def size(self, table: Any) -> int:
        """The number of rows of such a table."""

    @abstractmethod
    def answers(self, table: Any, problems: slice = slice(None)) -> tuple[Floats, Floats]:
        """Log-odds and scores, rows x the problems of the slice."""

    @abstractmethod
    def some(self, table: Any, row: NDArray[np.int64], problem: NDArray[np.int32]) -> Floats:
        """The log-odds for pairs of a row and a problem; those of a pair do not depend on the other pairs."""

    @abstractmethod
    def models(self) -> list[Any]:
        """The classifiers one by one; for a problem without rows on one of its sides its log-odds, a float."""

    @abstractmethod
    def z_graph(self, inputs: "Inputs") -> "Tensor":
        """The log-odds of all problems in an ONNX graph, in float64."""

    @abstractmethod
    def input_encoder(self) -> Encoder | None:
        """The encoder of their tables, if it is known."""

    def blocks(self, table: Any, width: int) -> Iterator[tuple[slice, Any]]:
        """Blocks of rows of the table, and their places, so small that `width` numbers per row fit into memory."""
        rows = self.size(table)
        step = max(1, _BLOCK_BYTES // (8 * max(1, width)))
        if step >= rows:
            yield slice(0, rows), table
            return
        for first in range(0, rows, step):
            part = slice(first, min(first + step, rows))
            yield part, self.part(table, part)
