"""`linnet evaluate`: how well a model does on rows with a target, and whether that is enough."""

import json
import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linnet.cli.reading import character, read_table
from linnet.errors import ConfigError, DataWarning

if TYPE_CHECKING:
    from linnet.estimators.table_model import TableModel

Rows = dict[str, tuple[float, float, float]]  # value, lower and upper limit, by metric
_MEETS = {
    ">=": lambda value, limit: value >= limit,
    "<=": lambda value, limit: value <= limit,
    ">": lambda value, limit: value > limit,
    "<": lambda value, limit: value < limit,
}


def evaluate(
    model: Annotated[Path, typer.Argument(help="The model file.")],
    data: Annotated[list[str], typer.Argument(help="Files or folders of one table, - for standard input.")],
    metric: Annotated[list[str] | None, typer.Option(help="Such as f2; may be repeated. Else those that suit.")] = None,
    require: Annotated[
        list[str] | None, typer.Option(help='Such as "f1>=0.8"; may be repeated. If not met, the exit code is 1.')
    ] = None,
    level: Annotated[float, typer.Option(help="Of the confidence intervals.")] = 0.95,
    delimiter: Annotated[str | None, typer.Option(help="Between the fields of text files; else recognised.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON.")] = False,
) -> None:
    """Print the metrics that suit the task, with confidence intervals.

    Examples: `linnet evaluate model.linnet test.csv --require "f1>=0.8" --require "log_loss<=0.4"`
    """
    import linnet
    from linnet.estimators.table_model import TableModel, with_target

    found = linnet.load(model)
    if not isinstance(found, TableModel):
        raise ConfigError(f"{model} holds a {type(found).__name__}, not a model of a table: use linnet.load in Python")
    wanted = [_read(text) for text in require or ()]
    table, _ = read_table(data, character(delimiter), quiet=as_json)
    if found.roles.target not in table.column_names:
        raise linnet.errors.DataError(f"the table has no target {found.roles.target!r} to compare with")
    table = with_target(table, found.roles.target)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        rows = _intervals(found, table, [*(metric or ()), *(name for name, _, _ in wanted)], level)
    failed = [f"{name} {sign} {limit:g}" for name, sign, limit in wanted if not _MEETS[sign](rows[name][0], limit)]
    if as_json:
        numbers = {name: {"value": value, "low": low, "high": high} for name, (value, low, high) in rows.items()}
        print(json.dumps({"rows": len(table), "level": level, "metrics": numbers, "failed": failed}, indent=2))
    else:
        _show(found, len(table), rows, level)
        for text in failed:
            print(f"not met: {text}")
    if failed:
        raise typer.Exit(1)


def _read(text: str) -> tuple[str, str, float]:
    found = re.fullmatch(r"\s*([\w.]+)\s*(>=|<=|>|<)\s*([-+.\deE]+)\s*", text)
    try:
        assert found is not None
        return found[1], found[2], float(found[3])
    except (AssertionError, ValueError):
        raise ConfigError(f'--require must look like "f1>=0.8", got {text!r}') from None


def _intervals(
    model: "TableModel", table: Any, names: list[str], level: float
) -> dict[str, tuple[float, float, float]]:
    """Value, lower and upper limit of each metric."""
    from linnet.estimators.table_metrics import measures

    names = list(dict.fromkeys([*names, *(measure.name for measure in measures(model.task))]))
    return model.intervals(table, names, level)


def _show(model: "TableModel", count: int, rows: Rows, level: float) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title=f"{model.task}, {count:,} rows", title_justify="left")
    table.add_column("metric")
    for name in ("value", f"{(1 - level) / 2:.1%}", f"{(1 + level) / 2:.1%}"):
        table.add_column(name, justify="right")
    for name, numbers in rows.items():
        table.add_row(name, *(f"{number:.4g}" for number in numbers))
    Console(highlight=False).print(table)
