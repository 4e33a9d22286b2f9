"""Chunks, in any order and on any number of machines, give the numbers of the whole."""

import itertools
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnet import evaluate as ev
from linnet.errors import ConfigError, DataError

N = 400
RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, N)
S = np.round(RNG.normal(Y, 1), 1)
P = np.round(1 / (1 + np.exp(-S)), 3)
W = RNG.random(N)


def cut(places: list[int]) -> list[slice]:
    """The chunks between places."""
    edges = [0, *sorted({place for place in places if 0 < place < N}), N]
    return [slice(a, b) for a, b in itertools.pairwise(edges)]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, N), max_size=30), st.randoms(use_true_random=False), st.booleans())
def test_scores_in_chunks_are_the_whole(places: list[int], random: Any, weighted: bool) -> None:
    chunks = cut(places)
    random.shuffle(chunks)
    whole = ev.Cutoffs.of(Y, S, sample_weight=W if weighted else None)
    machines = [ev.ScoreAccumulator() for _ in range(3)]
    for i, chunk in enumerate(chunks):
        machines[i % 3].update(Y[chunk], S[chunk], W[chunk] if weighted else None)
    found = (machines[0] + pickle.loads(pickle.dumps(machines[1])) + machines[2]).result()
    np.testing.assert_array_equal(found.thresholds, whole.thresholds)
    if not weighted:
        np.testing.assert_array_equal(found.tp, whole.tp)
        np.testing.assert_array_equal(found.fp, whole.fp)
        assert found.roc_auc == whole.roc_auc
    for name in ("roc_auc", "average_precision", "pr_auc"):
        assert getattr(found, name) == pytest.approx(getattr(whole, name), rel=1e-12)
    assert found.best_f(2) == pytest.approx(whole.best_f(2), rel=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, N), max_size=8))
def test_labels_and_probabilities_in_chunks_are_the_whole(places: list[int]) -> None:
    labels, guesses = ev.ConfusionAccumulator(), ev.ProbabilityAccumulator()
    y_pred = (P > 0.5).astype(int)
    for chunk in cut(places):
        labels += ev.ConfusionAccumulator().update(Y[chunk], y_pred[chunk], W[chunk])
        guesses += ev.ProbabilityAccumulator().update(Y[chunk], P[chunk], W[chunk])
    np.testing.assert_allclose(labels.result().counts, ev.Confusion.of(Y, y_pred, sample_weight=W).counts, rtol=1e-12)
    assert guesses.log_loss == pytest.approx(ev.log_loss(Y, P, sample_weight=W), rel=1e-12)
    assert guesses.brier == pytest.approx(ev.brier_score_loss(Y, P, sample_weight=W), rel=1e-12)
    whole = ev.calibration(Y, P, sample_weight=W)
    np.testing.assert_allclose(guesses.calibration.observed, whole.observed, rtol=1e-12)
    assert guesses.calibration.ece == pytest.approx(whole.ece, rel=1e-10)


def test_several_classes_in_chunks() -> None:
    y = RNG.choice(["a", "b", "c"], N)
    s = np.round(RNG.dirichlet(np.ones(3), N), 2)
    s[:, 2] = 1 - s[:, :2].sum(axis=1)
    s = s.clip(0, 1)
    scores = [ev.ClassScoreAccumulator(["a", "b", "c"]).update(y[part], s[part]) for part in cut([100, 150])]
    found = (scores[0] + scores[1] + scores[2]).result()
    expected = ev.roc_auc_score(y, s, average=None)
    assert [found[label].roc_auc for label in "abc"] == expected.tolist()
    guesses = ev.ProbabilityAccumulator(["a", "b", "c"])
    for part in cut([50]):
        guesses.update(y[part], s[part])
    assert guesses.log_loss == pytest.approx(ev.log_loss(y, s))
    assert guesses.brier == pytest.approx(ev.brier_score_loss(y, s))
    with pytest.raises(ConfigError, match="calibration needs two classes"):
        guesses.calibration  # noqa: B018
    with pytest.raises(DataError, match="y_true has the label 'd' in row 1, but the labels are 'a', 'b', 'c'"):
        ev.ClassScoreAccumulator(["a", "b", "c"]).update(["a", "d"], s[:2])
    with pytest.raises(DataError, match="y_score has 2 columns, but there are 3 classes"):
        ev.ClassScoreAccumulator(["a", "b", "c"]).update(["a", "b"], s[:2, :2])
    with pytest.raises(ConfigError, match="labels differ"):
        ev.ClassScoreAccumulator(["a", "b"]) + ev.ClassScoreAccumulator(["a", "c"])
    with pytest.raises(ConfigError, match="labels must be sorted"):
        ev.ClassScoreAccumulator(["b", "a"])


def test_new_classes_may_come_late() -> None:
    found = ev.ConfusionAccumulator().update([0, 1], [0, 0]).update([5, 1], [1, 5]).result()
    assert found.classes.tolist() == [0, 1, 5]
    np.testing.assert_array_equal(found.counts, ev.Confusion.of([0, 1, 5, 1], [0, 0, 1, 5]).counts)


def test_a_named_positive_class() -> None:
    found = ev.ScoreAccumulator("yes").update(["yes", "yes"], [0.1, 0.9]).update(["no"], [0.5]).result()
    assert found.roc_auc == 0.5
    with pytest.raises(ConfigError, match="pos_label differs: 'yes' and None"):
        ev.ScoreAccumulator("yes") + ev.ScoreAccumulator()


@pytest.mark.parametrize("kind", [ev.ConfusionAccumulator, ev.ScoreAccumulator])
def test_nothing_yet(kind: Any) -> None:
    for empty in (kind(), kind() + kind()):
        with pytest.raises(DataError, match="no rows with weight yet"):
            empty.result()
    full = kind().update([0, 1], [0, 1])
    assert (full + kind()).result() is not None
    with pytest.raises(DataError, match="no rows with weight yet"):
        ev.ProbabilityAccumulator().log_loss  # noqa: B018
    with pytest.raises(ConfigError, match="labels or n_bins differ"):
        ev.ProbabilityAccumulator() + ev.ProbabilityAccumulator(n_bins=5)


def test_memory_is_that_of_distinct_scores() -> None:
    accumulator = ev.ScoreAccumulator()
    for _ in range(50):
        accumulator.update(Y, S)
    distinct = len(np.unique(S))
    assert sum(len(run[0]) for run in accumulator._runs) <= 2 * distinct
    assert accumulator.result().tp[-1] == 50 * Y.sum()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("average", ["macro", "weighted"])
def test_pairs_of_classes_over_chunks(average: str, weighted: bool) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 500)
    s = np.round(rng.normal(size=(500, 4)) + (y[:, None] == np.arange(4)), 1)
    w = rng.integers(0, 3, 500) if weighted else None
    parts = [ev.PairScoreAccumulator(range(4)), ev.PairScoreAccumulator(range(4))]
    for i, rows in enumerate(np.array_split(rng.permutation(500), 7)):
        parts[i % 2].update(y[rows], s[rows], None if w is None else w[rows])
    whole = pickle.loads(pickle.dumps(parts[0])) + parts[1]
    expected = ev.roc_auc_score(y, s, multi_class="ovo", average=average, sample_weight=w)
    assert whole.roc_auc(average) == pytest.approx(expected, rel=1e-12)
    with pytest.raises(ConfigError, match="labels differ"):
        whole + ev.PairScoreAccumulator(range(3))
    only = ev.PairScoreAccumulator(range(4)).update([0, 2, 0, 2], np.eye(4))  # classes 1 and 3 have not come yet
    assert only.roc_auc() == ev.roc_auc_score([0, 2, 0, 2], np.eye(4), multi_class="ovo", labels=range(4))
