"""The list of deliberate faults is up to date: each can be made, names tests that exist, and all rooms have one."""

from pathlib import Path

import pytest

import linnet

from .run import ROOT, Fault, read_faults

FAULTS = read_faults()
LEAST = 60
WITHOUT = {  # rooms whose mistakes are those of what they connect
    *("core/base", "core/bindings", "core/threads"),
    *("__init__", "__main__", "_cached", "_lazy", "_moved", "_native", "arrays", "checks", "config", "errors"),
    *("pictures", "registry", "texts", "untrusted", "words"),
}


def room(fault: Fault) -> str:
    first, second, *rest = Path(fault.file).parts
    return f"core/{second}" if first == "core" else rest[0].removesuffix(".py")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_can_be_made_and_its_tests_exist(fault: Fault) -> None:
    text = (ROOT / fault.file).read_text(encoding="utf-8")
    assert fault.applied(text) != text
    assert fault.tests
    assert not [name for name in fault.tests if not (ROOT / name.partition("::")[0]).exists()]


def test_there_are_faults_in_all_rooms() -> None:
    assert len(FAULTS) >= LEAST
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    package = Path(linnet.__file__).parent
    rooms = {path.name.removesuffix(".py") for path in package.iterdir() if path.suffix == ".py" or path.is_dir()}
    rooms |= {f"core/{path.name}" for path in (ROOT / "core").iterdir() if path.is_dir()}
    assert rooms - {"__pycache__"} - WITHOUT - {*map(room, FAULTS)} == set()
