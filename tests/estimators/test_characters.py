"""Half characters (lone surrogates) in texts: an error that names column and row, wherever text is accepted."""

import copy
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import linnet
from linnet import LogisticRegression, MLPClassifier, Perceptron, PoissonRegressor, ThresholdClassifier
from linnet.data.characters import first_broken
from linnet.errors import ConfigError, DataError
from linnet.multiclass import OneVsRestClassifier
from linnet.tables.io.sources import open_source
from linnet.tables.options import Options
from linnet.tables.schema import Schema
from linnet.tables.select import best_model

pytestmark = pytest.mark.filterwarnings("ignore")

HALF = "a\ud800b"
ROWS = 40
RNG = np.random.default_rng(0)
X = pd.DataFrame({"x": RNG.normal(size=ROWS), "level": ["u", "v"] * (ROWS // 2)})
Y = np.array(["no", "yes"] * (ROWS // 2), dtype=object)
LEVELS = ["u", "v", HALF, "v"] * (ROWS // 4)
CELLS = X.assign(level=pd.Series(LEVELS, dtype=object))
CODES = [["u", "v", HALF].index(level) for level in LEVELS]
CATEGORIES = X.assign(level=pd.Categorical.from_codes(CODES, pd.Index(["u", "v", HALF], dtype=object)))
NAMES = X.copy()
NAMES.columns = pd.Index(["x", HALF], dtype=object)
CLASSES = np.array(["no", "yes", HALF, "no"] * (ROWS // 4), dtype=object)
MODELS: dict[str, Any] = {
    "logistic": LogisticRegression(),
    "perceptron": Perceptron(max_iter=2),
    "network": MLPClassifier((3,), max_iter=2, random_state=0),
    "tabular": MLPClassifier(preset="tabular", max_iter=1, random_state=0),
    "one versus rest": OneVsRestClassifier(LogisticRegression()),
    "threshold": ThresholdClassifier(LogisticRegression(), cv=2),
}


@pytest.mark.parametrize("name", MODELS)
def test_columns_names_and_classes(name: str, tmp_path: Path) -> None:
    new: Callable[[], Any] = lambda: copy.deepcopy(MODELS[name])  # noqa: E731
    model = new().fit(X, Y)
    where = r"column 'level' of X has in row 2 the text 'a\\ud800b'"
    for table in (CELLS, CATEGORIES):
        with pytest.raises(DataError, match=where):
            new().fit(table, Y)
        with pytest.raises(DataError, match=where):
            model.predict(table)
    with pytest.raises(DataError, match=r"column 1 of X has as its name the text 'a\\ud800b'"):
        new().fit(NAMES, Y)
    with pytest.raises(DataError):
        model.predict(NAMES)
    for classes in (CLASSES, CLASSES.astype(str)):
        with pytest.raises(DataError, match=r"y has in row 2 as a class the text 'a\\ud800b'"):
            new().fit(X[["x"]], classes)
    unused = X.assign(level=pd.Categorical.from_codes([0, 1] * (ROWS // 2), pd.Index(["u", "v", HALF], dtype=object)))
    np.testing.assert_array_equal(new().fit(unused, Y).predict(unused), model.predict(X))  # a category of no row


def test_numbers_and_checkpoints(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="column 'level' of X has in row 2"):
        PoissonRegressor().fit(CELLS, np.arange(ROWS))
    kept = MLPClassifier((3,), max_iter=2, checkpoint=tmp_path / "run.ckpt")
    with pytest.raises(DataError, match="y has in row 2"):
        kept.fit(X, CLASSES)
    assert not list(tmp_path.iterdir())


def test_nothing_is_saved_that_could_not_be_read(tmp_path: Path) -> None:
    model = LogisticRegression(class_weight={HALF: 1.0})
    with pytest.raises(DataError, match=r"LogisticRegression\.class_weight holds the text 'a\\ud800b'"):
        model.save(tmp_path / "a.linnet")
    assert not list(tmp_path.iterdir())


def test_names_of_files(tmp_path: Path) -> None:
    model = LogisticRegression().fit(X, Y)
    for call in (
        lambda: model.save(tmp_path / HALF),
        lambda: linnet.load(tmp_path / HALF),
        lambda: model.to_onnx(tmp_path / HALF),
        lambda: linnet.Checkpoint(tmp_path / HALF),
        lambda: linnet.resume(tmp_path / HALF, X, Y),
    ):
        with pytest.raises(ConfigError, match=r"a file cannot be called '.*\\ud800b'"):
            call()


def test_tables() -> None:
    table = open_source([_written(X.assign(y=Y))]).read()
    model = best_model(table, Schema.of(table, "y"), Options(model="logistic"))
    for given in (CELLS, CATEGORIES):
        with pytest.raises(DataError, match="column 'level' of the table has in row 2"):
            model.predict(given)
    with pytest.raises(DataError, match="column 1 of the table has as its name"):
        model.predict(NAMES)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _written(table: pd.DataFrame) -> Path:
    table.to_csv("table.csv", index=False)
    return Path("table.csv")


@pytest.mark.parametrize(
    ("line", "where"),
    [
        (r'{"a": 2, "b": "x\ud800y"}', r"line 2, column 'b': has the text 'x\ud800y'"),
        (r'{"a": 2, "b": "\udc00\ud800"}', r"line 2, column 'b': has the text '\udc00\ud800'"),
        (r'{"a\ud800": 2, "b": "x"}', r"line 2, column 'a\ud800': has the text 'a\ud800'"),
    ],
)
def test_json_lines(line: str, where: str) -> None:
    Path("a.jsonl").write_text('{"a": 1, "b": "\\ud83d\\ude00"}\n' + line + "\n")
    with pytest.raises(DataError) as caught:
        open_source(["a.jsonl"]).read()
    assert where in str(caught.value)
    Path("a.jsonl").write_text('{"a": 1, "b": "\\ud83d\\ude00"}\n')
    assert open_source(["a.jsonl"]).read()["b"].to_pylist() == ["😀"]


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes")
def test_names_that_are_not_utf8_are_names() -> None:
    name = os.fsdecode(b"a\xff.csv")
    Path(name).write_text("a,b\n1,x\n")
    assert open_source([name]).read().to_pydict() == {"a": [1], "b": ["x"]}
    folder = Path(os.fsdecode(b"in/k=\xff"))
    folder.mkdir(parents=True)
    (folder / "a.csv").write_text("a\n1\n")
    with pytest.raises(DataError, match=r"the name of the folder 'k=\\udcff' has a value and is not UTF-8: rename it"):
        open_source(["in"])


def test_the_first_one_is_found_wherever_it_is() -> None:
    values: list[Any] = ["x"] * 200_000
    assert first_broken(values) == -1
    for place in (0, 65_535, 65_536, 199_999):
        assert first_broken([*values[:place], "\udfff", *values[place:], None, 1.5]) == place
    assert first_broken(["😀", None, float("nan"), 3, "\ud83d"]) == 4


def test_columns_and_rows_by_name() -> None:
    rows = X.assign(y=Y).to_dict("records")
    model = linnet.train(rows, "y", model="constant")
    broken: dict[str, tuple[Any, str]] = {
        "a name in rows": ([{**row, HALF: 1} for row in rows], r"column 3 of the table has as its name"),
        "a name of columns": ({"x": [1.0], "level": ["u"], HALF: [2]}, r"column 2 of the table has as its name"),
        "a cell of a row": (
            [rows[0], {**rows[1], "level": HALF}],
            r"column 'level' of the table has in row 1 the text",
        ),
        "a cell of a column": ({"x": [1.0, 2], "level": ["u", HALF]}, r"column 'level' of the table has in row 1"),
    }
    for data, where in broken.values():
        for call in (
            model.predict,
            lambda data: linnet.train(data, "y"),
            lambda data: linnet.train(X, "x", valid=data),
        ):
            with pytest.raises(DataError, match=where):
                call(data)
    with pytest.raises(DataError, match="several columns called '1'"):
        model.predict({1: [2.0], "1": [3.0]})


def test_names_of_tables() -> None:
    for call in (
        lambda: linnet.train(HALF, "y"),
        lambda: linnet.train([HALF, "table.csv"], "y"),
        lambda: linnet.train(X.assign(y=Y), "y", valid=HALF),
        lambda: open_source([HALF]),
    ):
        with pytest.raises(ConfigError, match=r"a file cannot be called 'a\\ud800b'"):
            call()
    for metric in (HALF, [HALF], {HALF: 1}):
        with pytest.raises(ConfigError, match="unknown metric"):
            linnet.train(X.assign(y=Y), "y", metric=metric)  # type: ignore[arg-type]
