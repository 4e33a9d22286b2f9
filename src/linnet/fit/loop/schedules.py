"""Learning-rate schedules: the rate as a function of time, in epochs (with a fraction inside an epoch).

Time in epochs, not in steps, makes a schedule independent of the batch size. Every schedule can start with a linear
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
    """The learning rate at any time of a training run.

    Parameters
    ----------
    learning_rate : float
        The rate before decay.
    warmup : float, default=0.0
        Epochs over which the rate rises linearly from zero.
    """

    learning_rate: float = field(kw_only=False)
    warmup: float = 0.0

    def __post_init__(self) -> None:
        self._check("learning_rate", above=0)
        self._check("warmup", at_least=0)

    def _check(self, name: str, **bounds: float) -> None:
        """Check a number, and convert one of a type unknown to NumPy, such as a Fraction, to a float."""
        number = check_number(getattr(self, name), name, **bounds)
        if not isinstance(getattr(self, name), int | float):
            object.__setattr__(self, name, number)

    @abstractmethod
    def factor(self, time: Times) -> Times:
        """Return the factor of the learning rate at each time.

        Parameters
        ----------
        time : array
            Epochs since the start, with fractions.
        """

    def rates(self, first_step: int, steps: int, steps_per_epoch: int) -> Times:
        """Return the learning rates of consecutive steps.

        Parameters
        ----------
        first_step : int
            The first step, 0 being the first of the run.
        steps : int
            The number of steps.
        steps_per_epoch : int
            The number of steps in an epoch.
        """
        step = np.arange(first_step, first_step + steps)
        rates = self.learning_rate * self.factor(step / steps_per_epoch)
        if self.warmup:
            rates *= np.minimum(1.0, (step + 1) / (self.warmup * steps_per_epoch))
        return np.ascontiguousarray(np.broadcast_to(rates, steps))


@setting
@dataclass(frozen=True, kw_only=True)
class Constant(Schedule):
    """rate(t) = learning_rate: the same rate throughout.

    Parameters
    ----------
    learning_rate : float
        The rate before decay.
    warmup : float, default=0.0
        Epochs over which the rate rises linearly from zero.
    """

    def factor(self, time: Times) -> Times:  # noqa: D102
        return np.ones_like(time)


@setting
@dataclass(frozen=True, kw_only=True)
class StepDecay(Schedule):
    """rate(t) = learning_rate · drop^floor(t / every): multiplied by `drop` every `every` epochs.

    Parameters
    ----------
    learning_rate : float
        The rate before decay.
    drop : float, default=0.5
        The factor of each drop.
    every : float, default=10.0
        Epochs between drops.
    warmup : float, default=0.0
        Epochs over which the rate rises linearly from zero.
    """

    drop: float = 0.5
    every: float = 10.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check("drop", above=0)
        self._check("every", above=0)

    def factor(self, time: Times) -> Times:  # noqa: D102
        return self.drop ** np.floor(time / self.every)


@setting
@dataclass(frozen=True, kw_only=True)
class InverseScaling(Schedule):
    """rate(t) = learning_rate / (1 + t)^power.

    Parameters
    ----------
    learning_rate : float
        The rate before decay.
    power : float, default=0.5
        The exponent.
    warmup : float, default=0.0
        Epochs over which the rate rises linearly from zero.
    """

    power: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check("power", at_least=0)

    def factor(self, time: Times) -> Times:  # noqa: D102
        return (1 + time) ** -self.power


@setting
@dataclass(frozen=True, kw_only=True)
class ExponentialDecay(Schedule):
    """rate(t) = learning_rate · decay^t: multiplied by `decay` every epoch.

    Parameters
    ----------
    learning_rate : float
        The rate before decay.
    decay : float, default=0.95
        The factor per epoch.
    warmup : float, default=0.0
        Epochs over which the rate rises linearly from zero.
    """

    decay: float = 0.95

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check("decay", above=0)

    def factor(self, time: Times) -> Times:  # noqa: D102
        return self.decay**time


@setting
@dataclass(frozen=True, kw_only=True)
class Cosine(Schedule):
    """rate(t) = learning_rate · (final + (1 - final) (1 + cos(π t / epochs)) / 2), constant after `epochs`.

    Parameters
    ----------
    learning_rate : float
        The rate before decay.
    epochs : float, default=100.0
        The epochs over which the rate falls.
    final : float, default=0.0
        The final rate, as a share of `learning_rate`.
    warmup : float, default=0.0
        Epochs over which the rate rises linearly from zero.
    """

    epochs: float = 100.0
    final: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check("epochs", above=0)
        self._check("final", at_least=0)

    def factor(self, time: Times) -> Times:  # noqa: D102
        wave = (1 + np.cos(np.pi * np.minimum(time / self.epochs, 1.0))) / 2
        return self.final + (1 - self.final) * wave


def as_schedule(learning_rate: "float | Schedule") -> Schedule:
    """Return a schedule; a number stands for a constant rate."""
    return learning_rate if isinstance(learning_rate, Schedule) else Constant(learning_rate)
