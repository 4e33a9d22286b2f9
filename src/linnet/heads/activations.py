"""Activation functions.

| name | h(z) | slope h'(z) |
|---|---|---|
| identity | z | 1 |
| sigmoid | 1 / (1 + e^-z) | h (1 - h) |
| tanh | tanh z = 2 sigmoid(2z) - 1 | 1 - h² |
| relu | max(0, z) | 1 where z > 0, else 0 |
| leaky_relu | z where z > 0, else slope z (slope 0.1 by default) | 1 or slope |
| elu | z where z > 0, else e^z - 1 | 1 or h + 1 |
| selu | 1.0507 (z where z > 0, else 1.6733 (e^z - 1)) | 1.0507 or h + 1.7581 |
| gelu | z Φ(z), Φ the normal distribution function | Φ(z) + z φ(z) |
| silu | z sigmoid(z) | s (1 + z (1 - s)), s = sigmoid(z) |
| softplus | log(1 + e^z) | sigmoid(z) |
| exponential | e^z | h |
| softmax | e^z_k / Σ_j e^z_j over the units of the layer | Jacobian diag(h) - h h' |

The formulas are computed in core/heads/activation.hpp.
"""

from dataclasses import dataclass

from linnet.checks import check_name, check_number
from linnet.errors import ConfigError, unknown_name
from linnet.registry import setting

ACTIVATIONS = (
    "identity",
    "sigmoid",
    "tanh",
    "relu",
    "leaky_relu",
    "elu",
    "selu",
    "gelu",
    "silu",
    "softplus",
    "exponential",
    "softmax",
)
_ALIASES = {"linear": "identity", "logistic": "sigmoid", "swish": "silu", "exp": "exponential"}


@setting
@dataclass(frozen=True, slots=True)
class Activation:
    """An activation function.

    Parameters
    ----------
    name : str
        The name of the activation, one of `ACTIVATIONS`.
    slope : float, default=0.1
        The slope of leaky_relu below zero.
    """

    name: str
    slope: float = 0.1

    def __post_init__(self) -> None:
        check_name(self.name, "activation", ACTIVATIONS)
        check_number(self.slope, "slope", self.name, at_least=0)

    @property
    def is_flat_at_zero(self) -> bool:
        """Whether h'(0) is 0, so that units with a z of 0 pass no gradient on."""
        return self.name == "relu" or (self.name == "leaky_relu" and not self.slope)


def LeakyReLU(slope: float = 0.1) -> Activation:
    """Return the activation leaky_relu with the given slope, as in `Dense(10, activation=LeakyReLU(0.2))`.

    Parameters
    ----------
    slope : float, default=0.1
        The slope below zero.

    Returns
    -------
    Activation
        The activation.
    """
    return Activation("leaky_relu", slope)


def as_activation(value: "str | Activation | None") -> Activation:
    """Return an activation given by name, including alternative names such as "swish"; None is the identity.

    Parameters
    ----------
    value : str, Activation or None
        The name, or an activation, which is returned as it is.

    Returns
    -------
    Activation
        The activation.
    """
    if isinstance(value, Activation):
        return value
    if value is None:
        return Activation("identity")
    if not isinstance(value, str):
        raise ConfigError(f"activation must be a name or LeakyReLU(slope), got {value!r}")
    name = _ALIASES.get(value, value)
    if name not in ACTIVATIONS:
        raise unknown_name("activation", value, (*ACTIVATIONS, *_ALIASES))
    return Activation(name)
