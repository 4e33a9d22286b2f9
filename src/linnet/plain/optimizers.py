"""Optimizers: from the parameters theta and the gradient g of the objective to the next theta.

The state of an optimizer starts at zero and becomes an array like theta with the first step. eta is the learning rate;
epsilon keeps divisors away from 0.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class SGD:
    """Gradient descent: steps against the gradient, without a state."""

    def __init__(self, eta: float = 0.01) -> None:
        self.eta = eta

    def step(self, theta: Array, g: Array) -> Array:
        return theta - self.eta * g


class Momentum:
    """A ball rolling downhill: the velocity v sums up the steps so far, and decays by mu per step."""

    def __init__(self, eta: float = 0.01, mu: float = 0.9) -> None:
        self.eta, self.mu = eta, mu
        self.v: Any = 0.0

    def step(self, theta: Array, g: Array) -> Array:
        self.v = self.mu * self.v - self.eta * g
        return theta + self.v


class Nesterov(Momentum):
    """Momentum that looks ahead: the step includes that of the new velocity."""

    def step(self, theta: Array, g: Array) -> Array:
        self.v = self.mu * self.v - self.eta * g
        return theta + self.mu * self.v - self.eta * g


class Adagrad:
    """Each parameter has its own rate, which falls with the sum s of its squared gradients."""

    def __init__(self, eta: float = 0.001, s: float = 0.1, epsilon: float = 1e-7) -> None:
        self.eta, self.epsilon = eta, epsilon
        self.s: Any = s

    def step(self, theta: Array, g: Array) -> Array:
        self.s = self.s + g**2
        return theta - self.eta * g / np.sqrt(self.s + self.epsilon)


class RMSprop:
    """Adagrad that forgets: s is a running mean of the squared gradients."""

    def __init__(self, eta: float = 0.001, rho: float = 0.9, epsilon: float = 1e-7) -> None:
        self.eta, self.rho, self.epsilon = eta, rho, epsilon
        self.s: Any = 0.0

    def step(self, theta: Array, g: Array) -> Array:
        self.s = self.rho * self.s + (1 - self.rho) * g**2
        return theta - self.eta * g / np.sqrt(self.s + self.epsilon)


class Adam:
    """Momentum and RMSprop: running means m of g and v of g^2. Both start at 0, for which step k is corrected.

    AMSGrad divides by the largest v so far, u: where gradients become small, steps do not grow again.
    """

    def __init__(
        self,
        eta: float = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
    ) -> None:
        self.eta, self.beta_1, self.beta_2, self.epsilon, self.amsgrad = eta, beta_1, beta_2, epsilon, amsgrad
        self.m: Any = 0.0
        self.v: Any = 0.0
        self.u: Any = 0.0
        self.k = 0

    def step(self, theta: Array, g: Array) -> Array:
        self.k += 1
        self.m = self.beta_1 * self.m + (1 - self.beta_1) * g
        self.v = self.beta_2 * self.v + (1 - self.beta_2) * g**2
        self.u = np.maximum(self.u, self.v) if self.amsgrad else self.v
        eta_k = self.eta * np.sqrt(1 - self.beta_2**self.k) / (1 - self.beta_1**self.k)
        return theta - eta_k * self.m / (np.sqrt(self.u) + self.epsilon)


class AdamW(Adam):
    """Adam with weight decay: before each step, `decayed` parameters (True for weights, False for biases) shrink."""

    def __init__(self, eta: float = 0.001, decay: float = 0.004, decayed: Any = True, **adam: Any) -> None:
        super().__init__(eta, **adam)
        self.decay, self.decayed = decay, decayed

    def step(self, theta: Array, g: Array) -> Array:
        return super().step(theta - self.eta * self.decay * theta * self.decayed, g)


def clip(g: Array, max_norm: float) -> Array:
    """Return the gradient, scaled down to `max_norm` if its norm is larger."""
    norm = np.sqrt((g**2).sum())
    return g * (max_norm / norm) if norm > max_norm else g
