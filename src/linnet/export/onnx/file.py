"""`model.to_onnx(path)`: models as computations that other programs run."""

import os
from typing import Any

from linnet.errors import ConfigError
from linnet.export.onnx.columns import Inputs
from linnet.export.onnx.graph import Graph, Tensor
from linnet.files import check_path

Outputs = dict[str, Tensor]  # "label", "probabilities" and "scores" (z) of a classifier, "variable" of a regressor


def to_onnx(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model's answers as a function of raw columns to a file."""
    path, graph = check_path(path), Graph(type(model).__name__)
    answers = outputs_of(model, Inputs(graph))
    if "probabilities" in answers:
        answers.pop("scores", None)
    graph.write(path, answers)


def outputs_of(model: Any, inputs: Inputs) -> Outputs:
    """Add a model to a graph."""
    if not hasattr(model, "_to_graph"):
        name = type(model).__name__
        raise ConfigError(f"to_onnx is for linnet's own models, and {name} is none: its library may export it")
    answers: Outputs = model._to_graph(inputs)
    return answers
