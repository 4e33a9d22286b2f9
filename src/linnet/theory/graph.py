"""Derivatives of functions written in plain NumPy: a small engine of reverse-mode automatic differentiation.

    >>> import numpy as np
    >>> from linnet.theory import graph
    >>> def loss(y, t):
    ...     return np.sum(np.log(np.cosh(y - t)))
    >>> graph.grad(loss)(np.array([0.0, 1.0]), 1.0)
    array([-0.76159416,  0.        ])

Forwards, the function is run on tensors. A tensor passes for an array in NumPy's functions; each step makes a new one
that remembers what it was made from. The result is the last node of a graph. Backwards, the same graph is walked from
the last node to the first with every node replaced by its derivative: a node's gradient, the derivative of the result
by the node's value, goes to each of its inputs multiplied by the node's own slope, and where a value was used several
times its gradients add up (the chain rule for f(g_1(w), ..., g_d(w)) is a sum over branches). One walk gives the
derivatives by all arguments, at the cost of a few evaluations.

The slopes are NumPy code too (graph_slopes.py, graph_rules.py), so a gradient can be differentiated again:
`graph.grad(graph.grad(f))`, to any order.

Known: arithmetic, @, indexing and comparisons (which give ordinary arrays of truth values); abs, fabs, maximum,
minimum, fmax, fmin, clip, where, nan_to_num, heaviside, sign, floor, ceil, trunc, rint, round, remainder; square, sqrt,
cbrt, power, reciprocal, exp, exp2, expm1, log, log2, log10, log1p, logaddexp, logaddexp2; sin, cos, tan, sinh, cosh,
tanh, their inverses, arctan2, hypot; sum, mean, average, var, std, max, min, prod, cumsum, cumprod, diff, sort, trace,
linalg.norm; matmul, dot, inner, outer, tensordot, einsum; reshape, ravel, squeeze, expand_dims, transpose, swapaxes,
moveaxis, broadcast_to, flip, roll, repeat, tile, take, take_along_axis, diag, diagonal, tril, triu, split, array_split,
concatenate, stack, vstack, hstack, column_stack, bincount; expit, logit, log_expit, erf, erfc, ndtr, log_ndtr, xlogy,
xlog1py of scipy.special; and here `softmax` and `logsumexp`.

Where there is no derivative one is chosen: abs has the slope 0 at 0; of the equal arguments of maximum, minimum, max
and min each gets the same share, so that np.maximum(x, 0) has the slope 1/2 at 0, and np.where(x > 0, x, 0), like the
network's relu, the slope 0; linalg.norm and hypot have the gradient 0 at 0, and std where all are equal; xlogy(0, b)
has the slope 0 in b, also at 0; sign, heaviside and rounding have the slope 0 everywhere.

What was not chosen gets no gradient: the log in np.where(x > 0, np.log(x), 0) does no harm at 0, nor one multiplied by
a constant 0. But where a number has become too large on the way the derivative is nan: np.log(np.cosh(x)) has the
slope 1 at x = 1000, of which nothing is left once cosh has given infinity.

Computed in the type of the arguments: float64, or float32 if all are.
"""

import contextlib
import inspect
import itertools
from collections.abc import Callable, Iterator
from os import PathLike
from typing import Any

import numpy as np

from linnet.errors import ConfigError, GraphError, LinnetError
from linnet.theory.graph_draw import Box, Svg, picture, save
from linnet.theory.graph_slopes import Array
from linnet.theory.graph_tensor import OPEN, Tensor, below, logsumexp, plain, softmax

__all__ = ["Tensor", "draw", "grad", "hessian", "jacobian", "logsumexp", "softmax", "value_and_grad"]

Function = Callable[..., Any]

_levels = itertools.count(1)


def grad(f: Function, argnum: int | tuple[int, ...] = 0) -> Function:
    """Return the function that gives the gradient of f, whose result is one number.

    `argnum` says by which of the positional arguments; for several of them the result is a tuple of gradients. A
    gradient has the shape and type of its argument.

    >>> graph.grad(graph.grad(lambda x: x**3))(2.0)
    np.float64(12.0)
    """
    both = value_and_grad(f, argnum)
    return lambda *args, **options: both(*args, **options)[1]


def value_and_grad(f: Function, argnum: int | tuple[int, ...] = 0) -> Function:
    """Return the function that gives the value of f and its gradient, as `grad` does."""

    def evaluate(*args: Any, **options: Any) -> tuple[Any, Any]:
        with _level() as level:
            leaves, result = _run(f, argnum, args, options, level)
            if np.shape(result):
                raise GraphError(
                    f"a gradient needs a function whose result is one number; this one's has shape {np.shape(result)}: "
                    "add it up with .sum(), or take graph.jacobian for the derivatives of every element"
                )
            gradients = _gradients(result, np.ones_like(below(result, level)), leaves)
            return below(result, level), gradients[0] if isinstance(argnum, int) else gradients

    return evaluate


def jacobian(f: Function, argnum: int | tuple[int, ...] = 0) -> Function:
    """Return the function that gives dy_i/dx_j for every element of y = f(x), with the shape of y and then of x.

    >>> graph.jacobian(graph.softmax)(np.zeros(2))
    array([[ 0.25, -0.25],
           [-0.25,  0.25]])
    """

    def evaluate(*args: Any, **options: Any) -> Any:
        with _level() as level:
            leaves, result = _run(f, argnum, args, options, level)
            shape, size = np.shape(result), np.size(result)
            seeds = np.eye(size, dtype=np.result_type(plain(result))).reshape(size, *shape)
            rows = [_gradients(result, seed, leaves) for seed in seeds]
            blocks = tuple(
                np.reshape(np.stack(block), shape + leaf.shape) if block else np.zeros(shape + leaf.shape, leaf.dtype)
                for leaf, block in zip(leaves, zip(*rows, strict=True) if rows else [()] * len(leaves), strict=True)
            )
            return blocks[0] if isinstance(argnum, int) else blocks

    return evaluate


def hessian(f: Function, argnum: int = 0) -> Function:
    """Return the function that gives the second derivatives of f, whose result is one number, by one argument.

    >>> graph.hessian(np.prod)(np.array([2.0, 3.0]))
    array([[0., 1.],
           [1., 0.]])
    """
    return jacobian(grad(f, argnum), argnum)


def draw(f: Function, *args: Any, path: str | PathLike[str] | None = None) -> Svg:
    """Draw the graph of f at these arguments: values, gradients of the result, and what was made from what.

    The result of f is one number; derivatives are taken by every argument of floating-point numbers. Returns the text
    of an SVG picture, which a notebook shows, and writes it to `path`.
    """
    given = tuple(i for i, a in enumerate(args) if np.asarray(plain(a)).dtype.kind == "f")
    if not given:
        raise GraphError("a picture shows derivatives by arguments of floating-point numbers, of which there is none")
    with _level() as level:
        leaves, result = _run(f, given, args, {}, level)
        if not isinstance(result, Tensor) or result.level != level or result.shape:
            raise GraphError(
                "only a function that makes one number of its arguments can be drawn: add it up with .sum()"
            )
        with np.errstate(all="ignore"):
            found = dict(_walk(result, np.ones_like(result.value), careful=True))
    names = _argument_names(f, len(args))
    known = {id(a): names[i] for i, a in enumerate(args) if i not in given}
    known |= {id(leaf): names[i] for leaf, i in zip(leaves, given, strict=True)}
    image = picture(_boxes({node: plain(g) for node, g in found.items()}, known))
    if path is not None:
        save(image, path)
    return image


# ---- forwards ----


@contextlib.contextmanager
def _level() -> Iterator[int]:
    """One derivative being taken; those started within it have higher levels."""
    level = next(_levels)
    OPEN.add(level)
    try:
        yield level
    finally:
        OPEN.discard(level)


def _run(f: Function, argnum: Any, args: Any, options: Any, level: int) -> tuple[list[Tensor], Array]:
    """The chosen arguments as the first nodes of a graph, and f's result: its last node, or a constant."""
    chosen = (argnum,) if isinstance(argnum, int) else tuple(argnum)
    if not chosen or len(set(chosen)) < len(chosen) or not set(chosen) <= set(range(len(args))):
        raise ConfigError(f"argnum={argnum!r}: the positions of arguments, of which {len(args)} were given, from 0 on")
    given = list(args)
    for i in chosen:
        given[i] = Tensor(_as_floats(args[i], i), level)
    leaves = [given[i] for i in chosen]
    try:
        result = f(*given, **options)
    except (LinnetError, Warning):
        raise
    except Exception as error:
        if isinstance(error.__cause__, GraphError):  # NumPy's own words for a[0] = tensor say nothing
            raise error.__cause__ from None
        raise GraphError(f"{_name(f)} failed: {type(error).__name__}: {error}") from error
    if isinstance(result, Tensor):
        if result.level > level:
            raise GraphError("the result belongs to a differentiation inside of this one: return only what that gave")
    elif not isinstance(result, float | int | np.ndarray | np.generic):
        raise GraphError(f"{_name(f)}: what is differentiated returns one number or array, this one {result!r:.80}")
    elif np.asarray(result).dtype.kind not in "fiub":
        raise GraphError(f"{_name(f)}: what is differentiated returns numbers, this one {result!r:.80}")
    return leaves, result


def _name(f: Function) -> str:
    return str(getattr(f, "__name__", None) or type(f).__name__)


def _as_floats(a: Any, position: int) -> Any:
    if isinstance(a, Tensor):
        return a
    try:
        array = np.asarray(a)
    except ValueError:
        array = np.asarray(None)
    if array.dtype.kind in "iub":
        raise GraphError(
            f"argument {position} has whole numbers ({array.dtype}), by which there is no derivative: "
            "pass floating-point ones, 3.0 for 3 or x.astype(float), or another argnum"
        )
    if array.dtype.kind != "f":
        raise GraphError(
            f"argument {position} is no array of floating-point numbers, but {type(a).__name__}: "
            "pass each array as an argument of its own and say by which with argnum=(0, 1)"
        )
    return array[()]


# ---- backwards ----


def _walk(result: Tensor, gradient: Array, *, careful: bool = False) -> Iterator[tuple[Tensor, Array]]:
    """The nodes of the graph from the last to the first, each with its gradient: the sum of what comes in.

    If `careful`, two kinds of 0 are told apart. A branch not taken has the gradient 0, whatever its slope: it is not
    asked for. But the 0 of 1/y where y is infinite is the place of a number that was lost, and 0 times infinity, or 0
    for the gradient of a number that became infinite, is nan.
    """
    gradients = {result: gradient}
    asked = {result: np.asarray(plain(gradient) != 0)}
    for node in _nodes(result):
        g, here = gradients.pop(node), asked.pop(node) if careful else None
        if careful and (lost := here & (plain(g) == 0) & node.overflowed()).any():
            g = np.where(lost, np.nan, g)
        yield node, g
        for k, before in node.inputs():
            more = node.pull(k, g, here)
            if more.dtype != before.dtype:
                more = more.astype(before.dtype)
            gradients[before] = gradients[before] + more if before in gradients else more
            if careful:
                asked[before] = asked.get(before, False) | np.asarray(node.asks(k, here))


def _nodes(result: Tensor) -> list[Tensor]:
    """All that went into the result, each before what it was made from."""
    found, waiting = {result}, [result]
    while waiting:
        for _, before in waiting.pop().inputs():
            if before not in found:
                found.add(before)
                waiting.append(before)
    return sorted(found, key=lambda node: -node.number)


def _gradients(result: Array, gradient: Array, leaves: list[Tensor]) -> tuple[Array, ...]:
    """The gradients of the leaves, as arrays of their own; 0 where the result does not depend on them."""
    arrived = {leaf: np.zeros(leaf.shape, leaf.dtype) for leaf in leaves}
    if isinstance(result, Tensor) and result.level == leaves[0].level:
        with np.errstate(all="ignore"):  # an infinite slope is an answer
            found = {node: g for node, g in _walk(result, gradient) if node in arrived}
            if _in_doubt(result, found):
                found = {node: g for node, g in _walk(result, gradient, careful=True) if node in arrived}
            arrived |= found
    return tuple(g if isinstance(g, Tensor) else np.array(g)[()] for g in map(arrived.__getitem__, leaves))


def _in_doubt(result: Tensor, gradients: dict[Tensor, Array]) -> bool:
    """Whether an infinity went in: only then a 0 may be something else."""
    if any(np.isnan(plain(g)).any() for g in gradients.values()):
        return True
    return any(np.isinf(plain(node)).any() for node in _nodes(result))


# ---- drawing ----


def _argument_names(f: Function, count: int) -> list[str]:
    with contextlib.suppress(TypeError, ValueError):  # some built-in functions have no signature
        names = [*inspect.signature(f).parameters]
        if len(names) >= count:
            return names[:count]
    return ["x"] if count == 1 else [f"x{i}" for i in range(count)]


def _boxes(gradients: dict[Tensor, Any], known: dict[int, str]) -> list[Box]:
    """The nodes, and the constant arrays among their arguments, first to last."""
    boxes: list[Box] = []
    places: dict[int, int] = {}
    for node in sorted(gradients, key=lambda node: node.number):
        before, shown = [], []
        for a in node.operation.arrays if node.operation else ():
            if id(a) not in places and np.shape(a):
                places[id(a)] = len(boxes)
                boxes.append(Box(known.get(id(a), "constant"), plain(a)))
            before += [places[id(a)]] if id(a) in places else []
            shown.append(None if id(a) in places else plain(a))
        places[id(node)] = len(boxes)
        name = node.operation.name if node.operation else known.get(id(node), "")
        boxes.append(Box(name, plain(node), gradients[node], tuple(before), tuple(shown)))
    return boxes
