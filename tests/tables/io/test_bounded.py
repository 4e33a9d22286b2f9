"""Tables that are small as files and large in memory: read in bounded memory, or refused by a limit that is named."""

import gzip
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from linnet.errors import DataError
from linnet.tables.io import arrow_batches, binary_files, json_shape, parquet_pages, text_files
from linnet.tables.io.sources import open_source
from linnet.tables.schema import Schema

CODECS = ("snappy", "gzip", "zstd", "brotli", "lz4", "none")


def in_dictionary(values: list[str], codes: Any) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(values))


def peak(folder: Path, *words: str) -> tuple[float, str]:
    """The peak memory of a command in megabytes, and its output."""
    command = [sys.executable, "-m", "linnet", *words]
    most = 0.0
    with (folder / "output").open("w+") as output:
        with subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT) as process:
            while process.poll() is None:
                status = Path(f"/proc/{process.pid}/status").read_text()
                most = max([most, *(int(size) / 1024 for size in re.findall(r"VmHWM:\s+(\d+)", status))])
                time.sleep(0.02)
        output.seek(0)
        return most, output.read()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read off /proc")
def test_a_text_that_stands_for_gigabytes(tmp_path: Path) -> None:
    """33 kB that are 2 GB as plain values: one text of a megabyte in most rows."""
    codes = (np.arange(2000) % 7 == 0).astype(int)
    table = pa.table({"text": in_dictionary(["x" * 1_000_000, "short"], codes), "y": np.arange(2000.0) % 5})
    parquet.write_table(table, tmp_path / "a.parquet", compression="zstd")
    assert (tmp_path / "a.parquet").stat().st_size < 100_000
    for words in (("inspect", "a.parquet"), ("train", "a.parquet", "--target", "y", "--model", "linear")):
        most, output = peak(tmp_path, *words)
        assert most < 1000, output
        assert "too" in output
        assert "rows drawn at random" in output


def test_a_text_that_stands_for_terabytes(tmp_path: Path) -> None:
    """It would be read in little memory, and for days."""
    table = pa.table({"text": in_dictionary(["x" * 1_000_000], np.zeros(4_000_000)), "y": np.zeros(4_000_000)})
    parquet.write_table(table, tmp_path / "a.parquet", compression="zstd")
    for words in (("inspect", "a.parquet"), ("train", "a.parquet", "--target", "y")):
        output = " ".join(peak(tmp_path, *words)[1].split())
        assert "bytes expand to more than 17 GB of values, and the limit is 17 GB, or 256 times the file" in output
        assert "rewrite the file without column 'text'" in output


def test_files_may_stand_for_some_times_their_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = 300_000
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([rows], pa.int32()), pa.array([1.5]))
    tables = {
        "texts": (pa.table({"a": in_dictionary(["x" * 5000], np.zeros(rows)), "b": np.zeros(rows)}), "a"),
        "short texts": (pa.table({"a": in_dictionary(["x" * 500], np.zeros(rows)), "b": np.zeros(rows)}), "a"),
        "runs": (pa.table({"b": np.zeros(rows, np.int8), "a": runs}), "a"),
        "nothing": (pa.table({"n": pa.nulls(rows)}), "n"),
    }
    for kind, (table, name) in tables.items():
        path = tmp_path / f"{kind}.{'parquet' if 'texts' in kind else 'arrow'}"
        if "texts" in kind:
            parquet.write_table(table, path)
        else:
            with pa.ipc.new_file(path, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
                writer.write_table(table)
        with monkeypatch.context() as limits:
            limits.setattr(binary_files, "_MAX_PLAIN_BYTES", 2_000_000)
            limits.setattr(binary_files, "_TIMES_FILE", 100)
            assert f"rewrite the file without column '{name}'" in refused(path), kind
            limits.setattr(binary_files, "_TIMES_FILE", 10**9)
            assert len(open_source([path]).read_some(1 << 20).table) > 0


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read off /proc")
def test_many_columns(tmp_path: Path) -> None:
    """Memory beyond that of the same command on 12 columns: it was 260 MB once."""
    rng, taken = np.random.default_rng(0), []
    for columns in (12, 12_000):
        with (tmp_path / "a.csv").open("w") as file:
            file.write(",".join(f"c{place}" for place in range(columns)) + "\n")
            for row in rng.normal(size=(20, columns)).round(3).tolist():
                file.write(",".join(map(str, row)) + "\n")
        most, output = peak(tmp_path, "inspect", "a.csv")
        taken.append(most)
    assert taken[1] - taken[0] < 160, taken
    assert "1,000 columns are shown: --json lists all 12,000" in output


def test_wide_text_is_read_as_narrow_text_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words for missing values and truth are looked for, and columns are converted some at a time."""
    rng, path = np.random.default_rng(0), tmp_path / "a.csv"
    kinds: list[list[str]] = [
        *(["1", "2", ""], ["1.5", "NA", "x"], ["true", "False", "?"], ["2020-01-31", "", "null"], ["NaN", "N/A", ""]),
        *(
            ["1", "true", "0"],
            ['"NA"', '"a,b"', '" NA"'],
            ["007", "8", "9"],
            ["é", "n/a", "#N/A"],
            ["10:30", "11:30", ""],
        ),
        *(["TRUE", "1", ""], [" ", " NA", "1"], ['"a ""b"""', "c", '"1\n2"'], ["-", "--", "1"], ["1", "0", "1"]),
    ]
    for _ in range(6):
        chosen = [kinds[place] for place in rng.integers(0, len(kinds), 40)]
        rows = [[str(rng.choice(kind)) for kind in chosen] for _ in range(8)]
        text = "\n".join([",".join(f"c{place}" for place in range(40)), *map(",".join, rows)]) + "\n"
        path.write_text(text)
        monkeypatch.setattr(text_files, "_WIDE_TABLE_COLUMNS", 2000)
        expected = open_source([path]).read()
        monkeypatch.setattr(text_files, "_WIDE_TABLE_COLUMNS", 1)
        monkeypatch.setattr(text_files, "_TOGETHER", 7)
        found = open_source([path]).read()
        assert found.schema == expected.schema
        assert found.to_pylist() == expected.to_pylist()


def test_dictionaries_are_read_as_plain_texts_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In parts, whether they are long or not: the same rows."""
    rng, path = np.random.default_rng(0), tmp_path / "a.parquet"
    for trial in range(8):
        count = int(rng.integers(1, 2000))
        texts = [
            None if rng.random() < 0.1 else f"v{rng.integers(0, 40)}" * int(rng.integers(1, 9)) for _ in range(count)
        ]
        table = pa.table({"a": texts, "b": rng.normal(size=count), "c": pa.array([b"x"] * count), "d": pa.nulls(count)})
        size = int(rng.integers(1, count + 1))
        parquet.write_table(table, path, row_group_size=size, compression=CODECS[trial % 6], data_page_size=100)
        expected = {**table.to_pydict(), "c": ["x"] * count}
        assert open_source([path]).read().to_pydict() == expected
        with monkeypatch.context() as limits:
            limits.setattr(binary_files, "_LONG_TEXT_BYTES", 3)
            limits.setattr(binary_files, "_BYTES", 500)
            assert open_source([path]).read().to_pydict() == expected
        with pa.ipc.new_file(tmp_path / "a.arrow", table.schema) as writer:
            writer.write_table(table)
        assert open_source([tmp_path / "a.arrow"]).read().to_pydict() == expected


@pytest.mark.parametrize("codec", CODECS)
def test_one_long_text_among_short_ones_is_found(codec: str, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    short = [f"t{each}" for each in range(3000)]
    for values, long in (([*short, "x" * 5000], True), ([*short, "x" * 4000], False)):
        table = pa.table({"a": in_dictionary(values, np.arange(6000) % len(values)), "b": np.arange(6000.0)})
        parquet.write_table(table, path, compression=codec)
        with path.open("rb") as file:
            found = parquet_pages.with_long_texts(file, parquet.read_metadata(path), 4096)
        assert found == ({"a"} if long else set())


def refused(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        open_source([path]).read()
    return str(caught.value)


def test_limits_are_named_with_the_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (text_files, binary_files):
        monkeypatch.setattr(module, "_MAX_ROW_BYTES", 1 << 20)
    monkeypatch.setattr(text_files, "BLOCK", 1 << 18)
    long = "x" * 3_000_000
    (tmp_path / "a.csv").write_text(f"a,b\n1,y\n2,{long}\n")
    output = refused(tmp_path / "a.csv")
    assert "a.csv, line 3: a row that does not end within 1 MB of text" in output
    assert "leave out the column with the long values, or shorten them" in output
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress((tmp_path / "a.csv").read_bytes()))
    assert "line 3: a row that does not end within 1 MB" in refused(tmp_path / "a.csv.gz")
    (tmp_path / "a.jsonl").write_text(f'{{"a": 1}}\n{{"a": "{long}"}}\n')
    assert "a.jsonl, line 2: an object that does not end within 1 MB" in refused(tmp_path / "a.jsonl")
    (tmp_path / "head.csv").write_text(f"a,{long}\n1,2\n")
    assert "head.csv, line 1: a row that does not end within 1 MB" in refused(tmp_path / "head.csv")
    table = pa.table({"a": ["y", long], "b": [1, 2]})
    parquet.write_table(table, tmp_path / "a.parquet")
    assert "a.parquet, row 2: its texts take 3 MB, more than the limit of 1 MB" in refused(tmp_path / "a.parquet")
    with pa.ipc.new_file(tmp_path / "a.arrow", table.schema) as writer:
        writer.write_table(table)
    assert "a.arrow, row 2: its texts take 3 MB, more than the limit of 1 MB" in refused(tmp_path / "a.arrow")
    monkeypatch.setattr(parquet_pages, "_MAX_PAGE_BYTES", 1 << 21)
    output = refused(tmp_path / "a.parquet")
    assert "column 'a' has a page of 3 MB once decompressed, more than the limit of 2 MB: rewrite the file" in output
    monkeypatch.setattr(arrow_batches, "_MAX_BATCH_BYTES", 1 << 21)
    for kind, new in (("file", pa.ipc.new_file), ("stream", pa.ipc.new_stream)):
        for compression in ("zstd", "lz4", None):
            path = tmp_path / f"{kind}.arrow"
            with new(path, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
                writer.write_table(table)
            expected = "a record batch takes 3 MB once decompressed" if compression else "its texts take 3 MB"
            assert expected in refused(path)


def test_pages_are_measured_where_the_file_is_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their headers, with statistics and all, are read to the end, whatever the version of their form."""
    path = tmp_path / "a.parquet"
    table = pa.table({"a": np.arange(50_000.0), "b": [f"text {each}" for each in range(50_000)]})
    monkeypatch.setattr(parquet_pages, "_MAX_PAGE_BYTES", 100_000)
    for version in ("1.0", "2.0"):
        for codec in CODECS:
            how: dict[str, Any] = {"data_page_version": version, "compression": codec, "use_dictionary": False}
            parquet.write_table(table, path, data_page_size=20_000, **how)
            assert len(open_source([path]).read()) == 50_000
            parquet.write_table(table, path, data_page_size=1_000_000, **how)
            assert "a page of" in refused(path)


def test_long_levels_are_judged_by_their_beginnings() -> None:
    long = ["a" * 100_000 + str(each) for each in range(3)]
    table = pa.table({"level": [long[each % 3] for each in range(60)], "y": np.arange(60.0) % 7})
    column = Schema.of(table, "y").columns[0]
    assert (column.kind, column.distinct, len(column.examples)) == ("category", 3, 3)
    made = Schema.of(table, "y").apply(table)["level"].to_pylist()
    assert len({*made}) == 3
    assert all("100,001 characters" in level for level in made)


def test_runs_that_stand_for_any_number_of_rows(tmp_path: Path) -> None:
    """A kilobyte of runs and of nothing: some of their rows are held, and their numbers count as memory, too."""
    rows = 3_000_000
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([rows - 2, rows], pa.int32()), pa.array([1.5, 2.5]))
    texts = pa.RunEndEncodedArray.from_arrays(pa.array([rows], pa.int32()), pa.array(["a"]))
    for name, table in {"a": pa.table({"x": runs, "t": texts}), "b": pa.table({"n": pa.nulls(rows)})}.items():
        with pa.OSFile(str(tmp_path / f"{name}.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
        some = open_source([str(tmp_path / f"{name}.arrow")]).read_some(1 << 20)
        assert some.rows == rows
        assert some.numbers.nbytes <= 1 << 20
        if name == "a":
            assert set(some.table["x"].unique().to_pylist()) <= {1.5, 2.5}
            assert some.table["t"].type == pa.string()


def test_keys_that_most_rows_do_not_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "MAX_CELLS", 100_000)
    monkeypatch.setattr(json_shape, "MAX_CELLS", 100_000)
    rows = [json.dumps({f"k{row * 10 + key}": key for key in range(10)}) for row in range(400)]
    (tmp_path / "a.jsonl").write_text("\n".join(rows))
    with pytest.raises(DataError, match=r"4,000 different keys in 400 rows .* one for the key and one for the value"):
        open_source([str(tmp_path / "a.jsonl")]).read()
    rows = [json.dumps({"x": row, "y": {"z": row}, f"rare{row % 7}": 1}) for row in range(4000)]
    (tmp_path / "b.jsonl").write_text("\n".join(rows))
    assert len(open_source([str(tmp_path / "b.jsonl")]).read()) == 4000
