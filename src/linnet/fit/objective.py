"""The network on given parameters: sums of losses, gradients and predictions over any number of rows.

Sums, never means: they add over batches, files and machines, and one line elsewhere divides and adds the penalty. The
rows are taken in slices of a few hundredths of a second, so that Ctrl-C is heard; where slices end depends on the
shapes alone, so results do not depend on time or threads.

A NetworkObjective has room for one computation, so it belongs to one call at a time. `predict` finds one for itself, so
that any number of threads may predict with the same parameters at once.
"""

import threading
from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linnet._moved import renamed
from linnet._native import core
from linnet.data.columns import Columns, as_columns
from linnet.data.rows import Rows
from linnet.data.table import Array
from linnet.fit.loop.threads import ThreadChoice, most_threads
from linnet.heads import Head, weighted_sum
from linnet.model.network import Network, Theta

_SLICE_PRODUCTS = 200_000_000  # multiply-adds between two looks at Ctrl-C
_CHUNK = 512  # rows that the core sums before it adds to the total: slices end at multiples of it
_MOST_IDLE = 16  # objectives that a thread keeps for later
_MOST_IDLE_PARAMETERS = (
    1_000_000  # of a network whose objective is kept: of a larger one making it takes the least time
)


__getattr__ = renamed(__name__, {"Objective": "NetworkObjective", "Sums": "NetworkSums"})


class NetworkSums(NamedTuple):
    """Sums over rows: of weight x loss, of weights, and of weight x gradient. Those of parts of the rows add."""

    loss: float
    weight: float
    gradient: NDArray[np.float64] | None


class NetworkObjective:
    """A network that computes in float32 or float64 (`dtype`), about so many rows at a time."""

    def __init__(self, network: Network, dtype: Any, threads: int | None = None, rows: int = _CHUNK) -> None:
        self.network = network
        self.dtype = np.dtype(dtype)
        kind = core.ObjectiveF32 if self.dtype == np.float32 else core.ObjectiveF64
        native = network.to_core()
        self._most_threads = most_threads(native, min(rows, _CHUNK), threads)
        self._core = kind(native, self._most_threads)
        self._choice = ThreadChoice(self._most_threads)
        self._known: tuple[Array | None, Array | None, float] | None = None

    def sums(self, theta: Theta, rows: Rows, *, gradient: bool = False) -> NetworkSums:
        """Loss and weight sums over the rows and, if asked, the gradient sum (as long as theta, in float64)."""
        self._core.set_theta(np.ascontiguousarray(theta, self.dtype))
        total = np.zeros(self.network.size) if gradient else None
        part = np.empty(self.network.size) if gradient else None
        loss = weight = 0.0
        columns = as_columns(rows.x)
        native = columns.to_core()
        for first, count in self._slices(columns, 3):
            threads, began = self._choice.take(), perf_counter()
            self._core.use_threads(threads)
            sums = self._core.sums(native, rows.labels, rows.values, rows.weights, rows.offset, first, count, part)
            self._choice.record(threads, perf_counter() - began, count)
            loss, weight = loss + sums[0], weight + sums[1]
            if total is not None and part is not None:
                total += part
        return NetworkSums(loss + self._left_out(rows), weight, total)

    def _left_out(self, rows: Rows) -> float:
        """That of the same rows as before is known."""
        if self._known is None or self._known[0] is not rows.values or self._known[1] is not rows.weights:
            self._known = rows.values, rows.weights, left_out(self.network.head, rows)
        return self._known[2]

    def predict(self, theta: Theta, x: Array | Columns, *, offset: Array | None = None, mean: bool = True) -> Array:
        """Rows x outputs: the mean of each row's distribution, or with mean=False what the head takes.

        That is the last layer's linear output z, and a(z) for squared and absolute error over another activation a.
        """
        if offset is not None:
            z = self.predict(theta, x, mean=False) + offset
            return self.network.head.mean(z.astype(np.float64)).astype(self.dtype) if mean else z
        self._core.set_theta(np.ascontiguousarray(theta, self.dtype))
        out = np.empty((len(x), self.network.outputs), self.dtype)
        columns = as_columns(x)
        native = columns.to_core()
        self._core.use_threads(self._most_threads)  # there is no later pass that a trial could pay for
        for first, count in self._slices(columns, 1):
            self._core.predict(native, first, count, mean, out[first : first + count])
        return out

    def _slices(self, columns: Columns, passes: int) -> Iterator[tuple[int, int]]:
        inputs, outputs = self.network.shapes[0]
        read = min(inputs, 1 + int(16 * columns.entries_per_row))  # an entry taken by itself takes its time
        per_row = self.network.products_per_row - (inputs - read) * outputs
        size = max(1, _SLICE_PRODUCTS // (passes * per_row * _CHUNK)) * _CHUNK
        for first in range(0, columns.rows, size):
            yield first, min(size, columns.rows - first)


class _Idle(threading.local):
    """Objectives for single rows that no call is using, by network: each thread has its own."""

    def __init__(self) -> None:
        self.objectives: dict[tuple[int, np.dtype[Any], int | None], tuple[Network, NetworkObjective]] = {}


_idle = _Idle()


def predict(
    network: Network,
    thetas: Sequence[Theta],
    x: Columns,
    threads: int | None = None,
    *,
    offset: Array | None = None,
    mean: bool = True,
) -> list[Array]:
    """Return what `NetworkObjective.predict` does for each of several parameters, all of one type.

    For a single row making an objective takes longer than using it, so it is kept. A call takes it out of its thread's
    idle ones while it runs: not even a signal handler that predicts in between can meet it.
    """
    key = id(network), thetas[0].dtype, threads
    kept, objective = _idle.objectives.pop(key, (None, None)) if len(x) == 1 else (None, None)
    if objective is None or kept is not network:  # another network may have had its address
        objective = NetworkObjective(network.for_prediction(), thetas[0].dtype, threads, rows=len(x))
    outputs = [objective.predict(theta, x, offset=offset, mean=mean) for theta in thetas]
    if len(x) == 1 and network.size <= _MOST_IDLE_PARAMETERS:
        _idle.objectives[key] = network, objective
        if len(_idle.objectives) > _MOST_IDLE:
            del _idle.objectives[next(iter(_idle.objectives))]
    return outputs


def left_out(head: Head, rows: Rows) -> float:
    """The sum over rows of what the head's loss leaves out that depends on a parameter it estimates."""
    each = head.left_out(rows.values.astype(np.float64)) if head.is_estimated and rows.values is not None else None
    if each is None:
        return 0.0
    return weighted_sum(np.ones(len(each)) if rows.weights is None else rows.weights.astype(np.float64), each)


def penalty(network: Network, theta: Theta) -> float:
    """Σ over layers of l1 Σ|w| + l2 Σw²/2, biases left out."""
    total = 0.0
    for layer, block in zip(network.layers, network.blocks(theta), strict=True):
        if layer.l1:
            total += layer.l1 * float(np.abs(block.weights).sum(dtype=np.float64))
        if layer.l2:
            total += layer.l2 / 2 * float(np.square(block.weights, dtype=np.float64).sum())
    return total
