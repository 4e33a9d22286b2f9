"""Biases become weights of a constant unit: the network without them computes the same."""

import numpy as np
import pytest

from linnet.errors import ConfigError, DataError
from linnet.fit.objective import NetworkObjective
from linnet.heads import Categorical, Normal
from linnet.heads.activations import ACTIVATIONS, Activation
from linnet.model.network import Layer, Network
from linnet.theory import absorb_biases


@pytest.mark.parametrize("name", [name for name in ACTIVATIONS if name != "softmax"])
def test_the_network_without_biases_computes_the_same(name: str) -> None:
    rng = np.random.default_rng(3)
    network = Network(3, (Layer(5, Activation(name)), Layer(4, Activation("tanh")), Layer(2)), Categorical())
    theta, x = rng.normal(size=network.size), rng.normal(size=(50, 3))
    without, absorbed = absorb_biases(network, theta)
    assert [layer.units for layer in without.layers] == [6, 5, 2]
    assert not any(layer.bias for layer in without.layers)
    assert not any(block.biases.any() for block in without.blocks(absorbed))
    found = NetworkObjective(without, np.float64).predict(absorbed, np.column_stack([x, np.ones(50)]))
    np.testing.assert_allclose(found, NetworkObjective(network, np.float64).predict(theta, x), atol=1e-12)


def test_what_cannot_be_absorbed_is_refused() -> None:
    network = Network(2, (Layer(3, Activation("softmax")), Layer(1)), Normal())
    with pytest.raises(ConfigError, match="none of them is constant"):
        absorb_biases(network, np.zeros(network.size))
    with pytest.raises(DataError, match="theta must have"):
        absorb_biases(network, [1.0])
