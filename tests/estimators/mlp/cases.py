"""Rows for tests of multilayer perceptrons, and models of ours and of scikit-learn for each kind of target."""

from typing import Any

import numpy as np
from sklearn import neural_network as theirs
from sklearn.datasets import load_diabetes, load_digits, make_multilabel_classification

from linnet import MLPClassifier, MLPRegressor

X, Y = load_digits(return_X_y=True)
X, Y = X[:600] / 16, Y[:600]
XR, YR = load_diabetes(return_X_y=True)
XR, YR = XR * 20, YR / 100
XM, YM = make_multilabel_classification(n_samples=150, random_state=0)
XM = XM / 10


CASES: dict[str, tuple[Any, Any, Any, Any, dict[str, Any]]] = {
    "many classes": (MLPClassifier, theirs.MLPClassifier, X, Y, {}),
    "two classes": (MLPClassifier, theirs.MLPClassifier, X, np.where(Y > 4, "high", "low"), {"activation": "tanh"}),
    "labels": (MLPClassifier, theirs.MLPClassifier, XM, YM, {"activation": "logistic"}),
    "numbers": (MLPRegressor, theirs.MLPRegressor, XR, YR, {"hidden_layer_sizes": (20, 10)}),
    "several numbers": (MLPRegressor, theirs.MLPRegressor, XR, np.c_[YR, -YR], {"activation": "identity"}),
    "counts": (MLPRegressor, theirs.MLPRegressor, XR, np.round(YR), {"loss": "poisson"}),
}
