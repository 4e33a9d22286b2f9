"""Derivatives where there is a kink, a branch not taken, or an infinity on the way."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as special

from linnet.theory import graph

Function = Callable[..., Any]

EDGES: dict[str, tuple[Function, Any, Any]] = {
    "abs": (np.abs, 0.0, 0),
    "relu by maximum": (lambda x: np.maximum(x, 0), 0.0, 0.5),
    "relu by where": (lambda x: np.where(x > 0, x, 0), 0.0, 0),
    "maximum": (lambda x: np.maximum(x, x), 2.0, 1),
    "sign": (np.sign, 3.0, 0),
    "rint": (np.rint, 0.7, 0),
    "norm": (np.linalg.norm, np.zeros(2), [0, 0]),
    "max": (np.max, np.array([1.0, 2, 2]), [0, 0.5, 0.5]),
    "min": (np.min, np.array([1.0, 1, 1]), [1 / 3] * 3),
    "x**0": (lambda x: x**0, 0.0, 0),
    "x**1": (lambda x: x**1, 0.0, 1),
    "x**2": (lambda x: x**2, 0.0, 0),
    "0**x": (lambda x: 0.0**x, 1.0, 0),
    "prod": (np.prod, np.array([0.0, 2, 3]), [6, 0, 0]),
    "sqrt": (np.sqrt, 0.0, np.inf),
    "hypot": (lambda x: np.hypot(x, 0.0), 0.0, 0),
    "std": (np.std, np.full(3, 2.0), [0, 0, 0]),
    "xlogy of 0 and 0": (lambda b: special.xlogy(0.0, b), 0.0, 0),
    "xlog1py of 0 and -1": (lambda b: special.xlog1py(0.0, b), -1.0, 0),
    "x log x": (lambda x: special.xlogy(x, x), 0.0, -np.inf),
    "fmax": (lambda x: np.sum(np.fmax(x, [1.0, 2.0, np.nan])), np.array([np.nan, 2, 3]), [0, 0.5, 1]),
    "fmin": (lambda x: np.sum(np.fmin(x, [1.0, 2.0, np.nan])), np.array([np.nan, 2, 3]), [0, 0.5, 1]),
    "heaviside": (lambda h: np.sum(np.heaviside([-1.0, 0.0, 1.0], h)), 0.5, 1),
    "nan_to_num": (lambda x: np.sum(np.nan_to_num(x)), np.array([np.nan, np.inf, 1.0]), [0, 0, 1]),
    "constant": (lambda x: 1.0, 3.0, 0),
}


@pytest.mark.parametrize(("f", "x", "slope"), EDGES.values(), ids=EDGES)
def test_the_edges(f: Function, x: Any, slope: Any) -> None:
    np.testing.assert_array_equal(graph.grad(f)(x), slope)


def test_a_branch_not_taken_does_no_harm() -> None:
    x = np.array([0.0, 2.0])

    def f(x: Any) -> Any:
        with np.errstate(divide="ignore"):
            return np.sum(np.where(x > 0, np.log(x), x))

    assert graph.grad(f)(x).tolist() == [1, 0.5]
    assert graph.hessian(f)(x).tolist() == [[0, 0], [0, -0.25]]


UNKNOWN: dict[str, tuple[Function, Any]] = {
    "log of cosh": (lambda x: np.log(np.cosh(x)), 1000.0),
    "log of a product": (lambda x: np.log(np.exp(x) * np.exp(x)), 400.0),
    "log of a sum": (lambda x: np.log(np.sum(np.exp(x * np.ones(2)))), 1000.0),
    "norm": (lambda x: np.linalg.norm(x * np.ones(2)), 1e200),
    "hypot": (lambda x: np.hypot(x, x), 1.5e308),
    "root": (lambda x: np.sqrt(x * x), 1e200),
    "exp of log": (lambda x: np.exp(np.log(x)), 0.0),
    "harmonic mean": (lambda x: 1 / (1 / x + 1), 0.0),
    "square of root": (lambda x: np.sqrt(x) ** 2, 0.0),
    "product of roots": (lambda x: np.sqrt(x) * np.sqrt(x), 0.0),
}


@pytest.mark.parametrize(("f", "x"), UNKNOWN.values(), ids=UNKNOWN)
def test_what_is_lost_in_an_infinity_is_not_taken_for_0(f: Function, x: float) -> None:
    with np.errstate(all="ignore"):
        assert np.isnan(graph.grad(f)(x))
        assert np.isnan(graph.grad(lambda x: np.sum(f(x) * np.ones(2)))(x))
        assert np.isnan(graph.jacobian(lambda x: np.stack([x, f(x)]))(x)[1])


NOT_CHOSEN: dict[str, tuple[Function, Any, Any]] = {
    "where": (lambda x: np.sum(np.where(x < 700, np.log(np.cosh(x)), x)), np.array([0.0, 1000.0]), [0, 1]),
    "minimum": (lambda x: np.minimum(np.exp(x), 5.0), 1000.0, 0),
    "an element": (lambda x: np.log(x)[1], np.array([0.0, 2.0]), [0, 0.5]),
    "max": (lambda x: np.max(np.log(x)), np.array([0.0, 2.0]), [0, 0.5]),
    "a constant 0": (lambda x: np.sum(np.sqrt(x) * [0.0, 1.0]), np.array([0.0, 4.0]), [0, 0.25]),
    "before broadcasting": (lambda b: np.sum(np.where([False, True], np.log([0.0, 1.0]) * b + b, 0)), 2.0, 1),
    "abs": (lambda x: np.abs(np.sqrt(x)), 0.0, 0),
    "rounding": (lambda x: np.round(np.sqrt(x)), 0.0, 0),
    "a given infinity": (lambda x: np.sum(np.exp(x + np.array([0.0, -np.inf]))), 0.0, 1),
    "softmax": (lambda x: graph.softmax(x + np.array([0.0, 0.0, -np.inf]))[0], np.zeros(3), [0.25, -0.25, 0]),
    "sum": (lambda x: np.sum(np.log(x), where=x > 0), np.array([0.0, 2.0]), [0, 0.5]),
}


@pytest.mark.parametrize(("f", "x", "slope"), NOT_CHOSEN.values(), ids=NOT_CHOSEN)
def test_what_is_not_chosen_has_no_gradient(f: Function, x: Any, slope: Any) -> None:
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(graph.grad(f)(x), slope)
