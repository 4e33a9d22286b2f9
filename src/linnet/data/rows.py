"""Rows to learn from: inputs, targets and weights in the form the core reads."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.data.columns import Columns
from linnet.data.table import Array
from linnet.data.targets import Labels


@dataclass(frozen=True, slots=True)
class Rows:
    """A table or Columns, its targets (labels or values, one of the two) and, if not all one, its weights.

    `values`, `weights` and `offset` have the type that is computed in (float32 or float64); x may have another.
    """

    x: Array | Columns
    labels: Labels | None = None
    values: Array | None = None
    weights: Array | None = None
    offset: Array | None = None  # rows x outputs, added to the last layer's z
    given: Array | None = None  # the targets as the user has them, where that is another form

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, part: slice | NDArray[np.intp]) -> "Rows":
        """Part of the rows; those of a slice as views."""
        cut = {name: value[part] for name in self.__slots__ if (value := getattr(self, name)) is not None}
        return Rows(**cut)

    def weighted(self, weights: Array | None) -> "Rows":
        """Return the same rows with other weights."""
        return replace(self, weights=weights)

    def computed_in(self, dtype: str) -> "Rows":
        """Return the same rows with all that is computed with in one type."""
        parts = {name: getattr(self, name) for name in ("values", "weights", "offset")}
        return replace(self, **{name: part.astype(dtype) for name, part in parts.items() if part is not None})

    @property
    def weight_sum(self) -> float:
        """Sum of the weights: the number of rows where there are none."""
        return float(len(self)) if self.weights is None else float(self.weights.sum(dtype=np.float64))

    def targets(self) -> Any:
        """The targets in the user's form."""
        if self.given is not None:
            return self.given
        return self.labels if self.labels is not None else self.values
