"""Check a file of a student's."""

import codecs
import hashlib
from pathlib import Path

from linnet.errors import ConfigError, FormatError
from linnet.learn import sandbox
from linnet.learn.assignment import Assignment
from linnet.learn.course import find
from linnet.learn.judge import Report, judge
from linnet.learn.notebook import from_notebook
from linnet.learn.program import Source, Submitted

_MAX_BYTES = 1 << 20


def read_program(path: Path) -> Submitted:
    """Return the program in a file or notebook."""
    if path.stat().st_size > _MAX_BYTES:
        raise FormatError(f"{path} has more than a megabyte, which no program of this course has")
    content = path.read_bytes()
    encoding = "utf-16" if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    try:
        text = content.decode(encoding).replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise FormatError(f"{path} is no program: it is not text in UTF-8, as which an editor can save it") from error
    return from_notebook(text, path.name) if path.suffix.lower() == ".ipynb" else Submitted(text)


def digest(program: Submitted) -> str:
    """Return a few letters that change with the text."""
    return hashlib.sha256(program.text.encode()).hexdigest()[:16]


def check(
    path: str | Path, assignment: Assignment | str | None = None, *, seconds: float = 60.0, alone: bool = False
) -> Report:
    """Run a student's program in a process of its own and compare it part by part with the plain one.

    Parameters
    ----------
    path
        A .py file or a notebook.
    assignment
        Which one it is; by default the one that the file is named after.
    seconds
        Limit of processor time.
    alone
        Whether other files of its folder are out of its reach, such as submissions of others.

    Returns
    -------
    Report
        What is right, what differs first, and what that mistake usually is.
    """
    path = Path(path)
    if not isinstance(assignment, Assignment):
        assignment = find(assignment or path.name)
    if not path.exists():
        raise ConfigError(f"there is no file {path}: linnet learn start {assignment.name} writes one")
    program = read_program(path)
    try:
        source = Source.of(program.text)
    except (SyntaxError, ValueError):  # the process that runs it reports where
        source = Source.of("")
    outcome = sandbox.run(assignment.name, program.text, path.name, None if alone else path.parent, seconds=seconds)
    return judge(assignment, program, source, outcome)
