"""Files of the repository as pages of the site: every link from a page to such a file leads there, and [source] too."""

import inspect
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

import linnet
from extensions import DOCS, ROOT

PACKAGE = Path(linnet.__file__).parent
_LANGUAGES = {".py": "python", ".hpp": "cpp", ".cpp": "cpp", ".def": "cpp", ".md": "markdown"}
_LINK = re.compile(r"\]\(([^)#\s:]+)")


def place(path: Path) -> str:
    """The page of a file, without its suffix."""
    return f"source/{path.relative_to(ROOT).as_posix()}"


def is_source(path: Path) -> bool:
    """Whether a file is shown as a page of source."""
    return path.suffix in _LANGUAGES and path.is_relative_to(ROOT) and path.is_file()


class LinksToSources(SphinxTransform):
    """Links to files that are no pages of the site become links to their source."""

    default_priority = 400  # before Sphinx takes them for downloads

    def apply(self, **_: Any) -> None:
        """Replace the nodes that Markdown's links were read as."""
        for node in list(self.document.findall(lambda each: isinstance(each, nodes.Element))):
            if isinstance(node, addnodes.download_reference):
                target = node["reftarget"]
            elif isinstance(node, addnodes.pending_xref) and node.get("refdomain") == "doc":
                if node["reftarget"] in self.env.found_docs:
                    continue
                target = os.path.relpath(f"/{node['reftarget']}.md", f"/{Path(self.env.docname).parent}")
            else:
                continue
            path = (DOCS / self.env.docname).parent.joinpath(target).resolve()
            if is_source(path):
                up = "../" * self.env.docname.count("/")
                link = nodes.reference("", "", *node.children, refuri=f"{up}{place(path)}.html", internal=True)
                node.parent.replace(node, link)


def linked(app: Sphinx) -> set[Path]:
    """The files that pages link to, and the package."""
    found = set(PACKAGE.rglob("*.py"))
    files = {ROOT / "src" / "linnet" / path.relative_to(PACKAGE) for path in found}
    for page in map(app.env.doc2path, app.env.found_docs):
        for target in _LINK.findall(page.read_text("utf-8")):
            path = page.parent.joinpath(target).resolve()
            if is_source(path) and app.env.path2doc(path) not in app.env.found_docs:
                files.add(path)
    return {path for path in files if path.is_file()}


def pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Every file as a page, with an anchor for every line."""
    highlighter: Any = getattr(app.builder, "highlighter")  # noqa: B009 - only builders of HTML have one
    for path in sorted(linked(app)):
        title = path.relative_to(ROOT).as_posix()
        code = highlighter.highlight_block(
            path.read_text("utf-8"), _LANGUAGES[path.suffix], location=title, linespans="L"
        )
        yield place(path), {"title": title, "body": f"<h1><code>{title}</code></h1>{code}"}, "page.html"


def linkcode_resolve(domain: str, info: dict[str, str]) -> str | None:
    """The address of an object's source, seen from its page in reference/."""
    value: Any = sys.modules.get(info["module"])
    try:
        for name in info["fullname"].split("."):
            value = inspect.getattr_static(value, name) if inspect.isclass(value) else getattr(value, name)
        value = inspect.unwrap(getattr(value, "fget", None) or getattr(value, "__func__", value))
        path = Path(inspect.getsourcefile(value) or "").resolve()
        line = inspect.getsourcelines(value)[1]
    except (AttributeError, TypeError, OSError):
        return None
    if not path.is_relative_to(PACKAGE):
        return None
    return f"../{place(ROOT / 'src' / 'linnet' / path.relative_to(PACKAGE))}.html#L-{max(line, 1)}"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register links and pages."""
    app.add_transform(LinksToSources)
    app.connect("html-collect-pages", pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
