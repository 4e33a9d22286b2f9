"""Checks of single parameters, with uniform messages."""

from collections.abc import Iterable
from numbers import Integral, Real
from typing import TypeGuard

import numpy as np

from linnet.errors import ConfigError, Parameter, unknown_name

_INFINITY = float("inf")


def is_real(value: object) -> TypeGuard[float]:
    """Return whether a value is a real number; booleans and NumPy's durations, which Python counts as such, are not."""
    return isinstance(value, Real) and not isinstance(value, bool | np.timedelta64)


def is_integer(value: object) -> TypeGuard[int]:
    """Return whether a value is an integer; booleans and NumPy's durations, which Python counts as such, are not."""
    return isinstance(value, Integral) and is_real(value)


def check_number(
    value: object,
    name: str,
    of: str = "",
    /,
    *,
    at_least: float | None = None,
    above: float | None = None,
    below: float = _INFINITY,
    at_most: float | None = None,
) -> float:
    """Return value as a float, if it is a number within the bounds; otherwise raise a ConfigError.

    It must be finite unless `at_most` is infinite. `of`: which of the parameter's values it is.
    """
    if is_real(value):
        try:
            number = float(value)
        except OverflowError:  # an integer beyond any float
            number = -_INFINITY if str(value).startswith("-") else _INFINITY
        small = abs(number) < below if at_most is None else number <= at_most
        if (at_least is None or number >= at_least) and (above is None or number > above) and small:
            return number
    low = f"at least {at_least:g}" if at_least is not None else f"above {above:g}" if above is not None else "a number"
    high = "finite" if below == _INFINITY else f"below {below:g}"
    if at_most is not None:
        high = "may be inf" if at_most == _INFINITY else f"at most {at_most:g}"
    raise ConfigError(Parameter(name), f"{of and f' of {of}'} must be {low} and {high}, got {value!r}")


def check_random(value: object, name: str = "random_state") -> np.random.RandomState:
    """Return a RandomState, as scikit-learn does.

    `value`: a RandomState, which is returned; an integer seed; a Generator, whose random numbers it continues; None for
    NumPy's global one.
    """
    if value is None or value is np.random:
        return np.random.mtrand._rand
    if isinstance(value, np.random.RandomState):
        return value
    if isinstance(value, np.random.Generator):
        return np.random.RandomState(value.bit_generator)
    if is_integer(value) and 0 <= int(value) < 2**32:
        return np.random.RandomState(int(value))
    raise ConfigError(
        Parameter(name),
        f" must be None, an integer from 0 to 2^32 - 1, or a RandomState or Generator of numpy.random, got {value!r}",
    )


def check_seed(value: object, name: str = "seed") -> int:
    """Return an integer seed, or raise a ConfigError."""
    if is_integer(value) and 0 <= int(value) < 2**32:
        return int(value)
    raise ConfigError(Parameter(name), f" must be an integer from 0 to {2**32 - 1}, got {value!r}")


def check_flag(value: object, name: str) -> bool:
    """Return True or False, or raise a ConfigError."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise ConfigError(Parameter(name), f" must be True or False, got {value!r}")


def check_whole(value: object, name: str, *, at_least: int = 0, at_most: int | None = None) -> int:
    """Return an integer within the bounds, or raise a ConfigError that names them."""
    if is_integer(value):
        number = int(value)
        if number >= at_least and (at_most is None or number <= at_most):
            return number
    high = "" if at_most is None else f" and at most {at_most:,}"
    raise ConfigError(Parameter(name), f" must be an integer of at least {at_least}{high}, got {value!r}")


def is_name(value: object, *names: str) -> TypeGuard[str]:
    """Return whether a value is one of these names; arrays and unhashable values are not."""
    return isinstance(value, str) and value in names


def check_name(value: object, parameter: str, names: Iterable[str]) -> str:
    """Return one of these names, or raise a ConfigError that suggests the nearest."""
    known = tuple(names)
    if is_name(value, *known):
        return value
    raise unknown_name(parameter, value, known)
