"""The Python blocks of a page, and what they wrote and drew: each runs by itself, in an empty folder, with warnings as
errors.

The tests run them by the same function, so that what a page shows is what a reader gets; what a block gave is kept, so
that it is run again only if its text, linnet or a library has changed. A block that begins ```python picture stands on
the page as its picture only.
"""

import fcntl
import hashlib
import html
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import distribution, distributions
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

import linnet
from extensions import ROOT
from extensions.pictures import figure

HERE = Path(__file__).parent
KEPT = ROOT / "build" / "blocks"
FENCED = re.compile(r"^```python( picture)?\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Ran:
    """What a block wrote and drew: its open figures and its files of pictures, as SVG."""

    code: int
    stdout: str
    stderr: str
    pictures: tuple[str, ...]


def python_blocks(text: str) -> list[str]:
    """The Python blocks of a page, in order."""
    return [block for _, block in FENCED.findall(text)]


def run(block: str) -> Ran:
    """What the block gives: what was kept of it, or else it is run, once however many ask at a time."""
    path = KEPT / f"{hashlib.sha256((installed() + block).encode()).hexdigest()}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if path.exists():
            kept = json.loads(path.read_text("utf-8"))
            return Ran(**{**kept, "pictures": tuple(kept["pictures"])})
        ran = run_anew(block)
        if ran.code == 0:
            path.write_text(json.dumps(asdict(ran)), "utf-8")
    return ran


@cache
def installed() -> str:
    """A digest of the installed linnet's files, of the versions of all libraries, and of how blocks are run."""
    record = distribution("linnet").read_text("RECORD") or ""
    versions = sorted(f"{each.name} {each.version}" for each in distributions())
    how = [(HERE / name).read_text("utf-8") for name in ("run_block.py", "matplotlibrc")]
    return hashlib.sha256("\n".join([sys.version, record, *versions, *how]).encode()).hexdigest()


def run_anew(block: str) -> Ran:
    """Run a block as a program of its own, with this linnet."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(linnet.__file__).parents[1]),
        "PYTHONIOENCODING": "utf-8",
        "MATPLOTLIBRC": str(HERE / "matplotlibrc"),
        "MPLBACKEND": "svg",
        "COLUMNS": "100",
    }
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-W", "error", HERE / "run_block.py"],
            input=block,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        pictures = tuple(path.read_text("utf-8") for path in sorted(Path(folder).rglob("*.svg")))
    return Ran(done.returncode, done.stdout, done.stderr, pictures)


# ---- in Sphinx ----


def run_all(app: Sphinx, env: Any, docnames: list[str]) -> None:
    """Run the blocks of the pages that are about to be read, several at a time."""
    paths = [(name, env.doc2path(name)) for name in docnames]
    texts = [(name, path.read_text("utf-8")) for name, path in paths if path.suffix == ".md"]
    blocks = [(name, block) for name, text in texts for block in python_blocks(text)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(run, [block for _, block in blocks])
        for (name, block), ran in zip(blocks, results, strict=True):
            if ran.code:
                logging.getLogger(__name__).warning("a block of %s fails:\n%s\n%s", name, block, ran.stderr)


def show_results(app: Sphinx, doctree: nodes.document) -> None:
    """Put below each block what it wrote and drew."""
    path = app.env.doc2path(app.env.docname)
    if path.suffix != ".md":
        return
    fenced = {block.rstrip("\n"): bool(only) for only, block in FENCED.findall(path.read_text("utf-8"))}
    written = [each for each in doctree.findall(nodes.literal_block) if each.astext().rstrip("\n") in fenced]
    for number, block in enumerate(written):
        ran = run(block.astext().rstrip("\n") + "\n")
        shown = f'<pre class="output">{html.escape(ran.stdout)}</pre>' if ran.stdout.strip() else ""
        name = f"{app.env.docname.replace('/', '-')}-{number}"
        shown += "".join(figure(svg, f"{name}-{index}") for index, svg in enumerate(ran.pictures))
        below = [nodes.raw("", shown, format="html")] if shown else []
        block.parent.replace(block, below if fenced[block.astext().rstrip("\n")] else [block, *below])


def setup(app: Sphinx) -> dict[str, bool]:
    """Pages are read again when what their blocks run on has changed."""
    app.add_config_value("blocks_run_on", installed(), "env")
    app.connect("env-before-read-docs", run_all)
    app.connect("doctree-read", show_results)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
