"""The playground as a browser shows it; skipped, with the reason, without Chromium or playwright, unless
LINNET_BROWSER=required says that they must be there.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import linnet
from linnet.playground.presets import PRESETS
from linnet.playground.server import Room, Server
from linnet.playground.tables import Table

from .served import serving

if os.environ.get("LINNET_BROWSER") == "required":
    import playwright.sync_api  # noqa: F401 - an error if it is missing
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = next(
    (found for found in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if found), None
)
REQUIRED = os.environ.get("LINNET_BROWSER") == "required"
pytestmark = pytest.mark.skipif(CHROMIUM is None and not REQUIRED, reason="there is no Chromium on this machine")
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
TOO_WIDE = """() => [...document.querySelectorAll("body *")]
    .filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll") && e.checkVisibility())
    .map((e) => e.outerHTML.slice(0, 200))"""
SLOW = 60_000  # milliseconds to wait for what training brings about, on a busy machine

Opened = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    assert CHROMIUM, "LINNET_BROWSER=required, and there is no Chromium"
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as found:
        yield found


@pytest.fixture
def opened(browser: Any, server: Server) -> Iterator[Opened]:
    """Open the playground; at the end there must have been no error and no request to anywhere else."""
    contexts, wrong, asked = [], list[str](), set[str]()

    def open_page(link: str = "", width: int = 1440, height: int = 900, at: Server = server, **how: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": height}, **how)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(SLOW)
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(dialog.message) or dialog.dismiss())  # type: ignore[func-returns-value]
        page.on("request", lambda request: asked.add(request.url))
        page.goto(at.address + (f"#{link}" if link else ""))
        page.wait_for_function("() => window.playground?.frames > 0")
        asked_here = {url.partition("/page/")[0] for url in asked}
        assert all(url.startswith((f"http://127.0.0.1:{at.port}", "data:")) for url in asked_here)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []


def layers(*units: int, activation: str = "tanh") -> str:
    text = ",".join(f'{{"units":{count},"activation":"{activation}","dropout":0}}' for count in units)
    return f"layers={quote(f'[{text}]')}"


def accuracy(page: Any) -> float:
    return float(page.locator("#test-metric").inner_text().rstrip("%")) / 100


def train_until(page: Any, least: float) -> None:
    page.locator("#play").click()
    page.wait_for_function(f"() => parseFloat(document.getElementById('test-metric').textContent) >= {100 * least}")
    page.locator("#play").click()
    page.wait_for_function("() => !window.playground.playing")


def state_of(page: Any) -> Any:
    return page.evaluate("() => window.playground.facts.state")


def wait_for_state(page: Any, condition: str) -> None:
    """Wait until the server has a state and has sent a frame of it."""
    page.wait_for_function(
        f"() => {{ const p = window.playground, s = p.facts?.state; return p.frame && ({condition}); }}"
    )


def choose(page: Any, label: str, value: str) -> None:
    page.get_by_label(label, exact=True).select_option(value)


# ---- learning by clicking ----


def test_spirals_are_learned_by_clicking(opened: Opened) -> None:
    page = opened()
    page.get_by_label("Spirals", exact=True).click()
    wait_for_state(page, "s.data === 'spirals'")
    for layer, wanted in ((1, 8), (2, 8)):
        choose(page, f"Activation of layer {layer}", "relu")
        wait_for_state(page, f"s.layers[{layer - 1}].activation === 'relu'")
        while (units := state_of(page)["layers"][layer - 1]["units"]) < wanted:
            page.get_by_label(f"Add a unit to layer {layer}", exact=True).click()
            wait_for_state(page, f"s.layers[{layer - 1}].units === {units + 1}")
    page.locator("#speed").select_option("ten")
    train_until(page, 0.95)
    assert accuracy(page) >= 0.95
    assert page.locator(".node canvas").count() == 7 + 16 + 1


def test_xor_fails_without_a_hidden_layer_and_works_with_one(opened: Opened) -> None:
    page = opened("data=xor&rate=0.03&speed=ten")
    for _ in range(2):
        page.get_by_label("Remove the last hidden layer").click()
    wait_for_state(page, "s.layers.length === 0")
    page.locator("#play").click()
    page.wait_for_function("() => window.playground.frame?.epoch >= 200")
    page.locator("#play").click()
    page.wait_for_function("() => !window.playground.playing")
    assert accuracy(page) < 0.65
    page.get_by_label("Add a hidden layer").click()
    wait_for_state(page, "s.layers.length === 1")
    train_until(page, 0.95)


def test_softmax_tells_four_classes_apart(opened: Opened) -> None:
    page = opened(f"{layers(8)}&rate=0.03&speed=ten")
    page.get_by_label("Blobs", exact=True).click()
    page.get_by_label("Classes", exact=True).fill("4")
    wait_for_state(page, "s.data === 'blobs' && s.classes === 4")
    train_until(page, 0.95)
    assert "categorical crossentropy" in page.locator("#network-says").inner_text()
    assert page.locator("#confusion tbody tr").count() == 4
    assert [page.locator("#legend span").nth(k).inner_text() for k in range(4)] == ["A", "B", "C", "D"]
    page.locator("#shown").select_option("2")
    page.wait_for_function("() => window.playground.store.state.shown === 2")


def test_regression_and_counts_have_no_classes_to_confuse(opened: Opened) -> None:
    page = opened("data=counts")
    assert page.locator("#metric-title").inner_text() == "R²"
    assert not page.locator("#confusion-card").is_visible()
    page.get_by_label("Circle", exact=True).click()
    wait_for_state(page, "s.data === 'circle'")
    assert page.locator("#confusion-card").is_visible()


def test_what_is_drawn_is_learned(opened: Opened) -> None:
    page = opened("rate=0.03&speed=ten")
    page.get_by_label("Draw", exact=True).click()
    page.wait_for_function("() => document.getElementById('surface').classList.contains('draws')")
    box = page.locator("#surface").bounding_box()

    def stroke(kind: int, across: float) -> None:
        page.locator(f'[data-brush="{kind}"]').click()
        page.mouse.move(box["x"] + across * box["width"], box["y"] + 0.2 * box["height"])
        page.mouse.down()
        page.mouse.move(box["x"] + across * box["width"], box["y"] + 0.8 * box["height"], steps=25)
        page.mouse.up()

    stroke(0, 0.25)
    stroke(3, 0.75)
    wait_for_state(page, "s.data === 'drawn' && s.points.length > 20")
    assert page.evaluate("() => window.playground.facts.classes") == ["A", "B"]
    train_until(page, 0.99)


# ---- looking and touching ----


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
    page.locator(".diagram .grab").first.hover(force=True)
    assert page.locator("#tip").inner_text().startswith("weight ")
    page.get_by_label("Unit 2 of layer 1: see and edit its weights").click()
    field = page.get_by_label("Weight from x2", exact=True)
    field.fill("1.75")
    field.press("Enter")
    page.wait_for_function("() => window.playground.frame.arrays.theta[5] === 1.75")  # row x2 of 4 units, the second
    page.keyboard.press("Escape")
    assert not page.locator("#unit").is_visible()


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
    boxes = "() => [...document.querySelectorAll('.card, .node, .transport button, .chart svg')].map((e) => { const b = e.getBoundingClientRect(); return [b.x, b.y, b.width, b.height].map(Math.round).join(); })"
    page.locator("#epoch").click()
    page.wait_for_function("() => window.playground.frame?.epoch === 1")
    before = page.evaluate(boxes)
    page.locator("#play").click()
    page.wait_for_function("() => window.playground.frame?.epoch >= 40")
    page.locator("#play").click()
    assert page.evaluate(boxes) == before


def test_backpropagation_goes_step_by_step(opened: Opened) -> None:
    page = opened("view=backprop")
    page.wait_for_function("() => document.getElementById('backprop-step').textContent.startsWith('Step 1 of 8')")
    said = []
    for _ in range(7):
        page.locator("#forth").click()
        said.append(page.locator("#backprop-formula").inner_text())
    assert page.locator("#forth").is_disabled()
    assert "z = Σᵢ wᵢ xᵢ + b" in said[0]
    assert "L = log(1 + e^z) − t·z" in said[3]
    assert "∂L/∂z = p − t" in said[4]
    assert "a′ = 1 − h²" in said[6]
    page.locator("#backprop-graph .now").nth(2).click()
    assert "unit 3" in page.locator("#backprop-formula").inner_text()
    before = page.locator("#backprop-graph").text_content()
    page.locator("#epoch").click()
    page.wait_for_function("(text) => document.getElementById('backprop-graph').textContent !== text", arg=before)
    page.locator("#other-row").click()
    page.locator("#back").click()
    assert page.locator("#backprop-step").inner_text().startswith("Step 7")


def test_approximation_by_more_units_is_nearer(opened: Opened) -> None:
    page = opened("view=approximation")
    page.locator("#built-chart .net").wait_for()
    error = "() => parseFloat(document.getElementById('built-says').textContent.split('largest error ')[1])"
    few = page.evaluate(error)
    page.get_by_label("Units", exact=True).fill("40")
    page.wait_for_function(f"() => ({error})() < {few / 4}")
    assert page.locator("#built-chart .knot").count() == 40
    choose(page, "Units are", "sigmoid")
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
    page.get_by_label(re.compile("Take away .*sgd")).click()
    assert page.locator("#pins .pin").count() == 1


# ---- links, presets and the way out ----


def test_the_link_holds_the_whole_state(opened: Opened) -> None:
    page = opened()
    page.get_by_label("Pinwheels", exact=True).click()
    page.get_by_label("Input sin(x1), not used").click()
    choose(page, "Learning rate", "0.03")
    page.get_by_label("test rows").check()
    page.get_by_label("Noise", exact=True).fill("0.3")
    wait_for_state(page, "s.data === 'pinwheels' && s.features.length === 3 && s.noise === 0.3")
    page.wait_for_function("() => new URLSearchParams(location.hash.slice(1)).get('test') === 'true'")
    link = page.url.partition("#")[2]
    assert "token" not in page.url
    shown = page.evaluate("() => window.playground.store.state")
    again = opened(link)
    assert again.evaluate("() => window.playground.store.state") == shown
    assert state_of(again) == shown
    page.reload()
    page.wait_for_function("() => window.playground?.frames > 0")
    assert state_of(page) == shown


def test_a_link_that_makes_no_sense_is_told(opened: Opened) -> None:
    page = opened()
    page.evaluate("() => { location.hash = 'data=circle&noise=7&nothing=1'; }")
    page.locator("#toast", has_text="noise must be").wait_for()
    page.locator("#epoch").click()
    page.wait_for_function("() => window.playground.frame.epoch === 1")


def test_presets_are_offered_with_what_there_is_to_see(opened: Opened) -> None:
    page = opened()
    page.locator("#show-presets").click()
    assert page.locator("#presets button").count() == len(PRESETS)
    page.locator("#presets button", has_text="All zeros never learn").click()
    wait_for_state(page, "s.initialiser === 'zeros'")
    assert "stay the same for ever" in page.locator("#note").inner_text()


def test_the_program_on_screen_gives_the_losses_on_screen(opened: Opened, tmp_path: Path) -> None:
    page = opened(f"data=pinwheels&{layers(5, activation='relu')}&speed=ten&l2=0.001")
    page.locator("#play").click()
    page.wait_for_function("() => window.playground.frame?.epoch >= 20")
    choose(page, "Learning rate", "0.003")
    page.wait_for_function("() => window.playground.frame?.epoch >= 60")
    page.locator("#show-way-out").click()
    page.wait_for_function("() => document.getElementById('way-out').dataset.losses")
    shown = page.evaluate("() => JSON.parse(document.getElementById('way-out').dataset.losses)")
    assert page.evaluate("() => window.playground.frame.loss") == shown
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", page.locator("#program").inner_text()],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(linnet.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [float(value) for value in re.findall(r"'loss': ([^,}]+)", done.stdout)] == shown
    assert page.locator("#command").inner_text().startswith("linnet train pinwheels.csv --target class")
    with page.expect_download() as download:
        page.locator("#download-model").click()
    download.value.save_as(tmp_path / "model.linnet")
    assert linnet.load(tmp_path / "model.linnet").count_params() == 33


# ---- tables ----

HOSTILE = "<img src=x onerror=alert(1)>"


def csv(folder: Path, names: tuple[str, str, str] = ("wide", "long", "kind"), kinds: str = "ab") -> Path:
    lines = [",".join(f'"{name}"' for name in names)]
    lines += [f"{(k * 7) % 23}.5,{(k * 5) % 19}.25,{kinds[(k * 7) % 23 > 11]}" for k in range(120)]
    path = folder / "own.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_table_of_ones_own_is_opened_on_the_page(opened: Opened, tmp_path: Path) -> None:
    page = opened("speed=ten&rate=0.03")
    with page.expect_file_chooser() as chooser:
        page.get_by_label("Table", exact=True).click()
    chooser.value.set_files(csv(tmp_path))
    wait_for_state(page, "s.data === 'table' && s.target === 'kind'")
    choose(page, "Across", "wide")
    wait_for_state(page, "s.axes.length === 2")
    assert page.locator("#axis-x").inner_text() == "wide"
    train_until(page, 0.98)
    page.locator("#show-way-out").click()
    page.locator("#command", has_text="own.csv --target kind").wait_for()


def test_names_from_data_are_shown_and_not_run(opened: Opened, tmp_path: Path) -> None:
    table = Table.read([csv(tmp_path, (HOSTILE, "long", "kind"))])
    with serving(Room(table, {"data": "table", "target": "kind", "axes": [HOSTILE, "long"]})) as other:
        page = opened(at=other)
        assert state_of(page)["data"] == "table"
        assert page.locator("#axis-x").inner_text() == HOSTILE
        assert page.locator(".node-name", has_text=HOSTILE).count() == 1
        assert page.locator("img").count() == 0
        page.locator("#show-way-out").click()
        page.locator("#program", has_text="onerror").wait_for()
        page.close()


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


def test_dark_and_light_differ_and_can_be_switched(opened: Opened) -> None:
    brightness = "() => getComputedStyle(document.body).backgroundColor.match(/[0-9.]+/g).map(Number).reduce((a, b) => a + b) / 3"
    for scheme, is_dark in (("light", False), ("dark", True)):
        page = opened(color_scheme=scheme)
        assert (page.evaluate(brightness) < 60) is is_dark
        before = page.locator("#surface").screenshot()
        page.locator("#theme").click()
        assert (page.evaluate(brightness) < 60) is not is_dark
        page.wait_for_function("() => window.playground.wanted === null")
        assert page.locator("#surface").screenshot() != before
        page.reload()
        page.wait_for_function("() => window.playground?.frames > 0")
        assert (page.evaluate(brightness) < 60) is not is_dark


def test_a_link_to_a_table_that_is_not_there_leads_to_a_page_all_the_same(opened: Opened) -> None:
    page = opened("data=table&target=y")
    page.locator("#toast", has_text="data 'table': there is none").wait_for()
    assert state_of(page)["data"] == "circle"


def test_a_speed_is_a_number_of_epochs_a_frame(opened: Opened) -> None:
    """However fast the machine is, no frame is further from the last than the speed says."""
    page = opened("speed=epoch")
    page.locator("#play").click()
    page.wait_for_function("() => window.playground.frame?.epoch >= 30")
    page.locator("#play").click()
    epochs = page.evaluate("() => window.playground.curves.run.epoch")
    assert max(after - before for before, after in pairwise(epochs)) <= 1
    assert page.evaluate("() => window.playground.frames") > 10
