"""Which rows are held out of a training."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def split(y: NDArray[Any], classes: bool, share: float, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows to train on and rows to hold out, in order; each class gives its share, but never all of its rows."""
    random = np.random.default_rng(seed).permutation(len(y))
    if not classes:
        count = min(max(1, round(share * len(y))), len(y) - 1)
        return np.sort(random[count:]), np.sort(random[:count])
    held = np.zeros(len(y), np.bool_)
    _, codes = np.unique(y[random].astype(str), return_inverse=True)
    for code in range(codes.max() + 1):
        rows = random[codes == code]
        held[rows[: min(round(share * len(rows)), len(rows) - 1)]] = True
    return np.flatnonzero(~held), np.flatnonzero(held)
