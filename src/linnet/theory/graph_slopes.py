"""Derivatives of elementwise functions, written in NumPy.

A rule maps the gradient g of an operation's result y to the gradient of one of its arguments. As rules are NumPy code
themselves, they can be differentiated like any other function: that is all that higher derivatives need.
"""

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Array = Any  # an array, a number, or a Tensor in their place


class Operation(NamedTuple):
    """One step of a computation, and its derivative."""

    name: str
    arrays: tuple[Array, ...]
    forward: Callable[..., Array]  # computes y from the arrays
    pull: Callable[..., Array]  # (k, g, y, *arrays) -> the gradient of the k-th array, given the gradient g of y;
    # for elementwise functions it must still be summed to the shape of the array, by `fit`


# ---- element by element: dy/da for every argument a, from y and the arguments ----

_LN2, _LN10, _DEGREE = math.log(2), math.log(10), math.pi / 180

SLOPES: dict[str, tuple[Callable[..., Array], ...]] = {
    "positive": (lambda y, a: 1.0,),
    "negative": (lambda y, a: -1.0,),
    "add": (lambda y, a, b: 1.0, lambda y, a, b: 1.0),
    "subtract": (lambda y, a, b: 1.0, lambda y, a, b: -1.0),
    "multiply": (lambda y, a, b: b, lambda y, a, b: a),
    "divide": (lambda y, a, b: 1 / b, lambda y, a, b: -y / b),
    "remainder": (lambda y, a, b: 1.0, lambda y, a, b: -np.floor(a / b)),
    "power": (lambda y, a, b: b * a ** (b - 1 + (b == 0)), lambda y, a, b: y * np.log(a + (a == 0))),
    "square": (lambda y, a: 2 * a,),
    "sqrt": (lambda y, a: 0.5 / y,),
    "cbrt": (lambda y, a: 1 / (3 * y * y),),
    "reciprocal": (lambda y, a: -y * y,),
    "exp": (lambda y, a: y,),
    "exp2": (lambda y, a: y * _LN2,),
    "expm1": (lambda y, a: np.exp(a),),
    "log": (lambda y, a: 1 / a,),
    "log2": (lambda y, a: 1 / (a * _LN2),),
    "log10": (lambda y, a: 1 / (a * _LN10),),
    "log1p": (lambda y, a: 1 / (1 + a),),
    "logaddexp": (lambda y, a, b: np.exp(a - y), lambda y, a, b: np.exp(b - y)),
    "logaddexp2": (lambda y, a, b: np.exp2(a - y), lambda y, a, b: np.exp2(b - y)),
    "sin": (lambda y, a: np.cos(a),),
    "cos": (lambda y, a: -np.sin(a),),
    "tan": (lambda y, a: 1 + y * y,),
    "arcsin": (lambda y, a: 1 / np.sqrt(1 - a * a),),
    "arccos": (lambda y, a: -1 / np.sqrt(1 - a * a),),
    "arctan": (lambda y, a: 1 / (1 + a * a),),
    "arctan2": (lambda y, a, b: b / (a * a + b * b), lambda y, a, b: -a / (a * a + b * b)),
    "hypot": (lambda y, a, b: a / (y + (y == 0) + 0 * y), lambda y, a, b: b / (y + (y == 0) + 0 * y)),
    "sinh": (lambda y, a: np.cosh(a),),
    "cosh": (lambda y, a: np.sinh(a),),
    "tanh": (lambda y, a: 1 - y * y,),
    "arcsinh": (lambda y, a: 1 / np.sqrt(a * a + 1),),
    "arccosh": (lambda y, a: 1 / np.sqrt(a * a - 1),),
    "arctanh": (lambda y, a: 1 / (1 - a * a),),
    "deg2rad": (lambda y, a: _DEGREE,),
    "rad2deg": (lambda y, a: 1 / _DEGREE,),
    "absolute": (lambda y, a: np.sign(a),),
    "fabs": (lambda y, a: np.sign(a),),
    "maximum": (lambda y, a, b: (a > b) + 0.5 * (a == b), lambda y, a, b: (b > a) + 0.5 * (a == b)),
    "minimum": (lambda y, a, b: (a < b) + 0.5 * (a == b), lambda y, a, b: (b < a) + 0.5 * (a == b)),
    "fmax": (
        lambda y, a, b: ((a > b) | np.isnan(b)) + 0.5 * (a == b),
        lambda y, a, b: ((b > a) | np.isnan(a)) + 0.5 * (a == b),
    ),
    "fmin": (
        lambda y, a, b: ((a < b) | np.isnan(b)) + 0.5 * (a == b),
        lambda y, a, b: ((b < a) | np.isnan(a)) + 0.5 * (a == b),
    ),
    "heaviside": (lambda y, a, b: 0.0, lambda y, a, b: 1.0 * (a == 0)),
    "sign": (lambda y, a: 0.0,),
    "floor": (lambda y, a: 0.0,),
    "ceil": (lambda y, a: 0.0,),
    "trunc": (lambda y, a: 0.0,),
    "rint": (lambda y, a: 0.0,),
    # of scipy.special
    "expit": (lambda y, a: y * (1 - y),),
    "logit": (lambda y, a: 1 / (a * (1 - a)),),
    "log_expit": (lambda y, a: -np.expm1(y),),
    "erf": (lambda y, a: 2 / math.sqrt(math.pi) * np.exp(-a * a),),
    "erfc": (lambda y, a: -2 / math.sqrt(math.pi) * np.exp(-a * a),),
    "ndtr": (lambda y, a: np.exp(-a * a / 2) / math.sqrt(2 * math.pi),),
    "log_ndtr": (lambda y, a: np.exp(-a * a / 2 - y) / math.sqrt(2 * math.pi),),
    "xlogy": (lambda y, a, b: np.log(b), lambda y, a, b: a / (b + ((a == 0) & (b == 0)))),
    "xlog1py": (lambda y, a, b: np.log1p(b), lambda y, a, b: a / (1 + b + ((a == 0) & (b == -1)))),
}
# functions whose slope is 0 where they select another argument or are constant, and not by underflow
CHOOSING = frozenset(
    (
        *("maximum", "minimum", "fmax", "fmin", "absolute", "fabs", "heaviside"),
        *("sign", "floor", "ceil", "trunc", "rint"),
    )
)


def elementwise(ufunc: np.ufunc, arrays: tuple[Array, ...]) -> Operation:
    """Return the operation of an elementwise function on arrays that are broadcast."""
    return Operation(ufunc.__name__, arrays, ufunc, _pull_through(ufunc.__name__))


@functools.cache
def _pull_through(name: str) -> Callable[..., Array]:
    def pull(k: int, g: Array, y: Array, *arrays: Array) -> Array:
        return g * SLOPES[name][k](y, *arrays)

    return pull


def fit(g: Array, shape: tuple[int, ...]) -> Array:
    """Sum g over the axes along which an array of the given shape was broadcast."""
    if np.shape(g) == shape:
        return g
    extra = np.ndim(g) - len(shape)
    repeated = [extra + i for i, length in enumerate(shape) if length == 1]
    return np.reshape(np.sum(g, axis=(*range(extra), *repeated)), shape)
