"""Looking and touching in a real browser: what can be seen, moved, edited and compared, on every screen."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from linnet.playground.server import Room
from linnet.playground.tables import Table

from .pages import BRIGHTNESS, PLACES, TOO_WIDE, Opened, choose, layers
from .served import serving


def test_the_threshold_moves_the_boundary_and_the_counts(opened: Opened) -> None:
    page = opened("data=moons&noise=0.7&rate=0.03")
    page.locator("#epoch").click()
    page.wait_for_function("() => window.playground.frame.epoch === 1")
    before = page.locator("#surface").screenshot(), page.locator("#confusion").inner_text()
    mark = page.locator("#pr-chart .mark").bounding_box()
    chart = page.locator("#pr-chart").bounding_box()
    page.mouse.move(mark["x"] + mark["width"] / 2, mark["y"] + mark["height"] / 2)
    page.mouse.down()
    page.mouse.move(chart["x"] + 0.35 * chart["width"], chart["y"] + 20, steps=6)
    page.mouse.up()
    page.wait_for_function("() => window.playground.store.state.threshold > 0.55")
    page.wait_for_function("(text) => document.getElementById('confusion').innerText !== text", arg=before[1])
    assert page.locator("#surface").screenshot() != before[0]
    assert float(page.locator("#threshold-value").inner_text()) > 0.55


def test_a_weight_is_seen_and_edited(opened: Opened) -> None:
    page = opened()
    point_at(page, 0, 1, 2)
    weight = page.evaluate("() => window.playground.frame.arrays.theta[1 * 4 + 2]")
    assert page.locator("#tip").inner_text() == f"weight {weight:.3f}: click to edit"
    page.mouse.down()
    page.mouse.up()
    assert page.locator("#unit h3").inner_text() == "Layer 1, unit 3"
    assert page.evaluate("() => document.activeElement.ariaLabel") == "Weight from x2"
    page.keyboard.press("Escape")
    page.mouse.move(5, 5)
    assert not page.locator("#tip").is_visible()
    page.get_by_label("Unit 2 of layer 1: see and edit its weights").click()
    field = page.get_by_label("Weight from x2", exact=True)
    field.fill("1.75")
    field.press("Enter")
    page.wait_for_function("() => window.playground.frame.arrays.theta[5] === 1.75")  # row x2 of 4 units, the second
    page.keyboard.press("Escape")
    assert not page.locator("#unit").is_visible()


def place_of(page: Any, layer: int, source: int, unit: int) -> tuple[float, float]:
    """Where a line is furthest from others: beside the unit that it leads to."""
    x, y = page.evaluate(
        """(edge) => {
            const { diagram } = window.playground;
            const { d } = diagram.edges.find((each) => [each.layer, each.source, each.unit].join() === edge);
            const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
            path.setAttribute("d", d);
            const { x, y } = path.getPointAtLength(0.75 * path.getTotalLength());
            const box = diagram.svg.getBoundingClientRect();
            return [box.left + x, box.top + y];
        }""",
        f"{layer},{source},{unit}",
    )
    return x, y


def point_at(page: Any, layer: int, source: int, unit: int) -> None:
    page.mouse.move(*place_of(page, layer, source, unit))


def test_a_weight_among_many_is_seen_and_edited(opened: Opened) -> None:
    page = opened(layers(16, 16, 16, 16))  # 816 lines
    point_at(page, 2, 15, 0)
    before = page.evaluate("() => window.playground.diagram.blockOf(2).start + 15 * 16")
    weight = page.evaluate(f"() => window.playground.frame.arrays.theta[{before}]")
    assert page.locator("#tip").inner_text() == f"weight {weight:.3f}: click to edit"
    page.mouse.down()
    page.mouse.up()
    field = page.get_by_label("Weight from unit 16 below", exact=True)
    field.fill("-1.5")
    field.press("Enter")
    page.wait_for_function(f"() => window.playground.frame.arrays.theta[{before}] === -1.5")
    page.keyboard.press("Escape")
    point_at(page, 2, 15, 0)
    assert page.locator("#tip").inner_text() == "weight -1.500: click to edit"


def test_a_line_is_opened_by_a_finger(opened: Opened) -> None:
    page = opened(width=390, height=844, has_touch=True, is_mobile=True)
    page.evaluate("() => window.playground.diagram.svg.scrollIntoView({ block: 'center' })")
    page.touchscreen.tap(*place_of(page, 1, 1, 0))
    page.locator("#unit").wait_for()
    assert page.locator("#unit :focus").get_attribute("aria-label") == "Weight from unit 2 below"
    page.get_by_role("button", name="Close").tap()
    assert not page.locator("#unit").is_visible()
    assert not page.locator("#tip").is_visible()  # no finger leaves that would take it away


def test_the_weights_of_many_inputs_are_seen(opened: Opened) -> None:
    page = opened(f"data=digits&{layers(6)}")
    point_at(page, 0, 0, 3)
    theta = page.evaluate("() => [...window.playground.frame.arrays.theta]")
    norm = sum(weight**2 for weight in theta[3 : 64 * 6 : 6]) ** 0.5
    assert page.locator("#tip").inner_text() == f"64 weights of norm {norm:.3f}: click to see them"
    page.mouse.down()
    page.mouse.up()
    assert page.locator("#unit h3").inner_text() == "Layer 1, unit 4"
    assert page.locator("#unit input").count() == 65


def test_everything_can_be_done_by_keyboard(opened: Opened) -> None:
    page = opened()
    page.keyboard.press("Space")
    page.wait_for_function("() => window.playground.playing && window.playground.frame?.epoch > 2")
    page.keyboard.press("Space")
    page.wait_for_function("() => !window.playground.playing")
    page.keyboard.press("r")
    page.wait_for_function("() => window.playground.frame?.epoch === 0")
    page.keyboard.press("s")
    page.wait_for_function("() => window.playground.frame?.step === 1")
    seen = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("() => document.activeElement.id || document.activeElement.ariaLabel"))
    assert {"play", "speed", "show-presets", "Circle", "Noise", "Optimizer", "more-layers"} <= seen
    outline = page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.locator("#tab-train").focus()
    page.keyboard.press("ArrowRight")
    page.locator("#backprop").wait_for()
    page.locator("#forth").focus()
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.getElementById('backprop-step').textContent.startsWith('Step 2')")


def test_nothing_moves_while_training(opened: Opened) -> None:
    page = opened()
    page.locator("#epoch").click()
    page.wait_for_function("() => window.playground.frame?.epoch === 1")
    before = page.evaluate(PLACES)
    page.locator("#play").click()
    page.wait_for_function("() => window.playground.frame?.epoch >= 40")
    page.locator("#play").click()
    assert page.evaluate(PLACES) == before


def test_the_loss_of_a_number_says_its_unit_and_fits_its_axis(opened: Opened, tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    path.write_text("size,price\n" + "".join(f"{k % 17}.5,{200_000 + 9000 * (k % 17) + k}\n" for k in range(60)))
    with serving(Room(Table.read([path]), {"data": "table", "target": "price"})) as server:
        page = opened("data=table&target=price", at=server)
        assert page.locator("#loss-unit").inner_text() == "of price in standard deviations"
        assert "is standardised, (price - 266," in page.locator("#note").inner_text()
        page.evaluate("""() => {
            const { curves, facts } = window.playground;
            curves.run = { epoch: [0, 1], loss: [[4e10, 2e10], [3e10, 1e10]], metric: [[0, 0], [0, 0]] };
            curves.draw(facts.metric);
        }""")
        labels = page.locator("#loss-chart text[text-anchor=end]")
        assert labels.last.text_content() == "4e10"
        card = page.locator("#loss-chart").bounding_box()
        assert min(label.bounding_box()["x"] for label in labels.all()) >= card["x"]


def test_brushes_are_chosen_by_arrow_keys(opened: Opened) -> None:
    page = opened()
    page.get_by_label("Draw", exact=True).click()
    page.get_by_label("Class A", exact=True).focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("() => [document.activeElement.ariaLabel, window.playground.surface.brush]") == ["Class B", 1]
    for _ in range(2):
        page.keyboard.press("ArrowLeft")
    assert page.evaluate("() => [document.activeElement.ariaLabel, window.playground.surface.brush]") == ["Eraser", -1]
    checked = page.locator("#drawing [aria-checked=true]")
    assert checked.count() == page.locator("#drawing [role=radio][tabindex='0']").count() == 1


def test_lines_of_the_command_end_between_words(opened: Opened) -> None:
    page = opened(width=700)
    page.locator("#show-way-out").click()
    page.wait_for_function("() => document.getElementById('command').textContent.includes('--seed')")
    tops = page.evaluate(
        """() => [...document.querySelectorAll("#command span")].map((e) => e.getClientRects().length)"""
    )
    assert len(tops) > 20
    assert set(tops) == {1}


def test_approximation_by_more_units_is_nearer(opened: Opened) -> None:
    page = opened("view=approximation")
    page.locator("#built-chart .net").wait_for()
    error = "() => parseFloat(document.getElementById('built-says').textContent.split('sup-norm error ')[1])"
    few = page.evaluate(error)
    page.get_by_label("Units", exact=True).fill("40")
    page.wait_for_function(f"() => ({error})() < {few / 4}")
    assert page.locator("#built-chart .knot").count() == 40
    choose(page, "Activation", "sigmoid")
    page.wait_for_function("() => document.getElementById('built-says').textContent.includes('sigmoid')")
    box = page.locator("#built-chart").bounding_box()
    page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 0.4 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + 0.4 * box["height"], steps=8)
    page.mouse.up()
    page.wait_for_function(
        "() => window.playground.approximation.found.f[120] === window.playground.approximation.found.f[110]"
    )
    assert page.get_by_label("Function", exact=True).input_value() == "drawn"


def test_runs_are_pinned_and_compared(opened: Opened) -> None:
    page = opened("speed=ten")
    for name in ("sgd", "adam"):
        choose(page, "Optimizer", name)
        page.locator("#reset").click()
        page.wait_for_function(
            f"() => window.playground.facts.state.optimizer === '{name}' && window.playground.frame?.epoch === 0"
        )
        page.locator("#play").click()
        page.wait_for_function("() => window.playground.frame?.epoch >= 30")
        page.locator("#play").click()
        page.wait_for_function("() => !window.playground.playing")
        page.locator("#pin").click()
    assert page.locator("#pins .pin").count() == 2
    assert page.locator("#loss-chart .pinned").count() == 4
    strokes = "() => [...document.querySelectorAll('#loss-chart .line')].map((e) => getComputedStyle(e).stroke)"
    assert len(set(page.evaluate(strokes))) == 4  # two runs, and train and test of the one on screen
    pins = "() => window.playground.curves.pins"
    again = opened(page.url.partition("#")[2])
    assert again.locator("#loss-chart .pinned").count() == 4
    assert again.evaluate(pins) == page.evaluate(pins)
    assert all(len(pin["run"]["epoch"]) <= 80 for pin in again.evaluate(pins))
    page.get_by_label(re.compile("Remove .*sgd")).click()
    assert page.locator("#pins .pin").count() == 1
    for _ in range(4):
        page.locator("#pin").click()
    toast = page.locator("#toast")
    assert "the oldest" in toast.inner_text()
    assert page.locator("#pins .pin").count() == 4
    kept = page.evaluate(pins)
    page.locator("#pin").click()  # again it is the oldest one that goes, not the one that came last
    assert page.evaluate(pins)[:3] == kept[1:]
    cut = again.url.replace("*", "x", 1).partition("#")[2]  # one of the two cannot be read
    assert opened(cut).locator("#pins .pin").count() == 1


def test_a_speed_is_a_number_of_epochs_a_frame(opened: Opened) -> None:
    """However fast the machine is, no frame is further from the last than the speed says."""
    page = opened("speed=epoch")
    page.locator("#play").click()
    page.wait_for_function("() => window.playground.frame?.epoch >= 30")
    page.locator("#play").click()
    epochs = page.evaluate("() => window.playground.curves.run.epoch")
    assert max(after - before for before, after in pairwise(epochs)) <= 1
    assert page.evaluate("() => window.playground.frames") > 10


# ---- screens ----


@pytest.mark.parametrize("width", [1440, 1024, 768, 390, 320])
def test_views_fit_the_screen(opened: Opened, width: int) -> None:
    page = opened(f"data=pinwheels&classes=6&{layers(8, 8, 8)}", width, 844)
    for view in ("train", "backprop", "approximation"):
        page.locator(f"#tab-{view}").click()
        page.locator(f"#{view}").wait_for()
        if view == "approximation":
            page.locator("#built-chart .net").wait_for()
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
        assert page.evaluate(TOO_WIDE) == []


@pytest.mark.parametrize("width", [1400, 1280, 1250])
def test_six_layers_fit_a_screen(opened: Opened, width: int) -> None:
    page = opened(layers(*[4] * 6), width, 900)
    box = page.locator(".network .scroll")
    assert box.evaluate(VISIBLE) == page.locator("#diagram .node").count() == 7 + 6 * 4 + 1
    heads = [head.bounding_box() for head in page.locator(".column-head").all()]
    assert all(left["x"] + left["width"] <= right["x"] + 0.5 for left, right in pairwise(heads))


VISIBLE = """(box) => {
    const around = box.getBoundingClientRect();
    return [...box.querySelectorAll(".node, .stop")].filter((e) => {
        const { left, right } = e.getBoundingClientRect();
        return left >= around.left - 1 && right <= around.right + 1;
    }).length;
}"""


def test_a_small_network_fits_a_phone(opened: Opened) -> None:
    page = opened("data=blobs&classes=4", 390, 844, has_touch=True, is_mobile=True)
    box = page.locator(".network .scroll")
    assert box.evaluate(VISIBLE) == page.locator("#diagram .node").count() == 7 + 4 + 2 + 4
    assert "more" not in box.get_attribute("class")
    page.locator("#tab-backprop").click()
    page.locator("#backprop-graph .stop").first.wait_for()
    box = page.locator("#backprop .scroll")
    assert box.evaluate(VISIBLE) == page.locator("#backprop-graph .stop").count() == 2 + 4 + 2 + 4


def test_a_large_network_scrolls_on_a_phone_and_shows_that_it_does(opened: Opened) -> None:
    page = opened(layers(*[3] * 6), 390, 844, has_touch=True, is_mobile=True)
    box = page.locator(".network .scroll")
    page.wait_for_function("() => document.querySelector('.network .scroll').matches('.more-right:not(.more-left)')")
    assert "gradient" in box.evaluate("(e) => getComputedStyle(e).maskImage")
    box.evaluate("(e) => { e.scrollLeft = 9999; }")
    page.wait_for_function("() => document.querySelector('.network .scroll').matches('.more-left:not(.more-right)')")
    page.locator("#tab-backprop").click()
    page.wait_for_function("() => document.getElementById('backprop-step').textContent.startsWith('Step 1')")
    page.locator("#backprop-place").fill("6")  # what is at work comes into view by itself
    page.wait_for_function("""() => {
        const { left, right } = document.querySelector("#backprop-graph .chosen").getBoundingClientRect();
        return document.querySelector("#backprop .scroll").scrollLeft > 100 && left > 0 && right < innerWidth;
    }""")


def test_a_finger_scrolls_the_page_unless_it_paints(opened: Opened) -> None:
    page = opened("", 390, 844, has_touch=True, is_mobile=True)
    touch = "(e) => getComputedStyle(e).touchAction"
    assert page.locator("#surface").evaluate(touch) == "auto"
    page.locator("#data-card summary").click()
    page.get_by_label("Draw", exact=True).click()
    page.wait_for_function("() => document.getElementById('surface').classList.contains('draws')")
    assert page.locator("#surface").evaluate(touch) == "none"


@pytest.mark.parametrize("width", [1440, 1280, 390])
def test_labels_of_charts_are_large_enough_to_read(opened: Opened, width: int) -> None:
    page = opened("", width, 844)
    page.locator("#epoch").click()
    page.locator("#pr-chart .mark").wait_for()
    heights = "() => [...document.querySelectorAll('.chart svg text')].map((e) => e.getBoundingClientRect().height)"
    assert min(page.evaluate(heights)) > 11


def test_of_a_slider_that_is_dragged_the_last_value_is_shown(opened: Opened) -> None:
    page = opened("view=approximation")
    page.locator("#built-chart .net").wait_for()
    page.evaluate("""() => {
        const slider = document.querySelector("[aria-label=Units]");
        window.sent = 0;
        const { link } = window.playground.approximation;
        const send = link.send.bind(link);
        link.send = (what, more) => { window.sent += what === "approximate"; send(what, more); };
        for (let units = 9; units <= 40; units++) {
            slider.value = units;
            slider.dispatchEvent(new Event("input"));
        }
    }""")
    page.wait_for_function("() => document.getElementById('built-says').textContent.startsWith('40 ')")
    assert page.evaluate("() => window.sent") == 2  # the first at once, the last when that was answered


def test_dark_and_light_differ_and_can_be_switched(opened: Opened) -> None:
    for scheme, is_dark in (("light", False), ("dark", True)):
        page = opened(color_scheme=scheme)
        assert (page.evaluate(BRIGHTNESS) < 60) is is_dark
        before = page.locator("#surface").screenshot()
        page.locator("#theme").click()
        assert (page.evaluate(BRIGHTNESS) < 60) is not is_dark
        page.wait_for_function("() => window.playground.wanted === null")
        assert page.locator("#surface").screenshot() != before
        page.reload()
        page.wait_for_function("() => window.playground?.frames > 0")
        assert (page.evaluate(BRIGHTNESS) < 60) is not is_dark
