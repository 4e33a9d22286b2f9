"""The current state of a run, and the bytes in which the page gets it.

A message of bytes is: the length of the header (4 bytes, little endian), the header as JSON, padded by blanks to a
multiple of 4, and the arrays named by its `arrays`, each at its offset behind the header, a multiple of 4 too.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.data.rows import Rows
from linnet.evaluate.confusion import Confusion
from linnet.evaluate.curves import Cutoffs
from linnet.evaluate.metric import Compared
from linnet.evaluate.metrics import r2
from linnet.fit.objective import NetworkObjective, penalty
from linnet.heads import Bernoulli, Categorical, Head
from linnet.model.network import Theta
from linnet.playground.datasets import Dataset, Floats
from linnet.playground.model import DTYPE, Model
from linnet.tables.task import Task

SURFACE = 80  # points per side of the surface
NEURON = 32  # points per side of a unit's map
INPUT = 16  # points per side of an input's map
_MAX_CUTOFFS = 400
_TYPES = {np.dtype(np.float32): "f4", np.dtype(np.uint16): "u2", np.dtype(np.uint8): "u1"}


def pack(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return a message of a header and arrays of float32, uint16 or uint8."""
    listed, parts, offset = [], [], 0
    for name, array in arrays.items():
        data = np.ascontiguousarray(array).tobytes()
        listed.append([name, _TYPES[array.dtype], list(array.shape), offset])
        data += bytes(-len(data) % 4)
        parts.append(data)
        offset += len(data)
    head = json.dumps({**header, "arrays": listed}, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 4)
    return b"".join([len(head).to_bytes(4, "little"), head, *parts])


def grid(ranges: tuple[tuple[float, float], tuple[float, float]], side: int) -> Floats:
    """Return the centres of side x side cells of the plane, row by row from the top left."""
    middles = (np.arange(side) + 0.5) / side
    (left, right), (bottom, top) = ranges
    x, y = np.meshgrid(left + (right - left) * middles, top - (top - bottom) * middles)
    return np.stack([x.ravel(), y.ravel()], axis=1)


def as_bytes(maps: NDArray[Any]) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Return maps as bytes from -scale (0) to scale (255), and the scales: their largest absolute values."""
    scales = np.abs(maps).max(axis=(1, 2), initial=1e-6).astype(np.float32)
    return np.rint(127.5 + 127.5 * maps / scales[:, None, None]).astype(np.uint8), scales


def input_maps(data: Dataset) -> list[list[int]]:
    """Return the value of each input at the points of the plane, as bytes."""
    maps = data.plane(grid(data.ranges, INPUT)).T.reshape(-1, INPUT, INPUT)
    return [part.ravel().tolist() for part in as_bytes(maps)[0]]


@dataclass(frozen=True)
class Score:
    """The loss with the penalty, accuracy or R², and the confusion matrix of a network on some rows."""

    loss: float
    metric: float
    confusion: NDArray[np.float64] | None


class Scene:
    """A model and its data, ready to be drawn with any parameters."""

    def __init__(self, model: Model, data: Dataset, train: NDArray[np.intp], test: NDArray[np.intp]) -> None:
        self.model = model
        self.data = data
        self._train, self._test = ((model.rows(data, part), data.y[part]) for part in (train, test))
        network = model.network.without_dropout()
        self._objective = NetworkObjective(network, DTYPE, threads=1)
        self._hidden = [
            NetworkObjective(network.below(count), DTYPE, threads=1) for count in range(1, len(network.layers))
        ]
        self._surface = data.plane(grid(data.ranges, SURFACE))
        self._neurons = data.plane(grid(data.ranges, NEURON))
        self.range = _range(data)

    def means(self, theta: Theta, x: NDArray[np.float32]) -> Floats:
        """Return what is shown for inputs, rows x outputs: probabilities, rates or values.

        The perceptron has scores only; their sigmoid or softmax is shown, which leads to the same decisions.
        """
        mean = self._objective.predict(theta, x).astype(np.float64)
        if not self.model.has_scores_only:
            return mean
        return (Bernoulli() if mean.shape[1] == 1 else Categorical()).mean(mean)

    def decide(self, means: Floats, threshold: float) -> NDArray[np.intp]:
        """Return the class of each row: of two the second from the threshold on, of more the most probable."""
        if self.data.outcomes == 2:
            return (means[:, -1] >= threshold).astype(np.intp)
        return np.asarray(means.argmax(axis=1))

    def surface(self, theta: Theta) -> Floats:
        """Return what is shown at the points of the plane, outputs x side x side."""
        return self.means(theta, self._surface).T.reshape(-1, SURFACE, SURFACE)

    def neurons(self, theta: Theta) -> NDArray[np.float32]:
        """Return the output of each hidden unit at the points of the plane, units x side x side."""
        maps = [part.predict(theta[: part.network.size], self._neurons).T for part in self._hidden]
        return np.concatenate([*maps, np.empty((0, NEURON**2), np.float32)]).reshape(-1, NEURON, NEURON)

    def scores(self, theta: Theta, head: Head, threshold: float) -> tuple[Score, Score]:
        """Return the scores on the training rows and on the test rows, with the run's current head."""
        if head != self._objective.network.head:
            self._objective = NetworkObjective(replace(self._objective.network, head=head), DTYPE, threads=1)
        return self._score(theta, *self._train, threshold), self._score(theta, *self._test, threshold)

    def _score(self, theta: Theta, rows: Rows, y: NDArray[Any], threshold: float) -> Score:
        total = self._objective.sums(theta, rows).loss * self.model.factor
        loss = total / len(rows) + penalty(self.model.network, theta)
        assert isinstance(rows.x, np.ndarray)
        means = self.means(theta, rows.x)
        if not self.data.classes:
            return Score(loss, r2(Compared.of_means(means, rows, self.model.network.head)), None)
        counts = Confusion.of(y, self.decide(means, threshold), labels=range(self.data.outcomes))
        return Score(loss, counts.accuracy, counts.counts)

    def frame(self, theta: Theta, head: Head, threshold: float, shown: int, told: Mapping[str, Any]) -> bytes:
        """Return everything that the page draws; `told`: further fields of the header."""
        train, test = self.scores(theta, head, threshold)
        low, high = self.range
        surface = np.nan_to_num((self.surface(theta) - low) / (high - low), nan=0.0).clip(0, 1)
        neurons, scales = as_bytes(self.neurons(theta))
        arrays: dict[str, NDArray[Any]] = {
            "theta": theta.astype(np.float32),
            "surface": np.rint(surface * 65535).astype(np.uint16),
            "neurons": neurons,
            "scales": scales,
        }
        header: dict[str, Any] = {
            "is": "frame",
            **told,
            "loss": [train.loss, test.loss],
            "metric": [_finite(train.metric), _finite(test.metric)],
        }
        if test.confusion is not None:
            header["confusion"] = test.confusion.astype(int).tolist()
            arrays |= self._cutoffs(theta, shown)
        return pack(header, arrays)

    def _cutoffs(self, theta: Theta, shown: int) -> dict[str, NDArray[np.float32]]:
        """Return thresholds on the probability of a class from the highest down, with true and false positives.

        At most 400 of them, evenly chosen.
        """
        rows, y = self._test
        assert isinstance(rows.x, np.ndarray)
        means = self.means(theta, rows.x)
        one = 1 if self.data.outcomes == 2 else min(shown, self.data.outcomes - 1)
        flags = np.ascontiguousarray(y == one).astype(np.uint8)
        found = Cutoffs.counted(means[:, -1 if self.data.outcomes == 2 else one], flags, None)
        count = len(found.thresholds)
        chosen = np.unique(np.linspace(0, count - 1, min(count, _MAX_CUTOFFS)).astype(np.intp))
        return {
            "thresholds": found.thresholds[chosen].astype(np.float32),
            "tp": found.tp[chosen].astype(np.float32),
            "fp": found.fp[chosen].astype(np.float32),
        }


def _range(data: Dataset) -> tuple[float, float]:
    """Return the range of values that the surface shows."""
    if data.classes:
        return 0.0, 1.0
    if data.task is Task.COUNTS:
        return 0.0, float(max(1.0, data.y.max()))
    low, high = float(data.y.min()), float(data.y.max())
    return (low, high) if low < high else (low - 1, high + 1)


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
