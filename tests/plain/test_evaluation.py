"""Plain counts, rates, curves and thresholds are linnet.evaluate's, number for number."""

import numpy as np
import pytest

from linnet import evaluate
from linnet.plain import confusion, threshold

RNG = np.random.default_rng(2)
T, SAID = RNG.integers(0, 4, 200), RNG.integers(0, 4, 200)
SAID = np.where(RNG.random(200) < 0.5, T, SAID)
YES = RNG.integers(0, 2, 200)
SCORES = np.round(RNG.normal(size=200) + YES, 1)  # with ties


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_classes_one_by_one(beta: float) -> None:
    C = confusion.confusion_matrix(T, SAID, 4)
    np.testing.assert_array_equal(C, evaluate.Confusion.of(T, SAID).counts)
    TP, FP, FN = confusion.counts(C, [0, 1, 2, 3])
    found = evaluate.Confusion.of(T, SAID).scores(beta)
    np.testing.assert_array_equal(confusion.precision(TP, FP), found.precision)
    np.testing.assert_array_equal(confusion.recall(TP, FN), found.recall)
    np.testing.assert_array_equal(confusion.f_beta(TP, FP, FN, beta), found.f)
    P, R = confusion.precision(TP, FP), confusion.recall(TP, FN)
    np.testing.assert_allclose(found.f, (1 + beta**2) * P * R / (beta**2 * P + R), rtol=1e-14)


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_micro_and_macro_with_a_negative_class(beta: float) -> None:
    C = confusion.confusion_matrix(T, SAID, 4)
    for positives, negative in (([0, 1, 2, 3], None), ([1, 2, 3], 0), ([0, 1, 3], 2)):
        found = evaluate.Confusion.of(T, SAID).scores(beta, negative_class=negative)
        assert confusion.micro_f(C, positives, beta) == found.average("micro")[2]
        assert confusion.macro_f(C, positives, beta) == pytest.approx(found.average("macro")[2], rel=1e-15)


def test_the_precision_recall_curve_and_its_area() -> None:
    P, R, thresholds = threshold.precision_recall_curve(YES, SCORES)
    precision, recall, cuts = evaluate.precision_recall_curve(YES, SCORES)
    np.testing.assert_array_equal(P[::-1], precision[:-1])
    np.testing.assert_array_equal(R[::-1], recall[:-1])
    np.testing.assert_array_equal(thresholds[::-1], cuts)
    area = evaluate.average_precision_score(YES, SCORES)
    assert threshold.average_precision(YES, SCORES) == pytest.approx(area, rel=1e-14)
    assert (np.diff(R) >= 0).all()  # a lower threshold never loses recall


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_the_best_threshold_on_development_rows(beta: float) -> None:
    dev, test = slice(0, 100), slice(100, 200)
    found = evaluate.best_threshold(YES[dev], SCORES[dev], f"f{beta:g}")
    assert threshold.best_threshold(YES[dev], SCORES[dev], beta) == (found.threshold, found.value)
    TP, FP, FN = threshold.counts(YES[test], SCORES[test], found.threshold)
    rates = evaluate.binary_rates(YES[test], (SCORES[test] >= found.threshold).astype(int))
    assert (rates.tp, rates.fp, rates.fn) == (TP, FP, FN)
    assert confusion.f_beta(TP, FP, FN, beta) == rates.f_beta(beta)
