"""The Python blocks of a page of Markdown, and how they are run: each by itself, in an empty folder, with warnings as
errors.

The tests run them by the same function, so that what a page shows is what a reader gets.
"""

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import linnet

HERE = Path(__file__).parent
FENCED = re.compile(r"```python\n(.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Ran:
    """What a block wrote and drew: its open figures and its files of pictures, as SVG."""

    code: int
    stdout: str
    stderr: str
    pictures: tuple[str, ...]


def python_blocks(text: str) -> list[str]:
    """The Python blocks of a page, in order."""
    return FENCED.findall(text)


def run(block: str) -> Ran:
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
