"""Thresholds: the best of all cut-offs, found again by trying every one."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnet import evaluate as ev
from linnet.errors import ConfigError, DataError, DataWarning
from linnet.evaluate.objectives import ThresholdObjective, as_objective


@st.composite
def scored(draw: Any) -> tuple[Any, Any, Any]:
    """Labels of both classes, scores with ties, and weights."""
    n = draw(st.integers(2, 25))
    y = np.array(draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
    y[:2] = 0, 1
    s = np.array(draw(st.lists(st.integers(-4, 4), min_size=n, max_size=n))) / 4
    w = np.array(draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)))
    return y, s, w


def tried(y: Any, s: Any, w: Any) -> list[tuple[float, ev.Rates]]:
    """Every possible decision rule, from the strictest on."""
    cuts = [np.inf, *sorted(set(s.tolist()), reverse=True)]
    return [(t, ev.binary_rates(y, (s >= t).astype(int), sample_weight=w, zero_division=0)) for t in cuts]


@settings(max_examples=60, deadline=None)
@given(scored(), st.sampled_from([0.5, 1, 2]))
def test_the_highest_f_beta(data: Any, beta: float) -> None:
    found = ev.best_threshold(data[0], data[1], f"f{beta}", sample_weight=data[2])
    every = [(rates.f_beta(beta), t) for t, rates in tried(*data)]
    best = max(value for value, _ in every)
    assert found.value == pytest.approx(best, abs=1e-12)
    assert found.threshold == max(t for value, t in every if value > best - 1e-12)
    assert found.met


@settings(max_examples=60, deadline=None)
@given(scored(), st.sampled_from([0.1, 0.5, 0.9, 1.0]))
def test_recall_at_least(data: Any, least: float) -> None:
    found = ev.best_threshold(data[0], data[1], f"recall >= {least}", sample_weight=data[2])
    good = [(r.precision, r.recall, t) for t, r in tried(*data) if r.recall >= least and t < np.inf]
    assert (found.value, found.rates.recall, found.threshold) == max(good, key=lambda entry: entry[:2])


@settings(max_examples=60, deadline=None)
@given(scored(), st.sampled_from([0.1, 0.5, 0.9, 1.0]))
@pytest.mark.filterwarnings("ignore::linnet.errors.DataWarning")
def test_precision_at_least(data: Any, least: float) -> None:
    found = ev.best_threshold(data[0], data[1], f"precision>={least}", sample_weight=data[2])
    every = [(r.precision, r.recall, t) for t, r in tried(*data) if t < np.inf]
    good = [(recall, precision, t) for precision, recall, t in every if precision >= least]
    assert found.met == bool(good)
    if good:
        assert (found.value, found.rates.precision, found.threshold) == max(good, key=lambda entry: entry[:2])
    else:
        assert found.value == max(every)[0]


@settings(max_examples=60, deadline=None)
@given(scored(), st.lists(st.integers(-3, 9), min_size=4, max_size=4))
def test_the_lowest_cost(data: Any, costs: list[int]) -> None:
    y, s, w = data
    matrix = np.reshape(costs, (2, 2))
    found = ev.best_threshold(y, s, matrix, sample_weight=w)
    every = [
        (float((w * matrix[y, (s >= t).astype(int)]).sum() / w.sum()), t) for t in [np.inf, *sorted(set(s.tolist()))]
    ]
    best = min(value for value, _ in every)
    assert found.value == pytest.approx(best, abs=1e-12)
    assert found.threshold == max(t for value, t in every if value < best + 1e-9)
    predicted = (s >= found.threshold).astype(int)
    assert ev.mean_cost(y, predicted, matrix, labels=[0, 1], sample_weight=w) == pytest.approx(best, abs=1e-12)


def test_a_condition_that_cannot_be_met_is_reported() -> None:
    with pytest.warns(DataWarning, match="no threshold has precision >= 0.9: the closest has 0.5"):
        found = ev.best_threshold([0, 1], [0.5, 0.5], "precision>=0.9")
    assert not found.met
    assert str(found) == ("threshold 0.5: value 0.5000, TP 1, FP 1, FN 0, TN 0 (the condition cannot be met)")


def test_objectives_by_name() -> None:
    assert as_objective("F2") == ev.FBeta(2)
    assert as_objective(" recall>=0.9 ") == ev.RecallAtLeast(0.9)
    assert as_objective("precision >= .5") == ev.PrecisionAtLeast(0.5)
    assert as_objective([[0, 1], [5, 0]]) == ev.Cost([[0, 1], [5, 0]])
    assert ev.Cost([[0, 1], [5, 0]]) != ev.Cost([[0, 1], [4, 0]])
    assert hash(ev.Cost([[0, 1], [5, 0]])) == hash(ev.Cost([[0, 1], [5, 0]]))
    assert repr(ev.Cost([[0, 1], [5, 0]])) == "Cost([[0.0, 1.0], [5.0, 0.0]])"
    assert as_objective(ev.FBeta(3)) == ev.FBeta(3)


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        ("accuracy", "unknown objective 'accuracy': write 'f1'"),
        ("recall>=1.5", "recall must be above 0 and at most 1"),
        ("recall>=0", "recall must be above 0"),
        ("precision>=2", "precision must be above 0 and at most 1"),
        ("f1.2.3", "objective 'f1.2.3'"),
        ([[0, 1]], "costs must be a square matrix"),
        ([[0, np.nan], [1, 0]], "costs must be a square matrix of finite numbers"),
        (None, "costs must be a square matrix"),
        (np.zeros((3, 3)), "two classes need a cost matrix of 2 x 2"),
    ],
)
def test_bad_objectives_are_refused(objective: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ev.best_threshold([0, 1], [0.1, 0.2], objective)


def test_without_positives_only_costs_can_be_tuned() -> None:
    with pytest.raises(DataError, match="one class only, no positives: F1 cannot be tuned"):
        ev.best_threshold([0, 0], [0.1, 0.2])
    assert ev.best_threshold([0, 0], [0.1, 0.2], [[0, 1], [1, 0]]).threshold == np.inf


def test_the_former_name_of_best_cutoff() -> None:
    cutoffs = ev.Cutoffs.of([0, 1, 1], [0.1, 0.4, 0.8])
    with pytest.warns(DeprecationWarning, match="place is now called best_cutoff"):
        assert ev.FBeta(1.0).place(cutoffs) == ev.FBeta(1.0).best_cutoff(cutoffs)
    with pytest.warns(DeprecationWarning, match=r"First\.place is now called best_cutoff"):

        class First(ThresholdObjective):
            def place(self, cutoffs: ev.Cutoffs) -> tuple[int, float, bool]:
                return 0, 1.0, True

    old: Any = First
    assert old().choose(cutoffs).threshold == cutoffs.thresholds[0]


def test_one_threshold_a_class() -> None:
    y = np.array(["O", "A", "B", "A", "O", "B"])
    s = np.array(
        [[0.4, 0.3, 0.3], [0.6, 0.2, 0.2], [0.3, 0.6, 0.1], [0.45, 0.1, 0.45], [0.1, 0.1, 0.8], [0.2, 0.5, 0.3]]
    )
    found = ev.class_thresholds(y, s, negative_class="O")
    assert list(found) == ["A", "B"]
    assert found["A"].threshold == 0.45
    assert found["B"].threshold == 0.5
    assert ev.by_thresholds(s, found, negative_class="O").tolist() == ["O", "A", "B", "A", "O", "B"]
    assert ev.by_thresholds(s[:2].tolist(), {"A": 0.9, "B": 0.2, "O": 0.25}).tolist() == ["B", "B"]
    with pytest.raises(DataError, match="y_score has 3 columns, but there are thresholds for 2 classes"):
        ev.by_thresholds(s, found)


def test_the_lowest_expected_cost() -> None:
    costs = [[0, 1, 4], [1, 0, 1], [9, 9, 0]]
    p = np.array([[0.8, 0.1, 0.1], [0.5, 0.5, 0.0], [0.0, 1.0, 0.0]])
    expected = [[sum(row[i] * costs[i][j] for i in range(3)) for j in range(3)] for row in p]
    assert ev.least_cost(p, costs).tolist() == np.argmin(expected, axis=1).tolist() == [0, 0, 1]
    assert ev.least_cost([0.1, 0.3], [[0, 1], [4, 0]]).tolist() == [0, 1]
    assert ev.least_cost(p, costs, labels=["a", "b", "c"]).tolist() == ["a", "a", "b"]
    with pytest.raises(ConfigError, match="labels names 2 classes, but costs are 3 x 3"):
        ev.least_cost(p, costs, labels=["a", "b"])
    with pytest.raises(DataError, match="y_proba has 3 columns, but costs are 2 x 2"):
        ev.least_cost(p, [[0, 1], [1, 0]])
    with pytest.raises(DataError, match="costs are 3 x 3, but there are 2 classes"):
        ev.mean_cost([0, 1], [0, 1], costs)
