"""Attributes that are computed when they are first asked for, and kept."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property  # noqa: TID251
else:

    class cached_property:
        """As `functools.cached_property` is from Python 3.12 on: without a lock.

        Until then one lock for all objects of a class is held while a value is computed. Fits in several threads would
        wait for each other, and a process that is forked while one of them holds the lock would wait forever.
        """

        def __init__(self, function: Callable[[Any], Any]) -> None:
            self._function = function
            self.__doc__ = function.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self._name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            found = instance.__dict__
            if self._name not in found:
                found[self._name] = self._function(instance)
            return found[self._name]


__all__ = ["cached_property"]
