"""The inside of a Sequential model: hidden layers, gradients, draws, weights as set."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linnet
from linnet import SGD, Dense, Dropout, MLPClassifier, Sequential, l2
from linnet.errors import ConfigError
from linnet.theory import gradient_check

RNG = np.random.default_rng(4)
X = RNG.normal(size=(60, 3))
LABELS = RNG.integers(0, 3, 60)
COUNTS = RNG.poisson(1.0, (60, 1)).astype(float)
W = np.linspace(0.5, 2, 60)


def model(*layers: Any, loss: str) -> Sequential:
    stack = Sequential([Dense(5, "tanh", input_dim=3, kernel_regularizer=l2(0.01)), Dropout(0.3), *layers], seed=2)
    stack.compile(SGD(0.1), loss=loss)
    return stack


CASES: dict[str, tuple[Any, Any]] = {
    "sparse_categorical_crossentropy": (Dense(3, "softmax"), LABELS),
    "categorical_crossentropy": (Dense(3, "softmax", use_bias=False), np.eye(3)[LABELS]),
    "binary_crossentropy": (Dense(2, "sigmoid"), RNG.integers(0, 2, (60, 2)).astype(float)),
    "mse": (Dense(2), X[:, :2]),
    "mae": (Dense(1, use_bias=False), X[:, :1]),
    "poisson": (Dense(1, "exponential"), COUNTS),
    "negative_binomial": (Dense(1, "exponential"), COUNTS),
    "perceptron": (Dense(1), np.sign(X[:, :1])),
}


@pytest.mark.parametrize("loss", CASES)
@pytest.mark.parametrize("weights", [None, W], ids=["", "weighted"])
def test_gradients_are_those_of_the_loss_that_is_evaluated(loss: str, weights: Any) -> None:
    top, y = CASES[loss]
    stack = model(top, loss=loss)
    problem, theta = stack.objective(X, y, weights)
    assert np.isclose(problem.at(theta).value, stack.evaluate(X, y, sample_weight=weights, verbose=0), rtol=1e-6)
    assert gradient_check(stack, X, y, weights, verbose=False).worst < 1e-5
    gradients = stack.gradients(X, y, weights)
    assert [part.shape for part in gradients] == [part.shape for part in stack.get_weights()]


def test_a_step_against_the_gradients_is_a_step_of_training() -> None:
    stack = Sequential([Dense(4, "tanh", input_dim=3), Dense(3, "softmax")], seed=2)
    stack.compile(SGD(0.5), loss="sparse_categorical_crossentropy")
    expected = [w - 0.5 * g for w, g in zip(stack.get_weights(), stack.gradients(X, LABELS), strict=True)]
    stack.fit(X, LABELS, batch_size=60, epochs=1, verbose=0)
    assert all(np.allclose(one, other, atol=1e-6) for one, other in zip(stack.get_weights(), expected, strict=True))


def test_activations_are_the_hidden_layers_without_dropout() -> None:
    stack = model(Dense(4, "relu"), Dense(3, "softmax"), loss="sparse_categorical_crossentropy")
    first, second = stack.activations(X)
    w1, b1, w2, b2, *_ = stack.get_weights()
    assert np.allclose(first, np.tanh(X @ w1 + b1), atol=1e-6)
    assert np.allclose(second, np.maximum(0, first @ w2 + b2), atol=1e-6)
    assert Sequential([Dense(1, input_dim=3)]).activations(X) == []


def test_draws_have_the_predicted_frequencies() -> None:
    rows = np.repeat(X[:1], 20_000, axis=0)
    classes = model(Dense(3, "softmax"), loss="sparse_categorical_crossentropy")
    drawn = classes.sample(rows, 0)
    assert np.allclose(np.bincount(drawn, minlength=3) / len(rows), classes.predict(X[:1])[0], atol=0.015)
    assert np.array_equal(drawn, classes.sample(rows, 0))
    for loss in ("binary_crossentropy", "poisson", "negative_binomial"):
        stack = model(CASES[loss][0], loss=loss)
        assert np.allclose(stack.sample(rows, 1).mean(axis=0), stack.predict(X[:1])[0], atol=0.05)
    with pytest.raises(ConfigError, match="predicts a distribution"):
        model(Dense(1), loss="mse").sample(X)


def test_weights_as_given_need_no_training() -> None:
    stack = Sequential([Dense(3, "softmax", input_dim=2)])
    stack.set_weights([[[1, -1 / 2, 0], [-1 / 3, -1 / 2, 1]], [0, 0, 0]])
    z = np.array([[1, -1 / 2, 0]])
    assert np.allclose(stack.predict([[1.0, 0.0]]), np.exp(z) / np.exp(z).sum())


@pytest.mark.filterwarnings("ignore:Maximum iterations")
def test_files_have_an_initialiser_only_if_it_is_not_the_default(tmp_path: Path) -> None:
    for name in ("glorot_uniform", "he_normal"):
        model = MLPClassifier((3,), max_iter=2, random_state=0, initializer=name).fit(X, LABELS)
        model.save(tmp_path / "model.linnet")
        assert (b"initializer" in (tmp_path / "model.linnet").read_bytes()) is (name == "he_normal")
        again = linnet.load(tmp_path / "model.linnet")
        assert isinstance(again, MLPClassifier)
        assert again.initializer == name
        assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.filterwarnings("ignore:Maximum iterations")
def test_initialisers_of_networks_of_scikit_learns_kind() -> None:
    settings: dict[str, Any] = {"hidden_layer_sizes": (40,), "max_iter": 1, "random_state": 0}
    settings |= {"learning_rate_init": 1e-12}
    plain = MLPClassifier(**settings).fit(X, LABELS)
    same = MLPClassifier(**settings, initializer="glorot_uniform").fit(X, LABELS)
    assert all(map(np.array_equal, plain.coefs_, same.coefs_))
    uniform = MLPClassifier(**settings, initializer="uniform").fit(X, LABELS)
    assert [round(float(np.abs(w).max() * np.sqrt(len(w))), 1) for w in uniform.coefs_] == [1.0, 1.0]
    mixed = MLPClassifier(**settings, initializer=["he_normal", "zeros"]).fit(X, LABELS)
    assert np.abs(mixed.coefs_[1]).max() < 1e-9 < np.abs(mixed.coefs_[0]).max()
    with pytest.warns(UserWarning, match="hidden layer 1 are zero"):
        MLPClassifier(**settings, initializer="zeros").fit(X, LABELS)
    wrong: Any
    for wrong, message in (("he", "unknown initializer 'he'"), (3, "unknown"), (["uniform"], "one name per layer")):
        with pytest.raises(ConfigError, match=message):
            MLPClassifier(**settings, initializer=wrong).fit(X, LABELS)
