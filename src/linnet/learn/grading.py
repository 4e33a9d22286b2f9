"""For teachers: a folder of submissions becomes a table, a page per student, and rows for a gradebook."""

import ast
import csv
import io
import os
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path

from linnet.errors import ConfigError, LinnetError
from linnet.files import write_whole
from linnet.learn.assignment import Assignment
from linnet.learn.checking import check, read_program
from linnet.learn.course import assignments
from linnet.learn.program import Source

_ENDS = (".py", ".ipynb")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")  # cells that a spreadsheet would run
_STYLE = """:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:60em;margin:auto}
body{padding:0 1rem 2rem}h1,td{overflow-wrap:anywhere}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .8rem .3rem 0;vertical-align:top;
border-bottom:1px solid #8884}td.number,th.number{text-align:right;white-space:nowrap}pre{overflow-x:auto;padding:.8rem;
border:1px solid #8884}.right{color:light-dark(#116329,#56d364)}.wrong,.to-write{color:light-dark(#a40e26,#ff7b72)}
.not-checked-yet{color:light-dark(#59636e,#9198a1)}summary{padding:.6rem 0}
@media(max-width:40em){thead{display:none}tr{display:block;padding:.6rem 0;border-bottom:1px solid #8884}
td,td.number{display:inline;padding:0 .6rem 0 0;border:0;text-align:left}td:last-child{display:block}}"""


@dataclass(frozen=True)
class Submission:
    """A file that a student submitted."""

    student: str
    assignment: Assignment
    path: Path
    alone: bool = False  # in a folder with submissions of others


@dataclass(frozen=True)
class Line:
    """One part of a submission and the comments on it."""

    what: str
    status: str
    explained: Sequence[str]


@dataclass(frozen=True)
class Grade:
    """The result of a submission."""

    assignment: str
    right: int
    parts: int
    problem: str  # the first one
    notes: Sequence[str]
    lines: Sequence[Line]
    text: str
    confined: Sequence[str] = ()

    @property
    def remarks(self) -> str:
        """The first problem and the notes in one line."""
        return "; ".join(filter(None, [self.problem, *self.notes]))


def submissions_in(folder: Path) -> tuple[list[Submission], list[str]]:
    """Find the submissions in a folder, by student and in the order of the course; and other files, with reasons.

    Either there is a folder per student, whose files (also in subfolders) are named after their assignments, or files
    are called STUDENT_ASSIGNMENT.py. What platforms and browsers add to names is ignored: "softmax (1).py".
    """
    if not folder.is_dir():
        raise ConfigError(f"there is no folder {folder}")
    found, others = [], []
    for path in sorted(folder.rglob("*")):
        below = path.relative_to(folder)
        if path.suffix.lower() not in _ENDS or path.name.startswith(".") or (path.is_dir() and not path.is_symlink()):
            continue
        if path.is_symlink() or not path.resolve().is_relative_to(folder.resolve()):
            others.append(f"{below}: a link, not a file")
        elif (submission := _submission(path, below)) is None:
            others.append(f"{below}: no assignment has this name")
        else:
            found.append(submission)
    if not found:
        raise ConfigError(
            f"no submissions in {folder}: it must have a folder per student with files such as softmax.py, or files "
            "such as ada_softmax.py"
        )
    order = [one.name for one in assignments()]
    return sorted(found, key=lambda one: (one.student, order.index(one.assignment.name))), others


def _submission(path: Path, below: Path) -> Submission | None:
    """Whose program it is and for which assignment, from its name; None if the name does not tell."""
    stem = re.sub(r"[\W_]*(copy|\d+)?[\W_]*$", "", path.stem, flags=re.ASCII | re.IGNORECASE)
    name = re.sub(r"[^a-z0-9]", "_", stem.lower())
    alone = len(below.parts) == 1
    fitting = [one for one in assignments() if f"_{name}".endswith(f"_{_stem(one)}")]
    if not fitting:
        return None
    assignment = max(fitting, key=lambda one: len(one.name))
    student = stem[: -len(_stem(assignment))].rstrip("_- ") if alone else below.parts[0]
    return Submission(student, assignment, path, alone) if student else None


def _stem(assignment: Assignment) -> str:
    return assignment.file.removesuffix(".py")


def grade(
    submissions: Sequence[Submission], progress: Callable[[float], None], seconds: float = 60.0
) -> dict[str, list[Grade]]:
    """Check all submissions, as many at a time as there are cores. Return the grades by student."""
    grades: dict[str, list[Grade]] = {one.student: [] for one in submissions}
    checked = partial(_checked, seconds=seconds)
    known: dict[str, str] = {}  # the student with each program, the first one in order
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, (one, result) in enumerate(zip(submissions, pool.map(checked, submissions), strict=True), 1):
            notes = [*result.notes, *_same(one, result.text, known)]
            if any(other.assignment == one.assignment.name for other in grades[one.student]):
                notes.append(f"submitted more than once, here as {one.path.name}")
            grades[one.student].append(Grade(**{**vars(result), "notes": notes}))
            progress(number / len(submissions))
    return grades


def _checked(one: Submission, seconds: float) -> Grade:
    try:
        text = read_program(one.path).text
        report = check(one.path, one.assignment, seconds=seconds, alone=one.alone)
    except (LinnetError, OSError) as error:
        return Grade(one.assignment.name, 0, len(one.assignment.parts), str(error), (), (), "")
    lines = [
        Line(
            "the file" if verdict.part is None else f"{verdict.part.of}: {verdict.part.what}",
            verdict.status,
            report.explained(verdict),
        )
        for verdict in report.verdicts
    ]
    first = report.first
    problem = "" if first is None or first.part is None else f"{first.part.of}: "
    problem += "" if first is None else "; ".join(report.explained(first))
    name, notes = one.assignment.name, report.notes
    return Grade(name, report.right, report.parts, problem, notes, lines, text, report.confined)


def _same(one: Submission, text: str, known: dict[str, str]) -> list[str]:
    """Notes on programs that are identical except for comments, layout and docstrings."""
    shape = f"{one.assignment.name} {_shape(text)}"
    if not text or shape == f"{one.assignment.name} {_shape(one.assignment.template)}":
        return []
    if _shape(text) == _shape(one.assignment.solution):
        return ["identical to the solution that linnet learn prints"]
    first = known.setdefault(shape, one.student)
    return [] if first == one.student else [f"identical to the program of {first}"]


def _shape(text: str) -> str:
    try:
        source = Source.of(text)
    except (SyntaxError, ValueError):
        return text
    for node in ast.walk(source.tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef):
            first = body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                body[:1] = []
    return ast.dump(source.tree)


def write_csv(path: Path, grades: Mapping[str, Sequence[Grade]]) -> None:
    """Write a row per submission. A cell that a spreadsheet would take for a formula gets an apostrophe in front."""
    out = io.StringIO(newline="")
    rows = csv.writer(out)
    rows.writerow(["student", "assignment", "right", "parts", "share", "first problem", "notes"])
    for student, results in grades.items():
        for one in results:
            share = f"{one.right / one.parts:.4f}"
            cells = [student, one.assignment, one.right, one.parts, share, one.problem, "; ".join(one.notes)]
            rows.writerow([f"'{cell}" if str(cell).lstrip().startswith(_FORMULA) else cell for cell in cells])
    write_whole(path, [out.getvalue().encode()])


def write_pages(folder: Path, grades: Mapping[str, Sequence[Grade]]) -> None:
    """Write index.html with a table, and a page per student with comments on each part."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {student: f"student-{number}.html" for number, student in enumerate(grades, 1)}
    rows = "".join(
        f'<tr><td><a href="{files[student]}">{escape(student)}</a></td><td>{escape(one.assignment)}</td>'
        f'<td class="number">{one.right}/{one.parts}</td><td>{escape(one.remarks)}</td></tr>'
        for student, results in grades.items()
        for one in results
    )
    head = '<tr><th>student</th><th>assignment</th><th class="number">right</th><th>first problem</th></tr>'
    table = f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"
    _write_page(folder / "index.html", "Submissions", table)
    for student, results in grades.items():
        _write_page(folder / files[student], student, "".join(map(_section, results)))


def _section(one: Grade) -> str:
    rows = "".join(
        f'<tr><td class="{line.status.replace(" ", "-")}">{escape(line.status)}</td>'
        f"<td>{'<br>'.join(map(escape, [line.what, *line.explained]))}</td></tr>"
        for line in one.lines
    )
    notes = "".join(f"<p>Note: {escape(note)}</p>" for note in one.notes)
    problem = "" if one.lines else f"<p>{escape(one.problem)}</p>"
    program = f"<details><summary>the program</summary><pre>{escape(one.text)}</pre></details>" if one.text else ""
    title = f"<h2>{escape(one.assignment)}: {one.right} of {one.parts}</h2>"
    return f"{title}{problem}{notes}<table>{rows}</table>{program}"


def _write_page(path: Path, title: str, body: str) -> None:
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><main><h1>{escape(title)}</h1>{body}</main></body></html>"
    )
    write_whole(path, [page.encode()])
