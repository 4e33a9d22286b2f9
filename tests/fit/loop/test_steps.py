"""A record of every step: it changes nothing, and holds what the step saw and did."""

from typing import Any

import numpy as np
import pytest

from linnet import SGD, Adam, Dense, Dropout, MLPClassifier, MLPRegressor, Perceptron, Sequential
from linnet.errors import ConfigError
from linnet.fit.loop.steps import Step
from linnet.fit.loop.training import Epoch

RNG = np.random.default_rng(3)
X = RNG.normal(size=(90, 4)).astype(np.float32)
Y = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 1)


def network(optimizer: Any, *, dropout: float = 0.0, l2: float = 0.0) -> Sequential:
    from linnet import l2 as penalty

    layers = [Dense(6, activation="tanh", input_dim=4, kernel_regularizer=penalty(l2) if l2 else None)]
    model = Sequential([*layers, *([Dropout(dropout)] if dropout else []), Dense(3, activation="softmax")], seed=1)
    model.compile(optimizer, loss="sparse_categorical_crossentropy")
    return model


@pytest.mark.parametrize(
    "optimizer", [SGD(0.1), SGD(0.1, momentum=0.9), Adam(0.01), SGD(0.1, clip_norm=0.01)], ids=repr
)
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_records_of_steps_change_nothing(optimizer: Any, dropout: float) -> None:
    watched, plain = network(optimizer, dropout=dropout), network(optimizer, dropout=dropout)
    records = list(watched.fit_stream(X, Y, every="step", epochs=3, batch_size=32))
    plain.fit(X, Y, epochs=3, batch_size=32, verbose=0)
    assert all(map(np.array_equal, watched.get_weights(), plain.get_weights()))
    assert [type(record) for record in records] == 3 * [Step, Step, Step, Epoch]


def test_a_step_of_gradient_descent_is_rate_times_gradient() -> None:
    model = network(SGD(0.1), dropout=0.5, l2=0.1)
    steps = [
        record for record in model.fit_stream(X, Y, every="step", epochs=2, batch_size=32) if isinstance(record, Step)
    ]
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        assert np.allclose(step.after, step.before - step.learning_rate * step.gradient, rtol=0, atol=1e-7)
        assert following is None or np.array_equal(step.after, following.before)
    assert np.array_equal(steps[-1].after, model.theta)
    assert [(step.epoch, step.step, step.steps, len(step.rows)) for step in steps[:4]] == [
        (1, 1, 3, 32), (1, 2, 3, 32), (1, 3, 3, 26), (2, 1, 3, 32),
    ]  # fmt: skip
    for epoch in (steps[:3], steps[3:]):
        assert np.array_equal(np.sort(np.concatenate([step.rows for step in epoch])), np.arange(90))


def test_loss_and_gradient_are_those_of_the_plain_network_on_the_rows_of_the_step() -> None:
    from linnet.plain.activations import ACTIVATIONS
    from linnet.plain.heads import Categorical
    from linnet.plain.mlp import MLP

    # Keras' penalty has no half
    plain = MLP([4, 6, 3], [ACTIVATIONS["tanh"], ACTIVATIONS["identity"]], Categorical(), l2=[0.2, 0.0])
    for step in network(Adam(0.05), l2=0.1).fit_stream(X, Y, every="step", epochs=2, batch_size=20):
        if isinstance(step, Step):
            x, t, w = X[step.rows].astype(float), np.eye(3)[Y[step.rows]], np.full(len(step.rows), 1 / len(step.rows))
            theta = step.before.astype(float)
            gradient = plain.gradient(theta, x, t, w) + plain.penalty_gradient(theta)
            assert np.allclose(step.gradient, gradient, rtol=1e-4, atol=1e-6)
            assert np.isclose(step.loss, w @ plain.losses(theta, x, t) + plain.penalty(theta), rtol=1e-5)
            weights, biases = step.blocks()[0]
            assert np.array_equal(weights, step.gradient[:24].reshape(4, 6))
            assert np.array_equal(biases, step.gradient[24:30])
            assert np.array_equal(step.blocks("after")[1].biases, step.after[-3:])


@pytest.mark.parametrize("early", [False, True])
def test_steps_of_estimators(early: bool) -> None:
    parameters: dict[str, Any] = {"hidden_layer_sizes": (5,), "max_iter": 4, "batch_size": 16, "random_state": 0}
    parameters |= {"early_stopping": early, "dropout": 0.2, "alpha": 0.01}
    watched, plain = MLPClassifier(**parameters), MLPClassifier(**parameters)
    records = list(watched.fit_stream(X, Y, every="step", sample_weight=RNG.uniform(size=90)))
    epochs = [record for record in records if isinstance(record, Epoch)]
    steps = [record for record in records if isinstance(record, Step)]
    assert len(steps) == sum(steps[0].steps for _ in epochs)
    for epoch in epochs:
        own = [step for step in steps if step.epoch == epoch.epoch]
        assert np.isclose(
            np.average([step.loss for step in own], weights=[len(step.rows) for step in own]), epoch.numbers["loss"]
        )
    for _ in plain.fit_stream(X, Y, sample_weight=np.random.default_rng(3).uniform(size=90)):
        pass
    assert len(plain.loss_curve_) == len(epochs)


def test_a_dispersion_that_is_estimated_between_epochs() -> None:
    counts = RNG.poisson(np.exp(X[:, 0]))
    model, other = (MLPRegressor("negative_binomial", max_iter=3, random_state=0) for _ in range(2))
    steps = [step for step in model.fit_stream(X, counts, every="step") if isinstance(step, Step)]
    for _ in other.fit_stream(X, counts):
        pass
    assert all(map(np.array_equal, model.coefs_, other.coefs_))
    assert len({step.network.head for step in steps}) == 3


def test_leaving_the_loop_in_the_middle_of_an_epoch_keeps_what_was_learned_before() -> None:
    model = network(SGD(0.1))
    for record in model.fit_stream(X, Y, every="step", epochs=2, batch_size=32):
        if isinstance(record, Step) and record.epoch == 2:
            break
    one = network(SGD(0.1))
    one.fit(X, Y, epochs=1, batch_size=32, verbose=0)
    assert all(map(np.array_equal, model.get_weights(), one.get_weights()))


def test_steps_of_the_perceptron_are_its_rule() -> None:
    model, other = Perceptron(max_iter=5), Perceptron(max_iter=5)
    labels = (Y > 0).astype(int)
    steps = [step for step in model.fit_stream(X, labels, every="step") if isinstance(step, Step)]
    assert np.array_equal(model.coef_, other.fit(X, labels).coef_)
    for step in steps:
        (row,), (w, b) = step.rows, step.blocks("before")[0]
        t = 1 if labels[row] else -1
        wrong = t * (X[row] @ w[:, 0] + b[0]) <= 0
        assert np.allclose(step.after[:-1] - step.before[:-1], t * X[row] * wrong)
        assert step.loss >= 0


def test_a_perceptron_left_early_keeps_whole_epochs_and_a_failed_one_stays() -> None:
    labels = RNG.integers(2, size=90)
    model = Perceptron(max_iter=5)
    for record in model.fit_stream(X, labels):
        if record.epoch == 2:
            break
    assert model.n_iter_ == 2
    assert np.array_equal(model.coef_, Perceptron(max_iter=2).fit(X, labels).coef_)
    kept = model.coef_
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((4, 4), np.nan), [0, 1, 0, 1])
    assert model.coef_ is kept


def test_every_is_epoch_or_step_and_for_one_network() -> None:
    with pytest.raises(ConfigError, match='every must be "epoch" or "step"'):
        network(SGD(0.1)).fit_stream(X, Y, every="batch")  # type: ignore[call-overload]
    with pytest.raises(ConfigError, match="one network"):
        MLPClassifier(preset="tabular").fit_stream(X, Y, every="step")
