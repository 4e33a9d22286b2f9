"""The page as a browser shows it, without a network.

Skipped, with the reason, without Chromium or playwright, unless LINNET_BROWSER=required demands them.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from linnet import evaluate
from linnet.report import Facts, write_report

from .small_tables import CASES, case, facts, hostile_facts

if os.environ.get("LINNET_BROWSER") == "required":
    import playwright.sync_api  # noqa: F401 - an error if it is missing
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = next(
    (found for found in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if found), None
)
REQUIRED = os.environ.get("LINNET_BROWSER") == "required"
pytestmark = pytest.mark.skipif(CHROMIUM is None and not REQUIRED, reason="there is no Chromium on this machine")
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
TOO_WIDE = """[...document.querySelectorAll("body *")]
    .filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll"))
    .map((e) => e.outerHTML.slice(0, 200))"""

Opened = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    assert CHROMIUM, "LINNET_BROWSER=required, and there is no Chromium"
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield launched
        launched.close()


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Opened]:
    """Open the page of facts from disk; at the end there must have been no error and no request but for the file."""
    contexts, wrong, asked = [], list[str](), list[str]()

    def open_page(found: Facts, width: int = 1280, scheme: str = "light", **how: Any) -> Any:
        path = tmp_path / "report.html"
        write_report(path, found)
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **how)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(dialog.message) or dialog.dismiss())  # type: ignore[func-returns-value]
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []
    assert {url.partition(":")[0] for url in asked} <= {"file", "data"}
    assert len([url for url in asked if url.startswith("file:")]) == len(contexts)


def shown(page: Any, name: str) -> str:
    return str(page.locator(f'[data-value="{name}"]').first.inner_text())


def move(page: Any, place: int) -> float:
    """Set the slider; return the threshold that is shown."""
    page.locator("#threshold").fill(str(place))
    return float(page.locator("#threshold-value").inner_text())


@pytest.mark.parametrize(("task", "model"), CASES)
def test_pages_open_from_disk_and_fit_the_screen(opened: Opened, task: str, model: str) -> None:
    page = opened(facts(task, model))
    for width in (1280, 800, 390, 320):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("h1").is_visible()
        assert page.evaluate(TOO_WIDE) == []


@pytest.mark.parametrize(
    ("task", "model"), [("two classes", "logistic"), ("two classes", "mlp"), ("many classes", "softmax")]
)
def test_the_slider_shows_the_numbers_of_evaluate(opened: Opened, task: str, model: str) -> None:
    one, found = case(task, model), facts(task, model)
    assert found.of_classes is not None
    page = opened(found)
    y, proba = one.model.target_of(one.held_out), one.model.predict_proba(one.held_out)
    for number, curve in enumerate(found.of_classes.curves):
        if len(found.of_classes.curves) > 1:
            page.locator("#class").select_option(str(number))
        column = list(found.classes).index(curve.name)
        flags = y == curve.name
        cutoffs = evaluate.Cutoffs.of(flags, proba[:, column])
        assert float(page.locator("#threshold-value").inner_text()) == curve.threshold
        for beta in ("1", "2", "0.5"):
            page.locator("#beta").select_option(beta)
            for place in (0, len(curve.thresholds) // 3, len(curve.thresholds) // 2, len(curve.thresholds) - 2):
                rates = cutoffs.at(move(page, place))
                for name in ("tp", "fp", "fn", "tn"):
                    assert float(shown(page, name).replace(",", "")) == getattr(rates, name)
                if rates.tp + rates.fp:
                    assert float(shown(page, "precision")) == pytest.approx(rates.precision, abs=5.01e-4)
                assert float(shown(page, "recall")) == pytest.approx(rates.recall, abs=5.01e-4)
                assert float(shown(page, "f")) == pytest.approx(rates.f_beta(float(beta)), abs=5.01e-4)
                assert float(shown(page, "accuracy")) == pytest.approx(rates.accuracy, abs=5.01e-4)
                check_marks(page, rates)
        assert shown(page, "roc_auc") == f"{cutoffs.roc_auc:.4f}"
        page.locator("#beta").select_option("1")
        page.locator("#best").click()
        assert float(shown(page, "f")) == pytest.approx(cutoffs.best_f()[1], abs=5.01e-4)


def check_marks(page: Any, rates: Any) -> None:
    """The marks lie on the curves, at the rates of the threshold."""
    for mark, x, y in (
        ("pr", rates.recall, rates.precision if rates.tp + rates.fp else 1.0),
        ("roc", rates.false_positive_rate, rates.recall),
    ):
        found = page.locator(f'[data-mark="{mark}"]')
        left, top, width, height = map(float, found.evaluate("e => e.ownerSVGElement.dataset.box").split())
        assert float(found.get_attribute("cx")) == pytest.approx(left + x * width, abs=0.1)
        assert float(found.get_attribute("cy")) == pytest.approx(top + (1 - y) * height, abs=0.1)


def test_the_page_says_at_first_what_the_script_says(opened: Opened) -> None:
    found = facts("two classes", "logistic")
    still, live = opened(found, java_script_enabled=False), opened(found)
    for name in (
        "precision",
        "recall",
        "f",
        "accuracy",
        "tp",
        "fp",
        "fn",
        "tn",
        "tp-share",
        "roc_auc",
        "average_precision",
    ):
        text = still.locator(f'[data-value="{name}"]').first.inner_text()
        assert text == shown(live, name)
    assert not still.locator("#threshold").is_visible()
    for curve in ("pr", "roc"):
        first, second = (
            [
                float(number)
                for number in re.findall(r"[0-9.]+", page.locator(f'[data-curve="{curve}"]').get_attribute("d"))
            ]
            for page in (still, live)
        )
        assert first == pytest.approx(second, abs=0.11)


def test_the_slider_moves_by_keyboard(opened: Opened) -> None:
    page = opened(facts("two classes", "logistic"))
    before = page.locator("#threshold-value").inner_text()
    page.locator("#threshold").focus()
    page.keyboard.press("ArrowRight")
    assert float(page.locator("#threshold-value").inner_text()) > float(before)


def test_dark_and_light_differ_and_can_be_read(opened: Opened) -> None:
    brightness = "c => { const [r, g, b] = c.match(/[0-9.]+/g).map(Number); return (r + g + b) / 3; }"
    for scheme, is_dark in (("light", False), ("dark", True)):
        page = opened(facts("two classes", "logistic"), scheme=scheme)
        paper, ink = (
            page.evaluate(f"({brightness})(getComputedStyle(document.body).{key})")
            for key in ("backgroundColor", "color")
        )
        assert (paper < 60) is is_dark
        assert abs(paper - ink) > 150


def test_hostile_names_are_shown_and_not_run(opened: Opened) -> None:
    for model in ("softmax", "mlp"):
        page = opened(hostile_facts(model), 390)
        assert page.evaluate(TOO_WIDE) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert "<script>alert(1)</script> target" in page.locator("h1").inner_text()
        for place in range(page.locator("#class option").count()):
            page.locator("#class").select_option(str(place))
        assert page.locator("img").count() == 0
        page.wait_for_load_state("load")
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")  # no dialog came


def test_a_page_prints(opened: Opened) -> None:
    page = opened(facts("two classes", "logistic"))
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    assert page.pdf(format="A4")[:5] == b"%PDF-"
