"""Text whose values several rows share: levels, of which the rare ones are merged if there are many."""

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from linnet.tables.kinds.base import Column, ColumnKind, Kind, retyped

if TYPE_CHECKING:
    from linnet.export.onnx.graph import Graph, Tensor
    from linnet.tables.kinds.raw import RawColumn

OTHER = "(other)"  # the level into which all rare ones are merged
MAX_UNMERGED_LEVELS = 30  # a category with more has its rare levels merged
RARE = 5  # rows
MAX_LEVELS = 1000
_MAX_LEVEL_BYTES = 400  # bytes
_MAX_RARE_DIGESTS = 10_000  # levels whose digests are kept


class Category(ColumnKind):
    """Levels of text."""

    kind = Kind.CATEGORY
    learned = is_offered = True

    def recognise(self, raw: "RawColumn") -> Column | None:  # noqa: D102
        if not raw.is_text:
            return None
        counts = None if raw.target else raw.level_counts
        if counts is None:
            return raw.column(self.kind)
        rows, values = counts
        often = often_of(rows)
        if len(often) == len(rows):
            return raw.column(self.kind)
        levels = tuple(sorted(values.take(pa.array(often)).to_pylist()))
        together = f"{len(rows) - len(often)} rare levels are merged into one"
        note = together if levels else "all levels are rare: only missing values distinguish rows"
        others = values.filter(pa.array(~np.isin(np.arange(len(rows)), often)))
        rare = tuple(sorted(map(level_digest, others.to_pylist()))) if len(others) <= _MAX_RARE_DIGESTS else None
        return raw.column(self.kind, levels=levels, rare=rare, note=note)

    def apply(self, column: Column, values: Any) -> list[Any]:  # noqa: D102
        type_ = values.type
        if pa.types.is_floating(type_) or pa.types.is_temporal(type_) or pa.types.is_nested(type_):
            raise retyped(column, values, "the names of levels")
        values = short_levels(values.cast(pa.string()))
        if column.levels is None:
            return [values]
        rare = pc.and_(pc.is_valid(values), pc.invert(pc.is_in(values, pa.array(column.levels, pa.string()))))
        return [pc.if_else(rare, OTHER, values)]

    def to_graph(self, column: Column, graph: "Graph") -> "list[Tensor]":  # noqa: D102
        from linnet.export.onnx.columns import TEXT

        x = graph.input(column.name, "str", 1, TEXT)
        if column.levels is None:
            return [x]
        return [graph.lookup(x, {"": "", **{level: level for level in column.levels}}, OTHER)]


def often_of(rows: NDArray[Any]) -> NDArray[np.intp]:
    """The indices of the levels that are not rare, by the number of rows of each; of very many the most frequent."""
    often = np.flatnonzero(rows >= RARE)
    return often[np.lexsort((often, -rows[often]))][:MAX_LEVELS]


def never_seen(column: Column, values: pa.ChunkedArray) -> int:
    """How many rows have a level that is merged with the rare ones, but was in no row when the schema was learned."""
    text = short_levels(values.cast(pa.string())).drop_null()
    counts = pc.value_counts(text.filter(pc.invert(pc.is_in(text, pa.array(column.levels, pa.string())))))
    known = set(column.rare or ())
    rows = zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True)
    return sum(count for level, count in rows if level_digest(level) not in known)


def short_levels(values: Any) -> Any:
    """Levels as a model keeps them: of a very long one its beginning and a digest, by which it is recognised."""
    if (pc.max(pc.binary_length(values)).as_py() or 0) <= _MAX_LEVEL_BYTES:
        return values
    chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    short = []
    for encoded in (chunk.dictionary_encode() for chunk in chunks):
        long = pc.greater(pc.binary_length(encoded.dictionary), _MAX_LEVEL_BYTES).to_pylist()
        both = zip(encoded.dictionary, long, strict=True)
        levels = [_shortened(level) if is_long else level.as_py() for level, is_long in both]
        short.append(pa.array(levels, pa.string()).take(encoded.indices))
    return pa.chunked_array(short, pa.string()) if isinstance(values, pa.ChunkedArray) else short[0]


def _shortened(level: pa.StringScalar) -> str:
    """The beginning of a long level, and a digest of it."""
    text: str = level.as_py()
    return f"{text[: _MAX_LEVEL_BYTES // 8]}... ({len(text):,} characters, {level_digest(text)})"


def level_digest(level: str) -> str:
    """What a model keeps of a rare level, to recognise it: not its text, which may be private."""
    return hashlib.blake2b(level.encode(), digest_size=8).hexdigest()
