"""What a decision threshold is chosen by: the highest F-beta, a recall or precision to be reached, the lowest cost."""

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linnet.checks import check_number
from linnet.errors import ConfigError, DataError, DataWarning, warn
from linnet.evaluate.curves import Cutoffs
from linnet.evaluate.inputs import Floats
from linnet.evaluate.rates import Rates, check_beta
from linnet.registry import saved


@dataclass(frozen=True)
class Threshold:
    """A chosen threshold.

    Attributes
    ----------
    threshold : float
        Scores at or above it are predicted as positive; inf predicts none.
    value : float
        The objective's value there: F-beta, precision, recall or cost.
    rates : Rates
        All rates at the threshold.
    met : bool
        Whether the objective's condition is met, such as a precision of at least 0.9.
    """

    threshold: float
    value: float
    rates: Rates
    met: bool = True

    def __str__(self) -> str:
        r = self.rates
        return (
            f"threshold {self.threshold:.6g}: value {self.value:.4f}, TP {r.tp:g}, FP {r.fp:g}, FN {r.fn:g}, "
            f"TN {r.tn:g}{'' if self.met else ' (the condition cannot be met)'}"
        )


class ThresholdObjective(ABC):
    """The objective that a threshold optimises. Subclasses implement `best_cutoff`."""

    needs_positives = True

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "place" in vars(cls) and "best_cutoff" not in vars(cls):
            warn(f"{cls.__name__}.place is now called best_cutoff", DeprecationWarning)
            cls.best_cutoff = vars(cls)["place"]  # type: ignore[method-assign]

    @abstractmethod
    def best_cutoff(self, cutoffs: Cutoffs) -> tuple[int, float, bool]:
        """Return the index of the best cut-off, its value, and whether the condition is met.

        Parameters
        ----------
        cutoffs : Cutoffs
            All candidates.

        Returns
        -------
        index : int
            The index of the cut-off; -1 for a threshold above all scores.
        value : float
            The objective's value there.
        met : bool
            Whether the objective's condition is met.
        """

    def place(self, cutoffs: Cutoffs) -> tuple[int, float, bool]:
        """Return the result of `best_cutoff`, whose former name this is.

        Parameters
        ----------
        cutoffs : Cutoffs
            All candidates.
        """
        warn("place is now called best_cutoff", DeprecationWarning)
        return self.best_cutoff(cutoffs)

    def choose(self, cutoffs: Cutoffs) -> Threshold:
        """Return the best threshold, with a DataWarning where no cut-off meets the condition.

        Parameters
        ----------
        cutoffs : Cutoffs
            All candidates.
        """
        if self.needs_positives and not cutoffs.positives:
            raise DataError(f"y_true has one class only, no positives: {self} cannot be tuned")
        index, value, met = self.best_cutoff(cutoffs)
        threshold = float(cutoffs.thresholds[index]) if index >= 0 else float("inf")
        if not met:
            warn(f"no threshold has {self}: the closest has {value:.4g}", DataWarning)
        return Threshold(threshold, value, cutoffs.at(threshold), met)


@saved
@dataclass(frozen=True)
class FBeta(ThresholdObjective):
    """The highest F-beta; of several thresholds with it the highest.

    Parameters
    ----------
    beta : float, default=1.0
        How many times as much recall counts as precision.
    """

    beta: float = 1.0

    def __post_init__(self) -> None:
        check_beta(self.beta)

    def best_cutoff(self, cutoffs: Cutoffs) -> tuple[int, float, bool]:
        """Return the cut-off with the highest F-beta.

        Parameters
        ----------
        cutoffs : Cutoffs
            All candidates.
        """
        f = cutoffs.f_beta(self.beta)
        best = int(f.argmax())
        return best, float(f[best]), True

    def __str__(self) -> str:
        return f"F{self.beta:g}"


@saved
@dataclass(frozen=True)
class RecallAtLeast(ThresholdObjective):
    """Recall of at least a given value, with the highest precision; of several thresholds the highest recall.

    Parameters
    ----------
    recall : float
        The lowest recall, above 0 and at most 1.
    """

    recall: float

    def __post_init__(self) -> None:
        check_number(self.recall, "recall", above=0, at_most=1)

    def best_cutoff(self, cutoffs: Cutoffs) -> tuple[int, float, bool]:
        """Return the most precise cut-off with enough recall.

        Parameters
        ----------
        cutoffs : Cutoffs
            All candidates.
        """
        precision = np.where(cutoffs.recall >= self.recall, cutoffs.precision, -1.0)
        best = _last_largest(precision)
        return best, float(precision[best]), True

    def __str__(self) -> str:
        return f"recall >= {self.recall:g}"


@saved
@dataclass(frozen=True)
class PrecisionAtLeast(ThresholdObjective):
    """Precision of at least a given value, with the highest recall; of several thresholds the highest precision.

    Where no threshold has that precision, the most precise one is chosen, with a DataWarning.

    Parameters
    ----------
    precision : float
        The lowest precision, above 0 and at most 1.
    """

    precision: float

    def __post_init__(self) -> None:
        check_number(self.precision, "precision", above=0, at_most=1)

    def best_cutoff(self, cutoffs: Cutoffs) -> tuple[int, float, bool]:
        """Return the cut-off with the highest recall among those with enough precision.

        Parameters
        ----------
        cutoffs : Cutoffs
            All candidates.
        """
        precise = cutoffs.precision >= self.precision
        if not precise.any():
            best = _last_largest(cutoffs.precision)
            return best, float(cutoffs.precision[best]), False
        recall = np.where(precise, cutoffs.recall, -1.0)
        best = int(recall.argmax())
        return best, float(recall[best]), True

    def __str__(self) -> str:
        return f"precision >= {self.precision:g}"


@saved
class Cost(ThresholdObjective):
    """The lowest mean cost per row.

    If never predicting positive costs least, the threshold is infinite.

    Parameters
    ----------
    matrix : matrix of classes x classes
        `matrix[i][j]` is the cost of predicting class j for a row of class i, classes in sorted order; of two classes
        the negative one comes first. `least_cost` decides between several classes.
    """

    needs_positives = False

    def __init__(self, matrix: ArrayLike) -> None:
        self.matrix = as_costs(matrix)

    def __repr__(self) -> str:
        return f"Cost({self.matrix.tolist()})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cost) and np.array_equal(self.matrix, other.matrix)

    def __hash__(self) -> int:
        return hash(self.matrix.tobytes())

    def best_cutoff(self, cutoffs: Cutoffs) -> tuple[int, float, bool]:
        """Return the cut-off with the lowest cost.

        Parameters
        ----------
        cutoffs : Cutoffs
            All candidates.
        """
        if len(self.matrix) != 2:
            raise ConfigError(f"two classes need a cost matrix of 2 x 2, got {self.matrix.shape}")
        tp, fp = np.append(0.0, cutoffs.tp), np.append(0.0, cutoffs.fp)
        (of_tn, of_fp), (of_fn, of_tp) = self.matrix
        positives, negatives = cutoffs.positives, cutoffs.negatives
        cost = of_tp * tp + of_fn * (positives - tp) + of_fp * fp + of_tn * (negatives - fp)
        best = int(cost.argmin())
        return best - 1, float(cost[best] / (positives + negatives)), True

    def __str__(self) -> str:
        return "the lowest cost"


def _last_largest(values: Floats) -> int:
    return len(values) - 1 - int(values[::-1].argmax())


def as_costs(matrix: object) -> Floats:
    """Return a square matrix of finite costs."""
    try:
        costs = np.asarray(matrix, np.float64)
    except (TypeError, ValueError, OverflowError):
        costs = np.empty(0)
    if costs.ndim != 2 or costs.shape[0] != costs.shape[1] or len(costs) < 2 or not np.isfinite(costs).all():
        raise ConfigError(f"costs must be a square matrix of finite numbers, one row per actual class, got {matrix!r}")
    return costs


_NAMED = re.compile(r"(?:f(?P<beta>[\d.]+))|(?:(?P<kind>recall|precision)\s*>=\s*(?P<least>[\d.]+))", re.IGNORECASE)
ObjectiveLike = str | ThresholdObjective | Any


def as_objective(objective: ObjectiveLike) -> ThresholdObjective:
    """Return an objective from an objective, "f1", "f0.5", "recall>=0.9", "precision>=0.8" or a cost matrix."""
    if isinstance(objective, ThresholdObjective):
        return objective
    if not isinstance(objective, str):
        try:
            return Cost(objective)
        except ConfigError as error:
            raise ConfigError(f"objective must be a name, a ThresholdObjective or costs: {error}") from None
    match = _NAMED.fullmatch(objective.strip())
    try:
        if match and match["beta"]:
            return FBeta(float(match["beta"]))
        if match:
            kind = RecallAtLeast if match["kind"].lower() == "recall" else PrecisionAtLeast
            return kind(float(match["least"]))
    except ValueError as error:
        raise ConfigError(f"objective {objective!r}: {error}") from None
    raise ConfigError(
        f"unknown objective {objective!r}: write 'f1' (or any beta), 'recall>=0.9', 'precision>=0.8', a cost matrix, "
        "or a ThresholdObjective"
    )
