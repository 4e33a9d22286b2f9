"""The index of the site for its search box: a place for every heading, with the text below it, as a file of JavaScript.

It is a script and not JSON because a page opened from disk may not read other files, but may load scripts.
"""

import html
import json
import re

from builder.page import Section

_LEFT_OUT = re.compile(r"<(svg|math|figure)\b.*?</\1>|<pre class=\"output\".*?</pre>", re.DOTALL)
_HEADING = re.compile(r'<h[123](?: id="([^"]*)"|)>(.*?)</h[123]>', re.DOTALL)


def index(bodies: dict[str, str], sections: list[Section]) -> str:
    """The script that says what is where: [address with anchor, page's title, heading, text], in reading order."""
    places = [
        [f"{entry.path}#{anchor}" if anchor else entry.path, entry.title, heading, text]
        for section in sections
        for entry in section.entries
        for anchor, heading, text in parts(bodies[entry.path])
    ]
    return f"linnetPlaces = {json.dumps(places, ensure_ascii=False, separators=(',', ':'))};\n"


def parts(body: str) -> list[tuple[str, str, str]]:
    """Anchor, heading and plain text of each part of a page; its first part, below the title, needs no anchor."""
    _, *found = _HEADING.split(_LEFT_OUT.sub(" ", body))
    pieces = list(zip(found[::3], found[1::3], found[2::3], strict=True))
    return [(anchor if at else "", plain(heading), plain(text)) for at, (anchor, heading, text) in enumerate(pieces)]


def plain(text: str) -> str:
    """HTML without its tags; what stands in different blocks stays apart."""
    apart = re.sub(r"</(?:p|li|td|th|pre|summary)>", " ", text)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", apart)).split())
