"""Rates of a two-by-two table of actual and predicted classes: recall, precision, error rates, F-beta and means."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from linnet.checks import check_number
from linnet.data.table import Array
from linnet.errors import ConfigError, DataError, DataWarning, warn
from linnet.evaluate import formulas
from linnet.evaluate.formulas import Counts, Formula
from linnet.evaluate.inputs import ZeroDivision, check_zero_division


def divide(over: Array, under: Array, zero_division: ZeroDivision, what: str, names: Any = None) -> Array:
    """Return over / under, with a policy for 0 / 0; its warning or error names the metric and the class.

    `zero_division`: the value to use (0, 1 or NaN), "warn" for 0 with a DataWarning, "raise" for a DataError.
    """
    over, under = np.asarray(over), np.asarray(under)
    policy = check_zero_division(zero_division)
    empty = under == 0
    if empty.any() and isinstance(policy, str):
        undefined = [] if names is None else np.asarray(names)[np.atleast_1d(empty)].tolist()
        listed = f"{', '.join(map(repr, undefined[:10]))}{' and others' * (len(undefined) > 10)}"
        of = f" of {listed}" if undefined else ""
        message = f"{what}{of} is 0 / 0"
        if policy == "raise":
            raise DataError(f"{message}: set zero_division to the value to use")
        warn(f"{message}, and set to 0: zero_division=0 does so without a warning", DataWarning)
    fill = 0.0 if isinstance(policy, str) else policy
    dtype = np.result_type(over, under, np.float64)
    return np.divide(over, under, out=np.full(over.shape, fill, dtype), where=~empty)


def check_beta(beta: object) -> float:
    """Return beta, at least 0; infinity (also for a beta whose square overflows) means recall alone."""
    number = check_number(beta, "beta", at_least=0, at_most=math.inf)
    return number if math.isfinite(number * number) else math.inf


@dataclass(frozen=True)
class Rates:
    """All rates of one positive class against the rest, from its four counts (or weights).

    Of the positive rows `tp` are predicted positive and `fn` negative (Type II errors, misses); of the negative rows
    `fp` are predicted positive (Type I errors, false alarms) and `tn` negative.

    Parameters
    ----------
    tp, fp, fn, tn : float
        The four counts.
    zero_division : {0, 1, NaN, "warn", "raise"}, default="warn"
        The value of rates that are 0 / 0; "warn": 0 and a DataWarning; "raise": a DataError.
    """

    tp: float
    fp: float
    fn: float
    tn: float
    zero_division: ZeroDivision = "warn"

    def __post_init__(self) -> None:
        for name in ("tp", "fp", "fn", "tn"):
            number = check_number(getattr(self, name), name, at_least=0)
            if not isinstance(getattr(self, name), int | float) or number >= 2.0**63:
                object.__setattr__(self, name, number)  # NumPy has no square root of Fractions or huge integers

    def _rate(self, formula: Formula) -> float:
        return float(formula(Counts.of_cells(self.tp, self.fp, self.fn, self.tn), self._divide))

    def _divide(self, over: Any, under: Any, what: str) -> Array:
        return divide(over, under, self.zero_division, what)

    @property
    def _both(self) -> Counts:
        """The counts of the negative and of the positive class, as arrays of two."""
        tp, fp, fn, tn = self.tp, self.fp, self.fn, self.tn
        predicted, actual = np.array([tn + fn, tp + fp]), np.array([tn + fp, tp + fn])
        return Counts(np.array([tn, tp]), predicted, actual, tp + fp + fn + tn)

    @property
    def type_1_errors(self) -> float:
        """Negatives predicted as positive: false positives."""
        return self.fp

    @property
    def type_2_errors(self) -> float:
        """Positives predicted as negative: false negatives."""
        return self.fn

    @property
    def accuracy(self) -> float:
        """(TP + TN) / all."""
        return float(formulas.accuracy(self._both, self._divide))

    @property
    def precision(self) -> float:
        """TP / (TP + FP): the share of rows predicted as positive that are positive."""
        return self._rate(formulas.precision)

    @property
    def recall(self) -> float:
        """TP / (TP + FN): the share of positive rows that are found; also sensitivity, true positive rate, power."""
        return self._rate(formulas.recall)

    sensitivity = recall
    true_positive_rate = recall

    @property
    def specificity(self) -> float:
        """TN / (TN + FP): the share of negative rows predicted as negative."""
        return self._rate(formulas.specificity)

    @property
    def false_positive_rate(self) -> float:
        """FP / (FP + TN) = 1 - specificity: the rate of Type I errors."""
        return self._rate(formulas.false_positive_rate)

    type_1_error_rate = false_positive_rate

    @property
    def false_negative_rate(self) -> float:
        """FN / (FN + TP) = 1 - recall: the rate of Type II errors."""
        return self._rate(formulas.false_negative_rate)

    type_2_error_rate = false_negative_rate

    @property
    def f1(self) -> float:
        """2 TP / (2 TP + FP + FN): the harmonic mean of precision and recall."""
        return self.f_beta(1)

    def f_beta(self, beta: float) -> float:
        """Return (1 + b²) P R / (b² P + R) = (1 + b²) TP / (TP + FP + b² (TP + FN)).

        Parameters
        ----------
        beta : float
            How many times as much recall counts as precision.
        """
        return self._rate(partial(formulas.f_beta, beta=check_beta(beta)))

    @property
    def balanced_accuracy(self) -> float:
        """(recall + specificity) / 2."""
        return (self.recall + self.specificity) / 2

    @property
    def mcc(self) -> float:
        """Matthews' correlation (TP TN - FP FN) / sqrt((TP + FP) (TP + FN) (TN + FP) (TN + FN)); 0 if that is 0 / 0."""
        return float(formulas.mcc(self._both, self._divide))

    @property
    def arithmetic_mean(self) -> float:
        """(P + R) / 2: high as soon as one of the two is, and so easy to inflate."""
        return self._rate(formulas.arithmetic_mean)

    @property
    def geometric_mean(self) -> float:
        """sqrt(P R): the Fowlkes-Mallows index."""
        return self._rate(formulas.geometric_mean)

    @property
    def harmonic_mean(self) -> float:
        """2 P R / (P + R), which is F1: at most twice the smaller of the two."""
        return self.f1

    def __str__(self) -> str:
        quiet = replace(self, zero_division=math.nan)  # printing neither warns nor raises
        counts = (f"{count:g}" for count in (self.tp, self.fn, self.fp, self.tn))
        tp, fn, fp, tn = (f"{count:>18}" for count in counts)
        lines = [" " * 9 + "predicted positive predicted negative", f"positive {tp} {fn}", f"negative {fp} {tn}", ""]
        for name in ("precision", "recall", "specificity", "accuracy", "balanced_accuracy", "f1", "mcc"):
            value = getattr(quiet, name)
            lines.append(f"{name.replace('_', ' '):18} {'0 / 0' if math.isnan(value) else f'{value:.4f}'}")
        lines.append(f"{'Type I errors':18} {self.fp:g} (rate {quiet.type_1_error_rate:.4f})")
        lines.append(f"{'Type II errors':18} {self.fn:g} (rate {quiet.type_2_error_rate:.4f})")
        return "\n".join(lines)


def means_table(pairs: Any = ((0.01, 1.0), (0.1, 0.9), (0.5, 0.5), (0.6, 0.8))) -> str:
    """Return a small table of the three means of precision and recall that shows why the harmonic one is used.

    Predicting positive for every row has recall 1, and the share of positives as precision, say 1 %. The arithmetic
    mean rewards that with 50.5 %, the geometric mean with 10 %, the harmonic mean with 2 %: the harmonic mean is never
    more than twice the smaller of the two.

    Parameters
    ----------
    pairs : sequence of (precision, recall), optional
        The rows of the table.
    """
    lines = ["precision  recall  arithmetic  geometric  harmonic (F1)"]
    for pair in pairs if np.iterable(pairs) else (pairs,):
        if not np.iterable(pair) or not isinstance(pair, Sequence | np.ndarray) or len(pair) != 2:
            raise ConfigError(f"pairs must be pairs of precision and recall, got {pair!r}")
        precision, recall = (check_number(each, "a rate in pairs", at_least=0, at_most=1) for each in pair)
        total = precision + recall
        harmonic = 2 * precision * recall / total if total else 0.0
        geometric = math.sqrt(precision * recall)
        lines.append(f"{precision:9.1%}  {recall:6.1%}  {total / 2:10.1%}  {geometric:9.1%}  {harmonic:13.1%}")
    return "\n".join(lines)
