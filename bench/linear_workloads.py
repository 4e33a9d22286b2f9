"""What the benchmark of exact generalized linear models fits: data, penalties, sides, and the objective.

Every workload minimises

    Σ_i loss_i + ½ penalty Σ_j coef_j²

with the intercept free. Each side reports coefficients and intercept, and `objective` computes this sum in float64 from
them alone: no library judges its own fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from workloads import data_root, digits

Values = NDArray[np.float64]
# Rows a block of the objective.
BLOCK = 8192


@dataclass(frozen=True)
class Data:
    """Rows as users have them: an array, a sparse matrix or a data frame of numbers and then categories."""

    x: Any
    y: NDArray[Any]
    exposure: Values | None = None

    @cached_property
    def design(self) -> Any:
        """The rows as numbers: every level of a category has a column of zeros and ones."""
        return one_hot(self.x) if hasattr(self.x, "columns") else self.x


def one_hot(frame: Any) -> Any:
    """A sparse matrix by rows of the numbers and of all levels, in the frame's order."""
    import scipy.sparse

    values, places, width = [], [], 0
    for name in frame.columns:
        column = frame[name]
        levels = getattr(column, "cat", None)
        if levels is None:
            values.append(column.to_numpy(np.float64))
            places.append(np.full(len(frame), width, np.int32))
            width += 1
        else:
            values.append(np.ones(len(frame)))
            places.append((levels.codes.to_numpy() + width).astype(np.int32))
            width += len(levels.categories)
    starts = np.arange(0, len(values) * len(frame) + 1, len(values), dtype=np.int32)
    entries = np.stack(values, axis=1).ravel(), np.stack(places, axis=1).ravel(), starts
    return scipy.sparse.csr_matrix(entries, shape=(len(frame), width))


def _folder(name: str) -> Path:
    """The folder of a data set."""
    folder = data_root() / name
    if not folder.exists():
        raise FileNotFoundError(f"there is no folder {name} in {folder.parent}")
    return folder


def _mnist(kind: str) -> Data:
    _folder("mnist")  # no stand-in here
    x, y = digits(60_000)
    return Data(x.astype(kind), y)


def _dense(rows: int, columns: int) -> Data:
    """Correlated columns, two classes from a logistic model."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, columns)) + rng.normal(size=(rows, 1))
    z = x @ (rng.normal(size=columns) / np.sqrt(columns)) - 1.0
    return Data(x, (rng.random(rows) < 1 / (1 + np.exp(-z))).astype(np.int64))


def _claims() -> Data:
    """freMTPL2 with the columns of scikit-learn's own example: two numbers, seven categories."""
    import pandas as pd

    table = pd.read_csv(_folder("fremtpl2") / "freMTPL2freq.csv.gz")
    numbers = pd.DataFrame({"BonusMalus": table["BonusMalus"], "LogDensity": np.log(table["Density"])})
    frame = (numbers - numbers.mean()) / numbers.std()
    for name in ("VehAge", "DrivAge"):
        bins = pd.qcut(table[name], 10, labels=False, duplicates="drop")
        frame[name] = bins.map("{:02d}".format).astype("category")
    for name in ("VehPower", "VehBrand", "VehGas", "Region", "Area"):
        frame[name] = table[name].astype(str).astype("category")
    # the usual cleaning
    claims = table["ClaimNb"].clip(upper=4).to_numpy(np.float64)
    return Data(frame, claims, table["Exposure"].clip(upper=1.0).to_numpy(np.float64))


def _text() -> Data:
    """Newsgroups about computers against all others, as TF-IDF."""
    import pandas as pd
    from sklearn.feature_extraction.text import TfidfVectorizer

    folder = _folder("newsgroups20_bydate")
    table = pd.concat([pd.read_csv(folder / f"{part}.csv.gz") for part in ("train", "test")])
    x = TfidfVectorizer(sublinear_tf=True).fit_transform(table["text"].fillna(""))
    return Data(x, table["label"].str.startswith("comp.").to_numpy(np.int64))


@dataclass(frozen=True)
class LinearWorkload:
    """One convex problem."""

    name: str
    title: str
    data: Callable[[], Data]
    family: str  # "softmax", "logistic" or "poisson"
    penalty: float
    # Sides that race, each with the loosest power of ten as its tolerance that reaches the optimum (where it does not,
    # the race tightens it). Newton's method in linnet knows no tolerance.
    sides: Mapping[str, float]
    target_ratio: float
    intercept: bool = True
    standard_errors: bool = False
    # Sides that race only if asked for, each with the reason.
    left_out: Mapping[str, str] = field(default_factory=dict)

    def objective(self, data: Data, coef: Values, intercept: Values) -> float:
        """The sum that is minimised, in float64. `coef`: outputs x columns."""
        coef = np.asarray(coef, np.float64)
        total = 0.5 * self.penalty * float((coef * coef).sum()) if self.penalty else 0.0
        for first in range(0, len(data.y), BLOCK):
            rows = slice(first, first + BLOCK)
            x, y = data.design[rows], data.y[rows]
            z = np.asarray(x.astype(np.float64) @ coef.T) + np.asarray(intercept, np.float64)
            if self.family == "softmax":
                top = z.max(axis=1)
                logs = top + np.log(np.exp(z - top[:, None]).sum(axis=1))
                total += float((logs - z[np.arange(len(y)), y]).sum())
            elif self.family == "logistic":
                total += float((np.logaddexp(0, z[:, 0]) - y * z[:, 0]).sum())
            else:
                assert data.exposure is not None
                z = z[:, 0] + np.log(data.exposure[rows])
                total += float((np.exp(z) - y * z).sum())
        return total


LINEAR_WORKLOADS = (
    LinearWorkload(
        "softmax-mnist-f64",
        "softmax regression, MNIST 60,000 x 784, float64",
        partial(_mnist, "float64"),
        "softmax",
        10.0,
        {"linnet": 1e-7, "sklearn-lbfgs": 1e-7, "sklearn-newton-cg": 1e-6, "sklearn-sag": 1e-5},
        4.0,
        left_out={
            "sklearn-saga": "after 80 passes and 110 s it is still 1e-7 above the optimum",
            "sklearn-newton-cholesky": "a single step takes 215 s of processor time",
        },
    ),
    LinearWorkload(
        "softmax-mnist-f32",
        "softmax regression, MNIST 60,000 x 784, float32",
        partial(_mnist, "float32"),
        "softmax",
        10.0,
        {"linnet": 1e-7, "sklearn-newton-cg": 1e-7},
        4.0,
        left_out={
            "sklearn-lbfgs": "in float32 it stops 1e-6 above the optimum",
            "sklearn-sag": "in float32 it stops 1e-6 above the optimum",
            "sklearn-saga": "too slow already in float64",
            "sklearn-newton-cholesky": "too slow already in float64",
        },
    ),
    LinearWorkload(
        "logistic-dense",
        "logistic regression, 500,000 x 50",
        partial(_dense, 500_000, 50),
        "logistic",
        1.0,
        {"linnet": 1e-10, "sklearn-lbfgs": 1e-5, "sklearn-newton-cholesky": 1e-4, "glum": 1e-3},
        3.0,
    ),
    LinearWorkload(
        "poisson-claims",
        "Poisson regression with exposure, 678,013 rows, 2 numbers and 7 categories",
        _claims,
        "poisson",
        1.0,
        {"linnet": 1e-10, "sklearn-lbfgs": 1e-7, "sklearn-newton-cholesky": 1e-4, "glum": 1e-3},
        2.0,
        left_out={"statsmodels-glm": "its ridge has no tolerance to set and ends 7e-6 above the optimum"},
    ),
    LinearWorkload(
        "logistic-text",
        "logistic regression, text, 18,846 x 173,753 sparse",
        _text,
        "logistic",
        0.1,
        {
            "linnet": 1e-8,
            "sklearn-liblinear": 1e-5,
            "sklearn-lbfgs": 1e-8,
            "sklearn-newton-cg": 1e-7,
            "sklearn-saga": 1e-5,
        },
        3.0,
        intercept=False,
    ),
    LinearWorkload(
        "standard-errors",
        "logistic regression with standard errors and p-values, 100,000 x 30",
        partial(_dense, 100_000, 30),
        "logistic",
        0.0,
        {"linnet": 1e-10, "statsmodels-logit": 1e-2, "statsmodels-glm": 1e-5, "glum": 1e-4},
        10.0,
        standard_errors=True,
    ),
)
LINEAR_BY_NAME = {workload.name: workload for workload in LINEAR_WORKLOADS}
