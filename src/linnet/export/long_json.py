"""JSON of any length, read in pieces: each piece becomes values before the next one is parsed.

A number of 2 characters takes 40 bytes once it is parsed, an empty list of 2 takes 80. So only a piece of the text is
parsed at a time, and the values made of the pieces count against the memory that reading the file may take.
"""

import json
import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from linnet.errors import FormatError
from linnet.texts import MANY, Texts
from linnet.untrusted import as_text, no_constant, once, repeated

_MEMORY_PER_SIZE = 4  # times the size of the file, that reading may take of memory,
_BASE_MEMORY = 6 << 20  # and these bytes, besides 2 MB for the piece that is being parsed
_PIECE = 1 << 16  # characters
_SHORT = 1 << 10  # characters of most values
_MAX_DEPTH = 50  # of nested lists and objects longer than a piece
_BYTES_PER_VALUE = 72  # of a Python value with the reference to it, unless it is long
_BYTES_PER_DICT, _BYTES_PER_PAIR = 160, 110  # without keys and values
_BYTES_PER_KEY = 250  # of a JSON key while it is read
_SPACE = re.compile(r"[ \t\n\r]*")
ESCAPED = re.compile(r"(?<!\\)(?:\\\\)*\\u")  # a sign by its number, which may be a wide one
_DECODER = json.JSONDecoder(object_pairs_hook=once, parse_constant=no_constant)


def size_of(value: object) -> int:
    """Return the bytes of a value and the reference to it, without the values inside it; interned values take none."""
    if isinstance(value, str):
        wide = len(value) if value.isascii() else 4 * len(value)
        return _BYTES_PER_VALUE + max(0, wide - 15) if wide > 1 else 8
    if value is None or isinstance(value, bool):
        return 8
    if isinstance(value, int | float):
        return 8 if type(value) is int and -5 <= value <= 256 else 40
    return _BYTES_PER_VALUE + 32 * isinstance(value, list)  # a list has spare room


def size_of_pairs(count: int) -> int:
    """Return the bytes of a dict, without keys and values."""
    return _BYTES_PER_DICT + _BYTES_PER_PAIR * count


class Memory:
    """The memory that reading a file may take, in bytes, and the rest of it."""

    def __init__(self, size: int) -> None:
        self.size, self.left = size, _MEMORY_PER_SIZE * size + _BASE_MEMORY

    def take(self, count: int) -> None:
        """Count `count` bytes; if fewer are left, raise a FormatError."""
        self.left -= count
        self.need(0)

    def need(self, count: int) -> None:
        """Raise a FormatError if fewer than `count` bytes are left."""
        if count > self.left:
            raise FormatError(
                f"its {self.size:,} bytes would take more than {_MEMORY_PER_SIZE} times the file and 8 MB of memory: "
                "it has too many short values"
            )


class Made(list[Any]):
    """A list of finished values."""


class LongJSON:
    """A text, read from its start: `value` reads what comes next, `members` the keys of an object.

    `made` makes a value of each item of a list that is longer than a piece; before that `named` gets the values of
    "object" of the objects that contain the list.
    """

    def __init__(
        self,
        text: str,
        memory: Memory,
        made: Callable[[Any], Any] = lambda node: node,
        named: Callable[[Any], object] = lambda name: None,
    ) -> None:
        self._text, self._memory, self.made, self.named = text, memory, made, named
        self._at = self._depth = 0

    def value(self) -> Any:
        """Return the next value. A list longer than a piece is a Made or Texts."""
        self._skip()
        first = self._text[self._at : self._at + 1]
        if first == '"' and len(self._text) - self._at > _PIECE and not self._ends():
            # 4 bytes for each sign if one of them is wide, and once more while it is put together
            wide = not self._text.isascii() or ESCAPED.search(self._text, self._at) is not None
            self._memory.need((8 if wide else 2) * (len(self._text) - self._at))
        if first not in ("[", "{"):
            found, self._at = _parsed(self._text, self._at)
            return found
        for length in (_SHORT, _PIECE) if len(self._text) - self._at > _PIECE else (_PIECE,):
            try:
                found, end = _parsed(self._text[self._at : self._at + length])
            except json.JSONDecodeError:
                if self._at + length >= len(self._text):
                    raise
                continue  # it is longer, or has an error that will be found within
            self._at += end
            return found
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise FormatError("lists are nested too deeply")
        found = self._list() if first == "[" else self._object()
        self._depth -= 1
        return found

    def members(self) -> Iterator[str]:
        """Yield the keys of an object; before the next key, `value` must read the value of the last."""
        self._expect("{")
        keys: set[str] = set()
        if self._has("}"):
            return
        while True:
            self._skip()
            if not self._text.startswith('"', self._at):
                raise json.JSONDecodeError("Expecting a key", self._text, self._at)
            key, self._at = _parsed(self._text, self._at)
            if key in keys:
                raise repeated(key)
            keys.add(key)
            self._memory.take(_BYTES_PER_KEY + len(key))
            self._expect(":")
            yield key
            if self._has("}"):
                return
            self._expect(",")

    def end(self) -> None:
        """Raise an error if anything follows."""
        self._skip()
        if self._at < len(self._text):
            raise json.JSONDecodeError("Extra data", self._text, self._at)

    def close(self) -> None:
        """Raise an error if anything follows but the end of the enclosing object."""
        self._expect("}")
        self.end()

    def _object(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key in self.members():
            found[key] = self.value()
            if key == "object":
                self.named(found[key])
        return found

    def _list(self) -> "Made | Texts":
        left: list[list[Any]] = []  # the first items that are no texts
        pieces = self._pieces()
        texts = Texts(chain.from_iterable(self._only_texts(pieces, left)))
        if not left and len(texts) >= MANY:
            return texts
        self._memory.take(sum(map(size_of, texts)))
        found = Made(texts)
        for piece in chain(left, pieces):
            found += map(self.made, piece)
            self._memory.take(8 * len(piece))
        return found

    def _only_texts(self, pieces: Iterator[list[Any]], left: list[list[Any]]) -> Iterator[list[str]]:
        """Yield pieces as long as they contain only texts; the next one goes to `left`."""
        for piece in pieces:
            if {*map(type, piece)} != {str}:
                left.append(piece)
                return
            joined = "".join(piece)
            self._memory.take(len(piece) + len(joined) * (1 if joined.isascii() else 4))
            as_text(joined)
            yield piece

    def _pieces(self) -> Iterator[list[Any]]:
        """Yield the items of a list, those in a piece of text at a time."""
        self._expect("[")
        if self._has("]"):
            return
        while True:
            self._skip()
            yield self._several(self._text[self._at : self._at + _PIECE])
            if self._has("]"):
                return
            self._expect(",")

    def _several(self, piece: str) -> list[Any]:
        """Return the items at the start of a piece of text."""
        # Where a text that is cut at a comma is a list, the comma was one between items. Mostly the last one is.
        last = {"{": "},", "[": "],", '"': '",'}.get(piece[:1], ",")
        if (cut := piece.rfind(last) + len(last) - 1) > 0:
            try:
                found: list[Any] = _whole(f"[{piece[:cut]}]")
            except json.JSONDecodeError:
                pass
            else:
                self._at += cut
                return found
        found, done, at = [], 0, 0
        while True:
            try:
                item, end = _parsed(piece, at)
            except json.JSONDecodeError:
                break
            if end == len(piece) and self._at + end < len(self._text):
                break  # a number may go on
            found.append(item)
            done = end
            at = _after_space(piece, end)
            if piece[at : at + 1] != ",":
                break
            at = _after_space(piece, at + 1)
        if not found:
            return [self.value()]
        self._at += done
        return found

    def _ends(self) -> bool:
        """Return whether the next text ends within a piece."""
        try:
            _parsed(self._text[self._at : self._at + _PIECE])
        except json.JSONDecodeError:
            return False
        return True

    def _skip(self) -> None:
        self._at = _after_space(self._text, self._at)

    def _has(self, sign: str) -> bool:
        """Return whether this is the next sign, and skip it if so."""
        self._skip()
        found = self._text.startswith(sign, self._at)
        self._at += found
        return found

    def _expect(self, sign: str) -> None:
        if not self._has(sign):
            raise json.JSONDecodeError(f"Expecting {sign!r}", self._text, self._at)


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None  # it may be empty
    return found.end()


def _parsed(text: str, at: int = 0) -> tuple[Any, int]:
    """Return the value at a position of a text, and its end; a JSONDecodeError if there is no whole value."""
    try:
        return _DECODER.raw_decode(text, at)
    except RecursionError:
        raise FormatError("lists are nested too deeply") from None


def _whole(text: str) -> Any:
    """Return the value that a whole text holds."""
    found, end = _parsed(text)
    if end < len(text):
        raise json.JSONDecodeError("Extra data", text, end)
    return found
