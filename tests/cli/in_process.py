"""The command in this process: Python takes a second to start, which not every case needs."""

import contextlib
import io
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

from linnet.cli import main


class Completed(NamedTuple):
    code: int
    out: str
    err: str


class Terminal(io.TextIOWrapper):
    """A stream that reports to be a terminal."""

    def isatty(self) -> bool:
        return True


def call(*words: object, cwd: Path, terminal: bool = False) -> Completed:
    """Run `linnet` with these words and return its exit code and output; an exception it does not catch is raised."""
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
            warnings.simplefilter("error", RuntimeWarning)  # NumPy's, about which a user could do nothing
            main()
        code: object = 0
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.argv = argv
    assert isinstance(code, int)
    return Completed(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))  # type: ignore[attr-defined]
