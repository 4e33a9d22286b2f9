"""`model.to_onnx(path)`: models as computations that other programs run."""

import os
from typing import Any

from linnet.errors import ConfigError
from linnet.export.onnx.columns import Inputs
from linnet.export.onnx.graph import Graph, Tensor
from linnet.files import check_path

Outputs = dict[str, Tensor]  # "label", "probabilities" and "scores" (z) of a classifier, "variable" of a regressor


def to_onnx(model: Any, path: str | os.PathLike[str]) -> None:
    """Write the predictions of a fitted model, as a function of raw columns, to an ONNX file."""
    path, graph = check_path(path), Graph(type(model).__name__)
    outputs = outputs_of(model, Inputs(graph))
    if "probabilities" in outputs:
        outputs.pop("scores", None)
    graph.write(path, outputs)


def outputs_of(model: Any, inputs: Inputs) -> Outputs:
    """Add a model to a graph and return its outputs."""
    if not hasattr(model, "_to_graph"):
        name = type(model).__name__
        raise ConfigError(f"to_onnx exports linnet's own models only, not {name}: its own library may export it")
    outputs: Outputs = model._to_graph(inputs)
    return outputs
