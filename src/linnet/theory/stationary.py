"""Stationary points under equality constraints, by Newton's method on the Lagrangian.

Where f is largest or smallest among the x with g_1(x) = ... = g_m(x) = 0, and the gradients of the constraints are
linearly independent, the gradient of f is a combination of theirs:

    ∇f = Σ_i λ_i ∇g_i,   that is, L(x, λ) = f(x) - Σ_i λ_i g_i(x) is stationary in x and in λ.

With one constraint: the two gradients are parallel, for if ∇f had a part along the constraint, one could go there and
do better. Without constraints ∇f = 0. Newton's method solves these n + m equations; all derivatives come from
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

_ENOUGH = 1e-10  # of the sizes of what is compared
_SETTLED = 1e-10  # of the size of x: what is left of a step
_DEPENDENT = 1e-8  # of the largest singular value
_FLAT = 1e-8  # of the largest curvature
_BESIDE = 1e-6  # of the size of x: how far away curvatures are looked at again
_FADING = 1e-2  # of the curvature there
_SINGULAR = 1e-12  # of the largest singular value
_ROUNDING = 1e-15  # of what the equations are counted in
_AROUND = 100  # times what is left of a step: so far around x everything must be finite
_HALVINGS = 40


@dataclass(frozen=True, slots=True)
class Stationary:
    """A stationary point of f under constraints; prints as the equation of gradients that holds there."""

    x: Floats
    value: float
    multipliers: Floats  # λ, one a constraint; the shortest ones if they are not determined
    gradient: Floats  # ∇f
    constraint_gradients: Floats  # ∇g_i, a row each
    independent: bool  # whether the gradients of the constraints are: if not, other λ do as well
    kind: str  # "maximum", "minimum", "saddle" along the constraints, or "flat" where second derivatives do not tell
    iterations: int

    @property
    def mismatch(self) -> float:
        """The length of ∇f - Σ λ_i ∇g_i."""
        return float(np.linalg.norm(self.gradient - self.multipliers @ self.constraint_gradients))

    def __str__(self) -> str:
        what = f"{self.kind} point" if self.kind in ("flat", "saddle") else self.kind
        lines = [f"{what} of f at x = {_numbers(self.x)}, f = {self.value:.6g}"]
        lines.append(f"gradient of f      {_numbers(self.gradient)}")
        for i, (factor, row) in enumerate(zip(self.multipliers, self.constraint_gradients, strict=True), 1):
            lines.append(f"gradient of g_{i}    {_numbers(row)}   multiplier {factor:.6g}")
        lines.append(f"|gradient of f - sum of multiplier x gradient of g| = {self.mismatch:.1e}")
        if not self.independent:
            lines.append("the gradients of the constraints are linearly dependent: other multipliers do as well")
        return "\n".join(lines)


def lagrange(
    f: Function, constraints: Function | Sequence[Function], x0: ArrayLike, *, max_iter: int = 100
) -> Stationary:
    """Return the stationary point of f under `constraints` (each g(x) = 0) that Newton's method finds from x0.

    f and each g take an array in the shape of x0 and give one number. Without constraints, `constraints=[]`, it is a
    critical point of f. Only points are returned around which f, the constraints and their slopes are finite.

    >>> circle = lambda x: x[0] ** 2 + x[1] ** 2 - 1
    >>> top = lagrange(lambda x: x[0] + x[1], circle, [1.0, 0.0])
    >>> top.x.round(6), top.multipliers.round(6), top.kind
    (array([0.707107, 0.707107]), array([0.707107]), 'maximum')
    """
    check_whole(max_iter, "max_iter", at_least=1)
    given = [constraints] if callable(constraints) else list(constraints)
    if not all(callable(g) for g in given):
        raise ConfigError("constraints must be a function g with g(x) = 0, or a list of them, which may be empty")
    if not callable(f):
        raise ConfigError(f"f must be a function of x, got {f!r}")
    try:
        start = np.asarray(x0, np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"x0 must be numbers: {error}") from error
    if start.size == 0:
        raise DataError("x0 must have a number at least")
    if not np.isfinite(start).all():
        raise DataError("x0 must be finite")
    system = _System(f, given, start.shape)
    x = start.ravel().copy()
    if not all(np.isfinite(numbers).all() for numbers in system.gradients(x)):
        raise DataError("f or a constraint, or a derivative of one, is not finite at x0: start elsewhere")
    multipliers = system.multipliers(x)
    equations = system.equations(x, multipliers)
    for iteration in range(max_iter + 1):
        of_f = system.hessian(x)
        moved = float(max(np.abs(x).max(), np.abs(x - start.ravel()).max()))  # the scale on which x has digits
        of_unknown, per = system.units(x, of_f, moved)
        curvature = system.curvature(x, multipliers, of_f)
        if not np.isfinite(curvature).all():
            break
        matrix = per[:, None] * system.matrix(x, curvature) * of_unknown
        inverse = np.linalg.pinv(matrix, rcond=_SINGULAR)
        way = -inverse @ (per * equations)
        step, length, size = of_unknown * way, 1.0, np.linalg.norm(per * equations)
        settled = np.abs(step[: x.size]).max() <= _SETTLED * moved
        # no step at all is made where f fades out: its slope is left, but no curvature that could tell how far to go
        answered = np.linalg.norm(matrix @ way + per * equations) <= max(0.5 * float(size), _ROUNDING)
        # at the edge of where a logarithm is defined the equations may hold ever better, and never do
        inside = system.is_defined(x, _AROUND * step[: x.size])
        if settled and inside and answered and system.solved(x, multipliers, equations, of_f, moved):
            return system.result(x, multipliers, curvature, iteration)
        for _ in range(_HALVINGS):
            trial = x + length * step[: x.size], multipliers + length * step[x.size :]
            there = system.equations(*trial)
            shorter = np.linalg.norm(inverse @ (per * there)) < (1 - length / 4) * np.linalg.norm(way)
            if shorter or np.linalg.norm(per * there) < (1 - 1e-4 * length) * size:  # false for nan
                break
            length /= 2
        else:  # rounding alone may be left
            if inside and answered and system.solved(x, multipliers, equations, of_f, 1 + float(np.abs(x).max())):
                return system.result(x, multipliers, curvature, iteration)
            break
        x, multipliers, equations = *trial, there
    used = f"{iteration} steps" + (f", which is max_iter={max_iter}," if iteration == max_iter else "")
    raise FitError(system.why_not(start.ravel(), x, used))


class _System:
    """∇f - Σ λ ∇g = 0 and g = 0, with their derivatives, on flat x."""

    def __init__(self, f: Function, constraints: Sequence[Function], shape: tuple[int, ...]) -> None:
        def flat(function: Function) -> Function:
            return lambda x: function(x.reshape(shape) if shape else x[0])

        self.shape = shape
        self.f = flat(f)
        self.constraints = [flat(g) for g in constraints]

    def gradients(self, x: Floats) -> tuple[float, Floats, Floats, Floats]:
        """f, ∇f, g and ∇g, a row a constraint."""
        with np.errstate(all="ignore"):  # what is not finite is seen by whoever asks
            value, gradient = graph.value_and_grad(self.f)(x)
            pairs = [graph.value_and_grad(g)(x) for g in self.constraints]
        rows = np.array([pair[1] for pair in pairs]).reshape(-1, x.size)
        return float(value), gradient, np.array([pair[0] for pair in pairs]), rows

    def multipliers(self, x: Floats) -> Floats:
        """The shortest λ for which Σ λ ∇g is nearest ∇f."""
        _, gradient, _, rows = self.gradients(x)
        return np.asarray(np.linalg.lstsq(rows.T, gradient, rcond=_DEPENDENT)[0]) if len(rows) else np.empty(0)

    def units(self, x: Floats, hessian: Floats, spread: float) -> tuple[Floats, Floats]:
        """What each of (x, λ) is counted in, and what each equation is multiplied by, so that the units of x, f and g
        do not matter to what counts as small: those at x, as where f is flat its slope and curvature fade together.
        """
        _, gradient, _, rows = self.gradients(x)
        of_x = _or_one(spread)
        of_f = _or_one(max(np.abs(gradient).max() * of_x, np.abs(hessian).max() * of_x**2))
        of_g = np.array([_or_one(np.abs(row).max() * of_x) for row in rows])
        return np.append(np.full(x.size, of_x), of_f / of_g), np.append(np.full(x.size, of_x / of_f), 1 / of_g)

    def is_defined(self, x: Floats, around: Floats) -> bool:
        """Whether f, the constraints and their slopes are finite on both sides of x."""
        sides = (self.gradients(x + around), self.gradients(x - around))
        return all(np.isfinite(numbers).all() for side in sides for numbers in side)

    def equations(self, x: Floats, multipliers: Floats) -> Floats:
        """∇f - Σ λ ∇g and g; NaN where f is no number: 1/x is one below 0, where log x is none."""
        value, gradient, g, rows = self.gradients(x)
        found = np.concatenate([gradient - multipliers @ rows, g])
        return found if np.isfinite(value) else np.full_like(found, np.nan)

    def hessian(self, x: Floats) -> Floats:
        """The second derivatives of f."""
        return np.asarray(graph.hessian(self.f)(x))

    def curvature(self, x: Floats, multipliers: Floats, of_f: Floats) -> Floats:
        """The second derivatives of the Lagrangian in x."""
        total = of_f
        for factor, g in zip(multipliers, self.constraints, strict=True):
            total = total - factor * graph.hessian(g)(x)
        return total

    def matrix(self, x: Floats, curvature: Floats) -> Floats:
        rows = self.gradients(x)[3]
        zero = np.zeros((len(rows), len(rows)))
        return np.block([[curvature, -rows.T], [rows, zero]])

    def solved(self, x: Floats, multipliers: Floats, equations: Floats, of_f: Floats, spread: float) -> bool:
        """Whether the equations hold to ten digits of the size of their terms, for an x as large as `spread`."""
        _, gradient, _, rows = self.gradients(x)
        size = np.abs(gradient).max() + np.abs(multipliers[:, None] * rows).max(initial=0.0)
        # ∇f may be 0, where constraints change nothing: then what counts is how much it changes with x
        size += np.abs(of_f).sum(axis=1).max() * spread
        near = np.abs(rows).sum(axis=1) * spread
        parallel = np.abs(equations[: x.size]).max() <= _ENOUGH * max(float(size), 1e-300)
        return bool(parallel and (np.abs(equations[x.size :]) <= _ENOUGH * np.maximum(near, 1e-300)).all())

    def result(self, x: Floats, multipliers: Floats, curvature: Floats, iterations: int) -> Stationary:
        value, gradient, _, rows = self.gradients(x)
        values, right = np.linalg.svd(rows)[1:] if len(rows) else (np.empty(0), np.eye(x.size))
        rank = int((values > _DEPENDENT * values.max(initial=0.0)).sum())
        if rank < len(rows):
            multipliers = self.multipliers(x)
            curvature = self.curvature(x, multipliers, self.hessian(x))
        along = right[rank:]  # directions that keep to the constraints
        bends, ways = np.linalg.eigh(along @ curvature @ along.T)
        least = _FLAT * max(float(np.abs(bends).max(initial=0)), 1e-300)
        if len(bends) == 0:
            kind = "only point"
        elif (np.abs(bends) <= np.maximum(least, self.beside(x, multipliers, ways.T @ along))).any():
            kind = "flat"
        else:
            kind = "minimum" if (bends > 0).all() else "maximum" if (bends < 0).all() else "saddle"
        at = x.reshape(self.shape)
        return Stationary(at, value, multipliers, gradient, rows, rank == len(rows), kind, iterations)

    def beside(self, x: Floats, multipliers: Floats, ways: Floats) -> Floats:
        """How small the curvature along each of the ways is if x, which is not exact, lies where it vanishes."""
        far, found = _BESIDE * (1 + float(np.abs(x).max())), np.zeros(len(ways))
        here = self.equations(x, multipliers)[: x.size]
        for k, way in enumerate(ways):
            for step in (-far * way, far * way):
                there = self.equations(x + step, multipliers)[: x.size]
                if np.isfinite(there).all():  # f may end beside x
                    found[k] = max(found[k], np.linalg.norm(ways @ (there - here)) / far)
        return _FADING * found

    def why_not(self, start: Floats, x: Floats, steps: str) -> str:
        g, rows = self.gradients(x)[2:]
        text = f"no stationary point was found from x0: after {steps} x = {_numbers(x)}"
        if not self.is_defined(x, 1e-3 * (x - start)):
            return (
                f"{text}, at the edge of where f and the constraints are defined; start elsewhere, or see if f has one"
            )
        if not len(rows):
            return f"{text}; start nearer to one, or see whether f has one"
        text += f", g = {_numbers(g)}"
        first, last = (np.linalg.svd(here, compute_uv=False) for here in (self.gradients(start)[3], rows))
        if first[0] == 0:
            return (
                f"{text}; the gradients of the constraints are all 0 at x0, so that no direction leads towards them: "
                "start elsewhere, or see whether they can hold at all"
            )
        if (np.abs(g) > 1e-3 * (1 + np.abs(x).max())).any():
            return f"{text}; there may be no x where all constraints hold"
        if last[-1] <= 1e-2 * first[0]:
            return (
                f"{text}; there the gradients of the constraints are linearly dependent, or nearly, and then "
                "multipliers need not exist: leave a constraint out, or write it so that its gradient is not 0 there"
            )
        return f"{text}; start nearer to one, or see whether f has one under these constraints"


def _or_one(size: float) -> float:
    return float(size) if 0 < size < np.inf else 1.0


def _numbers(x: Floats) -> str:
    return "(" + ", ".join(f"{number:.6g}" for number in x.ravel()) + ")"
