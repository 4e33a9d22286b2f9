"""How a table is interpreted: kinds, tasks, the columns a model gets, and columns that leak the target."""

import datetime
import json
import os
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnet.data.encoder import Encoder
from linnet.errors import ConfigError, DataError
from linnet.tables.io.sources import open_source
from linnet.tables.kinds import Column, Kind, judge, text_numbers
from linnet.tables.leaks import leaks
from linnet.tables.schema import Schema
from linnet.tables.task import Task
from linnet.tables.text import hashed_ngrams

DATA = Path(os.environ.get("LINNET_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
ROWS = 200
RNG = np.random.default_rng(0)


def kind(name: str, values: Any, type_: Any = None) -> Column:
    return judge(name, pa.chunked_array([pa.array(values, type_)]))


# ---- kinds ----

WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "saw", "dogs"]
SHUFFLED = RNG.permutation(ROWS)
CASES: list[tuple[str, Any, str, bool]] = [
    ("x", RNG.normal(size=ROWS), "number", True),
    ("rooms", RNG.integers(1, 6, ROWS), "number", True),
    ("anything", range(ROWS), "identifier", False),
    ("PassengerId", SHUFFLED, "identifier", False),
    ("customer_id", [f"c{i}" for i in SHUFFLED], "identifier", False),
    ("IDpol", SHUFFLED * 1.0, "identifier", False),
    ("weight", SHUFFLED, "number", True),
    ("year", range(1800, 1800 + ROWS), "number", True),
    ("key", [str(uuid.UUID(int=int(i) << 64)) for i in SHUFFLED], "identifier", False),
    ("whatever", [str(uuid.UUID(int=int(i) << 64)) for i in SHUFFLED], "identifier", False),
    ("note", [" ".join(RNG.choice(WORDS, 6)) for _ in range(ROWS)], "text", False),
    ("grid", RNG.choice(["north", "south"], ROWS), "category", True),
    ("flag", RNG.random(ROWS) < 0.5, "boolean", True),
    ("zeros", [0] * ROWS, "constant", False),
    ("nothing", [None] * ROWS, "empty", False),
    ("nan", [float("nan")] * ROWS, "empty", False),
    ("seldom", [None] * 150 + ["yes"] * 50, "category", True),
    ("price", [f"${i * 1000:,}.50" for i in SHUFFLED], "number", True),
    ("preis", [f"{i},5" for i in SHUFFLED], "number", True),
    ("share", [f"{i} %" if i % 7 else "-" for i in SHUFFLED], "number", True),
    ("day", [datetime.date(2020, 1, 1) + datetime.timedelta(days=int(i)) for i in SHUFFLED], "date", True),
    ("tag", [f"{i % 28 + 1}.{i % 12 + 1}.2020 10:30" for i in range(ROWS)], "date", True),
    ("us", [f"{i % 12 + 1}/{i % 28 + 1}/2020" for i in range(ROWS)], "date", True),
    ("clock", [datetime.time(i % 24, 30) for i in range(ROWS)], "number", True),
]


@pytest.mark.parametrize(("name", "values", "expected", "used"), CASES, ids=[case[0] for case in CASES])
def test_a_column_is_read_as_what_it_is(name: str, values: Any, expected: str, used: bool) -> None:
    column = kind(name, values)
    assert (column.kind, column.used) == (expected, used)
    assert column.used or column.note


def test_a_column_is_counted() -> None:
    column = kind("x", [1.5, None, float("nan"), 1.5, 2.5])
    assert (column.missing, column.distinct, column.examples, column.type) == (2, 2, ("1.5", "2.5"), "double")
    assert kind("x", [1.0, float("inf"), 3.0]).note == "1 infinite values count as missing"


def test_many_distinct_numbers_are_estimated_and_few_are_counted() -> None:
    column = kind("x", RNG.integers(0, 5000, 2_000_000))
    assert column.estimated
    assert column.distinct == pytest.approx(5000, rel=0.01)
    seldom = np.zeros(2_000_000)
    seldom[1_234_567] = 1.0
    assert (kind("x", seldom).kind, kind("x", seldom).distinct) == ("number", 2)
    assert not kind("row", np.arange(2_000_000)).estimated


def test_numbers_in_text_with_some_words() -> None:
    column = kind("x", ["1,234.5"] * 99 + ["abc"])
    assert (column.kind, column.style, column.missing) == ("number", "1,234.5", 1)
    assert "values that are not numbers count as missing (1, such as 'abc')" in column.note
    assert kind("x", ["1"] * 90 + ["abc"] * 10).kind == "category"
    assert kind("x", ["1.234,5", "7"]).style == "1.234,5"


@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=20))
def test_numbers_written_in_any_style_come_back(values: list[float]) -> None:
    written = [f"{value:,.3f}" for value in values]
    other = [text.translate(str.maketrans(",.", ".,")) for text in written]
    expected = [float(text.replace(",", "")) for text in written]
    assert text_numbers(pa.array(written), "1,234.5").to_pylist() == expected
    assert text_numbers(pa.array(other), "1.234,5").to_pylist() == expected


def test_rare_levels_are_one() -> None:
    values = [f"level {i}" for i in range(40)] + ["often"] * 100 + ["much"] * 100 + [None] * 10
    table = pa.table({"c": values})
    schema = Schema.of(table)
    assert schema.columns[0].levels == ("much", "often")
    assert schema.columns[0].note == "40 rare levels are merged into one"
    assert set(schema.apply(table)["c"].to_pylist()) == {"(other)", "often", "much", None}
    assert schema.apply(pa.table({"c": ["never seen"]}))["c"].to_pylist() == ["(other)"]


# ---- tasks ----


def task(name: str, values: Any, **options: Any) -> str:
    schema = Schema.of(pa.table({"x": RNG.normal(size=len(values)), name: values}), name, **options)
    assert schema.reason
    return str(schema.task)


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("y", RNG.integers(0, 2, ROWS), "two classes"),
        ("y", RNG.integers(0, 2, ROWS) * 1.0, "two classes"),
        ("y", RNG.random(ROWS) < 0.5, "two classes"),
        ("y", RNG.choice(["no", "yes"], ROWS), "two classes"),
        ("y", RNG.choice(["a", "b", "c"], ROWS), "many classes"),
        ("class", RNG.integers(1, 8, ROWS), "many classes"),
        ("y", RNG.choice([0, 1, 2], ROWS, p=[0.4, 0.2, 0.4]), "many classes"),
        ("y", RNG.poisson(1.5, ROWS), "counts"),
        ("cnt", RNG.poisson(190, ROWS), "counts"),
        ("y", RNG.normal(size=ROWS), "a number"),
        ("y", RNG.integers(-50, 50, ROWS), "a number"),
        ("y", np.round(RNG.normal(180_000, 30_000, ROWS)).astype(int), "a number"),
        ("quality", np.clip(np.round(RNG.normal(6, 0.9, ROWS)), 3, 9).astype(int), "a number"),
        ("y", [f"{i},5" for i in range(ROWS)], "a number"),
    ],
)
def test_the_task_is_read_off_the_target(name: str, values: Any, expected: str) -> None:
    assert task(name, values) == expected
    if isinstance(values[0], str | np.bool_) and expected != "a number":
        with pytest.raises(DataError, match="the target 'y' holds no numbers"):
            task(name, values, task="counts")
    else:
        assert task(name, values, task="counts") == "counts"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([None] * 50, "the target 'y' has no values"),
        ([1] * 50, r"the target 'y' has one value only \(1\)"),
        ([f"name {i}" for i in range(50)], "is text with 50 different values in 50 rows"),
        ([datetime.date(2020, 1, 1 + i % 28) for i in range(50)], "holds dates"),
    ],
)
def test_what_cannot_be_predicted_is_reported(values: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        task("y", values)


def test_a_wrong_name_gets_a_suggestion() -> None:
    table = pa.table({"price": [1.0, 2.0], "x": [1, 2]})
    with pytest.raises(DataError, match="did you mean 'price'"):
        Schema.of(table, "prise")
    with pytest.raises(ConfigError, match="did you mean 'counts'"):
        Schema.of(table, "price", task="count")


# ---- the columns of a model ----


def mixed(rows: int = ROWS) -> pa.Table:
    rng = np.random.default_rng(3)
    return pa.table(
        {
            "id": np.arange(rows),
            "size": pa.array([None if i % 9 == 0 else float(v) for i, v in enumerate(rng.normal(size=rows))]),
            "paid": [f"{v:,}" for v in rng.integers(0, 9_999, rows)],
            "colour": rng.choice(["red", "blue"], rows),
            "new": rng.random(rows) < 0.5,
            "when": pa.array(rng.integers(1_500_000_000, 1_600_000_000, rows), pa.timestamp("s")),
            "words": [" ".join(rng.choice(WORDS, 7)) for _ in range(rows)],
            "y": rng.integers(0, 2, rows),
        }
    )


def test_estimators_take_what_apply_gives() -> None:
    table = mixed()
    schema = Schema.of(table, "y")
    made = schema.apply(table)
    parts = ["year", "month", "weekday", "hour", "days"]
    assert made.column_names == ["size", "paid", "colour", "new", *(f"when {part}" for part in parts)]
    assert made["paid"].to_pylist()[:5] == [float(text.replace(",", "")) for text in table["paid"].to_pylist()[:5]]
    first = table["when"].to_pylist()[0]
    found = {part: made[f"when {part}"].to_pylist()[0] for part in parts}
    start = datetime.datetime.fromisoformat(schema.columns[5].start)
    assert found == {
        "year": first.year,
        "month": first.strftime("%b"),
        "weekday": first.strftime("%a"),
        "hour": first.hour,
        "days": (first - start) / datetime.timedelta(days=1),
    }
    columns = Encoder.learn(made, gaps="fill")[1]
    assert (len(columns), columns.dense, columns.levels) == (ROWS, 7, (2, 12, 7))


def test_rows_become_the_same_alone_and_in_any_order_of_columns() -> None:
    table = mixed()
    schema = Schema.of(table, "y", text=["words"])
    made = schema.apply(table)
    some = table.slice(17, 5)
    assert schema.apply(some).equals(made.slice(17, 5))
    assert schema.apply(some.select(table.column_names[::-1]).append_column("more", [[1] * 5])).equals(
        schema.apply(some)
    )


def test_a_schema_is_plain_values() -> None:
    for table in (mixed(), pa.table({"c": [f"l{i % 50}" for i in range(220)] + ["z"] * 9})):
        schema = Schema.of(table, table.column_names[-1] if table.num_columns > 1 else None)
        assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema


def test_all_that_does_not_fit_is_listed() -> None:
    table = mixed()
    schema = Schema.of(table, "y")
    other = table.drop_columns(["size"])
    other = other.set_column(1, "paid", [[1.5] * ROWS]).set_column(4, "when", [["soon"] * ROWS])
    other = other.set_column(3, "new", [["maybe"] * ROWS])
    with pytest.raises(DataError) as found:
        schema.apply(other)
    assert str(found.value) == (
        "the table does not fit the model: column 'size' is missing; column 'new' has type string such as 'maybe', "
        "where true or false were expected; column 'when' has type string such as 'soon', where dates were expected"
    )
    with pytest.raises(DataError, match="column 'size' has type string such as 'big', where numbers were expected"):
        schema.apply(table.set_column(1, "size", [["big"] * ROWS]))
    assert schema.apply(table.set_column(1, "size", [["1.5"] * ROWS]))["size"].to_pylist()[:2] == [1.5, 1.5]


def test_chunks_of_a_file_have_the_learned_types(tmp_path: Path) -> None:
    learned, later = tmp_path / "learned.csv", tmp_path / "later.csv"
    learned.write_text("code,x,day\n" + "".join(f"{i % 3:03}a,{i / 2},{i % 28 + 1}.1.2020\n" for i in range(60)))
    later.write_text("x,more,code,day\n1,q,007,1.1.2020\n2,q,008,2.1.2020\n")
    schema = Schema.of(open_source([learned]).read())
    (chunk,) = open_source([later]).chunks(columns=list(schema.types), types=schema.types)
    made = schema.apply(chunk)
    assert made["code"].to_pylist() == ["007", "008"]
    assert made["x"].to_pylist() == [1.0, 2.0]
    assert made["day days"].to_pylist() == [0.0, 1.0]


def test_infinities_are_missing() -> None:
    table = pa.table({"x": [1.0, float("inf"), float("nan"), 4.0]})
    assert Schema.of(table).apply(table)["x"].to_pylist() == [1.0, None, None, 4.0]


# ---- text ----


def test_text_is_used_when_asked_for_or_alone() -> None:
    table = mixed()
    assert "words" not in [column.name for column in Schema.of(table, "y").used]
    assert "column 'words' is left out: it holds free text" in "\n".join(Schema.of(table, "y").notices)
    asked = Schema.of(table, "y", text=["words"])
    assert asked.apply(table).num_columns == 9 + 1024
    alone = Schema.of(table.select(["words", "y"]), "y")
    assert [column.kind for column in alone.used] == ["text"]
    with pytest.raises(DataError, match="column 'size' cannot be used as text"):
        Schema.of(table, "y", text=["size"])


@settings(deadline=None, max_examples=30)
@given(st.lists(st.text(max_size=20) | st.none(), min_size=1, max_size=8))
def test_hashed_text_has_length_1_and_depends_on_its_row_alone(texts: list[str | None]) -> None:
    column = pa.chunked_array([pa.array(texts, pa.string())])
    made = hashed_ngrams(column, 64)
    assert made.shape == (64, len(texts))
    lengths = np.linalg.norm(made, axis=0)
    assert ((lengths == 0) | (np.abs(lengths - 1) < 1e-6)).all()
    for row in range(len(texts)):
        np.testing.assert_array_equal(hashed_ngrams(column.slice(row, 1), 64)[:, 0], made[:, row])


def test_like_texts_are_near_each_other() -> None:
    one, like, other = hashed_ngrams(pa.chunked_array([["The cats sat!", "the cat sat", "prime numbers"]]), 1024).T
    assert one @ like > 0.5 > abs(one @ other) + 0.3


# ---- leaks ----


def leaking(rows: int = 2000) -> pa.Table:
    rng = np.random.default_rng(5)
    amount = rng.gamma(2.0, 100.0, rows)
    classes = rng.integers(0, 4, rows)
    two = rng.random(rows) < 0.1
    return pa.table(
        {
            "noise": rng.normal(size=rows),
            "useful": amount + rng.normal(0, 100, rows),
            "total": amount * 1.1 + rng.normal(0, 1, rows),
            "cause": np.where(two, "fraud desk", rng.choice(["web", "shop"], rows)),
            "code": np.array(["A", "B", "C", "D"])[classes],
            "many": [f"l{i}" for i in rng.integers(0, 300, rows)],
            "amount": amount,
            "two": two,
            "class": classes,
        }
    )


@pytest.mark.parametrize(
    ("target", "column", "measure"),
    [("amount", "total", "R²"), ("two", "cause", "AUC"), ("class", "code", "errors avoided")],
)
def test_a_column_that_gives_the_target_away_is_named(target: str, column: str, measure: str) -> None:
    table = leaking()
    others = [name for name in ("amount", "two", "class") if name != target]
    (found,) = leaks(table.drop_columns(others), target)
    assert (found.column, found.measure) == (column, measure)
    assert 0.99 < found.value <= 1
    assert f"column {column!r} alone predicts the target ({measure} " in str(found)


def test_chance_is_no_leak() -> None:
    """Levels with a few rows each predict the rows they were learned from, but no others."""
    rng = np.random.default_rng(0)
    for target in (rng.random(1000) < 0.5, rng.normal(size=1000), rng.choice(["a", "b", "c"], 1000)):
        table = pa.table({"c": [f"l{i}" for i in rng.integers(0, 190, 1000)], "x": rng.normal(size=1000), "y": target})
        assert leaks(table, "y") == ()


# ---- real tables ----


def data_sets() -> list[tuple[str, str, str, str]]:
    """Name, file, task and target of the tables in CSV."""
    if not (DATA / "README.md").exists():
        return []
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in (DATA / "README.md").read_text().splitlines()]
    rows = [line for line in lines if len(line) == 6 and line[5].split()[0].endswith(".csv.gz")]
    return [(name, files.split()[0], task, target) for name, task, _, _, target, files in rows]


SETS = data_sets()


@pytest.mark.skipif(not SETS, reason=f"no data sets in {DATA}: set LINNET_DATA to their folder")
@pytest.mark.parametrize(("name", "file", "about", "target"), SETS, ids=[row[0] for row in SETS])
def test_real_tables_are_typed(name: str, file: str, about: str, target: str) -> None:
    table = open_source([DATA / name / file]).read()
    schema = Schema.of(table, target)
    likely = {"two classes": "binary", "many classes": "multiclass", "counts": "count", "a number": "regression"}
    if name != "star98":  # successes out of trials
        assert likely[str(schema.task)] in about
    made = schema.apply(table.slice(0, 2000))
    assert len(Encoder.learn(made, gaps="fill")[1]) == made.num_rows
    assert {column.type for column in schema.used} <= {"string", "int64", "double", "bool", "date32[day]"} | {
        "timestamp[s]",
        "timestamp[s, tz=UTC]",
    }


@pytest.mark.skipif(not SETS, reason=f"no data sets in {DATA}: set LINNET_DATA to their folder")
@pytest.mark.parametrize(
    ("name", "left_out", "suspects"),
    [
        ("titanic", ["PassengerId", "Name"], []),
        ("stroke", ["id"], []),
        ("ames_raw", ["Order", "PID"], []),
        ("bank_churn_10k", ["RowNumber", "CustomerId"], []),
        ("aus_priv_auto", [], ["ClaimAmount", "ClaimOcc"]),
        ("taxis", [], ["total"]),
        ("adult", [], []),
        ("diamonds", [], []),
    ],
)
def test_identifiers_and_leaks_of_real_tables(name: str, left_out: list[str], suspects: list[str]) -> None:
    _, file, _, target = next(row for row in SETS if row[0] == name)
    table = open_source([DATA / name / file]).read()
    schema = Schema.of(table, target)
    assert [column.name for column in schema.columns if not column.used] == left_out
    assert sorted(leak.column for leak in leaks(table, target, schema)) == suspects


def test_tasks_and_kinds_are_words_and_nothing_else() -> None:
    schema = Schema.of(pa.table({"x": [1.5, 2.5, 3.5], "y": ["a", "b", "a"]}), "y")
    assert schema.task is Task.TWO_CLASSES
    assert (str(schema.task), repr(schema.task), f"{schema.columns[0].kind}") == (
        "two classes",
        "'two classes'",
        "number",
    )
    assert json.dumps(schema.to_dict()) == json.dumps(json.loads(json.dumps(schema.to_dict())))
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema
    assert not {str(task) for task in Task} & {str(kind) for kind in Kind}
    with pytest.raises(ValueError, match="three classes"):
        Schema.from_dict({**schema.to_dict(), "task": "three classes"})
