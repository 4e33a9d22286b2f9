"""When to stop and when to slow down, decided from the numbers of each epoch's record."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from linnet.checks import check_number, check_whole
from linnet.errors import ConfigError, unknown_name

Mode = Literal["auto", "min", "max"]


@dataclass(frozen=True)
class EarlyStopping:
    """Stop when `monitor` has not improved by more than `min_delta` for `patience` epochs; keep the best epoch.

    `mode` "auto" knows the direction of every loss and metric. With `restore_best_weights` (the default) training ends
    with the parameters of the best epoch. As in Keras, an epoch is the best only if it is better by `min_delta`; with
    `any_gain` it is so by any gain, as in scikit-learn, while patience still waits for gains of `min_delta` or more.
    """

    monitor: str = "val_loss"
    patience: int = 0
    min_delta: float = 0.0
    mode: Mode = "auto"
    restore_best_weights: bool = True
    any_gain: bool = False

    def __post_init__(self) -> None:
        _check(self.monitor, self.patience, self.min_delta, self.mode)


@dataclass(frozen=True)
class ReduceLROnPlateau:
    """Multiply the learning rate by `factor` when `monitor` has not improved for `patience` epochs, to `min_lr`.

    `stop_at_min` ends the training on a plateau at the lowest rate; `any_gain` as in EarlyStopping.
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


@dataclass(slots=True)
class Seen:
    """The best value of a number so far, and how many epochs have passed since."""

    best: float | None = None
    waited: int = 0


class Watch:
    """Follows one number over the epochs, going on from what has been seen of it."""

    def __init__(
        self, rule: EarlyStopping | ReduceLROnPlateau, greater_is_better: Mapping[str, bool], seen: Seen
    ) -> None:
        if rule.monitor.startswith("val_") and rule.monitor.removeprefix("val_") in greater_is_better:
            if rule.monitor not in greater_is_better:
                raise ConfigError(f"{type(rule).__name__} monitors {rule.monitor!r}, but there are no validation rows")
        elif rule.monitor not in greater_is_better:
            raise unknown_name("number to monitor", rule.monitor, greater_is_better)
        greater = greater_is_better[rule.monitor] if rule.mode == "auto" else rule.mode == "max"
        self.monitor = rule.monitor
        self.seen = seen
        self._sign = 1.0 if greater else -1.0
        self._min_delta = rule.min_delta
        self._any_gain = rule.any_gain

    def improved(self, numbers: Mapping[str, float]) -> bool:
        """Take the next epoch's number; say whether it is the best so far. NaN never is."""
        value, seen = numbers[self.monitor], self.seen
        gain = float("nan") if value != value else self._sign * (value - seen.best) if seen.best is not None else np.inf
        enough = gain >= self._min_delta if self._any_gain else gain > self._min_delta
        better = gain > 0 if self._any_gain else enough
        seen.waited = 0 if enough else seen.waited + 1
        if better:
            seen.best = value
        return bool(better)


def choose_one(
    callbacks: Collection[object] | EarlyStopping | ReduceLROnPlateau | None,
) -> tuple[EarlyStopping | None, ReduceLROnPlateau | None]:
    """Sort a list as Keras' `fit(callbacks=...)` takes it into the two rules it may hold."""
    stopping: EarlyStopping | None = None
    plateau: ReduceLROnPlateau | None = None
    several = callbacks if isinstance(callbacks, Iterable) else () if callbacks is None else (callbacks,)
    for item in several:
        if isinstance(item, EarlyStopping) and stopping is None:
            stopping = item
        elif isinstance(item, ReduceLROnPlateau) and plateau is None:
            plateau = item
        else:
            raise ConfigError(
                f"callbacks may hold one EarlyStopping and one ReduceLROnPlateau, got {item!r}; for anything else "
                "read the history that fit returns"
            )
    return stopping, plateau


def _check(monitor: object, patience: int, min_delta: float, mode: str) -> None:
    if not isinstance(monitor, str):
        raise ConfigError(f"monitor must be a name, such as 'val_loss', got {monitor!r}")
    check_whole(patience, "patience")
    check_number(min_delta, "min_delta", at_least=0)
    if mode not in ("auto", "min", "max"):
        raise unknown_name("mode", mode, ("auto", "min", "max"))
