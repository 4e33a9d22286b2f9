"""The graph's derivatives against central differences, formulas and laws."""

import doctest
import gc
import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as special
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from linnet.theory import graph
from linnet.theory.graph_rules import FUNCTIONS
from linnet.theory.graph_slopes import SLOPES

Function = Callable[..., Any]
WEIGHTS = np.cos(np.arange(1000.0))


def number(f: Function) -> Function:
    """f with its result's elements added up, each counted differently."""

    def weighed(*args: Any) -> Any:
        y = f(*args)
        return np.sum(y * WEIGHTS[: np.size(y)].reshape(np.shape(y)))

    return weighed


def differences(f: Function, *args: Any, step: float = 1e-5) -> list[Any]:
    """Central differences by every argument."""
    result = []
    for i, a in enumerate(args):
        slopes = np.empty(np.shape(a))
        for index in np.ndindex(np.shape(a)):
            move = np.zeros(np.shape(a))
            move[index] = step
            up, down = (f(*args[:i], a + sign * move, *args[i + 1 :]) for sign in (1, -1))
            slopes[index] = (up - down) / (2 * step)
        result.append(slopes)
    return result


def check(f: Function, *args: Any) -> None:
    """First derivatives against differences of f, second ones against differences of the first."""
    f = number(f)
    every = tuple(range(len(args)))
    value, gradients = graph.value_and_grad(f, every)(*args)
    assert value == pytest.approx(f(*args), rel=1e-14)
    for a, actual, expected in zip(args, gradients, differences(f, *args), strict=True):
        assert np.shape(actual) == np.shape(a)
        np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-8)
    along = [np.sin(1 + np.arange(np.size(a))).reshape(np.shape(a)) for a in args]

    def slope(*args: Any) -> Any:
        return sum(np.sum(g * d) for g, d in zip(graph.grad(f, every)(*args), along, strict=True))

    for actual, expected in zip(graph.grad(slope, every)(*args), differences(slope, *args), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-7)


def numbers(*shape: int, low: float = -2.0, high: float = 2.0) -> Any:
    return np.random.default_rng(len(shape)).uniform(low, high, shape)


# ---- every rule ----

INSIDE = {"arcsin", "arccos", "arctanh", "logit"}  # between 0 and 1
POSITIVE = {"sqrt", "cbrt", "log", "log2", "log10", "log1p", "power", "arccosh", "xlogy", "xlog1py"}


@pytest.mark.parametrize("name", SLOPES)
def test_every_function_of_numbers(name: str) -> None:
    f = getattr(np, name, None) or getattr(special, name)
    low, high = (0.1, 0.9) if name in INSIDE else (1.1, 2.5) if name in POSITIVE else (-2.0, 2.0)
    a, b = numbers(2, 3, low=low, high=high), numbers(3, low=low, high=high) + 0.01
    if name == "remainder":
        b = np.array([0.7, 1.1, 3.0])
    check(f, *(a, b)[: len(SLOPES[name])])
    if len(SLOPES[name]) == 2:
        check(f, b, a)
        check(f, b[0], b[1])


A, B, C = numbers(3, 4), numbers(4, 2), numbers(2, 3, 4)
WHOLE: dict[Any, list[tuple[Function, tuple[Any, ...]]]] = {
    np.sum: [
        (np.sum, (A,)),
        (lambda a: np.sum(a, 0), (A,)),
        (lambda a: a.sum(axis=(0, -1), keepdims=True), (C,)),
        (lambda a: a.sum(axis=1, where=C[1] > 0), (C,)),
    ],
    np.mean: [(np.mean, (A,)), (lambda a: a.mean(axis=-1), (C,)), (lambda a: np.mean(a, (0, 1), keepdims=True), (C,))],
    np.max: [(np.max, (A,)), (lambda a: a.max(axis=0), (C,)), (lambda a: np.max(a, (0, 2), keepdims=True), (C,))],
    np.min: [(np.min, (A,)), (lambda a: a.min(axis=1), (C,))],
    np.amax: [(np.amax, (A,))],
    np.amin: [(np.amin, (A,))],
    np.round: [(np.round, (A,)), (lambda a: np.round(a, 2) * a, (A[0],))],
    np.around: [(np.around, (A,))],
    np.prod: [(np.prod, (A,)), (lambda a: a.prod(axis=(0, 2)), (C,)), (lambda a: np.prod(a, 1, keepdims=True), (C,))],
    np.var: [(np.var, (A,)), (lambda a: a.var(axis=1, ddof=1), (C,))],
    np.std: [(np.std, (A,)), (lambda a: a.std(axis=0, keepdims=True), (C,))],
    np.average: [
        (np.average, (A,)),
        (lambda a, w: np.average(a, 1, weights=w), (A, np.abs(A) + 1)),
        (lambda a, w: np.average(a, 1, weights=w), (C, np.abs(A[:, 0]) + 1)),
        (lambda a, w: np.average(a, -1, weights=w), (C, np.abs(A[0]) + 1)),
    ],
    np.cumsum: [(np.cumsum, (A,)), (lambda a: a.cumsum(axis=1), (C,))],
    np.cumprod: [(np.cumprod, (A,)), (lambda a: a.cumprod(axis=1), (C,)), (np.cumprod, (A[0] * [1, 0, 1, 0],))],
    np.nan_to_num: [
        (np.nan_to_num, (A,)),
        (lambda a: np.nan_to_num(a * np.where(A > 0, 1, np.inf), True, 1.0, 2.0, 3.0) * a, (A,)),
    ],
    np.diff: [(np.diff, (A,)), (lambda a: np.diff(a, 2, axis=0), (numbers(5, 2),))],
    np.linalg.norm: [
        (np.linalg.norm, (A,)),
        (lambda a: np.linalg.norm(a, axis=1), (A,)),
        (lambda a: np.linalg.norm(a, 1, axis=0, keepdims=True), (A,)),
        (lambda a: np.linalg.norm(a, np.inf), (A[0],)),
    ],
    np.where: [(lambda a, b: np.where(A > 0, a, b), (A, A[0])), (lambda a: np.where(a > 0, a * a, 2.0), (A,))],
    np.clip: [(lambda a: np.clip(a, -1, 1), (A,)), (lambda a: a.clip(max=0.5), (A,)), (np.clip, (A, A[:1] - 1, 0.5))],
    np.dot: [
        *[(np.dot, pair) for pair in [(A, B), (A[0], B), (B.T, A[0]), (A[0], A[1]), (2.5, A), (A, C.swapaxes(1, 2))]],
    ],
    np.inner: [(np.inner, (A, A[0])), (np.inner, (A[0], 1.5))],
    np.outer: [(np.outer, (A[0], B))],
    np.tensordot: [
        (np.tensordot, (C, A)),
        (lambda a, b: np.tensordot(a, b, ([2, 1], [1, 0])), (C, A)),
        (lambda a, b: np.tensordot(a, b, axes=0), (A[0], B)),
    ],
    np.einsum: [
        (lambda a, b: np.einsum("ij,jk->ik", a, b), (A, B)),
        (lambda a, b: np.einsum("ij, jk", a, b), (A, B)),
        (lambda a, b: np.einsum("aij,ij->a", a, b), (C, A)),
        (lambda a: np.einsum("ij->j", a), (A,)),
        (lambda a, b, c: np.einsum("i,j,k->", a, b, c), (A[0], A[1, :2], A[2, :1])),
        (lambda a, b: np.einsum("ij,ij->ij", a, b), (A, A[:1])),
    ],
    np.reshape: [(lambda a: np.reshape(a, (2, 6)), (A,)), (lambda a: a.reshape(-1, 2), (A,))],
    np.ravel: [(np.ravel, (A,)), (lambda a: a.ravel(), (A,)), (lambda a: a.flatten(), (A,))],
    np.squeeze: [(np.squeeze, (A[:1],)), (lambda a: a.squeeze(axis=1), (A[:, :1],))],
    np.expand_dims: [(lambda a: np.expand_dims(a, (0, 2)), (A,))],
    np.atleast_1d: [(np.atleast_1d, (0.5,))],
    np.atleast_2d: [(np.atleast_2d, (A[0],))],
    np.transpose: [(np.transpose, (A,)), (lambda a: a.transpose(1, -1, 0), (C,)), (lambda a: a.T, (C,))],
    np.swapaxes: [(lambda a: a.swapaxes(0, 2), (C,))],
    np.moveaxis: [(lambda a: np.moveaxis(a, 0, -1), (C,))],
    np.broadcast_to: [(lambda a: np.broadcast_to(a, (2, 3, 4)), (A[:, :1],))],
    np.flip: [(np.flip, (A,)), (lambda a: np.flip(a, axis=1), (C,))],
    np.roll: [(lambda a: np.roll(a, 2, axis=1), (A,))],
    np.repeat: [(lambda a: np.repeat(a, [1, 0, 3], axis=0), (A,))],
    np.tile: [(lambda a: np.tile(a, (2, 3)), (A,))],
    np.take: [(lambda a: np.take(a, [[0, 2], [2, 2]], axis=1), (A,))],
    np.take_along_axis: [(lambda a: np.take_along_axis(a, np.array([[0, 3], [1, 1], [2, 0]]), 1), (A,))],
    np.diagonal: [(np.diagonal, (A,))],
    np.diag: [(np.diag, (A[0],)), (np.diag, (A[:, :3],))],
    np.tril: [(np.tril, (A,))],
    np.triu: [(lambda a: np.triu(a, 1), (A,))],
    np.trace: [(np.trace, (A,))],
    np.sort: [(np.sort, (A,)), (lambda a: np.sort(a, axis=0), (A,))],
    np.bincount: [(lambda w: np.bincount([3, 0, 3, 1], w, minlength=6), (A[0],))],
    np.split: [(lambda a: np.split(a, [1, 3], axis=1)[1], (A,))],
    np.array_split: [(lambda a: np.array_split(a, 3, axis=1)[0], (A,))],
    np.concatenate: [
        (lambda a, b: np.concatenate([a, b, a], axis=-1), (A, B[:3])),
        (lambda a, b: np.concatenate([a, b], axis=None), (A, B)),
    ],
    np.stack: [(lambda a, b: np.stack([a, A[2], b], axis=1), (A[0], A[1]))],
    np.vstack: [(lambda a, b: np.vstack([a, b]), (A, A[0]))],
    np.hstack: [(lambda a, b: np.hstack([a, b]), (A, A)), (lambda a, b: np.hstack([a, b]), (A[0], 1.5))],
    np.column_stack: [(lambda a, b: np.column_stack([a, b]), (A[:, 0], A))],
    np.copy: [(np.copy, (A,)), (lambda a: a.copy(), (A,))],
}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_every_function_of_arrays(function: Any) -> None:
    for f, args in WHOLE[function]:
        check(f, *args)


MATRICES = [
    ((3, 4), (4, 2)),
    ((4,), (4,)),
    ((4,), (4, 2)),
    ((3, 4), (4,)),
    ((2, 3, 4), (4, 2)),
    ((5, 1, 3, 4), (2, 4, 3)),
]


@pytest.mark.parametrize(("first", "second"), [*MATRICES, ((4,), (2, 4, 3)), ((2, 3, 4), (4,))], ids=str)
def test_products_of_matrices(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    check(lambda a, b: a @ b, numbers(*first), numbers(*second))


@pytest.mark.parametrize(
    "index",
    [0, -1, slice(1, None), (slice(None), 2), (..., None, 1), [0, 2, 2], (np.array([0, 1]), np.array([3, 3])), A > 0],
    ids=str,
)
def test_indexing(index: Any) -> None:
    check(lambda a: a[index] ** 2, A)


@pytest.mark.parametrize("axis", [-1, 0, (0, 2), None])
def test_softmax_and_logsumexp(axis: Any) -> None:
    check(lambda a: graph.softmax(a, axis), C)
    check(lambda a: graph.logsumexp(a, axis), C)
    check(lambda a: graph.logsumexp(a, axis, keepdims=True), C)
    np.testing.assert_allclose(graph.softmax(C, axis), special.softmax(C, axis), rtol=1e-14)
    np.testing.assert_allclose(graph.logsumexp(C, axis), special.logsumexp(C, axis), rtol=1e-14)


def test_softmax_and_logsumexp_of_large_numbers() -> None:
    z = np.array([1000.0, 0.0, -1000.0])
    assert graph.softmax(z).tolist() == graph.grad(graph.logsumexp)(z).tolist() == [1, 0, 0]
    assert graph.logsumexp([-np.inf, -np.inf]) == -np.inf
    assert graph.logsumexp([5e5, 5e5]) == 5e5 + math.log(2)
    check(lambda a: np.logaddexp.reduce(a) + np.add.reduce(a), A)


# ---- laws ----

SHAPES = hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=3, max_side=3)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(shapes=SHAPES, seed=st.integers(0, 2**32 - 1))
def test_broadcasting(shapes: hnp.BroadcastableShapes, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b, c = (rng.uniform(0.5, 2, shape) for shape in shapes.input_shapes)
    f = number(lambda a, b, c: a * b / c + np.maximum(a, c))
    actual = graph.grad(f, (0, 1, 2))(a, b, c)
    for g, expected in zip(actual, differences(f, a, b, c), strict=True):
        np.testing.assert_allclose(g, expected, rtol=1e-6, atol=1e-8)


STEPS: list[Function] = [np.tanh, np.sin, lambda a: a * a, lambda a: 1 / (2 + a * a), lambda a: a[::-1], np.cumsum]
STEPS += [graph.softmax, lambda a: a - a.mean(), lambda a: np.where(a > 0, a, 0.1 * a), lambda a: A[:, 0] * a + a[0]]


@settings(max_examples=40, deadline=None, derandomize=True)
@given(steps=st.lists(st.sampled_from(STEPS), min_size=1, max_size=6), seed=st.integers(0, 2**32 - 1))
def test_any_chain_of_steps(steps: list[Function], seed: int) -> None:
    def f(x: Any) -> Any:
        for step in steps:
            x = x + step(x)
        return x @ A[:, 1]

    x = np.random.default_rng(seed).uniform(-1, 1, 3)
    np.testing.assert_allclose(graph.grad(f)(x), differences(f, x)[0], rtol=1e-4, atol=1e-6)


def test_a_value_used_often_adds_up() -> None:
    assert graph.grad(lambda x: x + x + x)(1.0) == 3
    assert graph.grad(lambda x: sum(x**k for k in range(5)))(2.0) == 1 + 4 + 12 + 32


def test_high_derivatives() -> None:
    f: Function = np.sin
    for expected in (np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x), np.sin, np.cos):
        f = graph.grad(f)
        assert f(0.7) == pytest.approx(expected(0.7), rel=1e-14)
    third = graph.grad(graph.grad(graph.grad(lambda x: x**5)))
    assert third(2.0) == 240
    assert graph.grad(graph.grad(graph.grad(lambda x: np.log(np.cosh(x)))))(0.3) == pytest.approx(
        -2 * np.tanh(0.3) / np.cosh(0.3) ** 2, rel=1e-13
    )


def test_third_derivatives_of_softmax_are_the_third_moments() -> None:
    z = numbers(3)
    p = graph.softmax(z)
    spread = np.eye(3) - p  # rows: outcomes
    moments = np.einsum("o,oi,oj,ok->ijk", p, spread, spread, spread)
    np.testing.assert_allclose(graph.jacobian(graph.hessian(graph.logsumexp))(z), moments, atol=1e-15)


def test_derivatives_inside_of_derivatives_do_not_mix() -> None:
    assert graph.grad(lambda x: x * graph.grad(lambda y: x + y)(x))(3.0) == 1
    assert graph.grad(lambda x: x * graph.grad(lambda y: x * y)(2.0))(3.0) == 6
    assert graph.grad(lambda x: graph.grad(lambda y: y**2)(1.0) * x)(3.0) == 2
    assert graph.grad(lambda x: graph.grad(lambda y: graph.grad(lambda z: x * y * z)(x))(x))(5.0) == 1


def test_jacobian_and_hessian() -> None:
    np.testing.assert_allclose(graph.jacobian(lambda x: A @ x)(numbers(4)), A)
    assert graph.jacobian(lambda x: np.outer(x, x))(numbers(3)).shape == (3, 3, 3)
    first, second = graph.jacobian(lambda a, b: a * b, (0, 1))(A, B[:, 0])
    assert first.shape == (3, 4, 3, 4)
    assert second.shape == (3, 4, 4)
    assert graph.jacobian(lambda x: x[:0])(numbers(3)).shape == (0, 3)
    assert graph.jacobian(np.exp)(0.0) == 1
    symmetric = A @ A.T
    np.testing.assert_allclose(graph.hessian(lambda x: x @ symmetric @ x / 2)(numbers(3)), symmetric, atol=1e-14)


# ---- choices where there is no derivative, and edges ----


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.longdouble])
def test_types_are_kept(dtype: Any) -> None:
    x = numbers(3).astype(dtype)

    def f(x: Any) -> Any:
        return np.sum(np.where(x > 0, np.maximum(x, 0.5) ** 2, 1.5) * x.mean() / 3 + np.sort(x)) + graph.logsumexp(x)

    value, g = graph.value_and_grad(f)(x)
    assert value.dtype == g.dtype == graph.hessian(f)(x).dtype == dtype
    mixed = graph.grad(lambda x: np.sum(x * np.ones(3)))(x)
    assert mixed.dtype == dtype
    np.testing.assert_allclose(graph.grad(lambda x: np.sum(x.astype(np.float64) ** 2))(x), 2 * x)


def test_gradients_are_arrays_of_their_own() -> None:
    x = numbers(3)
    g = graph.grad(np.sum)(x)
    g += 1
    assert g.tolist() == [2, 2, 2]
    w = graph.grad(lambda x: np.dot(x, x))(x)
    assert not np.shares_memory(w, x)


def test_what_is_known_of_a_tensor() -> None:
    def f(x: Any) -> Any:
        assert (x.shape, x.ndim, x.size, x.dtype, len(x)) == ((2, 3), 2, 6, np.float64, 2)
        assert isinstance(x > 0, np.ndarray)
        assert repr(x[0]) == "Tensor([0., 1., 2.])"
        assert f"{x[0, 1]:.2f}" == "1.00"
        assert x.argmax() == 5
        assert x.argmin() == 0
        assert np.zeros_like(x).tolist() == [[0] * 3] * 2
        assert np.where(x > 4)[1].tolist() == [2]
        assert (x.astype(int) == [[0, 1, 2], [3, 4, 5]]).all()
        total = 0.0
        for row in x:
            total += np.float64(2) * row @ [1.0, 2, 3]
        return total if x[0, 0] == 0 else None

    assert graph.grad(f)(np.arange(6.0).reshape(2, 3)).tolist() == [[2, 4, 6]] * 2


def test_arguments_and_keywords() -> None:
    f = graph.value_and_grad(lambda a, b, *, c: a * b**c, (1, 0))
    assert f(3.0, 2.0, c=3) == (24, (36, 8))
    assert isinstance(graph.value_and_grad(lambda x: x)(2.0)[0], float)
    assert graph.grad(np.sum)([1.0, 2.0]).tolist() == [1, 1]


# ---- graphs of any size ----


def test_a_long_graph() -> None:
    def f(x: Any) -> Any:
        for _ in range(100_000):
            x = x + 1.0
        return x * x

    assert graph.grad(f)(0.0) == 200_000


def test_the_graph_is_gone_afterwards() -> None:
    def nodes() -> int:
        return sum(isinstance(thing, graph.Tensor) for thing in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        before = nodes()
        graph.hessian(lambda x: np.sum(np.tanh(x) @ A))(numbers(3))
        assert nodes() == before
    finally:
        gc.enable()


def test_threads_do_not_meet() -> None:
    results: dict[int, float] = {}

    def work(i: int) -> None:
        results[i] = graph.grad(graph.grad(lambda x: sum(x**3 * k for k in range(50))))(float(i))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {i: 6.0 * i * 1225 for i in range(4)}


def test_the_examples_of_the_page() -> None:
    done = doctest.testmod(graph, extraglobs={"np": np, "graph": graph})
    assert done.attempted > 5
    assert done.failed == 0
