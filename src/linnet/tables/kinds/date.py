"""Dates and times, also as they are written in text: year, month, weekday, hour and days since the first.

ONNX has no dates: they are given in seconds since 1970. With s the seconds, d = ⌊s / 86400⌋ the days and a // b = ⌊a /
b⌋, years of 365.2425 days begin in March, so that a leap day is the last of its year. Counted from the 1st of March of
the year 0, in eras of 400 years = 146097 days:

    z = d + 719468,  era = z // 146097,  day of the era e = z - 146097 era
    year of the era  n = (e - e // 1460 + e // 36524 - e // 146096) // 365
    day of the year  k = e - (365 n + n // 4 - n // 100)
    month            m = (5 k + 2) // 153, 0 for March

All are whole numbers below 2^53, so float64 has them exactly.
"""

import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from linnet.registry import need
from linnet.tables.kinds.base import Column, ColumnKind, Floats, Kind, refuse_export, retyped
from linnet.tables.kinds.number import finite_or_nan

if TYPE_CHECKING:
    from linnet.export.onnx.graph import Graph, Tensor
    from linnet.tables.kinds.raw import RawColumn

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MIN_SHARE_PARSED = 0.95  # this part of the values makes a column of text one of dates
_DAYS = (
    *("%Y-%m-%d", "%Y/%m/%d", "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y"),
    *("%d %b %Y", "%d-%b-%Y", "%b %d, %Y", "%m/%d/%y", "%d/%m/%y", "%d.%m.%y"),
)
_STYLES = tuple(f"{day}{time}" for time in ("", " %H:%M", " %H:%M:%S", "T%H:%M:%S") for day in _DAYS)


class Date(ColumnKind):
    """A date and time, as those of its parts that vary."""

    kind = Kind.DATE
    learned = True
    no_target = "holds dates: convert it to a number, such as the days until then"
    styles = _STYLES
    parts = ("year", "month", "weekday", "hour", "days")

    def recognise(self, raw: "RawColumn") -> Column | None:  # noqa: D102
        if (found := raw.dates) is None:
            return None
        values, style = found
        parts = date_parts(values, pc.min(values), self.parts)
        varied = tuple(part for part, of_part in parts.items() if pc.count_distinct(of_part).as_py() > 1)
        start = str(pc.min(values.cast(pa.timestamp("s", getattr(values.type, "tz", None)), safe=False)).as_py())
        note = f"becomes {', '.join('days since ' + start[:10] if part == 'days' else part for part in varied)}"
        facts: dict[str, Any] = {"parts": varied, "start": start[:10], "note": note}
        if style:
            facts |= {"missing": int(values.null_count), "style": style, "note": f"{note} (read as {style})"}
        return raw.column(self.kind, used=bool(varied), **facts)

    def check_file(self, column: Column) -> None:  # noqa: D102
        need(re.fullmatch(r"\d{4}-\d\d-\d\d", column.start), column, "start")

    def made_of(self, column: Column) -> list[str]:  # noqa: D102
        return [f"{column.name} {part}" for part in column.parts]

    def apply(self, column: Column, values: Any) -> list[Any]:  # noqa: D102
        start = pa.scalar(column.start, pa.string()).cast(pa.timestamp("s"))
        return [*date_parts(_dates(column, values), start, column.parts).values()]

    def made_up_value(self, column: Column, level: Any) -> Any:  # noqa: D102
        first = datetime.fromisoformat(column.start)
        return first.strftime(column.style) if column.style else first

    def compared(self, column: Column, values: pa.ChunkedArray) -> Floats:  # noqa: D102
        if column.style:
            values = text_dates(values, column.style)
        values = values.cast(pa.timestamp("s", getattr(values.type, "tz", None)), safe=False).cast(pa.int64())
        return finite_or_nan(values)

    def to_graph(self, column: Column, graph: "Graph") -> "list[Tensor]":  # noqa: D102
        if "tz=" in column.type and "tz=UTC" not in column.type:
            refuse_export(column, f"the rules of time zones, as in {column.type}")
        x = graph.input(column.name, "float64", 1, "seconds since 1970-01-01, NaN where it is missing")
        start = float(np.datetime64(column.start, "s").astype(np.int64))
        return _parts_in_graph(graph, x, start, column.parts)


def _dates(column: Column, values: Any) -> Any:
    if pa.types.is_string(values.type) and column.style:
        return text_dates(values, column.style)
    try:
        if not (pa.types.is_date(values.type) or pa.types.is_timestamp(values.type) or pa.types.is_string(values.type)):
            raise pa.ArrowInvalid
        return values.cast(pa.timestamp("s", getattr(values.type, "tz", None)), safe=False)
    except pa.ArrowInvalid:
        raise retyped(column, values, "dates") from None


def date_style(sample: Any) -> str:
    """The format of the dates in a sample of text, "" if it has none."""
    if len(sample) == 0 or not pc.match_substring_regex(sample[:1], r"\d.*[-/. ].*\d")[0].as_py():
        return ""
    shares = {style: 1 - text_dates(sample, style).null_count / len(sample) for style in _STYLES}
    best = max(shares, key=lambda style: shares[style])
    return best if shares[best] >= _MIN_SHARE_PARSED else ""


def text_dates(column: Any, style: str) -> Any:
    """The dates in a column of text, missing where there is none."""
    return pc.strptime(pc.utf8_trim_whitespace(column), style, "s", error_is_null=True)


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


def _parts_in_graph(graph: "Graph", seconds: "Tensor", start: float, wanted: tuple[str, ...]) -> "list[Tensor]":
    """The result of `date_parts`: NaN, or empty text, where a date is missing."""

    def add(one: "Tensor", other: "Tensor | float") -> "Tensor":
        return graph.add("Add", one, other)

    def less(one: "Tensor", other: "Tensor | float") -> "Tensor":
        return graph.add("Sub", one, other)

    def times(one: "Tensor", number: float) -> "Tensor":
        return graph.add("Mul", one, number)

    def whole(one: "Tensor", number: float) -> "Tensor":
        return graph.add("Floor", graph.add("Div", one, number))

    def names(one: "Tensor", called: tuple[str, ...]) -> "Tensor":
        return graph.lookup(one, {float(place): name for place, name in enumerate(called)}, "")

    seconds = graph.add("Floor", seconds)
    days = whole(seconds, 86400)
    z = add(days, 719468)
    era = whole(z, 146097)
    e = less(z, times(era, 146097))
    n = whole(less(add(less(e, whole(e, 1460)), whole(e, 36524)), whole(e, 146096)), 365)
    k = less(e, less(add(times(n, 365), whole(n, 4)), whole(n, 100)))
    m = whole(add(times(k, 5), 2), 153)
    next_year = whole(m, 10)  # January and February: months 10 and 11
    made = {
        "year": add(add(n, times(era, 400)), next_year),
        "month": names(less(add(m, 2), times(next_year, 12)), MONTHS),
        "weekday": names(less(add(days, 3), times(whole(add(days, 3), 7), 7)), WEEKDAYS),
        "hour": whole(less(seconds, times(days, 86400)), 3600),
        "days": graph.add("Div", less(seconds, start), 86400.0),
    }
    return [made[part] for part in wanted]
