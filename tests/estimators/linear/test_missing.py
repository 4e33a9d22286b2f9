"""Linear models of data frames with missing values."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import clone

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
def test_missing_values_are_filled_as_by_hand(make: Any) -> None:
    filled, by_hand = make(missing="fill").fit(FRAME, Y), make().fit(BY_HAND, Y)
    np.testing.assert_allclose(filled.predict(FRAME), by_hand.predict(BY_HAND), rtol=1e-7, atol=1e-9)
    assert filled.inference(FRAME, Y).rows == 200


def test_missing_values_are_refused_unless_asked_for() -> None:
    with pytest.raises(DataError, match="X has no value in row"):
        linnet.Ridge().fit(FRAME, Y)
    with pytest.raises(ConfigError, match="unknown value of missing 'drop': choose from: refuse, fill"):
        linnet.Ridge(missing="drop").fit(FRAME, Y)


def test_penalties_by_name_find_their_columns_behind_a_mark() -> None:
    frame = pd.DataFrame({"a": SIZE, "b": RNG.normal(size=200), "c": RNG.normal(size=200)})

    def fit(penalty: Any) -> Any:
        return linnet.PoissonRegressor(alpha=10, missing="fill", column_penalty=penalty).fit(frame, Y).coef_

    np.testing.assert_array_equal(fit({"c": 0}), fit([1, 1, 1, 0]))
    np.testing.assert_array_equal(fit({"b": 0}), fit([1, 1, 0, 1]))
    np.testing.assert_array_equal(fit({"a": 0}), fit([0, 0, 1, 1]))
    np.testing.assert_array_equal(fit({"a missing": 0}), fit([1, 0, 1, 1]))


def test_segments_between_rows_with_gaps() -> None:
    model = linnet.LogisticRegression(missing="fill", C=100).fit(FRAME, Y > 2)
    pairs = [(row, other) for row in range(0, 40, 3) for other in (1, 50)]
    ends = [(FRAME.iloc[row], FRAME.iloc[other]) for row, other in pairs]
    predicted = model.predict(FRAME)
    assert np.isnan(SIZE[[row for row, _ in pairs]]).any()
    for (row, other), segment in zip(pairs, model.certificate(FRAME, Y > 2, segments=ends).segments, strict=True):
        assert segment.pieces[0][0] == predicted[row]
        assert segment.pieces[-1][0] == predicted[other]


@pytest.mark.parametrize("make", [*MODELS, linnet.GammaRegressor, linnet.NegativeBinomialRegressor, linnet.Perceptron])
def test_the_former_name_of_the_parameter_still_works(make: Any) -> None:
    with pytest.warns(DeprecationWarning, match=f"the parameter gaps of {make.__name__} is now called missing"):
        model = make(gaps="fill")
    assert clone(model).get_params() == make(missing="fill").get_params()
    assert "gaps" not in model.get_params()
    with pytest.warns(DeprecationWarning, match="is now called missing"):
        assert model.gaps == "fill"
    with pytest.warns(DeprecationWarning, match="is now called missing"):
        model.gaps = "refuse"
    assert model.missing == "refuse"
    with pytest.warns(DeprecationWarning, match="is now called missing"):
        assert model.set_params(gaps="fill").missing == "fill"
    with pytest.raises(ConfigError, match="gaps is now called missing: give one of them"):
        make(gaps="fill", missing="fill")


def test_files_and_pickles_have_either_name(tmp_path: Path) -> None:
    """Model files keep the former name, as every file so far; pickles of earlier releases have it, too."""
    model = linnet.Ridge(missing="fill").fit(FRAME, Y)
    model.save(tmp_path / "model.linnet")
    state: Any = model.__getstate__()
    assert state["missing"] == "fill"
    old = {**{name: value for name, value in state.items() if name != "missing"}, "gaps": "fill"}
    old["_fit_params"] = {"gaps" if name == "missing" else name: value for name, value in state["_fit_params"].items()}
    for given in (state, old):
        again = object.__new__(linnet.Ridge)
        again.__setstate__(given)
        assert again.missing == "fill"
        again.save(tmp_path / "again.linnet")
        assert (tmp_path / "again.linnet").read_bytes() == (tmp_path / "model.linnet").read_bytes()
        np.testing.assert_array_equal(again.predict(FRAME), model.predict(FRAME))
