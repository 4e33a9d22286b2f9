"""Biases as the weights of a constant unit, in every layer.

With one more input that is always 1 the first layer's biases are its weights. The next layer needs a constant input of
its own: a unit of the first layer that sees the constant alone, with z = 1, and whose output is therefore f(1), the
same for every row. A bias b becomes the weight b / f(1) of that unit: for ReLUs, f(1) = 1 and the weight is the bias.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linnet.errors import ConfigError, DataError
from linnet.fit.objective import NetworkObjective
from linnet.heads import Normal
from linnet.heads.activations import Activation
from linnet.model.network import Layer, Network

Floats = NDArray[np.float64]


def absorb_biases(network: Network, theta: ArrayLike) -> tuple[Network, Floats]:
    """Return a network without biases, with one more input and one more unit per hidden layer, that computes the same.

    Its last input must be 1 in every row.

    Parameters
    ----------
    network : Network
        The network.
    theta : array
        Its parameters.

    Returns
    -------
    network : Network
        The network without biases.
    theta : array
        Its parameters; all biases are 0.

    Examples
    --------
    >>> one = Network(1, (Layer(1, Activation("relu")), Layer(1)), Normal())
    >>> without, theta = absorb_biases(one, [2.0, -1.0, 3.0, 0.5])  # 3 relu(2 x - 1) + 0.5
    >>> without.inputs, [block.weights.tolist() for block in without.blocks(theta)]
    (2, [[[2.0, 0.0], [-1.0, 1.0]], [[3.0], [0.5]]])
    """
    values = np.asarray(theta, np.float64)
    if values.shape != (network.size,):
        raise DataError(f"theta must have {network.size} numbers, got shape {values.shape}")
    layers, parts, constant = list[Layer](), list[Floats](), 1.0  # the constant that a layer gets, and its weights
    last = len(network.layers) - 1
    for index, (layer, block) in enumerate(zip(network.layers, network.blocks(values), strict=True)):
        weights = np.vstack([block.weights, block.biases / constant])
        if index < last:
            own = np.zeros((len(weights), 1))
            own[-1] = 1 / constant
            weights, constant = np.hstack([weights, own]), _at_one(layer.activation)
            layer = replace(layer, units=layer.units + 1)
        layers.append(replace(layer, bias=False))
        parts += [weights.ravel(), np.zeros(layer.units)]
    return Network(network.inputs + 1, tuple(layers), network.head), np.concatenate(parts)


def _at_one(activation: Activation) -> float:
    """f(1)."""
    if activation.name == "softmax":
        raise ConfigError("the units of a softmax layer depend on each other, so that none of them is constant")
    one = Network(1, (Layer(1, activation), Layer(1)), Normal())
    return float(NetworkObjective(one, np.float64).predict(np.array([1.0, 0.0, 1.0, 0.0]), np.array([[1.0]]))[0, 0])
