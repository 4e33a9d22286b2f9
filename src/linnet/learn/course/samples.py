"""The numbers that programs are probed with: small random ones, and rows of real data. They never change."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.learn import data
from linnet.plain.numeric_gradient import numeric_gradient

Array = NDArray[Any]


def normal(*shape: int, seed: int = 5) -> Array:
    """Normal random numbers."""
    return np.random.default_rng(seed).normal(size=shape)


@cache
def rows_of(name: str, first: int = 0, end: int = 10_000) -> tuple[Array, Array]:
    """Some rows of one of the data sets, in a random order."""
    x, t = getattr(data, name)()
    order = np.random.default_rng(1).permutation(len(x))[first:end]
    return x[order], t[order]


def shapes(names: str, arrays: Any) -> dict[str, str]:
    """Return the shapes of arrays as text, by the names of the arrays."""
    given = [np.asarray(array).shape for array in arrays]
    stated = [f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})" for shape in given]
    return {f"the shape of {name}": shape for name, shape in zip(names.split(), stated, strict=True)}


def by_differences(loss: Any, *parameters: Any) -> list[Array]:
    """Return the numeric gradient of a loss with respect to each of its arguments, arrays or numbers."""
    found = []
    for number, parameter in enumerate(parameters):

        def of_one(value: Array, number: int = number) -> float:
            return float(loss(*parameters[:number], value, *parameters[number + 1 :]))

        found.append(numeric_gradient(of_one, np.asarray(parameter, float)))
    return found
