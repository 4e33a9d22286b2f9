"""Theory: maximum entropy and universal approximation."""

from typing import Any

import numpy as np

from linnet.learn.assignment import Assignment, Mistake, Part
from linnet.learn.course.samples import Array, rows_of

_DIE = np.arange(1.0, 7)[:, None]
_FLOWERS = rows_of("flowers", 0, 60)

_ENTROPY = Assignment(
    name="maximum-entropy",
    title="Softmax from maximum entropy",
    plain="maximum_entropy",
    write={"entropy": (), "classifier": ("return",)},
    given=("maximum_entropy",),
    task="""Of all distributions with given means of some features, take the one with the largest entropy -sum p log p
    (0 log 0 is 0). It is the softmax of lambda . f, with a multiplier lambda for each constraint. For a classifier the
    constraints are, for each class, that the predicted and the observed sums of x agree: sum_i p_ik x_i = sum_i [t_i =
    k] x_i. Find the multipliers by gradient descent: lambda <- lambda - eta (expected - observed) / N, from 0. This is
    batch gradient descent for softmax regression.""",
    run="""
        print("a fair die has entropy", entropy(np.full(6, 1 / 6)), "= log 6")
        p, lam = maximum_entropy(np.arange(1.0, 7)[:, None], np.array([4.5]))
        print("a die with mean 4.5:", p.round(3), "entropy", entropy(p))
        x, t = data.flowers()
        p, lam = classifier(x, t, 3)
        print(f"{(p.argmax(axis=1) == t).mean():.1%} of the flowers are classified correctly; largest violation of a "
            f"constraint:",
              np.abs(x.T @ p - x.T @ np.eye(3)[t]).max())
    """,
    imports=("from linnet.learn import data",),
    parts=(
        Part("entropy", "a fair coin", lambda program: program.entropy(np.array([0.5, 0.5]))),
        Part("entropy", "a distribution with a 0", lambda program: program.entropy(np.array([0.7, 0.0, 0.3]))),
        Part(
            "entropy",
            "a die with mean 4.5",
            lambda program: program.entropy(program.maximum_entropy(_DIE, np.array([4.5]))[0]),
        ),
        Part("classifier", "one step from 0", lambda program: program.classifier(*_FLOWERS, 3, steps=1)),
        Part("classifier", "100 steps", lambda program: program.classifier(*_FLOWERS, 3, steps=100)),
        Part(
            "classifier",
            "a different learning rate",
            lambda program: program.classifier(*_FLOWERS, 3, eta=0.1, steps=5),
        ),
    ),
    mistakes=(
        Mistake(
            {"-(p[p > 0] * np.log(p[p > 0])).sum()": "(p[p > 0] * np.log(p[p > 0])).sum()"},
            "the sign is wrong: entropy is -sum p log p, which is never below 0.",
        ),
        Mistake(
            {"-(p[p > 0] * np.log(p[p > 0])).sum()": "-(p * np.log(p)).sum()"},
            "0 log 0 counts as 0: take the sum over the p above 0.",
        ),
        Mistake(
            {"-(p[p > 0] * np.log(p[p > 0])).sum()": "-(p[p > 0] * np.log2(p[p > 0])).sum()"},
            "this is in bits: use the natural logarithm.",
        ),
        Mistake(
            {
                "lam = lam - eta * (x.T @ softmax(x @ lam) - observed) / len(x)": "lam = lam + eta * (x.T @ "
                "softmax(x @ lam) - observed) / "
                "len(x)"
            },
            "the step goes uphill: where more is expected than observed, lambda must fall.",
        ),
        Mistake(
            {
                "lam = lam - eta * (x.T @ softmax(x @ lam) - observed) / len(x)": "lam = lam - eta * (x.T @ "
                "softmax(x @ lam) - observed)"
            },
            "the step is not divided by N: it is too large by a factor of 60 on 60 rows.",
        ),
        Mistake(
            {
                "lam = lam - eta * (x.T @ softmax(x @ lam) - observed) / len(x)": "lam = lam - eta * x.T @ softmax(x "
                "@ lam) / len(x)"
            },
            "the observed sums are missing: expected - observed.",
        ),
    ),
    hints=(
        "p[p > 0] leaves out zeros.",
        "observed = x.T @ np.eye(K)[t], of shape (D, K), and expected = x.T @ softmax(x @ lam).",
    ),
    page="entropy",
)

_BREAKS = np.linspace(-3, 3, 13)
_AT = np.linspace(-3, 3, 50)[:, None]


def _bend(x: Array) -> Any:
    return np.sin(x) + x / 4


def _sigma(z: Array) -> Any:
    return 1 / (1 + np.exp(-np.clip(z, -500, 500)))


_APPROXIMATION = Assignment(
    name="universal-approximation",
    title="Universal approximation: networks that are built, not trained",
    plain="approximation",
    write={"relu_network": (), "step_network": ()},
    given=("relu", "network"),
    task="""A network with one hidden layer can approximate any continuous function of one number. With relu: k straight
    pieces between breakpoints u_0 < ... < u_k, and k units; a new unit starts at each u_j, for j < k, and its weight is
    the difference between the slopes of the pieces on its two sides. With a squashing function: compressed horizontally
    (times steepness) it becomes a step; a step at each inner breakpoint, of the height by which the level rises. The
    level of a piece is f in its middle. Return W (1 x units), b, v, c of y(x) = v . phi(x W + b) + c.""",
    run="""
        u = np.linspace(0, 2 * np.pi, 21)
        x = np.linspace(0, 2 * np.pi, 1000)[:, None]
        y = network(relu, relu_network(np.sin, u), x)
        print("largest error of 20 relu units:", np.abs(y - np.sin(x[:, 0])).max())
        y = network(lambda z: 1 / (1 + np.exp(-np.clip(z, -500, 500))), step_network(np.sin, u), x)
        print("largest error of 19 steps:", np.abs(y - np.sin(x[:, 0])).max())
    """,
    parts=(
        Part("relu_network", "W, b, v and c of 12 pieces", lambda program: program.relu_network(_bend, _BREAKS)),
        Part(
            "relu_network",
            "the network equals f at the breakpoints",
            lambda program: program.network(program.relu, program.relu_network(_bend, _BREAKS), _BREAKS[:, None]),
            expected=lambda plain: _bend(_BREAKS),
            by="f",
        ),
        Part("step_network", "W, b, v and c of 12 pieces", lambda program: program.step_network(_bend, _BREAKS)),
        Part("step_network", "a different steepness", lambda program: program.step_network(_bend, _BREAKS, 50.0)),
        Part(
            "step_network",
            "a squashing function from -1 to 1",
            lambda program: program.step_network(_bend, _BREAKS, low=-1.0, high=1.0),
        ),
        Part(
            "step_network",
            "y at 50 points",
            lambda program: program.network(_sigma, program.step_network(_bend, _BREAKS), _AT),
        ),
    ),
    mistakes=(
        Mistake(
            {"np.diff(slopes, prepend=0)": "slopes"},
            "each unit has the slope of its piece: the units before it keep rising, so its weight is the "
            "difference of slopes.",
        ),
        Mistake(
            {"return np.ones((1, len(slopes))), -u[:-1],": "return np.ones((1, len(slopes))), u[:-1],"},
            "the sign of b is wrong: relu(x - u_j) starts at u_j.",
        ),
        Mistake({"float(f(u[:1])[0])": "0.0"}, "c is 0: the network starts at f(u_0)."),
        Mistake(
            {"np.diff(f(u)) / np.diff(u)": "np.diff(f(u))"},
            "these are differences of f: a slope is divided by the length of the piece.",
        ),
        Mistake(
            {"-steepness * u[1:-1]": "-u[1:-1]"},
            "b is not compressed: phi(steepness (x - u_j)) has b = -steepness u_j.",
        ),
        Mistake(
            {"levels = f((u[:-1] + u[1:]) / 2)": "levels = f(u[:-1])"},
            "levels are taken at the left ends: f in the middle of a piece is nearer to the rest of it.",
        ),
        Mistake(
            {"rise = np.diff(levels) / (high - low)": "rise = np.diff(levels)"},
            "a step from low to high rises by high - low: divide by it.",
        ),
        Mistake(
            {"float(levels[0] - low * rise.sum())": "float(levels[0])"},
            "left of all steps the units are at low, not 0: c = levels[0] - low times the sum of the weights.",
        ),
    ),
    hints=(
        "slopes = np.diff(f(u)) / np.diff(u); np.diff(slopes, prepend=0) is by how much each exceeds the one before.",
        "phi(steepness (x - u_j)) = phi(steepness x - steepness u_j): W = steepness, b = -steepness u_j, at the "
        "inner breakpoints u[1:-1].",
    ),
    page="approximation",
)

THEORY = (_ENTROPY, _APPROXIMATION)
