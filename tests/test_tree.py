"""tests/ has the folders and files of src/linnet: what a room promises is tested in the room's place."""

from pathlib import Path

import pytest

import linnet

TESTS = Path(__file__).parent
SOURCE = Path(linnet.__file__).parent
APART = {
    "bench": "of bench/: the page of benchmarks",
    "contracts": "the battery that every head, activation, layer shape, optimizer and type goes through",
    "core": "of core/, also in C++",
    "docs": "of docs/: the guide's blocks, commands and formulas, the reference, the syllabus",
    "examples": "of examples/: they run",
    "mutants": "deliberate faults that the tests must notice",
}
RULES = {
    "docstrings": "public names document their parameters",
    "extras": "what works without the packages of extras",
    "rooms": "private names stay in their room",
    "tree": "this file",
}

FOLDERS = sorted({path.parent.relative_to(TESTS) for path in TESTS.rglob("*.py")} - {Path()})


def is_room(name: str) -> bool:
    return any((SOURCE / f"{prefix}{name}.py").exists() for prefix in ("", "_"))


@pytest.mark.parametrize("folder", FOLDERS, ids=str)
def test_a_folder_of_tests_is_a_room(folder: Path) -> None:
    assert folder.parts[0] in APART or [*(SOURCE / folder).glob("*.py")]


@pytest.mark.parametrize("path", sorted(TESTS.glob("test_*.py")), ids=lambda path: path.name)
def test_a_file_beside_the_folders_is_of_a_room_of_one_file(path: Path) -> None:
    name = path.stem.removeprefix("test_")
    assert is_room(name) or name in RULES


def test_what_lies_apart_is_there_and_no_room() -> None:
    assert not [name for name in APART if not (TESTS / name).is_dir() or (SOURCE / name).exists()]
    assert not [name for name in RULES if not (TESTS / f"test_{name}.py").exists() or is_room(name)]
