"""What a schema makes of raw columns, as parts of an ONNX graph."""

from linnet.export.onnx.graph import Graph, Tensor
from linnet.tables.schema import Schema


def table_columns(graph: Graph, schema: Schema) -> dict[str, Tensor]:
    """What a table model's schema makes of raw columns: numbers without infinities, rare levels as one."""
    made: dict[str, Tensor] = {}
    for column in schema.used:
        made.update(zip(column.made_of(), column.how.to_graph(column, graph), strict=True))
    return made
