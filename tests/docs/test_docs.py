"""Every Python block of the README and the guide runs, and every link leads somewhere; the site is built of them."""

import ast
import doctest
import html
import importlib
import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest
from extensions import blocks, gallery
from extensions.blocks import Ran, python_blocks, run
from extensions.formulas import formula
from extensions.pictures import figure, follow_switch, picture
from extensions.reference import MODULES, PACKAGES, _shortened, as_rst, place, public_names
from extensions.results import TITLES, kept_tables, medians
from extensions.versions import gather
from numpy.typing import ArrayLike

import linnet

from .site import built

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCKS = [
    pytest.param(block, id=f"{page.relative_to(ROOT)}-{index}")
    for page in PAGES
    for index, block in enumerate(python_blocks(page.read_text()))
]

SHOWN = ("optimizers", "playground", "tables")  # guides with kept pictures


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


def test_the_readme_shows_what_its_blocks_print() -> None:
    shown = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert shown
    for block, output in shown:
        assert run(block).stdout == output


def test_the_readme_has_the_last_benchmarks() -> None:
    """The chart and the words that stand for it; `make pictures` makes the chart again."""
    for scheme in gallery.SCHEMES:
        assert (gallery.KEPT / f"speed-{scheme}.svg").read_text() == gallery.speed(scheme)
    text = (ROOT / "README.md").read_text()
    for title, ratio in medians(TITLES, kept_tables()):
        assert f"{title} {ratio:.3g}" in text


def test_kept_pictures_are_small_and_light_or_dark_as_the_site_is() -> None:
    text = (ROOT / "README.md").read_text()
    for path in gallery.KEPT.iterdir():
        assert path.stat().st_size < 200_000
        assert path.name in text + "".join((ROOT / "docs" / "guide" / f"{name}.md").read_text() for name in SHOWN)
    source = [text]
    follow_switch(None, "index", source)  # type: ignore[arg-type]
    assert "<picture" not in source[0]
    assert source[0].count('class="only-light" src="docs/_static/pictures/') == 2
    assert source[0].count('class="only-dark" src="docs/_static/pictures/') == 2


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


# ---- blocks ----


def test_a_block_is_run_once_for_one_text_and_one_linnet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "KEPT", tmp_path / "kept")
    count = tmp_path / "count"
    block = f"with open({str(count)!r}, 'a') as file:\n    file.write('x')\nprint('wrote')\n"
    with ThreadPoolExecutor(3) as pool:
        assert {ran.stdout for ran in pool.map(run, [block] * 3)} == {"wrote\n"}
    assert count.read_text() == "x"
    monkeypatch.setattr(blocks, "installed", lambda: "another linnet")
    run(block)
    assert count.read_text() == "xx"
    wrong = f"{block}raise ValueError('it went wrong')\n"
    for _ in range(2):  # what fails is not kept
        assert "it went wrong" in run(wrong).stderr
    assert count.read_text() == "xxxx"


def test_a_picture_takes_the_colours_of_the_page_and_ids_of_its_own() -> None:
    drawn = run("import matplotlib.pyplot as plt\nplt.plot([1, 2], label='a line')\nplt.legend()")
    assert drawn.code == 0, drawn.stderr
    one, other = (picture(drawn.pictures[0], name) for name in ("one", "other"))
    assert "var(--s1)" in one
    assert "#0101" not in one
    ids = [set(re.findall(r'\bid="([^"]+)"', text)) for text in (one, other)]
    assert not ids[0] & ids[1]
    for text, own in zip((one, other), ids, strict=True):
        assert set(re.findall(r'(?:url\(|href=")#([^")]+)', text)) <= own
    assert 'role="img" aria-label="Picture: a line"' in figure(drawn.pictures[0], "one")


def test_broad_pictures_stay_large_enough_to_read() -> None:
    """Those of several panels side by side are not squeezed into the width of a phone."""
    shown = [figure(f'<svg width="{points}pt" height="9pt"></svg>', "x") for points in (460, 792, 1200)]
    assert [re.findall(r'figure class="drawn ?(\w*)"', text)[0] for text in shown] == ["", "broad", "wide"]
    style = (ROOT / "docs" / "_static" / "site.css").read_text()
    assert "--least: 737px" in shown[1]
    assert re.search(r"\.broad svg \{ min-width: var\(--least\)", style)


def test_the_colours_are_the_reports() -> None:
    """Light, then dark."""
    own = (ROOT / "docs" / "_static" / "site.css").read_text()
    reports = (ROOT / "src" / "linnet" / "report" / "page.css").read_text()
    for name in ("ink", "quiet", "rule", "grid", "s1", "s2", "s3", "s4"):
        first = [re.findall(rf"--{name}: (#\w+)", text)[:2] for text in (own, reports)]
        assert len(first[0]) == 2
        assert first[0] == first[1], name


# ---- formulas ----


def test_formulas_keep_their_spaces() -> None:
    spaced = formula(r"\log p + \log(p) + |x|; 7{,}850")
    assert '<mi>log</mi><mspace width="0.17em"/><mi>p</mi>' in spaced
    assert spaced.count("<mspace") == 1
    assert spaced.count('lspace="0" rspace="0"') == 3


def test_primes_are_no_exponents() -> None:
    """The sign is small and raised by itself."""
    made = "".join(map(formula, ("f'(x)", r"\sigma''", "w_1'", "x^2")))
    assert made.count('<mtext class="prime">&#x02032;</mtext>') == 2
    assert made.count('<mtext class="prime">&#x02033;</mtext>') == 1
    assert made.count("<msup>") == 1
    assert made.count("<msub>") == 1


# ---- the reference ----


def test_every_public_name_has_an_entry_and_a_docstring() -> None:
    for name in (*PACKAGES, *MODULES):
        module = importlib.import_module(name)
        assert place(name) == name
        for key in public_names(module):
            value = getattr(module, key)
            if not isinstance(value, ModuleType):
                assert place(f"{name}.{key}"), f"{name}.{key}"
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
    public = {name.removesuffix(".__init__") for name in names} - {"linnet.tables.kinds"}  # for tables alone
    assert {name for name in public if "._" not in name} <= {*PACKAGES}


def test_one_object_has_one_page() -> None:
    assert place("linnet.multiclass.OneVsRestClassifier") == "linnet.OneVsRestClassifier"
    assert place("linnet.theory.stationary.lagrange") == "linnet.theory.lagrange"
    assert place("linnet.LogisticRegression.sample") == "linnet.LogisticRegression.sample"
    for nothing in ("linnet.LogisticRegression.no_such", "linnet.nothing", "nothing", "linnet.nothing.at.all"):
        assert place(nothing) is None


def test_signatures_are_written_as_they_are_read() -> None:
    text = "(x: ~numpy.ndarray[tuple[~typing.Any, ...], ~numpy.dtype[~numpy.float64]], f: object = <function f at 0x1>)"
    assert _shortened(text) == "(x: NDArray[~numpy.float64], f: object = ...)"
    assert _shortened(f"(x: {inspect.formatannotation(ArrayLike)})") == "(x: ArrayLike)"


def test_what_docstrings_have_of_markdown_becomes_restructured_text() -> None:
    lines = ["A table of coef_:", "", "| a | b |", "|---|---|", "| `x_` | 2 * 3 |", "", "    code_ here"]
    lines += ["", "Of |x| * y."]
    as_rst(None, "", "", None, None, lines)  # type: ignore[arg-type]
    text = "\n".join(lines)
    assert "A table of coef\\_:" in text
    assert ".. list-table::\n   :header-rows: 1\n\n   * - a\n     - b\n   * - `x_`\n     - 2 * 3\n" in text
    assert "::\n\n    code_ here" in text
    assert "Of \\|x\\| * y." in text
    numpydoc = ["It fits.", "", "Attributes", "----------", "coef_ : array", "    |x| <= 1"]
    as_rst(None, "", "", None, None, numpydoc)  # type: ignore[arg-type]
    assert numpydoc[-2:] == ["coef_ : array", "    \\|x\\| <= 1"]


# ---- the site ----


def pages(site: Path) -> list[Path]:
    """But for the theme's own templates."""
    return [page for page in site.rglob("*.html") if "_static" not in page.parts]


def test_the_site_is_whole() -> None:
    """The build itself ends at a warning: a link that leads nowhere, a page that is not listed, a block that fails."""
    site = built()
    for page in pages(site):
        text = page.read_text()
        assert not re.findall(r'(?:src|<link[^>]*href)="(?:https?:)?//', text), page
        prose = re.sub(r"<(pre|code|svg|script)\b.*?</\1>", "", text, flags=re.DOTALL)
        if not page.is_relative_to(site / "source"):
            assert "$" not in prose, f"a formula on {page.name} was not understood: {prose[prose.index('$') :][:60]}"
    chapter = (site / "guide" / "softmax.html").read_text()
    assert "<math" in chapter
    assert "<details>" in chapter
    assert "</math>.</span>" in chapter  # no line begins with the point
    assert 'href="../source/src/linnet/plain/softmax_regression.py.html"' in chapter
    assert 'href="../reference/linnet.LogisticRegression.html' in chapter
    assert (site / "reference" / "linnet.LogisticRegression.html").exists()
    assert not (site / "reference" / "linnet.multiclass.OneVsRestClassifier.html").exists()
    assert not (site / "decisions").exists()


def test_every_link_within_the_site_leads_to_a_place() -> None:
    site = built()
    anchors, dead = dict[Path, set[str]](), []
    texts = {page: page.read_text() for page in pages(site)}
    for page, text in texts.items():
        anchors[page] = set(re.findall(r'\sid="([^"]+)"', text))
    for page, text in texts.items():
        for found in re.findall(r'<(?:a|img|script|link)\b[^>]*?\s(?:href|src)="([^"]+)"', text):
            link, _, anchor = html.unescape(found).partition("#")
            if re.match(r"[a-z]+:", link):
                continue
            to = Path(os.path.normpath(page.parent / link.partition("?")[0])) if link else page
            if not to.exists() or (anchor and to in anchors and anchor not in anchors[to]):
                dead.append(f"{page.relative_to(site)}: {found}")
    assert not dead


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("# One\n\n[nothing](nothing.md)\n", "nothing"),
        ("# One\n\n[no place](#no-place)\n", "no-place"),
        ("# One\n\n```python\nraise ValueError('it went wrong')\n```\n", "it went wrong"),
        ("# One\n\n$\\frac{1}$ is [a link](two.md)\n", "toctree"),
    ],
)
def test_what_is_wrong_with_a_page_ends_the_build(page: str, message: str, tmp_path: Path) -> None:
    """With the site's own configuration, less the reference."""
    own = ("blocks", "formulas", "results", "search", "sources", "versions", "policy")
    (tmp_path / "conf.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT / 'docs')!r})\nproject = 'one'\nversion = 'dev'\n"
        f"extensions = ['myst_parser', {', '.join(repr(f'extensions.{name}') for name in own)}]\n"
        "myst_enable_extensions = ['dollarmath']\nmyst_heading_anchors = 3\nhtml_math_renderer = 'mathml'\n"
    )
    (tmp_path / "index.md").write_text(page)
    if message == "toctree":
        (tmp_path / "two.md").write_text("# Two\n")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", str(tmp_path), str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert message in done.stderr


def test_versions_are_listed_from_the_newest(tmp_path: Path) -> None:
    for name in ("0.9", "0.10", "dev"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.html").write_text("")
    assert gather(tmp_path) == ["dev", "0.10", "0.9"]
    listed = json.loads((tmp_path / "0.9" / "versions.json").read_text())
    assert [each["url"] for each in listed] == ["../dev/index.html", "../0.10/index.html", "index.html"]
    assert (tmp_path / "dev" / "versions.js").read_text().startswith("linnetVersions = [")


def test_the_search_index_leaves_out_the_words_of_questions() -> None:
    index = (built() / "searchindex.js").read_text()
    data = json.loads(index[index.index("(") + 1 : index.rindex(")")])
    assert "count" in data["terms"]
    assert not {"how", "do", "which", "should", "my"} & {*data["terms"], *data["titleterms"]}


# ---- the chapters ----


NO_CHAPTERS = {"guide/plain", "guide/assignments", "guide/teaching", "guide/grading"}
CHAPTERS = [
    page
    for page in re.findall(r"^guide/\w+$", (ROOT / "docs" / "learn.md").read_text(), re.MULTILINE)
    if page not in NO_CHAPTERS
]


@pytest.mark.parametrize("page", CHAPTERS)
def test_a_chapter_has_all_its_parts(page: str) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text()
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
