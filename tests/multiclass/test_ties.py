"""Ties that are broken at random: every class as likely, each row by its own values alone."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.base import BaseEstimator, ClassifierMixin

import linnet


class _YesNo(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Predicts yes or no without scores: yes where its number, a part of the first column, is below `share`."""

    def __init__(self, share: float = 1.0) -> None:
        self.share = share

    def fit(self, X: Any, y: Any) -> "_YesNo":
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        first = X.tocsc()[:, [0]].toarray()[:, 0] if hasattr(X, "tocsr") else np.asarray(X, object)[:, 0].astype(float)
        return (np.abs(first) % 1 < self.share).astype(int)


@pytest.mark.parametrize("share", [1.0, 0.0], ids=["all accept", "none accepts"])
def test_random_ties_of_classifiers_that_only_say_yes_or_no(share: float) -> None:
    X = np.random.default_rng(0).normal(size=(4000, 3)).round(3)
    y = np.arange(4000) % 5
    model = linnet.OneVsRestClassifier(_YesNo(share), tie_break="random", random_state=0).fit(X[:50], y[:50])
    predicted = model.predict(X)
    assert (np.abs(np.bincount(predicted, minlength=5) - 800) < 4 * np.sqrt(4000 * 0.2 * 0.8)).all()
    np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), predicted)
    np.testing.assert_array_equal(model.decision_function(X).argmax(axis=1), predicted)
    assert ((model.decision_function(X) > 0) == (share > 0)).all()
    later = np.random.default_rng(1).permutation(4000)
    np.testing.assert_array_equal(model.predict(X[later]), predicted[later])
    np.testing.assert_array_equal(
        np.concatenate([model.predict(X[i : i + 7]) for i in range(0, 700, 7)]), predicted[:700]
    )
    other = linnet.OneVsRestClassifier(_YesNo(share), tie_break="random", random_state=1).fit(X[:50], y[:50])
    assert 0.1 < (other.predict(X) == predicted).mean() < 0.3, "another seed, another draw"


def test_random_ties_are_the_same_in_every_form_of_a_table() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, (400, 4)) * 0.5
    y = np.arange(400) % 3
    model = linnet.OneVsRestClassifier(_YesNo(), tie_break="random", random_state=0).fit(X, y)
    predicted = model.predict(X)
    assert len(set(predicted)) == 3
    halves = np.tile(X.ravel()[::-1] / 2, 2), np.tile(np.indices(X.shape).reshape(2, -1)[:, ::-1], 2)
    order = np.argsort(halves[1][0], kind="stable")
    starts = np.arange(401) * 8
    twice = scipy.sparse.csr_array((halves[0][order], halves[1][1][order], starts), shape=X.shape)
    forms = {
        "float32": X.astype(np.float32),
        "objects": X.astype(object),
        "minus zero": np.where(X == 0, -0.0, X),
        "sparse": scipy.sparse.csr_array(X),
        "explicit zeros, unsorted, twice": twice,
        "columns": scipy.sparse.csc_matrix(X),
        "pandas": pd.DataFrame(X, columns=list("abcd")),
        "polars": pl.DataFrame(X, schema=list("abcd")),
    }
    for name, table in forms.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # columns have names, or have none
            np.testing.assert_array_equal(model.predict(table), predicted, err_msg=name)


def test_random_ties_go_by_texts_dates_and_gaps_too() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "one": np.zeros(600),
            "text": rng.choice(np.array(["a", "b", None, "ü"], object), 600),
            "kind": pd.Categorical(rng.choice(["u", "v", "w"], 600)),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 9, 600), "D"),
            "gap": rng.choice([np.nan, 0.0, 1.0], 600),
        }
    )
    for column in frame.columns[1:]:
        table = frame.assign(**{other: frame[other].iloc[0] for other in frame.columns if other != column})
        model = linnet.OneVsRestClassifier(_YesNo(), tie_break="random", random_state=5).fit(table, np.arange(600) % 4)
        predicted = pd.Series(model.predict(table))
        assert predicted.nunique() > 1
        assert (predicted.groupby(frame[column].astype(str)).nunique() == 1).all()
    model.fit(frame, np.arange(600) % 4)
    np.testing.assert_array_equal(model.predict(frame.iloc[::-1])[::-1], model.predict(frame))
