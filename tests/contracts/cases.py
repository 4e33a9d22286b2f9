"""What the battery runs over: heads, layers, shapes and rows. All numbers are float32s, so float64 has them exactly."""

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.data.columns import as_columns
from linnet.data.rows import Rows
from linnet.heads import (
    Bernoulli,
    Categorical,
    Custom,
    Gamma,
    Head,
    Huber,
    Laplace,
    NegativeBinomial,
    Normal,
    Perceptron,
    Poisson,
    Quantile,
    Tweedie,
)
from linnet.heads.activations import ACTIVATIONS, Activation
from linnet.model.network import Layer, Network

Array = NDArray[Any]

DTYPES = ("float32", "float64")
# Largest error in units of the largest number of the same kind. float64: the core and the twin sum in different orders,
# over up to 1300 rows. float32: 2^-24 for every rounding of a number, some tens of them per row and layer.
TOLERANCE = {"float32": 1e-5, "float64": 1e-13}


@dataclass(frozen=True)
class HeadCase:
    """A head and the kind of its targets."""

    name: str
    head: Head
    outputs: int
    target: str  # labels, values, yes_no, soft, counts, amounts or signs

    def __str__(self) -> str:
        return self.name


def log_cosh(z: Array, t: Array) -> tuple[Array, Array]:
    """A user-defined loss: log cosh(z - t), and its slope."""
    return np.log(np.cosh(z - t)).sum(axis=1), np.tanh(z - t)


HEADS = (
    HeadCase("normal", Normal(), 3, "values"),
    HeadCase("laplace", Laplace(), 3, "values"),
    HeadCase("bernoulli", Bernoulli(), 1, "yes_no"),
    HeadCase("bernoulli-many", Bernoulli(), 5, "soft"),
    HeadCase("categorical-labels", Categorical(), 10, "labels"),
    HeadCase("categorical-soft", Categorical(), 3, "soft"),
    HeadCase("poisson", Poisson(), 2, "counts"),
    HeadCase("perceptron-labels", Perceptron(), 4, "labels"),
    HeadCase("perceptron-signs", Perceptron(), 1, "signs"),
    HeadCase("gamma", Gamma(), 2, "amounts"),
    HeadCase("tweedie-1.5", Tweedie(1.5), 2, "counts"),
    HeadCase("tweedie-3", Tweedie(3), 1, "amounts"),
    HeadCase("huber", Huber(0.7), 3, "values"),
    HeadCase("quantile", Quantile(0.8), 3, "values"),
    HeadCase("custom", Custom(log_cosh), 3, "values"),
    HeadCase("negative_binomial", NegativeBinomial(0.6), 2, "counts"),
)
SQUARED_OVER = tuple(
    HeadCase(f"normal-{name}", Normal(name), 3, "values") for name in ACTIVATIONS if name != "identity"
)
ABSOLUTE_OVER = tuple(
    HeadCase(f"laplace-{name}", Laplace(name), 3, "values") for name in ACTIVATIONS if name != "identity"
)
ALL_HEADS = HEADS + SQUARED_OVER + ABSOLUTE_OVER

# Inputs and hidden widths. Narrow: a first layer of up to 16 outputs on 16 inputs or more has kernels of its own, and a
# later one of up to 4; with many inputs, its sums are computed in two halves. Wide: a layer of more than 128 KB is
# shared between threads by columns instead of rows.
SHAPES: dict[str, tuple[int, tuple[int, ...]]] = {
    "no hidden": (5, ()),
    "one input": (1, ()),
    "thin, no hidden": (64, ()),
    "thin, 37 inputs": (37, ()),
    "thin, 901 inputs": (901, ()),
    "thin, hidden": (33, (16,)),
    "thin, 300 inputs, hidden": (300, (12, 5)),
    "17 outputs": (20, (17,)),
    "one input, hidden": (1, (3,)),
    "odd": (7, (13, 5)),
    "three hidden": (9, (8, 11, 6)),
    "thin, in the middle": (20, (41, 3, 35)),
    "wide": (200, (300,)),
    "wide after thin": (19, (16, 300, 300)),
}


def numbers(seed: int, *shape: int, scale: float = 1.0) -> Array:
    """Normal numbers that a float32 holds exactly, in float64."""
    return (np.random.default_rng(seed).normal(size=shape) * scale).astype(np.float32).astype(np.float64)


def seed_of(*what: object) -> int:
    """A different seed for every case."""
    return zlib.crc32(repr(what).encode())


def make_network(
    case: HeadCase, inputs: int, hidden: tuple[int, ...], names: tuple[str, ...] = ("tanh",), **layer: Any
) -> Network:
    """A network whose hidden activations cycle through `names`; `layer` applies to all its layers."""
    layers = [Layer(units, Activation(names[i % len(names)]), **layer) for i, units in enumerate(hidden)]
    return Network(inputs, (*layers, Layer(case.outputs, **layer)), case.head)


def make_theta(network: Network, seed: int, scale: float = 1.0) -> Array:
    """Weights of variance scale² / inputs and biases that are not zero."""
    pieces = []
    for index, (inputs, outputs) in enumerate(network.shapes):
        pieces += [numbers(seed + index, inputs * outputs, scale=scale * inputs**-0.5)]
        pieces += [numbers(seed + index + 100, outputs, scale=0.3 * network.layers[index].bias)]
    return np.concatenate(pieces)


def make_rows(case: HeadCase, inputs: int, n: int, dtype: str, seed: int, *, weighted: bool = False) -> Rows:
    """Rows with targets of the head's kind; the weights have a zero among them."""
    rng = np.random.default_rng([seed, 1])
    x = numbers(seed, n, inputs).astype(dtype)
    k = case.outputs
    weights = None
    if weighted:
        weights = rng.integers(0, 8, n).astype(dtype) / 2
        weights[0] = 1
    if case.target == "labels":
        return Rows(x, labels=rng.integers(0, k, n).astype(np.int32), weights=weights)
    return Rows(x, values=_values(case.target, rng, (n, k)).astype(dtype), weights=weights)


def _values(kind: str, rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    match kind:
        case "values":
            return rng.normal(size=shape).astype(np.float32)
        case "yes_no":
            return rng.integers(0, 2, shape)
        case "soft":
            return rng.integers(0, 17, shape) / 16
        case "counts":
            return rng.poisson(2, shape)
        case "amounts":
            return (1 + rng.integers(0, 64, shape)) / 16
        case "signs":
            return rng.choice([-1, 1], shape)
    raise AssertionError(kind)


def table(rows: Rows) -> Array:
    """The inputs of rows that have them in one table."""
    (x,) = as_columns(rows.x).tables
    return x


def row_weights(rows: Rows) -> Array:
    return np.ones(len(rows)) if rows.weights is None else rows.weights.astype(np.float64)


def assert_close(actual: Any, expected: Any, tolerance: float, what: str = "", scale: float | None = None) -> None:
    """Every element within tolerance x scale; scale defaults to the largest expected number."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape, what
    scale = float(np.abs(expected).max()) if scale is None else scale
    error = float(np.abs(actual - expected).max())
    assert error <= tolerance * scale, f"{what}: off by {error:.3g}, allowed {tolerance:g} x {scale:.3g}"
