"""Run a student's program in a process of its own: limited time, memory and files, no network where possible."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_SECONDS = 60
_MEMORY_BYTES = 2 << 30
_OUTPUT_BYTES = 64 << 20  # of results, of what is printed, and of any file
_SHOWN_CHARACTERS = 4000  # of what is printed
_START = "import sys; sys.path[:] = {path!r}; from linnet.learn.runner import main; main()"


@dataclass(frozen=True)
class Outcome:
    """What a program did."""

    answers: dict[int, dict[str, Any]] = field(default_factory=dict)  # by part
    failure: dict[str, Any] | None = None  # of the program as a whole, before any part
    ended: str = ""  # why it ended early: "time", "memory", or the signal
    printed: str = ""
    isolated: bool = False  # from the network


def run(assignment: str, text: str, name: str, folder: Path, *, seconds: float = _SECONDS) -> Outcome:
    """Put the probes of an assignment to a program.

    Parameters
    ----------
    assignment
        Its name.
    text, name
        The program, and what it is called in messages.
    folder
        Where it can import other files from, such as other assignments of the student. Its working folder is an empty
        one that is removed afterwards.
    seconds
        Limit of processor time, and half of that of the time on the clock.
    """
    limits = {"CPU": int(seconds) + 1, "AS": _MEMORY_BYTES, "FSIZE": _OUTPUT_BYTES, "CORE": 0}
    job = json.dumps({"assignment": assignment, "text": text, "name": name, "limits": limits}) + "\n"
    start = _START.format(path=[str(Path(path).absolute()) for path in (str(folder), *sys.path)])
    program = [sys.executable, "-I", "-X", "utf8", "-c", start]
    with (
        tempfile.TemporaryDirectory(prefix="linnet-learn-") as empty,
        tempfile.TemporaryFile() as results,
        tempfile.TemporaryFile() as printed,
    ):
        process = subprocess.Popen(
            program,
            stdin=subprocess.PIPE,
            stdout=results,
            stderr=printed,
            cwd=empty,
            env=_environment(),
            start_new_session=True,
        )
        ended = ""
        try:
            process.communicate(job.encode(), timeout=2 * seconds)
        except subprocess.TimeoutExpired:
            ended = "time"
        finally:
            _kill(process)
        if not ended and process.returncode:
            ended = _reason(process.returncode)
        results.seek(0)
        printed.seek(0)
        shown = printed.read(_SHOWN_CHARACTERS).decode("utf-8", "replace")
        return outcome_of(results.read(_OUTPUT_BYTES), ended, shown)


def _environment() -> dict[str, str]:
    """Only what a program needs to start: no secrets of the shell, and one thread."""
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "LANG", "LC_ALL", "TMPDIR") if name in os.environ}
    return kept | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """End the process and all that it started."""
    with suppress(ProcessLookupError, PermissionError, AttributeError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


def _reason(code: int) -> str:
    if -code in (signal.SIGXCPU, signal.SIGKILL):
        return "time"
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def outcome_of(content: bytes, ended: str = "", printed: str = "") -> Outcome:
    """Read the lines of the results; one that is not of the form they must have ends the reading."""
    answers: dict[int, dict[str, Any]] = {}
    failure, isolated = None, False
    for line in content.splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            break
        if not isinstance(record, dict):
            break
        if "isolated" in record:
            isolated = record["isolated"] is True
        elif record.get("part", ...) is None:
            failure = record
        elif type(record.get("part")) is int:
            answers.setdefault(record["part"], record)
    return Outcome(answers, failure, ended, printed, isolated)
