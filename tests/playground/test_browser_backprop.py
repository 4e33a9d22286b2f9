"""Backpropagation in a real browser: every value and gradient, step by step."""

from pathlib import Path

import pytest

from linnet.playground.server import Room
from linnet.playground.tables import Table

from .pages import Opened, layers
from .served import serving


def test_backpropagation_goes_step_by_step(opened: Opened) -> None:
    page = opened("view=backprop")
    page.wait_for_function("() => document.getElementById('backprop-step').textContent.startsWith('Step 1 of 8')")
    shown = []
    for _ in range(7):
        page.locator("#forth").click()
        shown.append(page.locator("#backprop-formula").inner_text())
    assert page.locator("#forth").is_disabled()
    assert "z = Σᵢ wᵢ xᵢ + b" in shown[0]
    assert "L = log(1 + e^z) − t·z" in shown[3]
    assert "∂L/∂z = p − t" in shown[4]
    assert "a′ = 1 − h²" in shown[6]
    page.locator("#backprop-graph .now").nth(2).click()
    assert "unit 3" in page.locator("#backprop-formula").inner_text()
    before = page.locator("#backprop-graph").text_content()
    page.locator("#epoch").click()
    page.wait_for_function("(text) => document.getElementById('backprop-graph').textContent !== text", arg=before)
    page.locator("#other-row").click()
    page.locator("#back").click()
    assert page.locator("#backprop-step").inner_text().startswith("Step 7")


def test_backpropagation_draws_every_unit_and_every_input(opened: Opened) -> None:
    page = opened(f"{layers(16, 12)}&view=backprop")
    page.locator("#backprop-graph .stop").first.wait_for()
    assert page.locator("#backprop-graph .stop").count() == 2 + 16 + 12 + 1
    assert page.locator("#backprop-graph .wire").count() == 2 * 16 + 16 * 12 + 12
    page.locator("#backprop-place").fill("2")
    page.locator("#backprop-graph .now").nth(11).click()
    assert "unit 12" in page.locator("#backprop-formula").inner_text()
    page = opened(f"data=digits&{layers(3)}&view=backprop")
    page.locator("#backprop-graph .more").wait_for()
    assert page.locator("#backprop-graph .more").text_content() == "… 49 more"
    page.locator("#backprop-graph .more").click()
    assert page.locator("#backprop-graph .stop:not(.more)").count() == 64 + 3 + 10
    assert page.locator("#backprop-graph .wire").count() == 64 * 3 + 3 * 10
    page.locator("#backprop-graph .more").press("Enter")
    assert page.locator("#backprop-graph .stop:not(.more)").count() == 15 + 3 + 10


def test_wires_carry_gradients_and_none_looks_like_none(opened: Opened) -> None:
    page = opened(f"{layers(6, activation='relu')}&view=backprop&place=5")
    page.locator("#backprop-graph .stop").first.wait_for()
    drawn = page.evaluate("""() => [...document.querySelectorAll("#backprop-graph .wire")].slice(0, 12).map((wire) => {
        const { strokeWidth, stroke } = getComputedStyle(wire);
        return [parseFloat(strokeWidth), stroke];
    })""")
    slopes = page.evaluate("() => window.playground.backprop.found.layers[0].dw.flat()")
    top = max(map(abs, slopes))
    assert [width for width, _ in drawn] == pytest.approx([0.6 + 4.5 * abs(s) / top for s in slopes], abs=0.006)
    colours = {sign: {colour for (_, colour), s in zip(drawn, slopes, strict=True) if (s > 0) - (s < 0) == sign}
               for sign in (-1, 0, 1)}  # fmt: skip
    assert 0 in slopes  # a unit that is off
    assert len(colours[0]) == 1
    assert not colours[0] & (colours[-1] | colours[1])
    assert page.locator("#backprop-graph .slope").count() == 2 + 6 + 1  # down to the inputs


def test_names_of_inputs_are_told_apart(opened: Opened, tmp_path: Path) -> None:
    levels = ["Private", "Self-emp-inc", "Self-emp-not-inc"]
    path = tmp_path / "work.csv"
    rows = [f"{levels[k % 3]},{k % 7}.5,{k % 2}" for k in range(60)]
    path.write_text("workclass,hours,y\n" + "\n".join(rows) + "\n")
    with serving(Room(Table.read([path]), {"data": "table", "target": "y"})) as server:
        page = opened("data=table&target=y&view=backprop", at=server)
        page.locator("#backprop-graph .stop").first.wait_for()
        names = page.locator("#backprop-graph .now text:not(.value)").all_text_contents()
        assert names == ["hours", "wor…=Private", "wor…-emp-inc", "wor…-not-inc"]
        whole = page.locator("#backprop-graph .now title").all_text_contents()
        assert whole == ["hours", *(f"workclass={level}" for level in levels)]
        sizes = page.evaluate("""() => [...document.querySelectorAll("#backprop-graph .now")].map((stop) =>
            Math.max(...[...stop.querySelectorAll("text")].map((e) => e.getBBox().width)))""")
        assert max(sizes) <= 96
        page.locator("#tab-train").click()
