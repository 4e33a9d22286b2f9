"""Plots in SVG: axes with round ticks, and marks in the units of the data. Colours are CSS classes of the page."""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

from linnet.report.markup import Safe, cut, tag

WIDTH, HEIGHT = 400, 270
_LETTER_WIDTH = 6.8  # of tick labels


def ticks(low: float, high: float, about: int = 6) -> list[float]:
    """Return round numbers (1, 2 or 5 times a power of 10 apart) from low to high."""
    span = high - low
    if not (span > 0 and math.isfinite(span)):
        return [low]
    raw = span / max(1, about)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(step * power for step in (1, 2, 5, 10) if step * power >= raw * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def tick_labels(values: Sequence[float]) -> list[str]:
    """Return numbers as text with the same number of decimals, thousands as k and millions as M."""
    if not values:
        return []
    step = min((b - a for a, b in pairwise(values)), default=abs(values[0]) or 1.0)
    largest = max(abs(value) for value in values)
    if largest >= 1e9 or (0 < largest < 1e-4):
        return [f"{value:.2g}".replace("-", "−") for value in values]
    unit, sign = next(((u, s) for u, s in ((1e6, "M"), (1e3, "k")) if largest >= 10 * u), (1.0, ""))
    decimals = max(0, -math.floor(math.log10(step / unit) + 1e-9))
    return [f"{value / unit:.{decimals}f}{sign if value else ''}".replace("-", "−") for value in values]


def widened(values: Iterable[float], margin_share: float = 0.04, *, zero: bool = False) -> tuple[float, float]:
    """Return the range of values with a margin; with `zero`, the range includes 0."""
    finite = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(finite), max(finite)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    margin = (high - low) * margin_share or abs(high) * 0.5 or 0.5
    if low == high == 0 and zero:
        return low, margin
    return low - (0 if zero and low == 0 else margin), high + (0 if zero and high == 0 else margin)


class Plot:
    """A plot of x against y, to which marks are added; `str` of it is SVG."""

    def __init__(
        self,
        title: str,
        x: tuple[float, float],
        y: tuple[float, float],
        *,
        x_label: str = "",
        y_label: str = "",
        levels: Sequence[str] = (),  # labels of columns from the left, instead of numbers at the x axis
        y_axis: bool = True,  # numbers at the left
        whole_x: bool = False,  # only integers at the x axis
    ) -> None:
        self.title, self.x, self.y = title, x, y
        self.levels, self.x_label, self.y_label = levels, x_label, y_label
        self.x_ticks = [] if levels else [at for at in ticks(*x) if not whole_x or at == round(at)]
        self.y_ticks = ticks(*y) if y_axis else []
        self.left = 12 + _LETTER_WIDTH * max((len(label) for label in tick_labels(self.y_ticks)), default=0)
        self.top = 28 if y_label else 12
        self.width, self.height = WIDTH - self.left - 14, HEIGHT - self.top - (44 if x_label else 26)
        self.marks: list[Safe] = []

    def at_x(self, value: float) -> float:
        """Return the horizontal position of x in the picture."""
        return self.left + self.width * (value - self.x[0]) / (self.x[1] - self.x[0])

    def at_y(self, value: float) -> float:
        """Return the vertical position of y in the picture."""
        return self.top + self.height * (1 - (value - self.y[0]) / (self.y[1] - self.y[0]))

    def line(self, xs: Iterable[float], ys: Iterable[float], class_: str, **more: object) -> None:
        """Draw a line through points."""
        known = [(x, y) for x, y in zip(xs, ys, strict=True) if math.isfinite(x) and math.isfinite(y)]
        path = "L".join(f"{self.at_x(x):.1f},{self.at_y(y):.1f}" for x, y in known)
        if path:
            self.marks.append(tag("path", d=f"M{path}", class_=f"line {class_}", **more))

    def dot(self, x: float, y: float, class_: str, radius: float = 3.5, label: str = "", **more: object) -> None:
        """Draw a point."""
        tip = tag("title", label) if label else ""
        at = {"cx": f"{self.at_x(x):.1f}", "cy": f"{self.at_y(y):.1f}"}
        self.marks.append(tag("circle", tip, **at, r=f"{radius:g}", class_=f"dot {class_}", **more))

    def box(self, x: tuple[float, float], y: tuple[float, float], class_: str, label: str = "", **more: object) -> None:
        """Draw a filled rectangle."""
        left, right = sorted(self.at_x(value) for value in x)
        top, bottom = sorted(self.at_y(value) for value in y)
        size = {"x": f"{left:.1f}", "y": f"{top:.1f}", "width": f"{right - left:.1f}", "height": f"{bottom - top:.1f}"}
        self.marks.append(tag("rect", tag("title", label) if label else "", **size, class_=class_, **more))

    def _axes(self) -> list[Safe]:
        out, bottom, right = [], self.top + self.height, self.left + self.width
        for value, label in zip(self.y_ticks, tick_labels(self.y_ticks), strict=True):
            at = self.at_y(value)
            out.append(tag("path", d=f"M{self.left:.1f},{at:.1f}H{right:.1f}", class_="grid"))
            out.append(tag("text", label, x=f"{self.left - 7:.1f}", y=f"{at + 4:.1f}", text_anchor="end"))
        room = max(4, int(self.width / _LETTER_WIDTH / max(1, len(self.levels))) - 1)
        marks = [(k + 0.5, cut(level, room)) for k, level in enumerate(self.levels)]
        if not self.levels:
            marks = list(zip(self.x_ticks, tick_labels(self.x_ticks), strict=True))
            out += [
                tag("path", d=f"M{self.at_x(at):.1f},{self.top:.1f}V{bottom:.1f}", class_="grid") for at in self.x_ticks
            ]
        out += [
            tag("text", label, x=f"{self.at_x(at):.1f}", y=f"{bottom + 17:.1f}", text_anchor="middle")
            for at, label in marks
        ]
        if self.x_label:
            middle = {"x": f"{self.left + self.width / 2:.1f}", "y": f"{bottom + 37:.1f}", "text_anchor": "middle"}
            out.append(tag("text", self.x_label, class_="axis", **middle))
        if self.y_label:
            out.append(tag("text", self.y_label, class_="axis", x="2", y="14"))
        return out

    def __str__(self) -> str:
        """Return the whole picture; scripts find the area of the plot in data-box."""
        box = f"{self.left:.1f} {self.top:.1f} {self.width:.1f} {self.height:.1f}"
        return tag(
            "svg",
            *self._axes(),
            *self.marks,
            viewBox=f"0 0 {WIDTH} {HEIGHT}",
            role="img",
            aria_label=self.title,
            data_box=box,
        )
