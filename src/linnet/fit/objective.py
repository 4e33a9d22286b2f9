"""A network at given parameters: sums of losses, gradients and predictions over any number of rows.

Sums, never means: they add over batches, files and machines; dividing them and adding the penalty is left to the
caller. Rows are processed in slices of a few hundredths of a second, so that Ctrl-C takes effect; where slices end
depends on the shapes alone, so results do not depend on time or threads.

A NetworkObjective has memory for one computation, so only one call at a time may use it. Each call of `predict` has
its own, so that any number of threads may predict with the same parameters at once.
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
from linnet.fit.loop.threads import ThreadChoice, max_threads
from linnet.heads import Head, weighted_sum
from linnet.model.network import Network, Theta

_SLICE_PRODUCTS = 200_000_000  # multiply-adds between two checks for Ctrl-C
_ROWS_PER_CHUNK = 512  # summed by the core before it adds to the total: slices end at multiples of it
_MAX_IDLE_OBJECTIVES = 16  # kept for reuse, per thread
_MAX_IDLE_PARAMETERS = 1_000_000  # of a network whose objective is kept: for larger ones, building it costs little


__getattr__ = renamed(__name__, {"Objective": "NetworkObjective", "Sums": "NetworkSums"})


class NetworkSums(NamedTuple):
    """Sums over rows; the sums of disjoint sets of rows add.

    Attributes
    ----------
    loss : float
        Σ_i w_i loss_i.
    weight : float
        Σ_i w_i.
    gradient : array or None
        Σ_i w_i ∂loss_i/∂theta, in float64.
    """

    loss: float
    weight: float
    gradient: NDArray[np.float64] | None


class NetworkObjective:
    """The sums and predictions of a network, computed in float32 or float64.

    Parameters
    ----------
    network : Network
        The network.
    dtype : dtype
        float32 or float64.
    threads : int or None, default=None
        The largest number of threads; None: all.
    rows : int, default=512
        The approximate number of rows per call: fewer rows need less memory and fewer threads.
    """

    def __init__(self, network: Network, dtype: Any, threads: int | None = None, rows: int = _ROWS_PER_CHUNK) -> None:
        self.network = network
        self.dtype = np.dtype(dtype)
        kind = core.ObjectiveF32 if self.dtype == np.float32 else core.ObjectiveF64
        native = network.to_core()
        self._max_threads = max_threads(native, min(rows, _ROWS_PER_CHUNK), threads)
        self._core = kind(native, self._max_threads)
        self._choice = ThreadChoice(self._max_threads)
        self._known: tuple[Array | None, Array | None, float] | None = None

    def sums(self, theta: Theta, rows: Rows, *, gradient: bool = False) -> NetworkSums:
        """Return the sums of losses, weights and, on request, gradients.

        Parameters
        ----------
        theta : array of shape (size,)
            The parameters.
        rows : Rows
            The rows.
        gradient : bool, default=False
            Whether the gradient is computed, too.

        Returns
        -------
        NetworkSums
            The sums over the rows.
        """
        self._core.set_theta(np.ascontiguousarray(theta, self.dtype))
        total = np.zeros(self.network.size) if gradient else None
        of_slice = np.empty(self.network.size) if gradient else None
        loss = weight = 0.0
        columns = as_columns(rows.x)
        native = columns.to_core()
        for first, count in self._slices(columns, 3):
            threads, began = self._choice.take(), perf_counter()
            self._core.use_threads(threads)
            sums = self._core.sums(native, rows.labels, rows.values, rows.weights, rows.offset, first, count, of_slice)
            self._choice.record(threads, perf_counter() - began, count)
            loss, weight = loss + sums[0], weight + sums[1]
            if total is not None and of_slice is not None:
                total += of_slice
        return NetworkSums(loss + self._left_out(rows), weight, total)

    def _left_out(self, rows: Rows) -> float:
        """Return the terms left out of the losses, cached for the latest rows."""
        if self._known is None or self._known[0] is not rows.values or self._known[1] is not rows.weights:
            self._known = rows.values, rows.weights, left_out(self.network.head, rows)
        return self._known[2]

    def predict(self, theta: Theta, x: Array | Columns, *, offset: Array | None = None, mean: bool = True) -> Array:
        """Return the mean of each row's distribution, rows x outputs.

        Parameters
        ----------
        theta : array of shape (size,)
            The parameters.
        x : array or Columns
            The rows.
        offset : array or None, default=None
            Added to z.
        mean : bool, default=True
            If False, return the input of the head: the last layer's linear output z, or a(z) for squared and absolute
            error with an output activation a.

        Returns
        -------
        array of shape (rows, outputs)
            The means or, with `mean=False`, the inputs of the head.
        """
        if offset is not None:
            z = self.predict(theta, x, mean=False) + offset
            return self.network.head.mean(z.astype(np.float64)).astype(self.dtype) if mean else z
        self._core.set_theta(np.ascontiguousarray(theta, self.dtype))
        out = np.empty((len(x), self.network.outputs), self.dtype)
        columns = as_columns(x)
        native = columns.to_core()
        self._core.use_threads(self._max_threads)  # no later pass would benefit from a trial of fewer threads
        for first, count in self._slices(columns, 1):
            self._core.predict(native, first, count, mean, out[first : first + count])
        return out

    def _slices(self, columns: Columns, passes: int) -> Iterator[tuple[int, int]]:
        inputs, outputs = self.network.shapes[0]
        read = min(inputs, 1 + int(16 * columns.entries_per_row))  # a single entry costs as much as 16 in a row
        per_row = self.network.products_per_row - (inputs - read) * outputs
        size = max(1, _SLICE_PRODUCTS // (passes * per_row * _ROWS_PER_CHUNK)) * _ROWS_PER_CHUNK
        for first in range(0, columns.rows, size):
            yield first, min(size, columns.rows - first)


class _IdleObjectives(threading.local):
    """Objectives for single rows that no call is using, by network, for each thread."""

    def __init__(self) -> None:
        self.objectives: dict[tuple[int, np.dtype[Any], int | None], tuple[Network, NetworkObjective]] = {}


_idle = _IdleObjectives()


def hidden(network: Network, theta: Theta, columns: Columns) -> list[Array]:
    """Return the output of each hidden layer, rows x units, without dropout."""
    features = []
    for count in range(1, len(network.layers)):
        below = network.below(count)
        features.append(NetworkObjective(below, theta.dtype, rows=len(columns)).predict(theta[: below.size], columns))
    return features


def predict(
    network: Network,
    thetas: Sequence[Theta],
    x: Columns,
    threads: int | None = None,
    *,
    offset: Array | None = None,
    mean: bool = True,
) -> list[Array]:
    """Return the predictions of a network at several parameter vectors of one type.

    For a single row, building an objective takes longer than using it, so it is kept. While a call runs, its objective
    is not among the idle ones, so that not even a signal handler that predicts in between can use it.

    Parameters
    ----------
    network : Network
        The network.
    thetas : sequence of arrays
        The parameter vectors.
    x : Columns
        The rows.
    threads : int or None, default=None
        The largest number of threads; None: all.
    offset : array or None, default=None
        Added to z.
    mean : bool, default=True
        See `NetworkObjective.predict`.

    Returns
    -------
    list of arrays
        Rows x outputs, for each parameter vector.
    """
    key = id(network), thetas[0].dtype, threads
    cached, objective = _idle.objectives.pop(key, (None, None)) if len(x) == 1 else (None, None)
    if objective is None or cached is not network:  # another network may have had its address
        objective = NetworkObjective(network.for_prediction(), thetas[0].dtype, threads, rows=len(x))
    outputs = [objective.predict(theta, x, offset=offset, mean=mean) for theta in thetas]
    if len(x) == 1 and network.size <= _MAX_IDLE_PARAMETERS:
        _idle.objectives[key] = network, objective
        if len(_idle.objectives) > _MAX_IDLE_OBJECTIVES:
            del _idle.objectives[next(iter(_idle.objectives))]
    return outputs


def left_out(head: Head, rows: Rows) -> float:
    """Return the weighted sum over rows of the loss terms that the core drops, but that an estimated parameter changes.

    Parameters
    ----------
    head : Head
        The head.
    rows : Rows
        The rows, whose weights multiply the terms.

    Returns
    -------
    float
        The sum; 0 unless the parameter of the head is estimated.
    """
    if not head.is_estimated or rows.values is None:
        return 0.0
    terms = head.dropped_terms(rows.values.astype(np.float64))
    if terms is None:
        return 0.0
    return weighted_sum(np.ones(len(terms)) if rows.weights is None else rows.weights.astype(np.float64), terms)


def penalty(network: Network, theta: Theta) -> float:
    """Return the penalty of a network: Σ over layers of l1 Σ|w| + l2 Σw²/2, without biases.

    Parameters
    ----------
    network : Network
        The network, whose layers have l1 and l2.
    theta : array of shape (size,)
        The parameters.

    Returns
    -------
    float
        The penalty.
    """
    total = 0.0
    for layer, block in zip(network.layers, network.blocks(theta), strict=True):
        if layer.l1:
            total += layer.l1 * float(np.abs(block.weights).sum(dtype=np.float64))
        if layer.l2:
            total += layer.l2 / 2 * float(np.square(block.weights, dtype=np.float64).sum())
    return total
