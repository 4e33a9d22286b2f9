"""Levels that are rare, new, or very long."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from linnet.data import kinds
from linnet.data.encoder import Encoder
from linnet.data.schema import Schema


def test_rare_levels_are_told_from_levels_never_seen() -> None:
    town = [f"town {place % 40}" for place in range(400)] + [f"hamlet {place}" for place in range(7)]
    table = pa.table({"town": town, "y": np.arange(407) % 3 / 2})
    schema = Schema.of(table, "y")
    column = schema.used[0]
    assert column.rare is not None
    assert len(column.rare) == 7
    assert not any("hamlet" in digest for digest in column.rare)  # a model does not tell what few rows hold
    assert schema.never_seen(table) == {}
    new = pa.table({"town": ["town 3", "hamlet 2", "elsewhere", None, "elsewhere", "hamlet 9"]})
    assert schema.never_seen(new) == {"town": 3}
    assert schema.apply(new)["town"].to_pylist() == ["town 3", "(other)", "(other)", None, "(other)", "(other)"]
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema


def test_very_many_rare_levels_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "_MOST_RARE", 6)
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
    encoder = Encoder()
    codes = encoder.learn(frame).codes[0]
    assert codes.dtype == dtype
    assert codes.tolist() == [*range(count), *range(count - 1, -1, -1)]
    few = encoder.encode(frame[::-2]).codes[0]
    assert few.dtype == dtype
    assert few.tolist() == codes[::-2].tolist()


def test_other_categories_get_the_codes_of_their_names() -> None:
    encoder = Encoder()
    encoder.learn(pd.DataFrame({"a": pd.Categorical(["x", "y", "z"])}))
    other = pd.DataFrame({"a": pd.Categorical(["z", "x", "y"], categories=["z", "y", "x"])})
    assert encoder.encode(other).codes[0].tolist() == [2, 0, 1]
