"""Text files, block by block: CSV with any of the usual delimiters, and JSON lines.

A block is some megabytes of whole rows. pyarrow reads it with all threads while the next one is fetched, so a file of
any size takes the memory of a few blocks, and an error is looked for in one block only.
"""

import codecs
import csv as python_csv
import io
import json as python_json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.json as json

from linnet.data.characters import broken, is_whole
from linnet.errors import DataError
from linnet.tables.io.dialect import BYTE_ORDER_MARKS, MISSING, Dialect, first_row_end, recognise
from linnet.tables.io.json_shape import DEEPEST, MAX_CELLS, different_keys, too_deep
from linnet.tables.io.types import MAX_COLUMNS_NAMED, Types, in_words, misfits

BLOCK = 1 << 24  # bytes of text in a chunk
_MAX_ROW_BYTES = 1 << 26  # bytes; reading one takes some ten times as much memory
_WIDE_TABLE_COLUMNS = 2000  # from which on pyarrow's cost per column is more than that of reading
_TOGETHER = 16_384  # columns that are converted at a time
_SHORTEST = 1 << 20  # bytes of text that are worth a thread
_TRUTH = ("true", "True", "TRUE", "false", "False", "FALSE")
_MISFIT = re.compile(r"conversion error to|Column\(/.*changed from|Failed to convert JSON")  # pyarrow's words for it


class Block(NamedTuple):
    """Whole rows of a file, how many bytes of rows come before them, and whether there are quotes."""

    text: Any  # a memoryview or bytes
    offset: int
    quotes: bool


@dataclass(frozen=True)
class TextFile:
    """A file of rows in text: where it is, what was recognised, and where to say what was noticed."""

    name: str  # as the user gave it
    path: Path
    compression: str | None
    json: bool
    dialect: Dialect
    notice: Callable[[str], None]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns; none for JSON lines, which name them in every row."""
        return self.dialect.names

    @property
    def size(self) -> int:
        """Size of the file in bytes."""
        return self.path.stat().st_size

    @property
    def known_types(self) -> None:
        """Return no types: they depend on the rows."""

    def tables(self, columns: set[str] | None, types: Types, progress: Callable[[int], None]) -> Iterator[pa.Table]:
        """Yield a table per block, with the given types or those that the block suggests."""
        for block in _ahead(self._blocks(progress)):
            table = self._parse(block, columns, types)
            if table is not None:
                yield table

    # ---- bytes ----

    def _stream(self) -> Any:
        file = pa.OSFile(os.fsencode(self.path))
        return file, (file if self.compression is None else pa.CompressedInputStream(file, self.compression))

    def _pieces(self, progress: Callable[[int], None]) -> Iterator[bytes]:
        """The text as UTF-8, or in a code of one byte a character, without the header; its last line has an end."""
        file, stream = self._stream()
        with file, stream:
            stream.read(len(BYTE_ORDER_MARKS.get(self.dialect.encoding, b"")))
            decoder = None
            if self.dialect.encoding.startswith("utf-16"):
                decoder = codecs.getincrementaldecoder(self.dialect.encoding)()
            skip = self.dialect.start
            coming = stream.read(BLOCK)
            while piece := coming:
                coming = stream.read(BLOCK)
                progress(file.tell())
                if decoder is not None:
                    piece = self._recoded(piece, decoder)
                if skip:
                    skip, piece = max(0, skip - len(piece)), piece[skip:]
                if not coming and not piece.endswith(self.dialect.newline):
                    piece += self.dialect.newline
                yield piece

    def _recoded(self, piece: bytes, decoder: codecs.IncrementalDecoder) -> bytes:
        try:
            return decoder.decode(piece).encode()
        except UnicodeError as error:
            what = f"{self.name} begins as UTF-16 but continues otherwise ({error}): save it as UTF-8"
            raise DataError(what) from None

    def _blocks(self, progress: Callable[[int], None] = lambda _: None) -> Iterator[Block]:
        offset, rest = 0, b""
        for piece in self._pieces(progress):
            if (nul := piece.find(b"\0")) >= 0:
                line = self._line(offset + len(rest)) + piece[:nul].count(self.dialect.newline)
                raise DataError(f"{self.name}, line {line}: a NUL byte: the file is damaged, or not text")
            data = rest + piece if rest else piece
            end = self._row_end(data)
            if end == 0 and len(data) > _MAX_ROW_BYTES:
                raise self._too_long(self._line(offset))
            if end:
                yield Block(memoryview(data)[:end], offset, b'"' in data)
                offset += end
            rest = data[end:]
        if rest:
            raise DataError(f"{self.name}, line {self._line(offset)}: a quote is opened here and never closed")

    def _too_long(self, line: int) -> DataError:
        what = "an object" if self.json else "a row"
        hint = "" if self.json else "perhaps a quote is not closed; else "
        most = f"{_MAX_ROW_BYTES >> 20} MB"
        return DataError(
            f"{self.name}, line {line}: {what} that does not end within {most} of text, the limit: {hint}"
            "leave out the column with the long values, or shorten them"
        )

    def _row_end(self, data: bytes) -> int:
        """Return the end of the last complete row; 0 if there is none."""
        newline = self.dialect.newline
        end = data.rfind(newline)
        if end < 0 or self.json or b'"' not in data:
            return end + 1
        text = np.frombuffer(data, np.uint8)
        quotes = np.flatnonzero(text == ord('"'))
        before = text[np.maximum(quotes[::2] - 1, 0)]
        after = text[np.minimum(quotes[1::2] + 1, len(text) - 1)]
        ends = np.frombuffer(b'"\r\n' + self.dialect.delimiter.encode(), np.uint8)
        opens = np.isin(before, ends) | (quotes[::2] == 0)
        if opens.all() and (np.isin(after, ends) | (quotes[1::2] == len(text) - 1)).all():
            # each second quote opens a field or follows its twin: after an odd number of them, a newline is in a field
            while end >= 0 and (count := int(np.searchsorted(quotes, end))) % 2:
                end = data.rfind(newline, 0, int(quotes[count - 1]))
            return end + 1
        end = 0  # quotes within fields, as in 5" pipe: row by row
        while (row := self.dialect.row.match(data, end)) is not None:
            end = row.end()
        return end

    def _line(self, offset: int) -> int:
        """Return the number of the line at an offset."""
        line = 1 + self.dialect.lines
        for piece in self._pieces(lambda _: None):
            line += piece[:offset].count(self.dialect.newline)
            offset -= len(piece)
            if offset <= 0:
                break
        return line

    # ---- rows ----

    def _parse(self, block: Block, columns: set[str] | None, types: Types) -> pa.Table | None:
        if self.dialect.encoding == "cp1252":
            block = block._replace(text=_from_cp1252(block.text))
        if self.json:
            self._check_shape(block, types)
        parse = self._parse_json if self.json else self._parse_csv
        share = max(_SHORTEST, len(block.text) // pa.cpu_count() + 1)
        try:
            try:
                table = parse(block, share, columns, types)
            except pa.ArrowInvalid as error:
                if "straddling" not in str(error):
                    raise
                table = parse(block, len(block.text) + 1, columns, types)
        except (pa.ArrowException, OSError) as error:
            if "Empty" in str(error) and not bytes(block.text).strip():
                return None
            if self._is_utf8(block):
                misfit = self._misfits(block, columns, types) if _MISFIT.search(str(error)) else {}
                (self._explain_json if self.json else self._explain_csv)(str(error), block, misfit)
        else:
            odd = self.json or any(pa.types.is_binary(column.type) for column in table.columns)
            if not odd or self._is_utf8(block):
                return table
        if self.json:
            raise DataError(f"{self.name}, line {self._line(block.offset)} or later: not UTF-8: save it as UTF-8")
        self.notice(f"{self.name} is not UTF-8: read as Windows-1252, the usual encoding in Western Europe")
        return self._parse(block._replace(text=_from_cp1252(block.text)), columns, types)

    @staticmethod
    def _is_utf8(block: Block) -> bool:
        try:
            str(block.text, "utf-8")
        except UnicodeDecodeError:
            return False
        return True

    def _parse_csv(self, block: Block, share: int, columns: set[str] | None, types: Types) -> pa.Table:
        how: dict[str, Any] = {
            "null_values": MISSING,
            "strings_can_be_null": True,
            "decimal_point": self.dialect.decimal,
        }
        wanted = [name for name in self.names if columns is None or not columns or name in columns]
        if len(wanted) < _WIDE_TABLE_COLUMNS:
            return self._convert(block, share, None if len(wanted) == len(self.names) else wanted, types, how)
        # for each column pyarrow makes a table of the words for a missing value, and of those for true and false; and
        # handing a short column to a thread takes more time than reading it
        met = _met((*MISSING, *_TRUTH), block.text, self.dialect.delimiter)
        how["null_values"] = [word for word in MISSING if word in met]
        if not met.intersection(_TRUTH):
            how |= {"true_values": [], "false_values": []}
        found: dict[str, Any] = {}
        for first in range(0, len(wanted), _TOGETHER):
            some = wanted[first : first + _TOGETHER]
            of_some = {name: types[name] for name in some if name in types}
            table = self._convert(block, len(block.text) + 1, some, of_some, how, threads=False)
            found |= dict(zip(table.column_names, table.columns, strict=True))
        return pa.table(found)

    def _convert(
        self,
        block: Block,
        share: int,
        wanted: list[str] | None,
        types: Types,
        how: dict[str, Any],
        threads: bool = True,
    ) -> pa.Table:
        return csv.read_csv(
            pa.BufferReader(pa.py_buffer(block.text)),
            csv.ReadOptions(column_names=list(self.names), block_size=share, use_threads=threads),
            csv.ParseOptions(delimiter=self.dialect.delimiter, newlines_in_values=block.quotes),
            csv.ConvertOptions(column_types=dict(types), include_columns=wanted, **how),
        )

    def _parse_json(self, block: Block, share: int, columns: set[str] | None, types: Types) -> pa.Table:
        wanted = {name: type_ for name, type_ in types.items() if columns is None or name in columns}
        options = json.ParseOptions(
            explicit_schema=pa.schema(list(wanted.items())) if types else None,
            unexpected_field_behavior="ignore" if types else "infer",
        )
        return json.read_json(pa.BufferReader(pa.py_buffer(block.text)), json.ReadOptions(block_size=share), options)

    def _check_shape(self, block: Block, types: Types) -> None:
        """Refuse JSON that is small as text and large, or endless, once it is read."""
        text = bytes(block.text)
        if (deep := too_deep(text)) is not None:
            raise DataError(
                f"{self.name}, line {self._line(block.offset) + deep}: lists or objects nested more than {DEEPEST} "
                "deep, the limit: leave that field out"
            )
        rows, columns = text.count(b"\n") + (not text.endswith(b"\n")), len(types) or different_keys(text)
        if rows * columns > MAX_CELLS:
            raise DataError(
                f"{self.name}: {columns:,} different keys in {rows:,} rows would be {rows * columns / 1e6:,.0f} "
                f"million cells, nearly all of them empty, and the limit is {MAX_CELLS / 1e6:,.0f} million at a "
                "time: use columns that most rows have, such as one for the key and one for the value"
            )

    # ---- what is wrong where ----

    def _misfits(self, block: Block, columns: set[str] | None, types: Types) -> dict[str, str]:
        """The columns of a block that do not have their types, found by halves, and pyarrow's words for each."""
        parse = self._parse_json if self.json else self._parse_csv
        found: dict[str, str] = {}

        def look(names: list[str]) -> None:
            try:
                parse(block, len(block.text) + 1, set(names), {name: types[name] for name in names})
            except (pa.ArrowException, OSError) as error:
                if len(names) == 1:
                    found[names[0]] = str(error)
                elif _MISFIT.search(str(error)):
                    for half in (names[: len(names) // 2], names[len(names) // 2 :]):
                        if len(found) <= MAX_COLUMNS_NAMED:
                            look(half)

        names = [name for name in (self.names or types) if name in types and (columns is None or name in columns)]
        if names:
            look(names)
        return found

    def _explain_csv(self, message: str, block: Block, misfit: dict[str, str]) -> NoReturn:
        """Raise a DataError that names line and column of what pyarrow stumbled over."""
        pattern = r"In CSV column #(\d+): .*?conversion error to (.+?): invalid value '(.*)'"
        sought = {int(one[1]): one for text in misfit.values() if (one := re.match(pattern, text, re.DOTALL))}
        wrong = []
        limit = python_csv.field_size_limit(sys.maxsize)
        try:
            text = io.StringIO(str(block.text, "utf-8"), newline="")
            rows = python_csv.reader(text, delimiter=self.dialect.delimiter)
            line = first = self._line(block.offset)
            for row in rows:
                where, line = f"line {line}", first + rows.line_num
                if row and len(row) != len(self.names):
                    raise DataError(
                        f"{self.name}, {where}: {_fields(len(row))} where the header has {len(self.names)}: "
                        f"{_shortened(self.dialect.delimiter.join(row))}"
                    )
                for place in [place for place, one in sought.items() if row and row[place].strip() == one[3].strip()]:
                    found = sought.pop(place)
                    problem = f"{_shortened(found[3])} where {in_words(found[2])} is expected"
                    wrong.append(f"{where}, column {self.names[place]!r}: {problem}")
                if wrong and not sought:
                    break
        except python_csv.Error:
            pass
        finally:
            python_csv.field_size_limit(limit)
        if wrong:
            raise misfits(self.name, wrong)
        raise DataError(f"{self.name}, line {self._line(block.offset)} or later: {message}") from None

    def _explain_json(self, message: str, block: Block, misfit: dict[str, str]) -> NoReturn:
        """Build the error for a block of JSON lines that cannot be read."""
        first = self._line(block.offset)
        if "surrogate" in message:
            raise self._half_character(block, first) from None
        filled = [number for number, text in enumerate(bytes(block.text).split(b"\n")) if text.strip()]

        def worded(message: str, column: str = "") -> str:
            row = re.search(r"(.*?)(?: in row (\d+))?$", message.removeprefix("JSON parse error: "), re.DOTALL)
            assert row is not None
            line = f"line {first + (filled[min(int(row[2]), len(filled) - 1)] if row[2] is not None else 0)}"
            if value := re.match(r"Failed to convert JSON to (.+?), couldn't parse:\s*(.*)", row[1], re.DOTALL):
                expected = in_words(value[1])
                return f"{line} or later, column {column!r}: {_shortened(value[2])} where {expected} is expected"
            changed = r"column '\1' holds a \3 where a \2 is expected: a column's values are of one type"
            what = re.sub(r"Column\(/(.*?)\) changed from (\w+) to (\w+)", changed, row[1].rstrip("."))
            what = re.sub(r"Column\(\) changed from object to (\w+)", r"a \1: write one JSON object per line", what)
            return f"{line}: {what}"

        raise misfits(self.name, [worded(text, name) for name, text in misfit.items()] or [worded(message)])

    def _half_character(self, block: Block, first: int) -> DataError:
        """Build the error for a lone surrogate."""
        for number, line in enumerate(bytes(block.text).split(b"\n"), first):
            try:
                row = python_json.loads(line)
            except (ValueError, RecursionError):
                continue
            for name, value in row.items() if isinstance(row, dict) else ():
                if not (is_whole(name) and is_whole(value)):
                    where = f"{self.name}, line {number}, column {name!a}:"
                    return broken(value if is_whole(name) else name, f"{where} has")
        return DataError(f"{self.name}, line {first} or later: half a character (a lone surrogate) in a text")


def open_text(
    name: str, path: Path, compression: str | None, is_json: bool, delimiter: str | None, notice: Callable[[str], None]
) -> TextFile:
    """Open a text file, whose format is detected from its first rows."""
    file, stream = TextFile(name, path, compression, is_json, Dialect(), notice)._stream()
    with file, stream:
        sample = b""
        while piece := stream.read(max(_SHORTEST, len(sample))):
            sample += piece
            if first_row_end(sample):
                break
            if len(sample) > _MAX_ROW_BYTES:
                raise TextFile(name, path, compression, is_json, Dialect(), notice)._too_long(1)
        whole = not stream.read(1)
    dialect = recognise(name, sample, whole, is_json, delimiter, notice)
    return TextFile(name, path, compression, is_json, dialect, notice)


def _ahead(blocks: Iterator[Block]) -> Iterator[Block]:
    """Yield the blocks, and read the next one in a thread meanwhile."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, blocks, None)
        while (block := coming.result()) is not None:
            coming = pool.submit(next, blocks, None)
            yield block


def _met(words: Sequence[str], text: Any, delimiter: str) -> set[str]:
    """Return the words that occur as cells of a text, with or without quotes."""
    text = bytes(text)
    words = [word for word in words if word.encode() in text]
    around = (delimiter.encode(), b'"', b"\r", b"\n")
    if words == [""] and text[:1] not in around and not any(one + other in text for one in around for other in around):
        return set()  # looking for each word at every place takes ten times as long
    some = b"|".join(re.escape(word.encode()) for word in sorted(words, key=len, reverse=True))
    sides = re.escape(delimiter.encode()) + rb'"\r\n'
    pattern = re.compile(rb"(?:\A|(?<=[" + sides + rb"]))(?:" + some + rb")(?=[" + sides + rb"]|\Z)")
    return {bytes(one[0]).decode() for one in pattern.finditer(text)}


def _from_cp1252(text: Any) -> bytes:
    try:
        return str(text, "cp1252").encode()
    except UnicodeDecodeError:  # five of its codes have no meaning
        return str(text, "latin-1").encode()


def _fields(count: int) -> str:
    return "1 field" if count == 1 else f"{count} fields"


def _shortened(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
