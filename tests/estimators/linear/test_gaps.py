"""Linear models of data frames with missing values."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import linnet
from linnet.errors import ConfigError, DataError

RNG = np.random.default_rng(0)
SIZE = np.where(RNG.random(200) < 0.2, np.nan, RNG.normal(5, 2, 200))
COLOUR = RNG.choice(np.array(["red", "blue", None], object), 200)
FRAME = pd.DataFrame({"size": SIZE, "colour": COLOUR})
BY_HAND = pd.DataFrame(
    {
        "size": np.where(np.isnan(SIZE), np.nanmedian(SIZE), SIZE),
        "missing": np.isnan(SIZE).astype(float),
        **{name: (pd.Series(COLOUR).fillna("none") == name).astype(float) for name in ("red", "blue", "none")},
    }
)
Y = RNG.poisson(2, 200)
MODELS = [
    linnet.Ridge,
    linnet.LogisticRegression,
    linnet.PoissonRegressor,
    linnet.TweedieRegressor,
    linnet.LinearRegression,
]


@pytest.mark.parametrize("make", MODELS)
def test_gaps_are_filled_as_by_hand(make: Any) -> None:
    filled, by_hand = make(gaps="fill").fit(FRAME, Y), make().fit(BY_HAND, Y)
    np.testing.assert_allclose(filled.predict(FRAME), by_hand.predict(BY_HAND), rtol=1e-7, atol=1e-9)
    assert filled.inference(FRAME, Y).rows == 200


def test_gaps_are_refused_unless_asked_for() -> None:
    with pytest.raises(DataError, match="X has no value in row"):
        linnet.Ridge().fit(FRAME, Y)
    with pytest.raises(ConfigError, match="unknown gaps 'drop': choose from: refuse, fill"):
        linnet.Ridge(gaps="drop").fit(FRAME, Y)


def test_penalties_by_name_find_their_columns_behind_a_mark() -> None:
    frame = pd.DataFrame({"a": SIZE, "b": RNG.normal(size=200), "c": RNG.normal(size=200)})

    def fit(penalty: Any) -> Any:
        return linnet.PoissonRegressor(alpha=10, gaps="fill", column_penalty=penalty).fit(frame, Y).coef_

    np.testing.assert_array_equal(fit({"c": 0}), fit([1, 1, 1, 0]))
    np.testing.assert_array_equal(fit({"b": 0}), fit([1, 1, 0, 1]))
    np.testing.assert_array_equal(fit({"a": 0}), fit([0, 0, 1, 1]))
    np.testing.assert_array_equal(fit({"a missing": 0}), fit([1, 0, 1, 1]))


def test_segments_between_rows_with_gaps() -> None:
    model = linnet.LogisticRegression(gaps="fill", C=100).fit(FRAME, Y > 2)
    pairs = [(row, other) for row in range(0, 40, 3) for other in (1, 50)]
    ends = [(FRAME.iloc[row], FRAME.iloc[other]) for row, other in pairs]
    predicted = model.predict(FRAME)
    assert np.isnan(SIZE[[row for row, _ in pairs]]).any()
    for (row, other), segment in zip(pairs, model.certificate(FRAME, Y > 2, segments=ends).segments, strict=True):
        assert segment.pieces[0][0] == predicted[row]
        assert segment.pieces[-1][0] == predicted[other]
