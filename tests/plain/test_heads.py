"""Plain heads and activations: slopes and curvatures are derivatives, by differences and by the graph engine."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from linnet.heads.activations import ACTIVATIONS as NAMES
from linnet.plain.activations import ACTIVATIONS, leaky_relu
from linnet.plain.heads import Bernoulli, Categorical, Head, Normal, Poisson
from linnet.plain.numeric_gradient import largest_difference
from linnet.plain.power_variance import Gamma, NegativeBinomial, Tweedie, TweedieIdentity
from linnet.plain.robust import Huber, Laplace, Perceptron, Quantile
from linnet.theory import graph

Array = NDArray[Any]
RNG = np.random.default_rng(7)
Z = RNG.normal(size=(6, 3))
NUMBERS, COUNTS = RNG.normal(size=(6, 3)), RNG.poisson(2, (6, 3)).astype(float)
AMOUNTS = RNG.gamma(2, size=(6, 3))
HOT = np.eye(3)[RNG.integers(0, 3, 6)]

CASES: dict[str, tuple[Head, Array, Array]] = {
    "normal": (Normal(), Z, NUMBERS),
    "bernoulli": (Bernoulli(), 3 * Z, HOT),
    "categorical": (Categorical(), 3 * Z, HOT),
    "categorical, shares": (Categorical(), Z, AMOUNTS),
    "poisson": (Poisson(), Z, COUNTS),
    "gamma": (Gamma(), Z, AMOUNTS),
    **{f"tweedie, {q:g}": (Tweedie(q), Z, AMOUNTS) for q in (0, 1, 1.5, 2, 3)},
    **{f"tweedie, {q:g}, identity": (TweedieIdentity(q), np.abs(Z) + 0.5, AMOUNTS) for q in (-0.5, 0, 1, 1.5, 2, 3)},
    "negative binomial": (NegativeBinomial(0.6), Z, COUNTS),
    "laplace": (Laplace(), Z, NUMBERS),
    "huber": (Huber(0.7), Z, NUMBERS),
    "quantile": (Quantile(0.8), Z, NUMBERS),
    "perceptron": (Perceptron(), Z, 2 * HOT - 1),
}


@pytest.mark.parametrize("name", CASES)
def test_slopes_are_derivatives(name: str) -> None:
    head, z, t = CASES[name]
    assert largest_difference(head.slope(z, t), lambda z: float(head.loss(z, t).sum()), z) < 1e-9


@pytest.mark.parametrize("name", CASES)
def test_curvatures_are_second_derivatives_by_output(name: str) -> None:
    head, z, t = CASES[name]
    for k in range(3):
        move = np.zeros((1, 3))
        move[0, k] = 1e-5
        numeric = (head.slope(z + move, t) - head.slope(z - move, t))[:, k] / 2e-5
        np.testing.assert_allclose(head.curvature(z, t)[:, k], numeric, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_slopes_and_curvatures_by_the_graph_engine(name: str) -> None:
    """The engine differentiates the plain loss as it is written, and its own derivative once more."""
    head, z, t = CASES[name]
    slope = graph.grad(lambda z: head.loss(z, t).sum())
    np.testing.assert_allclose(head.slope(z, t), slope(z), rtol=1e-12, atol=1e-13)
    for k in range(3):
        twice = graph.grad(lambda z, k=k: slope(z)[:, k].sum())(z)[:, k]
        np.testing.assert_allclose(head.curvature(z, t)[:, k], twice, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", ["normal", "bernoulli", "categorical", "poisson"])
def test_the_slope_is_mean_minus_target(name: str) -> None:
    head, z, t = CASES[name]
    np.testing.assert_array_equal(head.slope(z, t), head.mean(z) - t)


@pytest.mark.parametrize(
    "name", [name for name in CASES if name.startswith(("nor", "ber", "poi", "gam", "twe", "neg"))]
)
def test_the_best_constant_is_the_mean_of_the_targets(name: str) -> None:
    head, _, t = CASES[name]
    m = t[:, :1].mean()
    z = m if "identity" in name or name == "normal" else np.log(m / (1 - m)) if name == "bernoulli" else np.log(m)
    slope = head.slope(np.full((6, 1), z), t[:, :1])
    assert abs(slope.sum()) < 1e-14 * np.abs(slope).sum() * 10


def test_the_best_constant_of_robust_losses() -> None:
    """The median of absolute errors; of the quantile loss what so many targets lie below."""
    t = np.arange(1.0, 100.0)[:, None]
    constants = np.arange(0.5, 100.0)

    def best(head: Head) -> float:
        return float(constants[np.argmin([head.loss(np.full_like(t, c), t).sum() for c in constants])])

    assert abs(best(Laplace()) - 50) <= 0.5
    assert abs(best(Quantile(0.8)) - 80) <= 0.5
    assert abs(best(Huber(3)) - 50) <= 0.5


def test_special_cases_of_tweedie() -> None:
    np.testing.assert_allclose(Tweedie(1).slope(Z, COUNTS), Poisson().slope(Z, COUNTS), rtol=1e-14)
    np.testing.assert_allclose(TweedieIdentity(0).slope(Z, NUMBERS), Normal().slope(Z, NUMBERS), rtol=1e-14)
    np.testing.assert_allclose(Gamma().slope(Z, AMOUNTS), 1 - AMOUNTS / np.exp(Z), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(NegativeBinomial(1e-9).slope(Z, COUNTS), Poisson().slope(Z, COUNTS), rtol=1e-7)


def test_every_activation_is_here() -> None:
    assert {*ACTIVATIONS} == {*NAMES}


@pytest.mark.parametrize("name", [*NAMES, "leaky_relu 0.3"])
def test_activations_and_their_slopes(name: str) -> None:
    a, back = leaky_relu(0.3) if name.endswith("0.3") else ACTIVATIONS[name]
    d = RNG.normal(size=Z.shape)
    assert largest_difference(back(Z, d), lambda z: float((a(z) * d).sum()), Z) < 1e-9


@pytest.mark.parametrize("name", NAMES)
def test_no_activation_overflows(name: str) -> None:
    if name == "exponential":
        return  # it is infinite there
    a, back = ACTIVATIONS[name]
    far = np.array([[-1e3, 1e3, 0.0], [1e3, 1e3, -1e3]])
    assert np.isfinite(a(far)).all()
    assert np.isfinite(back(far, np.ones_like(far))).all()
