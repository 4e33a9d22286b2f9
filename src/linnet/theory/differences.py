"""A check of backpropagation by central differences of the objective.

    ∂f/∂θ_j ≈ (f(θ + h e_j) - f(θ - h e_j)) / 2h

has an error of about h² plus rounding / h; at h = 1e-5 both are about 1e-10 of the values involved. For a relu unit
whose input is within h of 0 the two derivatives need not agree.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from linnet.arrays import ArrayLike, Table, Targets
from linnet.errors import ConfigError, warn
from linnet.fit.solvers.problem import Floats
from linnet.model.network import Network


@dataclass(frozen=True, slots=True)
class BlockCheck:
    """The result of a gradient check for one block: the weights or the biases of one layer.

    Parameters
    ----------
    name : str
        The block, such as "layer 1 weights".
    parameters : int
        The number of parameters in the block.
    compared : int
        The number of parameters compared.
    difference : float
        The largest difference, relative to the largest derivative of the block or to a hundredth of the largest
        derivative of all blocks, whichever is larger.
    """

    name: str
    parameters: int
    compared: int
    difference: float


@dataclass(frozen=True, slots=True)
class GradientCheck:
    """The result of `gradient_check`; print it for a table.

    Parameters
    ----------
    blocks : tuple of BlockCheck
        One entry per block of parameters.
    """

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
    X: Table,
    y: Targets,
    sample_weight: ArrayLike | None = None,
    *,
    step: float = 1e-5,
    max_per_block: int = 50,
    verbose: bool = True,
    **options: Any,
) -> GradientCheck:
    """Compare the gradient of a fitted network's objective with central differences, and print a table.

    The objective is computed in float64, without dropout.

    Parameters
    ----------
    model : MLPClassifier, MLPRegressor or Sequential
        The fitted model, or a compiled one.
    X : array, sparse matrix or data frame of shape (rows, columns)
        The rows of the objective.
    y : array of shape (rows,) or (rows, outputs)
        Their targets.
    sample_weight : array of shape (rows,), default=None
        Row weights.
    step : float, default=1e-5
        The step h of the differences.
    max_per_block : int, default=50
        The largest number of parameters compared in each block, spread evenly over it.
    verbose : bool, default=True
        Whether to print the table.
    **options : dict
        Further arguments of `model.objective`: offset, exposure.

    Returns
    -------
    GradientCheck
        The largest relative difference of each block.
    """
    if not hasattr(model, "objective"):
        raise ConfigError(
            f"gradient_check needs an MLPClassifier, MLPRegressor or Sequential, got {type(model).__name__}"
        )
    if "most" in options:
        max_per_block = options.pop("most")
        warn("the parameter most of gradient_check is now called max_per_block", DeprecationWarning)
    problem, theta = model.objective(X, y, sample_weight, **options)
    network: Network = problem.network
    gradient: Floats = problem.at(theta).gradient
    largest = float(np.abs(gradient).max())
    checks, start = [], 0
    for number, (inputs, outputs) in enumerate(network.shapes, 1):
        for kind, size in (("weights", inputs * outputs), ("biases", outputs)):
            if kind == "biases" and not network.layers[number - 1].bias:  # held at 0
                start += size
                continue
            indices = start + np.unique(np.linspace(0, size - 1, min(max_per_block, size)).round().astype(int))
            scale = max(float(np.abs(gradient[start : start + size]).max()), 1e-2 * largest, 1e-300)
            error = max(abs(_central_difference(problem, theta, j, step) - gradient[j]) for j in indices)
            checks.append(BlockCheck(f"layer {number} {kind}", size, len(indices), float(error) / scale))
            start += size
    result = GradientCheck(tuple(checks))
    if verbose:
        print(result)
    return result


def _central_difference(problem: Any, theta: Floats, index: int, step: float) -> float:
    values = []
    for move in (step, -step):
        moved = theta.copy()
        moved[index] += move
        values.append(problem.at(moved).value)
    return float(values[0] - values[1]) / (2 * step)
