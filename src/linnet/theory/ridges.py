"""Universal approximation for several inputs, and for any squashing function, by construction.

A unit of a hidden layer is a ridge: it sees its inputs through one number w · x alone. Two steps lead from a continuous
f on [0, 1]^D to a sum of such units:

1. **A sum of cosines.** Mirrored at 0 and continued with period 2, f is even and continuous everywhere. A sum of
   cosines follows its values on a grid,

       T(x) = c_0 + Σ_k 2 c_k cos(π k · x),   k in {-n, ..., n}^D, one of each pair k, -k

   and every term is a ridge. For a proof, multiply c_k by the factors of Fejér and Korovkin: then T(x) is a mean of the
   values on the grid, with weights that are nowhere negative, sum to 1 and are concentrated around x, at a mean squared
   distance of at most sin²(π / (2 (n + 2))) in each input. So if |f(x) - f(y)| <= L |x - y|, then
   |T(x) - f(x)| <= L √D sin(π / (2 (n + 2))): as small as requested.
2. **Each cosine by units along k**: straight pieces by ReLUs, or a staircase of steps. Compressed horizontally, any
   nondecreasing φ from one limit to another becomes a step; it may jump, have corners, or take its time.

With one input f itself is a ridge, and the first step is left out.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linnet.checks import check_number, check_whole
from linnet.errors import ConfigError, DataError, FitError

Floats = NDArray[np.float64]
Function = Callable[[Floats], Any]

_MAX_UNITS = 400_000
_MAX_CELLS = 2_000_000  # points of the grid of cosines
_FAR = 1e15  # where a squashing function is at its limits
_ZONE = 1 / 8  # of a piece: as far from a breakpoint a step may be unfinished
_TAILS = 0.1  # of the error of a staircase: what is left of unfinished steps
_CHECKS = 2_000  # random points on which the error is measured
_BLOCK = 4_000_000  # outputs of hidden units at a time


@dataclass(frozen=True, slots=True)
class RidgeNetwork:
    """A network of one hidden layer, y(x) = φ(x W + b) · v + c; call it with rows x for its outputs.

    Parameters
    ----------
    phi : function
        The activation, elementwise.
    W : array of shape (inputs, units)
        The weights of the hidden layer.
    b : array of shape (units,)
        Its biases.
    v : array of shape (units,)
        The weights of the output.
    c : float
        Its bias.
    degree : int
        The largest frequency n of a cosine; 0 with one input, which needs none.
    error : float
        The largest |f - network| found.
    points : int
        The number of points on which the error was measured.
    bound : float or None
        The largest possible |f - network| for the given Lipschitz constant; None without one.
    """

    phi: Callable[[Floats], Any]
    W: Floats
    b: Floats
    v: Floats
    c: float
    degree: int
    error: float
    points: int
    bound: float | None

    @property
    def units(self) -> int:
        """The number of hidden units."""
        return len(self.b)

    def __call__(self, x: ArrayLike) -> Floats:
        """Return one output per row of x."""
        return _outputs(self.phi, (self.W, self.b, self.v, self.c), np.asarray(x, np.float64))

    def __str__(self) -> str:
        text = f"{self.units:,} units, largest error found on {self.points:,} points: {self.error:.3g}"
        return text if self.bound is None else f"{text}; proven to be at most {self.bound:.3g}"


Weights = tuple[Floats, Floats, Floats, float]


def ridge_interpolant(
    f: Function,
    inputs: int,
    eps: float | None = None,
    *,
    degree: int | None = None,
    squash: Callable[[Floats], Any] | None = None,
    limits: tuple[float, float] | None = None,
    lipschitz: float | None = None,
) -> RidgeNetwork:
    """Build a network of one hidden layer that approximates f on [0, 1]^D: of ReLUs, or of any squashing function.

    Parameters
    ----------
    f : function
        The function to approximate; takes rows of shape (rows, inputs) and returns one number per row.
    inputs : int
        The number of inputs D.
    eps : float, default=None
        The largest error allowed on the points checked; finer networks are tried until it is met.
    degree : int, default=None
        The largest frequency of the cosines, instead of `eps`; with one input, half the number of pieces.
    squash : function, default=None
        The activation of the hidden units, elementwise: nondecreasing, from one finite limit to another. It need not be
        continuous. By default the units are ReLUs.
    limits : pair of float, default=None
        The limits of `squash`; by default its values very far out.
    lipschitz : float, default=None
        A constant L with |f(x) - f(y)| <= L |x - y|, with which the error has a proven bound: cosines are then damped,
        which costs accuracy.

    Returns
    -------
    RidgeNetwork
        The network, the error found, and the bound.

    Raises
    ------
    FitError
        If eps needs more than 400,000 units.

    Examples
    --------
    >>> net = ridge_interpolant(lambda x: x[:, 0] * x[:, 1], 2, eps=0.1)
    >>> bool(net.error <= 0.1), bool(abs(net([[0.5, 0.5]])[0] - 0.25) <= 0.1)
    (True, True)
    >>> steps = ridge_interpolant(lambda x: x[:, 0] ** 2, 1, eps=0.05, squash=np.sign)
    >>> bool(steps.error <= 0.05)
    True
    """
    if not callable(f):
        raise ConfigError(f"f must be a function of rows, got {f!r}")
    check_whole(inputs, "inputs", at_least=1)
    if (eps is None) == (degree is None):
        raise ConfigError("pass either the largest error, such as eps=0.1, or the frequencies, such as degree=8")
    if lipschitz is not None:
        check_number(lipschitz, "lipschitz", at_least=0)
    unit = _Relu() if squash is None else _Step.of(squash, limits)
    checked = np.vstack([np.random.default_rng(0).random((_CHECKS, inputs)), _corners(inputs)])
    known = checked, _values(f, checked)
    if lipschitz is not None:
        _check_lipschitz(f, *known, lipschitz)
    if degree is not None:
        check_whole(degree, "degree", at_least=1)
        found = _built(f, known, degree, unit, lipschitz, None)
        assert found is not None
        return found
    assert eps is not None
    check_number(eps, "eps", above=0)
    n = 1
    while True:
        if (2 * n + 2) ** inputs > _MAX_CELLS:
            raise FitError(f"eps={eps:g} needs cosines of frequencies above {n} in {inputs} inputs: use a larger eps")
        found = _built(f, known, n, unit, lipschitz, eps)
        if found is not None and found.error <= eps:
            return found
        n = max(n + 1, round(1.25 * n))


def _built(
    f: Function, known: tuple[Floats, Floats], n: int, unit: "_Relu | _Step", lipschitz: float | None, eps: float | None
) -> RidgeNetwork | None:
    """Return a network with cosines of degree n; None if they alone are too far from f for eps."""
    x, truth = known
    inputs = x.shape[1]
    bound = None
    if inputs == 1:
        pieces, tail = 2 * n, _TAILS / (2 * n)
        weights, between = unit.along(lambda s: _values(f, s[:, None]), 0.0, 1.0, pieces, tail)
        if lipschitz is not None:  # which is also the most that f can vary over all pieces
            bound = lipschitz * (between / pieces + unit.tails(tail))
    else:
        k, c, constant = _cosines(f, inputs, n, damped=lipschitz is not None)
        smooth = float(np.abs(_sum_of_cosines(k, c, constant, x) - truth).max())
        if eps is not None and smooth > 0.75 * eps:
            return None
        aim = 0.1 * smooth if eps is None else (eps - smooth) / 2
        weights, apart = _ridges(k, c, constant, unit, max(aim, 1e-9 * float(np.abs(truth).max()), 1e-300))
        bound = None if lipschitz is None else lipschitz * inputs**0.5 * np.sin(np.pi / (2 * (n + 2))) + apart
    error = float(np.abs(_outputs(unit.phi, weights, x) - truth).max())
    return RidgeNetwork(unit.phi, *weights, n if inputs > 1 else 0, error, len(x), bound)


def _sum_of_cosines(k: Floats, c: Floats, constant: float, x: Floats) -> Floats:
    rows = max(1, _BLOCK // max(len(c), 1))
    parts = [np.cos(np.pi * x[i : i + rows] @ k.T) @ c for i in range(0, len(x), rows)]
    return np.asarray(np.concatenate(parts) + constant)


def _check_lipschitz(f: Function, x: Floats, y: Floats, lipschitz: float) -> None:
    """Raise an error if f changes too much between some points and others nearby."""
    near = np.clip(x + np.random.default_rng(1).normal(size=x.shape) * 0.01, 0, 1)
    rise = np.abs(_values(f, near) - y)
    allowed = lipschitz * np.sqrt(((near - x) ** 2).sum(axis=1))
    worst = int(np.argmax(rise - allowed))
    if rise[worst] > allowed[worst] * (1 + 1e-6) + 1e-12 * np.abs(y).max():
        raise ConfigError(
            f"f changes by {rise[worst]:.4g} from {x[worst]} to {near[worst]}, more than lipschitz={lipschitz:g} allows"
        )


def _corners(inputs: int) -> Floats:
    return np.array(list(product((0.0, 1.0), repeat=min(inputs, 10))))[:, :inputs] if inputs <= 10 else np.eye(inputs)


def _values(f: Function, x: Floats) -> Floats:
    with np.errstate(all="ignore"):  # what is not finite is reported
        values = np.asarray(f(x), np.float64)
    if values.shape != (len(x),):
        raise DataError(f"f must return one number per row: {len(x)} rows gave the shape {values.shape}")
    if not np.isfinite(values).all():
        at = x[np.flatnonzero(~np.isfinite(values))[0]]
        raise DataError(f"f must be finite on the whole cube, and is not at {at}")
    return values


# ---- a sum of cosines ----


def korovkin(n: int) -> Floats:
    """Return the factors ρ_0 ... ρ_n of the cosines in the weights of Fejér and Korovkin: ρ_0 = 1, ρ_1 = cos(π/(n+2)).

    Σ_k ρ_|k| e^(iπkt) = |Σ_j a_j e^(iπjt)|² / Σ_j a_j² with a_j = sin((j + 1) π / (n + 2)), which is nowhere negative.

    Parameters
    ----------
    n : int
        The degree.

    Returns
    -------
    array of shape (n + 1,)
        The factors.
    """
    a = np.sin(np.arange(1, n + 2) * np.pi / (n + 2))
    return np.asarray(np.array([a[: n + 1 - k] @ a[k:] for k in range(n + 1)]) / (a @ a))


def _cosines(f: Function, inputs: int, n: int, *, damped: bool) -> tuple[Floats, Floats, float]:
    """Return frequencies k, one of each pair k and -k, the amplitudes of their cosines, and the constant term."""
    cells = 2 * n + 2  # of one period
    axis = np.minimum(np.arange(cells), cells - np.arange(cells)) / (n + 1)  # 0 ... 1 and back
    half = np.arange(n + 2) / (n + 1)  # its distinct values
    points = np.stack(np.meshgrid(*[half] * inputs, indexing="ij"), axis=-1).reshape(-1, inputs)
    table = _values(f, points).reshape((n + 2,) * inputs)
    mirrored = table[np.ix_(*[np.round(axis * (n + 1)).astype(int)] * inputs)]
    c = np.fft.fftn(mirrored).real / cells**inputs
    rho = korovkin(n) if damped else np.ones(n + 1)
    side = np.arange(-n, n + 1)
    for d in range(inputs):
        c = np.take(c, side, axis=d) * rho[np.abs(side)].reshape([-1 if i == d else 1 for i in range(inputs)])
    k = np.stack(np.meshgrid(*[side] * inputs, indexing="ij"), axis=-1).reshape(-1, inputs).astype(np.float64)
    middle = len(k) // 2  # k = 0; the second half has the negatives of the first
    return k[middle + 1 :], 2 * c.ravel()[middle + 1 :], float(c.ravel()[middle])


def _ridges(k: Floats, c: Floats, constant: float, unit: "_Relu | _Step", aim: float) -> tuple[Weights, float]:
    """Return units for a sum of cosines, and a bound of the largest difference, which is about `aim`.

    A cosine of amplitude A over a range of length s, in pieces of length h, needs s / h units and is off by A C h^q.
    Of all choices with the same sum of errors that with the fewest units has h in proportion to (s / A)^(1 / (q + 1)),
    which a Lagrange multiplier shows.
    """
    size = np.abs(c)
    order = np.argsort(size)
    dropped = order[np.cumsum(size[order]) <= 0.1 * aim]
    keep = np.setdiff1d(np.arange(len(c)), dropped)
    left_out, k, c, size = float(size[dropped].sum()), k[keep], c[keep], size[keep]
    if not len(c):
        return (np.zeros((k.shape[1], 1)), np.zeros(1), np.zeros(1), constant), left_out
    low, high = np.minimum(k, 0).sum(axis=1), np.maximum(k, 0).sum(axis=1)
    length, q, factor = high - low, unit.order, unit.cosine_factor
    h = (length / size) ** (1 / (q + 1))
    h *= (0.8 * aim / (factor * (size * h**q).sum())) ** (1 / q)
    pieces = np.maximum(np.ceil(length / h), 1)
    if pieces.sum() > _MAX_UNITS:
        raise FitError(f"{pieces.sum():,.0f} units are needed, more than {_MAX_UNITS:,}: use a larger eps")
    tail = 0.1 * aim / float((2 * size * length).sum())  # a cosine of frequency 1/2 varies by 2 per unit
    W, b, v, total = [], [], [], constant
    for direction, amplitude, start, end, count in zip(k, c, low, high, pieces.astype(int), strict=True):
        (w, bias, rise, level), _ = unit.along(lambda s: np.cos(np.pi * s), start, end, int(count), tail)
        W.append(np.outer(direction, w[0]))
        b.append(bias)
        v.append(amplitude * rise)
        total += amplitude * level
    apart = float(factor * (size * (length / pieces) ** q).sum() + unit.tails(tail) * (2 * size * length).sum())
    return (np.hstack(W), np.concatenate(b), np.concatenate(v), total), apart + left_out


# ---- units along one direction ----


@dataclass(frozen=True, slots=True)
class _Relu:
    """Straight pieces between equidistant points: of a cosine, whose curvature is π² at most, off by π² h² / 8."""

    order = 2
    cosine_factor = np.pi**2 / 8

    @property
    def phi(self) -> Callable[[Floats], Any]:
        return lambda z: np.maximum(z, 0)

    def tails(self, tail: float) -> float:
        return 0.0

    def along(
        self, g: Callable[[Floats], Floats], start: float, end: float, pieces: int, tail: float
    ) -> tuple[Weights, float]:
        """Return the weights for g on [start, end], and the largest distance from a known value, in pieces."""
        u = np.linspace(start, end, pieces + 1)
        y = g(u)
        slopes = np.diff(y) / np.diff(u)
        return (np.ones((1, pieces)), -u[:-1], np.diff(slopes, prepend=0), float(y[0])), 0.5


@dataclass(frozen=True, slots=True)
class _Step:
    """A staircase: each level is g in the middle of its piece, and a compressed squashing function leads to the next.

    In its piece a level is at most h/2 away; within h/8 of a breakpoint the network is between two levels, at most
    5/8 h away. Beyond, each step lacks at most a share `tail` of its rise.
    """

    phi: Callable[[Floats], Any]
    low: float
    high: float
    order = 1
    cosine_factor = np.pi * (1 / 2 + _ZONE)

    @classmethod
    def of(cls, squash: Callable[[Floats], Any], limits: tuple[float, float] | None) -> "_Step":
        if not callable(squash):
            raise ConfigError(f"squash must be a function, elementwise on arrays, got {squash!r}")
        size = np.concatenate([np.logspace(-6, 12, 500), [_FAR]])
        with np.errstate(over="ignore"):  # e^-z far out on the left, where its reciprocal is 0
            y = np.asarray(squash(np.concatenate([-size[::-1], [0.0], size])), np.float64)
        if y.shape != (2 * len(size) + 1,) or not np.isfinite(y).all():
            raise DataError("squash must return one finite number for each number")
        low, high = (y[0], y[-1]) if limits is None else (float(limit) for limit in limits)
        if not low < high:
            raise DataError(f"squash must rise from one limit to another, got limits {low:g} and {high:g}")
        if (np.diff(y) < -1e-12 * (high - low)).any() or y[0] < low or y[-1] > high:
            raise DataError("squash must be nondecreasing and between its limits")
        if max(y[1] - low, high - y[-2]) > 1e-6 * (high - low):
            raise DataError("squash is not near its limits even at 1e12: for ReLUs leave it out")
        return cls(squash, float(low), float(high))

    def reach(self, tail: float) -> float:
        """Return how far from 0 only a share `tail` of the rise is missing."""
        distance = 1.0
        while distance < _FAR:
            left, right = np.asarray(self.phi(np.array([-distance, distance])), np.float64)
            if max(left - self.low, self.high - right) <= tail * (self.high - self.low):
                return distance
            distance *= 2
        raise FitError("squash reaches its limits too slowly for so small an error: use a larger eps")

    def tails(self, tail: float) -> float:
        return tail

    def along(
        self, g: Callable[[Floats], Floats], start: float, end: float, pieces: int, tail: float
    ) -> tuple[Weights, float]:
        """Return the weights for g on [start, end], and the largest distance from a known value, in pieces."""
        u = np.linspace(start, end, pieces + 1)
        levels = g((u[:-1] + u[1:]) / 2)
        rise = np.diff(levels) / (self.high - self.low)
        steepness = self.reach(tail) / (_ZONE * (end - start) / pieces)
        b = -steepness * u[1:-1]
        return (np.full((1, len(b)), steepness), b, rise, float(levels[0] - self.low * rise.sum())), 0.5 + _ZONE


def _outputs(phi: Callable[[Floats], Any], weights: Weights, x: Floats) -> Floats:
    """Return φ(x W + b) · v + c, some rows at a time."""
    W, b, v, c = weights
    if x.ndim != 2 or x.shape[1] != len(W):
        raise DataError(f"x must have {len(W)} columns, got shape {x.shape}")
    rows = max(1, _BLOCK // max(len(b), 1))
    with np.errstate(over="ignore"):
        parts = [np.asarray(phi(x[i : i + rows] @ W + b)) @ v + c for i in range(0, len(x), rows)]
    return np.concatenate(parts) if parts else np.empty(0)
