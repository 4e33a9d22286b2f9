"""The `linnet` command: one file per command, each importing what it needs when it runs."""

import atexit
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated

import typer

from linnet import __version__
from linnet.cli.config import config
from linnet.cli.demo import demo
from linnet.cli.evaluate import evaluate
from linnet.cli.export import export
from linnet.cli.inspect import inspect
from linnet.cli.learn import learn
from linnet.cli.options import in_options
from linnet.cli.play import play
from linnet.cli.predict import predict
from linnet.cli.report import report
from linnet.cli.terminal import guarded
from linnet.cli.train import train
from linnet.errors import LinnetError

_INTERRUPTED = 130  # the exit code after Ctrl-C

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.command()(config)
app.command()(demo)
app.command()(evaluate)
app.command()(export)
app.command()(inspect)
app.command()(play)
app.command()(predict)
app.command()(report)
app.command()(train)
app.add_typer(learn, name="learn")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"linnet {__version__}")
        raise typer.Exit


@app.callback()
def _linnet(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """From linear models to neural nets with one engine.

    Examples: `linnet train data.csv --target price -o price.linnet`,
    `linnet predict price.linnet new.csv -o answers.csv`, `linnet demo`
    """


def _notes() -> Callable[..., None]:
    """What shows warnings: each as one line of its own, and once."""
    shown_before: set[str] = set()

    def note(message: Warning | str, *_: object) -> None:
        line = _line(message)
        if line not in shown_before:
            shown_before.add(line)
            print(f"note: {line}", file=sys.stderr)

    return note


def _line(message: object) -> str:
    """The message on one line, whatever is in it of what names and cells hold."""
    return " ".join(str(message).splitlines())


def main() -> None:
    """Run the command line; an error that linnet raises on purpose, or of a file, is one line, not a traceback."""
    warnings.showwarning = _notes()
    with guarded():
        try:
            app()
        except BrokenPipeError:  # whoever read the output has seen enough
            sys.exit(1)
        except SystemExit as end:
            if end.code == _INTERRUPTED:
                print("interrupted", file=sys.stderr)
            raise
        except (LinnetError, OSError) as error:
            what = in_options(error) if isinstance(error, LinnetError) else str(error)
            if isinstance(error, OSError) and error.strerror:
                what = f"{error.filename or 'cannot write'}: {error.strerror}"
            print(f"error: {_line(what)}", file=sys.stderr)
            sys.exit(2)


def command() -> None:
    """Run the command line as a process, which ends without the destructors of libraries: pyarrow's sometimes abort."""
    code: object = 0
    try:
        main()
    except SystemExit as end:
        code = end.code
    except Exception:  # a mistake of ours, which may tell of the data
        with guarded():
            traceback.print_exc()
        code = 1
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # AttributeError: it was closed before the start
            stream.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))
