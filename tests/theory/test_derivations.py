"""The derivations of the guide: each line equals the next, and the last one is what the engine computes."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet import Adam, Dense, EarlyStopping, LogisticRegression, MLPClassifier, OneVsOneClassifier, Sequential
from linnet.errors import ConfigError, DataError
from linnet.evaluate import Rates
from linnet.heads import Bernoulli, Categorical, Head, Normal, Poisson
from linnet.plain import likelihood as plain_likelihood
from linnet.plain import linear_regression, logistic_regression, mlp, one_vs_one, optimizers
from linnet.plain.activations import ACTIVATIONS
from linnet.plain.heads import Normal as PlainNormal
from linnet.theory import LookupClassifier, graph, lagrange, softmax_by_entropy
from linnet.theory.likelihood import (
    exponential_family,
    margin_bounds,
    multinomial_log_likelihood,
    poisson_limit,
    zero_one_and_log_loss,
)

RNG = np.random.default_rng(11)
Z = RNG.normal(size=(40, 4)) * 3
LABELS = RNG.integers(0, 4, 40).astype(np.int32)
ONE_HOT = np.eye(4)[LABELS]
P = np.exp(Z) / np.exp(Z).sum(axis=1, keepdims=True)


def sigma(z: Any) -> Any:
    return 1 / (1 + np.exp(-z))


# ---- gradients ----


def test_the_softmax_gradient_case_by_case() -> None:
    """d/dz_k of log sum e^z - z_y: p_k where k is not y, p_y - 1 where it is."""
    by_cases = np.array([[p - 1 if k == y else p for k, p in enumerate(row)] for row, y in zip(P, LABELS, strict=True)])
    np.testing.assert_allclose(Categorical().slope(Z, LABELS), by_cases, atol=1e-12)
    by_graph = graph.grad(lambda z: np.sum(np.log(np.sum(np.exp(z), axis=1))) - np.sum(ONE_HOT * z))(Z)
    np.testing.assert_allclose(by_graph, by_cases, atol=1e-12)
    np.testing.assert_allclose(by_cases.sum(axis=1), 0, atol=1e-12)


def test_the_logistic_gradient_line_by_line() -> None:
    rng = np.random.default_rng(103)
    z, t = Z[:, :1], (LABELS[:, None] > 1).astype(float)
    y = sigma(z)
    lines = [
        -(t / y * y * (1 - y) + (1 - t) / (1 - y) * (-y * (1 - y))),
        -(t * (1 - y) - (1 - t) * y),
        -(t - t * y - y + t * y),
        y - t,
    ]
    for line in lines:
        np.testing.assert_allclose(Bernoulli().slope(z, t), line, atol=1e-9)
    x = rng.normal(size=(40, 3))
    w = np.array([0.5, -1.0, 2.0])
    dw, db = logistic_regression.gradient(w, 0.3, x, t[:, 0])
    y = sigma(x @ w + 0.3)
    np.testing.assert_allclose(dw, x.T @ (y - t[:, 0]) / 40, atol=1e-12)
    np.testing.assert_allclose(db, (y - t[:, 0]).mean(), atol=1e-12)


def test_the_two_factors_multiplied_out() -> None:
    """dE/dy times dy/dz, for a Jacobian as well as for a number, is the slope that the engine computes at once."""
    rng = np.random.default_rng(104)
    for y, labels, row in zip(P, LABELS, Categorical().slope(Z, LABELS), strict=True):
        t = np.eye(4)[labels]
        np.testing.assert_allclose((-t / y) @ (np.diag(y) - np.outer(y, y)), row, atol=1e-10)
    z, t = Z[:, :1], ONE_HOT[:, :1]
    y = sigma(z)
    np.testing.assert_allclose((y - t) / (y * (1 - y)) * (y * (1 - y)), Bernoulli().slope(z, t), atol=1e-10)
    np.testing.assert_allclose((z - t) * 1, Normal().slope(z, t), atol=1e-12)
    counts = rng.poisson(2.0, z.shape).astype(float)
    np.testing.assert_allclose((1 - counts / np.exp(z)) * np.exp(z), Poisson().slope(z, counts), rtol=1e-10, atol=1e-10)
    by_graph = graph.grad(lambda a: np.sum((1 / (1 + np.exp(-a)) - t) ** 2))(z)
    np.testing.assert_allclose(by_graph, 2 * (y - t) * y * (1 - y), atol=1e-12)


# ---- likelihoods ----


@pytest.mark.parametrize("rate", [0.5, 3.0, 20.0])
def test_mean_and_variance_of_a_poisson_count_by_its_series(rate: float) -> None:
    counts = range(200)
    p = [math.exp(k * math.log(rate) - rate - math.lgamma(k + 1)) for k in counts]
    mean = sum(k * each for k, each in zip(counts, p, strict=True))
    falling = sum(k * (k - 1) * each for k, each in zip(counts, p, strict=True))
    assert mean == pytest.approx(rate)
    assert falling == pytest.approx(rate**2)
    own = float(Poisson().variance(np.array([[rate]]), np.ones(1))[0, 0])
    assert falling + mean - mean**2 == pytest.approx(own) == pytest.approx(rate)


@pytest.mark.parametrize(("k", "rate"), [(0, 3.0), (2, 3.0), (5, 0.7)])
def test_the_factors_of_the_binomial_and_their_limits(k: int, rate: float) -> None:
    n = 10**7
    ways = math.prod(1 - i / n for i in range(k))
    assert plain_likelihood.binomial(k, 50, rate / 50) == pytest.approx(
        math.prod(1 - i / 50 for i in range(k)) * rate**k / math.factorial(k) * (1 - rate / 50) ** (50 - k)
    )
    assert ways == pytest.approx(1, abs=1e-5)
    assert (1 - rate / n) ** n == pytest.approx(math.exp(-rate), rel=1e-5)
    assert (1 - rate / n) ** -k == pytest.approx(1, abs=1e-5)
    demonstration = poisson_limit(rate, (100, 10_000))
    assert demonstration.rows[1][4] < demonstration.rows[0][4] / 90


def test_two_threes_and_three_fours_in_five_throws() -> None:
    """10 / 6^5, exactly."""
    assert Fraction(math.factorial(5), math.factorial(2) * math.factorial(3)) / 6**5 == Fraction(10, 7776)
    found = multinomial_log_likelihood([0, 0, 2, 3, 0, 0], np.full(6, 1 / 6))
    assert math.exp(found) == pytest.approx(10 / 6**5) == pytest.approx(0.001286, abs=5e-7)
    assert plain_likelihood.multinomial([0, 0, 2, 3, 0, 0], [1 / 6] * 6) == pytest.approx(10 / 6**5)


@pytest.mark.parametrize("head", [Normal(), Bernoulli(), Poisson()], ids=lambda head: head.family)
def test_the_derivatives_of_the_log_normaliser_are_mean_and_variance(head: Head) -> None:
    shown = exponential_family(head, [-2.0, -0.3, 0.0, 1.5, 3.0])
    assert shown.discrepancy < 1e-7
    assert shown.columns == ("z", "A", "A'", "mean", "A''", "variance")
    z, t = np.array([[-2.0], [1.5]]), np.array([[1.0], [1.0]])
    constant = 0.5 if head.family == "normal" else 0.0  # t² / 2 belongs to h(t)
    np.testing.assert_allclose(head.loss(z, t), head.loss(z, 0 * t) - (t * z)[:, 0] + constant, atol=1e-12)


def test_what_has_no_natural_parameter_is_refused() -> None:
    with pytest.raises(ConfigError, match="Normal, Bernoulli or Poisson"):
        exponential_family(Categorical(), [0.0])
    with pytest.raises(DataError, match="finite numbers"):
        exponential_family(Poisson(), [[np.nan]])


def test_labels_of_plus_and_minus_one() -> None:
    """log(1 + e^(-yz)) is the loss of the labels 0 and 1, and of two classes with the difference of the weights."""
    z = Z[:, :1]
    for t, y in ((0.0, -1.0), (1.0, 1.0)):
        signed = np.log1p(np.exp(-y * z[:, 0]))
        np.testing.assert_allclose(Bernoulli().loss(z, np.full_like(z, t)), signed, atol=1e-12)
        two = np.column_stack([0 * z, z])
        labels = np.full(40, t).astype(np.int32)
        np.testing.assert_allclose(Categorical().loss(two, labels), signed, atol=1e-12)
        slope = -y * sigma(-y * z)
        np.testing.assert_allclose(Bernoulli().slope(z, np.full_like(z, t)), slope, atol=1e-12)


@given(st.lists(st.floats(-50, 50), min_size=2, max_size=6), st.integers(0, 5))
def test_the_loss_is_a_soft_margin(scores: list[float], place: int) -> None:
    label = place % len(scores)
    margin, loss, upper = (float(each[0]) for each in margin_bounds([scores], [label]))
    assert margin == pytest.approx(max(scores) - scores[label])
    assert margin - 1e-12 <= loss <= upper + 1e-12
    assert upper == pytest.approx(margin + math.log(len(scores)))
    wrong, bits = (float(each[0]) for each in zero_one_and_log_loss([scores], [label]))
    assert wrong <= bits + 1e-12
    assert bits == pytest.approx(loss / math.log(2))


# ---- constraints and entropy ----


def test_the_gradient_is_perpendicular_to_the_surface() -> None:
    """Along a tangent t the constraint changes by the square of the step; along its gradient, by the step itself."""

    def g(x: Any) -> Any:
        return x[0] ** 2 + 2 * x[1] ** 2 + np.sin(x[2]) - 3

    point = lagrange(lambda x: np.sum((x - np.array([2.0, 1.0, 0.5])) ** 2), g, [1.0, 1.0, 0.2])
    normal = point.constraint_gradients[0]
    np.testing.assert_allclose(normal, graph.grad(g)(point.x), atol=1e-9)
    tangent = np.cross(normal, [0.3, -1.0, 0.7])
    changes = [abs(float(g(point.x + step * tangent))) for step in (1e-2, 1e-3)]
    assert changes[0] / changes[1] == pytest.approx(100, rel=0.05)
    along = [abs(float(g(point.x + step * normal))) for step in (1e-2, 1e-3)]
    assert along[0] / along[1] == pytest.approx(10, rel=0.05)


def test_the_multiplier_is_0_where_the_minimum_is_free() -> None:
    def f(x: Any) -> Any:
        return (x[0] - 1) ** 2 + (x[1] - 2) ** 2

    free = lagrange(f, [], [0.0, 0.0])
    np.testing.assert_allclose(free.x, [1, 2], atol=1e-9)
    through = lagrange(f, lambda x: x[0] + x[1] - 3, [0.0, 0.0])  # a line on which the minimum happens to be
    np.testing.assert_allclose(through.x, [1, 2], atol=1e-8)
    assert through.multipliers[0] == pytest.approx(0, abs=1e-8)
    beside = lagrange(f, lambda x: x[0] + x[1] - 2, [0.0, 0.0])
    assert beside.multipliers[0] == pytest.approx(-1)
    np.testing.assert_allclose(beside.x, [0.5, 1.5], atol=1e-8)


def test_a_lookup_table_meets_all_constraints_and_is_useless() -> None:
    rng = np.random.default_rng(3)
    x = np.column_stack([np.ones(12), rng.normal(size=(12, 2))])
    t = np.arange(12) % 3
    bad, good = LookupClassifier.of(x, t), softmax_by_entropy(x, t)
    np.testing.assert_allclose(bad.expected, bad.observed, atol=1e-12)
    np.testing.assert_allclose(bad.observed, good.observed, atol=1e-12)
    assert bad.entropy == 0 < good.entropy
    np.testing.assert_array_equal(bad.predict(x), t)
    new = x + 1e-9
    np.testing.assert_array_equal(bad.predict(new), 0)
    np.testing.assert_array_equal(bad.predict_proba(new), np.eye(3)[[0] * 12])


def test_equal_rows_of_different_classes_share() -> None:
    bad = LookupClassifier.of([[1.0, -0.0], [1.0, 0.0], [2.0, 0.0]], [0, 1, 1])
    np.testing.assert_array_equal(bad.predict_proba([[1.0, 0.0], [2.0, -0.0]]), [[0.5, 0.5], [0, 1]])
    assert bad.entropy == pytest.approx(2 * math.log(2))
    np.testing.assert_allclose(bad.expected, bad.observed)
    with pytest.raises(DataError, match="one class per row"):
        LookupClassifier.of([[1.0]], [0, 1])
    with pytest.raises(DataError, match="classes 0, 1"):
        LookupClassifier.of([[1.0]], [-1])


# ---- examples ----


def test_three_linear_scores_and_the_line_between_two_of_them() -> None:
    rng = np.random.default_rng(120)
    w = np.array([[1, -1 / 3], [-1 / 2, -1 / 2], [0, 1]])
    np.testing.assert_allclose(w[0] - w[1], [3 / 2, 1 / 6])
    x = rng.normal(size=(500, 2)) * 3
    z = x @ w.T
    first_two = Categorical().mean(z[:, :2])
    np.testing.assert_allclose(first_two[:, 0], sigma(x @ [3 / 2, 1 / 6]), atol=1e-12)
    np.testing.assert_array_equal((z[:, 0] > z[:, 1]), x @ [3 / 2, 1 / 6] > 0)


FIVE = [0, 1, 2, 3, 1]
PAIRS = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]


def test_each_row_of_one_vs_one_is_used_by_three_of_six_classifiers() -> None:
    used = np.array([[label in pair for pair in PAIRS] for label in FIVE])
    assert used.sum(axis=1).tolist() == [3] * 5
    assert used.sum(axis=0).tolist() == [3, 2, 2, 3, 3, 2]
    seen = []

    def learn(x: Any, t: Any) -> Any:
        seen.append(sorted(x[:, 0].astype(int)))
        return lambda rows: np.zeros(len(rows))

    one_vs_one.fit(learn, np.arange(5.0)[:, None], np.array(FIVE), 4)
    assert seen == [sorted(np.flatnonzero(column)) for column in used.T]
    x = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1], [1, 0.1]])
    fitted = OneVsOneClassifier(LogisticRegression()).fit(x, FIVE)
    assert len(fitted.estimators_) == len(PAIRS)


@given(st.integers(1, 30), st.integers(0, 30), st.integers(0, 30), st.sampled_from([0.5, 1.0, 2.0]))
def test_the_means_on_the_heat_maps(tp: int, fp: int, fn: int, beta: float) -> None:
    rates = Rates(tp, fp, fn, 5)
    p, r = rates.precision, rates.recall
    assert rates.f_beta(beta) == pytest.approx(1 / ((1 / p + beta**2 / r) / (1 + beta**2)))
    low, high = min(p, r), max(p, r)
    assert low <= 2 / (1 / p + 1 / r) + 1e-12
    assert 2 / (1 / p + 1 / r) <= (p * r) ** 0.5 + 1e-12 <= (p + r) / 2 + 2e-12 <= high + 3e-12


def test_paths_of_descent_end_where_the_normal_equations_do() -> None:
    rng = np.random.default_rng(124)
    x = rng.normal(size=(60, 1))
    t = 1.5 * x[:, 0] - 0.5 + 0.3 * rng.normal(size=60)
    w, b = linear_regression.closed_form(x, t)
    away = {}
    for size in (None, 10, 1):
        *_, path = linear_regression.gradient_descent(x, t, eta=0.05, batch_size=size, epochs=200)
        assert len(path) == 1 + 200 * (60 // (size or 60))
        points = np.array([[each[0][0], each[1]] for each in path])
        away[size] = np.linalg.norm(points[-60:] - [w[0], b], axis=1).mean()
    assert away[None] < 1e-3 < away[10] < away[1] < 0.3


def test_a_thinned_network_is_the_network_without_the_dropped_units() -> None:
    tanh, identity = ACTIVATIONS["tanh"], ACTIVATIONS["identity"]
    net = mlp.MLP([3, 5, 1], [tanh, identity], PlainNormal(), dropout=[0.0, 0.4])
    rng = np.random.default_rng(5)
    theta, x = net.start(rng), rng.normal(size=(1, 3))
    masks = net.masks(1, rng)
    stay = masks[1][0] > 0
    assert 0 < stay.sum() < 5
    (W1, b1), (W2, b2) = net.layers(theta)
    by_hand = np.tanh(x @ W1[:, stay] + b1[stay]) / 0.6 @ W2[stay] + b2
    np.testing.assert_allclose(net.forward(theta, x, masks)[1][-1], by_hand, atol=1e-12)
    step, _ = mlp.epoch(net, theta, x, np.ones((1, 1)), np.ones(1), optimizers.SGD(0.1), [(np.array([0]), masks)])
    (moved, _), _ = net.layers(step - theta)
    assert moved[:, stay].any()
    assert not moved[:, ~stay].any()


@pytest.mark.parametrize("widths", [[784, 10], [784, 10, 10]])
def test_the_numbers_of_parameters(widths: list[int]) -> None:
    net = mlp.MLP(widths, [ACTIVATIONS["identity"]] * (len(widths) - 1), PlainNormal())
    assert len(net.start(np.random.default_rng(0))) == {2: 7_850, 3: 7_960}[len(widths)]


# ---- the four questions ----


def test_fixed_and_learned_features_separate_a_circle() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (400, 2))
    t = (np.sum(x**2, axis=1) < 0.5).astype(int)
    train, new = slice(0, 250), slice(250, 400)
    linear = LogisticRegression().fit(x[train], t[train])
    fixed = LogisticRegression(C=1000).fit(x[train] ** 2, t[train])
    network = MLPClassifier((6,), "tanh", solver="lbfgs", alpha=0.1, max_iter=2000, random_state=0)
    learned = network.fit(x[train], t[train])
    assert linear.score(x[new], t[new]) < 0.7
    assert fixed.score(x[new] ** 2, t[new]) > 0.95
    assert learned.score(x[new], t[new]) > 0.93
    on_top = learned.activations(x)[-1] @ learned.coefs_[-1] + learned.intercepts_[-1]
    np.testing.assert_allclose(sigma(on_top[:, 0]), learned.predict_proba(x)[:, 1], atol=1e-9)


def test_early_stopping_keeps_the_epoch_of_least_validation_loss() -> None:
    rng = np.random.default_rng(1)
    x, new = rng.normal(size=(60, 3)), rng.normal(size=(60, 3))
    t, own = (np.sin(2 * rows[:, 0]) + 0.5 * rng.normal(size=60) for rows in (x, new))
    model = Sequential([Dense(40, "tanh"), Dense(1)], seed=0)
    model.compile(Adam(0.02), "mse")
    stop = EarlyStopping(patience=15, restore_best_weights=True)
    losses = model.fit(x, t, epochs=400, validation_data=(new, own), callbacks=[stop], verbose=0).history["val_loss"]
    assert len(losses) < 400
    assert len(losses) - 1 - int(np.argmin(losses)) == 15
    assert model.evaluate(new, own, verbose=0) == pytest.approx(min(losses), rel=1e-5)
