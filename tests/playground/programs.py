"""Programs and commands from the playground, run as a user would: in a process and a folder of their own."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import linnet

_ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(linnet.__file__).parents[1])}


def _output(arguments: list[str], folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=_ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def output_of(program: str, folder: Path) -> str:
    """What a program prints; a warning ends it."""
    return _output(["-W", "error", "-c", program], folder)


def losses_of(program: str, folder: Path) -> list[float]:
    """The losses that a program prints: on the training rows and on the held-out rows."""
    return [float(value) for value in re.findall(r"'loss': ([^,}]+)", output_of(program, folder))]


def facts_of(command: str, folder: Path, *more: str) -> Any:
    """The JSON in the first line of a command's output."""
    name, *words = shlex.split(command.splitlines()[0])
    assert name == "linnet"
    return json.loads(_output(["-m", "linnet", *words, *more, "--json"], folder))
