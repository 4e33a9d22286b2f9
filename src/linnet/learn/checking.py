"""Check a student's file."""

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
        raise FormatError(f"{path} is larger than a megabyte, and no program of this course is")
    content = path.read_bytes()
    encoding = "utf-16" if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    try:
        text = content.decode(encoding).replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise FormatError(f"{path} is not a program: it is not UTF-8 text. Save it as UTF-8 in an editor") from error
    return from_notebook(text, path.name) if path.suffix.lower() == ".ipynb" else Submitted(text)


def digest(program: Submitted) -> str:
    """Return a short hash of a program's text."""
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
        The assignment or its name; by default the one that the file is named after.
    seconds
        Limit of processor time.
    alone
        Whether the program may not read other files of its folder, such as submissions of other students.

    Returns
    -------
    Report
        Which parts are right, what differs first, and the usual reason.
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
