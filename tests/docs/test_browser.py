"""Pages of the site as a browser shows them, from disk and from a server; skipped, with the reason, without Chromium or
playwright, unless LINNET_BROWSER=required demands them.
"""

import base64
import hashlib
import os
import re
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from .site import built

REQUIRED = os.environ.get("LINNET_BROWSER") == "required"
if REQUIRED:
    import playwright.sync_api  # noqa: F401 - an error if it is missing
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = next(
    (found for found in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if found), None
)
pytestmark = pytest.mark.skipif(CHROMIUM is None and not REQUIRED, reason="there is no Chromium on this machine")
PAGES = (
    *("index", "learn", "syllabus", "guide/softmax", "guide/entropy", "guide/evaluate", "guide/glm", "benchmarks"),
    *("reference/index", "reference/linnet", "reference/linnet.MLPClassifier", "reference/linnet.plain.confusion"),
    *("howto/from-r", "source/src/linnet/plain/glm.py", "search"),
)
QUESTIONS = {  # questions of newcomers, and a page with the answer
    "how do I predict counts": "guide/poisson",
    "my classes are imbalanced": "guide/metrics",
    "confidence interval for accuracy": "guide/evaluate",
    "save a model": "guide/files",
    "how to load a model in another program": "guide/files",
    "missing values": "guide/mlp",
    "which metric should I use": "guide/metrics",
    "categorical columns": "guide/linear",
    "what is backpropagation": "guide/perceptrons",
    "exposure": "guide/poisson",
    "predict probabilities": "guide/logistic",
    "train on a csv file": "guide/tables",
    "export to onnx": "guide/files",
    "how do I choose a threshold": "guide/metrics",
    "standard errors and p-values": "guide/linear",
    "how do I stop overfitting": "guide/initialisation",
    "which optimizer is best": "guide/optimizers",
    "I come from keras": "howto/from-keras",
    "one-vs-rest with many classes": "guide/multiclass",
    "resume training after a crash": "guide/tables or guide/mlp",
    "data larger than memory": "guide/sums",
    "relu_interpolant": "reference/linnet.theory.relu_interpolant",
}


@pytest.fixture(scope="module")
def site() -> Path:
    return built()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    assert CHROMIUM, "LINNET_BROWSER=required, and there is no Chromium"
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield launched
        launched.close()


# Of what may be broad, that which is cut: it goes beyond the window, and no box around it within the window scrolls.
CUT = """() => [...document.querySelectorAll("article :is(math, table, pre, svg, img)")].filter(each => {
  const right = box => box.getBoundingClientRect().right;
  if (right(each) <= innerWidth + 1) return false;
  for (let box = each; box !== document.body; box = box.parentElement)
    if (["auto", "scroll"].includes(getComputedStyle(box).overflowX) && right(box) <= innerWidth + 1) return false;
  return true;
}).map(each => each.textContent.slice(0, 80))"""
SCROLLING = """() => [...document.querySelectorAll(".formula")].filter(each => each.scrollWidth > each.clientWidth)
  .map(each => each.textContent.slice(0, 80))"""


@pytest.mark.parametrize("name", PAGES)
def test_pages_fit_every_screen_and_ask_for_nothing(browser: Any, site: Path, name: str) -> None:
    page = browser.new_page()
    asked, wrong = list[str](), list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.on("requestfailed", lambda request: wrong.append(request.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto((site / f"{name}.html").as_uri())
    for width in (1280, 800, 390, 320):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, width
        assert page.evaluate(CUT) == [], width
        assert page.locator("h1").first.is_visible()
    assert {url.partition(":")[0] for url in asked} <= {"file", "data"}
    assert wrong == []
    page.close()


def test_every_chapter_and_guide_fits_a_phone(browser: Any, site: Path) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    for path in sorted([*site.glob("guide/*.html"), *site.glob("howto/*.html")]):
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path.name
        assert page.evaluate(CUT) == [], path.name
        assert page.evaluate(SCROLLING) == [], path.name
    page.close()


@pytest.fixture(scope="module")
def policy(site: Path) -> str:
    """A strict Content-Security-Policy: of scripts within pages only those that all pages have."""
    scripts = {
        script
        for page in site.rglob("*.html")
        for script in re.findall(r"<script(?![^>]*\ssrc=)[^>]*>(.*?)</script>", page.read_text(), re.DOTALL)
    }
    assert len(scripts) <= 2  # the theme's: light or dark before anything is shown; the focus on the page of results
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in sorted(scripts)]
    allowed = " ".join(f"'sha256-{each}'" for each in hashes)
    return f"default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; script-src 'self' {allowed}"


@pytest.fixture(scope="module")
def address(site: Path, policy: str) -> Iterator[str]:
    """Where the site is served, below a path of its own, under that policy."""

    class Handler(SimpleHTTPRequestHandler):
        def translate_path(self, path: str) -> str:
            assert path.startswith("/some/where/")
            return super().translate_path(path.removeprefix("/some/where"))

        def end_headers(self) -> None:
            self.send_header("Content-Security-Policy", policy)
            super().end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/some/where/"
    server.shutdown()
    server.server_close()


def test_the_site_works_below_a_path_and_under_a_strict_policy(browser: Any, address: str) -> None:
    page = browser.new_page()
    asked, wrong = list[str](), list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    for name in ("index", "guide/softmax", "reference/linnet.PoissonRegressor"):
        page.goto(f"{address}{name}.html", wait_until="load")
    page.goto(f"{address}search.html?q=poisson")
    page.locator("#search-results li").first.wait_for()
    assert all(url.startswith((address, "data:")) for url in asked)
    assert wrong == []
    page.close()


AXE_PAGES = (
    *("index", "guide/softmax", "guide/playground", "howto/from-r", "reference/linnet.MLPClassifier"),
    *("search.html?q=poisson", "benchmarks"),
)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", AXE_PAGES)
def test_axe_finds_nothing(browser: Any, site: Path, name: str, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    for width in (1280, 390):
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        file, _, query = name.partition("?")
        page.goto((site / (file if query else f"{file}.html")).as_uri() + (f"?{query}" if query else ""))
        if query:
            page.locator("#search-results li").first.wait_for()
        found = axe.Axe().run(page)
        assert found.response["violations"] == [], found.generate_report()
        page.close()


@pytest.mark.parametrize("question", QUESTIONS)
def test_questions_are_answered(browser: Any, site: Path, question: str) -> None:
    page = browser.new_page()
    page.goto((site / "index.html").as_uri())
    page.locator(".search-button__button:visible").first.click()
    page.locator("#pst-search-dialog input").fill(question)
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=*")
    page.wait_for_function("/found/.test(document.querySelector('.search-summary')?.textContent)")
    links = page.locator("#search-results li > a").evaluate_all("all => all.map(each => each.getAttribute('href'))")
    answers = {f"{page}.html" for page in QUESTIONS[question].split(" or ")}
    assert answers & {link.partition("#")[0] for link in links[:3]}, links[:8]
    page.close()


def test_the_search_says_when_there_is_nothing_and_takes_no_html(browser: Any, site: Path) -> None:
    page = browser.new_page()
    wrong = list[str]()
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(f"{(site / 'search.html').as_uri()}?q=zzzqqq+%3Cxyzzy%3E+(")
    page.wait_for_function("/did not match/.test(document.querySelector('.search-summary')?.textContent)")
    assert page.locator("#search-results li, #search-results b").count() == 0
    assert wrong == []
    page.close()


@pytest.mark.parametrize(("scheme", "is_dark"), [("light", False), ("dark", True)])
def test_text_pictures_and_paper_follow_light_and_dark(browser: Any, site: Path, scheme: str, is_dark: bool) -> None:
    page = browser.new_page(color_scheme=scheme)
    page.goto((site / "guide" / "regression.html").as_uri())
    bright = "c => { const [r, g, b] = c.match(/[0-9.]+/g).map(Number); return (r + g + b) / 3; }"

    def brightness() -> list[float]:
        return [
            page.evaluate(f"({bright})(getComputedStyle(document.querySelector('{where}')).{what})")
            for where, what in (("body", "backgroundColor"), ("article p", "color"), ("figure svg text", "fill"))
        ]

    for turned in (False, True):  # first as the reader's system is, then as the switch says
        if turned:
            page.locator(".theme-switch-button:visible").click()
            page.locator(f".theme-change-button[data-mode={'light' if is_dark else 'dark'}]:visible").click()
            page.locator(f"html[data-theme={'light' if is_dark else 'dark'}]").wait_for()
        paper, ink, drawn = brightness()
        assert (paper < 60) is (is_dark is not turned)
        assert abs(paper - ink) > 130
        assert abs(paper - drawn) > 60
    page.close()


def test_answers_are_hidden_until_asked_for(browser: Any, site: Path) -> None:
    page = browser.new_page()
    page.goto((site / "guide" / "softmax.html").as_uri())
    answer = page.locator("article details").first
    assert not answer.locator("p").first.is_visible()
    answer.locator("summary").click()
    assert answer.locator("p").first.is_visible()
    assert page.locator("math").count() > 20
    page.close()


def test_brackets_grow_with_what_they_hold(browser: Any, site: Path) -> None:
    """By the font that comes with the site."""
    page = browser.new_page()
    page.goto((site / "guide" / "softmax.html").as_uri())
    page.evaluate("document.fonts.ready")
    assert page.evaluate("document.fonts.check('16px \"linnet formulas\"')")
    half = "<mfrac><mn>1</mn><mn>2</mn></mfrac>"
    made = f"<math display=block><mo>(</mo><mfrac>{half}{half}</mfrac><mo>)</mo></math>"
    page.evaluate(f"document.querySelector('article').insertAdjacentHTML('beforeend', '{made}')")
    bracket, fraction = (
        page.locator(f"article > math {part}").first.bounding_box()["height"] for part in ("mo", "mfrac")
    )
    assert bracket > 0.9 * fraction
    page.close()


def test_a_reader_finds_their_way(browser: Any, site: Path) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto((site / "guide" / "softmax.html").as_uri())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('href')") == "#main-content"
    assert page.locator(".prev-next-area a").count() == 2
    assert page.locator(".page-toc a").count() >= 5
    page.evaluate("document.activeElement.blur()")
    page.locator(".versions button:visible").click()
    assert page.locator(".versions:visible a").all_inner_texts() == ["dev"]
    assert page.locator(".versions:visible a").first.get_attribute("href") == "../index.html"
    for label in ("Use it", "Learn it", "Ship it", "Reference", "Benchmarks"):
        assert page.locator("#pst-header nav a:visible", has_text=label).count() == 1
    page.close()


def test_a_block_is_copied_without_its_prompts(browser: Any, address: str) -> None:
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(f"{address}guide/softmax.html", wait_until="load")
    assert page.locator("button.copybtn").count() == page.locator("div.highlight pre").count()
    block = page.locator("div.highlight").first
    block.hover()
    block.locator("button.copybtn").click()
    page.locator("button.copybtn.success").wait_for()
    assert page.evaluate("navigator.clipboard.readText()").startswith("import numpy as np\nfrom linnet import")
    context.close()


def test_without_scripts_there_are_text_and_no_switches(browser: Any, site: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((site / "index.html").as_uri())
    assert page.locator("h1").is_visible()
    assert page.locator(".versions:visible, .theme-switch-button:visible, .search-button__button:visible").count() == 0
    context.close()
