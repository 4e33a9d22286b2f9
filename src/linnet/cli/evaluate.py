"""`linnet evaluate`: how well a model does on rows with a target, and whether that is enough."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linnet.checks import check_number
from linnet.cli.reading import character, read_known, read_model
from linnet.cli.terminal import console
from linnet.cli.writing import json_text
from linnet.errors import ConfigError, DataWarning, hearing

if TYPE_CHECKING:
    from linnet.evaluate import Interval

_MEETS = {
    ">=": lambda value, limit: value >= limit,
    "<=": lambda value, limit: value <= limit,
    ">": lambda value, limit: value > limit,
    "<": lambda value, limit: value < limit,
}


def evaluate(
    model: Annotated[Path, typer.Argument(help="The model file.")],
    data: Annotated[list[str], typer.Argument(help="Files or folders of one table, - for standard input.")],
    metric: Annotated[
        list[str] | None, typer.Option(help="A metric such as f2; may be repeated. Default: all that suit.")
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(help='A condition such as "f1>=0.8"; may be repeated. If not met, the exit code is 1.'),
    ] = None,
    level: Annotated[float, typer.Option(help="Level of the confidence intervals.")] = 0.95,
    delimiter: Annotated[str | None, typer.Option(help="Field delimiter of text files; detected by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON.")] = False,
) -> None:
    """Print the metrics that suit the task, with confidence intervals.

    Examples: `linnet evaluate model.linnet test.csv --require "f1>=0.8" --require "log_loss<=0.4"`
    """
    from linnet.tables.predictions import Evaluation

    check_number(level, "--level", above=0, below=1)
    found = read_model(model)
    wanted = [_read(text) for text in require or ()]
    table = read_known(found, data, character(delimiter), quiet=as_json)
    with hearing(DataWarning):
        evaluation = Evaluation.of(found, table)
        rows = {
            one.metric: one for one in evaluation.intervals([*(metric or ()), *(name for name, _, _ in wanted)], level)
        }
    failed = [f"{name} {sign} {limit:g}" for name, sign, limit in wanted if not _MEETS[sign](_known(rows, name), limit)]
    if as_json:
        numbers = {name: {"value": one.value, "low": one.low, "high": one.high} for name, one in rows.items()}
        print(json_text({"rows": len(evaluation.y), "level": level, "metrics": numbers, "failed": failed}))
    else:
        _show(found.task, len(evaluation.y), rows, level)
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


def _known(rows: "dict[str, Interval]", name: str) -> float:
    if name not in rows:
        raise ConfigError(f"--require {name}: the model has no probabilities, which it needs")
    return rows[name].value


def _show(task: str, count: int, rows: "dict[str, Interval]", level: float) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title=f"{task}, {count:,} rows", title_justify="left")
    table.add_column("metric")
    for name in ("value", f"{(1 - level) / 2:.1%}", f"{(1 + level) / 2:.1%}"):
        table.add_column(name, justify="right")
    for name, one in rows.items():
        table.add_row(name, *(f"{number:.4g}" for number in (one.value, one.low, one.high)))
    console().print(table)
