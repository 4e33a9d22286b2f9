"""Data sets for the playground, the same for the same seed.

    data = make("spirals", noise=0.1, seed=0, features=["x1", "x2", "sin(x1)"])
    train, test = data.split(0.5, seed=0)
    data.x[train], data.y[train]

Points lie in a square of ±6. `noise` is the standard deviation of the normal noise added to their positions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.errors import DataError, unknown_name
from linnet.tables.task import Task

Floats = NDArray[np.float64]
Plane = Callable[[Floats], NDArray[np.float32]]

_ROWS = 500
_HALF = 6.0  # half the side of the square

FEATURES: dict[str, Callable[[Floats, Floats], Floats]] = {
    "x1": lambda x1, x2: x1,
    "x2": lambda x1, x2: x2,
    "x1^2": lambda x1, x2: x1**2,
    "x2^2": lambda x1, x2: x2**2,
    "x1*x2": lambda x1, x2: x1 * x2,
    "sin(x1)": lambda x1, x2: np.sin(x1),
    "sin(x2)": lambda x1, x2: np.sin(x2),
}


@dataclass(frozen=True)
class Dataset:
    """Rows to learn from, with a plane of inputs to look at.

    Attributes
    ----------
    name : str
        The name of the data set.
    task : Task
        Two classes, several classes, counts or numbers.
    x : array of shape (rows, inputs)
        The inputs, float32.
    y : array of shape (rows,)
        Class numbers, or values.
    points : array of shape (rows, 2)
        The positions of the rows in the plane.
    inputs : tuple of str
        The names of the inputs.
    plane : callable
        Returns the inputs at points of the plane.
    axes : tuple of str
        The names of the axes of the plane.
    ranges : tuple of two (low, high)
        The ranges of the axes.
    classes : tuple of str
        The names of the classes; () for values.
    picture : int
        The side of the image, if the inputs are its pixels; else 0.
    notes : tuple of str
        What a user should know.
    centre, scale : float
        y is (target - centre) / scale.
    """

    name: str
    task: Task
    x: NDArray[np.float32]  # rows x inputs
    y: NDArray[Any]  # class numbers, or numbers
    points: Floats  # rows x 2
    inputs: tuple[str, ...]
    plane: Plane  # points of the plane -> inputs
    axes: tuple[str, str] = ("x1", "x2")
    ranges: tuple[tuple[float, float], tuple[float, float]] = ((-_HALF, _HALF), (-_HALF, _HALF))
    classes: tuple[str, ...] = ()
    picture: int = 0  # the side, if the inputs are the pixels of one
    notes: tuple[str, ...] = ()  # what a user should know
    centre: float = 0.0  # y is (target - centre) / scale
    scale: float = 1.0

    def __len__(self) -> int:
        return len(self.y)

    @property
    def outcomes(self) -> int:
        """The number of classes; 1 for values."""
        return len(self.classes) or 1

    @property
    def is_scaled(self) -> bool:
        """Whether y is standardised."""
        return (self.centre, self.scale) != (0.0, 1.0)

    def own(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return targets or predictions in the unit of the data, centre + scale y; class numbers are unchanged.

        Parameters
        ----------
        y : array
            Targets or predictions.
        """
        return y if self.classes else self.centre + self.scale * y

    def split(self, ratio: float, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the indices of training rows and of test rows, at least one each.

        Parameters
        ----------
        ratio : float
            The share of training rows.
        seed : int
            The seed of the split.
        """
        order = np.random.default_rng([seed, 1]).permutation(len(self))
        cut = min(max(1, round(ratio * len(self))), len(self) - 1)
        return np.sort(order[:cut]), np.sort(order[cut:])


def make(
    name: str,
    *,
    noise: float = 0.1,
    seed: int = 0,
    classes: int = 3,
    features: Sequence[str] = ("x1", "x2"),
    points: Sequence[Sequence[float]] = (),
) -> Dataset:
    """Make a data set.

    Parameters
    ----------
    name : str
        "circle", "xor", "gaussians", "spirals", "moons", "blobs", "pinwheels", "plane", "multi_gauss", "counts",
        "bursts", "drawn" or "digits".
    noise : float, default=0.1
        The standard deviation of the noise in the positions of points.
    seed : int, default=0
        The seed of the random numbers.
    classes : int, default=3
        The number of classes of blobs and pinwheels.
    features : sequence of str, default=("x1", "x2")
        The inputs, out of `FEATURES`.
    points : sequence of (x1, x2, class), default=()
        The points of "drawn".

    Returns
    -------
    Dataset
        500 rows, or those of the points or digits.
    """
    if name == "digits":
        return _digits()
    random = np.random.default_rng(seed)
    task: Task | None = None  # of classes: follows from their number
    if name == "drawn":
        where, y = _drawn(points)
    elif name in _MAKERS:
        task, maker = _MAKERS[name]
        where, y = maker(random, noise, classes)
    else:
        raise unknown_name("data set", name, (*_MAKERS, "drawn", "digits"))
    for feature in features:
        if feature not in FEATURES:
            raise unknown_name("feature", feature, FEATURES)

    def plane(at: Floats) -> NDArray[np.float32]:
        return np.stack([FEATURES[feature](at[:, 0], at[:, 1]) for feature in features], axis=1).astype(np.float32)

    named: tuple[str, ...] = ()
    if task is None:
        kinds = sorted({int(point[2]) for point in points}) if name == "drawn" else range(int(y.max()) + 1)
        named = tuple("ABCDEF"[kind] for kind in kinds)
        task = Task.TWO_CLASSES if len(named) == 2 else Task.MANY_CLASSES
    return Dataset(name, task, plane(where), y, where, tuple(features), plane, classes=named)


# ---- toy sets: positions and targets ----

Made = tuple[Floats, NDArray[Any]]


def _circle(random: np.random.Generator, noise: float, classes: int) -> Made:
    inner = np.arange(_ROWS) % 2
    radius = np.where(inner == 1, random.uniform(0, 2.5, _ROWS), random.uniform(3.5, 5, _ROWS))
    return _moved(_polar(radius, random.uniform(0, 2 * np.pi, _ROWS)), random, noise), inner


def _xor(random: np.random.Generator, noise: float, classes: int) -> Made:
    at = random.uniform(0.3, 5, (_ROWS, 2)) * random.choice([-1, 1], (_ROWS, 2))
    return _moved(at, random, noise), (at[:, 0] * at[:, 1] > 0).astype(np.intp)


def _gaussians(random: np.random.Generator, noise: float, classes: int) -> Made:
    y = np.arange(_ROWS) % 2
    at = np.where(y == 1, 2.0, -2.0)[:, None] + random.normal(size=(_ROWS, 2)) * (0.7 + 1.5 * noise)
    return _inside(at), y


def _spirals(random: np.random.Generator, noise: float, classes: int) -> Made:
    y = np.arange(_ROWS) % 2
    along = (np.arange(_ROWS) // 2) / (_ROWS // 2)
    return _moved(_polar(5.2 * along + 0.2, 1.75 * along * 2 * np.pi + np.pi * y), random, noise), y


def _moons(random: np.random.Generator, noise: float, classes: int) -> Made:
    y = np.arange(_ROWS) % 2
    angle = random.uniform(0, np.pi, _ROWS)
    at = np.stack([3 * np.cos(angle), 3 * np.sin(angle)], axis=1)
    at = np.where((y == 1)[:, None], np.array([1.5, 0.75]) - at, at - [1.5, 0.75])
    return _moved(at, random, 0.15 + noise), y


def _blobs(random: np.random.Generator, noise: float, classes: int) -> Made:
    y = np.arange(_ROWS) % classes
    centres = _polar(np.full(classes, 3.4), np.pi / 2 + 2 * np.pi * np.arange(classes) / classes)
    return _inside(centres[y] + random.normal(size=(_ROWS, 2)) * (0.6 + noise)), y


def _pinwheels(random: np.random.Generator, noise: float, classes: int) -> Made:
    y = np.arange(_ROWS) % classes
    radius = random.uniform(0.4, 5.2, _ROWS)
    width = random.normal(size=_ROWS) * 0.7 / classes
    return _moved(_polar(radius, 2 * np.pi * y / classes + 0.35 * radius + width), random, noise), y


def _plane(random: np.random.Generator, noise: float, classes: int) -> Made:
    at = random.uniform(-_HALF, _HALF, (_ROWS, 2))
    return _moved(at, random, noise), (at[:, 0] + at[:, 1]) / 12


_BUMPS = ((-4, 2.5, 1), (0, 2.5, -1), (4, 2.5, 1), (-4, -2.5, -1), (0, -2.5, 1), (4, -2.5, -1))


def _multi_gauss(random: np.random.Generator, noise: float, classes: int) -> Made:
    at = random.uniform(-_HALF, _HALF, (_ROWS, 2))
    y = np.zeros(_ROWS)
    for x1, x2, sign in _BUMPS:
        y += sign * np.exp(-((at[:, 0] - x1) ** 2 + (at[:, 1] - x2) ** 2) / 3)
    return _moved(at, random, noise), y


def _counts(random: np.random.Generator, noise: float, classes: int) -> Made:
    """Return counts whose rate is highest on a ridge."""
    at, rate = _ridge(random)
    return _moved(at, random, noise), random.poisson(rate).astype(np.float64)


def _bursts(random: np.random.Generator, noise: float, classes: int) -> Made:
    """Return counts of the same rates, which vary from row to row: their variance is mean + mean² / 2."""
    at, rate = _ridge(random)
    return _moved(at, random, noise), random.poisson(rate * random.gamma(2.0, 0.5, _ROWS)).astype(np.float64)


def _ridge(random: np.random.Generator) -> tuple[Floats, Floats]:
    """Return positions, and rates that are highest on a ridge."""
    at = random.uniform(-_HALF, _HALF, (_ROWS, 2))
    return at, np.exp(2.2 - (at[:, 0] - at[:, 1]) ** 2 / 12 + at[:, 0] / 8)


_MAKERS: dict[str, tuple[Task | None, Callable[[np.random.Generator, float, int], Made]]] = {
    "circle": (None, _circle),
    "xor": (None, _xor),
    "gaussians": (None, _gaussians),
    "spirals": (None, _spirals),
    "moons": (None, _moons),
    "blobs": (None, _blobs),
    "pinwheels": (None, _pinwheels),
    "plane": (Task.NUMBER, _plane),
    "multi_gauss": (Task.NUMBER, _multi_gauss),
    "counts": (Task.COUNTS, _counts),
    "bursts": (Task.COUNTS, _bursts),
}


def _polar(radius: Floats, angle: Floats) -> Floats:
    return np.stack([radius * np.sin(angle), radius * np.cos(angle)], axis=1)


def _moved(at: Floats, random: np.random.Generator, noise: float) -> Floats:
    return _inside(at + noise * random.normal(size=at.shape))


def _inside(at: Floats) -> Floats:
    return at.clip(-_HALF, _HALF)


# ---- others ----


def _drawn(points: Sequence[Sequence[float]]) -> Made:
    """Return drawn points; classes without points are skipped."""
    given = np.array(points, np.float64).reshape(-1, 3)
    used, y = np.unique(given[:, 2], return_inverse=True)
    if len(used) < 2:
        raise DataError("points must be of at least two classes: draw points of another class")
    return given[:, :2], y.astype(np.intp)


def _digits() -> Dataset:
    from sklearn.datasets import load_digits  # loads slowly, and only here

    images = load_digits()
    x = (images.data / 16).astype(np.float32)
    names = tuple(f"pixel {row},{column}" for row in range(8) for column in range(8))
    points, ranges, plane = components(x)
    return Dataset(
        *("digits", Task.MANY_CLASSES, x, images.target.astype(np.intp), points, names, plane),
        axes=("first principal component", "second principal component"),
        ranges=ranges,
        classes=tuple("0123456789"),
        picture=8,
        notes=("the picture shows the plane of the first two principal components of the 64 inputs",),
    )


def components(x: NDArray[np.float32]) -> tuple[Floats, tuple[tuple[float, float], tuple[float, float]], Plane]:
    """Return the plane of the first two principal components: positions of rows, their ranges, and its inputs.

    With m the mean and v1, v2 the first two eigenvectors of the covariance, the position of x is ((x - m) v1, (x - m)
    v2), and the inputs at (a, b) are m + a v1 + b v2.
    """
    rows = x.astype(np.float64)
    mean = rows.mean(axis=0)
    _, vectors = np.linalg.eigh(np.cov(rows, rowvar=False).reshape(rows.shape[1], rows.shape[1]))
    two = vectors[:, ::-1][:, :2]
    if two.shape[1] < 2:
        two = np.hstack([two, np.zeros((len(two), 1))])
    two = two * np.where(two.sum(axis=0) < 0, -1, 1)  # the sign of an eigenvector is arbitrary
    points = (rows - mean) @ two
    return points, (span(points[:, 0]), span(points[:, 1])), lambda at: (mean + at @ two.T).astype(np.float32)


def span(values: Floats) -> tuple[float, float]:
    """Return the range of values, widened a little."""
    low, high = float(values.min()), float(values.max())
    more = 0.06 * (high - low) or 1.0
    return low - more, high + more
