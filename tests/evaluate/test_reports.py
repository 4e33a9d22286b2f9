"""The full report has the numbers of the single functions."""

from typing import Any

import numpy as np
import pytest

import linnet
from linnet import evaluate as ev
from linnet.errors import ConfigError, DataError

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, 300)
P = 1 / (1 + np.exp(-RNG.normal(2 * Y - 1)))


@pytest.mark.parametrize("weights", [None, RNG.integers(1, 4, 300)], ids=["plain", "weighted"])
@pytest.mark.parametrize("names", [np.array([0, 1]), np.array(["bad", "good"]), np.array(["yes", "no"])])
def test_two_classes(weights: Any, names: Any) -> None:
    y = names[Y]
    found = ev.report(y, P, pos_label=names[1], beta=2, sample_weight=weights, threshold=0.3)
    predicted = names[(P >= 0.3).astype(int)]
    expected = ev.Confusion.of(y, predicted, sample_weight=weights)
    np.testing.assert_array_equal(found.confusion.classes, expected.classes)
    np.testing.assert_array_equal(found.confusion.counts, expected.counts)
    assert found.scores.average("macro") == expected.scores(2).average("macro")
    assert found.roc_auc[0] == ev.roc_auc_score(y, P, pos_label=names[1], sample_weight=weights)
    assert found.best_f[0] == ev.best_threshold(y, P, "f2", pos_label=names[1], sample_weight=weights).value
    assert found.cutoffs is not None
    assert "threshold 0.3" in str(found)
    assert "ROC AUC" in str(found)


def test_the_default_threshold_depends_on_the_scores() -> None:
    assert ev.report(Y, P).threshold == 0.5
    assert ev.report(Y, np.log(P / (1 - P))).threshold == 0
    np.testing.assert_array_equal(ev.report(Y, P).confusion.counts, ev.report(Y, np.log(P / (1 - P))).confusion.counts)
    assert ev.report([0, 0, 1], [0, 0, 0.2], zero_division=0).confusion.counts.tolist() == [[2, 0], [1, 0]]


def test_several_classes() -> None:
    y = RNG.choice(["a", "b", "O"], 200)
    s = RNG.random((200, 3))
    found = ev.report(y, s, negative_class="O")
    predicted = np.array(["O", "a", "b"])[s.argmax(axis=1)]
    np.testing.assert_array_equal(found.confusion.counts, ev.confusion_matrix(y, predicted))
    assert found.scores.average("micro")[2] == ev.f1_score(y, predicted, average="micro", negative_class="O")
    np.testing.assert_array_equal(found.roc_auc, ev.roc_auc_score(y, s, average=None))
    np.testing.assert_array_equal(found.average_precision, ev.average_precision_score(y, s, average=None))
    assert found.best_threshold[1] == ev.best_threshold(y == "a", s[:, 1]).threshold
    assert "the class with the highest score" in str(found)
    with pytest.raises(ConfigError, match="threshold applies to two classes only"):
        ev.report(y, s, threshold=0.5)
    with pytest.raises(DataError, match="y_true has 3 classes, but two are needed: pass scores of rows x"):
        ev.report(y, s[:, 0])


def test_the_module_offers_its_names() -> None:
    assert linnet.evaluate is ev
    assert dir(ev) == sorted(ev.__all__)
    for name in ev.__all__:
        assert getattr(ev, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        ev.nonsense  # type: ignore[attr-defined]  # noqa: B018
