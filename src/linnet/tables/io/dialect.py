"""How a text file is written, recognised by its first rows: encoding, delimiter, decimal sign, names of columns."""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from linnet.errors import DataError

# What stands for a missing value: R's, Python's, SQL's and spreadsheets' words. "None" is as often a category's name.
_WORDS = ("NA", "N/A", "n/a", "na", "NaN", "nan", "NULL", "null", "?", "#N/A", "#NA", "<NA>")
MISSING = ["", " ", *_WORDS, *(f" {word}" for word in _WORDS)]
BYTE_ORDER_MARKS = {"utf-8-sig": b"\xef\xbb\xbf", "utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}

_DELIMITERS = (",", ";", "\t", "|")
_SAMPLE_ROWS = 200
_NUMBER = re.compile(r"\s*[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?\s*")


@dataclass(frozen=True)
class Dialect:
    """The format of a text file: encoding, delimiter, decimal sign, names of columns."""

    encoding: str = "utf-8"
    delimiter: str = ","
    decimal: str = "."
    newline: bytes = b"\n"
    names: tuple[str, ...] = ()
    start: int = 0  # bytes before the first row, as UTF-8 and without the mark of byte order
    lines: int = 0  # lines before the first row
    row: re.Pattern[bytes] = field(default_factory=lambda: row_pattern(",", b"\n"))


def row_pattern(delimiter: str, newline: bytes) -> re.Pattern[bytes]:
    """A pattern that matches one row with the end of its line; a quote counts at the beginning of a field only.

    No part can match in two ways, so that it fails as fast as it matches; there are no possessive groups, which Python
    before 3.11.5 gets wrong.
    """
    stop = re.escape(delimiter.encode()) + newline
    quoted = rb'"[^"]*(?:""[^"]*)*"(?!")[^' + stop + rb"]*"
    plain = rb'(?!")[^' + stop + rb"]*"
    one = rb"(?:" + quoted + rb"|" + plain + rb")"
    return re.compile(one + rb"(?:" + re.escape(delimiter.encode()) + one + rb")*" + newline)


def first_row_end(sample: bytes) -> int:
    """Where the first row that is not blank ends, 0 if it does not; UTF-16 ends where its character does."""
    for newline in (b"\n", b"\r"):
        blank = len(sample) - len(sample.lstrip(b"\r\n"))
        end = sample.find(newline, blank)
        while end >= 0 and sample.count(b'"', 0, end) % 2:
            end = sample.find(newline, end + 1)
        if end >= 0 or b"\n" in sample:
            return end + 1
    return 0


def recognise(
    name: str, sample: bytes, whole: bool, is_json: bool, delimiter: str | None, notice: Callable[[str], None]
) -> Dialect:
    """Read the form of a file off its first bytes; `whole`: there are no more."""
    encoding = next((known for known, mark in BYTE_ORDER_MARKS.items() if sample.startswith(mark)), "utf-8")
    sample = sample.removeprefix(BYTE_ORDER_MARKS.get(encoding, b""))
    if encoding.startswith("utf-16"):
        if not whole:
            sample = sample[: len(sample) // 2 * 2]
        sample = sample.decode(encoding, errors="ignore").encode()
    if b"\0" in sample:
        line = sample[: sample.index(b"\0")].count(b"\n") + 1
        raise DataError(f"{name}, line {line}: a NUL byte: the file is damaged, or not text")
    if not sample.strip():
        raise DataError(f"{name} is empty: it has no header")
    if is_json:
        if not sample.lstrip().startswith(b"{"):
            raise DataError(f"{name} does not begin with an object {{...}}: write one JSON object per line")
        return Dialect(encoding)
    try:
        text = sample.decode()
    except UnicodeDecodeError as error:
        if whole or error.start < len(sample) - 4:
            encoding = "cp1252"
            notice(f"{name} is not UTF-8: read as Windows-1252, the usual encoding in Western Europe")
        text = sample.decode("latin-1" if encoding == "cp1252" else "utf-8", errors="ignore")
    if encoding == "cp1252":
        text = sample.decode("cp1252", errors="replace")
    newline = "\n" if "\n" in text else "\r"
    blank = len(sample) - len(sample.lstrip(b"\r\n"))
    if stated := re.match(r"sep=(.)\r?\n", text[blank:]):  # a spreadsheet's way to say it
        delimiter = delimiter or stated[1]
        blank += stated.end()
    rows_of = sample[blank:]
    start = blank + (first_row_end(rows_of) or rows_of.find(newline.encode()) + 1 or len(rows_of))
    if delimiter is None:
        delimiter = _delimiter(text[blank:], whole)
    rows = _rows(text[blank:], delimiter, whole)
    return Dialect(
        encoding,
        delimiter,
        _decimal(rows[1:], delimiter),
        newline.encode(),
        unique_names(name, rows[0], notice, rows[1:]),
        start,
        sample[:start].count(newline.encode()),
        row_pattern(delimiter, newline.encode()),
    )


def unique_names(
    name: str, found: Sequence[str], notice: Callable[[str], None], rows: Sequence[Sequence[str]] = ()
) -> tuple[str, ...]:
    """Return the names without surrounding spaces, made unique and not empty."""
    names: dict[str, None] = {}
    changed = []
    taken = {text.strip() for text in found}
    for place, text in enumerate(found, 1):
        text = text.strip()
        new, copy = text or f"column {place}", 0
        while new in names or ((copy or not text) and new in taken):
            copy += 1
            new = f"{text or f'column {place}'}.{copy}"
        if new != text:
            changed.append(f"the {'second ' + repr(text) if text else f'nameless column {place}'} is named {new!r}")
        names[new] = None
        taken.add(new)
    if changed:
        more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
        notice(f"{name}: {', '.join(changed[:3])}{more}")
    numbers = sum(bool(_NUMBER.fullmatch(text)) for text in found)
    if rows and len(found) > 1 and numbers > len(found) / 2 and list(found) != [str(i) for i in range(len(found))]:
        notice(f"{name}: its first line looks like data ({', '.join(found[:3])}, ...), but was read as the header")
    return tuple(names)


def _rows(text: str, delimiter: str, whole: bool) -> list[list[str]]:
    """Return some of the first rows, without the last one of a sample, which may be cut."""
    rows: list[list[str]] = []
    limit = csv.field_size_limit(max(len(text), csv.field_size_limit()))
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            if row:
                rows.append(row)
            if len(rows) > _SAMPLE_ROWS:
                break
        else:
            if not whole and len(rows) > 1:
                rows.pop()
    except csv.Error:
        pass  # a carriage return in the midst of a row, which pyarrow takes for the end of it
    finally:
        csv.field_size_limit(limit)
    return rows or [text.splitlines()[0].split(delimiter)]


def _delimiter(text: str, whole: bool) -> str:
    """Return the delimiter that splits most rows into as many fields as the first row, and into the most fields."""
    best, most = ",", (0.0, 1)
    for delimiter in _DELIMITERS:
        counts = [len(row) for row in _rows(text, delimiter, whole)]
        if counts[0] == 1:
            continue
        agree = Counter(counts)[counts[0]] / len(counts)
        if (score := (round(agree, 1), counts[0])) > most:
            best, most = delimiter, score
    return best


def _decimal(rows: Sequence[Sequence[str]], delimiter: str) -> str:
    """Return the decimal sign: a comma if numbers contain commas and no points."""
    if delimiter == ",":
        return "."
    cells = [cell for row in rows for cell in row if _NUMBER.fullmatch(cell)]
    return "," if any("," in cell for cell in cells) and not any("." in cell for cell in cells) else "."
