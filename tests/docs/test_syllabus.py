"""The index of the subject: every item is there, and its plain program, function, test and page exist."""

import ast
import importlib
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "syllabus.md"
PLAIN = ROOT / "src" / "linnet" / "plain"
COUNTS = {"A": 12, "B": 11, "C": 3, "D": 3, "E": 5, "F": 5}
ROWS = {
    cells[0]: cells[1:]
    for line in PAGE.read_text().splitlines()
    if re.match(r"\| [A-F]\d+ \|", line)
    for cells in [[cell.strip() for cell in line.strip("|").split(" | ")]]
}


def test_every_item_is_there() -> None:
    wanted = {f"{letter}{number}" for letter, count in COUNTS.items() for number in range(1, count + 1)}
    assert ROWS.keys() == wanted


@pytest.mark.parametrize("item", ROWS)
def test_the_plain_programs_of_an_item_exist(item: str) -> None:
    links = re.findall(r"\[(\w+)\]\(\.\./src/linnet/plain/([^)]+)\)", ROWS[item][1])
    assert links
    for name, file in links:
        assert file == f"{name}.py"
        assert (PLAIN / file).exists(), file


def test_every_plain_program_is_of_some_item() -> None:
    """But for the general forms of what items have: they are in the table of linnet.plain."""
    named = {name for item in ROWS for name in re.findall(r"plain/(\w+)\.py", ROWS[item][1])}
    assert {path.stem for path in PLAIN.glob("*.py")} - named == {"__init__", "newton", "power_variance"}


def chapters() -> list[str]:
    """The pages of the guide that explain items."""
    found = {link.partition("#")[0] for cells in ROWS.values() for link in re.findall(r"\]\(([^)]+)\)", cells[4])}
    return sorted(found)


@pytest.mark.parametrize("page", chapters())
def test_a_chapter_names_the_plain_programs_first(page: str) -> None:
    text = (PAGE.parent / page).read_text()
    first = text.partition("## Where it lives\n| what | where |\n|---|---|\n")[2].partition("\n")[0]
    assert re.search(r"in plain NumPy \| \[plain/(\w+)\.py\]\(\.\./\.\./src/linnet/plain/\1\.py\)", first), first


@pytest.mark.parametrize("item", ROWS)
def test_the_functions_of_an_item_exist(item: str) -> None:
    names = re.findall(r"`([^`]+)`", ROWS[item][2])
    assert names
    for name in names:
        assert callable(find(name)), name


def find(name: str) -> object:
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            value: object = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            value = getattr(value, part)
        return value
    raise AssertionError(name)


@cache
def functions(path: Path) -> set[str]:
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("item", ROWS)
def test_the_tests_of_an_item_exist(item: str) -> None:
    links = re.findall(r"\[`(\w+)`\]\(([^)]+)\)", ROWS[item][3])
    assert links
    for function, path in links:
        assert function in functions(PAGE.parent / path), function


@cache
def anchors(path: Path) -> set[str]:
    """The anchors of headings, as GitHub makes them; the build of the site checks those of all links."""
    plain = [
        re.sub(r"[^\w\- ]", "", found.lower()) for found in re.findall(r"^#+ (.*)", path.read_text(), re.MULTILINE)
    ]
    return {found.strip().replace(" ", "-") for found in plain}


@pytest.mark.parametrize("item", ROWS)
def test_the_pages_of_an_item_exist(item: str) -> None:
    links = re.findall(r"\]\(([^)]+)\)", ROWS[item][4])
    assert links
    for link in links:
        page, _, anchor = link.partition("#")
        assert not anchor or anchor in anchors(PAGE.parent / page), link
