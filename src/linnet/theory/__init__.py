"""The theory behind the models, as programs to run: derivatives, maximum entropy, likelihood, approximation."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linnet.theory import approximation, graph, likelihood, maxent
    from linnet.theory.approximation import relu_interpolant, squash_interpolant
    from linnet.theory.constant_unit import absorb_biases
    from linnet.theory.depth import shallow_vs_deep, square_network
    from linnet.theory.differences import gradient_check
    from linnet.theory.entropy import LookupClassifier, softmax_by_entropy
    from linnet.theory.polynomials import best_polynomial
    from linnet.theory.ridges import ridge_interpolant
    from linnet.theory.stationary import lagrange

__all__ = [
    "LookupClassifier",
    "absorb_biases",
    "approximation",
    "best_polynomial",
    "gradient_check",
    "graph",
    "lagrange",
    "likelihood",
    "maxent",
    "relu_interpolant",
    "ridge_interpolant",
    "shallow_vs_deep",
    "softmax_by_entropy",
    "square_network",
    "squash_interpolant",
]

_MODULES = ("approximation", "graph", "likelihood", "maxent")
_HOME = {  # loaded when they are first used
    "LookupClassifier": "entropy",
    "absorb_biases": "constant_unit",
    "best_polynomial": "polynomials",
    "gradient_check": "differences",
    "lagrange": "stationary",
    "relu_interpolant": "approximation",
    "ridge_interpolant": "ridges",
    "shallow_vs_deep": "depth",
    "softmax_by_entropy": "entropy",
    "square_network": "depth",
    "squash_interpolant": "approximation",
}

if not TYPE_CHECKING:  # a type checker would take it to mean that any name exists

    def __getattr__(name: str) -> object:
        if name in _MODULES:
            return importlib.import_module(f"{__name__}.{name}")
        if name in _HOME:
            return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
