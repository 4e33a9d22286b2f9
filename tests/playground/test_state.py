"""The state of the screen as one object: what it accepts, what it refuses, and what changes mean."""

import json
from dataclasses import fields, replace

import pytest

from linnet.errors import ConfigError
from linnet.playground.presets import PRESETS
from linnet.playground.state import LIVE, SEEN, Hidden, Past, State


def test_a_state_survives_json() -> None:
    state = State(
        data="drawn", points=((1.0, -2.0, 1), (0.5, 0.0, 0)), layers=(Hidden(3, "relu", 0.2),), axes=("a", "b")
    )
    assert State.of(json.loads(json.dumps(state.to_dict()))) == state
    assert State.of({}) == State()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"data": "circel"}, "unknown data 'circel': did you mean 'circle'"),
        ({"dta": "circle"}, "unknown field of a state 'dta': did you mean 'data'"),
        ({"noise": -1}, "noise must be at least 0"),
        ({"noise": float("nan")}, "noise must be"),
        ({"ratio": 1}, "ratio must be"),
        ({"seed": 1.5}, "seed must be an integer"),
        ({"seed": 2**32}, "seed must be an integer from 0 to"),
        ({"epochs": 10**6}, "epochs must be an integer from 0 to 100000"),
        ({"batch": 0}, "batch must be an integer"),
        ({"classes": 7}, "classes must be an integer from 2 to 6"),
        ({"rate": 0}, "rate must be above 0"),
        ({"features": []}, "features must be at least one"),
        ({"features": ["x1", "x1"]}, "features must be at least one, without repetition"),
        ({"features": "x1"}, "features must be a list"),
        ({"layers": [{}] * 7}, "layers must be at most 6"),
        ({"layers": [{"units": 17}]}, "layers: layer 1: units must be at most 16"),
        ({"layers": [{"units": 2}, {"width": 2}]}, "layers: layer 2 must have units"),
        ({"layers": [{"activation": "tahn"}]}, "layers: layer 1: unknown activation 'tahn': did you mean 'tanh'"),
        ({"layers": [{"dropout": 1}]}, "layers: layer 1: dropout must be"),
        ({"points": [[0, 0]]}, "points: point 1 must be"),
        ({"points": [[0, 7, 0]]}, "points: point 1 must be"),
        ({"points": [[0, 0, 0]] * 1001}, "points must be at most 1000"),
        ({"axes": ["a"]}, "axes must be two columns or none"),
        ({"target": 3}, "target must be the name of a column"),
        ({"target": "a" * 1001}, "target must be the name of a column"),
        ({"threshold": True}, "threshold must be"),
        ({"test": 1}, "test must be true or false"),
        ({"view": "train "}, "unknown view"),
        ({"row": -1}, "row must be"),
        ({"place": 99}, "place must be an integer from 0 to 15"),
        ({"curve": {"units": 65}}, "units must be at most 64"),
        ({"curve": {"unit": 5}}, "unknown field of a curve 'unit': did you mean 'units'"),
        ({"curve": [1]}, "curve must be an object of fields"),
        ({"pins": ["a"] * 5}, "pins must be at most 4 runs"),
        ({"pins": [1]}, "pins must be at most 4 runs"),
        ({"pins": "0*run"}, "pins must be a list"),
        ({"past": [{}] * 61}, "past must have at most 60 parts"),
        ({"past": [{}, {"epoch": 2}]}, "past: part 2 must have epochs, settings, edits, fresh"),
        ({"past": [{"epochs": -1}]}, "past: part 1: epochs must be"),
        ({"past": [{"settings": {"seed": 1}}]}, "past: part 1: settings must be an object of batch"),
        ({"past": [{"settings": {"rate": -1}}]}, "rate must be above 0"),
        ({"past": [{"edits": [[1, 2, 3]]}]}, "past: part 1: edits must be lists of layer"),
        ({"past": [{"edits": 3}]}, "past: part 1: edits must be a list"),
        ({"past": [{"fresh": 1}]}, "past: part 1: fresh must be true or false"),
        (["circle"], "a state must be an object of fields"),
        (None, "a state must be an object of fields"),
    ],
)
def test_what_has_no_meaning_is_refused_by_name(given: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message.replace("(", r"\(")):
        State.of(given)


def test_every_field_begins_a_run_anew_unless_it_is_live_or_seen() -> None:
    other = {
        "data": "xor",
        "classes": 4,
        "noise": 0.2,
        "ratio": 0.7,
        "seed": 3,
        "points": ((0.0, 0.0, 0),),
        "target": "y",
        "axes": ("a", "b"),
        "features": ("x1",),
        "layers": (),
        "head": "perceptron",
        "initialiser": "zeros",
        "l1": 0.1,
        "l2": 0.1,
        "optimizer": "sgd",
        "rate": 0.5,
        "batch": 3,
        "epochs": 5,
        "threshold": 0.2,
        "shown": 1,
        "speed": "most",
        "view": "backprop",
        "test": True,
        "row": 7,
        "pins": ("0*sgd",),
        "past": (Past(3, {"rate": 0.1}),),
        "place": 3,
        "curve": {"function": "bell"},
    }
    assert set(other) == {field.name for field in fields(State)}
    for name, value in other.items():
        changed = replace(State(), **{name: value})  # type: ignore[arg-type]
        assert State().same_run(changed) is (name in LIVE or name in SEEN), name
        assert State().same_training(changed) is (name in SEEN), name


def test_presets_are_states_with_different_titles_and_a_sentence() -> None:
    assert len({preset.title for preset in PRESETS}) == len(PRESETS) >= 10
    for preset in PRESETS:
        assert preset.state != State()
        assert preset.text.endswith((".", "!"))
