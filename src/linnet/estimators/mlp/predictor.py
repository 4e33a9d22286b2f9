"""A fitted network, or the networks of an ensemble, for prediction: immutable, so that threads can share it."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from linnet.data.columns import Columns
from linnet.data.encoder import Encoder
from linnet.data.table import Array
from linnet.data.tabular_encoder import TabularEncoder
from linnet.errors import ConfigError
from linnet.estimators.inputs import as_offset
from linnet.fit.objective import NetworkObjective, hidden, predict
from linnet.heads import Head, losses_with
from linnet.model.network import Block, Network, Theta

if TYPE_CHECKING:
    from linnet.export.onnx.columns import Inputs
    from linnet.export.onnx.graph import Tensor


@dataclass(frozen=True, eq=False, slots=True)
class Predictor:
    """Predicts from columns; predicting changes nothing in it."""

    encoder: Encoder | TabularEncoder
    network: Network
    members: tuple[Theta, ...]  # the parameters of each network, over whose z predictions average
    range: tuple[Array, Array] | None = None  # of an ensemble: the least and greatest prediction of each output
    shifts: tuple[str, ...] = ()  # which of "offset" and "exposure" were passed to the fit

    @property
    def theta(self) -> Theta:
        """The first network's parameters."""
        return self.members[0]

    @property
    def blocks(self) -> list[list[Block]]:
        """The weights and biases of each layer of each network."""
        return [self.network.blocks(theta) for theta in self.members]

    def with_theta(self, theta: Theta) -> "Predictor":
        """Return a predictor with new parameters for the first network."""
        return replace(self, members=(theta, *self.members[1:]))

    def shift(self, offset: object, exposure: object, rows: int) -> Array | None:
        """Return what is added to z, rows x outputs: the offset plus log(exposure); None if both are None."""
        return shift(offset, exposure, rows, self.network.head, self.network.outputs)

    def output(self, columns: Columns, shift: Array | None, threads: int | None, *, mean: bool) -> Array:
        """Return the mean (`mean=True`) or z of each row and output. `shift`: added to z."""
        if self.range is not None:
            outputs = self._outputs(columns, shift, threads, mean=False)
            z = np.mean(np.asarray(outputs, np.float64), axis=0)
            return self.network.head.mean(z).clip(*self.range) if mean else z
        return self._outputs(columns, shift, threads, mean=mean)[0]

    def _outputs(self, columns: Columns, shift: Array | None, threads: int | None, *, mean: bool) -> list[Array]:
        """Return the output of each network."""
        outputs = predict(self.network, list(self.members), columns, threads, offset=shift, mean=mean)
        return [
            self._widened(theta, output, columns, shift, threads, mean=mean)
            if theta.dtype == np.float32 and not np.isfinite(output).all()
            else output
            for theta, output in zip(self.members, outputs, strict=True)
        ]

    def _widened(
        self, theta: Theta, output: Array, columns: Columns, shift: Array | None, threads: int | None, *, mean: bool
    ) -> Array:
        """Return a network's output, with rows that overflowed in float32 recomputed in float64."""
        rows = np.flatnonzero(~np.isfinite(output).all(axis=1))
        objective = NetworkObjective(self.network.for_prediction(), np.float64, threads, rows=len(rows))
        offset = None if shift is None else shift[rows]
        output = output.astype(np.float64)
        output[rows] = objective.predict(theta.astype(np.float64), columns[rows], offset=offset, mean=mean)
        return output

    def hidden(self, columns: Columns) -> list[Array]:
        """Return the output of each hidden layer of the first network, rows x units."""
        return hidden(self.network, self.theta, columns)

    def graph(self, inputs: "Inputs") -> tuple["Tensor", "Tensor"]:
        """Add the network to an ONNX graph; return z and the mean."""
        from linnet.export.onnx.columns import features
        from linnet.export.onnx.network import ensemble_output, mean, network_output, shifted, within

        graph, network = inputs.graph, self.network
        x = features(inputs, self.encoder, str(self.theta.dtype))
        shift = inputs.shift(self.shifts, network.outputs)
        if self.range is None:
            z = shifted(graph, network_output(graph, x, network, self.theta), shift)
            return z, mean(graph, network.head, z)
        z = shifted(graph, ensemble_output(graph, x, network, list(self.members)), shift)
        return z, within(graph, mean(graph, network.head, z), *self.range)


def shift(offset: object, exposure: object, rows: int, head: Head, outputs: int) -> Array | None:
    """Return what is added to z, rows x outputs: the offset plus log(exposure); None if both are None."""
    if exposure is not None and not head.log_link:
        with_log_link = losses_with(lambda kind: kind.log_link)
        raise ConfigError(f"an exposure needs a loss with the log link: loss={with_log_link}")
    return as_offset(offset, exposure, rows, outputs)
