"""Slides of the guide's chapters, to project and to print: `make slides`.

Each chapter of the site becomes a page of slides, cut at its headings and filled up to the height of a slide, with the
formulas, outputs and pictures that the site has. A folder of slides stands by itself: it asks for nothing, from disk or
from a server. Without scripts, on a narrow screen and on paper the slides follow one another.
"""

import html
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bs4 import BeautifulSoup, Tag

from extensions import DOCS, ROOT
from extensions.__main__ import build

SITE = ROOT / "build" / "docs"
LEFT_OUT = ("Where it lives",)  # sections for those who read code
NO_DECK = ("plain", "assignments", "teaching", "grading")
FULL = 13.0  # lines of text on a slide
_ASSETS = ("slides.css", "slides.js", "formulas.woff", "pygments.css", "favicon.svg")


@dataclass(frozen=True)
class Slide:
    """A heading, and what stands below it."""

    heading: str
    body: tuple[str, ...]
    kind: str = ""


def chapters() -> list[str]:
    """The chapters in the order of the course, as docs/learn.md lists them."""
    found = re.findall(r"^guide/(\w+)$", (DOCS / "learn.md").read_text("utf-8"), re.MULTILINE)
    return [name for name in found if name not in NO_DECK]


def lines(node: Tag) -> float:
    """About how many lines of text something is high."""
    if node.name == "figure":
        return FULL
    if node.name == "table" or node.find("table"):
        rows = node.find_all("tr")
        widths = max((len(row.find_all(["td", "th"])) for row in rows), default=1)
        return sum(
            0.55 + 0.75 * max(-(-len(cell.get_text()) * widths // 95) for cell in row.find_all(["td", "th"]))
            for row in rows
        )
    if node.name == "pre" or node.find("pre"):
        return 0.62 * (node.get_text().rstrip().count("\n") + 1) + 0.8
    if "formula" in node.get_attribute_list("class"):
        return 2.0 + 1.1 * max(0, len(node.find_all("mtr")) - 1)
    if node.name in ("ul", "ol"):
        return sum(lines(item) for item in node.find_all("li", recursive=False))
    return 0.5 + -(-len(node.get_text()) // 82)


def slides_of(article: Tag, deck_of: dict[str, str]) -> Iterator[Slide]:
    """The slides of a chapter: its title, and each section cut into as many as it needs."""
    top = article.find("section")
    assert isinstance(top, Tag)
    for node in article.select(".headerlink, .copybtn"):
        node.decompose()
    for link in article.find_all("a"):
        page = Path(str(link.get("href", "")).partition("#")[0]).stem
        if page in deck_of:
            link.attrs = {"href": deck_of[page]}
        else:
            link.unwrap()
    heading = top.find("h1")
    assert isinstance(heading, Tag)
    yield from _cut(
        heading.decode_contents(), [node for node in _children(top) if node.name not in ("h1", "section")], "title"
    )
    for section in top.find_all("section", recursive=False):
        title = section.find(["h2", "h3"])
        assert isinstance(title, Tag)
        if title.get_text().strip() in LEFT_OUT:
            continue
        parts = [node for node in _children(section) if node is not title]
        if title.get_text().strip() == "Exercises":
            yield from _exercises(parts)
        else:
            yield from _cut(title.decode_contents(), parts)


def _children(node: Tag) -> list[Tag]:
    return [child for child in node.children if isinstance(child, Tag)]


def _cut(heading: str, parts: list[Tag], first: str = "") -> Iterator[Slide]:
    """Fill slides with parts in order: what is full by itself, such as a picture, gets a slide of its own."""
    body, used, kind = list[str](), 0.0, first
    for index, part in enumerate(parts):
        size = lines(part)
        before = parts[index - 1] if index else part
        after = (
            lines(parts[index + 1]) if _leads_on(part) and index + 1 < len(parts) else 0.0
        )  # "... is" and its formula
        more = after if after < FULL / 2 else 0.0
        room = FULL
        if _is_output(part) and _is_code(before):  # what a program prints stays with it, or goes to its picture
            pictured = index + 1 < len(parts) and parts[index + 1].name == "figure"
            room = FULL * (1.1 if pictured else 1.5)
        elif part.name == "figure" and _is_output(before) and len(body) == 1:
            room = FULL + 5
        if body and used + size + more > room:
            yield Slide(heading, tuple(body), kind)
            body, used, kind = [], 0.0, ""
        body.append(str(part))
        used += size
    if body or kind:
        yield Slide(heading, tuple(body), kind)


def _is_code(part: Tag) -> bool:
    return part.name == "div" and part.find("pre") is not None


def _is_output(part: Tag) -> bool:
    return part.name == "pre"


def _leads_on(part: Tag) -> bool:
    return part.name == "p" and not part.get_text().rstrip().endswith((".", "?", "!"))


def _exercises(parts: list[Tag]) -> Iterator[Slide]:
    """Each exercise with its answer, which is closed until it is asked for."""
    number, body = 0, list[str]()
    for part in parts:
        if part.name == "ol" and body:
            yield Slide(f"Exercise {number}", tuple(body))
            body = []
        if part.name == "ol":
            number += 1
            part = BeautifulSoup(
                "".join(item.decode_contents() for item in part.find_all("li", recursive=False)), "html.parser"
            )
            body.append(f"<div class='question'>{part}</div>")
        else:
            body.append(str(part))
    if body:
        yield Slide(f"Exercise {number}", tuple(body))


def page(title: str, slides: list[Slide]) -> str:
    """One chapter as a page of slides."""
    shown = "\n".join(
        f'<section class="slide {slide.kind}" aria-label="{number} of {len(slides)}">'
        f"<h2>{slide.heading}</h2>\n<div class='body'>{''.join(slide.body)}</div>\n"
        f"<footer><span>{html.escape(title)}</span><span>{number} / {len(slides)}</span></footer></section>"
        for number, slide in enumerate(slides, 1)
    )
    return _document(
        f"{title}: slides", f'<main class="deck">\n{shown}\n</main>', '<script src="_static/slides.js" defer></script>'
    )


def _document(title: str, body: str, script: str = "") -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en" data-theme="light">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{html.escape(title)}</title>\n<link rel="icon" href="_static/favicon.svg">\n'
        '<link rel="stylesheet" href="_static/pygments.css">\n<link rel="stylesheet" href="_static/slides.css">\n'
        f"{script}\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def make(out: Path, site: Path = SITE) -> list[Path]:
    """Make a page of slides per chapter, and a page that lists them; return their paths."""
    shutil.rmtree(out, ignore_errors=True)
    (out / "_static").mkdir(parents=True)
    for name in _ASSETS:
        own = DOCS / "_static" / name
        shutil.copy(own if own.exists() else site / "_static" / name, out / "_static" / name)
    names, made, entries = chapters(), list[Path](), list[str]()
    deck_of = {name: f"{name}.html" for name in names}
    for name in names:
        soup = BeautifulSoup((site / "guide" / f"{name}.html").read_text("utf-8"), "html.parser")
        article = soup.find("article")
        assert isinstance(article, Tag)
        for picture in article.find_all("img"):
            path = (site / "guide" / str(picture["src"])).resolve()
            shutil.copy(path, out / "_static" / path.name)
            picture["src"] = f"_static/{path.name}"
            picture.attrs.pop("loading", None)
        title = article.find("h1")
        assert isinstance(title, Tag)
        slides = list(slides_of(article, deck_of))
        text = title.get_text().strip().rstrip("#").strip()
        path = out / deck_of[name]
        path.write_text(page(text, slides), "utf-8")
        made.append(path)
        entries.append(
            f'<li><a href="{deck_of[name]}">{html.escape(text)}</a> <small>{len(slides)} slides</small></li>'
        )
    keys = "Arrow keys, space and page keys turn pages; f fills the screen; d is light or dark; h comes back here."
    listed = f'<main class="list"><h1>Slides</h1><p>{keys}</p><ol>{"".join(entries)}</ol></main>'
    (out / "index.html").write_text(_document("Slides", listed), "utf-8")
    return made


if __name__ == "__main__":
    build(SITE)
    target = Path(sys.argv[1])
    print(f"{len(make(target))} chapters as slides: open {target / 'index.html'}")
