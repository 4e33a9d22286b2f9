"""The trainer's twin: the epochs and optimizers of linnet.plain, given the engine's batches, masks and rates."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.data.rows import Rows
from linnet.fit.loop.optimizers import SGD, Adagrad, Adam, AdamW, Optimizer, RMSprop
from linnet.fit.loop.training import Plan
from linnet.model.network import Network
from linnet.plain import mlp, optimizers

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


def masks_of(network: Network, seed: int, epoch: int, positions: NDArray[np.intp]) -> list[Any]:
    """The masks of all layers; 1 where nothing is dropped."""
    widths = [inputs for inputs, _ in network.shapes]
    return [
        dropout_mask(layer.dropout, seed, epoch, index, positions, widths[index]) if layer.dropout else 1.0
        for index, layer in enumerate(network.layers)
    ]


def plain_optimizer(given: Optimizer, is_weight: NDArray[np.bool_]) -> Any:
    """The plain optimizer of the same rule; its rate is set from step to step."""
    match given:
        case SGD(momentum=0):
            return optimizers.SGD()
        case SGD(nesterov=True):
            return optimizers.Nesterov(mu=given.momentum)
        case SGD():
            return optimizers.Momentum(mu=given.momentum)
        case Adagrad():
            return optimizers.Adagrad(s=given.initial_accumulator_value, epsilon=given.epsilon)
        case RMSprop():
            return optimizers.RMSprop(rho=given.rho, epsilon=given.epsilon)
    assert isinstance(given, Adam)
    adam: dict[str, Any] = {
        "beta_1": given.beta_1,
        "beta_2": given.beta_2,
        "epsilon": given.epsilon,
        "amsgrad": given.amsgrad,
    }
    if isinstance(given, AdamW):
        return optimizers.AdamW(decay=given.weight_decay, decayed=is_weight, **adam)
    return optimizers.Adam(**adam)


class Scheduled:
    """An optimizer whose gradients are clipped and whose rate changes from step to step."""

    def __init__(self, given: Optimizer, is_weight: NDArray[np.bool_], rates: Iterator[float]) -> None:
        self.plain, self.rates, self.most = plain_optimizer(given, is_weight), rates, given.clip_norm

    def step(self, theta: Array, g: Array) -> Array:
        self.plain.eta = next(self.rates)
        g = g if self.most is None else optimizers.clip(g, self.most)
        return self.plain.step(theta, g)  # type: ignore[no-any-return]


def train(network: Network, theta: Array, rows: Rows, plan: Plan) -> tuple[Array, list[float]]:
    """Theta after plan.epochs epochs, and the loss of each: mean loss plus penalty, averaged over its steps."""
    twin = Twin(network)
    x, t = table(rows).astype(np.float64), dense_targets(network, rows)
    n = len(x)
    w = np.ones(n) if rows.weights is None else rows.weights.astype(np.float64)
    w = w * plan.loss_factor / (w.mean() if plan.relative_weights else 1.0)
    places = np.split(np.arange(n), range(plan.batch_size, n, plan.batch_size))
    steps = len(places)
    rates = iter(plan.optimizer.schedule.rates(0, steps * plan.epochs, steps).tolist())
    optimizer = Scheduled(plan.optimizer, twin.is_weight(), rates)
    theta, losses = theta.astype(np.float64), []
    for epoch in range(plan.epochs):
        order: NDArray[Any] = np.array(permutation(plan.seed, epoch, n) if plan.shuffle else range(n))
        batches = [(order[some], masks_of(network, plan.seed, epoch, some)) for some in places]
        theta, loss = mlp.epoch(twin, theta, x, t, w, optimizer, batches)
        losses.append(loss)
    return theta, losses
