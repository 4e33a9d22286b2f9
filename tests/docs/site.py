"""The site, as `make docs` builds it: for the tests that look at its pages."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import linnet

ROOT = Path(__file__).parents[2]


def environment() -> dict[str, str]:
    """The environment of a program that finds the extensions, and the linnet that is tested."""
    return {**os.environ, "PYTHONPATH": f"{ROOT / 'docs'}{os.pathsep}{Path(linnet.__file__).parents[1]}"}


@cache
def built() -> Path:
    """Build the site, unless one is there of the same pages and the same linnet; return its folder."""
    command = [sys.executable, "-m", "extensions", str(ROOT / "build" / "docs")]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return ROOT / "build" / "docs"
