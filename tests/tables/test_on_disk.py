"""Models of tables too large for memory: trained from a file, they equal those trained in memory."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest

from linnet.errors import DataError
from linnet.tables.io.sources import open_source
from linnet.tables.model import TableModel
from linnet.tables.on_disk import TableOnDisk
from linnet.tables.options import Options
from linnet.tables.rows import Examples, KnownRows
from linnet.tables.schema import Schema
from linnet.tables.select import best_model

RNG = np.random.default_rng(0)
ROWS = 3000
SIZE = RNG.normal(size=ROWS)
GAPS = RNG.random(ROWS) < 0.1
COLUMNS: dict[str, Any] = {
    "size": SIZE,
    "town": RNG.choice(["Ulm", "Bonn", "Kiel"], ROWS),
    "age": [None if gap else float(age) for gap, age in zip(GAPS, RNG.integers(1, 90, ROWS), strict=True)],
    "day": np.datetime64("2024-01-01") + RNG.integers(0, 300, ROWS),
    "new": RNG.random(ROWS) < 0.5,
}
TARGETS: dict[str, Any] = {
    "logistic": np.where(SIZE + RNG.logistic(size=ROWS) > 0, "yes", "no"),
    "softmax": RNG.choice(["a", "b", "c"], ROWS),
    "poisson": RNG.poisson(np.exp(0.3 * SIZE + 1)),
    "linear": SIZE + RNG.normal(size=ROWS),
}


def given(path: Path, model: str) -> tuple[pa.Table, Schema, Options]:
    """A table in a file, and how it is read."""
    extra = {"weight": RNG.random(ROWS) + 0.5} | ({"time": RNG.random(ROWS) + 0.5} if model == "poisson" else {})
    target = [None if row % 50 == 0 else value for row, value in enumerate(TARGETS[model].tolist())]
    csv.write_csv(pa.table({**COLUMNS, **extra, "claims": target}), path)
    table = open_source([path]).read()
    task = {"poisson": "counts"}.get(model)
    options = Options(model=model, exposure="time" if model == "poisson" else None, weights="weight")
    return table, Schema.of(table.select([*COLUMNS, "claims"]), "claims", task=task), options


def run(*given: Any, **more: Any) -> tuple[TableModel, Examples, KnownRows]:
    """The model, its training rows and its held-out rows."""
    found = best_model(*given, **more)
    assert found.run is not None
    return found, found.run.training, found.run.held_out


def weights(model: TableModel) -> Any:
    """The coefficients of all columns."""
    return np.append(model.estimator.coef_, model.estimator.intercept_)


@pytest.mark.parametrize("model", list(TARGETS))
def test_the_model_is_that_of_the_table_in_memory(tmp_path: Path, model: str) -> None:
    path = tmp_path / "table.csv"
    table, schema, options = given(path, model)
    expected, rows, held = run(table, schema, options)
    whole = TableOnDisk(open_source([path]), ROWS, tmp_path)
    found, examples, held_too = run(table, schema, options, whole=whole)
    assert held_too.table.equals(held.table)
    assert len(examples) == len(rows)
    assert whole.notices == []
    assert weights(found) == pytest.approx(weights(expected), rel=1e-9, abs=1e-12)
    assert found.tried[0].scores == pytest.approx(expected.tried[0].scores, rel=1e-9)
    inference = [
        one.estimator.inference(each.x, each.y, **each.given).standard_error
        for one, each in ((found, examples), (expected, rows))
    ]
    # with a coefficient for every level and hardly a penalty, roundings matter a million times
    assert inference[0] == pytest.approx(inference[1], rel=1e-3)
    assert (found.predict(table) == expected.predict(table)).all() or model in ("poisson", "linear")


def test_a_sample_is_enough_to_begin_with(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    table, schema, options = given(path, "logistic")
    numbers = np.sort(RNG.choice(ROWS, 600, replace=False))
    whole = TableOnDisk(open_source([path]), ROWS, tmp_path)
    found, examples, held = run(table.take(numbers), schema, options, whole=whole, numbers=numbers)
    known = np.array([value is not None for value in table["claims"].to_pylist()])
    assert len(examples) + len(held) == known.sum()
    assert found.facts["rows"] == len(examples)
    # held-out rows are not trained on: no row is in both
    seen = {tuple(row.values()) for row in held.table.select(["size"]).to_pylist()}
    assert isinstance(examples, Examples)
    sizes = np.hstack(examples.x.columns.tables)[:, 0]
    assert not seen & {(size,) for size in sizes.tolist()}


def test_what_the_sample_lacks_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    columns = {"size": SIZE, "town": ["Ulm"] * 2970 + ["Rom"] * 5 + ["Ulm"] * 25, "y": ["a", "b"] * 1495 + ["c"] * 10}
    columns["age"] = [1.0, 2.0] * 1490 + [None] * 20
    csv.write_csv(pa.table(columns), path)
    some = open_source([path]).read().slice(0, 2000)
    some = some.set_column(1, "town", pa.array(["Ulm", "Bonn"] * 1000))
    schema = Schema.of(some, "y")
    whole = TableOnDisk(open_source([path]), ROWS, tmp_path)
    numbers = np.arange(2000)
    best_model(some, schema, Options(model="logistic"), whole=whole, numbers=numbers)
    assert whole.notices == [
        "10 rows of classes that the sample does not have are left out: 'y'",
        "5 rows have a level of 'town' that the sample does not have, which has no effect",
        "10 rows have no value of 'age', which no row of the sample lacks: they get the median",
    ]


def test_an_error_says_where(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    table, schema, options = given(path, "poisson")
    broken = table.set_column(table.column_names.index("time"), "time", pa.array([1.0] * 2999 + [None]))
    csv.write_csv(broken, path)
    whole = TableOnDisk(open_source([path]), ROWS, tmp_path)
    with pytest.raises(DataError, match=r"among the 3,000 rows from 0 on: column 'time' has no value in row"):
        best_model(table.slice(0, 500), schema, options, whole=whole, numbers=np.arange(500))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["table.csv"]
