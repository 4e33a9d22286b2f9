"""Random numbers: the order of rows and the first weights, as functions of the seed alone."""

import warnings

import numpy as np
import pytest
from scipy import stats

from linnet._native import core
from linnet.errors import ConfigError
from linnet.fit.loop.optimizers import SGD
from linnet.fit.loop.training import Plan, Training
from linnet.heads.activations import ACTIVATIONS, Activation, LeakyReLU
from linnet.model.initialise import initial_theta

from .cases import DTYPES, HEADS, Array, make_network, make_rows
from .twin import plain_activation
from .twin_training import INITIAL, permutation, random64, random_key

TINY_P = 1e-4  # the numbers are fixed, so a right generator fails with this probability once and for all, or never


def order(seed: int, epoch: int, n: int) -> Array:
    out = np.empty(n, np.uint32)
    core.permutation(seed, epoch, out)
    return out


@pytest.mark.parametrize("n", [1, 2, 3, 10, 1000])
@pytest.mark.parametrize("seed", [0, 1, 2**63, 2**64 - 1])
def test_a_permutation_by_fisher_and_yates(seed: int, n: int) -> None:
    assert sorted(order(seed, 0, n)) == list(range(n))
    assert order(seed, 0, n).tolist() == permutation(seed, 0, n)
    assert order(seed, 7, n).tolist() == permutation(seed, 7, n)


def test_every_epoch_and_seed_has_its_own_order() -> None:
    orders = {tuple(order(seed, epoch, 30)) for seed in range(20) for epoch in range(20)}
    assert len(orders) == 400


@pytest.mark.parametrize("by", ["seed", "epoch"])
def test_all_orders_are_equally_likely(by: str) -> None:
    counts: dict[tuple[int, ...], int] = {}
    for index in range(4800):
        key = tuple(order(index, 3, 4) if by == "seed" else order(3, index, 4))
        counts[key] = counts.get(key, 0) + 1
    assert len(counts) == 24
    assert stats.chisquare(list(counts.values())).pvalue > TINY_P


def test_every_row_comes_first_as_often() -> None:
    first = np.bincount([order(seed, 0, 50)[0] for seed in range(5000)], minlength=50)
    assert stats.chisquare(first).pvalue > TINY_P


def test_uniform_numbers() -> None:
    u = np.empty(20000)
    core.uniform(5, 2, u)
    key = random_key(5, INITIAL, 2)
    assert u[:100].tolist() == [(random64(key, i) >> 11) * 2.0**-53 for i in range(100)]
    assert u.min() >= 0
    assert u.max() < 1
    assert stats.kstest(u, "uniform").pvalue > TINY_P
    assert abs(np.corrcoef(u[:-1], u[1:])[0, 1]) < 5 / np.sqrt(len(u))
    other = np.empty(20000)
    core.uniform(5, 3, other)
    assert abs(np.corrcoef(u, other)[0, 1]) < 5 / np.sqrt(len(u))


VARIANCE = {  # of weights between M inputs and K outputs
    "uniform": lambda m, k: 1 / (3 * m),
    "glorot_uniform": lambda m, k: 2 / (m + k),
    "glorot_normal": lambda m, k: 2 / (m + k),
    "he_uniform": lambda m, k: 2 / m,
    "he_normal": lambda m, k: 2 / m,
}


@pytest.mark.parametrize("name", VARIANCE)
def test_initial_weights(name: str) -> None:
    network = make_network(HEADS[4], 150, (200,))
    blocks = network.blocks(initial_theta(network, 4, "float64", [name, name]))
    for weights, biases in blocks:
        m, k = weights.shape
        assert not biases.any()
        deviation = VARIANCE[name](m, k) ** 0.5
        flat = weights.ravel()
        if name.endswith("normal"):
            assert stats.kstest(flat, "norm", (0, deviation)).pvalue > TINY_P
        else:
            bound = 3**0.5 * deviation
            assert np.abs(flat).max() <= bound
            assert stats.kstest(flat, "uniform", (-bound, 2 * bound)).pvalue > TINY_P
        assert flat.var() == pytest.approx(deviation**2, rel=5 * (2 / len(flat)) ** 0.5)
    assert not np.isin(blocks[0].weights.ravel()[:100], blocks[1].weights).any()


def test_uniform_goes_to_the_root_of_the_inputs() -> None:
    network = make_network(HEADS[4], 100, ())
    weights = network.blocks(initial_theta(network, 0, "float64", ["uniform"]))[0].weights
    assert 0.099 < np.abs(weights).max() <= 0.1


def test_the_seed_and_the_shape_alone_decide() -> None:
    network = make_network(HEADS[4], 6, (5,))
    names = ["he_normal", "uniform"]
    theta = initial_theta(network, 1, "float64", names)
    np.testing.assert_array_equal(initial_theta(network, 1, "float64", names), theta)
    np.testing.assert_array_equal(initial_theta(network, 1, "float32", names), theta.astype(np.float32))
    assert not np.isin(initial_theta(network, 2, "float64", names), theta[theta != 0]).any()


def test_an_unknown_initialiser_is_named() -> None:
    network = make_network(HEADS[4], 6, ())
    with pytest.raises(ConfigError, match="unknown initialiser 'he_norm': did you mean 'he_normal'"):
        initial_theta(network, 1, "float64", ["he_norm"])


@pytest.mark.parametrize("dtype", DTYPES)
def test_zeros_in_a_hidden_layer_warn(dtype: str) -> None:
    network = make_network(HEADS[4], 6, (5, 4))
    rows = make_rows(HEADS[4], 6, 10, dtype, 1)
    theta = initial_theta(network, 1, dtype, ["uniform", "zeros", "uniform"])
    with pytest.warns(UserWarning, match="all weights of hidden layer 2 are zero"):
        Training(network, theta, rows, Plan(SGD()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Training(network, initial_theta(network, 1, dtype, ["uniform", "uniform", "zeros"]), rows, Plan(SGD()))


@pytest.mark.parametrize("activation", [*map(Activation, ACTIVATIONS), LeakyReLU(0.0)], ids=repr)
def test_activations_that_are_flat_at_zero_say_so(activation: Activation) -> None:
    _, back = plain_activation(activation)
    assert activation.is_flat_at_zero == (not back(np.zeros((1, 2)), np.array([[1.0, 0.0]])).any())
