"""Metrics by name, for the record of every epoch, against scikit-learn's."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn import metrics

import linnet
from linnet.data.rows import Rows
from linnet.errors import ConfigError
from linnet.evaluate.formulas import Counts, Divide, OfPositive
from linnet.evaluate.label_measures import label_measure
from linnet.evaluate.metric import Compared, Metric, Needs
from linnet.evaluate.metrics import METRICS, as_metric, metric_named
from linnet.heads import Bernoulli, Categorical, Perceptron

RNG = np.random.default_rng(0)
W = RNG.uniform(0.5, 2, 200)
P = RNG.dirichlet(np.ones(4), 200)
CLASS = np.array([RNG.choice(4, p=p) for p in P])
YES = (RNG.uniform(size=(200, 3)) < P[:, :3]).astype(np.float64)
NONE = np.empty((200, 0))
OF_LABELS: dict[str, Callable[..., Any]] = {
    "f1": metrics.f1_score,
    "f2": lambda t, y, **how: metrics.fbeta_score(t, y, beta=2, **how),
    "f0.5": lambda t, y, **how: metrics.fbeta_score(t, y, beta=0.5, **how),
    "precision": metrics.precision_score,
    "recall": metrics.recall_score,
}
SCORED = {"roc_auc": metrics.roc_auc_score, "average_precision": metrics.average_precision_score}
LOSSES = {"log_loss": metrics.log_loss, "brier": metrics.brier_score_loss}


@pytest.mark.parametrize("name", [*OF_LABELS, *SCORED, *LOSSES, "balanced_accuracy"])
def test_two_classes(name: str) -> None:
    t, p = YES[:, 0], P[:, 0]
    metric = as_metric(name, Bernoulli(), 1)
    value = metric(p[:, None].astype(np.float32), Rows(NONE, values=t[:, None], weights=W))
    if name in OF_LABELS or name == "balanced_accuracy":
        expected = OF_LABELS.get(name, metrics.balanced_accuracy_score)(t, p > 0.5, sample_weight=W)
    else:
        expected = {**SCORED, **LOSSES}[name](t, p, sample_weight=W)
    assert value == pytest.approx(expected, rel=1e-6)
    assert metric.greater_is_better == (name not in LOSSES)


@pytest.mark.parametrize("name", [*OF_LABELS, "log_loss", "balanced_accuracy", "roc_auc"])
def test_many_classes(name: str) -> None:
    rows = Rows(NONE, labels=CLASS.astype(np.int32), weights=W)
    value = as_metric(name, Categorical(), 4)(P, rows)
    y_pred = P.argmax(axis=1)
    if name in OF_LABELS:
        expected = OF_LABELS[name](CLASS, y_pred, average="macro", sample_weight=W)
    elif name == "roc_auc":
        expected = np.mean([metrics.roc_auc_score(k == CLASS, P[:, k], sample_weight=W) for k in range(4)])
    elif name == "log_loss":
        expected = metrics.log_loss(CLASS, P, sample_weight=W)
    else:
        expected = metrics.balanced_accuracy_score(CLASS, y_pred, sample_weight=W)
    assert value == pytest.approx(expected)


@pytest.mark.parametrize("name", [*OF_LABELS, *SCORED])
def test_labels_of_yes_and_no(name: str) -> None:
    value = as_metric(name, Bernoulli(), 3)(P[:, :3], Rows(NONE, values=YES, weights=W))
    y_pred = P[:, :3] if name in SCORED else P[:, :3] > 0.5
    assert value == pytest.approx({**OF_LABELS, **SCORED}[name](YES, y_pred, average="macro", sample_weight=W))


def test_a_validation_part_without_one_of_the_classes() -> None:
    rows = Rows(NONE, labels=np.where(CLASS == 3, 0, CLASS).astype(np.int32))
    for name in ("log_loss", "brier", "f1", "balanced_accuracy"):
        assert np.isfinite(as_metric(name, Categorical(), 4)(P, rows)), name


def test_what_a_head_does_not_have() -> None:
    with pytest.raises(ConfigError, match="the metric roc_auc needs probabilities, which a perceptron does not have"):
        as_metric("roc_auc", Perceptron(), 1)
    with pytest.raises(ConfigError, match="the metric log_loss needs one class per row, not 3 binary labels"):
        as_metric("log_loss", Bernoulli(), 3)
    with pytest.raises(ConfigError, match="unknown metric 'roc_auk': did you mean 'roc_auc'"):
        as_metric("roc_auk", Bernoulli(), 1)


TWO = Compared(YES[:, 0], (P[:, 0] > 0.3).astype(np.float64), P[:, 0], np.array([0.0, 1.0]), W)
FOUR = Compared(CLASS, P.argmax(axis=1), P, np.arange(4), W)
COUNTS = RNG.poisson(3, 200)
NUMBERS = Compared(COUNTS, COUNTS + RNG.uniform(0.1, 1, 200), weights=W)


def rows_for(metric: Metric) -> list[Compared]:
    if metric.needs is Needs.NUMBERS:
        return [NUMBERS]
    return [TWO] if metric.of_positive and not metric.averaged else [TWO, FOUR]


COMPLETE = [name for name, metric in METRICS.items() if metric.complete]


@pytest.mark.parametrize("name", [*COMPLETE, "f2", "f0.5"])
def test_a_value_is_that_of_the_prepared_metric_and_within_its_limits(name: str) -> None:
    metric = metric_named(name)
    for rows in rows_for(metric):
        value, found = metric(rows), metric.interval(rows, 0.95)
        if metric.prepare is not None:
            assert metric.measure(rows).value(None) == pytest.approx(value, rel=1e-12)
            assert (found.metric, found.low <= value <= found.high) == (name, True)
        elif metric.needs is Needs.NUMBERS:
            assert found.low <= value <= found.high
            assert found.method == "bootstrap"


@pytest.mark.parametrize("name", [*COMPLETE, "f2"])
def test_the_direction_is_that_of_better_predictions(name: str) -> None:
    metric = metric_named(name)
    for rows in rows_for(metric):
        proba = None if rows.proba is None else rows.y if rows.two else np.eye(4)[rows.y]
        best = Compared(rows.y, rows.y, proba, rows.classes, rows.weights)
        assert metric.better(metric(best), metric(rows)), name
        assert not metric.better(float("nan"), metric(rows))


@pytest.mark.parametrize("name", [name for name, metric in METRICS.items() if metric.accumulator])
def test_chunks_give_the_value_of_the_whole(name: str) -> None:
    metric = METRICS[name]
    given = TWO.proba if metric.needs is Needs.PROBABILITIES else TWO.predicted
    assert given is not None
    chunks = [(TWO.y[part], given[part], W[part]) for part in (slice(0, 50), slice(50, 200))]
    assert metric.of_chunks(chunks) == pytest.approx(metric(TWO), rel=1e-12)


def test_what_has_no_accumulator() -> None:
    with pytest.raises(ConfigError, match="the metric r2 has no accumulator"):
        METRICS["r2"].of_chunks([])


@pytest.mark.parametrize("name", COMPLETE)
def test_training_knows_every_metric(name: str) -> None:
    """By its name, with the value that tables have for the same rows."""
    rows = Rows(NONE, values=YES[:, :1], weights=W)
    metric = METRICS[name]
    if metric.labels is False:
        with pytest.raises(ConfigError, match="needs one output per class"):
            as_metric(name, Bernoulli(), 1)
        return
    trained = as_metric(name, Bernoulli(), 1)
    assert trained.greater_is_better == metric.greater_is_better
    y, p = YES[:, 0].astype(np.intp), P[:, 0]
    same = Compared(y, (p > 0.5).astype(np.intp), p, np.arange(2), W)
    if metric.needs is Needs.NUMBERS:
        same = Compared(YES[:, 0], p, weights=W)
    assert trained(p[:, None], rows) == pytest.approx(metric(same), rel=1e-12)


def test_what_a_name_does_not_say() -> None:
    for name in ("mean_cost", "f_beta"):
        with pytest.raises(ConfigError, match=f"the metric {name} needs more than its name"):
            as_metric(name, Bernoulli(), 1)
    with pytest.raises(ConfigError, match="the metric specificity needs two classes, and there are 4"):
        as_metric("specificity", Categorical(), 4)


def test_several_outputs_of_a_perceptron() -> None:
    """They are classes to its accuracy, the one with the highest score, and labels of their own to F1."""
    rows = Rows(NONE, labels=CLASS.astype(np.int32))
    z, truth = P - 0.25, np.eye(4)[CLASS]
    assert as_metric("accuracy", Perceptron(), 4)(z, rows) == pytest.approx((z.argmax(axis=1) == CLASS).mean())
    expected = metrics.f1_score(truth, z > 0, average="macro")
    assert as_metric("f1", Perceptron(), 4)(z, rows) == pytest.approx(expected)


def test_weights_count_in_every_metric_of_a_table() -> None:
    """Whole weights are repeated rows."""
    times = RNG.integers(1, 4, 200)
    for metric in METRICS.values():
        for rows in rows_for(metric) if metric.complete else ():
            parts = {"y": rows.y, "predicted": rows.predicted, "proba": rows.proba}
            repeated = {name: None if part is None else np.repeat(part, times, axis=0) for name, part in parts.items()}
            weighted = Compared(**parts, classes=rows.classes, weights=times.astype(np.float64))  # type: ignore[arg-type]
            expected = metric(Compared(**repeated, classes=rows.classes))  # type: ignore[arg-type]
            assert metric(weighted) == pytest.approx(expected, rel=1e-9), metric.name


def test_intervals_of_numbers_by_name() -> None:
    found = linnet.evaluate.interval("rmse", COUNTS, NUMBERS.predicted, method="bootstrap", n_resamples=200)
    assert found.low < found.value < found.high
    assert found.value == pytest.approx(metrics.root_mean_squared_error(COUNTS, NUMBERS.predicted))
    with pytest.raises(ConfigError, match="use method='bootstrap'"):
        linnet.evaluate.interval("rmse", COUNTS, NUMBERS.predicted)
    two = linnet.evaluate.interval("f2", TWO.y, TWO.predicted)
    assert two.value == pytest.approx(metrics.fbeta_score(TWO.y, TWO.predicted, beta=2))


@pytest.mark.parametrize("rows", [TWO, FOUR, NUMBERS], ids=["two classes", "four classes", "numbers"])
def test_a_metric_without_limits_in_closed_form_is_resampled(rows: Compared) -> None:
    """Whatever it needs: a class, a probability of each, a weight, the names of the classes."""

    def compute(rows: Compared) -> Any:
        wrong = np.abs(rows.y - rows.predicted) if rows.classes is None else rows.y != rows.predicted
        doubt = 0 if rows.proba is None else 1 - rows.proba.reshape(len(rows.y), -1).max(axis=1)
        return rows.mean(wrong + doubt)

    found = Metric("doubtful", compute, False).interval(rows, 0.95)
    assert (found.method, found.value) == ("bootstrap", compute(rows))
    assert found.low < found.value < found.high
    drawn = [compute(rows.take(np.random.default_rng(seed).integers(0, 200, 200))) for seed in range(1000)]
    np.testing.assert_allclose([found.low, found.high], np.quantile(drawn, [0.025, 0.975]), rtol=0.03)


def test_a_formula_is_all_that_a_new_metric_needs_for_limits() -> None:
    """Negative predictive value, TN / (TN + FN): an entry and its formula have Wilson's interval."""

    def negative_predictive_value(counts: Counts, divide: Divide) -> Any:
        return divide(counts.tn, counts.total - counts.predicted, "negative predictive value")

    formula = OfPositive(negative_predictive_value, proportion=True)
    metric = Metric("npv", of_positive=True, prepare=lambda given: label_measure(formula, given))
    rows = replace(TWO, weights=None)
    value, found = metric(rows), metric.interval(rows, 0.95)
    assert value == pytest.approx(metrics.precision_score(rows.y, rows.predicted, pos_label=0))
    swapped = metric_named("precision").interval(replace(rows, classes=np.array([1.0, 0.0])), 0.95)
    assert (found.low, found.high, found.method) == pytest.approx((swapped.low, swapped.high, "wilson"))
