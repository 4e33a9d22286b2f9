"""The ideas behind the models, as programs that can be run."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linnet.theory.approximation import relu_interpolant, squash_interpolant
    from linnet.theory.differences import gradient_check

__all__ = ["gradient_check", "relu_interpolant", "squash_interpolant"]

_HOME = {  # loaded when they are first used
    "gradient_check": "differences",
    "relu_interpolant": "approximation",
    "squash_interpolant": "approximation",
}

if not TYPE_CHECKING:  # a type checker would take it to mean that any name exists

    def __getattr__(name: str) -> object:
        if name in _HOME:
            return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
