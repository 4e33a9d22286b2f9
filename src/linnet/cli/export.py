"""`linnet export`: a model as a computation that other programs run."""

from pathlib import Path
from typing import Annotated

import typer

from linnet.cli.terminal import on_one_line
from linnet.cli.writing import check_out, json_text


def export(
    model: Annotated[Path, typer.Argument(help="The model file.")],
    out: Annotated[Path, typer.Argument(help="The ONNX file to write.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print its inputs and outputs as JSON.")] = False,
) -> None:
    """Write a model with all that it does to raw columns as an ONNX file, for onnxruntime and others.

    Examples: `linnet export price.linnet price.onnx`
    """
    import linnet

    check_out(out, data=[str(model)])
    linnet.load(model).to_onnx(out)
    values = _values(out)
    if as_json:
        print(json_text({"file": str(out), "bytes": out.stat().st_size, "values": values}))
        return
    print(on_one_line(f"{out} ({out.stat().st_size:,} bytes) has the inputs and outputs"))
    for value in values:
        note = f" ({value['note']})" if value["note"] else ""
        print(on_one_line(f"  {value['side']:<6} {value['name']}: {value['type']}, {value['shape']}{note}"))


def _values(path: Path) -> list[dict[str, str]]:
    """Return the inputs and outputs of an ONNX file."""
    import onnx

    graph, found = onnx.load(path).graph, []
    for side, values in (("input", graph.input), ("output", graph.output)):
        for value in values:
            tensor = value.type.tensor_type
            found.append(
                {
                    "side": side,
                    "name": value.name,
                    "type": onnx.TensorProto.DataType.Name(tensor.elem_type).lower(),
                    "shape": " x ".join(dim.dim_param or str(dim.dim_value) for dim in tensor.shape.dim),
                    "note": value.doc_string,
                }
            )
    return found
