"""Universal approximation by construction: networks of one hidden layer that are built, not trained.

**ReLU.** A continuous f on [a, b] is approximated by straight pieces with slopes s_1, ..., s_k between breakpoints
a = u_1 < u_2 < ... < u_k < b. A new unit starts at every breakpoint, with the change of slope as its weight:

    y(x) = f(a) + Σ_j (s_j - s_{j-1}) relu(x - u_j),   s_0 = 0        k pieces, k units

**Squashing functions.** Compressed horizontally, sigmoid(k (x - u)) becomes a step at u. A sum of steps is a staircase
with levels c_j, which is within ε of f if f varies by less than 2 ε over each step:

    y(x) = c_0 + Σ_j (c_j - c_{j-1}) sigmoid(k_j (x - u_j))

From left to right, each piece is made as long as the tolerance allows, so breakpoints are dense where f is curved (for
a smooth f in proportion to |f''|^½, for steps to |f'|) and sparse where it is straight.

**The error.** f is evaluated at several thousand points, most of them where it bends; `error` is the largest error
found there. No number of points proves anything about an unknown f between them. With a Lipschitz constant L of f there
is a proof: on [l, r] f is within (f(l) + f(r) ± L (r - l)) / 2, and the network lies between known values; the largest
possible error, up to rounding, is `bound`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linnet.checks import check_number, check_whole
from linnet.errors import ConfigError, DataError, FitError
from linnet.fit.objective import NetworkObjective
from linnet.heads import Normal
from linnet.heads.activations import Activation
from linnet.model.network import Layer, Network
from linnet.theory.sampling import Sampled, jump_of, sample, sample_by_height, start

Floats = NDArray[np.float64]
Function = Callable[[Any], Any]
PieceLength = Callable[[Floats, Floats, float], int]

_MAX_UNITS = 20_000
_MIN_RELATIVE_EPS = 1e-9  # the smallest tolerance, in units of the largest |f|
_SAMPLING_FACTOR = 16  # the tolerance of the network divided by that of the samples
_MAX_TRIES = 16
_POINT_SHARE = 0.99  # of eps, on the points checked: between them the error may be slightly larger
_MIN_CHECKS = 20_000  # points
_MAX_CHECKS = 4_000_000  # points
_STEEPNESS = tuple(4 * 2**i for i in range(1, 14))  # k_j times the distance to the nearer neighbour


@dataclass(frozen=True, slots=True)
class Interpolant:
    """A network of one hidden layer that approximates a function; call it with x for its output.

    Parameters
    ----------
    network : Network
        The network.
    theta : array
        Its parameters.
    knots : array of shape (units,)
        The x at which units start (relu) or step (sigmoid).
    error : float
        The largest |f - network| found.
    error_at : float
        The x of this error.
    points : int
        The number of points on which the error was computed.
    bound : float or None
        The largest possible |f - network| for the given Lipschitz constant; None without one.
    jump : float
        The largest change of f over a distance too small to resolve; 0 for a continuous f.
    """

    network: Network
    theta: Floats
    knots: Floats
    error: float
    error_at: float
    points: int
    bound: float | None
    jump: float

    @property
    def units(self) -> int:
        """The number of hidden units."""
        return self.network.layers[0].units

    def __call__(self, x: ArrayLike) -> Floats:
        """Return the network's output at x, in float64 and in the shape of x."""
        array = np.asarray(x, np.float64)
        return _predict(self.network, self.theta, array.ravel()).reshape(array.shape)

    def __str__(self) -> str:
        hidden = self.network.layers[0].activation.name
        text = f"{self.units} {hidden} unit{'s' * (self.units > 1)}, largest error found on {self.points:,} points: "
        text += f"{self.error:.3g} at x = {self.error_at:.6g}"
        return text if self.bound is None else f"{text}; proven to be at most {self.bound:.3g}"


@dataclass(frozen=True, slots=True)
class _Built:
    """A network, and a function that bounds its values between points."""

    network: Network
    theta: Floats
    knots: Floats
    between: Callable[[Floats, Floats], tuple[Floats, Floats]]  # (x, y at x) -> lowest, highest from each x to the next


def relu_interpolant(
    f: Function,
    a: float,
    b: float,
    eps: float | None = None,
    units: int | None = None,
    *,
    lipschitz: float | None = None,
) -> Interpolant:
    """Build a ReLU network of one hidden layer that approximates f on [a, b] by straight pieces.

    Parameters
    ----------
    f : function
        The function to approximate; takes a number, or an array of numbers elementwise.
    a, b : float
        The interval, a < b.
    eps : float, default=None
        The largest error allowed.
    units : int, default=None
        The number of hidden units. Without `eps`, the smallest error that this number can reach; with `eps`, the
        largest number allowed. One of the two is needed.
    lipschitz : float, default=None
        A constant L with |f(x) - f(y)| <= L |x - y|, which turns the error found into a proven bound.

    Returns
    -------
    Interpolant
        The network, its error, and the bound.

    Raises
    ------
    FitError
        If more units are needed than allowed, or eps was not reached.

    Examples
    --------
    >>> import numpy as np
    >>> net = relu_interpolant(np.sin, 0, np.pi, eps=0.01, lipschitz=1)
    >>> net.units, bool(net.bound < 0.01)
    (10, True)
    >>> relu_interpolant(abs, -1, 2, units=2).knots.round(6)
    array([-1.,  0.])
    """
    return _Construction(_line_length, _straight_network, None, 0).build(f, a, b, eps, units, lipschitz)


def squash_interpolant(
    f: Function,
    a: float,
    b: float,
    eps: float | None = None,
    units: int | None = None,
    *,
    lipschitz: float | None = None,
) -> Interpolant:
    """Build a network of one hidden layer of steep sigmoids that approximates f on [a, b] by a staircase.

    Parameters
    ----------
    f : function
        The function to approximate; takes a number, or an array of numbers elementwise.
    a, b : float
        The interval, a < b.
    eps : float, default=None
        The largest error allowed.
    units : int, default=None
        The number of hidden units. Without `eps`, the smallest error that this number can reach; with `eps`, the
        largest number allowed. One of the two is needed.
    lipschitz : float, default=None
        A constant L with |f(x) - f(y)| <= L |x - y|, which turns the error found into a proven bound.

    Returns
    -------
    Interpolant
        The network, its error, and the bound.

    Raises
    ------
    FitError
        If more units are needed than allowed, or eps was not reached.

    Examples
    --------
    >>> import numpy as np
    >>> squash_interpolant(np.sin, 0, np.pi, eps=0.1).units > relu_interpolant(np.sin, 0, np.pi, eps=0.1).units
    True
    """
    return _Construction(_level_length, _stair_network, _SAMPLING_FACTOR / 4, 1).build(f, a, b, eps, units, lipschitz)


@dataclass(frozen=True, slots=True)
class _Construction:
    """A kind of approximation: the rule for the length of a piece, and the networks made of pieces."""

    piece_length: PieceLength
    networks: Callable[[Sampled, list[int]], Iterator[_Built]]
    max_change: float | None  # of f from sample to sample, in units of the samples' tolerance
    extra_pieces: int  # pieces minus units: the first level of a staircase needs no unit

    def build(
        self, f: Function, a: float, b: float, eps: float | None, units: int | None, lipschitz: float | None
    ) -> Interpolant:
        low, high = check_number(a, "a"), check_number(b, "b")
        if not low < high:
            raise ConfigError(f"the interval needs a < b, got a={a!r}, b={b!r}")
        if eps is None and units is None:
            raise ConfigError("pass the largest error, such as eps=0.01, or the number of units, such as units=20")
        if units is not None:
            check_whole(units, "units", at_least=1)
        if lipschitz is not None:
            check_number(lipschitz, "lipschitz", at_least=0)
        initial = start(f, low, high)
        if eps is None:
            assert units is not None
            return self._best_of_size(initial, units, lipschitz)
        check_number(eps, "eps", above=0)
        if eps < _MIN_RELATIVE_EPS * initial.scale:
            raise ConfigError(
                f"eps={eps:g} is lost in rounding where f reaches {initial.scale:g}: use at least "
                f"{_MIN_RELATIVE_EPS * initial.scale:.1g}"
            )
        return self._within(initial, eps, units, lipschitz)

    def _within(self, initial: Sampled, eps: float, units: int | None, lipschitz: float | None) -> Interpolant:
        """Return a network whose error, proven or found, is at most eps."""
        max_units = _MAX_UNITS if units is None else units
        tolerance = _POINT_SHARE * eps if lipschitz is None else 0.9 * eps
        candidate = None
        for _ in range(_MAX_TRIES):
            sampled = sample(initial, tolerance / _SAMPLING_FACTOR)
            at, jump = jump_of(sampled)
            if jump > eps:
                raise DataError(
                    f"f changes by {jump:.3g} at x = {at:.10g} over a distance too small to resolve: a jump, a pole, "
                    f"or a very steep slope. A network is continuous and cannot be within eps={eps:g} on both sides: "
                    "use a larger eps, an interval that ends there, or units instead of eps"
                )
            sampled = self._refined(sampled, tolerance / _SAMPLING_FACTOR)
            pieces = self._pieces(sampled, tolerance, max_units)
            if pieces is None:
                advice = "a larger eps" if units is None else "a larger eps or more units"
                raise FitError(f"eps={eps:g} needs more than {max_units} units: use {advice}")
            for built in self.networks(sampled, pieces):
                candidate = _checked(initial, sampled, built, lipschitz, eps)
                if (candidate.error <= _POINT_SHARE * eps) if candidate.bound is None else (candidate.bound <= eps):
                    return candidate
            tolerance *= 0.95
        raise FitError(f"eps={eps:g} was not reached ({candidate}): f may be too irregular, use a larger eps")

    def _best_of_size(self, initial: Sampled, units: int, lipschitz: float | None) -> Interpolant:
        """Return the network with the given number of units and the smallest error found."""
        closer = sample(initial, 0.0, 1e-3 / units)  # the first samples may have missed a peak
        initial = replace(initial, scale=max(initial.scale, float(np.abs(closer.y).max())))
        finest = initial.scale * _MIN_RELATIVE_EPS / 64
        fine = max(initial.scale * 1e-3 / units, finest)
        before = np.inf
        while True:  # refine the samples as long as that improves the network
            sampled = self._refined(sample(initial, fine), fine)
            tolerance, pieces = self._smallest_tolerance(sampled, units, finest)
            if fine == finest or tolerance > 0.9 * before:
                break
            before, fine = tolerance, max(tolerance / (4 * _SAMPLING_FACTOR), finest)
        tried = [_checked(initial, sampled, built, None, None) for built in self.networks(sampled, pieces)]
        best = int(np.argmin([each.error for each in tried]))
        if lipschitz is None:
            return tried[best]
        built = list(self.networks(sampled, pieces))[best]
        return _checked(initial, sampled, built, lipschitz, max(tried[best].error, _MIN_RELATIVE_EPS * initial.scale))

    def _refined(self, sampled: Sampled, fine: float) -> Sampled:
        return sampled if self.max_change is None else sample_by_height(sampled, self.max_change * fine)

    def _smallest_tolerance(self, sampled: Sampled, units: int, finest: float) -> tuple[float, list[int]]:
        """Return the smallest tolerance, to a few per cent, that the given number of units can meet, and its pieces."""
        high = max(float(np.ptp(sampled.y)), finest)
        best = high, [0, len(sampled.x) - 1]
        low = finest
        pieces = self._pieces(sampled, low, units)
        if pieces is not None:
            return low, pieces
        while high > 1.02 * low:
            middle = low**0.5 * high**0.5  # the product might overflow or underflow
            pieces = self._pieces(sampled, middle, units)
            if pieces is None:
                low = middle
            else:
                high = middle
                best = middle, pieces
        return best

    def _pieces(self, sampled: Sampled, tolerance: float, max_units: int) -> list[int] | None:
        """Return the indices of the samples where pieces end, each as long as possible; None if they need too many
        units.
        """
        ends, size = [0], 64
        while ends[-1] < len(sampled.x) - 1:
            if len(ends) > max_units + self.extra_pieces:
                return None
            begin = ends[-1]
            while True:  # in a window of samples, enlarged until it contains the end of the piece
                window = slice(begin, begin + size + 1)
                length = self.piece_length(sampled.x[window], sampled.y[window], tolerance)
                if length < size // 2 or begin + size >= len(sampled.x) - 1:
                    break
                size *= 2
            ends.append(begin + length)
            size = max(64, 4 * length)
        return ends


# ---- straight pieces ----


def _line_length(x: Floats, y: Floats, tolerance: float) -> int:
    """Return the index of the last sample to which a line from the first stays within the tolerance of all between.

    The line is within the tolerance of a sample if its slope is between (y ± tolerance - y_0) / (x - x_0).
    """
    run, rise = x[1:] - x[0], y[1:] - y[0]
    lowest = np.maximum.accumulate((rise - tolerance) / run)
    highest = np.minimum.accumulate((rise + tolerance) / run)
    slope = rise / run
    good = np.flatnonzero((slope >= lowest) & (slope <= highest))
    return int(good[-1]) + 1


def _straight_network(sampled: Sampled, ends: list[int]) -> Iterator[_Built]:
    """A unit starts at every breakpoint with the change of slope as its weight."""
    x, y = sampled.x[ends], sampled.y[ends]
    slopes = np.diff(y) / np.diff(x)
    network, theta = _one_hidden("relu", np.ones(len(slopes)), -x[:-1], np.diff(slopes, prepend=0), y[0])

    def between(x: Floats, y: Floats) -> tuple[Floats, Floats]:
        return np.minimum(y[:-1], y[1:]), np.maximum(y[:-1], y[1:])

    yield _Built(network, theta, x[:-1], between)


# ---- steps ----


def _level_length(x: Floats, y: Floats, tolerance: float) -> int:
    """Return the index of the last sample up to which one level is within the tolerance of all samples."""
    spread = np.maximum.accumulate(y) - np.minimum.accumulate(y)
    return max(1, int(np.flatnonzero(spread <= 2 * tolerance)[-1]))


def _stair_network(sampled: Sampled, ends: list[int]) -> Iterator[_Built]:
    """Networks with one unit per step between levels, of increasing steepness."""
    x, y = sampled.x, sampled.y
    levels = np.array([(y[i : j + 1].min() + y[i : j + 1].max()) / 2 for i, j in pairwise(ends)])
    steps, weights = x[ends[1:-1]], np.diff(levels)
    if len(steps) == 0:
        steps, weights = x[:1], np.zeros(1)
    room = np.diff(np.concatenate([x[:1], steps, x[-1:]]))
    room = np.maximum(np.minimum(room[:-1], room[1:]), np.spacing(np.abs(x).max()))
    for steepness in _STEEPNESS:
        slopes = steepness / room
        network, theta = _one_hidden("sigmoid", slopes, -slopes * steps, weights, levels[0])
        rising = _one_hidden("sigmoid", slopes, -slopes * steps, np.maximum(weights, 0), levels[0])[1]
        yield _Built(network, theta, steps, _monotone_parts(network, theta, rising))


def _monotone_parts(
    network: Network, theta: Floats, rising: Floats
) -> Callable[[Floats, Floats], tuple[Floats, Floats]]:
    """Bounds on [l, r] for a network that is a rising minus a falling function: at least rising(l) - falling(r)."""

    def between(x: Floats, y: Floats) -> tuple[Floats, Floats]:
        up = _predict(network, rising, x)
        down = up - y
        return up[:-1] - down[1:], up[1:] - down[:-1]

    return between


# ---- the network and its error ----


def _one_hidden(activation: str, w: Floats, b: Floats, v: Floats, c: float) -> tuple[Network, Floats]:
    """Return the network Σ_j v_j activation(w_j x + b_j) + c and its parameters."""
    network = Network(1, (Layer(len(w), Activation(activation)), Layer(1)), Normal())
    return network, np.concatenate([w, b, v, [c]])


def _predict(network: Network, theta: Floats, x: Floats) -> Floats:
    return np.asarray(
        NetworkObjective(network, np.float64, rows=len(x)).predict(theta, np.ascontiguousarray(x[:, None]))[:, 0]
    )


def _checked(
    initial: Sampled, sampled: Sampled, built: _Built, lipschitz: float | None, aim: float | None
) -> Interpolant:
    """Find the largest error, on points between all samples, and bound it if f has a Lipschitz constant."""
    cells = len(sampled.x) - 1
    parts = np.full(cells, max(3, -(-_MIN_CHECKS // cells)))
    if lipschitz is not None and aim is not None:
        checks = np.ceil(np.diff(sampled.x) * lipschitz / (0.05 * aim))
        if checks.sum() > _MAX_CHECKS:
            raise ConfigError(
                f"a proof of {aim:.2g} with lipschitz={lipschitz:g} needs {checks.sum():.2g} values of f, more than "
                f"{_MAX_CHECKS:,}: use a larger eps or fewer units, or leave lipschitz out"
            )
        parts = np.maximum(parts, checks.astype(np.int64))
    cell = np.repeat(np.arange(cells), parts)
    inside = np.arange(len(cell)) - np.repeat(np.cumsum(parts) - parts, parts)
    x = np.append(sampled.x[cell] + np.diff(sampled.x)[cell] * (inside / parts[cell]), sampled.x[-1])
    x = np.unique(x)
    truth, y = initial.f(x), _predict(built.network, built.theta, x)
    errors = np.abs(truth - y)
    worst = int(np.argmax(errors))
    bound = None
    if lipschitz is not None:
        move = lipschitz * np.diff(x)
        rise = np.abs(np.diff(truth))
        steep = int(np.argmax(rise - move))
        if rise[steep] > move[steep] * (1 + 1e-6) + 1e-12 * initial.scale:
            raise ConfigError(
                f"f changes by {rise[steep]:.4g} from x = {x[steep]:.10g} to {x[steep + 1]:.10g}, more than "
                f"lipschitz={lipschitz:g} allows"
            )
        low, high = built.between(x, y)
        middle = (truth[:-1] + truth[1:]) / 2
        bound = float(np.maximum(middle + move / 2 - low, high - middle + move / 2).max())
    error, at, jump = float(errors[worst]), float(x[worst]), jump_of(sampled)[1]
    return Interpolant(built.network, built.theta, built.knots, error, at, len(x), bound, jump)
