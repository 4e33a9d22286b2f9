"""The report as one HTML file that needs no network: text, tables and pictures, for any screen and for paper."""

import base64
import hashlib
import os
from importlib.resources import files

from linnet.files import check_path, write_whole
from linnet.report.class_sections import Classes
from linnet.report.facts import Facts
from linnet.report.general_sections import Candidates, ColumnTable, Metrics, Repetition, Summary, header
from linnet.report.learned_sections import CoefficientTable, ColumnImportance, LearningCurves, WeightImages
from linnet.report.markup import Safe, cut, tag
from linnet.report.number_sections import Numbers
from linnet.report.section import Section

SECTIONS: list[Section] = [  # in the order of the page
    Summary(),
    Metrics(),
    Candidates(),
    Classes(),
    Numbers(),
    CoefficientTable(),
    WeightImages(),
    ColumnImportance(),
    LearningCurves(),
    ColumnTable(),
    Repetition(),
]


def page(facts: Facts) -> str:
    """Return the report of a model as HTML.

    Data never becomes markup or script, and the page loads and runs nothing else.

    Parameters
    ----------
    facts : Facts
        As returned by `facts_of`.
    """
    shown = [part for section in SECTIONS for part in section.show(facts)]
    contents = tag("ul", *(tag("li", tag("a", title, href=f"#{key}")) for key, title, _ in shown))
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
        header(facts),
        tag("nav", contents, aria_label="Contents"),
        tag("main", *(content for _, _, content in shown)),
        "</div>",
        f"<script>{script}</script>",
    ]
    lines = ["<!doctype html>", '<html lang="en">', "<head>", *head, "</head>", "<body>", *body, "</body>", "</html>"]
    return "\n".join(lines) + "\n"


def write_report(path: str | os.PathLike[str], facts: Facts) -> None:
    """Write the report of a model to an HTML file.

    Parameters
    ----------
    path : str or path
        The file; an existing one is replaced once the new one is complete.
    facts : Facts
        As returned by `facts_of`.
    """
    write_whole(check_path(path), [page(facts).encode("utf-8", "backslashreplace")])


def _asset(name: str) -> str:
    return files("linnet.report").joinpath(name).read_text("utf-8")


def _digest(text: str) -> Safe:
    """Return the digest by which a content security policy names the one text that it allows."""
    return Safe(f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}")
