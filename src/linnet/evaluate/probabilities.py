"""Quality of predicted probabilities: log loss, Brier score, calibration."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linnet.checks import check_flag, check_name, check_whole, is_name
from linnet.data.table import Array
from linnet.errors import DataError
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
_MAX_BINS = 1_000_000


def row_losses(
    y_true: ArrayLike, y_proba: ArrayLike, loss: str, *, labels: ArrayLike | None = None, pos_label: object = None
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
        raise DataError(f"y_proba sums to {sums[row]:g} in row {row}: the probabilities of a row must sum to 1")
    codes = codes_of(column, classes, "y_true")
    p_actual = table[np.arange(len(table)), codes]
    if loss == "brier":
        return np.square(table).sum(axis=1) - np.square(p_actual) + np.square(1 - p_actual), table.shape[1]
    return -np.log(_inside(p_actual / sums, y_proba)), table.shape[1]


def _positive(column: Array, labels: object, pos_label: object) -> Any:
    """Return the label whose probability a single column gives: the greater one of two, unless another is named."""
    classes = all_classes([("y_true", column)], None if labels is None else sorted_labels(labels))
    if len(classes) > 2:
        raise DataError(f"y_proba has one column, but there are {len(classes)} classes: pass rows x classes")
    if len(classes) == 1 and pos_label is None and classes.tolist()[0] not in (-1, 0, 1):
        raise DataError(f"y_true has one class only, {plain(classes[0])!r}: name both classes with labels")
    return positive_label(classes, pos_label, greater=True)


def _inside(p: Floats, y_proba: object) -> Floats:
    """Keep probabilities away from 0 and 1 by the epsilon of the type of `y_proba`."""
    kind = np.asarray(y_proba).dtype
    epsilon = np.finfo(kind if kind.kind == "f" else np.float64).eps
    return np.clip(p, epsilon, 1 - epsilon)


def log_loss(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    normalize: bool = True,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
) -> float:
    """Return the mean of -log(predicted probability of the actual class).

    Parameters
    ----------
    y_true : array of one class per row
        Actual classes.
    y_proba : array of one probability per row, or rows x classes
        Probabilities of the positive class, or of each class in sorted order.
    normalize : bool, default=True
        Return the mean over rows; if False, the sum.
    sample_weight : array of one weight per row, or None, default=None
        A row of weight w counts as w rows.
    labels : array or None, default=None
        The classes of the columns, sorted, where y_true lacks some.

    Returns
    -------
    float
        0 is perfect; probabilities are kept above the epsilon of their type.
    """
    check_flag(normalize, "normalize")
    losses, _ = row_losses(y_true, y_proba, "log", labels=labels)
    weights = row_weights(sample_weight, len(losses))
    if normalize:
        return float(np.average(losses, weights=weights))
    return float(losses.sum() if weights is None else (losses * weights).sum())


def brier_score_loss(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: object = None,
    labels: ArrayLike | None = None,
    scale_by_half: bool | str = "auto",
) -> float:
    """Return the Brier score: the mean of (p - t)², or of Σ_k (p_k - t_k)² for rows x classes.

    Parameters
    ----------
    y_true : array of one class per row
        Actual classes.
    y_proba : array of one probability per row, or rows x classes
        Probabilities of the positive class, or of each class in sorted order.
    sample_weight : array of one weight per row, or None, default=None
        A row of weight w counts as w rows.
    pos_label : label or None, default=None
        The positive class of two; by default 1, or else the greater one.
    labels : array or None, default=None
        The classes of the columns, sorted, where y_true lacks some.
    scale_by_half : bool or "auto", default="auto"
        Halve the sum over classes; "auto": for two classes, where two columns then give the same value as one.
    """
    losses, columns = row_losses(y_true, y_proba, "brier", labels=labels, pos_label=pos_label)
    score = float(np.average(losses, weights=row_weights(sample_weight, len(losses))))
    by_columns = is_name(scale_by_half, "auto")
    half = columns == 2 if by_columns else check_flag(scale_by_half, "scale_by_half")
    if columns == 1:
        return score if half or by_columns else 2 * score
    return score / 2 if half else score


@dataclass(frozen=True)
class Calibration:
    """Reliability diagram: by bin of predicted probability, the predicted and the observed share of positives.

    Attributes
    ----------
    edges : array
        The limits of the bins, one more than bins.
    weight : array
        The number (weight) of rows in each bin.
    predicted : array
        The mean predicted probability in each bin; NaN in a bin without rows.
    observed : array
        The share of positives in each bin; NaN in a bin without rows.
    """

    edges: Floats
    weight: Floats
    predicted: Floats
    observed: Floats

    @property
    def ece(self) -> float:
        """The expected calibration error Σ_b (weight of b / all) |observed - predicted|."""
        full = self.weight > 0
        error = np.abs(self.observed - self.predicted)[full]
        return float(np.average(error, weights=self.weight[full]))

    @property
    def mce(self) -> float:
        """The maximum calibration error: the largest |observed - predicted| of any bin."""
        return float(np.nanmax(np.abs(self.observed - self.predicted)))

    def __str__(self) -> str:
        lines = ["probability     rows  predicted  observed"]
        for k in np.flatnonzero(self.weight):
            limits = f"{self.edges[k]:.3g} - {self.edges[k + 1]:.3g}"
            lines.append(f"{limits:11}  {self.weight[k]:7g}  {self.predicted[k]:9.4f}  {self.observed[k]:8.4f}")
        return "\n".join([*lines, f"expected calibration error {self.ece:.4f}, maximum {self.mce:.4f}"])


def bin_edges(p: Array, bins: int, strategy: str) -> Floats:
    """Return the limits of bins of the same width ("uniform") or of about the same number of rows ("quantile")."""
    bins = check_whole(bins, "n_bins", at_least=1, at_most=_MAX_BINS)
    if check_name(strategy, "strategy", STRATEGIES) == "uniform":
        return np.linspace(0, 1, bins + 1)
    return np.percentile(p, np.linspace(0, 1, bins + 1) * 100).astype(np.float64)


def bin_sums(p: Floats, flags: Array, weights: Floats | None, edges: Floats) -> Floats:
    """Return, as 3 x bins, sums of weights, of weighted probabilities and of weighted positives; they add over chunks.

    A bin includes its upper limit, not its lower one.
    """
    bins = np.searchsorted(edges[1:-1], p)
    w = np.ones(len(p)) if weights is None else weights
    return np.array([np.bincount(bins, part, len(edges) - 1) for part in (w, w * p, w * flags)])


def calibration_of(sums: Floats, edges: Floats) -> Calibration:
    """Return the diagram of sums returned by `bin_sums`."""
    weight = sums[0]
    with np.errstate(invalid="ignore"):
        return Calibration(edges, weight, sums[1] / weight, sums[2] / weight)


def calibration(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    pos_label: object = None,
    sample_weight: ArrayLike | None = None,
    n_bins: int = 10,
    strategy: str = "uniform",
) -> Calibration:
    """Return the reliability diagram of the probabilities of the positive class.

    With several classes, pass one column and `y_true == that class`.

    Parameters
    ----------
    y_true : array of one class per row
        Actual classes.
    y_proba : array of one probability per row, or rows x 2
        Probabilities of the positive class, or the two columns of `predict_proba`.
    pos_label : label or None, default=None
        The positive class of two; by default 1, or else the greater one.
    sample_weight : array of one weight per row, or None, default=None
        A row of weight w counts as w rows.
    n_bins : int, default=10
        The number of bins.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of the same width, or with about the same number of rows.
    """
    table = as_probabilities(y_proba, len(as_column(y_true, "y_true")))
    flags, p, *_ = binary(y_true, table, pos_label, "y_proba", greater=True)
    edges = bin_edges(p, n_bins, strategy)
    return calibration_of(bin_sums(p, flags, row_weights(sample_weight, len(p)), edges), edges)


def calibration_curve(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    pos_label: object = None,
    n_bins: int = 5,
    strategy: str = "uniform",
    sample_weight: ArrayLike | None = None,
) -> tuple[Floats, Floats]:
    """Return the observed and the predicted share of positives of the bins that have rows.

    Parameters
    ----------
    y_true : array of one class per row
        Actual classes.
    y_proba : array of one probability per row, or rows x 2
        Probabilities of the positive class, or the two columns of `predict_proba`.
    pos_label : label or None, default=None
        The positive class of two; by default 1, or else the greater one.
    n_bins : int, default=5
        The number of bins.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of the same width, or with about the same number of rows.
    sample_weight : array of one weight per row, or None, default=None
        A row of weight w counts as w rows.

    Returns
    -------
    observed, predicted : array
        One entry per bin with rows.
    """
    diagram = calibration(
        y_true, y_proba, pos_label=pos_label, sample_weight=sample_weight, n_bins=n_bins, strategy=strategy
    )
    full = diagram.weight > 0
    return diagram.observed[full], diagram.predicted[full]


def expected_calibration_error(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    pos_label: object = None,
    sample_weight: ArrayLike | None = None,
    n_bins: int = 10,
    strategy: str = "uniform",
) -> float:
    """Return the expected calibration error Σ_b (weight of b / all) |observed - predicted| over bins b.

    Parameters
    ----------
    y_true : array of one class per row
        Actual classes.
    y_proba : array of one probability per row, or rows x 2
        Probabilities of the positive class, or the two columns of `predict_proba`.
    pos_label : label or None, default=None
        The positive class of two; by default 1, or else the greater one.
    sample_weight : array of one weight per row, or None, default=None
        A row of weight w counts as w rows.
    n_bins : int, default=10
        The number of bins.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of the same width, or with about the same number of rows.

    Returns
    -------
    float
        0 is perfect.
    """
    return calibration(
        y_true, y_proba, pos_label=pos_label, sample_weight=sample_weight, n_bins=n_bins, strategy=strategy
    ).ece
