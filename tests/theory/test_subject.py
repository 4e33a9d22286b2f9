"""Identities of a first course that no other test states."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

import linnet
from linnet import evaluate, theory
from linnet.fit.objective import NetworkObjective
from linnet.heads import Categorical, Normal
from linnet.heads.activations import Activation, LeakyReLU
from linnet.model.network import Layer, Network

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(linnet.__file__).parents[1])}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))


def output(layer: Activation, z: float) -> float:
    """What one unit with weight 1 makes of z."""
    network = Network(1, (Layer(1, layer), Layer(1)), Normal())
    return float(NetworkObjective(network, np.float64).predict(np.array([1.0, 0.0, 1.0, 0.0]), np.array([[z]]))[0, 0])


def test_a_bias_is_the_weight_of_a_constant_input() -> None:
    t = X @ [1.0, -2.0, 0.5] + 3 + RNG.normal(size=200)
    with_bias = linnet.LinearRegression().fit(X, t)
    absorbed = linnet.LinearRegression(fit_intercept=False).fit(np.column_stack([X, np.ones(200)]), t)
    np.testing.assert_allclose(absorbed.coef_, [*with_bias.coef_, with_bias.intercept_], rtol=1e-9)


def test_softmax_does_not_see_a_constant_and_two_classes_are_logistic() -> None:
    z = 5 * RNG.normal(size=(50, 4))
    np.testing.assert_allclose(Categorical().mean(z + 123.0), Categorical().mean(z), rtol=1e-10)
    two = Categorical().mean(z[:, :2])
    np.testing.assert_allclose(two[:, 1], scipy.special.expit(z[:, 1] - z[:, 0]), rtol=1e-10)


def test_linear_layers_make_a_linear_map() -> None:
    network = Network(3, (Layer(5), Layer(4), Layer(2)), Normal())
    theta = RNG.normal(size=network.size)
    (w1, b1), (w2, b2), (w3, b3) = network.blocks(theta)
    found = NetworkObjective(network, np.float64).predict(theta, X)
    np.testing.assert_allclose(found, X @ (w1 @ w2 @ w3) + (b1 @ w2 + b2) @ w3 + b3, atol=1e-12)


@pytest.mark.parametrize("z", [-3.0, -0.4, 0.0, 0.7, 5.0])
def test_hidden_activations_are_what_the_table_says(z: float) -> None:
    sigmoid = 1 / (1 + np.exp(-z))
    assert output(Activation("sigmoid"), z) == pytest.approx(sigmoid)
    assert output(Activation("tanh"), z) == pytest.approx(2 / (1 + np.exp(-2 * z)) - 1, abs=1e-15)
    assert output(Activation("relu"), z) == max(0, z)
    assert output(LeakyReLU(0.1), z) == max(z, 0.1 * z)


@pytest.mark.parametrize(("name", "slope"), [("sigmoid", 0.25), ("tanh", 1.0)])
def test_slopes_at_zero(name: str, slope: float) -> None:
    difference = output(Activation(name), 1e-5) - output(Activation(name), -1e-5)
    assert difference / 2e-5 == pytest.approx(slope, rel=1e-9)


def test_the_last_layer_is_a_linear_model_of_learned_features() -> None:
    y = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 1)
    model = linnet.MLPClassifier((6, 5), "tanh", solver="lbfgs", max_iter=2000, alpha=0.1, random_state=0).fit(X, y)
    features = model.activations(X)[-1]
    assert features.shape == (200, 5)
    z = features @ model.coefs_[-1] + model.intercepts_[-1]
    np.testing.assert_allclose(scipy.special.softmax(z, axis=1), model.predict_proba(X), atol=1e-10)
    # alpha / n is the strength of the network's penalty, 1 / (n C) that of the linear model: the same optimum on top
    on_top = linnet.LogisticRegression(C=10).fit(features, y)
    np.testing.assert_allclose(on_top.predict_proba(features), model.predict_proba(X), atol=2e-3)


@given(st.floats(0.001, 1), st.floats(0.001, 1))
def test_the_harmonic_mean_is_between_the_smaller_and_twice_it(precision: float, recall: float) -> None:
    harmonic = 2 * precision * recall / (precision + recall)
    low, high = min(precision, recall), max(precision, recall)
    assert low * (1 - 1e-12) <= harmonic <= min(high, 2 * low) * (1 + 1e-12)
    assert harmonic <= (precision * recall) ** 0.5 * (1 + 1e-12) <= (precision + recall) / 2 * (1 + 1e-9)


@given(st.integers(1, 50), st.integers(0, 50), st.integers(0, 50), st.floats(0.1, 10))
def test_both_forms_of_f_beta_agree(tp: int, fp: int, fn: int, beta: float) -> None:
    rates = evaluate.Rates(tp, fp, fn, 10)
    p, r = rates.precision, rates.recall
    assert rates.f_beta(beta) == pytest.approx((1 + beta**2) * p * r / (beta**2 * p + r))
    assert rates.f_beta(beta) == pytest.approx((tp + beta**2 * tp) / (tp + fp + beta**2 * (tp + fn)))


def test_a_lower_threshold_never_loses_recall() -> None:
    y = RNG.integers(0, 2, 500)
    precision, recall, thresholds = evaluate.precision_recall_curve(y, RNG.normal(y))
    assert (np.diff(thresholds) > 0).all()
    assert (np.diff(recall) <= 0).all()
    assert precision[0] == pytest.approx(y.mean())


@pytest.mark.parametrize("name", theory.__all__)
def test_the_names_of_theory_are_there(name: str) -> None:
    assert getattr(theory, name) is not None


def test_theory_is_loaded_when_it_is_used() -> None:
    program = "import sys, linnet; linnet.theory.maxent; linnet.theory.lagrange; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = theory.nothing  # type: ignore[attr-defined]


def test_any_scores_learn_by_softmax_and_log_loss() -> None:
    """The slope in the scores, carried on by the chain rule, is that of the whole: of distances, as an example."""
    labels = np.arange(200) % 4
    points = RNG.normal(size=(4, 3))

    def loss(points: np.ndarray) -> float:
        scores = -((X[:, None] - points) ** 2).sum(axis=2)
        return float(Categorical().loss(scores, labels.astype(np.int32)).sum())

    away = X[:, None] - points
    slope = Categorical().slope(-(away**2).sum(axis=2), labels.astype(np.int32))
    by_chain = 2 * np.einsum("nk,nkd->kd", slope, away)
    step = 1e-5
    for place in np.ndindex(4, 3):
        there = np.zeros((4, 3))
        there[place] = step
        numeric = (loss(points + there) - loss(points - there)) / (2 * step)
        assert by_chain[place] == pytest.approx(numeric, rel=1e-6, abs=1e-6)
    assert loss(points - 0.001 * by_chain) < loss(points)


def test_at_the_likeliest_weights_expected_sums_are_observed_ones() -> None:
    """x'(y - t) = 0, for logistic regression with y = sigma(z) and for Poisson regression with y = e^z."""
    z = X @ [0.8, -0.5, 0.2]
    binary, counts = (RNG.random(200) < scipy.special.expit(z)).astype(int), RNG.poisson(np.exp(z))
    logistic = linnet.LogisticRegression(C=np.inf).fit(X, binary)
    y = logistic.predict_proba(X)[:, 1]
    np.testing.assert_allclose(y, scipy.special.expit(X @ logistic.coef_[0] + logistic.intercept_), rtol=1e-12)
    np.testing.assert_allclose(X.T @ y, X.T @ binary, atol=1e-6)
    poisson = linnet.PoissonRegressor(alpha=0).fit(X, counts)
    y = poisson.predict(X)
    np.testing.assert_allclose(y, np.exp(X @ poisson.coef_ + poisson.intercept_), rtol=1e-12)
    np.testing.assert_allclose(X.T @ y, X.T @ counts, atol=1e-5)


def test_dropout_is_for_training_and_l2_adds_the_sum_of_squares() -> None:
    def network(rate: float, strength: float) -> linnet.Sequential:
        penalty = linnet.l2(strength) if strength else None
        layers: list[Any] = [
            linnet.Dense(5, "tanh", input_dim=3, kernel_regularizer=penalty),
            linnet.Dropout(rate),
            linnet.Dense(1),
        ]
        model = linnet.Sequential(layers, seed=2)
        model.compile(linnet.SGD(0.1), "mse")
        return model

    bare, dropped, penalised = network(0.0, 0.0), network(0.5, 0.0), network(0.0, 0.3)
    np.testing.assert_array_equal(bare.predict(X), dropped.predict(X))
    losses: list[Any] = [model.evaluate(X, X[:, 0], verbose=0) for model in (bare, penalised)]
    assert losses[1] - losses[0] == pytest.approx(0.3 * np.sum(bare.get_weights()[0] ** 2), rel=1e-5)
    for model in (bare, dropped):
        model.fit(X, X[:, 0], epochs=1, verbose=0)
    assert not np.allclose(bare.get_weights()[0], dropped.get_weights()[0])


def test_the_rates_of_ten_rows_by_hand() -> None:
    """TP 3, FN 1, FP 2, TN 4: the functions, and the formulas of the textbook."""
    t, predicted = [1] * 4 + [0] * 6, [1, 1, 1, 0, 1, 1, 0, 0, 0, 0]
    rates = evaluate.binary_rates(t, predicted)
    assert (rates.tp, rates.fn, rates.fp, rates.tn) == (3, 1, 2, 4)
    assert rates.precision == pytest.approx(3 / 5)
    assert rates.recall == pytest.approx(3 / 4)
    assert rates.specificity == pytest.approx(4 / 6)
    assert evaluate.f1_score(t, predicted) == pytest.approx(2 * 3 / (2 * 3 + 2 + 1))
    for beta in (0.5, 2.0):
        found = evaluate.fbeta_score(t, predicted, beta=beta)
        assert found == pytest.approx((3 + beta**2 * 3) / (3 + 2 + beta**2 * (3 + 1)))
        assert found == pytest.approx((1 + beta**2) * 0.6 * 0.75 / (beta**2 * 0.6 + 0.75))
    assert "2.0%" in evaluate.means_table([(0.01, 1.0)])
