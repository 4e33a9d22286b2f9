"""The plain multilayer perceptron: its gradient by differences and by graphs, its steps beside the engine's."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from linnet.fit.loop.optimizers import SGD
from linnet.fit.loop.steps import ONE_STEP
from linnet.fit.loop.training import Plan, Training
from linnet.plain import graph as plain_graph
from linnet.plain import mlp, one_hidden_layer, optimizers
from linnet.plain.activations import ACTIVATIONS
from linnet.plain.heads import Categorical, Normal
from linnet.plain.mlp import MLP
from linnet.plain.numeric_gradient import largest_difference
from linnet.theory import graph

from ..contracts.cases import ALL_HEADS, HEADS, HeadCase, make_network, make_rows, make_theta, table  # noqa: TID252
from ..contracts.twin import Twin, dense_targets  # noqa: TID252 - linnet's networks as plain ones
from ..contracts.twin_training import masks_of, permutation  # noqa: TID252

Array = NDArray[Any]
RNG = np.random.default_rng(11)
X, HOT = RNG.normal(size=(7, 3)), np.eye(4)[RNG.integers(0, 4, 7)]


def network(*hidden: str, **how: Any) -> tuple[MLP, Array]:
    """A network 3-5-5-...-4 with these hidden activations, and its first theta, biases drawn, too."""
    activations = [ACTIVATIONS[name] for name in (*hidden, "identity")]
    net = MLP([3, *[5] * len(hidden), 4], activations, Categorical(), **how)
    theta = net.start(np.random.default_rng(1))
    return net, theta + np.where(theta == 0, 0.3 * RNG.normal(size=len(theta)), 0)


@pytest.mark.parametrize("names", [(), *((name,) for name in ACTIVATIONS), ("tanh", "relu", "softmax")], ids=str)
def test_the_gradient_by_differences(names: tuple[str, ...]) -> None:
    """With weights of rows and dropout masks."""
    net, theta = network(*names)
    w, masks = np.arange(1.0, 8.0), MLP(net.widths, net.activations, net.head, dropout=0.3).masks(7, RNG)
    for given in (None, masks):
        g = net.gradient(theta, X, HOT, w, given)
        assert largest_difference(g, lambda theta, m=given: float(w @ net.losses(theta, X, HOT, m)), theta) < 1e-8  # type: ignore[misc]


@pytest.mark.parametrize("case", ALL_HEADS, ids=str)
def test_the_gradient_of_every_head_by_differences(case: HeadCase) -> None:
    described = make_network(case, 3, (4,))
    rows, theta, net = make_rows(case, 3, 5, "float64", 3), make_theta(described, 5), Twin(described)
    t, w = dense_targets(described, rows), np.arange(1.0, 6.0)
    x = np.random.default_rng(2).normal(size=(5, 3))
    g = net.gradient(theta, x, t, w)
    assert largest_difference(g, lambda theta: float(w @ net.losses(theta, x, t)), theta) < 1e-7


def test_the_gradient_by_both_graph_engines() -> None:
    net, theta = network("tanh", "tanh")
    w = np.arange(1.0, 8.0) / 7
    g = net.gradient(theta, X, HOT, w)

    def loss(theta: Any) -> Any:
        (W1, b1), (W2, b2), (W3, b3) = net.layers(np.arange(len(theta)))
        h = np.tanh(np.tanh(X @ theta[W1] + theta[b1]) @ theta[W2] + theta[b2])
        z = h @ theta[W3] + theta[b3]
        return (w * (graph.logsumexp(z) - (HOT * z).sum(axis=1))).sum()

    np.testing.assert_allclose(g, graph.grad(loss)(theta), rtol=1e-12, atol=1e-14)
    nodes = [plain_graph.Node(part) for layer in net.layers(theta) for part in layer]
    h: Any = X
    for W, b in ((nodes[0], nodes[1]), (nodes[2], nodes[3])):
        h = plain_graph.tanh(h @ W + b)
    z = h @ nodes[4] + nodes[5]
    E = (w[:, None] * (plain_graph.log(plain_graph.exp(z).sum(axis=1)) - (HOT * z).sum(axis=1))).sum()
    E.backward()
    found = np.concatenate([node.gradient.ravel() for node in nodes])
    np.testing.assert_allclose(g, found, rtol=1e-12, atol=1e-14)


def test_one_hidden_layer_written_out_is_the_general_program() -> None:
    x, t = RNG.normal(size=(60, 3)), RNG.integers(0, 4, 60)
    net = MLP([3, 5, 4], [ACTIVATIONS["tanh"], ACTIVATIONS["identity"]], Categorical())
    weights = [part for layer in net.layers(network("tanh")[1]) for part in layer]
    theta = np.concatenate([part.ravel() for part in weights])
    g = np.concatenate([part.ravel() for part in one_hidden_layer.backward(weights, x, t)])

    def E(theta: Array) -> float:
        return one_hidden_layer.loss([part for layer in net.layers(theta) for part in layer], x, t)

    assert largest_difference(g, E, theta) < 1e-8
    np.testing.assert_allclose(g, net.gradient(theta, x, np.eye(4)[t], np.full(60, 1 / 60)), rtol=0, atol=1e-15)
    np.testing.assert_allclose(one_hidden_layer.forward(weights, x)[1], net.predict(theta, x), rtol=1e-13)
    trained, _ = one_hidden_layer.train(x, t, 5, 4, batch_size=16, epochs=1)  # one seed, one start, one order of rows
    general, _ = mlp.train(net, x, np.eye(4)[t], optimizers.SGD(0.1), batch_size=16, epochs=1)
    np.testing.assert_allclose(np.concatenate([part.ravel() for part in trained]), general, rtol=0, atol=1e-14)
    _, history = one_hidden_layer.train(x, t, 20, 4, eta=0.5, epochs=300)
    assert history[-1] < history[0] / 2


def test_the_penalty_and_its_slope() -> None:
    net, theta = network("tanh", l1=[0.1, 0.2], l2=[0.3, 0.4])
    assert largest_difference(net.penalty_gradient(theta), net.penalty, theta) < 1e-9
    (W1, b1), (W2, _) = net.layers(theta)
    expected = 0.1 * np.abs(W1).sum() + 0.15 * (W1**2).sum() + 0.2 * np.abs(W2).sum() + 0.2 * (W2**2).sum()
    assert net.penalty(theta) == pytest.approx(expected, rel=1e-14)
    before = net.penalty(theta)
    b1 += 1  # a view: theta changes, what is penalised does not
    assert net.penalty(theta) == before


def test_dropout_keeps_sums_on_average() -> None:
    masks = MLP([400, 4], [ACTIVATIONS["identity"]], Normal(), dropout=0.25).masks(500, RNG)[0]
    assert set(np.unique(masks)) == {0.0, 1 / 0.75}
    assert masks.mean() == pytest.approx(1, abs=0.01)


class Kept:
    """An optimizer that keeps each theta it makes."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.thetas = inner, []  # type: ignore[var-annotated]

    def step(self, theta: Array, g: Array) -> Array:
        self.thetas.append(self.inner.step(theta, g))
        return self.thetas[-1]  # type: ignore[no-any-return]


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("case", [HEADS[0], HEADS[2], HEADS[4], HEADS[6]], ids=str)
def test_step_by_step_with_the_engine(case: HeadCase, dropout: float) -> None:
    """The same start, order of batches and dropout masks: after each of 3 x 4 steps theta is the same to 1e-13."""
    described = make_network(case, 6, (8, 5), ("relu", "tanh"), l1=0.001, l2=0.01)
    described = replace(described, layers=tuple(replace(layer, dropout=dropout) for layer in described.layers))
    rows, theta = make_rows(case, 6, 50, "float64", 8), make_theta(described, 9, scale=0.5)
    training = Training(described, theta, rows, Plan(SGD(0.1), epochs=3, batch_size=16, seed=4))
    training.slice_seconds = ONE_STEP
    engine = [training.now() for _ in training.records()]
    net, kept, start = Twin(described), Kept(optimizers.SGD(0.1)), theta
    x, t = table(rows), dense_targets(described, rows)
    for e in range(3):
        order, places = np.array(permutation(4, e, 50)), np.split(np.arange(50), range(16, 50, 16))
        batches = [(order[some], masks_of(described, 4, e, some)) for some in places]
        theta, _ = mlp.epoch(net, theta, x, t, np.ones(50), kept, batches)
    assert len(engine) == len(kept.thetas) == 12
    for ours, plain in zip(engine, kept.thetas, strict=True):
        np.testing.assert_allclose(ours, plain, rtol=0, atol=1e-13 * np.abs(plain).max())
    assert np.abs(engine[-1] - start).max() > 0.01


def test_training_learns_what_no_plane_can() -> None:
    """Exclusive or, from 200 points: the loss falls to nothing, with the same seed to the same bytes."""
    x = np.random.default_rng(3).uniform(-1, 1, (200, 2))
    t = (x[:, :1] * x[:, 1:] > 0).astype(int)
    hot = np.eye(2)[t[:, 0]]
    net = MLP([2, 16, 2], [ACTIVATIONS["tanh"], ACTIVATIONS["identity"]], Categorical())
    theta, history = mlp.train(net, x, hot, optimizers.Adam(0.03), epochs=100)
    assert history[0] > 0.6
    assert history[-1] < 0.1
    assert (net.predict(theta, x).argmax(axis=1) == t[:, 0]).mean() > 0.97
    again, _ = mlp.train(net, x, hot, optimizers.Adam(0.03), epochs=100)
    assert again.tobytes() == theta.tobytes()


def test_dropout_and_penalties_reach_the_training() -> None:
    x, hot = np.random.default_rng(3).normal(size=(60, 3)), np.eye(4)[np.arange(60) % 4]
    thetas = {}
    for name, how in {"plain": {}, "dropout": {"dropout": 0.4}, "l2": {"l2": 1.0}, "l1": {"l1": 0.5}}.items():
        net, _ = network("tanh", **how)
        thetas[name], _ = mlp.train(net, x, hot, optimizers.SGD(0.1), epochs=30)
    size = {name: np.abs(theta).sum() for name, theta in thetas.items()}
    assert size["l2"] < 0.5 * size["plain"]
    assert size["l1"] < 0.5 * size["plain"]
    assert not np.allclose(thetas["dropout"], thetas["plain"])
