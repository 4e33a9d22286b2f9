"""Very many texts in the memory of their characters: each text of Python's takes 64 bytes besides."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, overload

import numpy as np

MANY = 256  # texts that are worth it
_TOGETHER = 512  # texts that are made at once when one of them is asked for
_BETWEEN = "\0"


class Texts(Sequence[str]):
    """Texts like a tuple of them, but kept as UTF-8, many in a piece: they are made when they are asked for."""

    __slots__ = ("_count", "_pieces")

    def __init__(self, texts: Iterable[str]) -> None:
        pieces: list[bytes | tuple[str, ...]] = []
        given, self._count = iter(texts), 0
        while some := tuple(islice(given, _TOGETHER)):
            joined = _BETWEEN.join(some)
            plain = joined.count(_BETWEEN) == len(some) - 1  # no text has the sign that goes between them
            pieces.append(joined.encode() if plain else some)
            self._count += len(some)
        self._pieces = tuple(pieces)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        for place in range(len(self._pieces)):
            yield from self._piece(place)

    def _piece(self, place: int) -> Sequence[str]:
        piece = self._pieces[place]
        return piece.decode().split(_BETWEEN) if isinstance(piece, bytes) else piece

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...

    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        if isinstance(place, slice):
            return tuple(self[each] for each in range(self._count)[place])
        whole, part = divmod(range(self._count)[place], _TOGETHER)
        return self._piece(whole)[part]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Texts | tuple):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return Texts, (tuple(self),)

    @property
    def size(self) -> int:
        """About how many bytes of memory they take."""
        parts = [
            len(piece) if isinstance(piece, bytes) else 72 * len(piece) + len("".join(piece)) for piece in self._pieces
        ]
        return 150 + sum(parts) + 50 * len(parts)

    def are_distinct(self) -> bool:
        """Whether no text occurs twice."""
        hashes = np.fromiter(map(hash, self), np.int64, len(self))
        hashes.sort()  # in place, as a set would take ten times the memory of short texts
        for one in hashes[1:][hashes[1:] == hashes[:-1]][:_TOGETHER]:
            alike: set[str] = set()
            for text in self:
                if hash(text) == one:
                    if text in alike:
                        return False
                    alike.add(text)
        return True
