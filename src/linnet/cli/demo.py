"""`linnet demo`: three models learn to read digits, and `linnet.train` finds the best model of a table."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from linnet.cli import terminal
from linnet.cli.demo_table import facts_of_table, table_of, train_on_patients
from linnet.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.console import Console
    from rich.table import Table

    from linnet.data.table import Array
    from linnet.estimators.sequential.sequential import Sequential

Numbers = dict[str, list[float]]  # a value an epoch, by name

_REPORT = "diabetes_report.html"


class Digits(NamedTuple):
    """Images as rows of numbers from 0 to 1, and their classes as rows of ten with one 1."""

    train_x: "Array"
    train_y: "Array"
    test_x: "Array"
    test_y: "Array"


class Choice(NamedTuple):
    """A model to train, the size of its batches and the name of its loss."""

    name: str
    model: "Sequential"
    batch_size: int
    loss: str


@dataclass(frozen=True, slots=True)
class Result:
    """A trained model: what it is, what it cost, how good it is."""

    name: str
    loss: str
    parameters: int
    seconds: float
    history: Numbers

    @property
    def accuracy(self) -> float:
        """Part of the test images that are read correctly."""
        return self.history["val_accuracy"][-1]

    @property
    def macro_f1(self) -> float:
        """Mean of the ten digits' F1 on the test images."""
        return self.history["val_macro_f1"][-1]


def demo(
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the training images.")] = 40,
    seed: Annotated[int, typer.Option(min=0, help="Of the splits, the first weights and the order of rows.")] = 1,
    out: Annotated[Path, typer.Option(help="Where to put the picture of the learning curves.")] = Path(
        "learning_curves.png"
    ),
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Train a perceptron, a softmax regression and a neural net on handwritten digits, and the best model of a table.

    It leaves a picture of the learning curves and, beside it, diabetes_report.html, a page about the table's model.

    Examples: `linnet demo`, `linnet demo --epochs 100 --seed 7 --out curves.png`
    """
    console = terminal.console()
    live = console.is_terminal and not as_json
    report = out.with_name(_REPORT)
    _check_out(out, report)
    with console.status("Loading handwritten digits") if live else contextlib.nullcontext():
        digits = _load_digits(seed)
        choices = _choices(seed)
    results = _train_all(choices, digits, epochs, console, live)
    with console.status("Drawing the learning curves") if live else contextlib.nullcontext():
        _save(_draw(results, digits), out)
    with console.status("Training on a table of patients") if live else contextlib.nullcontext():
        model = train_on_patients(seed)
        model.report(report)
    if as_json:
        _print_json(results, digits, epochs, seed, out, facts_of_table(model, report))
    else:
        console.print(_table(results, digits, live))
        console.print(table_of(model, live))
        print(f"Learning curves: {out}\nReport: {report}")


# ---- data and models ----


def _load_digits(seed: int) -> Digits:
    """A quarter of every digit's images are for testing."""
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
    history: Numbers = {}
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
    return f"{len(digits.train_x):,} images to learn from, {len(digits.test_x):,} to test"


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


# ---- the picture ----

_INK, _SOFT, _FAINT = "#222222", "#6b6b6b", "#e4e4e4"
_TRAIN, _TEST = "#56b4e9", "#d55e00"  # told apart by colour-blind readers too
_STYLE: Any = {
    "font.size": 10,
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _SOFT,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": _FAINT,
    "grid.linewidth": 0.8,
    "xtick.color": _SOFT,
    "ytick.color": _SOFT,
    "figure.constrained_layout.w_pad": 0.12,
    "figure.constrained_layout.h_pad": 0.08,
}


def _draw(results: list[Result], digits: Digits) -> "Figure":
    """Loss above, accuracy below, a model a column; a row shares its axis, so that columns compare."""
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(11, 6.6), layout="constrained")
        title = f"Learning to read handwritten digits: {_describe_rows(digits)}"
        figure.suptitle(title, x=0.01, ha="left", fontsize=14, fontweight="bold")
        axes = figure.subplots(2, len(results), sharex=True, sharey="row")
        for column, result in enumerate(results):
            _draw_model(axes[0, column], axes[1, column], result)
        loss, accuracy = axes[0, 0], axes[1, 0]
        loss.set_ylabel("Loss")
        loss.set_yscale("log")
        loss.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        loss.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        loss.yaxis.set_minor_locator(NullLocator())
        accuracy.set_ylabel("Accuracy")
        # the first epochs of training would squeeze all that follows into the top
        worst = min(min(result.history["val_accuracy"]) for result in results)
        accuracy.set_ylim(worst - 0.1 * (1 - worst), 1 + 0.03 * (1 - worst))
        accuracy.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g}%"))
        accuracy.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        accuracy.set_xlim(0, 1.02 * len(results[0].history["loss"]))
        accuracy.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10], integer=True))
        figure.align_ylabels()
        handles, labels = loss.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower left", ncols=2, frameon=False)
    return figure


def _draw_model(loss: "Axes", accuracy: "Axes", result: Result) -> None:
    epochs = range(1, len(result.history["loss"]) + 1)
    sides = (
        ("", "training images, as met during the epoch", _TRAIN, 1.6),
        ("val_", "test images, after the epoch", _TEST, 2.0),
    )
    for axes, name in ((loss, "loss"), (accuracy, "accuracy")):
        for side, label, color, width in sides:
            values = result.history[side + name]
            axes.plot(epochs, values, color=color, linewidth=width, label=label)
            axes.plot(epochs[-1], values[-1], "o", color=color, markersize=5)
        axes.tick_params(which="both", length=0)
    title = f"{result.parameters:,} parameters, {result.seconds:.2f} s"
    loss.set_title(result.name, fontsize=12, fontweight="bold", loc="left", pad=20)
    loss.text(0, 1.03, title, color=_SOFT, transform=loss.transAxes)
    loss.text(0.98, 0.95, result.loss, color=_SOFT, ha="right", va="top", transform=loss.transAxes)
    best = f"test accuracy {result.accuracy:.1%}"
    accuracy.text(0.98, 0.05, best, color=_TEST, ha="right", fontweight="bold", transform=accuracy.transAxes).set_bbox(
        {"facecolor": "white", "edgecolor": "none", "pad": 2}
    )
    accuracy.set_xlabel("Epoch")


# ---- a file that is written whole or not at all ----

_FORMATS = ("png", "svg", "pdf")


def _check_out(out: Path, report: Path) -> None:
    """Raise a ConfigError unless picture and report can be written: known before any work is done."""
    if _format(out) not in _FORMATS:
        raise ConfigError(f"--out {out}: a picture's name ends in {', '.join('.' + name for name in _FORMATS)}")
    with _naming(out):
        for file in (out, report):
            if file.exists() and not (file.is_file() and os.access(file, os.W_OK)):
                beside = "" if file is out else f"beside it, {report.name}: "
                raise ConfigError(f"--out {out}: {beside}what is there is not a file that can be replaced")
        _part(out).touch()
        _part(out).unlink()


def _save(figure: "Figure", out: Path) -> None:
    with _naming(out):
        try:
            with _part(out).open("wb") as file:
                figure.savefig(file, format=_format(out), dpi=150)
                file.flush()
                os.fsync(file.fileno())
            _part(out).replace(out)
        finally:
            _part(out).unlink(missing_ok=True)


@contextlib.contextmanager
def _naming(out: Path) -> Iterator[None]:
    """Say which file an error of the system is about."""
    try:
        yield
    except OSError as error:
        raise ConfigError(f"--out {out}: cannot write there: {error.strerror or error}") from error


def _format(out: Path) -> str:
    return out.suffix[1:].lower() or "png"


def _part(out: Path) -> Path:
    """The file to write to, renamed when it is whole."""
    return out.with_name(f".{out.name}.{os.getpid()}.part")
