"""Rules for when to stop and when to reduce the learning rate, by the record of each epoch."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from linnet.checks import check_flag, check_name, check_number, check_whole
from linnet.errors import ConfigError, unknown_name

Mode = Literal["auto", "min", "max"]


@dataclass(frozen=True)
class EarlyStopping:
    """Stop when a loss or metric has not improved for several epochs, and keep the parameters of the best epoch.

    Parameters
    ----------
    monitor : str, default="val_loss"
        The loss or metric of the record to watch.
    patience : int, default=0
        Epochs without improvement after which training stops.
    min_delta : float, default=0.0
        Only a change of more than this counts as an improvement.
    mode : {"auto", "min", "max"}, default="auto"
        Whether smaller or greater is better; "auto" is the direction of the loss or metric.
    restore_best_weights : bool, default=True
        Whether to end with the parameters of the best epoch rather than those of the last.
    any_gain : bool, default=False
        If False, as in Keras, an epoch is the best only if it improves by more than `min_delta`. If True, as in
        scikit-learn, any improvement makes it the best, while patience still waits for one of at least `min_delta`.
    """

    monitor: str = "val_loss"
    patience: int = 0
    min_delta: float = 0.0
    mode: Mode = "auto"
    restore_best_weights: bool = True
    any_gain: bool = False

    def __post_init__(self) -> None:
        _check(self.monitor, self.patience, self.min_delta, self.mode)
        for name in ("restore_best_weights", "any_gain"):
            check_flag(getattr(self, name), name)


@dataclass(frozen=True)
class ReduceLROnPlateau:
    """Multiply the learning rate by a factor when a loss or metric has not improved for several epochs.

    Parameters
    ----------
    monitor : str, default="val_loss"
        The loss or metric of the record to watch.
    factor : float, default=0.1
        The factor of the rate, between 0 and 1.
    patience : int, default=10
        Epochs without improvement after which the rate is reduced.
    min_delta : float, default=1e-4
        Only a change of more than this counts as an improvement.
    mode : {"auto", "min", "max"}, default="auto"
        Whether smaller or greater is better; "auto" is the direction of the loss or metric.
    cooldown : int, default=0
        Epochs after a reduction that do not count towards `patience`.
    min_lr : float, default=0.0
        The lowest rate.
    stop_at_min : bool, default=False
        Whether training ends on a plateau at the lowest rate.
    any_gain : bool, default=False
        As for `EarlyStopping`.
    """

    monitor: str = "val_loss"
    factor: float = 0.1
    patience: int = 10
    min_delta: float = 1e-4
    mode: Mode = "auto"
    cooldown: int = 0
    min_lr: float = 0.0
    stop_at_min: bool = False
    any_gain: bool = False

    def __post_init__(self) -> None:
        _check(self.monitor, self.patience, self.min_delta, self.mode)
        check_number(self.factor, "factor", above=0, below=1)
        check_whole(self.cooldown, "cooldown")
        check_number(self.min_lr, "min_lr", at_least=0)
        for name in ("stop_at_min", "any_gain"):
            check_flag(getattr(self, name), name)


@dataclass(slots=True)
class Seen:
    """The best value of a metric so far, and the number of epochs since."""

    best: float | None = None
    waited: int = 0


class Watch:
    """Follows one metric over the epochs, continuing from what was seen before."""

    def __init__(
        self, rule: EarlyStopping | ReduceLROnPlateau, greater_is_better: Mapping[str, bool], seen: Seen
    ) -> None:
        if rule.monitor.startswith("val_") and rule.monitor.removeprefix("val_") in greater_is_better:
            if rule.monitor not in greater_is_better:
                raise ConfigError(f"{type(rule).__name__} monitors {rule.monitor!r}, but there are no validation rows")
        elif rule.monitor not in greater_is_better:
            raise unknown_name("metric to monitor", rule.monitor, greater_is_better)
        greater = greater_is_better[rule.monitor] if rule.mode == "auto" else rule.mode == "max"
        self.monitor = rule.monitor
        self.seen = seen
        self._sign = 1.0 if greater else -1.0
        self._min_delta = rule.min_delta
        self._any_gain = rule.any_gain

    def improved(self, numbers: Mapping[str, float]) -> bool:
        """Record the next epoch's value and return whether it is the best so far. NaN never is."""
        value, seen = numbers[self.monitor], self.seen
        gain = float("nan") if value != value else self._sign * (value - seen.best) if seen.best is not None else np.inf
        has_improved = gain >= self._min_delta if self._any_gain else gain > self._min_delta
        better = gain > 0 if self._any_gain else has_improved
        seen.waited = 0 if has_improved else seen.waited + 1
        if better:
            seen.best = value
        return bool(better)


def choose_one(
    callbacks: Collection[object] | EarlyStopping | ReduceLROnPlateau | None,
) -> tuple[EarlyStopping | None, ReduceLROnPlateau | None]:
    """Return the EarlyStopping and the ReduceLROnPlateau among the callbacks of a fit, each None if there is none."""
    stopping: EarlyStopping | None = None
    plateau: ReduceLROnPlateau | None = None
    several = callbacks if np.iterable(callbacks) else (callbacks,)
    if callbacks is None:
        several = ()
    for item in several:
        if isinstance(item, EarlyStopping) and stopping is None:
            stopping = item
        elif isinstance(item, ReduceLROnPlateau) and plateau is None:
            plateau = item
        else:
            raise ConfigError(
                f"callbacks may hold one EarlyStopping and one ReduceLROnPlateau, got {item!r}; for anything else use "
                "the history returned by fit"
            )
    return stopping, plateau


def _check(monitor: object, patience: int, min_delta: float, mode: str) -> None:
    if not isinstance(monitor, str):
        raise ConfigError(f"monitor must be a name, such as 'val_loss', got {monitor!r}")
    check_whole(patience, "patience")
    check_number(min_delta, "min_delta", at_least=0)
    check_name(mode, "mode", ("auto", "min", "max"))
