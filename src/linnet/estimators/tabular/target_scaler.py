"""Targets of any unit, standardised in training."""

from dataclasses import dataclass, replace

import numpy as np

from linnet.data.rows import Rows
from linnet.data.table import Array
from linnet.data.targets import check_squarable
from linnet.evaluate.metric import NamedMetric
from linnet.heads import Floats, Head
from linnet.model.network import Network, Theta

_FAR_FROM_ZERO = 1000.0  # spreads between a centre and 0
_FLOAT32_ROOM = 1e30  # float32 holds numbers of this size, and one over it, times those of a network


@dataclass(frozen=True, slots=True)
class TargetScaler:
    """Where targets lie and how far they spread: they are trained on as (t - centre) / spread, by output."""

    centre: Floats
    spread: Floats

    def head(self, head: Head) -> Head:
        """The head of standardised targets."""
        return head.standardised(self.centre, self.spread)

    def rows(self, rows: Rows) -> Rows:
        """Rows with standardised targets."""
        if rows.values is None:
            return rows
        values = ((rows.values - self.centre) / self.spread).astype(rows.values.dtype)
        offset = None if rows.offset is None else (rows.offset / self.spread).astype(rows.values.dtype)
        return replace(rows, values=values, offset=offset)

    def metric(self, metric: NamedMetric) -> NamedMetric:
        """A metric of standardised targets in the target's own unit."""

        def compute(mean: Array, rows: Rows) -> float:
            values = None if rows.values is None else rows.values * self.spread + self.centre
            return metric(mean * self.spread + self.centre, replace(rows, values=values))

        return replace(metric, compute=compute)

    def undo(self, network: Network, theta: Theta, factor: float = 1.0) -> Theta:
        """The parameters that predict in the target's own unit, times a factor."""
        far = np.abs(self.centre) > _FAR_FROM_ZERO * self.spread  # float32 would lose the spread in the centre
        fits = (self.spread * factor > 1 / _FLOAT32_ROOM) & (self.spread * factor < _FLOAT32_ROOM)
        theta = theta.astype(np.float64) if (far | ~fits).any() else theta.copy()
        weights, biases = network.blocks(theta)[-1]
        weights *= (self.spread * factor).astype(theta.dtype)
        biases[:] = (biases * self.spread + self.centre) * factor
        return theta

    @classmethod
    def learn(cls, head: Head, rows: Rows, outputs: int) -> "TargetScaler":
        """Mean and deviation of the targets, 0 and 1 where their unit has a meaning to the head."""
        if not head.location_scale or rows.values is None:
            return cls(np.zeros(outputs), np.ones(outputs))
        check_squarable(rows.values, "y")
        centre = np.average(rows.values, axis=0, weights=rows.weights)
        spread = np.sqrt(np.average(np.square(rows.values - centre), axis=0, weights=rows.weights))
        return cls(centre, np.where(spread > 0, spread, 1.0))
