"""The figures of the page of benchmarks, made of what runs left in docs/results (bench/results.py writes it).

A line `<!-- results: networks -->` in Markdown stands for the table of that name: one for each run that has rows of it,
with its date, machine, load and versions below. A line `<!-- chart: networks -->` stands for a bar per row of it, as
long as the ratio of the row, the longest first; `<!-- chart: networks linear -->` for a bar per table, its median.
"""

import html
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from extensions import DOCS

RESULTS = DOCS / "results"
TITLES = {
    "networks": "training networks",
    "linear": "exact linear models",
    "estimators": "multilayer perceptrons",
    "evaluate": "metrics",
    "multiclass": "many classes from two",
}
_SHORT = 24  # characters: such a cell stays on one line
_TABLE = re.compile(r"^<!-- results: ([\w-]+) -->$", re.MULTILINE)
_CHART = re.compile(r"^<!-- chart: ([\w -]+) -->$", re.MULTILINE)
Runs = list[tuple[dict[str, Any], dict[str, Any]]]  # a table's runs: the run, and what it has of the table


def kept_tables(folder: Path = RESULTS) -> dict[str, Runs]:
    """The tables that runs kept, by name."""
    kept = dict[str, Runs]()
    for path in sorted(folder.glob("*.json")):
        for run in json.loads(path.read_text("utf-8"))["runs"]:
            for name, table in run["tables"].items():
                kept.setdefault(name, []).append((run, table))
    return kept


def fill(text: str, folder: Path = RESULTS) -> str:
    """The Markdown of a page with tables and charts in their places."""
    kept = kept_tables(folder)
    text = _CHART.sub(lambda place: bars(place[1].split(), kept), text)
    return _TABLE.sub(lambda place: "".join(shown(**table) + provenance(run) for run, table in kept[place[1]]), text)


def check_places(text: str, folder: Path = RESULTS) -> None:
    """Each table that was kept must have one place on the page."""
    places, kept = _TABLE.findall(text), kept_tables(folder)
    if sorted(places) != sorted(kept):
        raise ExtensionError(f"each table of docs/results needs one place; see {sorted({*places} ^ {*kept}) or places}")
    for name in {name for found in _CHART.findall(text) for name in found.split()} - {*kept}:
        raise ExtensionError(f"a chart of {name}, and no such table in docs/results")


def ratios(runs: Runs) -> list[tuple[str, float]]:
    """What each row is about, and its ratio."""
    return [(row[1], float(row[table["columns"].index("ratio")])) for _, table in runs for row in table["rows"]]


def medians(names: Iterable[str], kept: dict[str, Runs]) -> list[tuple[str, float]]:
    """The titles of tables, and their median ratios."""
    return [(TITLES[name], median(ratio for _, ratio in ratios(kept[name]))) for name in names]


def bars(names: list[str], kept: dict[str, Runs]) -> str:
    """A chart as a table with bars, with a mark where others would be as fast as linnet."""
    found = sorted(medians(names, kept) if len(names) > 1 else ratios(kept[names[0]]), key=lambda row: -row[1])
    longest = found[0][1]
    one = f'<line class="one" x1="{100 / longest:.1f}%" x2="{100 / longest:.1f}%" y2="100%"/>'
    rows = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th><td><svg class="bar" aria-hidden="true">'
        f'<rect width="{100 * ratio / longest:.1f}%" height="100%"/>{one}</svg></td><td>{ratio:.3g} ×</td></tr>'
        for name, ratio in found
    )
    head = "<tr><th>workload</th><th>time of the fastest other library / linnet's</th><th>ratio</th></tr>"
    return f'<table class="bars"><thead>{head}</thead><tbody>{rows}</tbody></table>\n'


def shown(columns: list[str], rows: list[list[str]]) -> str:
    """A table as HTML; a second column without a name has titles, and takes the names in the first with it."""
    titled = columns[1] == ""
    head = "".join(f"<th>{html.escape(column)}</th>" for column in columns[: 1 if titled else 2] + columns[2:])
    body = "".join(f"<tr>{''.join(_cells(columns, row, titled))}</tr>" for row in rows)
    return f'<div class="scroll"><table class="table results"><tr>{head}</tr>{body}</table></div>\n'


def _cells(columns: list[str], row: list[str], titled: bool) -> Iterator[str]:
    texts = [html.escape(cell) for cell in row]
    if titled:
        yield f"<td>{texts[1]}<small>{texts[0]}</small></td>"
    for column, text in list(zip(columns, texts, strict=True))[2 if titled else 0 :]:
        kept = ' class="whole"' if len(text) < _SHORT else ""
        text = re.sub(r"^(.+) (\(.+\))$", r"\1<small>\2</small>", text)
        yield f"<td{kept}><b>{text}</b></td>" if column == "ratio" else f"<td{kept}>{text}</td>"


def provenance(run: dict[str, Any]) -> str:
    """Where a run's figures come from."""
    load = f"; load {run['load']:g} as it began" if "load" in run else ""
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    text = f"{run['date']}; {run['machine']}{load}; {versions}."
    return f'<p class="note">{html.escape(text)}</p>\n'


def fill_page(app: Sphinx, docname: str, source: list[str]) -> None:
    """Fill a page as it is read; that of benchmarks must have all tables."""
    if _TABLE.search(source[0]) or _CHART.search(source[0]):
        for path in RESULTS.glob("*.json"):
            app.env.note_dependency(str(path))
        if docname == "benchmarks":
            check_places(source[0])
        source[0] = fill(source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the filling of pages."""
    app.connect("source-read", fill_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
