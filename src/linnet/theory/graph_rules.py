"""Derivatives of NumPy's functions of whole arrays, written in NumPy (see graph_slopes.py)."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from linnet.errors import GraphError
from linnet.theory.graph_slopes import Array, Operation, fit

Axis = int | tuple[int, ...] | None


def spread(g: Array, a: Array, axis: Axis, keepdims: bool) -> Array:
    """Repeat g along the axes of a that were summed over: the derivative of a sum."""
    if axis is not None and not keepdims:
        g = np.expand_dims(g, axis)
    return np.broadcast_to(g, np.shape(a))


# ---- functions of whole arrays; rules that return no Operation are composed of others ----

FUNCTIONS: dict[Any, Callable[..., Any]] = {}


def _rule(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(build: Callable[..., Any]) -> Callable[..., Any]:
        FUNCTIONS.update(dict.fromkeys(functions, build))
        return build

    return register


@_rule(np.sum)
def _sum(a: Array, axis: Axis = None, *, keepdims: bool = False, where: Array = True) -> Any:
    if where is not True:
        return np.sum(np.where(where, a, 0.0), axis=axis, keepdims=keepdims)

    def pull(k: int, g: Array, y: Array, a: Array) -> Array:
        return spread(g, a, axis, keepdims)

    return Operation("sum", (a,), lambda a: np.sum(a, axis=axis, keepdims=keepdims), pull)


@_rule(np.mean)
def _mean(a: Array, axis: Axis = None, *, keepdims: bool = False) -> Operation:
    def pull(k: int, g: Array, y: Array, a: Array) -> Array:
        return spread(g, a, axis, keepdims) * (np.size(y) / np.size(a))

    return Operation("mean", (a,), lambda a: np.mean(a, axis=axis, keepdims=keepdims), pull)


def _extreme(function: Any, other_name: Any) -> None:
    @_rule(function, other_name)
    def build(a: Array, axis: Axis = None, *, keepdims: bool = False) -> Operation:
        def pull(k: int, g: Array, y: Array, a: Array) -> Array:
            hit = a == spread(y, a, axis, keepdims)
            return spread(g, a, axis, keepdims) * (hit / np.sum(hit, axis=axis, keepdims=True))

        return Operation(function.__name__, (a,), lambda a: function(a, axis=axis, keepdims=keepdims), pull)


_extreme(np.max, np.amax)
_extreme(np.min, np.amin)


@_rule(np.prod)
def _prod(a: Array, axis: Axis = None, *, keepdims: bool = False) -> Array:
    """By multiplying halves repeatedly: correct even where factors are 0."""
    shape = np.shape(np.sum(a, axis=axis, keepdims=keepdims))
    axes = range(np.ndim(a)) if axis is None else np.atleast_1d(axis) % np.ndim(a)
    others = [i for i in range(np.ndim(a)) if i not in axes]
    a = np.reshape(np.transpose(a, (*others, *axes)), (*shape, -1) if not keepdims else (math.prod(shape), -1))
    while (n := np.shape(a)[-1]) > 1:
        pairs = a[..., : n // 2] * a[..., n // 2 : n // 2 * 2]
        a = pairs if n % 2 == 0 else np.concatenate([pairs, a[..., -1:]], axis=-1)
    return np.reshape(a, shape)


@_rule(np.var)
def _var(a: Array, axis: Axis = None, *, ddof: float = 0, keepdims: bool = False) -> Array:
    squares = np.square(a - np.mean(a, axis=axis, keepdims=True))
    total = np.sum(squares, axis=axis, keepdims=keepdims)
    return total / (np.size(a) / np.size(total) - ddof)


@_rule(np.std)
def _std(a: Array, axis: Axis = None, *, ddof: float = 0, keepdims: bool = False) -> Array:
    """The gradient is defined as 0 where all elements are equal."""
    v = np.var(a, axis=axis, ddof=ddof, keepdims=keepdims)
    zero = v == 0
    return np.sqrt(v + zero) - zero


@_rule(np.average)
def _average(a: Array, axis: Axis = None, weights: Array = None) -> Array:
    if weights is None:
        return np.mean(a, axis=axis)
    if isinstance(axis, int) and np.shape(weights) == (np.shape(a)[axis],):
        weights = np.moveaxis(np.broadcast_to(weights, np.shape(np.moveaxis(a, axis, -1))), -1, axis)
    if np.shape(weights) != np.shape(a):
        raise GraphError(f"np.average needs weights of the shape of the array, {np.shape(a)}, got {np.shape(weights)}")
    return np.sum(a * weights, axis=axis) / np.sum(weights, axis=axis)


@_rule(np.cumsum)
def _cumsum(a: Array, axis: int | None = None) -> Any:
    if axis is None:
        return np.cumsum(np.ravel(a), axis=0)

    def pull(k: int, g: Array, y: Array, a: Array) -> Array:
        return np.flip(np.cumsum(np.flip(g, axis), axis=axis), axis)

    return Operation("cumsum", (a,), lambda a: np.cumsum(a, axis=axis), pull)


@_rule(np.cumprod)
def _cumprod(a: Array, axis: int | None = None) -> Array:
    """By products of 2, 4, 8, ... neighbours: correct even where factors are 0."""
    a = np.ravel(a) if axis is None else np.moveaxis(a, axis, -1)
    step = 1
    while step < np.shape(a)[-1]:
        a = np.concatenate([a[..., :step], a[..., step:] * a[..., :-step]], axis=-1)
        step *= 2
    return a if axis is None else np.moveaxis(a, -1, axis)


@_rule(np.diff)
def _diff(a: Array, n: int = 1, axis: int = -1) -> Array:
    for _ in range(n):
        after, before = ([slice(None)] * np.ndim(a) for _ in range(2))
        after[axis], before[axis] = slice(1, None), slice(None, -1)
        a = a[tuple(after)] - a[tuple(before)]
    return a


@_rule(np.linalg.norm)
def _norm(x: Array, ord: float | None = None, axis: Axis = None, keepdims: bool = False) -> Any:
    """Norms of vectors, and the Frobenius norm; the gradient at 0 is defined as 0."""
    if isinstance(axis, tuple) or ord not in (None, 1, 2, math.inf) or (ord and axis is None and np.ndim(x) > 1):
        raise GraphError("np.linalg.norm: only vector norms of order 1, 2 or inf can be differentiated here")
    if ord in (1, math.inf):
        return (np.sum if ord == 1 else np.max)(np.abs(x), axis=axis, keepdims=keepdims)

    def pull(k: int, g: Array, y: Array, x: Array) -> Array:
        return spread(g / (y + (y == 0) + 0 * y), x, axis, keepdims) * x  # 0 * y: nan, not 0, where y is infinite

    return Operation("norm", (x,), lambda x: np.linalg.norm(x, axis=axis, keepdims=keepdims), pull)


@_rule(np.where)
def _where(condition: Array, x: Array = None, y: Array = None) -> Operation:
    def pull(k: int, g: Array, _: Array, condition: Array, *branches: Array) -> Array:
        chosen = np.where(condition, g, 0.0) if k == 1 else np.where(condition, 0.0, g)
        return fit(chosen, np.shape(branches[k - 1])) if k else np.zeros_like(condition)

    return Operation("where", (condition, x, y), np.where, pull)


@_rule(np.clip)
def _clip(a: Array, a_min: Array = None, a_max: Array = None, *, min: Array = None, max: Array = None) -> Array:
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    a = a if low is None else np.maximum(a, low)
    return a if high is None else np.minimum(a, high)


@_rule(np.round, np.around)
def _round(a: Array, decimals: int = 0) -> Operation:
    return Operation("round", (a,), lambda a: np.round(a, decimals), lambda k, g, y, a: 0.0 * g)


@_rule(np.nan_to_num)
def _nan_to_num(x: Array, copy: bool = True, nan: Array = 0.0, posinf: Array = None, neginf: Array = None) -> Operation:
    def forward(x: Array) -> Array:
        return np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)

    return Operation("nan_to_num", (x,), forward, lambda k, g, y, x: np.where(np.isfinite(x), g, 0.0))


# ---- products ----


def matmul(a: Array, b: Array) -> Operation:
    """Return the operation of the product of matrices, stacks of matrices or vectors."""

    def pull(k: int, g: Array, y: Array, a: Array, b: Array) -> Array:
        row, column = np.ndim(a) == 1, np.ndim(b) == 1
        left, right = (a[None, :] if row else a), (b[:, None] if column else b)
        g = g[..., None] if column else g
        g = g[..., None, :] if row else g
        if k == 0:
            d = g @ np.swapaxes(right, -1, -2)
            return fit(d[..., 0, :] if row else d, np.shape(a))
        d = np.swapaxes(left, -1, -2) @ g
        return fit(d[..., 0] if column else d, np.shape(b))

    return Operation("matmul", (a, b), np.matmul, pull)


@_rule(np.dot)
def _dot(a: Array, b: Array) -> Array:
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return np.multiply(a, b)
    return np.matmul(a, b) if np.ndim(b) < 3 else np.tensordot(a, b, (-1, -2))


@_rule(np.inner)
def _inner(a: Array, b: Array) -> Array:
    return np.multiply(a, b) if np.ndim(a) == 0 or np.ndim(b) == 0 else np.tensordot(a, b, (-1, -1))


@_rule(np.outer)
def _outer(a: Array, b: Array) -> Array:
    return np.ravel(a)[:, None] * np.ravel(b)[None, :]


@_rule(np.tensordot)
def _tensordot(a: Array, b: Array, axes: Any = 2) -> Array:
    n, m = np.ndim(a), np.ndim(b)
    first, second = (range(n - axes, n), range(axes)) if isinstance(axes, int) else axes
    ours, theirs = np.atleast_1d(first) % max(n, 1), np.atleast_1d(second) % max(m, 1)
    left, right = list(range(n)), list(range(n, n + m))
    for i, j in zip(ours.tolist(), theirs.tolist(), strict=True):
        right[j] = left[i]
    letters = "abcdefghijklmnopqrstuvwxyz"
    term = ["".join(letters[i] for i in term) for term in (left, right)]
    free = "".join(c for c in "".join(term) if "".join(term).count(c) == 1)
    return np.einsum(f"{term[0]},{term[1]}->{free}", a, b)


@_rule(np.einsum)
def _einsum(subscripts: str, *operands: Array) -> Operation:
    inputs, arrow, out = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if "." in subscripts or any(len(set(term)) < len(term) for term in terms):
        raise GraphError(
            f"np.einsum({subscripts!r}): '...' and repeated letters in one operand cannot be differentiated here"
        )
    if not arrow:
        out = "".join(sorted(c for c in set(inputs) - {","} if inputs.count(c) == 1))

    def pull(k: int, g: Array, y: Array, *arrays: Array) -> Array:
        others = [i for i in range(len(terms)) if i != k]
        summed = [c for c in terms[k] if c not in out + "".join(terms[i] for i in others)]
        ones = np.ones([np.shape(arrays[k])[terms[k].index(c)] for c in summed])
        spec = ",".join([out, *(terms[i] for i in others), "".join(summed)])
        d = np.einsum(f"{spec}->{terms[k]}", g, *(arrays[i] for i in others), ones)
        return fit(d, np.shape(arrays[k]))

    return Operation("einsum", operands, lambda *a: np.einsum(f"{inputs}->{out}", *a), pull)


# ---- selecting and rearranging elements ----


def _reshaping(function: Any) -> None:
    @_rule(function)
    def build(a: Array, *args: Any, **options: Any) -> Operation:
        if "order" in options or any(isinstance(option, str) for option in args):
            raise GraphError(f"np.{function.__name__}: order= is not supported here: omit it")
        name = function.__name__
        return Operation(
            name, (a,), lambda a: function(a, *args, **options), lambda k, g, y, a: np.reshape(g, np.shape(a))
        )


_RESHAPING: tuple[Any, ...] = (np.reshape, np.ravel, np.squeeze, np.expand_dims, np.atleast_1d, np.atleast_2d)
for _function in _RESHAPING:
    _reshaping(_function)


@_rule(np.transpose)
def _transpose(a: Array, axes: Any = None) -> Operation:
    back = None if axes is None else np.argsort(np.asarray(axes) % np.ndim(a))
    return Operation("transpose", (a,), lambda a: np.transpose(a, axes), lambda k, g, y, a: np.transpose(g, back))


@_rule(np.swapaxes)
def _swapaxes(a: Array, axis1: int, axis2: int) -> Operation:
    def forward(a: Array) -> Array:
        return np.swapaxes(a, axis1, axis2)

    return Operation("swapaxes", (a,), forward, lambda k, g, y, a: forward(g))


@_rule(np.broadcast_to)
def _broadcast_to(array: Array, shape: Any) -> Operation:
    return Operation(
        "broadcast_to", (array,), lambda a: np.broadcast_to(a, shape), lambda k, g, y, a: fit(g, np.shape(a))
    )


def moved(name: str, a: Array, forward: Callable[[Array], Array]) -> Operation:
    """Return the operation of any selection or rearrangement of elements: applied to indices, it shows their origin."""

    def pull(k: int, g: Array, y: Array, a: Array) -> Array:
        indices = np.arange(1, np.size(a) + 1).reshape(np.shape(a))
        source = np.ravel(forward(indices))  # 0 for zeros that were filled in
        total = np.bincount(source, np.ravel(g).astype(np.float64), minlength=np.size(a) + 1)
        return np.reshape(total[1:], np.shape(a))

    return Operation(name, (a,), forward, pull)


def _moving(function: Any) -> None:
    @_rule(function)
    def build(a: Array, *args: Any, **options: Any) -> Operation:
        return moved(function.__name__, a, lambda a: function(a, *args, **options))


_MOVING: tuple[Any, ...] = (np.flip, np.roll, np.repeat, np.tile, np.take, np.take_along_axis, np.moveaxis)
for _function in (*_MOVING, np.diagonal, np.diag, np.tril, np.triu):
    _moving(_function)


@_rule(np.bincount)
def _bincount(x: Array, weights: Array = None, minlength: int = 0) -> Operation:
    return Operation("bincount", (weights,), lambda w: np.bincount(x, w, minlength), lambda k, g, y, w: g[x])


def _splitting(function: Any) -> None:
    @_rule(function)
    def build(ary: Array, indices_or_sections: Any, axis: int = 0) -> list[Array]:
        sections = function(np.arange(np.shape(ary)[axis]), indices_or_sections)
        return [np.take(ary, indices, axis=axis) for indices in sections]


_splitting(np.split)
_splitting(np.array_split)


@_rule(np.sort)
def _sort(a: Array, axis: int = -1) -> Array:
    return np.take_along_axis(a, np.argsort(a, axis=axis), axis=axis)


@_rule(np.trace)
def _trace(a: Array) -> Array:
    return np.sum(np.diagonal(a), axis=-1)


@_rule(np.concatenate)
def _concatenate(arrays: Any, axis: int | None = 0) -> Any:
    if axis is None:
        return np.concatenate([np.ravel(a) for a in arrays])
    ends = np.cumsum([0, *(np.shape(a)[axis] for a in arrays)])

    def pull(k: int, g: Array, y: Array, *arrays: Array) -> Array:
        where = (slice(None),) * (axis % np.ndim(g)) + (slice(ends[k], ends[k + 1]),)
        return g[where]

    return Operation("concatenate", tuple(arrays), lambda *a: np.concatenate(a, axis=axis), pull)


@_rule(np.stack)
def _stack(arrays: Any, axis: int = 0) -> Operation:
    return Operation(
        "stack", tuple(arrays), lambda *a: np.stack(a, axis=axis), lambda k, g, y, *a: np.take(g, k, axis=axis)
    )


@_rule(np.vstack)
def _vstack(tup: Any) -> Array:
    return np.concatenate([np.atleast_2d(a) for a in tup])


@_rule(np.hstack)
def _hstack(tup: Any) -> Array:
    arrays = [np.atleast_1d(a) for a in tup]
    return np.concatenate(arrays, axis=0 if np.ndim(arrays[0]) == 1 else 1)


@_rule(np.column_stack)
def _column_stack(tup: Any) -> Array:
    return np.concatenate([a if np.ndim(a) == 2 else np.reshape(a, (-1, 1)) for a in tup], axis=1)


@_rule(np.copy)
def _copy(a: Array) -> Array:
    return np.positive(a)


# ---- functions whose result is a plain array, without a derivative ----

PLAIN_UFUNCS = frozenset(
    (
        *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "floor_divide"),
        *("logical_and", "logical_or", "logical_xor", "logical_not", "isfinite", "isinf", "isnan", "signbit"),
    )
)
PLAIN_FUNCTIONS = frozenset(
    (
        *(np.shape, np.ndim, np.size, np.argmax, np.argmin, np.argsort, np.any, np.all, np.count_nonzero, np.nonzero),
        *(np.zeros_like, np.ones_like, np.full_like, np.empty_like, np.isclose, np.allclose, np.array_equal),
        *(np.result_type, np.iscomplexobj, np.searchsorted, np.flatnonzero, np.digitize),
    )
)
