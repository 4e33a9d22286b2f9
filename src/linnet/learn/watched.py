"""A program whose functions are watched: a call that changes the arrays it is given is noted.

A student who writes `W -= eta * dW` changes the caller's weights, too, and all that was measured with them before.
"""

import copy
from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

import numpy as np


class Watched:
    """The functions of a module, each of which compares its arguments before and after a call."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self.changed: list[str] = []  # "function: argument"
        self.given: dict[str, list[str]] = {}  # the shapes of the arguments of the last call of each function

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._module, name)
        return self._watched(name, value) if callable(value) and not isinstance(value, type) else value

    def _watched(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            self.given[name] = [_shape(value) for value in [*args, *kwargs.values()]]
            before = copy.deepcopy([*filter(_is_data, [*args, *kwargs.values()])])
            result = function(*args, **kwargs)
            after = [*filter(_is_data, [*args, *kwargs.values()])]
            for number, (old, new) in enumerate(zip(before, after, strict=True)):
                if not _same(old, new):
                    self.changed.append(f"{name}:{number}")
            return result

        return call


def _shape(value: object) -> str:
    """The shape of an array as text, or those of several arrays; empty for anything else."""
    if isinstance(value, np.ndarray):
        return f"({', '.join(map(str, value.shape))}{',' if value.ndim == 1 else ''})"
    return ", ".join(map(_shape, value)) if isinstance(value, list | tuple) and _is_data(value) else ""


def _is_data(value: object) -> bool:
    return isinstance(value, np.ndarray) or (
        isinstance(value, list | tuple) and all(isinstance(part, np.ndarray) for part in value)
    )


def _same(old: Any, new: Any) -> bool:
    if isinstance(old, np.ndarray):
        return old.shape == new.shape and bool(np.array_equal(old, new, equal_nan=old.dtype.kind == "f"))
    return len(old) == len(new) and all(map(_same, old, new))
