"""Very many texts in the memory of their characters: each Python string takes another 64 bytes."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, overload

import numpy as np

MANY = 256  # texts for which it is worthwhile
_TEXTS_PER_PIECE = 512  # decoded together when one of them is accessed
_SEPARATOR = "\0"


class Texts(Sequence[str]):
    """An immutable sequence of texts like a tuple, kept as UTF-8 in pieces of many texts and decoded on access."""

    __slots__ = ("_count", "_pieces")

    def __init__(self, texts: Iterable[str]) -> None:
        pieces: list[bytes | tuple[str, ...]] = []
        given, self._count = iter(texts), 0
        while block := tuple(islice(given, _TEXTS_PER_PIECE)):
            joined = _SEPARATOR.join(block)
            separable = joined.count(_SEPARATOR) == len(block) - 1  # no text contains the separator
            pieces.append(joined.encode() if separable else block)
            self._count += len(block)
        self._pieces = tuple(pieces)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        for index in range(len(self._pieces)):
            yield from self._piece(index)

    def _piece(self, index: int) -> Sequence[str]:
        piece = self._pieces[index]
        return piece.decode().split(_SEPARATOR) if isinstance(piece, bytes) else piece

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...

    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(self[each] for each in range(self._count)[index])
        piece, offset = divmod(range(self._count)[index], _TEXTS_PER_PIECE)
        return self._piece(piece)[offset]

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
        """About how many bytes of memory the texts take."""
        sizes = [
            len(piece) if isinstance(piece, bytes) else 72 * len(piece) + len("".join(piece)) for piece in self._pieces
        ]
        return 150 + sum(sizes) + 50 * len(sizes)

    def are_distinct(self) -> bool:
        """Return whether no text occurs twice."""
        hashes = np.fromiter(map(hash, self), np.int64, len(self))
        hashes.sort()  # in place, as a set would take ten times the memory of short texts
        for one in hashes[1:][hashes[1:] == hashes[:-1]][:_TEXTS_PER_PIECE]:
            alike: set[str] = set()
            for text in self:
                if hash(text) == one:
                    if text in alike:
                        return False
                    alike.add(text)
        return True
