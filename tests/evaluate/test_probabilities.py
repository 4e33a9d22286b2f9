"""Log loss, Brier score, calibration: scikit-learn's numbers and a diagram by hand."""

from typing import Any

import numpy as np
import pytest
import sklearn.calibration
import sklearn.metrics as sk
from hypothesis import given, settings
from hypothesis import strategies as st

from linnet import evaluate as ev
from linnet.errors import ConfigError, DataError

CLOSE: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-12}


@st.composite
def guessed(draw: Any) -> tuple[Any, Any, Any]:
    """Labels, probabilities with 0 and 1 among them, weights."""
    n = draw(st.integers(2, 30))
    y = np.array(draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
    y[:2] = 0, 1
    p = st.one_of(st.sampled_from([0.0, 0.1, 0.2, 0.5, 1.0]), st.floats(0, 1))
    w = draw(st.one_of(st.none(), st.lists(st.integers(1, 3), min_size=n, max_size=n)))
    return y, np.array(draw(st.lists(p, min_size=n, max_size=n))), w


@settings(max_examples=80, deadline=None)
@given(guessed())
def test_losses_are_scikit_learns(data: Any) -> None:
    y, p, w = data
    assert ev.log_loss(y, p, sample_weight=w) == pytest.approx(sk.log_loss(y, p, sample_weight=w), rel=1e-12)
    total = sk.log_loss(y, p, sample_weight=w, normalize=False)
    assert ev.log_loss(y, p, sample_weight=w, normalize=False) == pytest.approx(total, rel=1e-12)
    brier = sk.brier_score_loss(y, p, sample_weight=w)
    assert ev.brier_score_loss(y, p, sample_weight=w) == pytest.approx(brier, abs=1e-12)
    both = np.c_[1 - p, p]
    assert ev.brier_score_loss(y, both, sample_weight=w) == pytest.approx(brier, abs=1e-12)
    assert ev.log_loss(y, both, sample_weight=w) == pytest.approx(sk.log_loss(y, both, sample_weight=w), rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(guessed(), st.integers(1, 12), st.sampled_from(["uniform", "quantile"]))
def test_calibration_is_scikit_learns(data: Any, bins: int, strategy: str) -> None:
    y, p, _ = data
    theirs = sklearn.calibration.calibration_curve(y, p, n_bins=bins, strategy=strategy)
    for a, b in zip(ev.calibration_curve(y, p, n_bins=bins, strategy=strategy), theirs, strict=True):
        np.testing.assert_allclose(a, b, **CLOSE)


def test_several_classes() -> None:
    rng = np.random.default_rng(0)
    y, p = np.array(list("cabbcacb")), rng.dirichlet(np.ones(3), 8)
    assert ev.log_loss(y, p) == pytest.approx(sk.log_loss(y, p), rel=1e-12)
    assert ev.brier_score_loss(y, p) == pytest.approx(sk.brier_score_loss(y, p), rel=1e-12)
    assert ev.brier_score_loss(y, p, scale_by_half=True) == pytest.approx(ev.brier_score_loss(y, p) / 2)
    assert ev.log_loss(["a", "b"], p[:2], labels=["a", "b", "c"]) == pytest.approx(
        sk.log_loss(["a", "b"], p[:2], labels=["a", "b", "c"])
    )


def test_brier_of_a_named_class() -> None:
    y, p = np.array(list("yn" * 3)), np.array([0.9, 0.1, 0.6, 0.4, 0.3, 0.8])
    assert ev.brier_score_loss(y, p, pos_label="n") == pytest.approx(sk.brier_score_loss(y, p, pos_label="n"))
    assert ev.brier_score_loss([0, 1], [0.2, 0.9], scale_by_half=False) == pytest.approx(2 * (0.04 + 0.01) / 2)


def test_a_diagram_by_hand() -> None:
    y, p = [0, 1, 1, 1], [0.1, 0.1, 0.7, 0.9]
    diagram = ev.calibration(y, p, n_bins=2, sample_weight=[3, 1, 2, 2])
    np.testing.assert_allclose(diagram.weight, [4, 4])
    np.testing.assert_allclose(diagram.predicted, [0.1, 0.8])
    np.testing.assert_allclose(diagram.observed, [0.25, 1])
    assert diagram.ece == pytest.approx((0.15 + 0.2) / 2)
    assert diagram.mce == pytest.approx(0.2)
    assert ev.expected_calibration_error(y, p, n_bins=1) == pytest.approx(0.75 - 0.45)
    sparse = ev.calibration(y, p, n_bins=10)
    assert np.isnan(sparse.observed[5])
    assert sparse.ece == pytest.approx((2 * 0.4 + 0.3 + 0.1) / 4)
    table = np.c_[1 - np.array(p), p]
    np.testing.assert_array_equal(ev.calibration(y, table).weight, sparse.weight)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ev.log_loss([0, 1], [0.5, 1.5]), "y_proba contains 1.5 in row 1: probabilities must be from 0 to 1"),
        (lambda: ev.log_loss([0, 1], [[0.5, 0.5], [0.9, 0.3]]), "y_proba sums to 1.2 in row 1"),
        (lambda: ev.log_loss([0, 1, 2], [[0.5, 0.5]] * 3), "y_proba has 2 columns, but there are 3 classes"),
        (
            lambda: ev.calibration([0, 1], np.full((2, 3), 0.3)),
            "y_proba has 3 columns, but the score of one class is needed",
        ),
        (lambda: ev.brier_score_loss([0, 1], [np.nan, 0]), "y_proba contains NaN in row 0"),
    ],
)
def test_bad_probabilities_are_refused(call: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        call()


def test_names_are_checked() -> None:
    with pytest.raises(ConfigError, match="unknown strategy 'equal'"):
        ev.calibration([0, 1], [0.1, 0.2], strategy="equal")
    with pytest.raises(ConfigError, match="n_bins must be an integer of at least 1"):
        ev.calibration([0, 1], [0.1, 0.2], n_bins=0)
