"""Confusion matrices and rates: scikit-learn's numbers, hand-computed tables, and what is 0 / 0."""

import math
import warnings
from typing import Any

import numpy as np
import pytest
import sklearn.metrics as sk
from hypothesis import given, settings
from hypothesis import strategies as st

from linnet import evaluate as ev
from linnet.errors import ConfigError, DataError, DataWarning

CLOSE: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-12}


@st.composite
def labelled(draw: Any) -> tuple[Any, Any, Any]:
    """Two columns of labels from a few classes, and integer weights, some of them 0 but not all."""
    n, classes = draw(st.integers(1, 40)), draw(st.integers(1, 5))
    column = st.lists(st.integers(0, classes - 1), min_size=n, max_size=n)
    weights = draw(st.one_of(st.none(), st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(any)))
    names = draw(st.sampled_from([np.arange(5), np.array([-7, 3, 4, 900, 10**9]), np.array(list("abcde"))]))
    weights = None if weights is None else np.array(weights, float)
    return names[draw(column)], names[draw(column)], weights


@settings(max_examples=60, deadline=None)
@given(labelled(), st.sampled_from([0.5, 1.0, 2.0, 0.0, float("inf")]), st.sampled_from([0.0, 1.0, float("nan")]))
def test_scores_are_scikit_learns(data: Any, beta: float, zero: float) -> None:
    truth, y_pred, w = data
    for average in (None, "micro", "macro", "weighted"):
        options = {"average": average, "sample_weight": w, "zero_division": zero, "beta": beta}
        theirs = sk.precision_recall_fscore_support(truth, y_pred, **options)
        ours = ev.precision_recall_fscore_support(truth, y_pred, **options)
        for a, b in zip(ours, theirs, strict=True):
            if b is not None:
                np.testing.assert_allclose(a, b, **CLOSE)


@settings(max_examples=60, deadline=None)
@given(labelled())
def test_matrices_and_single_numbers_are_scikit_learns(data: Any) -> None:
    truth, y_pred, w = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for by in (None, "true", "pred", "all"):
            theirs = sk.confusion_matrix(truth, y_pred, sample_weight=w, normalize=by)
            np.testing.assert_allclose(
                ev.confusion_matrix(truth, y_pred, sample_weight=w, normalize=by), theirs, **CLOSE
            )
        for name in ("accuracy_score", "balanced_accuracy_score", "matthews_corrcoef"):
            theirs = getattr(sk, name)(truth, y_pred, sample_weight=w)
            np.testing.assert_allclose(getattr(ev, name)(truth, y_pred, sample_weight=w), theirs, **CLOSE, err_msg=name)
        adjusted = sk.balanced_accuracy_score(truth, y_pred, adjusted=True)
        if math.isfinite(adjusted):  # of one class alone theirs is not
            assert ev.balanced_accuracy_score(truth, y_pred, adjusted=True) == pytest.approx(adjusted, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(labelled())
def test_weights_are_repetition(data: Any) -> None:
    truth, y_pred, w = data
    if w is None:
        return
    times = w.astype(int)
    weighted, repeated = (
        ev.Confusion.of(truth, y_pred, sample_weight=w),
        ev.Confusion.of(np.repeat(truth, times), np.repeat(y_pred, times), labels=np.unique([*truth, *y_pred])),
    )
    np.testing.assert_array_equal(weighted.counts, repeated.counts)


@settings(max_examples=40, deadline=None)
@given(labelled(), st.integers(0, 40))
def test_parts_add_up_to_the_whole(data: Any, cut: int) -> None:
    truth, y_pred, _ = data
    whole = ev.Confusion.of(truth, y_pred)
    cut %= len(truth)
    if cut:
        parts = ev.Confusion.of(truth[:cut], y_pred[:cut]) + ev.Confusion.of(truth[cut:], y_pred[cut:])
        np.testing.assert_array_equal(parts.classes, whole.classes)
        np.testing.assert_array_equal(parts.counts, whole.counts)


def test_all_rates_of_a_table_by_hand() -> None:
    rates = ev.Rates(tp=6, fp=2, fn=4, tn=8)
    assert (rates.type_1_errors, rates.type_2_errors) == (2, 4)
    assert rates.accuracy == 14 / 20
    assert rates.precision == 6 / 8
    assert rates.recall == rates.sensitivity == rates.true_positive_rate == 6 / 10
    assert rates.specificity == 8 / 10
    assert rates.false_positive_rate == rates.type_1_error_rate == 2 / 10
    assert rates.false_negative_rate == rates.type_2_error_rate == 4 / 10
    assert rates.f1 == rates.harmonic_mean == pytest.approx(2 / 3)
    assert rates.f_beta(2) == pytest.approx(5 * 0.75 * 0.6 / (4 * 0.75 + 0.6))
    assert rates.f_beta(0.5) == pytest.approx(1.25 * 0.75 * 0.6 / (0.25 * 0.75 + 0.6))
    assert rates.balanced_accuracy == pytest.approx(0.7)
    assert rates.mcc == pytest.approx((48 - 8) / math.sqrt(8 * 10 * 10 * 12))
    assert rates.arithmetic_mean == pytest.approx(0.675)
    assert rates.geometric_mean == pytest.approx(math.sqrt(0.45))
    assert rates.false_positive_rate + rates.specificity == 1


def test_why_the_harmonic_mean() -> None:
    first = ev.means_table().split("\n")[1].split()
    assert first == ["1.0%", "100.0%", "50.5%", "10.0%", "2.0%"]
    assert ev.means_table([(0, 0)]).endswith("0.0%")


def test_binary_rates_of_rows() -> None:
    rates = ev.binary_rates(["b", "a", "b", "a"], ["b", "b", "a", "a"], pos_label="b", sample_weight=[1, 2, 3, 4])
    assert (rates.tp, rates.fp, rates.fn, rates.tn) == (1, 2, 3, 4)
    none = ev.binary_rates([0, 0], [0, 0])
    assert (none.tp, none.fp, none.fn, none.tn) == (0, 0, 0, 2)


def test_entity_tagging_scores_only_the_kinds_of_positive() -> None:
    truth = ["O", "O", "O", "PER", "PER", "LOC", "LOC", "O"]
    y_pred = ["O", "PER", "O", "PER", "O", "LOC", "PER", "LOC"]
    scores = ev.Confusion.of(truth, y_pred).scores(negative_class="O")
    assert scores.classes.tolist() == ["LOC", "PER"]
    # LOC: TP 1, FP 1, FN 1; PER: TP 1, FP 2, FN 1
    assert scores.precision.tolist() == [1 / 2, 1 / 3]
    assert scores.recall.tolist() == [1 / 2, 1 / 2]
    assert scores.average("micro") == pytest.approx((2 / 5, 2 / 4, 4 / 9))
    assert scores.average("macro")[2] == pytest.approx((1 / 2 + 2 / 5) / 2)
    assert ev.f1_score(truth, y_pred, average="micro", negative_class="O") == pytest.approx(4 / 9)
    assert ev.accuracy_score(truth, y_pred) == 4 / 8


@pytest.mark.parametrize("name", ["precision_score", "recall_score", "f1_score"])
def test_binary_scores_of_a_named_class(name: str) -> None:
    truth, y_pred = np.array(list("xyxxy")), np.array(list("xxyxy"))
    assert getattr(ev, name)(truth, y_pred, pos_label="y") == getattr(sk, name)(truth, y_pred, pos_label="y")
    assert ev.fbeta_score(truth, y_pred, beta=2, pos_label="x") == pytest.approx(
        sk.fbeta_score(truth, y_pred, beta=2, pos_label="x")
    )
    np.testing.assert_allclose(
        getattr(ev, name)(truth, y_pred, average=None), getattr(sk, name)(truth, y_pred, average=None)
    )


def test_a_part_of_the_labels_in_another_order() -> None:
    truth, y_pred = [0, 1, 2, 2, 1, 0], [0, 2, 2, 1, 1, 1]
    np.testing.assert_array_equal(
        ev.confusion_matrix(truth, y_pred, labels=[2, 0]), sk.confusion_matrix(truth, y_pred, labels=[2, 0])
    )
    np.testing.assert_allclose(
        ev.f1_score(truth, y_pred, labels=[2, 0], average=None),
        sk.f1_score(truth, y_pred, labels=[2, 0], average=None),
    )
    assert ev.confusion_matrix(truth, y_pred, labels=[0, 1, 2, 3]).shape == (4, 4)
    with pytest.raises(ConfigError, match="at least one must occur"):
        ev.confusion_matrix(truth, y_pred, labels=[7, 8])


def test_zero_by_zero_is_a_policy() -> None:
    truth, y_pred = [1, 1, 0], [0, 0, 0]
    with pytest.warns(DataWarning, match=r"precision of 1 is 0 / 0, and set to 0: zero_division=0"):
        assert ev.precision_score(truth, y_pred) == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ev.recall_score(truth, y_pred) == 0  # 0 / 2 is no 0 / 0
        assert ev.precision_score(truth, y_pred, zero_division=1) == 1
        assert math.isnan(ev.precision_score(truth, y_pred, zero_division=float("nan")))
    with pytest.raises(DataError, match="precision of 1 is 0 / 0: set zero_division"):
        ev.precision_score(truth, y_pred, zero_division="raise")
    with pytest.raises(ConfigError, match=r"zero_division must be 0, 1, NaN, 'warn' or 'raise', got 0\.5"):
        ev.precision_score(truth, y_pred, zero_division=0.5)
    assert ev.Rates(0, 0, 0, 5, 0.0).f1 == 0
    with pytest.warns(DataWarning, match="recall is 0 / 0"):
        ev.Rates(0, 1, 0, 5).recall  # noqa: B018
    assert ev.Rates(0, 0, 0, 5, 0.0).mcc == 0


@pytest.mark.parametrize(
    ("truth", "y_pred", "options", "error", "message"),
    [
        ([0, 1], [0], {}, DataError, "y_pred has 1 rows, but y_true has 2"),
        ([], [], {}, DataError, "y_true is empty"),
        ([0, np.nan], [0, 1], {}, DataError, "y_true is missing in row 1"),
        (["a", None], ["a", "b"], {}, DataError, "y_true is missing in row 1"),
        ([[0]] * 2, [[[0]]] * 2, {}, DataError, r"y_pred must have one label per row, got shape \(2, 1, 1\)"),
        (
            [0, 1],
            np.eye(2),
            {},
            DataError,
            r"y_pred must have one label per row, got shape \(2, 2\): for one-hot",
        ),
        ([0, 1], ["a", "b"], {}, DataError, "mix text and numbers"),
        ([0, 1], [0, 1], {"sample_weight": [1, -2]}, DataError, "sample_weight contains -2 in row 1"),
        ([0, 1], [0, 1], {"sample_weight": [1]}, DataError, "sample_weight has 1 rows, but y_true has 2"),
        ([0, 1], [0, 1], {"pos_label": 7}, ConfigError, r"pos_label=7 is not a label of y_true, which has \[0, 1\]"),
        ([0, 1, 2], [0, 1, 2], {}, ConfigError, "average='binary' needs two classes, and there are 3"),
        ([0, 1], [0, 1], {"average": "median"}, ConfigError, "unknown average 'median'"),
        ([0, 1], [0, 1], {"average": "macro", "negative_class": 5}, ConfigError, "negative_class=5 is not among"),
        ([0, 0], [0, 0], {"average": "macro", "negative_class": 0}, DataError, "there are no positives"),
        ([0, 1], [0, 1], {"beta": -1}, ConfigError, "beta must be at least 0"),
    ],
)
def test_what_is_refused(truth: Any, y_pred: Any, options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ev.precision_recall_fscore_support(truth, y_pred, **{"average": "binary", **options})


def test_many_rows_and_classes() -> None:
    rng = np.random.default_rng(0)
    for classes in (2, 60, 100):  # tables counted in lanes, and one too large for that
        truth, y_pred = rng.integers(0, classes, (2, 30_000))
        np.testing.assert_array_equal(ev.confusion_matrix(truth, y_pred), sk.confusion_matrix(truth, y_pred))
    w = rng.random(30_000)
    np.testing.assert_allclose(
        ev.confusion_matrix(truth, y_pred, sample_weight=w),
        sk.confusion_matrix(truth, y_pred, sample_weight=w),
        **CLOSE,
    )


def test_it_reads_as_a_table() -> None:
    text = str(ev.Confusion.of(list("aabb"), list("aaab")).scores(zero_division=0))
    assert text.split("\n")[0].split() == ["precision", "recall", "F1", "support"]
    assert text.split("\n")[1].split() == ["a", "0.6667", "1.0000", "0.8000", "2"]
    assert text.split("\n")[-3].split() == ["micro", "0.7500", "0.7500", "0.7500", "4"]
