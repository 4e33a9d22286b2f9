"""True and false."""

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from linnet.tables.kinds.base import Column, ColumnKind, Kind, retyped
from linnet.tables.kinds.number import finite_input

if TYPE_CHECKING:
    from linnet.export.onnx.graph import Graph, Tensor
    from linnet.tables.kinds.raw import RawColumn


class Boolean(ColumnKind):
    """True or false."""

    kind = Kind.BOOLEAN
    learned = is_offered = may_be_pixel = True

    def recognise(self, raw: "RawColumn") -> Column | None:  # noqa: D102
        return raw.column(self.kind) if pa.types.is_boolean(raw.type) else None

    def apply(self, column: Column, values: Any) -> list[Any]:  # noqa: D102
        if pa.types.is_boolean(values.type):
            return [values]
        try:
            return [values.cast(pa.bool_())]
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise retyped(column, values, "true or false") from None

    def made_up_value(self, column: Column, level: Any) -> Any:  # noqa: D102
        return False

    def to_graph(self, column: Column, graph: "Graph") -> "list[Tensor]":  # noqa: D102
        return [finite_input(graph, column.name, "true (1) or false (0), NaN where it is missing")]
