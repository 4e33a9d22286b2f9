"""Metrics, curves, thresholds, intervals and comparisons for the predictions of any library.

Functions that scikit-learn has are named as there, take the same arguments and return the same values.
"""

from typing import TYPE_CHECKING

from linnet._lazy import lazily

if TYPE_CHECKING:
    from linnet.evaluate.accumulators import (
        ClassScoreAccumulator,
        ConfusionAccumulator,
        PairScoreAccumulator,
        ProbabilityAccumulator,
        ScoreAccumulator,
    )
    from linnet.evaluate.advice import Advice, advise
    from linnet.evaluate.class_curves import ClassCutoffs, average_precision_score, pr_auc_score, roc_auc_score
    from linnet.evaluate.comparisons import Comparison, McNemar, compare, mcnemar
    from linnet.evaluate.confusion import ClassScores, Confusion
    from linnet.evaluate.curves import Cutoffs, auc, cumulative_gain_curve, precision_recall_curve, roc_curve
    from linnet.evaluate.displays import (
        CalibrationDisplay,
        ConfusionMatrixDisplay,
        GainDisplay,
        PrecisionRecallDisplay,
        RocCurveDisplay,
    )
    from linnet.evaluate.intervals import Interval, interval
    from linnet.evaluate.metric import Metric, NamedMetric
    from linnet.evaluate.metrics import metric_named
    from linnet.evaluate.objectives import Cost, FBeta, PrecisionAtLeast, RecallAtLeast, Threshold
    from linnet.evaluate.probabilities import (
        Calibration,
        brier_score_loss,
        calibration,
        calibration_curve,
        expected_calibration_error,
        log_loss,
    )
    from linnet.evaluate.rates import Rates, means_table
    from linnet.evaluate.regions import plot_regions
    from linnet.evaluate.reports import Report, report
    from linnet.evaluate.scores import (
        accuracy_score,
        balanced_accuracy_score,
        binary_rates,
        confusion_matrix,
        f1_score,
        fbeta_score,
        matthews_corrcoef,
        precision_recall_fscore_support,
        precision_score,
        recall_score,
    )
    from linnet.evaluate.thresholds import best_threshold, by_thresholds, class_thresholds, least_cost, mean_cost

__all__ = [
    "Advice",
    "Calibration",
    "CalibrationDisplay",
    "ClassCutoffs",
    "ClassScoreAccumulator",
    "ClassScores",
    "Comparison",
    "Confusion",
    "ConfusionAccumulator",
    "ConfusionMatrixDisplay",
    "Cost",
    "Cutoffs",
    "FBeta",
    "GainDisplay",
    "Interval",
    "McNemar",
    "Metric",
    "NamedMetric",
    "PairScoreAccumulator",
    "PrecisionAtLeast",
    "PrecisionRecallDisplay",
    "ProbabilityAccumulator",
    "Rates",
    "RecallAtLeast",
    "Report",
    "RocCurveDisplay",
    "ScoreAccumulator",
    "Threshold",
    "accuracy_score",
    "advise",
    "auc",
    "average_precision_score",
    "balanced_accuracy_score",
    "best_threshold",
    "binary_rates",
    "brier_score_loss",
    "by_thresholds",
    "calibration",
    "calibration_curve",
    "class_thresholds",
    "compare",
    "confusion_matrix",
    "cumulative_gain_curve",
    "expected_calibration_error",
    "f1_score",
    "fbeta_score",
    "interval",
    "least_cost",
    "log_loss",
    "matthews_corrcoef",
    "mcnemar",
    "mean_cost",
    "means_table",
    "metric_named",
    "plot_regions",
    "pr_auc_score",
    "precision_recall_curve",
    "precision_recall_fscore_support",
    "precision_score",
    "recall_score",
    "report",
    "roc_auc_score",
    "roc_curve",
]

_NAMES = {  # by the file they live in
    "accumulators": (
        "ClassScoreAccumulator",
        "ConfusionAccumulator",
        "PairScoreAccumulator",
        "ProbabilityAccumulator",
        "ScoreAccumulator",
    ),
    "advice": ("Advice", "advise"),
    "class_curves": ("ClassCutoffs", "average_precision_score", "pr_auc_score", "roc_auc_score"),
    "comparisons": ("Comparison", "McNemar", "compare", "mcnemar"),
    "confusion": ("ClassScores", "Confusion"),
    "curves": ("Cutoffs", "auc", "cumulative_gain_curve", "precision_recall_curve", "roc_curve"),
    "displays": (
        "CalibrationDisplay",
        "ConfusionMatrixDisplay",
        "GainDisplay",
        "PrecisionRecallDisplay",
        "RocCurveDisplay",
    ),
    "intervals": ("Interval", "interval"),
    "metric": ("Metric", "NamedMetric"),
    "metrics": ("metric_named",),
    "objectives": ("Cost", "FBeta", "PrecisionAtLeast", "RecallAtLeast", "Threshold"),
    "probabilities": (
        "Calibration",
        "brier_score_loss",
        "calibration",
        "calibration_curve",
        "expected_calibration_error",
        "log_loss",
    ),
    "rates": ("Rates", "means_table"),
    "regions": ("plot_regions",),
    "reports": ("Report", "report"),
    "scores": (
        "accuracy_score",
        "balanced_accuracy_score",
        "binary_rates",
        "confusion_matrix",
        "f1_score",
        "fbeta_score",
        "matthews_corrcoef",
        "precision_recall_fscore_support",
        "precision_score",
        "recall_score",
    ),
    "thresholds": ("best_threshold", "by_thresholds", "class_thresholds", "least_cost", "mean_cost"),
}

if not TYPE_CHECKING:  # a type checker would take it to mean that any name exists
    __getattr__ = lazily(__name__, _NAMES)


def __dir__() -> list[str]:
    return __all__
