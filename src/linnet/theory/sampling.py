"""A function of one variable as samples that are dense where it bends.

Between two samples f is asked once more; where it is further from the straight line between them than wished, both
halves are looked at again. So corners are found to a billionth of the interval, and jumps and poles are known by never
ending.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.errors import ConfigError, DataError, FitError

Floats = NDArray[np.float64]

_FIRST = 1024  # cells to begin with
_MOST = 200_000
_SPLIT = (3 - 5**0.5) / 2  # the golden section: no periodic f has all samples at the same place of its period
_NARROWEST = 2.0**-36  # of the interval: cells are not split further
_LARGEST = 1e290  # the largest |f|: slopes must be numbers, too
_POLE = 1000.0  # times the largest |f| of the first samples, where f does not become straight: no end is in sight


@dataclass(frozen=True, slots=True)
class Sampled:
    """Samples of f in order, and which cells between them are too narrow to split though f is not straight there."""

    f: Callable[[Floats], Floats]
    x: Floats
    y: Floats
    rough: NDArray[np.bool_]
    scale: float  # the largest |f|, or 1 for f = 0


def start(f: Callable[[Any], Any], a: float, b: float) -> Sampled:
    """The first samples, evenly spaced; a DataError if f is not a finite number at any of them."""
    if not callable(f):
        raise ConfigError(f"f must be a function of one number, got {f!r}")
    x = np.linspace(a, b, _FIRST + 1)
    if len(np.unique(x)) <= _FIRST:
        raise DataError(f"the interval from {a:g} to {b:g} is too short for float64")
    asked = _finite(_by_arrays(f, x))
    y = asked(x)
    return Sampled(asked, x, y, np.ones(_FIRST, np.bool_), float(np.abs(y).max()) or 1.0)


def sample(begun: Sampled, fine: float, of_largest: float = 0.0) -> Sampled:
    """Add samples until f is within `fine`, or within a part of the largest |f| found, of the straight lines between
    them wherever it is asked.
    """
    sampled = begun
    open_ = begun.rough
    while True:
        width = np.diff(sampled.x)
        cells = np.flatnonzero(open_ & (width > _NARROWEST * (sampled.x[-1] - sampled.x[0])))
        if len(cells) == 0:
            return _without_pole(replace(sampled, rough=open_))
        start, rise = sampled.y[cells], sampled.y[cells + 1] - sampled.y[cells]
        sampled = _with(sampled, sampled.x[cells] + _SPLIT * width[cells], fine)
        enough = max(fine, of_largest * float(np.abs(sampled.y).max()))
        off = np.zeros(len(sampled.x) - 1, np.bool_)
        new = cells + np.arange(1, len(cells) + 1)  # where the new samples are
        off[new] = off[new - 1] = np.abs(sampled.y[new] - (start + _SPLIT * rise)) > enough
        # what is too narrow to split stays as it was
        narrow = np.insert(open_ & (width <= _NARROWEST * (sampled.x[-1] - sampled.x[0])), cells + 1, False)
        open_ = off | narrow


def _without_pole(sampled: Sampled) -> Sampled:
    """The samples; a DataError if f grows beyond all others towards a cell too narrow to split."""
    height = np.where(sampled.rough, np.maximum(np.abs(sampled.y[:-1]), np.abs(sampled.y[1:])), 0.0)
    cell = int(np.argmax(height))
    if height[cell] > _POLE * sampled.scale:
        raise DataError(
            f"f must be finite on the whole interval: towards x = {sampled.x[cell]:.10g} it grows without end, to "
            f"{height[cell]:.3g} at least: take an interval without that place"
        )
    return sampled


def sample_by_height(sampled: Sampled, most: float) -> Sampled:
    """Add samples so that f changes by no more than `most` from one to the next, where it does not jump."""
    parts = np.where(sampled.rough, 1, np.ceil(np.abs(np.diff(sampled.y)) / most).clip(min=1)).astype(np.int64)
    cell = np.repeat(np.arange(len(parts)), parts - 1)
    inside = 1 + np.arange(len(cell)) - np.repeat(np.cumsum(parts - 1) - (parts - 1), parts - 1)
    return _with(sampled, sampled.x[cell] + np.diff(sampled.x)[cell] * (inside / parts[cell]), most)


def _with(sampled: Sampled, x: Floats, fine: float) -> Sampled:
    """The samples and f at further x, which are in order; new cells are not rough."""
    if len(sampled.x) + len(x) > _MOST:
        raise FitError(
            f"f takes more than {_MOST:,} samples to be followed within {fine:.2g}: take a shorter interval, or ask "
            "for less, by a larger eps or by fewer units"
        )
    places = np.searchsorted(sampled.x, x)
    rough = np.insert(sampled.rough, places, False)
    return replace(
        sampled, x=np.insert(sampled.x, places, x), y=np.insert(sampled.y, places, sampled.f(x)), rough=rough
    )


def jump_of(sampled: Sampled) -> tuple[float, float]:
    """Where f changes most within a cell too narrow to split, and by how much: a jump; 0 if nowhere."""
    size = np.where(sampled.rough, np.abs(np.diff(sampled.y)), 0.0)
    cell = int(np.argmax(size))
    jump = float(size[cell])
    return float(sampled.x[cell]), jump if jump > 1e-6 * sampled.scale else 0.0


def _by_arrays(f: Callable[[Any], Any], x: Floats) -> Callable[[Floats], Any]:
    """f itself if it takes arrays, else f one number at a time."""
    try:
        with np.errstate(all="ignore"):
            if np.shape(f(x)) == x.shape:
                return f
    except (TypeError, ValueError):
        pass
    return lambda x: [f(float(number)) for number in x]


def _finite(f: Callable[[Floats], Any]) -> Callable[[Floats], Floats]:
    def values(x: Floats) -> Floats:
        try:
            with np.errstate(all="ignore"):
                found = np.asarray(f(x))
        except ArithmeticError as error:
            raise DataError(f"f failed on the interval: {type(error).__name__}: {error}") from error
        if found.dtype.kind not in "fiub":
            raise DataError(f"f must give real numbers, got {found.ravel()[:1]!r} of type {found.dtype}")
        if found.shape != x.shape:
            raise DataError(f"f must give one number for each x, got shape {found.shape} for {len(x)} of them")
        y = found.astype(np.float64)
        if not np.isfinite(y).all():
            place = int(np.flatnonzero(~np.isfinite(y))[0])
            raise DataError(f"f must be finite on the whole interval: f({x[place]:.10g}) is {y[place]:g}")
        if (most := np.abs(y).max(initial=0.0)) > _LARGEST:
            raise DataError(f"f reaches {most:.3g}, and no more than {_LARGEST:g} can be followed: scale it")
        return y

    return values
