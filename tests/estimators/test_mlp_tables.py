"""Data frames for multilayer perceptrons: categories, text, booleans, missing values, from any library."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from linnet import MLPClassifier, MLPRegressor
from linnet.data.missing import Missing
from linnet.errors import DataError, DataWarning

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RNG = np.random.default_rng(0)
N = 300
CITY = RNG.choice(["Bonn", "Rom", "Ulm"], N)
AGE = RNG.normal(size=N)
MEMBER = RNG.random(N) < 0.5
GAPS, LOST = RNG.random(N) < 0.2, RNG.random(N) < 0.1
Y = (CITY == "Rom") ^ (AGE > 0)
HOW: dict[str, Any] = {"hidden_layer_sizes": (16,), "random_state": 0, "max_iter": 150, "learning_rate_init": 0.01}


def table(kind: str, *, gaps: bool) -> Any:
    city: list[Any] = [None if gaps and lost else str(name) for name, lost in zip(CITY, LOST, strict=True)]
    age = [None if gaps and gap else float(value) for value, gap in zip(AGE, GAPS, strict=True)]
    columns = {"city": city, "age": age, "member": MEMBER.tolist()}
    if kind == "polars":
        return pl.DataFrame(columns)
    if kind == "pyarrow":
        return pa.table(columns)
    frame = pd.DataFrame(columns)
    if kind == "pandas categories":
        frame["city"] = frame["city"].astype("category")
    if kind == "pandas nullable":
        frame = frame.convert_dtypes()
    return frame


KINDS = ("pandas", "pandas categories", "pandas nullable", "polars", "pyarrow")


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_is_its_columns_of_zeros_and_ones(kind: str) -> None:
    frame = table(kind, gaps=False)
    hot = np.c_[AGE, MEMBER, CITY[:, None] == np.array(["Bonn", "Rom", "Ulm"])].astype(float)
    by_frame = MLPClassifier(**HOW).fit(frame, Y)
    by_array = MLPClassifier(**HOW).fit(hot, Y)
    np.testing.assert_array_equal(by_frame.predict_proba(frame), by_array.predict_proba(hot))
    assert by_frame.score(frame, Y) > 0.95
    assert list(by_frame.feature_names_in_) == ["city", "age", "member"]


@pytest.mark.parametrize("kind", KINDS)
def test_missing_values_are_filled_and_marked(kind: str) -> None:
    frame = table(kind, gaps=True)
    city = np.where(LOST, "missing", CITY)
    middle = np.median(AGE[~GAPS])
    hot = np.c_[np.where(GAPS, middle, AGE), MEMBER, GAPS, city[:, None] == np.array(["Bonn", "Rom", "Ulm", "missing"])]
    by_frame = MLPClassifier(**HOW).fit(frame, Y)
    by_array = MLPClassifier(**HOW).fit(hot.astype(float), Y)
    np.testing.assert_allclose(by_frame.predict_proba(frame), by_array.predict_proba(hot.astype(float)), atol=1e-5)
    whole = table(kind, gaps=False)
    assert np.isfinite(by_frame.predict_proba(whole)).all(), "rows without gaps"


def test_gaps_where_there_were_none_are_an_error() -> None:
    model = MLPClassifier(**HOW).fit(table("pandas", gaps=False), Y)
    with pytest.raises(DataError, match=r"'city'|'age'"):
        model.predict(table("pandas", gaps=True))
    with pytest.raises(DataError, match="column 'a' of X has no value at all"):
        Missing().learn(pd.DataFrame({"a": [np.nan, np.nan]}))
    with pytest.raises(DataError, match="NaN in row 0"):
        MLPClassifier(**HOW).fit(np.array([[np.nan], [1.0]]), [0, 1])


def test_unseen_levels_have_no_effect_and_are_counted() -> None:
    frame = table("pandas", gaps=False)
    model = MLPRegressor(**HOW).fit(frame, AGE)
    frame.loc[:2, "city"] = "Paris"
    with pytest.warns(DataWarning, match="3 in column 'city'"):
        assert np.isfinite(model.predict(frame)).all()


def test_frames_of_other_columns_are_refused() -> None:
    frame = table("polars", gaps=False)
    model = MLPClassifier(**HOW).fit(frame, Y)
    with pytest.raises(DataError, match="city"):
        model.predict(frame.drop("city"))
    with pytest.raises(DataError, match="data frame"), pytest.warns(UserWarning, match="feature names"):
        model.predict(np.zeros((2, 3)))


def test_float32_and_small_integers_are_read_in_place() -> None:
    x = RNG.integers(0, 17, (N, 12)).astype(np.uint8)
    ends = {
        MLPClassifier(**{**HOW, "max_iter": 3, "batch_size": 32}).fit(x.astype(kind), Y).predict_proba(x).tobytes()
        for kind in (np.uint8, np.float32, np.float64, np.int64)
    }
    assert len(ends) == 1
