"""The core's twin: linnet.plain, applied to linnet's own descriptions of heads and networks.

There are no formulas here: the core is compared with those of linnet.plain. Sums, never means, as in the core. `x` is
rows x inputs, `t` rows x outputs, `w` one weight per row; `masks` holds what the inputs of each layer are multiplied by
in training.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet import heads
from linnet.data.rows import Rows
from linnet.heads.activations import Activation
from linnet.model.network import Network
from linnet.plain import activations, power_variance, robust
from linnet.plain import heads as plain
from linnet.plain.mlp import MLP, Masks

Array = NDArray[Any]

_PLAIN: dict[str, Any] = {  # by family; those with a parameter are made from it
    "normal": plain.Normal(),
    "bernoulli": plain.Bernoulli(),
    "categorical": plain.Categorical(),
    "poisson": plain.Poisson(),
    "gamma": power_variance.Gamma(),
    "tweedie": power_variance.Tweedie,
    "tweedie_identity": power_variance.TweedieIdentity,
    "negative_binomial": power_variance.NegativeBinomial,
    "laplace": robust.Laplace(),
    "huber": robust.Huber,
    "quantile": robust.Quantile,
    "perceptron": robust.Perceptron(),
}


class Custom(plain.Normal):
    """A user-defined loss, given by the function that returns the loss per row and the slope."""

    def __init__(self, function: heads.LossFunction) -> None:
        self.function = function

    def loss(self, z: Array, t: Array) -> Array:
        return self.function(z, t)[0][:, None]

    def slope(self, z: Array, t: Array) -> Array:
        return self.function(z, t)[1]


def plain_head(head: heads.Head) -> plain.Head:
    """The plain head of the same family and parameter."""
    if head.function is not None:
        return Custom(head.function)
    found = _PLAIN[head.family]
    return found(head.parameter) if isinstance(found, type) else found  # type: ignore[no-any-return]


def plain_activation(activation: Activation) -> activations.Activation:
    """The plain activation of the same name."""
    if activation.name == "leaky_relu":
        return activations.leaky_relu(activation.slope)
    return activations.ACTIVATIONS[activation.name]


def dense_targets(network: Network, rows: Rows) -> Array:
    """Values as they are; labels as one-hot rows, or as +1 and -1 for the perceptron."""
    if rows.values is not None:
        return rows.values.astype(np.float64)
    assert rows.labels is not None
    hot = rows.labels[:, None] == np.arange(network.outputs)
    return np.where(hot, 1.0, -1.0 if network.head.family == "perceptron" else 0.0)


class Twin(MLP):
    """The plain multilayer perceptron of a network, whose theta has the same order."""

    def __init__(self, network: Network) -> None:
        hidden, head = network.layers[:-1], network.head
        last = Activation("identity") if head.fused else head.output
        super().__init__(
            [network.inputs, *(layer.units for layer in network.layers)],
            [plain_activation(a) for a in (*(layer.activation for layer in hidden), last)],
            plain_head(head),
            l1=[layer.l1 for layer in network.layers],
            l2=[layer.l2 for layer in network.layers],
        )
        self.has_bias = [layer.bias for layer in network.layers]

    def forward(self, theta: Array, x: Array, masks: Masks | None = None) -> tuple[list[Array], list[Array]]:
        """Whatever the types of theta and x, in float64."""
        return super().forward(theta.astype(np.float64), x.astype(np.float64), masks)

    def gradient(self, theta: Array, x: Array, t: Array, w: Array, masks: Masks | None = None) -> Array:
        """Biases of a layer without them stay at 0."""
        g = super().gradient(theta.astype(np.float64), x, t, w, masks)
        for (_, db), there in zip(self.layers(g), self.has_bias, strict=True):
            db *= there
        return g

    def is_weight(self) -> NDArray[np.bool_]:
        """True for weights, False for biases, in the order of theta."""
        return np.concatenate([np.repeat([True, False], [M * K, K]) for M, K in self.shapes])
