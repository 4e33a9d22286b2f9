"""scikit-learn's own checks of what an estimator must do."""

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import has_fit_parameter

import linnet
from linnet.errors import DataError

ESTIMATORS = (
    linnet.LinearRegression(),
    linnet.Ridge(),
    linnet.LogisticRegression(),
    linnet.LogisticRegression(C=0.5, l1_ratio=0.5),
    linnet.PoissonRegressor(),
    linnet.GammaRegressor(),
    linnet.TweedieRegressor(),
    linnet.TweedieRegressor(power=1.5),
    linnet.Perceptron(max_iter=20),
    linnet.MLPClassifier(max_iter=50),
    linnet.MLPClassifier(solver="lbfgs", max_iter=50),
    linnet.MLPRegressor(max_iter=50),
    linnet.ThresholdClassifier(linnet.LogisticRegression()),
    linnet.OneVsRestClassifier(linnet.LogisticRegression()),
    linnet.OneVsRestClassifier(linnet.LogisticRegression(), tie_break="random", random_state=0),
    linnet.OneVsOneClassifier(linnet.LogisticRegression()),
    linnet.OutputCodeClassifier(linnet.LogisticRegression(), random_state=0),
    linnet.LabelTreeClassifier(linnet.LogisticRegression()),
    linnet.LabelTreeClassifier(linnet.Perceptron(max_iter=20)),
)
WEIGHTS = (
    "check_classifiers_one_label_sample_weights",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
    "check_sample_weights_list",
    "check_sample_weights_not_an_array",
    "check_sample_weights_not_overwritten",
    "check_sample_weights_pandas_series",
    "check_sample_weights_shape",
)


def exempt(estimator: Any) -> dict[str, str]:
    """The checks that ask for something else than the estimator is for, each with the reason."""
    if isinstance(estimator, linnet.ThresholdClassifier):  # scikit-learn's own ones are exempt from it, too
        return {"check_classifiers_train": "it asks for a threshold of 0.5"}
    if getattr(estimator, "tie_break", "score") == "random":
        return {"check_classifiers_train": "it asks for the class of the highest score"}
    if isinstance(getattr(estimator, "estimator", None), linnet.Perceptron):
        return dict.fromkeys(WEIGHTS, "a perceptron has no row weights, which a reduction over it refuses")
    return {}


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_scikit_learns_checks(estimator: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, on_fail=None, on_skip=None, expected_failed_checks=exempt(estimator))
    assert len(results) > 50
    assert {result["check_name"] for result in results if result["status"] == "xfail"} == {*exempt(estimator)}
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert not failed


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_masked_targets_and_weights_are_refused(estimator: Any) -> None:
    """What lies under a mask is not data, and NumPy would take it for data."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = np.arange(40) % 2 + 1
    part = np.ma.masked_less(np.arange(40), 5).mask
    with pytest.raises(DataError, match="y is masked"):
        clone(estimator).fit(X, np.ma.masked_array(y, part))
    if has_fit_parameter(estimator, "sample_weight") and "Perceptron" not in repr(estimator):
        with pytest.raises(DataError, match="sample_weight is masked"):
            clone(estimator).fit(X, y, sample_weight=np.ma.masked_array(np.ones(40), part))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = clone(estimator).fit(X, y)
    with pytest.raises(DataError, match="y is masked"):
        fitted.score(X, np.ma.masked_array(y, part))
