"""What a schema makes of raw columns, as parts of an ONNX graph.

ONNX has no dates: they are given in seconds since 1970. With s the seconds, d = ⌊s / 86400⌋ the days and a // b = ⌊a /
b⌋, years of 365.2425 days begin in March, so that a leap day is the last of its year. Counted from the 1st of March of
the year 0, in eras of 400 years = 146097 days:

    z = d + 719468,  era = z // 146097,  day of the era e = z - 146097 era
    year of the era  n = (e - e // 1460 + e // 36524 - e // 146096) // 365
    day of the year  k = e - (365 n + n // 4 - n // 100)
    month            m = (5 k + 2) // 153, 0 for March

All are whole numbers below 2^53, so float64 has them exactly.
"""

import numpy as np

from linnet.errors import ConfigError
from linnet.export.onnx.columns import NUMBERS, TEXT
from linnet.export.onnx.graph import Graph, Tensor
from linnet.tables.kinds import MONTHS, OTHER, WEEKDAYS, Kind
from linnet.tables.schema import Schema, made_of

_DATE = "seconds since 1970-01-01, NaN where it is missing"


def _date_parts(graph: Graph, seconds: Tensor, start: float, wanted: tuple[str, ...]) -> list[Tensor]:
    """What `linnet.tables.kinds.date_parts` makes of dates: NaN, or empty text, where one is missing."""

    def add(one: Tensor, other: Tensor | float) -> Tensor:
        return graph.add("Add", one, other)

    def less(one: Tensor, other: Tensor | float) -> Tensor:
        return graph.add("Sub", one, other)

    def times(one: Tensor, number: float) -> Tensor:
        return graph.add("Mul", one, number)

    def whole(one: Tensor, number: float) -> Tensor:
        return graph.add("Floor", graph.add("Div", one, number))

    def names(one: Tensor, called: tuple[str, ...]) -> Tensor:
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


def table_columns(graph: Graph, schema: Schema) -> dict[str, Tensor]:
    """What a table model's schema makes of raw columns: numbers without infinities, rare levels as one."""
    made: dict[str, Tensor] = {}
    for column in schema.used:
        if column.kind is Kind.TEXT or (
            column.kind is Kind.DATE and "tz=" in column.type and "tz=UTC" not in column.type
        ):
            what = "a text" if column.kind is Kind.TEXT else f"the rules of time zones, as in {column.type}"
            raise ConfigError(
                f"column {column.name!r} cannot be exported: ONNX has no way to read {what}; train without it "
                f"(drop={column.name!r}), or with columns of numbers and categories made of it"
            )
        if column.kind is Kind.DATE:
            x = graph.input(column.name, "float64", 1, _DATE)
            start = float(np.datetime64(column.start, "s").astype(np.int64))
            made.update(zip(made_of(column), _date_parts(graph, x, start, column.parts), strict=True))
            continue
        what = "true (1) or false (0), NaN where it is missing" if column.kind is Kind.BOOLEAN else NUMBERS
        if column.kind is Kind.CATEGORY:
            x = graph.input(column.name, "str", 1, TEXT)
            if column.levels is not None:
                x = graph.lookup(x, {"": "", **{level: level for level in column.levels}}, OTHER)
        else:
            x = graph.input(column.name, "float64", 1, what)
            finite = graph.add("LessOrEqual", graph.add("Abs", x), float(np.finfo(np.float64).max), type="bool")
            x = graph.add("Where", finite, x, np.array(np.nan), type="float64")
        made[column.name] = x
    return made
