"""Derivatives of functions written in plain NumPy: a small engine of reverse-mode automatic differentiation.

    >>> import numpy as np
    >>> from linnet.theory import graph
    >>> def loss(y, t):
    ...     return np.sum(np.log(np.cosh(y - t)))
    >>> graph.grad(loss)(np.array([0.0, 1.0]), 1.0)
    array([-0.76159416,  0.        ])

In the forward pass the function is evaluated on tensors. NumPy's functions accept a tensor in place of an array; each
step makes a new tensor that records its inputs, and the result is the last node of a graph. The backward pass visits
the nodes from the last to the first: the gradient of a node, the derivative of the result with respect to its value, is
passed to each of its inputs, multiplied by the slope of the step, and the gradients of a value that was used several
times add up (the chain rule for f(g_1(w), ..., g_d(w)) is a sum over branches). One backward pass gives the derivatives
with respect to all arguments, at the cost of a few evaluations of the function.

The slopes are NumPy code too (graph_slopes.py, graph_rules.py), so a gradient can be differentiated again:
`graph.grad(graph.grad(f))`, to any order.

Supported: arithmetic, @, indexing and comparisons (which return plain Boolean arrays); abs, fabs, maximum,
minimum, fmax, fmin, clip, where, nan_to_num, heaviside, sign, floor, ceil, trunc, rint, round, remainder; square, sqrt,
cbrt, power, reciprocal, exp, exp2, expm1, log, log2, log10, log1p, logaddexp, logaddexp2; sin, cos, tan, sinh, cosh,
tanh, their inverses, arctan2, hypot; sum, mean, average, var, std, max, min, prod, cumsum, cumprod, diff, sort, trace,
linalg.norm; matmul, dot, inner, outer, tensordot, einsum; reshape, ravel, squeeze, expand_dims, transpose, swapaxes,
moveaxis, broadcast_to, flip, roll, repeat, tile, take, take_along_axis, diag, diagonal, tril, triu, split, array_split,
concatenate, stack, vstack, hstack, column_stack, bincount; expit, logit, log_expit, erf, erfc, ndtr, log_ndtr, xlogy,
xlog1py of scipy.special; and here `softmax` and `logsumexp`.

Where a function has no derivative, one is defined by convention: abs has the slope 0 at 0; equal arguments of maximum,
minimum, max and min share the gradient equally, so np.maximum(x, 0) has the slope 1/2 at 0, whereas
np.where(x > 0, x, 0) has the slope 0, like the network's relu; linalg.norm and hypot have the gradient 0 at 0, and std
where all elements are equal; xlogy(0, b) has the slope 0 in b, even at b = 0; sign, heaviside and rounding have the
slope 0 everywhere.

Elements that were not selected get no gradient: the log in np.where(x > 0, np.log(x), 0) does no harm at 0, nor does a
log multiplied by a constant 0. But where an intermediate value overflows the derivative is nan: np.log(np.cosh(x)) has
the slope 1 at x = 1000, which cannot be recovered once cosh has returned infinity.

Derivatives have the type of the arguments: float64, or float32 if all arguments are float32.
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
    """Return a function that computes the gradient of f.

    Parameters
    ----------
    f : function
        A function of arrays, written in NumPy, that returns one number.
    argnum : int or tuple of int, default=0
        The positional arguments to differentiate with respect to.

    Returns
    -------
    function
        Takes the arguments of f and returns the gradient, in the shape and type of the argument; a tuple of gradients
        if argnum is a tuple.

    Examples
    --------
    >>> graph.grad(graph.grad(lambda x: x**3))(2.0)
    np.float64(12.0)
    """
    both = value_and_grad(f, argnum)
    return lambda *args, **options: both(*args, **options)[1]


def value_and_grad(f: Function, argnum: int | tuple[int, ...] = 0) -> Function:
    """Return a function that computes both the value and the gradient of f.

    Parameters
    ----------
    f : function
        A function of arrays, written in NumPy, that returns one number.
    argnum : int or tuple of int, default=0
        The positional arguments to differentiate with respect to.

    Returns
    -------
    function
        Takes the arguments of f and returns its value and the gradient; a tuple of gradients if argnum is a tuple.
    """

    def evaluate(*args: Any, **options: Any) -> tuple[Any, Any]:
        with _level() as level:
            leaves, result = _run(f, argnum, args, options, level)
            if np.shape(result):
                raise GraphError(
                    f"graph.grad needs a function that returns one number, got a result of shape {np.shape(result)}: "
                    "add it up with .sum(), or use graph.jacobian for the derivatives of every element"
                )
            gradients = _gradients(result, np.ones_like(below(result, level)), leaves)
            return below(result, level), gradients[0] if isinstance(argnum, int) else gradients

    return evaluate


def jacobian(f: Function, argnum: int | tuple[int, ...] = 0) -> Function:
    """Return a function that computes the derivatives of every element of f's result.

    Parameters
    ----------
    f : function
        A function of arrays, written in NumPy, that returns an array or a number.
    argnum : int or tuple of int, default=0
        The positional arguments to differentiate with respect to.

    Returns
    -------
    function
        Takes the arguments of f and returns dy_i/dx_j for y = f(x), of the shape of y followed by that of x; a tuple
        of such arrays if argnum is a tuple.

    Examples
    --------
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
    """Return a function that computes the second derivatives of f.

    Parameters
    ----------
    f : function
        A function of arrays, written in NumPy, that returns one number.
    argnum : int, default=0
        The positional argument to differentiate with respect to.

    Returns
    -------
    function
        Takes the arguments of f and returns d²f/dx_i dx_j, of the shape of x twice.

    Examples
    --------
    >>> graph.hessian(np.prod)(np.array([2.0, 3.0]))
    array([[0., 1.],
           [1., 0.]])
    """
    return jacobian(grad(f, argnum), argnum)


def draw(f: Function, *args: Any, path: str | PathLike[str] | None = None) -> Svg:
    """Draw the computation graph of f at the given arguments, with the value and the gradient of each step.

    Parameters
    ----------
    f : function
        A function of arrays, written in NumPy, that returns one number.
    *args : array
        Its arguments; gradients are shown for those of floating-point type.
    path : path, default=None
        Where to write the picture.

    Returns
    -------
    Svg
        The text of an SVG picture, which notebooks display.
    """
    floats = tuple(i for i, a in enumerate(args) if np.asarray(plain(a)).dtype.kind == "f")
    if not floats:
        raise GraphError("graph.draw needs at least one argument of floating-point type, got none")
    with _level() as level:
        leaves, result = _run(f, floats, args, {}, level)
        if not isinstance(result, Tensor) or result.level != level or result.shape:
            raise GraphError(
                "graph.draw needs a function that returns one number computed from its arguments: add it up with .sum()"
            )
        with np.errstate(all="ignore"):
            gradients = dict(_walk(result, np.ones_like(result.value), careful=True))
    names = _argument_names(f, len(args))
    argument_names = {id(a): names[i] for i, a in enumerate(args) if i not in floats}
    argument_names |= {id(leaf): names[i] for leaf, i in zip(leaves, floats, strict=True)}
    image = picture(_boxes({node: plain(g) for node, g in gradients.items()}, argument_names))
    if path is not None:
        save(image, path)
    return image


# ---- forwards ----


@contextlib.contextmanager
def _level() -> Iterator[int]:
    """Open the level of one differentiation; differentiations started within it have higher levels."""
    level = next(_levels)
    OPEN.add(level)
    try:
        yield level
    finally:
        OPEN.discard(level)


def _run(f: Function, argnum: Any, args: Any, options: Any, level: int) -> tuple[list[Tensor], Array]:
    """Return the chosen arguments as the leaves of a graph, and the result of f: its last node, or a constant."""
    chosen = (argnum,) if isinstance(argnum, int) else tuple(argnum)
    if not chosen or len(set(chosen)) < len(chosen) or not set(chosen) <= set(range(len(args))):
        raise ConfigError(
            f"argnum must be the positions of one or more of the {len(args)} arguments, counted from 0, got {argnum!r}"
        )
    arguments = list(args)
    for i in chosen:
        arguments[i] = Tensor(_as_floats(args[i], i), level)
    leaves = [arguments[i] for i in chosen]
    try:
        result = f(*arguments, **options)
    except (LinnetError, Warning):
        raise
    except Exception as error:
        if isinstance(error.__cause__, GraphError):  # for a[0] = tensor NumPy's own message does not help
            raise error.__cause__ from None
        raise GraphError(f"{_name(f)} failed: {type(error).__name__}: {error}") from error
    if isinstance(result, Tensor):
        if result.level > level:
            raise GraphError(
                f"{_name(f)} returned a tensor of a differentiation inside this one: return only the result of the "
                "inner differentiation"
            )
    elif not isinstance(result, float | int | np.ndarray | np.generic):
        raise GraphError(f"{_name(f)} must return a number or an array to be differentiated, got {result!r:.80}")
    elif np.asarray(result).dtype.kind not in "fiub":
        raise GraphError(f"{_name(f)} must return real numbers to be differentiated, got {result!r:.80}")
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
            f"argument {position} holds integers ({array.dtype}), which have no derivative: "
            "pass floating-point numbers, 3.0 for 3 or x.astype(float), or choose another argnum"
        )
    if array.dtype.kind != "f":
        raise GraphError(
            f"argument {position} must be an array of floating-point numbers, got {type(a).__name__}: "
            "pass each array as an argument of its own and choose several with argnum=(0, 1)"
        )
    return array[()]


# ---- backwards ----


def _walk(result: Tensor, gradient: Array, *, careful: bool = False) -> Iterator[tuple[Tensor, Array]]:
    """Yield the nodes of the graph from the last to the first, each with its gradient.

    If `careful`, two kinds of 0 are distinguished. A branch that was not selected is inactive and has the gradient 0,
    whatever its slope. But the 0 of 1/y for an infinite y stands for a value that was lost, so 0 times infinity, or a
    gradient of 0 for a value that overflowed, is nan.
    """
    gradients = {result: gradient}
    active = {result: np.asarray(plain(gradient) != 0)}
    for node in _nodes(result):
        g, mask = gradients.pop(node), active.pop(node) if careful else None
        if careful and (lost := mask & (plain(g) == 0) & node.overflowed()).any():
            g = np.where(lost, np.nan, g)
        yield node, g
        for k, source in node.inputs():
            term = node.pull(k, g, mask)
            if term.dtype != source.dtype:
                term = term.astype(source.dtype)
            gradients[source] = gradients[source] + term if source in gradients else term
            if careful:
                active[source] = active.get(source, False) | np.asarray(node.active_inputs(k, mask))


def _nodes(result: Tensor) -> list[Tensor]:
    """Return the nodes that the result depends on, itself included, each before its inputs."""
    visited, stack = {result}, [result]
    while stack:
        for _, source in stack.pop().inputs():
            if source not in visited:
                visited.add(source)
                stack.append(source)
    return sorted(visited, key=lambda node: -node.number)


def _gradients(result: Array, gradient: Array, leaves: list[Tensor]) -> tuple[Array, ...]:
    """Return the gradients of the leaves, as copies; 0 where the result does not depend on them."""
    by_leaf = {leaf: np.zeros(leaf.shape, leaf.dtype) for leaf in leaves}
    if isinstance(result, Tensor) and result.level == leaves[0].level:
        with np.errstate(all="ignore"):  # infinite slopes are legitimate
            gradients = {node: g for node, g in _walk(result, gradient) if node in by_leaf}
            if _needs_care(result, gradients):
                gradients = {node: g for node, g in _walk(result, gradient, careful=True) if node in by_leaf}
            by_leaf |= gradients
    return tuple(g if isinstance(g, Tensor) else np.array(g)[()] for g in map(by_leaf.__getitem__, leaves))


def _needs_care(result: Tensor, gradients: dict[Tensor, Array]) -> bool:
    """Return whether some value is infinite or some gradient NaN: only then a 0 may stand for a value that was lost."""
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
    """Return the nodes in the order of computation, and the constant arrays among their arguments."""
    boxes: list[Box] = []
    indices: dict[int, int] = {}
    for node in sorted(gradients, key=lambda node: node.number):
        sources, shown = [], []
        for a in node.operation.arrays if node.operation else ():
            if id(a) not in indices and np.shape(a):
                indices[id(a)] = len(boxes)
                boxes.append(Box(known.get(id(a), "constant"), plain(a)))
            sources += [indices[id(a)]] if id(a) in indices else []
            shown.append(None if id(a) in indices else plain(a))
        indices[id(node)] = len(boxes)
        name = node.operation.name if node.operation else known.get(id(node), "")
        boxes.append(Box(name, plain(node), gradients[node], tuple(sources), tuple(shown)))
    return boxes
