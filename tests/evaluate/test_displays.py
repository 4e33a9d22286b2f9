"""Displays draw what they should, from estimators and from predictions."""

import sys
from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

import linnet
from linnet import evaluate as ev
from linnet.errors import ConfigError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
Y = (X[:, 0] + RNG.normal(size=200) > 0.8).astype(int)
MODEL = linnet.LogisticRegression().fit(X, Y)
P = MODEL.predict_proba(X)[:, 1]


@pytest.fixture(autouse=True)
def without_screen() -> Iterator[None]:
    mpl.use("Agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.mark.parametrize("kind", [ev.RocCurveDisplay, ev.PrecisionRecallDisplay, ev.GainDisplay, ev.CalibrationDisplay])
def test_both_ways_draw_the_same(kind: Any, tmp_path: Any) -> None:
    first, second = kind.from_estimator(MODEL, X, Y, name="m"), kind.from_predictions(Y, P, name="m")
    for a, b in zip(first.ax_.get_lines(), second.ax_.get_lines(), strict=True):
        np.testing.assert_allclose(a.get_xydata(), b.get_xydata())
        assert a.get_label() == b.get_label()
    first.figure_.savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 5000
    assert kind.from_estimator(MODEL, X, Y).ax_.get_legend().get_texts()[-1].get_text()


def test_roc_points_and_area() -> None:
    display = ev.RocCurveDisplay.from_predictions(Y, P, name="m")
    fpr, tpr, _ = ev.roc_curve(Y, P)
    np.testing.assert_array_equal(display.lines_[0].get_xydata(), np.c_[fpr, tpr])
    assert display.lines_[0].get_label() == f"m (AUC {ev.roc_auc_score(Y, P):.3f})"


def test_precision_recall_has_iso_f_lines_and_the_best_point() -> None:
    display = ev.PrecisionRecallDisplay.from_predictions(Y, P, iso_f=(0.5,), beta=2)
    line = display.ax_.get_lines()[0].get_xydata()
    recall, precision = line[1:-1].T
    np.testing.assert_allclose(5 * precision * recall / (4 * precision + recall), 0.5)
    assert [text.get_text() for text in display.ax_.texts] == ["F2=0.5"]
    threshold, best = ev.Cutoffs.of(Y, P).best_f(2)
    assert display.ax_.get_lines()[-1].get_label() == f"F2 {best:.3f} at {threshold:.3g}"
    predicted = (threshold <= P).astype(int)
    x, y = display.ax_.get_lines()[-1].get_xydata()[0]
    assert (x, y) == pytest.approx((ev.recall_score(Y, predicted), ev.precision_score(Y, predicted)))
    assert not ev.PrecisionRecallDisplay.from_predictions(Y, P, iso_f=()).ax_.texts


def test_a_curve_a_class_and_axes_of_ones_own() -> None:
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    scores = RNG.random((200, 3))
    display = ev.RocCurveDisplay.from_predictions(RNG.integers(0, 3, 200), scores, ax=ax, color="k")
    assert display.ax_ is ax
    assert len(display.lines_) == 3
    assert display.lines_[0].get_color() == "k"


def test_the_other_class_as_positive() -> None:
    first = ev.RocCurveDisplay.from_estimator(MODEL, X, Y, pos_label=0)
    assert first.curves[0].cutoffs.roc_auc == pytest.approx(ev.roc_auc_score(1 - Y, 1 - P))
    second = ev.CalibrationDisplay.from_estimator(MODEL, X, Y, pos_label=0)
    assert second.diagram.ece == pytest.approx(ev.expected_calibration_error(1 - Y, 1 - P))


def test_long_curves_are_thinned() -> None:
    y = RNG.integers(0, 2, 20_000)
    display = ev.PrecisionRecallDisplay.from_predictions(y, RNG.normal(y))
    points = display.lines_[0].get_xydata()
    assert len(points) <= 2000
    assert points[0].tolist() == [0, 1]
    assert points[-1][0] == 1


def test_confusion_shows_counts_and_parts() -> None:
    predicted = MODEL.predict(X)
    display = ev.ConfusionMatrixDisplay.from_estimator(MODEL, X, Y)
    counts = ev.confusion_matrix(Y, predicted)
    shown = [text.get_text() for text in display.ax_.texts]
    assert shown[0] == str(counts[0, 0])
    assert shown[1] == f"{counts[0, 0] / counts[0].sum():.1%}"
    assert len(shown) == 8
    parts = ev.ConfusionMatrixDisplay.from_predictions(Y, predicted, normalize="pred", colorbar=True)
    assert parts.ax_.texts[0].get_text() == f"{counts[0, 0] / counts[:, 0].sum():.2f}"
    turned = ev.ConfusionMatrixDisplay.from_predictions(Y, predicted, labels=[1, 0])
    assert turned.ax_.texts[0].get_text() == str(counts[1, 1])
    assert [tick.get_text() for tick in turned.ax_.get_xticklabels()] == ["1", "0"]


@pytest.mark.parametrize("classes", [7, 15, 25, 60])
def test_confusion_of_many_classes(classes: int) -> None:
    y = np.arange(classes)
    display = ev.ConfusionMatrixDisplay.from_predictions([f"name {k}" for k in y], [f"name {k}" for k in y[::-1]])
    assert len(display.ax_.texts) == (classes**2 if classes <= 30 else 0)


def test_large_counts_are_short() -> None:
    display = ev.ConfusionMatrixDisplay(ev.Confusion(np.arange(2), np.array([[1_234_567.0, 1.5], [3, 4]]))).plot()
    assert [text.get_text() for text in display.ax_.texts[::2]] == ["1.23M", "1.5", "3", "4"]


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="has no predict_proba or decision_function: use from_pred"):
        ev.RocCurveDisplay.from_estimator(linnet.LinearRegression(), X, Y)
    with pytest.raises(ConfigError, match="unknown response_method 'predict'"):
        ev.RocCurveDisplay.from_estimator(MODEL, X, Y, response_method="predict")
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"drawing a plot needs matplotlib: pip install 'linnet\[plot\]'"):
        ev.RocCurveDisplay.from_predictions(Y, P)


def test_either_class_may_be_positive() -> None:
    for method in ("predict_proba", "decision_function"):
        display = ev.PrecisionRecallDisplay.from_estimator(MODEL, X, Y, pos_label=0, response_method=method)
        scores = MODEL.predict_proba(X)[:, 0] if method == "predict_proba" else -MODEL.decision_function(X)
        np.testing.assert_array_equal(display.curves[0].cutoffs.thresholds, np.unique(scores)[::-1])
    with pytest.raises(ConfigError, match="pos_label=7 is not among the labels"):
        ev.RocCurveDisplay.from_estimator(MODEL, X, Y, pos_label=7)


def test_the_legend_of_many_classes_is_short() -> None:
    rng = np.random.default_rng(0)
    display = ev.PrecisionRecallDisplay.from_predictions(np.arange(60) % 20, rng.normal(size=(60, 20)))
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["20 classes, each against the rest"]
