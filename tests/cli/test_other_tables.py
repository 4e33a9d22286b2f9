"""Tables that differ from the one a model was trained on: what fits is used, and everything that does not is named."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest

import linnet
from linnet.errors import DataError

from .in_process import Completed, call

RNG = np.random.default_rng(0)
ROWS = 60
STAYS = RNG.integers(0, 100_000, ROWS)
TABLE = pa.table(
    {
        "rooms": RNG.integers(1, 9, ROWS),
        "size": np.round(RNG.normal(50, 10, ROWS), 2),
        "when": pa.array(np.datetime64("2024-01-01T10:00:00") + RNG.integers(0, 10**7, ROWS).astype("m8[s]")),
        "new": RNG.random(ROWS) < 0.5,
        "colour": RNG.choice(["red", "blue"], ROWS),
        "stay": pa.array(STAYS, pa.duration("ns")),
        "clock": pa.array(RNG.integers(0, 86400, ROWS).astype(np.int32), pa.time32("s")),
        "y": RNG.normal(size=ROWS),
    }
)
TEXT = ["rooms", "size", "when", "new", "colour", "y"]  # what CSV and JSON can express


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    parquet.write_table(TABLE, folder / "all.parquet")
    csv.write_csv(TABLE.select(TEXT), folder / "data.csv")
    for name, out in (("all.parquet", "all.linnet"), ("data.csv", "model.linnet")):
        done = call("train", name, "--target", "y", "--model", "linear", "-o", out, cwd=folder)
        assert done.code == 0, done.err
    return folder


def replaced(table: pa.Table, **columns: Any) -> pa.Table:
    for name, values in columns.items():
        table = table.set_column(table.column_names.index(name), name, values)
    return table


def write(table: pa.Table, path: Path) -> Path:
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row, default=str) + "\n" for row in table.to_pylist()))
    else:
        writes: Any = {".csv": csv.write_csv, ".parquet": parquet.write_table, ".arrow": feather.write_feather}
        writes[path.suffix](table, path)
    return path


def predict(folder: Path, table: pa.Table, suffix: str = ".parquet", model: str = "all.linnet") -> Completed:
    return call("predict", model, write(table, folder / f"other{suffix}"), "-o", "out.parquet", cwd=folder)


def answers(folder: Path, table: pa.Table, suffix: str = ".parquet", model: str = "all.linnet") -> list[float]:
    done = predict(folder, table, suffix, model)
    assert done.code == 0, done.err
    predicted: list[float] = parquet.read_table(folder / "out.parquet")["prediction"].to_pylist()
    return predicted


def refused(folder: Path, table: pa.Table, suffix: str = ".parquet", model: str = "all.linnet") -> str:
    done = predict(folder, table, suffix, model)
    assert (done.code, done.out) == (2, "")
    return done.err


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow", ".jsonl"])
@pytest.mark.parametrize("missing", [False, True])
def test_all_columns_that_do_not_fit_are_in_one_error(folder: Path, suffix: str, missing: bool) -> None:
    wrong = {"rooms": "many", "size": "big", "new": "perhaps"}
    values = {name: [["1", word, *["1"] * (ROWS - 2)]] for name, word in wrong.items()}
    table = replaced(TABLE.select(TEXT), **values)
    if missing:
        table = table.drop_columns(["when", "colour"])
    error = refused(folder, table, suffix, "model.linnet")
    assert error.startswith("error: the table lacks 'when', 'colour', which the model needs; ") == missing
    if suffix == ".jsonl":
        assert all(f"column '{name}' holds a string where a " in error for name in wrong)
        return
    row = "line 3" if suffix == ".csv" else "row 2"
    expected = {"rooms": "a number", "size": "a number", "new": "true or false"}
    problems = [f"{row}, column '{name}': '{word}' where {expected[name]} is expected" for name, word in wrong.items()]
    assert error.rstrip().endswith("; ".join(problems))


def test_columns_that_do_not_fit_are_found_among_many(folder: Path) -> None:
    names = [f"c{place}" for place in range(300)]
    table = pa.table({name: RNG.normal(size=20) for name in (*names, "y")})
    csv.write_csv(table, folder / "wide.csv")
    done = call("train", "wide.csv", "--target", "y", "--model", "linear", "-o", "wide.linnet", cwd=folder)
    assert done.code == 0, done.err
    error = refused(folder, replaced(table, c7=[["x"] * 20], c299=[["y"] * 20]), ".csv", "wide.linnet")
    assert "line 2, column 'c7': 'x' where a number is expected; line 2, column 'c299': 'y'" in error
    every = {name: [["x"] * 20] for name in names}
    assert refused(folder, replaced(table, **every), ".csv", "wide.linnet").endswith("; and other columns\n")


def test_lists_where_something_else_was(folder: Path) -> None:
    table = replaced(TABLE, colour=[[["red"]] * ROWS], size=[[{"a": 1.0}] * ROWS])
    error = refused(folder, table)
    assert "column 'size': lists or objects where a number is expected; column 'colour': lists or objects" in error
    message = refused(folder, table.select(TEXT), ".jsonl", "model.linnet")
    assert "lacks 'size' (lists or objects, which cannot be read), 'colour' (lists or objects" in message
    both = call("evaluate", "all.linnet", write(table, folder / "other.parquet"), cwd=folder)
    assert both.err == (
        "error: lists or objects in 'size', 'colour', which linnet cannot use: "
        "convert them to columns of plain values\n"
    )
    write(replaced(TABLE, y=[[[1.0]] * ROWS]), folder / "other.parquet")
    for words in (
        "train other.parquet --target y",
        "inspect other.parquet --target y",
        "report all.linnet other.parquet",
    ):
        assert "lists or objects in 'y', which" in call(*words.split(), cwd=folder).err


@pytest.mark.parametrize(
    ("column", "values", "expected"),
    [
        ("rooms", TABLE["when"], "a number"),
        ("rooms", TABLE["stay"], "a number"),
        ("rooms", TABLE["clock"], "a number"),
        ("size", TABLE["when"].cast(pa.date32()), "a number"),
        ("when", TABLE["rooms"], "a date and time"),
        ("when", TABLE["stay"], "a date and time"),
        ("stay", TABLE["rooms"], "a length of time"),
        ("clock", TABLE["rooms"].cast(pa.int32()), "a time of day"),
    ],
)
def test_times_are_no_numbers(folder: Path, column: str, values: Any, expected: str) -> None:
    error = refused(folder, replaced(TABLE, **{column: values}))
    assert f"row 1, column '{column}': " in error
    assert f"where {expected} is expected" in error
    assert "the table does not fit the model: column" in refused_in_python(folder, replaced(TABLE, **{column: values}))


def refused_in_python(folder: Path, table: pa.Table) -> str:
    with pytest.raises(DataError) as found:
        linnet.load(folder / "all.linnet").predict(table)
    return str(found.value)


def test_a_length_of_time_may_be_in_any_unit(folder: Path) -> None:
    one = TABLE.slice(0, 1)
    seconds = answers(folder, replaced(one, stay=pa.array([7], pa.duration("s"))))
    assert seconds == answers(folder, replaced(one, stay=pa.array([7_000_000], pa.duration("us"))))
    assert seconds != answers(folder, replaced(one, stay=pa.array([7], pa.duration("ms"))))


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow", ".jsonl"])
def test_any_number_and_gaps_may_be_where_whole_numbers_were(folder: Path, suffix: str) -> None:
    table = TABLE.select(TEXT).slice(0, 4)
    rooms = [2.0, 2.5, None, float("nan") if suffix in (".parquet", ".arrow") else None]
    two, half, gap, nan = answers(folder, replaced(table, rooms=[rooms]), suffix, "model.linnet")
    whole = answers(folder, replaced(table, rooms=[[2, 3, None, None]]), suffix, "model.linnet")
    assert two == whole[0]
    assert (gap, nan) == tuple(whole[2:])
    lower = answers(folder, replaced(table, rooms=[[2, 2, None, None]]), suffix, "model.linnet")[1]
    assert half == pytest.approx((lower + whole[1]) / 2)


def test_whole_numbers_beyond_those_of_floats(folder: Path) -> None:
    table = pa.table({"n": 2**60 + 2**40 * RNG.integers(0, 999, ROWS), "y": RNG.normal(size=ROWS)})
    for suffix in (".csv", ".parquet"):
        data = write(table, folder / f"huge{suffix}")
        done = call("train", data, "--target", "y", "--model", "linear", "-o", "huge.linnet", cwd=folder)
        assert done.code == 0, done.err
        expected = linnet.load(folder / "huge.linnet").predict(table)
        assert answers(folder, table, suffix, "huge.linnet") == expected.tolist()


# ---- targets ----


def trained(folder: Path, y: Any, *more: object, model: str = "auto") -> dict[str, Any]:
    x = np.arange(len(y)) * 7 % 31 / 10
    write(pa.table({"x": x, "y": y}), folder / "words.csv")
    words = ("train", "words.csv", "--target", "y", "--model", model, "-o", "words.linnet", "--json", *more)
    done = call(*words, cwd=folder)
    assert done.code == 0, done.err
    facts: dict[str, Any] = json.loads(done.out)
    return facts


def test_rows_whose_target_is_a_word_among_numbers_are_left_out(folder: Path) -> None:
    y = [str(round(place % 31 + 0.37, 2)) for place in range(300)]
    y[7::50] = ["unknown", "unknown", "soon", "unknown", "soon", "-"]
    facts = trained(folder, y, model="linear")
    assert (facts["task"], facts["rows"] + facts["held_out"]) == ("a number", 294)
    assert "6 rows have no 'y': they are left out" in facts["notices"]
    done = call("evaluate", "words.linnet", "words.csv", "--json", cwd=folder)
    assert json.loads(done.out)["rows"] == 294


@pytest.mark.parametrize("word", ["unknown", "oops"])
def test_a_word_among_two_numbers_is_no_class(folder: Path, word: str) -> None:
    y = [str(place % 2) for place in range(300)]
    y[7::60] = [word] * 5
    facts = trained(folder, y)
    assert (facts["task"], facts["reason"]) == ("two classes", "'y' has two values: 0, 1")
    assert (facts["classes"], facts["rows"] + facts["held_out"]) == (["0", "1"], 295)


@pytest.mark.parametrize("model", ["auto", "sequential"])
@pytest.mark.parametrize("later", [["0.0", "1.0", "", "1.0"], ["0", "1", "", "1.00"]])
def test_classes_are_known_again_however_their_numbers_are_written(folder: Path, later: list[str], model: str) -> None:
    (folder / "later.csv").write_text("x,y\n" + "".join(f"{place},{y}\n" for place, y in enumerate(later * 5)))
    for written in (["0", "1"], ["0.0", "1.0"]):
        facts = trained(folder, (written * 150)[:300], "--valid", "later.csv", "--epochs", 2, model=model)
        assert (facts["classes"], facts["held_out"]) == (written, 15)
        done = call("evaluate", "words.linnet", "later.csv", "--json", cwd=folder)
        assert json.loads(done.out)["rows"] == 15
    (folder / "later.csv").write_text("x,y\n1,0\n2,2\n3,1\n")
    error = call("evaluate", "words.linnet", "later.csv", cwd=folder).err
    assert "is '2' in row 1, a class the model has not seen" in error
