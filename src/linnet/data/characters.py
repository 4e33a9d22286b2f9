"""Texts that no file can hold: half a character of UTF-16 (a lone surrogate), which Python's texts may have.

They come from broken decoding (errors="surrogatepass", JSON written by half characters). Left alone they would fail
where they are written, sorted or shown, with an error that names neither column nor row.
"""

import re
from collections.abc import Sequence
from typing import Any

from linnet.errors import DataError

_HALF = re.compile("[\ud800-\udfff]")
_PART = 1 << 16  # texts
_WAY_OUT = "put it right where the text was read, or use text.encode('utf-8', 'replace').decode()"


def is_whole(text: object) -> bool:
    """Whether a text has whole characters only; anything that is no text has."""
    return not isinstance(text, str) or text.isascii() or _HALF.search(text) is None


def first_broken(values: Sequence[Any]) -> int:
    """The place of the first text with half a character, -1 if there is none."""
    for start in range(0, len(values), _PART):
        part = values[start : start + _PART]
        if not is_whole("".join(value for value in part if isinstance(value, str))):  # one by one takes longer
            return start + next(place for place, value in enumerate(part) if not is_whole(value))
    return -1


def broken(text: str, where: str) -> DataError:
    """Build the error for such a text."""
    return DataError(f"{where} the text {text[:60]!a}, which has half a character (a lone surrogate): {_WAY_OUT}")


def check_names(names: Sequence[Any], table: str) -> None:
    """Raise a DataError for a column's name with half a character."""
    if (place := first_broken(names)) >= 0:
        raise broken(names[place], f"column {place} of {table} has as its name")
