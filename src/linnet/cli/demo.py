"""`linnet demo`: three models learn to read digits, and `linnet.train` finds the best model of a table."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from linnet.cli import terminal
from linnet.cli.demo_curves import FORMATS, Result, as_bytes, check_can_draw, learning_curves, picture_format
from linnet.cli.demo_table import facts_of_table, table_of, train_on_patients
from linnet.errors import ConfigError
from linnet.files import write_whole

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from linnet.data.table import Array
    from linnet.estimators.sequential.sequential import Sequential

_REPORT = "diabetes_report.html"


class Digits(NamedTuple):
    """Images as rows of pixels from 0 to 1, and one-hot rows of their ten classes."""

    train_x: "Array"
    train_y: "Array"
    test_x: "Array"
    test_y: "Array"


class Choice(NamedTuple):
    """A model to train, with its batch size and the name of its loss."""

    name: str
    model: "Sequential"
    batch_size: int
    loss: str


def demo(
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the training images.")] = 40,
    seed: Annotated[int, typer.Option(min=0, help="Of the splits, the initial weights and the order of rows.")] = 1,
    out: Annotated[Path, typer.Option(help="The picture of the learning curves; the report goes beside it.")] = Path(
        "learning_curves.png"
    ),
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Train three models to read handwritten digits, and find the best model of a table.

    A perceptron, a softmax regression and a neural net learn from images; their learning curves are drawn to a picture.
    Then linnet.train looks for the best model of a table of patients and leaves diabetes_report.html beside it.

    Examples: `linnet demo`, `linnet demo --epochs 100 --seed 7 --out curves.png`
    """
    console = terminal.console()
    live = console.is_terminal and not as_json
    report = out.with_name(_REPORT)
    _check_out(out, report)
    check_can_draw()
    with console.status("Loading handwritten digits") if live else contextlib.nullcontext():
        digits = _load_digits(seed)
        choices = _choices(seed)
    results = _train_all(choices, digits, epochs, console, live)
    with console.status("Drawing the learning curves") if live else contextlib.nullcontext():
        drawn = learning_curves(results, f"Learning to read handwritten digits: {_describe_rows(digits)}")
        with _naming(out):
            write_whole(out, [as_bytes(drawn, picture_format(out))])
    with console.status("Training on a table of patients") if live else contextlib.nullcontext():
        model = train_on_patients(seed)
        model.report(report)
    if as_json:
        _print_json(results, digits, epochs, seed, out, facts_of_table(model, report))
    else:
        console.print(_table(results, digits, live))
        console.print(table_of(model, live))
        print(f"Learning curves: {out}")
        print(f"Report on the table's best model, for a browser: {report}")
        print("To train on a table of your own: linnet train data.csv --target COLUMN --report report.html")


# ---- data and models ----


def _load_digits(seed: int) -> Digits:
    """A quarter of the images of each digit are held out as test images."""
    import numpy as np
    from sklearn.datasets import load_digits

    images, classes = load_digits(return_X_y=True)
    x = (images / 16).astype(np.float32)
    y = np.eye(10, dtype=np.float32)[classes]
    order = np.random.default_rng(seed).permutation(len(x))
    order = order[np.argsort(classes[order], kind="stable")]  # by digit, at random within
    test = np.arange(len(x)) % 4 == 0
    return Digits(x[order[~test]], y[order[~test]], x[order[test]], y[order[test]])


def _choices(seed: int) -> list[Choice]:
    from linnet.estimators.sequential.layers import Dense, Dropout
    from linnet.estimators.sequential.sequential import Sequential
    from linnet.fit.loop.optimizers import SGD, Adam

    perceptron = Sequential([Dense(10)], seed=seed)
    perceptron.compile(SGD(0.1), loss="perceptron", metrics=["accuracy", "macro_f1"])

    softmax = Sequential([Dense(10, "softmax")], seed=seed)
    softmax.compile(Adam(0.01), loss="categorical_crossentropy", metrics=["accuracy", "macro_f1"])

    hidden = Dense(64, "relu", kernel_initializer="he_uniform")
    net = Sequential([hidden, Dropout(0.2), Dense(10, "softmax")], seed=seed)
    net.compile(Adam(0.003), loss="categorical_crossentropy", metrics=["accuracy", "macro_f1"])

    return [
        Choice("Perceptron", perceptron, 1, "perceptron loss"),
        Choice("Softmax regression", softmax, 32, "cross-entropy"),
        Choice("Neural net 64-64-10", net, 32, "cross-entropy"),
    ]


# ---- training, shown live ----


def _train_all(choices: list[Choice], digits: Digits, epochs: int, console: "Console", live: bool) -> list[Result]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(bar_width=14),
        TextColumn("epoch"),
        MofNCompleteColumn(),
        TextColumn("{task.fields[numbers]}"),
    )
    with Progress(*columns, console=console, disable=not live) as bars:
        tasks = [bars.add_task(choice.name, total=epochs, numbers="") for choice in choices]
        results = []
        for choice, task in zip(choices, tasks, strict=True):
            for result in _train(choice, digits, epochs):
                bars.update(task, advance=1, numbers=_describe(result))
            results.append(result)
    return results


def _train(choice: Choice, digits: Digits, epochs: int) -> Iterator[Result]:
    """Train, yielding the result so far after every epoch."""
    history: dict[str, list[float]] = {}
    began = perf_counter()
    records = choice.model.fit_stream(
        digits.train_x,
        digits.train_y,
        batch_size=choice.batch_size,
        epochs=epochs,
        validation_data=(digits.test_x, digits.test_y),
    )
    for record in records:
        for name, value in record.numbers.items():
            history.setdefault(name, []).append(value)
        yield Result(choice.name, choice.loss, choice.model.count_params(), perf_counter() - began, history)


def _describe(result: Result) -> str:
    loss = result.history["loss"][-1]
    return f"loss {loss:.3f}  test {result.accuracy:.1%}  [dim]{result.seconds:.2f} s"


# ---- results ----


def _table(results: list[Result], digits: Digits, live: bool) -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(
        title=f"Handwritten digits: {_describe_rows(digits)}",
        title_justify="left",
        box=box.ROUNDED if live else box.SIMPLE_HEAD,
    )
    table.add_column("Model", style="bold", no_wrap=True)
    for header in ("Parameters", "Seconds", "Test accuracy", "Macro F1"):
        table.add_column(header, justify="right", no_wrap=True)
    best = max(results, key=lambda result: result.accuracy)
    for result in results:
        table.add_row(
            result.name,
            f"{result.parameters:,}",
            f"{result.seconds:.2f}",
            f"{result.accuracy:.1%}",
            f"{result.macro_f1:.3f}",
            style="green" if result is best else None,
        )
    return table


def _describe_rows(digits: Digits) -> str:
    return f"{len(digits.train_x):,} training images, {len(digits.test_x):,} test images"


def _print_json(
    results: list[Result], digits: Digits, epochs: int, seed: int, out: Path, table: dict[str, Any]
) -> None:
    import json

    facts = {
        "train_rows": len(digits.train_x),
        "test_rows": len(digits.test_x),
        "epochs": epochs,
        "seed": seed,
        "models": [
            {
                "model": result.name,
                "parameters": result.parameters,
                "seconds": round(result.seconds, 4),
                "test_accuracy": result.accuracy,
                "macro_f1": result.macro_f1,
            }
            for result in results
        ],
        "picture": str(out),
        "table": table,
    }
    print(json.dumps(facts, indent=2))


# ---- where the picture and the report go ----


def _check_out(out: Path, report: Path) -> None:
    """Raise a ConfigError unless picture and report can be written: known before any work is done."""
    if picture_format(out) not in FORMATS:
        raise ConfigError(f"--out {out}: the name of a picture must end in {', '.join('.' + name for name in FORMATS)}")
    with _naming(out):
        for file in (out, report):
            if file.exists() and not (file.is_file() and os.access(file, os.W_OK)):
                beside = "" if file is out else f"beside it, {report.name}: "
                raise ConfigError(f"--out {out}: {beside}what exists there is not a file that can be replaced")
        tempfile.TemporaryFile(dir=out.parent).close()


@contextlib.contextmanager
def _naming(out: Path) -> Iterator[None]:
    """Name the file in errors of the system."""
    try:
        yield
    except OSError as error:
        raise ConfigError(f"--out {out}: cannot write there: {error.strerror or error}") from error
