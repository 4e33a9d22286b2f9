"""Which rows each binary problem uses, as a table, is what the reductions train on."""

from typing import Any

import numpy as np
import pytest

from linnet import (
    LabelTreeClassifier,
    LogisticRegression,
    OneVsOneClassifier,
    OneVsRestClassifier,
    OutputCodeClassifier,
)
from linnet.errors import DataError

RNG = np.random.default_rng(6)
X = RNG.normal(size=(80, 3))
Y = np.array(list("abcd"))[RNG.integers(0, 4, 80)]


@pytest.mark.parametrize("kind", [OneVsOneClassifier, OneVsRestClassifier, LabelTreeClassifier, OutputCodeClassifier])
def test_each_classifier_is_that_of_its_rows(kind: Any) -> None:
    model = kind(LogisticRegression(C=0.5)).fit(X, Y)
    problems = model.binary_problems(Y)
    assert problems.signs.shape == (80, len(model.estimators_))
    for number, estimator in enumerate(model.estimators_):
        rows = problems.rows(number)
        alone = LogisticRegression(C=0.5).fit(X[rows], problems.signs[rows, number])
        assert np.allclose(alone.coef_, estimator.coef_, atol=1e-6)


def test_five_rows_and_six_pairs_as_a_table() -> None:
    model = OneVsOneClassifier(LogisticRegression()).fit(X, Y)
    assert model.pairs_ == [("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")]
    table = str(model.binary_problems(list("abcda"))).splitlines()
    assert table[0].split("  ") == ["row", "class", *(f"{one} or {other}" for one, other in model.pairs_)]
    assert [line.split()[2:] for line in table[1:6]] == [
        ["-", "-", "-"], ["+", "-", "-"], ["+", "+", "-"], ["+", "+", "+"], ["-", "-", "-"],
    ]  # fmt: skip
    assert table[6].split() == ["rows", "3", "3", "3", "2", "2", "2"]
    long = str(model.binary_problems(list("abcd" * 20))).splitlines()
    assert len(long) == 33
    assert "50 more rows" in long[-2]
    with pytest.raises(DataError, match="has the class 'x'"):
        model.binary_problems(["x"])


def test_several_labels_per_row() -> None:
    labels = RNG.integers(0, 2, (80, 3))
    model = OneVsRestClassifier(LogisticRegression()).fit(X, labels)
    assert np.array_equal(model.binary_problems(labels).signs, 2 * labels - 1)
    assert "0, 1, 1" in str(model.binary_problems([[0, 1, 1]]))
    with pytest.raises(DataError, match="3 columns"):
        model.binary_problems([0, 1])
    two = OneVsRestClassifier(LogisticRegression()).fit(X, Y > "b")
    assert two.binary_problems([False, True]).signs.tolist() == [[-1], [1]]
