"""A network without hidden layers is a generalized linear model: trained to the end, it finds the same optimum."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, PoissonRegressor

from linnet.data.rows import Rows
from linnet.fit.loop.optimizers import SGD
from linnet.fit.loop.training import Plan, Training
from linnet.heads import Bernoulli, Categorical, Head, Normal, Perceptron, Poisson
from linnet.model.network import Layer, Network

from .cases import Array, numbers

N, M = 120, 4
X = numbers(1, N, M)
SLOPES = np.array([1.0, -0.5, 0.3, 0.0])
WEIGHTS = np.random.default_rng(2).integers(1, 5, N).astype(float)


def descend(head: Head, rows: Rows, l2: float, outputs: int = 1, rate: float = 0.3) -> tuple[Array, Array]:
    """W and b after full-batch gradient descent with Nesterov's momentum, from zero."""
    network = Network(M, (Layer(outputs, l2=l2),), head)
    plan = Plan(SGD(rate, momentum=0.9, nesterov=True), epochs=3000, batch_size=N, shuffle=False)
    training = Training(network, np.zeros(network.size), rows, plan)
    losses = [record.numbers["loss"] for record in training]
    assert losses[-1] < losses[0]
    weights, biases = network.blocks(training.theta)[0]
    return weights, biases


def test_linear_regression_is_least_squares() -> None:
    y = X @ np.stack([SLOPES, -2 * SLOPES], axis=1) + [1.0, -3.0] + numbers(3, N, 2, scale=0.5)
    weights, biases = descend(Normal(), Rows(X, values=y), 0.0, outputs=2)
    solution, *_ = np.linalg.lstsq(np.hstack([X, np.ones((N, 1))]), y)
    np.testing.assert_allclose(np.vstack([weights, biases]), solution, rtol=0, atol=1e-10)


def test_ridge_regression_by_the_normal_equations() -> None:
    y = X @ SLOPES[:, None] + 2 + numbers(4, N, 1)
    l2 = 0.3
    weights, biases = descend(Normal(), Rows(X, values=y, weights=WEIGHTS), l2)
    design = np.hstack([X, np.ones((N, 1))])
    w = WEIGHTS / WEIGHTS.mean()
    penalty = N * l2 * np.diag([1.0] * M + [0.0])
    solution = np.linalg.solve(design.T @ (w[:, None] * design) + penalty, design.T @ (w[:, None] * y))
    np.testing.assert_allclose(np.vstack([weights, biases]), solution, rtol=0, atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("c", [0.1, 10.0])
def test_logistic_regression(c: float, weighted: bool) -> None:
    """scikit-learn's C counts against the sum of losses: l2 = 1 / (C x sum of weights)."""
    y = (X @ SLOPES + numbers(5, N) > 0.2).astype(float)
    w = WEIGHTS if weighted else None
    l2 = 1 / (c * (WEIGHTS.sum() if weighted else N))
    peer = LogisticRegression(C=c, tol=1e-12, max_iter=1000, solver="newton-cholesky").fit(X, y, sample_weight=w)
    weights, biases = descend(Bernoulli(), Rows(X, values=y[:, None], weights=w), l2)
    np.testing.assert_allclose(weights[:, 0], peer.coef_[0], rtol=0, atol=1e-8)
    np.testing.assert_allclose(biases, peer.intercept_, rtol=0, atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_softmax_regression(weighted: bool) -> None:
    y = np.argmax(X @ numbers(6, M, 3) + numbers(7, N, 3), axis=1).astype(np.int32)
    w = WEIGHTS if weighted else None
    l2 = 1 / (WEIGHTS.sum() if weighted else N)
    peer = LogisticRegression(C=1.0, tol=1e-12, max_iter=1000, solver="newton-cholesky").fit(X, y, sample_weight=w)
    weights, biases = descend(Categorical(), Rows(X, labels=y, weights=w), l2, outputs=3)
    np.testing.assert_allclose(weights, peer.coef_.T, rtol=0, atol=1e-8)
    np.testing.assert_allclose(biases - biases.mean(), peer.intercept_ - peer.intercept_.mean(), rtol=0, atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_poisson_regression(weighted: bool) -> None:
    y = np.random.default_rng(8).poisson(np.exp(X @ SLOPES * 0.5 + 0.5)).astype(float)
    w = WEIGHTS if weighted else None
    peer = PoissonRegressor(alpha=0.1, tol=1e-12, max_iter=1000, solver="newton-cholesky").fit(X, y, sample_weight=w)
    weights, biases = descend(Poisson(), Rows(X, values=y[:, None], weights=w), 0.1, rate=0.02)
    np.testing.assert_allclose(weights[:, 0], peer.coef_, rtol=0, atol=1e-8)
    np.testing.assert_allclose(biases[0], peer.intercept_, rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    ("head", "target", "bias_of"),
    [
        (Normal(), [1.0, 2.0, 6.0], lambda mean: mean),
        (Bernoulli(), [0.0, 1.0, 1.0], lambda mean: np.log(mean / (1 - mean))),
        (Poisson(), [0.0, 4.0, 5.0], np.log),
    ],
    ids=["normal", "bernoulli", "poisson"],
)
def test_without_inputs_the_bias_is_the_link_of_the_mean(
    head: Head, target: list[float], bias_of: Callable[[Any], Any]
) -> None:
    network = Network(1, (Layer(1),), head)
    weights = np.array([1.0, 2.0, 3.0])
    rows = Rows(np.zeros((3, 1)), values=np.array(target)[:, None], weights=weights)
    plan = Plan(SGD(0.2, momentum=0.5), epochs=500)
    training = Training(network, np.zeros(2), rows, plan)
    list(training)
    assert training.theta == pytest.approx([0, bias_of(np.average(target, weights=weights))], abs=1e-10)


def test_the_perceptron_separates_what_can_be_separated() -> None:
    """The convergence theorem: with a margin, row by row, mistakes end and the loss is exactly zero."""
    score = X @ SLOPES + 0.3
    far = np.abs(score) > 0.2
    rows = Rows(X[far], values=np.sign(score[far])[:, None])
    network = Network(M, (Layer(1),), Perceptron())
    training = Training(network, np.zeros(network.size), rows, Plan(SGD(1.0), epochs=200, batch_size=1))
    losses = [record.numbers["loss"] for record in training]
    assert losses[0] > 0
    assert losses[-1] == 0
    weights, biases = network.blocks(training.theta)[0]
    assert (np.sign(rows.x @ weights + biases) == rows.values).all()


def test_the_perceptron_learns_from_mistakes_alone() -> None:
    """w += r t x for a row on the wrong side (or on the line), and nothing for one on the right side."""
    network = Network(2, (Layer(1),), Perceptron())
    rows = Rows(np.array([[1.0, 2.0], [2.0, 4.0], [3.0, -1.0]]), values=np.array([[1.0], [1.0], [-1.0]]))
    plan = Plan(SGD(0.5), batch_size=1, shuffle=False)
    training = Training(network, np.zeros(3), rows, plan)
    list(training)
    # first row: on the line, a step of 0.5 (1, 2, 1); second: right; third: z = 1.5 - 1 + 0.5 = 1, wrong, a step back
    assert training.theta.tolist() == [0.5 - 1.5, 1.0 + 0.5, 0.5 - 0.5]
