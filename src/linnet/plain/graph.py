"""Reverse-mode differentiation: a graph of values and operations, walked backwards.

Each operation makes a node that keeps its inputs and the rule by which its gradient is passed on to each of them.
Backwards, from the last node to the first, every node adds up the gradients from all branches (the chain rule for
f(g_1(w), ..., g_d(w)) is a sum over branches), then passes the sum on:

    x, w = Node(x), Node(w)
    E = ((x @ w - t) ** 2).sum()
    E.backward()
    w.gradient                      dE/dw
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Node:
    """A value, the nodes it was made from, and the derivative of the last node by it."""

    __array_ufunc__ = None  # so that array + node calls the node's __radd__

    def __init__(self, value: Any, *inputs: "tuple[Node, Callable[[Array], Array]]") -> None:
        self.value = np.asarray(value, float)
        self.inputs = inputs  # each with the function from this node's gradient to its share of it
        self.gradient = np.zeros_like(self.value)

    def backward(self) -> None:
        """Fill in the gradients of all nodes that this one, a single number, was made from."""
        self.gradient = np.ones_like(self.value)
        for node in reversed(self.in_order()):
            for before, share in node.inputs:
                before.gradient = before.gradient + fitted(share(node.gradient), before.value.shape)

    def in_order(self) -> "list[Node]":
        """Return all nodes that this one depends on, and itself, inputs first."""
        order: list[Node] = []

        def visit(node: Node) -> None:
            if node not in order:
                for before, _ in node.inputs:
                    visit(before)
                order.append(node)

        visit(self)
        return order

    def __add__(self, other: Any) -> "Node":
        a, b = self, as_node(other)
        return Node(a.value + b.value, (a, lambda g: g), (b, lambda g: g))

    def __mul__(self, other: Any) -> "Node":
        a, b = self, as_node(other)
        return Node(a.value * b.value, (a, lambda g: g * b.value), (b, lambda g: g * a.value))

    def __matmul__(self, other: Any) -> "Node":
        a, b = self, as_node(other)
        return Node(a.value @ b.value, (a, lambda g: g @ b.value.T), (b, lambda g: a.value.T @ g))

    def __rmatmul__(self, other: Any) -> "Node":
        return as_node(other) @ self

    def __pow__(self, n: float) -> "Node":
        return Node(self.value**n, (self, lambda g: g * n * self.value ** (n - 1)))

    def __neg__(self) -> "Node":
        return self * -1

    def __sub__(self, other: Any) -> "Node":
        return self + -as_node(other)

    def __rsub__(self, other: Any) -> "Node":
        return as_node(other) + -self

    def __truediv__(self, other: Any) -> "Node":
        return self * as_node(other) ** -1

    def __rtruediv__(self, other: Any) -> "Node":
        return as_node(other) * self**-1

    __radd__, __rmul__ = __add__, __mul__

    def sum(self, axis: int | None = None) -> "Node":
        """Sum all elements, or along an axis, which stays with length 1."""
        return Node(
            self.value.sum(axis, keepdims=axis is not None),
            (self, lambda g: np.broadcast_to(g, self.value.shape)),
        )


def as_node(value: Any) -> Node:
    """Return a node as it is, and a number or an array as a node without inputs."""
    return value if isinstance(value, Node) else Node(value)


def fitted(g: Array, shape: tuple[int, ...]) -> Array:
    """Sum a gradient over the axes along which its value was repeated (a bias is added to every row)."""
    g = g.sum(axis=tuple(range(g.ndim - len(shape))))
    return g.sum(axis=tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True)


def exp(x: Node) -> Node:
    """e^x, its own slope."""
    y = np.exp(x.value)
    return Node(y, (x, lambda g: g * y))


def log(x: Node) -> Node:
    """Natural logarithm, with the slope 1/x."""
    return Node(np.log(x.value), (x, lambda g: g / x.value))


def tanh(x: Node) -> Node:
    """Hyperbolic tangent, with the slope 1 - tanh^2."""
    y = np.tanh(x.value)
    return Node(y, (x, lambda g: g * (1 - y**2)))


def relu(x: Node) -> Node:
    """max(0, x), with the slope 1 above 0."""
    return Node(np.maximum(0, x.value), (x, lambda g: g * (x.value > 0)))
