"""Columns that are never learned from: identifiers, constants, empty columns."""

import re
from typing import TYPE_CHECKING

from linnet.tables.kinds.base import ENOUGH, Column, ColumnKind, Kind
from linnet.tables.kinds.category import RARE, often_of

if TYPE_CHECKING:
    from linnet.tables.kinds.raw import RawColumn

_LIKE_IDENTIFIER = "is named like an identifier and has many values"
_NAMED_TIME = re.compile(r"(?i).*(year|month|day|date|time|week|hour|minute|age).*|yr")


class Empty(ColumnKind):
    """No value at all."""

    kind = Kind.EMPTY
    varies = False
    may_be_pixel = True
    no_target = "has no value at all"

    def recognise(self, raw: "RawColumn") -> Column | None:  # noqa: D102
        return raw.column(self.kind, used=False, note=self.no_target) if raw.missing == raw.rows else None


class Constant(ColumnKind):
    """One value in every row."""

    kind = Kind.CONSTANT
    varies = False
    may_be_pixel = True

    def recognise(self, raw: "RawColumn") -> Column | None:  # noqa: D102
        if raw.distinct != 1 or raw.missing:
            return None
        return raw.column(self.kind, used=False, note="has the same value in every row")


class Identifier(ColumnKind):
    """An identifier: row numbers, names, keys. The target is never one."""

    kind = Kind.IDENTIFIER
    are_words = True

    def recognise(self, raw: "RawColumn") -> Column | None:  # noqa: D102
        if raw.target:
            return None
        note = self._of_numbers(raw) if raw.numbers is not None else self._of_words(raw) if raw.is_text else ""
        if not note:
            return None
        more = {} if raw.numbers is None else {"style": raw.numbers.style, **raw.numbers.counts}
        return raw.column(self.kind, used=False, note=note, **more)

    def _of_numbers(self, raw: "RawColumn") -> str:
        found = raw.numbers
        assert found is not None
        if not found.whole:
            return ""
        distinct = found.counts.get("distinct", raw.distinct)
        if raw.named_like_identifier(found.count, distinct):
            return _LIKE_IDENTIFIER
        rising = found.rising and distinct == found.count >= ENOUGH and not _NAMED_TIME.fullmatch(raw.name)
        return "increases from row to row, like a row number" if rising else ""

    def _of_words(self, raw: "RawColumn") -> str:
        if raw.named_like_identifier(raw.known):
            return _LIKE_IDENTIFIER
        if raw.differs_by_row and raw.words < 1.5:
            return "differs from row to row"
        counts = raw.level_counts
        if counts is not None and len(often_of(counts[0])) == 0 and raw.missing < RARE:
            return f"has no value that {RARE} rows share"
        return ""
