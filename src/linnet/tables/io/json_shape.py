"""Whether JSON lines are a table that can be read in bounded memory: a few bytes of them may stand for far more.

Every key is a column of all rows, and lists within lists are walked down by recursion, which ends a process.
"""

import json
import re

import numpy as np

DEEPEST = 100  # lists and objects within each other
MAX_CELLS = 1 << 26  # of a block of rows: 512 MB of numbers
_LOOKED_AT = 32  # lines
_KEY = re.compile(rb'"((?:[^"\\]|\\.)*)"\s*:')

_STEPS = np.zeros(256, np.int64)  # what signs do to the depth
_STEPS[[*b"[{"]], _STEPS[[*b"]}"]] = 1, -1
_SIGNS = (_STEPS != 0) | np.isin(np.arange(256), [*b'"\n'])


def too_deep(text: bytes) -> int | None:
    """The number of the first line, from 0, where lists within lists go on for too long; None if none does."""
    opened = text.count(b"[") + text.count(b"{") - text.count(b"}\n{") - text.count(b"}\r\n{")
    if opened <= DEEPEST:  # next to nothing but one object per line
        return None
    plain = np.frombuffer(text.replace(b"\\\\", b"").replace(b'\\"', b""), np.uint8)
    signs = plain[_SIGNS[plain]]
    quotes, lines = np.cumsum(signs == ord('"')), signs == ord("\n")
    inside = (quotes - np.maximum.accumulate(np.where(lines, quotes, 0))) % 2 == 1  # no string goes beyond its line
    depth = np.cumsum(np.where(inside, 0, _STEPS[signs]))
    if len(depth) == 0 or depth.max() <= DEEPEST:
        return None
    return int(lines[: int((depth > DEEPEST).argmax())].sum())


def different_keys(text: bytes) -> int:
    """Return an upper bound of the number of different keys; 0 if most rows have most keys."""
    rows = text.count(b"\n") + 1
    if rows * text.count(b":") <= MAX_CELLS:
        return 0
    met: set[str] = set()
    most = 0
    for place in np.linspace(0, max(0, len(text) - 1), _LOOKED_AT).astype(int).tolist():
        start = text.rfind(b"\n", 0, place) + 1
        end = text.find(b"\n", place)
        try:
            row = json.loads(text[start : end if end >= 0 else len(text)])
        except (ValueError, RecursionError):
            return 0  # what is wrong is said by the reader
        if isinstance(row, dict):
            met |= row.keys()
            most = max(most, len(row))
    return 0 if len(met) <= 2 * most else len(set(_KEY.findall(text)))
