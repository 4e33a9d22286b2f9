"""`linnet train --checkpoint`, killed at several moments, and `--resume`: the model of a run that was left alone."""

import io
import json
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest

import linnet
from linnet.fit.checkpoint.checkpoint import read_checkpoint

from .in_process import call

RNG = np.random.default_rng(0)
ROWS = 2500
SIZE, COLOUR, PLACE = RNG.normal(50, 10, ROWS), RNG.choice(["red", "blue", "green"], ROWS), RNG.normal(size=ROWS)
SCORE = SIZE + 10 * (COLOUR == "red") + 10 * np.sin(3 * PLACE) + RNG.normal(0, 5, ROWS)
TABLE = pa.table({"size": SIZE, "colour": COLOUR, "place": PLACE, "sold": np.where(SCORE > 53, "yes", "no")})
WORDS = ("train", "data.csv", "--target", "sold", "--threads", "1", "--epochs", "200", "--patience", "200")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    csv.write_csv(TABLE, folder / "data.csv")
    return folder


def start(folder: Path, *words: str) -> "subprocess.Popen[str]":
    line = [sys.executable, "-m", "linnet", *words]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder)


def run(folder: Path, *words: str, code: int = 0) -> str:
    process = start(folder, *words)
    output, errors = process.communicate()
    assert process.returncode == code, output + errors
    assert "Traceback" not in errors
    assert code == 0 or len(errors.strip().splitlines()) == 1
    return errors if code else output


def killed(folder: Path, words: tuple[str, ...], writes: int, delay: float) -> bool:
    """Kill the command some time after a number of checkpoints; return whether it was still running."""
    path, seen = folder / "run.ckpt", set[int]()
    known = path.stat().st_mtime_ns if path.exists() else 0
    process = start(folder, *words, "-o", "killed.linnet")
    while process.poll() is None and len(seen) < writes:
        time.sleep(0.005)
        if path.exists() and (written := path.stat().st_mtime_ns) != known:
            seen.add(written)
    time.sleep(delay)
    process.kill()
    process.communicate()
    return process.returncode == -signal.SIGKILL


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_killed_and_resumed(folder: Path) -> None:
    run(folder, *WORDS, "-o", "whole.linnet")
    assert killed(folder, (*WORDS, "--checkpoint", "run.ckpt"), writes=0, delay=0.2)  # before there is anything
    assert "no checkpoint run.ckpt to resume" in run(folder, *WORDS, "--resume", "run.ckpt", code=2)
    epochs, words = list[int](), (*WORDS, "--checkpoint", "run.ckpt")
    for writes, delay in [(1, 0.0), (2, 0.0), (2, 0.1)]:  # the first write is at the beginning, then one a second
        if not killed(folder, words, writes, delay):
            break
        epochs.append(len(read_checkpoint(folder / "run.ckpt").history))
        assert not (folder / "killed.linnet").exists()
        words = (*WORDS, "--resume", "run.ckpt")
    assert epochs == sorted(epochs)
    assert epochs[-1] > 0
    output = run(folder, *WORDS, "--resume", "run.ckpt", "-o", "resumed.linnet")
    assert "mlp is kept" in output
    whole = (folder / "whole.linnet").read_bytes()
    assert (folder / "resumed.linnet").read_bytes() == whole
    assert linnet.load(folder / "resumed.linnet").estimator.checkpoint is None
    run(folder, *WORDS, "--resume", "run.ckpt", "-o", "again.linnet")  # a run that is over
    assert (folder / "again.linnet").read_bytes() == whole
    assert not list(folder.glob(".*"))


@pytest.mark.parametrize("model", ["auto", "perceptron", "sequential"])
def test_the_same_run_gives_the_same_file(folder: Path, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the files are called, on any number of threads; the file contains the options."""
    csv.write_csv(TABLE.drop_columns(["colour"]), folder / "numbers.csv")
    words: tuple[str, ...] = ("--target", "sold", "--model", model, "--seed", "3")
    words += () if model == "perceptron" else ("--epochs", "2", "--hidden", "4,3")
    result = call("train", "numbers.csv", *words, "--threads", "1", "-o", "one.linnet", "--json", cwd=folder)
    assert result.code == 0, result.err
    other = folder / model
    other.mkdir()
    (other / "renamed.csv").write_bytes((folder / "numbers.csv").read_bytes())
    more = ("--threads", "2", "--report", "page.html", *(("--checkpoint", "run.ckpt") if model == "auto" else ()))
    assert call("train", "renamed.csv", *words, *more, cwd=other).code == 0
    one = (folder / "one.linnet").read_bytes()
    assert (other / "model.linnet").read_bytes() == one
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((folder / "numbers.csv").read_bytes())))
    assert call("train", "-", *words, "-o", "piped.linnet", cwd=folder).code == 0
    assert (folder / "piped.linnet").read_bytes() == one
    assert not any(text in one for text in (b"numbers.csv", b"renamed", b"thread", b"second", b"--target"))
    command = json.loads(result.out)["command"]  # made of the settings in the file
    assert call(*shlex.split(command)[1:], "-o", "repeated.linnet", cwd=folder).code == 0
    assert (folder / "repeated.linnet").read_bytes() == one
    assert f"<code>{command.replace('numbers', 'renamed')}</code>" in (other / "page.html").read_text()
    assert call("report", "one.linnet", "numbers.csv", "-o", "later.html", cwd=folder).code == 0
    assert f"<code>{command.replace('numbers.csv', 'DATA')}</code>" in (folder / "later.html").read_text()


def test_what_is_refused(folder: Path) -> None:
    words = ("train", "data.csv", "--target", "sold", "--epochs", "2")
    assert call(*words, "--checkpoint", "small.ckpt", "-o", "small.linnet", cwd=folder).code == 0
    resume = (*words, "--resume", "small.ckpt", "-o", "other.linnet")
    csv.write_csv(TABLE.slice(0, ROWS - 1), folder / "shorter.csv")
    renamed = TABLE.rename_columns(["size", "colour", "location", "sold"])
    csv.write_csv(renamed, folder / "renamed.csv")
    for given, reason in [
        ((*resume, "--epochs", "3"), "--epochs was 2, now 3"),
        ((*resume, "--hidden", "8"), "--hidden was"),
        ((*resume, "--seed", "1"), "--seed was 0, now 1"),
        ((*resume, "--class-weight", "balanced"), "--class-weight was None, now 'balanced'"),
        ((*resume, "--drop", "colour"), "now they lack 'colour=blue', 'colour=green', 'colour=red'"),
        ((*resume, "--valid", "0.3"), "cannot resume with other data"),
        (("train", "shorter.csv", *resume[2:]), "cannot resume with other data"),
        (("train", "renamed.csv", *resume[2:]), "cannot resume with other data: the columns"),
        ((*words[:4], "--resume", "small.ckpt", "--model", "logistic"), "--model logistic has none: use auto or mlp"),
        ((*resume, "--checkpoint", "small.ckpt"), "give one of them"),
        ((*words, "--resume", "renamed.csv"), "is damaged or not a linnet checkpoint"),
        ((*words, "--checkpoint", "data.csv"), "it is an input, and would be overwritten"),
        ((*words, "--checkpoint", "renamed.csv"), "exists and is not a checkpoint"),
        ((*words, "--checkpoint", "no/folder/run.ckpt"), "there is no folder"),
    ]:
        result = call(*given, cwd=folder)
        assert (result.code, len(result.err.strip().splitlines())) == (2, 1)
        assert reason in result.err
    assert not (folder / "other.linnet").exists()
    assert csv.read_csv(folder / "data.csv").num_rows == ROWS
