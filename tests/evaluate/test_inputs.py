"""Input of any kind: the same numbers, or an error that names the row and a remedy."""

import warnings
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.metrics as sk
from scipy import sparse

from linnet import evaluate as ev
from linnet.errors import ConfigError, DataError, DataWarning

Y, Y_PRED = np.array([0, 1, 1, 0, 1]), np.array([0, 1, 0, 0, 1])
P = np.array([0.12, 0.93, 0.43, 0.47, 0.82])
KINDS = (np.array, np.ndarray.tolist, pd.DataFrame, pl.DataFrame, lambda t: t.astype("f4"))


@pytest.mark.parametrize(
    "kind",
    [
        list,
        tuple,
        pd.Series,
        lambda y: pd.Series(y, dtype="Int64"),
        lambda y: pd.DataFrame({"y": y}),
        lambda y: pd.Series(y).astype("category"),
        pl.Series,
        lambda y: y.astype(np.uint64),
        lambda y: y.astype(np.int8),
        lambda y: y.astype(bool),
        lambda y: y.astype(float),
        lambda y: y.astype(object),
        lambda y: np.repeat(y, 2)[::2],
    ],
    ids=range(13),
)
def test_labels_of_any_kind(kind: Any) -> None:
    assert ev.f1_score(kind(Y), kind(Y_PRED)) == pytest.approx(0.8)
    assert ev.roc_auc_score(kind(Y), kind(Y_PRED).tolist() if hasattr(kind(Y_PRED), "tolist") else kind(Y_PRED)) > 0.5
    np.testing.assert_array_equal(ev.confusion_matrix(kind(Y), kind(Y_PRED)), [[2, 0], [1, 2]])


@pytest.mark.parametrize(
    ("truth", "y_pred"),
    [
        (np.array([-128, 127, 5], np.int8), np.array([-128, 127, 127], np.int8)),
        (np.array([2**63, 2**63 + 1], np.uint64), np.array([2**63, 2**63], np.uint64)),
        (np.array([-(2**15), 2**15 - 1], np.int16), np.array([2**15 - 1, 2**15 - 1], np.int16)),
        (np.array([-(2**62), 0, 2**62]), np.array([0, 0, 2**62])),
    ],
)
def test_whole_numbers_at_the_ends_of_their_type(truth: Any, y_pred: Any) -> None:
    np.testing.assert_array_equal(ev.confusion_matrix(truth, y_pred), sk.confusion_matrix(truth, y_pred))


def test_a_label_that_was_not_named_is_never_taken_for_another() -> None:
    with pytest.raises(DataError, match="y_true has the label 4294967296 in row 0, but the labels are 0, 1"):
        ev.ClassScoreAccumulator([0, 1]).update([2**32, 1], [[0.1, 0.9], [0.2, 0.8]])


def test_masked_entries_are_refused() -> None:
    part = np.arange(5) < 2
    macro = partial(ev.f1_score, average="macro")
    for metric, first, second in ((macro, Y, Y_PRED), (ev.roc_auc_score, Y, P), (macro, [Y, Y], [Y_PRED, Y])):
        mask = np.broadcast_to(part, np.shape(first))
        for name, pair in (
            ("y_true", (np.ma.masked_array(first, mask), second)),
            ("y_(pred|score)", (first, np.ma.masked_array(second, mask))),
        ):
            with pytest.raises(DataError, match=f"{name} is masked"):
                metric(*pair)
    with pytest.raises(DataError, match="sample_weight is masked"):
        ev.f1_score(Y, Y_PRED, sample_weight=np.ma.masked_array(np.ones(5), part))


@pytest.mark.parametrize("gap", [None, pd.NA, np.nan, pd.NaT])
def test_missing_labels_name_their_row(gap: Any) -> None:
    with pytest.raises(DataError, match="y_true is missing in row 1"):
        ev.accuracy_score(np.array(["a", gap, "b"], object), ["a", "b", "b"])
    with pytest.raises(DataError, match="y_true is missing in row 1"):
        ev.accuracy_score(np.array(["2020-01-01", "NaT"], "M8[D]"), ["2020-01-01"] * 2)


def test_scores_are_no_labels() -> None:
    with pytest.raises(DataError, match=r"y_pred has 0\.12 in row 0, which is not a class: compare scores"):
        ev.accuracy_score(Y, P)
    with pytest.raises(DataError, match=r"y_true has 0\.12 in row 0"):
        ev.roc_auc_score(P, P)
    with pytest.raises(DataError, match="have 30000 classes, more than 20000"):
        ev.accuracy_score(np.arange(30_000), np.arange(30_000))


@pytest.mark.parametrize(
    "kind", [np.array, np.ndarray.tolist, pd.DataFrame, pl.DataFrame, lambda t: t.astype("f4")], ids=range(5)
)
def test_two_columns_are_those_of_predict_proba(kind: Any) -> None:
    names = np.array(["no", "yes"])[Y]
    table = kind(np.c_[1 - P, P])
    assert ev.average_precision_score(Y, table) == ev.average_precision_score(Y, P)
    assert ev.roc_auc_score(names, table) == ev.roc_auc_score(Y, P)
    assert ev.best_threshold(names, table, pos_label="yes").threshold == pytest.approx(0.43)
    for pos_label, column in (("no", 1 - P), ("yes", P)):
        ours = ev.average_precision_score(names, table, pos_label=pos_label)
        assert ours == pytest.approx(sk.average_precision_score(names, column, pos_label=pos_label), rel=1e-6)
        ece = ev.expected_calibration_error(names, table, pos_label=pos_label)
        assert ece == pytest.approx(ev.expected_calibration_error(names, column, pos_label=pos_label), abs=1e-6)
        assert ev.report(names, table, pos_label=pos_label).roc_auc[0] == ev.roc_auc_score(Y, P)
    with pytest.raises(DataError, match="y_true has one class only: pass the column of the positive class"):
        ev.best_threshold(["a", "a"], [[0.1, 0.9], [0.2, 0.8]], pos_label="a")


@pytest.mark.parametrize("y", [np.array(["n", "y"])[Y], Y + 1, Y * 2 - 1, Y.astype(bool)])
def test_the_greater_of_two_classes_is_positive_for_the_roc_area(y: Any) -> None:
    assert ev.roc_auc_score(y, P) == pytest.approx(sk.roc_auc_score(y, P), rel=1e-12)


def test_labels_name_columns_in_order() -> None:
    call: Any
    for call in (
        lambda labels: ev.log_loss(["a", "b"], [[0.9, 0.1], [0.2, 0.8]], labels=labels),
        ev.ProbabilityAccumulator,
        ev.ClassScoreAccumulator,
        lambda labels: ev.ClassCutoffs(["a", "b"], np.eye(2), labels=labels),
    ):
        with pytest.raises(ConfigError, match=r"labels must be sorted and distinct.*got \['b', 'a'\]"):
            call(["b", "a"])
        call(["a", "b"])


def test_one_class_and_one_column_of_probabilities() -> None:
    assert ev.log_loss(["a", "a"], [0.1, 0.2], labels=["a", "b"]) == pytest.approx(-np.log([0.9, 0.8]).mean())
    with pytest.raises(DataError, match="y_true has one class only, 'a': name both classes with labels"):
        ev.log_loss(["a", "a"], [0.1, 0.2])
    with pytest.raises(DataError, match="y_proba has one column, but there are 3 classes"):
        ev.log_loss([0, 1, 2], [0.1, 0.2, 0.3])


def rows_of_labels(seed: int) -> tuple[Any, Any, Any, Any]:
    rng = np.random.default_rng(seed)
    n, labels = int(rng.integers(1, 20)), int(rng.integers(2, 5))
    w = None if seed % 2 else rng.choice([0.1, 1, 2], n)
    return (
        rng.integers(0, 2, (n, labels)),
        rng.integers(0, 2, (n, labels)),
        np.round(rng.normal(size=(n, labels)), 1),
        w,
    )


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("average", [None, "micro", "macro", "weighted", "samples"])
def test_several_labels_per_row(seed: int, average: Any) -> None:
    y, y_pred, s, w = rows_of_labels(seed)
    assert ev.accuracy_score(y, y_pred, sample_weight=w) == pytest.approx(sk.accuracy_score(y, y_pred, sample_weight=w))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for zero in (0, 1, np.nan):
            options: Any = {"average": average, "sample_weight": w, "zero_division": zero, "beta": 2}
            ours, theirs = (m.precision_recall_fscore_support(y, y_pred, **options) for m in (ev, sk))
            for a, b in zip(ours, theirs, strict=True):
                np.testing.assert_allclose(np.array(a, float), np.array(b, float), rtol=1e-12)
        matrix: Any = sparse.csr_matrix
        found = ev.f1_score(matrix(y), matrix(y_pred), average=average, sample_weight=w)
        np.testing.assert_allclose(found, sk.f1_score(y, y_pred, average=average, sample_weight=w), rtol=1e-12)
        for area in ("average_precision_score", "roc_auc_score"):
            if area == "roc_auc_score" and ((y.min(axis=0) == 1) | (y.max(axis=0) == 0)).any():
                continue
            ours, theirs = (getattr(m, area)(y, s, average=average, sample_weight=w) for m in (ev, sk))
            np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_some_of_several_labels() -> None:
    y, y_pred, _, _ = rows_of_labels(6)
    for average in (None, "micro", "samples"):
        ours, theirs = (m.recall_score(y, y_pred, labels=[1, 0], average=average, zero_division=0) for m in (ev, sk))
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_what_several_labels_cannot_be() -> None:
    y = np.eye(3, dtype=int)
    call: Any
    for call, error, message in (
        (
            lambda: ev.f1_score(y, y),
            ConfigError,
            "average='binary' needs one class per row, and y_true has",
        ),
        (
            lambda: ev.f1_score(y, y[:, :2], average="micro"),
            DataError,
            "y_pred must have the shape of y_true",
        ),
        (
            lambda: ev.f1_score(y, 2 * y, average="micro"),
            DataError,
            "y_pred has 2 in row 0, column 0",
        ),
        (lambda: ev.f1_score(y, y, average="micro", negative_class=0), ConfigError, "negative_class: rows x labels"),
        (
            lambda: ev.f1_score(Y, Y_PRED, average="samples"),
            ConfigError,
            "average='samples' needs rows with several labels",
        ),
        (
            lambda: ev.roc_auc_score([0, 1, 2], y, average="samples"),
            ConfigError,
            "average='samples' needs rows with several labels",
        ),
        (lambda: ev.roc_auc_score(y, y[:, :2]), DataError, r"y_score has shape \(3, 2\), but y_true has \(3, 3\)"),
        (lambda: ev.matthews_corrcoef(y, y), DataError, r"for one-hot rows use y_true\.argmax\(axis=1\)"),
        (lambda: ev.log_loss(y, y / 3), DataError, r"for one-hot rows use y_true\.argmax\(axis=1\)"),
    ):
        with pytest.raises(error, match=message):
            call()


def test_the_other_class_of_two_is_positive() -> None:
    truth, y_pred = ["O", "A", "A", "O"], ["O", "A", "O", "O"]
    assert ev.recall_score(truth, y_pred, negative_class="O") == ev.recall_score(truth, y_pred, pos_label="A") == 0.5
    with pytest.raises(DataError, match="there are no positives"):
        ev.recall_score(["O"], ["O"], negative_class="O")


def test_warnings_point_at_the_callers_line_and_printing_gives_none() -> None:
    call: Any
    for call in (
        lambda: ev.f1_score([0, 0], [0, 0]),
        lambda: ev.precision_score([0, 1, 2], [0, 1, 1], average="macro"),
        lambda: ev.binary_rates([0, 0], [0, 0]).precision,
        lambda: ev.roc_auc_score([0, 0], [0.1, 0.2]),
        lambda: ev.best_threshold([0, 1], [0.2, 0.1], "precision>=0.9"),
    ):
        with pytest.warns(DataWarning) as caught:
            call()
        assert caught[0].filename == __file__
    confusion = ev.Confusion.of([0, 1, 2], [0, 1, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "0 / 0" in str(confusion.scores())
        assert "0 / 0" in str(confusion.scores(zero_division="raise"))
        assert "0 / 0" in str(ev.binary_rates([0, 0], [0, 0]))
        assert str(confusion).splitlines()[0].split() == ["actual", "\\", "predicted", "0", "1", "2"]
        assert "maximum" in str(ev.calibration(Y, P))
        assert "Type II errors" in str(ev.binary_rates(Y, Y_PRED))
    assert "p = 1" in str(ev.mcnemar(Y, Y_PRED, Y_PRED))


def test_any_beta() -> None:
    for beta in (0, 0.5, 3, 1e200, float("inf")):
        expected = sk.fbeta_score(Y, Y_PRED, beta=min(beta, 1e100))
        assert ev.fbeta_score(Y, Y_PRED, beta=beta) == pytest.approx(expected)
        assert ev.binary_rates(Y, Y_PRED).f_beta(beta) == pytest.approx(expected)
    with pytest.raises(ConfigError, match="beta must be at least 0"):
        ev.binary_rates(Y, Y_PRED).f_beta(-1)


def test_a_chunk_may_weigh_nothing() -> None:
    nothing = np.zeros(5)
    scores = ev.ScoreAccumulator().update(Y, P, nothing).update(Y, P).update(Y, P, nothing)
    assert scores.result().roc_auc == ev.roc_auc_score(Y, P)
    counts = ev.ConfusionAccumulator().update(Y, Y_PRED, nothing).update(Y, Y_PRED)
    assert counts.result().accuracy == 0.8
    losses = ev.ProbabilityAccumulator().update(Y, P, nothing).update(Y, P)
    assert losses.log_loss == pytest.approx(ev.log_loss(Y, P))
    for empty in (ev.ScoreAccumulator().update(Y, P, nothing), ev.ConfusionAccumulator().update(Y, Y_PRED, nothing)):
        with pytest.raises(DataError, match="no rows with weight yet"):
            empty.result()
    with pytest.raises(DataError, match="sample_weight is zero for every row"):
        ev.accuracy_score(Y, Y_PRED, sample_weight=nothing)


def test_one_class_has_a_report() -> None:
    with pytest.warns(DataWarning, match="no negatives"):
        found = ev.report([2, 2], [0.1, 0.9], pos_label=2)
    assert found.confusion.counts.tolist() == [[0, 0], [1, 1]]
    assert "not 2" in str(found)
