"""gradient_check: backpropagation against central differences of the objective itself.

    ∂f/∂θ_j ≈ (f(θ + h e_j) - f(θ - h e_j)) / 2h

is off by about h² and by rounding / h; at h = 1e-5 both are some 1e-10 of the numbers involved. A unit of relu whose
input is within h of 0 has no derivative to compare with.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from linnet.errors import ConfigError
from linnet.fit.solvers.problem import Floats
from linnet.model.network import Network


@dataclass(frozen=True, slots=True)
class BlockCheck:
    """The parameters of one kind in one layer: how many were compared, and the largest difference, relative to the
    largest derivative of the block or, if that is smaller, a hundredth of the largest of all.
    """

    name: str
    parameters: int
    compared: int
    difference: float


@dataclass(frozen=True, slots=True)
class GradientCheck:
    """What gradient_check found; prints as a table."""

    blocks: tuple[BlockCheck, ...]

    @property
    def worst(self) -> float:
        """The largest relative difference."""
        return max(block.difference for block in self.blocks)

    def __str__(self) -> str:
        lines = [f"{'block':<22}{'parameters':>12}{'compared':>10}{'largest relative difference':>30}"]
        lines += [f"{b.name:<22}{b.parameters:>12}{b.compared:>10}{b.difference:>30.2e}" for b in self.blocks]
        return "\n".join(lines)


def gradient_check(
    model: Any,
    X: object,
    y: object,
    sample_weight: object = None,
    *,
    step: float = 1e-5,
    most: int = 50,
    verbose: bool = True,
    **how: object,
) -> GradientCheck:
    """Compare the derivatives of a fitted model's objective, block by block, and print the table.

    Of a block with many parameters `most` are compared, spread evenly. The objective is taken in float64, without
    dropout; `how` is what it also takes: offset, exposure.
    """
    if not hasattr(model, "objective"):
        raise ConfigError(f"gradient_check takes an MLPClassifier or MLPRegressor, got {type(model).__name__}")
    problem, theta = model.objective(X, y, sample_weight, **how)
    network: Network = problem.network
    gradient: Floats = problem.at(theta).gradient
    largest = float(np.abs(gradient).max())
    checks, start = [], 0
    for number, (inputs, outputs) in enumerate(network.shapes, 1):
        for kind, size in (("weights", inputs * outputs), ("biases", outputs)):
            places = start + np.unique(np.linspace(0, size - 1, min(most, size)).round().astype(int))
            scale = max(float(np.abs(gradient[start : start + size]).max()), 1e-2 * largest, 1e-300)
            off = max(abs(_difference(problem, theta, place, step) - gradient[place]) for place in places)
            checks.append(BlockCheck(f"layer {number} {kind}", size, len(places), float(off) / scale))
            start += size
    found = GradientCheck(tuple(checks))
    if verbose:
        print(found)
    return found


def _difference(problem: Any, theta: Floats, place: int, step: float) -> float:
    values = []
    for move in (step, -step):
        moved = theta.copy()
        moved[place] += move
        values.append(problem.at(moved).value)
    return float(values[0] - values[1]) / (2 * step)
