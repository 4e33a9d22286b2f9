"""Levels that are rare, new, or very long."""

import json
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from linnet.data.encoder import Encoder
from linnet.errors import DataError
from linnet.tables.kinds import category
from linnet.tables.schema import Schema


def test_rare_levels_are_distinguished_from_unseen_levels() -> None:
    town = [f"town {place % 40}" for place in range(400)] + [f"hamlet {place}" for place in range(7)]
    table = pa.table({"town": town, "y": np.arange(407) % 3 / 2})
    schema = Schema.of(table, "y")
    column = schema.used[0]
    assert column.rare is not None
    assert len(column.rare) == 7
    assert not any("hamlet" in digest for digest in column.rare)  # a model does not reveal the content of a few rows
    assert schema.never_seen(table) == {}
    new = pa.table({"town": ["town 3", "hamlet 2", "elsewhere", None, "elsewhere", "hamlet 9"]})
    assert schema.never_seen(new) == {"town": 3}
    assert schema.apply(new)["town"].to_pylist() == ["town 3", "(other)", "(other)", None, "(other)", "(other)"]
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema


def test_very_many_rare_levels_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(category, "_MAX_RARE_DIGESTS", 6)
    town = [f"town {place % 40}" for place in range(400)] + [f"hamlet {place}" for place in range(7)]
    schema = Schema.of(pa.table({"town": town, "y": np.arange(407)}), "y")
    assert schema.used[0].rare is None
    assert schema.never_seen(pa.table({"town": ["elsewhere"]})) == {}


def test_a_level_may_be_long_without_a_model_of_its_size() -> None:
    long, other = "x" * 1_000_000, "x" * 999_999 + "y"
    table = pa.table({"colour": ["red", long, other, "blue"] * 20, "y": np.arange(80) % 2})
    made = Schema.of(table, "y").apply(table)["colour"]
    assert len(set(made.to_pylist())) == 4
    assert max(map(len, made.to_pylist())) < 200
    assert made[0].as_py() == "red"


@pytest.mark.parametrize(("count", "dtype"), [(2, "int8"), (127, "int8"), (128, "int16"), (40_000, "int32")])
@pytest.mark.parametrize("kind", ["category", "object"])
def test_codes_take_as_few_bytes_as_hold_them(count: int, dtype: str, kind: str) -> None:
    names = [f"{i:05d}" for i in range(count)]
    frame = pd.DataFrame({"a": pd.Series([*names, *names[::-1]], dtype=kind)})
    encoder, columns = Encoder.learn(frame)
    codes = columns.codes[0]
    assert codes.dtype == dtype
    assert codes.tolist() == [*range(count), *range(count - 1, -1, -1)]
    few = encoder.encode(frame[::-2]).codes[0]
    assert few.dtype == dtype
    assert few.tolist() == codes[::-2].tolist()


def test_codes_are_read_where_they_lie() -> None:
    codes = np.random.default_rng(0).integers(0, 30, 200_000).astype(np.int8)
    names = [f"l{i}" for i in range(30)]
    frame = pd.DataFrame({"a": pd.Categorical.from_codes(codes, names)})
    table = pa.table({"a": pa.DictionaryArray.from_arrays(pa.array(codes), names)})
    for given, own in ((frame, frame["a"].array.codes), (table, table["a"].chunk(0).indices.to_numpy())):
        assert np.shares_memory(Encoder.learn(given)[1].codes[0], own)


def test_dictionaries_of_several_chunks() -> None:
    """Each chunk may have levels of its own, in an order of its own, and name one twice."""

    def chunk(codes: list[int | None], names: list[str], kind: Any = "int8") -> Any:
        return pa.DictionaryArray.from_arrays(pa.array(codes, kind), names)

    chunks = [
        chunk([0, 1, None], ["x", "y"]),
        chunk([1, 0, 1], ["x", "y"]),
        chunk([0, 1, 2], ["z", "x", "z"]),
    ]
    table = pa.table({"a": pa.chunked_array(chunks)})
    text = [None if value is None else str(value) for value in table["a"].to_pylist()]
    assert text == ["x", "y", None, "y", "x", "y", "z", "x", "z"]
    encoder, columns = Encoder.learn(table, gaps="fill")
    assert [encoder.levels[0].values[code] for code in columns.codes[0]] == text
    assert Encoder.learn(table, gaps="keep")[1].codes[0].tolist() == [0, 1, -1, 1, 0, 1, 2, 0, 2]
    assert encoder.encode(table.slice(4, 3)).codes[0].tolist() == [0, 1, 2]
    unsigned = pa.table({"a": chunk([1, None], ["x", "y"], "uint8")})
    assert [encoder.levels[0].values[code] for code in encoder.encode(unsigned).codes[0]] == ["y", None]
    many = [chunk(list(range(100)), [f"{letter}{i}" for i in range(100)]) for letter in "ab"]  # more than a byte holds
    assert Encoder.learn(pa.table({"a": pa.chunked_array(many)}))[1].codes[0].tolist() == list(range(200))


def test_numbers_of_several_chunks() -> None:
    chunks = [pa.array([1.5, 2.0]), pa.array([3.0])]
    whole = [pa.array([1, 2], "int64"), pa.array([300], "int64")]
    gaps = [pa.array([1, None], "int64"), pa.array([300], "int64")]
    table = pa.table({name: pa.chunked_array(parts) for name, parts in (("a", chunks), ("b", whole), ("c", gaps))})
    found = Encoder.learn(table, gaps="keep")[1].tables
    np.testing.assert_array_equal(np.hstack(found), [[1.5, 1, 1], [2, 2, np.nan], [3, 300, 300]])


def test_other_categories_get_the_codes_of_their_names() -> None:
    encoder, _ = Encoder.learn(pd.DataFrame({"a": pd.Categorical(["x", "y", "z"])}))
    other = pd.DataFrame({"a": pd.Categorical(["z", "x", "y"], categories=["z", "y", "x"])})
    assert encoder.encode(other).codes[0].tolist() == [2, 0, 1]


def test_levels_in_arrows_own_types() -> None:
    level = ["b", "a", None, "b", "c", "a"]
    plain = Encoder.learn(pd.DataFrame({"level": level}), gaps="fill")[1]
    codes = pa.array(level).dictionary_encode()
    with_none = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 0, 3, 1]), pa.array(["b", "a", None, "c"]))
    arrow = pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))
    for table in (
        pd.DataFrame({"level": pd.Series(codes, dtype=arrow)}).iloc[::-1].iloc[::-1],
        pa.table({"level": codes}),
        pa.table({"level": with_none}),
        pa.table({"level": pa.chunked_array([with_none[:2], with_none[2:]])}),
        pa.table({"level": pa.array(level).cast(pa.string_view())}),
    ):
        encoder, columns = Encoder.learn(table, gaps="fill")
        assert {*encoder.coefficient_names} == {"level=a", "level=b", "level=c", "level missing"}
        found = [encoder.levels[0].values[code] for code in columns.codes[0]]
        assert found == level
        assert (encoder.encode(table).codes[0] == columns.codes[0]).all()
    assert plain.levels == (4,)


def test_numbers_that_numpy_has_no_type_for() -> None:
    wide = pl.DataFrame({"x": pl.Series([1, None, 3]).cast(pl.Int128)})
    assert Encoder.learn(wide, gaps="fill")[1].tables[0][:, 0].tolist() == [1, 2, 3]
    things = pl.DataFrame({"x": pl.Series([object()] * 3, dtype=pl.Object)})
    with pytest.raises(DataError, match="column 'x' of X has type Object"):
        Encoder.learn(things)[1]


def test_numbers_where_levels_were_are_no_numbers() -> None:
    """Whatever the library: numbers of an Arrow table are not read as a column's own because they are in place."""
    encoder, _ = Encoder.learn(pa.table({"a": ["u", "v", "u"], "b": [1.0, 2.0, 3.0]}))
    for make in (pa.table, pd.DataFrame, pl.DataFrame):
        found = encoder.encode_table(make({"b": [4.0, 5.0], "a": [1, 2]}))
        assert found.unseen == {"a": 2}
        assert [table.ravel().tolist() for table in found.columns.tables] == [[4.0, 5.0]]
        assert [codes.tolist() for codes in found.columns.codes] == [[-1, -1]]


def test_columns_with_gaps_are_found_by_name_in_any_order() -> None:
    rng = np.random.default_rng(0)
    values = {f"c{place}": np.where(rng.random(9) < 0.3, np.nan, rng.normal(size=9)) for place in range(12)}
    encoder, columns = Encoder.learn(pd.DataFrame(values), gaps="fill")
    assert encoder.marked == tuple(name for name, column in values.items() if np.isnan(column).any())
    assert encoder.medians == {name: np.nanmedian(column) for name, column in values.items()}
    for make in (pa.table, pd.DataFrame, pl.DataFrame):
        found = encoder.encode(make(dict(reversed(values.items()))))
        assert np.hstack(found.tables).tobytes() == np.hstack(columns.tables).tobytes()
