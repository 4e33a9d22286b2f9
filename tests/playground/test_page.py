"""The files of the page: nothing from elsewhere, no code in HTML, and the colours of the reports."""

import re
from importlib import resources

import pytest

PAGE = {file.name: file.read_text() for file in resources.files("linnet.playground").joinpath("page").iterdir()}
REPORT = resources.files("linnet.report").joinpath("page.css").read_text()


def palette(css: str, start: str) -> dict[str, str]:
    block = css[css.index(start) :].partition("}")[0]
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]+);", block))


@pytest.mark.parametrize(
    ("here", "there"),
    [(":root {", ":root {"), (':root[data-theme="dark"]', "@media (prefers-color-scheme: dark)")],
    ids=["light", "dark"],
)
def test_the_palette_is_that_of_reports(here: str, there: str) -> None:
    ours, theirs = palette(PAGE["base.css"], here), palette(REPORT, there)
    assert len(theirs) >= 12
    assert {name: ours[name] for name in theirs} == theirs


def test_nothing_comes_from_elsewhere() -> None:
    for name, text in PAGE.items():
        addresses = set(re.findall(r"(?:https?:|wss?:)?//[\w.]+", text)) - {
            "http://www.w3.org",
            "ws://",
            "//www.w3.org",
        }
        assert {found for found in addresses if "://" in found} == set(), name


def test_the_page_has_no_code_of_its_own_and_scripts_write_no_html() -> None:
    html = PAGE["index.html"]
    assert re.findall(r"<script(?![^>]*src=)|<style|\son\w+=|\sstyle=", html) == []
    for name, text in PAGE.items():
        if name.endswith(".js"):
            assert (
                re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text) == []
            ), name
            assert 'setAttribute("style"' not in text


def test_every_module_that_is_imported_is_there() -> None:
    for name, text in PAGE.items():
        for other in re.findall(r'from "\./([\w.]+)"', text):
            assert other in PAGE, f"{name} imports {other}"


def test_controls_have_names() -> None:
    html = PAGE["index.html"]
    for tag in re.findall(r"<(?:canvas|dialog|svg)\b[^>]*>", html):
        assert "aria-label" in tag or "aria-hidden" in tag, tag
