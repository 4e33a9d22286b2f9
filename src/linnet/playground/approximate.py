"""Universal approximation: a function on an interval, and two networks with one hidden layer that approximate it.

One is built piece by piece, the other, with the same number of units, is trained.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linnet.checks import check_number, check_whole
from linnet.errors import ConfigError, unknown_name
from linnet.estimators.sequential.layers import Dense
from linnet.estimators.sequential.sequential import Sequential
from linnet.fit.loop.optimizers import Adam
from linnet.fit.objective import NetworkObjective
from linnet.playground.datasets import Floats
from linnet.theory.approximation import Interpolant, relu_interpolant, squash_interpolant

FUNCTIONS: dict[str, Callable[[Floats], Floats]] = {
    "sin 2x": lambda x: np.sin(2 * x),
    "sin x²": lambda x: np.sin(x**2),
    "bell": lambda x: np.exp(-(x**2)),
    "x² / 4 − 1": lambda x: x**2 / 4 - 1,
    "|x| − 1": lambda x: np.abs(x) - 1,
    "sawtooth": lambda x: 2 * np.abs(x - np.floor(x + 0.5)) * 2 - 1,
    "smooth step": lambda x: np.tanh(8 * x),
}
_KINDS = {"relu": relu_interpolant, "sigmoid": squash_interpolant}
_MAX_UNITS = 64
_MAX_EPOCHS = 20_000
_MAX_DRAWN_POINTS = 500
_MAX_COORDINATE = 100  # of a drawn point, in size
_CURVE_POINTS = 241  # of a curve on the page
_MAX_PARTS = 24  # units whose contributions are drawn
_ERROR_POINTS = 2001  # at which the trained network's error is measured
_ROWS = 256


DEFAULTS: dict[str, Any] = {
    "function": "sin 2x",
    "low": -3,
    "high": 3,
    "kind": "relu",
    "units": 8,
    "epochs": 2000,
    "points": None,  # of a function drawn by hand
}


@dataclass(frozen=True, slots=True)
class Curve:
    """A function on an interval, and the settings of its approximation."""

    f: Callable[[Floats], Floats]
    low: float
    high: float
    kind: str
    units: int
    epochs: int

    @classmethod
    def of(cls, given: object) -> "Curve":
        """Build a curve from some of `DEFAULTS` with other values, or raise a ConfigError that names what is wrong."""
        if not isinstance(given, Mapping):
            raise ConfigError(f"curve must be an object of fields, got {type(given).__name__}")
        for name in given:
            if name not in DEFAULTS:
                raise unknown_name("field of a curve", name, DEFAULTS)
        values = {**DEFAULTS, **given}
        low = check_number(values["low"], "low", at_least=-10, at_most=10)
        high = check_number(values["high"], "high", at_least=-10, at_most=10)
        if high - low < 0.1:
            raise ConfigError(f"high must be at least 0.1 more than low, got {low:g} and {high:g}")
        units = check_whole(values["units"], "units", at_least=1)
        epochs = check_whole(values["epochs"], "epochs")
        if units > _MAX_UNITS or epochs > _MAX_EPOCHS:
            raise ConfigError(f"units must be at most {_MAX_UNITS} and epochs at most {_MAX_EPOCHS}")
        kind = values["kind"]
        if not isinstance(kind, str) or kind not in _KINDS:
            raise unknown_name("kind", kind, _KINDS)
        return cls(_function(values), low, high, kind, units, epochs)


def approximate(given: object) -> dict[str, Any]:
    """Return curves, knots and largest errors for the argument of `Curve.of`.

    The trained network has the same initial weights every time, and learns from evenly spread points, all at once.
    """
    curve = Curve.of(given)
    f, low, high, kind, units, epochs = curve.f, curve.low, curve.high, curve.kind, curve.units, curve.epochs
    built = _KINDS[kind](f, low, high, units=units)
    x = np.linspace(low, high, _CURVE_POINTS)
    model = _trained(f, low, high, kind, units, epochs)
    many = np.linspace(low, high, _ERROR_POINTS)
    return {
        "is": "approximated",
        "kind": kind,
        "x": x.tolist(),
        "f": f(x).tolist(),
        "built": built(x).tolist(),
        "units": built.units,
        "asked": units,
        "knots": built.knots.tolist(),
        "error": built.error,
        "error_at": built.error_at,
        "parts": _parts(built, x),
        "trained": model(x).tolist(),
        "trained_error": float(np.abs(model(many) - f(many)).max()),
        "epochs": epochs,
    }


def _function(given: Mapping[str, Any]) -> Callable[[Floats], Floats]:
    drawn = given.get("points")
    if drawn is None:
        name = given.get("function")
        if not isinstance(name, str) or name not in FUNCTIONS:
            raise unknown_name("function", name, FUNCTIONS)
        return FUNCTIONS[name]
    if not isinstance(drawn, Sequence) or not 2 <= len(drawn) <= _MAX_DRAWN_POINTS:
        raise ConfigError(f"points must be 2 to {_MAX_DRAWN_POINTS} pairs [x, y]")
    if not all(isinstance(point, Sequence) and len(point) == 2 for point in drawn):
        raise ConfigError("points must be pairs [x, y]")
    inside = {"at_least": -_MAX_COORDINATE, "at_most": _MAX_COORDINATE}
    pairs = sorted((check_number(x, "points", **inside), check_number(y, "points", **inside)) for x, y in drawn)
    xs, ys = np.array(pairs).T
    return lambda x: np.interp(x, xs, ys)


def _parts(built: Interpolant, x: Floats) -> list[list[float]]:
    """Return the contribution of each unit: its weight above times its output."""
    below = built.network.below(1)
    hidden = NetworkObjective(below, "float64", threads=1).predict(built.theta[: below.size], x[:, None])
    parts = hidden * built.network.blocks(built.theta)[1].weights[:, 0]
    return [part.tolist() for part in parts.T[:_MAX_PARTS]]


def _trained(
    f: Callable[[Floats], Floats], low: float, high: float, kind: str, units: int, epochs: int
) -> Callable[[Floats], Floats]:
    """Return a trained network as a function."""
    middle, half = (low + high) / 2, (high - low) / 2
    x = np.linspace(low, high, _ROWS)
    model = Sequential([Dense(units, kind, kernel_initializer="he_uniform"), Dense(1)])
    model.compile(Adam(0.02), loss="mse")
    model.build(1)
    weights = model.get_weights()
    weights[1][:] = -weights[0][0] * np.linspace(-1, 1, units)  # breakpoints spread over the interval
    model.set_weights(weights)
    if epochs:
        model.fit((x[:, None] - middle) / half, f(x), batch_size=_ROWS, epochs=epochs, verbose=0, threads=1)
    return lambda at: model.predict((at[:, None] - middle) / half)[:, 0].astype(np.float64)
