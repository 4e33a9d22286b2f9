"""Schedules: their values by the formula, at any time of a run and for any batch size."""

from math import cos, pi

import numpy as np
import pytest

import linnet
from linnet.errors import ConfigError
from linnet.fit.loop.schedules import (
    Constant,
    Cosine,
    ExponentialDecay,
    InverseScaling,
    Schedule,
    StepDecay,
    as_schedule,
)

SCHEDULES: list[Schedule] = [
    Constant(0.3),
    StepDecay(0.3, drop=0.5, every=2),
    InverseScaling(0.3, power=0.7),
    ExponentialDecay(0.3, decay=0.9),
    Cosine(0.3, epochs=5, final=0.1),
]


@pytest.mark.parametrize(
    ("schedule", "time", "rate"),
    [
        (Constant(0.3), 7.5, 0.3),
        (StepDecay(0.3, drop=0.5, every=2), 0.0, 0.3),
        (StepDecay(0.3, drop=0.5, every=2), 1.75, 0.3),
        (StepDecay(0.3, drop=0.5, every=2), 2.0, 0.15),
        (StepDecay(0.3, drop=0.5, every=2), 6.25, 0.3 / 8),
        (StepDecay(0.3), 10.0, 0.15),
        (InverseScaling(0.3), 3.0, 0.15),
        (InverseScaling(0.3, power=1), 2.0, 0.1),
        (InverseScaling(0.3, power=0), 2.0, 0.3),
        (ExponentialDecay(0.3, decay=0.9), 2.5, 0.3 * 0.9**2.5),
        (ExponentialDecay(0.3), 1.0, 0.3 * 0.95),
        (Cosine(0.3, epochs=5), 0.0, 0.3),
        (Cosine(0.3, epochs=5), 2.5, 0.15),
        (Cosine(0.3, epochs=5), 1.25, 0.15 * (1 + cos(pi / 4))),
        (Cosine(0.3, epochs=5), 5.0, 0.0),
        (Cosine(0.3, epochs=5), 50.0, 0.0),
        (Cosine(0.3, epochs=5, final=0.1), 2.5, 0.3 * 0.55),
        (Cosine(0.3, epochs=5, final=0.1), 50.0, 0.03),
    ],
    ids=str,
)
def test_the_formula(schedule: Schedule, time: float, rate: float) -> None:
    rates = schedule.rates(round(time * 4), 1, 4)  # four steps an epoch
    assert rates == pytest.approx([rate], rel=1e-14, abs=1e-17)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_a_rate_for_every_step(schedule: Schedule) -> None:
    rates = schedule.rates(0, 60, 10)
    assert rates.shape == (60,)
    assert rates.dtype == np.float64
    assert rates.flags.c_contiguous
    assert (np.diff(rates) <= 1e-17).all()
    parts = [schedule.rates(first, 10, 10) for first in range(0, 60, 10)]
    np.testing.assert_array_equal(np.concatenate(parts), rates)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_time_is_in_epochs_not_steps(schedule: Schedule) -> None:
    np.testing.assert_allclose(schedule.rates(0, 200, 20)[::10], schedule.rates(0, 20, 2), rtol=1e-14)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_warm_up_is_a_straight_line_from_zero(schedule: Schedule) -> None:
    plain = schedule.rates(0, 60, 10)
    warm = type(schedule)(**{**vars(schedule), "warmup": 2.5}).rates(0, 60, 10)
    part = np.minimum(1, np.arange(1, 61) / 25)
    np.testing.assert_allclose(warm, plain * part, rtol=1e-14)
    assert warm[0] == pytest.approx(0.3 / 25)
    np.testing.assert_array_equal(warm[25:], plain[25:])


def test_a_number_is_a_constant() -> None:
    assert as_schedule(0.1) == Constant(0.1)
    assert as_schedule(np.float64(0.5)) == Constant(0.5)
    assert as_schedule(SCHEDULES[1]) is SCHEDULES[1]


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), "0.1", True, None])
def test_a_rate_must_be_above_zero(value: float) -> None:
    for make in (Constant, StepDecay, InverseScaling, ExponentialDecay, Cosine, as_schedule):
        with pytest.raises(ConfigError, match="learning_rate must be above 0 and finite, got "):
            make(value)


@pytest.mark.parametrize(
    ("kind", "setting", "message"),
    [
        (Constant, {"warmup": -1}, "warmup must be at least 0 and finite, got -1"),
        (Constant, {"warmup": float("inf")}, "warmup must be at least 0 and finite, got inf"),
        (StepDecay, {"drop": 0}, "drop must be above 0 and finite, got 0"),
        (StepDecay, {"every": -2}, "every must be above 0 and finite, got -2"),
        (InverseScaling, {"power": -1}, "power must be at least 0 and finite, got -1"),
        (ExponentialDecay, {"decay": 0}, "decay must be above 0 and finite, got 0"),
        (Cosine, {"epochs": 0}, "epochs must be above 0 and finite, got 0"),
        (Cosine, {"final": -0.5}, "final must be at least 0 and finite, got -0.5"),
    ],
)
def test_a_bad_setting_is_named(kind: type[Schedule], setting: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        kind(0.1, **setting)


def test_two_names_for_one_rate() -> None:
    for optimizer in (linnet.SGD, linnet.Adagrad, linnet.RMSprop, linnet.Adam, linnet.AdamW):
        assert optimizer(lr=0.5).learning_rate == 0.5
        with pytest.raises(ConfigError, match=r"learning_rate=0.2 and lr=0.1 are the same parameter"):
            optimizer(lr=0.1, learning_rate=0.2)
