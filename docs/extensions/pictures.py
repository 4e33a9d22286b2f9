"""Pictures as part of a page, light and dark as the page is: those that matplotlib drew, and those that are kept."""

import html
import re

from sphinx.application import Sphinx

COLORS = {  # what matplotlibrc says, and the colours of the style sheet that it stands for
    "#010101": "var(--ink)",
    "#010102": "var(--quiet)",
    "#010103": "var(--grid)",
    "#010104": "var(--rule)",
    "#010111": "var(--s1)",
    "#010112": "var(--s2)",
    "#010113": "var(--s3)",
    "#010114": "var(--s4)",
}
_KEPT = re.compile(  # as GitHub shows one, by the reader's system
    r'<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="([^"]+)">\s*'
    r'<img src="([^"]+)"(.*?)>\s*</picture>',
    re.DOTALL,
)
_WIDE = 900  # points: a picture this wide is not made smaller, but scrolls
_BROAD = 500  # one this wide is made smaller as long as it can be read on a phone, and scrolls then
_LEAST = 0.93  # pixels per point: text of 11 points is still 10 pixels high


def figure(svg: str, name: str) -> str:
    """A picture with its frame, described by the words that are in it."""
    width = re.search(r'<svg[^>]*?\bwidth="([\d.]+)', svg)
    points = float(width[1]) if width else 0.0
    size = " wide" if points > _WIDE else " broad" if points > _BROAD else ""
    least = f' style="--least: {points * _LEAST:.0f}px"' if size == " broad" else ""
    texts = [re.sub(r"<[^>]*>", "", text).strip() for text in re.findall(r"<text[^>]*>(.*?)</text>", svg, re.DOTALL)]
    words = dict.fromkeys(text for text in texts if re.search(r"[^\W\d_]{2}", text))
    label = html.escape(html.unescape(f"Picture: {', '.join(words)}"), quote=True)
    return (
        f'<figure class="drawn{size}"{least}><div role="img" aria-label="{label}">{picture(svg, name)}</div></figure>\n'
    )


def picture(svg: str, name: str) -> str:
    """A picture in the page's colours, with ids that no other picture has."""
    svg = svg[svg.index("<svg") :]
    for color, variable in COLORS.items():
        svg = svg.replace(color, variable)
    for key in sorted(set(re.findall(r'\bid="([^"]+)"', svg)), key=len, reverse=True):
        svg = re.sub(rf'(\bid="|#){re.escape(key)}(?=["\)])', rf"\g<1>{name}-{key}", svg)
    return svg


def follow_switch(app: Sphinx, docname: str, source: list[str]) -> None:
    """Pictures that are kept (`extensions.gallery`), light or dark as the reader has switched the site."""
    source[0] = _KEPT.sub(
        '<figure class="drawn kept">'
        r'<img class="only-light" src="\2"\3 loading="lazy"><img class="only-dark" src="\1"\3 loading="lazy"></figure>',
        source[0],
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the pictures that are kept."""
    app.connect("source-read", follow_switch)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
