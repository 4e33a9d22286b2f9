"""Networks, heads and decisions as part of an ONNX graph."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.errors import ConfigError
from linnet.export.onnx.columns import Features
from linnet.export.onnx.graph import Graph, Tensor
from linnet.heads import Head
from linnet.heads.activations import Activation
from linnet.model.network import Network, Theta

_OPS = {
    "sigmoid": "Sigmoid",
    "tanh": "Tanh",
    "relu": "Relu",
    "elu": "Elu",
    "selu": "Selu",
    "exponential": "Exp",
}


def linear(graph: Graph, x: Features, weights: NDArray[Any], biases: NDArray[Any]) -> Tensor:
    """Return x W + b. The levels of codes choose rows of W; an additional row of zeros is for rows without a level."""
    numbers, type = len(weights) - x.levels, str(weights.dtype)
    terms = []
    if x.dense is not None:
        terms.append(graph.add("MatMul", x.dense, weights[:numbers]))
    if x.codes is not None:
        padded = np.vstack([weights[numbers:], np.zeros_like(weights[:1])])
        chosen = graph.add("Gather", graph.constant(padded), x.codes, axis=0)
        terms.append(graph.add("ReduceSum", chosen, np.array([1]), keepdims=0))
    z = terms[0] if len(terms) == 1 else graph.add("Add", *terms)
    assert z.type == type
    return graph.add("Add", z, biases)


def activate(graph: Graph, activation: Activation, z: Tensor) -> Tensor:
    """Return h(z) as in linnet.heads.activations."""
    match activation.name:
        case "identity":
            return z
        case "leaky_relu":
            return graph.add("LeakyRelu", z, alpha=activation.slope)
        case "silu":
            return graph.add("Mul", z, graph.add("Sigmoid", z))
        case "gelu":  # onnxruntime has the error function in float32 only
            scaled = graph.cast(graph.add("Mul", z, 0.5**0.5), "float32")
            twice = graph.add("Add", graph.cast(graph.add("Erf", scaled), z.type), 1.0)
            return graph.add("Mul", graph.add("Mul", z, 0.5), twice)
        case "softplus":  # max(z, 0) + log(1 + e^-|z|): where there is no kernel of its own, ONNX' may be infinite
            small = graph.add("Exp", graph.add("Neg", graph.add("Abs", z)))
            return graph.add("Add", graph.add("Relu", z), graph.add("Log", graph.add("Add", small, 1.0)))
        case "softmax":
            return graph.add("Softmax", z, axis=1)
        case name:
            return graph.add(_OPS[name], z)


def network_output(graph: Graph, x: Features, network: Network, theta: Theta) -> Tensor:
    """Return the input of the head: the last layer's z, or a(z) under a head with an output activation a of its own."""
    activations = [layer.activation for layer in network.layers[:-1]]
    activations.append(Activation("identity") if network.head.fused else network.head.output)
    for block, activation in zip(network.blocks(theta), activations, strict=True):
        h = activate(graph, activation, linear(graph, x, block.weights, block.biases))
        x = Features(h, None, 0)
    return h


def ensemble_output(graph: Graph, x: Features, network: Network, members: Sequence[Theta]) -> Tensor:
    """Return the mean of the members' outputs, in float64."""
    outputs = [graph.cast(network_output(graph, x, network, theta), "float64") for theta in members]
    return graph.add("Div", graph.add("Sum", *outputs), float(len(outputs)))


def shifted(graph: Graph, z: Tensor, shift: Tensor | None) -> Tensor:
    """Add the offset, in float64, if there is one."""
    return z if shift is None else graph.add("Add", graph.cast(z, "float64"), shift)


def mean(graph: Graph, head: Head, z: Tensor) -> Tensor:
    """Return the mean of each row's distribution."""
    return activate(graph, head.output, z) if head.fused else z


def within(graph: Graph, x: Tensor, low: NDArray[np.float64], high: NDArray[np.float64]) -> Tensor:
    """Return every column clipped to its range; infinite limits are ignored."""
    if np.isfinite(low).any():
        x = graph.add("Max", x, low)
    return graph.add("Min", x, high) if np.isfinite(high).any() else x


def yes_and_no(graph: Graph, z: Tensor) -> Tensor:
    """Return the probabilities of both classes from one z."""
    return graph.join([graph.add("Sigmoid", graph.add("Neg", z)), graph.add("Sigmoid", z)])


def log_odds(graph: Graph, p: Tensor, low: float, high: float) -> Tensor:
    """Return log(p_1 / p_0) of the probabilities of two classes, clipped to limits."""
    logs = graph.add("Log", graph.cast(p, "float64"))
    z = graph.add("Sub", one_column(graph, logs, 1), one_column(graph, logs, 0))
    return graph.add("Min", graph.add("Max", z, low), high)


def one_column(graph: Graph, x: Tensor, index: int) -> Tensor:
    """Return a column, rows x 1."""
    return graph.add("Gather", x, np.array([index]), axis=1)


def if_yes(graph: Graph, flags: Tensor, yes: int = 1, no: int = 0) -> Tensor:
    """Return the number of a class per row, from booleans of shape rows x 1."""
    numbers = graph.add("Where", flags, np.array(yes), np.array(no), type="int64")
    return graph.add("Squeeze", numbers, np.array([1]))


def above(graph: Graph, x: Tensor, limit: float, *, reached: bool = True) -> Tensor:
    """Return whether x >= limit, or without `reached` x > limit, compared in float64."""
    op = "GreaterOrEqual" if reached else "Greater"
    return graph.add(op, graph.cast(x, "float64"), float(limit), type="bool")


def largest(graph: Graph, x: Tensor) -> Tensor:
    """Return the index of each row's largest column."""
    return graph.add("ArgMax", x, type="int64", axis=1, keepdims=0)


def furthest_above(graph: Graph, scores: Tensor, thresholds: NDArray[Any], negative: int | None) -> Tensor:
    """Return the result of `linnet.evaluate.thresholds.furthest_above`."""
    margin = graph.add("Sub", graph.cast(scores, "float64"), thresholds)
    if negative is None:
        return largest(graph, margin)
    margin = graph.add("Where", np.arange(len(thresholds)) == negative, np.array(-np.inf), margin, type="float64")
    best = graph.add("ReduceMax", margin, np.array([1]), keepdims=0)
    reached = graph.add("GreaterOrEqual", best, 0.0, type="bool")
    return graph.add("Where", reached, largest(graph, margin), np.array(negative), type="int64")


def least_cost(graph: Graph, probabilities: Tensor, costs: NDArray[Any]) -> Tensor:
    """Return the number of the class with the lowest expected cost."""
    expected = graph.add("MatMul", graph.cast(probabilities, "float64"), costs.astype(np.float64))
    return graph.add("ArgMin", expected, type="int64", axis=1, keepdims=0)


def labels(graph: Graph, numbers: Tensor, classes: NDArray[Any]) -> Tensor:
    """Return the labels of classes by their numbers, as text, integers, floats or booleans."""
    values = classes.tolist()
    kinds = {type(value) for value in values}
    if len(kinds) != 1 or not kinds <= {str, int, float, bool}:
        raise ConfigError(f"classes such as {values[0]!r} cannot be in an ONNX file: use text or integers")
    return graph.add("Gather", graph.constant(np.array(values, object if kinds == {str} else None)), numbers, axis=0)


def by_z(graph: Graph, z: Tensor, classes: NDArray[Any]) -> dict[str, Tensor]:
    """Return the most probable class, all probabilities and z: one z per row for two classes, else one per class."""
    if len(classes) == 2:
        predicted, p = if_yes(graph, above(graph, z, 0.0, reached=False)), yes_and_no(graph, z)
    else:
        predicted, p = largest(graph, z), activate(graph, Activation("softmax"), z)
    return {"label": labels(graph, predicted, classes), "probabilities": p, "scores": z}
