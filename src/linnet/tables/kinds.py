"""What a column holds, judged by its values and its name, with the reason in plain words."""

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from enum import StrEnum
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from linnet.registry import need, saved
from linnet.texts import Texts


class Word(StrEnum):
    """A choice of a few, which prints as its word and is written into files as that word."""

    def __repr__(self) -> str:
        return repr(self.value)


class Kind(Word):
    """What a column holds; the last three are never learned from."""

    NUMBER = "number"
    CATEGORY = "category"
    BOOLEAN = "boolean"
    DATE = "date"
    TEXT = "text"
    IDENTIFIER = "identifier"
    CONSTANT = "constant"
    EMPTY = "empty"


OTHER = "(other)"  # the level of all rare levels together
_MANY_LEVELS = 30  # a category with more has its rare levels put together
_RARE = 5  # rows
_MOST_LEVELS = 1000
_LONGEST_LEVEL = 400  # bytes
_MOST_RARE = 10_000  # levels whose digests are kept
_MOSTLY = 0.95  # this part of the values makes a column of text one of numbers or dates
_ENOUGH = 20  # rows for unique values to mean something
_EXAMPLES = 3  # values that are shown of a column
_LONGEST_NUMBER = 400  # characters; of longer texts the beginning tells that they are no numbers or dates
_COUNTED = 1 << 20  # rows; in longer columns numbers are counted in a sample

_NAMED_ID = re.compile(
    r"(?i:(.*[\W_])?(id|pid|uid|uuid|guid|key|index|idx|rownames|row[\W_]?(number|nr|no|id)))|.*[a-z](Id|ID|Key)|ID[A-Z_]?[a-z]*"
)
_NAMED_TIME = re.compile(r"(?i).*(year|month|day|date|time|week|hour|minute|age).*|yr")
_LIKE_IDENTIFIER = "is called like an identifier and has many values"
_NO_NUMBER = ["", "-", "--", ".", "none", "unknown", "missing", "nil", "n.a.", "na", "n/a", "nan", "null", "?"]
_NUMBER_STYLES = {  # pattern, what to take out, the decimal sign
    "1,234.5": (r"^[-+]?((\d{1,3}(,\d{3})+|\d+)(\.\d*)?|\.\d+)([eE][-+]?\d+)?$", ",", "."),
    "1.234,5": (r"^[-+]?((\d{1,3}(\.\d{3})+|\d+)(,\d*)?|,\d+)([eE][-+]?\d+)?$", ".", ","),
}
_DAYS = (
    *("%Y-%m-%d", "%Y/%m/%d", "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y"),
    *("%d %b %Y", "%d-%b-%Y", "%b %d, %Y", "%m/%d/%y", "%d/%m/%y", "%d.%m.%y"),
)
_MOST_BINS = 1 << 16  # columns of a text
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DATE_STYLES = tuple(f"{day}{time}" for time in ("", " %H:%M", " %H:%M:%S", "T%H:%M:%S") for day in _DAYS)


@saved
@dataclass(frozen=True, slots=True)
class Column:
    """How a column is read; plain values only."""

    name: str
    kind: Kind
    type: str  # pyarrow's name of it
    used: bool  # whether a model gets it
    missing: int
    distinct: int  # values, missing ones not counted
    estimated: bool = False  # whether `distinct` is
    examples: tuple[str, ...] = ()
    note: str = ""  # in plain words: why it is left out, or what is done with it
    style: str = ""  # how numbers or dates are written in text
    levels: tuple[str, ...] | None = None  # of a category, if not all have a level of their own
    rare: tuple[str, ...] | None = None  # digests of the other levels, unless they are very many
    parts: tuple[str, ...] = ()  # of a date
    start: str = ""  # of a date: the first day
    bins: int = 0  # of a text: columns of hashed n-grams

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", Kind(self.kind))  # files have the word

    def _check_file(self) -> None:
        least = 1 if self.kind is Kind.TEXT and self.used else 0
        need(least <= self.bins <= _MOST_BINS and self.missing >= 0 and self.distinct >= 0, self, "bins")
        anything = (*_NUMBER_STYLES, *_DATE_STYLES)  # an identifier may be written as a number
        styles = {Kind.NUMBER: _NUMBER_STYLES, Kind.DATE: _DATE_STYLES}.get(self.kind, anything)
        need(not self.style or (self.style in styles and self.type == "string"), self, "style")
        need({*self.parts} <= {"year", "month", "weekday", "hour", "days"}, self, "parts")
        need(self.kind is not Kind.DATE or re.fullmatch(r"\d{4}-\d\d-\d\d", self.start), self, "start")

    def made_up_value(self, level: Any) -> Any:
        """A value such as the column may have; `level`: of a category."""
        if self.kind is Kind.DATE:
            first = datetime.fromisoformat(self.start)
            return first.strftime(self.style) if self.style else first
        if self.style:
            return "0"
        if self.type.startswith(("time32", "time64", "duration")):
            return timedelta(0) if self.type.startswith("duration") else time(0)
        return {Kind.NUMBER: 0, Kind.BOOLEAN: False}.get(self.kind, level)


def judge(name: str, column: pa.ChunkedArray, target: bool = False) -> Column:
    """Say how a column is read; the target is never left out."""
    type_, rows = column.type, len(column)
    if rows <= _COUNTED and (pa.types.is_floating(type_) or (pa.types.is_integer(type_) and not column.null_count)):
        return _plain_number(name, column, target)
    missing = int(column.null_count)
    if pa.types.is_floating(type_):
        missing += int(pc.sum(pc.is_nan(column)).as_py() or 0)
    distinct, estimated = count_distinct(column)
    base: dict[str, Any] = {
        "name": name,
        "type": str(type_),
        "missing": missing,
        "distinct": distinct,
        "estimated": estimated,
        "examples": _examples(column),
    }
    if missing == rows:
        return Column(kind=Kind.EMPTY, used=False, note="has no value at all", **base)
    if distinct == 1 and not missing:
        return Column(kind=Kind.CONSTANT, used=False, note="has the same value in every row", **base)
    if pa.types.is_boolean(type_):
        return Column(kind=Kind.BOOLEAN, used=True, **base)
    if pa.types.is_date(type_) or pa.types.is_timestamp(type_):
        return _date(base, column)
    if is_time(type_):
        what = "a length of time" if pa.types.is_duration(type_) else "a time of day"
        return Column(kind=Kind.NUMBER, used=True, note=f"{what}, in hours", **base)
    if pa.types.is_string(type_):
        return _text(base, column, target)
    if pa.types.is_nested(type_):
        return Column(kind=Kind.TEXT, used=False, note="holds lists or objects", **base)
    return _number(base, column, target)


def _plain_number(name: str, column: pa.ChunkedArray, target: bool) -> Column:
    """What `judge` says of numbers, without pyarrow's cost per call: there may be 100,000 columns of them."""
    values = column.to_numpy()
    known = values
    if values.dtype.kind == "f" and (gaps := np.isnan(values)).any():
        known = values[~gaps]
    ordered = np.sort(known)
    distinct = int(np.count_nonzero(ordered[1:] != ordered[:-1])) + bool(len(ordered))
    few: dict[Any, None] = {}
    for value in known[:1000].tolist():
        few[value] = None
        if len(few) == _EXAMPLES:
            break
    base: dict[str, Any] = {
        "name": name,
        "type": str(column.type),
        "missing": len(values) - len(known),
        "distinct": distinct,
        "estimated": False,
        "examples": tuple(map(str, few)),
    }
    if not len(known):
        return Column(kind=Kind.EMPTY, used=False, note="has no value at all", **base)
    if distinct == 1 and len(known) == len(values):
        return Column(kind=Kind.CONSTANT, used=False, note="has the same value in every row", **base)
    return _number(base, known, target)


def is_time(type_: pa.DataType) -> bool:
    """Whether values are times of day or lengths of time, which count in hours."""
    return bool(pa.types.is_time(type_) or pa.types.is_duration(type_))


def count_distinct(column: pa.ChunkedArray) -> tuple[int, bool]:
    """The number of distinct values, missing ones not counted, and whether it is an estimate from a sample."""
    if column.null_count == len(column):
        return 0, False
    if pa.types.is_nested(column.type):
        return len(column) - column.null_count, True

    def exact() -> int:
        has_nan = pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py()
        return int(pc.count_distinct(column).as_py()) - bool(has_nan)

    if len(column) <= _COUNTED or pa.types.is_string(column.type):
        return exact(), False
    pieces = [column.slice(int(start), 10_000) for start in np.linspace(0, len(column) - 10_000, 20)]
    sample = pa.chunked_array([chunk for piece in pieces for chunk in piece.chunks]).drop_null()
    counts = pc.value_counts(sample.combine_chunks()).field("counts").to_numpy()
    once = int((counts == 1).sum())
    if once == len(sample) or len(counts) <= _MOST_LEVELS:  # all may be unique, or few: which must be known exactly
        return exact(), False
    # values seen once stand for sqrt(rows / sampled rows) others (Charikar et al. 2000)
    return len(counts) - once + round(once * np.sqrt(len(column) / max(1, len(sample)))), True


def _examples(column: pa.ChunkedArray) -> tuple[str, ...]:
    head = column.slice(0, 1000)
    if pa.types.is_nested(column.type):
        return ()
    few = pc.unique(head).slice(0, _EXAMPLES + 2)  # two may be none
    if pa.types.is_string(few.type):
        few = pc.utf8_slice_codeunits(few, 0, 50)
    values = [value for value in few.to_pylist() if value is not None and value == value][:_EXAMPLES]
    return tuple(text if len(text) <= 40 else f"{text[:37]}..." for text in map(str, values))


def _number(base: dict[str, Any], column: "pa.ChunkedArray | NDArray[Any]", target: bool) -> Column:
    values = column if isinstance(column, np.ndarray) else known_numbers(column)
    infinite = int(np.count_nonzero(np.isinf(values))) if values.dtype.kind == "f" else 0
    whole = not infinite and (values.dtype.kind != "f" or bool((values == np.floor(values)).all()))
    if whole and not target:
        if _named_like_identifier(base, len(values)):
            return Column(kind=Kind.IDENTIFIER, used=False, note=_LIKE_IDENTIFIER, **base)
        unique = base["distinct"] == len(values) >= _ENOUGH and not _NAMED_TIME.fullmatch(base["name"])
        if unique and (values[1:] > values[:-1]).all():
            return Column(kind=Kind.IDENTIFIER, used=False, note="rises from row to row, as if it counted them", **base)
    note = f"{infinite} infinite values count as missing" if infinite else ""
    return Column(kind=Kind.NUMBER, used=True, note=note, **base)


def _named_like_identifier(base: dict[str, Any], rows: int) -> bool:
    """Whether the name says so and there are about as many values as something may have that is told apart by them."""
    named = _NAMED_ID.fullmatch(base["name"]) is not None
    return named and rows >= _ENOUGH and base["distinct"] > max(_MANY_LEVELS, 0.1 * rows)


def known_numbers(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """The values of a column of numbers that are not missing."""
    values = np.asarray(column.drop_null().to_numpy(), np.float64)
    return values[~np.isnan(values)]


# ---- text ----


def _text(base: dict[str, Any], column: pa.ChunkedArray, target: bool) -> Column:
    known = column.drop_null()
    rows, distinct = len(known), base["distinct"]
    head = pc.unique(known.slice(0, 2000))
    if style := number_style(pc.utf8_slice_codeunits(known.slice(0, 2000), 0, _LONGEST_NUMBER)):
        values = text_numbers(column, style)
        words = text_words(column, values)
        if len(words) <= (1 - _MOSTLY) * rows:
            note = f"numbers written as text, such as {base['examples'][0]}"
            if len(words):
                note += f"; {len(words)} values are none and count as missing, such as {words[0].as_py()[:40]!r}"
            distinct, estimated = count_distinct(column.filter(pc.is_valid(values)))
            counts = {"missing": int(values.null_count), "distinct": distinct, "estimated": estimated}
            found = _number({**base, **counts}, values, target)
            return Column(**{**column_facts(found), "style": style, "note": note if found.used else found.note})
    if style := date_style(pc.utf8_slice_codeunits(head, 0, _LONGEST_NUMBER)):
        values = text_dates(column, style)
        if values.null_count - base["missing"] <= (1 - _MOSTLY) * rows:
            return _date({**base, "missing": int(values.null_count), "style": style}, values)
    if target:
        return Column(kind=Kind.CATEGORY, used=True, **base)
    words = pc.mean(pc.count_substring_regex(head, r"\S+")).as_py()
    length = pc.mean(pc.utf8_length(head)).as_py()
    if distinct > _MANY_LEVELS and distinct >= 0.3 * rows and (words >= 3 or length > 40):
        return Column(
            kind=Kind.TEXT, used=False, note="holds free text, whose words are used only when asked for", **base
        )
    if _named_like_identifier(base, rows):
        return Column(kind=Kind.IDENTIFIER, used=False, note=_LIKE_IDENTIFIER, **base)
    if rows >= _ENOUGH and distinct >= 0.99 * rows and words < 1.5:
        return Column(kind=Kind.IDENTIFIER, used=False, note="differs from row to row", **base)
    if rows >= _ENOUGH and distinct >= 0.99 * rows:
        return Column(
            kind=Kind.TEXT,
            used=False,
            note="differs from row to row, and its words are used only when asked for",
            **base,
        )
    return _category(base, known)


def _category(base: dict[str, Any], known: pa.ChunkedArray) -> Column:
    if base["distinct"] <= _MANY_LEVELS:
        return Column(kind=Kind.CATEGORY, used=True, **base)
    counts = pc.value_counts(short_levels(known))
    rows, values = counts.field("counts").to_numpy(), counts.field("values")
    often = np.flatnonzero(rows >= _RARE)
    often = often[np.lexsort((often, -rows[often]))][:_MOST_LEVELS]
    if len(often) == len(rows):
        return Column(kind=Kind.CATEGORY, used=True, **base)
    if len(often) == 0 and base["missing"] < _RARE:
        return Column(kind=Kind.IDENTIFIER, used=False, note=f"has no value that {_RARE} rows share", **base)
    levels = tuple(sorted(values.take(pa.array(often)).to_pylist()))
    note = (
        f"{len(rows) - len(often)} rare levels are one" if levels else "all levels are rare: only gaps tell rows apart"
    )
    others = values.filter(pa.array(~np.isin(np.arange(len(rows)), often)))
    rare = tuple(sorted(map(level_digest, others.to_pylist()))) if len(others) <= _MOST_RARE else None
    return Column(kind=Kind.CATEGORY, used=True, levels=levels, rare=rare, note=note, **base)


def short_levels(values: Any) -> Any:
    """Levels as a model keeps them: of a very long one its beginning and a digest, by which it is known again."""
    if (pc.max(pc.binary_length(values)).as_py() or 0) <= _LONGEST_LEVEL:
        return values
    chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    short = []
    for encoded in (chunk.dictionary_encode() for chunk in chunks):
        long = pc.greater(pc.binary_length(encoded.dictionary), _LONGEST_LEVEL).to_pylist()
        both = zip(encoded.dictionary, long, strict=True)
        levels = [_shortened(level) if is_long else level.as_py() for level, is_long in both]
        short.append(pa.array(levels, pa.string()).take(encoded.indices))
    return pa.chunked_array(short, pa.string()) if isinstance(values, pa.ChunkedArray) else short[0]


def _shortened(level: pa.StringScalar) -> str:
    """The beginning of a long level, and a digest of it."""
    text: str = level.as_py()
    return f"{text[: _LONGEST_LEVEL // 8]}... ({len(text):,} characters, {level_digest(text)})"


def level_digest(level: str) -> str:
    """What a model keeps of a rare level, to know it again: its text, which may be private, is not told."""
    return hashlib.blake2b(level.encode(), digest_size=8).hexdigest()


def number_style(sample: Any) -> str:
    """How the numbers in a sample of text are written, "" if it has no numbers."""
    best, most = "", 0.8
    lowered = pc.utf8_lower(pc.utf8_trim_whitespace(sample))
    sample = sample.filter(pc.invert(pc.is_in(lowered, pa.array(_NO_NUMBER))))
    for style in _NUMBER_STYLES:
        share = 1 - text_numbers(sample, style).null_count / max(1, len(sample))
        if share > most:
            best, most = style, share
    return best


def text_numbers(column: Any, style: str) -> Any:
    """The numbers in a column of text, missing where there is none; marks of thousands, $ and % are taken out."""
    pattern, mark, decimal = _NUMBER_STYLES[style]
    text = pc.replace_substring_regex(column, r"^\s*[$€£]|[$€£%]\s*$|\s|'", "")
    text = pc.if_else(pc.match_substring_regex(text, pattern), text, pa.scalar(None, pa.string()))
    text = pc.replace_substring(text, mark, "")
    if decimal != ".":
        text = pc.replace_substring(text, decimal, ".")
    return text.cast(pa.float64())


def text_words(column: Any, values: Any) -> Any:
    """What is neither a number nor a word for a missing value."""
    odd = column.filter(pc.and_(pc.is_valid(column), pc.is_null(values)))
    return odd.filter(pc.invert(pc.is_in(pc.utf8_lower(pc.utf8_trim_whitespace(odd)), pa.array(_NO_NUMBER))))


def date_style(sample: Any) -> str:
    """How the dates in a sample of text are written, "" if it has no dates."""
    if len(sample) == 0 or not pc.match_substring_regex(sample[:1], r"\d.*[-/. ].*\d")[0].as_py():
        return ""
    shares = {style: 1 - text_dates(sample, style).null_count / len(sample) for style in _DATE_STYLES}
    best = max(shares, key=lambda style: shares[style])
    return best if shares[best] >= _MOSTLY else ""


def text_dates(column: Any, style: str) -> Any:
    """The dates in a column of text, missing where there is none."""
    return pc.strptime(pc.utf8_trim_whitespace(column), style, "s", error_is_null=True)


# ---- dates ----


def _date(base: dict[str, Any], column: pa.ChunkedArray) -> Column:
    parts = date_parts(column, pc.min(column), ("year", "month", "weekday", "hour", "days"))
    varied = tuple(part for part, values in parts.items() if pc.count_distinct(values).as_py() > 1)
    start = str(pc.min(column.cast(pa.timestamp("s", getattr(column.type, "tz", None)), safe=False)).as_py())
    note = f"becomes {', '.join('days since ' + start[:10] if part == 'days' else part for part in varied)}"
    note = f"{note} (read as {base['style']})" if base.get("style") else note
    return Column(kind=Kind.DATE, used=bool(varied), parts=varied, start=start[:10], note=note, **base)


def date_parts(column: Any, start: Any, wanted: tuple[str, ...]) -> dict[str, Any]:
    """Parts of dates as columns: numbers, but month and day of the week as names."""
    zone = getattr(column.type, "tz", None)
    column = column.cast(pa.timestamp("s", zone), safe=False)
    seconds = column.cast(pa.int64())
    first = start.cast(pa.timestamp("s", zone), safe=False).cast(pa.int64())
    months, days = pa.array(MONTHS), pa.array(WEEKDAYS)
    made = {
        "year": lambda: pc.year(column),
        "month": lambda: months.take(pc.subtract(pc.month(column), 1)),
        "weekday": lambda: days.take(pc.day_of_week(column)),
        "hour": lambda: pc.hour(column),
        "days": lambda: pc.divide(pc.subtract(seconds, first).cast(pa.float64(), safe=False), 86400.0),
    }
    return {part: made[part]() for part in wanted}


def column_facts(column: Column) -> dict[str, Any]:
    """What is known of a column, by name."""
    found = {name: getattr(column, name) for name in Column.__slots__}
    return {name: tuple(value) if isinstance(value, Texts) else value for name, value in found.items()}
