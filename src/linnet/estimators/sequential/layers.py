"""The layers of a Sequential model, with Keras' names and parameters."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from linnet.checks import check_flag, check_number
from linnet.errors import ConfigError
from linnet.heads.activations import Activation, as_activation
from linnet.model.initialise import check_initialiser
from linnet.model.network import Layer
from linnet.registry import need, saved
from linnet.untrusted import fits


@saved
@dataclass(frozen=True, slots=True)
class Regularizer:
    """l1 Σ|w| + l2 Σw² (Keras' convention: no half)."""

    l1: float = 0.0
    l2: float = 0.0

    def __post_init__(self) -> None:
        for name, value in (("l1", self.l1), ("l2", self.l2)):
            check_number(value, name, at_least=0)


def l1(strength: float = 0.01) -> Regularizer:
    """Return the penalty strength · Σ|w|."""
    return Regularizer(l1=strength)


def l2(strength: float = 0.01) -> Regularizer:
    """Return the penalty strength · Σw²."""
    return Regularizer(l2=strength)


def l1_l2(l1: float = 0.01, l2: float = 0.01) -> Regularizer:
    """Return the penalty l1 Σ|w| + l2 Σw²."""
    return Regularizer(l1, l2)


class Input:
    """Say how many columns the model takes: `Sequential([Input((784,)), Dense(10)])`."""

    def __init__(self, shape: int | Sequence[int]) -> None:
        self.columns = _columns(shape)


@saved
class Dense:
    """A fully connected layer: activation(x W + b).

    `input_dim` (or `input_shape`) is needed in the first layer only if the model is to be built before its first fit.
    Weights start uniform in ±1/sqrt(inputs), biases at zero. A penalty on the weights has the same strength at every
    batch size.
    """

    def __init__(
        self,
        units: int,
        activation: str | Activation | None = None,
        *,
        use_bias: bool = True,
        kernel_initializer: str = "uniform",
        kernel_regularizer: Regularizer | None = None,
        input_dim: int | None = None,
        input_shape: int | Sequence[int] | None = None,
    ) -> None:
        if kernel_regularizer is not None and not isinstance(kernel_regularizer, Regularizer):
            raise ConfigError(f"kernel_regularizer must be l1(...), l2(...) or l1_l2(...), got {kernel_regularizer!r}")
        shape = input_dim if input_dim is not None else input_shape
        self.units = units
        self.activation = as_activation(activation)
        self.use_bias = check_flag(use_bias, "use_bias")
        self.kernel_initializer = check_initialiser(kernel_initializer)
        self.kernel_regularizer = kernel_regularizer
        self.columns = None if shape is None else _columns(shape)
        self.to_layer(0.0)  # bad parameters are reported here, where they are written

    def __repr__(self) -> str:
        return f"Dense({self.units}, {self.activation.name!r})"

    def _check_file(self) -> None:
        need(isinstance(self.activation, Activation), self, "activation")
        need(fits(self.kernel_regularizer, Regularizer | None), self, "kernel_regularizer")
        need(fits(self.use_bias, bool), self, "use_bias")
        need(fits(self.columns, int | None), self, "columns")
        check_initialiser(self.kernel_initializer)
        self.to_layer(0.0)

    def to_layer(self, dropout: float) -> Layer:
        """The layer as the engine knows it, its inputs dropped at the given rate."""
        penalty = self.kernel_regularizer or Regularizer()
        return Layer(self.units, self.activation, dropout, penalty.l1, 2 * penalty.l2, bool(self.use_bias))


@saved
class Dropout:
    """Drop each of the inputs with probability `rate` in training, and divide the others by 1 - rate."""

    def __init__(self, rate: float, *, input_shape: int | Sequence[int] | None = None) -> None:
        self.rate = check_number(rate, "Dropout's rate", at_least=0, below=1)
        self.columns = None if input_shape is None else _columns(input_shape)

    def __repr__(self) -> str:
        return f"Dropout({self.rate:g})"

    def _check_file(self) -> None:
        need(fits(self.rate, float) and 0 <= self.rate < 1 and fits(self.columns, int | None), self, "rate")


def _columns(shape: int | Sequence[int]) -> int:
    sizes = [shape] if isinstance(shape, int | np.integer) else list(shape) if isinstance(shape, Sequence) else []
    if len(sizes) != 1 or not isinstance(sizes[0], int | np.integer) or sizes[0] < 1:
        raise ConfigError(f"the input must be rows of numbers, shape (columns,), got {shape!r}")
    return int(sizes[0])
