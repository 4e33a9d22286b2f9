import doctest
from typing import Any

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

import linnet.theory.stationary as module
from linnet import theory
from linnet.errors import ConfigError, DataError, FitError
from linnet.theory.stationary import lagrange


def circle(x: Any) -> Any:
    return x[0] ** 2 + x[1] ** 2 - 1


def both(x: Any) -> Any:
    return x[0] + x[1]


@pytest.mark.parametrize(("start", "sign", "kind"), [([1.0, 0.0], 1, "maximum"), ([-0.3, -0.4], -1, "minimum")])
def test_the_sum_on_the_unit_circle(start: list[float], sign: int, kind: str) -> None:
    found = theory.lagrange(both, circle, start)
    np.testing.assert_allclose(found.x, sign * np.array([0.5, 0.5]) ** 0.5, rtol=1e-9)
    np.testing.assert_allclose(found.multipliers, sign * 0.5**0.5, rtol=1e-9)
    assert found.kind == kind
    assert found.value == pytest.approx(sign * 2**0.5)
    np.testing.assert_allclose(found.gradient, found.multipliers @ found.constraint_gradients, atol=1e-9)
    assert "multiplier" in str(found)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_quadratics_under_planes_have_the_solution_of_linear_algebra(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, c, rows, right = rng.normal(size=(4, 4)), rng.normal(size=4), rng.normal(size=(2, 4)), rng.normal(size=2)
    a = a @ a.T + np.eye(4)
    planes = [lambda x: rows[0] @ x - right[0], lambda x: rows[1] @ x - right[1]]
    found = lagrange(lambda x: x @ a @ x / 2 - c @ x, planes, rng.normal(size=4))
    whole = np.block([[a, -rows.T], [rows, np.zeros((2, 2))]])
    expected = np.linalg.solve(whole, np.concatenate([c, right]))
    np.testing.assert_allclose(np.concatenate([found.x, found.multipliers]), expected, rtol=1e-6, atol=1e-8)
    assert found.kind == "minimum"


def test_the_nearest_point_of_an_ellipsoid_against_scipy() -> None:
    p = np.array([2.0, 1.0, -1.5])
    scale = np.array([1.0, 4.0, 9.0])
    found = lagrange(lambda x: np.sum((x - p) ** 2), lambda x: np.sum(scale * x**2) - 1, p / 3)

    def distance(x: Any) -> float:
        return float(((x - p) ** 2).sum())

    other = scipy.optimize.minimize(
        distance,
        p / 3,
        constraints=scipy.optimize.NonlinearConstraint(lambda x: (scale * x**2).sum() - 1, 0, 0),
        tol=1e-12,
    )
    np.testing.assert_allclose(found.x, other.x, atol=1e-5)
    assert found.kind == "minimum"


def test_a_multiplier_is_the_price_of_its_constraint() -> None:
    """d f(x*) / d c for the constraint g(x) = c is λ."""

    def best(c: float) -> Any:
        return lagrange(lambda x: x[0] * x[1], lambda x: x[0] ** 2 + 2 * x[1] ** 2 - c, [1.0, 0.5])

    price = (best(1.0 + 1e-5).value - best(1.0 - 1e-5).value) / 2e-5
    assert best(1.0).multipliers[0] == pytest.approx(price, rel=1e-7)


def test_without_further_constraint_the_largest_entropy_is_uniform() -> None:
    found = lagrange(lambda p: -np.sum(p * np.log(p)), lambda p: np.sum(p) - 1, [0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(found.x, 0.25)
    assert found.value == pytest.approx(np.log(4))
    assert found.kind == "maximum"


def test_a_saddle_and_a_flat_place_are_called_so() -> None:
    plane = [lambda x: x[2]]
    assert lagrange(lambda x: x[0] ** 2 - x[1] ** 2 + x[2], plane, [0.3, 0.2, 0.1]).kind == "saddle"
    flat = lagrange(lambda x: x[0] ** 2 + x[2] + 0 * x[1], plane, [0.3, 0.2, 0.1])
    assert flat.kind == "flat"
    assert str(flat).startswith("flat point of f at")
    assert lagrange(lambda x: x**2, lambda x: x - 2.0, 5.0).kind == "only point"


@pytest.mark.parametrize(("unit", "size"), [(1.0, 1.0), (1e-12, 1.0), (1e8, 1.0), (1.0, 1e-20), (1.0, 1e20)])
def test_a_constraint_that_changes_nothing_has_the_multiplier_zero(unit: float, size: float) -> None:
    """(x-1)² + (y-1)² with x = y: the gradient of f is 0 at the solution, in whatever units."""
    for start in np.random.default_rng(0).normal(size=(20, 2)):
        found = lagrange(lambda x: size * np.sum((x / unit - 1) ** 2), lambda x: x[0] - x[1], unit * start)
        np.testing.assert_allclose(found.x, [unit, unit], rtol=1e-9)
        assert abs(found.multipliers[0]) < 1e-9 * size / unit
        assert found.kind == "minimum"


def test_without_constraints_critical_points_are_found() -> None:
    def valley(x: Any) -> Any:  # Rosenbrock's
        return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2

    found = lagrange(valley, [], [-1.2, 1.0])
    np.testing.assert_allclose(found.x, [1, 1], rtol=1e-8)
    assert (found.kind, found.multipliers.shape, found.constraint_gradients.shape) == ("minimum", (0,), (0, 2))
    assert str(found).startswith("minimum of f at x = (1, 1)")
    assert lagrange(lambda x: x[0] ** 2 - x[1] ** 2, [], [0.3, 0.2]).kind == "saddle"
    assert lagrange(lambda x: -np.cosh(x), [], 3.0).kind == "maximum"


@pytest.mark.parametrize("power", [3, 4])
def test_where_curvature_fades_second_derivatives_do_not_tell(power: int) -> None:
    found = lagrange(lambda x: (x[0] + x[1]) ** power + (x[0] - x[1] - 2) ** 2, [], [2.0, 0.5])
    np.testing.assert_allclose(found.x, [1, -1], atol=1e-7)
    assert found.kind == "flat"


def test_dependent_gradients_are_reported() -> None:
    found = lagrange(both, [circle, lambda x: 2 * circle(x)], [1.0, 0.0])
    assert not found.independent
    assert "linearly dependent" in str(found)
    assert found.multipliers @ [1, 2] == pytest.approx(0.5**0.5), "together they do what one does"
    assert lagrange(both, circle, [1.0, 0.0]).independent
    with pytest.raises(FitError, match="linearly dependent"):  # the only point is 0, where the gradient is 0
        lagrange(both, lambda x: x[0] ** 2 + x[1] ** 2, [1.0, 0.5])
    with pytest.raises(FitError, match="linearly dependent"):  # circle and tangent
        lagrange(both, [circle, lambda x: x[0] - 1], [0.5, 0.6])


def test_what_cannot_be_solved_is_said() -> None:
    with pytest.raises(FitError, match="no x where all constraints hold"):
        lagrange(both, lambda x: x[0] ** 2 + x[1] ** 2 + 1, [1.0, 1.0])
    with pytest.raises(ConfigError, match="constraints must be"):
        lagrange(both, [circle, 3], [1.0, 1.0])  # type: ignore[list-item]
    with pytest.raises(FitError, match=r"check whether f has one$"):
        lagrange(both, [], [1.0, 1.0])
    with pytest.raises(FitError, match="after 1 steps"):  # second derivatives are infinite there
        lagrange(lambda x: np.sum(np.abs(x) ** 1.5), [], [0.25])
    with pytest.raises(DataError, match="not finite at x0"):
        lagrange(lambda x: np.log(x[0]) + x[1], circle, [0.0, 1.0])
    with pytest.raises(DataError, match="x0 must be finite"):
        lagrange(both, circle, [np.nan, 1.0])
    with pytest.raises(DataError, match="x0 must be numbers"):
        lagrange(both, circle, ["one", "two"])
    with pytest.raises(DataError, match="at least one number"):
        lagrange(both, circle, [])
    with pytest.raises(ConfigError, match="f must be a function"):
        lagrange(3, circle, [1.0, 0.0])  # type: ignore[arg-type]
    with pytest.raises(FitError, match=r"all 0 at x0.*start elsewhere"):
        lagrange(both, circle, [0.0, 0.0])
    with pytest.raises(FitError, match="after 1 steps, which is max_iter=1, x"):
        lagrange(both, circle, [1.0, 0.0], max_iter=1)


def test_the_docstring_is_true() -> None:
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    ("constraints", "power"),
    [([], 4), (lambda x: x[0] - x[1], 4), (lambda x: x[0] + x[1] - 2, 4), (lambda x: x[0] - x[1], 6)],
    ids=["free", "same", "sum", "sixth"],
)
def test_points_where_slope_and_curvature_fade_together(constraints: Any, power: int) -> None:
    for start in np.random.default_rng(0).normal(size=(5, 2)) * 3:
        found = lagrange(lambda x: (x[0] - 1) ** power + (x[1] - 1) ** power, constraints, start)
        np.testing.assert_allclose(found.x, 1, atol=1e-3)
        assert found.kind == "flat"


@pytest.mark.parametrize("constraints", [[], lambda x: x[1]], ids=["free", "held"])
def test_a_function_that_fades_out_has_no_stationary_point(constraints: Any) -> None:
    for start in np.random.default_rng(0).normal(size=(5, 2)) * 3:
        with pytest.raises(FitError, match="no stationary point was found"):
            lagrange(lambda x: np.exp(-x[0]) + x[1] ** 2, constraints, start)
