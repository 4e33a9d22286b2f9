"""The index of the subject: every item is there; its plain program, function, test, page and assignment exist; and the
test named calls the function named.
"""

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from linnet.learn.course import assignments

from .site import environment
from .touching import find

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "syllabus.md"
PLAIN = ROOT / "src" / "linnet" / "plain"
COUNTS = {"A": 12, "B": 11, "C": 3, "D": 3, "E": 5, "F": 5, "G": 12}
ROWS = {
    cells[0]: cells[1:]
    for line in PAGE.read_text().splitlines()
    if re.match(r"\| [A-G]\d+[a-z]? \|", line)
    for cells in [[cell.strip() for cell in line.strip("|").split(" | ")]]
}


def test_every_item_is_there() -> None:
    wanted = {f"{letter}{number}" for letter, count in COUNTS.items() for number in range(1, count + 1)}
    assert {item.rstrip("abcdef") for item in ROWS} == wanted
    assert all(len(cells) == 6 for cells in ROWS.values())


@pytest.mark.parametrize("item", ROWS)
def test_the_plain_programs_of_an_item_exist(item: str) -> None:
    links = re.findall(r"\[(\w+)\]\(\.\./src/linnet/plain/([^)]+)\)", ROWS[item][1])
    assert links
    for name, file in links:
        assert file == f"{name}.py"
        assert (PLAIN / file).exists(), file


def test_every_plain_program_is_of_some_item() -> None:
    """Except for general forms of several items, which are in the table of linnet.plain."""
    named = {name for item in ROWS for name in re.findall(r"plain/(\w+)\.py", ROWS[item][1])}
    assert {path.stem for path in PLAIN.glob("*.py")} - named == {"__init__", "newton", "power_variance"}


def chapters() -> list[str]:
    """The pages of the guide that explain items."""
    found = {link.partition("#")[0] for cells in ROWS.values() for link in re.findall(r"\]\(([^)]+)\)", cells[4])}
    return sorted(found - {"guide/teaching.md"})


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


@pytest.mark.parametrize("item", ROWS)
def test_there_is_something_to_write(item: str) -> None:
    """Assignments that exist, or exercises."""
    names = re.findall(r"`([\w-]+)`", ROWS[item][5])
    assert set(names) <= {each.name for each in assignments()}
    exercises = re.findall(r"\]\((guide/\w+\.md)#exercises\)", ROWS[item][5])
    assert names or exercises
    for page in exercises:
        assert "exercises" in anchors(PAGE.parent / page)


def test_every_assignment_is_of_some_item() -> None:
    named = {name for cells in ROWS.values() for name in re.findall(r"`([\w-]+)`", cells[5])}
    assert {each.name for each in assignments()} - named == {"least-squares", "newton"}  # two ways to one optimum


# ---- what is named is called ----


def called(rows: Mapping[str, tuple[list[str], list[str]]], folder: Path) -> dict[str, list[str]]:
    """Run the tests that rows name, and return which of the functions that they name were called."""
    out = folder / "touched.json"
    plugin = os.pathsep.join([environment()["PYTHONPATH"], str(Path(__file__).parent)])
    known = {"LINNET_ROWS": json.dumps(rows), "LINNET_TOUCHED": str(out), "PYTHONPATH": plugin}
    named = sorted({test for _, tests in rows.values() for test in tests})
    options = ["-q", "-p", "touching", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "default", "--no-header"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *named],
        cwd=ROOT,
        env={**os.environ, **known},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    found: dict[str, list[str]] = json.loads(out.read_text())
    return found


def test_the_tests_named_call_the_functions_named(tmp_path: Path) -> None:
    """Each function of a row is called by one of its tests, under a profiler."""
    rows = {}
    for item, cells in ROWS.items():
        tests = [
            f"{(PAGE.parent / path).resolve().relative_to(ROOT).as_posix()}::{name}"
            for name, path in re.findall(r"\[`(\w+)`\]\(([^)]+)\)", cells[3])
        ]
        rows[item] = (re.findall(r"`([^`]+)`", cells[2]), tests)
    found = called(rows, tmp_path)
    assert {item: names for item, (names, _) in rows.items() if set(names) - set(found[item])} == {}


def test_a_test_that_does_not_call_its_function_is_found(tmp_path: Path) -> None:
    test = "tests/theory/test_constant_unit.py::test_what_cannot_be_absorbed_is_refused"
    rows = {"X1": (["linnet.theory.absorb_biases", "linnet.theory.lagrange", "linnet.model.network.Network"], [test])}
    assert called(rows, tmp_path) == {"X1": ["linnet.model.network.Network", "linnet.theory.absorb_biases"]}
