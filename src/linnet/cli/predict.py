"""`linnet predict`: predictions for the rows of files of any size."""

import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linnet.checks import check_number, check_seed
from linnet.cli.reading import character, progress, read_model
from linnet.cli.terminal import on_one_line
from linnet.cli.writing import check_out, for_spreadsheets, formulas, json_text
from linnet.errors import ConfigError, DataError
from linnet.files import is_stream

if TYPE_CHECKING:
    import pyarrow as pa

    from linnet.tables.model import TableModel
    from linnet.tables.predictions import Predictions


def predict(
    model: Annotated[Path, typer.Argument(help="The model file.")],
    data: Annotated[list[str], typer.Argument(help="Files or folders of one table, - for standard input.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="A .csv, .parquet, .arrow or .jsonl file; by default CSV is printed."),
    ] = None,
    proba: Annotated[bool, typer.Option(help="Add the probability of each class.")] = False,
    sample: Annotated[bool, typer.Option(help="Draw from the predicted distribution instead.")] = False,
    interval: Annotated[bool, typer.Option(help="Add the limits of a prediction interval.")] = False,
    level: Annotated[float, typer.Option(help="Probability that a new value is in the interval.")] = 0.95,
    keep: Annotated[list[str] | None, typer.Option(help="Column to copy to the output; may be repeated.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the draws.")] = 0,
    spreadsheet: Annotated[
        bool, typer.Option(help="In CSV, put an apostrophe before texts that a spreadsheet would run as formulas.")
    ] = False,
    delimiter: Annotated[str | None, typer.Option(help="Field delimiter of text files; detected by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a summary as JSON; needs --out.")] = False,
) -> None:
    """Predict rows, in chunks, in order: files may be larger than memory, and columns in any order.

    Examples: `linnet predict model.linnet new.csv -o answers.parquet --proba --keep id`
    """
    import pyarrow as pa

    from linnet.tables.io.sources import open_source

    check_number(level, "--level", above=0, below=1)
    check_seed(seed, "--seed")
    if as_json and out is None:
        raise ConfigError("--json prints a summary in place of the predictions: name a file for them with --out")
    check_out(out, data=[str(model), *data])
    found = read_model(model)
    kept = keep or []
    unseen: Counter[str] = Counter()
    rare: Counter[str] = Counter()
    filled: Counter[str] = Counter()
    of_formulas: Counter[str] = Counter()
    as_csv = out is None or out.suffix.lower() == ".csv"
    if spreadsheet and not as_csv:
        raise ConfigError(f"--spreadsheet is for CSV files, and {out} is not one: leave it out")
    rows = 0
    with progress(out is not None and not as_json, "Writing") as tell, _writer(out) as write:
        source = open_source(data, delimiter=character(delimiter))
        for table, predicted in found.predict_chunks(source, kept, as_written=as_csv, progress=tell):
            answers = _answers(found, predicted, proba, sample, level if interval else None, (seed + rows) % 2**32)
            if both := [name for name in kept if name in answers]:
                raise ConfigError(f"--keep {both[0]}: a column of predictions has the same name; rename the column")
            unseen.update(predicted.rows.unseen)
            rare.update(predicted.rows.rare)
            filled.update(predicted.rows.filled)
            rows += len(predicted.rows)
            found_rows = pa.table({**{name: table[name] for name in kept}, **answers})
            of_formulas.update(formulas(found_rows) if as_csv else {})
            write(for_spreadsheets(found_rows) if spreadsheet else found_rows)
    if as_json:
        print(json_text({"file": str(out), "rows": rows, "never_seen": {**rare, **unseen}, "filled": filled}))
        return
    for counts, what in ((unseen, "it has no effect"), (rare, "it counts as one of the rare levels")):
        for name, count in counts.items():
            print(f"note: {count:,} rows have a level of {name!r} never seen in training: {what}", file=sys.stderr)
    for name, count in filled.items():
        what = "no training row lacked one: the median replaces it"
        print(f"note: {count:,} rows have no value of {name!r}, and {what}", file=sys.stderr)
    for name, count in of_formulas.items() if not spreadsheet else ():
        what = "a spreadsheet would run as formulas: --spreadsheet writes them as texts"
        print(f"note: {count:,} texts of {name!r} begin with =, +, - or @, which {what}", file=sys.stderr)
    if out is not None:
        print(on_one_line(f"{rows:,} rows written to {out}"), file=sys.stderr)


def _answers(
    model: "TableModel", found: "Predictions", proba: bool, sample: bool, level: float | None, seed: int
) -> dict[str, Any]:
    """Return the columns to write: predictions or draws, and limits of intervals, all from one pass."""
    target = model.schema.target
    assert target is not None
    name, values = ("sample", model.sample(found, seed)) if sample else ("prediction", found.values)
    answers: dict[str, Any] = {name: values if model.classes is None else _as_read(values, target.type)}
    if proba:
        shares, classes = model.predict_proba(found), model.classes  # or says why there are none
        assert classes is not None
        answers |= {f"probability of {each}": shares[:, place] for place, each in enumerate(classes)}
    if level is not None:
        answers["low"], answers["high"] = model.predict_interval(found, level)
    return answers


def _as_read(values: Any, kind: str) -> Any:
    """Return classes in the type that their column had."""
    import pyarrow as pa

    classes = pa.array(values.tolist(), pa.string())
    return classes.cast(kind) if kind == "bool" or "int" in kind else classes


def _reason(error: OSError) -> str:
    """Return the reason of an error of the system, without pyarrow's context."""
    return os.strerror(error.errno) if error.errno else str(error)


class _JsonLines:
    """Writes one JSON object per line."""

    def __init__(self, path: str, schema: "pa.Schema") -> None:
        self._file = Path(path).open("w", encoding="utf8")  # noqa: SIM115 - closed with this

    def write_table(self, table: "pa.Table") -> None:
        self._file.writelines(json_text(row, indent=None) + "\n" for row in table.to_pylist())

    def close(self) -> None:
        self._file.close()


@contextmanager
def _writer(out: Path | None) -> Iterator[Any]:
    """What takes tables and writes them; a file gets its name once it is whole."""
    import pyarrow as pa
    import pyarrow.csv as csv
    import pyarrow.parquet as parquet

    replaced = out is not None and not is_stream(out)
    if out is None:
        temporary: Any = sys.stdout.buffer
        kind = ".csv"
    else:
        kind = out.suffix.lower()
        temporary = str(out.with_name(f".{out.name}.{os.getpid()}.tmp") if replaced else out)
    opened: list[Any] = []

    def write(table: pa.Table) -> None:
        if not opened:
            make: dict[str, Any] = {
                ".csv": csv.CSVWriter,
                ".parquet": parquet.ParquetWriter,
                ".arrow": pa.ipc.new_file,
                ".feather": pa.ipc.new_file,
                ".jsonl": _JsonLines,
            }
            sink = temporary
            if out is not None and kind != ".jsonl":
                sink = pa.OSFile(os.fsencode(temporary), "wb")  # by its bytes: a name need not be UTF-8
                opened.append(sink)
            opened.insert(0, make[kind](sink, table.schema))
        opened[0].write_table(table)

    if kind not in (".csv", ".parquet", ".arrow", ".feather", ".jsonl"):
        raise ConfigError(f"cannot write {out}: the name must end with .csv, .parquet, .arrow, .feather or .jsonl")
    try:
        yield write
        for file in opened:
            file.close()
        if not opened:
            raise DataError("the table has no rows: there is nothing to predict")
        if out is not None and replaced:
            Path(temporary).replace(out)
    except OSError as error:
        where = "to standard output" if out is None else out
        raise ConfigError(f"cannot write {where}: {_reason(error)}") from None
    finally:
        if replaced:
            with suppress(OSError):
                Path(temporary).unlink(missing_ok=True)
