"""The result of a solver."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linnet.words import Word

Floats = NDArray[np.float64]
Watch = Callable[[int, float, float], None]  # called with iteration, objective and estimated suboptimality


def ignore_progress(iteration: int, value: float, gap: float) -> None:
    """Ignore progress."""


class Method(Word):
    """The method that solved a problem, by scikit-learn's names."""

    CHOLESKY = "cholesky"
    COORDINATE = "coordinate"
    CONJUGATE_GRADIENTS = "sparse_cg"
    LBFGS = "lbfgs"


@dataclass(frozen=True, slots=True)
class Solution:
    """The end point of a solver, with what is known about it."""

    theta: Floats
    value: float  # of the objective, penalties included
    gradient_norm: float  # largest absolute entry of the last gradient
    iterations: int
    converged: bool
    gap: float  # estimated suboptimality: objective minus its minimum
    aliased: NDArray[np.bool_]  # parameters left out because their columns are linear combinations of others
    step: Floats | None = None  # the step that would come next
    z_range: tuple[float, float] = (-np.inf, np.inf)  # smallest and largest z where the gap was estimated
    method: Method = Method.LBFGS
    row_products: Floats | None = None  # XX', centered and weighted, if the dual was solved
    hessian: Floats | None = None  # of squared error, where Newton's method has computed it
    aliasing: "Aliasing | None" = None  # if columns are collinear, or nearly so


@dataclass(frozen=True, slots=True)
class Aliasing:
    """Columns that are linear combinations of others, or nearly so."""

    rank: int  # of the table
    left_out: NDArray[np.bool_]  # columns that a warning should name
    inexact: NDArray[np.bool_]  # of those, which are linear combinations up to rounding only
    cancelling: NDArray[np.bool_] | None = None  # columns whose coefficients cancel so far that predictions lose digits
