"""Metrics by name, for the record of every epoch, against scikit-learn's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn import metrics

from linnet.data.rows import Rows
from linnet.errors import ConfigError
from linnet.evaluate.metrics import as_metric
from linnet.heads import Bernoulli, Categorical, Perceptron

RNG = np.random.default_rng(0)
W = RNG.uniform(0.5, 2, 200)
P = RNG.dirichlet(np.ones(4), 200)
CLASS = np.array([RNG.choice(4, p=p) for p in P])
YES = (RNG.uniform(size=(200, 3)) < P[:, :3]).astype(np.float64)
NONE = np.empty((200, 0))
SAID: dict[str, Callable[..., Any]] = {
    "f1": metrics.f1_score,
    "f2": lambda t, y, **how: metrics.fbeta_score(t, y, beta=2, **how),
    "f0.5": lambda t, y, **how: metrics.fbeta_score(t, y, beta=0.5, **how),
    "precision": metrics.precision_score,
    "recall": metrics.recall_score,
}
SCORED = {"roc_auc": metrics.roc_auc_score, "average_precision": metrics.average_precision_score}
LOSSES = {"log_loss": metrics.log_loss, "brier": metrics.brier_score_loss}


@pytest.mark.parametrize("name", [*SAID, *SCORED, *LOSSES, "balanced_accuracy"])
def test_two_classes(name: str) -> None:
    t, p = YES[:, 0], P[:, 0]
    metric = as_metric(name, Bernoulli(), 1)
    value = metric(p[:, None].astype(np.float32), Rows(NONE, values=t[:, None], weights=W))
    if name in SAID or name == "balanced_accuracy":
        expected = SAID.get(name, metrics.balanced_accuracy_score)(t, p > 0.5, sample_weight=W)
    else:
        expected = {**SCORED, **LOSSES}[name](t, p, sample_weight=W)
    assert value == pytest.approx(expected, rel=1e-6)
    assert metric.greater_is_better == (name not in LOSSES)


@pytest.mark.parametrize("name", [*SAID, "log_loss", "balanced_accuracy", "roc_auc"])
def test_many_classes(name: str) -> None:
    rows = Rows(NONE, labels=CLASS.astype(np.int32), weights=W)
    value = as_metric(name, Categorical(), 4)(P, rows)
    said = P.argmax(axis=1)
    if name in SAID:
        expected = SAID[name](CLASS, said, average="macro", sample_weight=W)
    elif name == "roc_auc":
        expected = np.mean([metrics.roc_auc_score(k == CLASS, P[:, k], sample_weight=W) for k in range(4)])
    elif name == "log_loss":
        expected = metrics.log_loss(CLASS, P, sample_weight=W)
    else:
        expected = metrics.balanced_accuracy_score(CLASS, said, sample_weight=W)
    assert value == pytest.approx(expected)


@pytest.mark.parametrize("name", [*SAID, *SCORED])
def test_labels_of_yes_and_no(name: str) -> None:
    value = as_metric(name, Bernoulli(), 3)(P[:, :3], Rows(NONE, values=YES, weights=W))
    said = P[:, :3] if name in SCORED else P[:, :3] > 0.5
    assert value == pytest.approx({**SAID, **SCORED}[name](YES, said, average="macro", sample_weight=W))


def test_a_validation_part_without_one_of_the_classes() -> None:
    rows = Rows(NONE, labels=np.where(CLASS == 3, 0, CLASS).astype(np.int32))
    for name in ("log_loss", "brier", "f1", "balanced_accuracy"):
        assert np.isfinite(as_metric(name, Categorical(), 4)(P, rows)), name


def test_what_a_head_does_not_have() -> None:
    with pytest.raises(ConfigError, match="the metric roc_auc needs probabilities, which a perceptron does not have"):
        as_metric("roc_auc", Perceptron(), 1)
    with pytest.raises(ConfigError, match="the metric log_loss needs one class a row, not 3 yes/no labels"):
        as_metric("log_loss", Bernoulli(), 3)
    with pytest.raises(ConfigError, match="unknown metric 'roc_auk': did you mean 'roc_auc'"):
        as_metric("roc_auk", Bernoulli(), 1)
