"""Invalid text: lone surrogates (half a UTF-16 character), which Python strings may contain but no file can store.

They come from faulty decoding (errors="surrogatepass", JSON with split characters). Without a check they would fail
later, where they are written, sorted or shown, with an error that names neither column nor row.
"""

import re
from collections.abc import Sequence
from typing import Any

from linnet.errors import DataError

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_VALUES_PER_BLOCK = 1 << 16
_ADVICE = "fix the decoding where the text was read, or use text.encode('utf-8', 'replace').decode()"


def is_whole(text: object) -> bool:
    """Return whether a value has no lone surrogates; values other than text have none."""
    return not isinstance(text, str) or text.isascii() or _LONE_SURROGATE.search(text) is None


def first_broken(values: Sequence[Any]) -> int:
    """Return the index of the first text with a lone surrogate, -1 if there is none."""
    for start in range(0, len(values), _VALUES_PER_BLOCK):
        block = values[start : start + _VALUES_PER_BLOCK]
        if not is_whole("".join(value for value in block if isinstance(value, str))):  # faster than one by one
            return start + next(index for index, value in enumerate(block) if not is_whole(value))
    return -1


def broken(text: str, where: str) -> DataError:
    """Return the error for a text with a lone surrogate; `where` ends in a verb: "column 'a' has in row 3"."""
    return DataError(f"{where} the text {text[:60]!a}, which contains a lone surrogate (half a character): {_ADVICE}")


def check_names(names: Sequence[Any], table: str) -> None:
    """Raise a DataError if the name of a column has a lone surrogate."""
    if (index := first_broken(names)) >= 0:
        raise broken(names[index], f"column {index} of {table} has as its name")
