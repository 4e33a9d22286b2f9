"""Advice on which metrics suit a task and which mislead on its data, with the figures that show it."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from linnet.data.table import Array
from linnet.errors import ConfigError, DataError
from linnet.evaluate.inputs import Floats, as_column, check_label, distinct, index_of, plain
from linnet.evaluate.measures import wilson
from linnet.evaluate.objectives import as_costs

_RARE_SHARE = 0.2  # of rows: a class below it is called rare
_MIN_ROWS_FOR_RECALL = 50  # of a class: with fewer rows, the limits of its recall are wide
_MAX_CLASSES = 100  # more distinct integers, each in few rows, are a quantity, not classes
_ROWS_PER_CLASS = 10  # integers with fewer rows each may be a quantity
_OUTLIER_DEVIATIONS = 10  # standard deviations from the mean, beyond which a value is an outlier


@dataclass
class Advice:
    """Metrics that suit a task, and metrics that mislead on its data.

    Attributes
    ----------
    task : str
        The kind of target.
    facts : list of str
        Sentences about the data, and what constant predictions score.
    suits, misleads : dict of str to str
        Metrics, each with the reason.
    numbers : dict of str to float
        The figures behind the sentences.
    """

    task: str
    facts: list[str] = field(default_factory=list)
    suits: dict[str, str] = field(default_factory=dict)
    misleads: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"Task: {self.task}.", *self.facts]
        for title, metrics in (("Suits:", self.suits), ("Misleads here:", self.misleads)):
            if metrics:
                lines += ["", title, *(f"- {name}: {reason}" for name, reason in metrics.items())]
        return "\n".join(lines)


def advise(y: ArrayLike, costs: ArrayLike | None = None, *, pos_label: object = None) -> Advice:
    """Return which metrics suit the targets, and which mislead.

    Parameters
    ----------
    y : array of one target per row
        Classes or values.
    costs : matrix of classes x classes, or None, default=None
        `costs[i][j]` is the cost of predicting class j for a row of class i, classes in sorted order.
    pos_label : label or None, default=None
        The positive one of two classes; by default 1, or else the rarer one.

    Returns
    -------
    Advice
        Printing it shows all of it as text.
    """
    column = as_column(y, "y", quantity=True)
    if _is_quantity(column):
        if costs is not None:
            raise ConfigError("costs need classes, but y is a quantity: pass classes, such as y > a limit")
        return _quantity(column.astype(np.float64))
    classes = distinct(column, "y")
    counts = np.array([(column == label).sum() for label in classes.tolist()], np.float64)
    if len(classes) == 1:
        only = plain(classes[0])
        advice = Advice(f"one class only, {only!r}")
        advice.facts.append(
            "No metric can distinguish a good model from one that always predicts this class: add rows of another one."
        )
        return advice
    matrix = None if costs is None else as_costs(costs)
    if matrix is not None and len(matrix) != len(classes):
        raise DataError(f"costs are {len(matrix)} x {len(matrix)}, but y has {len(classes)} classes")
    if len(classes) == 2:
        return _two(classes, counts, matrix, pos_label)
    return _several(classes, counts, matrix)


def _is_quantity(column: Array) -> bool:
    if column.dtype.kind not in "iuf":
        return False
    if column.dtype.kind == "f" and (column != np.floor(column)).any():
        return True
    return _MAX_CLASSES < len(distinct(column, "y")) > len(column) / _ROWS_PER_CLASS


def _quantity(y: Floats) -> Advice:
    advice = Advice("a quantity (regression)")
    spread, median = float(y.std()), float(np.median(y))
    absolute = float(np.abs(y - median).mean())
    tail = float(np.abs(y - y.mean()).max() / spread) if spread else 0.0
    advice.numbers = {"standard_deviation": spread, "mean_absolute_deviation": absolute, "farthest": tail}
    advice.facts.append(
        f"Always predicting the mean has a root mean squared error of {spread:.4g}; always predicting the median "
        f"{median:.4g} has a mean absolute error of {absolute:.4g}: a model must beat both."
    )
    advice.suits["R²"] = "the share by which the squared error is below that of always predicting the mean"
    if tail > _OUTLIER_DEVIATIONS:
        advice.suits["mean absolute error"] = f"the farthest value is {tail:.0f} standard deviations from the mean"
        advice.misleads["mean squared error"] = (
            f"a few values, up to {tail:.0f} standard deviations from the mean, dominate it"
        )
    else:
        advice.suits["mean squared error"] = f"no value is more than {tail:.1f} standard deviations from the mean"
    advice.misleads["accuracy"] = "a quantity is never predicted exactly"
    return advice


def _percent(share: float) -> str:
    return f"{share:.1%}" if 0.001 <= share <= 0.999 else f"{share:.3%}"


def _two(classes: Array, counts: Floats, costs: Floats | None, pos_label: object) -> Advice:
    labels = classes.tolist()
    if pos_label is not None:
        check_label(pos_label, labels, "pos_label", "y")
        k = index_of(pos_label, classes, "pos_label")
    else:
        k = 1 if labels in ([0, 1], [-1, 1]) else int(counts.argmin())
    total, positives = float(counts.sum()), float(counts[k])
    share = positives / total
    advice = Advice(f"two classes, {plain(labels[k])!r} positive")
    constant = max(share, 1 - share)
    always_f1 = 2 * share / (1 + share)
    low, high = wilson(0.8, positives, 0.95)
    advice.numbers = {
        "positives": positives,
        "positive_share": share,
        "constant_accuracy": constant,
        "constant_f1": always_f1,
        "chance_average_precision": share,
        "recall_low": low,
        "recall_high": high,
    }
    advice.facts.append(f"{positives:g} of {total:g} rows are positive: {_percent(share)}.")
    if min(share, 1 - share) < _RARE_SHARE:
        larger = "negative" if share < 0.5 else "positive"
        advice.misleads["accuracy"] = (
            f"always predicting {larger} already has {constant:.4g}, without distinguishing any rows"
        )
    else:
        advice.suits["accuracy"] = (
            f"classes are balanced enough: always predicting the larger one has only {constant:.4g}"
        )
    if share < _RARE_SHARE:
        advice.suits["precision, recall and F1"] = (
            f"they focus on the rare positives; always predicting positive has F1 {always_f1:.4g} and precision "
            f"{share:.4g}"
        )
        advice.suits["average precision"] = f"random scores have {share:.4g}, which leaves room for improvement"
        alarms = 0.05 * (total - positives)
        advice.misleads["ROC AUC"] = (
            f"a false positive rate of 5 % looks small, but is {alarms:.0f} false alarms against {positives:g} "
            f"positives: a precision of at most {_percent(positives / (positives + alarms))}"
        )
        advice.misleads["specificity"] = (
            "nearly all rows are negative, so it is high for any model that rarely predicts positive"
        )
    elif share > 1 - _RARE_SHARE:
        advice.misleads["F1"] = f"always predicting positive has {always_f1:.4g}: make the rare class the positive one"
        advice.suits["balanced accuracy"] = "both classes count equally; any constant prediction has 0.5"
    else:
        advice.suits["F1"] = f"always predicting positive has {always_f1:.4g}"
        advice.suits["ROC AUC"] = "there are about as many positives as negatives; random scores have 0.5"
    advice.suits["Matthews' correlation"] = "any constant prediction has 0, whatever the balance"
    advice.suits["log loss and Brier score"] = (
        f"if the probabilities themselves are used; always predicting {share:.4g} has {_entropy(counts):.4g} and "
        f"{share * (1 - share):.4g}"
    )
    _note_small_classes(advice, [(plain(labels[i]), counts[i]) for i in range(2)])
    if costs is not None:
        _binary_costs(advice, costs if k == 1 else costs[::-1, ::-1], share)
    return advice


def _binary_costs(advice: Advice, costs: Floats, share: float) -> None:
    (of_tn, of_fp), (of_fn, of_tp) = costs
    never, always = share * of_fn + (1 - share) * of_tn, share * of_tp + (1 - share) * of_fp
    advice.numbers |= {"cost_never": never, "cost_always": always}
    advice.facts.append(
        f"Costs per row: never predicting positive {never:.4g}, always {always:.4g}; a model must cost less than "
        f"{min(never, always):.4g}."
    )
    wrong, missed = of_fp - of_tn, of_fn - of_tp
    if wrong > 0 and missed > 0:
        threshold = wrong / (wrong + missed)
        advice.numbers["cost_threshold"] = threshold
        advice.facts.append(
            f"A miss costs {missed / wrong:.4g} times a false alarm: with calibrated probabilities, predict "
            f"positive from {threshold:.4g} on."
        )
        beta = float(np.sqrt(missed / wrong))
        advice.suits[f"F-beta with beta {beta:.2g}"] = "weights misses and false alarms about as the costs do"
    advice.suits["mean cost"] = "it is the quantity to minimise: tune the threshold to it"
    if missed != wrong:
        advice.misleads.setdefault(
            "accuracy", "it counts misses and false alarms as equally bad, but their costs differ"
        )
        advice.suits.pop("accuracy", None)


def _several(classes: Array, counts: Floats, costs: Floats | None) -> Advice:
    total, labels = float(counts.sum()), [plain(label) for label in classes.tolist()]
    largest, smallest = int(counts.argmax()), int(counts.argmin())
    share = float(counts[largest] / total)
    advice = Advice(f"{len(classes)} classes")
    constant_f1 = 2 * share / (1 + share) / len(classes)
    advice.numbers = {
        "constant_accuracy": share,
        "constant_macro_f1": constant_f1,
        "constant_balanced_accuracy": 1 / len(classes),
        "largest": float(counts[largest]),
        "smallest": float(counts[smallest]),
    }
    advice.facts.append(
        f"The largest class, {labels[largest]!r}, has {_percent(share)} of {total:g} rows, the smallest, "
        f"{labels[smallest]!r}, {counts[smallest]:g} rows."
    )
    if share > max(0.5, 2 / len(classes)):
        advice.misleads["accuracy and micro F1"] = (
            f"they are the same number here, and always predicting {labels[largest]!r} has {share:.4g}"
        )
        advice.suits[f"micro and macro F1 with negative_class={labels[largest]!r}"] = (
            f"if {labels[largest]!r} means that nothing was found: only the other classes count"
        )
        advice.misleads["weighted F1"] = f"{_percent(share)} of its weight is one class"
    else:
        advice.suits["accuracy"] = f"always predicting the largest class has only {share:.4g}"
    advice.suits["macro F1 and balanced accuracy"] = (
        f"each class counts equally; a constant prediction has {constant_f1:.4g} and {1 / len(classes):.4g}"
    )
    advice.suits["Matthews' correlation"] = "any constant prediction has 0, whatever the balance"
    advice.suits["log loss"] = (
        f"if probabilities are used; always predicting the shares of the classes has {_entropy(counts):.4g}"
    )
    small_classes = _note_small_classes(advice, list(zip(labels, counts, strict=True)))
    if small_classes:
        advice.misleads["macro F1 without an interval"] = (
            f"{small_classes} of {len(classes)} classes have fewer than {_MIN_ROWS_FOR_RECALL} rows"
        )
    if costs is not None:
        by_class = (counts[:, None] * costs).sum(axis=0) / total
        best = int(by_class.argmin())
        advice.numbers["cost_constant"] = float(by_class[best])
        advice.facts.append(
            f"Always predicting {labels[best]!r} costs {by_class[best]:.4g} per row: a model must cost less; decide by "
            "the lowest expected cost."
        )
        advice.suits["mean cost"] = "it is the quantity to minimise"
    return advice


def _entropy(counts: Floats) -> float:
    shares = counts / counts.sum()
    return float(-(shares * np.log(shares)).sum())


def _note_small_classes(advice: Advice, supports: list[tuple[object, float]]) -> int:
    """Add a fact about the classes with few rows, and return their number."""
    small_classes = sorted(
        (count, name)
        for name, count in ((str(name), float(count)) for name, count in supports)
        if count < _MIN_ROWS_FOR_RECALL
    )
    if small_classes:
        count, name = small_classes[0]
        low, high = wilson(0.8, count, 0.95)
        advice.facts.append(
            f"With {count:g} rows of {name}, a recall of 0.8 could be anything from {low:.2f} to {high:.2f} (95 %): "
            "report intervals."
        )
    return len(small_classes)
