"""The binary classifiers of a reduction: logistic regressions over one table, or any others fitted one by one.

Each problem has log-odds log(p / (1 - p)) of the positive class, always finite, and a score that is above 0 where the
positive class is predicted. For a problem with rows of one class only, and where a classifier returns NaN, both are
log((positives + 1) / (negatives + 1)), from the weights of the training rows.
"""

from typing import Any

from linnet.errors import ConfigError
from linnet.estimators.logistic import LogisticRegression
from linnet.multiclass.learners.base import Learners as Learners
from linnet.multiclass.learners.separate import SeparateLearners as SeparateLearners
from linnet.multiclass.learners.stacked import StackedLogistic as StackedLogistic
from linnet.multiclass.learners.training import TrainingSet as TrainingSet


def train(estimator: Any, data: TrainingSet) -> Learners:
    """Fit one binary classifier per problem."""
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise ConfigError(f"estimator must be a classifier such as linnet.LogisticRegression(), got {estimator!r}")
    if type(estimator) is LogisticRegression and not data.params.keys() - {"sample_weight"}:
        return StackedLogistic.fitted(estimator, data)
    return SeparateLearners.fitted(estimator, data)
