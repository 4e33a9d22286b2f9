"""Automatic differentiation."""

from typing import Any

from linnet.learn.assignment import Assignment, Mistake, Part
from linnet.learn.course.samples import Array, normal


def _graph(program: Any, formula: Any, *values: Any) -> list[Array]:
    """The value and the gradients of a formula made of nodes."""
    nodes = [program.Node(value) for value in values]
    end = formula(program, *nodes)
    end.backward()
    return [end.value, *(node.gradient for node in nodes)]


_G = normal(4, 3, seed=11), normal(3, 2, seed=12)

_GRAPH = Assignment(
    name="automatic-differentiation",
    title="A graph that differentiates itself",
    plain="graph",
    write={
        "Node.backward": (),
        "Node.__mul__": ("a, b",),
        "Node.__matmul__": ("a, b",),
        "exp": (),
        "tanh": (),
        "relu": (),
    },
    given=("Node", "fitted", "as_node", "exp", "log", "tanh", "relu"),
    task="""Every operation makes a node that knows its inputs and, for each of them, a function that turns the gradient
    arriving at the node into that input's share. backward sets the gradient of the last node to 1, goes through all
    nodes from the last to the first (reversed(self.in_order())), and adds each node's shares to the gradients of its
    inputs, fitted to their shapes. Adding matters: a value that is used twice gets a share from each use.""",
    run="""
        w = Node([1.0, 2.0])
        E = ((w * 3 - 1) ** 2).sum()
        E.backward()
        print("dE/dw =", w.gradient, "- by hand:", 6 * (3 * w.value - 1))
    """,
    parts=(
        Part("Node.backward", "a node by itself", lambda program: _graph(program, lambda p, a: a, 3.0)),
        Part("Node.backward", "a sum", lambda program: _graph(program, lambda p, a: (a + 2).sum(), normal(3))),
        Part(
            "Node.backward",
            "a value that is used twice",
            lambda program: _graph(program, lambda p, a: (a + a + 1).sum(), normal(3)),
        ),
        Part(
            "Node.backward",
            "a bias, which is added to every row",
            lambda program: _graph(program, lambda p, a, b: (a + b).sum(), _G[0], normal(3)),
        ),
        Part(
            "Node.__mul__",
            "a product",
            lambda program: _graph(program, lambda p, a, b: (a * b * a).sum(), normal(3), normal(3, seed=1)),
        ),
        Part(
            "Node.__matmul__",
            "a matrix product",
            lambda program: _graph(program, lambda p, a, b: ((a @ b) * (a @ b)).sum(), *_G),
        ),
        Part(
            "exp",
            "3 e^(a b)",
            lambda program: _graph(program, lambda p, a, b: (p.exp(a * b) * 3).sum(), normal(3), normal(3, seed=1)),
        ),
        Part(
            "tanh", "tanh of a layer", lambda program: _graph(program, lambda p, a, b: (p.tanh(a @ b) * 2).sum(), *_G)
        ),
        Part(
            "relu", "relu of a layer", lambda program: _graph(program, lambda p, a, b: (p.relu(a @ b) * 2).sum(), *_G)
        ),
    ),
    mistakes=(
        Mistake(
            {"before.gradient = before.gradient + fitted(": "before.gradient = fitted("},
            "a value that is used twice keeps only one share: add up what arrives from all its uses.",
        ),
        Mistake(
            {"for node in reversed(self.in_order()):": "for node in self.in_order():"},
            "nodes are visited from the first to the last: a node can pass on only what has arrived, so start at "
            "the last.",
        ),
        Mistake(
            {"        self.gradient = np.ones_like(self.value)\n": ""}, "the last node's gradient stays 0: dE/dE = 1."
        ),
        Mistake(
            {"fitted(share(node.gradient), before.value.shape)": "share(node.gradient)"},
            "the gradient of a bias has one row per row of data: use fitted, which sums over the rows to which the "
            "bias was added.",
        ),
        Mistake(
            {
                "(a, lambda g: g * b.value), (b, lambda g: g * a.value)": "(a, lambda g: g * a.value), (b, lambda g: "
                "g * b.value)"
            },
            "the factors are swapped: the derivative of a b with respect to a is b.",
        ),
        Mistake(
            {
                "(a, lambda g: g @ b.value.T), (b, lambda g: a.value.T @ g)": "(a, lambda g: g @ b.value), (b, "
                "lambda g: a.value @ g)"
            },
            "the transposes are missing: dE/da = g b', dE/db = a' g.",
        ),
        Mistake(
            {
                "    y = np.exp(x.value)\n    return Node(y, (x, lambda g: g * y))": "    y = np.exp(x.value)\n"
                "    return Node(y, (x, lambda "
                "g: y))"
            },
            "the gradient that arrives is left out: each share is g times the slope.",
        ),
        Mistake(
            {"(x, lambda g: g * (1 - y**2))": "(x, lambda g: g * (1 - np.tanh(y) ** 2))"},
            "tanh is applied twice: y is tanh(x) already.",
        ),
        Mistake({"(x, lambda g: g * (x.value > 0))": "(x, lambda g: g)"}, "the slope of relu is 0 where x is below 0."),
    ),
    hints=(
        "for node in reversed(self.in_order()): for before, share in node.inputs: before.gradient = before.gradient "
        "+ ...",
        "return Node(value, (a, share of a), (b, share of b)), where a share is a lambda of g; see __add__.",
    ),
    page="graph",
)

GRAPHS = (_GRAPH,)
