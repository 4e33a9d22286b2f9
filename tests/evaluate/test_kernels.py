"""The counting kernels of the core against NumPy's sorts and counts, in every build; the same bytes for any threads."""

from typing import Any

import numpy as np
import pytest

import linnet
from linnet import evaluate as ev
from linnet._native import core


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [257, 5_000, 40_000, 300_000])
def test_large_columns_are_sorted_right_by_any_number_of_threads(n: int, dtype: Any) -> None:
    rng = np.random.default_rng(n)
    y = (rng.random(n) < 0.3).astype(np.uint8)
    for s in (
        rng.normal(y).astype(dtype),
        np.round(rng.normal(y), 2).astype(dtype),
        (1e30 * rng.normal(size=n) ** 9).astype(dtype),
    ):
        for w in (None, rng.integers(0, 3, n).astype(float)):
            found = []
            for threads in (1, 3):
                with linnet.threads(threads):
                    cutoffs = ev.Cutoffs.counted(s, y, w)
                found.append((cutoffs.thresholds, cutoffs.tp, cutoffs.fp))
            one, three = found
            for a, b in zip(one, three, strict=True):
                assert a.tobytes() == b.tobytes()
            weights = np.ones(n) if w is None else w
            values, place = np.unique(s[weights > 0], return_inverse=True)
            np.testing.assert_array_equal(one[0], values[::-1])
            tp = np.bincount(place, (weights * y)[weights > 0])[::-1].cumsum()
            fp = np.bincount(place, (weights * (1 - y))[weights > 0])[::-1].cumsum()
            np.testing.assert_array_equal(one[1], tp)
            np.testing.assert_array_equal(one[2], fp)


def test_threads_change_no_weighted_sum() -> None:
    rng = np.random.default_rng(0)
    y, s, w = rng.integers(0, 2, 200_000), np.round(rng.normal(size=200_000), 3), rng.random(200_000)
    found = []
    for threads in (1, 2, 5):
        with linnet.threads(threads):
            found.append(ev.Cutoffs.of(y, s, sample_weight=w))
    assert all((one.tp.tobytes(), one.fp.tobytes()) == (found[0].tp.tobytes(), found[0].fp.tobytes()) for one in found)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [2, 300, 150_000])
def test_wins_of_pairs_of_classes(n: int, dtype: Any) -> None:
    rng = np.random.default_rng(n)
    y = rng.integers(0, 3, n).astype(np.int32)
    s = np.round(rng.normal(size=n), 1).astype(dtype)
    for w in (None, rng.integers(0, 3, n).astype(float)):
        found = []
        for threads in (1, 3):
            wins, weight = np.empty(3), np.empty(3)
            core.pairwise_wins(s, y, w, 1, wins, weight, threads)
            found.append((wins.tobytes(), weight.tobytes()))
        assert found[0] == found[1]
        ones = np.ones(n) if w is None else w
        values, place = np.unique(s, return_inverse=True)
        at = np.array([np.bincount(place, ones * (y == k), len(values)) for k in range(3)])
        above = at[1].sum() - at[1].cumsum()
        np.testing.assert_allclose(wins, at @ (above + at[1] / 2), rtol=1e-12)
        np.testing.assert_allclose(weight, at.sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize("classes", [1, 3, 64, 65])  # up to 64 counted in lanes
def test_pairs_are_counted(classes: int) -> None:
    rng = np.random.default_rng(classes)
    truth, predicted = rng.integers(0, classes, (2, 5001)).astype(np.int32)
    w = rng.integers(0, 5, 5001).astype(float)
    for weights in (None, w):
        counts = np.ones((classes, classes))
        core.count_pairs(truth, predicted, weights, counts)
        expected = np.bincount(truth * classes + predicted, weights, classes**2).reshape(classes, classes) + 1
        np.testing.assert_array_equal(counts, expected)


def test_areas_of_nothing_and_of_one_cut_off() -> None:
    assert core.areas(np.empty(0), np.empty(0), 1.0)[4] == -1
    roc, average_precision, precision_recall, best_f, best = core.areas(np.array([2.0]), np.array([3.0]), 1.0)
    assert (roc, best) == (3.0, 0)
    assert [average_precision, precision_recall, best_f] == pytest.approx([0.8, 1.4, 4 / 7])


def test_the_core_checks_what_it_is_given() -> None:
    with pytest.raises(ValueError, match="positive: 0 or 1"):
        core.cutoffs(np.zeros(2), np.array([0, 2], np.uint8), np.ones(2), 1)
    with pytest.raises(ValueError, match="labels: 0 to classes - 1"):
        core.count_pairs(np.array([5], np.int32), np.array([0], np.int32), None, np.zeros((2, 2)))
