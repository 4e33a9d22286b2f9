"""What the presets announce is what happens."""

from dataclasses import replace

import numpy as np
import pytest

from linnet.playground.explain import explain
from linnet.playground.frame import Score
from linnet.playground.presets import PRESETS
from linnet.playground.session import Session
from linnet.playground.state import Hidden, State

BY_TITLE = {preset.title: preset.state for preset in PRESETS}


def after(state: State, epochs: int) -> tuple[Session, Score, Score]:
    session = Session(state)
    while session.epochs < epochs:
        session.one_epoch()
    return session, *session._scene.scores(session.theta, session.head, 0.5)


@pytest.mark.parametrize(
    ("title", "epochs", "least"),
    [
        ("A line is enough", 50, 0.98),
        ("Xor with one hidden layer", 60, 0.95),
        ("Features instead of layers", 50, 0.98),
        ("Spirals", 250, 0.97),
        ("Softmax on four classes", 60, 0.95),
        ("The perceptron's rule", 30, 0.98),
        ("Handwritten digits", 30, 0.93),
        ("Counts", 100, 0.6),
        ("Hills and hollows", 200, 0.8),
        ("One row at a time", 60, 0.95),
    ],
)
def test_some_learn(title: str, epochs: int, least: float) -> None:
    assert after(BY_TITLE[title], epochs)[2].metric >= least


def test_bursts_have_the_dispersion_that_they_were_drawn_with() -> None:
    session, _, _ = after(BY_TITLE["Counts in bursts"], 60)
    assert session.parameter is not None
    assert session.parameter["symbol"] == "d"
    assert 0.35 < session.parameter["value"] < 0.65


def test_xor_defeats_a_line() -> None:
    assert after(BY_TITLE["Xor defeats a line"], 200)[2].metric < 0.65


def test_zeros_stay_the_same_for_ever() -> None:
    session, _, test = after(BY_TITLE["All zeros never learn"], 100)
    weights = session.model.network.blocks(session.theta)[0].weights
    assert (weights == weights[:, :1]).all()
    assert test.metric < 0.65


def test_a_large_network_overfits_few_noisy_rows_and_a_penalty_helps() -> None:
    state = BY_TITLE["Overfitting"]
    _, early_train, early_test = after(state, 50)
    _, late_train, late_test = after(state, 400)
    assert late_train.loss < early_train.loss / 4
    assert late_test.loss > 1.5 * early_test.loss
    assert after(replace(state, l2=0.01), 400)[2].metric > late_test.metric


def test_gradients_vanish_below_sigmoids_and_not_below_tanh() -> None:
    state = BY_TITLE["Too deep for a sigmoid"]
    sizes = [np.abs(layer["dw"]).mean() for layer in explain(Session(state), 3)["layers"]]
    assert sizes[0] < 1e-3 * sizes[-1]
    assert after(state, 100)[2].metric < 0.65
    deep = tuple(Hidden(layer.units, "tanh") for layer in state.layers)
    assert after(replace(state, layers=deep), 100)[2].metric > 0.95
