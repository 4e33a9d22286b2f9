"""Every number a user gives is checked the same way."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linnet
from linnet.checks import check_number, check_random, check_whole
from linnet.errors import ConfigError, DataError

BAD = ["0.9", None, float("nan"), True, [1], -1, -(10**400)]

PLACES: dict[str, Callable[[Any], object]] = {
    "momentum": lambda v: linnet.SGD(momentum=v),
    "learning_rate": linnet.SGD,
    "beta_1": lambda v: linnet.Adam(beta_1=v),
    "rho": lambda v: linnet.RMSprop(rho=v),
    "epsilon": lambda v: linnet.Adagrad(epsilon=v),
    "initial_accumulator_value": lambda v: linnet.Adagrad(initial_accumulator_value=v),
    "weight_decay": lambda v: linnet.AdamW(weight_decay=v),
    "patience": lambda v: linnet.EarlyStopping(patience=v),
    "min_delta": lambda v: linnet.EarlyStopping(min_delta=v),
    "factor": lambda v: linnet.ReduceLROnPlateau(factor=v),
    "cooldown": lambda v: linnet.ReduceLROnPlateau(cooldown=v),
    "min_lr": lambda v: linnet.ReduceLROnPlateau(min_lr=v),
    "l1": linnet.l1,
    "l2": linnet.l2,
    "units": linnet.Dense,
    "Dropout's rate": linnet.Dropout,
    "slope of leaky_relu": linnet.LeakyReLU,
}


@pytest.mark.parametrize("value", BAD, ids=repr)
@pytest.mark.parametrize("name", PLACES)
def test_what_is_no_such_number_is_named(name: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"{name} must be .*, got "):
        PLACES[name](value)


@pytest.mark.parametrize("value", [0, 1, None, "yes"], ids=repr)
def test_what_is_neither_true_nor_false_is_named(value: Any) -> None:
    for optimizer in (linnet.Adam, linnet.AdamW):
        with pytest.raises(ConfigError, match="amsgrad must be True or False, got "):
            optimizer(amsgrad=value)


def test_bounds() -> None:
    assert check_number(np.float32(0.5), "x", at_least=0, below=1) == 0.5
    assert check_number(0, "x", at_least=0) == 0
    assert check_whole(np.int64(3), "n", at_least=3) == 3
    for bad in (1, np.inf, -np.inf):
        with pytest.raises(ConfigError, match="x must be at least 0 and below 1, got"):
            check_number(bad, "x", at_least=0, below=1)
    with pytest.raises(ConfigError, match="x must be above 0 and finite, got 0"):
        check_number(0, "x", above=0)
    with pytest.raises(ConfigError, match=r"n must be an integer of at least 0, got 1\.0"):
        check_whole(1.0, "n")


def test_weights_that_are_no_list() -> None:
    model = linnet.Sequential([linnet.Dense(1, input_dim=2)])
    with pytest.raises(DataError, match="weights must be a list of arrays"):
        model.set_weights(None)  # type: ignore[arg-type]


def test_seeds_are_those_of_numpy_and_scikit_learn() -> None:
    mine = np.random.RandomState(3)
    assert check_random(mine) is mine
    assert check_random(np.int64(3)).randint(1000) == mine.randint(1000)
    np.random.seed(3)  # noqa: NPY002
    assert check_random(None).randint(1000) == check_random(3).randint(1000)
    one, same = np.random.default_rng(3), np.random.default_rng(3)
    assert check_random(one).randint(1000) == check_random(same).randint(1000)
    assert one.random() == same.random() != np.random.default_rng(3).random(), "a Generator goes on with what is drawn"
    for wrong in ("3", 3.0, -1, 2**32, True, [3], np.random.PCG64(3)):
        with pytest.raises(ConfigError, match=r"random_state must be None, an integer .* RandomState or Generator"):
            check_random(wrong)
