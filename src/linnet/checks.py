"""Checks of single parameters: one way to say what a number must be."""

from numbers import Integral, Real

import numpy as np

from linnet.errors import ConfigError

_INFINITY = float("inf")


def check_number(
    value: object,
    name: str,
    *,
    at_least: float | None = None,
    above: float | None = None,
    below: float = _INFINITY,
    at_most: float | None = None,
) -> float:
    """Return value, a number within the bounds, finite unless `at_most` is not; anything else is a ConfigError that
    names them.
    """
    if isinstance(value, Real) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:  # a whole number that no float can hold
            number = -_INFINITY if str(value).startswith("-") else _INFINITY
        small = abs(number) < below if at_most is None else number <= at_most
        if (at_least is None or number >= at_least) and (above is None or number > above) and small:
            return number
    low = f"at least {at_least:g}" if at_least is not None else f"above {above:g}" if above is not None else "a number"
    high = "finite" if below == _INFINITY else f"below {below:g}"
    if at_most is not None:
        high = "may be inf" if at_most == _INFINITY else f"at most {at_most:g}"
    raise ConfigError(f"{name} must be {low} and {high}, got {value!r}")


def check_random(value: object, name: str = "random_state") -> np.random.RandomState:
    """Return what draws: a RandomState as it is, one seeded by a whole number, one that draws from a Generator (which
    goes on with it), or for None NumPy's own, as in scikit-learn.
    """
    if value is None or value is np.random:
        return np.random.mtrand._rand
    if isinstance(value, np.random.RandomState):
        return value
    if isinstance(value, np.random.Generator):
        return np.random.RandomState(value.bit_generator)
    if isinstance(value, Integral) and not isinstance(value, bool) and 0 <= int(value) < 2**32:
        return np.random.RandomState(int(value))
    raise ConfigError(
        f"{name} must be None, a whole number from 0 to 2^32 - 1, or a RandomState or Generator of numpy.random, "
        f"got {value!r}"
    )


def check_seed(value: object, name: str = "seed") -> int:
    """Return value, a whole number that generators take as a seed; anything else is a ConfigError that says so."""
    if isinstance(value, Integral) and not isinstance(value, bool) and 0 <= int(value) < 2**32:
        return int(value)
    raise ConfigError(f"{name} must be a whole number from 0 to {2**32 - 1}, got {value!r}")


def check_flag(value: object, name: str) -> bool:
    """Return value, which is True or False; anything else is a ConfigError that says so."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise ConfigError(f"{name} must be True or False, got {value!r}")


def check_whole(value: object, name: str, *, at_least: int = 0) -> int:
    """Return value, a whole number of at least so many; anything else is a ConfigError that says so."""
    if isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= at_least:
        return int(value)
    raise ConfigError(f"{name} must be a whole number of at least {at_least}, got {value!r}")
