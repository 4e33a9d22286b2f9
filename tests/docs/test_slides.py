"""Slides of the guide, as `make slides` makes them of the site, and as a browser projects and prints them."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from extensions import slides

from .site import built, environment

REQUIRED = os.environ.get("LINNET_BROWSER") == "required"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="module")
def decks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("slides") / "out"
    slides.make(folder, built())
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if not REQUIRED:
        pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
        if CHROMIUM is None:
            pytest.skip("there is no Chromium on this machine")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield launched
        launched.close()


def opened(browser: Any, path: Path, *, at: str = "", **options: Any) -> Any:
    page = browser.new_page(viewport={"width": 1280, "height": 720}, **options)
    page.goto(path.as_uri() + at)
    page.wait_for_selector("html.ready", state="attached")
    return page


def now(page: Any) -> int:
    return int(page.evaluate("[...document.querySelectorAll('.slide')].findIndex(each => each.matches('.now')) + 1"))


# ---- without a browser ----


def test_every_chapter_has_slides_and_all_that_they_need(decks: Path) -> None:
    names = slides.chapters()
    assert {path.stem for path in decks.glob("*.html")} == {*names, "index"}
    assert "softmax" in names
    assert "teaching" not in names
    for path in decks.glob("*.html"):
        text = path.read_text()
        assert not re.findall(r'(?:src|href)="(?:\w+:)?//', text)
        for link in re.findall(r'(?:src|href)="(?!data:)([^"#]+)"', text):
            assert (decks / link).exists(), f"{path.name}: {link}"


@pytest.mark.parametrize("name", slides.chapters())
def test_nothing_of_a_chapter_is_lost(decks: Path, name: str) -> None:
    """Formulas, programs, outputs, pictures, tables and exercises: as many as on the page, but for "Where it lives"."""
    page: Any = BeautifulSoup((built() / "guide" / f"{name}.html").read_text(), "html.parser").find("article")
    deck = BeautifulSoup((decks / f"{name}.html").read_text(), "html.parser")
    for section in page.find_all("section"):
        if section.find(["h2", "h3"]) and section.find(["h2", "h3"]).get_text().rstrip("#").strip() in slides.LEFT_OUT:
            section.decompose()
    for what in (".formula", "pre", "figure", "table", "details", "p", "li p"):
        wanted, found = ([node.get_text() for node in each.select(what)] for each in (page, deck))
        assert len(wanted) == len(found) or what == "li p", what
        assert what == "p" or what == "li p" or wanted == found, what
    assert len(deck.select("details")) >= 2


def test_long_sections_are_cut_and_formulas_stay_with_their_words() -> None:
    text = "".join(f"<p>{'word ' * 60}{number}.</p>" for number in range(12))
    begin = "<article><section><h1>One</h1><p>Begin.</p><section><h2>Two</h2>"
    source = f"{begin}{text}<p>It is</p><div class='formula'></div></section></section></article>"
    article: Any = BeautifulSoup(source, "html.parser").article
    made = list(slides.slides_of(article, {}))
    assert made[0].kind == "title"
    assert len(made) > 3
    (last,) = [slide for slide in made if any("formula" in part for part in slide.body)]
    assert any("It is" in part for part in last.body)


def test_the_command_makes_them(tmp_path: Path) -> None:
    built()
    done = subprocess.run(
        [sys.executable, "-m", "extensions.slides", str(tmp_path / "slides")],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "slides" / "index.html").exists()
    assert "chapters as slides" in done.stdout


# ---- in a browser ----


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_slide_fits(browser: Any, decks: Path, scheme: str) -> None:
    """But for the few longest programs, which scroll."""
    scrolling = []
    for name in slides.chapters():
        page = opened(browser, decks / f"{name}.html", color_scheme=scheme)
        wrong, asked = list[str](), list[str]()
        page.on("pageerror", lambda error, wrong=wrong: wrong.append(str(error)))
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        page.reload()
        page.wait_for_selector("html.ready", state="attached")
        found = page.evaluate(
            """() => [...document.querySelectorAll(".slide")].map((slide, index) => {
              const body = slide.querySelector(".body");
              return [index + 1, body.offsetTop + body.offsetHeight, slide.classList.contains("scrolls"),
                [...body.querySelectorAll("figure, table, .formula")]
                  .some(each => each.scrollWidth > body.clientWidth + 1)];
            })"""
        )
        for number, bottom, scrolls, cut in found:
            assert bottom <= 680, f"{name}#{number}"
            assert not cut, f"{name}#{number}"
            scrolling += [f"{name}#{number}"] * scrolls
        assert wrong == []
        assert {url.partition(":")[0] for url in asked} <= {"file", "data"}
        page.close()
    assert len(scrolling) <= 2, scrolling


def test_keys_turn_pages(browser: Any, decks: Path) -> None:
    page = opened(browser, decks / "softmax.html")
    count = page.locator(".slide").count()
    assert now(page) == 1
    for key, number in (
        *(("ArrowRight", 2), ("Space", 3), ("PageDown", 4), ("ArrowDown", 5), ("ArrowLeft", 4), ("PageUp", 3)),
        *(("Shift+Space", 2), ("Home", 1), ("ArrowLeft", 1), ("End", count), ("ArrowRight", count)),
    ):
        page.keyboard.press(key)
        assert now(page) == number, key
    assert page.url.endswith(f"#{count}")
    before = page.evaluate("document.documentElement.dataset.theme")
    page.keyboard.press("d")
    assert page.evaluate("document.documentElement.dataset.theme") != before
    page.keyboard.press("h")
    page.wait_for_url("**/index.html")
    page.locator("a", has_text="Softmax").click()
    page.wait_for_url("**/softmax.html")
    page.close()
    page = opened(browser, decks / "softmax.html", at="#7")
    assert now(page) == 7
    page.mouse.click(1270, 400)
    assert now(page) == 8
    page.mouse.click(10, 400)
    assert now(page) == 7
    page.close()


def test_an_answer_opens_on_its_slide(browser: Any, decks: Path) -> None:
    page = opened(browser, decks / "softmax.html")
    number = page.evaluate(
        "[...document.querySelectorAll('.slide')].findIndex(each => each.querySelector('details')) + 1"
    )
    page.close()
    page = opened(browser, decks / "softmax.html", at=f"#{number}")
    answer = page.locator(".now details")
    assert not answer.locator("p").first.is_visible()
    answer.locator("summary").focus()
    page.keyboard.press("Enter")
    assert answer.locator("p").first.is_visible()
    assert now(page) == number
    page.close()


def test_only_the_slide_shown_is_read_aloud_and_formulas_are_drawn(browser: Any, decks: Path) -> None:
    page = opened(browser, decks / "glm.html", at="#3")
    assert page.locator(".slide:not([inert])").count() == 1
    height = page.evaluate(
        "Math.max(...[...document.querySelectorAll('math mfrac')].map(each => each.getBoundingClientRect().height))"
    )
    assert height > 20
    page.close()


def test_paper_has_a_page_per_slide(browser: Any, decks: Path) -> None:
    page = opened(browser, decks / "questions.html", color_scheme="dark")
    paper = page.pdf(prefer_css_page_size=True, print_background=True)
    assert len(re.findall(rb"/Type\s*/Page\b(?!s)", paper)) == page.locator(".slide").count()
    box = re.search(rb"/MediaBox\s*\[\s*0 0 ([\d.]+) ([\d.]+)", paper)
    assert box
    assert float(box[1]) / float(box[2]) == pytest.approx(16 / 9, rel=0.01)
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.close()


def test_on_a_phone_and_without_scripts_slides_follow_one_another(browser: Any, decks: Path) -> None:
    for name in slides.chapters():
        page = opened(browser, decks / f"{name}.html")
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
        page.close()
    context = browser.new_context(java_script_enabled=False, viewport={"width": 1280, "height": 720})
    page = context.new_page()
    page.goto((decks / "softmax.html").as_uri())
    boxes = [box["y"] for box in (each.bounding_box() for each in page.locator(".slide h2").all())]
    assert boxes == sorted(boxes)
    assert boxes[-1] > 5000
    context.close()
