"""Constructed networks: their error bounds hold on points that the construction did not use."""

import doctest
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

import linnet.theory.approximation as module
from linnet.errors import ConfigError, DataError, FitError
from linnet.theory.approximation import Interpolant, relu_interpolant, squash_interpolant

BUILDERS = [relu_interpolant, squash_interpolant]
Function = Callable[[Any], Any]


def relu(z: Any) -> Any:
    return np.maximum(z, 0)


def lecture(x: Any) -> Any:
    """Six units that follow x³ + x² - x - 1 by hand."""
    return (
        -relu(-5 * x - 7.7)
        - relu(-1.2 * x - 1.3)
        - relu(1.2 * x + 1)
        + relu(1.2 * x - 0.2)
        + relu(2 * x - 1.1)
        + relu(5 * x - 5)
    )


FUNCTIONS: dict[str, tuple[Function, float, float]] = {
    "sine": (np.sin, -4.0, 4.0),
    "cubic": (lambda x: x**3 + x**2 - x - 1, -2.0, 2.0),
    "corner": (lambda x: np.abs(x - 0.3), -1.0, 1.0),
    "steep": (lambda x: np.tanh(1000 * (x - 0.2)), 0.0, 1.0),
    "root": (np.sqrt, 0.0, 1.0),
    "large": (lambda x: 1e6 * np.exp(-x * x), -3.0, 3.0),
    "waves": (lambda x: np.sin(1 / (x + 0.05)), 0.0, 1.0),
    "pieces": (lecture, -2.0, 2.0),
    "flat": (lambda x: 0 * x + 3, 10.0, 11.0),
}


def largest_error(net: Interpolant, f: Function, a: float, b: float) -> float:
    """On points of our own."""
    x = np.sort(np.concatenate([np.random.default_rng(5).uniform(a, b, 50_000), net.knots, [a, b]]))
    return float(np.abs(f(x) - net(x)).max())


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize("part", [0.1, 0.01])
def test_the_error_asked_for_is_met(build: Any, name: str, part: float) -> None:
    f, a, b = FUNCTIONS[name]
    eps = part * np.abs(f(np.linspace(a, b, 1000))).max()
    net = build(f, a, b, eps)
    assert net.error <= eps
    assert largest_error(net, f, a, b) <= eps
    assert net.bound is None, "nothing is proved of an unknown function"


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize("units", [1, 7, 60])
def test_so_many_units_do_what_they_can(build: Any, name: str, units: int) -> None:
    f, a, b = FUNCTIONS[name]
    net = build(f, a, b, units=units)
    assert 1 <= net.units <= units
    assert largest_error(net, f, a, b) <= net.error * 1.01 + 1e-9 * np.abs(f(np.linspace(a, b, 1000))).max()


@pytest.mark.parametrize("build", BUILDERS)
def test_the_network_is_the_documented_formula(build: Any) -> None:
    net = build(np.cos, 0, 5, units=12)
    (w, b), (v, c) = net.network.blocks(net.theta)
    x = np.linspace(-1, 6, 999)
    inside = x[:, None] * w + b
    hidden = relu(inside) if build is relu_interpolant else scipy.special.expit(inside)
    np.testing.assert_allclose(net(x), (hidden @ v + c)[:, 0], atol=1e-12)
    assert net(0.5).shape == ()
    assert net(np.zeros((2, 3))).shape == (2, 3)
    assert net.network.layers[0].activation.name == ("relu" if build is relu_interpolant else "sigmoid")


def test_units_start_at_breakpoints_with_the_change_of_slope() -> None:
    net = relu_interpolant(np.exp, 0, 2, units=9)
    ends = np.append(net.knots, 2.0)
    np.testing.assert_allclose(net(ends), np.exp(ends), rtol=1e-12)
    slopes = np.diff(np.exp(ends)) / np.diff(ends)
    np.testing.assert_allclose(net.network.blocks(net.theta)[1].weights[:, 0], np.diff(slopes, prepend=0), rtol=1e-9)


def test_the_six_units_of_the_lectures_are_found_again() -> None:
    net = relu_interpolant(lecture, -2, 2, units=7)  # one for the first slope, one a corner
    corners = [-7.7 / 5, -1.3 / 1.2, -1 / 1.2, 0.2 / 1.2, 1.1 / 2, 1.0]
    np.testing.assert_allclose(net.knots, [-2, *corners], atol=1e-7)
    changes = net.network.blocks(net.theta)[1].weights[:, 0]
    np.testing.assert_allclose(changes, [5 + 1.2, -5, -1.2, -1.2, 1.2, 2, 5], atol=1e-5)
    assert net.error < 1e-6
    x = np.linspace(-2, 2, 1001)
    np.testing.assert_allclose(net(x), lecture(x), atol=1e-6)


def test_six_units_placed_well_beat_six_placed_by_hand() -> None:
    cubic = FUNCTIONS["cubic"][0]
    x = np.linspace(-2, 2, 10_001)
    by_hand = np.abs(cubic(x) - lecture(x)).max()
    assert relu_interpolant(cubic, -2, 2, units=6).error < by_hand


@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize(
    ("f", "lipschitz"), [(np.sin, 1.0), (lambda x: np.abs(np.sin(3 * x)), 3.0), (lambda x: 0 * x, 0.0)]
)
def test_a_lipschitz_constant_makes_it_a_bound(build: Any, f: Function, lipschitz: float) -> None:
    net = build(f, 0, 3, 0.05, lipschitz=lipschitz)
    assert net.error <= net.bound <= 0.05
    assert largest_error(net, f, 0, 3) <= net.bound
    few = build(f, 0, 3, units=4, lipschitz=lipschitz)
    assert largest_error(few, f, 0, 3) <= few.bound <= 1.2 * few.error + 1e-8


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.02, 0.5), st.sampled_from(BUILDERS))
def test_a_bound_holds_against_any_function_with_that_constant(seed: int, eps: float, build: Any) -> None:
    rng = np.random.default_rng(seed)
    corners = np.sort(rng.uniform(0, 1, 30))
    heights = np.cumsum(rng.uniform(-1, 1, 30) * np.diff(corners, prepend=0) * 4)

    def zigzag(x: Any) -> Any:
        return np.interp(x, corners, heights)

    net = build(zigzag, 0, 1, eps, lipschitz=4)
    assert np.abs(zigzag(corners) - net(corners)).max() <= net.bound <= eps


def test_breakpoints_go_where_the_function_bends() -> None:
    net = relu_interpolant(lambda x: np.exp(-50 * x * x), -3, 3, units=40)
    assert (np.abs(net.knots) < 0.5).mean() > 0.8
    evenly = np.linspace(-3, 3, 41)
    x = np.linspace(-3, 3, 20_001)
    even_error = np.abs(np.exp(-50 * x * x) - np.interp(x, evenly, np.exp(-50 * evenly**2))).max()
    assert net.error < even_error / 10


def test_the_error_falls_with_the_square_of_units_and_for_steps_with_their_number() -> None:
    straight = [relu_interpolant(np.sin, 0, 3, units=n).error for n in (10, 20, 40)]
    steps = [squash_interpolant(np.sin, 0, 3, units=n).error for n in (10, 20, 40)]
    assert straight[0] / straight[2] == pytest.approx(16, rel=0.2)
    assert steps[0] / steps[2] == pytest.approx(4, rel=0.25)


@pytest.mark.parametrize("build", BUILDERS)
def test_what_is_not_finite_is_refused(build: Any) -> None:
    with pytest.raises(DataError, match=r"f\(0\) is inf"):
        build(lambda x: 1 / x, -1, 1, 0.1)
    with pytest.raises(DataError, match=r"f\(-1\) is nan"):
        build(np.sqrt, -1, 1, 0.1)
    with pytest.raises(DataError, match="ZeroDivisionError"):
        build(lambda x: 1 / x if x else 1 // 0, -1, 1, 0.1)
    with pytest.raises(DataError, match="real numbers"):
        build(lambda x: x + 1j, -1, 1, 0.1)
    for how in ({"eps": 0.1}, {"units": 5}):  # a pole that no sample hits
        with pytest.raises(DataError, match=r"finite on the whole interval, but seems to have a pole at x = 0\.3"):
            build(lambda x: 1 / (x - 0.3), -1, 1, **how)
    spike = build(lambda x: 1e-8 / (1e-8 + (x - 0.3) ** 2), -1, 1, units=6)  # steep, and finite
    assert spike.jump == 0
    assert spike.error < 0.2


@pytest.mark.parametrize("build", BUILDERS)
def test_very_large_and_very_small_functions_are_followed_as_well_as_others(build: Any) -> None:
    error = build(np.sin, -4, 4, units=5).error
    for size in (1e280, 1e-280):
        assert build(lambda x: size * np.sin(x), -4, 4, units=5).error / size == pytest.approx(error, rel=1e-6)  # noqa: B023
    with pytest.raises(DataError, match="scale it"):
        build(lambda x: 1.7e308 * np.sin(x), -4, 4, units=5)


@pytest.mark.parametrize("build", BUILDERS)
def test_what_is_no_function_of_a_number_is_refused(build: Any) -> None:
    with pytest.raises(ConfigError, match="must be a function"):
        build(3, 0, 1, 0.1)
    with pytest.raises(DataError, match="one number for each x"):
        build(lambda x: np.stack([x, x]), 0, 1, 0.1)


@pytest.mark.parametrize("build", BUILDERS)
def test_a_jump_is_named_and_counted(build: Any) -> None:
    def step(x: Any) -> Any:
        return np.where(x > 0.3, 2.0, 0.0) + np.sin(x)

    with pytest.raises(DataError, match=r"changes by 2 at x = 0\.3.*continuous"):
        build(step, 0, 1, 0.1)
    net = build(step, 0, 1, units=20)
    assert net.jump == pytest.approx(2)
    assert net.error > 1, "no continuous function is nearer than half the jump"
    x = np.linspace(0, 1, 1001)
    assert np.median(np.abs(net(x) - step(x))) < 0.1


@pytest.mark.parametrize("build", BUILDERS)
def test_functions_of_one_number_will_do(build: Any) -> None:
    assert build(math.sin, 0, 3, 0.05).error <= 0.05
    assert build(lambda x: 0.0 if x < 1 else x - 1, 0, 3, 0.05).error <= 0.05
    np.testing.assert_array_equal(build(lambda x: 2, 0, 1, units=3)([0.0, 0.4, 1.0]), 2)


def test_wishes_that_mean_nothing_are_named() -> None:
    with pytest.raises(ConfigError, match="number of units, such as units=20"):
        relu_interpolant(np.sin, 0, 1)
    with pytest.raises(ConfigError, match="a < b"):
        relu_interpolant(np.sin, 1, 1, 0.1)
    with pytest.raises(ConfigError, match="units must be an integer"):
        relu_interpolant(np.sin, 0, 1, units=0)
    with pytest.raises(ConfigError, match="eps must be above 0"):
        relu_interpolant(np.sin, 0, 1, -0.1)
    with pytest.raises(ConfigError, match="lost in rounding"):
        relu_interpolant(np.sin, 0, 1, 1e-14)
    with pytest.raises(ConfigError, match=r"lipschitz=0\.5 allows"):
        relu_interpolant(np.sin, 0, 1, 0.1, lipschitz=0.5)
    with pytest.raises(ConfigError, match="leave lipschitz out"):
        relu_interpolant(np.sin, 0, 1, 1e-6, lipschitz=100)
    with pytest.raises(FitError, match="more than 5 units: use a larger eps or more units"):
        relu_interpolant(np.sin, 0, 3, 0.001, units=5)
    with pytest.raises(FitError, match="more than 200,000 samples"):
        relu_interpolant(lambda x: np.sin(1e7 * x), 0, 1, 0.1)


def test_it_says_what_it_knows() -> None:
    assert "largest error found on" in str(relu_interpolant(np.sin, 0, 3, 0.1))
    assert "proven to be at most" in str(relu_interpolant(np.sin, 0, 3, 0.1, lipschitz=1))


def test_the_docstrings_are_true() -> None:
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("build", [relu_interpolant, squash_interpolant])
def test_a_peak_between_the_first_samples(build: Any) -> None:
    def peak(x: Any) -> Any:
        return np.exp(-(((x - 0.1234567) / 1e-4) ** 2))

    few, many = build(peak, 0, 1, units=10), build(peak, 0, 1, units=40)
    assert many.error < few.error / 2 < 0.05
    assert abs(few(0.1234567) - 1) < 0.1
