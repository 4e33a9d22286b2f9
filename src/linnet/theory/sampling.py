"""Adaptive samples of a function of one variable: dense where it bends.

Between two samples f is evaluated once more; where it is further than the tolerance from the straight line between
them, both halves are split again. This locates corners to a billionth of the interval; jumps and poles show as cells
that never become straight.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.errors import ConfigError, DataError, FitError

Floats = NDArray[np.float64]

_INITIAL_CELLS = 1024
_MAX_SAMPLES = 200_000
_SPLIT = (3 - 5**0.5) / 2  # the golden section: the samples of a periodic f do not all have the same phase
_MIN_CELL_WIDTH = 2.0**-36  # relative to the interval
_MAX_VALUE = 1e290  # the largest |f|: slopes must stay finite
_POLE_FACTOR = 1000.0  # |f| in a cell that does not become straight, over the largest |f| of the first samples


@dataclass(frozen=True, slots=True)
class Sampled:
    """Samples of f in order; `rough` marks cells between them that are too narrow to split and yet not straight."""

    f: Callable[[Floats], Floats]
    x: Floats
    y: Floats
    rough: NDArray[np.bool_]
    scale: float  # the largest |f|, or 1 for f = 0


def start(f: Callable[[Any], Any], a: float, b: float) -> Sampled:
    """Return the first samples, evenly spaced; raise a DataError if f is not a finite number at each of them."""
    if not callable(f):
        raise ConfigError(f"f must be a function of one number, got {f!r}")
    x = np.linspace(a, b, _INITIAL_CELLS + 1)
    if len(np.unique(x)) <= _INITIAL_CELLS:
        raise DataError(f"the interval from {a:g} to {b:g} is too short for float64")
    checked = _checked(_vectorised(f, x))
    y = checked(x)
    return Sampled(checked, x, y, np.ones(_INITIAL_CELLS, np.bool_), float(np.abs(y).max()) or 1.0)


def sample(initial: Sampled, fine: float, relative: float = 0.0) -> Sampled:
    """Add samples until f is near the straight lines between them, wherever it is evaluated.

    The tolerance is `fine`, or `relative` times the largest |f| found if that is larger.
    """
    sampled = initial
    open_ = initial.rough
    while True:
        width = np.diff(sampled.x)
        cells = np.flatnonzero(open_ & (width > _MIN_CELL_WIDTH * (sampled.x[-1] - sampled.x[0])))
        if len(cells) == 0:
            return _without_pole(replace(sampled, rough=open_))
        start, rise = sampled.y[cells], sampled.y[cells + 1] - sampled.y[cells]
        sampled = _with_samples(sampled, sampled.x[cells] + _SPLIT * width[cells], fine)
        tolerance = max(fine, relative * float(np.abs(sampled.y).max()))
        bent = np.zeros(len(sampled.x) - 1, np.bool_)
        new = cells + np.arange(1, len(cells) + 1)  # the indices of the new samples
        bent[new] = bent[new - 1] = np.abs(sampled.y[new] - (start + _SPLIT * rise)) > tolerance
        # cells too narrow to split stay marked
        narrow = np.insert(open_ & (width <= _MIN_CELL_WIDTH * (sampled.x[-1] - sampled.x[0])), cells + 1, False)
        open_ = bent | narrow


def _without_pole(sampled: Sampled) -> Sampled:
    """Return the samples; a DataError if f grows without bound towards a cell too narrow to split."""
    height = np.where(sampled.rough, np.maximum(np.abs(sampled.y[:-1]), np.abs(sampled.y[1:])), 0.0)
    cell = int(np.argmax(height))
    if height[cell] > _POLE_FACTOR * sampled.scale:
        raise DataError(
            f"f must be finite on the whole interval, but seems to have a pole at x = {sampled.x[cell]:.10g}, where it "
            f"reaches {height[cell]:.3g}: use an interval without that point"
        )
    return sampled


def sample_by_height(sampled: Sampled, max_change: float) -> Sampled:
    """Add samples until f changes by at most `max_change` from one to the next, except where it jumps."""
    parts = np.where(sampled.rough, 1, np.ceil(np.abs(np.diff(sampled.y)) / max_change).clip(min=1)).astype(np.int64)
    cell = np.repeat(np.arange(len(parts)), parts - 1)
    inside = 1 + np.arange(len(cell)) - np.repeat(np.cumsum(parts - 1) - (parts - 1), parts - 1)
    return _with_samples(sampled, sampled.x[cell] + np.diff(sampled.x)[cell] * (inside / parts[cell]), max_change)


def _with_samples(sampled: Sampled, x: Floats, fine: float) -> Sampled:
    """Return the samples and f at further x in ascending order; new cells are not rough."""
    if len(sampled.x) + len(x) > _MAX_SAMPLES:
        raise FitError(
            f"f needs more than {_MAX_SAMPLES:,} samples for a precision of {fine:.2g}: use a shorter interval, a "
            "larger eps or fewer units"
        )
    indices = np.searchsorted(sampled.x, x)
    rough = np.insert(sampled.rough, indices, False)
    return replace(
        sampled, x=np.insert(sampled.x, indices, x), y=np.insert(sampled.y, indices, sampled.f(x)), rough=rough
    )


def jump_of(sampled: Sampled) -> tuple[float, float]:
    """Return the x of the largest jump of f, a change within a cell too narrow to split, and its size; 0 if none."""
    size = np.where(sampled.rough, np.abs(np.diff(sampled.y)), 0.0)
    cell = int(np.argmax(size))
    jump = float(size[cell])
    return float(sampled.x[cell]), jump if jump > 1e-6 * sampled.scale else 0.0


def _vectorised(f: Callable[[Any], Any], x: Floats) -> Callable[[Floats], Any]:
    """Return f itself if it takes arrays, otherwise a function that applies f to one number at a time."""
    try:
        with np.errstate(all="ignore"):
            if np.shape(f(x)) == x.shape:
                return f
    except (TypeError, ValueError):
        pass
    return lambda x: [f(float(number)) for number in x]


def _checked(f: Callable[[Floats], Any]) -> Callable[[Floats], Floats]:
    """Return f with a check that raises a DataError unless it returns one finite number for each x."""

    def values(x: Floats) -> Floats:
        try:
            with np.errstate(all="ignore"):
                values = np.asarray(f(x))
        except ArithmeticError as error:
            raise DataError(f"f failed on the interval: {type(error).__name__}: {error}") from error
        if values.dtype.kind not in "fiub":
            raise DataError(f"f must return real numbers, got {values.ravel()[:1]!r} of type {values.dtype}")
        if values.shape != x.shape:
            raise DataError(f"f must return one number for each x, got shape {values.shape} for {len(x)} values of x")
        y = values.astype(np.float64)
        if not np.isfinite(y).all():
            index = int(np.flatnonzero(~np.isfinite(y))[0])
            raise DataError(f"f must be finite on the whole interval: f({x[index]:.10g}) is {y[index]:g}")
        if (largest := np.abs(y).max(initial=0.0)) > _MAX_VALUE:
            raise DataError(f"f reaches {largest:.3g}, but may not exceed {_MAX_VALUE:g}: scale it")
        return y

    return values
