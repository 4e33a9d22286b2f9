"""Why polynomial activations do not suffice: a proof with numbers.

If φ is a polynomial of degree d, so is every sum Σ v_i φ(w_i · x + b_i), however many units it has: the sums are a
space of finite dimension, in which most continuous functions are not. How near the best comes is a linear program:

    minimise e subject to -e <= f(x_i) - Σ_j a_j P_j(x_i) <= e at points x_i

Its solution is the exact smallest error on the points x_i. On the whole interval the largest error of any polynomial is
at least that on the points, so it is a lower bound for networks of any width.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from linnet.checks import check_number, check_whole
from linnet.errors import ConfigError, DataError, FitError

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class BestPolynomial:
    """The polynomial of a degree that is nearest to a function on some points of an interval.

    Parameters
    ----------
    polynomial : numpy.polynomial.Chebyshev
        The polynomial; call it with x.
    floor : float
        Its largest error on the points: no polynomial of the degree has a smaller one on the interval.
    """

    polynomial: Any
    floor: float


def best_polynomial(
    f: Callable[[Floats], Any], degree: int, a: float, b: float, *, points: int = 401
) -> BestPolynomial:
    """Return the polynomial nearest to f on points of [a, b], and with it a lower bound on the error of all others.

    Parameters
    ----------
    f : function
        The function; takes an array and returns one number for each.
    degree : int
        The degree of the polynomial.
    a, b : float
        The interval, a < b.
    points : int, default=401
        The number of points.

    Returns
    -------
    BestPolynomial
        The polynomial and its largest error on the points.

    Examples
    --------
    >>> nearest = best_polynomial(np.abs, 2, -1, 1)  # x² + 1/8
    >>> round(nearest.floor, 6), nearest.polynomial(np.array([0.0, 1.0])).round(6)
    (0.125, array([0.125, 1.125]))
    """
    check_whole(degree, "degree", at_least=0)
    check_whole(points, "points", at_least=degree + 2)
    low, high = check_number(a, "a"), check_number(b, "b")
    if not low < high:
        raise ConfigError(f"the interval needs a < b, got a={a!r}, b={b!r}")
    x = np.linspace(low, high, points)
    with np.errstate(all="ignore"):  # what is not finite is reported
        y = np.asarray(f(x), np.float64)
    if y.shape != x.shape or not np.isfinite(y).all():
        raise DataError("f must return one finite number for each x of the interval")
    scale = float(np.abs(y).max()) or 1.0
    basis = np.polynomial.chebyshev.chebvander(2 * (x - low) / (high - low) - 1, degree)
    one = np.ones((points, 1))
    found = scipy.optimize.linprog(
        np.append(np.zeros(degree + 1), 1.0),
        A_ub=np.block([[basis, -one], [-basis, -one]]),
        b_ub=np.concatenate([y, -y]) / scale,
        bounds=[(None, None)] * (degree + 1) + [(0, None)],
    )
    if not found.success or found.x is None or found.fun is None:
        raise FitError(f"the linear program was not solved: {found.message}")
    polynomial = np.polynomial.Chebyshev(scale * found.x[:-1], domain=[low, high])
    return BestPolynomial(polynomial, scale * float(found.fun))
