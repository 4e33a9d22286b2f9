"""Tensors: what a function is given in place of its arrays while it is differentiated."""

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

OPEN: set[int] = set()  # the levels of the derivatives being taken now
_numbers = itertools.count()
_MIXING = frozenset(("matmul", "einsum", "norm", "softmax", "logsumexp"))  # each element of y may be made of all
_REDUCTIONS: dict[str, Callable[..., Any]] = {"add": np.sum, "multiply": np.prod, "maximum": np.max, "minimum": np.min}


class Tensor(np.lib.mixins.NDArrayOperatorsMixin):
    """A node of the graph: a value, and the operation that made it (None for an argument of the function).

    Derivatives may be taken inside of derivatives. Each has a level of its own, higher for the inner one, and the value
    of an inner tensor is a tensor of the level below wherever it depends on that level's arguments. A step with tensors
    of several levels belongs to the highest; to it, all others are constants.
    """

    __slots__ = ("level", "number", "operation", "value")

    def __init__(self, value: Array, level: int, operation: Operation | None = None) -> None:
        self.value = value
        self.level = level
        self.operation = operation
        self.number = next(_numbers)  # larger than that of every node it was made from

    def inputs(self) -> Iterator[tuple[int, "Tensor"]]:
        """The nodes this one was made from, with their positions among the arguments of the operation."""
        for k, a in enumerate(self.operation.arrays if self.operation else ()):
            if isinstance(a, Tensor) and a.level == self.level:
                yield k, a

    def pull(self, k: int, g: Array, asked: Any = None) -> Array:
        """The gradient of the k-th argument from the gradient g of this node: its operation's derivative.

        Where it was not `asked` for the node's elements, no gradient goes on, even if the slope there is infinite.
        """
        assert self.operation is not None
        arrays = [below(a, self.level) for a in self.operation.arrays]
        more = self.operation.pull(k, g, self.value, *arrays)
        if self.operation.name not in SLOPES:
            return more
        return fit(more if asked is None else np.where(asked, more, 0.0), np.shape(arrays[k]))

    def asks(self, k: int, asked: Any) -> Any:
        """Which elements of the k-th argument have a part in those of the node that it was asked for."""
        assert self.operation is not None
        name, given = self.operation.name, self.operation.arrays
        y, arrays = plain(self), [plain(a) for a in given]
        if name in _MIXING:
            return np.full(np.shape(arrays[k]), asked.any())
        if name not in SLOPES:
            return self.operation.pull(k, asked.astype(float), y, *arrays) != 0
        if name in CHOOSING or (name == "multiply" and not isinstance(given[1 - k], Tensor)):
            asked = asked & ((SLOPES[name][k](y, *arrays) != 0) | np.isnan(y))
        return fit(asked.astype(float), np.shape(arrays[k])) != 0

    def overflowed(self) -> Any:
        """Where numbers went in and an infinity came out."""
        if self.operation is None:
            return np.False_
        finite = [np.isfinite(plain(a)) for a in self.operation.arrays]
        if self.operation.name not in SLOPES:
            finite = [every.all() for every in finite]
        return functools.reduce(np.logical_and, finite, np.isinf(plain(self)))

    __hash__ = object.__hash__  # a node is itself alone, whatever == makes of its value

    # ---- NumPy's functions ----

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        name = ufunc.__name__
        out = options.pop("out", None)
        if out is not None and not (out[0] is inputs[0] and np.ndim(inputs[0]) == 0):  # a number is made anew by +=
            raise GraphError(
                f"{name} cannot write into an array while a function is differentiated: "
                "write a = a + b for a += b, and leave out=... out"
            )
        if method == "reduce" and (name in _REDUCTIONS or name == "logaddexp"):
            options.setdefault("axis", 0)
            return logsumexp(self, **options) if name == "logaddexp" else _REDUCTIONS[name](self, **options)
        if options or method != "__call__":
            what = f"np.{name}.{method}" if method != "__call__" else f"np.{name} with {', '.join(options)}="
            raise _unknown(what)
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

    # ---- what an array has ----

    @property
    def shape(self) -> tuple[int, ...]:
        """As of an array."""
        return np.shape(plain(self))

    @property
    def ndim(self) -> int:
        """As of an array."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """As of an array."""
        return np.size(plain(self))

    @property
    def dtype(self) -> np.dtype[Any]:
        """As of an array."""
        return np.asarray(plain(self)).dtype

    @property
    def T(self) -> Array:
        """As of an array."""
        return np.transpose(self)

    def __len__(self) -> int:
        if not self.shape:
            raise GraphError("a single number has no length")
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
            raise GraphError(f"an array of shape {self.shape} is neither true nor false: choose with np.where")
        return bool(plain(self))

    def __float__(self) -> NoReturn:
        raise GraphError(
            "while a function is differentiated its values are no plain numbers, and cannot be put into arrays: use "
            "np.exp(x), not math.exp(x), and np.stack([a, b]), not np.array([a, b]) or a[0] = b; graph.softmax and "
            "graph.logsumexp, not SciPy's; leave out float() and np.asarray()"
        )

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        self.__float__()

    def item(self, *index: Any) -> NoReturn:
        """Not possible, as for float()."""
        self.__float__()

    __int__ = __complex__ = __float__
    tolist = item

    def astype(self, dtype: DTypeLike) -> Array:
        """Of another precision; a constant when made whole numbers or truth values."""
        if not np.issubdtype(dtype, np.floating):
            return plain(self).astype(dtype)
        if self.dtype == dtype:
            return self
        return apply(Operation("astype", (self,), lambda a: a.astype(dtype), lambda k, g, y, a: g))

    def sum(self, axis: Axis = None, *, keepdims: bool = False, where: Any = True) -> Array:
        """np.sum."""
        return np.sum(self, axis=axis, keepdims=keepdims, where=where)

    def mean(self, axis: Axis = None, *, keepdims: bool = False) -> Array:
        """np.mean."""
        return np.mean(self, axis=axis, keepdims=keepdims)

    def max(self, axis: Axis = None, *, keepdims: bool = False) -> Array:
        """np.max."""
        return np.max(self, axis=axis, keepdims=keepdims)

    def min(self, axis: Axis = None, *, keepdims: bool = False) -> Array:
        """np.min."""
        return np.min(self, axis=axis, keepdims=keepdims)

    def prod(self, axis: Axis = None, *, keepdims: bool = False) -> Array:
        """np.prod."""
        return np.prod(self, axis=axis, keepdims=keepdims)

    def var(self, axis: Axis = None, *, ddof: float = 0, keepdims: bool = False) -> Array:
        """np.var."""
        return np.var(self, axis=axis, ddof=ddof, keepdims=keepdims)

    def std(self, axis: Axis = None, *, ddof: float = 0, keepdims: bool = False) -> Array:
        """np.std."""
        return np.std(self, axis=axis, ddof=ddof, keepdims=keepdims)

    def cumsum(self, axis: int | None = None) -> Array:
        """np.cumsum."""
        return np.cumsum(self, axis=axis)

    def cumprod(self, axis: int | None = None) -> Array:
        """np.cumprod."""
        return np.cumprod(self, axis=axis)

    def clip(self, min: Any = None, max: Any = None) -> Array:
        """np.clip."""
        return np.clip(self, min, max)

    def dot(self, b: Any) -> Array:
        """np.dot."""
        return np.dot(self, b)

    def reshape(self, *shape: Any) -> Array:
        """np.reshape."""
        return np.reshape(self, shape[0] if len(shape) == 1 else shape)

    def ravel(self) -> Array:
        """np.ravel."""
        return np.ravel(self)

    flatten = ravel

    def squeeze(self, axis: Axis = None) -> Array:
        """np.squeeze."""
        return np.squeeze(self, axis)

    def transpose(self, *axes: Any) -> Array:
        """np.transpose."""
        return np.transpose(self, axes[0] if len(axes) == 1 else axes or None)

    def swapaxes(self, axis1: int, axis2: int) -> Array:
        """np.swapaxes."""
        return np.swapaxes(self, axis1, axis2)

    def argmax(self, axis: int | None = None) -> Array:
        """np.argmax."""
        return np.argmax(self, axis=axis)

    def argmin(self, axis: int | None = None) -> Array:
        """np.argmin."""
        return np.argmin(self, axis=axis)

    def copy(self) -> Array:
        """np.copy."""
        return np.copy(self)


_ARRAYS = (Tensor, np.ndarray, np.generic, float, int)


def apply(operation: Operation) -> Array:
    """Do one step; if tensors go in, their value does the step one level below, and a tensor comes out."""
    level = max((a.level for a in operation.arrays if isinstance(a, Tensor)), default=0)
    if level not in OPEN:
        raise GraphError(
            "a tensor was kept from a function whose differentiation has ended: return what you need of it"
        )
    value = operation.forward(*[below(a, level) for a in operation.arrays])
    if np.iscomplexobj(value):
        raise GraphError(f"{operation.name} gave complex numbers, which have no gradient here")
    return Tensor(value, level, operation)


def below(a: Array, level: int) -> Array:
    """The value of a tensor of this level; anything else is a constant to it, and stays as it is."""
    return a.value if isinstance(a, Tensor) and a.level == level else a


def plain(a: Array) -> Any:
    """The plain value under all levels."""
    while isinstance(a, Tensor):
        a = a.value
    return a


def _check_options(name: str, build: Callable[..., Any], args: Any, options: Any) -> None:
    """Raise an error if it was the options that the function does not have here."""
    try:
        inspect.signature(build).bind(*args, **options)
    except TypeError as error:
        raise GraphError(f"{name}, while a function is differentiated: {error}") from None


def _index_name(index: Any) -> str:
    """As it was written, with … for arrays: `[:, 0]`."""

    def one(i: Any) -> str:
        if isinstance(i, slice):
            ends = ["" if end is None else str(end) for end in (i.start, i.stop, i.step)]
            return ":".join(ends[: 2 if i.step is None else 3])
        return str(i) if isinstance(i, int | np.integer | None) else "…"

    return f"[{', '.join(map(one, index if isinstance(index, tuple) else (index,)))}]"


def _unknown(name: str) -> GraphError:
    return GraphError(
        f"{name} has no derivative here: write it in terms of the functions that help(linnet.theory.graph) lists"
    )


def logsumexp(x: ArrayLike | Tensor, axis: Axis = -1, keepdims: bool = False) -> Array:
    """log Σ e^x along an axis (or several; None for all), right for any size of x."""
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
    """e^x_k / Σ_j e^x_j along an axis (or several; None for all), right for any size of x."""
    if isinstance(x, Tensor):

        def pull(k: int, g: Array, y: Array, x: Array) -> Array:
            return y * (g - np.sum(g * y, axis=axis, keepdims=True))

        return apply(Operation("softmax", (x,), lambda x: softmax(x, axis), pull))
    x = np.asarray(x)
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)
