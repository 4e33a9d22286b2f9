"""First values of the weights. Biases start at zero.

| name | weights of a layer with M inputs and K outputs |
|---|---|
| uniform | uniform in ±1/sqrt(M): Dense's default |
| glorot_uniform, glorot_normal | variance 2 / (M + K); glorot_uniform is that of MLPClassifier and MLPRegressor |
| he_uniform, he_normal | variance 2 / M |
| zeros | 0: right for a model without hidden layers, never for a hidden layer |
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from linnet._native import core
from linnet.errors import unknown_name, warn
from linnet.model.network import Network, Theta

Uniform = NDArray[np.float64]


def _uniform(u: Uniform, bound: float) -> Uniform:
    return (2 * u - 1) * bound


def _normal(u: Uniform, deviation: float) -> Uniform:
    from scipy.special import ndtri  # slow to load, and rarely needed

    # half a step away from 0, whose quantile is minus infinity
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


def check_initialiser(name: str) -> str:
    """Return the name if there is such an initialiser."""
    if not isinstance(name, str) or name not in _INITIALISERS:
        raise unknown_name("initialiser", name, INITIALISERS)
    return name


def initial_theta(network: Network, seed: int, dtype: DTypeLike, initialisers: Sequence[str]) -> Theta:
    """Return the first theta: a function of the seed and the network's shape alone, one initialiser a layer."""
    theta: NDArray[Any] = np.zeros(network.size, dtype)
    for index, (block, name) in enumerate(zip(network.blocks(theta), initialisers, strict=True)):
        inputs, outputs = block.weights.shape
        u = np.empty(inputs * outputs)
        core.uniform(seed, index, u)
        block.weights[:] = _INITIALISERS[check_initialiser(name)](u, inputs, outputs).reshape(inputs, outputs)
    return theta


def warn_if_hidden_zero(network: Network, theta: Theta) -> None:
    """Warn when a hidden layer's weights are all zero, so that its units start out the same."""
    blocks = network.blocks(theta)
    for index, (block, above) in enumerate(pairwise(blocks)):
        if block.weights.any() or block.weights.shape[1] < 2:
            continue
        if above.weights.any() and network.layers[index].activation.name != "relu":
            why = "its units start out the same, and only the weights above can tell them apart"
        else:
            why = "its units compute the same, get the same gradient and stay the same for ever"
        warn(
            f"all weights of hidden layer {index + 1} are zero: {why}, so they hardly or never learn different "
            "features; start from random weights, such as kernel_initializer='uniform'",
            UserWarning,
        )
