"""Universal approximation: what is shown is what the constructions of linnet.theory and a trained network say."""

import numpy as np
import pytest

from linnet.errors import ConfigError
from linnet.playground.approximate import FUNCTIONS, approximate


@pytest.mark.parametrize("kind", ["relu", "sigmoid"])
def test_more_units_are_nearer_and_the_error_is_the_largest(kind: str) -> None:
    few = approximate({"function": "sin 2x", "kind": kind, "units": 6, "epochs": 0})
    many = approximate({"function": "sin 2x", "kind": kind, "units": 40, "epochs": 0})
    assert many["error"] < few["error"] / 2
    for found in (few, many):
        gap = np.abs(np.subtract(found["built"], found["f"])).max()
        assert gap <= found["error"] * 1.001
        assert len(found["knots"]) == found["units"]
    assert np.allclose(few["f"], np.sin(2 * np.array(few["x"])))


def test_what_units_add_makes_the_network() -> None:
    found = approximate({"function": "bell", "units": 8, "epochs": 0})
    start = found["built"][0]
    assert np.allclose(start + np.sum(found["parts"], axis=0), found["built"], atol=1e-9)


def test_training_brings_the_other_network_nearer() -> None:
    before, after = (approximate({"function": "bell", "units": 12, "epochs": epochs}) for epochs in (0, 1500))
    assert after["trained_error"] < before["trained_error"] / 3
    assert approximate({"function": "bell", "units": 12, "epochs": 1500}) == after


def test_a_drawn_function_is_followed() -> None:
    points = [[-3, 0], [-1, 1], [1, -1], [3, 0]]
    found = approximate({"points": points, "units": 3, "epochs": 0})
    assert found["error"] < 1e-6
    assert found["knots"] == pytest.approx([-3, -1, 1], abs=1e-6)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"function": "sin"}, "unknown function 'sin'"),
        ({"units": 0}, "units must be"),
        ({"units": 65}, "units must be at most 64"),
        ({"epochs": 10**6}, "epochs at most"),
        ({"low": 1, "high": 1}, "high must be at least 0.1 more than low"),
        ({"low": -1e9}, "low must be"),
        ({"kind": "tanh"}, "unknown kind 'tanh'"),
        ({"points": [[0, 0]]}, "points must be 2 to 500"),
        ({"points": [[0, 0], [1]]}, "points must be pairs"),
        ({"points": [[0, 0], [1, "a"]]}, "points must be"),
    ],
)
def test_what_has_no_meaning_is_refused(given: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        approximate({"function": next(iter(FUNCTIONS)), **given})
