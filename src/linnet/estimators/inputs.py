"""Targets, row weights and offsets as users pass them to estimators."""

from typing import Any, TypeAlias

import numpy as np

from linnet.arrays import ArrayLike, Table, Targets
from linnet.data.targets import as_array, as_values, as_weights, check_values
from linnet.errors import DataError, DataWarning, known_as, warn
from linnet.fit.solvers.problem import Floats

EvalSet: TypeAlias = tuple[Table, Targets] | tuple[Table, Targets, ArrayLike]  # X, y and row weights


def one_target(y: object, *, quiet: bool = False) -> Any:
    """Return y as an array; a single column becomes one-dimensional, with scikit-learn's warning unless `quiet`."""
    target = as_array(y, "y")
    if target.ndim != 2 or target.shape[1] != 1:
        return target
    if not quiet:
        category = known_as("DataConversionWarning", DataWarning)
        warn("A column-vector y was passed when a 1d array was expected: use y.ravel()", category)
    return target[:, 0]


def row_weights(sample_weight: object, rows: int) -> Floats | None:
    """Return the weight of each row, or None if `sample_weight` is None."""
    return None if sample_weight is None else as_weights(sample_weight, np.float64, rows=rows, table="X")


def shift_names(offset: object, exposure: object) -> tuple[str, ...]:
    """Return which of "offset" and "exposure" are not None."""
    return tuple(name for name, value in (("offset", offset), ("exposure", exposure)) if value is not None)


def as_offset(offset: object, exposure: object, rows: int, outputs: int) -> Floats | None:
    """Return what is added to z, rows x outputs: the offset plus log(exposure); None if both are None."""
    total = None
    if offset is not None:
        array = as_array(offset, "offset")
        total = as_values(
            array if array.ndim == 2 else array.reshape(-1, 1),
            array.shape[1] if array.ndim == 2 else 1,
            np.float64,
            rows=rows,
            name="offset",
            table="X",
        )
    if exposure is not None:
        values = as_values(exposure, 1, np.float64, rows=rows, name="exposure", table="X")
        check_values(values, values > 0, "exposure", "exposures must be above 0")
        total = np.log(values) + (0 if total is None else total)
    if total is None:
        return None
    if total.shape[1] not in (1, outputs):
        raise DataError(f"offset has {total.shape[1]} columns, but the model has {outputs} outputs")
    return np.ascontiguousarray(np.broadcast_to(total, (rows, outputs)))
