"""LogisticRegression with weights as given predicts, draws, is saved and exported like a fitted one."""

from pathlib import Path

import numpy as np
import pytest

import linnet
from linnet import LogisticRegression
from linnet.errors import DataError

THREE: list[list[float]] = [[1, -1 / 3], [-1 / 2, -1 / 2], [0, 1]]
ROWS = np.random.default_rng(0).normal(size=(50, 2))


def test_three_classes() -> None:
    model = LogisticRegression.with_weights(THREE, [0.1, 0, -0.1], ["a", "b", "c"])
    z = ROWS @ np.transpose(THREE) + [0.1, 0, -0.1]
    assert np.allclose(model.predict_proba(ROWS), np.exp(z) / np.exp(z).sum(axis=1, keepdims=True))
    assert np.array_equal(model.predict(ROWS), np.array(list("abc"))[z.argmax(axis=1)])
    assert np.allclose(model.decision_function(ROWS), z)
    assert np.array_equal(model.coef_, THREE)  # not moved to mean 0, which would predict the same


def test_two_classes_are_the_difference_of_their_weights() -> None:
    of_two = LogisticRegression.with_weights(np.subtract(THREE[0], THREE[1]))
    assert np.allclose(of_two.coef_, [[3 / 2, 1 / 6]])
    assert np.allclose(of_two.predict_proba(ROWS)[:, 1], 1 / (1 + np.exp(-ROWS @ [3 / 2, 1 / 6])))


def test_it_is_saved_and_fitted_anew(tmp_path: Path) -> None:
    model = LogisticRegression.with_weights(THREE, C=3.0)
    model.save(tmp_path / "model.linnet")
    again = linnet.load(tmp_path / "model.linnet")
    assert np.array_equal(again.predict_proba(ROWS), model.predict_proba(ROWS))
    labels = model.sample(ROWS, 0)
    assert np.array_equal(model.fit(ROWS, labels).coef_, LogisticRegression(C=3.0).fit(ROWS, labels).coef_)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones((2, 3)),), "for two classes or"),
        ((THREE, [1, 2]), "one number per row"),
        (([np.nan, 1],), "finite"),
        ((THREE, 0, ["a", "b"]), "3 different ones"),
        ((THREE, 0, ["b", "a", "c"]), "ascending"),
        ((np.ones((0, 3)),), "the shapes"),
    ],
)
def test_what_is_not_weights(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(DataError, match=message):
        LogisticRegression.with_weights(*arguments)  # type: ignore[arg-type]
