"""The twin of the trainer: the same batches, masks and optimizer steps in plain NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.data.rows import Rows
from linnet.fit.loop.optimizers import SGD, Adagrad, Adam, AdamW, Optimizer, RMSprop
from linnet.fit.loop.training import Plan
from linnet.model.network import Network

from .cases import table
from .twin import Array, Twin, dense_targets

WORD = 2**64
GOLDEN = 0x9E3779B97F4A7C15
SHUFFLE, DROPOUT, INITIAL = 1, 2, 3  # what a stream of random numbers is for


def mix(x: int) -> int:
    """The finaliser of SplitMix64."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % WORD
    return x ^ (x >> 31)


def random64(key: int, counter: int) -> int:
    return mix((key + (counter + 1) * GOLDEN) % WORD)


def random_key(seed: int, purpose: int, index: int) -> int:
    key = mix((seed + 0x632BE59BD9B4E019) % WORD)
    for part in (purpose, index, 0):
        key = mix((key + part) % WORD)
    return key


def permutation(seed: int, epoch: int, n: int) -> list[int]:
    """Fisher and Yates' shuffle of 0 .. n - 1."""
    key = random_key(seed, SHUFFLE, epoch)
    order = list(range(n))
    for i in range(n, 1, -1):
        j = random64(key, i) * i // WORD
        order[i - 1], order[j] = order[j], order[i - 1]
    return order


def dropout_mask(rate: float, seed: int, epoch: int, layer: int, positions: NDArray[np.intp], inputs: int) -> Array:
    """0 or 1 / (1 - rate) for the rows at these positions of the epoch x the inputs of a layer."""
    key = random_key(seed, DROPOUT, epoch) + layer
    row_keys = np.array([random64(key % WORD, int(position)) >> 32 for position in positions], np.uint32)
    units = np.arange(inputs, dtype=np.uint32) * np.uint32(0x9E3779B9)
    x = row_keys[:, None] + units
    x ^= x >> np.uint32(16)
    x *= np.uint32(0x21F0AAAD)
    x ^= x >> np.uint32(15)
    x *= np.uint32(0xD35A2D97)
    x ^= x >> np.uint32(15)
    return np.where(x >= int(rate * 2**32), 1 / (1 - rate), 0.0)


def masks_of(network: Network, seed: int, epoch: int, positions: NDArray[np.intp]) -> list[Array | None]:
    widths = [inputs for inputs, _ in network.shapes]
    return [
        dropout_mask(layer.dropout, seed, epoch, index, positions, widths[index]) if layer.dropout else None
        for index, layer in enumerate(network.layers)
    ]


def optimizer_step(
    optimizer: Optimizer, is_weight: NDArray[np.bool_], size: int
) -> Callable[[Array, Array, float], Array]:
    """A function (theta, gradient, rate) -> theta that remembers what the optimizer remembers."""
    first, second, steps = np.zeros(size), np.zeros(size), 0
    if isinstance(optimizer, Adagrad):
        first += optimizer.initial_accumulator_value

    def step(theta: Array, g: Array, rate: float) -> Array:
        nonlocal first, second, steps
        steps += 1
        if optimizer.clip_norm:
            norm = float(np.linalg.norm(g))
            g = g * (optimizer.clip_norm / norm) if norm > optimizer.clip_norm else g
        if isinstance(optimizer, SGD):
            if not optimizer.momentum:
                return theta - rate * g
            first = optimizer.momentum * first - rate * g
            return theta + (optimizer.momentum * first - rate * g if optimizer.nesterov else first)
        if isinstance(optimizer, Adagrad):
            first = first + g**2
            return theta - rate * g / np.sqrt(first + optimizer.epsilon)
        if isinstance(optimizer, RMSprop):
            first = optimizer.rho * first + (1 - optimizer.rho) * g**2
            return theta - rate * g / np.sqrt(first + optimizer.epsilon)
        assert isinstance(optimizer, Adam)
        if isinstance(optimizer, AdamW):
            theta = theta - rate * optimizer.weight_decay * np.where(is_weight, theta, 0)
        first = optimizer.beta_1 * first + (1 - optimizer.beta_1) * g
        second = optimizer.beta_2 * second + (1 - optimizer.beta_2) * g**2
        corrected = rate * float(np.sqrt(1 - optimizer.beta_2**steps)) / (1 - optimizer.beta_1**steps)
        return theta - corrected * first / (np.sqrt(second) + optimizer.epsilon)

    return step


def train(network: Network, theta: Array, rows: Rows, plan: Plan) -> tuple[Array, list[float]]:
    """Theta after plan.epochs epochs, and the loss of each: mean loss plus penalty, as met on the way."""
    twin = Twin(network)
    x, t = table(rows).astype(np.float64), dense_targets(network, rows)
    n = len(x)
    w = np.ones(n) if rows.weights is None else rows.weights.astype(np.float64)
    w = w * plan.loss_factor / (w.mean() if plan.relative_weights else 1.0)
    step = optimizer_step(plan.optimizer, twin.is_weight(), len(theta))
    theta, losses = theta.astype(np.float64), []
    batches = [np.arange(first, min(first + plan.batch_size, n)) for first in range(0, n, plan.batch_size)]
    for epoch in range(plan.epochs):
        order: NDArray[Any] = np.array(permutation(plan.seed, epoch, n) if plan.shuffle else range(n))
        rates = plan.optimizer.schedule.rates(epoch * len(batches), len(batches), len(batches))
        total = 0.0
        for positions, rate in zip(batches, rates, strict=True):
            chosen = order[positions]
            masks = masks_of(network, plan.seed, epoch, positions)
            total += float((w[chosen] * twin.losses(theta, x[chosen], t[chosen], masks)).sum())
            total += twin.penalty(theta) * len(chosen)
            g = twin.gradient(theta, x[chosen], t[chosen], w[chosen], masks) / len(chosen)
            theta = step(theta, g + twin.penalty_gradient(theta), float(rate))
        losses.append(total / n)
    return theta, losses
