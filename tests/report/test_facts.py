import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn import metrics

from linnet import evaluate
from linnet.report import Facts, facts_of
from linnet.report.class_facts import Curve, short_between

from .small_tables import CASES, case, facts, table, trained


def answers(task: str, model: str) -> tuple[Any, Any, Any]:
    one = case(task, model)
    proba = one.model.predict_proba(one.held_out) if task.endswith("classes") else None
    return one.model.target_of(one.held_out), one.model.predict(one.held_out), proba


@pytest.mark.parametrize(("task", "model"), CASES)
def test_metrics_are_the_models_own_and_inside_their_intervals(task: str, model: str) -> None:
    one, found = case(task, model), facts(task, model)
    scores = next(tried.scores for tried in one.model.tried if tried.chosen)  # as training found them
    assert {each.metric: each.value for each in found.metrics} == pytest.approx(scores, nan_ok=True)
    for each in found.metrics:
        if each.metric != "log_loss" or model != "constant":
            assert each.low <= each.value <= each.high or np.isnan(each.low), each


@pytest.mark.parametrize(("task", "model"), CASES)
def test_facts_are_plain_values_and_the_same_each_time(task: str, model: str) -> None:
    one = case(task, model)
    again = facts_of(one.model, one.held_out, training=one.training, command="linnet train data.csv --target y")
    text = json.dumps(facts(task, model).to_dict(), allow_nan=False)
    assert text == json.dumps(again.to_dict(), allow_nan=False)
    assert len(text) < 300_000


def test_metrics_of_numbers_have_bootstrap_intervals() -> None:
    y, predicted, _ = answers("a number", "linear")
    rmse = next(one for one in facts("a number", "linear").metrics if one.metric == "rmse")
    assert rmse.method == "bootstrap"
    assert rmse.value == pytest.approx(metrics.root_mean_squared_error(y, predicted))
    assert rmse.value == pytest.approx((rmse.low + rmse.high) / 2, rel=0.05)


def test_f_beta_that_chose_has_an_interval() -> None:
    one = trained(table("two classes"), "y", "two classes", model="logistic", metric="f2")
    first = facts_of(one.model, one.held_out).metrics[0]
    y, predicted = one.model.target_of(one.held_out), one.model.predict(one.held_out)
    assert first.metric == "f2"
    assert first.value == pytest.approx(metrics.fbeta_score(y, predicted, beta=2, pos_label="yes"))
    assert first.low < first.value < first.high


# ---- classes ----


def check_curve(curve: Curve, flags: Any, p: Any) -> None:
    cutoffs = evaluate.Cutoffs.of(flags, p)
    assert len(curve.thresholds) <= 400
    assert list(curve.thresholds) == sorted(set(curve.thresholds))
    assert curve.threshold in curve.thresholds
    assert curve.roc_auc == pytest.approx(metrics.roc_auc_score(flags, p))
    assert curve.average_precision == pytest.approx(metrics.average_precision_score(flags, p))
    for k, threshold in enumerate(curve.thresholds):
        tn, fp, fn, tp = metrics.confusion_matrix(flags, p >= threshold, labels=[False, True]).ravel()
        assert (curve.tp[k], curve.fp[k], curve.fn[k], curve.tn[k]) == (tp, fp, fn, tn)
    best = max(2 * tp / (2 * tp + fp + fn) for tp, fp, fn in zip(curve.tp, curve.fp, curve.fn, strict=True))
    assert best == pytest.approx(cutoffs.best_f()[1])
    assert sum(curve.rows_by_score) == flags.sum()
    assert sum(curve.others_by_score) == (~flags).sum()


@pytest.mark.parametrize("model", ["logistic", "mlp"])
def test_cutoffs_of_two_classes_are_those_of_every_threshold(model: str) -> None:
    y, _, proba = answers("two classes", model)
    found = facts("two classes", model).of_classes
    assert found is not None
    (curve,) = found.curves
    assert curve.threshold == 0.5
    check_curve(curve, y == "yes", proba[:, 1])


def test_cutoffs_of_many_classes_are_those_of_each_against_the_rest() -> None:
    y, _, proba = answers("many classes", "softmax")
    found = facts("many classes", "softmax").of_classes
    assert found is not None
    assert [curve.name for curve in found.curves] == ["blue", "green", "red"]
    for k, curve in enumerate(found.curves):
        check_curve(curve, y == curve.name, proba[:, k])


def test_many_rows_have_few_cutoffs() -> None:
    one = trained(table("two classes", 20_000), "y", "two classes", model="logistic")
    found = facts_of(one.model, one.held_out).of_classes
    assert found is not None
    flags, p = one.model.target_of(one.held_out) == "yes", one.model.predict_proba(one.held_out)[:, 1]
    assert len(found.curves[0].thresholds) > 300
    check_curve(found.curves[0], flags, p)
    fpr = np.array(found.curves[0].fp) / (~flags).sum()
    recall = np.array(found.curves[0].tp) / flags.sum()
    assert np.abs(np.diff(fpr)).max() < 0.02
    assert np.abs(np.diff(recall)).max() < 0.02


def test_the_threshold_in_force_is_among_the_cutoffs() -> None:
    one = trained(table("two classes"), "y", "two classes", model="logistic", threshold="0.123456789")
    found = facts_of(one.model, one.held_out)
    assert found.threshold == 0.123456789
    assert found.of_classes is not None
    assert found.of_classes.curves[0].threshold == 0.123456789
    y, predicted = one.model.target_of(one.held_out), one.model.predict(one.held_out)
    assert found.of_classes.confusion == tuple(map(tuple, metrics.confusion_matrix(y, predicted).tolist()))


@pytest.mark.parametrize(
    ("below", "score", "short"), [(0.2, 0.4567, 0.4), (0.4561, 0.4567, 0.4567), (-np.inf, 0.07, 0.0)]
)
def test_short_thresholds_part_the_same_rows(below: float, score: float, short: float) -> None:
    assert short_between(below, score) == short
    assert below < short_between(np.nextafter(score, 0), score) <= score


@pytest.mark.parametrize(
    ("task", "model"), [one for one in CASES if one[0].endswith("classes") and one[1] != "perceptron"]
)
def test_classes_are_scored_as_scikit_learn_does(task: str, model: str) -> None:
    y, predicted, _ = answers(task, model)
    found = facts(task, model).of_classes
    assert found is not None
    precision, recall, f1, support = metrics.precision_recall_fscore_support(y, predicted, zero_division=0)
    assert [row.precision for row in found.rows] == pytest.approx(precision)
    assert [row.recall for row in found.rows] == pytest.approx(recall)
    assert [row.f1 for row in found.rows] == pytest.approx(f1)
    assert [row.rows for row in found.rows] == support.tolist()
    assert found.averages[0].f1 == pytest.approx(metrics.f1_score(y, predicted, average="macro", zero_division=0))


def test_calibration_and_gain_are_those_of_evaluate() -> None:
    y, _, proba = answers("two classes", "logistic")
    found = facts("two classes", "logistic").of_classes
    assert found is not None
    observed, predicted = evaluate.calibration_curve(y == "yes", proba[:, 1], n_bins=10)
    assert [one.observed for one in found.calibration] == pytest.approx(observed)
    assert [one.predicted for one in found.calibration] == pytest.approx(predicted)
    assert all(one.low <= one.observed <= one.high for one in found.calibration)
    likely = np.argsort(-proba[:, 1])[: round(0.25 * len(y))]
    assert found.gain[0][25] == 0.25
    assert found.gain[1][25] == pytest.approx((y[likely] == "yes").sum() / (y == "yes").sum())


def test_of_200_classes_the_largest_are_kept() -> None:
    y = [f"class {k:03}" for k in range(200) for _ in range(10 + k // 10)]
    one = trained(pa.table({"x": np.arange(len(y)) % 97, "y": y}), "y", "many classes", model="constant")
    found = facts_of(one.model, one.held_out).of_classes
    assert found is not None
    assert found.count == 200
    assert (len(found.names), len(found.rows), len(found.curves)) == (12, 40, 8)
    assert found.rows[0].rows == max(row.rows for row in found.rows)


def test_weights_of_rows_count_as_rows() -> None:
    whole = table("two classes")
    whole = whole.append_column("w", pa.array(np.tile([1.0, 3.0], len(whole) // 2)))
    one = case("two classes", "logistic")
    model = type(one.model)(**{**vars(one.model), "roles": type(one.model.roles)("y", weights="w")})
    found = facts_of(model, whole)
    y, p = model.target_of(whole), model.predict_proba(whole)[:, 1]
    w = np.asarray(whole["w"]) / 2
    auc = next(each for each in found.metrics if each.metric == "roc_auc")
    assert auc.value == pytest.approx(metrics.roc_auc_score(y, p, sample_weight=w))
    assert found.of_classes is not None
    assert sum(map(sum, found.of_classes.confusion)) == pytest.approx(len(whole))


# ---- numbers and counts ----


def test_residuals_are_actual_minus_predicted() -> None:
    y, predicted, _ = answers("a number", "linear")
    found = facts("a number", "linear").of_numbers
    assert found is not None
    assert found.residual.y == pytest.approx(y - predicted)
    assert found.residual.x == pytest.approx(predicted)
    assert found.mean_residual == pytest.approx((y - predicted).mean())
    assert sum(found.residuals.rows) + found.residuals.outside == len(y)
    assert sum(group.rows for group in found.groups) == len(y)
    assert found.groups[0].predicted == min(group.predicted for group in found.groups)


def test_many_points_are_counted_in_cells() -> None:
    one = trained(table("a number", 20_000), "y", "a number", model="linear")
    found = facts_of(one.model, one.held_out).of_numbers
    assert found is not None
    assert 0.95 * len(one.held_out) < sum(found.actual.rows) <= len(one.held_out)
    assert len(found.actual.rows) <= 1600


def test_counts_are_expected_as_scipy_has_them() -> None:
    from scipy import stats

    y, mean, _ = answers("counts", "poisson")
    found = facts("counts", "poisson").of_numbers
    assert found is not None
    assert found.counts is not None
    last = len(found.counts.observed) - 1
    assert found.counts.observed == (*((y == k).sum() for k in range(last)), (y >= last).sum())
    expected = [stats.poisson.pmf(k, mean).sum() for k in range(last)] + [stats.poisson.sf(last - 1, mean).sum()]
    assert found.counts.expected == pytest.approx(expected)
    assert found.counts.dispersion == pytest.approx(((y - mean) ** 2 / mean).mean())


def test_tenths_of_counts_are_rates_of_exposure() -> None:
    y, mean, _ = answers("counts", "poisson")
    time = np.asarray(case("counts", "poisson").held_out["time"])
    found = facts("counts", "poisson").of_numbers
    assert found is not None
    assert found.per_exposure
    lowest = np.argsort(mean / time, kind="stable")[: found.groups[0].rows]
    assert found.groups[0].observed == pytest.approx(y[lowest].sum() / time[lowest].sum())
    assert found.groups[0].predicted == pytest.approx(mean[lowest].sum() / time[lowest].sum())


def test_what_was_trained_on_what() -> None:
    found: Facts = facts("counts", "poisson")
    assert (found.target.name, found.task, found.model, found.rows, found.held_out) == (
        "y",
        "counts",
        "poisson",
        320,
        80,
    )
    assert found.roles == {"exposure": "time"}
    assert found.command == "linnet train data.csv --target y"
    assert {"linnet", "Python", "NumPy"} <= set(found.versions)
    assert [one.name for one in found.tried if one.chosen] == ["poisson"]
