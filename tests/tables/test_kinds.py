"""A kind of column is a class and a line in a list: a made-up one goes all the way from a table to its predictions."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linnet
from linnet.errors import ConfigError, DataError
from linnet.tables.kinds import KINDS, Column, ColumnKind, Kind, RawColumn, judge, judge_table
from linnet.tables.kinds.base import refuse_export, retyped
from linnet.tables.leaks import leaks
from linnet.tables.schema import Schema

ADDRESS = r"^\d{1,3}(\.\d{1,3}){3}$"


class Address(ColumnKind):
    """IP addresses: the network as a level, the host as a number."""

    learned = True
    no_target = "holds addresses"

    def recognise(self, raw: RawColumn) -> Column | None:
        if not pa.types.is_string(raw.type) or not pc.all(pc.match_substring_regex(raw.values, ADDRESS)).as_py():
            return None
        return raw.column(self.kind, start=raw.examples[0], note="becomes network and host")

    def made_of(self, column: Column) -> list[str]:
        return [f"{column.name} network", f"{column.name} host"]

    def apply(self, column: Column, values: Any) -> list[Any]:
        if not pa.types.is_string(values.type):
            raise retyped(column, values, "addresses")
        parts = pc.extract_regex(values, r"^(?P<network>\d+\.\d+)\.\d+\.(?P<host>\d+)$")
        return [pc.struct_field(parts, "network"), pc.struct_field(parts, "host").cast(pa.int64())]

    def made_up_value(self, column: Column, level: Any) -> Any:
        return column.start

    def to_graph(self, column: Column, graph: Any) -> list[Any]:
        refuse_export(column, "an address")


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[Kind]:
    """A name in `Kind`, and a line in `KINDS`."""
    name: Any = str.__new__(Kind, "address")
    name._name_, name._value_ = "ADDRESS", "address"
    monkeypatch.setattr(Kind, "_member_names_", [*Kind._member_names_, "ADDRESS"])
    monkeypatch.setitem(Kind._member_map_, "ADDRESS", name)
    monkeypatch.setitem(Kind._value2member_map_, "address", name)
    monkeypatch.setattr(Address, "kind", name, raising=False)
    KINDS.insert(0, Address())
    yield name
    del KINDS[0]


def visits() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    home, host = rng.random(300) < 0.5, rng.integers(1, 255, 300)
    ip = [f"{'192.168' if at_home else '10.0'}.1.{number}" for at_home, number in zip(home, host, strict=True)]
    return {"ip": ip, "noise": rng.normal(size=300), "bought": np.where(home == (host > 128), "yes", "no")}


def test_a_made_up_kind_goes_from_a_table_to_its_predictions(address: Kind, tmp_path: Path) -> None:
    table = visits()
    schema = Schema.of(pa.table(table), "bought")
    assert [(column.kind, column.used) for column in schema.columns] == [("address", True), ("number", True)]
    assert schema.columns[0].kind is address
    assert Schema.from_dict(schema.to_dict()) == schema
    assert leaks(pa.table(table), "bought", schema) == ()
    model = linnet.train(table, "bought", model="mlp", max_iter=30)
    assert model.score(table) < 0.4  # of the network and the host together
    model.save(tmp_path / "model.linnet")
    loaded = linnet.load(tmp_path / "model.linnet")
    assert loaded.schema == model.schema
    assert (loaded.predict(table) == model.predict(table)).all()
    with pytest.raises(DataError, match=r"column 'ip' has type double such as '1\.0', where addresses were expected"):
        loaded.predict({**table, "ip": np.ones(300)})
    with pytest.raises(ConfigError, match="ONNX has no way to read an address"):
        loaded.to_onnx(tmp_path / "model.onnx")
    model.report(tmp_path / "report.html")
    assert "becomes network and host" in (tmp_path / "report.html").read_text()
    with pytest.raises(DataError, match="the target 'ip' holds addresses"):
        linnet.train({**table, "ip": [f"10.0.0.{k % 9}" for k in range(300)]}, "ip")


def test_a_file_with_a_kind_that_is_not_known_is_refused(address: Kind, tmp_path: Path) -> None:
    linnet.train(visits(), "bought", model="logistic").save(tmp_path / "model.linnet")
    known = KINDS.pop(0)
    try:
        with pytest.raises(linnet.errors.FormatError):
            linnet.load(tmp_path / "model.linnet")
    finally:
        KINDS.insert(0, known)


def test_every_kind_has_one_class() -> None:
    assert sorted(each.kind for each in KINDS) == sorted(Kind)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_columns_are_judged_together_as_each_alone(data: st.DataObject) -> None:
    rows = data.draw(st.integers(0, 40))
    number = st.sampled_from([0.0, -0.0, 1.0, 2.5, 7.0, np.nan, np.inf, -np.inf, None])
    by_type: dict[str, st.SearchStrategy[Any]] = {
        "double": number,
        "float": number,
        "int64": st.integers(-3, 99),
        "uint8": st.integers(0, 99) | st.none(),
        "string": st.sampled_from(["a", "b", "1", None]),
    }
    columns = {}
    for place in range(data.draw(st.integers(1, 9))):
        type_ = data.draw(st.sampled_from([*by_type]))
        values = data.draw(st.lists(by_type[type_], min_size=rows, max_size=rows))
        name = f"{data.draw(st.sampled_from(['x', 'id', 'year']))} {place}"
        in_order = sorted(values, key=str) if data.draw(st.booleans()) else values
        columns[name] = pa.array(in_order, pa.type_for_alias(type_))
    table = pa.table(columns)
    cut = data.draw(st.integers(0, rows))
    in_chunks = pa.concat_tables([table.slice(0, cut), table.slice(cut)])
    alone = [judge(name, column) for name, column in zip(table.column_names, table.columns, strict=True)]
    assert judge_table(table) == alone == judge_table(in_chunks)
