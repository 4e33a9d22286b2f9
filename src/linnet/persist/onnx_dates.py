"""The parts of dates as parts of an ONNX graph, which has no dates: they are given in seconds since 1970.

With s the seconds, d = ⌊s / 86400⌋ the days and a // b = ⌊a / b⌋, years of 365.2425 days begin in March, so that a leap
day is the last of its year. Counted from the 1st of March of the year 0, in eras of 400 years = 146097 days:

    z = d + 719468,  era = z // 146097,  day of the era e = z - 146097 era
    year of the era  n = (e - e // 1460 + e // 36524 - e // 146096) // 365
    day of the year  k = e - (365 n + n // 4 - n // 100)
    month            m = (5 k + 2) // 153, 0 for March

All are whole numbers below 2^53, so float64 has them exactly.
"""

from linnet.data.kinds import MONTHS, WEEKDAYS
from linnet.persist.onnx_graph import Graph, Tensor


def date_parts(graph: Graph, seconds: Tensor, start: float, wanted: tuple[str, ...]) -> list[Tensor]:
    """What `linnet.data.kinds.date_parts` makes of dates: NaN, or empty text, where one is missing."""

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
