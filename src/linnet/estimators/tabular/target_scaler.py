"""Standardisation of targets for training."""

from dataclasses import dataclass, replace

import numpy as np

from linnet.data.rows import Rows
from linnet.data.table import Array
from linnet.data.targets import check_squarable
from linnet.evaluate.metric import NamedMetric
from linnet.heads import Floats, Head
from linnet.model.network import Network, Theta

_MAX_RELATIVE_CENTRE = 1000.0  # in units of the spread; float32 would lose digits of the spread beyond it
_MAX_FLOAT32_SCALE = 1e30  # the weights of a network times this scale, or its inverse, stay within float32


@dataclass(frozen=True, slots=True)
class TargetScaler:
    """Standardises targets as (t - centre) / spread, separately for each output."""

    centre: Floats
    spread: Floats

    def head(self, head: Head) -> Head:
        """Return the head of the standardised targets."""
        return head.standardised(self.centre, self.spread)

    def rows(self, rows: Rows) -> Rows:
        """Return rows with standardised targets and offsets."""
        if rows.values is None:
            return rows
        values = ((rows.values - self.centre) / self.spread).astype(rows.values.dtype)
        offset = None if rows.offset is None else (rows.offset / self.spread).astype(rows.values.dtype)
        return replace(rows, values=values, offset=offset)

    def metric(self, metric: NamedMetric) -> NamedMetric:
        """Return a metric that takes standardised targets and measures in the original unit."""

        def compute(mean: Array, rows: Rows) -> float:
            values = None if rows.values is None else rows.values * self.spread + self.centre
            return metric(mean * self.spread + self.centre, replace(rows, values=values))

        return replace(metric, compute=compute)

    def undo(self, network: Network, theta: Theta, factor: float = 1.0) -> Theta:
        """Return the parameters that predict in the original unit of the target, times `factor`."""
        far = np.abs(self.centre) > _MAX_RELATIVE_CENTRE * self.spread
        fits = (self.spread * factor > 1 / _MAX_FLOAT32_SCALE) & (self.spread * factor < _MAX_FLOAT32_SCALE)
        theta = theta.astype(np.float64) if (far | ~fits).any() else theta.copy()
        weights, biases = network.blocks(theta)[-1]
        weights *= (self.spread * factor).astype(theta.dtype)
        biases[:] = (biases * self.spread + self.centre) * factor
        return theta

    @classmethod
    def learn(cls, head: Head, rows: Rows, outputs: int) -> "TargetScaler":
        """Return a scaler with the mean and standard deviation of the targets, or 0 and 1 unless the head is a
        location-scale family.
        """
        if not head.location_scale or rows.values is None:
            return cls(np.zeros(outputs), np.ones(outputs))
        check_squarable(rows.values, "y")
        centre = np.average(rows.values, axis=0, weights=rows.weights)
        spread = np.sqrt(np.average(np.square(rows.values - centre), axis=0, weights=rows.weights))
        return cls(centre, np.where(spread > 0, spread, 1.0))
