"""Plain regressions and linnet's estimators arrive at the same coefficients; walks arrive where the exact fits are."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import linnet
from linnet.plain import (
    glm,
    linear_regression,
    logistic_regression,
    newton,
    perceptron,
    poisson_regression,
    softmax_regression,
)
from linnet.plain.heads import Bernoulli, Categorical, Head, Normal, Poisson
from linnet.plain.numeric_gradient import largest_difference
from linnet.plain.power_variance import Gamma, NegativeBinomial, Tweedie

Array = NDArray[Any]
RNG = np.random.default_rng(5)
X = RNG.normal(size=(300, 4))
Z = X @ [0.8, -0.5, 0.3, 0.0] + 0.4
NUMBERS = Z + RNG.normal(size=300)
YES = (RNG.random(300) < 1 / (1 + np.exp(-Z))).astype(float)
CLASSES = (np.stack([Z, -Z, X[:, 3]], axis=1) + RNG.gumbel(size=(300, 3))).argmax(axis=1)
COUNTS = RNG.poisson(np.exp(Z / 2)).astype(float)
AMOUNTS = RNG.gamma(2, np.exp(Z / 2) / 2)


def assert_same(fitted: Any, w: Array, b: Any) -> None:
    np.testing.assert_allclose(np.ravel(fitted.coef_), np.ravel(w), rtol=0, atol=1e-8)
    np.testing.assert_allclose(np.ravel(fitted.intercept_), np.ravel(b), rtol=0, atol=1e-8)


def test_linear_regression_in_closed_form() -> None:
    assert_same(linnet.LinearRegression().fit(X, NUMBERS), *linear_regression.closed_form(X, NUMBERS))
    assert_same(linnet.LinearRegression().fit(X, NUMBERS), *newton.irls(Normal(), X, NUMBERS))


def test_ridge_regression() -> None:
    assert_same(linnet.Ridge(alpha=7.0).fit(X, NUMBERS), *newton.irls(Normal(), X, NUMBERS, l2=7.0))


@pytest.mark.parametrize("C", [np.inf, 0.5])
def test_logistic_regression(C: float) -> None:
    assert_same(linnet.LogisticRegression(C=C, tol=1e-12).fit(X, YES), *newton.irls(Bernoulli(), X, YES, l2=1 / C))


@pytest.mark.parametrize("C", [np.inf, 0.5])
def test_softmax_regression(C: float) -> None:
    """Logits are known up to a constant: compared from their mean over the classes."""
    fitted = linnet.LogisticRegression(C=C, tol=1e-12).fit(X, CLASSES)
    W, b = newton.softmax_regression(X, CLASSES, 3, l2=1 / C)
    W, b = W - W.mean(axis=1, keepdims=True), b - b.mean()
    np.testing.assert_allclose(fitted.coef_ - fitted.coef_.mean(axis=0), W.T, rtol=0, atol=1e-8)
    np.testing.assert_allclose(fitted.intercept_ - fitted.intercept_.mean(), b, rtol=0, atol=1e-8)


@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_poisson_regression(alpha: float) -> None:
    fitted = linnet.PoissonRegressor(alpha=alpha, tol=1e-12).fit(X, COUNTS)
    assert_same(fitted, *newton.irls(Poisson(), X, COUNTS, l2=300 * alpha))


def test_gamma_and_tweedie_regression() -> None:
    assert_same(linnet.GammaRegressor(alpha=0.0, tol=1e-12).fit(X, AMOUNTS), *newton.irls(Gamma(), X, AMOUNTS))
    tweedie = linnet.TweedieRegressor(power=1.5, alpha=0.0, tol=1e-12).fit(X, COUNTS)
    assert_same(tweedie, *newton.irls(Tweedie(1.5), X, COUNTS))


def test_negative_binomial_regression_with_the_dispersion_found() -> None:
    t = RNG.poisson(np.exp(Z / 2) * AMOUNTS).astype(float)
    fitted = linnet.NegativeBinomialRegressor(alpha=0.0, tol=1e-12).fit(X, t)
    assert_same(fitted, *newton.irls(NegativeBinomial(fitted.dispersion_), X, t))


# ---- walks ----


@pytest.mark.parametrize(("batch", "eta", "off"), [(None, 0.5, 1e-10), (30, 0.02, 0.03), (1, 0.002, 0.1)])
def test_batch_minibatch_and_stochastic_descent_go_to_the_closed_form(
    batch: int | None, eta: float, off: float
) -> None:
    """All rows: to the minimum. Some: about it, the nearer the smaller the rate."""
    w, b, way = linear_regression.gradient_descent(X, NUMBERS, eta=eta, batch_size=batch, epochs=200)
    exact, intercept = linear_regression.closed_form(X, NUMBERS)
    assert np.abs(w - exact).max() < off
    assert abs(b - intercept) < off
    assert len(way) == 1 + 200 * (300 // (batch or 300))
    losses = [linear_regression.loss(w, b, X, NUMBERS) for w, b in way]
    assert losses[-1] < losses[0] / 1.5
    assert (np.diff(losses) <= 1e-15).all() == (batch is None)  # only all rows know the way down


WALKS: dict[str, tuple[Any, Head, Array, float]] = {
    "logistic": (logistic_regression, Bernoulli(), YES, 1.0),
    "poisson": (poisson_regression, Poisson(), COUNTS, 0.1),
}


@pytest.mark.parametrize("name", WALKS)
def test_descent_with_all_rows_converges_to_the_exact_fit(name: str) -> None:
    module, head, t, eta = WALKS[name]
    w, b = module.fit(X, t, eta=eta, batch_size=300, epochs=20_000, tolerance=0.0, patience=50)
    exact, intercept = newton.irls(head, X, t)
    np.testing.assert_allclose([*w, b], [*exact, intercept], rtol=0, atol=1e-6)
    assert module.loss(w, b, X, t) == pytest.approx(module.loss(exact, intercept, X, t), abs=1e-14)


def test_softmax_descent_with_all_rows_converges_to_the_exact_fit() -> None:
    W, b = softmax_regression.fit(X, CLASSES, 3, eta=1.0, batch_size=300, epochs=20_000, tolerance=0.0, patience=50)
    exact = newton.softmax_regression(X, CLASSES, 3)
    np.testing.assert_allclose(W - W.mean(axis=1, keepdims=True), exact[0], rtol=0, atol=1e-6)
    np.testing.assert_allclose(b - b.mean(), exact[1] - exact[1].mean(), rtol=0, atol=1e-6)


@pytest.mark.parametrize("with_replacement", [False, True])
def test_minibatches_come_near_the_least_loss(with_replacement: bool) -> None:
    how: dict[str, Any] = {"with_replacement": with_replacement, "eta": 0.02}
    for module, head, t, _ in WALKS.values():
        w, b = module.fit(X, t, **how)
        exact = newton.irls(head, X, t)
        assert module.loss(*exact, X, t) <= module.loss(w, b, X, t) < module.loss(*exact, X, t) + 2e-3
    found = softmax_regression.loss(*softmax_regression.fit(X, CLASSES, 3, **how), X, CLASSES)
    least = softmax_regression.loss(*newton.softmax_regression(X, CLASSES, 3), X, CLASSES)
    assert least <= found < least + 2e-3


def test_patience_keeps_the_best_weights_on_development_rows() -> None:
    """With few rows and many columns the training loss falls for ever, that of other rows does not."""
    rng = np.random.default_rng(1)
    x, t = rng.normal(size=(30, 20)), rng.integers(0, 2, 30)
    dev = rng.normal(size=(200, 20)), rng.integers(0, 2, 200)
    early, late = (logistic_regression.fit(x, t, dev, epochs=300, patience=patience) for patience in (3, 300))
    for best in (early, late):
        assert logistic_regression.loss(*best, *dev) < np.log(2) + 0.05
    forever = logistic_regression.fit(x, t, epochs=300, patience=300)
    assert logistic_regression.loss(*forever, *dev) > 1.5 * np.log(2)
    assert logistic_regression.loss(*forever, x, t) < 0.5 * logistic_regression.loss(*early, x, t)
    assert softmax_regression.loss(*softmax_regression.fit(x, t, 2, dev, patience=3), *dev) < np.log(2) + 0.05


def test_one_random_row_at_a_time_as_written_down() -> None:
    """Its steps by hand, and after many of them nearly the least loss."""
    ones = np.hstack([X, np.ones((300, 1))])
    rows = np.random.default_rng(0).integers(300, size=3)
    W = np.zeros((5, 3))
    for i in rows:
        p = softmax_regression.softmax(ones[i] @ W)
        for k in range(3):
            W[:, k] -= 0.1 * (p[k] - (CLASSES[i] == k)) * ones[i]
    np.testing.assert_allclose(softmax_regression.stochastic(ones, CLASSES, 3, steps=3), W, rtol=0, atol=1e-15)
    W = softmax_regression.stochastic(ones, CLASSES, 3, eta=0.005, steps=60_000)
    least = softmax_regression.loss(*newton.softmax_regression(X, CLASSES, 3), X, CLASSES)
    assert least <= softmax_regression.loss(W[:-1], W[-1], X, CLASSES) < least + 2e-3


def test_predictions_are_the_likeliest_class_or_drawn() -> None:
    W, b = newton.softmax_regression(X, CLASSES, 3)
    p = softmax_regression.softmax(X @ W + b)
    np.testing.assert_array_equal(
        softmax_regression.predict(W, b, X), linnet.LogisticRegression(C=np.inf).fit(X, CLASSES).predict(X)
    )
    drawn = np.stack([softmax_regression.sample(W, b, X, np.random.default_rng(seed)) for seed in range(400)])
    shares = np.stack([(drawn == k).mean(axis=0) for k in range(3)], axis=1)
    assert np.abs(shares - p).max() < 5 * 0.5 / np.sqrt(400)
    assert np.abs((shares - p).mean(axis=0)).max() < 5 * 0.5 / np.sqrt(400 * 300)


HEADS: dict[str, tuple[Head, Array]] = {
    "Normal": (Normal(), NUMBERS[:, None]),
    "Bernoulli": (Bernoulli(), YES[:, None]),
    "Categorical": (Categorical(), np.eye(3)[CLASSES]),
    "Poisson": (Poisson(), COUNTS[:, None]),
    "Gamma": (Gamma(), AMOUNTS[:, None]),
}


@pytest.mark.parametrize("name", HEADS)
def test_one_gradient_for_all(name: str) -> None:
    head, t = HEADS[name]
    K = t.shape[1]
    W, b = 0.1 * RNG.normal(size=(4, K)), 0.1 * RNG.normal(size=(K,))
    dW, db = glm.gradient(head, W, b, X, t)
    assert largest_difference(dW, lambda W: float(head.loss(X @ W + b, t).sum(axis=1).mean()), W) < 1e-8
    assert largest_difference(db, lambda b: float(head.loss(X @ W + b, t).sum(axis=1).mean()), b) < 1e-8
    W, b = glm.fit(head, X, t, eta=0.05)
    start = head.loss(0 * (X @ W), t).sum(axis=1).mean()
    assert head.loss(X @ W + b, t).sum(axis=1).mean() < start - 0.05


def test_the_special_programs_are_the_general_one() -> None:
    """One epoch of each, with the same order of rows."""
    how: dict[str, Any] = {"eta": 0.1, "batch_size": 300, "epochs": 1}
    W, b = glm.fit(Bernoulli(), X, YES[:, None], **how)
    w, c = logistic_regression.fit(X, YES, **how)
    np.testing.assert_allclose([*W[:, 0], b[0]], [*w, c], rtol=1e-13)
    W, b = glm.fit(Categorical(), X, np.eye(3)[CLASSES], **how)
    for ours, others in zip((W, b), softmax_regression.fit(X, CLASSES, 3, **how), strict=True):
        np.testing.assert_allclose(ours, others, rtol=0, atol=1e-15)
    W, b = glm.fit(Normal(), X, NUMBERS[:, None], **how)
    w, c, _ = linear_regression.gradient_descent(X, NUMBERS, eta=0.1, epochs=1)
    np.testing.assert_allclose([*W[:, 0], b[0]], [*w, c], rtol=1e-13)


@pytest.mark.parametrize("separable", [True, False])
def test_the_perceptron_is_linnets(separable: bool) -> None:
    t = np.where((Z > 0) if separable else YES > 0, 1, -1)
    w, b, mistakes = perceptron.perceptron(X, t, epochs=20, seed=None)
    fitted = linnet.Perceptron(shuffle=False, max_iter=20).fit(X, t)
    np.testing.assert_allclose(np.ravel(fitted.coef_), w, rtol=0, atol=1e-12)
    assert fitted.intercept_ == pytest.approx(b, abs=1e-12)
    assert fitted.mistakes_ == mistakes
    np.testing.assert_array_equal(perceptron.predict(w, b, X), fitted.predict(X))


@pytest.mark.parametrize("with_replacement", [False, True])
def test_the_perceptron_comes_to_rest_where_a_plane_separates(with_replacement: bool) -> None:
    t = np.where(Z > 0.4, 1, -1)
    w, b, mistakes = perceptron.perceptron(X, t, with_replacement=with_replacement)
    assert mistakes[-1] == 0 < mistakes[0]
    right = perceptron.predict(w, b, X) == t
    assert right.mean() > 0.95 if with_replacement else right.all()  # drawn rows need not be all rows
