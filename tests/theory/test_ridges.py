"""Networks of several inputs that are built: any squashing function, measured and proven errors; polynomials."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from linnet.errors import ConfigError, DataError, FitError
from linnet.theory import best_polynomial, relu_interpolant, ridge_interpolant
from linnet.theory.ridges import korovkin

Function = Callable[[Any], Any]


def devil(z: Any) -> Any:
    """A staircase that rises at places which have nothing to do with its width: neither continuous nor symmetric."""
    return np.floor(3 / (1 + np.exp(-np.clip(z, -50, 50) - 0.3)) + 1e-9) - 7


SQUASHING: dict[str, Function] = {
    "sigmoid": scipy.special.expit,
    "tanh": np.tanh,
    "arctan, whose tails are long": np.arctan,
    "a ramp": lambda z: np.clip(z, 0, 1),
    "a jump": np.sign,
    "several jumps": devil,
    "the normal distribution": scipy.special.ndtr,
    "shifted far": lambda z: 1 / (1 + np.exp(-np.clip(z - 40, -700, 700))),
}
FUNCTIONS: dict[str, tuple[Function, float]] = {  # with their Lipschitz constants
    "a product": (lambda x: x[:, 0] * x[:, 1], 2**0.5),
    "a cone": (lambda x: np.sqrt(((x - 0.4) ** 2).sum(axis=1)), 1.0),
    "a wave across": (lambda x: np.sin(3 * x[:, 0] - x[:, 1]), 10**0.5),
}


def fresh(inputs: int) -> Any:
    """Points of our own."""
    return np.random.default_rng(77).random((3000, inputs))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_two_inputs_by_relus(name: str) -> None:
    f, lipschitz = FUNCTIONS[name]
    net = ridge_interpolant(f, 2, eps=0.1)
    assert net.error <= 0.1
    assert np.abs(net(fresh(2)) - f(fresh(2))).max() <= 0.1 * 1.1
    proven = ridge_interpolant(f, 2, degree=6, lipschitz=lipschitz)
    assert proven.bound is not None
    assert np.abs(proven(fresh(2)) - f(fresh(2))).max() <= proven.bound


@pytest.mark.parametrize("name", SQUASHING)
def test_any_squashing_function_will_do(name: str) -> None:
    def f(x: Any) -> Any:
        return np.cos(4 * x[:, 0])

    def g(x: Any) -> Any:
        return x[:, 0] * x[:, 1]

    one = ridge_interpolant(f, 1, eps=0.05, squash=SQUASHING[name])
    assert np.abs(one(fresh(1)) - f(fresh(1))).max() <= 0.05 * 1.05
    two = ridge_interpolant(g, 2, eps=0.2, squash=SQUASHING[name])
    assert np.abs(two(fresh(2)) - g(fresh(2))).max() <= 0.2
    bounded = ridge_interpolant(f, 1, degree=50, squash=SQUASHING[name], lipschitz=4)
    assert bounded.bound is not None
    assert np.abs(bounded(fresh(1)) - f(fresh(1))).max() <= bounded.bound < 0.05


def test_three_inputs() -> None:
    net = ridge_interpolant(lambda x: x.max(axis=1), 3, eps=0.25)
    assert np.abs(net(fresh(3)) - fresh(3).max(axis=1)).max() <= 0.25 * 1.1


def test_the_network_is_the_formula_it_is_said_to_be() -> None:
    net = ridge_interpolant(lambda x: x[:, 0] - x[:, 1] ** 2, 2, eps=0.1)
    x = fresh(2)
    np.testing.assert_allclose(net(x), np.maximum(x @ net.W + net.b, 0) @ net.v + net.c, atol=1e-9)
    assert net.W.shape == (2, net.units)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1000), st.integers(2, 5))
def test_the_bound_holds_against_any_function_with_that_constant(seed: int, degree: int) -> None:
    """Of the form min_j (h_j + |x - p_j|), which has the constant 1."""
    rng = np.random.default_rng(seed)
    points, heights = rng.random((6, 2)), rng.random(6)

    def f(x: Any) -> Any:
        return (heights + np.sqrt(((x[:, None] - points) ** 2).sum(axis=2))).min(axis=1)

    for squash in (None, np.tanh):
        net = ridge_interpolant(f, 2, degree=degree, lipschitz=1.0, squash=squash)
        assert net.bound is not None
        assert max(np.abs(net(points) - f(points)).max(), net.error) <= net.bound


@pytest.mark.parametrize("n", [1, 2, 5, 30])
def test_the_weights_of_fejer_and_korovkin(n: int) -> None:
    """Nowhere negative, of sum 1, and concentrated: the facts on which the proof stands."""
    rho = korovkin(n)
    assert rho[0] == pytest.approx(1)
    assert rho[1] == pytest.approx(np.cos(np.pi / (n + 2)))
    cells = 2 * n + 2
    for x in np.linspace(0, 1, 7):
        t = x - 2 * np.arange(cells) / cells
        weights = (1 + 2 * np.cos(np.pi * np.outer(t, np.arange(1, n + 1))) @ rho[1:]) / cells
        assert weights.min() > -1e-14
        assert weights.sum() == pytest.approx(1)
        distance = np.abs((t + 1) % 2 - 1)
        assert weights @ distance**2 <= np.sin(np.pi / (2 * (n + 2))) ** 2 + 1e-14


def test_what_is_refused() -> None:
    def f(x: Any) -> Any:
        return x[:, 0]

    with pytest.raises(ConfigError, match="either the largest error"):
        ridge_interpolant(f, 1)
    with pytest.raises(ConfigError, match="more than lipschitz"):
        ridge_interpolant(f, 1, 0.1, lipschitz=0.9)
    with pytest.raises(ConfigError, match="must be a function"):
        ridge_interpolant(3, 1, 0.1)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="one number per row"):
        ridge_interpolant(lambda x: x, 2, 0.1)
    with pytest.raises(DataError, match="finite on the whole cube"):
        ridge_interpolant(lambda x: 1 / x[:, 0], 1, 0.1)
    with pytest.raises(DataError, match="nondecreasing"):
        ridge_interpolant(f, 1, 0.1, squash=lambda z: np.tanh(z) + 3 * np.exp(-z * z))
    with pytest.raises(DataError, match="rise from one limit"):
        ridge_interpolant(f, 1, 0.1, squash=lambda z: -np.tanh(z))
    with pytest.raises(DataError, match="not near its limits"):
        ridge_interpolant(f, 1, 0.1, squash=lambda z: z)
    with pytest.raises(FitError, match="larger eps"):
        ridge_interpolant(lambda x: x.prod(axis=1), 2, 1e-5, squash=np.sign)
    with pytest.raises(DataError, match="2 columns"):
        ridge_interpolant(lambda x: x.sum(axis=1), 2, 0.5)(np.zeros((3, 1)))


# ---- polynomials ----


@pytest.mark.parametrize(("degree", "floor"), [(0, 0.5), (1, 0.5), (2, 0.125), (3, 0.125)])
def test_the_best_polynomials_for_the_size_of_a_number(degree: int, floor: float) -> None:
    """|x| on [-1, 1]: 1/2, then x² + 1/8."""
    found = best_polynomial(np.abs, degree, -1, 1)
    assert found.floor == pytest.approx(floor, abs=1e-9)
    x = np.linspace(-1, 1, 5001)
    assert np.abs(np.abs(x) - found.polynomial(x)).max() == pytest.approx(floor, abs=1e-3)


def test_an_exact_polynomial_is_found() -> None:
    found = best_polynomial(lambda x: x**3 - 2 * x, 3, -2, 5)
    assert found.floor == pytest.approx(0, abs=1e-6)
    assert found.polynomial(np.array([1.5])) == pytest.approx(1.5**3 - 3)


@pytest.mark.parametrize("degree", [2, 3])
def test_no_width_helps_units_that_are_polynomials(degree: int) -> None:
    """A hundred units span as many functions as degree + 1 do, and stay above the floor; two ReLUs do not."""
    rng = np.random.default_rng(degree)
    x = np.linspace(-1, 1, 401)
    floor = best_polynomial(np.abs, degree, -1, 1).floor
    hidden = (x[:, None] * rng.normal(size=100) + rng.normal(size=100)) ** degree
    assert np.linalg.matrix_rank(hidden, rtol=1e-10) == degree + 1
    v = np.linalg.lstsq(hidden, np.abs(x))[0]
    assert np.abs(hidden @ v - np.abs(x)).max() >= floor
    assert relu_interpolant(np.abs, -1, 1, units=2).error < 1e-9


def test_what_is_no_interval_or_degree_is_refused() -> None:
    with pytest.raises(ConfigError, match="a < b"):
        best_polynomial(np.abs, 2, 1, 1)
    with pytest.raises(DataError, match="finite number"):
        best_polynomial(lambda x: 1 / x, 2, -1, 1)
    with pytest.raises(ConfigError, match="points"):
        best_polynomial(np.abs, 5, -1, 1, points=3)
