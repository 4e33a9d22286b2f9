"""A student's progress: a small file next to the programs."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from linnet.files import write_whole

_FILE = ".linnet-learn.json"


@dataclass(frozen=True)
class Entry:
    """The progress of one assignment."""

    right: int = 0  # parts
    parts: int = 0
    checks: int = 0
    hints: int = 0  # that were shown
    digest: str = ""  # of the program that was checked last


def progress_in(folder: Path) -> dict[str, Entry]:
    """Return the entries by assignment; none if the file is missing or damaged, as it only saves another check."""
    try:
        stated = json.loads((folder / _FILE).read_text(encoding="utf-8"))
        return {name: Entry(**entry) for name, entry in stated.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def note(folder: Path, name: str, **changed: object) -> Entry:
    """Change some fields of an entry and return it."""
    entries = progress_in(folder)
    entry = replace(entries.get(name, Entry()), **changed)  # type: ignore[arg-type]
    entries[name] = entry
    content = json.dumps({name: asdict(one) for name, one in entries.items()}, indent=1) + "\n"
    write_whole(folder / _FILE, [content.encode()])
    return entry
