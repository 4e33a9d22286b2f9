"""Pictures of computation graphs: boxes in layers from left to right, with values and gradients, joined by arrows.

The layer of a box is its longest distance from the arguments; an arrow across several layers gets a place in each of
them, so that it runs between the boxes. Layers are ordered by sorting repeatedly by the mean height of the neighbours.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from typing import Any

import numpy as np

from linnet.errors import ConfigError
from linnet.files import check_path, write_whole

_MAX_BOXES = 400  # a larger picture is unreadable
# in px, at a font size of 12
_LETTER_WIDTH, _LINE_HEIGHT, _BOX_PADDING = 7.3, 18.0, 12.0
_LAYER_GAP, _BOX_GAP, _PASSAGE_HEIGHT, _MARGIN = 56.0, 22.0, 14.0, 24.0
_LEGEND_WIDTH = 300.0
_SIGNS = {"add": "+", "subtract": "−", "multiply": "×", "divide": "÷", "power": "^", "matmul": "@", "negative": "−"}
_STYLE = """
.linnet-graph { background: #fff; fill: #1d2733 }
.linnet-graph { font: 12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace }
.linnet-graph .box { fill: #f5f7fa; stroke: #8a97a6 }
.linnet-graph .argument .box { fill: #e6f0fd; stroke: #3b7dd8 }
.linnet-graph .constant .box { fill: none; stroke-dasharray: 4 3 }
.linnet-graph .result .box { stroke: #1d2733; stroke-width: 2 }
.linnet-graph .name { font-weight: 700 }
.linnet-graph .soft { fill: #667281 }
.linnet-graph .gradient { fill: #b3400e }
.linnet-graph .edge { fill: none; stroke: #8a97a6; stroke-width: 1.3 }
.linnet-graph .head { fill: #8a97a6 }
@media (prefers-color-scheme: dark) {
  .linnet-graph { background: #14191f; fill: #e4e9ef }
  .linnet-graph .box { fill: #1f2730; stroke: #66727f }
  .linnet-graph .argument .box { fill: #16304f; stroke: #5b9bee }
  .linnet-graph .result .box { stroke: #e4e9ef }
  .linnet-graph .soft { fill: #98a4b1 }
  .linnet-graph .gradient { fill: #ff9d66 }
  .linnet-graph .edge { stroke: #66727f }
  .linnet-graph .head { fill: #66727f }
}
"""


class Svg(str):
    """The text of an SVG picture, shown as a picture by notebooks."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)


@dataclass(frozen=True, slots=True)
class Box:
    """The content of a node; constants have no gradient."""

    name: str
    value: Any
    gradient: Any = None
    before: tuple[int, ...] = ()  # the indices of the boxes of its arguments
    shown: tuple[Any, ...] = ()  # its arguments: None for those with a box, otherwise the value to write


@dataclass(slots=True)
class _Place:
    """A box, or the passage of an arrow through a layer."""

    layer: int
    lines: list[tuple[str, str]] = field(default_factory=list)  # class and text
    kind: str = ""
    before: list["_Place"] = field(default_factory=list)
    after: list["_Place"] = field(default_factory=list)
    x: float = 0.0
    y: float = 0.0  # of the middle
    width: float = 0.0
    height: float = _PASSAGE_HEIGHT

    @property
    def weight(self) -> float:
        """The weight of its height in means: computed values are aligned, arguments placed around them."""
        return 1.0 if self.before else 0.05


def picture(boxes: list[Box]) -> Svg:
    """Return the picture of a graph, given its boxes in the order of computation; the last is the result."""
    if len(boxes) > _MAX_BOXES:
        raise ConfigError(f"a graph of {len(boxes)} nodes is too large to be drawn: the limit is {_MAX_BOXES}")
    places = _places(boxes)
    layers = _layers(places)
    width = max(_columns(layers), _LEGEND_WIDTH)
    _rows(layers)
    top = min(p.y - p.height / 2 for layer in layers for p in layer) - _MARGIN
    bottom = max(p.y + p.height / 2 for layer in layers for p in layer) + _MARGIN
    height = bottom + _LINE_HEIGHT - top
    parts = [
        f'<svg class="linnet-graph" xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 {top:.0f} {width:.0f} {height:.0f}" role="img">',
        "<title>Computation graph with values and gradients</title>",
        f"<style>{_STYLE}</style>",
        '<defs><marker id="linnet-head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path class="head" d="M0 0 8 4 0 8z"/></marker></defs>',
        *(_arrow(start, index, place) for place in places for index, start in enumerate(place.before)),
        *map(_box, places),
        f'<text x="{_MARGIN}" y="{bottom:.0f}">value'
        '<tspan class="gradient" dx="20">∂ gradient of the result</tspan></text>',
        "</svg>",
    ]
    return Svg("\n".join(parts) + "\n")


def save(image: str, path: str | os.PathLike[str]) -> None:
    """Write a picture to a file, completely or not at all."""
    try:
        write_whole(check_path(path), [image.encode()])
    except OSError as error:
        raise ConfigError(f"path={str(path)!r}: cannot write there: {error.strerror or error}") from error


# ---- text ----


def _places(boxes: list[Box]) -> list[_Place]:
    places: list[_Place] = []
    for box in boxes:
        before = [places[i] for i in box.before]
        kind = "constant" if box.gradient is None else "step" if box.before else "argument"
        place = _Place(1 + max((p.layer for p in before), default=-1), _lines(box), kind, before)
        place.width = 2 * _BOX_PADDING + _LETTER_WIDTH * max(len(text) for _, text in place.lines)
        place.height = 2 * _BOX_PADDING - 8 + _LINE_HEIGHT * len(place.lines)
        places.append(place)
    places[-1].kind = "result"
    return places


def _lines(box: Box) -> list[tuple[str, str]]:
    shape = np.shape(box.value)
    title = _title(box)
    lines = [("name", title if len(title) <= 28 else title[:27] + "…")]
    if shape:
        lines.append(("soft", " × ".join(map(str, shape))))
    lines.append(("value", _value_text(box.value)))
    if box.gradient is not None:
        lines.append(("gradient", f"∂ {_value_text(box.gradient)}"))
    return lines


def _title(box: Box) -> str:
    """Return the operation with its constant arguments: `1 − ·`, `maximum(·, 0)`."""
    sign = _SIGNS.get(box.name, box.name)
    if all(a is None for a in box.shown):
        return sign
    words = ["·" if a is None else _number_text(a) for a in box.shown]
    return f" {sign} ".join(words) if sign != box.name else f"{sign}({', '.join(words)})"


def _value_text(value: Any) -> str:
    """Return a number, a few numbers, or the smallest and the largest of many."""
    array = np.asarray(value)
    if array.ndim == 0:
        return _number_text(array[()])
    if array.ndim == 1 and array.size <= 4:
        return f"[{', '.join(_number_text(a, 3) for a in array)}]"
    if array.size == 0:
        return "[]"
    low, high = _number_text(array.min(), 3), _number_text(array.max(), 3)
    return f"{low} … {high}" if low != high else f"all {low}"


def _number_text(value: Any, digits: int = 4) -> str:
    text = f"{value:.{digits}g}" if isinstance(value, float | np.floating) else str(value)
    return text.replace("-", "−").replace("e+", "e")


# ---- layout ----


def _layers(places: list[_Place]) -> list[list[_Place]]:
    """Return the boxes by layer, arguments next to their first use, with passages for arrows across several layers."""
    users: dict[int, list[_Place]] = {id(p): [] for p in places}
    for place in places:
        for start in place.before:
            users[id(start)].append(place)
    for place in places:
        if not place.before:
            place.layer = min((user.layer for user in users[id(place)]), default=1) - 1
    layers: list[list[_Place]] = [[] for _ in range(1 + max(p.layer for p in places))]
    for place in places:
        layers[place.layer].append(place)
    for place in places:
        place.before = [_passage(start, place, layers) for start in place.before]
    for _ in range(8):
        for layer in layers[1:]:
            _sort(layer, layers[layer[0].layer - 1])
        for layer in layers[-2::-1]:
            _sort(layer, layers[layer[0].layer + 1])
    return layers


def _passage(start: _Place, end: _Place, layers: list[list[_Place]]) -> _Place:
    """Return the neighbour of `end` in the previous layer, on the way from `start`: the box or a shared passage."""
    while start.layer < end.layer - 1:
        step = next((p for p in start.after if not p.lines), None)
        if step is None:
            step = _Place(start.layer + 1, before=[start])
            start.after.append(step)
            layers[step.layer].append(step)
        start = step
    start.after.append(end)
    return start


def _sort(layer: list[_Place], adjacent: list[_Place]) -> None:
    """Sort a layer by the mean height of neighbours in the adjacent layer; arguments of one step keep their order."""
    heights: dict[int, list[float]] = {id(p): [] for p in layer}
    for height, place in enumerate(adjacent):
        for port, start in enumerate(place.before):
            if id(start) in heights:
                heights[id(start)].append(height + port / 100)
        for end in place.after:
            if id(end) in heights:
                heights[id(end)].append(height)
    means = {i: sum(near) / len(near) for i, near in heights.items() if near}
    loose = {id(p): i * len(adjacent) / len(layer) for i, p in enumerate(layer)}
    layer.sort(key=lambda p: means.get(id(p), loose[id(p)]))


def _columns(layers: list[list[_Place]]) -> float:
    """Set the horizontal positions; return the total width."""
    x = _MARGIN
    for layer in layers:
        width = max(p.width for p in layer)
        for place in layer:
            place.width = place.width or width
            place.x = x + (width - place.width) / 2
        x += width + _LAYER_GAP
    return x - _LAYER_GAP + _MARGIN


def _rows(layers: list[list[_Place]]) -> None:
    """Set the vertical positions: near the mean of the neighbours, at a distance from boxes above and below."""
    for layer in layers:
        _settle(layer, [0.0] * len(layer))
    for _ in range(30):
        for layer in (*layers[1:], *layers[-2::-1]):
            _settle(layer, [_mean(p) for p in layer])


def _mean(place: _Place) -> float:
    near = [*place.before, *place.after]
    return sum(p.weight * p.y for p in near) / sum(p.weight for p in near) if near else place.y


def _settle(layer: list[_Place], targets: Iterable[float]) -> None:
    """Set the heights nearest to the targets, in squared error, that keep order and distance, by merging blocks."""
    blocks: list[tuple[float, list[_Place]]] = []  # the target of a block's first box, its boxes
    for place, target in zip(layer, targets, strict=True):
        blocks.append((target, [place]))
        while len(blocks) > 1 and blocks[-2][0] + _offset(blocks[-2][1], blocks[-1][1][0]) > blocks[-1][0]:
            (second, lower), (first, upper) = blocks.pop(), blocks.pop()
            n, m = (sum(p.weight for p in block) for block in (upper, lower))
            mean = (n * first + m * (second - _offset(upper, lower[0]))) / (n + m)
            blocks.append((mean, upper + lower))
    for start, block in blocks:
        block[0].y = start
        for above, place in pairwise(block):
            place.y = above.y + _distance(above, place)


def _offset(block: list[_Place], after: _Place) -> float:
    """Return the distance from the middle of the block's first box to that of the next box below the block."""
    return sum(_distance(a, b) for a, b in pairwise([*block, after]))


def _distance(above: _Place, below: _Place) -> float:
    return (above.height + below.height) / 2 + (_BOX_GAP if above.lines or below.lines else 0)


# ---- SVG ----


def _box(place: _Place) -> str:
    if not place.lines:
        return ""
    top, middle = place.y - place.height / 2, place.x + place.width / 2
    texts = "".join(
        f'<text class="{kind}" x="{middle:.1f}" y="{top + _BOX_PADDING - 4 + _LINE_HEIGHT * (i + 0.72):.1f}" '
        f'text-anchor="middle">{escape(text)}</text>'
        for i, (kind, text) in enumerate(place.lines)
    )
    return (
        f'<g class="{place.kind}"><rect class="box" x="{place.x:.1f}" y="{top:.1f}" width="{place.width:.1f}" '
        f'height="{place.height:.1f}" rx="8"/>{texts}</g>'
    )


def _arrow(start: _Place, index: int, end: _Place) -> str:
    """Return a curve from the right of one box to the left of another, through the passages between them."""
    stops = [end]
    while not stops[-1].lines or stops[-1] is end:
        stops.append(start if stops[-1] is end else stops[-1].before[0])
    stops.reverse()
    port = end.y + (index - (len(end.before) - 1) / 2) * min(14.0, (end.height - 12) / len(end.before))
    points = [(stops[0].x + stops[0].width, stops[0].y)]
    for passage in stops[1:-1]:
        points += [(passage.x, passage.y), (passage.x + passage.width, passage.y)]
    points.append((end.x, port))
    path = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for (x0, y0), (x1, y1) in pairwise(points):
        bend = (x1 - x0) / 2
        path += f"C{x0 + bend:.1f} {y0:.1f} {x1 - bend:.1f} {y1:.1f} {x1:.1f} {y1:.1f}"
    return f'<path class="edge" d="{path}" marker-end="url(#linnet-head)"/>'
