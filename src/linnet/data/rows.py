"""Training rows: inputs, targets and weights in the representation that the core reads."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.data.columns import Columns
from linnet.data.table import Array
from linnet.data.targets import Labels


@dataclass(frozen=True, slots=True)
class Rows:
    """A table with its targets and weights.

    Parameters
    ----------
    x : array or Columns
        The inputs, of any type that the core reads.
    labels : array of shape (rows,), default=None
        Targets as class indices, int32. Either labels or values are given.
    values : array of shape (rows, outputs), default=None
        Targets as numbers, in the type of the computation: float32 or float64.
    weights : array of shape (rows,), default=None
        Row weights, in the type of the computation; None if all are 1.
    offset : array of shape (rows, outputs), default=None
        Added to z, the linear output of the last layer; in the type of the computation.
    user_targets : array, default=None
        The user's targets, if their representation differs.
    """

    x: Array | Columns
    labels: Labels | None = None
    values: Array | None = None
    weights: Array | None = None
    offset: Array | None = None
    user_targets: Array | None = None

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, part: slice | NDArray[np.intp]) -> "Rows":
        """Return a subset of the rows; for a slice, as views."""
        cut = {name: value[part] for name in self.__slots__ if (value := getattr(self, name)) is not None}
        return Rows(**cut)

    def weighted(self, weights: Array | None) -> "Rows":
        """Return the rows with other weights.

        Parameters
        ----------
        weights : array of shape (rows,) or None
            The new weights.

        Returns
        -------
        Rows
            The rows, which share all other arrays.
        """
        return replace(self, weights=weights)

    def computed_in(self, dtype: str) -> "Rows":
        """Return the rows with values, weights and offset in one type.

        Parameters
        ----------
        dtype : {"float32", "float64"}
            The type of the computation.

        Returns
        -------
        Rows
            The rows.
        """
        parts = {name: getattr(self, name) for name in ("values", "weights", "offset")}
        return replace(self, **{name: part.astype(dtype) for name, part in parts.items() if part is not None})

    @property
    def weight_sum(self) -> float:
        """The sum of the weights; without weights, the number of rows."""
        return float(len(self)) if self.weights is None else float(self.weights.sum(dtype=np.float64))

    def targets(self) -> Any:
        """Return the targets in the user's representation."""
        if self.user_targets is not None:
            return self.user_targets
        return self.labels if self.labels is not None else self.values
