"""Run a student's program in a process of its own, which gives up what it does not need: see `confine`."""

import json
import os
import signal
import site
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_SECONDS = 60
_MEMORY_BYTES = 2 << 30
_FILE_BYTES = 16 << 20  # of results, of printed text, and of any file
_OUTPUT_BYTES = 8 << 20  # of results, which are read into memory
_FOLDER_BYTES = 256 << 20  # of all files that the program writes
_FILES = 128  # open at a time
_PREFIXES = [*{sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix, site.getuserbase()}]
_PAUSE = 0.1  # seconds between checks on a program
_SHOWN_CHARACTERS = 4000  # of printed text
_START = "import sys; sys.path[:] = {path!r}; from linnet.learn.runner import main; main()"


@dataclass(frozen=True)
class Outcome:
    """What a program did."""

    answers: dict[int, dict[str, Any]] = field(default_factory=dict)  # by part
    failure: dict[str, Any] | None = None  # error of the program as a whole, before any part
    ended: str = ""  # why it ended early: "time", "files", "killed", or the signal or exit code
    printed: str = ""
    confined: tuple[str, ...] = ()  # what it could not reach: "network", "files", "processes"


def run(assignment: str, text: str, name: str, folder: Path | None, *, seconds: float = _SECONDS) -> Outcome:
    """Run the probes of an assignment on a program.

    Parameters
    ----------
    assignment
        Its name.
    text, name
        The program's text, and its name in messages.
    folder
        The folder from which it can import other files, such as the student's other assignments; None: from nowhere. It
        runs in an empty folder that is removed afterwards and, where the system can enforce that, is the only one it
        can write to.
    seconds
        Limit of processor time; the limit of elapsed time is twice that.
    """
    limits = {"CPU": int(seconds) + 1, "AS": _MEMORY_BYTES, "FSIZE": _FILE_BYTES, "NOFILE": _FILES, "CORE": 0}
    path = [*([] if folder is None else [str(folder.absolute())]), *_path()]
    command = [sys.executable, "-I", "-X", "utf8", "-c", _START.format(path=path)]
    with (
        tempfile.TemporaryDirectory(prefix="linnet-learn-", ignore_cleanup_errors=True) as empty,
        tempfile.TemporaryFile() as job,
        tempfile.TemporaryFile() as results,
        tempfile.TemporaryFile() as printed,
    ):
        places = {"readable": [*path, *_PREFIXES, str(Path(sys.executable).parent)], "writable": [empty]}
        stated = {"assignment": assignment, "text": text, "name": name, "limits": limits, **places}
        job.write(json.dumps(stated).encode() + b"\n")
        job.seek(0)
        process = subprocess.Popen(
            command,
            stdin=job,
            stdout=results,
            stderr=printed,
            cwd=empty,
            env=_environment() | {"TMPDIR": empty, "MPLBACKEND": "Agg"},
            start_new_session=True,
        )
        try:
            ended = _wait(process, Path(empty), 2 * seconds)
        finally:
            _kill(process)
        results.seek(0)
        printed.seek(0)
        shown = printed.read(_SHOWN_CHARACTERS).decode("utf-8", "replace")
        return outcome_of(results.read(_OUTPUT_BYTES), ended, shown)


def _path() -> list[str]:
    """Where Python finds installed packages, without the teacher's current folder."""
    import numpy as np

    import linnet

    own = {Path(module.__file__).resolve().parents[1] for module in (np, linnet) if module.__file__}
    return [
        str(Path(one).absolute())
        for one in sys.path
        if one and (Path(one).resolve() in own or any(Path(one).is_relative_to(prefix) for prefix in _PREFIXES))
    ]


def _wait(process: "subprocess.Popen[bytes]", folder: Path, seconds: float) -> str:
    """Wait for the end of a program, and return why it ended early, if it did."""
    latest = time.monotonic() + seconds
    while True:
        try:
            return _reason(process.wait(_PAUSE))
        except subprocess.TimeoutExpired:
            if time.monotonic() > latest:
                return "time"
            if _size(folder) > _FOLDER_BYTES:
                return "files"


def _size(folder: Path) -> int:
    """The bytes of all files in a folder to which another process may be writing."""
    size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                size += 4096 + os.lstat(os.path.join(place, name)).st_size  # noqa: PTH118
    return size


def _environment() -> dict[str, str]:
    """Only the environment variables a program needs to start: no secrets of the shell, and one thread."""
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "LANG", "LC_ALL") if name in os.environ}
    return kept | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """End the process and all that it started."""
    with suppress(ProcessLookupError, PermissionError, AttributeError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


def _reason(code: int) -> str:
    """Why a program ended, from its exit code; empty if it ended normally."""
    if code >= 0:
        return f"exit code {code}" if code else ""
    name = signal.Signals(-code).name
    return {"SIGXCPU": "time", "SIGKILL": "killed"}.get(name, name)


def outcome_of(content: bytes, ended: str = "", printed: str = "") -> Outcome:
    """Read the lines of the results, up to the first that is malformed."""
    answers: dict[int, dict[str, Any]] = {}
    failure = None
    confined: tuple[str, ...] = ()
    for number, line in enumerate(content.splitlines()):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            break
        if not isinstance(record, dict):
            break
        if "confined" in record and number == 0:  # before the program began
            confined = tuple(map(str, record["confined"]))
        elif record.get("part", ...) is None:
            failure = record
        elif type(record.get("part")) is int:
            answers.setdefault(record["part"], record)
    return Outcome(answers, failure, ended, printed, confined)
