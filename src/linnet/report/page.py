"""One HTML file that needs no network: text, tables and pictures, for screens of any size, light or dark, and paper."""

import base64
import hashlib
import os
from importlib.resources import files

from linnet.files import check_path, write_whole
from linnet.report import sections
from linnet.report.class_sections import class_sections
from linnet.report.facts import Facts
from linnet.report.markup import Safe, cut, tag
from linnet.report.other_sections import learned, number_sections


def page(facts: Facts) -> str:
    """The report of a model. Nothing of the data is markup or script, and the page may load and run nothing else."""
    parts = [sections.summary(facts), sections.metrics(facts), sections.candidates(facts)]
    if facts.of_classes is not None:
        parts += class_sections(facts, facts.of_classes)
    if facts.of_numbers is not None:
        parts += number_sections(facts, facts.of_numbers)
    parts += [*learned(facts), sections.learning(facts), sections.columns(facts), sections.repeat(facts)]
    there = [part for part in parts if part is not None]
    contents = tag("ul", *(tag("li", tag("a", title, href=f"#{key}")) for key, title, _ in there))
    style, script = _asset("page.css"), _asset("slider.js")
    policy = f"default-src 'none'; img-src data:; style-src '{_digest(style)}'; script-src '{_digest(script)}'"
    head = [
        '<meta charset="utf-8">',
        f"<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}; base-uri 'none'; form-action 'none'\">",
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        tag("title", f"linnet: {cut(facts.target.name, 60)}"),
        f"<style>{style}</style>",
    ]
    body = [
        '<div class="page">',
        sections.header(facts),
        tag("nav", contents, aria_label="Contents"),
        tag("main", *(content for _, _, content in there)),
        "</div>",
        f"<script>{script}</script>",
    ]
    lines = ["<!doctype html>", '<html lang="en">', "<head>", *head, "</head>", "<body>", *body, "</body>", "</html>"]
    return "\n".join(lines) + "\n"


def write_report(path: str | os.PathLike[str], facts: Facts) -> None:
    """Write the page to a file; one that is there already is replaced once the new one is whole."""
    write_whole(check_path(path), [page(facts).encode("utf-8", "backslashreplace")])


def _asset(name: str) -> str:
    return files("linnet.report").joinpath(name).read_text("utf-8")


def _digest(text: str) -> Safe:
    """How a policy names the one text that it allows."""
    return Safe(f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}")
