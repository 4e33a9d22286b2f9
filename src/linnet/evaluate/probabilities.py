"""How good probabilities are: log loss, Brier score, calibration."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from linnet.checks import check_whole
from linnet.data.table import Array
from linnet.errors import DataError, unknown_name
from linnet.evaluate.inputs import (
    Floats,
    all_classes,
    as_column,
    as_probabilities,
    binary,
    codes_of,
    column_classes,
    plain,
    positive_label,
    row_weights,
    sorted_labels,
)

STRATEGIES = ("uniform", "quantile")


def row_losses(
    y_true: object, y_proba: object, loss: str, *, labels: object = None, pos_label: object = None
) -> tuple[Floats, int]:
    """Return the loss ("log" or "brier") of each row, and the number of columns of probabilities.

    One column is the probability of the positive class; several are those of the sorted classes. Log loss: -log of the
    probability of the actual class, kept above float64's epsilon. Brier: (p - t)² of one column, Σ_k (p_k - t_k)² of
    several.
    """
    column = as_column(y_true, "y_true")
    table = as_probabilities(y_proba, len(column))
    if table.shape[1] == 1:
        p, flags = table[:, 0], column == _positive(column, labels, pos_label)
        if loss == "brier":
            return np.square(p - flags), 1
        return -np.log(_inside(np.where(flags, p, 1 - p), y_proba)), 1
    classes = column_classes(column, table.shape[1], labels, "y_proba")
    sums = table.sum(axis=1)
    off = np.abs(sums - 1) > 1e-5
    if off.any():
        row = int(off.argmax())
        raise DataError(f"y_proba sums to {sums[row]:g} in row {row}: probabilities of a row sum to 1")
    codes = codes_of(column, classes, "y_true")
    of_true = table[np.arange(len(table)), codes]
    if loss == "brier":
        return np.square(table).sum(axis=1) - np.square(of_true) + np.square(1 - of_true), table.shape[1]
    return -np.log(_inside(of_true / sums, y_proba)), table.shape[1]


def _positive(column: Array, labels: object, pos_label: object) -> Any:
    """The label whose probability one column gives: the greater one of two, unless another is named."""
    known = all_classes([("y_true", column)], None if labels is None else sorted_labels(labels))
    if len(known) > 2:
        raise DataError(f"y_proba has one column, but there are {len(known)} classes: give rows x classes")
    if len(known) == 1 and pos_label is None and known.tolist()[0] not in (-1, 0, 1):
        raise DataError(f"y_true has one class only, {plain(known[0])!r}: name both classes with labels")
    return positive_label(known, pos_label, greater=True)


def _inside(p: Floats, given: object) -> Floats:
    """Keep probabilities away from 0 and 1 by the epsilon of the type they came in."""
    kind = np.asarray(given).dtype
    epsilon = np.finfo(kind if kind.kind == "f" else np.float64).eps
    return np.clip(p, epsilon, 1 - epsilon)


def log_loss(
    y_true: object,
    y_proba: object,
    *,
    normalize: bool = True,
    sample_weight: object = None,
    labels: object = None,
) -> float:
    """Return the mean (or, not normalized, the sum) of -log(probability of the actual class)."""
    losses, _ = row_losses(y_true, y_proba, "log", labels=labels)
    weights = row_weights(sample_weight, len(losses))
    if normalize:
        return float(np.average(losses, weights=weights))
    return float(losses.sum() if weights is None else (losses * weights).sum())


def brier_score_loss(
    y_true: object,
    y_proba: object,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    labels: object = None,
    scale_by_half: bool | str = "auto",
) -> float:
    """Return the mean of (p - t)², or of Σ_k (p_k - t_k)² for rows x classes.

    `scale_by_half`: halve the second, so that two columns give what one gives; "auto" does so for two classes.
    """
    losses, columns = row_losses(y_true, y_proba, "brier", labels=labels, pos_label=pos_label)
    score = float(np.average(losses, weights=row_weights(sample_weight, len(losses))))
    half = columns == 2 if scale_by_half == "auto" else bool(scale_by_half)
    if columns == 1:
        return score if half or scale_by_half == "auto" else 2 * score
    return score / 2 if half else score


@dataclass(frozen=True)
class Calibration:
    """A reliability diagram: by bin of predicted probability, the predicted and the observed share of positives.

    `weight`, `predicted` (mean probability) and `observed` (share of positives) of every bin; `edges` are their limits.
    Bins without rows have weight 0 and NaN.
    """

    edges: Floats
    weight: Floats
    predicted: Floats
    observed: Floats

    @property
    def ece(self) -> float:
        """The expected calibration error Σ_b (weight of b / all) |observed - predicted|."""
        full = self.weight > 0
        gap = np.abs(self.observed - self.predicted)[full]
        return float(np.average(gap, weights=self.weight[full]))

    @property
    def mce(self) -> float:
        """The largest gap of any bin."""
        return float(np.nanmax(np.abs(self.observed - self.predicted)))

    def __str__(self) -> str:
        lines = ["probability     rows  predicted  observed"]
        for k in np.flatnonzero(self.weight):
            limits = f"{self.edges[k]:.3g} - {self.edges[k + 1]:.3g}"
            lines.append(f"{limits:11}  {self.weight[k]:7g}  {self.predicted[k]:9.4f}  {self.observed[k]:8.4f}")
        return "\n".join([*lines, f"expected calibration error {self.ece:.4f}, largest gap {self.mce:.4f}"])


def bin_edges(p: Array, bins: int, strategy: str) -> Floats:
    """Return the limits of bins of the same width ("uniform") or of about the same number of rows ("quantile")."""
    bins = check_whole(bins, "n_bins", at_least=1)
    if strategy == "uniform":
        return np.linspace(0, 1, bins + 1)
    if strategy == "quantile":
        return np.percentile(p, np.linspace(0, 1, bins + 1) * 100).astype(np.float64)
    raise unknown_name("strategy", strategy, STRATEGIES)


def bin_sums(p: Floats, flags: Array, weights: Floats | None, edges: Floats) -> Floats:
    """Return, as 3 x bins, sums of weights, of weighted probabilities and of weighted positives; they add over chunks.

    A bin has its upper limit, not its lower one.
    """
    bins = np.searchsorted(edges[1:-1], p)
    w = np.ones(len(p)) if weights is None else weights
    return np.array([np.bincount(bins, part, len(edges) - 1) for part in (w, w * p, w * flags)])


def calibration_of(sums: Floats, edges: Floats) -> Calibration:
    """Return the diagram of sums that `bin_sums` gave."""
    weight = sums[0]
    with np.errstate(invalid="ignore"):
        return Calibration(edges, weight, sums[1] / weight, sums[2] / weight)


def calibration(
    y_true: object,
    y_proba: object,
    *,
    pos_label: object = None,
    sample_weight: object = None,
    n_bins: int = 10,
    strategy: str = "uniform",
) -> Calibration:
    """Return the reliability diagram of the probabilities of the positive class.

    One column, or the two of `predict_proba`; of several classes give one column, and y_true == that class.
    """
    table = as_probabilities(y_proba, len(as_column(y_true, "y_true")))
    flags, p, *_ = binary(y_true, table, pos_label, "y_proba", greater=True)
    edges = bin_edges(p, n_bins, strategy)
    return calibration_of(bin_sums(p, flags, row_weights(sample_weight, len(p)), edges), edges)


def calibration_curve(
    y_true: object,
    y_proba: object,
    *,
    pos_label: object = None,
    n_bins: int = 5,
    strategy: str = "uniform",
    sample_weight: object = None,
) -> tuple[Floats, Floats]:
    """Return the observed and the predicted share of positives of the bins that have rows; see `calibration`."""
    diagram = calibration(
        y_true, y_proba, pos_label=pos_label, sample_weight=sample_weight, n_bins=n_bins, strategy=strategy
    )
    full = diagram.weight > 0
    return diagram.observed[full], diagram.predicted[full]


def expected_calibration_error(
    y_true: object,
    y_proba: object,
    *,
    pos_label: object = None,
    sample_weight: object = None,
    n_bins: int = 10,
    strategy: str = "uniform",
) -> float:
    """Return Σ_b (weight of b / all) |observed - predicted| over bins; see `calibration`."""
    return calibration(
        y_true, y_proba, pos_label=pos_label, sample_weight=sample_weight, n_bins=n_bins, strategy=strategy
    ).ece
