"""A network on all its rows at once, as an objective of L-BFGS: that of stochastic training without its noise."""

from collections.abc import Callable
from typing import Self

import numpy as np

from linnet._native import core
from linnet.data.rows import Rows
from linnet.errors import ConfigError, FitError
from linnet.fit.objective import NetworkObjective, NetworkSums, penalty
from linnet.fit.solvers.lbfgs import SmoothObjective, lbfgs
from linnet.fit.solvers.problem import Floats, Point
from linnet.fit.solvers.solution import Solution, Watch, ignore_progress
from linnet.model.network import Network

_GAIN_PER_GRADIENT_TOLERANCE = 2e-5  # relative gain of the objective that ends the search, per gradient tolerance


SumsAt = Callable[[Floats], NetworkSums]


class FullBatch(SmoothObjective):
    """The mean loss plus the penalty, in float64; row weights are relative to their mean.

    Parameters
    ----------
    network : Network
        The network.
    sums : callable
        Returns the sums over all rows at a theta, with the gradient; the rows may be anywhere. See `in_memory`.
    threads : int or None, default=None
        The largest number of threads of this machine; None is all.
    """

    def __init__(self, network: Network, sums: SumsAt, threads: int | None = None) -> None:
        self.network, self.sums = network, sums
        self.size = network.size
        self.threads = threads
        self.evaluations = 0
        self.lowest: Point | None = None  # of all points so far
        self._free = np.ones(network.size)  # 0 for biases that are held at 0
        self._l1, self._l2 = np.zeros((2, network.size))
        blocks = (network.blocks(vector) for vector in (self._free, self._l1, self._l2))
        for layer, free, l1, l2 in zip(network.layers, *blocks, strict=True):
            l1.weights[:], l2.weights[:] = layer.l1, layer.l2
            free.biases[:] = layer.bias

    @classmethod
    def in_memory(cls, network: Network, rows: Rows, threads: int | None = None) -> Self:
        """Return the objective of a network on rows in memory."""
        objective = NetworkObjective(network, "float64", threads, rows=len(rows))
        return cls(network, lambda theta: objective.sums(theta, rows, gradient=True), threads)

    def at(self, theta: Floats) -> Point:
        """Return the objective and its gradient."""
        sums = self.sums(theta)
        assert sums.gradient is not None
        gradient = (sums.gradient / sums.weight + self._l2 * theta + self._l1 * np.sign(theta)) * self._free
        point = Point(theta, sums.loss / sums.weight + penalty(self.network, theta), gradient)
        self.evaluations += 1
        if self.lowest is None or point.value < self.lowest.value:
            self.lowest = point
        return point

    def best_so_far(self, iterations: int) -> Solution:
        """Return the best point of an interrupted search."""
        point = self.lowest
        assert point is not None
        assert point.gradient is not None
        norm = float(np.abs(point.gradient).max())
        return Solution(point.theta, point.value, norm, iterations, False, np.inf, np.zeros(self.size, np.bool_))


class _EnoughError(Exception):
    """The limit of evaluations is reached."""


def minimise(
    problem: FullBatch,
    theta: Floats,
    *,
    gradient_tolerance: float,
    max_iter: int,
    max_evaluations: int,
    watch: Watch = ignore_progress,
) -> Solution:
    """Run L-BFGS from theta until no entry of the gradient is above the tolerance, or gains are negligible."""
    if any(layer.l1 for layer in problem.network.layers):
        raise ConfigError("L-BFGS does not support an l1 penalty: use another solver")
    if any(layer.dropout for layer in problem.network.layers):
        raise ConfigError("L-BFGS does not support dropout, as it uses all rows at once: use another solver")
    iterations = 0
    first = problem.at(theta)
    assert first.gradient is not None
    with np.errstate(over="ignore"):
        norm = core.dot(first.gradient, first.gradient) ** 0.5
    if not np.isfinite(first.value + norm):
        remedy = "scale inputs and targets" if problem.network.head.function is None else "it must be finite everywhere"
        raise FitError(f"the loss, or its gradient, is not finite at the initial parameters of L-BFGS: {remedy}")
    # Nothing is known of the curvature at the first step. A step longer than 1 can turn off every relu for good.
    length = max(1.0, norm)

    def report(iteration: int, value: float, gap: float) -> None:
        nonlocal iterations
        iterations = iteration
        watch(iteration, value, gap)
        if problem.evaluations >= max_evaluations:
            raise _EnoughError

    try:
        return lbfgs(
            problem,
            first,
            lambda gradient: gradient / length,
            tolerance=_GAIN_PER_GRADIENT_TOLERANCE * gradient_tolerance,
            gradient_tolerance=gradient_tolerance,
            max_iter=max_iter,
            watch=report,
        )
    except _EnoughError:
        return problem.best_so_far(iterations)
