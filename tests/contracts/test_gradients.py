"""Loss and gradient are one function: the core's float64 gradient is the slope of the core's own float64 loss."""

import numpy as np
import pytest

from linnet.data.rows import Rows
from linnet.fit.objective import NetworkObjective
from linnet.heads.activations import ACTIVATIONS, LeakyReLU
from linnet.model.network import Layer, Network

from .cases import ALL_HEADS, HEADS, Array, HeadCase, assert_close, make_network, make_rows, make_theta, seed_of

STEP = 1e-5  # of the central differences: their error is some 1e-10 from the third derivative, 1e-11 from rounding


def central_differences(network: Network, theta: Array, rows: Rows) -> Array:
    objective = NetworkObjective(network, "float64")

    def loss(index: int, step: float) -> float:
        moved = theta.copy()
        moved[index] += step
        return objective.sums(moved, rows).loss

    return np.array([(loss(i, STEP) - loss(i, -STEP)) / (2 * STEP) for i in range(len(theta))])


def check(network: Network, rows: Rows, seed: int) -> None:
    theta = make_theta(network, seed)
    gradient = NetworkObjective(network, "float64").sums(theta, rows, gradient=True).gradient
    assert gradient is not None
    assert np.abs(gradient).max() > 1e-3
    assert_close(gradient, central_differences(network, theta, rows), 1e-6)


@pytest.mark.pairwise
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("hidden", [(), (4,), (3, 5, 2)], ids=str)
@pytest.mark.parametrize("case", ALL_HEADS, ids=str)
def test_every_head(case: HeadCase, hidden: tuple[int, ...], weighted: bool) -> None:
    seed = seed_of(case.name, hidden)
    check(make_network(case, 3, hidden), make_rows(case, 3, 7, "float64", seed, weighted=weighted), seed)


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("inputs", [3, 18])
def test_every_hidden_activation(name: str, inputs: int) -> None:
    seed = seed_of(name)
    case = HEADS[4]
    check(make_network(case, inputs, (5, 4), (name,)), make_rows(case, inputs, 9, "float64", seed), seed)


@pytest.mark.parametrize("slope", [0.0, 0.01, 0.5, 2.0])
def test_every_slope_of_leaky_relu(slope: float) -> None:
    case = HEADS[0]
    network = Network(4, (Layer(6, LeakyReLU(slope)), Layer(case.outputs)), case.head)
    check(network, make_rows(case, 4, 9, "float64", 1), 2)
