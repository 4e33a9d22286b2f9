"""`linnet learn`: the course of assignments."""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linnet.cli import terminal
from linnet.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console

    from linnet.learn.assignment import Assignment
    from linnet.learn.grading import Grade
    from linnet.learn.judge import Report

learn = typer.Typer(
    help="A course of programming assignments that check themselves.",
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

_Name = Annotated[str, typer.Argument(help="An assignment, such as softmax.")]
_Folder = Annotated[Path, typer.Option(help="Folder of your programs.")]
_STYLES = {"right": "green", "wrong": "bold red", "to write": "bold yellow", "not checked yet": "dim"}
_INDENT = 4


@learn.callback()
def overview(context: typer.Context) -> None:
    """Learn the subject by writing it: each assignment is a small program, compared with linnet's own part by part.

    Examples: `linnet learn`, `linnet learn start softmax`, `linnet learn check softmax.py`
    """
    if context.invoked_subcommand is None:
        list_assignments(Path())


@learn.command("list")
def list_assignments(folder: _Folder = Path()) -> None:
    """List the assignments, and how far you are."""
    from linnet.learn.course import COURSE
    from linnet.learn.progress import progress_in

    console = terminal.console()
    entries = progress_in(folder)
    width = max(len(one.name) for chapter in COURSE for one in chapter.assignments)
    for chapter in COURSE:
        console.print(terminal.line(chapter.title, "bold"))
        for one in chapter.assignments:
            entry = entries.get(one.name)
            state = "" if entry is None or not entry.checks else f"{entry.right}/{entry.parts}"
            if entry is not None and entry.checks and entry.right == entry.parts:
                state = "done"
            style = "green" if state == "done" else ""
            _print_row(console, f"{state:>5}  {one.name:<{width}}  ", one.title, style, indent=9)
    console.print()
    _print_row(
        console, "", "linnet learn start NAME writes a file to fill in, linnet learn check NAME checks it", "dim"
    )


@learn.command()
def start(
    name: _Name,
    folder: _Folder = Path(),
    notebook: Annotated[bool, typer.Option("--notebook", help="Write a Jupyter notebook.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Write the file of an assignment, for you to fill in.

    Examples: `linnet learn start softmax`, `linnet learn start softmax --notebook`
    """
    from linnet.files import write_whole
    from linnet.learn.course import find
    from linnet.learn.notebook import to_notebook

    assignment = find(name)
    path = folder / assignment.file
    text = assignment.template
    if notebook:
        path = path.with_suffix(".ipynb")
        text = to_notebook(text, path.name)
    if path.exists() and not force:
        raise ConfigError(f"{path} already exists: --force overwrites it, and what you wrote in it is lost")
    if not folder.is_dir():
        raise ConfigError(f"there is no folder {folder}")
    write_whole(path, [text.encode()])
    console = terminal.console()
    _print_row(console, "wrote ", f"{path}: {assignment.title}")
    _print_row(console, "open it, read its first lines, and write: ", ", ".join(assignment.write))
    _print_row(console, "then: ", f"linnet learn check {path}")


@learn.command()
def check(
    program: Annotated[str, typer.Argument(help="Your file, or the name of its assignment.")],
    assignment: Annotated[str | None, typer.Option(help="The assignment, if the file has another name.")] = None,
    seconds: Annotated[float, typer.Option(min=1, help="Limit of processor time.")] = 60.0,
) -> None:
    """Run your program and compare it with linnet's part by part: what differs first, and what that usually means.

    It runs in a process of its own, without a network where the system allows that, for a limited time. Exit code
    0: all is right; 1: something is not.

    Examples: `linnet learn check softmax.py`, `linnet learn check softmax.ipynb`
    """
    from linnet.learn.checking import check as run
    from linnet.learn.checking import digest
    from linnet.learn.progress import note, progress_in

    path = _program(program)
    console = terminal.console()
    with console.status("running your program") if terminal.is_terminal() else nullcontext():
        report = run(path, assignment, seconds=seconds)
    before = progress_in(path.parent).get(report.assignment.name)
    note(
        path.parent,
        report.assignment.name,
        right=report.right,
        parts=report.parts,
        checks=(before.checks if before else 0) + 1,
        digest=digest(report.program),
    )
    _print_report(console, path, report)
    if not report.passed:
        raise typer.Exit(1)


@learn.command()
def hint(name: _Name, folder: _Folder = Path()) -> None:
    """Show a hint, and the next one when asked again.

    Examples: `linnet learn hint softmax`
    """
    from linnet.learn.course import find
    from linnet.learn.progress import note, progress_in

    assignment = find(name)
    entry = progress_in(folder).get(assignment.name)
    number = (entry.hints if entry else 0) % len(assignment.hints)
    note(folder, assignment.name, hints=number + 1)
    console = terminal.console()
    console.print(terminal.line(f"hint {number + 1} of {len(assignment.hints)}", "bold"))
    _print_row(console, " " * _INDENT, assignment.hints[number])
    if number + 1 == len(assignment.hints):
        console.print(
            terminal.line(f"more in docs/guide/{assignment.page}.md; linnet learn solution {assignment.name}", "dim")
        )


@learn.command()
def solution(name: _Name) -> None:
    """Print the program that linnet compares with.

    Examples: `linnet learn solution softmax`
    """
    from linnet.learn.course import find

    print(find(name).solution, end="")


@learn.command()
def progress(folder: _Folder = Path()) -> None:
    """Show how far you are, and which programs have changed since they were checked.

    Examples: `linnet learn progress`
    """
    from linnet.learn.checking import digest, read_program
    from linnet.learn.course import assignments
    from linnet.learn.progress import progress_in

    console = terminal.console()
    entries = progress_in(folder)
    done = 0
    for one in assignments():
        paths = [path for end in (".py", ".ipynb") if (path := (folder / one.file).with_suffix(end)).exists()]
        entry = entries.get(one.name)
        if entry is None or not entry.checks:
            if paths:
                console.print(terminal.line(f"{paths[0].name}: not checked yet"))
            continue
        changed = paths and all(digest(read_program(path)) != entry.digest for path in paths)
        state = "done" if entry.right == entry.parts else f"{entry.right} of {entry.parts} parts"
        done += entry.right == entry.parts
        console.print(terminal.line(f"{one.name}: {state}{', changed since' if changed else ''}"))
    console.print(terminal.line(f"{done} of {len(assignments())} assignments done", "bold"))


@learn.command()
def report(
    folder: Annotated[Path, typer.Argument(help="A folder with a folder per student, or files STUDENT_ASSIGNMENT.py.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="A folder for a page per student.")] = None,
    csv: Annotated[Path | None, typer.Option("--csv", help="A table for a gradebook.")] = None,
    seconds: Annotated[float, typer.Option(min=1, help="Limit of processor time of each program.")] = 60.0,
) -> None:
    """For teachers: check a folder of submissions.

    Each program runs in a process of its own. Prints a table; writes a page per student and a table for a gradebook.

    Examples: `linnet learn report submissions --csv grades.csv -o pages`
    """
    from linnet.cli.reading import progress as bar
    from linnet.learn.grading import grade, submissions_in, write_csv, write_pages

    console = terminal.console()
    found, others = submissions_in(folder)
    with bar(True, "checking") as step:
        grades = grade(found, step, seconds)
    _print_grades(console, grades)
    for text in others:
        _print_row(console, "not graded: ", text, "bold yellow")
    open_to = {"network", "files", "processes"}.difference(*(one.confined for rows in grades.values() for one in rows))
    if open_to and any(one.lines for rows in grades.values() for one in rows):
        reach = ", ".join(sorted(open_to))
        _print_row(console, "note: ", f"on this system these programs could reach your {reach}", "bold yellow")
    if csv is not None:
        write_csv(csv, grades)
        console.print(terminal.line(f"saved {csv}"))
    if out is not None:
        write_pages(out, grades)
        console.print(terminal.line(f"saved {out / 'index.html'} and {len(grades)} pages"))


def _program(program: str) -> Path:
    """The file that is meant: a path, or the file of an assignment in this folder."""
    from linnet.learn.course import find

    path = Path(program)
    if path.suffix in (".py", ".ipynb"):
        if not path.exists():
            raise ConfigError(f"there is no file {path}")
        return path
    assignment = find(program)
    paths = [path for end in (".py", ".ipynb") if (path := Path(assignment.file).with_suffix(end)).exists()]
    if not paths:
        raise ConfigError(f"there is no {assignment.file} here: linnet learn start {assignment.name} writes it")
    return max(paths, key=lambda path: path.stat().st_mtime)


def _print_report(console: "Console", path: Path, report: "Report") -> None:
    from linnet.learn.judge import Status

    console.print(terminal.line(f"{path.name}: {report.assignment.title}", "bold"))
    width = max(len(status) for status in _STYLES)
    closed = [verdict for verdict in report.verdicts if verdict.status is not Status.OPEN]
    for verdict in closed:
        what = "the file" if verdict.part is None else f"{verdict.part.of}: {verdict.part.what}"
        _print_row(console, f"  {verdict.status:<{width - 7}}  ", what, _STYLES[verdict.status])
        for text in report.explained(verdict):
            _print_row(console, " " * (_INDENT + width - 7), text)
    if left := len(report.verdicts) - len(closed):
        console.print(terminal.line(f"  {left} more part{'s' if left > 1 else ''} not checked yet", "dim"))
    if report.printed.strip() and not report.passed:
        console.print(terminal.line("  your program printed:", "dim"))
        for text in report.printed.splitlines()[:10]:
            _print_row(console, " " * _INDENT, text, "dim")
    for text in report.notes:
        _print_row(console, "  note  ", text)
    if not report.passed:
        _print_row(console, "  ", f"stuck? linnet learn hint {report.assignment.name}", "dim")
    else:
        console.print(terminal.line(f"  all {report.parts} parts are right", "bold green"))
        _print_next(console, report.assignment)


def _print_next(console: "Console", assignment: "Assignment") -> None:
    from linnet.learn.course import assignments

    names = [one.name for one in assignments()]
    after = names[names.index(assignment.name) + 1 :]
    if after:
        console.print(terminal.line(f"  next: linnet learn start {after[0]}", "dim"))


def _print_row(console: "Console", start: str, text: str, style: str = "", indent: int = _INDENT) -> None:
    """A text that stays right of its start where it needs several lines; below it on a narrow terminal."""
    from textwrap import wrap

    if len(start) > console.width // 2:
        console.print(terminal.line(start.rstrip(), style))
        start = " " * indent
    first, *others = wrap(terminal.on_one_line(text), max(console.width - len(start), 10), break_on_hyphens=False) or [
        ""
    ]
    line = terminal.line(start, style)
    line.append(first)
    console.print(line, soft_wrap=True)
    for other in others:
        console.print(terminal.line(" " * len(start) + other), soft_wrap=True)


def _print_grades(console: "Console", grades: "dict[str, list[Grade]]") -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("student")
    table.add_column("assignment")
    table.add_column("right", justify="right")
    table.add_column("first problem", overflow="fold")
    for student, rows in grades.items():
        for row in rows:
            cells = (student, row.assignment, f"{row.right}/{row.parts}", row.remarks)
            table.add_row(*map(terminal.line, cells))
    console.print(table)
