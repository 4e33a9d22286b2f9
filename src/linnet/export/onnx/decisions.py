"""Decisions of `linnet.multiclass` from the predictions of binary problems, as part of an ONNX graph."""

import numpy as np
from numpy.typing import NDArray

from linnet.export.onnx.graph import Graph, Tensor

_ROUNDS = 8  # of Newton's method, more than are ever needed


def log_yes(graph: Graph, z: Tensor) -> Tensor:
    """Return log(1 / (1 + e^-z)) = min(z, 0) - log(1 + e^-|z|)."""
    small = graph.add("Exp", graph.add("Neg", graph.add("Abs", z)))
    return graph.add("Sub", graph.add("Min", z, 0.0), graph.add("Log", graph.add("Add", small, 1.0)))


def with_winner(graph: Graph, p: Tensor, winner: Tensor, classes: int) -> Tensor:
    """Return the result of `linnet.multiclass.decisions.with_winner`, up to the tolerance of its search."""
    column = graph.add("Unsqueeze", winner, np.array([1]))
    won = graph.add("Equal", column, np.arange(classes, dtype=np.int64), type="bool")
    none = np.array(0.0)
    own = graph.add("ReduceSum", graph.add("Where", won, p, none, type=p.type), np.array([1]), keepdims=1)
    others = graph.add("Where", won, none, p, type=p.type)
    most = own
    for _ in range(_ROUNDS):
        over = graph.add("Greater", others, most, type="bool")
        more = graph.add("Where", over, others, none, type=p.type)
        exceeding = graph.add("ReduceSum", more, np.array([1]), keepdims=1)
        count = graph.add("ReduceSum", graph.cast(over, p.type), np.array([1]), keepdims=1)
        most = graph.add("Div", graph.add("Add", own, exceeding), graph.add("Add", count, 1.0))
    return graph.add("Where", won, most, graph.add("Min", p, most), type=p.type)


def coupled(
    graph: Graph, z: Tensor, first: NDArray[np.intp], second: NDArray[np.intp], classes: int, least: float
) -> Tensor:
    """Return the result of `linnet.multiclass.one_vs_one.couple`, from the log-odds of the second class of each pair.

    The equations are solved by Gauss-Jordan elimination, unrolled: the matrix is positive definite, so the order of the
    columns does not matter.
    """
    index = np.full((classes, classes), len(first))  # of the pair's z in its row; the last entry is a zero
    index[second, first] = np.arange(len(first))

    z = graph.join([z, graph.add("Mul", graph.add("Gather", z, np.array([0]), axis=1), 0.0)])
    below = graph.add("Gather", z, index, axis=1)  # rows x classes x classes
    both = graph.add("Sub", below, graph.add("Transpose", below, perm=[0, 2, 1]))
    off = 1.0 - np.eye(classes)
    r = graph.add("Min", graph.add("Max", graph.add("Sigmoid", both), least), 1 - least)
    r = graph.add("Mul", r, off)
    transposed = graph.add("Transpose", r, perm=[0, 2, 1])
    squares = graph.add("ReduceSum", graph.add("Mul", transposed, transposed), np.array([2]), keepdims=1)
    q = graph.add("Add", graph.add("Mul", squares, np.eye(classes)), 1.0)
    q = graph.add("Sub", q, graph.add("Mul", transposed, r))
    ones = graph.add("Add", graph.add("Mul", graph.add("Gather", q, np.array([0]), axis=2), 0.0), 1.0)
    a = graph.add("Concat", q, ones, axis=2)
    for k in range(classes):
        row = graph.add("Gather", a, np.array([k]), axis=1)
        row = graph.add("Div", row, graph.add("Gather", row, np.array([k]), axis=2))
        column = graph.add("Gather", a, np.array([k]), axis=2)
        unit = (np.arange(classes) == k)[:, None] * 1.0
        factor = graph.add("Sub", column, unit)  # row k becomes the divided one: a - (a_kk - 1) row
        a = graph.add("Sub", a, graph.add("Mul", factor, row))
    p = graph.add("Squeeze", graph.add("Gather", a, np.array([classes]), axis=2), np.array([2]))
    p = graph.add("Max", p, 0.0)
    return graph.add("Div", p, graph.add("ReduceSum", p, np.array([1]), keepdims=1))
