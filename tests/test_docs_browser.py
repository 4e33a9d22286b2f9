"""Pages of the site as a browser shows them, from disk; skipped, with the reason, without Chromium or playwright,
unless LINNET_BROWSER=required says that they must be there.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builder.__main__ import build
from builder.blocks import Ran, run

REQUIRED = os.environ.get("LINNET_BROWSER") == "required"
if REQUIRED:
    import playwright.sync_api  # noqa: F401 - an error if it is missing
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = next(
    (found for found in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if found), None
)
pytestmark = pytest.mark.skipif(CHROMIUM is None and not REQUIRED, reason="there is no Chromium on this machine")
PAGES = ("index", "syllabus", "guide/softmax", "guide/entropy", "guide/evaluate", "reference/linnet", "howto/from-r")
DRAWING = "import matplotlib.pyplot as plt\nplt.plot([1, 2], label='a line')\nplt.legend()\nprint('x' * 200)"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site with the same picture and a long line of output under every block."""
    drawn = run(DRAWING)
    assert drawn.code == 0, drawn.stderr
    folder = tmp_path_factory.mktemp("site")
    build(folder, lambda block: Ran(0, drawn.stdout, "", drawn.pictures))
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    assert CHROMIUM, "LINNET_BROWSER=required, and there is no Chromium"
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield launched
        launched.close()


@pytest.mark.parametrize("name", PAGES)
def test_pages_fit_every_screen_and_ask_for_nothing(browser: Any, site: Path, name: str) -> None:
    page = browser.new_page()
    asked, wrong = list[str](), list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: wrong.append(message.text))
    page.goto((site / f"{name}.html").as_uri())
    for width in (1280, 800, 390, 320):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, width
        assert page.locator("h1").is_visible()
    assert {url.partition(":")[0] for url in asked} == {"file"}
    assert wrong == []
    page.close()


@pytest.mark.parametrize(("scheme", "is_dark"), [("light", False), ("dark", True)])
def test_text_pictures_and_paper_follow_light_and_dark(browser: Any, site: Path, scheme: str, is_dark: bool) -> None:
    page = browser.new_page(color_scheme=scheme)
    page.goto((site / "guide" / "softmax.html").as_uri())
    bright = "c => { const [r, g, b] = c.match(/[0-9.]+/g).map(Number); return (r + g + b) / 3; }"
    paper = page.evaluate(f"({bright})(getComputedStyle(document.body).backgroundColor)")
    ink = page.evaluate(f"({bright})(getComputedStyle(document.body).color)")
    drawn = page.evaluate(
        f"({bright})(getComputedStyle(document.querySelector('figure svg .legend text, figure svg text')).fill)"
    )
    assert (paper < 60) is is_dark
    assert abs(paper - ink) > 150
    assert abs(paper - drawn) > 60
    page.close()


def test_answers_are_hidden_until_asked_for(browser: Any, site: Path) -> None:
    page = browser.new_page()
    page.goto((site / "guide" / "softmax.html").as_uri())
    answer = page.locator("main details").first
    assert not answer.locator("p").is_visible()
    answer.locator("summary").click()
    assert answer.locator("p").is_visible()
    assert page.locator("math").count() > 20
    page.close()


@pytest.mark.parametrize("width", [1280, 390])
def test_the_search_finds_and_leads_there_by_keyboard(browser: Any, site: Path, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800})
    asked, wrong = list[str](), list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto((site / "guide" / "poisson.html").as_uri())
    assert not any(url.endswith("search-index.js") for url in asked)  # only when it is needed
    page.keyboard.press("/")
    page.keyboard.type("relu_interpolant")
    options = page.locator("#found [role=option]")
    options.first.wait_for()
    assert "relu_interpolant" in options.first.inner_text()
    box = page.locator("#found").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    page.keyboard.press("ArrowUp")  # from none to the last
    last = options.count() - 1
    assert options.nth(last).get_attribute("aria-selected") == "true"
    assert page.locator("#search").get_attribute("aria-activedescendant") == f"found-{last}"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/reference/linnet.theory.html#relu_interpolant")
    assert page.locator("#found").is_hidden()
    assert {url.partition(":")[0] for url in asked} == {"file"}
    assert wrong == []
    page.close()


def test_the_search_takes_all_words_and_says_when_there_is_nothing(browser: Any, site: Path) -> None:
    page = browser.new_page(color_scheme="dark")
    page.goto((site / "index.html").as_uri())
    box, found = page.locator("#search"), page.locator("#found")
    box.fill("Entropy CLASSIFIER")
    found.locator("a").first.wait_for()
    for text in found.locator("a").all_inner_texts():
        assert "entropy" in text.lower() or "classifier" in text.lower()
    found.locator("a mark").first.wait_for()
    box.fill("entropy <b>zzz</b> (")  # neither HTML nor a pattern
    assert found.locator("a, b").count() == 0
    assert found.inner_text() == "Nothing has all of these words"
    box.press("Escape")
    assert found.is_hidden()
    assert box.input_value() == ""
    box.fill("the")
    assert found.locator("a").count() == 12
    assert "more words find fewer" in found.inner_text()
    page.mouse.click(5, 700)
    assert found.is_hidden()
    page.close()


def test_without_scripts_there_is_no_search_box(browser: Any, site: Path) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto((site / "index.html").as_uri())
    assert page.locator("#search").is_hidden()
    assert page.locator("h1").is_visible()
    page.close()
