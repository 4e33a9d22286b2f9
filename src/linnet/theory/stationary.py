"""Stationary points under equality constraints, by Newton's method on the Lagrangian.

Where f has an extremum among the x with g_1(x) = ... = g_m(x) = 0, and the gradients of the constraints are linearly
independent, the gradient of f is a linear combination of theirs:

    ∇f = Σ_i λ_i ∇g_i,   that is, L(x, λ) = f(x) - Σ_i λ_i g_i(x) is stationary in x and in λ.

With one constraint the two gradients are parallel: if ∇f had a component along the constraint, f could be improved by
moving there. Without constraints ∇f = 0. Newton's method solves these n + m equations; all derivatives come from
`linnet.theory.graph`, so f and g are plain NumPy.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linnet.checks import check_whole
from linnet.errors import ConfigError, DataError, FitError
from linnet.theory import graph

Floats = NDArray[np.float64]
Function = Callable[[Any], Any]

_EQUATION_TOLERANCE = 1e-10  # relative to the terms of the equations
_STEP_TOLERANCE = 1e-10  # relative to x
_RANK_TOLERANCE = 1e-8  # relative to the largest singular value of the constraints' gradients
_FLAT_TOLERANCE = 1e-8  # relative to the largest curvature
_NEARBY_DISTANCE = 1e-6  # relative to x: where curvatures are computed again
_VANISHING_SHARE = 1e-2  # of the nearby curvature
_PINV_TOLERANCE = 1e-12  # relative to the largest singular value of the system
_ROUNDING = 1e-15  # in the scaled units of the equations
_DOMAIN_STEPS = 100  # multiples of the last step within which everything must be finite
_MAX_HALVINGS = 40


@dataclass(frozen=True, slots=True)
class Stationary:
    """A stationary point of f under constraints; print it for the equation of the gradients there.

    Parameters
    ----------
    x : array
        The point.
    value : float
        f(x).
    multipliers : array of shape (constraints,)
        λ; if it is not unique, the λ of smallest norm.
    gradient : array
        ∇f, flattened.
    constraint_gradients : array of shape (constraints, size of x)
        ∇g_i, one row per constraint.
    independent : bool
        Whether the gradients of the constraints are linearly independent, so that λ is unique.
    kind : str
        "maximum", "minimum" or "saddle" along the constraints; "flat" if the second derivatives are inconclusive; "only
        point" if the constraints leave no direction.
    iterations : int
        The number of Newton steps.
    """

    x: Floats
    value: float
    multipliers: Floats
    gradient: Floats
    constraint_gradients: Floats
    independent: bool
    kind: str
    iterations: int

    @property
    def mismatch(self) -> float:
        """The Euclidean norm of ∇f - Σ λ_i ∇g_i."""
        return float(np.linalg.norm(self.gradient - self.multipliers @ self.constraint_gradients))

    def __str__(self) -> str:
        kind = f"{self.kind} point" if self.kind in ("flat", "saddle") else self.kind
        lines = [f"{kind} of f at x = {_numbers(self.x)}, f = {self.value:.6g}"]
        lines.append(f"gradient of f      {_numbers(self.gradient)}")
        for i, (factor, row) in enumerate(zip(self.multipliers, self.constraint_gradients, strict=True), 1):
            lines.append(f"gradient of g_{i}    {_numbers(row)}   multiplier {factor:.6g}")
        lines.append(f"|gradient of f - sum of multiplier x gradient of g| = {self.mismatch:.1e}")
        if not self.independent:
            lines.append("the gradients of the constraints are linearly dependent: the multipliers are not unique")
        return "\n".join(lines)


def lagrange(
    f: Function, constraints: Function | Sequence[Function], x0: ArrayLike, *, max_iter: int = 100
) -> Stationary:
    """Return a stationary point of f under equality constraints, found by Newton's method.

    Only points are returned around which f, the constraints and their gradients are finite.

    Parameters
    ----------
    f : function
        The function, written in NumPy; takes an array in the shape of x0 and returns one number.
    constraints : function or list of functions
        Functions g, like f, with the constraint g(x) = 0. An empty list for a critical point of f.
    x0 : array
        The starting point.
    max_iter : int, default=100
        The largest number of Newton steps.

    Returns
    -------
    Stationary
        The point, its multipliers and its kind.

    Raises
    ------
    FitError
        If no stationary point was found.

    Examples
    --------
    >>> circle = lambda x: x[0] ** 2 + x[1] ** 2 - 1
    >>> top = lagrange(lambda x: x[0] + x[1], circle, [1.0, 0.0])
    >>> top.x.round(6), top.multipliers.round(6), top.kind
    (array([0.707107, 0.707107]), array([0.707107]), 'maximum')
    """
    check_whole(max_iter, "max_iter", at_least=1)
    functions = [constraints] if callable(constraints) else list(constraints)
    if not all(callable(g) for g in functions):
        raise ConfigError("constraints must be a function g with g(x) = 0, or a list of such functions")
    if not callable(f):
        raise ConfigError(f"f must be a function of x, got {f!r}")
    try:
        start = np.asarray(x0, np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"x0 must be numbers: {error}") from error
    if start.size == 0:
        raise DataError("x0 must have at least one number")
    if not np.isfinite(start).all():
        raise DataError("x0 must be finite")
    system = _System(f, functions, start.shape)
    x = start.ravel().copy()
    if not all(np.isfinite(values).all() for values in system.gradients(x)):
        raise DataError("f, a constraint or one of their derivatives is not finite at x0: start elsewhere")
    multipliers = system.multipliers(x)
    equations = system.equations(x, multipliers)
    for iteration in range(max_iter + 1):
        hessian = system.hessian(x)
        spread = float(max(np.abs(x).max(), np.abs(x - start.ravel()).max()))  # the scale of x
        unknown_units, equation_factors = system.units(x, hessian, spread)
        curvature = system.curvature(x, multipliers, hessian)
        if not np.isfinite(curvature).all():
            break
        matrix = equation_factors[:, None] * system.matrix(x, curvature) * unknown_units
        inverse = np.linalg.pinv(matrix, rcond=_PINV_TOLERANCE)
        scaled_step = -inverse @ (equation_factors * equations)
        step, length, size = unknown_units * scaled_step, 1.0, np.linalg.norm(equation_factors * equations)
        settled = np.abs(step[: x.size]).max() <= _STEP_TOLERANCE * spread
        # where f levels off at infinity, it has a slope but no curvature that could set the length of a step
        solvable = np.linalg.norm(matrix @ scaled_step + equation_factors * equations) <= max(
            0.5 * float(size), _ROUNDING
        )
        # at the boundary of a logarithm's domain the residual may shrink without end, though there is no solution
        inside = system.is_defined(x, _DOMAIN_STEPS * step[: x.size])
        if settled and inside and solvable and system.solved(x, multipliers, equations, hessian, spread):
            return system.result(x, multipliers, curvature, iteration)
        for _ in range(_MAX_HALVINGS):
            trial = x + length * step[: x.size], multipliers + length * step[x.size :]
            at_trial = system.equations(*trial)
            shorter = np.linalg.norm(inverse @ (equation_factors * at_trial)) < (1 - length / 4) * np.linalg.norm(
                scaled_step
            )
            if shorter or np.linalg.norm(equation_factors * at_trial) < (1 - 1e-4 * length) * size:  # false for nan
                break
            length /= 2
        else:  # the residual may be rounding only
            if inside and solvable and system.solved(x, multipliers, equations, hessian, 1 + float(np.abs(x).max())):
                return system.result(x, multipliers, curvature, iteration)
            break
        x, multipliers, equations = *trial, at_trial
    steps = f"{iteration} steps" + (f", which is max_iter={max_iter}," if iteration == max_iter else "")
    raise FitError(system.failure(start.ravel(), x, steps))


class _System:
    """∇f - Σ λ ∇g = 0 and g = 0, with their derivatives, on flat x."""

    def __init__(self, f: Function, constraints: Sequence[Function], shape: tuple[int, ...]) -> None:
        def flat(function: Function) -> Function:
            return lambda x: function(x.reshape(shape) if shape else x[0])

        self.shape = shape
        self.f = flat(f)
        self.constraints = [flat(g) for g in constraints]

    def gradients(self, x: Floats) -> tuple[float, Floats, Floats, Floats]:
        """Return f, ∇f, g and ∇g, one row per constraint."""
        with np.errstate(all="ignore"):  # callers check for values that are not finite
            value, gradient = graph.value_and_grad(self.f)(x)
            pairs = [graph.value_and_grad(g)(x) for g in self.constraints]
        rows = np.array([pair[1] for pair in pairs]).reshape(-1, x.size)
        return float(value), gradient, np.array([pair[0] for pair in pairs]), rows

    def multipliers(self, x: Floats) -> Floats:
        """Return the λ of smallest norm for which Σ λ ∇g is nearest ∇f."""
        _, gradient, _, rows = self.gradients(x)
        return np.asarray(np.linalg.lstsq(rows.T, gradient, rcond=_RANK_TOLERANCE)[0]) if len(rows) else np.empty(0)

    def units(self, x: Floats, hessian: Floats, spread: float) -> tuple[Floats, Floats]:
        """Return the unit of each of (x, λ) and the factor of each equation.

        They make tolerances independent of the units of x, f and g. They are taken at the current x, as slope and
        curvature vanish together where f is flat.
        """
        _, gradient, _, rows = self.gradients(x)
        x_unit = _or_one(spread)
        f_unit = _or_one(max(np.abs(gradient).max() * x_unit, np.abs(hessian).max() * x_unit**2))
        g_units = np.array([_or_one(np.abs(row).max() * x_unit) for row in rows])
        units = np.append(np.full(x.size, x_unit), f_unit / g_units)
        return units, np.append(np.full(x.size, x_unit / f_unit), 1 / g_units)

    def is_defined(self, x: Floats, offset: Floats) -> bool:
        """Return whether f, the constraints and their gradients are finite on both sides of x."""
        sides = (self.gradients(x + offset), self.gradients(x - offset))
        return all(np.isfinite(values).all() for side in sides for values in side)

    def equations(self, x: Floats, multipliers: Floats) -> Floats:
        """Return ∇f - Σ λ ∇g and g; NaN if f is not finite, as its gradient may be: log x has a slope 1/x below 0."""
        value, gradient, g, rows = self.gradients(x)
        residuals = np.concatenate([gradient - multipliers @ rows, g])
        return residuals if np.isfinite(value) else np.full_like(residuals, np.nan)

    def hessian(self, x: Floats) -> Floats:
        """Return the second derivatives of f."""
        return np.asarray(graph.hessian(self.f)(x))

    def curvature(self, x: Floats, multipliers: Floats, hessian: Floats) -> Floats:
        """Return the second derivatives of the Lagrangian in x."""
        total = hessian
        for factor, g in zip(multipliers, self.constraints, strict=True):
            total = total - factor * graph.hessian(g)(x)
        return total

    def matrix(self, x: Floats, curvature: Floats) -> Floats:
        rows = self.gradients(x)[3]
        zero = np.zeros((len(rows), len(rows)))
        return np.block([[curvature, -rows.T], [rows, zero]])

    def solved(self, x: Floats, multipliers: Floats, equations: Floats, hessian: Floats, spread: float) -> bool:
        """Return whether the equations hold to a relative 1e-10 of their terms, for x of the scale `spread`."""
        _, gradient, _, rows = self.gradients(x)
        size = np.abs(gradient).max() + np.abs(multipliers[:, None] * rows).max(initial=0.0)
        # ∇f may be 0, where the constraints change nothing: then its change over the scale of x counts
        size += np.abs(hessian).sum(axis=1).max() * spread
        g_sizes = np.maximum(np.abs(rows).sum(axis=1) * spread, 1e-300)
        parallel = np.abs(equations[: x.size]).max() <= _EQUATION_TOLERANCE * max(float(size), 1e-300)
        return bool(parallel and (np.abs(equations[x.size :]) <= _EQUATION_TOLERANCE * g_sizes).all())

    def result(self, x: Floats, multipliers: Floats, curvature: Floats, iterations: int) -> Stationary:
        value, gradient, _, rows = self.gradients(x)
        values, right = np.linalg.svd(rows)[1:] if len(rows) else (np.empty(0), np.eye(x.size))
        rank = int((values > _RANK_TOLERANCE * values.max(initial=0.0)).sum())
        if rank < len(rows):
            multipliers = self.multipliers(x)
            curvature = self.curvature(x, multipliers, self.hessian(x))
        tangent = right[rank:]  # a basis of the directions along the constraints
        curvatures, directions = np.linalg.eigh(tangent @ curvature @ tangent.T)
        threshold = _FLAT_TOLERANCE * max(float(np.abs(curvatures).max(initial=0)), 1e-300)
        if len(curvatures) == 0:
            kind = "only point"
        elif (
            np.abs(curvatures) <= np.maximum(threshold, self.vanishing(x, multipliers, directions.T @ tangent))
        ).any():
            kind = "flat"
        else:
            kind = "minimum" if (curvatures > 0).all() else "maximum" if (curvatures < 0).all() else "saddle"
        at = x.reshape(self.shape)
        return Stationary(at, value, multipliers, gradient, rows, rank == len(rows), kind, iterations)

    def vanishing(self, x: Floats, multipliers: Floats, directions: Floats) -> Floats:
        """Return, for each direction, the curvature that may be 0 at the exact solution, as x is only close to it."""
        distance, curvatures = _NEARBY_DISTANCE * (1 + float(np.abs(x).max())), np.zeros(len(directions))
        at_x = self.equations(x, multipliers)[: x.size]
        for k, direction in enumerate(directions):
            for step in (-distance * direction, distance * direction):
                nearby = self.equations(x + step, multipliers)[: x.size]
                if np.isfinite(nearby).all():  # f may not be defined there
                    curvatures[k] = max(curvatures[k], np.linalg.norm(directions @ (nearby - at_x)) / distance)
        return _VANISHING_SHARE * curvatures

    def failure(self, start: Floats, x: Floats, steps: str) -> str:
        """Return the message of a search that failed, with its probable cause."""
        g, rows = self.gradients(x)[2:]
        text = f"no stationary point was found from x0: after {steps} x = {_numbers(x)}"
        if not self.is_defined(x, 1e-3 * (x - start)):
            return (
                f"{text}, at the boundary of where f and the constraints are defined; start elsewhere, or check "
                "whether f has a stationary point"
            )
        if not len(rows):
            return f"{text}; start closer to a stationary point, or check whether f has one"
        text += f", g = {_numbers(g)}"
        first, last = (np.linalg.svd(gradients, compute_uv=False) for gradients in (self.gradients(start)[3], rows))
        if first[0] == 0:
            return (
                f"{text}; the gradients of the constraints are all 0 at x0, so no direction leads towards them: "
                "start elsewhere, or check whether the constraints can be satisfied"
            )
        if (np.abs(g) > 1e-3 * (1 + np.abs(x).max())).any():
            return f"{text}; there may be no x where all constraints hold"
        if last[-1] <= 1e-2 * first[0]:
            return (
                f"{text}; the gradients of the constraints are linearly dependent there, or nearly so, and then "
                "multipliers need not exist: drop a constraint, or rewrite it with a gradient other than 0 there"
            )
        return f"{text}; start closer to a stationary point, or check whether f has one under these constraints"


def _or_one(size: float) -> float:
    return float(size) if 0 < size < np.inf else 1.0


def _numbers(x: Floats) -> str:
    return "(" + ", ".join(f"{number:.6g}" for number in x.ravel()) + ")"
