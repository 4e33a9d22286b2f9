"""All metrics by name. A new metric is an entry here: training, tables, intervals and reports look metrics up by name.

A metric of one class is that of the positive one of two classes, and with several the mean over classes. Metrics of
regression are means over rows and outputs.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from linnet.data.rows import Rows
from linnet.data.table import Array
from linnet.errors import ConfigError, unknown_name
from linnet.evaluate import formulas
from linnet.evaluate.formulas import LabelFormula, Macro, Micro, OfAll, OfPositive, Weighted
from linnet.evaluate.metric import Compared, IntervalArguments, Metric, NamedMetric, Needs, Prepare, Reported
from linnet.evaluate.metric import true_labels as true_labels
from linnet.evaluate.rates import check_beta
from linnet.heads import Head, Poisson

if TYPE_CHECKING:
    from linnet.evaluate.measures import Measure
    from linnet.evaluate.objectives import ThresholdObjective

METRICS: dict[str, Metric] = {}
ALIASES: dict[str, str] = {}
_MIN_MEAN = 1e-12  # of a count: the deviance of a predicted mean of 0 is infinite


def metric_named(name: str) -> Metric:
    """Return a metric by name.

    Parameters
    ----------
    name : str
        Such as "accuracy", "roc_auc" or "rmse"; "f2" and "f0.5" are F-beta with any beta.
    """
    if not isinstance(name, str):
        raise unknown_name("metric", name, (*METRICS, *ALIASES))
    metric = METRICS.get(ALIASES.get(name, name))
    if metric is not None:
        return metric
    beta = re.fullmatch(r"f(\d+(\.\d+)?)", name)
    if beta is None:
        raise unknown_name("metric", name, (*METRICS, *ALIASES))
    return _f_beta(name, float(beta[1]))


def _add(
    like: Metric,
    name: str,
    compute: Callable[[Compared], Any] | None = None,
    *,
    aliases: Sequence[str] = (),
    **facts: Any,
) -> None:
    METRICS[name] = replace(like, name=name, compute=compute or like.compute, **facts)
    ALIASES.update(dict.fromkeys(aliases, name))


# ---- preparation for rows, which loads scipy.stats ----


def _of_labels(formula: LabelFormula) -> Prepare:
    def prepare(arguments: IntervalArguments) -> "Measure":
        from linnet.evaluate.label_measures import label_measure

        return label_measure(formula, arguments)

    return prepare


def _of_beta(kind: type[LabelFormula]) -> Prepare:
    """Return the preparation of F-beta with the beta passed to `interval`."""

    def prepare(arguments: IntervalArguments) -> "Measure":
        return _of_labels(kind(partial(formulas.f_beta, beta=check_beta(arguments.beta))))(arguments)

    return prepare


def _of_costs(arguments: IntervalArguments) -> "Measure":
    from linnet.evaluate.label_measures import cost_measure

    return cost_measure(arguments)


def _of_scores(kind: str) -> Prepare:
    """Return the preparation of an area, by the name of its class."""

    def prepare(arguments: IntervalArguments) -> "Measure":
        from linnet.evaluate import area_measures

        return area_measures.area_measure(getattr(area_measures, kind), arguments)

    return prepare


def _of_losses(kind: str) -> Prepare:
    """Return the preparation of a loss of probabilities, by the name of the function that does it."""

    def prepare(arguments: IntervalArguments) -> "Measure":
        from linnet.evaluate import measures

        measure: Measure = getattr(measures, kind)(arguments)
        return measure

    return prepare


# ---- classes ----


def _by(score: str, **how: Any) -> Callable[[Compared], Any]:
    """Return the metric computed by a function of `linnet.evaluate` of labels."""

    def compute(rows: Compared) -> Any:
        from linnet import evaluate

        return getattr(evaluate, score)(rows.y, rows.predicted, sample_weight=rows.weights, **how)

    return compute


def _accuracy(rows: Compared) -> Any:
    if rows.y.dtype.kind == "i":  # class indices, after every epoch: faster than a confusion matrix
        return rows.mean(rows.y == rows.predicted)
    return _by("accuracy_score")(rows)


def _macro_f1(rows: Compared) -> Any:
    """Return macro F1; a class (or label) neither present nor predicted counts as 0."""
    return _by("f1_score", average="macro", labels=rows.classes, zero_division=0)(rows)


def _of_class(score: str, **how: Any) -> Callable[[Compared], Any]:
    """Return the metric of the positive class of two, or its mean over classes or labels."""

    def compute(rows: Compared) -> Any:
        if not rows.two:
            return _by(score, average="macro", zero_division=0, **how)(rows)
        both = replace(rows, y=rows.positive(rows.y), predicted=rows.positive(rows.predicted))
        return _by(score, zero_division=0, **how)(both)

    return compute


def _of_probabilities(score: str) -> Callable[[Compared], Any]:
    def compute(rows: Compared) -> Any:
        from linnet import evaluate

        how = {} if rows.classes is None else {"labels": rows.classes}
        return getattr(evaluate, score)(rows.y, rows.proba, sample_weight=rows.weights, **how)

    return compute


def _mean_surprise(rows: Compared) -> Any:
    return _of_probabilities("log_loss")(rows) if rows.surprise is None else rows.mean(rows.surprise)


def _area(score: str) -> Callable[[Compared], Any]:
    def compute(rows: Compared) -> Any:
        if not rows.two:
            return _of_probabilities(score)(rows)
        both = Compared(rows.positive(rows.y), rows.predicted, rows.positive_proba, weights=rows.weights)
        return _of_probabilities(score)(both)

    return compute


def _highest_f(beta: float, share: float) -> "ThresholdObjective":
    from linnet.evaluate.objectives import FBeta

    return FBeta(beta)


def _fewest_errors(share: float) -> "ThresholdObjective":
    from linnet.evaluate.objectives import Cost

    return Cost([[0, 1], [1, 0]])


def _highest_balanced(share: float) -> "ThresholdObjective":
    """Return the objective of balanced accuracy: 1 - balanced accuracy is ½ (FN / P + FP / N)."""
    from linnet.evaluate.objectives import Cost

    return Cost([[0, share], [1 - share, 0]])


_OF_ALL = Metric("", share=True)
_OF_TWO = Metric("", of_positive=True)
_OF_CLASS = replace(_OF_TWO, averaged=True, share=True)
_ACCURACY = replace(
    _OF_ALL,
    compute=_accuracy,
    averaged=True,
    any_head=True,
    objective=_fewest_errors,
    prepare=_of_labels(OfAll(formulas.accuracy, proportion=True)),
)
_AREA = replace(_OF_CLASS, needs=Needs.PROBABILITIES, accumulator="ScoreAccumulator")
_LOSS = Metric("", None, False, Needs.PROBABILITIES)
_CLASSES, _TWO = Reported.TWO_CLASSES | Reported.MANY_CLASSES, Reported.TWO_CLASSES


def _f_beta(name: str, beta: float) -> Metric:
    formula = partial(formulas.f_beta, beta=beta)
    return replace(
        _OF_CLASS,
        name=name,
        compute=_of_class("fbeta_score", beta=beta),
        prepare=_of_labels(OfPositive(formula)),
        prepare_mean=_of_labels(Macro(formula)),
        objective=partial(_highest_f, beta),
    )


_add(
    _LOSS,
    "log_loss",
    _mean_surprise,
    prepare=_of_losses("log_loss_measure"),
    reported=_CLASSES | Reported.COUNTS,  # means alone do not show how far counts spread around them
    of_distribution=True,
    meaning="mean of −log of the predicted probability of the actual class or count; 0 is perfect",
    accumulator="ProbabilityAccumulator",
)
_add(
    _ACCURACY,
    "accuracy",
    reported=_CLASSES,
    headline=_CLASSES,
    meaning="share of rows classified correctly",
    accumulator="ConfusionAccumulator",
    aliases=["acc"],
)
_add(
    _OF_ALL,
    "balanced_accuracy",
    _by("balanced_accuracy_score"),
    prepare=_of_labels(OfAll(formulas.balanced_accuracy)),
    reported=_CLASSES,
    meaning="mean recall of the classes",
    objective=_highest_balanced,
    accumulator="ConfusionAccumulator",
)
_add(
    _f_beta("f1", 1.0),
    "f1",
    reported=_CLASSES,
    headline=Reported.MANY_CLASSES,
    meaning="harmonic mean of precision and recall",
    aliases=["harmonic_mean"],
)
_add(
    _AREA,
    "roc_auc",
    _area("roc_auc_score"),
    prepare=_of_scores("RocArea"),
    reported=_CLASSES,
    headline=_CLASSES,
    title="ROC AUC",
    meaning="how often a positive row has a higher score than a negative one; 0.5 is chance",
)
_add(
    _OF_CLASS,
    "precision",
    _of_class("precision_score"),
    prepare=_of_labels(OfPositive(formulas.precision, proportion=True)),
    prepare_mean=_of_labels(Macro(formulas.precision)),
    reported=_TWO,
    meaning="share of rows predicted as positive that are positive",
)
_add(
    _OF_CLASS,
    "recall",
    _of_class("recall_score"),
    prepare=_of_labels(OfPositive(formulas.recall, proportion=True)),
    prepare_mean=_of_labels(Macro(formulas.recall)),
    reported=_TWO,
    meaning="share of the positive rows that are found",
    aliases=["sensitivity", "true_positive_rate"],
)
_add(
    _AREA,
    "average_precision",
    _area("average_precision_score"),
    prepare=_of_scores("AveragePrecision"),
    reported=_TWO,
    headline=_TWO,
    meaning="mean precision over all recalls",
)
_add(_AREA, "pr_auc", _area("pr_auc_score"), prepare=_of_scores("PrecisionRecallArea"))
_add(_ACCURACY, "categorical_accuracy", labels=False, aliases=["sparse_categorical_accuracy"])
_add(_ACCURACY, "binary_accuracy", labels=True)
_add(
    _OF_ALL,
    "mcc",
    prepare=_of_labels(OfAll(formulas.mcc, low=-1.0)),
    share=False,
    accumulator="ConfusionAccumulator",
)
_add(_OF_TWO, "specificity", prepare=_of_labels(OfPositive(formulas.specificity, proportion=True)), share=True)
_add(_OF_TWO, "arithmetic_mean", prepare=_of_labels(OfPositive(formulas.arithmetic_mean)), share=True)
_add(_OF_TWO, "geometric_mean", prepare=_of_labels(OfPositive(formulas.geometric_mean)), share=True)
_add(
    _OF_TWO,
    "false_positive_rate",
    prepare=_of_labels(OfPositive(formulas.false_positive_rate, proportion=True)),
    greater_is_better=False,
    aliases=["type_1_error_rate"],
)
_add(
    _OF_TWO,
    "false_negative_rate",
    prepare=_of_labels(OfPositive(formulas.false_negative_rate, proportion=True)),
    greater_is_better=False,
    aliases=["type_2_error_rate"],
)
_add(
    _OF_CLASS,
    "f_beta",
    prepare=_of_beta(OfPositive),
    prepare_mean=_of_beta(Macro),
    complete=False,
)
for _how, _kind in (("macro", Macro), ("micro", Micro), ("weighted", Weighted)):
    _add(_OF_ALL, f"{_how}_precision", prepare=_of_labels(_kind(formulas.precision, proportion=True)))
    _add(_OF_ALL, f"{_how}_recall", prepare=_of_labels(_kind(formulas.recall, proportion=True)))
    _add(_OF_ALL, f"{_how}_f1", prepare=_of_labels(_kind(formulas.f_beta)))
    _add(_OF_ALL, f"{_how}_f_beta", prepare=_of_beta(_kind), complete=False)
_add(METRICS["macro_f1"], "macro_f1", _macro_f1, averaged=True, any_head=True)
_add(
    _LOSS,
    "brier",
    _of_probabilities("brier_score_loss"),
    prepare=_of_losses("brier_measure"),
    accumulator="ProbabilityAccumulator",
)
_add(_LOSS, "ece", prepare=_of_losses("calibration_measure"), of_positive=True)
_add(_OF_ALL, "mean_cost", prepare=_of_costs, greater_is_better=False, share=False, complete=False)


# ---- regression ----


def poisson_deviance(rows: Compared) -> float:
    """Return the mean of 2 (y log(y / mean) - y + mean); predicted means of 0 or less count as 1e-12."""
    count = len(rows.y)
    w = np.ones(count) if rows.weights is None else rows.weights
    z = np.log(np.maximum(rows.predicted, _MIN_MEAN))
    return Poisson().deviance(z.reshape(count, -1), rows.y.reshape(count, -1), w) / float(w.sum())


def mean_squared_error(rows: Compared) -> float:
    """Return the mean over rows and outputs of (mean - t)²."""
    return rows.mean(np.square(rows.predicted - rows.y, dtype=np.float64))


def root_mean_squared_error(rows: Compared) -> float:
    """Return the root of the mean squared error."""
    return float(np.sqrt(mean_squared_error(rows)))


def mean_absolute_error(rows: Compared) -> float:
    """Return the mean over rows and outputs of |mean - t|."""
    return rows.mean(np.abs(rows.predicted - rows.y, dtype=np.float64))


def r2(rows: Compared) -> float:
    """Return 1 - squared error / squared error of the weighted mean, averaged over outputs; 0 for a constant target."""
    t, mean = (values.reshape(len(rows.y), -1) for values in (rows.y.astype(np.float64), rows.predicted))
    weights = np.ones(len(t)) if rows.weights is None else rows.weights.astype(np.float64)
    if not weights.any():
        return float("nan")
    residual = np.average((t - mean) ** 2, axis=0, weights=weights)
    total = np.average((t - np.average(t, axis=0, weights=weights)) ** 2, axis=0, weights=weights)
    ratio = np.divide(residual, total, out=(residual > 0).astype(np.float64), where=total > 0)
    return float((1 - ratio).mean())


_NUMBERS = Reported.COUNTS | Reported.NUMBER
_ERROR = Metric("", None, False, Needs.NUMBERS, reported=_NUMBERS, headline=_NUMBERS)
_add(
    _ERROR,
    "poisson_deviance",
    poisson_deviance,
    reported=Reported.COUNTS,
    headline=Reported.NEVER,
    is_proper_name=True,
    meaning="mean distance of counts from their predicted means; 0 is perfect",
)
_add(
    _ERROR,
    "rmse",
    root_mean_squared_error,
    title="RMSE",
    meaning="root of the mean squared error, in units of the target",
)
_add(
    _ERROR,
    "mae",
    mean_absolute_error,
    title="Mean absolute error",
    meaning="mean of |actual − predicted|, in units of the target",
    aliases=["mean_absolute_error"],
)
_add(_ERROR, "r2", r2, greater_is_better=True, title="R²", meaning="share of the variance that is explained")
_add(
    _ERROR, "mse", mean_squared_error, reported=Reported.NEVER, headline=Reported.NEVER, aliases=["mean_squared_error"]
)

# ---- metrics computed in training ----

# Endings of the names of functions whose smaller values are better, and of those whose greater values are.
_FALLING = ("error", "loss", "deviance", "mse", "mae", "mape", "smape", "rmse", "msle", "rmsle", "nll", "brier", "cost")
_RISING = ("score", "accuracy", "acc", "auc", "r2", "f1", "precision", "recall", "gain", "profit", "correlation")


MetricLike = str | NamedMetric | Callable[[Any, Any], float]


def as_metric(metric: MetricLike, head: Head, outputs: int) -> NamedMetric:
    """Return a metric by name for a head, or wrap a function of (targets, means) that returns a number.

    A greater value of a function is assumed to be better, unless its name ends in error, loss, deviance or the like, as
    scikit-learn's names do; a name with neither ending gets a warning if it decides when training ends. `NamedMetric`
    states the direction. Metrics by name use the weights of rows.
    """
    if isinstance(metric, NamedMetric):
        return metric
    if callable(metric):
        return _of_function(metric)
    if not isinstance(metric, str):
        raise ConfigError(f"a metric must be a name or a function of (targets, means), got {metric!r}")
    named = metric_named(metric)
    if not named.complete:
        raise ConfigError(f"the metric {metric} needs more than its name: pass a function of (targets, means)")
    return named.bound(metric, head, outputs)


def _of_function(function: Callable[[Any, Any], float]) -> NamedMetric:
    """Return a function of (targets, means) as a metric, with the direction that its name implies."""
    named: Any = function
    while isinstance(named, partial):  # named after its function
        named = named.func
    name = getattr(named, "__name__", type(named).__name__)
    falls = name.lower().endswith(_FALLING)
    guessed = not falls and not name.lower().endswith(_RISING)

    def compute(mean: Array, rows: Rows) -> float:
        try:
            return float(function(rows.targets(), mean))
        except (TypeError, ValueError) as error:
            raise ConfigError(
                f"the metric {name} failed on the targets and predicted means (for classes: probabilities): "
                f"{error}; name metrics of predicted classes, such as 'accuracy' or 'f1'"
            ) from error

    return NamedMetric(name, compute, not falls, guessed)


def several_metrics(metrics: Any) -> list[Any]:
    """Return a list of metrics from one, several or None."""
    if metrics is None:
        return []
    is_single = isinstance(metrics, str | NamedMetric) or callable(metrics) or not np.iterable(metrics)
    return [metrics] if is_single else list(metrics)


def as_metrics(
    metrics: MetricLike | Sequence[MetricLike] | None,
    head: Head,
    outputs: int,
) -> list[NamedMetric]:
    """Return several metrics by name or function; their names must differ from each other and from "loss"."""
    several = several_metrics(metrics)
    chosen = [as_metric(metric, head, outputs) for metric in several]
    names = [metric.name for metric in chosen]
    for name in names:
        if name == "loss" or names.count(name) > 1:
            raise ConfigError(f"there is already a metric named {name!r}: give each its own name with NamedMetric")
    return chosen
