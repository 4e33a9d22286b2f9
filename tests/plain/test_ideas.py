"""Plain entropy, approximation, graph, optimizers and first weights beside what linnet has of them."""

from typing import Any

import numpy as np
import pytest
import scipy
from numpy.typing import NDArray
from scipy import stats

from linnet import theory
from linnet._native import core
from linnet.heads import Categorical, Normal
from linnet.model.initialise import INITIALISERS, initial_theta
from linnet.model.network import Layer, Network
from linnet.plain import approximation, initialisation, lagrange, likelihood, maximum_entropy, newton, optimizers
from linnet.plain.activations import sigma
from linnet.plain.graph import Node, exp, log, relu, tanh
from linnet.plain.numeric_gradient import largest_difference, numeric_gradient
from linnet.theory import graph, softmax_by_entropy
from linnet.theory.maxent import maxent

Array = NDArray[Any]
RNG = np.random.default_rng(4)

# ---- maximum entropy ----


@pytest.mark.parametrize(("faces", "mean"), [(6, 3.5), (6, 4.5), (6, 1.05), (20, 17.0)])
def test_a_die_with_a_known_mean(faces: int, mean: float) -> None:
    f = np.arange(1.0, faces + 1)[:, None]
    p, lam = maximum_entropy.maximum_entropy(f, np.array([mean]))
    expected = maxent(f, mean)
    np.testing.assert_allclose(p, expected.probabilities, rtol=0, atol=1e-10)
    np.testing.assert_allclose(lam, expected.multipliers, rtol=1e-8, atol=1e-10)
    assert maximum_entropy.entropy(p) == pytest.approx(expected.entropy, abs=1e-10)
    assert p @ f[:, 0] == pytest.approx(mean, abs=1e-10)


def test_several_moments_and_none() -> None:
    f = RNG.normal(size=(12, 3))
    m = RNG.dirichlet(np.ones(12)) @ f
    p, _ = maximum_entropy.maximum_entropy(f, m)
    np.testing.assert_allclose(p, maxent(f, m).probabilities, rtol=0, atol=1e-10)
    uniform, _ = maximum_entropy.maximum_entropy(np.zeros((7, 1)), np.zeros(1))
    np.testing.assert_allclose(uniform, np.full(7, 1 / 7), rtol=1e-14)


def test_the_classifier_of_largest_entropy_is_softmax_regression() -> None:
    x, t = np.hstack([RNG.normal(size=(24, 2)), np.ones((24, 1))]), RNG.integers(0, 3, 24)
    p, lam = maximum_entropy.classifier(x, t, 3)
    W, b = newton.softmax_regression(x[:, :2], t, 3)
    centred = lam - lam.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(centred, np.vstack([W, b - b.mean()]), rtol=0, atol=1e-6)
    derived = softmax_by_entropy(x, t)
    np.testing.assert_allclose(p, derived.probabilities, rtol=0, atol=1e-6)
    np.testing.assert_allclose(centred, derived.weights, rtol=0, atol=1e-6)
    np.testing.assert_allclose(x.T @ p, x.T @ np.eye(3)[t], rtol=0, atol=1e-6)
    assert maximum_entropy.entropy(np.eye(3)[t]) == 0 < maximum_entropy.entropy(p)  # the useless table claims all


# ---- optima under constraints, likelihoods ----


def test_optima_under_constraints_are_linnets() -> None:
    def circle(x: Any) -> Any:
        return x[0] ** 2 + x[1] ** 2 - 1

    x, lam = lagrange.lagrange(lambda x: float(x[0] + x[1]), [circle], np.array([1.0, 0.0]))
    np.testing.assert_allclose([*x, *lam], np.full(3, np.sqrt(0.5)), atol=1e-8)

    def f(x: Any) -> Any:
        return x[0] * x[1] + np.exp(x[2]) - x[1] ** 2

    def g(x: Any) -> Any:
        return x[0] + x[1] + x[2] ** 2 - 3

    def h(x: Any) -> Any:
        return x[0] - 2 * x[2]

    start = np.array([1.0, 1.0, 0.5])
    x, lam = lagrange.lagrange(f, [g, h], start)
    expected = theory.lagrange(f, [g, h], start)
    np.testing.assert_allclose(x, expected.x, rtol=0, atol=1e-7)
    np.testing.assert_allclose(lam, expected.multipliers, rtol=0, atol=1e-7)
    x, lam = lagrange.lagrange(lambda x: float((x[0] - 2) ** 2 + x[1] ** 4 + x[1] ** 2), [], np.array([0.0, 1.0]))
    np.testing.assert_allclose(x, [2, 0], atol=1e-7)
    assert len(lam) == 0


def test_probabilities_are_scipys() -> None:
    assert likelihood.multinomial([0, 0, 2, 3, 0, 0], [1 / 6] * 6) == pytest.approx(0.001286, abs=1e-6)
    assert likelihood.multinomial([2, 3, 1], [0.2, 0.5, 0.3]) == pytest.approx(
        stats.multinomial(6, [0.2, 0.5, 0.3]).pmf([2, 3, 1]), rel=1e-12
    )
    assert [likelihood.bernoulli(t, 0.3) for t in (0, 1)] == [0.7, 0.3]
    for k in range(8):
        assert likelihood.binomial(k, 9, 0.3) == pytest.approx(stats.binom(9, 0.3).pmf(k), rel=1e-12)
        assert likelihood.poisson(k, 2.5) == pytest.approx(stats.poisson(2.5).pmf(k), rel=1e-12)
        assert likelihood.normal(k, 2.5, 1.5) == pytest.approx(stats.norm(2.5, 1.5).pdf(k), rel=1e-12)
    far = [sum(abs(likelihood.binomial(k, n, 2 / n) - likelihood.poisson(k, 2)) for k in range(20)) for n in (50, 500)]
    assert far[1] == pytest.approx(far[0] / 10, rel=0.1)


def test_losses_and_mistakes() -> None:
    """The loss lies between the margin and the margin plus log K, and in base 2 above the number of mistakes."""
    z, t = 3 * RNG.normal(size=(500, 4)), RNG.integers(0, 4, 500)
    loss, margin = likelihood.log_loss(z, t), likelihood.margin(z, t)
    assert (margin <= loss).all()
    assert (loss <= margin + np.log(4)).all()
    assert ((margin > 0) <= loss / np.log(2)).all()
    np.testing.assert_allclose(loss, Categorical().loss(z, t.astype(np.int32)), rtol=1e-12, atol=1e-14)
    sign = np.where(t < 2, 1, -1)
    two = likelihood.log_loss(z[:, :2], (sign < 0).astype(int))
    np.testing.assert_allclose(two, np.log1p(np.exp(-sign * (z[:, 0] - z[:, 1]))), rtol=1e-12, atol=1e-14)


# ---- universal approximation ----


def wave(x: Array) -> Array:
    return np.asarray(np.sin(3 * x) + x**2)


def test_straight_pieces_meet_the_function_at_the_breakpoints() -> None:
    u = np.linspace(-1, 2, 31)
    weights = approximation.relu_network(wave, u)
    assert weights[0].shape == (1, 30)
    ours = approximation.network(approximation.relu, weights, u[:, None])
    np.testing.assert_allclose(ours, wave(u), rtol=0, atol=1e-12)
    x = np.linspace(-1, 2, 1000)
    np.testing.assert_allclose(
        approximation.network(approximation.relu, weights, x[:, None]), np.interp(x, u, wave(u)), rtol=0, atol=1e-12
    )
    assert np.abs(np.interp(x, u, wave(u)) - wave(x)).max() < 11 * 0.1**2 / 8  # |f''| h^2 / 8


@pytest.mark.parametrize(("phi", "low", "high"), [(sigma, 0, 1), (np.tanh, -1, 1), (np.arctan, -np.pi / 2, np.pi / 2)])
def test_any_squashing_function_makes_a_staircase(phi: Any, low: float, high: float) -> None:
    """Twice the steps, half the error: it is half of how far the function goes within a piece."""
    x, errors = np.linspace(-1, 2, 4000), []
    for k in (100, 200, 400):
        weights = approximation.step_network(wave, np.linspace(-1, 2, k + 1), 1e6, low, high)
        errors.append(np.abs(approximation.network(phi, weights, x[:, None]) - wave(x)).max())
    assert errors[0] < 7 * 3 / 100
    assert errors[1] < 0.7 * errors[0]
    assert errors[2] < 0.7 * errors[1]


def test_two_inputs() -> None:
    def f(x: Array) -> Array:
        return np.exp(-((x[:, 0] - 0.3) ** 2 + (x[:, 1] - 0.6) ** 2) / 0.2)

    x, errors = RNG.random((300, 2)), []
    for n in (2, 4, 8):
        weights = approximation.ridge_network(f, 2, frequencies=n, pieces=16)
        errors.append(np.abs(approximation.network(approximation.relu, weights, x) - f(x)).max())
    assert errors[0] > 2 * errors[1] > 4 * errors[2]
    assert errors[2] < 0.06  # mirrored at its edges f has corners there, for which cosines fall off slowly


# ---- the graph ----


def test_the_graph_agrees_with_linnets_and_with_differences() -> None:
    x, t = RNG.normal(size=(5, 3)), RNG.random((5, 2))
    W, b = RNG.normal(size=(3, 2)), RNG.normal(size=2)

    def nodes(W: Node, b: Node) -> Node:
        z = x @ W + b
        h = tanh(z) * 2 + relu(-z) - 1 / (exp(z) + 1)
        return ((h / (1 + h**2) - t) ** 2).sum() + log(exp(h).sum(axis=1)).sum() * 0.5 - b.sum()

    def arrays(W: Any, b: Any) -> Any:
        z = x @ W + b
        h = np.tanh(z) * 2 + np.where(-z > 0, -z, 0) - 1 / (np.exp(z) + 1)
        return ((h / (1 + h**2) - t) ** 2).sum() + np.log(np.exp(h).sum(axis=1)).sum() * 0.5 - b.sum()

    leaves = Node(W), Node(b)
    E = nodes(*leaves)
    E.backward()
    assert float(E.value) == pytest.approx(arrays(W, b), rel=1e-14)
    for leaf, expected in zip(leaves, graph.grad(arrays, (0, 1))(W, b), strict=True):
        np.testing.assert_allclose(leaf.gradient, expected, rtol=1e-12, atol=1e-13)
    assert largest_difference(leaves[0].gradient, lambda W: float(arrays(W, b)), W) < 1e-8


def test_a_value_used_on_several_branches_adds_up() -> None:
    w = Node(2.0)
    (w * w * w + w).backward()
    assert w.gradient == 13


def test_the_check_finds_a_wrong_gradient() -> None:
    theta = RNG.normal(size=4)
    np.testing.assert_allclose(numeric_gradient(lambda v: float((v**3).sum()), theta), 3 * theta**2, atol=1e-9)
    assert largest_difference(3 * theta**2, lambda v: float((v**3).sum()), theta) < 1e-9
    assert largest_difference(3 * theta**2 * [1, 1, 1.1, 1], lambda v: float((v**3).sum()), theta) > 1e-3


# ---- optimizers: those of the engine are held against them in tests/contracts ----

RULES: dict[str, Any] = {
    "sgd": lambda: optimizers.SGD(0.1),
    "momentum": lambda: optimizers.Momentum(0.05),
    "nesterov": lambda: optimizers.Nesterov(0.05),
    "adagrad": lambda: optimizers.Adagrad(1.0),
    "rmsprop": lambda: optimizers.RMSprop(0.02),
    "adam": lambda: optimizers.Adam(0.1),
    "amsgrad": lambda: optimizers.Adam(0.1, amsgrad=True),
    "adamw": lambda: optimizers.AdamW(0.1, decay=0.0),
}


@pytest.mark.parametrize("name", RULES)
def test_every_optimizer_goes_downhill(name: str) -> None:
    rule, theta = RULES[name](), np.array([2.0, -1.5])
    for _ in range(400):
        theta = rule.step(theta, np.array([1.0, 4.0]) * theta)
    assert np.abs(theta).max() < 0.02


def test_what_the_rules_have_in_common() -> None:
    theta, gradients = np.array([2.0, -1.5]), RNG.normal(size=(10, 2))

    def run(rule: Any) -> Array:
        now = theta
        for g in gradients:
            now = rule.step(now, g)
        return now

    np.testing.assert_allclose(run(optimizers.Momentum(0.1, mu=0.0)), run(optimizers.SGD(0.1)), rtol=1e-15)
    np.testing.assert_allclose(run(optimizers.AdamW(0.1, decay=0.0)), run(optimizers.Adam(0.1)), rtol=1e-15)
    first = optimizers.Adam(0.1).step(theta, np.array([5.0, -0.01]))
    np.testing.assert_allclose(first, theta - [0.1, -0.1], rtol=1e-4)  # the rate, whatever the gradient
    g, e = gradients[0], 0.5  # and so large an epsilon that its place shows
    firsts: dict[Any, Array] = {
        optimizers.Adam(0.1, 0.7, 0.9, epsilon=e): g / (np.abs(g) + e / np.sqrt(0.1)),
        optimizers.RMSprop(0.1, rho=0.8, epsilon=e): g / np.sqrt(0.2 * g**2 + e),
        optimizers.Adagrad(0.1, s=0.3, epsilon=e): g / np.sqrt(0.3 + g**2 + e),
    }
    for rule, step in firsts.items():
        np.testing.assert_allclose(rule.step(theta, g), theta - 0.1 * step, rtol=1e-14)
    rule = optimizers.AdamW(0.1, decay=0.2, decayed=np.array([True, False]))
    np.testing.assert_allclose(rule.step(theta, np.zeros(2)), [2 * 0.98, -1.5], rtol=1e-15)


def test_nesterovs_gradient_is_taken_ahead() -> None:
    """Where theta is the place ahead, x + mu v, his own form comes out: v = mu v - eta g(x + mu v), x = x + v."""
    rule, theta, x, v = optimizers.Nesterov(0.05, mu=0.8), np.array([2.0, -1.5]), np.array([2.0, -1.5]), np.zeros(2)
    for _ in range(20):
        v = 0.8 * v - 0.05 * np.sin(x + 0.8 * v)
        x = x + v
        theta = rule.step(theta, np.sin(theta))
        np.testing.assert_allclose(theta, x + 0.8 * v, rtol=1e-12)


def test_clipping() -> None:
    g = np.array([3.0, 4.0])
    np.testing.assert_allclose(optimizers.clip(g, 1.0), [0.6, 0.8], rtol=1e-15)
    assert optimizers.clip(g, 5.0) is g


# ---- first weights ----


class Given:
    """Stands for a generator of random numbers: those that the engine draws."""

    def __init__(self, seed: int, size: int) -> None:
        self.u = np.empty(size)
        core.uniform(seed, 0, self.u)

    def random(self, shape: tuple[int, int]) -> Array:
        return self.u.reshape(shape)

    def standard_normal(self, shape: tuple[int, int]) -> Array:
        return np.asarray(scipy.special.ndtri(self.u + 2.0**-54)).reshape(shape)


@pytest.mark.parametrize("name", INITIALISERS)
def test_first_weights(name: str) -> None:
    network = Network(7, (Layer(5),), Normal())
    expected = network.blocks(initial_theta(network, 3, "float64", [name]))[0].weights
    ours = getattr(initialisation, name)(Given(3, 35), 7, 5)
    np.testing.assert_allclose(ours, expected, rtol=1e-15)
