"""Errors for what cannot be differentiated, which name what to write instead."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy

from linnet.errors import ConfigError, GraphError
from linnet.theory import graph

Function = Callable[..., Any]


def set_element(x: Any) -> Any:
    x[0] = 1


def write_into_array(x: Any) -> Any:
    np.zeros(3)[0] = x[0]


def add_in_place(x: Any) -> Any:
    x += 1
    return x.sum()


def add_to_array(x: Any) -> Any:
    total = np.zeros(3)
    total += x
    return total.sum()


def return_text(x: Any) -> Any:
    return "a lot"


def fail(x: Any) -> Any:
    return dict[str, float]()["nothing"] * x


IMPOSSIBLE: list[tuple[Function, str]] = [
    (lambda x: x * 2, r"shape \(3,\).*\.sum\(\).*graph\.jacobian"),
    (lambda x: None, "must return a number or an array to be differentiated, got None"),
    (lambda x: [x.sum(), 1.0], "must return a number or an array"),
    (set_element, "np.where"),
    (write_into_array, r"np\.stack"),
    (add_in_place, r"write a = a \+ b"),
    (add_to_array, r"write a = a \+ b"),
    (lambda x: np.add(x, 1, out=np.zeros(3)), "out"),
    (lambda x: float(x[0]), r"np\.exp\(x\) instead of math\.exp"),
    (lambda x: math.exp(x[0]), r"np\.exp\(x\) instead of math\.exp"),
    (lambda x: x[0].item(), r"omit float\(\)"),
    (lambda x: np.array([x[0], x[1]]), r"np\.stack\(\[a, b\]\) instead of np\.array"),
    (lambda x: np.asarray(x).sum(), r"omit float\(\) and np\.asarray"),
    (scipy.special.logsumexp, r"graph\.softmax and graph\.logsumexp instead of SciPy's"),
    (lambda x: 1.0 if x else 0.0, r"shape \(3,\) has no single truth value: use np\.where"),
    (np.fft.fft, r"np\.fft\.fft cannot be differentiated"),
    (np.median, r"np\.median cannot be differentiated"),
    (lambda x: np.nextafter(x, 1), r"np\.nextafter cannot be differentiated"),
    (lambda x: np.multiply.outer(x, x), r"np\.multiply\.outer cannot be differentiated"),
    (lambda x: np.exp(x, where=x > 0), r"np\.exp with where= cannot be differentiated"),
    (lambda x: np.sum(x, initial=3.0), r"np\.sum.*'initial'"),
    (lambda x: np.ravel(x, order="F"), "order="),
    (lambda x: np.einsum("ii->i", np.outer(x, x)), "repeated letters"),
    (lambda x: np.linalg.norm(x, 3), "order 1, 2 or inf"),
    (lambda x: np.average(np.outer(x, x), 0, weights=x[:2]), "weights of the shape"),
    (lambda x: np.average(np.outer(x, x), weights=x), "weights of the shape"),
    (return_text, "return_text must return a number or an array to be differentiated, got 'a lot'"),
    (lambda x: np.array(["a", "b"]), "<lambda> must return real numbers to be differentiated, got array"),
    (fail, "fail failed: KeyError: 'nothing'"),
    (lambda x: x.nothing, "<lambda> failed: AttributeError: 'Tensor' object has no attribute 'nothing'"),
    (lambda: 1.0, "<lambda> failed: TypeError: .* takes 0 positional arguments"),
    (lambda x: x.sum() * 1j, "complex"),
    (lambda x: len(x.sum()), "no length"),
]


@pytest.mark.parametrize(("f", "message"), IMPOSSIBLE, ids=map(str, range(len(IMPOSSIBLE))))
def test_what_cannot_be_differentiated(f: Function, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        graph.grad(f)(np.ones(3))


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (3, r"argument 0 holds integers \(int64\).*3\.0 for 3"),
        (np.arange(3), "holds integers"),
        (True, "holds integers"),
        ("one", "argument 0 must be an array of floating-point numbers, got str"),
        ([np.ones(2), np.ones(3)], r"each array as an argument of its own"),
        (1j, "must be an array of floating-point numbers"),
    ],
)
def test_arguments_that_have_no_derivative(x: Any, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        graph.grad(np.sum)(x)


@pytest.mark.parametrize("argnum", [1, -1, (0, 2), (0, 0), (), "x"], ids=str)
def test_an_argument_that_is_not_there(argnum: Any) -> None:
    with pytest.raises(ConfigError, match="positions of one or more of the 1 arguments"):
        graph.grad(np.sum, argnum)(1.0)


def test_a_tensor_kept_for_later() -> None:
    kept: list[Any] = []

    def keep(x: Any) -> Any:
        kept.append(x)
        return x * x

    graph.grad(keep)(1.0)
    with pytest.raises(GraphError, match="kept from a function"):
        kept[0] + 1
    with pytest.raises(GraphError, match="kept from a function"):
        graph.grad(lambda x: graph.grad(keep)(x) * kept[-1])(1.0)
    with pytest.raises(GraphError, match="inside this one"):
        graph.grad(lambda x: (graph.grad(keep)(x), kept[-1])[1])(1.0)
