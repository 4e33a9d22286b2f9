"""Compare the values of a student's program with those of the plain one: what differs first, and why."""

import ast
import errno
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from linnet.learn.assignment import Assignment, Mistake, Part
from linnet.learn.differences import difference
from linnet.learn.errors import usual_cause
from linnet.learn.program import Source, Submitted, module_of, still_blank
from linnet.learn.sandbox import Outcome
from linnet.learn.values import NoValue, from_json, to_json

_HALTED = re.compile(r"import of (linnet\.plain\.\w+) halted")  # see the runner
_TOO_MUCH = f"[Errno {errno.EFBIG}] {os.strerror(errno.EFBIG)}"
_HARMLESS = {
    "__future__",
    "collections",
    "dataclasses",
    "functools",
    "itertools",
    "math",
    "numpy",
    "operator",
    "typing",
}
_HARMLESS |= {"matplotlib", "random", "time"}
_LEADING_OUT = {"__builtins__", "__import__", "__loader__", "compile", "eval", "exec", "globals", "open", "vars"}
_VARIES = (
    "two calls with the same arguments give different results: draw random numbers only from the seed or rng given"
)


class Status(StrEnum):
    """The state of a part after a check."""

    RIGHT = "right"
    WRONG = "wrong"
    BLANK = "to write"
    OPEN = "not checked yet"


@dataclass(frozen=True)
class Verdict:
    """The result of one part."""

    part: Part | None  # None: the program as a whole
    status: Status
    message: str = ""
    recognised: bool = False  # whether it is one of the assignment's known mistakes
    line: int | None = None  # of the student's file, if the message is about one
    code: str = ""  # that line


@dataclass(frozen=True)
class Report:
    """What a check found."""

    assignment: Assignment
    program: Submitted
    verdicts: Sequence[Verdict]
    printed: str = ""
    confined: Sequence[str] = ()  # what the program could not reach: network, files, processes
    notes: Sequence[str] = ()

    @property
    def right(self) -> int:
        """The number of parts that are right."""
        return sum(verdict.status is Status.RIGHT for verdict in self.verdicts)

    @property
    def parts(self) -> int:
        """The number of parts of the assignment."""
        return len(self.assignment.parts)

    @property
    def passed(self) -> bool:
        """Whether all parts are right."""
        return self.right == self.parts

    @property
    def first(self) -> Verdict | None:
        """What to look at next: the first part that is not right."""
        return next((verdict for verdict in self.verdicts if verdict.status is not Status.RIGHT), None)

    def explained(self, verdict: Verdict) -> list[str]:
        """Return the lines of a verdict's message, with the line of the program that it is about."""
        place = "" if verdict.line is None else self.program.where(verdict.line)
        code = f"{place}: {verdict.code}" if place and verdict.code else place
        return [text for text in [*verdict.message.splitlines(), code] if text]


def judge(assignment: Assignment, program: Submitted, source: Source, outcome: Outcome) -> Report:
    """Judge the outcome of a run. Parts after the first that is not right stay open: they usually depend on it."""
    verdicts: list[Verdict] = []
    if outcome.failure is not None:
        verdicts.append(_failure(outcome.failure))
    elif not program.text.strip():
        verdicts.append(Verdict(None, Status.WRONG, "the file is empty"))
    blanks = still_blank(source)
    for number, part in enumerate(assignment.parts):
        if any(verdict.status is not Status.RIGHT for verdict in verdicts):
            verdicts.append(Verdict(part, Status.OPEN))
        else:
            verdicts.append(_verdict(assignment, part, outcome.answers.get(number), outcome, source, blanks))
    return Report(assignment, program, verdicts, outcome.printed, outcome.confined, _notes(assignment, source))


def _notes(assignment: Assignment, source: Source) -> list[str]:
    """What a teacher may want to know about a program, whatever its numbers."""
    given = set(_reached(Source.of(assignment.template)))
    unusual = dict.fromkeys(what for what in _reached(source) if what not in given)
    return [f"it uses {what}, which the assignment does not need" for what in unusual]


def _reached(source: Source) -> Iterator[str]:
    """Imports and built-in functions by which a program could reach beyond its task."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name.partition(".")[0] not in _HARMLESS)
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{one.name}" for one in node.names]
            yield from (one for one in names if one.partition(".")[0] not in _HARMLESS)
        elif isinstance(node, ast.Name) and node.id in _LEADING_OUT:
            yield node.id


def _failure(failure: dict[str, Any]) -> Verdict:
    """The program could not be run at all."""
    message = f"the file cannot be run: {_Error(failure).message}"
    return Verdict(None, Status.WRONG, message, line=_line(failure), code=_text(failure, "text"))


def _line(answer: dict[str, Any]) -> int | None:
    line = answer.get("line")
    return line if type(line) is int else None


def _text(answer: dict[str, Any], name: str) -> str:
    text = answer.get(name)
    return text if isinstance(text, str) else ""


def _verdict(
    assignment: Assignment,
    part: Part,
    answer: dict[str, Any] | None,
    outcome: Outcome,
    source: Source,
    blanks: dict[str, int],
) -> Verdict:
    """Judge one part."""
    definitions = source.definitions()
    if part.of not in definitions:
        kind = "method" if "." in part.of else "function"
        message = (
            f"there is no {kind} {part.of}: names and parameters must stay as they were in the file you started from"
        )
        return Verdict(part, Status.WRONG, message)
    if part.of in blanks:
        return Verdict(part, Status.BLANK, f"write {part.of}", line=blanks[part.of])
    if answer is None:
        return Verdict(part, Status.WRONG, _ended(part, outcome))
    try:
        value = _Error(answer) if "error" in answer else from_json(answer.get("value"))
    except (ValueError, OverflowError, RecursionError):
        return Verdict(part, Status.WRONG, "the program wrote to the channel of the checker's results")
    expected = _expected(assignment, part)
    changed = _changed(answer, definitions)
    if not isinstance(value, _Error):
        found = difference(value, expected, part.tolerance, part.by, names=_names(assignment, part))
        if found is None and not changed and not answer.get("varies"):
            return Verdict(part, Status.RIGHT)
    if (mistake := _recognised(assignment, part, value)) is not None:
        return Verdict(part, Status.WRONG, mistake.message, recognised=True)
    if isinstance(value, _Error):
        message = value.message
        shapes = "shape" in value.message or "dimension" in value.message
    elif answer.get("varies"):
        message, shapes = changed or _VARIES, False
    else:
        message, shapes = found or changed, found is not None and " has shape (" in found
    if shapes and (given := _given(answer, part, definitions)):
        message += f"\n{given}"
    if part.hint:
        message += f"\n{part.hint}"
    return Verdict(part, Status.WRONG, message, line=_line(answer), code=_text(answer, "text"))


def _recognised(assignment: Assignment, part: Part, value: Any) -> Mistake | None:
    """Return the mistake that gives this value here and, like the student's program, right ones in earlier parts."""
    for mistake in assignment.mistakes:
        program = module_of(assignment.mistaken(mistake))
        if _alike(value, _value(part, program, part.probe), part.tolerance) and not _is_right(
            assignment, part, program
        ):
            before = assignment.parts[: assignment.parts.index(part)]
            if all(_is_right(assignment, one, program) for one in before):
                return mistake
    return None


def _is_right(assignment: Assignment, part: Part, program: Any) -> bool:
    return _alike(_value(part, program, part.probe), _expected(assignment, part), part.tolerance)


def _names(assignment: Assignment, part: Part) -> Sequence[str]:
    """Names for the values that a function returns, taken from its return statement."""
    function = Source.of(assignment.solution).definitions()[part.of]
    last = function.body[-1]
    if isinstance(last, ast.Return) and isinstance(last.value, ast.Tuple):
        names = [one.id for one in last.value.elts if isinstance(one, ast.Name)]
        return names if len(names) == len(last.value.elts) else ()
    return ()


def _given(answer: dict[str, Any], part: Part, definitions: dict[str, Any]) -> str:
    """The shapes of the function's arguments."""
    given = answer.get("given")
    shapes = given.get(part.of) if isinstance(given, dict) else None
    if not isinstance(shapes, list) or len(shapes) > len(definitions[part.of].args.args):
        return ""
    names = [one.arg for one in definitions[part.of].args.args]
    stated = [f"{name} {shape}" for name, shape in zip(names, shapes, strict=False) if isinstance(shape, str) and shape]
    return f"the shapes of its arguments: {', '.join(stated)}" if stated else ""


def _expected(assignment: Assignment, part: Part) -> Any:
    return _value(part, assignment.right, part.expected or part.probe)


def _ended(part: Part, outcome: Outcome) -> str:
    """Why there is no answer for a part."""
    match outcome.ended:
        case "time":
            return f"{part.of} takes too long, or never ends: is there a loop whose condition never becomes false?"
        case "":
            return "the program exited before this part: is there a call to exit?"
        case "killed":
            return "the program was killed by the system: did it use too much memory?"
        case "files":
            return "the program was stopped because it wrote too much to files"
        case reason:
            return f"the program crashed: {reason}"


class _Error:
    """An error in place of a value."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self.type, note = str(answer.get("error")), str(answer.get("note", ""))
        self.message = f"{self.type}: {note}"
        if self.type == "no value":
            self.message = f"it returns {note}, where numbers and arrays are expected"
        elif found := _HALTED.match(note):
            self.message = f"it imports {found[1]}, which is the solution of this assignment: write it yourself"
        elif note == _TOO_MUCH:
            self.message = "it prints or writes too much: is there a print in an endless loop?"
        elif cause := usual_cause(note):
            self.message += f"\n{cause}"


def _value(part: Part, program: Any, probe: Any) -> Any:
    """What one of linnet's own programs returns, in the form in which it would arrive from a process."""
    try:
        with np.errstate(all="ignore"):
            return from_json(to_json(probe(program)))
    except NoValue as error:
        return _Error({"error": "no value", "note": str(error)})
    except Exception as error:  # a mistake may raise anything
        return _Error({"error": type(error).__name__, "note": str(error)})


def _alike(value: Any, other: Any, tolerance: float) -> bool:
    """Whether two values, or errors, are the same."""
    if isinstance(value, _Error) or isinstance(other, _Error):
        # a NameError is a slip and has a different message each time; NumPy's messages about shapes are the same
        return isinstance(value, _Error) and isinstance(other, _Error) and value.message == other.message
    return difference(value, other, tolerance) is None


def _changed(answer: dict[str, Any], definitions: dict[str, Any]) -> str:
    """Which argument of which function was changed in place, if any."""
    entries = answer.get("changed")
    for entry in entries if isinstance(entries, list) else []:
        name, _, number = str(entry).partition(":")
        if name in definitions and number.isdigit():
            names = [one.arg for one in definitions[name].args.args]
            argument = names[int(number)] if int(number) < len(names) else "an argument"
            return (
                f"{name} changes the array {argument} that it was given, so the caller's array changes, too. "
                f"Make a new array: {argument} = {argument} - ..., not {argument} -= ..."
            )
    return ""
