"""Optimizers."""

from collections.abc import Mapping
from typing import Any

from linnet.learn.assignment import Assignment, Mistake, Part
from linnet.learn.course.samples import Array, normal


def _steps(program: Any, name: str, count: int = 3, **parameters: Any) -> list[Array]:
    """The steps of an optimizer from one starting point, with gradients that change."""
    optimizer, theta, way = getattr(program, name)(**parameters), normal(4), []
    for k in range(count):
        theta = optimizer.step(theta, normal(4, seed=20 + k))
        way.append(theta)
    return way


def _part(name: str, what: str, count: int, more: Mapping[str, Any]) -> Part:
    return Part(f"{name}.step", what, lambda program: _steps(program, name, count, **more))


_OPTIMIZERS = Assignment(
    name="optimizers",
    title="Optimizers: momentum, Nesterov, Adagrad, RMSprop, Adam",
    plain="optimizers",
    write={"Momentum.step": (), "Nesterov.step": (), "Adagrad.step": (), "RMSprop.step": (), "Adam.step": ()},
    given=("SGD",),
    task="""Each optimizer has a step from theta and the gradient g to the next theta, and remembers something:
    momentum the velocity v, Adagrad the sum s of squared gradients, RMSprop their running mean, Adam running means m
    of g and v of g^2, which start at 0, for which the rate of step k makes up: it is eta sqrt(1 -
    beta_2^k) / (1 - beta_1^k). Nesterov's step is mu v - eta g with the new v. With amsgrad, Adam divides by the
    largest v so far.""",
    run="""
        for optimizer in (SGD(0.02), Momentum(0.02), Nesterov(0.02), Adagrad(1.0), RMSprop(0.1), Adam(0.1)):
            theta = np.array([2.0, 1.0])
            for _ in range(100):
                theta = optimizer.step(theta, np.array([1.0, 20.0]) * theta)  # a long valley
            print(f"{type(optimizer).__name__:9} has reached {theta.round(4)} after 100 steps; the minimum is at 0")
    """,
    parts=tuple(
        _part(name, what, count, more)
        for name, more in (
            ("Momentum", {}),
            ("Nesterov", {}),
            ("Adagrad", {}),
            ("RMSprop", {}),
            ("Adam", {}),
            ("Adam", {"amsgrad": True, "beta_2": 0.5}),
        )
        for what, count in (
            (f"the first step{' with amsgrad' if more else ''}", 1),
            (f"five steps{' with amsgrad' if more else ''}", 5),
        )
    ),
    mistakes=(
        Mistake(
            {
                "        self.v = self.mu * self.v - self.eta * g\n"
                "        return theta + self.v\n": "        v = self.mu * self.v - self.eta * g\n"
                "        return theta + v\n"
            },
            "nothing is remembered: store the velocity in self.v, for the next step.",
        ),
        Mistake(
            {
                "self.v = self.mu * self.v - self.eta * g\n"
                "        return theta + self.v\n": "self.v = self.mu * self.v + self.eta * g\n"
                "        return theta + self.v\n"
            },
            "the velocity goes uphill: v = mu v - eta g.",
        ),
        Mistake(
            {
                "        self.v = self.mu * self.v - self.eta * g\n        return theta + self.mu * self.v - "
                "self.eta * g\n": "        step = self.mu * self.v - self.eta * g\n        self.v = step\n"
                "        return theta + step\n"
            },
            "this is plain momentum: Nesterov's step is mu v - eta g with the new v.",
        ),
        Mistake({"self.s = self.s + g**2": "self.s = g**2"}, "the sum decays: Adagrad's never does, s = s + g^2."),
        Mistake(
            {
                "        self.s = self.s + g**2\n        return theta - self.eta * g / np.sqrt(self.s + "
                "self.epsilon)\n": "        self.s = self.s + g**2\n        return theta - self.eta * g / (self.s + "
                "self.epsilon)\n"
            },
            "the square root is missing: divide by sqrt(s + epsilon).",
        ),
        Mistake(
            {"self.s = self.rho * self.s + (1 - self.rho) * g**2": "self.s = self.rho * self.s + g**2"},
            "the weight 1 - rho of the new square is missing: s = rho s + (1 - rho) g^2 is a mean.",
        ),
        Mistake(
            {
                "self.s = self.rho * self.s + (1 - self.rho) * g**2": "self.s = (1 - self.rho) * self.s + self.rho * "
                "g**2"
            },
            "rho and 1 - rho are swapped: rho is the weight of the old mean.",
        ),
        Mistake(
            {"eta_k = self.eta * np.sqrt(1 - self.beta_2**self.k) / (1 - self.beta_1**self.k)": "eta_k = self.eta"},
            "the correction for the start is missing: m and v begin at 0, so the rate of step k is eta sqrt(1 - "
            "beta_2^k) / (1 - beta_1^k).",
        ),
        Mistake(
            {
                "        self.k += 1\n": "",
                "        return theta - eta_k * self.m": "        self.k += 1\n        return theta - eta_k * self.m",
            },
            "k is increased too late: the first step has k = 1; with k = 0, its correction divides by 0.",
        ),
        Mistake(
            {
                "self.v = self.beta_2 * self.v + (1 - self.beta_2) * g**2": "self.v = self.beta_2 * self.v + (1 - "
                "self.beta_2) * g"
            },
            "v is the running mean of g^2, not of g.",
        ),
        Mistake(
            {"self.u = np.maximum(self.u, self.v) if self.amsgrad else self.v": "self.u = self.v"},
            "amsgrad is not used: with it, divide by the largest v so far.",
        ),
    ),
    hints=(
        "Everything works on arrays element by element: g**2, np.sqrt(s).",
        "What is remembered starts as the number 0.0 and becomes an array on its own: self.v = self.mu * self.v - "
        "self.eta * g.",
        "Adam: self.k += 1 first; then m, v, the rate of this step, and theta - rate * m / (sqrt(v) + epsilon).",
    ),
    page="optimizers",
)

OPTIMIZER_STEPS = (_OPTIMIZERS,)
