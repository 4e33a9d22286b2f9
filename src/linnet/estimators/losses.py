"""Keras' losses by name: which head each one is, and what it multiplies the head's loss of a row by.

Keras takes the mean over a row's K outputs where a head takes the sum, and leaves out the half of squared error:

| loss | head | factor |
|---|---|---|
| categorical_crossentropy, sparse_categorical_crossentropy | categorical | 1 |
| binary_crossentropy | bernoulli | 1 / K |
| mse, mean_squared_error | normal | 2 / K |
| mae, mean_absolute_error | laplace | 1 / K |
| poisson | poisson | 1 / K |
| perceptron (ours) | perceptron | 1 |
"""

from dataclasses import dataclass

import numpy as np

from linnet.data.rows import Rows
from linnet.data.table import Array
from linnet.data.targets import Labels, as_labels, as_values, check_values
from linnet.errors import DataError, unknown_name
from linnet.model.activations import Activation
from linnet.model.heads import Head

_FAMILY = {
    "categorical_crossentropy": "categorical",
    "sparse_categorical_crossentropy": "categorical",
    "binary_crossentropy": "bernoulli",
    "mse": "normal",
    "mean_squared_error": "normal",
    "mae": "laplace",
    "mean_absolute_error": "laplace",
    "poisson": "poisson",
    "perceptron": "perceptron",
}


@dataclass(frozen=True, slots=True)
class Loss:
    """A loss by Keras' name."""

    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or self.name not in _FAMILY:
            raise unknown_name("loss", self.name, _FAMILY)

    def head(self, activation: Activation) -> Head:
        """The head that this loss makes with the last layer's activation."""
        return Head(_FAMILY[self.name], activation)

    def factor(self, outputs: int) -> float:
        """What the head's loss of a row is multiplied by to be Keras'."""
        family = _FAMILY[self.name]
        if family in ("categorical", "perceptron"):
            return 1.0
        return (2.0 if family == "normal" else 1.0) / outputs

    def rows(self, x: Array, y: object, outputs: int, dtype: str, name: str = "y", table: str = "x") -> Rows:
        """The table with its targets, checked for this loss."""
        count = len(x)
        family = _FAMILY[self.name]
        if self.name == "sparse_categorical_crossentropy" or (
            family == "perceptron" and outputs > 1 and _one_number_a_row(y)
        ):
            if family == "categorical" and np.asarray(y).shape == (count, outputs) and outputs > 1:
                raise DataError(
                    f"{name} has one column a class, but sparse_categorical_crossentropy takes one class number a row: "
                    "use loss='categorical_crossentropy'"
                )
            return Rows(x, labels=as_labels(y, outputs, rows=count, name=name, table=table))
        if family == "categorical" and outputs > 1 and _one_number_a_row(y):
            raise DataError(
                f"{name} has one number a row, but categorical_crossentropy takes one column a class: use "
                "loss='sparse_categorical_crossentropy' for class numbers"
            )
        values = as_values(y, outputs, dtype, rows=count, name=name, table=table)
        if family == "categorical":
            check_values(values, values >= 0, name, "class memberships must be at least 0")
            labels = _one_hot_labels(values)
            return Rows(x, values=values) if labels is None else Rows(x, labels=labels, given=values)
        if family == "bernoulli":
            check_values(values, (values >= 0) & (values <= 1), name, "yes/no targets must be between 0 and 1")
        if family == "poisson":
            check_values(values, values >= 0, name, "counts must be at least 0")
        if family == "perceptron":
            wanted = "targets must be -1 or 1, or 0 or 1"
            check_values(values, np.isin(values, (-1, 0, 1)), name, wanted)
            if (values == -1).any():
                check_values(values, values != 0, name, f"{wanted}, and there is a -1")
            signs = (values > 0) * values.dtype.type(2) - values.dtype.type(1)
            return Rows(x, values=signs, given=values)
        return Rows(x, values=values)


def _one_number_a_row(y: object) -> bool:
    shape = np.asarray(y).shape
    return len(shape) == 1 or (len(shape) == 2 and shape[1] == 1)


def _one_hot_labels(values: Array) -> Labels | None:
    """Class numbers where every row is one-hot, else None: a label a row is faster to train on."""
    labels = values.argmax(axis=1)
    hot = values[np.arange(len(values)), labels]
    if (hot == 1).all() and np.count_nonzero(values) == len(values):
        return np.asarray(labels, np.int32)
    return None
