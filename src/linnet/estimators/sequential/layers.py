"""The layers of a Sequential model, with Keras' names and parameters."""

from collections.abc import Sequence
from dataclasses import dataclass

from linnet.checks import check_flag, check_number, is_integer
from linnet.errors import ConfigError, Parameter
from linnet.heads.activations import Activation, as_activation
from linnet.model.initialise import check_initialiser
from linnet.model.network import Layer
from linnet.registry import need, saved
from linnet.untrusted import fits


@saved
@dataclass(frozen=True, slots=True)
class Regularizer:
    """The penalty l1 Σ|w| + l2 Σw² on the weights of a layer (Keras' convention: without the factor ½).

    Attributes
    ----------
    l1, l2 : float, default=0.0
        The strengths of the two penalties.
    """

    l1: float = 0.0
    l2: float = 0.0

    def __post_init__(self) -> None:
        for name, value in (("l1", self.l1), ("l2", self.l2)):
            check_number(value, name, at_least=0)


def l1(strength: float = 0.01) -> Regularizer:
    """Return the penalty strength · Σ|w|.

    Parameters
    ----------
    strength : float, default=0.01
        The strength of the penalty.

    Returns
    -------
    Regularizer
        The penalty, for `kernel_regularizer` of Dense.
    """
    return Regularizer(l1=strength)


def l2(strength: float = 0.01) -> Regularizer:
    """Return the penalty strength · Σw² (Keras' convention: without the factor ½).

    Parameters
    ----------
    strength : float, default=0.01
        The strength of the penalty.

    Returns
    -------
    Regularizer
        The penalty, for `kernel_regularizer` of Dense.
    """
    return Regularizer(l2=strength)


def l1_l2(l1: float = 0.01, l2: float = 0.01) -> Regularizer:
    """Return the penalty l1 Σ|w| + l2 Σw² (Keras' convention: without the factor ½).

    Parameters
    ----------
    l1, l2 : float, default=0.01
        The strengths of the two penalties.

    Returns
    -------
    Regularizer
        The penalty, for `kernel_regularizer` of Dense.
    """
    return Regularizer(l1, l2)


class Input:
    """The input of a model, which sets its number of columns: `Sequential([Input((784,)), Dense(10)])`.

    Parameters
    ----------
    shape : int or (columns,)
        The number of columns.
    """

    def __init__(self, shape: int | Sequence[int]) -> None:
        self.columns = _columns(shape, "shape")


@saved
class Dense:
    """A fully connected layer: activation(x W + b).

    Biases are initialised to 0. A penalty on the weights has the same strength at every batch size.

    Parameters
    ----------
    units : int
        The number of outputs.
    activation : str, Activation or None, default=None
        The activation; None is the identity.
    use_bias : bool, default=True
        Whether the layer has biases.
    kernel_initializer : str, default="uniform"
        The distribution of the initial weights; "uniform" is that on ±1/sqrt(inputs). Others are "glorot_uniform",
        "glorot_normal", "he_uniform", "he_normal" and "zeros".
    kernel_regularizer : Regularizer or None, default=None
        The penalty on the weights, from `l1`, `l2` or `l1_l2`.
    input_dim : int or None, default=None
        The number of inputs. Only the first layer may need it: if the model is built before its first fit.
    input_shape : int, (columns,) or None, default=None
        Another way to set `input_dim`.
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
        name, shape = ("input_dim", input_dim) if input_dim is not None else ("input_shape", input_shape)
        self.units = units
        self.activation = as_activation(activation)
        self.use_bias = check_flag(use_bias, "use_bias")
        self.kernel_initializer = check_initialiser(kernel_initializer)
        self.kernel_regularizer = kernel_regularizer
        self.columns = None if shape is None else _columns(shape, name)
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
        """Return the layer in the form of the engine.

        Parameters
        ----------
        dropout : float
            The rate at which its inputs are dropped in training.
        """
        penalty = self.kernel_regularizer or Regularizer()
        return Layer(self.units, self.activation, dropout, penalty.l1, 2 * penalty.l2, bool(self.use_bias))


@saved
class Dropout:
    """Sets each input to 0 with probability `rate` in training, and divides the others by 1 - rate.

    Parameters
    ----------
    rate : float
        The probability, at least 0 and below 1.
    input_shape : int, (columns,) or None, default=None
        The number of inputs, for the first layer.
    """

    def __init__(self, rate: float, *, input_shape: int | Sequence[int] | None = None) -> None:
        self.rate = check_number(rate, "Dropout's rate", at_least=0, below=1)
        self.columns = None if input_shape is None else _columns(input_shape, "input_shape")

    def __repr__(self) -> str:
        return f"Dropout({self.rate:g})"

    def _check_file(self) -> None:
        need(fits(self.rate, float) and 0 <= self.rate < 1 and fits(self.columns, int | None), self, "rate")


def _columns(shape: int | Sequence[int], name: str) -> int:
    sizes = [shape] if is_integer(shape) else list(shape) if isinstance(shape, Sequence) else []
    if len(sizes) != 1 or not is_integer(sizes[0]) or sizes[0] < 1:
        raise ConfigError(Parameter(name), f", the shape of the input, must be (columns,), got {shape!r}")
    return int(sizes[0])
