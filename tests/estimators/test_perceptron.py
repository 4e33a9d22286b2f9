"""The perceptron: the mistake-driven rule."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.datasets import load_iris

import linnet
from linnet.errors import ConfigError, DataError


def test_the_perceptron_stops_when_it_makes_no_mistake() -> None:
    x, y = load_iris(return_X_y=True)
    model = linnet.Perceptron().fit(x[:100], y[:100])
    assert model.mistakes_[-1] == 0
    assert all(model.mistakes_[:-1])
    assert model.score(x[:100], y[:100]) == 1
    overlapping = linnet.Perceptron(max_iter=7).fit(x, y)
    assert overlapping.n_iter_ == len(overlapping.mistakes_) == 7
    assert overlapping.score(x, y) > 0.6


def test_the_perceptron_is_the_rule_of_the_textbook() -> None:
    rng = np.random.default_rng(7)
    x = rng.normal(size=(60, 3))
    t = np.where(x @ [1.0, -2.0, 0.5] + 0.3 + rng.normal(size=60) > 0, 1.0, -1.0)
    w, b, mistakes = np.zeros(3), 0.0, []
    for _ in range(5):
        wrong = 0
        for row, sign in zip(x, t, strict=True):
            if sign * (row @ w + b) <= 0:
                w, b, wrong = w + sign * row, b + sign, wrong + 1
        mistakes.append(wrong)
    model = linnet.Perceptron(max_iter=5, shuffle=False).fit(x, t)
    assert model.mistakes_ == mistakes
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-12)
    assert model.intercept_[0] == pytest.approx(b)


def test_a_perceptron_that_fails_is_as_it_was() -> None:
    x, y = load_iris(return_X_y=True)
    model = linnet.Perceptron(max_iter=5).fit(x[:100], y[:100])
    before = {name: np.copy(value) for name, value in vars(model).items() if name.endswith("_")}
    for bad in ({"y": y[:99]}, {"X": x[:, :2] * np.nan}):
        with pytest.raises(DataError):
            model.fit(**{"X": x, "y": y, **bad})
    for name, value in before.items():
        np.testing.assert_array_equal(getattr(model, name), value)


def test_parameters_of_the_perceptron() -> None:
    x, y = load_iris(return_X_y=True)
    one = linnet.Perceptron(random_state=np.random.RandomState(3), max_iter=3).fit(x, y)
    same = linnet.Perceptron(random_state=np.random.RandomState(3), max_iter=3).fit(x, y)
    np.testing.assert_array_equal(one.coef_, same.coef_)
    weighed = linnet.Perceptron(class_weight={0: 2.0, 1: 1, 2: 0.5}, max_iter=3).fit(x, y)
    plain = linnet.Perceptron(max_iter=3).fit(x, y)
    assert not np.array_equal(weighed.coef_, plain.coef_)
    twice = linnet.Perceptron(class_weight={0: 2.0, 1: 2.0, 2: 2.0}, max_iter=3).fit(x, y)
    np.testing.assert_allclose(twice.coef_, 2 * plain.coef_)
    apart = linnet.Perceptron(warm_start=True).fit(x, y == 0)
    assert apart.fit(x, y == 0).mistakes_ == [0], "it goes on from where it makes none"
    for name, values in {
        "random_state": (-1, "a"),
        "max_iter": (0, 1.5),
        "eta0": (0, -1, np.nan),
        "shuffle": (1,),
        "fit_intercept": ("yes",),
        "class_weight": ("a", {9: 1}),
    }.items():
        for value in values:
            with pytest.raises(ConfigError, match=name):
                linnet.Perceptron(**{name: value}).fit(x, y)  # type: ignore[arg-type]


def test_levels_and_gaps_are_columns_of_the_rule() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "b": np.array(["x", "y", None], object)[rng.integers(0, 3, 200)],
            "a": np.where(rng.random(200) < 0.2, np.nan, 1.5),
        }
    )
    frame["a"] *= rng.normal(size=200)
    y = np.where(frame["b"].eq("x") ^ (rng.random(200) < 0.1), "yes", "no")
    model = linnet.Perceptron(max_iter=9, missing="fill").fit(frame, y)
    assert model.get_feature_names_out().tolist() == ["b=x", "b=y", "b missing", "a", "a missing"]
    known = frame["a"].fillna(frame["a"].median())
    dense = np.column_stack([known, frame["a"].isna(), *(frame["b"].eq(v) for v in "xy"), frame["b"].isna()])
    same = linnet.Perceptron(max_iter=9).fit(dense.astype(float), y)
    np.testing.assert_array_equal(model.coef_[:, [3, 4, 0, 1, 2]], same.coef_)
    np.testing.assert_allclose(model.decision_function(frame), same.decision_function(dense.astype(float)))
    again = linnet.Perceptron(max_iter=1, missing="fill", warm_start=True).fit(frame, y).fit(frame, y)
    twice = linnet.Perceptron(max_iter=1, warm_start=True).fit(dense.astype(float), y).fit(dense.astype(float), y)
    np.testing.assert_array_equal(again.coef_[:, [3, 4, 0, 1, 2]], twice.coef_)
    with pytest.raises(DataError, match="X has no value in row 0"):
        linnet.Perceptron().fit(frame, y)
    with pytest.raises(ConfigError, match="unknown value of missing 'drop'"):
        linnet.Perceptron(missing="drop").fit(frame, y)


def test_sparse_rows_are_rows() -> None:
    x, y = load_iris(return_X_y=True)
    x[x < 1.5] = 0
    dense, sparse = linnet.Perceptron(max_iter=5).fit(x, y), linnet.Perceptron(max_iter=5)
    sparse.fit(scipy.sparse.csr_array(x), y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-12)
    np.testing.assert_array_equal(sparse.predict(scipy.sparse.csr_array(x)), dense.predict(x))
