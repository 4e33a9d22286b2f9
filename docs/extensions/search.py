"""A search that answers questions: their small words are left out of the index, and no page needs to have all words.

`search.js` ranks what Sphinx's index has. What a result is about is told by the first sentences of its page, which are
kept in a script: a page opened from disk may load scripts, but not read other pages.
"""

import json
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.search import languages
from sphinx.search.en import SearchEnglish

_QUESTIONS = (
    "about any anything are at be best better by can cannot could did do does doing done each for from get give "
    "good had has have help her his how i if in into is it its just know like make many may me mean means more "
    "most much must my need needs no not of on one or our out please see should so some tell than that the their "
    "them then there these they thing things this to tried try two up us use used using want was way we were what "
    "when where which while who why will with work works would you your "
)
_LONGEST = 160  # characters of what is shown of a page


class Questions(SearchEnglish):
    """English without the words that questions begin with."""

    stopwords = frozenset({*SearchEnglish.stopwords, *_QUESTIONS.split()})


def first_words(doctree: nodes.document) -> str:
    """How the text of a page begins."""
    for node in doctree.findall(nodes.paragraph):
        if isinstance(node.parent, nodes.section) or "objtype" in node.parent.parent:
            text = " ".join(node.astext().split())
            return text if len(text) <= _LONGEST else f"{text[:_LONGEST].rsplit(' ', 1)[0]} …"
    return ""


def write_first_words(app: Sphinx, error: Exception | None) -> None:
    """Write the script that says how each page begins."""
    if not error and app.builder.format == "html":
        first = {name: first_words(app.env.get_doctree(name)) for name in sorted(app.env.found_docs)}
        text = f"linnetFirstWords = {json.dumps(first, ensure_ascii=False)};\n"
        (Path(app.outdir) / "_static" / "first-words.js").write_text(text, "utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the language and the scripts of the page of results."""
    languages["en"] = Questions
    app.connect("build-finished", write_first_words)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
