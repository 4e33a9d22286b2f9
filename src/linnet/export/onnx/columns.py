"""From raw columns to the inputs of the first layer, as part of an ONNX graph.

A model of arrays has one input table "X"; a model of data frames has one input of one column for each column, by its
name: float64 for numbers (NaN if missing), text for levels (empty if missing; float64 if the levels are numbers).
"""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linnet.data.encoder import Encoder
from linnet.data.level import Level
from linnet.data.tabular_encoder import LARGEST_SCALED, Numbers, TabularEncoder
from linnet.errors import ConfigError
from linnet.export.onnx.graph import Graph, Tensor

NUMBERS, TEXT = "numbers, NaN where one is missing", "text, empty where it is missing"


class Inputs:
    """The columns that models request, each once or more: inputs of the graph, or columns computed by a table model."""

    def __init__(
        self, graph: Graph, made: Mapping[str, Tensor] | None = None, roles: Mapping[str, str] | None = None
    ) -> None:
        self.graph = graph
        self._made = made
        self._roles = roles  # the names of exposure and offset, if a table model has them
        self._given: dict[str, Tensor] = {}
        self.types_differ = False  # between models that share the table, which is then float64

    def table(self, width: int, type: str) -> Tensor:
        """Return all columns as one table."""
        if self._made is None:
            return self.graph.cast(self._once("X", "float64" if self.types_differ else type, width, ""), type)
        return self.graph.join([self.graph.cast(column, type) for column in self._made.values()])

    def column(self, name: str, type: str) -> Tensor:
        """Return one column of a data frame, rows x 1."""
        if self._made is not None:
            return self._made[name]
        return self._once(name, type, 1, TEXT if type == "str" else NUMBERS)

    def _once(self, name: str, type: str, width: int, what: str) -> Tensor:
        if name not in self._given:
            self._given[name] = self.graph.input(name, type, width, what)
        return self._given[name]

    def role(self, name: str, given: Collection[str], width: int | None = 1) -> Tensor | None:
        """Return the exposure or offset, if there is one; `given`: the roles that the model was fitted with."""
        roles = {each: self.graph.free_name(each) for each in given} if self._roles is None else self._roles
        return self.graph.input(roles[name], "float64", width, name) if name in roles else None

    def shift(self, given: Collection[str], outputs: int) -> Tensor | None:
        """Return what is added to z: the offset, and the logarithm of the exposure."""
        offset = self.role("offset", given, 1 if outputs == 1 else None)
        exposure = self.role("exposure", given)
        if exposure is None:
            return offset
        logarithm = self.graph.add("Log", exposure)
        return logarithm if offset is None else self.graph.add("Add", logarithm, offset)


class Features(NamedTuple):
    """Columns as the first layer takes them.

    `dense`: numbers, rows x columns. `codes`: rows x code columns, each the number of its level among the `levels` of
    all columns; `levels` itself where a row has none.
    """

    dense: Tensor | None
    codes: Tensor | None
    levels: int


def features(inputs: Inputs, encoder: Encoder | TabularEncoder, type: str) -> Features:
    """Encode raw columns for a model that computes in this type."""
    graph = inputs.graph
    new: list[NDArray[Any]]  # codes of each column
    if isinstance(encoder, Encoder):
        inner, new = encoder, [np.arange(len(level.values)) for level in encoder.levels]
    else:
        inner, new = encoder.encoder, [codes[:-1] for codes in encoder.codes]
    keys = {level.column: _keys(level) for level in inner.levels}
    codes, levels, dense = None, 0, None
    if inner.kind == "frame":
        raw = {name: inputs.column(name, _type(keys.get(name))) for name in inner.names or ()}
        codes, levels = _codes(graph, [(raw.pop(name), values) for name, values in keys.items()], new)
        if raw:
            dense = graph.join([graph.cast(column, "float64") for column in raw.values()])
    else:
        dense = inputs.table(inner.width, type if isinstance(encoder, Encoder) else "float64")
    if dense is not None and isinstance(encoder, Encoder) and inner.medians:
        dense = _filled(graph, dense, inner)
    elif dense is not None and isinstance(encoder, TabularEncoder) and encoder.numbers is not None:
        dense = _prepared(graph, dense, encoder.numbers)
    elif dense is not None and isinstance(encoder, TabularEncoder) and encoder.largest is not None:
        dense = graph.add("Div", dense, encoder.largest.astype(np.float64))
    return Features(None if dense is None else graph.cast(dense, type), codes, levels)


def _filled(graph: Graph, x: Tensor, encoder: Encoder) -> Tensor:
    """Return the columns with medians in place of missing values, and the indicators of missing values."""
    missing = graph.add("IsNaN", x, type="bool")
    filled = graph.add("Where", missing, np.array([*encoder.medians.values()]), x, type="float64")
    indices = {name: index for index, name in enumerate(encoder.medians)}
    marked = np.array([indices[name] for name in encoder.marked], np.int64)
    return graph.join([filled, _marks(graph, missing, marked)]) if len(marked) else filled


def _marks(graph: Graph, missing: Tensor, columns: NDArray[Any]) -> Tensor:
    return graph.cast(graph.add("Gather", missing, columns.astype(np.int64), axis=1), "float64")


def _prepared(graph: Graph, x: Tensor, numbers: Numbers) -> Tensor:
    """Return the columns as `Numbers.apply` does."""
    missing = graph.add("IsNaN", x, type="bool")
    filled = graph.add("Where", missing, numbers.centre, x, type="float64")
    u = graph.add("Mul", graph.add("Sub", filled, numbers.centre), numbers.scale)
    u = graph.add("Clip", u, -LARGEST_SCALED, LARGEST_SCALED)
    third = graph.add("Div", u, 3.0)
    length = graph.add("Sqrt", graph.add("Add", graph.add("Mul", third, third), 1.0))
    blocks = [graph.add("Div", u, length)]
    if len(numbers.gaps):
        blocks.append(_marks(graph, missing, numbers.gaps))
    binned = [(column, edges) for column, edges in enumerate(numbers.edges) if len(edges) > 2]
    if binned:
        columns = np.hstack([np.full(len(edges) - 1, column, np.int64) for column, edges in binned])
        lower, widths = np.hstack([e[:-1] for _, e in binned]), np.hstack([np.diff(e) for _, e in binned])
        above = graph.add("Sub", graph.add("Gather", filled, columns, axis=1), lower)
        blocks.append(graph.add("Clip", graph.add("Div", above, widths), 0.0, 1.0))
    return graph.join(blocks)


def _codes(graph: Graph, keys: list[tuple[Tensor, list[Any]]], new: list[NDArray[Any]]) -> tuple[Tensor | None, int]:
    """Return the codes of columns with these levels, and the number of codes; `new`: a column's codes, -1 for none."""
    counts = [int(codes.max(initial=-1)) + 1 for codes in new]
    total, start, columns = sum(counts), 0, []
    for (column, levels), codes, count in zip(keys, new, counts, strict=True):
        if count:
            shifted = [start + int(code) if code >= 0 else total for code in codes]
            columns.append(graph.lookup(column, dict(zip(levels, shifted, strict=True)), total))
        start += count
    return (graph.join(columns) if columns else None), total


def _type(keys: list[Any] | None) -> str:
    """Return the type of the input of a column with these levels, or of numbers."""
    return "float64" if keys is None or any(isinstance(key, float) for key in keys) else "str"


def _keys(level: Level) -> list[Any]:
    """Return levels as the graph gets them: text, or numbers; a missing value is empty text, or NaN."""
    known = [value for value in level.values if value is not None]
    if all(isinstance(value, str) for value in known):
        if None in level.values and "" in known:
            raise ConfigError(
                f"column {level.column!r} has empty text and missing values, which ONNX cannot distinguish: fill in "
                "one of them"
            )
        return ["" if value is None else value for value in level.values]
    if all(isinstance(value, int | float) and float(value) == value for value in known):
        return [np.nan if value is None else float(value) for value in level.values]
    raise ConfigError(
        f"column {level.column!r} has levels such as {known[0]!r}, which an ONNX file cannot hold: make them text"
    )
