"""Measures of areas under curves, with the influence of each row."""

from abc import abstractmethod
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from scipy import stats

from linnet._cached import cached_property
from linnet.checks import check_name
from linnet.data.table import Array
from linnet.errors import ConfigError
from linnet.evaluate.class_curves import ClassCutoffs, is_table
from linnet.evaluate.curves import Cutoffs
from linnet.evaluate.inputs import Floats, binary, is_indicator
from linnet.evaluate.measures import Limits, Measure, on_logit_scale, wilson
from linnet.evaluate.metric import IntervalArguments


class Area(Measure):
    """An area; its variance follows from the influence of each row: the derivative of the area by the row's weight."""

    fewest: float  # the number of rows of the rarest class
    method: str  # of the limits

    @abstractmethod
    def influence(self) -> Floats:
        """Return the derivative of the area by the weight of each row."""

    def limits(self, level: float) -> Limits:
        """Return value ± t sqrt(Σ weight x influence²) on the logit scale; t has `fewest` - 1 degrees of freedom.

        For ROC AUC that is DeLong's variance. Where it is 0, Wilson's interval with `fewest` rows.
        """
        value = self.value(None)
        if np.isnan(value):
            return float("nan"), float("nan"), "none"
        t = float(stats.t.ppf((1 + level) / 2, max(self.fewest - 1, 1)))
        half = t * np.sqrt(float((self.w * self.influence() ** 2).sum()))
        if not 0 < value < 1 or half == 0:
            return *wilson(value, self.fewest, level), "wilson"
        return *on_logit_scale(value, half), self.method


class OneArea(Area):
    """The area under one curve, of one column of scores; subclasses define the curve."""

    name: ClassVar[str]
    method = "delta"
    needs_negatives: ClassVar[bool] = False  # whether it is undefined without negatives
    greater: ClassVar[bool] = False  # whether the greater of two labels may be the positive one; see `positive_label`
    of_pairs: ClassVar[bool] = False  # whether it is defined for pairs of classes (one-vs-one)

    def __init__(self, flags: Array, scores: Array, weights: Floats | None) -> None:
        super().__init__(weights)
        self.order = np.argsort(-scores, kind="stable")
        ordered = scores[self.order]
        self.flags = flags[self.order].astype(np.float64)
        self.ends = np.append(np.flatnonzero(np.diff(ordered)), len(ordered) - 1)
        w = self.w[self.order]
        self.fewest = float(min((w * self.flags).sum(), (w * (1 - self.flags)).sum()))

    @staticmethod
    @abstractmethod
    def area(cutoffs: Cutoffs) -> float:
        """Return the area from the cut-offs."""

    @abstractmethod
    def slopes(self, gained: Floats, lost: Floats) -> tuple[Floats, Floats]:
        """Return the derivatives of the area by the weight of a positive and of a negative row at each cut-off.

        `gained`, `lost`: the weights of positives and of negatives at each cut-off.
        """

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.order)

    def value(self, times: Floats | None) -> float:
        """Sum in the order of scores."""
        w = (self.w if times is None else times)[self.order]
        tp, fp = np.cumsum(w * self.flags)[self.ends], np.cumsum(w * (1 - self.flags))[self.ends]
        if tp[-1] == 0 or (fp[-1] == 0 and self.needs_negatives):
            return float("nan")
        present = np.diff(tp + fp, prepend=0.0) > 0
        return float(self.area(Cutoffs(np.zeros(int(present.sum())), tp[present], fp[present])))

    def influence(self) -> Floats:
        """Return the derivative by the weight of each row."""
        w = self.w[self.order]
        starts = np.append(0, self.ends[:-1] + 1)
        gained, lost = (np.add.reduceat(w * flags, starts) for flags in (self.flags, 1 - self.flags))
        of_positive, of_negative = self.slopes(gained, lost)
        group = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, self.rows)))
        slopes = np.empty(self.rows)
        slopes[self.order] = np.where(self.flags > 0, of_positive[group], of_negative[group])
        return slopes


class RocArea(OneArea):
    """The area under the ROC curve."""

    name = "roc_auc"
    method = "delong"
    needs_negatives = greater = of_pairs = True

    @staticmethod
    def area(cutoffs: Cutoffs) -> float:
        """Return the area from the cut-offs."""
        return cutoffs.roc_auc

    def slopes(self, gained: Floats, lost: Floats) -> tuple[Floats, Floats]:
        """Return each row's share of wins against the other class, minus the area."""
        tp, fp, area = np.cumsum(gained), np.cumsum(lost), self.value(None)
        positives, negatives = tp[-1], fp[-1]
        of_positive = (1 - (fp - lost / 2) / negatives - area) / positives * _bessel(positives)
        of_negative = ((tp - gained / 2) / positives - area) / negatives * _bessel(negatives)
        return of_positive, of_negative


class AveragePrecision(OneArea):
    """Average precision, Σ g_i P_i / P with g_i the positives gained at cut-off i."""

    name = "average_precision"

    @staticmethod
    def area(cutoffs: Cutoffs) -> float:
        """Return the area from the cut-offs."""
        return cutoffs.average_precision

    def heights(self, precision: Floats, gained: Floats) -> tuple[Floats, Floats]:
        """Return the height of the curve at each cut-off, and the positives whose heights contain its precision."""
        return precision, gained

    def slopes(self, gained: Floats, lost: Floats) -> tuple[Floats, Floats]:
        """Return the derivatives: a positive adds the height of its own cut-off.

        It also changes the precision of every cut-off at or below it by FP / N², and a negative by -TP / N².
        """
        tp, fp, area = np.cumsum(gained), np.cumsum(lost), self.value(None)
        has_rows = tp + fp > 0  # rows of weight 0 may come first
        predicted = np.where(has_rows, tp + fp, 1.0)
        own, moved = self.heights(np.where(has_rows, tp / predicted, 1.0), gained)
        of_positive = (own - area + _from_below(moved * fp / predicted**2)) / tp[-1]
        return of_positive, -_from_below(moved * tp / predicted**2) / tp[-1]


class PrecisionRecallArea(AveragePrecision):
    """The trapezoid area under the precision-recall curve: heights are (P_i + P_{i-1}) / 2 instead of P_i."""

    name = "pr_auc"

    @staticmethod
    def area(cutoffs: Cutoffs) -> float:
        """Return the area from the cut-offs."""
        return cutoffs.pr_auc

    def heights(self, precision: Floats, gained: Floats) -> tuple[Floats, Floats]:
        """Return the means of neighbouring precisions."""
        own = (precision + np.append(1.0, precision[:-1])) / 2
        return own, (gained + np.append(gained[1:], 0.0)) / 2


def _bessel(n: float) -> float:
    """Return the factor on a deviation that makes the variance of a mean over n rows unbiased."""
    return float(np.sqrt(n / max(n - 1, 1)))


def _from_below(values: Floats) -> Floats:
    """Return, for each entry, the sum of it and all later ones."""
    return np.asarray(values[::-1].cumsum()[::-1])


@dataclass
class AveragedArea:
    """One of the areas in a mean: the area, the indices of its rows, and 1 for each row that counts in its weight."""

    area: OneArea
    indices: Array
    members: Floats


class MeanArea(Area):
    """The mean of several areas: of each class against the rest, of pairs of classes, or of all rows x classes as one.

    Σ_p c_p area_p with c_p = 1 / areas, or, for "weighted", the share of p in the total weight.
    """

    def __init__(self, kind: type[OneArea], several: ClassCutoffs, average: str, multi_class: str) -> None:
        super().__init__(several.weights)
        self.method = kind.method
        self.count = len(several.scores)
        self.weighted = average == "weighted"
        total = self.w.sum()
        self.fewest = float(min(several.support.min(), (total - several.support).min()))
        self.areas = list(_averaged_areas(kind, several, average, multi_class))

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.count

    @cached_property
    def members(self) -> Floats:
        """Areas x rows: 1 where a row counts in the weight of an area."""
        return np.array([each.members for each in self.areas])

    def _shares(self, w: Floats) -> Floats:
        if not self.weighted:
            return np.full(len(self.areas), 1 / len(self.areas))
        support = (self.members * w).sum(axis=1)
        return np.asarray(support / support.sum())

    def value(self, times: Floats | None) -> float:
        """Return the mean."""
        w = self.w if times is None else times
        shares, values = self._shares(w), np.array([each.area.value(w[each.indices]) for each in self.areas])
        return float((shares * np.where(shares > 0, values, 0.0)).sum())

    def influence(self) -> Floats:
        """Return Σ_p c_p slope of area_p, and for "weighted" also the slopes of the shares c_p."""
        shares, slopes = self._shares(self.w), np.zeros(self.rows)
        for each, share in zip(self.areas, shares, strict=True):
            slopes += share * np.bincount(each.indices, each.area.influence(), self.rows)
        if self.weighted:
            values = np.array([each.area.value(None) for each in self.areas])
            total = (self.members * self.w).sum(axis=1).sum()
            of_rows = (values[:, None] * self.members).sum(axis=0)
            slopes += (of_rows - (values * shares).sum() * self.members.sum(axis=0)) / total
        return slopes


def _averaged_areas(kind: type[OneArea], several: ClassCutoffs, average: str, multi_class: str) -> Any:
    """Yield the areas in the mean."""
    rows, count = len(several.scores), len(several.classes)
    all_rows, w = np.arange(rows), several.weights

    def averaged(flags: Array, scores: Array, indices: Array, members: Array) -> AveragedArea:
        weights = None if w is None else w[indices]
        return AveragedArea(kind(flags, scores, weights), indices, members.astype(np.float64))

    if average == "micro":
        flags = np.array([several.flags(k) for k in range(count)]).T.ravel()
        yield averaged(flags, np.ascontiguousarray(several.scores).ravel(), np.repeat(all_rows, count), np.ones(rows))
    elif multi_class == "ovr":
        for k in range(count):
            yield averaged(several.flags(k), several.scores[:, k], all_rows, several.flags(k))
    else:
        for j, k in combinations(np.flatnonzero(several.support).tolist(), 2):
            members = (several.codes == j) | (several.codes == k)
            indices = np.flatnonzero(members)
            for scored in (j, k):
                yield averaged(several.codes[indices] == scored, several.scores[indices, scored], indices, members)


def area_measure(kind: type[OneArea], arguments: IntervalArguments) -> Measure:
    """Prepare an area of scores."""
    y_true, average = arguments.y_true, arguments.average
    if not is_table(y_true, arguments.predictions):
        rows = binary(y_true, arguments.predictions, arguments.pos_label, greater=kind.greater)
        return kind(rows.flags, rows.scores, arguments.weights)
    check_name(average, "average", ("macro", "weighted", "micro"))
    check_name(arguments.multi_class, "multi_class", ("ovr", "ovo"))
    pairs = arguments.multi_class == "ovo" and not is_indicator(y_true)
    if pairs and (not kind.of_pairs or average == "micro"):
        raise ConfigError(
            f"multi_class='ovo' needs roc_auc with average 'macro' or 'weighted', got {kind.name} with {average!r}"
        )
    several = ClassCutoffs(y_true, arguments.predictions, labels=arguments.labels, sample_weight=arguments.weights)
    return MeanArea(kind, several, average, "ovo" if pairs else "ovr")
