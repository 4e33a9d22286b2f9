"""Free text, whose words are hashed into columns on request, or if there is nothing else to learn from."""

import dataclasses
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from linnet.registry import need
from linnet.tables.kinds.base import Column, ColumnKind, Kind, refuse_export, retyped
from linnet.tables.text import hashed_ngrams

if TYPE_CHECKING:
    from linnet.export.onnx.graph import Graph, Tensor
    from linnet.tables.kinds.raw import RawColumn

_BINS, _BINS_OF_LONG_TABLE = 1024, 256  # columns of a text
_LONG_TABLE_ROWS = 100_000  # rows from which a text gets the fewer ones


class Text(ColumnKind):
    """Free text, read as words."""

    kind = Kind.TEXT
    learned = are_words = True

    def recognise(self, raw: "RawColumn") -> Column | None:  # noqa: D102
        if pa.types.is_nested(raw.type):
            return raw.column(self.kind, used=False, note="holds lists or objects")
        if not raw.is_text or raw.target:
            return None
        if raw.is_free_text:
            return raw.column(self.kind, used=False, note="holds free text, whose words are used only on request")
        if raw.differs_by_row and raw.words >= 1.5 and not raw.named_like_identifier(raw.known):
            note = "differs from row to row, and its words are used only on request"
            return raw.column(self.kind, used=False, note=note)
        return None

    def of_words(self, column: Column, rows: int, why: str) -> Column:
        """The column, read as text of which the words are used."""
        bins = _BINS if rows <= _LONG_TABLE_ROWS else _BINS_OF_LONG_TABLE
        note = f"its words and their parts are hashed into {bins} columns: {why}"
        return dataclasses.replace(column, kind=self.kind, used=True, bins=bins, note=note, levels=None, style="")

    def check_file(self, column: Column) -> None:  # noqa: D102
        need(column.bins >= 1 or not column.used, column, "bins")

    def made_of(self, column: Column) -> list[str]:  # noqa: D102
        return [f"{column.name} #{place}" for place in range(column.bins)]

    def apply(self, column: Column, values: Any) -> list[Any]:  # noqa: D102
        if not pa.types.is_string(values.type):
            raise retyped(column, values, "text")
        return [*hashed_ngrams(values, column.bins)]

    def compared(self, column: Column, values: pa.ChunkedArray) -> None:
        """Nothing: hardly any two rows have the same text."""

    def to_graph(self, column: Column, graph: "Graph") -> "list[Tensor]":  # noqa: D102
        refuse_export(column, "a text")
