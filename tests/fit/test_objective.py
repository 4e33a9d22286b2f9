"""The objective's own contract: shapes and types in and out, slices that change nothing, bad arrays refused."""

import numpy as np
import pytest

from linnet.data.rows import Rows
from linnet.fit import objective as module
from linnet.fit.objective import NetworkObjective, penalty
from linnet.heads import Categorical
from linnet.heads.activations import Activation
from linnet.model.network import Layer, Network

NETWORK = Network(4, (Layer(6, Activation("tanh"), l1=0.1, l2=0.2), Layer(3, l2=0.4)), Categorical())
RNG = np.random.default_rng(1)
THETA = RNG.normal(size=NETWORK.size)
X = RNG.normal(size=(1500, 4))
LABELS = RNG.integers(0, 3, 1500).astype(np.int32)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_types_and_shapes(dtype: str) -> None:
    objective = NetworkObjective(NETWORK, dtype)
    mean = objective.predict(THETA, X)
    assert mean.shape == (1500, 3)
    assert mean.dtype == np.dtype(dtype)
    assert mean.sum(axis=1) == pytest.approx(1, rel=1e-6)
    sums = objective.sums(THETA, Rows(X, labels=LABELS), gradient=True)
    assert sums.gradient is not None
    assert sums.gradient.dtype == np.float64
    assert type(sums.loss) is float
    assert sums.weight == 1500


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_slices_end_at_chunks_and_change_no_prediction(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    objective, rows = NetworkObjective(NETWORK, dtype), Rows(X, labels=LABELS)
    whole, mean = objective.sums(THETA, rows, gradient=True), objective.predict(THETA, X)
    monkeypatch.setattr(module, "_SLICE_PRODUCTS", 1)
    sliced = objective.sums(THETA, rows, gradient=True)
    assert sliced.loss == pytest.approx(whole.loss, rel=1e-14)
    assert sliced.weight == whole.weight
    assert sliced.gradient is not None
    assert sliced.gradient == pytest.approx(whole.gradient, rel=1e-12)
    np.testing.assert_array_equal(objective.predict(THETA, X), mean)


def test_an_objective_can_be_used_again_for_more_or_fewer_rows() -> None:
    objective = NetworkObjective(NETWORK, "float64")
    for count in (3, 700, 1, 1500, 3):
        rows = Rows(X[:count], labels=LABELS[:count])
        fresh = NetworkObjective(NETWORK, "float64").sums(THETA, rows, gradient=True)
        again = objective.sums(THETA, rows, gradient=True)
        assert again[:2] == fresh[:2]
        np.testing.assert_array_equal(again.gradient, fresh.gradient)


def test_the_penalty_is_on_weights_alone() -> None:
    (first, _), (second, _) = NETWORK.blocks(THETA)
    expected = 0.1 * np.abs(first).sum() + 0.1 * (first**2).sum() + 0.2 * (second**2).sum()
    assert penalty(NETWORK, THETA) == pytest.approx(expected, rel=1e-14)
    moved = THETA.copy()
    for _, biases in NETWORK.blocks(moved):
        biases += 5
    assert penalty(NETWORK, moved) == penalty(NETWORK, THETA)
    assert (moved != THETA).sum() == 9


def test_arrays_that_do_not_fit_are_refused() -> None:
    objective = NetworkObjective(NETWORK, "float64")
    rows = Rows(X, labels=LABELS)
    with pytest.raises(ValueError, match="theta: wrong length"):
        objective.sums(THETA[:-1], rows)
    with pytest.raises(ValueError, match="x: wrong number of columns"):
        objective.sums(THETA, Rows(X[:, :3], labels=LABELS))
    with pytest.raises(ValueError, match="x: wrong number of columns"):
        objective.predict(THETA, X[:, :3])
    with pytest.raises(ValueError, match="labels: one per row"):
        objective.sums(THETA, Rows(X, labels=LABELS[:-1]))
    with pytest.raises(ValueError, match="values: rows x outputs"):
        objective.sums(THETA, Rows(X, values=np.zeros((1500, 2))))
    with pytest.raises(ValueError, match="weights: one per row"):
        objective.sums(THETA, rows.weighted(np.ones(3)))
    with pytest.raises(ValueError, match="give labels or values"):
        objective.sums(THETA, Rows(X))
    with pytest.raises(ValueError, match="x must be float32, float64 or uint8"):
        objective.predict(THETA, X.astype(np.int32))
