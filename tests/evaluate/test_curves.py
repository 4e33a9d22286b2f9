"""Curves and areas: scikit-learn's numbers on ties, single classes and weights."""

import itertools
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
FEW = st.sampled_from([-1.5, -0.0, 0.0, 1e-300, 0.25, 0.5, 1.0, 1e300])
ANY = st.floats(-1e6, 1e6)


@st.composite
def scored(draw: Any, *, both: bool = False) -> tuple[Any, Any, Any]:
    """Labels 0 and 1, scores with or without ties, and weights, some of them 0."""
    n = draw(st.integers(2 if both else 1, 50))
    y = np.array(draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
    if both:
        y[:2] = 0, 1
    s = np.array(draw(st.lists(draw(st.sampled_from([FEW, ANY, st.just(0.3)])), min_size=n, max_size=n)))
    w = draw(st.one_of(st.none(), st.lists(st.sampled_from([0, 1, 2, 0.3]), min_size=n, max_size=n)))
    if w is not None:
        w = np.array(w, float)
        w[: 2 if both else 1] = 1
    return y, s.astype(draw(st.sampled_from([np.float64, np.float32]))) if abs(s).max() < 1e30 else s, w


def quietly(function: Any, *arguments: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **options)


@settings(max_examples=80, deadline=None)
@given(scored(), st.booleans())
def test_curves_are_scikit_learns(data: Any, drop: bool) -> None:
    y, s, w = data
    for name in ("precision_recall_curve", "roc_curve"):
        options = {"sample_weight": w, "drop_intermediate": drop, "pos_label": 1}
        theirs, ours = quietly(getattr(sk, name), y, s, **options), quietly(getattr(ev, name), y, s, **options)
        if drop and w is not None and len(theirs[0]) != len(ours[0]):
            continue  # what lies on a line is a matter of rounding, and theirs rounds otherwise
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a, b, **CLOSE, err_msg=name)


@settings(max_examples=80, deadline=None)
@given(scored(both=True))
def test_areas_are_scikit_learns(data: Any) -> None:
    y, s, w = data
    cutoffs = ev.Cutoffs.of(y, s, sample_weight=w)
    assert cutoffs.roc_auc == pytest.approx(sk.roc_auc_score(y, s, sample_weight=w), abs=1e-12)
    assert cutoffs.average_precision == pytest.approx(sk.average_precision_score(y, s, sample_weight=w), abs=1e-12)
    precision, recall, _ = sk.precision_recall_curve(y, s, sample_weight=w)
    assert cutoffs.pr_auc == pytest.approx(sk.auc(recall, precision), abs=1e-12)
    fpr, tpr, _ = ev.roc_curve(y, s, sample_weight=w)
    assert ev.auc(fpr, tpr) == pytest.approx(cutoffs.roc_auc, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(scored(both=True))
def test_auc_is_the_part_of_pairs_in_the_right_order(data: Any) -> None:
    y, s, _ = data
    pairs = [(a > b) + (a == b) / 2 for a, b in itertools.product(s[y == 1], s[y == 0])]
    assert ev.roc_auc_score(y, s) == pytest.approx(np.mean(pairs), abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(scored(both=True))
def test_weights_are_repetition(data: Any) -> None:
    y, s, w = data
    times = np.ones(len(y), int) if w is None else np.ceil(w).astype(int)
    weighted = ev.Cutoffs.of(y, s, sample_weight=times)
    repeated = ev.Cutoffs.of(np.repeat(y, times), np.repeat(s, times))
    for name in ("thresholds", "tp", "fp"):
        np.testing.assert_array_equal(getattr(weighted, name), getattr(repeated, name))


@settings(max_examples=60, deadline=None)
@given(scored(both=True), st.sampled_from([0.0, 0.5, 1.0, 2.0, float("inf")]))
def test_every_cut_off_has_the_counts_of_its_decision(data: Any, beta: float) -> None:
    y, s, w = data
    cutoffs = ev.Cutoffs.of(y, s, sample_weight=w)
    for i, threshold in enumerate(cutoffs.thresholds):
        rates = ev.binary_rates(y, (s >= threshold).astype(int), sample_weight=w, zero_division=0)
        at = cutoffs.at(threshold)
        np.testing.assert_allclose([at.tp, at.fp, at.fn, at.tn], [rates.tp, rates.fp, rates.fn, rates.tn], **CLOSE)
        if 0 < beta < 100:
            assert cutoffs.f_beta(beta)[i] == pytest.approx(rates.f_beta(beta))
    nothing = cutoffs.at(np.inf)
    assert (nothing.tp, nothing.fp) == (0, 0)
    if beta < 100:
        threshold, best = cutoffs.best_f(beta)
        values = cutoffs.f_beta(beta)
        assert best == pytest.approx(values.max())
        assert cutoffs.at(threshold).tp == cutoffs.tp[list(cutoffs.thresholds).index(threshold)]


@settings(max_examples=12, deadline=None)
@given(st.integers(3, 5), st.integers(0, 10**6), st.booleans())
def test_areas_of_several_classes_are_scikit_learns(classes: int, seed: int, ties: bool) -> None:
    rng = np.random.default_rng(seed)
    n = 60
    y = np.append(np.arange(classes), rng.integers(0, classes, n - classes))
    s = rng.random((n, classes)) + 0.3 * (y[:, None] == np.arange(classes))
    s = np.round(s, 1) + 0.01 if ties else s
    s /= s.sum(axis=1, keepdims=True)
    if ties:
        s = np.round(s * 64) / 64
        s[:, -1] = 1 - s[:, :-1].sum(axis=1)
    w = rng.integers(0, 3, n) + (np.arange(n) < classes)
    for average in ("macro", "weighted", "micro", None):
        for weights in (None, w):
            theirs = sk.roc_auc_score(y, s, multi_class="ovr", average=average, sample_weight=weights)
            np.testing.assert_allclose(ev.roc_auc_score(y, s, average=average, sample_weight=weights), theirs, **CLOSE)
            theirs = sk.average_precision_score(y, s, average=average, sample_weight=weights)
            ours = ev.average_precision_score(y, s, average=average, sample_weight=weights)
            np.testing.assert_allclose(ours, theirs, **CLOSE)
    for average in ("macro", "weighted"):
        theirs = sk.roc_auc_score(y, s, multi_class="ovo", average=average)
        ours = ev.roc_auc_score(y, s, multi_class="ovo", average=average)
        assert ours == pytest.approx(theirs, abs=1e-12)
    repeated = np.repeat(np.arange(n), w)
    assert ev.roc_auc_score(y, s, multi_class="ovo", sample_weight=w) == pytest.approx(
        sk.roc_auc_score(y[repeated], s[repeated], multi_class="ovo"), abs=1e-12
    )
    by_class = ev.pr_auc_score(y, s, average=None)
    assert by_class[1] == pytest.approx(ev.pr_auc_score(y == 1, s[:, 1]))
    assert ev.pr_auc_score(y, s) == pytest.approx(by_class.mean())


def test_one_class_only() -> None:
    with pytest.warns(DataWarning, match="y_true has no negatives: ROC AUC is undefined"):
        assert np.isnan(ev.roc_auc_score([1, 1], [0.1, 0.2]))
    with pytest.warns(DataWarning, match="y_true has no positives: average precision"):
        assert ev.average_precision_score([0, 0], [0.1, 0.2]) == 0
    with pytest.warns(DataWarning, match="no positives: precision-recall area"):
        assert ev.pr_auc_score([0, 0], [0.1, 0.2]) == 0.5
    with pytest.warns(DataWarning, match="no positives: the ROC curve"):
        fpr, tpr, _ = ev.roc_curve([0, 0], [0.1, 0.2])
    assert np.isnan(tpr).all()
    assert fpr.tolist() == [0, 0.5, 1]


def test_gain_by_hand() -> None:
    rows, found = ev.cumulative_gain_curve([1, 0, 1, 0], [0.9, 0.8, 0.8, 0.1])
    assert rows.tolist() == [0, 0.25, 0.75, 1]
    assert found.tolist() == [0, 0.5, 1, 1]


@pytest.mark.parametrize(
    ("y", "s", "message"),
    [
        ([0, 1], [0.1, np.nan], "y_score contains NaN in row 1"),
        ([0, 1], [0.1, np.inf], "y_score contains infinity in row 1"),
        ([0, 1], [0.1], "y_score has 1 rows, but y_true has 2"),
        ([0, 1], ["a", "b"], "y_score has type <U1: it must hold numbers"),
        ([0, 1], [object(), 1], "y_score holds objects"),
        ([0, 1, 2], [0.1, 0.2, 0.3], "y_true has 3 classes, but two are needed"),
        ([0, 1], np.zeros((2, 2, 2)), "y_score must have one score per row, or one per row and class"),
        ([0, 1, 2], np.zeros((3, 2)), "y_true has 3 classes, but two are needed"),
        ([0, 1, 2], np.zeros((3, 4)), "y_score has 4 columns, but there are 3 classes"),
    ],
)
def test_bad_scores_are_refused(y: Any, s: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        ev.roc_auc_score(y, s)


def test_names_are_checked() -> None:
    s = np.eye(3)
    with pytest.raises(ConfigError, match="pos_label must name the positive class"):
        ev.average_precision_score(["a", "b"], [0.1, 0.2])
    assert ev.roc_auc_score(["a", "b"], [0.1, 0.2], pos_label="a") == 0
    with pytest.raises(ConfigError, match="unknown multi_class 'ovx'"):
        ev.roc_auc_score([0, 1, 2], s, multi_class="ovx")
    with pytest.raises(ConfigError, match="average must be 'macro' or 'weighted' with multi_class='ovo'"):
        ev.roc_auc_score([0, 1, 2], s, multi_class="ovo", average="micro")
    with pytest.raises(ConfigError, match="unknown average"):
        ev.roc_auc_score([0, 1, 2], s, average="mean")
    with pytest.raises(DataError, match="must be monotonic"):
        ev.auc([0, 2, 1], [1, 1, 1])
    with pytest.raises(DataError, match="rows of at least two classes"):
        ev.roc_auc_score([0, 0, 0], np.eye(3), multi_class="ovo", labels=[0, 1, 2])
    with pytest.raises(ConfigError, match=r"labels must be sorted and distinct, as the columns are, got \[2, 1, 0\]"):
        ev.roc_auc_score([0, 1, 2], s, labels=[2, 1, 0])
    with pytest.raises(ConfigError, match="max_fpr must be above 0 and at most 1"):
        ev.roc_auc_score([0, 1], [0.1, 0.2], max_fpr=2)


@settings(max_examples=60, deadline=None)
@given(scored(both=True), st.sampled_from([0.05, 0.3, 0.999, 1.0]))
def test_a_part_of_the_roc_curve(data: Any, max_fpr: float) -> None:
    y, s, w = data
    theirs = sk.roc_auc_score(y, s, sample_weight=w, max_fpr=max_fpr)
    assert ev.roc_auc_score(y, s, sample_weight=w, max_fpr=max_fpr) == pytest.approx(theirs, abs=1e-12)


def test_recall_alone_is_best_where_the_last_positive_is_found() -> None:
    assert ev.Cutoffs.of([0, 1, 1, 0], [0.1, 0.2, 0.9, 0.3]).best_f(float("inf")) == (0.2, 1.0)
    assert "4 cut-offs from 0.9 down to 0.1 of 2 positives" in str(ev.Cutoffs.of([0, 1, 1, 0], [0.1, 0.2, 0.9, 0.3]))
    with pytest.raises(ConfigError, match="threshold must be a number"):
        ev.Cutoffs.of([0, 1], [0.1, 0.2]).at(float("nan"))
