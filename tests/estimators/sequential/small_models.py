"""Data and models that several tests of Sequential share."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet import SGD, Dense, Sequential

Array = NDArray[Any]


def clouds(rows: int = 200, columns: int = 6, classes: int = 3) -> tuple[Array, Array]:
    """Three clouds of points and their class numbers."""
    rng = np.random.default_rng(0)
    labels = np.arange(rows) % classes
    centres = 2 * rng.normal(size=(classes, columns))
    return (centres[labels] + rng.normal(size=(rows, columns))).astype(np.float32), labels


def softmax_model(**options: Any) -> Sequential:
    model = Sequential([Dense(8, "relu", input_dim=6), Dense(3, "softmax")])
    model.compile(SGD(0.1), loss="sparse_categorical_crossentropy", **options)
    return model


def small(last: Dense, loss: str, **options: Any) -> Sequential:
    model = Sequential([last])
    model.compile(loss=loss, **options)
    return model
