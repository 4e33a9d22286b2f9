"""From a table to a model file, predictions and metrics."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest

import linnet
from linnet.errors import DataWarning
from linnet.tables.model import TableModel

RNG = np.random.default_rng(0)
ROWS = 400
SIZE, COLOUR = RNG.normal(50, 10, ROWS), RNG.choice(["red", "blue", "<script>"], ROWS)
YEARS = RNG.uniform(0.5, 3, ROWS)
TABLE = pa.table(
    {
        "id": np.arange(ROWS) + 1000,
        "size": pa.array(np.where(RNG.random(ROWS) < 0.1, np.nan, SIZE), from_pandas=True),
        "colour": COLOUR,
        "day": pa.array(np.datetime64("2024-01-01") + RNG.integers(0, 300, ROWS)),
        "years": YEARS,
        "sold": np.where(SIZE + 10 * (COLOUR == "red") + RNG.normal(0, 5, ROWS) > 53, "yes", "no"),
        "class": np.digitize(SIZE + RNG.normal(0, 3, ROWS), [42, 55]),
        "claims": RNG.poisson(YEARS * np.exp(0.03 * (SIZE - 50))),
        "price": np.round(3 * SIZE + 20 * (COLOUR == "red") + RNG.normal(0, 2, ROWS), 2),
    }
)
TARGETS = {"sold": "two classes", "class": "many classes", "claims": "counts", "price": "a number"}


def run(*words: object, cwd: Path, code: int = 0) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run(
        [sys.executable, "-m", "linnet", *map(str, words)], capture_output=True, text=True, cwd=cwd, check=False
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    csv.write_csv(TABLE, folder / "data.csv")
    parquet.write_table(TABLE, folder / "data.parquet")
    others = {name: [other for other in TARGETS if other != name] for name in TARGETS}
    for target in TARGETS:
        drop = [word for name in others[target] for word in ("--drop", name)]
        exposure = ["--exposure", "years"] if target == "claims" else []
        done = run(
            *("train", "data.csv", "--target", target, *drop, *exposure, "-o", f"{target}.linnet", "--epochs", 8),
            cwd=folder,
        )
        assert f"task: {TARGETS[target]}" in done.stdout
        assert "'id' is left out" in done.stdout
        (folder / f"{target}.txt").write_text(done.stdout)
    return folder


@pytest.mark.parametrize("target", TARGETS)
def test_the_best_candidate_is_kept(folder: Path, target: str) -> None:
    model = linnet.load(folder / f"{target}.linnet")
    assert isinstance(model, TableModel)
    assert model.task == TARGETS[target]
    chosen = next(one for one in model.tried if one.chosen)
    sign = 1 if model.metric in ("r2", "accuracy") else -1
    assert not [one.failed for one in model.tried if one.failed]
    assert all(sign * one.scores[model.metric] <= sign * chosen.scores[model.metric] for one in model.tried)
    constant = next(one for one in model.tried if one.name == "constant")
    assert chosen.scores[model.metric] < 0.95 * constant.scores[model.metric]
    output = (folder / f"{target}.txt").read_text()
    for one in model.tried:
        assert f"\n  {one.name} " in output
    assert f"{chosen.name} is kept, by {model.metric}" in output


@pytest.mark.parametrize("target", TARGETS)
def test_answers_in_every_format_are_the_model_s(folder: Path, target: str) -> None:
    model = linnet.load(folder / f"{target}.linnet")
    expected = [str(value) for value in model.predict(TABLE).tolist()]
    shuffled = TABLE.select(TABLE.column_names[::-1])
    feather.write_feather(shuffled, folder / "shuffled.arrow")
    readers: dict[str, Any] = {
        "csv": csv.read_csv,
        "parquet": parquet.read_table,
        "arrow": feather.read_table,
        "jsonl": lambda path: pa.Table.from_pylist([json.loads(line) for line in path.read_text().splitlines()]),
    }
    for suffix, read in readers.items():
        out = folder / f"{target}-answers.{suffix}"
        done = run("predict", f"{target}.linnet", "shuffled.arrow", "-o", out.name, "--keep", "id", cwd=folder)
        answers = read(out)
        assert f"{ROWS} rows written" in done.stderr
        assert answers["id"].to_pylist() == TABLE["id"].to_pylist()
        predicted = answers["prediction"].to_pylist()
        if target in ("sold", "class"):
            assert [str(value) for value in predicted] == expected
        else:
            np.testing.assert_allclose(predicted, model.predict(TABLE), rtol=1e-12)
    assert not list(folder.glob(".*"))
    printed = run("predict", f"{target}.linnet", "data.csv", cwd=folder).stdout
    assert len(printed.splitlines()) == ROWS + 1


def test_classes_keep_their_type(folder: Path) -> None:
    run("predict", "class.linnet", "data.csv", "-o", "grades.parquet", "--proba", cwd=folder)
    answers = parquet.read_table(folder / "grades.parquet")
    assert pa.types.is_integer(answers.schema.field("prediction").type)
    assert answers.column_names == ["prediction", *(f"probability of {grade}" for grade in range(3))]
    shares = np.column_stack([answers[name].to_numpy() for name in answers.column_names[1:]])
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_array_equal(shares.argmax(axis=1), answers["prediction"].to_numpy())


def test_draws_and_limits(folder: Path) -> None:
    run("predict", "sold.linnet", "data.csv", "-o", "drawn.csv", "--sample", cwd=folder)
    assert set(csv.read_csv(folder / "drawn.csv")["sample"].to_pylist()) == {"yes", "no"}
    run("train", "data.csv", *("--target", "price", "--model", "mlp", "--epochs", 5, "-o", "net.linnet"), cwd=folder)
    run("predict", "net.linnet", "data.csv", "-o", "limits.csv", "--interval", "--level", 0.8, cwd=folder)
    limits = csv.read_csv(folder / "limits.csv")
    assert all(low < high for low, high in zip(limits["low"].to_pylist(), limits["high"].to_pylist(), strict=True))


def test_the_same_seed_gives_the_same_file(folder: Path) -> None:
    words = ("train", "data.csv", "--target", "sold", "--model", "mlp", "--epochs", 3, "--threads")
    run(*words, 1, "-o", "a.linnet", cwd=folder)
    run(*words, 2, "-o", "b.linnet", cwd=folder)
    a, b = linnet.load(folder / "a.linnet"), linnet.load(folder / "b.linnet")
    assert a.predict_proba(TABLE).tobytes() == b.predict_proba(TABLE).tobytes()


def test_requirements_decide_the_exit_code(folder: Path) -> None:
    done = run("evaluate", "sold.linnet", "data.parquet", "--require", "f1>=0.7", "--metric", "f2", cwd=folder)
    assert "f2" in done.stdout
    failed = run("evaluate", "sold.linnet", "data.csv", "--require", "accuracy >= 0.9999", "--json", cwd=folder, code=1)
    numbers = json.loads(failed.stdout)
    assert numbers["failed"] == ["accuracy >= 0.9999"]
    accuracy = numbers["metrics"]["accuracy"]
    assert accuracy["low"] <= accuracy["value"] <= accuracy["high"]
    model = linnet.load(folder / "sold.linnet")
    assert accuracy["value"] == np.mean(model.predict(TABLE) == model.target_of(TABLE))


def test_json_says_all(folder: Path) -> None:
    words = ("--target", "sold", "--model", "logistic", "--threshold", "tune", "--metric", "f2", "--json")
    facts = json.loads(run("train", "data.csv", *words, "-o", "j.linnet", cwd=folder).stdout)
    assert facts["task"] == "two classes"
    assert facts["metric"] == "f2"
    assert 0 < facts["threshold"] < 0.6
    assert facts["rows"] + facts["held_out"] == ROWS
    assert facts["command"].startswith("linnet train data.csv --target sold")


def test_standard_input_and_a_file_to_choose_by(folder: Path) -> None:
    words = [sys.executable, "-m", "linnet", "train", "-", "--target", "sold", "--valid", "data.parquet"]
    with (folder / "data.csv").open("rb") as file:
        done = subprocess.run(
            [*words, "--model", "logistic", "-o", "i.linnet"],
            stdin=file,
            capture_output=True,
            text=True,
            cwd=folder,
            check=True,
        )
    assert f"on {ROWS} held-out rows" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "data.csv", "--target", "sald"], "did you mean 'sold'"),
        (["train", "nowhere.csv", "--target", "sold"], "no such file"),
        (["train", "data.csv", "--target", "sold", "--model", "poisson"], "does not suit the task 'two classes'"),
        (["train", "data.csv", "--target", "sold", "--metric", "rmse"], "does not suit the task"),
        (["train", "data.csv", "--target", "price", "--threshold", "tune"], "a threshold is for two classes"),
        (["train", "data.csv", "--target", "price", "--class-weight", "balanced"], "is for classes"),
        (["train", "data.csv", "--target", "claims", "--exposure", "weight"], "unknown column 'weight'"),
        (["train", "data.csv", "--target", "sold", "--exposure", "years"], "--exposure is for counts"),
        (["train", "data.csv", "--target", "price", "--exposure", "years"], "--exposure is for counts"),
        (["train", "data.csv", "--target", "sold", "--valid", "1.5"], "between 0 and 1"),
        (["train", "data.csv", "--target", "sold", "--hidden", "a,b"], "integers such as 64,32"),
        (["train", "data.csv", "--target", "sold", "--model", "mlp", "--activation", "tahn"], "did you mean 'tanh'"),
        (["train", "data.csv", "--target", "sold", "-o", "no/such/folder/m.linnet"], "cannot write"),
        (["train", "data.csv", "--target", "sold", "--report", "no/folder/r.html"], "cannot write"),
        (["report", "sold.linnet", "short.csv"], "no target 'sold'"),
        (["predict", "data.csv", "data.csv"], "not a linnet model"),
        (["predict", "sold.linnet", "data.csv", "-o", "x.xlsx"], "must end with .csv"),
        (["predict", "price.linnet", "data.csv", "--proba"], "no probabilities"),
        (["predict", "sold.linnet", "short.csv"], "lacks 'colour', 'day'"),
        (["predict", "sold.linnet", "retyped.csv", "-o", "x.csv"], "size"),
        (["evaluate", "sold.linnet", "short.csv"], "sold"),
        (["evaluate", "sold.linnet", "data.csv", "--require", "f1=>1"], 'must look like "f1>=0.8"'),
    ],
)
def test_mistakes_are_one_line(folder: Path, words: list[str], message: str) -> None:
    csv.write_csv(TABLE.select(["size", "years"]), folder / "short.csv")
    retyped = TABLE.set_column(1, "size", pa.array(["large"] * ROWS))
    csv.write_csv(retyped, folder / "retyped.csv")
    done = run(*words, cwd=folder, code=2)
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (folder / "x.csv").exists()


def test_a_report_of_training_and_of_other_rows(folder: Path) -> None:
    words = ("train", "data.csv", "--target", "sold", "--model", "logistic", "-o", "r.linnet", "--report", "r.html")
    assert "saved r.html" in run(*words, cwd=folder).stdout
    page = (folder / "r.html").read_text()
    assert "linnet report" in page
    assert "linnet train data.csv --target sold --model logistic" in page
    assert "&lt;script&gt;" in page  # a colour
    assert "saved s.html" in run("report", "r.linnet", "data.parquet", "-o", "s.html", cwd=folder).stdout
    facts = json.loads(run("report", "r.linnet", "data.parquet", "--json", cwd=folder).stdout)
    assert facts["task"] == "two classes"


def test_an_offset_is_passed_on(folder: Path) -> None:
    shifted = TABLE.append_column("shift", pa.array(np.log(YEARS))).select(["size", "shift", "claims"])
    csv.write_csv(shifted, folder / "shift.csv")
    words = ("--target", "claims", "--offset", "shift", "--epochs", 3, "-o", "o.linnet")
    assert "poisson" in run("train", "shift.csv", *words, cwd=folder).stdout
    run("predict", "o.linnet", "shift.csv", "-o", "o.csv", cwd=folder)


def test_output_may_be_cut_short(folder: Path) -> None:
    line = f"{sys.executable} -m linnet predict sold.linnet data.csv | head -1"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, cwd=folder, check=True)
    assert "Traceback" not in done.stderr
    assert "prediction" in done.stdout


def test_a_constant_may_be_the_best(folder: Path) -> None:
    noise = pa.table({"x": RNG.normal(size=60), "y": np.where(np.arange(60) % 10, "a", "b")})
    csv.write_csv(noise, folder / "noise.csv")
    done = run("train", "noise.csv", "--target", "y", "--metric", "accuracy", "-o", "n.linnet", cwd=folder)
    assert "constant is kept, by accuracy\nwarning: no model predicts better" in done.stdout
    assert set(linnet.load(folder / "n.linnet").predict(noise)) == {"a"}
    done = run("train", "noise.csv", "--target", "y", "--model", "constant", "-o", "n.linnet", cwd=folder)
    assert "constant is kept\nsaved" in done.stdout  # no other one was tried


def test_unseen_levels_are_counted(folder: Path) -> None:
    other = TABLE.set_column(2, "colour", pa.array(["green"] * 30 + ["red"] * (ROWS - 30)))
    csv.write_csv(other, folder / "other.csv")
    done = run("predict", "price.linnet", "other.csv", "-o", "answers.csv", cwd=folder)
    assert "note: 30 rows have a level of 'colour' never seen in training" in done.stderr


def test_levels_never_seen_are_counted(folder: Path) -> None:
    towns = [f"town {k % 40}" for k in range(ROWS)]
    towns[:7] = [f"hamlet {k}" for k in range(7)]
    table = TABLE.select(["size", "colour", "sold"]).append_column("town", pa.array(towns))
    csv.write_csv(table, folder / "towns.csv")
    run("train", "towns.csv", "--target", "sold", "--model", "logistic", "-o", "towns.linnet", cwd=folder)
    assert run("predict", "towns.linnet", "towns.csv", "-o", "t.csv", cwd=folder).stderr.count("note") == 0
    new = table.slice(0, 20).set_column(3, "town", pa.array(["elsewhere"] * 3 + towns[3:20]))
    new = new.set_column(1, "colour", pa.array(["mauve"] * 5 + ["red"] * 15))
    csv.write_csv(new, folder / "new.csv")
    notices = run("predict", "towns.linnet", "new.csv", "-o", "t.csv", cwd=folder).stderr
    assert "5 rows have a level of 'colour' never seen in training: it has no effect" in notices
    assert "3 rows have a level of 'town' never seen in training: it counts as one of the rare levels" in notices
    known = new.set_column(1, "colour", pa.array(["red"] * 20))
    with pytest.warns(DataWarning, match="which count as rare ones: 3 in column 'town'"):
        linnet.load(folder / "towns.linnet").predict_proba(known)


def test_a_perceptron_takes_the_whole_table(folder: Path) -> None:
    words = ("--target", "sold", "--model", "perceptron", "-o", "p.linnet", "--report", "p.html")
    output = run("train", "data.csv", *words, cwd=folder).stdout
    assert "perceptron is kept" in output
    assert "log_loss" not in output
    assert "accuracy *" in output
    assert linnet.load(folder / "p.linnet").metric == "accuracy"
    output = run("evaluate", "p.linnet", "data.csv", "--json", cwd=folder).stdout
    assert json.loads(output)["metrics"]["accuracy"]["value"] > 0.6


def test_a_folder_of_partitions(folder: Path) -> None:
    for year in (2023, 2024):
        part = folder / "sales" / f"year={year}"
        part.mkdir(parents=True)
        half = TABLE.select(["size", "price"]).slice(0 if year == 2023 else ROWS // 2, ROWS // 2)
        price = np.asarray(half["price"]) + 100 * (year - 2023)
        parquet.write_table(half.set_column(1, "price", pa.array(price)), part / "a.parquet")
    words = ("--target", "price", "--model", "linear", "-o", "year.linnet", "--json")
    facts = json.loads(run("train", "sales", *words, cwd=folder).stdout)
    assert facts["tried"][0]["scores"]["r2"] > 0.9  # not so without the year
    assert "year" in linnet.load(folder / "year.linnet").needed
