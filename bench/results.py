"""What the last runs measured, kept in docs/results: the tables of the page of benchmarks.

A file a kind of benchmark: a list of runs, each with its date, machine and versions, and with the rows of tables that
it measured. A new run takes the place of the rows that it measured again; those of other workloads stay, with the run
that they come from.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

# Columns and rows, as printed. The first cell of a row says what was measured; several rows may share it.
Table = tuple[list[str], list[list[str]]]
Tables = dict[str, Table]
RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"


def run_facts(libraries: Iterable[str]) -> dict[str, Any]:
    """When and where this runs, how busy the machine is, and the versions of linnet, Python, NumPy and `libraries`."""
    import linnet
    from linnet import _native

    versions = {"linnet": linnet.__version__, "Python": platform.python_version()}
    for name in ("numpy", *libraries):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "date": when(time.time()),
        "machine": f"{processor()}, {os.cpu_count()} cores, instruction set {_native.isa}",
        "load": round(os.getloadavg()[0], 1),
        "versions": versions,
    }


def when(seconds: float) -> str:
    """A moment to the minute."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def processor() -> str:
    """The processor's name; on Linux with family and model, as virtual machines often name no more than the brand."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    found: dict[str, str] = dict(re.findall(r"^(model name|cpu family|model)\s*:\s*(.+)$", text, re.MULTILINE))
    if "cpu family" not in found:
        return found.get("model name", platform.machine())
    return f"{found['model name']} (family {found['cpu family']}, model {found['model']})"


def keep(kind: str, facts: dict[str, Any], tables: Tables, folder: Path = RESULTS) -> Path:
    """Write the rows of a run to the kind's file, in place of older ones of the same workloads; return its path."""
    path = folder / f"{kind}.json"
    runs = json.loads(path.read_text("utf-8"))["runs"] if path.exists() else []
    for name, (_, rows) in tables.items():
        measured = {row[0] for row in rows}
        for run in runs:
            if name in run["tables"]:
                left = [row for row in run["tables"][name]["rows"] if row[0] not in measured]
                run["tables"][name]["rows"] = left
    for run in runs:
        run["tables"] = {name: table for name, table in run["tables"].items() if table["rows"]}
    new = {name: {"columns": columns, "rows": rows} for name, (columns, rows) in tables.items() if rows}
    runs = [run for run in [*runs, {**facts, "tables": new}] if run["tables"]]
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"runs": runs}, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(f"kept in {path}", file=sys.stderr)
    return path
