"""The network as a frozen description, and the one flat vector of its parameters.

`theta` holds, layer by layer, the weights W (inputs x outputs, in row order) and then the biases b, so that
z = x W + b. A generalized linear model is a network of one layer.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linnet._native import core
from linnet.checks import check_number, check_whole
from linnet.errors import ConfigError
from linnet.heads import Head, Normal
from linnet.heads.activations import Activation
from linnet.registry import need, saved

if TYPE_CHECKING:
    from linnet import _core

Theta = NDArray[Any]  # float32 or float64


@saved
@dataclass(frozen=True, slots=True)
class Layer:
    """One layer: h = activation(x W + b).

    Parameters
    ----------
    units : int
        The number of outputs.
    activation : Activation, default=Activation("identity")
        The activation.
    dropout : float, default=0.0
        The rate at which the layer's inputs are dropped in training; the others are divided by 1 - rate.
    l1, l2 : float, default=0.0
        Factors of the penalty l1 Σ|w| + l2 Σw²/2 on the weights; biases are not penalised.
    bias : bool, default=True
        Whether the layer has biases; without, they are held at zero.
    """

    units: int
    activation: Activation = Activation("identity")  # noqa: RUF009 - frozen
    dropout: float = 0.0
    l1: float = 0.0
    l2: float = 0.0
    bias: bool = True

    def __post_init__(self) -> None:
        check_whole(self.units, "units", at_least=1)
        check_number(self.dropout, "dropout", at_least=0, below=1)
        check_number(self.l1, "l1", at_least=0)
        check_number(self.l2, "l2", at_least=0)


class Block(NamedTuple):
    """The parameters of one layer, as views of theta.

    Attributes
    ----------
    weights : array of shape (inputs, outputs)
        The weights W.
    biases : array of shape (outputs,)
        The biases b.
    """

    weights: Theta
    biases: Theta


@saved
@dataclass(frozen=True, slots=True)
class Network:
    """A feed-forward network with a head, which also determines the activation of the last layer.

    Parameters
    ----------
    inputs : int
        The number of input columns.
    layers : tuple of Layer
        The layers, the first next to the inputs.
    head : Head
        The distribution of the target.
    """

    inputs: int
    layers: tuple[Layer, ...]
    head: Head

    def __post_init__(self) -> None:
        if self.inputs < 1:
            raise ConfigError(f"a network needs at least one input, got {self.inputs!r}")
        if not self.layers:
            raise ConfigError("a network needs at least one layer")
        if self.head.coupled and self.outputs < 2:
            raise ConfigError("softmax over one unit is always 1: use 2 units, or 1 unit with the sigmoid")

    @property
    def outputs(self) -> int:
        """The number of units of the last layer."""
        return self.layers[-1].units

    @property
    def shapes(self) -> list[tuple[int, int]]:
        """The numbers of inputs and outputs of each layer."""
        widths = [self.inputs, *(layer.units for layer in self.layers)]
        return list(pairwise(widths))

    @property
    def size(self) -> int:
        """The length of theta."""
        return sum((inputs + 1) * outputs for inputs, outputs in self.shapes)

    @property
    def free_parameters(self) -> int:
        """The length of theta without the biases that are held at zero."""
        return self.size - sum(layer.units for layer in self.layers if not layer.bias)

    @property
    def products_per_row(self) -> int:
        """The number of multiply-adds of one forward pass per row."""
        return sum(inputs * outputs for inputs, outputs in self.shapes)

    def blocks(self, theta: Theta) -> list[Block]:
        """Return views of theta by layer: writing to them changes theta.

        Parameters
        ----------
        theta : array of shape (size,)
            The parameters.

        Returns
        -------
        list of Block
            Weights and biases of each layer.
        """
        views, start = [], 0
        for inputs, outputs in self.shapes:
            middle, end = start + inputs * outputs, start + (inputs + 1) * outputs
            views.append(Block(theta[start:middle].reshape(inputs, outputs), theta[middle:end]))
            start = end
        return views

    def below(self, count: int, *, linear: bool = False) -> "Network":
        """Return the network of the first layers, whose parameters are the first entries of theta.

        Parameters
        ----------
        count : int
            The number of layers.
        linear : bool, default=False
            Whether its output is z of the last of these layers, instead of that layer's activation.

        Returns
        -------
        Network
            The network, with a normal head.
        """
        layers = self.layers[:count]
        return Network(self.inputs, layers, Normal(None if linear else layers[-1].activation))

    def for_prediction(self) -> "Network":
        """Return the network without a custom loss, which predictions do not need."""
        return self if self.head.function is None else replace(self, head=Normal())

    def without_dropout(self) -> "Network":
        """Return the network with all dropout rates set to 0."""
        return replace(self, layers=tuple(replace(layer, dropout=0.0) for layer in self.layers))

    def to_core(self) -> "_core.Network":
        """Return the network's description for the native core."""
        activations = [layer.activation for layer in self.layers[:-1]]
        activations.append(Activation("identity") if self.head.fused else self.head.output)
        specs = [
            core.LayerSpec(
                inputs=inputs,
                outputs=outputs,
                activation=getattr(core.Activation, activation.name),
                leak=activation.slope,
                dropout=layer.dropout,
                l1=layer.l1,
                l2=layer.l2,
                bias=layer.bias,
            )
            for (inputs, outputs), layer, activation in zip(self.shapes, self.layers, activations, strict=True)
        ]
        return core.Network(specs, self.head.core_family, self.head.parameter, self.head.function)


def need_parameters(model: Any, network: Any, theta: Any) -> None:
    """Refuse a model from a file if the shape of its parameters does not match its network."""
    need(isinstance(theta, np.ndarray) and theta.dtype in (np.float32, np.float64), model, "theta")
    need(network is None or (isinstance(network, Network) and theta.shape == (network.size,)), model, "theta")
