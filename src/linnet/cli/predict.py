"""`linnet predict`: answers for the rows of files of any size."""

import json
import os
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linnet.cli.reading import character, progress, read_model
from linnet.errors import ConfigError, DataError, DataWarning

if TYPE_CHECKING:
    import pyarrow as pa


def predict(
    model: Annotated[Path, typer.Argument(help="The model file.")],
    data: Annotated[list[str], typer.Argument(help="Files or folders of one table, - for standard input.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A .csv, .parquet, .arrow or .jsonl file; else CSV is printed.")
    ] = None,
    proba: Annotated[bool, typer.Option(help="Also the probability of each class.")] = False,
    sample: Annotated[bool, typer.Option(help="Draw from the predicted distribution instead.")] = False,
    interval: Annotated[bool, typer.Option(help="Also the limits of a new value.")] = False,
    level: Annotated[float, typer.Option(help="The probability that limits hold.")] = 0.95,
    keep: Annotated[list[str] | None, typer.Option(help="Column to pass on; may be repeated.")] = None,
    seed: Annotated[int, typer.Option(help="Of the draws.")] = 0,
    delimiter: Annotated[str | None, typer.Option(help="Between the fields of text files; else recognised.")] = None,
) -> None:
    """Predict rows, in chunks, in order: files may be larger than memory, and columns in any order.

    Examples: `linnet predict model.linnet new.csv -o answers.parquet --proba --keep id`
    """
    import pyarrow as pa

    from linnet.data.sources import open_source

    found = read_model(model)
    kept = keep or []
    unseen: Counter[str] = Counter()
    rare: Counter[str] = Counter()
    rows = 0
    with progress(out is not None, "Writing") as tell, _writer(out) as write:
        source = open_source(data, delimiter=character(delimiter))
        absent = [name for name in (*found.needed, *kept) if name not in source.names]
        if absent:
            raise DataError(f"the table lacks {', '.join(map(repr, absent))}, which the model needs")
        types = {name: kind for name, kind in found.schema.types.items() if name in found.needed}
        for table in source.chunks([*dict.fromkeys((*found.needed, *kept))], types, tell):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataWarning)
                columns = {name: table[name] for name in kept}
                columns |= _answers(found, table, proba, sample, level if interval else None, seed + rows)
            unseen.update(_unseen(found))
            rare.update(found.schema.never_seen(table))
            rows += len(table)
            write(pa.table(columns))
    for counts, what in ((unseen, "it has no effect"), (rare, "it counts as one of the rare levels")):
        for name, count in counts.items():
            print(f"note: {count:,} rows have a level of {name!r} never seen in training: {what}", file=sys.stderr)
    if out is not None:
        print(f"{rows:,} rows written to {out}", file=sys.stderr)


def _answers(
    model: Any, table: "pa.Table", proba: bool, sample: bool, level: float | None, seed: int
) -> dict[str, Any]:
    name, said = ("sample", model.sample(table, seed)) if sample else ("prediction", model.predict(table))
    answers: dict[str, Any] = {name: said if model.classes is None else _as_read(said, model.schema.target.type)}
    if proba:
        shares = model.predict_proba(table)
        answers |= {f"probability of {name}": shares[:, place] for place, name in enumerate(model.classes)}
    if level is not None:
        answers["low"], answers["high"] = model.predict_interval(table, level)
    return answers


def _as_read(said: Any, kind: str) -> Any:
    """Classes in the type that their column had."""
    import pyarrow as pa

    classes = pa.array(said.tolist(), pa.string())
    return classes.cast(kind) if kind == "bool" or "int" in kind else classes


def _unseen(model: Any) -> dict[str, int]:
    """Rows of the last table with levels that the model does not know, by column."""
    encoder = getattr(model.estimator, "_encoder", None)
    encoder = getattr(encoder, "encoder", encoder)
    return dict(getattr(encoder, "unseen", {}))


class _JsonLines:
    """An object a line."""

    def __init__(self, path: str, schema: "pa.Schema") -> None:
        self._file = Path(path).open("w", encoding="utf8")  # noqa: SIM115 - closed with this

    def write_table(self, table: "pa.Table") -> None:
        self._file.writelines(json.dumps(row, default=str) + "\n" for row in table.to_pylist())

    def close(self) -> None:
        self._file.close()


@contextmanager
def _writer(out: Path | None) -> Iterator[Any]:
    """What takes tables and writes them; a file gets its name once it is whole."""
    import pyarrow as pa
    import pyarrow.csv as csv
    import pyarrow.parquet as parquet

    if out is None:
        temporary: Any = sys.stdout.buffer
        kind = ".csv"
    else:
        kind = out.suffix.lower()
        temporary = str(out.with_name(f".{out.name}.{os.getpid()}.tmp"))
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
            opened.append(make[kind](temporary, table.schema))
        opened[0].write_table(table)

    if kind not in (".csv", ".parquet", ".arrow", ".feather", ".jsonl"):
        raise ConfigError(f"cannot write {out}: the name must end with .csv, .parquet, .arrow, .feather or .jsonl")
    try:
        yield write
        for file in opened:
            file.close()
        if out is not None:
            if not opened:
                raise ConfigError("the table has no rows: nothing was written")
            Path(temporary).replace(out)
    except OSError as error:
        raise ConfigError(f"cannot write {out}: {error.strerror or error}") from None
    finally:
        if out is not None:
            with suppress(OSError):
                Path(temporary).unlink(missing_ok=True)
