"""The comparison of the core with its twin that most of the battery makes."""

import numpy as np

from linnet.data.rows import Rows
from linnet.fit.objective import NetworkObjective
from linnet.model.network import Network

from .cases import TOLERANCE, Array, assert_close, row_weights, table
from .twin import Twin, dense_targets


def assert_agrees(network: Network, theta: Array, rows: Rows, dtype: str, threads: int | None = None) -> None:
    """Sums of loss, weight and gradient (layer by layer) and the predicted means are the twin's."""
    objective, twin = NetworkObjective(network, dtype, threads), Twin(network)
    t, w, tolerance = dense_targets(network, rows), row_weights(rows), TOLERANCE[dtype]
    theta = theta.astype(dtype)
    sums = objective.sums(theta, rows, gradient=True)
    losses = w * twin.losses(theta, table(rows), t)
    assert_close(sums.loss, losses.sum(), tolerance, "loss", scale=np.abs(losses).sum())
    assert sums.weight == w.sum()
    assert sums.gradient is not None
    expected = twin.layers(twin.gradient(theta, table(rows), t, w))
    for layer, (actual, pair) in enumerate(zip(twin.layers(sums.gradient), expected, strict=True), 1):
        scale = max(float(np.abs(part).max()) for part in pair)
        for name, got, wanted in zip(("weights", "biases"), actual, pair, strict=True):
            assert_close(got, wanted, tolerance, f"gradient of the {name} of layer {layer}", scale)
    assert_close(objective.predict(theta, table(rows)), twin.predict(theta, table(rows)), tolerance, "mean")
    assert objective.sums(theta, rows) == (sums.loss, sums.weight, None)
