"""Missing values in data frames: numbers become the median of their column, with a column beside it that says where;
text and categories become a level of their own.
"""

from dataclasses import dataclass, field
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from linnet.errors import DataError

_LEVEL = "missing"


@dataclass(slots=True)
class Missing:
    """Fills what is missing; columns that had no gap when it learned may have none later."""

    medians: dict[str, float] = field(default_factory=dict)  # of columns of numbers with gaps
    levels: tuple[str, ...] = ()  # columns of text or categories with gaps

    def learn(self, x: Any) -> Any:
        """Look where values are missing, and fill them in."""
        self.medians, self.levels = {}, ()
        frame = _as_frame(x)
        if frame is None:
            return x
        for name in frame.columns:
            series = frame[name]
            gaps = _gaps(series)
            if not gaps.any():
                continue
            if _is_number(series):
                known = series.filter(~gaps)
                if len(known) == 0:
                    raise DataError(f"column {name!r} of X has no value at all: leave it out")
                self.medians[name] = float(known.cast(nw.Float64).median())
            else:
                self.levels += (name,)
        return self.fill(x)

    def fill(self, x: Any) -> Any:
        """Return the frame without gaps, and anything else as it is."""
        frame = _as_frame(x)
        if frame is None:
            return x
        columns = []
        for name in frame.columns:
            series = frame[name]
            if name in self.medians:
                numbers = series.cast(nw.Float64).fill_nan(self.medians[name]).fill_null(self.medians[name])
                columns += [numbers, _gaps(series).cast(nw.UInt8).alias(f"{name} missing")]
            elif name in self.levels:
                columns.append(series.cast(nw.String).fill_null(_LEVEL))
        if not columns:
            return x
        return frame.with_columns(*columns).to_native()


def _as_frame(x: Any) -> "nw.DataFrame[Any] | None":
    if isinstance(x, np.ndarray):
        return None
    frame = nw.from_native(x, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) and all(isinstance(name, str) for name in frame.columns) else None


def _is_number(series: "nw.Series[Any]") -> bool:
    return series.dtype.is_numeric() or series.dtype == nw.Boolean


def _gaps(series: "nw.Series[Any]") -> "nw.Series[Any]":
    gaps = series.is_null()
    return gaps | series.is_nan().fill_null(False) if series.dtype.is_float() else gaps
