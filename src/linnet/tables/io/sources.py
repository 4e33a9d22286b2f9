"""Tables in files: CSV, Parquet, Arrow and JSON lines, compressed or not, several files, folders, standard input.

    source = open_source(["a.csv.gz", "b.csv.gz"])
    source.names  # of the columns
    source.read()  # all at once, by all threads
    source.read_some(most=2**28)  # the same, or, of a table with more bytes, some rows at random
    for table in source.chunks():  # the same rows in the same order, some ten thousand at a time
        ...
    source.notices  # what a user should know, in words

The first bytes of a file say what it is. A column's type is one that fits all its rows in all files: `types` finds it
in a pass over text files that keeps nothing, so that `chunks` can be of one type from the first to the last.
"""

import contextlib
import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
import pyarrow as pa

from linnet.errors import DataError
from linnet.files import check_path, real_path
from linnet.tables.io.binary_files import open_binary
from linnet.tables.io.partitions import folder_values, partitioned
from linnet.tables.io.sampling import Sample, TableSample
from linnet.tables.io.text_files import open_text
from linnet.tables.io.types import Types, becomes, converted, merge_types, merged

Progress = Callable[[float], None]  # is told the part that is done, from 0 to 1

_COMPRESSIONS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2", b"\x04\x22\x4d\x18": "lz4"}
_BINARY = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow stream"}
_SUFFIXES = {"csv", "tsv", "parquet", "pq", "arrow", "feather", "ipc", "jsonl", "ndjson"}  # of a folder's files
_COMPRESSED_SUFFIXES = {"gz", "zst", "bz2", "lz4"}


class Part(Protocol):
    """One file of a table, or whatever else has rows that can be read more than once."""

    @property
    def name(self) -> str:
        """The name as the user gave it."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns; none if every row names its own."""

    @property
    def size(self) -> int:
        """Size in bytes, as `tables` counts them."""

    @property
    def known_types(self) -> Types | None:
        """The types of the columns, if they are known without reading rows."""

    def tables(self, columns: set[str] | None, types: Types, progress: Callable[[int], None]) -> Iterator[pa.Table]:
        """Yield the rows in order; `progress` gets the number of bytes read."""


class Source:
    """One table in one or several files."""

    def __init__(self, parts: Sequence[Part], notices: list[str], spools: Sequence[Any] = ()) -> None:
        self._parts = list(parts)
        self._spools = spools  # hold what came from standard input and pipes
        self._types: dict[str, pa.DataType] | None = None
        self._total = sum(part.size for part in parts)
        self.notices = notices
        self.nested: list[str] = []  # columns that are left out: they hold lists or objects
        self._names = list(parts[0].names)
        for part in parts[1:]:
            if part.names or self._names:
                _check_same(self._names, list(part.names), parts[0].name, part.name)

    @property
    def names(self) -> list[str]:
        """Names of the columns, in the order of the first file."""
        return list(self._names or self.types())

    def types(self, progress: Progress | None = None) -> dict[str, pa.DataType]:
        """Return the type of each column that fits all rows of all files."""
        if self._types is None:
            found: dict[str, pa.DataType] = {}
            for part in self._parts:
                if part.known_types is not None:
                    for name, type_ in part.known_types.items():
                        found[name] = merged(found.get(name, pa.null()), type_)
                else:
                    for table in self._tables([part], None, {}, progress):
                        merge_types(found, table.schema)
            self._remember(found)
        assert self._types is not None
        return dict(self._types)

    def types_as_written(self, columns: Sequence[str]) -> dict[str, pa.DataType]:
        """The types that let columns pass through unchanged: text where a file is text, so that 007 stays 007."""
        if all(part.names and part.known_types is None for part in self._parts):
            return dict.fromkeys(columns, pa.string())
        types = self.types()
        return {name: types[name] for name in columns if name in types}

    def chunks(
        self, columns: Sequence[str] | None = None, types: Types | None = None, progress: Progress | None = None
    ) -> Iterator[pa.Table]:
        """Yield the rows in order in the memory of a few chunks; `types` are those learned before, or found first."""
        names = self.names
        wanted = None if columns is None else set(columns)
        if absent := [name for name in columns or () if name not in names]:
            raise DataError(
                f"{self._parts[0].name} has no column {', '.join(map(repr, absent))}: it has {_some(names)}"
            )
        of_all = dict(types) if types is not None else self.types(progress)
        order = [name for name in names if wanted is None or name in wanted]
        for table in self._tables(self._parts, wanted, of_all, progress):
            yield _in_order(table, order, of_all)

    def read(self, progress: Progress | None = None, types: Types | None = None) -> pa.Table:
        """Return all rows; `types`: those that some columns shall have, where they are known."""
        return self.read_some(np.inf, progress, types).table

    def read_some(self, most: float, progress: Progress | None = None, types: Types | None = None) -> TableSample:
        """Return all rows if they are at most so many bytes, else some of them at random; `types`: see `read`."""
        sample, found, seen = Sample(most), dict[str, pa.DataType](), set[pa.Schema]()
        for table in self._tables(self._parts, None, self._types or {}, progress):
            sample.add(table)
            if table.schema not in seen:
                seen.add(table.schema)
                merge_types(found, table.schema)
        self._remember(found)
        order, of_all = self.names, self.types()
        of_all |= {name: type_ for name, type_ in (types or {}).items() if name in of_all}
        if all(becomes(field.type, of_all.get(field.name)) for schema in seen for field in schema):
            tables = [_in_order(converted(table, of_all, "", 0), order, of_all) for table in sample.tables]
        else:  # some values must be read again as the text they were
            sample = Sample(share=sample.share)
            for table in self.chunks(types=of_all, progress=progress):
                sample.add(table)
            tables = sample.tables
        return TableSample(_joined(tables, order, of_all), sample.numbers, sample.rows)

    def _remember(self, found: dict[str, pa.DataType]) -> None:
        nested = {name for name, type_ in found.items() if pa.types.is_nested(type_)}
        if nested:
            self.nested = [name for name in found if name in nested]
            self.notices.append(f"columns that hold lists or objects are left out: {_some(self.nested)}")
        self._types = {name: type_ for name, type_ in found.items() if name not in nested}
        self._names = [name for name in self._names or found if name not in nested]
        for name in self._names:
            self._types.setdefault(name, pa.null())  # no rows at all

    def _tables(
        self, parts: Sequence[Part], columns: set[str] | None, types: Types, progress: Progress | None
    ) -> Iterator[pa.Table]:
        for part in parts:
            before = sum(other.size for other in self._parts[: self._parts.index(part)])

            def tell(read: int, before: int = before) -> None:
                if progress is not None:
                    progress((before + read) / max(1, self._total))

            with _naming(part.name):
                yield from part.tables(columns, types, tell)


def open_source(paths: Sequence[str | Path], *, delimiter: str | None = None) -> Source:
    """Open the files and pipes of one table; a folder stands for the files in it, and "-" for standard input.

    `delimiter` of text files, if it shall not be recognised.
    """
    notices: list[str] = []
    spools: list[_Spool] = []

    def notice(text: str) -> None:
        if text not in notices:
            notices.append(text)

    parts: list[Part] = []
    seen: set[Path] = set()
    for given in paths:
        if str(given) == "-":
            if any(spool.name == "-" for spool in spools):
                raise DataError("standard input is given twice, and its rows would count twice: name it once")
            if sys.stdin is None:
                raise DataError("standard input is closed: there is no table to read")
            spools.append(_Spool("-", partial(_copy, sys.stdin.buffer)))
            parts.append(_open("standard input", spools[-1].path, delimiter, notice))
            continue
        for file in _files_of(check_path(given)):
            if real_path(file) in seen:
                raise DataError(f"{file} is given twice, and its rows would count twice: name it once")
            seen.add(real_path(file))
            path = file
            if file.is_fifo():
                with _naming(str(file)), file.open("rb") as pipe:
                    spools.append(_Spool(file.name, partial(_copy, pipe)))
                path = spools[-1].path
            part = _open(str(file), path, delimiter, notice)
            parts.append(partitioned(part, folder_values(file, Path(given)), notice))
    if not parts:
        raise DataError("no file was given: name one, a folder, or - for standard input")
    return Source(parts, notices, spools)


def open_stream(stream: Any) -> Source:
    """Open what has `__arrow_c_stream__`, such as a reader of record batches or a query, which gives its rows once."""
    try:
        reader = pa.RecordBatchReader.from_stream(stream)
    except pa.ArrowException as error:  # such as a single column
        raise DataError(f"{type(stream).__name__} is not a table of rows with named columns: {error}") from None
    spool = _Spool("stream.arrow", partial(_write_batches, reader))
    notices: list[str] = []
    return Source([_open("the stream", spool.path, None, notices.append)], notices, [spool])


class _Spool:
    """Standard input, a pipe or a stream, kept in a file because a table is read more than once."""

    def __init__(self, name: str, write: Callable[[BinaryIO], None]) -> None:
        folder = tempfile.mkdtemp(prefix="linnet-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.name = name
        self.path = Path(folder) / name  # whose suffix may say what it is
        with self.path.open("wb") as file:
            write(file)


def _copy(stream: BinaryIO, file: BinaryIO) -> None:
    shutil.copyfileobj(stream, file, 1 << 20)


def _write_batches(reader: pa.RecordBatchReader, file: BinaryIO) -> None:
    with pa.ipc.new_file(file, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)


def _files_of(path: Path) -> list[Path]:
    if not path.exists():
        raise DataError(f"{path}: there is no such file or folder")
    if not path.is_dir():
        return [path]
    files = [
        file
        for file in sorted(path.rglob("*"))
        if file.is_file() and file.name[0] not in "._" and _suffix(file) in _SUFFIXES
    ]
    if not files:
        raise DataError(f"{path}: the folder has no file whose name ends in {', '.join(sorted(_SUFFIXES))}")
    return files


def _suffix(path: Path) -> str:
    suffixes = [suffix[1:].lower() for suffix in path.suffixes]
    return next((suffix for suffix in reversed(suffixes) if suffix not in _COMPRESSED_SUFFIXES), "")


def _open(name: str, path: Path, delimiter: str | None, notice: Callable[[str], None]) -> Part:
    with _naming(name):
        with path.open("rb") as file:
            first = file.read(8)
        compression = next((kind for magic, kind in _COMPRESSIONS.items() if first.startswith(magic)), None)
        if compression is not None:
            with pa.OSFile(os.fsencode(path)) as file, pa.CompressedInputStream(file, compression) as stream:
                first = stream.read(8)
        kind = next((kind for magic, kind in _BINARY.items() if first.startswith(magic)), "text")
        if kind != "text":
            if compression is not None:
                raise DataError(f"{name} is a compressed {kind} file: decompress it first")
            return open_binary(name, path, kind, notice)
        suffix = _suffix(path)
        if first.startswith(b"PK\x03\x04"):
            raise DataError(f"{name} is a spreadsheet or a zip archive: save the table as CSV or Parquet")
        if first and suffix in {"parquet", "pq", "arrow", "feather", "ipc"}:
            raise DataError(f"{name} does not begin as .{suffix} files do: it is damaged, or of another format")
        is_json = suffix in {"jsonl", "ndjson", "json"} or (suffix not in _SUFFIXES and first.lstrip()[:1] == b"{")
        return open_text(name, path, compression, is_json, delimiter, notice)


@contextlib.contextmanager
def _naming(name: str) -> Iterator[None]:
    """Name the file in errors of the system and of pyarrow."""
    try:
        yield
    except DataError:
        raise
    except (pa.ArrowException, OSError, EOFError, MemoryError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split()) or type(error).__name__
        reason = reason[:300].rstrip(".")
        raise DataError(f"{name} cannot be read: {reason}: it is damaged, cut short, or of another format") from None


# ---- tables ----


def _in_order(table: pa.Table, names: list[str], types: Mapping[str, pa.DataType]) -> pa.Table:
    """The columns by these names; one that a chunk of JSON lines does not mention is missing in all its rows."""
    if table.column_names == names:
        return table
    present = set(table.column_names)
    columns = {
        name: table[name] if name in present else pa.nulls(table.num_rows, types.get(name, pa.null())) for name in names
    }
    return pa.table(columns)


def _joined(tables: list[pa.Table], names: list[str], types: Mapping[str, pa.DataType]) -> pa.Table:
    if not tables:
        return pa.table({name: pa.array([], types[name]) for name in names})
    return pa.concat_tables(tables)


def _check_same(one: list[str], other: list[str], first: str, second: str) -> None:
    ones, others = set(one), set(other)
    lacks, more = [name for name in one if name not in others], [name for name in other if name not in ones]
    if lacks or more:
        what = [f"lacks {_some(lacks)}"] * bool(lacks) + [f"has {_some(more)} besides"] * bool(more)
        raise DataError(f"{second} {' and '.join(what)}: the files of one table must have the columns of {first}")


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:10])
    return shown if len(names) <= 10 else f"{shown} and {len(names) - 10} more"
