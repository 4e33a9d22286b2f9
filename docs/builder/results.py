"""The tables of the page of benchmarks, made of what runs left in docs/results (bench/results.py writes it).

A line `<!-- results: networks -->` in Markdown stands for the table of that name: one for each run that has rows of it,
with its date, machine, load and versions below.
"""

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from builder import BuildError

RESULTS = Path(__file__).parents[1] / "results"
_SHORT = 24  # characters: such a cell stays on one line
_PLACE = re.compile(r"^<!-- results: ([\w-]+) -->$", re.MULTILINE)


def fill(text: str, folder: Path = RESULTS) -> str:
    """The Markdown with tables in their places; each table that was kept must have one place."""
    kept = dict[str, str]()
    for path in sorted(folder.glob("*.json")):
        for run in json.loads(path.read_text("utf-8"))["runs"]:
            for name, table in run["tables"].items():
                kept[name] = kept.get(name, "") + shown(table["columns"], table["rows"]) + told(run)
    places = _PLACE.findall(text)
    if sorted(places) != sorted(kept):
        raise BuildError(f"each table of docs/results needs one place; see {sorted({*places} ^ {*kept}) or places}")
    return _PLACE.sub(lambda place: kept[place[1]], text)


def shown(columns: list[str], rows: list[list[str]]) -> str:
    """A table as HTML; a second column without a name has titles, and takes the names in the first with it."""
    titled = columns[1] == ""
    head = "".join(f"<th>{html.escape(column)}</th>" for column in columns[: 1 if titled else 2] + columns[2:])
    body = "".join(f"<tr>{''.join(_cells(columns, row, titled))}</tr>" for row in rows)
    return f'<div class="scroll"><table class="results"><tr>{head}</tr>{body}</table></div>\n'


def _cells(columns: list[str], row: list[str], titled: bool) -> Iterator[str]:
    texts = [html.escape(cell) for cell in row]
    if titled:
        yield f"<td>{texts[1]}<small>{texts[0]}</small></td>"
    for column, text in list(zip(columns, texts, strict=True))[2 if titled else 0 :]:
        kept = ' class="whole"' if len(text) < _SHORT else ""
        text = re.sub(r"^(.+) (\(.+\))$", r"\1<small>\2</small>", text)
        yield f"<td{kept}><b>{text}</b></td>" if column == "ratio" else f"<td{kept}>{text}</td>"


def told(run: dict[str, Any]) -> str:
    """Where a run's figures come from."""
    load = f"; load {run['load']:g} as it began" if "load" in run else ""
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    text = f"{run['date']}; {run['machine']}{load}; {versions}."
    return f'<p class="note">{html.escape(text)}</p>\n'
