"""Small real data sets for the assignments. They come with scikit-learn, so no network is needed.

Each function returns x (N x D), the inputs (standardised, except pixels), and t: numbers, counts or classes 0 ... K-1.
"""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def digits() -> tuple[Array, Array]:
    """1,797 handwritten digits: x has 8 x 8 pixels from 0 to 1, t the digit."""
    table = _table("digits.csv.gz", lambda sets: sets.load_digits(return_X_y=True))
    return table[:, :-1] / 16, table[:, -1].astype(int)


def patients() -> tuple[Array, Array]:
    """442 diabetes patients: x has 10 measurements, t is the progression of the disease after a year, a number."""
    x = _table("diabetes_data_raw.csv.gz", lambda sets: (sets.load_diabetes(scaled=False).data,))
    t = _table("diabetes_target.csv.gz", lambda sets: (sets.load_diabetes().target,))
    return _standardised(x), t.ravel()


def tumours() -> tuple[Array, Array]:
    """569 breast tumours: x has 30 measurements of cell nuclei, t is 1 for a malignant tumour, 0 for a benign one."""
    table = _table("breast_cancer.csv", lambda sets: sets.load_breast_cancer(return_X_y=True))
    return _standardised(table[:, :-1]), 1 - table[:, -1].astype(int)


def flowers() -> tuple[Array, Array]:
    """150 irises: x has 4 lengths and widths, t the species, 0, 1 or 2."""
    table = _table("iris.csv", lambda sets: sets.load_iris(return_X_y=True))
    return _standardised(table[:, :-1]), table[:, -1].astype(int)


def wines() -> tuple[Array, Array]:
    """178 wines: x has 13 measurements, t the grower, 0, 1 or 2."""
    table = _table("wine_data.csv", lambda sets: sets.load_wine(return_X_y=True))
    return _standardised(table[:, :-1]), table[:, -1].astype(int)


def chin_ups() -> tuple[Array, Array]:
    """20 men in a fitness club: x has weight, waist and pulse, t the number of chin-ups, a count."""
    x = _table("linnerud_physiological.csv", lambda sets: (sets.load_linnerud().target,))
    t = _table("linnerud_exercise.csv", lambda sets: (sets.load_linnerud().data,))
    return _standardised(x), t[:, 0].astype(int)


def split(x: Array, t: Array, share: float = 0.75, seed: int = 0) -> tuple[Array, Array, Array, Array]:
    """Return x and t of a random share of the rows to train on, then x and t of the others, to test on."""
    order = np.random.default_rng(seed).permutation(len(x))
    n = round(share * len(x))
    return x[order[:n]], t[order[:n]], x[order[n:]], t[order[n:]]


def _table(file: str, loaded: Callable[[Any], tuple[Array, ...]]) -> Array:
    """Read one of scikit-learn's files; import scikit-learn, which takes a second, only if the file has moved."""
    found = find_spec("sklearn")
    assert found is not None
    assert found.submodule_search_locations is not None
    path = Path(found.submodule_search_locations[0], "datasets", "data", file)
    by_comma = file in ("digits.csv.gz", "breast_cancer.csv", "iris.csv", "wine_data.csv")
    try:
        return np.loadtxt(path, delimiter="," if by_comma else None, skiprows=int(path.suffix == ".csv"))
    except OSError:
        from sklearn import datasets

        return np.column_stack(loaded(datasets))


def _standardised(x: Array) -> Array:
    return np.asarray((x - x.mean(axis=0)) / x.std(axis=0))
