"""Tables in files: every format gives the same table, chunks are the whole, and an error says what is wrong where."""

import bz2
import codecs
import gzip
import io
import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import linnet
from linnet.errors import DataError
from linnet.tables.io import text_files
from linnet.tables.io.dialect import MISSING
from linnet.tables.io.sources import open_source, open_stream

from .mutations import cases

DATA = Path(os.environ.get("LINNET_DATA", Path(__file__).resolve().parents[4] / "shared" / "data"))
FILES = sorted(DATA.glob("*/*.csv.gz"))

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def put(data: bytes | str, name: str = "a.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    return put


def read(*paths: Path, **options: Any) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = open_source(paths, **options).read().to_pydict()
    return found


def fails(*paths: Path) -> str:
    """The error of reading, which must be the same from `chunks`."""
    with pytest.raises(DataError) as whole:
        open_source(paths).read()
    with pytest.raises(DataError) as chunked:
        list(open_source(paths).chunks())
    assert str(whole.value) == str(chunked.value)
    return str(whole.value)


def joined(source: Any, **options: Any) -> pa.Table:
    return pa.concat_tables(source.chunks(**options))


TABLE = pa.table(
    {
        "n": pa.array([1, None, -3], pa.int64()),
        "x": pa.array([0.5, 2.0, None], pa.float64()),
        "s": pa.array(["a, b", None, 'new\nline "quoted"']),
        "t": pa.array([True, False, None]),
        "when": pa.array([0, 86_400 * 365, None], pa.timestamp("s")),
    }
)


def as_csv(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    csv.write_csv(table, sink)
    return sink.getvalue()


def as_json(table: pa.Table) -> bytes:
    text: str = table.to_pandas().to_json(orient="records", lines=True, date_format="iso", date_unit="s")
    return text.replace("T00:00:00Z", " 00:00:00").replace(".0,", ",").replace("T00:00:00", " 00:00:00").encode()


# ---- formats ----


def test_every_format_gives_the_same_table(tmp_path: Path) -> None:
    text = as_csv(TABLE)
    with pa.OSFile(str(tmp_path / "a.csv.zst"), "wb") as file, pa.CompressedOutputStream(file, "zstd") as stream:
        stream.write(text)
    contents = {
        "a.csv": text,
        "a.tsv": text.replace(b'"a, b"', b"@").replace(b",", b"\t").replace(b"@", b'"a, b"'),
        "a.csv.gz": gzip.compress(text),
        "a.csv.bz2": bz2.compress(text),
        "crlf.csv": text.replace(b"\n", b"\r\n").replace(b"new\r\n", b"new\n"),
        "utf16.csv": codecs.BOM_UTF16_LE + text.decode().encode("utf-16-le"),
        "utf16be.csv": codecs.BOM_UTF16_BE + text.decode().encode("utf-16-be"),
        "bom.csv": codecs.BOM_UTF8 + text,
        "wrong_name.dat": gzip.compress(text),
        "a.jsonl": as_json(TABLE),
    }
    for name, data in contents.items():
        (tmp_path / name).write_bytes(data)
    parquet.write_table(TABLE, tmp_path / "a.parquet")
    feather.write_feather(TABLE, tmp_path / "a.feather")
    with pa.ipc.new_stream(tmp_path / "stream.arrow", TABLE.schema) as writer:
        writer.write_table(TABLE)
    for name in [*contents, "a.csv.zst", "a.parquet", "a.feather", "stream.arrow"]:
        source = open_source([tmp_path / name])
        assert source.names == TABLE.column_names, name
        assert source.read().to_pydict() == TABLE.to_pydict(), name
        assert joined(open_source([tmp_path / name])).to_pydict() == TABLE.to_pydict(), name
        assert source.notices == []


def test_categories_decimals_and_bytes_are_plain_columns(tmp_path: Path) -> None:
    table = pa.table(
        {
            "category": pa.array(["u", "v", "u"]).dictionary_encode(),
            "code": pa.array([3, 5, 3]).dictionary_encode(),
            "price": pa.array([Decimal(1), Decimal(2), Decimal(3)], pa.decimal128(5, 2)),
            "bytes": pa.array([b"x", b"y", None]),
            "list": pa.array([[1], [2], []]),
        }
    )
    parquet.write_table(table, tmp_path / "a.parquet")
    feather.write_feather(table, tmp_path / "a.feather")
    for name in ("a.parquet", "a.feather"):
        source = open_source([tmp_path / name])
        found = source.read()
        assert found.to_pydict() == {
            "category": ["u", "v", "u"],
            "code": ["3", "5", "3"] if name == "a.feather" else [3, 5, 3],  # Parquet keeps categories of text only
            "price": [1.0, 2.0, 3.0],
            "bytes": ["x", "y", None],
        }
        assert source.names == found.column_names
        assert source.notices == ["columns that hold lists or objects are left out: 'list'"]


def test_a_folder_is_its_files_in_order(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name, text in {
        "b.csv": "a,b\n2,y\n",
        "sub/c.csv": "b,a\nz,3.5\n",
        "_x.csv": "q\n",
        "notes.txt": "hello",
    }.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"a,b\n1,x\n"))
    assert read(tmp_path) == {"a": [1.0, 2.0, 3.5], "b": ["x", "y", "z"]}
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="the folder has no file whose name ends in"):
        open_source([tmp_path / "empty"])


def test_files_must_agree_in_their_columns(write: Write) -> None:
    one, other = write("a,b\n1,2\n", "1.csv"), write("b,c\n1,2\n", "2.csv")
    with pytest.raises(DataError, match=r"2\.csv lacks 'a' and has 'c' besides: .* the columns of .*1\.csv"):
        open_source([one, other])


def test_a_type_fits_all_files_and_text_is_read_as_it_was(write: Write) -> None:
    one, other = write("code,x\n007,1\n", "1.csv"), write("x,code\n2.5,A7\n", "2.csv")
    assert read(one, other) == {"code": ["007", "A7"], "x": [1.0, 2.5]}
    assert joined(open_source([one, other])).to_pydict() == read(one, other)


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.jsonl"])
def test_standard_input(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.csv").write_bytes(as_csv(TABLE))
    (tmp_path / "a.jsonl").write_bytes(as_json(TABLE))
    parquet.write_table(TABLE, tmp_path / "a.parquet")
    code = """from linnet.tables.io.sources import open_source
s = open_source(['-'])
print(s.read().equals(s.read()), s.names)"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=(tmp_path / name).read_bytes(),
        env={**os.environ, "PYTHONPATH": str(Path(linnet.__file__).parents[1])},
        capture_output=True,
        check=False,
    )
    assert done.stdout.decode() == f"True {TABLE.column_names}\n", done.stderr


def test_importing_linnet_does_not_load_pyarrow() -> None:
    code = "import sys, linnet, linnet.cli; print('pyarrow' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(Path(linnet.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
    assert done.stdout == b"False\n"


# ---- how text is written ----


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a;b\n1,5;x\n2;y\n", {"a": [1.5, 2.0], "b": ["x", "y"]}),
        ("a\tb\n1.5\tx\n", {"a": [1.5], "b": ["x"]}),
        ("a|b\n1|x, y\n", {"a": [1], "b": ["x, y"]}),
        ("a\n1\n2\n", {"a": [1, 2]}),
        ("sep=;\na;b\n1;2\n", {"a": [1], "b": [2]}),
        ("\n\na,b\n1,2\n\n3,4\n", {"a": [1, 3], "b": [2, 4]}),
        ("a,b\r1,2\r3,4", {"a": [1, 3], "b": [2, 4]}),
        ('"a\nx",b\n1,"p\n""q"""\n', {"a\nx": [1], "b": ['p\n"q"']}),
        ('a,b\n5" pipe,1\n6" pipe,2\nx,"q\nr"\n', {"a": ['5" pipe', '6" pipe', "x"], "b": ["1", "2", "q\nr"]}),
        ("a,b\nNA,x\n?,N/A\n1, NA\n", {"a": [None, None, 1], "b": ["x", None, None]}),
        ("a,b\n 1 , x\n", {"a": [1], "b": [" x"]}),
        ("a,b\n", {"a": [], "b": []}),
        ("a,b", {"a": [], "b": []}),
    ],
)
def test_the_form_of_text_is_recognised(write: Write, text: str, found: dict[str, list[Any]]) -> None:
    assert read(write(text)) == found


def test_text_that_is_not_utf8_is_read_as_windows_1252(write: Write) -> None:
    early = write("name,x\nMüller €,1\n".encode("cp1252"))
    source = open_source([early])
    assert source.read()["name"].to_pylist() == ["Müller €"]
    assert source.notices == [f"{early} is not UTF-8: read as Windows-1252, the usual encoding in Western Europe"]
    late = write(b"name,x\n" + b"abc,1\n" * 400_000 + "Müller,1\n".encode("cp1252"))
    source = open_source([late])
    assert source.notices == []
    assert source.read()["name"].to_pylist()[-1] == "Müller"
    assert len(source.notices) == 1


def test_names_are_made_unique_with_a_notice(write: Write) -> None:
    source = open_source([write("a,a,,a.1, b \n1,2,3,4,5\n")])
    assert source.names == ["a", "a.2", "column 3", "a.1", "b"]
    assert source.notices[0].endswith("the second 'a' is named 'a.2', the nameless column 3 is named 'column 3'")
    assert source.read().num_columns == 5


def test_a_first_line_of_numbers_is_noticed(write: Write) -> None:
    assert "looks like data (5.1, 3.5, 1.4" in open_source([write("5.1,3.5,1.4\n4.9,3.0,1.4\n")]).notices[0]
    assert open_source([write("0,1,2\n4.9,3.0,1.4\n")]).notices == []


# ---- what is wrong where ----


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty: it has no header"),
        (b"\n \n", "is empty"),
        (b"a,b\n1,2\n\n3\n4,5\n", "line 4: 1 field where the header has 2: '3'"),
        (b'a,b\n1,"x\ny"\n3,4,5\n', "line 4: 3 fields where the header has 2: '3,4,5'"),
        (b'a,b\n1,2\n3,"x\n4,5\n', "line 3: a quote is opened here and never closed"),
        (b"a,b\n1,2\n3,\0\n", "line 3: a NUL byte"),
        (b"PK\x03\x04....", "is a spreadsheet or a zip archive: save the table as CSV or Parquet"),
        (gzip.compress(random.Random(0).randbytes(3000))[:-1000], "Truncated compressed stream"),
        (b"\x1f\x8b\x08xxxxxxxxxxxxxxx", "it is damaged, cut short, or of another format"),
        (codecs.BOM_UTF16_LE + "a,b\n1,2\n".encode("utf-16-le") + b"\x00\xd8A\x00", "begins as UTF-16"),
    ],
)
def test_an_error_names_the_line(write: Write, data: bytes, message: str) -> None:
    path = write(data)
    found = fails(path)
    assert found.startswith(str(path))
    assert message in found


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ('{"a": 1}\n{"a": 2\n', "line 2: Missing a comma or '}' after an object member"),
        ('{"a": 1}\n\n{"a": "x"}\n', "line 3: column 'a' holds a string where a number is expected"),
        ('{"a": 1}\n[1]\n', "line 2: a array: write one JSON object per line"),
        ('[{"a": 1}]', "does not begin with an object {...}"),
    ],
)
def test_an_error_names_the_line_of_json(write: Write, data: str, message: str) -> None:
    assert message in fails(write(data, "a.jsonl"))


@pytest.mark.parametrize("deep", ["[", "[\n", '{"a":'])
def test_json_that_is_too_deep_is_refused_before_it_ends_the_process(write: Write, deep: str) -> None:
    with pytest.raises(DataError, match=r"line \d+: lists or objects nested more than 100 deep"):
        open_source([write('{"a":1}\n{"a":' + 60_000 * deep, "a.jsonl")]).read()
    shallow = '{"a":1,"b":"' + "[" * 200 + '\\"{[' + '"}\n'
    assert open_source([write(shallow * 300, "b.jsonl")]).read().num_rows == 300


def test_an_error_far_into_a_file_names_the_line(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "BLOCK", 1000)
    rows = 'x,"p\nq"\n' * 500
    assert "line 1002: 1 field where the header has 2: '7'" in fails(write(f"a,b\n{rows}7\n"))
    assert "line 1002: a NUL byte" in fails(write(f"a,b\n{rows}7,\0\n"))
    assert "line 2002: Missing a name" in fails(write('{"a": 1}\n\n' * 1000 + "\n{7}\n", "a.jsonl"))


def test_a_value_that_does_not_fit_a_learned_type_is_named(tmp_path: Path, write: Write) -> None:
    types = {"a": pa.int64(), "b": pa.string()}
    path = write("b,a\n" + "x,1\n" * 9 + "y,1.5\n")
    with pytest.raises(DataError, match=r"a\.csv, line 11, column 'a': '1\.5' where a whole number is expected"):
        list(open_source([path]).chunks(types=types))
    parquet.write_table(pa.table({"a": ["1", "2", "x"], "b": [7, 8, 9]}), tmp_path / "a.parquet")
    source = open_source([tmp_path / "a.parquet"])
    with pytest.raises(DataError, match=r"a\.parquet, row 3, column 'a': 'x' where a whole number is expected"):
        list(source.chunks(types=types))
    assert joined(source, columns=["b"], types=types).to_pydict() == {"b": ["7", "8", "9"]}
    with pytest.raises(DataError, match=r"has no column 'z': it has 'b', 'a'"):
        list(open_source([path]).chunks(columns=["z"]))


def test_damaged_binary_files(tmp_path: Path, write: Write) -> None:
    parquet.write_table(TABLE, tmp_path / "good.parquet")
    data = (tmp_path / "good.parquet").read_bytes()
    for size in (4, 20, len(data) - 1):
        assert "cannot be read" in fails(write(data[:size], "cut.parquet"))
    text = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xa7")])
    parquet.write_table(pa.table({"a": text}), tmp_path / "not_utf8.parquet")
    feather.write_feather(pa.table({"a": text}), tmp_path / "not_utf8.feather")
    for name in ("not_utf8.parquet", "not_utf8.feather"):
        assert "Invalid UTF8" in fails(tmp_path / name)
    assert "does not begin as .parquet files do" in fails(write(b"x" + data, "cut.parquet"))
    assert "decompress it first" in fails(write(gzip.compress(data), "a.parquet.gz"))


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no such file or folder"):
        open_source([tmp_path / "none.csv"])
    with pytest.raises(DataError, match="no file was given"):
        open_source([])


# ---- size ----


def test_ten_thousand_columns(write: Write) -> None:
    names = [f"c{i}" for i in range(10_000)]
    table = open_source([write(",".join(names) + ("\n" + ",".join(["1.5"] * 10_000)) * 3)]).read()
    assert table.column_names == names
    assert table.num_rows == 3


def test_a_large_cell(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "BLOCK", 1 << 20)
    cell = "x\n" * 5_000_000
    assert read(write(f'a,b\n1,"{cell}"\n2,y\n')) == {"a": [1, 2], "b": [cell, "y"]}
    monkeypatch.setattr(text_files, "_MAX_ROW_BYTES", 1 << 22)
    assert "line 2: a row that does not end within 4 MB of text, the limit" in fails(write(f'a,b\n1,"{cell}"\n2,y\n'))


CHUNKS = """
import sys, tracemalloc
import pyarrow as pa
from linnet.tables.io import text_files
from linnet.tables.io.sources import open_source

text_files.BLOCK = 1 << 18
source = open_source([sys.argv[1]])
types = source.types()
before = pa.total_allocated_bytes()
most = rows = 0
tracemalloc.start()
for table in source.chunks(types=types):
    rows += table.num_rows
    most = max(most, pa.total_allocated_bytes() - before + tracemalloc.get_traced_memory()[1])
print(rows, most)
"""


def test_chunks_take_the_memory_of_chunks(write: Write) -> None:
    path = write("a,b\n" + "1.25,some text\n" * 1_000_000)
    # in a process of its own: before Python 3.13 tracemalloc.stop() may crash while other threads free memory
    done = subprocess.run([sys.executable, "-c", CHUNKS, str(path)], capture_output=True, text=True, check=True)
    rows, most = map(int, done.stdout.split())
    assert rows == 1_000_000
    assert most < path.stat().st_size / 4


# ---- identities ----

CELLS = st.one_of(
    st.text('ab,;"\n\r\t é|', max_size=8),
    st.integers().map(str),
    st.floats().map(str),
    st.sampled_from(["NA", "1,5", "x"]),
)


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.lists(CELLS, min_size=3, max_size=3), max_size=30), block=st.integers(1, 60), always=st.booleans()
)
def test_text_comes_back_in_any_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: list[list[str]], block: int, always: bool
) -> None:
    def quoted(cell: str) -> str:
        if always or cell.startswith('"') or any(letter in cell for letter in ",\n\r"):
            return '"' + cell.replace('"', '""') + '"'
        return cell  # a quote within counts for nothing

    path = tmp_path / "a.csv"
    path.write_bytes("\n".join(",".join(map(quoted, row)) for row in [["a", "b", "c"], *rows]).encode())
    types = dict.fromkeys("abc", pa.string())
    monkeypatch.setattr(text_files, "BLOCK", 1 << 24)
    whole = joined(open_source([path], delimiter=","), types=types) if rows else None
    monkeypatch.setattr(text_files, "BLOCK", block)
    if whole is not None:
        expected = [[None if cell in MISSING else cell for cell in row] for row in rows]
        assert [list(row.values()) for row in whole.to_pylist()] == expected
        assert joined(open_source([path], delimiter=","), types=types).equals(whole)


@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    columns=st.lists(
        st.lists(st.sampled_from(["1", "2.5", "", "x", "2020-01-01", "true", "007"]), min_size=6, max_size=6),
        min_size=2,
        max_size=3,
    )
)
def test_chunks_are_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: list[list[str]]) -> None:
    path = tmp_path / "a.csv"
    names = ",".join(f"c{place}" for place in range(len(columns)))
    path.write_text("\n".join([names, *map(",".join, zip(*columns, strict=True))]) + "\n")
    monkeypatch.setattr(text_files, "BLOCK", 12)
    whole = open_source([path], delimiter=",").read()
    assert joined(open_source([path], delimiter=",")).equals(whole)
    some = joined(open_source([path], delimiter=","), columns=["c1"])
    assert some.equals(whole.select(["c1"]))


@pytest.mark.skipif(not FILES, reason=f"no data sets in {DATA}: set LINNET_DATA to their folder")
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_real_tables_are_read(path: Path) -> None:
    source = open_source([path])
    types = source.types()
    rows = sum(table.num_rows for table in source.chunks(types=types))
    assert rows > 0
    assert source.notices == []
    if path.stat().st_size < 300_000:
        whole = source.read()
        assert {field.name: field.type for field in whole.schema} == types
        assert joined(source).equals(whole)


def test_damaged_files_give_a_table_or_an_error(tmp_path: Path) -> None:
    tables, errors = 0, []
    for suffix, data in cases(300, seed=7):
        path = tmp_path / f"case.{suffix}"
        path.write_bytes(data)
        try:
            whole = open_source([path]).read()
        except DataError as error:
            errors.append(str(error))
            continue
        tables += 1
        chunks = list(open_source([path]).chunks())
        assert sum(table.num_rows for table in chunks) == whole.num_rows
        assert all(table.schema.equals(whole.schema) for table in chunks)
    assert tables > 30
    assert len(errors) > 30
    assert all(error.startswith(str(tmp_path)) and len(error) < 1000 for error in errors)


@pytest.mark.skipif(sys.platform != "linux", reason="pipes of POSIX")
@pytest.mark.parametrize(
    ("name", "text"), [("pipe", "a,b\n1,x\n2,y\n"), ("p.jsonl", '{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n')]
)
def test_pipes_are_files_of_a_table(tmp_path: Path, name: str, text: str) -> None:
    pipe = tmp_path / name
    os.mkfifo(pipe)
    threading.Thread(target=pipe.write_text, args=[text], daemon=True).start()
    source = open_source([pipe])
    assert source.read().to_pydict() == {"a": [1, 2], "b": ["x", "y"]}
    assert source.read().num_rows == 2


def test_standard_input_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a\n1\n")))
    with pytest.raises(DataError, match="standard input is given twice"):
        open_source(["-", "-"])
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(DataError, match="standard input is closed"):
        open_source(["-"])


def test_a_stream_is_read_more_than_once_in_little_memory() -> None:
    schema = pa.schema({"x": pa.float64(), "name": pa.dictionary(pa.int32(), pa.string())})
    names = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 5_000, pa.int32()), ["a", "b"])

    def batches() -> Iterator[pa.RecordBatch]:
        for k in range(200):
            yield pa.record_batch([pa.array([float(k)] * 10_000), names], schema=schema)

    before = pa.total_allocated_bytes()
    source = open_stream(pa.RecordBatchReader.from_batches(schema, batches()))
    sample = source.read_some(1 << 20)
    assert pa.total_allocated_bytes() - before < 1 << 23  # of 24 MB
    assert (sample.rows, sample.is_all) == (2_000_000, False)
    assert sum(table.num_rows for table in source.chunks()) == 2_000_000
    assert source.types()["name"] == pa.string()
