"""Softmax regression comes out of entropy and constraints alone."""

import numpy as np
import pytest

import linnet
from linnet.errors import DataError
from linnet.theory import softmax_by_entropy

RNG = np.random.default_rng(3)
X = np.column_stack([np.ones(18), RNG.normal(size=(18, 2))])
T = np.arange(18) % 3


def test_the_multipliers_are_the_weights_of_softmax_regression() -> None:
    found = softmax_by_entropy(X, T)
    model = linnet.LogisticRegression(C=np.inf, fit_intercept=False).fit(X, T)
    np.testing.assert_allclose(found.weights, (model.coef_ - model.coef_.mean(axis=0)).T, atol=1e-7)
    np.testing.assert_allclose(found.probabilities, model.predict_proba(X), atol=1e-7)
    assert found.stationary.kind == "maximum"


def test_the_solution_is_softmax_with_its_normaliser() -> None:
    found = softmax_by_entropy(X, T)
    z = X @ found.weights
    np.testing.assert_allclose(found.log_normaliser, np.log(np.exp(z).sum(axis=1)), atol=1e-9)
    np.testing.assert_allclose(found.probabilities, np.exp(z - found.log_normaliser[:, None]), atol=1e-9)


def test_the_constraints_hold_and_no_other_table_that_meets_them_has_more_entropy() -> None:
    found = softmax_by_entropy(X, T)
    np.testing.assert_allclose(found.expected, X.T @ np.eye(3)[T], atol=1e-9)
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1)
    answers = np.eye(3)[T]  # the lookup table meets the constraints, too
    for part in (0.01, 0.1, 0.5):
        other = (1 - part) * found.probabilities + part * answers
        np.testing.assert_allclose(X.T @ other, found.observed, atol=1e-9)
        assert -(other * np.log(other)).sum() < found.entropy
    assert 0 < found.entropy < 18 * np.log(3)


def test_logits_are_known_up_to_a_constant() -> None:
    found = softmax_by_entropy(X, T)
    assert not found.stationary.independent
    np.testing.assert_allclose(found.weights.sum(axis=1), 0, atol=1e-12)


def test_two_classes_are_logistic_regression() -> None:
    t = np.arange(18) % 2
    found = softmax_by_entropy(X, t)
    model = linnet.LogisticRegression(C=np.inf, fit_intercept=False).fit(X, t)
    np.testing.assert_allclose(found.weights[:, 1] - found.weights[:, 0], model.coef_[0], atol=1e-7)


def test_it_prints_the_steps() -> None:
    text = str(softmax_by_entropy(X, T))
    for word in ("unknowns", "constraints", "Lagrangian", "multipliers", "normaliser", "check", "entropy"):
        assert word in text


def test_what_has_no_largest_entropy_is_said() -> None:
    with pytest.raises(DataError, match="without error"):
        softmax_by_entropy([[1.0, -2.0], [1.0, -1.0], [1.0, 1.0], [1.0, 2.0]], [0, 0, 1, 1])
    with pytest.raises(DataError, match="classes 0, 1"):
        softmax_by_entropy([[1.0], [2.0]], [0, 2])
    with pytest.raises(DataError, match="the limit of 400"):
        softmax_by_entropy(np.ones((300, 1)), np.arange(300) % 2)
    with pytest.raises(DataError, match="one class per row"):
        softmax_by_entropy([[1.0], [2.0]], [0])


def test_constraints_that_follow_from_the_rest_are_counted() -> None:
    rng = np.random.default_rng(0)
    x, t = np.column_stack([np.ones(12), rng.normal(size=12)]), np.arange(12) % 3
    assert "2 x 3 feature sums (2 follow from the rest)" in str(softmax_by_entropy(x, t))
    twice = np.column_stack([x, x[:, 1]])
    assert "3 x 3 feature sums (5 follow from the rest)" in str(softmax_by_entropy(twice, t))


def test_the_weights_are_the_multipliers_themselves() -> None:
    rng = np.random.default_rng(0)
    x, t = np.column_stack([np.ones(12), rng.normal(size=12)]), np.arange(12) % 3
    found = softmax_by_entropy(x, t)
    multipliers = found.stationary.multipliers[:6].reshape(2, 3)
    np.testing.assert_allclose(multipliers - multipliers.mean(axis=1, keepdims=True), found.weights, atol=1e-9)
