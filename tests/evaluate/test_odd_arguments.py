"""An argument may be of any type: it is accepted, or refused by its name, never with an error of NumPy or Python."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linnet
from linnet import evaluate as ev
from linnet.errors import ConfigError, DataError, LinnetError

pytestmark = pytest.mark.filterwarnings("ignore")

RNG = np.random.default_rng(0)
ROWS = 40
ACTUAL, W = (RNG.random(ROWS) < 0.5).astype(int), RNG.random(ROWS) + 0.1
P = np.clip(RNG.random(ROWS) * 0.6 + 0.3 * ACTUAL, 0, 1)
Y_PRED = (P > 0.5).astype(int)
THREE, TABLE = RNG.integers(0, 3, ROWS), RNG.dirichlet([1, 1, 1], ROWS)
X = RNG.normal(size=(ROWS, 3))

LABELS: dict[str, Any] = {"y_true": ACTUAL, "y_pred": Y_PRED}
SCORES: dict[str, Any] = {"y_true": ACTUAL, "y_score": P, "pos_label": 1}
PROBABILITIES: dict[str, Any] = {"y_true": ACTUAL, "y_proba": P}
SEVERAL: dict[str, Any] = {"y_true": THREE, "y_score": TABLE, "average": "macro", "labels": [0, 1, 2]}
OF_CLASSES: dict[str, Any] = {"labels": None, "pos_label": 1, "average": "binary", "negative_class": None}
BOOTSTRAP: dict[str, Any] = {"level": 0.9, "n_resamples": 5, "random_state": 0}
BINS: dict[str, Any] = {"pos_label": 1, "n_bins": 5, "strategy": "uniform"}

CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "accuracy": (ev.accuracy_score, {**LABELS, "normalize": True, "sample_weight": W}),
    "balanced accuracy": (ev.balanced_accuracy_score, {**LABELS, "adjusted": False}),
    "rates": (ev.binary_rates, {**LABELS, "pos_label": 1, "zero_division": 0.0}),
    "confusion": (ev.confusion_matrix, {**LABELS, "labels": [0, 1], "normalize": None}),
    "f1": (ev.f1_score, {**LABELS, **OF_CLASSES, "zero_division": 0.0}),
    "f beta": (ev.fbeta_score, {**LABELS, **OF_CLASSES, "beta": 2.0}),
    "by class": (ev.precision_recall_fscore_support, {**LABELS, **OF_CLASSES}),
    "roc curve": (ev.roc_curve, {**SCORES, "drop_intermediate": True, "sample_weight": W}),
    "precision and recall": (ev.precision_recall_curve, {**SCORES, "drop_intermediate": True}),
    "gains": (ev.cumulative_gain_curve, SCORES),
    "area": (ev.auc, {"x": np.linspace(0, 1, ROWS), "y": P}),
    "roc auc": (ev.roc_auc_score, {**SCORES, "max_fpr": None}),
    "roc auc of several": (ev.roc_auc_score, {**SEVERAL, "multi_class": "ovr"}),
    "average precision of several": (ev.average_precision_score, SEVERAL),
    "threshold": (ev.best_threshold, {**SCORES, "objective": "f1"}),
    "thresholds": (
        ev.class_thresholds,
        {"y_true": THREE, "y_score": TABLE, "objective": "f1", "labels": [0, 1, 2], "negative_class": None},
    ),
    "by thresholds": (
        ev.by_thresholds,
        {"y_score": TABLE, "thresholds": {0: 0.5, 1: 0.3, 2: 0.2}, "negative_class": None},
    ),
    "brier": (ev.brier_score_loss, {**PROBABILITIES, "pos_label": 1, "labels": None, "scale_by_half": "auto"}),
    "log loss": (ev.log_loss, {**PROBABILITIES, "normalize": True, "labels": None}),
    "calibration": (ev.calibration, {**PROBABILITIES, **BINS}),
    "calibration error": (ev.expected_calibration_error, {**PROBABILITIES, **BINS}),
    "interval": (
        ev.interval,
        {"metric": "accuracy", "y_true": ACTUAL, "predictions": Y_PRED, "method": "bootstrap", **BOOTSTRAP},
    ),
    "compare": (
        ev.compare,
        {
            "metric": "accuracy",
            "y_true": ACTUAL,
            "predictions_a": Y_PRED,
            "predictions_b": 1 - Y_PRED,
            **BOOTSTRAP,
        },
    ),
    "mcnemar": (
        ev.mcnemar,
        {"y_true": ACTUAL, "pred_a": Y_PRED, "pred_b": 1 - Y_PRED, "exact": None, "correction": True},
    ),
    "advice": (ev.advise, {"y": ACTUAL, "costs": [[0, 1], [5, 0]], "pos_label": 1}),
    "least cost": (ev.least_cost, {"y_proba": TABLE, "costs": 1 - np.eye(3), "labels": [0, 1, 2]}),
    "mean cost": (ev.mean_cost, {"y_true": THREE, "y_pred": TABLE.argmax(axis=1), "costs": 1 - np.eye(3)}),
    "report": (
        lambda **given: str(ev.report(**given)),
        {**SCORES, "threshold": 0.5, "beta": 1.0, "negative_class": None, "labels": None, "zero_division": 0.0},
    ),
    "metric": (ev.metric_named, {"name": "f1"}),
    "counts": (lambda **given: str(ev.Rates(**given)), {"tp": 1, "fp": 1, "fn": 1, "tn": 1, "zero_division": 0.0}),
    "means": (ev.means_table, {"pairs": ((0.1, 0.9),)}),
    "chunks": (
        lambda pos_label, **given: ev.ScoreAccumulator(pos_label).update(**given),
        {"y_true": ACTUAL, "y_score": P, "pos_label": 1},
    ),
    "chunks of probabilities": (
        lambda labels, n_bins, **given: ev.ProbabilityAccumulator(labels, n_bins).update(**given),
        {"y_true": ACTUAL, "y_proba": P, "labels": (0, 1), "n_bins": 5},
    ),
}


class Rude:
    """Neither equal to anything nor unequal, and without a hash."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparisons")


VALUES: dict[str, Any] = {
    "a name in an array": np.array(["micro"]),
    "a name without dimensions": np.array("micro"),
    "two numbers": np.array([1, 2]),
    "no numbers": np.array([]),
    "an empty list": [],
    "lists of different lengths": [[1, 2], [3]],
    "a dict": {},
    "an object": object(),
    "bytes": b"micro",
    "no text": "",
    "nan": float("nan"),
    "-1": -1,
    "a huge number": 2**70,
    "an endless number": 10**400,
    "masked": np.ma.masked,
    "true": np.True_,
    "nothing": None,
    "a function": len,
}
DATA = {"y_true", "y_pred", "y_score", "y_proba", "predictions", "predictions_a", "predictions_b", "y", "x", "labels"}
OWN_ERRORS = {("metric", "a function")}  # which are the user's


@pytest.mark.parametrize("name", CALLS)
def test_an_argument_of_any_type_is_taken_or_refused_by_its_name(name: str) -> None:
    call, usual = CALLS[name]
    call(**usual)
    wrong: dict[str, Exception] = {}
    for parameter in usual:
        values = VALUES if parameter in DATA else {**VALUES, "a rude object": Rude()}
        for what, value in values.items():
            if (parameter, what) in OWN_ERRORS:
                continue
            try:
                call(**{**usual, parameter: value})
            except DataError as error:  # which names what is wrong with the rows, such as their number
                if parameter not in DATA and not any(word in str(error) for word in (parameter, "thresholds for")):
                    wrong[f"{parameter}: {what}"] = error
            except LinnetError as error:
                if parameter not in DATA and not any(word in str(error) for word in (parameter, "metric", "a rate")):
                    wrong[f"{parameter}: {what}"] = error
            except Exception as error:
                wrong[f"{parameter}: {what}"] = error
    assert not wrong


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda: ev.interval("accuracy", ACTUAL, Y_PRED, method="bootstrap", n_resamples=2**70), "n_resamples"),
        (lambda: ev.compare("accuracy", ACTUAL, Y_PRED, Y_PRED, n_resamples=2**31), "n_resamples"),
        (lambda: ev.calibration(ACTUAL, P, n_bins=2**31), "n_bins"),
        (lambda: ev.ProbabilityAccumulator((0, 1), 2**40).update(ACTUAL, P), "n_bins"),
    ],
    ids=["interval", "compare", "calibration", "chunks"],
)
def test_numbers_that_cannot_be_meant_are_refused_before_any_work(call: Callable[[], object], what: str) -> None:
    with pytest.raises(ConfigError, match=f"{what} must be an integer of at least . and at most"):
        call()


def test_predictions_of_another_kind_than_the_classes_are_not_simply_wrong() -> None:
    with pytest.raises(DataError, match="mix text and numbers"):
        ev.mcnemar(ACTUAL, Y_PRED.astype(str), Y_PRED)


FITTED: dict[str, Any] = {
    "numbers": linnet.LinearRegression().fit(X, X[:, 0] + W),
    "counts": linnet.PoissonRegressor(alpha=0).fit(X, THREE),
    "classes": linnet.LogisticRegression(C=1e6).fit(X, ACTUAL),
}


@pytest.mark.parametrize("name", FITTED)
def test_what_a_fitted_model_is_asked_is_taken_or_refused_by_its_name(name: str) -> None:
    model, y = FITTED[name], ACTUAL if name == "classes" else THREE
    asked: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
        "inference": (lambda **given: model.inference(X, y, **given), ("covariance", "level", "groups")),
        "predict": (model.predict, ("X",)),
        "score": (lambda **given: model.score(**{"X": X, "y": y, **given}), ("X", "y", "sample_weight")),
    }
    if hasattr(model, "predict_interval"):
        asked["predict_interval"] = lambda **given: model.predict_interval(X, **given), ("level",)
    wrong: dict[str, Exception] = {}
    for what, (ask, parameters) in asked.items():
        for parameter in parameters:
            for kind, value in VALUES.items():
                try:
                    ask(**{parameter: value})
                except LinnetError:
                    continue
                except Exception as error:
                    wrong[f"{what}, {parameter}: {kind}"] = error
    assert not wrong
