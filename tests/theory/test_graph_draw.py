"""The picture of a graph: what stands in it, and that nothing lies on anything else."""

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linnet.errors import ConfigError, GraphError
from linnet.theory import graph
from linnet.theory.graph_draw import Box, picture

NAMESPACE = "{http://www.w3.org/2000/svg}"
X, T = np.random.default_rng(0).normal(size=(5, 3)), np.array([0, 1, 1, 0, 1])


def logistic(w: Any, b: Any) -> Any:
    z = X @ w + b
    return np.mean(np.logaddexp(0, z) - T * z)


def perceptron(x: Any, w1: Any, b1: Any, w2: Any, t: Any) -> Any:
    z = np.tanh(x @ w1 + b1) @ w2
    return np.sum(graph.logsumexp(z) - z[np.arange(len(t)), t])


def tangled(x: Any, y: Any) -> Any:
    u = (x * y + np.sin(x)) ** 2 - 1 / (1 + np.exp(-y))
    return u * x + np.maximum(u, 0) / y - x * np.tanh(u * y)


EXAMPLES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "logistic": (logistic, (np.array([0.5, -1.0, 2.0]), 0.25)),
    "perceptron": (perceptron, (X, X[:3].T.copy(), np.zeros(3), X[:3, :2].copy(), T)),
    "tangled": (tangled, (1.5, -0.5)),
}


def boxes(svg: str) -> list[tuple[str, list[str], tuple[float, ...]]]:
    """Kind, lines of text, and left, top, width and height of every box."""
    found = []
    for group in ElementTree.fromstring(svg).iter(f"{NAMESPACE}g"):
        rect = group.find(f"{NAMESPACE}rect")
        assert rect is not None
        place = tuple(float(rect.attrib[name]) for name in ("x", "y", "width", "height"))
        found.append((group.attrib["class"], [text.text or "" for text in group.iter(f"{NAMESPACE}text")], place))
    return found


def test_values_and_gradients_stand_in_the_boxes() -> None:
    svg = graph.draw(lambda x, y: (1 - x * y) ** 2, 2.0, -3.0)
    assert [(kind, lines) for kind, lines, _ in boxes(svg)] == [
        ("argument", ["x", "2", "∂ 42"]),
        ("argument", ["y", "−3", "∂ −28"]),
        ("step", ["×", "−6", "∂ −14"]),
        ("step", ["1 − ·", "7", "∂ 14"]),
        ("result", ["· ^ 2", "49", "∂ 1"]),
    ]
    assert svg._repr_svg_() == svg


def test_arrays_are_told_in_few_words() -> None:
    svg = graph.draw(logistic, *EXAMPLES["logistic"][1])
    found = boxes(svg)
    assert found[0][:2] == ("argument", ["w", "3", "[0.5, −1, 2]", found[0][1][3]])
    assert found[1][0] == "argument"
    assert ("constant", ["constant", "5", "0 … 1"]) in [box[:2] for box in found]
    assert any("∂ all 0.2" in lines for _, lines, _ in found)
    gradient = graph.grad(logistic)(*EXAMPLES["logistic"][1])
    assert found[0][1][3] == "∂ [" + ", ".join(f"{g:.3g}" for g in gradient).replace("-", "−") + "]"


def test_an_argument_of_whole_numbers_is_a_constant_with_a_name() -> None:
    svg = graph.draw(lambda w, t: np.sum(t * w), np.ones(3), np.arange(3))
    assert ("constant", ["t", "3", "[0, 1, 2]"]) in [box[:2] for box in boxes(svg)]


@pytest.mark.parametrize(("f", "args"), EXAMPLES.values(), ids=EXAMPLES)
def test_boxes_keep_apart_and_stand_after_what_they_are_made_from(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    svg = graph.draw(f, *args)
    left, top, width, height = map(float, ElementTree.fromstring(svg).attrib["viewBox"].split())
    places = [place for *_, place in boxes(svg)]
    for (x0, y0, w0, h0), (x1, y1, w1, h1) in combinations(places, 2):
        assert x0 + w0 < x1 or x1 + w1 < x0 or y0 + h0 < y1 or y1 + h1 < y0
    for x, y, w, h in places:
        assert left < x < x + w < left + width
        assert top < y < y + h < top + height
    for points in re.findall(r'class="edge" d="([^"]+)"', svg):
        numbers = [float(number) for number in re.findall(r"-?[\d.]+", points)]
        start, end = numbers[:2], numbers[-2:]
        assert start[0] < end[0]
        assert any(abs(x + w - start[0]) < 0.2 and y < start[1] < y + h for x, y, w, h in places)
        assert any(abs(x - end[0]) < 0.2 and y < end[1] < y + h for x, y, w, h in places)
        for px, py in zip(numbers[::2], numbers[1::2], strict=True):
            assert not any(x < px - 1 and px + 1 < x + w and y < py < y + h for x, y, w, h in places)
            assert top < py < top + height


def test_an_argument_stands_next_to_its_use() -> None:
    left = {lines[0]: place[0] for _, lines, place in boxes(graph.draw(perceptron, *EXAMPLES["perceptron"][1]))}
    assert left["x"] == left["w1"] < left["b1"] < left["w2"]


def test_it_needs_nothing_from_elsewhere_and_knows_the_dark() -> None:
    svg = graph.draw(tangled, 1.5, -0.5)
    assert "prefers-color-scheme: dark" in svg
    assert svg.count("http") == 1  # the name of the format
    assert "<script" not in svg


def test_names_are_escaped_and_shortened() -> None:
    names = ["<a & b>", "n" * 100]
    shown = [lines[0] for _, lines, _ in boxes(picture([Box(name, 1.0, 1.0) for name in names]))]
    assert shown == ["<a & b>", "n" * 27 + "…"]


def test_a_value_used_twice_and_none_at_all() -> None:
    assert graph.draw(lambda x: x * x, 3.0).count('class="edge"') == 2
    assert [lines for _, lines, _ in boxes(graph.draw(lambda x: x, 3.0))] == [["x", "3", "∂ 1"]]


def test_a_picture_of_what_is_being_differentiated() -> None:
    shown: list[str] = []

    def f(x: Any) -> Any:
        shown.append(graph.draw(lambda y: x * y, 2.0))
        return x * x

    assert graph.grad(f)(3.0) == 6
    assert [lines for _, lines, _ in boxes(shown[0])] == [["y", "2", "∂ 3"], ["3 × ·", "6", "∂ 1"]]


def test_a_file_is_written_whole(tmp_path: Path) -> None:
    path = tmp_path / "graph.svg"
    svg = graph.draw(np.exp, 1.0, path=path)
    assert path.read_text(encoding="utf-8") == svg
    assert [entry.name for entry in tmp_path.iterdir()] == ["graph.svg"]
    with pytest.raises(ConfigError, match="cannot write there"):
        graph.draw(np.exp, 1.0, path=tmp_path / "nowhere" / "graph.svg")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ConfigError, match="folder"):
        graph.draw(np.exp, 1.0, path=tmp_path / "folder")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["folder", "graph.svg"]


def test_what_cannot_be_drawn() -> None:
    with pytest.raises(GraphError, match=r"\.sum\(\)"):
        graph.draw(np.exp, np.ones(3))
    with pytest.raises(GraphError, match="returns one number"):
        graph.draw(lambda x: 1.0, 1.0)
    with pytest.raises(GraphError, match="got none"):
        graph.draw(np.exp, 1)
    with pytest.raises(ConfigError, match="502 nodes is too large"):
        graph.draw(lambda x: sum(x for _ in range(501)), 1.0)
