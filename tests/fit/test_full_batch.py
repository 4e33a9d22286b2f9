"""Networks on all rows at once, from sums that may come from anywhere."""

import numpy as np
import pytest
from numpy.typing import NDArray

from linnet.data.rows import Rows
from linnet.fit.full_batch import FullBatch, minimise
from linnet.fit.objective import NetworkObjective, NetworkSums
from linnet.heads import Bernoulli
from linnet.heads.activations import Activation
from linnet.model.initialise import initial_theta
from linnet.model.network import Layer, Network

NETWORK = Network(3, (Layer(5, Activation("tanh"), l2=0.01), Layer(1, l2=0.01)), Bernoulli())
RNG = np.random.default_rng(0)
X = RNG.normal(size=(700, 3))
ROWS = Rows(X, values=(X.prod(axis=1, keepdims=True) > 0).astype(float), weights=RNG.random(700))


def in_parts(theta: NDArray[np.float64]) -> NetworkSums:
    """The sums of three parts of the rows, added."""
    parts = [ROWS[:100], ROWS[100:101], ROWS[101:]]
    sums = [NetworkObjective(NETWORK, "float64").sums(theta, part, gradient=True) for part in parts]
    gradient = np.sum([np.asarray(each.gradient) for each in sums], axis=0)
    return NetworkSums(sum(each.loss for each in sums), sum(each.weight for each in sums), gradient)


def test_sums_of_parts_give_the_fit_of_all_rows() -> None:
    start = initial_theta(NETWORK, 0, np.float64, ["glorot_uniform"] * 2)
    found = [
        minimise(full, start, gradient_tolerance=1e-10, max_iter=2000, max_evaluations=5000)
        for full in (FullBatch(NETWORK, in_parts), FullBatch.in_memory(NETWORK, ROWS))
    ]
    assert all(each.converged for each in found)
    assert found[0].value == pytest.approx(found[1].value, rel=1e-9)


def test_it_is_the_mean_loss_plus_the_penalty_once() -> None:
    theta = RNG.normal(size=NETWORK.size)
    parts, whole = FullBatch(NETWORK, in_parts).at(theta), FullBatch.in_memory(NETWORK, ROWS).at(theta)
    assert parts.value == pytest.approx(whole.value, rel=1e-13)
    np.testing.assert_allclose(parts.gradient, whole.gradient, rtol=1e-11, atol=1e-14)  # type: ignore[arg-type]
