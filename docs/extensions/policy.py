"""What pages are before they are written: fit for a strict Content-Security-Policy, and for screen readers.

No script that differs from page to page stands within a page: what is left are two scripts of the theme, the same on
every page, whose hashes a policy can name.
"""

import re
from typing import Any

from sphinx.application import Sphinx

_PARAMETERS = re.compile(r"<dl>\s*((?:<dd>.*?</dd>\s*)+)</dl>")  # of a signature, one per line: a list of no terms


def put_right(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Leave out the theme's lines that name the page, which are for switches that read from the network."""
    context["script_files"] = [each for each in context["script_files"] if not each.attributes.get("body")]
    if "sig-param" in context.get("body", ""):
        context["body"] = _PARAMETERS.sub(_lines, context["body"])


def _lines(found: re.Match[str]) -> str:
    return found[1].replace("<dd>", '<span class="sig-line">').replace("</dd>", "</span>")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register it, to be done after the theme has added what it adds."""
    app.connect("html-page-context", put_right, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
