"""`linnet inspect`: how a table is read, before any training."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linnet.cli import terminal
from linnet.cli.reading import character, check_columns, progress
from linnet.cli.terminal import line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from linnet.tables.leaks import Leak
    from linnet.tables.schema import Schema

_MAX_COLUMNS_SHOWN = 1000  # columns


def inspect(
    data: Annotated[list[str], typer.Argument(help="Files or folders of one table, - for standard input.")],
    target: Annotated[str | None, typer.Option(help="The column to predict.")] = None,
    delimiter: Annotated[str | None, typer.Option(help="Field delimiter of text files; detected by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all details as JSON.")] = False,
) -> None:
    """Show how a table is read: the columns, what is left out and why, the task, columns that leak the target.

    Examples: `linnet inspect data.csv --target price`, `cat data.csv | linnet inspect - --json`
    """
    from linnet.tables.io.sampling import MAX_TABLE_BYTES
    from linnet.tables.io.sources import open_source
    from linnet.tables.leaks import leaks
    from linnet.tables.schema import Schema

    with progress(not as_json) as tell:
        source = open_source(data, delimiter=character(delimiter))
        some = source.read_some(MAX_TABLE_BYTES, tell)
        tell(1.0)
        check_columns(source, [] if target is None else [target])
        schema = Schema.of(some.table, target)
        suspects = leaks(some.table, target, schema) if target is not None else ()
    notices = source.notices
    if not some.is_all:
        sample = f"{len(some.table):,} rows drawn at random, to which the counts below refer"
        notices = [*notices, f"the table has {some.rows:,} rows, too many for memory: columns are judged by {sample}"]
    if as_json:
        _print_json(schema, notices, suspects)
        return
    name = data[0] if len(data) == 1 else f"{len(data)} files"
    name = "standard input" if name == "-" else Path(name).name
    _print(terminal.console(), name, schema, notices, suspects)


def _print(console: "Console", name: str, schema: "Schema", notices: list[str], suspects: "tuple[Leak, ...]") -> None:
    if not console.is_terminal:
        console.width = max(console.width, 120)
    console.print(_table(console, name, schema))
    if len(schema.columns) >= _MAX_COLUMNS_SHOWN:
        more = f"Notice: {_MAX_COLUMNS_SHOWN:,} columns are shown: --json lists all {len(schema.columns):,}"
        console.print(more, soft_wrap=True)
    if schema.target is not None:
        target = line("").append("Target", "bold").append_text(line(f" {schema.target.name}: "))
        console.print(target.append(str(schema.task), "bold").append_text(line(f" ({schema.reason})")), soft_wrap=True)
    for leak in suspects:
        console.print(line(f"Leak suspect: {leak}", "yellow"), soft_wrap=True)
    for notice in (*notices, *schema.notices[:20]):
        console.print(line(f"Notice: {notice}"), soft_wrap=True)
    if len(schema.notices) > 20:
        console.print(f"Notice: {len(schema.notices) - 20:,} more columns are left out", soft_wrap=True)


def _table(console: "Console", name: str, schema: "Schema") -> "Table":
    from rich import box
    from rich.table import Table

    columns = [*schema.columns, *([] if schema.target is None else [schema.target])]
    table = Table(
        title=line(f"{name}: {schema.rows:,} rows, {len(columns):,} columns"),
        title_justify="left",
        box=box.ROUNDED if console.is_terminal else box.SIMPLE_HEAD,
    )
    table.add_column("Column", overflow="fold")
    table.add_column("Read as", no_wrap=True)
    table.add_column("Missing", justify="right", no_wrap=True)
    table.add_column("Distinct", justify="right", no_wrap=True)
    table.add_column("Examples", overflow="fold")
    table.add_column("Note", overflow="fold")
    for column in (*columns[: _MAX_COLUMNS_SHOWN - 1], *columns[_MAX_COLUMNS_SHOWN - 1 :][-1:]):  # with the target
        is_target = column is schema.target
        table.add_row(
            line(column.name, "bold" if column.used else "dim"),
            "target" if is_target else column.kind,
            f"{column.missing / max(1, schema.rows):.1%}" if column.missing else "-",
            f"{'≈' if column.estimated else ''}{column.distinct:,}",
            line(", ".join(" ".join(text.split()) for text in column.examples), "dim"),
            line(column.note if column.used else f"left out: {column.note}"),
        )
    return table


def _print_json(schema: "Schema", notices: list[str], suspects: "tuple[Leak, ...]") -> None:
    import dataclasses

    from linnet.cli.writing import json_text

    facts: dict[str, Any] = {
        **schema.to_dict(),
        "notices": [*notices, *schema.notices],
        "leaks": [dataclasses.asdict(leak) for leak in suspects],
    }
    # a number of columns that nobody reads goes on one line, which is written ten times as fast
    print(json_text(facts, indent=2 if len(schema.columns) <= _MAX_COLUMNS_SHOWN else None))
