"""scikit-learn's own checks of what an estimator must do."""

import warnings
from typing import Any

import pytest
from sklearn.utils.estimator_checks import check_estimator

import linnet

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
    linnet.OneVsOneClassifier(linnet.LogisticRegression()),
    linnet.OutputCodeClassifier(linnet.LogisticRegression(), random_state=0),
    linnet.LabelTreeClassifier(linnet.LogisticRegression()),
)
EXEMPT = {  # scikit-learn's own classifiers with a threshold are exempt from it, too
    "ThresholdClassifier": {"check_classifiers_train": "it asks for a threshold of 0.5"},
}


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_scikit_learns_checks(estimator: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exempt = EXEMPT.get(type(estimator).__name__)
        results = check_estimator(estimator, on_fail=None, on_skip=None, expected_failed_checks=exempt)
    assert len(results) > 50
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert not failed
