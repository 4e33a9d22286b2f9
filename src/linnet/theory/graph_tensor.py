"""Tensors, which take the place of a function's arrays while it is differentiated."""

import functools
import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from linnet.errors import GraphError
from linnet.theory.graph_rules import FUNCTIONS, PLAIN_FUNCTIONS, PLAIN_UFUNCS, matmul, moved, spread
from linnet.theory.graph_slopes import CHOOSING, SLOPES, Array, Operation, elementwise, fit

Axis = int | tuple[int, ...] | None

OPEN: set[int] = set()  # the levels of the differentiations in progress
_node_numbers = itertools.count()
_MIXING = frozenset(("matmul", "einsum", "norm", "softmax", "logsumexp"))  # each element of y may depend on all
_REDUCTIONS: dict[str, Callable[..., Any]] = {"add": np.sum, "multiply": np.prod, "maximum": np.max, "minimum": np.min}


class Tensor(np.lib.mixins.NDArrayOperatorsMixin):
    """A node of the graph: a value, and the operation that computed it (None for an argument of the function).

    Differentiations may be nested. Each has a level of its own, higher for the inner one, and the value of an inner
    tensor is itself a tensor of the outer level where it depends on the outer arguments. An operation on tensors of
    several levels belongs to the highest; there, all others are constants.

    Parameters
    ----------
    value : array or Tensor
        The value: an array, or a tensor of an outer level.
    level : int
        The level of the differentiation.
    operation : Operation or None, default=None
        The operation that computed the value.
    """

    __slots__ = ("level", "number", "operation", "value")

    def __init__(self, value: Array, level: int, operation: Operation | None = None) -> None:
        self.value = value
        self.level = level
        self.operation = operation
        self.number = next(_node_numbers)  # larger than those of its inputs

    def inputs(self) -> Iterator[tuple[int, "Tensor"]]:
        """Yield the nodes among the arguments of the operation, with their positions."""
        for k, a in enumerate(self.operation.arrays if self.operation else ()):
            if isinstance(a, Tensor) and a.level == self.level:
                yield k, a

    def pull(self, k: int, g: Array, active: Any = None) -> Array:
        """Return the gradient of the k-th argument, given the gradient g of this node.

        Elements of this node that are not `active` pass no gradient on, even where the slope is infinite.

        Parameters
        ----------
        k : int
            The position of the argument.
        g : array or Tensor
            The gradient of this node.
        active : array of bool or None, default=None
            A mask of the active elements of this node; None: all.

        Returns
        -------
        array or Tensor
            The gradient of the argument.
        """
        assert self.operation is not None
        arrays = [below(a, self.level) for a in self.operation.arrays]
        gradient = self.operation.pull(k, g, self.value, *arrays)
        if self.operation.name not in SLOPES:
            return gradient
        return fit(gradient if active is None else np.where(active, gradient, 0.0), np.shape(arrays[k]))

    def active_inputs(self, k: int, active: Any) -> Any:
        """Return a mask of the elements of the k-th argument that active elements of this node depend on.

        Parameters
        ----------
        k : int
            The position of the argument.
        active : array of bool
            A mask of the active elements of this node.

        Returns
        -------
        array of bool
            The mask, in the shape of the argument.
        """
        assert self.operation is not None
        name, arguments = self.operation.name, self.operation.arrays
        y, arrays = plain(self), [plain(a) for a in arguments]
        if name in _MIXING:
            return np.full(np.shape(arrays[k]), active.any())
        if name not in SLOPES:
            return self.operation.pull(k, active.astype(float), y, *arrays) != 0
        if name in CHOOSING or (name == "multiply" and not isinstance(arguments[1 - k], Tensor)):
            active = active & ((SLOPES[name][k](y, *arrays) != 0) | np.isnan(y))
        return fit(active.astype(float), np.shape(arrays[k])) != 0

    def overflowed(self) -> Any:
        """Return a mask of the infinite elements that were computed from finite ones."""
        if self.operation is None:
            return np.False_
        finite = [np.isfinite(plain(a)) for a in self.operation.arrays]
        if self.operation.name not in SLOPES:
            finite = [mask.all() for mask in finite]
        return functools.reduce(np.logical_and, finite, np.isinf(plain(self)))

    __hash__ = object.__hash__  # by identity: == compares values

    # ---- NumPy's functions ----

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        name = ufunc.__name__
        out = options.pop("out", None)
        if out is not None and not (out[0] is inputs[0] and np.ndim(inputs[0]) == 0):  # += on a scalar makes a new one
            raise GraphError(
                f"{name} cannot write into an array while a function is differentiated: "
                "write a = a + b for a += b, and omit out="
            )
        if method == "reduce" and (name in _REDUCTIONS or name == "logaddexp"):
            options.setdefault("axis", 0)
            return logsumexp(self, **options) if name == "logaddexp" else _REDUCTIONS[name](self, **options)
        if options or method != "__call__":
            raise _unknown(f"np.{name}.{method}" if method != "__call__" else f"np.{name} with {', '.join(options)}=")
        arrays = tuple(
            a if isinstance(a, (Tensor, np.ndarray, np.generic, float, int)) else np.asarray(a) for a in inputs
        )
        if name in PLAIN_UFUNCS:
            return ufunc(*map(plain, arrays))
        if name == "matmul":
            return apply(matmul(*arrays))
        if name not in SLOPES:
            raise _unknown(f"np.{name}")
        return apply(elementwise(ufunc, arrays))

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if function in PLAIN_FUNCTIONS or (function is np.where and len(args) + len(options) == 1):
            return function(*map(plain, args), **{name: plain(a) for name, a in options.items()})
        name = f"{function.__module__}.{function.__name__}".replace("numpy", "np", 1)
        if function not in FUNCTIONS:
            raise _unknown(name)
        build = FUNCTIONS[function]
        try:
            result = build(*args, **options)
        except TypeError:
            _check_options(name, build, args, options)
            raise
        return apply(result) if isinstance(result, Operation) else result

    # ---- attributes and methods of arrays ----

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return np.shape(plain(self))

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return np.size(plain(self))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements."""
        return np.asarray(plain(self)).dtype

    @property
    def T(self) -> Array:
        """The tensor with its axes reversed."""
        return np.transpose(self)

    def __len__(self) -> int:
        if not self.shape:
            raise GraphError("a scalar has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Array]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Array:
        return apply(moved(_index_name(index), self, lambda a: a[index]))

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        raise GraphError(
            "an element cannot be set while a function is differentiated: make a new array, "
            "with np.where(condition, a, b), np.stack or np.concatenate"
        )

    def __repr__(self) -> str:
        return f"Tensor({np.array2string(np.asarray(plain(self)), separator=', ')})"

    def __format__(self, spec: str) -> str:
        return format(plain(self), spec) if spec else repr(self)

    def __bool__(self) -> bool:
        if self.size != 1:
            raise GraphError(f"an array of shape {self.shape} has no single truth value: use np.where")
        return bool(plain(self))

    def __float__(self) -> NoReturn:
        raise GraphError(
            "a tensor cannot be converted to a number or an array while a function is differentiated: use np.exp(x) "
            "instead of math.exp(x), np.stack([a, b]) instead of np.array([a, b]) or a[0] = b, graph.softmax and "
            "graph.logsumexp instead of SciPy's, and omit float() and np.asarray()"
        )

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        self.__float__()

    def item(self, *index: Any) -> NoReturn:
        """Raise a GraphError: tensors cannot be converted to numbers.

        Parameters
        ----------
        *index : int
            Ignored.
        """
        self.__float__()

    __int__ = __complex__ = __float__
    tolist = item

    def astype(self, dtype: DTypeLike) -> Array:
        """Return the tensor in another precision; converted to integers or Booleans it is a constant array.

        Parameters
        ----------
        dtype : dtype
            The type.

        Returns
        -------
        Tensor or array
            The converted tensor.
        """
        if not np.issubdtype(dtype, np.floating):
            return plain(self).astype(dtype)
        if self.dtype == dtype:
            return self
        return apply(Operation("astype", (self,), lambda a: a.astype(dtype), lambda k, g, y, a: g))

    def sum(self, axis: Axis = None, *, keepdims: bool = False, where: Any = True) -> Array:
        """Apply `np.sum`."""
        return np.sum(self, axis=axis, keepdims=keepdims, where=where)

    def mean(self, axis: Axis = None, *, keepdims: bool = False) -> Array:
        """Apply `np.mean`."""
        return np.mean(self, axis=axis, keepdims=keepdims)

    def max(self, axis: Axis = None, *, keepdims: bool = False) -> Array:
        """Apply `np.max`."""
        return np.max(self, axis=axis, keepdims=keepdims)

    def min(self, axis: Axis = None, *, keepdims: bool = False) -> Array:
        """Apply `np.min`."""
        return np.min(self, axis=axis, keepdims=keepdims)

    def prod(self, axis: Axis = None, *, keepdims: bool = False) -> Array:
        """Apply `np.prod`."""
        return np.prod(self, axis=axis, keepdims=keepdims)

    def var(self, axis: Axis = None, *, ddof: float = 0, keepdims: bool = False) -> Array:
        """Apply `np.var`."""
        return np.var(self, axis=axis, ddof=ddof, keepdims=keepdims)

    def std(self, axis: Axis = None, *, ddof: float = 0, keepdims: bool = False) -> Array:
        """Apply `np.std`."""
        return np.std(self, axis=axis, ddof=ddof, keepdims=keepdims)

    def cumsum(self, axis: int | None = None) -> Array:
        """Apply `np.cumsum`."""
        return np.cumsum(self, axis=axis)

    def cumprod(self, axis: int | None = None) -> Array:
        """Apply `np.cumprod`."""
        return np.cumprod(self, axis=axis)

    def clip(self, min: Any = None, max: Any = None) -> Array:
        """Apply `np.clip`."""
        return np.clip(self, min, max)

    def dot(self, b: Any) -> Array:
        """Apply `np.dot`."""
        return np.dot(self, b)

    def reshape(self, *shape: Any) -> Array:
        """Apply `np.reshape`."""
        return np.reshape(self, shape[0] if len(shape) == 1 else shape)

    def ravel(self) -> Array:
        """Apply `np.ravel`."""
        return np.ravel(self)

    flatten = ravel

    def squeeze(self, axis: Axis = None) -> Array:
        """Apply `np.squeeze`."""
        return np.squeeze(self, axis)

    def transpose(self, *axes: Any) -> Array:
        """Apply `np.transpose`."""
        return np.transpose(self, axes[0] if len(axes) == 1 else axes or None)

    def swapaxes(self, axis1: int, axis2: int) -> Array:
        """Apply `np.swapaxes`."""
        return np.swapaxes(self, axis1, axis2)

    def argmax(self, axis: int | None = None) -> Array:
        """Apply `np.argmax`."""
        return np.argmax(self, axis=axis)

    def argmin(self, axis: int | None = None) -> Array:
        """Apply `np.argmin`."""
        return np.argmin(self, axis=axis)

    def copy(self) -> Array:
        """Apply `np.copy`."""
        return np.copy(self)


_ARRAYS = (Tensor, np.ndarray, np.generic, float, int)


def apply(operation: Operation) -> Array:
    """Apply an operation: compute its value one level below its tensors, and return it as a tensor."""
    level = max((a.level for a in operation.arrays if isinstance(a, Tensor)), default=0)
    if level not in OPEN:
        raise GraphError(
            "a tensor was kept from a function whose differentiation has ended: return its value from the function"
        )
    value = operation.forward(*[below(a, level) for a in operation.arrays])
    if np.iscomplexobj(value):
        raise GraphError(f"{operation.name} returned complex numbers, which cannot be differentiated here")
    return Tensor(value, level, operation)


def below(a: Array, level: int) -> Array:
    """Return the value of a tensor of the given level; anything else is a constant there and returned as it is."""
    return a.value if isinstance(a, Tensor) and a.level == level else a


def plain(a: Array) -> Any:
    """Return the plain value of a tensor, below all levels."""
    while isinstance(a, Tensor):
        a = a.value
    return a


def _check_options(name: str, build: Callable[..., Any], args: Any, options: Any) -> None:
    """Raise a GraphError if the arguments include options that are not supported here."""
    try:
        inspect.signature(build).bind(*args, **options)
    except TypeError as error:
        raise GraphError(f"{name}, while a function is differentiated: {error}") from None


def _index_name(index: Any) -> str:
    """Return the index as written in Python, with … for arrays: `[:, 0]`."""

    def text(i: Any) -> str:
        if isinstance(i, slice):
            ends = ["" if end is None else str(end) for end in (i.start, i.stop, i.step)]
            return ":".join(ends[: 2 if i.step is None else 3])
        return str(i) if isinstance(i, int | np.integer | None) else "…"

    return f"[{', '.join(map(text, index if isinstance(index, tuple) else (index,)))}]"


def _unknown(name: str) -> GraphError:
    return GraphError(f"{name} cannot be differentiated here: use the functions listed in help(linnet.theory.graph)")


def logsumexp(x: ArrayLike | Tensor, axis: Axis = -1, keepdims: bool = False) -> Array:
    """Return log Σ e^x along an axis, without overflow.

    Parameters
    ----------
    x : array or Tensor
        The exponents.
    axis : int, tuple of int or None, default=-1
        The axes of the sum; None for all.
    keepdims : bool, default=False
        Whether the summed axes are kept with length 1.

    Returns
    -------
    array or Tensor
        The logarithm of the sum.
    """
    if isinstance(x, Tensor):

        def pull(k: int, g: Array, y: Array, x: Array) -> Array:
            return spread(g, x, axis, keepdims) * np.exp(x - spread(y, x, axis, keepdims))

        return apply(Operation("logsumexp", (x,), lambda x: logsumexp(x, axis, keepdims), pull))
    x = np.asarray(x)
    top = np.max(x, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    with np.errstate(divide="ignore"):
        log = np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top
    return log if keepdims else np.squeeze(log, axis=axis)[()]


def softmax(x: ArrayLike | Tensor, axis: Axis = -1) -> Array:
    """Return e^x_k / Σ_j e^x_j along an axis, without overflow.

    Parameters
    ----------
    x : array or Tensor
        The logits.
    axis : int, tuple of int or None, default=-1
        The axes of the sum; None for all.

    Returns
    -------
    array or Tensor
        The probabilities, in the shape of x.
    """
    if isinstance(x, Tensor):

        def pull(k: int, g: Array, y: Array, x: Array) -> Array:
            return y * (g - np.sum(g * y, axis=axis, keepdims=True))

        return apply(Operation("softmax", (x,), lambda x: softmax(x, axis), pull))
    x = np.asarray(x)
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)
