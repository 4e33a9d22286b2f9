"""The gradient by finite differences: a check of a gradient, not a way to train.

    dF/dtheta_j = (F(theta + e 1_j) - F(theta - e 1_j)) / 2e + O(e^2)

Two evaluations of F per parameter, where backpropagation needs about three for all of them. With e = 1e-5 both errors,
e^2 from the curvature and 1e-16 / e from rounding, are about 1e-10.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def numeric_gradient(F: Callable[[Array], float], theta: Array, e: float = 1e-5) -> Array:
    """Return dF/dtheta for theta of any shape."""
    g = np.zeros(theta.shape)
    for j in np.ndindex(*theta.shape):
        step = np.zeros(theta.shape)
        step[j] = e
        g[j] = (F(theta + step) - F(theta - step)) / (2 * e)
    return g


def largest_difference(g: Array, F: Callable[[Array], float], theta: Array) -> float:
    """Return the largest difference between g and F's gradient, relative to the largest derivative.

    1e-7 is fine, 1e-2 is a mistake.
    """
    numeric = numeric_gradient(F, theta)
    return float(np.abs(g - numeric).max() / np.abs(numeric).max())
