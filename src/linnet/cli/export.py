"""`linnet export`: a model as a computation that other programs run."""

from pathlib import Path
from typing import Annotated

import typer


def export(
    model: Annotated[Path, typer.Argument(help="The model file.")],
    out: Annotated[Path, typer.Argument(help="The ONNX file to write.")],
) -> None:
    """Write a model with all that it does to raw columns as an ONNX file, for onnxruntime and others.

    Examples: `linnet export price.linnet price.onnx`
    """
    import linnet

    linnet.load(model).to_onnx(out)
    print(f"{out} ({out.stat().st_size:,} bytes) takes and gives")
    _show(out)


def _show(path: Path) -> None:
    import onnx

    graph = onnx.load(path).graph
    for title, values in (("input", graph.input), ("output", graph.output)):
        for value in values:
            tensor = value.type.tensor_type
            kind = onnx.TensorProto.DataType.Name(tensor.elem_type).lower()
            shape = " x ".join(dim.dim_param or str(dim.dim_value) for dim in tensor.shape.dim)
            print(
                f"  {title:<6} {value.name}: {kind}, {shape}" + (f" ({value.doc_string})" if value.doc_string else "")
            )
