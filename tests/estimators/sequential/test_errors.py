"""The errors of Sequential, after which the model is unchanged."""

from typing import Any, cast

import numpy as np
import pytest
import scipy.sparse

from linnet import (
    SGD,
    Dense,
    Dropout,
    EarlyStopping,
    Sequential,
    l2,
)
from linnet.errors import ConfigError, DataError, FitError

from .small_models import Array, clouds, small, softmax_model


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
    "fraction": (lambda x, y: (x, y + 0.5), "0.5 in row 0: class indices must be integers"),
    "names": (lambda x, y: (x, np.array(["a", "b"] * 100)), "np.unique"),
    "one-hot": (lambda x, y: (x, np.eye(3)[y]), "use loss='categorical_crossentropy'"),
    "rows": (lambda x, y: (x, y[:-1]), "y has 199 rows, but x has 200"),
    "empty": (lambda x, y: (x[:0], y[:0]), "x is empty"),
    "words": (lambda x, y: (np.array([["a"] * 6] * 200), y), "x contains 'a' in row 0, column 0"),
    "a huge number": (
        lambda x, y: (np.where(np.arange(6) == 4, 10**400, x.astype(object)), y),
        "x contains a number in row 0, column 4 that is too large for float64",
    ),
    "a huge label": (lambda x, y: (x, [*y[:-1], 10**400]), "y contains a number in row 199 that is too large"),
    "masked labels": (lambda x, y: (x, np.ma.masked_equal(y, 1)), "y is masked"),
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
        ("binary_crossentropy", "sigmoid", 2.0, "y contains 2 in row 0: binary targets must be between 0 and 1"),
        ("perceptron", "linear", 0.5, "y contains 0.5 in row 0: targets must be -1 or 1, or 0 or 1"),
        ("mse", "linear", np.nan, "y contains NaN in row 0"),
        ("mse", "linear", np.longdouble(1e100), r"y contains 1e\+100 in row 0, column 0, too large for float32"),
        pytest.param("mse", "linear", 10**400, "y contains a number in row 0 that is too large for float64", id="huge"),
    ],
)
def test_targets_outside_a_loss_are_refused(loss: str, activation: str, targets: Any, message: str) -> None:
    model = Sequential([Dense(1, activation, input_dim=6)])
    model.compile(loss=loss)
    with pytest.raises(DataError, match=message):
        model.fit(clouds()[0], np.full(200, targets), verbose=0)


@pytest.mark.parametrize(
    ("loss", "activation", "message"),
    [
        ("categorical_crossentropy", "sigmoid", "needs activation='softmax'.*'sigmoid' is for binary cross-entropy"),
        ("binary_crossentropy", "softmax", "needs activation='sigmoid'.*'softmax' is for categorical cross-entropy"),
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
    "units": (lambda m, x, y: Dense(0), "units must be an integer of at least 1"),
    "dropout": (lambda m, x, y: Dropout(1.0), "below 1"),
    "regularizer": (lambda m, x, y: Dense(1, kernel_regularizer=cast(Any, 0.1)), "must be l1"),
    "penalty": (lambda m, x, y: l2(-1), "at least 0"),
    "metric": (lambda m, x, y: m.compile(loss="mse", metrics=["acuracy"]), "did you mean 'accuracy'"),
    "same metric": (lambda m, x, y: m.compile(loss="mse", metrics=["mae", "mae"]), "already a metric named 'mae'"),
    "epochs": (lambda m, x, y: m.fit(x, y, epochs=0), "epochs must be an integer of at least 1"),
    "batch": (lambda m, x, y: m.fit(x, y, batch_size=0), "batch_size must be an integer of at least 1"),
    "threads": (lambda m, x, y: m.fit(x, y, threads=0), "threads must be an integer from 1 to 1024"),
    "verbose": (lambda m, x, y: m.fit(x, y, verbose=3), "verbose must be"),
    "split": (lambda m, x, y: m.fit(x, y, validation_split=1.5), "between 0 and 1"),
    "no name": (lambda m, x, y: EarlyStopping(monitor=cast(Any, 3)), "monitor must be a name, .* got 3"),
    "callbacks": (lambda m, x, y: m.fit(x, y, callbacks=5), "EarlyStopping and one ReduceLROnPlateau, got 5"),
    "metrics": (lambda m, x, y: m.compile(loss="mse", metrics=5), "a metric must be a name or a function.* got 5"),
    "heavy class": (
        lambda m, x, y: m.fit(x, y, class_weight={1: 1e200}),
        "class_weight of class 1 gives .* too large for",
    ),
    "heavy rows": (
        lambda m, x, y: m.fit(x, y, class_weight={2: 1e30}, sample_weight=np.full(200, 1e30)),
        r"class_weight of class 2 gives row 2 the weight 1e\+60, too large for float32",
    ),
    "monitor": (lambda m, x, y: m.fit(x, y, callbacks=EarlyStopping()), "there are no validation rows"),
    "callback": (lambda m, x, y: m.fit(x, y, callbacks=[print]), "EarlyStopping and one ReduceLROnPlateau"),
    "class": (lambda m, x, y: m.fit(x, y, class_weight={7: 1.0}), "names 7, which is not a class"),
    "layers": (lambda m, x, y: Sequential(cast(Any, Dense(3))), "layers must be a list"),
    "top": (
        lambda m, x, y: Sequential([Dense(3), Dropout(0.5)]).compile(loss="mse"),
        "must not follow the last Dense layer",
    ),
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
    with pytest.raises(DataError, match="there is nothing to learn from"):
        model.fit(x, y, sample_weight=(np.arange(200) >= 160) * 1.0, validation_split=0.2)


@pytest.mark.parametrize(
    ("validation", "message"),
    [
        (lambda x, y: (x, y[:5]), "^validation y has 5 rows, but validation x has 200"),
        (lambda x, y: (x, y, np.ones(5)), "^validation sample_weight has 5 rows, but validation x has 200"),
        (lambda x, y: (x, y, np.full(200, -1)), "^validation sample_weight contains -1 in row 0"),
        (lambda x, y: (x, y, np.ma.masked_less(np.arange(200), 7)), "^validation sample_weight is masked"),
    ],
)
def test_what_is_wrong_with_validation_data_is_said_of_validation_data(validation: Any, message: str) -> None:
    x, y = clouds()
    with pytest.raises(DataError, match=message):
        softmax_model().fit(x, y, validation_data=validation(x, y), verbose=0)


def test_weights_that_are_no_numbers_are_refused() -> None:
    model = small(Dense(2, input_dim=3), "mse")
    before = model.get_weights()
    bad: list[tuple[Any, str]] = [
        (np.full((3, 2), "a"), r"weights\[0\] has type <U1: it must hold numbers"),
        (np.zeros((3, 2), complex), r"weights\[0\] has type complex128"),
        ([[1, 2], [3]], r"weights\[0\] is not an array"),
        (np.eye(3, 2) * 1e200, r"weights\[0\] contains 1e\+200 in row 0, column 0, too large for float32"),
        (np.where(np.eye(3, 2) > 0, np.nan, 0), r"weights\[0\] contains NaN in row 0, column 0"),
    ]
    for weights, message in bad:
        with pytest.raises(DataError, match=message):
            model.set_weights([weights, np.zeros(2)])
    for a, b in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("y", [np.resize([-1, 0, 1], 200), np.resize([[1, -1], [0, 1]], (200, 2))], ids=["one", "two"])
def test_minus_one_and_zero_are_not_both_a_no(y: Array) -> None:
    x, _ = clouds()
    units = y.reshape(200, -1).shape[1]
    with pytest.raises(DataError, match=r"contains 0 in row 1\b.*: targets must be -1 or 1, or 0 or 1"):
        small(Dense(units), "perceptron").fit(x, y, verbose=0)
    with pytest.raises(ConfigError, match="class_weight needs one class per row"):
        small(Dense(units), "mse").fit(x, y, class_weight={0: 2.0}, verbose=0)
