"""Models of whole tables as ONNX files: raw columns in, with gaps, infinities, rare and unseen levels."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pytest

import linnet
from linnet.errors import ConfigError
from linnet.tables.model import TableModel
from linnet.tables.options import Options
from linnet.tables.schema import Schema
from linnet.tables.select import best_model

onnx = pytest.importorskip("onnx", reason="the test group has onnx")
runtime = pytest.importorskip("onnxruntime", reason="the test group has onnxruntime")
pytestmark = pytest.mark.filterwarnings("ignore:(X|the table) has rows with", "ignore:Maximum iterations")

RNG = np.random.default_rng(0)
ROWS = 500
SIZE, YEARS = RNG.normal(5000, 1000, ROWS), RNG.uniform(0.5, 3, ROWS)
COLOUR = RNG.choice(["red", "blue", "<script>", ""], ROWS, p=[0.4, 0.3, 0.2, 0.1])
CITY = np.where(RNG.random(ROWS) < 0.7, RNG.choice([*"abcd"], ROWS), RNG.integers(0, 80, ROWS).astype(str))
Z = (SIZE - 5000) / 1000 + (COLOUR == "red") + (CITY == "a") + RNG.normal(0, 0.5, ROWS)


def with_gaps(values: Any, part: float) -> pa.Array:
    return pa.array(values, mask=RNG.random(ROWS) < part)


TABLE = pa.table(
    {
        "size": with_gaps(np.where(RNG.random(ROWS) < 0.02, np.inf, SIZE), 0.1),
        "colour": pa.array([value or None for value in COLOUR]),
        "city": with_gaps(CITY, 0.05),
        "stock": with_gaps(Z + RNG.normal(size=ROWS) > 0, 0.1),
        "rooms": RNG.integers(0, 6, ROWS),
        "price": pa.array([f"${value:,.2f}" for value in SIZE * 3]),
        "years": YEARS,
        "shift": RNG.normal(size=ROWS) / 4,
        "sold": np.where(Z > 1, "yes", "no"),
        "class": pa.array([("low", "middle", "high")[k] for k in np.digitize(Z, [0, 1.5])]),
        "claims": RNG.poisson(YEARS * np.exp(Z / 3)),
        "value": np.round(3 * Z + RNG.normal(0, 0.2, ROWS), 2),
    }
)
COLUMNS = ["size", "colour", "city", "stock", "rooms", "price"]
LATER = TABLE.set_column(
    TABLE.column_names.index("colour"), "colour", pa.array([("red", "new", None)[k % 3] for k in range(ROWS)])
)


def trained(target: str, model: str, **options: Any) -> TableModel:
    shifts: dict[str, Any] = (
        {"exposure": "years", "offset": "shift"} if target == "claims" and model != "constant" else {}
    )
    table = TABLE.select([*COLUMNS, target, *shifts.values()])
    learned = Schema.of(table.select([*COLUMNS, target]), target)
    return best_model(table, learned, Options(model=model, max_iter=4 if model == "mlp" else None, **shifts, **options))


def feeds(table: pa.Table, session: Any) -> dict[str, Any]:
    """Raw columns as the file wants them: text as it is, all else as numbers."""
    given = {}
    for each in session.get_inputs():
        values = table[each.name].to_pylist()
        if each.type == "tensor(string)":
            column: Any = np.array([value or "" for value in values], object)
        else:  # a price as a number, since a graph reads none from text
            values = [float(value.strip("$").replace(",", "")) if isinstance(value, str) else value for value in values]
            column = np.array([np.nan if value is None else float(value) for value in values])
        given[each.name] = column[:, None]
    return given


def check(model: TableModel, path: Path, table: pa.Table) -> None:
    onnx.checker.check_model(onnx.load(path), full_check=True)
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_outputs()]
    found = dict(zip(names, session.run(None, feeds(table, session)), strict=True))
    predicted = model.predict(table)
    if model.classes is None:
        assert names == ["variable"]
        np.testing.assert_allclose(found["variable"][:, 0], predicted, rtol=1e-5, atol=1e-5 * np.abs(predicted).mean())
        return
    p = model.predict_proba(table)
    assert np.abs(found["probabilities"] - p).max() < 1e-5
    if model.threshold is None:
        ordered = np.sort(p, axis=1)
        clear = ordered[:, -1] - ordered[:, -2] > 1e-6
    else:
        clear = np.abs(p[:, 1] - model.threshold) > 1e-6
    assert (found["label"] == predicted)[clear].all()


@pytest.mark.parametrize("later", [False, True], ids=["same", "unseen"])
@pytest.mark.parametrize(
    ("target", "model", "options"),
    [
        ("sold", "logistic", {}),
        ("sold", "mlp", {"threshold": "tune", "metric": "f2"}),
        ("sold", "logistic", {"threshold": "0.2"}),
        ("sold", "constant", {}),
        ("class", "softmax", {}),
        ("class", "mlp", {}),
        ("claims", "poisson", {}),
        ("claims", "mlp", {}),
        ("claims", "constant", {}),
        ("value", "linear", {}),
        ("value", "mlp", {}),
    ],
)
def test_table_models(target: str, model: str, options: dict[str, Any], later: bool, tmp_path: Path) -> None:
    fitted = trained(target, model, **options)
    kinds = {column.name: column.kind for column in fitted.schema.used}
    assert kinds["city"] == kinds["colour"] == "category"
    assert kinds["stock"] == "boolean"
    assert kinds["price"] == "number"
    assert next(column for column in fitted.schema.used if column.name == "city").levels  # there are rare ones
    fitted.to_onnx(tmp_path / "model.onnx")
    check(fitted, tmp_path / "model.onnx", LATER if later else TABLE)


@pytest.mark.parametrize("columns", [["rooms", "years"], COLUMNS])
def test_a_perceptron(columns: list[str], tmp_path: Path) -> None:
    table = TABLE.select([*columns, "sold"])
    model = best_model(table, Schema.of(table, "sold"), Options(model="perceptron"))
    model.to_onnx(tmp_path / "model.onnx")
    session = runtime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    assert {each.name for each in session.get_inputs()} == {column.name for column in model.schema.used}
    assert (session.run(["label"], feeds(table, session))[0] == model.predict(table)).all()


@pytest.mark.parametrize("model", ["linear", "mlp"])
@pytest.mark.parametrize("written", ["date32", "timestamp", "UTC", "text"])
def test_dates_are_given_in_seconds(written: str, model: str, tmp_path: Path) -> None:
    """Through leap years, ends of centuries and the time before 1970, with gaps."""
    first, last = np.datetime64("1890-01-01", "s"), np.datetime64("2110-01-01", "s")
    seconds = RNG.integers(first.astype(np.int64), last.astype(np.int64), ROWS)
    leap = [f"{year}-{day}T23:59:59" for year in (1900, 1904, 1969, 2000, 2100) for day in ("02-28", "03-01", "12-31")]
    seconds[: len(leap)] = np.array(leap, "M8[s]").astype(np.int64)
    if written in ("date32", "text"):
        seconds -= seconds % 86400
    dates = pa.array(seconds, pa.timestamp("s"), mask=RNG.random(ROWS) < 0.1)
    types = {"date32": pa.date32(), "timestamp": pa.timestamp("us"), "UTC": pa.timestamp("ms", "UTC")}
    column = pc.strftime(dates, "%d.%m.%Y") if written == "text" else dates.cast(types[written])
    table = TABLE.select(["rooms", "value"]).append_column("when", column)
    schema = Schema.of(table, "value")
    parts = {"year", "month", "weekday", "days"} | ({"hour"} if written in ("timestamp", "UTC") else set())
    assert set(next(one for one in schema.used if one.name == "when").parts) == parts
    fitted = best_model(table, schema, Options(model=model, max_iter=3 if model == "mlp" else None))
    fitted.to_onnx(tmp_path / "model.onnx")
    session = runtime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    given = {"rooms": table["rooms"].to_numpy(), "when": dates.cast(pa.int64()).to_numpy(zero_copy_only=False)}
    (predicted,) = session.run(["variable"], {name: values[:, None].astype(float) for name, values in given.items()})
    np.testing.assert_allclose(predicted[:, 0], fitted.predict(table), rtol=1e-5, atol=1e-5)


def test_zones_and_texts_are_named(tmp_path: Path) -> None:
    days = pa.array(np.datetime64("2024-01-01", "s") + RNG.integers(0, 10**7, ROWS), pa.timestamp("s", "Europe/Berlin"))
    words = pa.array([" ".join(RNG.choice(["a", "the", "bird", "sings", "well"], 4)) for _ in range(ROWS)])
    for name, column, kind in (("day", days, "Berlin"), ("notes", words, "text")):
        table = TABLE.select(["rooms", "sold"]).append_column(name, column)
        schema = Schema.of(table, "sold", text=[name] if kind == "text" else [])
        model = best_model(table, schema, Options(model="logistic"))
        with pytest.raises(ConfigError, match=f"column '{name}' cannot be exported: .*{kind}.*; .*drop='{name}'"):
            model.to_onnx(tmp_path / "no.onnx")
        assert not (tmp_path / "no.onnx").exists()


def test_the_command(tmp_path: Path) -> None:
    csv.write_csv(TABLE.select([*COLUMNS, "sold"]), tmp_path / "data.csv")

    def run(*words: str, code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "linnet", *words], capture_output=True, text=True, cwd=tmp_path, check=False
        )
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout + done.stderr

    run("train", "data.csv", "--target", "sold", "--model", "logistic", "-o", "sold.linnet")
    output = run("export", "sold.linnet", "sold.onnx")
    assert "input  colour: string, rows x 1 (text, empty where it is missing)" in output
    assert "output probabilities: double, rows x 2" in output
    check(linnet.load(tmp_path / "sold.linnet"), tmp_path / "sold.onnx", TABLE)
    assert "no.linnet" in run("export", "no.linnet", "no.onnx", code=2)
    assert not (tmp_path / "no.onnx").exists()
