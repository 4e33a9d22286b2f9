"""`linnet play`: the playground in a browser."""

from typing import Annotated

import typer

from linnet.cli.reading import character
from linnet.errors import ConfigError, needs_extra


def play(
    data: Annotated[list[str] | None, typer.Argument(help="Files of one table to play with.")] = None,
    target: Annotated[str | None, typer.Option(help="The column to predict.")] = None,
    port: Annotated[
        int | None, typer.Option(help="Port on this machine; default: 8642, or a free one.", min=0, max=65535)
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page.")] = True,
    delimiter: Annotated[str | None, typer.Option(help="Field delimiter of text files; detected by default.")] = None,
) -> None:
    """Open the playground: train networks before your eyes, on toy sets or a table of your own.

    Examples: `linnet play`, `linnet play data.csv --target price`
    """
    import threading
    import webbrowser

    with needs_extra("play", "the playground"):
        from linnet.playground.server import Room, Server
    from linnet.playground.tables import Table

    if target is not None and not data:
        raise ConfigError("--target names a column of a table: give its file, too")
    table, first = None, {}
    if data:
        if "-" in data:
            raise ConfigError("the playground reads files, not standard input: save the table first")
        table = Table.read(data, delimiter=character(delimiter))
        target = table.last_target() if target is None else target
        table.prepared(target)  # what cannot be used is told here
        first = {"data": "table", "target": target}
    server = Server(Room(table, first), port)
    print(f"playground: {server.address}\nCtrl-C ends it", flush=True)
    if browser:
        threading.Timer(0.3, webbrowser.open, [server.address]).start()
    server.run()
