"""A session trains by linnet's own engine: what is on screen is what Sequential has after the same epochs."""

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from linnet import Sequential
from linnet.errors import ConfigError, FitError
from linnet.estimators.sequential.layers import Dense
from linnet.fit.loop.optimizers import Adam
from linnet.playground.datasets import make
from linnet.playground.frame import NEURON, SURFACE, grid, pack
from linnet.playground.session import Edit, Session
from linnet.playground.state import Hidden, Past, State

Arrays = dict[str, np.ndarray[Any, Any]]
TYPES = {"f4": np.float32, "u2": np.uint16, "u1": np.uint8}


def unpacked(data: bytes) -> tuple[dict[str, Any], Arrays]:
    length = int.from_bytes(data[:4], "little")
    header = json.loads(data[4 : 4 + length])
    arrays: Arrays = {}
    for name, kind, shape, offset in header["arrays"]:
        assert offset % 4 == 0
        arrays[name] = np.frombuffer(data, TYPES[kind], int(np.prod(shape)), 4 + length + offset).reshape(shape)
    return header, arrays


def trained(state: State, epochs: int) -> Session:
    session = Session(state)
    for _ in range(epochs):
        session.one_epoch()
    return session


STATES = [
    State(),
    State(data="xor", layers=(), optimizer="sgd", rate=0.1, batch=1),
    State(data="pinwheels", classes=4, layers=(Hidden(5, "relu", 0.2), Hidden(3, "sigmoid")), l1=1e-3, l2=1e-2),
    State(data="plane", layers=(Hidden(3),)),
    State(data="counts", layers=(Hidden(3),), features=("x1", "x1*x2")),
    State(data="gaussians", head="perceptron", layers=(), optimizer="sgd", batch=1),
    State(data="blobs", head="perceptron", layers=(), optimizer="momentum"),
    State(data="moons", head="categorical"),
    State(data="counts", head="normal", layers=()),
    State(data="digits", layers=(Hidden(6),), batch=64),
]


@pytest.mark.parametrize("state", STATES, ids=lambda state: f"{state.data}-{state.head}-{len(state.layers)}")
def test_frames_show_what_the_model_predicts(state: State) -> None:
    session = trained(state, 2)
    header, arrays = unpacked(session.frame())
    model = session.model.sequential(session.theta)
    low, high = session.facts()["range"]
    seen = low + (high - low) * arrays["surface"] / 65535
    means = model.predict(session.data.plane(grid(session.data.ranges, SURFACE))).astype(float)
    if state.head == "perceptron":
        parts = np.exp(means - means.max(axis=1, keepdims=True))
        means = 1 / (1 + np.exp(-means)) if means.shape[1] == 1 else parts / parts.sum(axis=1, keepdims=True)
    expected = means.T.reshape(-1, SURFACE, SURFACE).clip(low, high)
    assert np.allclose(seen, expected, atol=(high - low) / 65535)
    assert np.array_equal(arrays["theta"], session.theta)
    assert header["epoch"] == 2

    for rows, shown, loss in zip(
        (session.train_part, session.test_part), header["metric"], header["loss"], strict=True
    ):
        numbers = model.evaluate(session.data.x[rows], session.data.y[rows], return_dict=True)
        assert loss == numbers["loss"]
        if session.data.classes:
            predicted = model.predict(session.data.x[rows])
            cut = 0 if state.head == "perceptron" else 0.5
            labels = predicted.argmax(axis=1) if predicted.shape[1] > 1 else (predicted[:, 0] >= cut).astype(int)
            assert shown == pytest.approx((labels == session.data.y[rows]).mean())


def test_the_surface_has_the_top_left_of_the_plane_first() -> None:
    places = grid(((0.0, 8.0), (-4.0, 4.0)), 4).reshape(4, 4, 2)
    assert places[0, 0].tolist() == [1, 3]
    assert places[0, 3].tolist() == [7, 3]
    assert places[3, 0].tolist() == [1, -3]


def test_every_neuron_is_a_map_of_its_activation() -> None:
    session = trained(State(layers=(Hidden(3, "relu"), Hidden(2, "tanh"))), 1)
    _, arrays = unpacked(session.frame())
    x = session.data.plane(grid(session.data.ranges, NEURON))
    first, second, _ = session.model.network.blocks(session.theta)
    below = np.maximum(0, x @ first.weights + first.biases)
    above = np.tanh(below @ second.weights + second.biases)
    expected = np.hstack([below, above]).T.reshape(5, NEURON, NEURON)
    scales = arrays["scales"][:, None, None]
    assert np.allclose(arrays["scales"], np.abs(expected).max(axis=(1, 2)), rtol=1e-5)
    assert np.allclose((arrays["neurons"] / 127.5 - 1.0) * scales, expected, atol=1.01 * scales.max() / 255 + 1e-5)


def test_inputs_are_maps_of_the_plane() -> None:
    maps = Session(State(features=("x1", "x2^2"))).facts()["maps"]
    across, up = (np.array(part).reshape(16, 16) for part in maps)
    assert (across == across[:1]).all()
    assert across[0, 0] == 0
    assert across[0, -1] == 255
    assert (up == up[:, :1]).all()
    assert (up[:, 0] == up[::-1, 0]).all()
    assert up[0, 0] == 255
    assert Session(State(data="digits")).facts()["maps"] == []


def test_training_is_what_sequential_does_however_it_is_sliced() -> None:
    state = State(data="spirals", layers=(Hidden(4), Hidden(3, "relu", 0.1)), batch=7, seed=3)
    stepped = Session(state)
    steps = -(-len(stepped.train_part) // 7)
    for _ in range(3 * steps):
        stepped.advance("step")
    played = Session(state)
    while played.epochs < 3:
        played.advance("epoch", 1e-4)
    whole = trained(state, 3)
    assert stepped.epochs == whole.epochs == played.epochs == 3
    assert stepped.theta.tobytes() == whole.theta.tobytes() == played.theta.tobytes()

    data = make("spirals", seed=3)
    train, _ = data.split(0.5, seed=3)
    model = whole.model.sequential(Session(state).theta)
    model.fit(data.x[train], data.y[train], batch_size=7, epochs=3, verbose=0)
    assert all(np.array_equal(*pair) for pair in zip(model.get_weights(), _weights(whole), strict=True))


def _weights(session: Session) -> list[Any]:
    return [array for block in session.model.network.blocks(session.theta) for array in block]


def test_a_step_inside_an_epoch_shows_and_counts() -> None:
    session = Session(State(batch=50))
    session.advance("step")
    header, arrays = unpacked(session.frame())
    assert (header["epoch"], header["step"], header["steps"]) == (0, 1, 5)
    assert not np.array_equal(arrays["theta"], session.model.first_theta())
    session.one_epoch()
    assert (session.epochs, session.step) == (1, 0)


def test_the_learning_rate_changes_while_the_run_goes_on_and_the_data_begin_a_new_one() -> None:
    session = Session(State(batch=50))
    session.advance("step")
    assert session.apply(State(batch=50, rate=0.1)) is False
    assert (session.epochs, session.step, len(session.legs)) == (1, 0, 2)  # the epoch under way was finished
    before = session.run
    assert session.apply(State(batch=50, rate=0.1, threshold=0.3)) is False
    assert len(session.legs) == 2
    assert session.apply(State(data="xor")) is True
    assert (session.epochs, len(session.legs), session.run) == (0, 1, before + 1)
    session.one_epoch()
    session.reset()
    assert session.epochs == 0
    assert np.array_equal(session.theta, session.model.first_theta())


def test_weights_can_be_edited_and_wrong_places_are_named() -> None:
    session = trained(State(), 2)
    session.edit(0, 1, 3, -2.5)
    session.edit(2, None, 0, 0.75)
    blocks = session.model.network.blocks(session.theta)
    assert blocks[0].weights[1, 3] == -2.5
    assert blocks[2].biases[0] == 0.75
    assert session.epochs == 2
    for wrong in ((3, 0, 0, 1), (0, 2, 0, 1), (0, 0, 4, 1), ("0", 0, 0, 1), (0, 0, 0, float("inf")), (0, 0, 0, None)):
        with pytest.raises(ConfigError):
            session.edit(*wrong)


def test_divergence_is_told_and_leaves_the_last_good_parameters() -> None:
    session = Session(State(data="multi_gauss", optimizer="sgd", rate=0.01, layers=(Hidden(4, "identity"),)))
    session.one_epoch()
    good = session.theta.copy()
    session.apply(State(data="multi_gauss", optimizer="sgd", rate=100.0, layers=(Hidden(4, "identity"),)))
    with pytest.raises(FitError, match="lower the learning rate"):
        session.advance("most", seconds=60)
    assert np.isfinite(session.theta).all()
    assert session.epochs >= 1
    assert session.step == 0
    if session.epochs == 1:
        assert np.array_equal(session.theta, good)
    unpacked(session.frame())


def test_the_epochs_of_a_link_are_made_up_for() -> None:
    session = Session(State(epochs=4))
    assert session.epochs == 0
    assert session.catch_up(60.0, 2) is True
    assert session.epochs == 2
    assert session.catch_up(0.0, 4) is True
    assert session.catch_up(60.0, 5) is False
    assert session.theta.tobytes() == trained(State(), 4).theta.tobytes()
    assert unpacked(session.frame())[0]["past"] == []
    session.edit(0, 0, 0, 1.0)
    assert unpacked(session.frame())[0]["past"] == [
        {"epochs": 4, "settings": {}, "edits": [], "fresh": True},
        {"epochs": 0, "settings": {}, "edits": [[0, 0, 0, 1.0]], "fresh": False},
    ]


def test_a_link_tells_all_that_was_done() -> None:
    """Weights that were set, settings that were changed, divergence: all of it is done again, to the same bytes."""
    session = Session(State(data="multi_gauss", optimizer="sgd", layers=(Hidden(4, "identity"), Hidden(3))))
    session.edit(0, 1, 3, -0.25)
    session.apply(replace(session.state, optimizer="momentum"))
    session.edit(2, None, 0, 0.125)
    session.one_epoch()
    session.apply(replace(session.state, rate=0.03, batch=7, l2=0.01))
    for _ in range(3):
        session.one_epoch()
    session.edit(1, 2, 1, 0.1)
    session.edit(1, 2, 1, 0.2)
    session.one_epoch()
    session.apply(replace(session.state, rate=100.0))
    with pytest.raises(FitError):
        session.advance("most", seconds=60)
    session.apply(replace(session.state, rate=0.01))
    session.one_epoch()
    session.apply(replace(session.state, l1=0.5))  # nothing was trained by it
    session.apply(replace(session.state, l1=0.0))

    header, _ = unpacked(session.frame())
    given = {**session.state.to_dict(), "past": header["past"], "epochs": header["epoch"]}
    again = Session(State.of(json.loads(json.dumps(given))))
    while again.catch_up(0.05, 1000):
        assert unpacked(again.frame())[0]["behind"] is True
    assert unpacked(again.frame())[0]["behind"] is False
    assert again.theta.tobytes() == session.theta.tobytes()
    assert unpacked(again.frame())[0]["past"] == header["past"]
    assert again.epochs == session.epochs
    for one in (session, again):
        one.one_epoch()
    assert again.theta.tobytes() == session.theta.tobytes()
    assert again.epochs == header["epoch"] + 1


def test_a_run_of_very_many_parts_is_not_told() -> None:
    session = Session(State())
    for k in range(61):
        session.edit(0, 0, 0, k / 10)
        session.one_epoch()
    assert unpacked(session.frame())[0]["past"] is None


def test_a_run_of_very_many_epochs_is_not_told() -> None:
    session = Session(State())
    session.edit(0, 0, 0, 0.5)
    session.legs[0] = replace(session.legs[0], epochs=100_001)
    assert unpacked(session.frame())[0]["past"] is None


def test_of_a_weight_that_is_set_again_the_last_value_is_told() -> None:
    session = Session(State())
    for k in range(200):
        session.edit(0, 1, 2, k / 10)
        session.edit(0, None, 2, k / 5)
    assert session.legs[0].edits == (Edit(0, 1, 2, 19.9), Edit(0, None, 2, 39.8))


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ([0, 2, 0, 1.0], "source must be an integer from 0 to 1"),
        ([3, 0, 0, 1.0], "layer must be an integer from 0 to 2"),
        ([0, 0, 4, 1.0], "unit must be an integer from 0 to 3"),
        ([0, 0, 0, math.nan], "value must be"),
        ([0, 0, 0, 1e9], "value must be"),
        ([0, 0, 0, "1"], "value must be"),
    ],
)
def test_a_link_that_sets_weights_that_are_not_there_is_refused(edit: list[object], message: str) -> None:
    session = trained(State(), 2)
    session.edit(0, 0, 0, 0.5)
    before = session.frame()
    with pytest.raises(ConfigError, match=message):
        session.open(State.of({"data": "xor", "past": [{"edits": [edit]}]}), None)
    assert session.frame() == before
    session.one_epoch()


@pytest.mark.parametrize("optimizers", [("adam", "sgd"), ("momentum", "adam")])
def test_parts_that_no_run_has_do_no_harm(optimizers: tuple[str, str]) -> None:
    """Parts without epochs, and an optimizer that goes on with the memory of another one."""
    one, other = ({"epochs": 2, "settings": {"optimizer": name}, "fresh": False} for name in optimizers)
    session = Session(State.of({"optimizer": "rmsprop", "past": [{}, {}, one, {"fresh": False}, {}, other, {}]}))
    assert session.catch_up(60.0, 1000) is False
    assert [leg.epochs for leg in session.legs] == [2, 2, 0]
    assert all(leg.fresh for leg in session.legs)
    assert session.legs[-1].state.same_training(session.state)


def test_who_gives_up_a_link_goes_on_with_the_settings_on_screen() -> None:
    session = Session(State.of({"rate": 0.03, "past": [{"epochs": 3, "settings": {"rate": 0.5}}, {"epochs": 100}]}))
    assert session.catch_up(60.0, 2) is True
    session.give_up()
    session.one_epoch()
    assert [(leg.epochs, leg.state.rate) for leg in session.legs] == [(2, 0.5), (1, 0.03)]
    assert unpacked(session.frame())[0]["behind"] is False


def test_a_run_that_begins_anew_has_no_past() -> None:
    state = State(epochs=2, past=(Past(2, {"rate": 0.5}),))
    session = Session(state)
    session.apply(replace(state, layers=()))
    assert (session.facts()["state"]["epochs"], session.facts()["state"]["past"]) == (0, ())
    session.state = state
    session.reset()
    assert session.catch_up(60.0, 1000) is False
    assert session.epochs == 0


def test_all_zeros_are_warned_of_in_words() -> None:
    session = Session(State(initialiser="zeros"))
    assert any("stay equal forever" in note for note in session.facts()["notes"])
    assert Session(State()).facts()["notes"] == []


def test_wrong_settings_leave_the_run_as_it_was() -> None:
    session = trained(State(), 1)
    for wrong in (State(data="plane", head="bernoulli"), State(data="table"), State(data="drawn")):
        with pytest.raises(ValueError, match=r"head|table|points"):
            session.apply(wrong)
    assert session.state == State()
    assert session.epochs == 1
    session.one_epoch()


def test_precision_recall_and_confusion_are_those_of_the_held_out_rows() -> None:
    session = trained(State(data="moons", noise=0.6), 5)
    session.apply(State(data="moons", noise=0.6, threshold=0.3))
    header, arrays = unpacked(session.frame())
    model = session.model.sequential(session.theta)
    score = model.predict(session.data.x[session.test_part])[:, 0]
    truth = session.data.y[session.test_part]
    for cut, tp, fp in zip(arrays["thresholds"], arrays["tp"], arrays["fp"], strict=True):
        assert tp == ((score >= cut) & (truth == 1)).sum()
        assert fp == ((score >= cut) & (truth == 0)).sum()
    predicted = score >= 0.3
    counts = [[int(((truth == t) & (predicted == s)).sum()) for s in (0, 1)] for t in (0, 1)]
    assert header["confusion"] == counts


def test_arrays_survive_packing() -> None:
    arrays: Arrays = {
        "odd": np.arange(3, dtype=np.uint8),
        "none": np.empty((0, 2), np.float32),
        "two": np.ones((2, 3), np.uint16),
    }
    header, found = unpacked(pack({"is": "frame", "name": "é"}, arrays))
    assert (header["is"], header["name"]) == ("frame", "é")
    assert all(np.array_equal(found[name], array) for name, array in arrays.items())


def test_a_saved_model_is_a_sequential_one() -> None:
    session = trained(State(), 1)
    model = session.model.sequential(session.theta)
    assert isinstance(model, Sequential)
    assert isinstance(model.layers[-1], Dense)
    assert isinstance(session.state.make_optimizer(), Adam)


def test_a_change_in_the_middle_of_an_epoch_that_diverges_is_made_all_the_same() -> None:
    wild = State(data="multi_gauss", optimizer="sgd", rate=100.0, batch=1, layers=(Hidden(4, "identity"),))
    session = Session(wild)
    session.advance("step")
    assert session.step == 1
    tame = replace(wild, rate=0.001)
    assert session.apply(tame) is False
    assert session.state == tame
    assert (session.epochs, session.step) == (0, 0)
    assert np.array_equal(session.theta, session.model.first_theta())
    session.one_epoch()
    assert np.isfinite(session.scores()).all()
