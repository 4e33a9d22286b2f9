"""Keras' losses by name: the head of each, and the factor between the loss of a row in Keras and that of the head.

Keras takes the mean over a row's K outputs where a head takes the sum, and squared error without the factor ½:

| loss | head | factor |
|---|---|---|
| categorical_crossentropy, sparse_categorical_crossentropy | categorical | 1 |
| binary_crossentropy | bernoulli | 1 / K |
| mse, mean_squared_error | normal | 2 / K |
| mae, mean_absolute_error | laplace | 1 / K |
| poisson | poisson | 1 / K |
| perceptron (not in Keras) | perceptron | 1 |
"""

from dataclasses import dataclass

import numpy as np

from linnet.data.rows import Rows
from linnet.data.table import Array
from linnet.data.targets import Labels, as_labels, as_values, check_values
from linnet.errors import DataError, unknown_name
from linnet.heads import Head, heads_by_loss
from linnet.heads.activations import Activation
from linnet.registry import saved

HEADS = heads_by_loss(keras=True)


@saved
@dataclass(frozen=True, slots=True)
class Loss:
    """A loss by Keras' name."""

    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or self.name not in HEADS:
            raise unknown_name("loss", self.name, HEADS)

    @property
    def kind(self) -> type[Head]:
        """The class of the head."""
        return HEADS[self.name]

    def head(self, activation: Activation) -> Head:
        """Return the head of this loss for the activation of the last layer."""
        return self.kind.with_activation(activation)

    def factor(self, outputs: int) -> float:
        """Return Keras' loss of a row divided by the head's."""
        return self.kind().keras_factor(outputs)

    def rows(self, x: Array, y: object, outputs: int, dtype: str, name: str = "y", table: str = "x") -> Rows:
        """Return the table with its targets, which are checked for this loss."""
        count = len(x)
        head = self.kind()
        signs = head.classifies and not head.has_probabilities
        if self.name in self.kind.label_losses or (signs and outputs > 1 and _has_one_column(y)):
            if head.coupled and np.asarray(y).shape == (count, outputs) and outputs > 1:
                raise DataError(
                    f"{name} has one column per class, but sparse_categorical_crossentropy takes one class index per "
                    "row: use loss='categorical_crossentropy'"
                )
            return Rows(x, labels=as_labels(y, outputs, rows=count, name=name, table=table))
        if head.coupled and outputs > 1 and _has_one_column(y):
            raise DataError(
                f"{name} has one number per row, but categorical_crossentropy takes one column per class: use "
                "loss='sparse_categorical_crossentropy' for class indices"
            )
        values = as_values(y, outputs, dtype, rows=count, name=name, table=table)
        check_values(values, head.is_valid(values), name, head.target_requirement)
        if head.coupled:
            labels = _one_hot_labels(values)
            return Rows(x, values=values) if labels is None else Rows(x, labels=labels, user_targets=values)
        if signs:
            if (values == -1).any():
                check_values(values, values != 0, name, f"{head.target_requirement}, and there are values of -1")
            return Rows(x, values=(values > 0) * values.dtype.type(2) - values.dtype.type(1), user_targets=values)
        return Rows(x, values=values)


def _has_one_column(y: object) -> bool:
    shape = np.asarray(y).shape
    return len(shape) == 1 or (len(shape) == 2 and shape[1] == 1)


def _one_hot_labels(values: Array) -> Labels | None:
    """Return class indices if every row is one-hot, else None: training on one label per row is faster."""
    labels = values.argmax(axis=1)
    hot = values[np.arange(len(values)), labels]
    if (hot == 1).all() and np.count_nonzero(values) == len(values):
        return np.asarray(labels, np.int32)
    return None
