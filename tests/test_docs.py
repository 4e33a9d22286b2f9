"""Every Python block of the README and the guide runs, and every link leads somewhere; the site is built of them."""

import ast
import doctest
import importlib
import json
import os
import re
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from builder import BuildError
from builder.__main__ import build, check_links, contents, links
from builder.blocks import Ran, python_blocks, run
from builder.markdown import render, slug
from builder.page import below_block, picture, style
from builder.reference import MODULES, place, public_names, reference

import linnet

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCKS = [
    pytest.param(block, id=f"{page.relative_to(ROOT)}-{index}")
    for page in PAGES
    for index, block in enumerate(python_blocks(page.read_text()))
]


@pytest.fixture(scope="module")
def running(request: pytest.FixtureRequest) -> Iterator[dict[str, Future[Ran]]]:
    """The chosen blocks, as many at a time as there are cores."""
    chosen = [item for item in request.session.items if getattr(item, "originalname", "") == "test_a_block_runs"]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield {item.callspec.params["block"]: pool.submit(run, item.callspec.params["block"]) for item in chosen}  # type: ignore[attr-defined]


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_runs(block: str, running: dict[str, Future[Ran]]) -> None:
    ran = running[block].result()
    assert (ran.code, ran.stderr) == (0, "")


def test_the_readme_starts_with_the_two_commands() -> None:
    first = re.search(r"```\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert first is not None
    assert first[1].split("\n") == ["make demo", "make test", ""]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_files_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target}"


SOURCE = Path(linnet.__file__).parent
WITH_EXAMPLES = [path for path in sorted(SOURCE.rglob("*.py")) if ">>> " in path.read_text()]
NAMES = [".".join(path.relative_to(SOURCE.parent).with_suffix("").parts) for path in WITH_EXAMPLES]


@pytest.mark.parametrize("name", NAMES)
def test_examples_in_docstrings_are_true(name: str) -> None:
    module = importlib.import_module(name)
    short = name.rpartition(".")[2]
    itself = {} if hasattr(module, short) else {short: module}  # examples may call their module by its name
    results = doctest.testmod(module, extraglobs=itself)
    assert results.attempted > 0
    assert results.failed == 0


# ---- the site ----


def not_run(block: str) -> Ran:
    return Ran(0, "what it wrote\n", "", ())


def up(page: Path, site: Path) -> str:
    return "../" * (len(page.relative_to(site).parts) - 1)


def test_the_site_is_whole(tmp_path: Path) -> None:
    """Without running blocks: each page is there, needs no network, and every link leads somewhere (build checks)."""
    count = build(tmp_path / "site", not_run)
    pages = sorted((tmp_path / "site").rglob("*.html"))
    assert len(pages) == count
    for page in pages:
        text = page.read_text()
        assert re.findall(r"<script[^>]*>", text) == [f'<script src="{up(page, tmp_path / "site")}search.js" defer>']
        assert not re.findall(r'(?:src|<link[^>]*href)="https?://', text)
        prose = re.sub(r"<(pre|code|svg)\b.*?</\1>", "", text, flags=re.DOTALL)
        assert "$" not in prose, f"a formula on {page.name} was not understood: {prose[prose.index('$') :][:60]}"
        assert "what it wrote" in text or "```python" not in text
    chapter = (tmp_path / "site" / "guide" / "softmax.html").read_text()
    assert "<math" in chapter
    assert "<details>" in chapter
    assert "aria-current=page>Softmax regression" in chapter


def test_the_index_of_the_search_has_every_heading_and_only_places_that_exist(tmp_path: Path) -> None:
    build(tmp_path / "site", not_run)
    places = json.loads((tmp_path / "site" / "search-index.js").read_text().removeprefix("linnetPlaces = ")[:-2])
    by_address = {place[0]: place for place in places}
    assert len(by_address) == len(places)
    for address in by_address:
        page, _, anchor = address.partition("#")
        assert not anchor or f'id="{anchor}"' in (tmp_path / "site" / page).read_text(), address
    for page in (tmp_path / "site" / "guide").glob("*.html"):
        for anchor in re.findall(r'<h2 id="([^"]+)"', page.read_text()):
            assert f"guide/{page.name}#{anchor}" in by_address
    assert by_address["reference/linnet.html#MLPClassifier.fit"][2] == "MLPClassifier.fit"
    _, title, heading, text = by_address["guide/sums.html#what-it-costs"]
    assert (title, heading) == ("From one machine to many", "What it costs")
    assert "around a ring each sends" in text
    assert "<" not in text
    assert "what it wrote" not in text


def test_every_public_name_has_an_entry_and_a_docstring() -> None:
    for name in MODULES:
        module = importlib.import_module(name)
        for key in public_names(module):
            value = getattr(module, key)
            if callable(value):
                assert (value.__doc__ or "").strip(), f"{name}.{key}"


def test_what_the_pages_import_is_in_the_reference() -> None:
    for page in PAGES:
        for block in python_blocks(page.read_text()):
            for node in ast.walk(ast.parse(block)):
                if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "linnet":
                    for name in node.names:
                        assert place(f"{node.module}.{name.name}"), f"{page.name}: {node.module}.{name.name}"


def test_public_packages_are_in_the_reference() -> None:
    with_list = [path for path in SOURCE.rglob("*.py") if "\n__all__ = " in path.read_text()]
    names = {".".join(path.relative_to(SOURCE.parent).with_suffix("").parts) for path in with_list}
    assert {name.removesuffix(".__init__") for name in names if "._" not in name.removesuffix(".__init__")} <= {
        *MODULES
    }
    assert place("linnet.multiclass.compare") == "reference/linnet.multiclass.html#compare"
    assert place("linnet.LogisticRegression.sample") == "reference/linnet.html#LogisticRegression.sample"
    assert place("linnet.LogisticRegression.no_such") is None


def test_signatures_are_written_as_they_are_read() -> None:
    page = reference("linnet.theory.likelihood")
    assert "_typing" not in page
    assert "ArrayLike" in page
    assert "_typing" not in reference("linnet.theory.graph")


def test_a_dead_link_fails_the_build() -> None:
    fine = {"a.html": '<a href="b.html#x">b</a>', "b.html": '<h2 id="x">x</h2><a href="https://example.org">out</a>'}
    check_links(fine)
    with pytest.raises(BuildError, match=r"a\.html: c\.html"):
        check_links({**fine, "a.html": '<a href="c.html">c</a>'})
    with pytest.raises(BuildError, match=r"b\.html#y"):
        check_links({**fine, "a.html": '<a href="b.html#y">b</a>'})
    for way in ("<a href='{}'>c</a>", "<a class=x href={}>c</a>", '<a\nHREF = "{}">c</a>', "<img src='{}'>"):
        check_links({**fine, "a.html": way.format("b.html")})
        with pytest.raises(BuildError, match=r"a\.html: c\.html"):
            check_links({**fine, "a.html": way.format("c.html")})
    check_links({**fine, "a.html": "<code>a href=c.html</code>"})  # no link, but about one


def test_a_block_that_fails_fails_the_build(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="it went wrong"):
        build(tmp_path / "site", lambda block: Ran(1, "", "it went wrong", ()))
    assert not (tmp_path / "site").exists()


def test_every_page_is_in_the_contents(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    listed = [page for pages in contents().values() for page in pages]
    assert {ROOT / "docs" / page for page in listed} == set((ROOT / "docs").rglob("*.md"))
    monkeypatch.setattr("builder.__main__.DOCS", tmp_path)
    (tmp_path / "contents.toml").write_text('"Start" = ["index.md"]\n')
    with pytest.raises(BuildError, match=r"index\.md"):
        contents()


def test_formulas_are_made_when_the_page_is() -> None:
    page = render("Code `$x$`, and $x^2$:\n\n$$\\sum_i w_i$$\n")
    assert page.count("<math") == 2
    assert "<code>$x$</code>" in page


def test_formulas_keep_their_punctuation_and_their_spaces() -> None:
    page = render("of $x$, of $\\log p$ and $\\log(p)$, of $|x|$; $7{,}850$ in all")
    assert '<span class="whole"><math' in page
    assert "</math>,</span>" in page
    assert '<mi>log</mi><mspace width="0.17em"/><mi>p</mi>' in page
    assert page.count("<mspace") == 1
    assert page.count('lspace="0" rspace="0"') == 3


def test_primes_are_no_exponents() -> None:
    """The sign is small and raised by itself."""
    page = render("$f'(x)$, $\\sigma''$, $w_1'$ and $x^2$")
    assert page.count('<mtext class="prime">&#x02032;</mtext>') == 2
    assert page.count('<mtext class="prime">&#x02033;</mtext>') == 1
    assert page.count("<msup>") == 1
    assert page.count("<msub>") == 1


def test_broad_pictures_stay_large_enough_to_read() -> None:
    """Those of several panels side by side are not squeezed into the width of a phone."""
    shown = [
        below_block(Ran(0, "", "", (f'<svg width="{points}pt" height="9pt"></svg>',)), "x")
        for points in (460, 792, 1200)
    ]
    assert [re.findall(r'figure class="scroll ?(\w*)"', text)[0] for text in shown] == ["", "broad", "wide"]
    assert re.search(r"\.broad svg \{ min-width: \d+rem", style())


def test_long_names_break_at_their_joints_and_lead_to_the_reference() -> None:
    body = render("`linnet.theory.likelihood.poisson_limit`, `linnet.nothing`, [`linnet.load`](index.md), `short_name`")
    assert "<code>linnet.<wbr>theory.<wbr>likelihood.<wbr>poisson_<wbr>limit</code>" in body
    assert "<code>short_name</code>" in body
    linked = links(body, "guide/softmax.md", set())
    assert '<a href="../reference/linnet.theory.likelihood.html#poisson_limit"><code>' in linked
    assert linked.count("<a ") == 2  # not what has a link or is no name


@pytest.mark.parametrize("page", contents()["The guide"])
def test_a_chapter_has_all_its_parts(page: str) -> None:
    text = (ROOT / "docs" / page).read_text()
    assert python_blocks(text)
    assert "$" in re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    assert re.search(r"## Where it lives\n.*\.\./src/linnet/", text, re.DOTALL)
    exercises = text[text.index("## Exercises") :]
    assert (
        len(re.findall(r"^\d+\. ", exercises, re.MULTILINE))
        == exercises.count("<details><summary>Answer</summary>")
        >= 2
    )


def defined(path: Path) -> set[str]:
    """Names that a file defines: of Python also methods, as Class.method; of C++ all that is followed by ( or {."""
    text = path.read_text()
    if path.suffix != ".py":
        return set(re.findall(r"\b(\w+)\s*[({:,]", text))
    found = set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
            inner = node.body if isinstance(node, ast.ClassDef) else []
            found |= {f"{node.name}.{member.name}" for member in inner if isinstance(member, ast.FunctionDef)}
            found |= {member.name for member in inner if isinstance(member, ast.FunctionDef)}
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_names_live_where_pages_say(page: Path) -> None:
    pointer = r"((?:`[\w.]+`(?:, )?)+) in \[[^\]]*\]\(([^)#\s]+\.(?:py|[ch]pp))\)"
    for names, target in re.findall(pointer, page.read_text()):
        for name in re.findall(r"[\w.]+", names):
            assert name in defined(page.parent / target), f"{name} in {target}"


def test_headings_have_the_anchors_of_github() -> None:
    assert slug("From one machine to many: `sums`") == "from-one-machine-to-many-sums"
    assert render("## Again\n\n## Again\n").count('id="again') == 2
    assert 'id="again-1"' in render("## Again\n\n## Again\n")


def test_a_picture_takes_the_colours_of_the_page_and_ids_of_its_own() -> None:
    drawn = run("import matplotlib.pyplot as plt\nplt.plot([1, 2])")
    assert drawn.code == 0, drawn.stderr
    one, other = (picture(drawn.pictures[0], name) for name in ("one", "other"))
    assert "var(--s1)" in one
    assert "#0101" not in one
    ids = [set(re.findall(r'\bid="([^"]+)"', text)) for text in (one, other)]
    assert not ids[0] & ids[1]
    for text, own in zip((one, other), ids, strict=True):
        assert set(re.findall(r'(?:url\(|href=")#([^")]+)', text)) <= own


def test_the_colours_are_the_reports() -> None:
    assert style().startswith((ROOT / "src" / "linnet" / "report" / "page.css").read_text()[:300])
