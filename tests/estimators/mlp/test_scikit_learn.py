"""The multilayer perceptrons inside scikit-learn's own tools."""

from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_digits
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from linnet import MLPClassifier, MLPRegressor

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X, Y = load_digits(return_X_y=True)
X, Y = X[:400], Y[:400]
SMALL: dict[str, Any] = {"hidden_layer_sizes": (16,), "max_iter": 60, "random_state": 0, "learning_rate_init": 0.01}


def test_pipeline_and_grid_search() -> None:
    pipe = make_pipeline(StandardScaler(), MLPClassifier(**SMALL))
    search = GridSearchCV(pipe, {"mlpclassifier__dropout": [0.0, 0.2], "mlpclassifier__alpha": [1e-4, 1.0]}, cv=3)
    search.fit(X, Y)
    assert search.best_score_ > 0.85
    assert set(search.best_params_) == {"mlpclassifier__dropout", "mlpclassifier__alpha"}


def test_cross_validation_in_two_processes() -> None:
    model = make_pipeline(MinMaxScaler(), MLPClassifier(**SMALL))
    alone = cross_val_score(model, X, Y, cv=4)
    together = cross_val_score(model, X, Y, cv=4, n_jobs=2)
    np.testing.assert_array_equal(alone, together)
    assert alone.mean() > 0.85


def test_calibration_one_vs_rest_and_importance() -> None:
    model = MLPClassifier(**SMALL)
    calibrated = CalibratedClassifierCV(model, cv=3).fit(X / 16, Y)
    assert calibrated.score(X / 16, Y) > 0.9
    assert OneVsRestClassifier(model).fit(X / 16, Y).score(X / 16, Y) > 0.9
    fitted = MLPRegressor(**SMALL).fit(X / 16, Y)
    assert permutation_importance(fitted, X / 16, Y, n_repeats=1).importances_mean.shape == (64,)


def test_sparse_columns_of_a_transformer() -> None:
    letters = np.array(list("abcd"))[Y % 4]
    table = np.c_[letters.astype(object), X[:, 10].astype(object)]
    to_sparse = ColumnTransformer(
        [("letter", OneHotEncoder(), [0]), ("rest", StandardScaler(), [1])], sparse_threshold=1
    )
    model = make_pipeline(to_sparse, MLPClassifier(**SMALL)).fit(table, Y % 4)
    assert model.score(table, Y % 4) == 1.0


def test_set_output_passes_a_frame_on() -> None:
    scaler = StandardScaler().set_output(transform="pandas")
    model = make_pipeline(scaler, MLPClassifier(**SMALL)).fit(X, Y)
    assert model[-1].feature_names_in_[0] == "x0"
    assert model.score(X, Y) > 0.95


def test_weights_are_routed() -> None:
    weights = np.where(Y == 3, 10.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        model = MLPClassifier(**SMALL).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        routed = cross_validate(model, X / 16, Y, params={"sample_weight": weights}, cv=3, return_estimator=True)
    plain = cross_validate(MLPClassifier(**SMALL), X / 16, Y, cv=3, return_estimator=True)
    assert not np.array_equal(routed["estimator"][0].coefs_[0], plain["estimator"][0].coefs_[0])
