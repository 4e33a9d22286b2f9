"""What the command refuses, and with which message: before any work, with a remedy, and without writing anything."""

import errno
import inspect
import json
import os
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv as csv
import pytest

import linnet
from linnet.cli.train import train
from linnet.errors import ConfigError, DataError
from linnet.tables import train as trained
from linnet.tables.model import TableModel
from linnet.tables.options import Options, option_names

from .in_process import Completed, call

RNG = np.random.default_rng(0)
ROWS = 120
SIZE = RNG.normal(size=ROWS)
TABLE = pa.table(
    {
        "size": SIZE,
        "years": np.where(np.arange(ROWS) == 7, 0.0, 1 + RNG.random(ROWS)),
        "weight": np.where(np.arange(ROWS) == 9, -1.0, 1.0),
        "prediction": RNG.normal(size=ROWS),
        "claims": RNG.poisson(np.exp(0.5 * SIZE)),
        "price": np.round(3 * SIZE + RNG.normal(size=ROWS), 3),
        "sold": np.where(SIZE + RNG.normal(size=ROWS) > 0, "yes", "no"),
    }
)
DROP = ("--drop", "years", "--drop", "weight")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    csv.write_csv(TABLE, folder / "data.csv")
    csv.write_csv(TABLE.slice(0, 0), folder / "empty.csv")
    csv.write_csv(TABLE.select(["sold"]), folder / "alone.csv")
    for name, target, model in (("sold", "sold", "logistic"), ("price", "price", "linear")):
        words = ("train", "data.csv", "--target", target, "--model", model, *DROP, "-o", f"{name}.linnet")
        assert call(*words, cwd=folder).code == 0
    return folder


def refused(folder: Path, *words: object) -> str:
    """The error message of a command that writes nothing."""
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    result: Completed = call(*words, cwd=folder)
    assert result.code == 2, result
    assert before == {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert result.err.count("\n") == 1
    return result.err


REFUSED: dict[str, tuple[str, ...]] = {
    "seed must be an integer from 0 to 4294967295, got -1": ("--seed", "-1"),
    "threads must be an integer from 1": ("--threads", "0"),
    "threshold must be 'tune' or a number from 0 to 1, got '3'": ("--threshold", "3"),
    "number from 0 to 1, got 'nan'": ("--threshold", "nan"),
    "number from 0 to 1, got 'half'": ("--threshold", "half"),
    "unknown --optimizer 'adm': did you mean 'adam'?": ("--optimizer", "adm"),
    "--class-weight of 'yes' must be at least 0": ("--class-weight", "yes=-5"),
    "--batch-size must be an integer": ("--batch-size", "0"),
    "--valid 0.001 of 120 rows holds out 0": ("--valid", "0.001"),
    "leaves 2 to learn from: lower it": ("--valid", "0.999"),
    "--drop sold: the column has a role": ("--drop", "sold"),
    "column 'sold' is given as target and as weights": ("--weights", "sold"),
    "column 'weight', the weights, has -1 in row 9": ("--weights", "weight"),
    "it is a folder": ("-o", "."),
    "there is no folder nowhere": ("--report", "nowhere/report.html"),
    "data.csv: it is an input, and would be overwritten": ("-o", "data.csv"),
    "two files would have this name": ("-o", "a.linnet", "--report", "a.linnet"),
    "--hidden is for the network, and --model logistic is not one": ("--model", "logistic", "--hidden", "5"),
    "--patience is for the network, and --model perceptron": ("--model", "perceptron", "--patience", "5"),
    "perceptron takes no row weights": ("--model", "perceptron", "--weights", "years"),
    "log_loss needs probabilities, which perceptron does not have": ("--model", "perceptron", "--metric", "log_loss"),
    "a threshold is on probabilities, and perceptron has none": ("--model", "perceptron", "--threshold", "tune"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_training_is_refused(folder: Path, what: str) -> None:
    assert what in refused(folder, "train", "data.csv", "--target", "sold", *REFUSED[what])


def test_an_exposure_of_0_is_named_where_it_is(folder: Path) -> None:
    words = ("train", "data.csv", "--target", "claims", "--exposure", "years", "--drop", "weight")
    assert "column 'years', the exposure, has 0 in row 7: it must be above 0" in refused(folder, *words)


def test_a_file_is_read_once(folder: Path) -> None:
    assert "data.csv is given twice" in refused(folder, "train", "data.csv", "data.csv", "--target", "sold")
    assert "is given twice" in refused(folder, "evaluate", "sold.linnet", "data.csv", folder / "data.csv")


def test_there_must_be_a_column_to_learn_from(folder: Path) -> None:
    words = ("train", "alone.csv", "--target", "sold")
    assert "no column is left to learn from: there is no other one" in refused(folder, *words)


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("predict", "sold.linnet", "empty.csv", "-o", "p.csv"), "the table has no rows"),
        (("predict", "sold.linnet", "empty.csv"), "the table has no rows"),
        (("predict", "sold.linnet", "data.csv", "--seed", "-1", "--sample"), "--seed must be an integer"),
        (("predict", "price.linnet", "data.csv", "--interval", "--level", "2"), "--level must be above 0 and below 1"),
        (("predict", "sold.linnet", "data.csv", "--interval"), "--proba shows how certain a prediction is"),
        (("predict", "sold.linnet", "data.csv", "--keep", "town"), "the table lacks 'town', which is to be kept"),
        (("predict", "sold.linnet", "data.csv", "--keep", "prediction"), "a column of predictions has the same name"),
        (("predict", "sold.linnet", "data.csv", "-o", "nowhere/p.csv"), "there is no folder nowhere"),
        (("predict", "sold.linnet", "data.csv", "-o", "data.csv"), "it is an input, and would be overwritten"),
        (("predict", "sold.linnet", "data.csv", "--json"), "name a file for them with --out"),
        (("evaluate", "sold.linnet", "data.csv", "--level", "7"), "--level must be above 0 and below 1"),
        (("report", "sold.linnet", "data.csv", "-o", "nowhere/r.html"), "there is no folder nowhere"),
        (("export", "sold.linnet", "sold.linnet"), "it is an input, and would be overwritten"),
    ],
)
def test_other_commands_refuse(folder: Path, words: tuple[str, ...], what: str) -> None:
    assert what in refused(folder, *words)


def test_json_has_no_nan(folder: Path) -> None:
    csv.write_csv(TABLE.filter(pa.compute.equal(TABLE["sold"], "yes")), folder / "yes.csv")
    result = call("evaluate", "sold.linnet", "yes.csv", "--json", cwd=folder)

    def no_constant(name: str) -> Any:
        raise AssertionError(name)

    facts = json.loads(result.out, parse_constant=no_constant)
    assert facts["metrics"]["roc_auc"]["value"] is None  # without a row of the other class


def test_what_was_predicted_as_json(folder: Path) -> None:
    result = call("predict", "sold.linnet", "data.csv", "-o", "p.jsonl", "--json", cwd=folder)
    assert json.loads(result.out) == {"file": "p.jsonl", "rows": ROWS, "never_seen": {}, "filled": {}}


def test_options_that_are_the_defaults_count_too(folder: Path) -> None:
    words = ("--model", "mlp", "--optimizer", "adam", "--hidden", "100", "--epochs", "1", *DROP, "-o", "net.linnet")
    assert call("train", "data.csv", "--target", "sold", *words, cwd=folder).code == 0
    net = linnet.load(folder / "net.linnet").estimator
    assert [len(biases) for biases in net.intercepts_] == [100, 1]  # else the tabular preset's own
    assert (net.preset, net.solver, [*net.hidden_layer_sizes]) == ("tabular", "adam", [100])


@pytest.mark.parametrize("metric", ["accuracy", "balanced_accuracy", "f2"])
def test_a_threshold_is_tuned_for_the_metric(folder: Path, metric: str) -> None:
    words = (
        "train",
        "data.csv",
        "--target",
        "sold",
        "--model",
        "logistic",
        *DROP,
        "-o",
        "t.linnet",
        "--metric",
        metric,
    )
    result = call(*words, "--threshold", "tune", cwd=folder)
    assert f"tuned for {metric} on these rows" in result.out
    tuned = linnet.load(folder / "t.linnet").tried[0].scores[metric]
    for cut in np.linspace(0.05, 0.95, 19):
        assert call(*words, "--threshold", cut, cwd=folder).code == 0
        assert linnet.load(folder / "t.linnet").tried[0].scores[metric] <= tuned


@pytest.mark.parametrize("model", ["constant", "linear", "mlp"])
def test_every_model_of_numbers_has_intervals_and_samples(folder: Path, model: str) -> None:
    words = ("--model", model, *DROP, "-o", "i.linnet", *(("--epochs", 20) if model == "mlp" else ()))
    assert call("train", "data.csv", "--target", "price", *words, cwd=folder).code == 0
    found = linnet.load(folder / "i.linnet")
    assert isinstance(found, TableModel)
    low, high = found.predict_interval(TABLE, 0.8)
    assert 0.7 < ((np.asarray(TABLE["price"]) >= low) & (np.asarray(TABLE["price"]) <= high)).mean() < 0.95
    drawn = np.array([found.sample(TABLE, seed) for seed in range(50)])
    assert 0.75 < ((drawn >= low) & (drawn <= high)).mean() < 0.85
    assert (found.sample(TABLE, np.random.RandomState(3)) == drawn[3]).all()
    assert (found.sample(TABLE, np.random.default_rng(3)) == found.sample(TABLE, np.random.default_rng(3))).all()
    with pytest.raises(ConfigError, match="random_state must be"):
        found.sample(TABLE, "3")


@pytest.mark.parametrize("model", ["constant", "linear", "poisson"])
def test_every_model_of_counts_has_intervals_and_samples(folder: Path, model: str) -> None:
    words = ("--model", model, *DROP, "-o", "c.linnet")
    assert call("train", "data.csv", "--target", "claims", *words, cwd=folder).code == 0
    assert call("predict", "c.linnet", "data.csv", "--interval", "-o", "c.csv", cwd=folder).code == 0
    table = csv.read_csv(folder / "c.csv")
    inside = (np.asarray(TABLE["claims"]) >= np.asarray(table["low"])) & (
        np.asarray(TABLE["claims"]) <= np.asarray(table["high"])
    )
    assert inside.mean() > 0.9
    assert call("predict", "c.linnet", "data.csv", "--sample", "-o", "c.csv", cwd=folder).code == 0


def test_a_constant_draws_classes_by_their_shares(folder: Path) -> None:
    words = ("--model", "constant", *DROP, "-o", "s.linnet")
    assert call("train", "data.csv", "--target", "sold", *words, cwd=folder).code == 0
    found = linnet.load(folder / "s.linnet")
    drawn = np.concatenate([found.sample(TABLE, seed) for seed in range(30)])
    assert abs((drawn == "yes").mean() - found.predict_proba(TABLE)[0, 1]) < 0.03
    assert (found.sample(TABLE, np.random.RandomState(3)) == found.sample(TABLE, 3)).all()
    assert (found.sample(TABLE, np.random.default_rng(3)) == found.sample(TABLE, np.random.default_rng(3))).all()


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("--target", "sold", "--task", "a number"), "the target 'sold' holds no numbers, but category such as"),
        (("--target", "sold", "--task", "counts"), "the task 'counts' needs them"),
        (("--target", "price", "--task", "two classes"), "the task 'two classes' needs 2: choose 'many classes'"),
        (("--target", "sold", "--valid", "data.csv"), "these are training rows"),
        (("--target", "sold", "--valid", "alone.csv"), "the held-out rows: the table does not fit the model: column"),
    ],
)
def test_impossible_tasks_and_validation_rows(folder: Path, words: tuple[str, ...], what: str) -> None:
    message = refused(folder, "train", "data.csv", *words)
    assert what in message
    assert message.count("does not fit") <= 1  # not once for every candidate


def test_frames_of_any_library(folder: Path) -> None:
    model = linnet.load(folder / "sold.linnet")
    expected = model.predict_proba(TABLE)
    for frame in (TABLE.to_pandas(), pl.from_arrow(TABLE)):
        assert (model.predict_proba(frame) == expected).all()
        assert (model.predict(frame) == model.predict(TABLE)).all()
        assert (model.sample(frame, 1) == model.sample(TABLE, 1)).all()
    low, _ = linnet.load(folder / "price.linnet").predict_interval(TABLE.to_pandas())
    assert np.isfinite(low).all()
    for nothing in (None, [], [1.0], np.zeros((2, 2))):
        with pytest.raises(DataError, match="takes a path or several, a data frame, a table of pyarrow"):
            model.predict(nothing)
    assert (model.predict(TABLE.to_batches()[0]) == model.predict(TABLE)).all()
    mixed = TABLE.to_pandas().assign(size=["1", 2, 3.0, b"x"] * (ROWS // 4))
    with pytest.raises(DataError, match=r"cannot be read as a table: .*size"):
        model.predict(mixed)
    with pytest.raises(DataError, match="no rows"):
        model.predict(TABLE.slice(0, 0).to_pandas())


def test_the_error_of_a_full_disk_names_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    words = ("train", "data.csv", "--target", "sold", "--model", "constant", "-o", "big.linnet")
    result = call(*words, cwd=folder)
    assert (result.code, result.err) == (2, f"error: big.linnet: {os.strerror(errno.ENOSPC)}\n")
    assert not [path for path in folder.iterdir() if "big" in path.name]


@pytest.mark.parametrize(
    "command", ["", "config", "demo", "evaluate", "export", "inspect", "play", "predict", "report", "train"]
)
def test_help_has_examples(tmp_path: Path, command: str) -> None:
    done = call(*command.split(), "--help", cwd=tmp_path)
    assert done.code == 0
    assert "Examples: " in done.out
    assert f"linnet {command}" in done.out.partition("Examples: ")[2]


def test_the_result_is_printed_before_the_page_is_made(folder: Path) -> None:
    words: tuple[str, ...] = ("train", "data.csv", "--target", "sold", "--model", "logistic", *DROP)
    lines = call(*words, "-o", "r.linnet", "--report", "r.html", cwd=folder).out.splitlines()
    assert [line.split()[1] for line in lines if line.startswith("saved")] == ["r.linnet", "r.html"]
    assert (folder / "r.html").stat().st_size > 10_000


def test_the_command_has_an_option_for_every_parameter() -> None:
    from typer.main import get_command

    from linnet.cli import app

    train = get_command(app).commands["train"]  # type: ignore[attr-defined]
    options = {name.lstrip("-") for each in train.params for name in each.opts}
    own = {"data", "target", "delimiter", "out", "o", "report", "json", "help"}  # of the command alone
    assert options - own == {*option_names().values()} - {"verbose"}  # it shows progress on a terminal


def test_the_command_that_is_printed_trains_the_same_model(folder: Path, tmp_path: Path) -> None:
    words = ["data.csv", "--target", "sold", "--model", "mlp", "--hidden", "4,3", "--dropout", "0.1,0.2"]
    words += ["--activation", "relu,tanh", "--class-weight", "yes=2,no=1", *DROP, "--valid", "0.3"]
    words += ["--threshold", "0.4", "--epochs", "3", "--metric", "f2", "--learning-rate", "0.02", "--seed", "3"]
    result = call("train", *words, "-o", tmp_path / "first.linnet", "--json", cwd=folder)
    assert result.code == 0, result.err
    command = shlex.split(json.loads(result.out)["command"])
    assert call(*command[1:], "-o", tmp_path / "second.linnet", cwd=folder).code == 0
    assert (tmp_path / "first.linnet").read_bytes() == (tmp_path / "second.linnet").read_bytes()
    report = json.loads(call("report", tmp_path / "first.linnet", "data.csv", "--json", cwd=folder).out)
    assert shlex.split(report["command"])[3:] == command[3:]


TYPED: dict[str, tuple[str, Any]] = {  # of each option of `linnet train`: words, and what Options should have of them
    "task": ("counts", "counts"),
    "model": ("linear", "linear"),
    "hidden": ("3,2", (3, 2)),
    "activation": ("tanh", "tanh"),
    "dropout": ("0.1,0.2", [0.1, 0.2]),
    "optimizer": ("sgd", "sgd"),
    "learning_rate": ("0.5", 0.5),
    "batch_size": ("7", 7),
    "epochs": ("8", 8),
    "patience": ("9", 9),
    "loss": ("mse", "mse"),
    "initializer": ("zeros", "zeros"),
    "l1": ("0.25", 0.25),
    "l2": ("0.125", 0.125),
    "exposure": ("years", "years"),
    "offset": ("years", "years"),
    "weights": ("weight", "weight"),
    "class_weight": ("yes=2,no=1", {"yes": 2.0, "no": 1.0}),
    "drop": ("years", ("years",)),
    "text": ("size", ("size",)),
    "valid": ("0.3", 0.3),
    "metric": ("rmse", "rmse"),
    "threshold": ("tune", "tune"),
    "seed": ("5", 5),
    "threads": ("1", 1),
    "checkpoint": ("run.part", "run.part"),
    "resume": ("run.part", True),
}
NOT_OPTIONS = {"data", "target", "delimiter", "out", "report", "as_json"}  # parameters of the command for itself


def test_every_option_is_typed_below() -> None:
    assert TYPED.keys() == inspect.signature(train).parameters.keys() - NOT_OPTIONS
    names = {name: option.replace("-", "_") for name, option in option_names().items()}
    assert {*names.values()} - {"verbose"} == TYPED.keys()


@pytest.mark.parametrize("option", TYPED)
def test_what_is_typed_reaches_the_training(option: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An option that got lost on the way would silently do nothing."""
    reached: list[Options] = []

    def train_on(data: Any, target: str, options: Options, *rest: Any, **others: Any) -> None:
        reached.append(options)
        raise ConfigError("enough")

    monkeypatch.setattr(trained, "train_on", train_on)
    word, value = TYPED[option]
    of_sequential = ("--model", "sequential") if option in ("loss", "initializer", "l1", "l2") else ()
    result = call(
        *("train", "data.csv", "--target", "sold", f"--{option.replace('_', '-')}", word, *of_sequential), cwd=folder
    )
    assert result.code == 2, result.err
    name = next(name for name, each in option_names().items() if each.replace("-", "_") == option)
    assert getattr(reached[0], name) == value != getattr(Options(), name)
