"""The `linnet` command: one file a command, each importing what it needs when it runs."""

import sys
from typing import Annotated

import typer

from linnet import __version__
from linnet.cli.config import config
from linnet.cli.demo import demo
from linnet.cli.evaluate import evaluate
from linnet.cli.export import export
from linnet.cli.inspect import inspect
from linnet.cli.predict import predict
from linnet.cli.train import train
from linnet.errors import LinnetError

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.command()(config)
app.command()(demo)
app.command()(evaluate)
app.command()(export)
app.command()(inspect)
app.command()(predict)
app.command()(train)


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
    """From linear models to neural nets with one engine."""


def main() -> None:
    """Run the command line; an error that linnet raises on purpose, or of a file, is one line, not a traceback."""
    try:
        app()
    except LinnetError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        print(f"error: {error.filename or 'file'}: {error.strerror or error}", file=sys.stderr)
        sys.exit(2)
