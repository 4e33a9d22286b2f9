"""Universal approximation by construction: networks of one hidden layer that are built, not trained.

**ReLU.** A continuous f on [a, b] is followed from breakpoint to breakpoint, a = u_1 < u_2 < ... < u_k < b, by straight
pieces of slopes s_1, ..., s_k. A new unit starts at every breakpoint, with the change of slope as its weight:

    y(x) = f(a) + Σ_j (s_j - s_{j-1}) relu(x - u_j),   s_0 = 0        k pieces, k units

**Squashing functions.** Compressed horizontally, sigmoid(k (x - u)) becomes a step at u. A sum of steps is a staircase;
f is within ε of one whose levels c_j are no further apart than f varies:

    y(x) = c_0 + Σ_j (c_j - c_{j-1}) sigmoid(k_j (x - u_j))

Pieces are made as long as they can be from left to right, so that breakpoints are dense where f is curved (for a smooth
f in proportion to |f''|^½, for steps to |f'|) and few where it is straight.

What is known of the error. f is asked at some thousand points and more of them where it bends; `error` is the largest
found on them. No number of points proves anything about an unknown f between them. With a Lipschitz constant L of f
there is a proof: on [l, r] f is within (f(l) + f(r) ± L (r - l)) / 2, and the network lies between known values; the
largest possible difference, up to rounding, is `bound`.
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
Maybe = float | None  # a number that need not be given
Reach = Callable[[Floats, Floats, float], int]

_MOST_UNITS = 20_000
_SMALLEST = 1e-9  # the least error to ask for, in units of the largest |f|
_FINER = 16  # samples know f this many times better than the network follows it
_TRIES = 16
_LESS = 0.99  # of eps on the points looked at, as it may be a little more between them
_CHECKS = 20_000  # points at least on which the error is looked for
_MOST_CHECKS = 4_000_000
_STEEPNESS = tuple(4 * 2**i for i in range(1, 14))  # k_j times the distance to the nearer neighbour


@dataclass(frozen=True, slots=True)
class Interpolant:
    """A network of one hidden layer built to follow a function; call it with numbers to have it predict."""

    network: Network
    theta: Floats
    knots: Floats  # where units start (relu) or step (sigmoid)
    error: float  # the largest |f - network| found on `points` points
    error_at: float  # where that is
    points: int
    bound: float | None  # the largest possible |f - network| for the Lipschitz constant given; None without one
    jump: float  # the largest change of f within a distance too small to follow; 0 for a continuous f

    @property
    def units(self) -> int:
        """Units of the hidden layer."""
        return self.network.layers[0].units

    def __call__(self, x: ArrayLike) -> Floats:
        """Return the network's output at x, in the shape of x, computed by the engine in float64."""
        given = np.asarray(x, np.float64)
        return _predict(self.network, self.theta, given.ravel()).reshape(given.shape)

    def __str__(self) -> str:
        hidden = self.network.layers[0].activation.name
        text = f"{self.units} {hidden} unit{'s' * (self.units > 1)}, largest error found on {self.points:,} points: "
        text += f"{self.error:.3g} at x = {self.error_at:.6g}"
        return text if self.bound is None else f"{text}; never more than {self.bound:.3g}"


@dataclass(frozen=True, slots=True)
class _Built:
    """A network with the values between which it lies on [l, r]."""

    network: Network
    theta: Floats
    knots: Floats
    between: Callable[[Floats, Floats], tuple[Floats, Floats]]  # (x, y at x) -> lowest, highest from x to the next


def relu_interpolant(
    f: Function, a: float, b: float, eps: Maybe = None, units: int | None = None, *, lipschitz: Maybe = None
) -> Interpolant:
    """Build a one-hidden-layer ReLU network that follows f on [a, b] within `eps`, or with `units` as well as it can.

    f takes a number, or an array of them. With `lipschitz` (|f(x) - f(y)| <= L |x - y|) the error is not only looked
    for but bounded. With both `eps` and `units` it is an error if so many do not do.

    >>> import numpy as np
    >>> net = relu_interpolant(np.sin, 0, np.pi, eps=0.01, lipschitz=1)
    >>> net.units, bool(net.bound < 0.01)
    (10, True)
    >>> relu_interpolant(abs, -1, 2, units=2).knots.round(6)
    array([-1.,  0.])
    """
    return _Construction(_straight_reach, _straight_network, None, 0).build(f, a, b, eps, units, lipschitz)


def squash_interpolant(
    f: Function, a: float, b: float, eps: Maybe = None, units: int | None = None, *, lipschitz: Maybe = None
) -> Interpolant:
    """Build a network of steep sigmoids that follows f on [a, b] as a staircase; arguments as in `relu_interpolant`.

    >>> import numpy as np
    >>> squash_interpolant(np.sin, 0, np.pi, eps=0.1).units > relu_interpolant(np.sin, 0, np.pi, eps=0.1).units
    True
    """
    return _Construction(_level_reach, _stair_network, _FINER / 4, 1).build(f, a, b, eps, units, lipschitz)


@dataclass(frozen=True, slots=True)
class _Construction:
    """A way to follow a function: how far a piece may go, and the networks that pieces make."""

    reach: Reach
    networks: Callable[[Sampled, list[int]], Iterator[_Built]]
    steepest: float | None  # how much f may change from sample to sample, in units of how well samples know it
    spare: int  # pieces more than units: the first level of a staircase needs none

    def build(
        self, f: Function, a: float, b: float, eps: float | None, units: int | None, lipschitz: float | None
    ) -> Interpolant:
        low, high = check_number(a, "a"), check_number(b, "b")
        if not low < high:
            raise ConfigError(f"the interval needs a < b, got a={a!r}, b={b!r}")
        if eps is None and units is None:
            raise ConfigError("say how near, eps=0.01, or how many units, units=20")
        if units is not None:
            check_whole(units, "units", at_least=1)
        if lipschitz is not None:
            check_number(lipschitz, "lipschitz", at_least=0)
        begun = start(f, low, high)
        if eps is None:
            assert units is not None
            return self._as_well_as(begun, units, lipschitz)
        check_number(eps, "eps", above=0)
        if eps < _SMALLEST * begun.scale:
            raise ConfigError(
                f"eps={eps:g} is lost in rounding where f reaches {begun.scale:g}: take {_SMALLEST * begun.scale:.1g}"
            )
        return self._within(begun, eps, units, lipschitz)

    def _within(self, begun: Sampled, eps: float, units: int | None, lipschitz: float | None) -> Interpolant:
        """A network whose error, bounded or looked for, is at most eps."""
        most = _MOST_UNITS if units is None else units
        tolerance = _LESS * eps if lipschitz is None else 0.9 * eps
        found = None
        for _ in range(_TRIES):
            sampled = sample(begun, tolerance / _FINER)
            where, jump = jump_of(sampled)
            if jump > eps:
                raise DataError(
                    f"f changes by {jump:.3g} at x = {where:.10g} within a distance too small to follow: a jump, a "
                    f"pole, or too steep. A network is continuous and cannot be within eps={eps:g} on both sides: take "
                    "a larger eps, an interval that ends there, or units= in place of eps"
                )
            sampled = self._close(sampled, tolerance / _FINER)
            pieces = self._pieces(sampled, tolerance, most)
            if pieces is None:
                way_out = "a larger eps" if units is None else "a larger eps or more units"
                raise FitError(f"eps={eps:g} needs more than {most} units: take {way_out}")
            for built in self.networks(sampled, pieces):
                found = _checked(begun, sampled, built, lipschitz, eps)
                if (found.error <= _LESS * eps) if found.bound is None else (found.bound <= eps):
                    return found
            tolerance *= 0.95
        raise FitError(f"eps={eps:g} was not reached: {found}; f may be too rough for it")

    def _as_well_as(self, begun: Sampled, units: int, lipschitz: float | None) -> Interpolant:
        """The network of so many units with the least error found."""
        look = sample(begun, 0.0, 1e-3 / units)  # the first samples may have missed a peak
        begun = replace(begun, scale=max(begun.scale, float(np.abs(look.y).max())))
        finest = begun.scale * _SMALLEST / 64
        fine = max(begun.scale * 1e-3 / units, finest)
        before = np.inf
        while True:  # better samples, as long as they show a better network
            sampled = self._close(sample(begun, fine), fine)
            tolerance, pieces = self._least(sampled, units, finest)
            if fine == finest or tolerance > 0.9 * before:
                break
            before, fine = tolerance, max(tolerance / (4 * _FINER), finest)
        tried = [_checked(begun, sampled, built, None, None) for built in self.networks(sampled, pieces)]
        best = int(np.argmin([one.error for one in tried]))
        if lipschitz is None:
            return tried[best]
        built = list(self.networks(sampled, pieces))[best]
        return _checked(begun, sampled, built, lipschitz, max(tried[best].error, _SMALLEST * begun.scale))

    def _close(self, sampled: Sampled, fine: float) -> Sampled:
        return sampled if self.steepest is None else sample_by_height(sampled, self.steepest * fine)

    def _least(self, sampled: Sampled, units: int, finest: float) -> tuple[float, list[int]]:
        """The least tolerance, to a few per cent, that so many pieces meet."""
        high = max(float(np.ptp(sampled.y)), finest)
        best = high, [0, len(sampled.x) - 1]
        low = finest
        pieces = self._pieces(sampled, low, units)
        if pieces is not None:
            return low, pieces
        while high > 1.02 * low:
            middle = low**0.5 * high**0.5  # their product may be too large, or too small, for a number
            pieces = self._pieces(sampled, middle, units)
            if pieces is None:
                low = middle
            else:
                high = middle
                best = middle, pieces
        return best

    def _pieces(self, sampled: Sampled, tolerance: float, most: int) -> list[int] | None:
        """The samples where pieces end, each as far as it can go; None if they take more than so many units."""
        ends, size = [0], 64
        while ends[-1] < len(sampled.x) - 1:
            if len(ends) > most + self.spare:
                return None
            begin = ends[-1]
            while True:  # in a part of the samples that is long enough to see the end of the piece
                part = slice(begin, begin + size + 1)
                length = self.reach(sampled.x[part], sampled.y[part], tolerance)
                if length < size // 2 or begin + size >= len(sampled.x) - 1:
                    break
                size *= 2
            ends.append(begin + length)
            size = max(64, 4 * length)
        return ends


# ---- straight pieces ----


def _straight_reach(x: Floats, y: Floats, tolerance: float) -> int:
    """How far a straight line from the first sample to another can go, all between them being near it.

    It passes within the tolerance of a sample if its slope is between (y ± tolerance - y_0) / (x - x_0).
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


def _level_reach(x: Floats, y: Floats, tolerance: float) -> int:
    """How far one level can go that is within the tolerance of all samples."""
    spread = np.maximum.accumulate(y) - np.minimum.accumulate(y)
    return max(1, int(np.flatnonzero(spread <= 2 * tolerance)[-1]))


def _stair_network(sampled: Sampled, ends: list[int]) -> Iterator[_Built]:
    """A unit steps from each level to the next; networks of several degrees of steepness, smooth ones first."""
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
    """Between l and r a rising part less a falling one is at least rising(l) - falling(r)."""

    def between(x: Floats, y: Floats) -> tuple[Floats, Floats]:
        up = _predict(network, rising, x)
        down = up - y
        return up[:-1] - down[1:], up[1:] - down[:-1]

    return between


# ---- the network and its error ----


def _one_hidden(activation: str, w: Floats, b: Floats, v: Floats, c: float) -> tuple[Network, Floats]:
    """The network Σ_j v_j activation(w_j x + b_j) + c and its parameters."""
    network = Network(1, (Layer(len(w), Activation(activation)), Layer(1)), Normal())
    return network, np.concatenate([w, b, v, [c]])


def _predict(network: Network, theta: Floats, x: Floats) -> Floats:
    return np.asarray(
        NetworkObjective(network, np.float64, rows=len(x)).predict(theta, np.ascontiguousarray(x[:, None]))[:, 0]
    )


def _checked(
    begun: Sampled, sampled: Sampled, built: _Built, lipschitz: float | None, aim: float | None
) -> Interpolant:
    """Look for the largest error between all samples, and bound it if f has a Lipschitz constant."""
    cells = len(sampled.x) - 1
    parts = np.full(cells, max(3, -(-_CHECKS // cells)))
    if lipschitz is not None and aim is not None:
        wanted = np.ceil(np.diff(sampled.x) * lipschitz / (0.05 * aim))
        if wanted.sum() > _MOST_CHECKS:
            raise ConfigError(
                f"a proof of {aim:.2g} with lipschitz={lipschitz:g} takes {wanted.sum():.2g} values of f, more than "
                f"{_MOST_CHECKS:,}: take a larger eps or fewer units, or leave lipschitz out"
            )
        parts = np.maximum(parts, wanted.astype(np.int64))
    cell = np.repeat(np.arange(cells), parts)
    inside = np.arange(len(cell)) - np.repeat(np.cumsum(parts) - parts, parts)
    x = np.append(sampled.x[cell] + np.diff(sampled.x)[cell] * (inside / parts[cell]), sampled.x[-1])
    x = np.unique(x)
    truth, y = begun.f(x), _predict(built.network, built.theta, x)
    off = np.abs(truth - y)
    worst = int(np.argmax(off))
    bound = None
    if lipschitz is not None:
        move = lipschitz * np.diff(x)
        rise = np.abs(np.diff(truth))
        steep = int(np.argmax(rise - move))
        if rise[steep] > move[steep] * (1 + 1e-6) + 1e-12 * begun.scale:
            raise ConfigError(
                f"f changes by {rise[steep]:.4g} from x = {x[steep]:.10g} to {x[steep + 1]:.10g}, more than "
                f"lipschitz={lipschitz:g} allows"
            )
        low, high = built.between(x, y)
        middle = (truth[:-1] + truth[1:]) / 2
        bound = float(np.maximum(middle + move / 2 - low, high - middle + move / 2).max())
    error, at, jump = float(off[worst]), float(x[worst]), jump_of(sampled)[1]
    return Interpolant(built.network, built.theta, built.knots, error, at, len(x), bound, jump)
