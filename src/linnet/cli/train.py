"""`linnet train`: a table in, a model file and a report out."""

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linnet.cli import terminal
from linnet.cli.options import in_options
from linnet.cli.reading import character, progress
from linnet.cli.terminal import line
from linnet.cli.writing import check_out, json_text
from linnet.errors import ConfigError, LinnetError

if TYPE_CHECKING:
    from rich.console import Console

    from linnet.tables.model import TableModel, Tried
    from linnet.tables.options import Options

Text = str | None


def train(
    data: Annotated[list[str], typer.Argument(help="Files or folders of one table, - for standard input.")],
    target: Annotated[str, typer.Option(help="The column to predict.")],
    task: Annotated[
        Text, typer.Option(help="two classes, many classes, counts, or a number; inferred by default.")
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            help="auto, constant, linear, logistic, softmax, perceptron, poisson, negative_binomial, mlp or sequential."
        ),
    ] = "auto",
    hidden: Annotated[Text, typer.Option(help="Units of the network's layers, such as 64,32.")] = None,
    activation: Annotated[
        Text, typer.Option(help="Activations of the network's layers, such as tanh, or relu,tanh.")
    ] = None,
    dropout: Annotated[Text, typer.Option(help="Dropout rates of the network's layers, such as 0.1, or 0.2,0.")] = None,
    optimizer: Annotated[
        Text, typer.Option(help="adam, adamw, sgd, rmsprop or adagrad; of sequential also momentum, nesterov.")
    ] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Learning rate of the network's optimizer.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Rows per step of the network.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Maximum number of epochs of the network.")] = None,
    patience: Annotated[int | None, typer.Option(help="Epochs without improvement before training stops.")] = None,
    loss: Annotated[Text, typer.Option(help="Loss of sequential, such as mse; chosen by the task by default.")] = None,
    initializer: Annotated[
        Text, typer.Option(help="Initial weights of sequential, such as he_normal, or zeros.")
    ] = None,
    l1: Annotated[float | None, typer.Option(help="Of sequential: factor of the sum of absolute weights.")] = None,
    l2: Annotated[float | None, typer.Option(help="Of sequential: factor of the sum of squared weights.")] = None,
    exposure: Annotated[Text, typer.Option(help="Column of exposures: how long or how much was counted.")] = None,
    offset: Annotated[Text, typer.Option(help="Column added to the linear predictor.")] = None,
    weights: Annotated[Text, typer.Option(help="Column of row weights.")] = None,
    class_weight: Annotated[Text, typer.Option(help="balanced, or class=weight,class=weight.")] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Column to leave out; may be repeated.")] = None,
    text: Annotated[list[str] | None, typer.Option(help="Column whose words are used; may be repeated.")] = None,
    valid: Annotated[
        str, typer.Option(help="A file of rows that choose the model, or their share of the data.")
    ] = "0.2",
    metric: Annotated[Text, typer.Option(help="Metric that chooses the model, such as log_loss, f2 or rmse.")] = None,
    threshold: Annotated[Text, typer.Option(help="tune, or a number, for two classes.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same model.")] = 0,
    threads: Annotated[int | None, typer.Option(help="Maximum number of threads.")] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="A file for checkpoints of the network, for --resume after a crash.")
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Continue from a checkpoint; data and options must be the same.")
    ] = None,
    delimiter: Annotated[Text, typer.Option(help="Field delimiter of text files; detected by default.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The model file.")] = Path("model.linnet"),
    report: Annotated[Path | None, typer.Option(help="A page about the model, such as report.html.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Train on a table: read its columns, try models from simple to complex, keep the best on held-out rows.

    Examples: `linnet train data.csv --target price`,
    `linnet train claims.parquet --target claims --exposure years --model poisson -o claims.linnet`

    `--model sequential` is one network on columns of numbers as they are, for just so many epochs: what `Sequential`
    and the playground train, to the same bytes.
    """
    typed: dict[str, Any] = dict(locals())
    from linnet.fit.loop import progress as bars
    from linnet.tables.options import Options, option_names
    from linnet.tables.train import train_on

    if checkpoint is not None and resume is not None:
        raise ConfigError("--checkpoint starts a run and --resume continues one, in the same file: give one of them")
    run = checkpoint or resume
    console = terminal.console(quiet=as_json)
    bars.console = terminal.console
    parsed = {
        "hidden_layer_sizes": _several("hidden", hidden, int),
        "activation": _one(_several("activation", activation, str)),
        "dropout": _one(_several("dropout", dropout, float)),
        "class_weight": _class_weight(class_weight),
        "valid": float(valid) if _is_number(valid) else valid,
        "checkpoint": None if run is None else str(run),
        "resume": resume is not None,
        "verbose": int(terminal.is_terminal(errors=True) and not as_json),
    }
    as_typed = {name: option for name, option in option_names().items() if name not in parsed}
    options = Options(**parsed, **{name: typed[option.replace("-", "_")] for name, option in as_typed.items()})
    check_out(out, report, run, data=[*data, *([] if _is_number(valid) else [valid])])
    listener = _listener(console, data, quiet=as_json)
    found = train_on(data, target, options, listener, folder=out.parent, delimiter=character(delimiter))
    asked = {"target": target, **options.given} | ({} if delimiter is None else {"delimiter": delimiter})
    found = replace(found, facts={**found.facts, "parameters": asked, "by": "command"})
    found.save(out)
    _say_result(console, found, out, options)
    if report is not None:
        with console.status("writing the report"):
            _write_report(report, found, data)
        console.print(line(f"saved {report} ({report.stat().st_size / 1000:,.0f} kB)"))
    if as_json:
        print(json_text({**_as_json(found, out), **_of_the_run(found, data)}))


def _of_the_run(model: "TableModel", data: list[str]) -> dict[str, Any]:
    """Return the facts of a run that its model does not have."""
    from linnet.tables.options import command_of

    assert model.run is not None
    command = command_of(model.facts["parameters"], data)
    return {"files": list(model.run.files), "command": command, "notices": list(model.run.notices)}


def _write_report(path: Path, model: "TableModel", data: list[str]) -> None:
    from linnet.report import facts_of, write_report

    assert model.run is not None
    write_report(path, facts_of(model, training=model.run.training, **_of_the_run(model, data)))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _several(name: str, text: Text, kind: Any) -> Any:
    """The values between commas, or None if there is no text."""
    if text is None:
        return None
    try:
        return tuple(kind(part.strip()) for part in text.split(",") if part.strip())
    except ValueError:
        what = "integers such as 64,32" if kind is int else "numbers such as 0.1,0"
        raise ConfigError(f"--{name} must be {what}, got {text!r}") from None


def _one(values: Any) -> Any:
    """A list, or the value itself if it is the only one."""
    return values if values is None else list(values) if len(values) != 1 else values[0]


def _class_weight(given: Text) -> Any:
    if given is None or given == "balanced":
        return given
    try:
        return {name: float(weight) for name, _, weight in (part.rpartition("=") for part in given.split(","))}
    except ValueError:
        raise ConfigError(f"--class-weight must be balanced or class=weight,class=weight, got {given!r}") from None


def _listener(console: "Console", data: list[str], *, quiet: bool) -> Any:
    """Return a listener that prints the progress of a training."""
    from linnet.tables.train import Listener

    class Printer(Listener):
        def read(self, schema: Any, notices: Sequence[str], suspects: Any) -> None:
            name = Path(data[0]).name if len(data) == 1 else f"{len(data)} files"
            console.soft_wrap = True
            console.print(line(f"{name}: {schema.rows:,} rows, {len(schema.columns)} columns, {len(schema.used)} used"))
            console.print(line(f"task: {schema.task} ({schema.reason})"))
            self.noticed(notices)
            for suspect in suspects:
                console.print(line(f"warning: {suspect}", "yellow"))

        def begins(self, name: str) -> None:
            if console.is_terminal:  # a line above the bars that models and readers show by themselves
                console.print(f"training: {name}", style="dim")

        def noticed(self, notices: Sequence[str | LinnetError]) -> None:
            for notice in notices:
                message = in_options(notice) if isinstance(notice, LinnetError) else notice
                console.print(line(f"note: {message}", "dim"))

        def reading(self, what: str) -> Any:
            return progress(not quiet, what)

    return Printer()


def _say_result(console: "Console", model: "TableModel", out: Path, options: "Options") -> None:
    from rich import box
    from rich.table import Table

    if not console.is_terminal:
        console.width = max(console.width, 120)
    chosen = next(one for one in model.tried if one.chosen)
    shown = [name for name, value in chosen.scores.items() if value == value][:5]
    table = Table(box=box.SIMPLE_HEAD, title=f"on {model.facts['held_out']:,} held-out rows", title_justify="left")
    table.add_column("model")
    for name in shown:
        table.add_column(name + (" *" if name == model.metric else ""), justify="right")
    table.add_column("seconds", justify="right")
    for one in (one for one in model.tried if not one.failed):
        values = [f"{one.scores[name]:.4g}" if name in one.scores else "" for name in shown]
        table.add_row(one.name, *values, f"{one.seconds or 0:.2f}", style="bold" if one.chosen else "")
    console.print(table)
    for one in (one for one in model.tried if one.failed):
        console.print(line(f"{one.name} failed: {one.failed}", "yellow"))
    if losses := model.facts.get("losses"):
        console.print(f"loss {losses['train']:.8g} on the training rows, {losses['held_out']:.8g} on the held-out rows")
    console.print(line(_kept(model, chosen, options)))
    rivals = [one for one in model.tried if not one.failed and one is not chosen]
    if not math.isfinite(chosen.scores[model.metric]):
        message = f"warning: {model.metric} is finite for no model: scale the target, or choose by another --metric"
        console.print(message, style="yellow")
    elif chosen.name == "constant" and rivals:
        console.print("warning: no model predicts better than a constant", style="yellow")
    elif chosen.name == "constant" and options.model == "auto":
        console.print("warning: it predicts the same for every row; no other model was fitted", style="yellow")
    console.print(line(f"saved {out} ({out.stat().st_size / 1000:,.0f} kB)"))


def _kept(model: "TableModel", chosen: "Tried", options: "Options") -> str:
    """Return a line on which model is kept, why, and its threshold."""
    from linnet.tables.select import tuned_for

    summary = f"{chosen.name} is kept" + (f", by {model.metric}" if len(model.tried) > 1 else "")
    if of_laws := model.facts.get("distribution_metric"):
        summary += f" (between distributions of counts, by {of_laws})"
    if model.law is not None and model.law.parameter is not None:
        summary += f"; counts are {model.law.head.title}, with a dispersion of {model.law.parameter:.4g}"
    if model.threshold is None:
        return summary
    tuned = f", tuned for {tuned_for(options.metric)} on these rows" if options.threshold == "tune" else ""
    return f"{summary}; threshold {model.threshold:.4g}{tuned}"


def _as_json(model: "TableModel", out: Path) -> dict[str, Any]:
    return {
        "model": str(out),
        "task": model.task,
        "reason": model.schema.reason,
        "metric": model.metric,
        "threshold": model.threshold,
        "dispersion": None if model.law is None else model.law.parameter,
        "tried": [asdict(one) for one in model.tried],
        "classes": None if model.classes is None else model.classes.tolist(),
        **model.facts,
    }
