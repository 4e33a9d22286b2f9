"""A file's columns are read as the training had them, whatever its own rows suggest."""

from pathlib import Path

import numpy as np
import pytest

import linnet
from linnet.errors import DataError

RNG = np.random.default_rng(3)
MARKS = {"csv": "{code},{size},{label}", "jsonl": '{{"code": "{code}", "size": {size}, "label": "{label}"}}'}


def write(path: Path, rows: int, codes: list[str], labels: tuple[str, str]) -> Path:
    """Rows whose label depends on the code, as CSV or JSON lines."""
    header = ["code,size,label"] if path.suffix == ".csv" else []
    lines = []
    for code, size, noise in zip(RNG.choice(codes, rows), RNG.random(rows), RNG.random(rows), strict=True):
        label = labels[int((code in ("007", "A12")) ^ (noise < 0.15))]
        lines.append(MARKS[path.suffix[1:]].format(code=code, size=round(size, 3), label=label))
    path.write_text("\n".join([*header, *lines]) + "\n")
    return path


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize("labels", [("01", "02x"), ("0", "1")])
def test_levels_and_classes_with_leading_zeros(tmp_path: Path, kind: str, labels: tuple[str, str]) -> None:
    training = write(tmp_path / f"training.{kind}", 400, ["007", "008", "010", "A12"], labels)
    test = write(tmp_path / f"test.{kind}", 150, ["007", "008", "010"], (labels[0], labels[0]))
    mixed = write(tmp_path / f"mixed.{kind}", 150, ["007", "008", "010"], labels)
    model = linnet.train(training, "label", model="logistic")
    predicted = model.predict(mixed)
    actual = model.known_rows(mixed).y
    assert set(actual) == set(labels)
    assert model.evaluate(mixed)["accuracy"].value == np.mean(predicted == actual) > 0.7
    assert model.known_rows(test).y.tolist() == [labels[0]] * 150
    model.report(tmp_path / "report.html", mixed)  # warns of levels never seen, if there are any
    chosen = linnet.train(training, "label", model="logistic", valid=mixed)
    assert chosen.tried[0].scores["accuracy"] > 0.7


def test_a_word_where_training_had_numbers_is_named_with_its_line(tmp_path: Path) -> None:
    training = write(tmp_path / "training.csv", 100, ["007", "A12"], ("no", "yes"))
    model = linnet.train(training, "label", model="logistic")
    other = tmp_path / "other.csv"
    other.write_text("code,size,label\n007,0.5,no\nA12,large,yes\n")
    for ask in (model.predict, model.evaluate, model.score):
        with pytest.raises(DataError, match="line 3, column 'size': 'large' where a number is expected"):
            ask(other)


def test_words_in_a_target_of_numbers_are_missing(tmp_path: Path) -> None:
    lines = [f"{k % 7},{k % 7 * 2 + k % 5 * 3}" for k in range(60)]
    training, test = tmp_path / "training.csv", tmp_path / "test.csv"
    training.write_text("\n".join(["x,y", *lines]) + "\n")
    test.write_text("x,y\n1,2.5\n2,unknown\n3,6.5\n")
    model = linnet.train(training, "y", model="linear")
    assert len(model.known_rows(test)) == 2
    assert model.evaluate(test)["rmse"].value < 6
