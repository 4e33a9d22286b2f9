"""Initial values of the weights. Biases start at zero.

| name | weights of a layer with M inputs and K outputs |
|---|---|
| uniform | uniform in ±1/sqrt(M): the default of Dense |
| glorot_uniform, glorot_normal | variance 2 / (M + K); MLPClassifier and MLPRegressor use glorot_uniform |
| he_uniform, he_normal | variance 2 / M |
| zeros | 0: only for networks without hidden layers |
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from linnet._native import core
from linnet.config import memory
from linnet.errors import ConfigError, unknown_name, warn
from linnet.model.network import Network, Theta

Uniform = NDArray[np.float64]


def _uniform(u: Uniform, bound: float) -> Uniform:
    return (2 * u - 1) * bound


def _normal(u: Uniform, deviation: float) -> Uniform:
    from scipy.special import ndtri  # slow to load, and rarely needed

    # half a spacing away from 0, whose quantile is minus infinity
    return np.asarray(ndtri(u + 2.0**-54)) * deviation


_INITIALISERS: dict[str, Callable[[Uniform, int, int], Uniform]] = {
    "uniform": lambda u, inputs, outputs: _uniform(u, inputs**-0.5),
    "glorot_uniform": lambda u, inputs, outputs: _uniform(u, (6 / (inputs + outputs)) ** 0.5),
    "glorot_normal": lambda u, inputs, outputs: _normal(u, (2 / (inputs + outputs)) ** 0.5),
    "he_uniform": lambda u, inputs, outputs: _uniform(u, (6 / inputs) ** 0.5),
    "he_normal": lambda u, inputs, outputs: _normal(u, (2 / inputs) ** 0.5),
    "zeros": lambda u, inputs, outputs: np.zeros_like(u),
}
INITIALISERS = tuple(_INITIALISERS)
_MAX_BYTES = 1 << 48  # the address space of a process


def check_initialiser(name: str) -> str:
    """Return the name of an initialiser, or raise a ConfigError if it is unknown.

    Parameters
    ----------
    name : str
        The name, one of `INITIALISERS`.

    Returns
    -------
    str
        The name.
    """
    if not isinstance(name, str) or name not in _INITIALISERS:
        raise unknown_name("initialiser", name, INITIALISERS)
    return name


def initial_theta(network: Network, seed: int, dtype: DTypeLike, initialisers: Sequence[str]) -> Theta:
    """Return initial parameters, which depend only on the seed, the shape of the network and the initialisers.

    Parameters
    ----------
    network : Network
        The network.
    seed : int
        The seed of the random numbers.
    dtype : dtype
        float32 or float64.
    initialisers : sequence of str
        One name per layer.

    Returns
    -------
    array of shape (network.size,)
        theta.
    """
    _check_memory(network, np.dtype(dtype).itemsize)
    theta: NDArray[Any] = np.zeros(network.size, dtype)
    for index, (block, name) in enumerate(zip(network.blocks(theta), initialisers, strict=True)):
        inputs, outputs = block.weights.shape
        u = np.empty(inputs * outputs)
        core.uniform(seed, index, u)
        block.weights[:] = _INITIALISERS[check_initialiser(name)](u, inputs, outputs).reshape(inputs, outputs)
    return theta


def _check_memory(network: Network, itemsize: int) -> None:
    """Refuse a network whose parameters and gradient exceed the memory.

    Operating systems allocate more memory than there is, and kill the process once it is used.
    """
    size = network.size
    if 2 * size * itemsize > min(memory(), _MAX_BYTES):
        widest = max(layer.units for layer in network.layers)
        raise ConfigError(
            f"a network with {size:,} parameters does not fit into the memory: its widest layer has {widest:,} units; "
            "lower hidden_layer_sizes, or a layer's units"
        )


def warn_if_hidden_zero(network: Network, theta: Theta) -> None:
    """Warn if all weights of a hidden layer are zero, so that its units start equal.

    Parameters
    ----------
    network : Network
        The network.
    theta : array
        Its initial parameters.
    """
    blocks = network.blocks(theta)
    for index, (block, above) in enumerate(pairwise(blocks)):
        if block.weights.any() or block.weights.shape[1] < 2:
            continue
        if above.weights.any() and not network.layers[index].activation.is_flat_at_zero:
            effect = "its units start equal and are distinguished only by the weights above, so they hardly learn"
        else:
            effect = "its units are equal, get the same gradient and stay equal forever, so they never learn"
        warn(
            f"all weights of hidden layer {index + 1} are zero: {effect} different features: start from random "
            "weights, for example with kernel_initializer='uniform'",
            UserWarning,
        )
