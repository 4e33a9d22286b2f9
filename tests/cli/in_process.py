"""The command in this process: what costs a second to start need not be started for every case."""

import contextlib
import io
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

from linnet.cli import main


class Said(NamedTuple):
    code: int
    out: str
    err: str


class Terminal(io.TextIOWrapper):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def call(*words: object, cwd: Path, terminal: bool = False) -> Said:
    """What `linnet words` says; an exception that the command lets out comes out of here."""
    kind = Terminal if terminal else io.TextIOWrapper
    out, err = (kind(io.BytesIO(), "utf8", write_through=True) for _ in range(2))
    argv = sys.argv
    sys.argv = ["linnet", *map(str, words)]
    try:
        with (
            contextlib.chdir(cwd),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("default")
            warnings.simplefilter("error", RuntimeWarning)  # NumPy's: nothing that a user could do about
            main()
        code: object = 0
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.argv = argv
    assert isinstance(code, int)
    return Said(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))  # type: ignore[attr-defined]
