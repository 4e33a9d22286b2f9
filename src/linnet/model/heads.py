"""Heads: the distribution of the target, its activation and its loss in one object.

A head is written in terms of the last layer's linear output z, so that for every canonical pair the gradient of the
loss is "mean minus target" and nothing has to be clipped:

| head | mean of z | loss of a row, constants dropped | dloss/dz |
|---|---|---|---|
| normal | z | (z - t)² / 2 | z - t |
| laplace | z | abs(z - t) | sign(z - t) |
| huber | z | r² / 2 where abs(r) <= q, else q abs(r) - q² / 2 | r = z - t, kept within ±q |
| quantile | z | max((1 - q) r, -q r), r = z - t | 1 - q above t, -q below |
| bernoulli | 1 / (1 + e^-z) | log(1 + e^z) - t z | mean - t |
| categorical | softmax(z) | logsumexp(z) - z_t | mean - onehot(t) |
| poisson | e^z | e^z - t z | mean - t |
| gamma | e^z | t e^-z + z | 1 - t / mean |
| tweedie | e^z | mean^(2-q) / (2-q) - t mean^(1-q) / (1-q) | mean^(1-q) (mean - t) |
| tweedie_identity | z > 0 | the same | mean^-q (mean - t) |
| perceptron | sign(z) | max(0, -t z), t = ±1 | -t where t z <= 0 |
| custom | z | a function of z and t | given with it |

Tweedie's distributions have the variance mean^q: q = 0 is the normal, 1 the Poisson, 2 the gamma distribution, between
1 and 2 a sum of gammas as numerous as a Poisson count, 3 the inverse Gaussian. The median, or any other quantile q of
the target, is what the quantile head's loss is least at.

The loss of a row is the sum over its outputs. Squared and absolute error (normal, laplace) may also be taken after any
other activation a: the mean is then a(z), and the gradient goes through a's own derivative. The formulas are
computed in core/family.hpp.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet._native import core
from linnet.checks import check_number
from linnet.errors import ConfigError, unknown_name
from linnet.model.activations import Activation, as_activation

Floats = NDArray[np.float64]
Targets = NDArray[Any]  # labels, one a row, or values, rows x outputs
LossFunction = Callable[[Floats, Floats], tuple[Floats, Floats]]

_CANONICAL = {
    "normal": "identity",
    "laplace": "identity",
    "huber": "identity",
    "quantile": "identity",
    "bernoulli": "sigmoid",
    "categorical": "softmax",
    "poisson": "exponential",
    "perceptron": "identity",
    "gamma": "exponential",
    "tweedie": "exponential",
    "tweedie_identity": "identity",
    "custom": "identity",
}
HEADS = tuple(_CANONICAL)


@dataclass(frozen=True, slots=True)
class Head:
    """A distribution for the target and the activation that makes its mean from z.

    `activation` None stands for the head's own: identity, sigmoid, softmax or exponential. `power` is q: Tweedie's
    power, huber's turning point, the quantile. `function` is that of a custom head: (z, t) -> (loss of each row,
    dloss/dz), on arrays of rows x outputs.
    The methods take z (rows x outputs), or what an activation other than the head's own made of it.
    """

    family: str
    activation: Activation | None = None
    power: float = 0.0
    function: LossFunction | None = None

    def __post_init__(self) -> None:
        if self.family not in _CANONICAL:
            raise unknown_name("head", self.family, HEADS)
        own = _CANONICAL[self.family]
        given = self.activation
        if given is None or given.name == own:
            object.__setattr__(self, "activation", Activation(own))
        elif self.family not in ("normal", "laplace"):
            raise ConfigError(_wrong_pair(self.family, given.name))

    @property
    def output(self) -> Activation:
        """The activation that makes the mean."""
        assert self.activation is not None  # filled in above
        return self.activation

    @property
    def fused(self) -> bool:
        """Whether loss and activation are one function of z, so that the last layer itself has no activation."""
        return self.output.name == _CANONICAL[self.family]

    @property
    def convex(self) -> bool:
        """Whether the second derivative of the loss is above 0 whatever z and t, so that `curvature` is exact."""
        return {"tweedie": 1 <= self.power <= 2, "tweedie_identity": self.power == 0}.get(self.family, True)

    @property
    def has_classes(self) -> bool:
        """Whether the target of a row is one class out of as many as there are outputs."""
        return self.family == "categorical"

    def mean(self, z: Floats) -> Floats:
        """Return the mean of each row's distribution; the perceptron's score."""
        return self.rows(z, mean=np.empty(z.shape))

    def loss(self, z: Floats, t: Targets) -> Floats:
        """Return the loss of each row."""
        return self.rows(z, t, loss=np.empty(len(z)))

    def slope(self, z: Floats, t: Targets) -> Floats:
        """Return dloss/dz, rows x outputs."""
        return self.rows(z, t, slope=np.empty(z.shape))

    def curvature(self, z: Floats, t: Targets, *, expected: bool = False) -> Floats:
        """Return d²loss/dz_k², rows x outputs; with `expected`, or where it is not above 0, its mean over t."""
        return self.rows(z, t, expected=expected, curvature=np.empty(z.shape))

    def rows(self, z: Floats, t: Targets | None = None, *, expected: bool = False, **wanted: Floats) -> Floats:
        """Fill in what is wanted: mean, loss, slope, curvature; return the first of them."""
        labels, values = (t, None) if t is not None and t.ndim == 1 else (None, t)
        if self.function is not None and t is not None:
            assert wanted.keys() <= {"loss", "slope"}, "nothing else is known of a function"
            for name, found in zip(("loss", "slope"), self.function(z, t), strict=True):
                if name in wanted:
                    wanted[name][:] = found
            return next(iter(wanted.values()))
        family = getattr(core.Family, self.family)
        core.head_rows(family, self.power, z, labels, values, expected=expected, **wanted)
        return next(iter(wanted.values()))


def Normal(activation: str | Activation | None = None) -> Head:
    """Return the head of squared error: (mean - t)² / 2."""
    return Head("normal", None if activation is None else as_activation(activation))


def Laplace(activation: str | Activation | None = None) -> Head:
    """Return the head of absolute error: |mean - t|."""
    return Head("laplace", None if activation is None else as_activation(activation))


def Huber(turning_point: float = 1.0) -> Head:
    """Return the head for real targets with outliers: squares up to the turning point, absolute values beyond."""
    return Head("huber", power=check_number(turning_point, "turning_point", above=0))


def Quantile(quantile: float = 0.5) -> Head:
    """Return the head for a quantile of real targets."""
    return Head("quantile", power=check_number(quantile, "quantile", above=0, below=1))


def Custom(function: LossFunction) -> Head:
    """Return a head for real targets from a function (z, t) -> (loss of each row, dloss/dz)."""
    return Head("custom", function=function)


def Bernoulli() -> Head:
    """Return the head of yes/no targets, one or many independent ones: log(1 + e^z) - t z."""
    return Head("bernoulli")


def Categorical() -> Head:
    """Return the head of one class out of many: logsumexp(z) - z_t."""
    return Head("categorical")


def log_softmax(z: Floats) -> Floats:
    """Return the logarithms of the categorical head's mean, exact also where the mean itself is 0.

    log p_k = z_k - z_top + log p_top, and -log p_top is the loss of a row whose class is the one with the largest z.
    """
    top = z.argmax(axis=1)
    largest = np.take_along_axis(z, top[:, None], axis=1)
    return np.asarray(z - largest - Categorical().loss(z, top)[:, None])


def Poisson() -> Head:
    """Return the head of counts: e^z - t z (log t! dropped)."""
    return Head("poisson")


def Gamma() -> Head:
    """Return the head of positive amounts whose spread grows with their mean: t e^-z + z."""
    return Head("gamma")


def Tweedie(power: float, link: str = "log") -> Head:
    """Return the head of Tweedie's distribution with variance mean^power, the mean being e^z ("log") or z ("identity").

    Powers between 0 and 1 belong to no distribution.
    """
    if not (power <= 0 or power >= 1):
        raise ConfigError(f"power must be 0 or less, or 1 or more, got {power!r}: no distribution has it")
    if link not in ("log", "identity"):
        raise unknown_name("link", link, ("log", "identity"))
    if link == "identity":
        return Normal() if power == 0 else Head("tweedie_identity", power=float(power))
    if power in (1, 2):
        return Poisson() if power == 1 else Gamma()
    return Head("tweedie", power=float(power))


def power_of(head: Head) -> float:
    """The power of the mean that the variance goes with."""
    return {"normal": 0.0, "poisson": 1.0, "gamma": 2.0}.get(head.family, head.power)


def Perceptron() -> Head:
    """Return the perceptron's head: max(0, -t z) with t = ±1, one against the rest for several classes."""
    return Head("perceptron")


_RIGHT_LOSS = {  # which loss an activation goes with
    "sigmoid": "binary cross-entropy (Bernoulli)",
    "softmax": "categorical cross-entropy (Categorical)",
    "exponential": "Poisson loss",
    "identity": "squared error (Normal) or absolute error (Laplace), which go with any activation",
}
_LOSS = {  # what a head's loss is called, where not by the head's name
    "bernoulli": "binary cross-entropy",
    "categorical": "categorical cross-entropy",
    "poisson": "the Poisson loss",
    "huber": "Huber's loss",
    "tweedie": "Tweedie's loss",
    "tweedie_identity": "Tweedie's loss with the identity link",
}


def _wrong_pair(family: str, activation: str) -> str:
    given = "none" if activation == "identity" else repr(activation)
    loss = _LOSS.get(family, f"the {family} loss")
    message = f"{loss} needs activation={_CANONICAL[family]!r} on the last layer, which has {given}"
    if activation in _RIGHT_LOSS:
        message += f"; {activation!r} goes with {_RIGHT_LOSS[activation]}"
    return message
