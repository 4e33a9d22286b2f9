"""Where a solver ended, and what it found out on the way."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Watch = Callable[[int, float, float], None]  # is told the iteration, the objective and what is left to gain


def unwatched(iteration: int, value: float, gap: float) -> None:
    """Tell nobody."""


class Method(StrEnum):
    """What solved a problem, by scikit-learn's names."""

    CHOLESKY = "cholesky"
    COORDINATE = "coordinate"
    CONJUGATE_GRADIENTS = "sparse_cg"
    LBFGS = "lbfgs"


@dataclass(frozen=True, slots=True)
class Solution:
    """Where a solver ended."""

    theta: Floats
    value: float  # of the objective, penalties included
    gradient_norm: float  # largest entry of the last gradient known
    iterations: int
    converged: bool
    gap: float  # estimate of what is left to gain
    aliased: NDArray[np.bool_]  # parameters left out because others determine them
    step: Floats | None = None  # where theta would go on to
    z_range: tuple[float, float] = (-np.inf, np.inf)  # the smallest and the largest z where the gap was estimated
    method: Method = Method.LBFGS
    row_products: Floats | None = None  # XX', centered and weighted, if the problem was solved by way of its rows
    hessian: Floats | None = None  # of squared error, where Newton's method has computed it
    aliasing: "Aliasing | None" = None  # if columns depend on others, or nearly do


@dataclass(frozen=True, slots=True)
class Aliasing:
    """Columns that others determine, or nearly do."""

    rank: int  # of the columns
    left_out: NDArray[np.bool_]  # columns that a fit should name: others determine them
    inexact: NDArray[np.bool_]  # of those, which are not quite what others make of them, or by rounding alone
    cancelling: NDArray[np.bool_] | None = None  # columns whose coefficients cost predictions digits
