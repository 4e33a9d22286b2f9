"""Folders whose names are columns: year=2024/."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.dataset as dataset
import pyarrow.parquet as parquet
import pytest

from linnet.errors import DataError
from linnet.tables.io.sources import open_source


def put(path: Path, size: list[float], **more: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table({"size": size, **more})
    if path.suffix == ".csv":
        csv.write_csv(table, path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(f'{{"size": {value}}}\n' for value in size))
    else:
        parquet.write_table(table, path)


def read(*paths: Path, **options: Any) -> dict[str, list[Any]]:
    """All rows, which must be the same from `chunks`."""
    whole = open_source(paths).read()
    source = open_source(paths)
    assert pa.concat_tables(list(source.chunks(**options))).equals(whole.select(options.get("columns", source.names)))
    found: dict[str, list[Any]] = whole.to_pydict()
    return found


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_folders_become_columns(suffix: str, tmp_path: Path) -> None:
    put(tmp_path / "year=2023" / "month=11" / f"a.{suffix}", [1.5, 2.5])
    put(tmp_path / "year=2024" / "month=2" / f"a.{suffix}", [3.5])
    put(tmp_path / "year=2024" / "month=2" / f"b.{suffix}", [4.5])
    rows = {"size": [1.5, 2.5, 3.5, 4.5], "year": [2023, 2023, 2024, 2024], "month": [11, 11, 2, 2]}
    assert read(tmp_path) == rows
    assert read(tmp_path, columns=["month"]) == rows
    assert read(tmp_path, columns=["size", "year"]) == rows
    types = open_source([tmp_path]).types()
    assert types == {"size": pa.float64(), "year": pa.int64(), "month": pa.int64()}
    assert list(read(tmp_path / "year=2024")) == ["size", "month"]  # what is above the folder given is no column
    assert list(read(tmp_path / "year=2024" / "month=2" / f"a.{suffix}")) == ["size"]


def test_values_as_others_write_them(tmp_path: Path) -> None:
    table = pa.table({"size": [1.0, 2.0, 3.0], "city": ["São Paulo", None, "a/b=c"], "code": ["007", "1", "x"]})
    dataset.write_dataset(table, tmp_path, format="parquet", partitioning=["city", "code"], partitioning_flavor="hive")
    found = open_source([tmp_path]).read().select(["size", "city", "code"]).sort_by("size")
    assert found.to_pydict() == table.to_pydict()


def test_texts_among_numbers_make_text(tmp_path: Path) -> None:
    for value in ("1", "2", "new"):
        put(tmp_path / f"kind={value}" / "a.csv", [0.5])
    assert read(tmp_path)["kind"] == ["1", "2", "new"]


def test_a_column_of_the_file_counts_more(tmp_path: Path) -> None:
    put(tmp_path / "year=1" / "a.parquet", [1.0], year=[2024])
    source = open_source([tmp_path])
    assert source.read().to_pydict() == {"size": [1.0], "year": [2024]}
    assert "that of the files is used" in source.notices[0]


def test_folders_must_agree(tmp_path: Path) -> None:
    put(tmp_path / "year=2023" / "a.csv", [1.0])
    put(tmp_path / "b.csv", [1.0])
    with pytest.raises(DataError, match="year"):
        open_source([tmp_path])
