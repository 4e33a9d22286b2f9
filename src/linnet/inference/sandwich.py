"""The middle of robust covariances: Σ s_i s_i' over rows or groups, with s_i the gradient of row i's loss."""

import numpy as np
from numpy.typing import NDArray

from linnet.data.targets import missing
from linnet.errors import ConfigError, DataError
from linnet.fit.linear import Floats, Problem


def meat(
    problem: Problem,
    sought: NDArray[np.bool_],
    slope: Floats,
    curved: Floats,
    weights: Floats,
    inverse: Floats,
    kind: str,
    groups: object,
    free: float,
) -> Floats:
    """Σ s_i s_i' over rows or groups."""
    k, size = problem.outputs, problem.columns.count + 1
    total = float(weights.sum())
    rest = total - free
    if kind == "cluster":
        count, of_rows = _groups(groups, weights)
        scores = np.empty((count, problem.size))
        problem.core.gradient_by_group(weights[:, None] * slope, of_rows, scores)
        scores[:, ~sought] = 0
        return np.asarray(scores.T @ scores * (count / (count - 1) * (total - 1) / rest if rest > 0 else np.nan))
    scaled = weights
    if kind in ("HC2", "HC3"):
        if k > 1:
            raise ConfigError(f"{kind} needs a leverage for each row, which is defined for one output: use HC0 or HC1")
        leverage = np.empty(len(weights))
        problem.core.quadratic(np.ascontiguousarray(inverse), leverage)
        scaled = weights / np.maximum(1 - curved[:, 0] * leverage, 1e-12) ** (1 if kind == "HC2" else 2)
    meat = np.empty((size, k, size, k))
    block = np.empty((size, size))
    for a in range(k):
        for b in range(a, k):
            problem.core.sandwich(scaled * slope[:, a] * slope[:, b], block)
            meat[:, a, :, b] = meat[:, b, :, a] = block
    out = meat.reshape(size * k, size * k)
    out[~sought], out[:, ~sought] = 0, 0
    return out * (total / rest if rest > 0 else np.nan) if kind == "HC1" else out


def _groups(groups: object, weights: Floats) -> tuple[int, NDArray[np.int64]]:
    """How many groups have rows with a weight, and the group of each row."""
    labels = np.asarray(groups)
    if labels.shape != weights.shape:
        raise DataError(f"groups must have one entry a row, {len(weights)} in all, got shape {labels.shape}")
    lacking = missing(labels)
    if lacking.any():
        raise DataError(f"groups has no value in row {int(lacking.argmax())}: every row needs a group")
    try:
        names, found = np.unique(labels[weights > 0], return_inverse=True)
    except TypeError:
        raise DataError("groups must be numbers or names, not both") from None
    if len(names) < 2:
        raise DataError("groups must name at least two groups")
    of_rows = np.zeros(len(labels), np.int64)
    of_rows[weights > 0] = found.reshape(-1)
    return len(names), of_rows
