"""`linnet report`: one page about a model on rows with a target."""

from pathlib import Path
from typing import Annotated

import typer

from linnet.cli.reading import character, read_known, read_model
from linnet.cli.terminal import on_one_line
from linnet.cli.writing import check_out, json_text


def report(
    model: Annotated[Path, typer.Argument(help="The model file.")],
    data: Annotated[list[str], typer.Argument(help="Files or folders of one table, - for standard input.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The page.")] = Path("report.html"),
    delimiter: Annotated[str | None, typer.Option(help="Field delimiter of text files; detected by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers instead of making a page.")] = False,
) -> None:
    """Write one page about a model: how good it is on these rows, which it should not have been trained on.

    Examples: `linnet report model.linnet test.csv -o report.html`
    """
    from linnet.report import facts_of, write_report

    check_out(None if as_json else out, data=[str(model), *data])
    found = read_model(model)
    facts = facts_of(found, read_known(found, data, character(delimiter), quiet=as_json))
    if as_json:
        print(json_text(facts.to_dict()))
        return
    write_report(out, facts)
    print(on_one_line(f"saved {out} ({out.stat().st_size / 1000:,.0f} kB)"))
