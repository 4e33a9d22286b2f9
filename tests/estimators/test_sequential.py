"""Sequential as a user meets it: the lecture's program, what it returns, and what it says when something is wrong."""

import warnings
from typing import Any, cast

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray
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
    l2,
)
from linnet.errors import ConfigError, DataError, FitError

Array = NDArray[Any]


def clouds(rows: int = 200, columns: int = 6, classes: int = 3) -> tuple[Array, Array]:
    """Three clouds of points and their class numbers."""
    rng = np.random.default_rng(0)
    labels = np.arange(rows) % classes
    centres = 2 * rng.normal(size=(classes, columns))
    return (centres[labels] + rng.normal(size=(rows, columns))).astype(np.float32), labels


def softmax_model(**options: Any) -> Sequential:
    model = Sequential([Dense(8, "relu", input_dim=6), Dense(3, "softmax")])
    model.compile(SGD(0.1), loss="sparse_categorical_crossentropy", **options)
    return model


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


def test_divergence_is_an_error_that_changes_nothing() -> None:
    x, y = clouds()
    model = Sequential([Dense(1, input_dim=6)])
    model.compile(SGD(10.0), loss="mse")
    before = model.get_weights()
    with pytest.raises(FitError, match=r"non-finite at epoch 1, step \d+; lower learning_rate from 10") as caught:
        model.fit(100 * x, y, epochs=5, verbose=0)
    assert caught.value.history is not None
    for a, b in zip(before, model.get_weights(), strict=True):
        assert a.tobytes() == b.tobytes()
    assert np.isfinite(model.predict(x)).all()


BAD_DATA: dict[str, tuple[Any, str]] = {
    "NaN": (lambda x, y: (np.where(np.arange(6) == 2, np.nan, x), y), r"x contains NaN in row 0, column 2"),
    "infinity": (lambda x, y: (np.where(np.eye(200, 6) > 0, np.inf, x), y), r"infinity in row 0, column 0"),
    "columns": (lambda x, y: (x[:, :5], y), "x has 5 columns, but the model takes 6"),
    "one dimension": (lambda x, y: (x[0], y), r"x.reshape\(1, -1\)"),
    "images": (lambda x, y: (x.reshape(200, 2, 3), y), r"x.reshape\(len\(x\), -1\)"),
    "label": (lambda x, y: (x, np.where(np.arange(200) == 7, 3, y)), "class 3 in row 7.*0 to 2"),
    "negative label": (lambda x, y: (x, y - 1), "class -1 in row 0"),
    "fraction": (lambda x, y: (x, y + 0.5), "0.5 in row 0: class numbers must be whole"),
    "names": (lambda x, y: (x, np.array(["a", "b"] * 100)), "np.unique"),
    "one-hot": (lambda x, y: (x, np.eye(3)[y]), "use loss='categorical_crossentropy'"),
    "rows": (lambda x, y: (x, y[:-1]), "y has 199 rows, but x has 200"),
    "empty": (lambda x, y: (x[:0], y[:0]), "x is empty"),
    "words": (lambda x, y: (np.array([["a"] * 6] * 200), y), "x contains 'a' in row 0, column 0"),
}


@pytest.mark.parametrize("kind", BAD_DATA)
def test_bad_data_is_a_clear_error_and_changes_nothing(kind: str) -> None:
    spoil, message = BAD_DATA[kind]
    x, y = spoil(*clouds())
    model = softmax_model()
    before = model.get_weights()
    with pytest.raises(DataError, match=message):
        model.fit(x, y, verbose=0)
    for a, b in zip(before, model.get_weights(), strict=True):
        assert a.tobytes() == b.tobytes()
    model.fit(*clouds(), verbose=0)


def test_a_failed_first_fit_does_not_fix_the_number_of_columns() -> None:
    x, y = clouds()
    model = Sequential([Dense(3, "softmax")])
    model.compile(loss="sparse_categorical_crossentropy")
    with pytest.raises(DataError):
        model.fit(x, y + 5, verbose=0)
    model.fit(x[:, :4], y, verbose=0)
    assert model.count_params() == 15


@pytest.mark.parametrize(
    ("loss", "activation", "targets", "message"),
    [
        ("poisson", "exponential", -1.0, "y contains -1 in row 0: counts must be at least 0"),
        ("binary_crossentropy", "sigmoid", 2.0, "y contains 2 in row 0: yes/no targets must be between 0 and 1"),
        ("perceptron", "linear", 0.5, "y contains 0.5 in row 0: targets must be -1 or 1, or 0 or 1"),
        ("mse", "linear", np.nan, "y contains NaN in row 0"),
    ],
)
def test_targets_outside_a_loss_are_refused(loss: str, activation: str, targets: float, message: str) -> None:
    model = Sequential([Dense(1, activation, input_dim=6)])
    model.compile(loss=loss)
    with pytest.raises(DataError, match=message):
        model.fit(clouds()[0], np.full(200, targets), verbose=0)


@pytest.mark.parametrize(
    ("loss", "activation", "message"),
    [
        ("categorical_crossentropy", "sigmoid", "needs activation='softmax'.*'sigmoid' goes with binary cross-entropy"),
        ("binary_crossentropy", "softmax", "needs activation='sigmoid'.*'softmax' goes with categorical cross-entropy"),
        ("poisson", "relu", "needs activation='exponential' on the last layer, which has 'relu'"),
        ("sparse_categorical_crossentropy", None, "needs activation='softmax' on the last layer, which has none"),
    ],
)
def test_a_pair_without_meaning_names_the_right_one(loss: str, activation: str | None, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Sequential([Dense(3, activation, input_dim=6)]).compile(loss=loss)


BAD_SETTINGS: dict[str, tuple[Any, str]] = {
    "loss": (lambda m, x, y: m.compile(loss="categorical_crosentropy"), "did you mean 'categorical_crossentropy'"),
    "optimizer": (lambda m, x, y: m.compile("adm", loss="mse"), "did you mean 'adam'"),
    "rate": (lambda m, x, y: SGD(-1), "learning_rate must be above 0"),
    "activation": (lambda m, x, y: Dense(3, "rleu"), "did you mean 'relu'"),
    "units": (lambda m, x, y: Dense(0), "units must be a whole number of at least 1"),
    "dropout": (lambda m, x, y: Dropout(1.0), "below 1"),
    "regularizer": (lambda m, x, y: Dense(1, kernel_regularizer=cast(Any, 0.1)), "must be l1"),
    "penalty": (lambda m, x, y: l2(-1), "at least 0"),
    "metric": (lambda m, x, y: m.compile(loss="mse", metrics=["acuracy"]), "did you mean 'accuracy'"),
    "same metric": (lambda m, x, y: m.compile(loss="mse", metrics=["mae", "mae"]), "'mae' is there already"),
    "epochs": (lambda m, x, y: m.fit(x, y, epochs=0), "epochs must be a whole number of at least 1"),
    "batch": (lambda m, x, y: m.fit(x, y, batch_size=0), "batch_size must be a whole number of at least 1"),
    "threads": (lambda m, x, y: m.fit(x, y, threads=0), "threads must be a whole number from 1 to 1024"),
    "verbose": (lambda m, x, y: m.fit(x, y, verbose=3), "verbose must be"),
    "split": (lambda m, x, y: m.fit(x, y, validation_split=1.5), "between 0 and 1"),
    "monitor": (lambda m, x, y: m.fit(x, y, callbacks=EarlyStopping()), "there are no validation rows"),
    "callback": (lambda m, x, y: m.fit(x, y, callbacks=[print]), "EarlyStopping and one ReduceLROnPlateau"),
    "class": (lambda m, x, y: m.fit(x, y, class_weight={7: 1.0}), "names class 7, but the classes are 0 to 2"),
    "layers": (lambda m, x, y: Sequential(cast(Any, Dense(3))), "layers must be a list"),
    "top": (lambda m, x, y: Sequential([Dense(3), Dropout(0.5)]).compile(loss="mse"), "no meaning on top"),
    "empty": (lambda m, x, y: Sequential().compile(loss="mse"), "no Dense layer"),
    "not compiled": (lambda m, x, y: Sequential([Dense(3)]).fit(x, y), "compile the model first"),
    "one softmax unit": (lambda m, x, y: _fit_one_softmax_unit(x, y), "always 1"),
    "seed": (lambda m, x, y: Sequential(seed=-1), "seed must be"),
}


def _fit_one_softmax_unit(x: Array, y: Array) -> None:
    model = Sequential([Dense(1, "softmax")])
    model.compile(loss="categorical_crossentropy")
    model.fit(x, np.ones((200, 1)))


@pytest.mark.parametrize("kind", BAD_SETTINGS)
def test_bad_settings_are_clear_errors(kind: str) -> None:
    act, message = BAD_SETTINGS[kind]
    with pytest.raises(ConfigError, match=message):
        act(softmax_model(), *clouds())


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


def small(last: Dense, loss: str, **options: Any) -> Sequential:
    model = Sequential([last])
    model.compile(loss=loss, **options)
    return model


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


def test_a_refused_table_leaves_no_trace() -> None:
    x, y = clouds()
    model = small(Dense(3, "softmax"), "sparse_categorical_crossentropy")
    with pytest.raises(ConfigError):
        model.fit(np.ones((10, 9)), np.zeros(10, int), threads=0)
    model.fit(x, y, verbose=0)


def test_divergence_in_a_later_epoch_changes_nothing() -> None:
    x, y = clouds()
    model = small(Dense(1, input_dim=6), "mse", optimizer=SGD(1e3))
    before = model.get_weights()
    with pytest.raises(FitError, match=r"non-finite at epoch [2-9]"):
        model.fit(x, y, epochs=100, batch_size=200, verbose=0)
    for a, b in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_divergence_in_a_large_batch_names_its_step() -> None:
    model = small(Dense(1), "mse")
    with pytest.raises(FitError, match="epoch 1, step 1;"):
        model.fit(np.full((2000, 4), 1e30), np.ones(2000), batch_size=2000, verbose=0)


def test_numpys_numbers_are_numbers() -> None:
    x, y = clouds()
    model = small(Dense(3, "softmax", input_dim=np.int64(6)), "sparse_categorical_crossentropy")  # type: ignore[arg-type]
    numbers = model.fit(x, y, shuffle=np.True_, verbose=0).history  # type: ignore[arg-type]
    plain = small(Dense(3, "softmax", input_dim=6), "sparse_categorical_crossentropy")
    assert plain.fit(x, y, verbose=0).history == numbers


def test_data_that_hide_something_are_refused() -> None:
    x, y = clouds()
    model = small(Dense(3, "softmax"), "sparse_categorical_crossentropy")
    with pytest.raises(DataError, match="x is empty"):
        model.fit([], [])
    with pytest.raises(DataError, match="sparse"):
        model.fit(scipy.sparse.csr_array(x), y)
    with pytest.raises(DataError, match="masked"):
        model.fit(np.ma.masked_greater(x, 0), y)
    with pytest.raises(DataError, match="nothing is left to learn from"):
        model.fit(x, y, sample_weight=(np.arange(200) >= 160) * 1.0, validation_split=0.2)
