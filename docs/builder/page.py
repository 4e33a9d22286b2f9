"""One page: the frame around its text, and pictures in the page's own colours."""

import html
import re
from dataclasses import dataclass
from pathlib import Path

from builder.blocks import Ran

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

_COLORS = {  # what matplotlibrc says, and the colours of the style sheet that it stands for
    "#010101": "var(--ink)",
    "#010102": "var(--quiet)",
    "#010103": "var(--grid)",
    "#010104": "var(--rule)",
    "#010111": "var(--s1)",
    "#010112": "var(--s2)",
    "#010113": "var(--s3)",
    "#010114": "var(--s4)",
}


_WIDE = 900  # points: a picture this wide is not made smaller, but scrolls
_BROAD = 600  # one this wide is made smaller as long as it can be read, and scrolls then


@dataclass(frozen=True)
class Entry:
    """A page in the list of contents."""

    path: str  # of the HTML file, from the site's folder
    title: str


@dataclass(frozen=True)
class Section:
    """A part of the list of contents."""

    title: str
    entries: tuple[Entry, ...]


def style() -> str:
    """The style sheet: the colours are those of the report's pages."""
    report = (ROOT / "src" / "linnet" / "report" / "page.css").read_text("utf-8")
    palette, found, _ = report.partition("* { box-sizing")
    assert found, "the report's style sheet begins with its colours"
    return palette + (HERE / "page.css").read_text("utf-8")


def below_block(ran: Ran, name: str) -> str:
    """What a block wrote and drew."""
    shown = f'<pre class="output" aria-label="output">{html.escape(ran.stdout)}</pre>' if ran.stdout.strip() else ""
    for number, svg in enumerate(ran.pictures):
        width = re.search(r'<svg[^>]*?\bwidth="([\d.]+)', svg)
        points = float(width[1]) if width else 0.0
        size = " wide" if points > _WIDE else " broad" if points > _BROAD else ""
        shown += f'<figure class="scroll{size}">{picture(svg, f"{name}-{number}")}</figure>'
    return shown


def picture(svg: str, name: str) -> str:
    """A picture as part of a page: in its colours, with ids that no other picture has."""
    svg = svg[svg.index("<svg") :]
    for color, variable in _COLORS.items():
        svg = svg.replace(color, variable)
    for key in sorted(set(re.findall(r'\bid="([^"]+)"', svg)), key=len, reverse=True):
        svg = re.sub(rf'(\bid="|#){re.escape(key)}(?=["\)])', rf"\g<1>{name}-{key}", svg)
    return svg


def frame(title: str, body: str, here: str, sections: list[Section]) -> str:
    """The whole page at `here`, with the list of contents and ways to the pages before and after."""
    up = "../" * here.count("/")
    entries = [entry for section in sections for entry in section.entries]
    place = next((index for index, entry in enumerate(entries) if entry.path == here), None)
    turn = ""
    if place is not None:
        before = entries[place - 1] if place else None
        after = entries[place + 1] if place + 1 < len(entries) else None
        ways = [
            f'<a class="{kind}" href="{up}{entry.path}"><small>{word}</small>{html.escape(entry.title)}</a>'
            for kind, word, entry in (("before", "Before", before), ("after", "Next", after))
            if entry
        ]
        turn = f'<nav class="turn" aria-label="Pages before and after">{"".join(ways)}</nav>'
    contents = "".join(_contents(section, here, up) for section in sections)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{html.escape(title)} · linnet</title>
<link rel="stylesheet" href="{up}style.css">
<script src="{up}search.js" defer></script>
</head>
<body data-up="{up}">
<a class="skip" href="#text">To the text</a>
<div class="page">
<header><a class="brand" href="{up}index.html">linnet</a> <span>from linear models to neural nets</span>
<div class="search" hidden><input id="search" type="search" placeholder="Search, or press /" aria-label="Search"
 role="combobox" aria-expanded="false" aria-controls="found" aria-autocomplete="list" autocomplete="off">
<div id="found" role="listbox" aria-label="Found" hidden></div></div>
<a class="jump" href="#contents">Contents</a></header>
<main id="text">
{body}
{turn}
</main>
<nav class="contents" id="contents" aria-label="Contents">{contents}</nav>
</div>
</body>
</html>
"""


def _contents(section: Section, here: str, up: str) -> str:
    items = "".join(
        f'<li><a href="{up}{entry.path}"{" aria-current=page" if entry.path == here else ""}>{html.escape(entry.title)}'
        "</a></li>"
        for entry in section.entries
    )
    return f"<p>{html.escape(section.title)}</p><ul>{items}</ul>"
