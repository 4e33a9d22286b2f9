"""Build the site: run all blocks, write all pages, and fail if a block fails or a link leads nowhere."""

import argparse
import html
import os
import re
import shutil
import sys
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import unquote

from builder import BuildError
from builder.blocks import Ran, python_blocks, run
from builder.markdown import code, render
from builder.page import HERE, ROOT, Entry, Section, below_block, frame, style
from builder.reference import MODULES, place, reference
from builder.results import fill
from builder.search import index

DOCS = ROOT / "docs"
SOURCES = {".py": "python", ".hpp": "cpp", ".cpp": "cpp"}
ASSETS = ("style.css", "search.js")  # of every page
TITLE = re.compile(r"^# (.+)$", re.MULTILINE)


def contents() -> dict[str, list[str]]:
    """The sections of the site and their pages of Markdown, in order: docs/contents.toml."""
    listed: dict[str, list[str]] = tomllib.loads((DOCS / "contents.toml").read_text("utf-8"))
    there = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    named = [page for pages in listed.values() for page in pages]
    if set(named) != there or len(named) != len(there):
        raise BuildError(f"docs/contents.toml must list each page once; see {sorted(set(named) ^ there)}")
    return listed


def build(out: Path, run: Callable[[str], Ran] = run) -> int:
    """Write the site, its blocks run by `run`; return the number of pages."""
    listed = contents()
    texts = {page: (DOCS / page).read_text("utf-8") for pages in listed.values() for page in pages}
    texts["benchmarks.md"] = fill(texts["benchmarks.md"])
    ran = run_all(texts, run)
    sections = [
        Section(name, tuple(Entry(html_path(page), plain_title(texts[page])) for page in pages))
        for name, pages in listed.items()
    ]
    sections.insert(-1, Section("Reference", tuple(Entry(f"reference/{name}.html", name) for name in MODULES)))
    bodies = dict[str, str]()
    sources = set[str]()
    for page, text in texts.items():
        bodies[html_path(page)] = links(render(text, below(page, ran[page]), raw=True), page, sources)
    for name in MODULES:
        bodies[f"reference/{name}.html"] = reference(name)
    titles = {entry.path: entry.title for section in sections for entry in section.entries}
    for source in sorted(sources):
        bodies[f"source/{source}.html"] = listing(source)
        titles[f"source/{source}.html"] = source
    pages = {path: frame(titles[path], body, path, sections) for path, body in bodies.items()}
    check_links(pages)
    shutil.rmtree(out, ignore_errors=True)
    scripts = {"search.js": (HERE / "search.js").read_text("utf-8"), "search-index.js": index(bodies, sections)}
    for path, text in {**pages, **scripts, "style.css": style()}.items():
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        (out / path).write_text(text, "utf-8")
    return len(pages)


def below(page: str, results: list[Ran]) -> Callable[[str], str]:
    """What stands under each block of a page, in order."""
    name, left = page.removesuffix(".md").replace("/", "-"), iter(enumerate(results))

    def show(block: str) -> str:
        number, ran = next(left)
        return below_block(ran, f"{name}-{number}")

    return show


def html_path(page: str) -> str:
    """Where a page of Markdown goes."""
    return page.removesuffix(".md") + ".html"


def plain_title(text: str) -> str:
    """The title of a page."""
    found = TITLE.search(text)
    assert found, "a page begins with its title"
    return re.sub(r"[`*]", "", found[1])


def run_all(texts: dict[str, str], run: Callable[[str], Ran]) -> dict[str, list[Ran]]:
    """Run every block of every page, several at a time."""
    jobs = [(page, block) for page, text in texts.items() for block in python_blocks(text)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda job: run(job[1]), jobs))
    found: dict[str, list[Ran]] = {page: [] for page in texts}
    for (page, _), ran in zip(jobs, results, strict=True):
        found[page].append(ran)
    failed = [f"docs/{job[0]}:\n{job[1]}\n{ran.stderr}" for job, ran in zip(jobs, results, strict=True) if ran.code]
    if failed:
        raise BuildError("blocks that fail:\n" + "\n".join(failed))
    return found


def links(body: str, page: str, sources: set[str]) -> str:
    """Links to pages of Markdown and to source files as links to the site's; names with a module lead to entries."""

    def target(found: re.Match[str]) -> str:
        link, _, anchor = html.unescape(found[1]).partition("#")
        if "://" in link or link.startswith("mailto:") or not link:
            return found[0]
        path = (DOCS / page).parent.joinpath(unquote(link)).resolve()
        up = "../" * page.count("/")
        if path.suffix == ".md" and path.is_relative_to(DOCS):
            new = up + html_path(path.relative_to(DOCS).as_posix())
        elif path.suffix in SOURCES and path.is_file() and path.is_relative_to(ROOT):
            source = path.relative_to(ROOT).as_posix()
            sources.add(source)
            new = f"{up}source/{source}.html"
        elif path.is_relative_to(DOCS / "reference"):
            new = up + path.relative_to(DOCS).as_posix()
        else:
            new = link  # leads nowhere: told by check_links
        return f'href="{html.escape(new + ("#" + anchor if anchor else ""))}"'

    def entry(found: re.Match[str]) -> str:
        to = place(found[1].replace("<wbr>", ""))
        return f'<a href="{"../" * page.count("/")}{to}">{found[0]}</a>' if to else found[0]

    body = re.sub(r'href="([^"]*)"', target, body)
    return re.sub(r'(?<!">)<code>(linnet(?:[\w.]|<wbr>)*)</code>', entry, body)


def listing(source: str) -> str:
    """A source file as a page."""
    text = (ROOT / source).read_text("utf-8")
    return f"<h1><code>{html.escape(source)}</code></h1>{code(text, SOURCES[Path(source).suffix])}"


def _attributes(text: str, names: str) -> list[str]:
    """The values of attributes, in quotes of either kind or in none."""
    value = rf"""\s(?:{names})\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))"""
    tags = re.findall(r"<[a-zA-Z][^>]*>", text)
    return ["".join(found) for tag in tags for found in re.findall(value, tag, re.IGNORECASE)]


def check_links(pages: dict[str, str]) -> None:
    """Every link within the site leads to a page and, if it has an anchor, to a place on it."""
    anchors = {path: set(_attributes(text, "id")) for path, text in pages.items()}
    dead = []
    for path, text in pages.items():
        for found in _attributes(text, "href|src"):
            link, _, anchor = html.unescape(found).partition("#")
            if "://" in link or link.startswith(("mailto:", "data:")) or Path(link).name in ASSETS:
                continue
            to = os.path.normpath(Path(path).parent / link) if link else path
            if to not in anchors or (anchor and anchor not in anchors[to]):
                dead.append(f"{path}: {found}")
    if dead:
        raise BuildError("links that lead nowhere:\n" + "\n".join(dead))


def main() -> None:
    """Build into the folder given."""
    parser = argparse.ArgumentParser(description="Build the documentation.")
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    try:
        count = build(out)
    except BuildError as error:
        sys.exit(f"error: {error}")
    print(f"{count} pages are in {out}: open {out / 'index.html'}")


if __name__ == "__main__":
    main()
