"""A column whose kind is to be found, and facts about it, each computed once, when a kind asks for it."""

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from linnet._cached import cached_property
from linnet.tables.kinds.base import ENOUGH, Column, Kind
from linnet.tables.kinds.category import MAX_LEVELS, MAX_UNMERGED_LEVELS, short_levels
from linnet.tables.kinds.date import date_style, text_dates
from linnet.tables.kinds.number import Numbers, is_time, known_numbers, number_style, text_numbers, text_words

_MIN_SHARE_PARSED = 0.95  # this part of the values makes a column of text one of numbers or dates
EXAMPLES = 3  # values that are shown of a column
HEAD = 1000  # rows that they are taken from
_SAMPLE_TEXTS = 2000  # texts by which it is told how they are written
_MAX_NUMBER_CHARACTERS = 400  # characters; of longer texts the beginning tells that they are no numbers or dates
COUNTED = 1 << 20  # rows; in longer columns numbers are counted in a sample
_NAMED_ID = re.compile(
    r"(?i:(.*[\W_])?(id|pid|uid|uuid|guid|key|index|idx|rownames|row[\W_]?(number|nr|no|id)))|.*[a-z](Id|ID|Key)|ID[A-Z_]?[a-z]*"
)


class RawColumn:
    """A column of a table."""

    def __init__(self, name: str, values: pa.ChunkedArray, target: bool = False) -> None:
        self.name = name
        self.values = values
        self.target = target  # which is never left out
        self.type: pa.DataType = values.type
        self.rows = len(values)

    def column(self, kind: Kind, *, used: bool = True, **more: Any) -> Column:
        """The column as one of a given kind, with the facts that are known for every kind."""
        distinct, estimated = self.counted
        facts = {"missing": self.missing, "distinct": distinct, "estimated": estimated, "examples": self.examples}
        return Column(name=self.name, kind=kind, type=str(self.type), used=used, **{**facts, **more})

    @cached_property
    def missing(self) -> int:
        """Rows without a value."""
        nans = pc.sum(pc.is_nan(self.values)).as_py() if pa.types.is_floating(self.type) else 0
        return int(self.values.null_count) + int(nans or 0)

    @cached_property
    def counted(self) -> tuple[int, bool]:
        """The number of distinct values, missing ones not counted, and whether it is an estimate."""
        return count_distinct(self.values)

    @property
    def distinct(self) -> int:
        """The number of distinct values, missing ones not counted."""
        return self.counted[0]

    @cached_property
    def examples(self) -> tuple[str, ...]:
        """Some values, as they are displayed."""
        return _examples(self.values)

    def named_like_identifier(self, known: int, distinct: int | None = None) -> bool:
        """Whether it looks like an identifier, by its name and its number of distinct values."""
        distinct = self.distinct if distinct is None else distinct
        many = known >= ENOUGH and distinct > max(MAX_UNMERGED_LEVELS, 0.1 * known)
        return many and _NAMED_ID.fullmatch(self.name) is not None

    # ---- numbers, dates ----

    @cached_property
    def numbers(self) -> Numbers | None:
        """Facts about its numbers; None if it has none."""
        if pa.types.is_string(self.type):
            return self._numbers_in_text()
        others = (pa.types.is_boolean, pa.types.is_nested, pa.types.is_date, pa.types.is_timestamp, is_time)
        return None if any(is_such(self.type) for is_such in others) else Numbers.of(known_numbers(self.values))

    def _numbers_in_text(self) -> Numbers | None:
        style = number_style(pc.utf8_slice_codeunits(self._texts.slice(0, _SAMPLE_TEXTS), 0, _MAX_NUMBER_CHARACTERS))
        if not style:
            return None
        values = text_numbers(self.values, style)
        words = text_words(self.values, values)
        if len(words) > (1 - _MIN_SHARE_PARSED) * self.known:
            return None
        note = f"numbers written as text, such as {self.examples[0]}"
        if len(words):
            note += f"; values that are not numbers count as missing ({len(words)}, such as {words[0].as_py()[:40]!r})"
        distinct, estimated = count_distinct(self.values.filter(pc.is_valid(values)))
        counts = {"missing": int(values.null_count), "distinct": distinct, "estimated": estimated}
        return Numbers.of(known_numbers(values), style=style, note=note, counts=counts)

    @cached_property
    def dates(self) -> tuple[Any, str] | None:
        """Its dates, and their format if they are text; None if it has none."""
        if pa.types.is_date(self.type) or pa.types.is_timestamp(self.type):
            return self.values, ""
        if not pa.types.is_string(self.type) or self.numbers is not None:
            return None
        if style := date_style(pc.utf8_slice_codeunits(self._head, 0, _MAX_NUMBER_CHARACTERS)):
            values = text_dates(self.values, style)
            if values.null_count - self.missing <= (1 - _MIN_SHARE_PARSED) * self.known:
                return values, style
        return None

    # ---- text ----

    @cached_property
    def is_text(self) -> bool:
        """Whether it has text that is neither numbers nor dates."""
        return pa.types.is_string(self.type) and self.numbers is None and self.dates is None

    @property
    def known(self) -> int:
        """The rows that have text."""
        return self.rows - int(self.values.null_count)

    @cached_property
    def _texts(self) -> Any:
        return self.values.drop_null()

    @cached_property
    def _head(self) -> Any:
        """Distinct texts among the first rows."""
        return pc.unique(self._texts.slice(0, _SAMPLE_TEXTS))

    @cached_property
    def words(self) -> float:
        """The number of words of a text."""
        return float(pc.mean(pc.count_substring_regex(self._head, r"\S+")).as_py())

    @property
    def is_free_text(self) -> bool:
        """Whether there are many different texts of several words."""
        many = self.distinct > MAX_UNMERGED_LEVELS and self.distinct >= 0.3 * self.known
        return many and (self.words >= 3 or pc.mean(pc.utf8_length(self._head)).as_py() > 40)

    @property
    def differs_by_row(self) -> bool:
        """Whether nearly every row has a text of its own."""
        return self.known >= ENOUGH and self.distinct >= 0.99 * self.known

    @cached_property
    def level_counts(self) -> tuple[NDArray[Any], Any] | None:
        """The number of rows of each level, and the levels; None if there are so few that each is kept."""
        if self.distinct <= MAX_UNMERGED_LEVELS:
            return None
        counts = pc.value_counts(short_levels(self._texts))
        return counts.field("counts").to_numpy(), counts.field("values")


def count_distinct(column: pa.ChunkedArray) -> tuple[int, bool]:
    """The number of distinct values, missing ones not counted, and whether it is an estimate from a sample."""
    if column.null_count == len(column):
        return 0, False
    if pa.types.is_nested(column.type):
        return len(column) - column.null_count, True

    def exact() -> int:
        has_nan = pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py()
        return int(pc.count_distinct(column).as_py()) - bool(has_nan)

    if len(column) <= COUNTED or pa.types.is_string(column.type):
        return exact(), False
    pieces = [column.slice(int(start), 10_000) for start in np.linspace(0, len(column) - 10_000, 20)]
    sample = pa.chunked_array([chunk for piece in pieces for chunk in piece.chunks]).drop_null()
    counts = pc.value_counts(sample.combine_chunks()).field("counts").to_numpy()
    once = int((counts == 1).sum())
    if once == len(sample) or len(counts) <= MAX_LEVELS:  # all may be unique, or few: which must be known exactly
        return exact(), False
    # values seen once stand for sqrt(rows / sampled rows) others (Charikar et al. 2000)
    return len(counts) - once + round(once * np.sqrt(len(column) / max(1, len(sample)))), True


def _examples(column: pa.ChunkedArray) -> tuple[str, ...]:
    head = column.slice(0, HEAD)
    if pa.types.is_nested(column.type):
        return ()
    few = pc.unique(head).slice(0, EXAMPLES + 2)  # two may be none
    if pa.types.is_string(few.type):
        few = pc.utf8_slice_codeunits(few, 0, 50)
    values = [value for value in few.to_pylist() if value is not None and value == value][:EXAMPLES]
    return tuple(text if len(text) <= 40 else f"{text[:37]}..." for text in map(str, values))
