"""`linnet.train` and `TableModel`: data of any kind in; predictions, metrics, a page and a file out."""

import dataclasses
import inspect
import pickle
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv as csv
import pytest

import linnet
from linnet.data.encoder import Encoder
from linnet.data.tabular_encoder import max_columns
from linnet.errors import ConfigError, DataError, DataWarning, hearing
from linnet.estimators.linear import NegativeBinomialRegressor, PoissonRegressor, Ridge
from linnet.estimators.logistic import LogisticRegression
from linnet.estimators.mlp.classifier import MLPClassifier
from linnet.estimators.mlp.regressor import MLPRegressor
from linnet.estimators.tabular.base import parameter_count
from linnet.report import facts_of
from linnet.tables import select
from linnet.tables.io.sources import open_source
from linnet.tables.options import Options
from linnet.tables.rows import Roles
from linnet.tables.schema import Schema
from linnet.tables.task import Task
from linnet.tables.train import train

RNG = np.random.default_rng(0)
ROWS = 200
SIZE = RNG.normal(size=ROWS).round(3)
COLOUR = RNG.choice(["red", "blue", "green"], ROWS)
AGE = np.where(RNG.random(ROWS) < 0.1, np.nan, RNG.integers(1, 90, ROWS) + 0.5)
Z = SIZE + (COLOUR == "red") - 0.3
TABLE = pa.table(
    {
        "size": SIZE,
        "colour": COLOUR,
        "age": pa.array(AGE, from_pandas=True),
        "sold": np.where(RNG.random(ROWS) < 1 / (1 + np.exp(-2 * Z)), "yes", "no"),
    }
)
PRICE = TABLE.drop_columns(["sold"]).append_column("price", pa.array(50 + 9 * Z + RNG.normal(size=ROWS)))
CLAIMS = TABLE.drop_columns(["sold"]).append_column("claims", pa.array(RNG.poisson(np.exp(Z))))


@pytest.fixture(scope="module")
def model() -> linnet.TableModel:
    return linnet.train(TABLE, "sold", model="logistic")


class Query:
    """Rows that come as a new stream of Arrow on each request, like those of a query."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        batches = TABLE.to_batches(max_chunksize=64)
        return pa.RecordBatchReader.from_batches(TABLE.schema, iter(batches)).__arrow_c_stream__(requested_schema)


def kinds(folder: Path) -> dict[str, Any]:
    """The same rows in all kinds of data."""
    path, halves = folder / "table.csv", [folder / "first.csv", folder / "second.csv"]
    csv.write_csv(TABLE, path)
    for file, first in zip(halves, (0, ROWS // 2), strict=True):
        csv.write_csv(TABLE.slice(first, ROWS // 2), file)
    frame = TABLE.to_pandas()
    return {
        "a path": str(path),
        "paths": halves,
        "a source": open_source([path]),
        "pandas": frame,
        "categories of pandas": frame.assign(colour=frame["colour"].astype("category")),
        "polars": pl.from_arrow(TABLE),
        "pyarrow": TABLE,
        "a query": Query(),
        "a batch": TABLE.to_batches()[0],
        "columns": TABLE.to_pydict(),
        "columns of arrays": {"size": SIZE, "colour": COLOUR, "age": AGE, "sold": frame["sold"]},
        "rows": TABLE.to_pylist(),
        "rows with gaps left out": [{k: v for k, v in row.items() if v is not None} for row in TABLE.to_pylist()],
    }


def test_all_kinds_of_data_are_one(tmp_path: Path, model: linnet.TableModel) -> None:
    model.save(tmp_path / "expected.linnet")
    for name, data in kinds(tmp_path).items():
        found = linnet.train(data, "sold", model="logistic")
        found.save(tmp_path / "found.linnet")
        assert (tmp_path / "found.linnet").read_bytes() == (tmp_path / "expected.linnet").read_bytes(), name
        assert (model.predict(data) == model.predict(TABLE)).all(), name
        assert (model.predict_proba(data) == model.predict_proba(TABLE)).all(), name
        assert (model.sample(data, 3) == model.sample(TABLE, 3)).all(), name
        assert model.score(data) == model.score(TABLE), name
        other = linnet.train(TABLE.slice(0), "sold", model="constant", valid=data)
        assert other.facts["held_out"] == ROWS, name


@pytest.mark.parametrize("size", [1.0, None])
def test_a_dict_of_values_is_one_row(model: linnet.TableModel, size: float | None) -> None:
    row = {"size": size, "colour": "red", "age": 3}
    with hearing(DataWarning):
        assert model.predict(row) == model.predict([row])
        assert (model.predict_proba(row) == model.predict_proba([row])).all()


def test_a_model_says_what_it_was_made_for(model: linnet.TableModel, tmp_path: Path) -> None:
    assert isinstance(model, linnet.TableModel)
    assert model.task is Task.TWO_CLASSES
    assert [one.name for one in model.tried] == ["logistic"]
    found = model.evaluate(TABLE, ["f2"], level=0.9)
    assert list(found)[:2] == ["f2", "log_loss"]
    assert model.score(TABLE) == found["log_loss"].value
    assert found["log_loss"].low < found["log_loss"].value < found["log_loss"].high
    assert found["f2"].level == 0.9
    predictions = model.predictions({"size": [1.0, None], "colour": ["grey", "red"], "age": [3, 4]})
    assert (predictions.rows.unseen, predictions.rows.filled) == ({"colour": 1}, {"size": 1})
    assert predictions.proba is not None
    assert (predictions.values == np.array(model.classes)[predictions.proba.argmax(axis=1)]).all()
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.threshold = 0.3  # type: ignore[misc]


def test_a_page_of_the_validation_rows_or_of_others(model: linnet.TableModel, tmp_path: Path) -> None:
    model.report(tmp_path / "held_out.html")
    assert model.run is not None
    model.report(tmp_path / "given.html", model.run.held_out.table)
    assert (tmp_path / "held_out.html").read_text() == (tmp_path / "given.html").read_text()
    assert "linnet.train(data, &#x27;sold&#x27;, model=&#x27;logistic&#x27;)" in (tmp_path / "given.html").read_text()
    model.save(tmp_path / "model.linnet")
    loaded = linnet.load(tmp_path / "model.linnet")
    for copy in (loaded, pickle.loads(pickle.dumps(model))):
        assert copy.run is None
        assert (copy.predict_proba(TABLE) == model.predict_proba(TABLE)).all()
        with pytest.raises(ConfigError, match="has no training rows: give data"):
            copy.report(tmp_path / "none.html")
        copy.report(tmp_path / "copy.html", TABLE)
    assert not (tmp_path / "none.html").exists()


def counted(monkeypatch: pytest.MonkeyPatch, counts: Counter[str], owner: Any, name: str) -> None:
    """Count the calls of a method, and the rows of the first argument behind the object."""
    method = getattr(owner, name)

    def call(self: Any, rows: Any, *more: Any, **others: Any) -> Any:
        counts[name] += 1
        counts[f"{name}, rows"] += len(rows)
        return method(self, rows, *more, **others)

    monkeypatch.setattr(owner, name, call)


@pytest.mark.parametrize(
    ("table", "target", "estimators", "encoders"),
    [
        (TABLE, "sold", (LogisticRegression, MLPClassifier), 2),
        (CLAIMS, "claims", (Ridge, PoissonRegressor, NegativeBinomialRegressor, MLPRegressor), 2),
    ],
)
def test_each_row_is_read_encoded_and_predicted_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, table: pa.Table, target: str, estimators: Any, encoders: int
) -> None:
    counts: Counter[str] = Counter()
    counted(monkeypatch, counts, Schema, "apply")
    counted(monkeypatch, counts, Encoder, "_encode_frame")
    for name in ("predict", "predict_proba"):
        for estimator in estimators:
            if hasattr(estimator, name):
                counted(monkeypatch, counts, estimator, name)
    options: dict[str, Any] = {"threshold": "tune"} if target == "sold" else {}
    found = linnet.train(table, target, max_iter=2, **options)
    held_out = found.facts["held_out"]
    assert len(found.tried) == len(estimators) + 1
    assert (counts["apply"], counts["apply, rows"]) == (2, ROWS)  # training rows, held-out rows
    # an encoder for linear models and one for networks: each sees training and held-out rows once
    assert (counts["_encode_frame"], counts["_encode_frame, rows"]) == (2 * encoders, encoders * ROWS)
    predicted = counts["predict, rows"] + counts["predict_proba, rows"]
    assert predicted == len(estimators) * held_out
    counts.clear()
    linear = linnet.train(table, target, model="logistic" if target == "sold" else "poisson")
    trained = counts.copy()
    linear.report(tmp_path / "page.html")
    assert counts["apply"] == trained["apply"]
    assert counts["predict"] + counts["predict_proba"] == trained["predict"] + trained["predict_proba"]


def test_numbers_have_limits_and_draws() -> None:
    found = linnet.train(PRICE, "price", model="linear")
    assert (found.task, found.metric) == (Task.NUMBER, "rmse")
    low, high = found.predict_interval(PRICE, 0.8)
    assert 0.7 < ((low <= PRICE["price"].to_numpy()) & (PRICE["price"].to_numpy() <= high)).mean() < 0.9
    assert found.sample(PRICE, 1).shape == (ROWS,)
    with pytest.raises(ConfigError, match="'a number' has no probabilities"):
        found.predict_proba(PRICE)


def test_parameters_are_the_options() -> None:
    of_train = {name: each.default for name, each in list(inspect.signature(train).parameters.items())[2:]}
    assert of_train == {each.name: each.default for each in dataclasses.fields(Options)}


REFUSED: dict[str, dict[str, Any]] = {
    "hidden_layer_sizes is for the network, and model='logistic' is not one": {
        "model": "logistic",
        "hidden_layer_sizes": (5,),
    },
    "valid=0.001 of 200 rows holds out 0": {"valid": 0.001},
    "valid must be rows, or a share of the rows between 0 and 1, got 2": {"valid": 2},
    "valid: these are training rows": {"valid": TABLE},
    "drop='sold': the column has a role": {"drop": "sold"},
    "unknown column 'colr': did you mean 'colour'?": {"text": ["colr"]},
    "unknown model 'tree'": {"model": "tree"},
    "l2 is for model='sequential', and the model is auto": {"l2": 0.1},
    "model='sequential' does not stop early: leave out n_iter_no_change": {
        "model": "sequential",
        "n_iter_no_change": 3,
    },
    "exposure is for counts, and the task is 'two classes'": {"exposure": "size"},
    "resume=True continues from a checkpoint": {"resume": True},
    "there is no checkpoint none.ckpt to resume": {"resume": True, "checkpoint": "none.ckpt"},
    "threshold must be 'tune' or a number from 0 to 1, got [1]": {"threshold": [1]},
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_refused_names_parameters(message: str) -> None:
    with pytest.raises((ConfigError, DataError)) as caught:
        linnet.train(TABLE, "sold", **REFUSED[message])
    assert message in str(caught.value)
    assert "--" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"x": [1.0, 2.0], "y": [1.0]}, "column 'x' has 2 values and column 'y' 1: give one per row"),
        ({"x": 1.0, "y": [1.0]}, "column 'x' must be a list of values, one per row, got 1.0"),
        ({"x": ["1", 2.0], "y": [1, 2]}, "column 'x' cannot be read"),
        ([{"x": 1.0}, 2.0], "not a list of dict"),
        ("nowhere.csv", "nowhere.csv: there is no such file"),
        (pa.table([pa.array([1]), pa.array([2])], ["x", "x"]), "several columns called 'x'"),
        ({"x": [[1], [2]], "y": [[1], [2]]}, "lists or objects in 'y'"),
        ({"x": ["\ud800", "b"], "y": [1, 2]}, "column 'x' of the table has in row 0 the text"),
    ],
)
def test_data_that_are_no_table(data: Any, message: str) -> None:
    with pytest.raises(DataError) as caught:
        linnet.train(data, "y")
    assert message in str(caught.value)


def test_what_is_odd_about_columns_is_reported() -> None:
    leaking = TABLE.append_column("paid", pa.array([float(text == "yes") for text in TABLE["sold"].to_pylist()]))
    nested = leaking.append_column("list", pa.array([[1]] * ROWS))
    with pytest.warns(DataWarning, match="column 'paid' alone predicts the target"):
        found = linnet.train(nested, "sold", model="constant")
    assert found.run is not None
    assert found.run.notices == ("columns that hold lists or objects are left out: 'list'",)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        linnet.train(nested, "sold", model="constant", drop=["paid", "list"])


def test_classes_that_are_numbers_have_weights_by_number() -> None:
    flags = TABLE.set_column(3, "sold", pa.array([int(text == "yes") for text in TABLE["sold"].to_pylist()]))
    plain, weighted = (
        linnet.train(flags, "sold", model="logistic", class_weight=each) for each in (None, {0: 1, 1: 9})
    )
    assert (weighted.predict_proba(flags)[:, 1] > plain.predict_proba(flags)[:, 1]).all()


@dataclasses.dataclass(frozen=True, slots=True)
class MoreRoles(Roles):
    """A role that does not exist yet."""

    stratum: str | None = None


def test_roles_are_listed_once(model: linnet.TableModel) -> None:
    """A role that is added to `Roles` is one wherever roles are used."""
    more = MoreRoles("sold", weights="age", stratum="colour")
    assert more.given == {"target": "sold", "weights": "age", "stratum": "colour"}
    assert more.names == ("sold", "age", "colour")
    with pytest.raises(ConfigError, match="'age' is given as weights and as stratum"):
        MoreRoles("sold", weights="age", stratum="age")
    facts = facts_of(dataclasses.replace(model, roles=MoreRoles("sold", stratum="colour")), TABLE)
    assert facts.roles == {"stratum": "colour"}


def test_all_roles_are_parameters() -> None:
    roles = [each.name for each in dataclasses.fields(Roles) if each.name != "target"]
    given = Options(**{role: f"column of {role}" for role in roles}).roles("y")  # type: ignore[arg-type]
    assert given.given == {"target": "y", **{role: f"column of {role}" for role in roles}}


def test_chunks_of_files_are_predicted_as_the_whole(tmp_path: Path, model: linnet.TableModel) -> None:
    rows = pa.concat_tables([TABLE] * 40).append_column("id", pa.array([f"{k:05}" for k in range(40 * ROWS)]))
    csv.write_csv(rows, tmp_path / "rows.csv", csv.WriteOptions(quoting_style="none"))
    found = [*model.predict_chunks(str(tmp_path / "rows.csv"), ["id", "size"], as_written=True)]
    kept = pa.concat_tables([table for table, _ in found])
    assert kept["id"].to_pylist() == rows["id"].to_pylist()
    assert kept["size"].to_pylist() == rows["size"].to_pylist()
    assert (np.concatenate([each.values for _, each in found]) == model.predict(rows)).all()
    [(table, each)] = model.predict_chunks(TABLE, ["colour"])
    assert table.column_names == ["colour"]
    assert (each.values == model.predict(TABLE)).all()
    for data in (TABLE, str(tmp_path / "rows.csv")):
        with pytest.raises(DataError, match="the table lacks 'town', which is to be kept"):
            next(model.predict_chunks(data, ["town"]))


def genes(rows: int, columns: int) -> pa.Table:
    rng = np.random.default_rng(3)
    values = rng.normal(size=(columns, rows))
    columns_by_name = {f"g{place}": column for place, column in enumerate(values)}
    return pa.table({**columns_by_name, "ill": np.where(rng.random(rows) < 0.5, "yes", "no")})


def test_a_network_with_far_more_parameters_than_rows_is_tried_only_when_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(select, "_MAX_PARAMETERS", 50_000)
    monkeypatch.setattr(select, "_MAX_PARAMETERS_PER_ROW", 500)
    wide = genes(50, 400)
    fast: dict[str, Any] = {"max_iter": 2}
    model = linnet.train(wide, "ill")
    assert [one.name for one in model.tried] == ["constant", "logistic"]
    assert model.run is not None
    assert model.run.notices == (
        "the network is left out: with 400 inputs it would have 67,969 parameters to learn from 40 rows; model='mlp' "
        "asks for it",
    )
    for asked in ({"model": "mlp"}, fast):  # also by a parameter of it
        found = linnet.train(wide, "ill", **{**fast, **asked})
        assert found.tried[-1].name == "mlp"
        assert found.run is not None
        assert found.run.notices == ()
    network = linnet.train(wide, "ill", model="mlp", **fast).estimator
    assert sum(weights.size for weights in (*network.coefs_, *network.intercepts_)) == 67_969
    assert linnet.train(genes(200, 400), "ill").tried[-1].name == "mlp"  # enough rows
    monkeypatch.setattr(select, "_MAX_PARAMETERS", 70_000)
    assert linnet.train(wide, "ill").tried[-1].name == "mlp"  # not so many
    flags = {f"f{place}": RNG.integers(0, 2, 300) for place in range(400)}
    assert parameter_count(max_columns(240, 400, ()), 2) > 500 * 240
    assert (
        linnet.train({**flags, "ill": RNG.integers(0, 2, 300)}, "ill").tried[-1].name == "mlp"
    )  # two values have no bins


def test_the_limit_is_beyond_the_tables_that_people_have() -> None:
    """Rows to learn from, columns of numbers: pictures, spectra, expressed genes, five texts of 1,024 bins."""
    for rows, columns in (
        (48_000, 784),
        (192, 124),
        (57, 7129),
        (640, 20_531),
        (1236, 10_936),
        (80, 54_675),
        (20, 5120),
    ):
        count = parameter_count(max_columns(rows, columns, ()), 2)
        assert count <= max(select._MAX_PARAMETERS, select._MAX_PARAMETERS_PER_ROW * rows), (rows, columns)
    assert parameter_count(max_columns(16, 100_000, ()), 2) > max(
        select._MAX_PARAMETERS, select._MAX_PARAMETERS_PER_ROW * 16
    )
