"""Backpropagation on one example: every value of the forward pass and every derivative of the backward pass.

For a layer with inputs x, z = x W + b and h = a(z), and L the loss of the example:

    dL/dz = a'(z) dL/dh        dL/dW = x' dL/dz        dL/db = dL/dz        dL/dx = W dL/dz

All values are the engine's own, in float64: z and h come from the network cut off above a layer, dL/dW and dL/db from
the gradient of the objective on the example alone; dL/dz is the engine's dL/db.
"""

from typing import Any

import numpy as np

from linnet.errors import ConfigError
from linnet.fit.objective import NetworkObjective
from linnet.playground.session import Session

ACTIVATIONS = {  # h and its derivative, as shown on the page
    "identity": ("z", "1"),
    "sigmoid": ("1/(1 + e^−z)", "h(1 − h)"),
    "tanh": ("tanh z", "1 − h²"),
    "relu": ("max(0, z)", "1 if z > 0, else 0"),
    "leaky_relu": ("z if z > 0, else 0.1 z", "1 if z > 0, else 0.1"),
    "elu": ("z if z > 0, else e^z − 1", "1 if z > 0, else h + 1"),
    "selu": ("1.05(z if z > 0, else 1.67(e^z − 1))", "1.05 if z > 0, else h + 1.76"),
    "gelu": ("z Φ(z)", "Φ(z) + z φ(z)"),
    "silu": ("z·σ(z)", "σ(1 + z(1 − σ))"),
    "softplus": ("log(1 + e^z)", "σ(z)"),
    "exponential": ("e^z", "h"),
    "softmax": ("e^z / Σ e^z", "diag(h) − h h′"),
}


def explain(session: Session, row: object) -> dict[str, Any]:
    """Return the values and derivatives of the loss for one row of the data set, layer by layer from the bottom."""
    data, model = session.data, session.model.with_head(session.head)
    if not isinstance(row, int) or isinstance(row, bool) or not 0 <= row < len(data):
        raise ConfigError(f"row must be an integer from 0 to {len(data) - 1}, got {row!r}")
    network = model.network.without_dropout()
    theta = session.theta.astype(np.float64)
    one = model.rows(data, slice(row, row + 1)).computed_in("float64")
    assert isinstance(one.x, np.ndarray)
    sums = NetworkObjective(network, "float64", threads=1).sums(theta, one, gradient=True)
    assert sums.gradient is not None
    by_theta = network.blocks(sums.gradient * model.factor)
    last = len(network.layers)
    layers = []
    for count, (block, slope) in enumerate(zip(network.blocks(theta), by_theta, strict=True), 1):
        values = {}
        for name, linear in (("z", True), ("h", False)):
            below = network.below(count, linear=linear) if linear or count < last else network
            values[name] = NetworkObjective(below, "float64", threads=1).predict(theta[: below.size], one.x)[0].tolist()
        activation = network.layers[count - 1].activation.name if count < last else network.head.output.name
        layers.append(
            {
                **values,
                "w": block.weights.tolist(),
                "b": block.biases.tolist(),
                "dz": slope.biases.tolist(),
                "dw": slope.weights.tolist(),
                "dx": (block.weights @ slope.biases).tolist(),
                "activation": activation,
                "formula": ACTIVATIONS[activation],
            }
        )
    target = data.classes[int(data.y[row])] if data.classes else float(data.y[row])
    own = f"{session.state.target} {data.own(data.y[row]):,.6g}, in standard deviations from the mean"
    return {
        "is": "explained",
        "row": row,
        "point": data.points[row].tolist(),
        "inputs": data.inputs,
        "x": one.x[0].tolist(),
        "target": target,
        "own": own if data.is_scaled else "",  # a standardised target in the unit of the table
        "held": bool(row in session.test_part),
        "loss": sums.loss * model.factor,
        "head": model.head,
        "formula": model.network.head.formulas,
        "parameter": session.parameter,
        "classes": data.classes,
        "layers": layers,
    }
