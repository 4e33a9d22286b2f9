"""Learning-rate schedules: the rate as a function of time, time in epochs (a fraction inside an epoch).

Time in epochs and not in steps makes a schedule independent of the batch size. Every schedule can start with a linear
warm-up from zero over its first `warmup` epochs.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from linnet.checks import check_number
from linnet.registry import setting

Times = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Schedule(ABC):
    """The learning rate at any time of a training run. All but the rate itself is given by name."""

    learning_rate: float = field(kw_only=False)
    warmup: float = 0.0

    def __post_init__(self) -> None:
        check_number(self.learning_rate, "learning_rate", above=0)
        check_number(self.warmup, "warmup", at_least=0)

    @abstractmethod
    def factor(self, time: Times) -> Times:
        """What the learning rate is multiplied by at each time."""

    def rates(self, first_step: int, steps: int, steps_per_epoch: int) -> Times:
        """Return the learning rates of `steps` steps from `first_step` on (0 is the first of the run)."""
        step = np.arange(first_step, first_step + steps)
        rates = self.learning_rate * self.factor(step / steps_per_epoch)
        if self.warmup:
            rates *= np.minimum(1.0, (step + 1) / (self.warmup * steps_per_epoch))
        return np.ascontiguousarray(np.broadcast_to(rates, steps))


@setting
@dataclass(frozen=True, kw_only=True)
class Constant(Schedule):
    """rate(t) = learning_rate."""

    def factor(self, time: Times) -> Times:  # noqa: D102
        return np.ones_like(time)


@setting
@dataclass(frozen=True, kw_only=True)
class StepDecay(Schedule):
    """rate(t) = learning_rate · drop^floor(t / every): times `drop` every `every` epochs."""

    drop: float = 0.5
    every: float = 10.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self.drop, "drop", above=0)
        check_number(self.every, "every", above=0)

    def factor(self, time: Times) -> Times:  # noqa: D102
        return self.drop ** np.floor(time / self.every)


@setting
@dataclass(frozen=True, kw_only=True)
class InverseScaling(Schedule):
    """rate(t) = learning_rate / (1 + t)^power."""

    power: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self.power, "power", at_least=0)

    def factor(self, time: Times) -> Times:  # noqa: D102
        return (1 + time) ** -self.power


@setting
@dataclass(frozen=True, kw_only=True)
class ExponentialDecay(Schedule):
    """rate(t) = learning_rate · decay^t: times `decay` every epoch."""

    decay: float = 0.95

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self.decay, "decay", above=0)

    def factor(self, time: Times) -> Times:  # noqa: D102
        return self.decay**time


@setting
@dataclass(frozen=True, kw_only=True)
class Cosine(Schedule):
    """rate(t) = learning_rate · (final + (1 - final) (1 + cos(π t / epochs)) / 2), constant after `epochs`."""

    epochs: float = 100.0
    final: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self.epochs, "epochs", above=0)
        check_number(self.final, "final", at_least=0)

    def factor(self, time: Times) -> Times:  # noqa: D102
        wave = (1 + np.cos(np.pi * np.minimum(time / self.epochs, 1.0))) / 2
        return self.final + (1 - self.final) * wave


def as_schedule(learning_rate: "float | Schedule") -> Schedule:
    """Return a number as a constant schedule."""
    return learning_rate if isinstance(learning_rate, Schedule) else Constant(learning_rate)
