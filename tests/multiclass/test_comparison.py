"""The reductions side by side."""

import itertools

import matplotlib as mpl
import numpy as np
import pytest
from sklearn import metrics
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression as TheirLogistic

import linnet
from linnet.errors import ConfigError
from linnet.multiclass import compare

mpl.use("agg")


def test_measures_are_those_of_the_models() -> None:
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    found = compare(X, names)
    assert [row.name for row in found.rows] == ["softmax", "one-vs-rest", "one-vs-one", "output codes", "label tree"]
    assert [row.classifiers for row in found.rows] == [1, 3, 3, 3, 2]
    assert (found.classes, found.train_rows + found.test_rows) == (3, 150)
    again = compare(X, names)
    assert [row.log_loss for row in again.rows] == [row.log_loss for row in found.rows]
    for row in found.rows:
        assert row.fit_seconds > 0
        assert row.predict_seconds > 0
        assert 0.8 < row.accuracy <= 1
        assert 0 <= row.calibration_error < 0.5
        assert f"{row.log_loss:.4f}" in str(found)
    assert found["softmax"].log_loss < found["one-vs-rest"].log_loss


def test_softmax_regression_has_the_parameters_of_the_binary_one() -> None:
    X, y = load_iris(return_X_y=True)
    for binary in (linnet.LogisticRegression(C=0.01), TheirLogistic(C=0.01, tol=1e-10, max_iter=1000)):
        found = compare(X, y, estimator=binary)
        same = compare(X, y, models={"softmax": binary})
        assert found["softmax"].log_loss == same["softmax"].log_loss
        assert found["softmax"].log_loss > compare(X, y)["softmax"].log_loss + 0.1
    of_two = compare(X, y, estimator=linnet.LogisticRegression(class_weight={0: 1.0, 1: 5.0}))
    assert of_two["softmax"].log_loss == compare(X, y)["softmax"].log_loss
    alone = compare(X, y, estimator=TheirLogistic(solver="liblinear", max_iter=10_000))
    assert abs(alone["softmax"].log_loss - compare(X, y)["softmax"].log_loss) < 0.02


def test_a_model_of_ones_own_by_hand() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), np.arange(200) % 4
    X += y[:, None]
    w = rng.random(200) + 0.5
    found = compare(X, y, models={"mine": linnet.OneVsOneClassifier(linnet.LogisticRegression())}, sample_weight=w)
    from linnet.multiclass.comparison import _stratified_sample

    test = _stratified_sample(y.astype(np.int32), 0.25, np.random.RandomState(0))
    assert np.bincount(y[test]).tolist() == [12] * 4  # a quarter of 50, rounded
    train = np.setdiff1d(np.arange(200), test)
    model = linnet.OneVsOneClassifier(linnet.LogisticRegression()).fit(X[train], y[train], sample_weight=w[train])
    predicted, p = model.predict(X[test]), model.predict_proba(X[test])
    row = found["mine"]
    assert np.isclose(row.accuracy, metrics.accuracy_score(y[test], predicted, sample_weight=w[test]))
    assert np.isclose(row.macro_f1, metrics.f1_score(y[test], predicted, average="macro", sample_weight=w[test]))
    assert np.isclose(row.log_loss, metrics.log_loss(y[test], p, sample_weight=w[test]))


def test_a_picture() -> None:
    X, y = load_iris(return_X_y=True)
    found = compare(X, y)
    axes = found.plot()
    assert [axis.get_title() for axis in axes] == ["fit s", "predict s", "accuracy", "log loss"]
    widths = [bar.get_width() for bar in axes[2].patches]
    assert widths == [row.accuracy for row in found.rows]
    for axis in axes:
        axis.figure.canvas.draw()
        low, high = axis.get_xlim()
        labels = [label for label in axis.get_xticklabels() if low <= label.get_position()[0] <= high]
        boxes = [label.get_window_extent() for label in labels]
        assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))
    again = found.plot(axes)
    assert again[0] is axes[0]
    with pytest.raises(ConfigError, match="ax must be 4 axes"):
        found.plot(axes[0])
    mpl.pyplot.close("all")


def test_models_that_cannot_be_compared_are_named() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ConfigError, match="models must be a dict of classifiers by name, got list"):
        compare(X, y, models=[linnet.LogisticRegression()])  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"models\['p'\], a Perceptron, has no predict_proba"):
        compare(X, y, models={"p": linnet.Perceptron()})
