"""Facts of a classifier on held-out rows: confusion matrix, classes, cut-offs, calibration, gain."""

import math
from dataclasses import dataclass, replace

import numpy as np

from linnet import evaluate
from linnet.errors import hearing
from linnet.evaluate.measures import wilson
from linnet.tables.predictions import Evaluation
from linnet.tables.rows import Array, Floats

_MAX_CUTOFFS = 400
_MAX_CURVES = 8  # classes with cut-offs
_MAX_MATRIX_CLASSES = 12
_MAX_TABLE_CLASSES = 40
_MAX_MIXED_UP = 8
_BINS = 10
_SCORE_BINS = 20
_GAIN_POINTS = 101


@dataclass(frozen=True, slots=True)
class ClassRow:
    """How well one class is separated from the others."""

    name: str
    precision: float
    recall: float
    f1: float
    rows: float
    roc_auc: float | None = None
    average_precision: float | None = None


@dataclass(frozen=True, slots=True)
class MixedUp:
    """Rows of one class that were predicted as another."""

    actual: str
    predicted: str
    rows: float


@dataclass(frozen=True, slots=True)
class Curve:
    """A class against the rest: cut-offs from the lowest up, with the four counts of rows at each of them."""

    name: str  # of the class
    threshold: float  # shown first: the one in use, or that of the highest F1
    roc_auc: float
    average_precision: float
    thresholds: tuple[float, ...]
    tp: tuple[float, ...]
    fp: tuple[float, ...]
    fn: tuple[float, ...]
    tn: tuple[float, ...]
    others_by_score: tuple[float, ...]  # rows of the rest, in even bins of the probability
    rows_by_score: tuple[float, ...]  # rows of the class


@dataclass(frozen=True, slots=True)
class CalibrationBin:
    """Rows of about the same probability: the mean predicted one, and the observed share with 95 % limits."""

    predicted: float
    observed: float
    low: float
    high: float
    rows: float


@dataclass(frozen=True, slots=True)
class ClassFacts:
    """Facts of a classifier; of many classes only those with the most rows are kept."""

    names: tuple[str, ...]  # of the confusion matrix
    confusion: tuple[tuple[float, ...], ...]  # actual x predicted
    rows: tuple[ClassRow, ...]
    averages: tuple[ClassRow, ...]
    mixed_up: tuple[MixedUp, ...]  # most frequent first
    count: int  # of all classes
    curves: tuple[Curve, ...] = ()
    calibration: tuple[CalibrationBin, ...] = ()
    calibration_error: float | None = None
    calibration_of: str = ""  # whose probability
    gain: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())  # shares of rows, shares of positives found


def class_facts(evaluation: Evaluation) -> ClassFacts:
    """Return the facts of a classifier on the rows of an evaluation."""
    model, y, weights, proba = evaluation.model, evaluation.y, evaluation.weights, evaluation.proba
    classes = model.classes
    assert classes is not None
    with hearing():  # warnings of classes that have no rows, or are never predicted
        confusion = evaluate.Confusion.of(y, evaluation.predicted, labels=classes, sample_weight=weights)
        scores = confusion.scores(zero_division=0.0)
        shown = _most(scores.support, _MAX_TABLE_CLASSES)
        areas = {} if proba is None else _areas(evaluation, shown)
        rows = tuple(
            ClassRow(
                str(classes[k]),
                float(scores.precision[k]),
                float(scores.recall[k]),
                float(scores.f[k]),
                float(scores.support[k]),
                *areas.get(k, ()),
            )
            for k in shown
        )
        averages = tuple(ClassRow(how, *scores.average(how), confusion.total) for how in ("macro", "weighted"))
        in_matrix = sorted(_most(scores.support, _MAX_MATRIX_CLASSES))
        facts = ClassFacts(
            tuple(str(classes[k]) for k in in_matrix),
            tuple(tuple(row) for row in confusion.counts[np.ix_(in_matrix, in_matrix)].tolist()),
            rows,
            averages,
            _mixed_up(confusion),
            len(classes),
        )
        return facts if proba is None else _with_probabilities(facts, evaluation, proba, scores.support)


def _with_probabilities(facts: ClassFacts, evaluation: Evaluation, proba: Array, support: Floats) -> ClassFacts:
    classes, y, weights = evaluation.model.classes, evaluation.y, evaluation.weights
    assert classes is not None
    two = len(classes) == 2
    if two:
        truth, p, whose = y == classes[1], proba[:, 1], f"the probability of {classes[1]}"
        threshold = 0.5 if evaluation.model.threshold is None else evaluation.model.threshold
    else:
        truth, p, whose = evaluation.predicted == y, proba.max(axis=1), "the probability of the predicted class"
        threshold = None
    curved = [k for k in ([1] if two else _most(support, _MAX_CURVES)) if _on_both_sides(y == classes[k], evaluation.w)]
    calibration = evaluate.calibration(truth, p, pos_label=True, sample_weight=weights, n_bins=_BINS)
    facts = replace(
        facts,
        curves=tuple(_curve(str(classes[k]), y == classes[k], proba[:, k], weights, threshold) for k in curved),
        calibration=tuple(_bins(calibration)),
        calibration_error=calibration.ece,
        calibration_of=whose,
    )
    if not two or not curved:
        return facts
    rows, found = evaluate.Cutoffs.of(truth, p, pos_label=True, sample_weight=weights).gain_curve()
    at = np.linspace(0, 1, _GAIN_POINTS)
    return replace(facts, gain=(tuple(at.tolist()), tuple(np.interp(at, rows, found).tolist())))


def _most(support: Floats, count: int) -> list[int]:
    """Return the classes with the most rows, the largest first; if there are few, all in order."""
    if len(support) <= count:
        return list(range(len(support)))
    return [int(k) for k in np.argsort(-support, kind="stable")[:count]]


def _areas(evaluation: Evaluation, wanted: list[int]) -> dict[int, tuple[float | None, float | None]]:
    """Return ROC AUC and average precision of each class against the rest."""
    assert evaluation.proba is not None
    assert evaluation.model.classes is not None
    out: dict[int, tuple[float | None, float | None]] = {}
    for k in wanted:
        flags = evaluation.y == evaluation.model.classes[k]
        if _on_both_sides(flags, evaluation.w):
            cutoffs = evaluate.Cutoffs.of(
                flags, evaluation.proba[:, k], pos_label=True, sample_weight=evaluation.weights
            )
            out[k] = cutoffs.roc_auc, cutoffs.average_precision
    return out


def _on_both_sides(flags: Array, w: Floats) -> bool:
    """Return whether there are rows of a class, and others; rows of weight 0 are none."""
    counted = flags[w > 0]
    return bool(counted.any() and not counted.all())


def _mixed_up(confusion: evaluate.Confusion) -> tuple[MixedUp, ...]:
    counts = confusion.counts.copy()
    np.fill_diagonal(counts, 0)
    found = []
    for cell in np.argsort(-counts, axis=None, kind="stable")[:_MAX_MIXED_UP]:
        actual, predicted = divmod(int(cell), len(counts))
        rows = counts[actual, predicted].item()
        if rows > 0:
            found.append(MixedUp(str(confusion.classes[actual]), str(confusion.classes[predicted]), rows))
    return tuple(found)


def _bins(found: evaluate.Calibration) -> list[CalibrationBin]:
    """Return the bins that have rows, with Wilson's limits."""
    out = []
    for weight, predicted, observed in zip(found.weight, found.predicted, found.observed, strict=True):
        if weight > 0:
            limits = wilson(float(observed), float(weight), 0.95)
            out.append(CalibrationBin(float(predicted), float(observed), *limits, float(weight)))
    return out


# ---- cut-offs ----


def _curve(name: str, flags: Array, p: Array, weights: Floats | None, threshold: float | None) -> Curve:
    """Return at most 400 cut-offs, evenly along the curves, including the threshold in use and that of the best F1."""
    cutoffs = evaluate.Cutoffs.of(flags, p, pos_label=True, sample_weight=weights)
    length = cutoffs.tp / max(cutoffs.positives, 1e-300) + cutoffs.fp / max(cutoffs.negatives, 1e-300)
    even = np.linspace(length[0], length[-1], _MAX_CUTOFFS - 3)  # three more: the best, the one in use, and 1
    indices = np.unique(np.minimum(np.searchsorted(length, even), len(length) - 1))
    below = np.append(cutoffs.thresholds[1:], -np.inf)
    chosen = {short_between(float(below[k]), float(cutoffs.thresholds[k])) for k in indices}
    best = cutoffs.best_f(1.0)[0]
    best = short_between(float(below[int(np.searchsorted(-cutoffs.thresholds, -best))]), best)
    first = best if threshold is None else threshold
    chosen |= {best, first}
    if cutoffs.thresholds[0] < 1:
        chosen.add(1.0)
    thresholds = sorted(chosen)
    rates = [cutoffs.at(one) for one in thresholds]
    edges, w = np.linspace(0, 1, _SCORE_BINS + 1), np.ones(len(p)) if weights is None else weights
    others, rows = (np.histogram(p[which], edges, weights=w[which])[0].tolist() for which in (~flags, flags))
    return Curve(
        name,
        first,
        cutoffs.roc_auc,
        cutoffs.average_precision,
        tuple(thresholds),
        tuple(rate.tp for rate in rates),
        tuple(rate.fp for rate in rates),
        tuple(rate.fn for rate in rates),
        tuple(rate.tn for rate in rates),
        tuple(others),
        tuple(rows),
    )


def short_between(below: float, score: float) -> float:
    """Return the threshold with the fewest decimals that divides rows as `score` does: above `below`, up to `score`."""
    for digits in range(1, 16):
        short = math.floor(score * 10.0**digits) / 10.0**digits
        if below < short <= score:
            return short
    return score
