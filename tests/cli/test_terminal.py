"""Names and cells reach the terminal as text: none of it is a command to the terminal or a spreadsheet."""

import csv
import io
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pyarrow_csv
import pytest

from linnet.cli.terminal import Guard, guarded, shown
from linnet.cli.writing import for_spreadsheets, formulas

from .in_process import call

PAYLOADS = [
    *("\x1b[31m", "\x1b[2J", "\x1b[H", "\x1b[1A", "\x1b[?1049h", "\x1b[6n", "\x1bc", "\x1b7", "\x1b#8", "\x1b(0"),
    *("\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\", "\x1b]52;c;AAAA\x07", "\x1b]1337;File=:x\x07", "\x1bP+q544e\x1b\\"),
    *("\x1b_G1\x1b\\", "\x1b^x\x1b\\", "\x1bXx\x1b\\", "\x9b31m", "\x9d0;x\x9c", "\x90x\x9c", "\x85", "\x8d", "\x84"),
    *("\x07", "\x08\x08\x08", "\x0e", "\x0b", "\x7f", "\u202e", "\u2066", "\u2028", "[bold red]", "[link=x]"),
    *("\nFORGED", "\r\nFORGED"),
]
DRAWN = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\x1b\[\d*[KA]|\r")  # what rich itself writes
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
NAMES = [f"{payload}MARK{place}" for place, payload in enumerate(PAYLOADS)]
DATA, MODEL = "data\x1b[31mMARK\nFORGED.csv", "model\x1b]0;x\x07\nFORGED.linnet"
TARGET = f"target {''.join(PAYLOADS)}MARK"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, rng = tmp_path_factory.mktemp("tables"), np.random.default_rng(0)
    rows = 5 * len(NAMES)
    table: dict[str, Any] = {name: rng.normal(size=rows) for name in NAMES}
    table["level"] = [NAMES[row % len(NAMES)] for row in range(rows)]
    table["constant" + PAYLOADS[0]] = [NAMES[0]] * rows
    table[TARGET] = rng.choice([f"yes{PAYLOADS[10]}MARK", f"no{PAYLOADS[18]}MARK"], rows)
    pyarrow_csv.write_csv(pa.table(table), folder / DATA)
    assert call("train", DATA, "--target", TARGET, "--model", "logistic", "-o", MODEL, cwd=folder).code == 0
    return folder


def check(text: str) -> None:
    for name in NAMES:
        assert not CONTROL.search(name) or name not in text
    found = CONTROL.search(DRAWN.sub("", text))
    assert found is None, repr(text[max(0, found.start() - 80) : found.end() + 40])
    assert not re.search("^FORGED", DRAWN.sub("", text), re.MULTILINE), (
        "a line that looks like one of the command's own"
    )


@pytest.mark.parametrize("terminal", [True, False])
def test_no_control_sequence_of_the_data_is_shown(folder: Path, terminal: bool) -> None:
    data, model = DATA, MODEL
    commands: list[tuple[int, tuple[str, ...]]] = [
        (0, ("inspect", data)),
        (0, ("inspect", data, "--target", TARGET)),
        (0, ("inspect", data, "--target", TARGET, "--json")),
        (2, ("inspect", data, "--target", NAMES[0] + "x")),
        (2, ("inspect", "none\x1b[2JMARK.csv")),
        (
            0,
            (
                "train",
                data,
                "--target",
                TARGET,
                "--model",
                "logistic",
                "-o",
                model,
                "--report",
                "page\x1b[31m\nFORGED.html",
            ),
        ),
        (2, ("train", data, "--target", TARGET, "--drop", TARGET)),
        (2, ("train", data, "--target", TARGET, "--model", "\x1b[31mMARK")),
        (2, ("train", data, "--target", TARGET, "--seed", "\x1b[31mMARK")),
        (2, ("train", data, "--target", TARGET, "--\x1b[31mMARK")),
        (2, ("\x1b[31mMARK",)),
        (0, ("evaluate", model, data)),
        (2, ("evaluate", model, data, "--metric", "\x1b[31mMARK")),
        (0, ("report", model, data, "--json")),
        (0, ("predict", model, data, "--keep", NAMES[0], "-o", "rows\x1b[31mMARK\nFORGED.csv", "--proba")),
        (0, ("predict", model, data, "--keep", "level", "-o", "rows.jsonl")),
        (0, ("report", model, data, "-o", "page\nFORGED.html")),
        (0, ("export", model, "model\x1b[31m\nFORGED.onnx")),
    ]
    for code, words in commands:
        result = call(*words, cwd=folder, terminal=terminal)
        assert result.code == code, result.err
        check(result.out)
        check(result.err)
        if "--json" in words:
            json.loads(result.out)
    kept = [json.loads(row)["level"] for row in (folder / "rows.jsonl").read_text().splitlines()]
    assert kept[: len(NAMES)] == NAMES  # a file contains the original text


def test_predictions_are_data_in_a_pipe_and_text_on_a_terminal(folder: Path) -> None:
    words = ("predict", MODEL, DATA, "--keep", "level")
    piped = call(*words, cwd=folder)
    assert [row["level"] for row in csv.DictReader(io.StringIO(piped.out, newline=""))][: len(NAMES)] == NAMES
    seen = call(*words, cwd=folder, terminal=True)
    check(seen.out)
    assert r"\x1b[31mMARK0" in seen.out


@pytest.mark.skipif(sys.platform != "linux", reason="a shell that closes streams")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&- <&-"])
def test_streams_may_be_closed(tmp_path: Path, closed: str) -> None:
    pyarrow_csv.write_csv(pa.table({"x": np.sin(np.arange(50.0)), "y": ["no", "yes"] * 25}), tmp_path / "data.csv")
    words = f"-m linnet train data.csv --target y --model constant -o m.linnet {closed}"
    command = f"{shlex.quote(sys.executable)} {words}"
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "m.linnet").stat().st_size > 0


def test_the_guard_is_all_that_prints_go_through(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), "ascii", write_through=True)
    monkeypatch.setattr("sys.stdout", stream)
    with guarded():
        print("a\x1b[31m\tb\x9bü\ud800\n\u202e")
        assert not sys.stdout.isatty()
    assert stream.buffer.getvalue() == rb"a\x1b[31m" + b"\tb" + rb"\x9b\xfc\ud800" + b"\n" + rb"\u202e" + b"\n"
    assert isinstance(Guard(stream).buffer, io.BytesIO)
    assert shown("plain\ttext\nof two lines ü 日本 👩\u200d🔬") == "plain\ttext\nof two lines ü 日本 👩\u200d🔬"


TEXTS = [
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2+3+cmd",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "-",
    "-x",
    "a=1",
    "",
    "-17",
    "+4.5e-3",
    "-.5",
    "x-1",
]
HARMLESS = 6  # of them, at the end


def test_formulas_are_texts_if_asked_for(folder: Path) -> None:
    table = pa.table({"text": TEXTS, "=name": [-1.5] * len(TEXTS), "missing": pa.nulls(len(TEXTS), pa.string())})
    changed = for_spreadsheets(table)
    few = len(TEXTS) - HARMLESS
    assert changed["text"].to_pylist() == [f"'{text}" for text in TEXTS[:few]] + TEXTS[few:]
    assert changed.column_names == ["text", "'=name", "missing"]
    assert changed["'=name"].to_pylist() == [-1.5] * len(TEXTS)
    assert formulas(table) == {"text": few, "=name": 1}
    assert formulas(changed) == {}
    rows = {"x": np.sin(np.arange(100.0)), "id": ["=1+1"] * 50 + ["b"] * 50, "y": ["+yes", "-no"] * 50}
    pyarrow_csv.write_csv(pa.table(rows), folder / "formulas.csv")
    words = ("train", "formulas.csv", "--target", "y", "--drop", "id", "--model", "constant", "-o", "f.linnet")
    assert call(*words, cwd=folder).code == 0
    result = call("predict", "f.linnet", "formulas.csv", "--keep", "id", "-o", "f.csv", cwd=folder)
    assert "note: 50 texts of 'id' begin with =, +, - or @" in result.err
    assert "note: 100 texts of 'prediction'" in result.err
    assert '"=1+1"' in (folder / "f.csv").read_text()
    result = call("predict", "f.linnet", "formulas.csv", "--keep", "id", "-o", "f.csv", "--spreadsheet", cwd=folder)
    assert "note" not in result.err
    assert (folder / "f.csv").read_text().splitlines()[1] == """"'=1+1","'+yes\""""
    result = call("predict", "f.linnet", "formulas.csv", "-o", "f.parquet", "--spreadsheet", cwd=folder)
    assert (result.code, "--spreadsheet is for CSV" in result.err) == (2, True)


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes")
@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow", "jsonl"])
def test_names_of_files_that_are_not_utf8(tmp_path: Path, suffix: str) -> None:
    data, model, out = (os.fsdecode(name) for name in (b"d\xff.csv", b"m\xff.linnet", b"p\xff." + suffix.encode()))
    pyarrow_csv.write_csv(pa.table({"x": np.sin(np.arange(50.0)), "y": ["no", "yes"] * 25}), tmp_path / "data.csv")
    (tmp_path / "data.csv").rename(tmp_path / data)
    result = call(
        "train", data, "--target", "y", "--model", "constant", "-o", model, "--report", "r.html", cwd=tmp_path
    )
    assert result.code == 0, result.err
    assert r"saved m\udcff.linnet" in result.out
    result = call("predict", model, data, "-o", out, cwd=tmp_path)
    assert (result.code, result.err) == (0, "50 rows written to p\\udcff." + suffix + "\n")
    assert (tmp_path / out).stat().st_size > 0
    assert len(list(tmp_path.iterdir())) == 4
