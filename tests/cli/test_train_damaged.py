"""Damaged tables through all of `linnet train`: a model file that loads or a one-sentence error, nothing between.

LINNET_CASES=2000 runs so many cases; without it, those that take about a minute.
"""

import os
import subprocess
import sys
import warnings
from itertools import islice
from pathlib import Path

import pytest

import linnet
from linnet.errors import DataError, DataWarning
from linnet.tables.io.sources import open_source
from linnet.tables.model import TableModel

from ..tables.io.damaged_tables import Case, damaged, large  # noqa: TID252 - of the reader's tests
from .in_process import Completed, call

COUNT = int(os.environ.get("LINNET_CASES", "300"))
BATCH = 50


def words_of(case: Case, name: str) -> list[str]:
    words = ["train", name, "--target", case.target, "--model", case.model, "-o", "model.linnet"]
    return [*words, "--epochs", "1", "--hidden", "4"] if case.model in ("auto", "mlp") else words


def check(case: str, result: Completed, folder: Path) -> bool:
    """Return whether there is a model, which must agree with what the command printed."""
    out = folder / "model.linnet"
    assert "Traceback" not in result.err, case
    assert not list(folder.glob(".*")), case
    if result.code == 0:
        assert isinstance(linnet.load(out), TableModel), case
        assert "saved model.linnet" in result.out, case
        assert all(line.startswith("note: ") for line in result.err.splitlines()), f"{case}: {result.err}"
        return True
    assert result.code == 2, case
    assert not out.exists(), case
    *notes, error = result.err.splitlines()
    assert all(line.startswith("note: ") for line in notes), f"{case}: {result.err[:2000]}"
    assert error.startswith("error: "), case
    assert 20 < len(error) < 2000, f"{case}: {error}"
    return False


def check_answers(case: str, path: Path, folder: Path) -> None:
    """The model predicts the rows that it was trained on."""
    model = linnet.load(folder / "model.linnet")
    table = open_source([path]).read()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        try:
            answers = model.predict(table)
        except DataError as error:  # rows that training left out, which had no target, may lack an exposure
            pytest.fail(f"{case}: {error}")
    assert len(answers) == table.num_rows, case


@pytest.mark.parametrize("first", range(0, COUNT, BATCH))
def test_in_this_process(first: int, tmp_path: Path) -> None:
    models = errors = 0
    for number, case in islice(enumerate(damaged(COUNT, seed=11)), first, first + BATCH):
        path = tmp_path / f"case.{case.suffix}"
        path.write_bytes(case.data)
        description = f"case {number}: {case.kind}, --target {case.target} --model {case.model}"
        try:
            result = call(*words_of(case, path.name), cwd=tmp_path)
        except Exception as error:
            raise AssertionError(description) from error
        if check(description, result, tmp_path):
            models += 1
            check_answers(description, path, tmp_path)
            (tmp_path / "model.linnet").unlink()
        else:
            errors += 1
    assert min(models, errors) > BATCH / 10


def as_process(folder: Path, words: list[str]) -> Completed:
    line = [sys.executable, "-m", "linnet", *words]
    done = subprocess.run(line, capture_output=True, text=True, cwd=folder, check=False, timeout=300)
    return Completed(done.returncode, done.stdout, done.stderr)


def test_in_processes_of_their_own(tmp_path: Path) -> None:
    for number, case in enumerate(damaged(COUNT // 50, seed=12)):
        path = tmp_path / f"case.{case.suffix}"
        path.write_bytes(case.data)
        if check(f"case {number}: {case}"[:500], as_process(tmp_path, words_of(case, path.name)), tmp_path):
            (tmp_path / "model.linnet").unlink()


def test_large_ones(tmp_path: Path) -> None:
    for name, text in large():
        path = tmp_path / name
        path.write_text(text)
        words = ["train", name, "--target", "sold", "--model", "logistic", "-o", "model.linnet"]
        assert check(name, call(*words, cwd=tmp_path), tmp_path), name
        (tmp_path / "model.linnet").unlink()
        path.unlink()
