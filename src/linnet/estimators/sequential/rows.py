"""The rows that a Sequential model is trained, validated and measured on."""

import math
from collections.abc import Mapping

import numpy as np

from linnet.checks import is_real
from linnet.data.rows import Rows
from linnet.data.table import Array, as_table, check_fits_float32
from linnet.data.targets import as_weights, class_weights
from linnet.errors import ConfigError, DataError
from linnet.estimators.inputs import EvalSet
from linnet.estimators.sequential.losses import Loss

DTYPE = "float32"  # as in Keras
Validation = EvalSet


def weighted(rows: Rows, sample_weight: object, prefix: str = "") -> Rows:
    """Return rows with weights, if any are given; `prefix` of their name in messages."""
    if sample_weight is None:
        return rows
    name, table = f"{prefix}sample_weight", f"{prefix}x"
    return rows.weighted(as_weights(sample_weight, DTYPE, rows=len(rows), name=name, table=table))


def validation_rows(data: object, loss: Loss, outputs: int, columns: int) -> Rows:
    """Return the rows of `validation_data`, whose table must have as many columns."""
    if not isinstance(data, tuple | list) or len(data) not in (2, 3):
        raise ConfigError("validation_data must be (x, y) or (x, y, sample_weight)")
    table = as_table(data[0], columns=columns, name="validation x")
    check_fits_float32(table, "validation x")
    rows = loss.rows(table, data[1], outputs, DTYPE, "validation y", "validation x")
    return weighted(rows, data[2] if len(data) == 3 else None, "validation ")


def split(rows: Rows, share: float) -> tuple[Rows, Rows]:
    """Split off the last rows, a share of them, for validation."""
    if not is_real(share) or not 0 < float(share) < 1:
        raise ConfigError(f"validation_split must be between 0 and 1, got {share!r}")
    cut = math.floor(len(rows) * (1 - share))
    if not 0 < cut < len(rows):
        raise DataError(f"validation_split={share} of {len(rows)} rows leaves no rows for training or for validation")
    return rows[:cut], rows[cut:]


def weights_by_class(rows: Rows, outputs: int, class_weight: Mapping[int, float] | str) -> Array:
    """Return the weight of each row times that of its class."""
    labels, count = _classes(rows, outputs)
    factors = class_weights(class_weight, np.arange(count), labels, rows.weights)[labels]
    weights = factors if rows.weights is None else rows.weights * factors
    large = weights > np.finfo(DTYPE).max
    if large.any():
        row = int(large.argmax())
        raise ConfigError(
            f"class_weight of class {labels[row]} gives row {row} the weight {weights[row]:g}, too large for float32"
        )
    return weights.astype(DTYPE)


def _classes(rows: Rows, outputs: int) -> tuple[Array, int]:
    """Return the class index of each row, from labels, one-hot rows or one binary column, and the number of classes."""
    if rows.labels is not None:
        return rows.labels, outputs
    assert rows.values is not None
    hot = rows.values == 1
    others = rows.values[~hot]
    if (others == 0).all() or (others == -1).all():  # both together would be three classes
        if outputs == 1:
            return hot[:, 0].astype(np.intp), 2
        if (hot.sum(axis=1) == 1).all():
            return hot.argmax(axis=1), outputs
    raise ConfigError(
        "class_weight needs one class per row: class indices, one-hot rows, or one column of 0 and 1 or of -1 and 1"
    )
