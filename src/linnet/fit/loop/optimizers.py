"""Optimizers, as descriptions; core/train/optimizer.hpp has the arithmetic.

g is the objective's gradient, r the rate.

| optimizer | step |
|---|---|
| SGD | w -= r g |
| SGD(momentum=m) | v = m v - r g; w += v |
| SGD(momentum=m, nesterov=True) | v = m v - r g; w += m v - r g |
| Adagrad | s += g²; w -= r g / sqrt(s + e) |
| RMSprop | s = rho s + (1 - rho) g²; w -= r g / sqrt(s + e) |
| Adam | m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g²; w -= r sqrt(1 - b2^t) / (1 - b1^t) · m / (sqrt(v) + e) |
| Adam(amsgrad=True) | Adam's m and v; u = max(u, v), the largest v so far; Adam's step with u in place of v |
| AdamW | w -= r decay w (weights, never biases), then Adam's step |

Names, defaults and the position of e are Keras'. `clip_norm` is Keras' global_clipnorm: it scales the whole gradient
down to this norm if it is larger.
"""

from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from linnet._native import core
from linnet.checks import check_flag, check_number
from linnet.errors import ConfigError, unknown_name
from linnet.fit.loop.schedules import Constant, Schedule, as_schedule
from linnet.registry import need, setting

if TYPE_CHECKING:
    from linnet import _core


def _check_epsilon(epsilon: float) -> None:
    check_number(epsilon, "epsilon", above=0)
    if np.float32(epsilon) == 0:
        raise ConfigError(f"epsilon must be above 0 in float32, too, got {epsilon!r}")


class Optimizer:
    """Base class of optimizers.

    Parameters
    ----------
    learning_rate : float or Schedule, default=0.001
        The rate, or a schedule of it.
    lr : float, Schedule or None, default=None
        Another name of `learning_rate`.
    clip_norm : float or None, default=None
        Scale the whole gradient down to this Euclidean norm if it is larger.
    """

    def __init__(
        self,
        learning_rate: float | Schedule = 0.001,
        *,
        lr: float | Schedule | None = None,
        clip_norm: float | None = None,
    ) -> None:
        if lr is not None and learning_rate != signature(type(self)).parameters["learning_rate"].default:
            raise ConfigError(f"learning_rate={learning_rate!r} and lr={lr!r} are the same parameter: pass one of them")
        self.schedule = as_schedule(learning_rate if lr is None else lr)  # lr overrides the default of learning_rate
        if clip_norm is not None:
            check_number(clip_norm, "clip_norm", above=0)
        self.clip_norm = clip_norm

    @property
    def learning_rate(self) -> float:
        """The rate before decay."""
        return self.schedule.learning_rate

    def to_core(self) -> "_core.OptimizerSpec":
        """Return the optimizer's description for the native core."""
        spec = core.OptimizerSpec()
        spec.clip_norm = self.clip_norm or 0.0
        for name, value in self._settings().items():
            setattr(spec, name, value)
        return spec

    def _settings(self) -> dict[str, object]:
        raise AssertionError("every optimizer overrides this")

    def _arguments(self) -> dict[str, object]:
        values = {**vars(self), "learning_rate": self.schedule}
        return {name: values[name] for name in signature(type(self)).parameters if name in values}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the state from a file, with defaults for parameters that are newer than the file."""
        newer = {name: value for name, value in defaults_of(type(self)).items() if name not in state}
        self.__dict__.update(state | newer)

    def _check_file(self) -> None:
        rebuilt = type(self)(**self._arguments())  # type: ignore[arg-type]  # checks the arguments
        need(self.__dict__.keys() == rebuilt.__dict__.keys(), self, "state")

    def __repr__(self) -> str:
        values = vars(self)
        order = [name for name in signature(type(self)).parameters if values.get(name) is not None]
        fields = {name: values[name] for name in order}
        rate = self.learning_rate if type(self.schedule) is Constant else self.schedule
        return f"{type(self).__name__}(learning_rate={rate}{''.join(f', {k}={v!r}' for k, v in fields.items())})"


@setting
class SGD(Optimizer):
    """Stochastic gradient descent, plain, with momentum or with Nesterov's momentum.

    Parameters
    ----------
    learning_rate : float or Schedule, default=0.01
        The rate, or a schedule of it.
    momentum : float, default=0.0
        The share of the last step that is added to the next, from 0 to 1.
    nesterov : bool, default=False
        Use Nesterov's momentum, which looks ahead by the next step's momentum.
    lr : float, Schedule or None, default=None
        Another name of `learning_rate`.
    clip_norm : float or None, default=None
        Scale the whole gradient down to this Euclidean norm if it is larger.
    """

    def __init__(
        self,
        learning_rate: float | Schedule = 0.01,
        momentum: float = 0.0,
        nesterov: bool = False,
        *,
        lr: float | Schedule | None = None,
        clip_norm: float | None = None,
    ) -> None:
        super().__init__(learning_rate, lr=lr, clip_norm=clip_norm)
        self.momentum = check_number(momentum, "momentum", at_least=0, at_most=1)
        self.nesterov = check_flag(nesterov, "nesterov")
        if nesterov and not momentum:
            raise ConfigError("nesterov=True needs momentum above 0")

    def _settings(self) -> dict[str, object]:
        rule = core.Rule.sgd if not self.momentum else core.Rule.nesterov if self.nesterov else core.Rule.momentum
        return {"rule": rule, "momentum": self.momentum}


@setting
class Adagrad(Optimizer):
    """Adagrad: steps divided by the root of the sum of all squared gradients so far.

    Parameters
    ----------
    learning_rate : float or Schedule, default=0.001
        The rate, or a schedule of it.
    initial_accumulator_value : float, default=0.1
        The initial value of the sums of squares.
    epsilon : float, default=1e-7
        Added to the denominator: keeps steps finite where gradients are zero.
    lr : float, Schedule or None, default=None
        Another name of `learning_rate`.
    clip_norm : float or None, default=None
        Scale the whole gradient down to this Euclidean norm if it is larger.
    """

    def __init__(
        self,
        learning_rate: float | Schedule = 0.001,
        initial_accumulator_value: float = 0.1,
        epsilon: float = 1e-7,
        *,
        lr: float | Schedule | None = None,
        clip_norm: float | None = None,
    ) -> None:
        super().__init__(learning_rate, lr=lr, clip_norm=clip_norm)
        _check_epsilon(epsilon)
        self.initial_accumulator_value = check_number(
            initial_accumulator_value, "initial_accumulator_value", at_least=0
        )
        self.epsilon = epsilon

    def _settings(self) -> dict[str, object]:
        return {
            "rule": core.Rule.adagrad,
            "initial_accumulator": self.initial_accumulator_value,
            "epsilon": self.epsilon,
        }


@setting
class RMSprop(Optimizer):
    """RMSprop: steps divided by the root of a running mean of squared gradients.

    Parameters
    ----------
    learning_rate : float or Schedule, default=0.001
        The rate, or a schedule of it.
    rho : float, default=0.9
        The share of the running mean that is kept at each step.
    epsilon : float, default=1e-7
        Added to the denominator: keeps steps finite where gradients are zero.
    lr : float, Schedule or None, default=None
        Another name of `learning_rate`.
    clip_norm : float or None, default=None
        Scale the whole gradient down to this Euclidean norm if it is larger.
    """

    def __init__(
        self,
        learning_rate: float | Schedule = 0.001,
        rho: float = 0.9,
        epsilon: float = 1e-7,
        *,
        lr: float | Schedule | None = None,
        clip_norm: float | None = None,
    ) -> None:
        super().__init__(learning_rate, lr=lr, clip_norm=clip_norm)
        _check_epsilon(epsilon)
        self.rho = check_number(rho, "rho", at_least=0, below=1)
        self.epsilon = epsilon

    def _settings(self) -> dict[str, object]:
        return {"rule": core.Rule.rmsprop, "momentum": self.rho, "epsilon": self.epsilon}


@setting
class Adam(Optimizer):
    """Adam: running means of the gradient and of its square, both corrected for their initial value of zero.

    Parameters
    ----------
    learning_rate : float or Schedule, default=0.001
        The rate, or a schedule of it.
    beta_1 : float, default=0.9
        The share of the running mean of the gradient that is kept at each step.
    beta_2 : float, default=0.999
        The share of the running mean of its square that is kept at each step.
    epsilon : float, default=1e-7
        Added to the denominator: keeps steps finite where gradients are zero.
    amsgrad : bool, default=False
        Divide by the root of the largest mean square so far, so that steps never grow again where gradients have become
        small.
    lr : float, Schedule or None, default=None
        Another name of `learning_rate`.
    clip_norm : float or None, default=None
        Scale the whole gradient down to this Euclidean norm if it is larger.
    """

    amsgrad = False  # set on the object only if True, as older models and checkpoints do not have it

    def __init__(
        self,
        learning_rate: float | Schedule = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        *,
        lr: float | Schedule | None = None,
        clip_norm: float | None = None,
    ) -> None:
        super().__init__(learning_rate, lr=lr, clip_norm=clip_norm)
        _check_epsilon(epsilon)
        self.beta_1 = check_number(beta_1, "beta_1", at_least=0, below=1)
        self.beta_2 = check_number(beta_2, "beta_2", at_least=0, below=1)
        self.epsilon = epsilon
        if check_flag(amsgrad, "amsgrad"):
            self.amsgrad = True

    def _settings(self) -> dict[str, object]:
        rule = core.Rule.amsgrad if self.amsgrad else core.Rule.adam
        return {"rule": rule, "beta1": self.beta_1, "beta2": self.beta_2, "epsilon": self.epsilon}


@setting
class AdamW(Adam):
    """AdamW: Adam with decoupled weight decay.

    Parameters
    ----------
    learning_rate : float or Schedule, default=0.001
        The rate, or a schedule of it.
    weight_decay : float, default=0.004
        Every weight also shrinks by the rate times this share at each step; biases do not.
    beta_1 : float, default=0.9
        The share of the running mean of the gradient that is kept at each step.
    beta_2 : float, default=0.999
        The share of the running mean of its square that is kept at each step.
    epsilon : float, default=1e-7
        Added to the denominator: keeps steps finite where gradients are zero.
    amsgrad : bool, default=False
        Divide by the root of the largest mean square so far, so that steps never grow again where gradients have become
        small.
    lr : float, Schedule or None, default=None
        Another name of `learning_rate`.
    clip_norm : float or None, default=None
        Scale the whole gradient down to this Euclidean norm if it is larger.
    """

    def __init__(
        self,
        learning_rate: float | Schedule = 0.001,
        weight_decay: float = 0.004,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        *,
        lr: float | Schedule | None = None,
        clip_norm: float | None = None,
    ) -> None:
        super().__init__(learning_rate, beta_1, beta_2, epsilon, amsgrad, lr=lr, clip_norm=clip_norm)
        self.weight_decay = check_number(weight_decay, "weight_decay", at_least=0)

    def _settings(self) -> dict[str, object]:
        rule = core.Rule.amsgrad if self.amsgrad else core.Rule.adamw
        return {**super()._settings(), "rule": rule, "decay": self.weight_decay}


OPTIMIZERS: dict[str, type[Optimizer]] = {  # by the name of each with its defaults
    "sgd": SGD,
    "adagrad": Adagrad,
    "rmsprop": RMSprop,
    "adam": Adam,
    "adamw": AdamW,
}


def defaults_of(kind: type[Optimizer]) -> dict[str, Any]:
    """Return the defaults of a class's own parameters, which are attributes of the same names."""
    parameters = signature(kind).parameters.items()
    defaults = {name: each.default for name, each in parameters if each.default is not each.empty}
    return {name: value for name, value in defaults.items() if name != "lr" and not hasattr(kind, name)}


def as_optimizer(value: "str | Optimizer") -> Optimizer:
    """Return an optimizer; a name stands for the optimizer with its defaults."""
    if isinstance(value, Optimizer):
        return value
    if not isinstance(value, str) or value.lower() not in OPTIMIZERS:
        raise unknown_name("optimizer", value, OPTIMIZERS)
    return OPTIMIZERS[value.lower()]()
