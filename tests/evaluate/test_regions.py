"""Decision regions: the picture shows what the model predicts at each place."""

from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pytest

from linnet import LinearRegression, LogisticRegression
from linnet.errors import ConfigError, DataError
from linnet.evaluate import plot_regions

mpl.use("agg")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = np.array(["low", "mid", "high"])[np.digitize(X[:, 0] + X[:, 1] + 3 * X[:, 2], [-1, 1])]
FRAME = pd.DataFrame(
    {"a": X[:, 0], "colour": RNG.choice(["red", "blue", "blue"], 120), "b": X[:, 1], "n": np.arange(120)}
)


def regions(axes) -> list:  # type: ignore[no-untyped-def,type-arg]
    return [part for part in axes.collections if len(part.get_paths()) and part.get_paths()[0].codes is not None]


def test_regions_are_what_the_model_predicts_with_other_columns_at_their_medians() -> None:
    model = LogisticRegression().fit(X, Y)
    axes = plot_regions(model, X, Y, resolution=50)
    middle = np.median(X[:, 2])
    filled = axes.collections[0]
    for place in RNG.uniform(-1.5, 1.5, size=(60, 2)):
        predicted = model.predict([[*place, middle]])[0]
        inside = [path.contains_point(place) for path in filled.get_paths()]
        near = {model.predict([[*(place + step), middle]])[0] for step in 0.1 * RNG.normal(size=(20, 2))}
        if len(near) == 1:  # away from a boundary
            assert inside[list(model.classes_).index(predicted)], (place, predicted)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == list(model.classes_)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("column 0", "column 1")


@pytest.mark.parametrize("make", [lambda frame: frame, pl.from_pandas], ids=["pandas", "polars"])
def test_frames_have_columns_by_name_and_categories_at_their_most_frequent(make) -> None:  # type: ignore[no-untyped-def]
    seen: list[Any] = []

    class Model(LogisticRegression):
        def predict(self, X: Any, *, offset: Any = None) -> Any:
            seen.append(X)
            return super().predict(X, offset=offset)

    frame = make(FRAME)
    model = Model().fit(frame, Y)
    axes = plot_regions(model, frame, columns=("b", "a"), resolution=20)
    (grid,) = seen
    assert list(grid.columns) == list(frame.columns)
    assert set(grid["colour"]) == {"blue"}
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("b", "a")


def test_regressors_have_a_scale() -> None:
    axes = plot_regions(LinearRegression().fit(X, X[:, 0]), X, X[:, 0], columns=(0, -1), resolution=30)
    assert [other.get_ylabel() for other in axes.figure.axes if other is not axes] == ["predicted"]


def test_what_cannot_be_drawn() -> None:
    model = LogisticRegression().fit(FRAME, Y)
    for columns, message in ((("a", "c"), "there is no column 'c'"), (("a",), "two columns"), ((0, 9), "no column 9")):
        with pytest.raises(ConfigError, match=message):
            plot_regions(model, FRAME, columns=columns)
    with pytest.raises(DataError, match="'colour' has no numbers"):
        plot_regions(model, FRAME, columns=("a", "colour"))
    with pytest.raises(DataError, match="3 values for 120 rows"):
        plot_regions(LogisticRegression().fit(X, Y), X, [1, 2, 3])
    with pytest.raises(ConfigError, match="resolution"):
        plot_regions(model, FRAME, columns=("a", "b"), resolution=1)
