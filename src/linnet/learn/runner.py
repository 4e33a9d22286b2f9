"""What runs in the process of a student's program: it runs an assignment's probes on it and writes down the values.

A job is one line of JSON on standard input; each part's result is a line on standard output. Whatever the program
prints itself goes to standard error. Nothing that is written here is trusted by the process that reads it.
"""

import io
import json
import linecache
import os
import sys
import traceback
from contextlib import redirect_stdout
from types import ModuleType
from typing import Any, TextIO

from linnet.learn.confine import confine

_MAX_NOTE = 2000  # characters of a message


def main() -> None:
    """Run the job on standard input."""
    job = json.loads(sys.stdin.readline())
    out = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # keeps output if it is killed
    _write(out, {"confined": confine(job["limits"], job["readable"], job["writable"])})
    _hide_solution(job["assignment"])
    run(job, out)
    out.flush()
    os._exit(0)  # the program's threads and exit handlers are not waited for


def _hide_solution(assignment: str) -> None:
    """Let no import find the plain program: anyone who copies it has to do so in plain sight."""
    import linnet.plain
    from linnet.learn.course import find

    plain = find(assignment).plain
    sys.modules[f"linnet.plain.{plain}"] = None  # type: ignore[assignment]
    vars(linnet.plain).pop(plain, None)


def _write(out: TextIO, record: dict[str, Any]) -> None:
    out.write(json.dumps(record) + "\n")
    out.flush()


def run(job: dict[str, Any], out: TextIO) -> None:
    """Run the probes of an assignment on a program and write a line for each."""
    import numpy as np

    from linnet.learn.course import find

    np.seterr(all="ignore")
    text, name = job["text"], job["name"]
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)  # for tracebacks
    module = ModuleType("program")
    sys.modules["program"] = module  # which dataclasses and others look for
    module.__file__ = name
    try:
        exec(compile(text, name, "exec"), module.__dict__)
    except BaseException as error:
        _write(out, {"part": None, **_error(error, name)})
        return
    for number, part in enumerate(find(job["assignment"]).parts):
        _write(out, {"part": number, **_answer(part.probe, module, name)})


def _answer(probe: Any, module: ModuleType, name: str) -> dict[str, Any]:
    """What a probe returns, or its error; whether it varies between calls; which functions changed their arguments."""
    from linnet.learn.values import NoValue, to_json
    from linnet.learn.watched import Watched

    program = Watched(module)
    try:
        value = to_json(probe(program))
        with redirect_stdout(io.StringIO()):  # what it prints is shown only once
            varies = value != to_json(probe(Watched(module)))
        return {"value": value, "changed": program.changed, "given": program.given, "varies": varies}
    except NoValue as error:
        return {"error": "no value", "note": str(error)}
    except BaseException as error:
        return {**_error(error, name), "given": program.given}


def _error(error: BaseException, name: str) -> dict[str, Any]:
    """The error, with the innermost line of the student's program that led to it."""
    line, text = None, ""
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == name:
            line, text = frame.lineno, frame.line or ""
    if isinstance(error, SyntaxError) and error.filename == name:
        line, text = error.lineno, (error.text or "").strip()
    note = (error.msg if isinstance(error, SyntaxError) else str(error)) or type(error).__name__
    return {"error": type(error).__name__, "note": note[:_MAX_NOTE], "line": line, "text": text[:_MAX_NOTE]}


if __name__ == "__main__":
    main()
