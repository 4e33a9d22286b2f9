"""Sequential as a user meets it: the lecture's program, and what it returns."""

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import f1_score

from linnet import (
    SGD,
    Adam,
    Cosine,
    Dense,
    Dropout,
    EarlyStopping,
    Input,
    NamedMetric,
    ReduceLROnPlateau,
    Sequential,
)
from linnet.errors import DataError

from .small_models import Array, clouds, small, softmax_model


def test_the_lecture_program_runs_unchanged() -> None:
    rng = np.random.default_rng(0)
    x_train, x_test = rng.random((320, 784), np.float32), rng.random((64, 784), np.float32)
    y_train, y_test = np.eye(10)[rng.integers(0, 10, 320)], np.eye(10)[rng.integers(0, 10, 64)]
    model = Sequential()
    model.add(Dense(10, input_dim=784, activation="relu"))
    model.add(Dense(10, activation="softmax"))
    model.compile(optimizer=SGD(lr=0.1), loss="categorical_crossentropy", metrics=["categorical_accuracy"])
    traj = model.fit(
        x_train, y_train, epochs=5, batch_size=32, validation_data=(x_test, y_test), shuffle=True, verbose=0
    )
    assert set(traj.history) == {"loss", "categorical_accuracy", "val_loss", "val_categorical_accuracy"}
    assert all(len(values) == 5 for values in traj.history.values())
    assert model.count_params() == 7960
    assert traj.history["loss"][-1] < traj.history["loss"][0]


def test_fit_learns_and_evaluate_and_predict_agree_with_each_other() -> None:
    x, y = clouds()
    model = softmax_model(metrics=["accuracy", "macro_f1"])
    history = model.fit(x, y, epochs=30, verbose=0, validation_data=(x, y))
    mean = model.predict(x)
    assert mean.shape == (200, 3)
    assert mean.dtype == np.float32
    np.testing.assert_allclose(mean.sum(axis=1), 1, rtol=1e-6)
    loss, accuracy, f1 = model.evaluate(x, y)  # type: ignore[misc]
    assert accuracy == (mean.argmax(axis=1) == y).mean() > 0.9
    assert loss == pytest.approx(-np.log(mean[np.arange(200), y]).mean(), rel=1e-5)
    assert [loss, accuracy, f1] == [history.history["val_" + name][-1] for name in ("loss", "accuracy", "macro_f1")]
    assert model.evaluate(x, y, return_dict=True) == {"loss": loss, "accuracy": accuracy, "macro_f1": f1}


def test_two_fits_are_one_long_fit() -> None:
    x, y = clouds()
    once, twice = softmax_model(), softmax_model()
    for model in (once, twice):
        model.compile(Adam(Cosine(0.01, epochs=6)), loss="sparse_categorical_crossentropy")
    long = once.fit(x, y, epochs=6, verbose=0)
    first, second = twice.fit(x, y, epochs=2, verbose=0), twice.fit(x, y, epochs=4, verbose=0)
    assert long.history["loss"] == first.history["loss"] + second.history["loss"]
    for a, b in zip(once.get_weights(), twice.get_weights(), strict=True):
        assert a.tobytes() == b.tobytes()


def test_fit_stream_yields_what_fit_records() -> None:
    x, y = clouds()
    whole, streamed = softmax_model(metrics="accuracy"), softmax_model(metrics="accuracy")
    history = whole.fit(x, y, epochs=4, verbose=0).history
    records = list(streamed.fit_stream(x, y, epochs=4))
    assert [record.epoch for record in records] == [1, 2, 3, 4]
    assert [record.numbers["accuracy"] for record in records] == history["accuracy"]
    for a, b in zip(whole.get_weights(), streamed.get_weights(), strict=True):
        assert a.tobytes() == b.tobytes()


def test_a_stream_left_early_leaves_the_model_with_what_it_learned() -> None:
    x, y = clouds()
    model, reference = softmax_model(), softmax_model()
    stream = model.fit_stream(x, y, epochs=10)
    next(stream)
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    reference.fit(x, y, epochs=2, verbose=0)
    for a, b in zip(model.get_weights(), reference.get_weights(), strict=True):
        assert a.tobytes() == b.tobytes()


def test_weights_go_in_and_out_in_keras_shapes_and_order() -> None:
    model = Sequential([Input(4), Dense(3, "relu"), Dropout(0.5), Dense(2, use_bias=False)])
    shapes = [array.shape for array in model.get_weights()]
    assert shapes == [(4, 3), (3,), (3, 2)]
    assert model.count_params() == 4 * 3 + 3 + 3 * 2
    given = [np.full(shape, i + 1.0) for i, shape in enumerate(shapes)]
    model.set_weights(given)
    for array, back in zip(given, model.get_weights(), strict=True):
        np.testing.assert_array_equal(array, back)
    with pytest.raises(DataError, match=r"shapes \[\(4, 3\), \(3,\), \(3, 2\)\]"):
        model.set_weights(given[:2])


def test_biases_that_are_switched_off_stay_zero() -> None:
    x, y = clouds()
    model = Sequential([Dense(3, "softmax", use_bias=False, input_dim=6)])
    model.compile("adam", loss="sparse_categorical_crossentropy")
    model.fit(x, y, epochs=2, verbose=0)
    shifted = model.predict(np.zeros((1, 6)))
    np.testing.assert_allclose(shifted, 1 / 3, rtol=1e-6)


def test_validation_split_holds_out_the_last_rows() -> None:
    x, y = clouds()
    split, given = softmax_model(), softmax_model()
    a = split.fit(x, y, epochs=3, validation_split=0.25, verbose=0).history
    b = given.fit(x[:150], y[:150], epochs=3, validation_data=(x[150:], y[150:]), verbose=0).history
    assert a == b


def test_class_weight_is_a_weight_on_each_row_of_the_class() -> None:
    x, y = clouds()
    by_class, by_row = softmax_model(), softmax_model()
    weight = {0: 2.0, 2: 0.5}
    rows = np.array([weight.get(label, 1.0) for label in y])
    a = by_class.fit(x, y, epochs=3, class_weight=weight, verbose=0).history
    b = by_row.fit(x, y, epochs=3, sample_weight=rows, verbose=0).history
    assert a == b


@pytest.mark.parametrize(
    ("loss", "activation", "no"),
    [
        ("mse", None, 0.0),
        ("mse", "tanh", -1.0),
        ("mae", None, 0.0),
        ("perceptron", None, 0.0),
        ("perceptron", None, -1.0),
        ("binary_crossentropy", "sigmoid", 0.0),
        ("poisson", "exponential", 0.0),
    ],
)
def test_class_weight_takes_one_hot_rows_under_every_loss(loss: str, activation: str | None, no: float) -> None:
    x, y = clouds()
    hot = np.where(y[:, None] == np.arange(3), 1.0, no)
    weight = {0: 0.5, 2: 3.0}
    by_class, by_row = (small(Dense(3, activation), loss) for _ in range(2))
    a = by_class.fit(x, hot, epochs=2, class_weight=weight, verbose=0).history
    b = by_row.fit(x, hot, epochs=2, sample_weight=[weight.get(k, 1.0) for k in y], verbose=0).history
    assert a == b


def test_balanced_class_weight_gives_every_class_the_same_total() -> None:
    x, y = clouds()
    keep = (y != 0) | (np.arange(len(y)) < 30)  # few rows of class 0
    x, y = x[keep], y[keep]
    counts = np.bincount(y)
    balanced, by_hand = softmax_model(), softmax_model()
    a = balanced.fit(x, y, epochs=3, class_weight="balanced", verbose=0).history
    weights = (len(y) / (3 * counts))[y]
    b = by_hand.fit(x, y, epochs=3, sample_weight=weights, verbose=0).history
    assert a == b


def test_balanced_class_weight_counts_the_weights_of_rows() -> None:
    x, y = clouds()
    own = np.where(y == 2, 4.0, 1.0) * (1 + np.arange(len(y)) % 2)
    balanced, by_hand = softmax_model(), softmax_model()
    a = balanced.fit(x, y, epochs=3, class_weight="balanced", sample_weight=own, verbose=0).history
    totals = np.bincount(y, own)
    b = by_hand.fit(x, y, epochs=3, sample_weight=own * (totals.mean() / totals)[y], verbose=0).history
    assert np.allclose(a["loss"], b["loss"], rtol=1e-6)


def test_early_stopping_keeps_the_best_epoch() -> None:
    x, _ = clouds()
    rng = np.random.default_rng(1)
    model = softmax_model(metrics=["accuracy"])
    noise = rng.integers(0, 3, 60)  # nothing to be learned: the validation loss soon rises
    history = model.fit(
        x[:60],
        noise,
        epochs=200,
        batch_size=8,
        validation_data=(x[60:], rng.integers(0, 3, 140)),
        callbacks=[EarlyStopping(patience=5)],
        verbose=0,
    )
    losses = history.history["val_loss"]
    best = int(np.argmin(losses))
    assert len(losses) == best + 1 + 5 < 200
    assert "did not improve for 5 epochs" in history.stop_reason
    again = softmax_model()
    again.fit(x[:60], noise, epochs=best + 1, batch_size=8, verbose=0)
    for a, b in zip(model.get_weights(), again.get_weights(), strict=True):
        assert a.tobytes() == b.tobytes()


def test_learning_rate_falls_on_a_plateau() -> None:
    x, y = clouds()
    model = softmax_model()
    rule = ReduceLROnPlateau(monitor="loss", patience=2, min_delta=10.0, factor=0.5)  # nothing is good enough
    rates = [record.learning_rate for record in model.fit_stream(x, y, epochs=7, callbacks=rule)]
    assert rates == pytest.approx([0.1, 0.1, 0.1, 0.05, 0.05, 0.025, 0.025])


def test_metrics_may_be_functions_with_a_direction() -> None:
    x, y = clouds()

    def largest(targets: Array, mean: Array) -> float:
        return float(mean.max())

    model = softmax_model(metrics=[largest, NamedMetric("wrong", lambda m, rows: 1.0, greater_is_better=False)])
    history = model.fit(x, y, epochs=2, verbose=0, validation_data=(x, y))
    assert history.history["val_largest"][-1] == pytest.approx(model.predict(x).max())
    assert history.history["wrong"] == [1.0, 1.0]


@pytest.mark.parametrize("loss", ["mse", "mae"])
@pytest.mark.parametrize("activation", ["linear", "sigmoid", "tanh", "softmax", "exponential", "gelu"])
def test_squared_and_absolute_error_go_with_any_activation(loss: str, activation: str) -> None:
    x, y = clouds()
    model = Sequential([Dense(3, activation, input_dim=6)])
    model.compile(SGD(0.05), loss=loss)
    losses = model.fit(x, np.eye(3)[y], epochs=20, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    mean = model.predict(x)
    error = mean - np.eye(3)[y]
    expected = np.square(error).mean() if loss == "mse" else np.abs(error).mean()
    assert model.evaluate(x, np.eye(3)[y]) == pytest.approx(expected, rel=1e-5)


def test_summary_lists_layers_and_parameters() -> None:
    lines: list[str] = []
    Sequential([Dense(4, "relu", input_dim=3), Dropout(0.1), Dense(2)]).summary(lines.append)
    assert "Dense (relu)" in lines[0]
    assert "Total parameters: 26" in lines[0]


def test_verbose_shows_lines_or_a_bar(capsys: pytest.CaptureFixture[str]) -> None:
    x, y = clouds()
    softmax_model().fit(x, y, epochs=2, verbose=2)
    assert "Epoch 2:" in capsys.readouterr().out
    softmax_model().fit(x, y, epochs=2, verbose=1)
    assert "2/2" in capsys.readouterr().out
    softmax_model().fit(x, y, epochs=2)  # not a terminal
    assert capsys.readouterr().out == ""


def test_zero_weights_in_a_hidden_layer_warn_and_say_why() -> None:
    x, y = clouds()
    model = Sequential([Dense(4, "relu", kernel_initializer="zeros", input_dim=6), Dense(3, "softmax")])
    model.compile(loss="sparse_categorical_crossentropy")
    with pytest.warns(UserWarning, match="learn different features"):
        model.fit(x, y, verbose=0)
    linear = Sequential([Dense(3, "softmax", kernel_initializer="zeros", input_dim=6)])
    linear.compile(loss="sparse_categorical_crossentropy")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        linear.fit(x, y, verbose=0)  # a fine start for a linear model


def test_perceptron_separates_and_takes_class_numbers_or_one_hot() -> None:
    x, y = clouds()
    results = []
    for targets in (y, np.eye(3)[y]):
        model = Sequential([Dense(3, input_dim=6)])
        model.compile(SGD(0.1), loss="perceptron", metrics=["accuracy"])
        history = model.fit(x, targets, epochs=10, batch_size=1, verbose=0).history
        assert history["accuracy"][-1] > 0.9
        results.append(history)
    assert results[0] == results[1]


# ---- weights, metrics, streams and odd arguments ----


def test_class_weights_may_have_keys_of_any_kind_of_number() -> None:
    x, y = clouds()
    losses = set()
    for weights in ({0: 1.0, 1: 10.0}, {False: 1.0, True: 10.0}, {0.0: 1.0, 1.0: 10.0}):
        model = small(Dense(1, "sigmoid", kernel_initializer="zeros"), "binary_crossentropy", optimizer=SGD(1e-9))
        losses.add(model.fit(x, y > 0, batch_size=200, class_weight=weights, verbose=0).history["loss"][0])  # type: ignore[arg-type]
    assert len(losses) == 1


def test_class_weights_stay_out_of_validation() -> None:
    x, y = clouds()
    results = []
    for how in ({"validation_split": 0.2}, {"validation_data": (x[160:], y[160:])}):
        model = small(Dense(3, "softmax", input_dim=6), "sparse_categorical_crossentropy", optimizer="sgd")
        rows = slice(None) if "validation_split" in how else slice(160)
        history = model.fit(x[rows], y[rows], class_weight={0: 10.0}, shuffle=False, verbose=0, **how)
        results.append(history.history)
    assert results[0] == results[1]


def test_a_class_that_is_absent_may_have_a_weight() -> None:
    x, y = clouds()
    model = small(Dense(3, "softmax"), "sparse_categorical_crossentropy")
    history = model.fit(x, np.minimum(y, 1), class_weight={2: 5.0}, verbose=0).history
    plain = small(Dense(3, "softmax"), "sparse_categorical_crossentropy")
    assert plain.fit(x, np.minimum(y, 1), verbose=0).history == history


def test_a_metric_function_gets_the_targets_as_they_were_given() -> None:
    x, y = clouds()

    def hits(t: Any, mean: Any) -> float:
        return float((t.argmax(1) == mean.argmax(1)).mean())

    model = small(Dense(3, "softmax"), "categorical_crossentropy", metrics=hits)
    assert model.fit(x, np.eye(3)[y], verbose=0).history.keys() == {"loss", "hits"}


def test_macro_f1_of_independent_outputs_is_scikit_learns() -> None:
    x, _ = clouds()
    y = (np.random.default_rng(0).random((200, 3)) > 0.5) * 1.0
    model = small(Dense(3, "sigmoid"), "binary_crossentropy", optimizer=SGD(1.0), metrics=["macro_f1"])
    model.fit(x, y, epochs=20, verbose=0)
    expected = f1_score(y, model.predict(x) > 0.5, average="macro")
    assert model.evaluate(x, y, return_dict=True)["macro_f1"] == pytest.approx(expected)


def test_a_stream_hands_over_its_parameters_epoch_by_epoch() -> None:
    x, y = clouds()
    model = small(Dense(3, "softmax", input_dim=6), "sparse_categorical_crossentropy", optimizer="sgd")
    first = model.get_weights()[0]
    stream = model.fit_stream(x, y, epochs=5)
    next(stream)
    second = model.get_weights()[0]
    assert not np.array_equal(first, second)
    model.fit(x, y, epochs=3, verbose=0)
    later = model.get_weights()[0]
    del stream  # one that was left behind does not undo what came after it
    np.testing.assert_array_equal(model.get_weights()[0], later)


def test_a_layer_on_top_leaves_what_is_below_as_it_was() -> None:
    x, y = clouds()
    model = small(Dense(4, "tanh"), "mse")
    model.fit(x, np.eye(4)[y], epochs=3, verbose=0)
    learned, below = model.get_weights(), model.predict(x)
    model.add(Dropout(0.5))
    model.add(Dense(3, "softmax"))
    model.compile(loss="sparse_categorical_crossentropy")
    w, b = model.get_weights()[2:]
    assert w.any()
    assert not b.any()
    for before, after in zip(learned, model.get_weights()[:2], strict=True):
        np.testing.assert_array_equal(before, after)
    z = below.astype(np.float64) @ w
    expected = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict(x), expected, rtol=1e-5)
    assert model.fit(x, y, epochs=5, verbose=0).history["loss"][-1] < 2


def test_class_numbers_may_be_objects() -> None:
    x, y = clouds()
    plain, objects = softmax_model(), softmax_model()
    assert plain.fit(x, y, verbose=0).history == objects.fit(x, y.astype(object), verbose=0).history
