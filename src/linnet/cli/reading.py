"""What commands share when they read tables: the delimiter, and a progress bar if it takes long."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from linnet.cli.terminal import console, is_terminal

if TYPE_CHECKING:
    import pyarrow as pa

    from linnet.tables.io.sampling import TableSample
    from linnet.tables.io.sources import Source
    from linnet.tables.io.types import Types
    from linnet.tables.model import TableModel

_PATIENCE = 1.0  # seconds before a bar shows


def character(delimiter: str | None) -> str | None:
    """Return the delimiter that a user gave."""
    from linnet.errors import ConfigError

    if delimiter is None:
        return None
    delimiter = {"\\t": "\t", "tab": "\t"}.get(delimiter, delimiter)
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        raise ConfigError(f"--delimiter must be one ASCII character, such as ; or tab, got {delimiter!r}")
    return delimiter


@contextmanager
def progress(wanted: bool, then: str = "Looking at columns") -> Iterator[Callable[[float], None]]:
    """Show a progress bar on standard error, on a terminal only, and only if reading takes long."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    live = wanted and is_terminal(errors=True)
    bar = Progress(*columns, console=console(errors=True), transient=True, disable=not live)
    task = bar.add_task("Reading", total=1.0)
    began = perf_counter()

    def tell(done: float) -> None:
        if not bar.live.is_started and perf_counter() - began > _PATIENCE and not bar.disable:
            bar.start()
        bar.update(task, completed=done, description="Reading" if done < 1 else then)

    try:
        yield tell
    finally:
        bar.stop()


def read_some(
    paths: Sequence[str], delimiter: str | None, most: float, *, quiet: bool, types: "Types | None" = None
) -> tuple["Source", "TableSample"]:
    """A table, or, of one with more than so many bytes, some of its rows; `types` of columns, where they are known."""
    from linnet.tables.io.sources import open_source

    with progress(not quiet) as tell:
        source = open_source(list(paths), delimiter=delimiter)
        return source, source.read_some(most, tell, types)


def check_columns(source: "Source", needed: Sequence[str]) -> None:
    """Refuse a table without one of these columns."""
    from linnet.tables.schema import unknown_column

    check_plain(source, needed)
    for name in needed:
        if name not in source.names:
            raise unknown_column(name, source.names)


def check_plain(source: "Source", needed: Sequence[str]) -> None:
    """Refuse a table where one of these columns is left out because of what it holds."""
    from linnet.errors import DataError

    if nested := [name for name in needed if name in source.nested]:
        what = ", ".join(map(repr, nested))
        raise DataError(f"lists or objects in {what}, which linnet cannot use: convert them to columns of plain values")


def read_model(path: Path) -> "TableModel":
    """Return the model of a table from a file."""
    import linnet
    from linnet.errors import ConfigError
    from linnet.tables.model import TableModel

    model = linnet.load(path)
    if not isinstance(model, TableModel):
        raise ConfigError(
            f"{path} contains a {type(model).__name__}, not a model of a table: use linnet.load in Python"
        )
    return model


def read_known(model: "TableModel", paths: Sequence[str], delimiter: str | None, *, quiet: bool) -> "pa.Table":
    """Return a table with the model's target, to compare its predictions with."""
    from linnet.errors import DataError

    source, some = read_some(paths, delimiter, math.inf, quiet=quiet, types=model.schema.types)
    check_plain(source, (model.roles.target, *model.needed))
    if model.roles.target not in source.names:
        raise DataError(f"the table has no target {model.roles.target!r} to compare with")
    return some.table
