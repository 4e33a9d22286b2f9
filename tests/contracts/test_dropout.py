"""Dropout: the right share of the inputs is dropped, the rest scaled up, separately per row, unit, layer and epoch."""

import numpy as np
import pytest

from linnet.data.rows import Rows
from linnet.fit.loop.optimizers import SGD
from linnet.fit.loop.training import Plan, Training
from linnet.fit.objective import NetworkObjective
from linnet.heads import Normal
from linnet.model.network import Layer, Network

from .cases import DTYPES, HEADS, Array, make_network, make_rows, make_theta
from .test_training import Capture
from .twin_training import dropout_mask

UNITS = 40


def seen(
    rates: list[float], *, n: int, seed: int = 0, epochs: int = 1, dtype: str = "float64", batch: int = 0
) -> Array:
    """What comes out in training of layers that are each the identity, for inputs of one: the product of their masks.

    Epochs x rows x units. No row has any weight, so nothing moves.
    """
    network = Network(UNITS, tuple(Layer(UNITS, dropout=rate) for rate in rates), Normal())
    layer = np.concatenate([np.eye(UNITS).ravel(), np.zeros(UNITS)])
    theta = np.tile(layer, len(rates)).astype(dtype)
    ones = np.ones((n, UNITS), dtype)
    rows = Rows(ones, values=ones, weights=np.zeros(n, dtype))
    capture = Capture()
    plan = Plan(SGD(), epochs, batch or n, shuffle=False, seed=seed, metrics=[capture], relative_weights=False)
    training = Training(network, theta, rows, plan)
    list(training)
    np.testing.assert_array_equal(training.theta, theta)
    return np.stack(capture.means)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rate", [0.01, 0.2, 0.5, 0.9])
def test_rate_and_scale(rate: float, dtype: str) -> None:
    masks = seen([rate], n=2000, dtype=dtype)
    kept = masks != 0
    assert np.unique(masks[kept]) == pytest.approx([1 / (1 - rate)], rel=1e-6)
    # five standard deviations of 80 000 coins
    deviation = np.sqrt(rate * (1 - rate) / masks.size)
    assert (~kept).mean() == pytest.approx(rate, abs=5 * deviation)
    assert masks.mean() == pytest.approx(1, abs=5 * deviation / (1 - rate))
    # no row and no unit is special
    assert (~kept).mean(axis=(0, 1)) == pytest.approx(rate, abs=5 * deviation * UNITS**0.5)
    assert (~kept).mean(axis=(0, 2)) == pytest.approx(rate, abs=5 * deviation * 2000**0.5)


def correlation(a: Array, b: Array) -> float:
    return float(np.corrcoef(a.ravel(), b.ravel())[0, 1])


def test_every_row_unit_and_epoch_draws_anew() -> None:
    masks = seen([0.5], n=1500, epochs=3)
    near = 5 / np.sqrt(masks[0].size)
    for shifted in (np.roll(masks, 1, axis=0), np.roll(masks, 1, axis=1), np.roll(masks, 1, axis=2)):
        assert abs(correlation(masks, shifted)) < near
    assert abs(correlation(masks[0], seen([0.5], n=1500, seed=1)[0])) < near


def test_every_layer_draws_anew() -> None:
    both = seen([0.5, 0.5], n=1500)[0]
    assert (both != 0).mean() == pytest.approx(0.25, abs=5 * np.sqrt(0.1875 / both.size))
    first = seen([0.5, 0.0], n=1500)[0]
    second = seen([0.0, 0.5], n=1500)[0]
    assert abs(correlation(first, second)) < 5 / np.sqrt(first.size)
    np.testing.assert_array_equal(both, first * second)


def test_masks_are_the_documented_hash() -> None:
    masks = seen([0.3, 0.6], n=700, seed=2**64 - 1, epochs=2)
    for epoch in range(2):
        layers = [dropout_mask(rate, 2**64 - 1, epoch, i, np.arange(700), UNITS) for i, rate in enumerate((0.3, 0.6))]
        np.testing.assert_allclose(masks[epoch], layers[0] * layers[1], rtol=1e-15)


def test_masks_depend_on_the_place_in_the_epoch_alone() -> None:
    whole = seen([0.4], n=700, seed=3)
    for batch in (1, 7, 600):
        np.testing.assert_array_equal(seen([0.4], n=700, seed=3, batch=batch), whole)
    np.testing.assert_array_equal(seen([0.4], n=700, seed=3, dtype="float32") != 0, whole != 0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_nothing_is_dropped_outside_training(dtype: str) -> None:
    case = HEADS[0]
    with_dropout = make_network(case, 20, (17,), dropout=0.5)
    without = make_network(case, 20, (17,))
    theta, rows = make_theta(without, 1), make_rows(case, 20, 50, dtype, 2)
    results = [NetworkObjective(network, dtype).sums(theta, rows, gradient=True) for network in (with_dropout, without)]
    assert results[0][:2] == results[1][:2]
    np.testing.assert_array_equal(results[0].gradient, results[1].gradient)
    means = [NetworkObjective(network, dtype).predict(theta, rows.x) for network in (with_dropout, without)]
    np.testing.assert_array_equal(means[0], means[1])
