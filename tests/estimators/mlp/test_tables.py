"""Data frames for multilayer perceptrons: categories, text, booleans, missing values, from any library."""

import datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from linnet import MLPClassifier, MLPRegressor
from linnet.data.columns import Columns
from linnet.data.encoder import Encoder
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


def learn(frame: Any) -> tuple[Encoder, list[list[float]]]:
    """What was learned of a frame with gaps, and all its columns as rows of numbers, in the table's order."""
    encoder, columns = Encoder.learn(frame, gaps="fill")
    return encoder, matrix(encoder, columns)


def matrix(encoder: Encoder, columns: Columns) -> list[list[float]]:
    dense = np.hstack([*columns.tables, *([columns.entries().toarray()] if columns.codes else [])])
    rows: list[list[float]] = dense[:, encoder.order()].tolist()
    return rows


@pytest.mark.parametrize("kind", KINDS)
def test_a_gap_only_in_later_rows_is_the_median_or_an_unseen_level(kind: str) -> None:
    model = MLPClassifier(**HOW).fit(table(kind, gaps=False), Y)
    with pytest.warns(DataWarning) as caught:
        found = model.predict_proba(table(kind, gaps=True))
    messages = [str(one.message) for one in caught]
    assert any(f"which have no effect: {LOST.sum()} in column 'city'" in m for m in messages)
    assert any(f"filled with the median: {GAPS.sum()} in column 'age'" in m for m in messages)
    levels = (CITY[:, None] == np.array(["Bonn", "Rom", "Ulm"])) & ~LOST[:, None]
    hot = np.c_[np.where(GAPS, np.median(AGE), AGE), MEMBER, levels].astype(float)
    plain = np.c_[AGE, MEMBER, CITY[:, None] == np.array(["Bonn", "Rom", "Ulm"])].astype(float)
    np.testing.assert_array_equal(found, MLPClassifier(**HOW).fit(plain, Y).predict_proba(hot))


@pytest.mark.parametrize("kind", KINDS)
def test_a_single_row_may_have_nothing_but_gaps(kind: str) -> None:
    frame = table(kind, gaps=True)
    model = MLPClassifier(**HOW).fit(frame, Y)
    row = {"city": [None], "age": [None], "member": [True]}
    make: Any = {"polars": pl.DataFrame, "pyarrow": pa.table}.get(kind, pd.DataFrame)
    where = int(np.flatnonzero(GAPS & LOST & MEMBER)[0])
    np.testing.assert_allclose(model.predict_proba(make(row))[0], model.predict_proba(frame)[where], rtol=1e-6)


def test_a_column_without_any_value_is_refused() -> None:
    for column in ([np.nan, np.nan], [None, None], pd.Categorical([None, None])):
        with pytest.raises(DataError, match="column 'a' of X has only missing values"):
            learn(pd.DataFrame({"a": column}))
    for nothing in ([None, None], pl.Series([None, None], dtype=pl.String), [np.nan, np.nan]):
        with pytest.raises(DataError, match="column 'a' of X has only missing values"):
            learn(pl.DataFrame({"a": nothing}))
    with pytest.raises(DataError, match="NaN in row 0"):
        MLPClassifier(**HOW).fit(np.array([[np.nan], [1.0]]), [0, 1])
    with pytest.raises(DataError, match="infinity in row 1"):
        learn(pd.DataFrame({"a": [np.nan, np.inf, 1.0, -np.inf]}))
    with pytest.raises(DataError, match="is empty"):
        learn(pd.DataFrame({"a": np.empty(0)}))


def test_categories_with_a_gap_keep_their_values_and_their_order() -> None:
    encoder, rows = learn(pd.DataFrame({"a": pd.Categorical([1, 2, None, 1], categories=[2, 1])}))
    assert encoder.levels[0].values == (2, 1, None)
    assert rows == [[0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 1, 0]]
    assert encoder.coefficient_names == ["a=2", "a=1", "a missing"]
    whole = encoder.encode(pd.DataFrame({"a": pd.Categorical([2, 1])}))
    assert matrix(encoder, whole) == [[1, 0, 0], [0, 1, 0]]
    assert matrix(encoder, encoder.encode(pd.DataFrame({"a": [2, None]}))) == [[1, 0, 0], [0, 0, 1]]
    for kind in (pl.Enum(["b", "a"]), pl.Categorical()):
        encoder, _ = learn(pl.DataFrame({"a": pl.Series(["b", "a", None], dtype=kind)}))
        assert encoder.levels[0].values == ("b", "a", None)


def test_a_level_called_missing_is_no_gap() -> None:
    encoder, rows = learn(pd.DataFrame({"a": ["missing", None, "None"]}))
    assert encoder.levels[0].values == ("None", "missing", None)
    assert rows == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]


def test_numbers_among_objects_are_numbers() -> None:
    encoder, rows = learn(pd.DataFrame({"a": pd.Series([1, None, 4, 2], dtype=object)}))
    assert encoder.levels == ()
    assert rows == [[1, 0], [2, 1], [4, 0], [2, 0]]
    assert matrix(encoder, encoder.encode(pd.DataFrame({"a": [3, 5]}))) == [[3, 0], [5, 0]]


def test_a_column_may_have_the_name_of_the_mark_of_another() -> None:
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0], "a missing": [7.0, 8.0, 9.0]})
    assert learn(frame)[1] == [[1, 0, 7], [2, 1, 8], [3, 0, 9]]


UNUSABLE: dict[str, tuple[Any, str]] = {
    "times": (pd.DataFrame({"a": pd.to_datetime(["2024-01-01", None])}), "has type Datetime.*: convert it to numbers"),
    "durations": (pd.DataFrame({"a": pd.to_timedelta(["1D", None])}), "has type Duration.*: it must hold numbers"),
    "lists": (pd.DataFrame({"a": [[1], None]}), "has type Object: it must hold numbers"),
    "polars times": (
        pl.DataFrame({"a": [datetime.date(2024, 1, 1), None]}),
        "has type Date: .*: convert it to numbers",
    ),
    "polars lists": (pl.DataFrame({"a": [[1], None]}), "has type List.*: it must hold numbers"),
    "sparse": (pd.DataFrame({"a": pd.arrays.SparseArray([0.0, 1.0])}), "is a sparse column of pandas"),
    "sparse with gaps": (pd.DataFrame({"a": pd.arrays.SparseArray([np.nan, 1.0])}), "is a sparse column of pandas"),
    "the same name": (pd.DataFrame([[1.0, np.nan]], columns=["a", "a"]), "several columns called 'a'"),
}


@pytest.mark.parametrize(("frame", "message"), UNUSABLE.values(), ids=UNUSABLE)
def test_columns_that_cannot_be_used_are_refused_with_gaps_too(frame: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        MLPClassifier(**HOW).fit(frame, [0, 1])


def test_lists_in_place_of_levels_are_refused() -> None:
    encoder, _ = learn(pl.DataFrame({"a": ["b", None]}))
    for frame in (pl.DataFrame({"a": [["b"], None]}), pd.DataFrame({"a": [["b"], None]})):
        with pytest.raises(DataError, match="it must hold numbers or levels"):
            encoder.encode(frame)


@pytest.mark.parametrize("levels", [["1", "2"], pd.Categorical([1, 2])], ids=["text", "categories"])
def test_levels_in_place_of_numbers_are_refused(levels: Any) -> None:
    encoder, _ = learn(pd.DataFrame({"a": [1.0, 2.0]}))
    with pytest.raises(DataError, match=r"column 'a' of X has type .*: it must hold numbers, as in training"):
        encoder.encode(pd.DataFrame({"a": levels}))


def test_an_array_cannot_stand_for_a_frame_with_gaps() -> None:
    with pytest.raises(DataError, match="X must be a data frame with the columns a"):
        learn(pd.DataFrame({"a": [1.0, np.nan]}))[0].encode(np.ones((2, 1)))


def test_columns_called_by_numbers_may_have_gaps() -> None:
    assert learn(pd.DataFrame(np.array([[1.0, 5.0], [np.nan, 6.0]])))[1] == [[1, 0, 5], [1, 1, 6]]


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
