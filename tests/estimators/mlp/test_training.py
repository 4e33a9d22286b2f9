"""How multilayer perceptrons are trained: patience, metrics, streams, warm starts, failures."""

import functools
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import f1_score, log_loss, mean_pinball_loss

from linnet import SGD, MLPClassifier, MLPRegressor, NamedMetric, TabularClassifier
from linnet.errors import ConfigError, DataError, FitError

from .cases import XR, YR, X, Y

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def test_early_stopping_on_rows_of_ones_own() -> None:
    model = MLPClassifier((20,), early_stopping=True, n_iter_no_change=4, max_iter=300, random_state=0)
    model.fit(X[:400], Y[:400], eval_set=(X[400:], Y[400:]), eval_metric=["macro_f1", "accuracy"])
    assert model.stop_reason_.startswith("val_macro_f1 did not improve for 5 epochs")
    assert set(model.history_) == {"loss", "val_loss", "val_macro_f1", "val_accuracy", "learning_rate", "seconds"}
    assert all(len(values) == model.n_iter_ for values in model.history_.values())
    assert model.best_validation_score_ == max(model.history_["val_macro_f1"])
    best = int(np.argmax(model.history_["val_macro_f1"]))
    assert model.score(X[400:], Y[400:]) == pytest.approx(model.history_["val_accuracy"][best])
    errors = MLPRegressor(early_stopping=True, max_iter=40, random_state=0).fit(XR, YR, eval_metric="rmse")
    assert errors.best_validation_score_ == min(errors.history_["val_rmse"])
    with pytest.raises(ConfigError, match="eval_metric needs eval_set"):
        MLPRegressor().fit(XR, YR, eval_metric="rmse")
    with pytest.raises(ConfigError, match="eval_set must be"):
        MLPRegressor().fit(XR, YR, eval_set=XR)


@pytest.mark.parametrize("metric", ["log_loss", "brier", "roc_auc", "balanced_accuracy", "f1", "f2", "precision"])
def test_patience_on_any_metric_of_classes(metric: str) -> None:
    model = MLPClassifier((10,), early_stopping=True, max_iter=30, random_state=0).fit(X, Y, eval_metric=metric)
    scores = model.history_[f"val_{metric}"]
    falls = metric in ("log_loss", "brier")
    best = min(scores) if falls else max(scores)
    assert model.best_validation_score_ == best
    assert best != scores[0]


def test_a_direction_that_no_name_tells_is_told() -> None:
    def far(t: Any, y_pred: Any) -> float:
        return float(np.abs(t - y_pred[:, 0]).max())

    def relative_error(t: Any, y_pred: Any) -> float:
        return far(t, y_pred)

    model = MLPRegressor(early_stopping=True, n_iter_no_change=1, max_iter=30, random_state=0)
    with pytest.warns(UserWarning, match="a greater far is assumed to be better: if it is not, pass"):
        model.fit(XR, YR, eval_metric=far)
    model.fit(XR, YR, eval_metric=relative_error)
    assert model.best_validation_score_ == min(model.history_["val_relative_error"])
    model.fit(XR, YR, eval_metric=NamedMetric("far", lambda mean, rows: far(rows.targets(), mean), False))
    assert model.best_validation_score_ == min(model.history_["val_far"])
    with pytest.raises(ConfigError, match="the metric f1_score failed on the targets and predicted means"):
        MLPClassifier(early_stopping=True).fit(X, Y, eval_metric=f1_score)
    with pytest.raises(ConfigError, match="the metric f1 is for classes, but this model predicts values"):
        model.fit(XR, YR, eval_metric="f1")
    assert model.fit(XR, YR, eval_metric=[]).history_["val_r2"]  # none is the default one


def test_numbers_that_scikit_learn_takes() -> None:
    quick: dict[str, Any] = {"hidden_layer_sizes": (4,), "max_iter": 12, "random_state": 0}
    assert MLPRegressor(**quick, n_iter_no_change=np.inf, tol=10.0).fit(XR, YR).n_iter_ == 12
    MLPRegressor(**quick, validation_fraction=0.0).fit(XR, YR)
    MLPRegressor(**quick, solver="sgd", momentum=1.0, learning_rate_init=1e-5).fit(XR, YR)
    with pytest.raises(ConfigError, match="huber_delta must be above 0"):
        MLPRegressor("huber", huber_delta=0).fit(XR, YR)
    with pytest.raises(ConfigError, match=r"eval_set takes one pair \(X, y\), got a list of 2"):
        MLPRegressor().fit(XR, YR, eval_set=[(XR, YR), (XR, YR)])  # type: ignore[arg-type]
    for solver in (SGD(0.1), "lbfgs"):
        with pytest.raises(ConfigError, match="clip_norm"):
            MLPRegressor(solver=solver, clip_norm=1.0).fit(XR, YR)


def test_a_long_first_step_does_not_turn_relus_off_for_good() -> None:
    """Columns that were not scaled have steep gradients: L-BFGS begins with a step of length 1."""
    flowers, kinds = load_iris(return_X_y=True)
    scores = [
        MLPClassifier((8,), solver="lbfgs", max_iter=100, random_state=seed).fit(flowers, kinds).score(flowers, kinds)
        for seed in range(20)
    ]
    assert sum(score < 0.5 for score in scores) <= 2  # 1; with the whole gradient as a step it was 5


def test_rows_held_out_are_those_of_scikit_learn() -> None:
    model = MLPClassifier((20,), early_stopping=True, max_iter=5, random_state=0).fit(X, Y)
    assert model.validation_scores_ is not None
    assert len(model.validation_scores_) == model.n_iter_
    assert model.best_loss_ is None
    assert model.t_ == 540 * model.n_iter_
    regressor = MLPRegressor(hidden_layer_sizes=(20,), early_stopping=True, max_iter=5, random_state=0).fit(XR, YR)
    assert regressor.validation_scores_ == regressor.history_["val_r2"]


def test_the_best_epoch_is_kept_by_any_gain() -> None:
    model = MLPClassifier((6,), early_stopping=True, tol=0.05, random_state=0, max_iter=100)
    model.fit(X[:400], Y[:400], eval_set=(X[400:], Y[400:]))
    assert model.score(X[400:], Y[400:]) == pytest.approx(model.best_validation_score_)


def test_metrics_know_their_direction_and_heed_weights() -> None:
    def mean_squared_error(t: Any, mean: Any) -> float:
        return float(((t - mean[:, 0]) ** 2).mean())

    model = MLPRegressor(early_stopping=True, random_state=0, max_iter=60)
    model.fit(XR, YR, eval_set=(XR, YR), eval_metric=mean_squared_error)
    assert model.best_validation_score_ == min(model.history_["val_mean_squared_error"])
    weights = np.where(Y[400:] == 3, 50.0, 1.0)
    judged = MLPClassifier((6,), max_iter=3, random_state=0)
    judged.fit(X[:400], Y[:400], eval_set=(X[400:], Y[400:], weights), eval_metric=["accuracy", "macro_f1"])
    assert judged.history_["val_accuracy"][-1] == pytest.approx(judged.score(X[400:], Y[400:], weights))


def test_early_stopping_watches_the_loss_that_is_trained_on() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (3000, 2))
    y = x[:, 0] + rng.exponential(1, 3000)
    model = MLPRegressor("quantile", quantile=0.9, early_stopping=True, random_state=0, learning_rate_init=0.01)
    model.fit(x, y)
    assert 0.86 < (y < model.predict(x)).mean() < 0.94
    assert model.validation_scores_ == model.history_["val_loss"]
    by_loss = MLPClassifier((8,), early_stopping=True, random_state=0, max_iter=20).fit(X, Y, eval_metric="loss")
    assert by_loss.best_validation_score_ == min(by_loss.history_["val_loss"])


def test_smoothed_labels_are_held_out_by_class() -> None:
    y = np.arange(300) % 50 == 0
    x = np.random.default_rng(0).normal(size=(300, 2))
    seen = []

    def yes_score(t: Any, mean: Any) -> float:
        seen.append(int(t.sum()))
        return 0.0

    for seed in range(3):
        model = MLPClassifier((2,), early_stopping=True, validation_fraction=1 / 3, label_smoothing=0.1, max_iter=1)
        model.set_params(random_state=seed).fit(x, y, eval_metric=yes_score)
    assert set(seen) == {2}


def test_records_as_they_come() -> None:
    model = MLPClassifier((5,), max_iter=10, random_state=0)
    seen = []
    for record in model.fit_stream(X, Y):
        seen.append(record.numbers["loss"])
        if record.epoch == 3:
            break
    assert model.loss_curve_ == seen
    assert model.stop_reason_ == "left early"
    assert model.predict(X).shape == (600,)
    with pytest.raises(ConfigError, match="no epochs to stream"):
        MLPClassifier(solver="lbfgs").fit_stream(X, Y)


def test_streams_leave_no_trace_until_they_run() -> None:
    model = MLPRegressor(hidden_layer_sizes=(5,), random_state=0, max_iter=5).fit(XR, YR)
    before = model.predict(XR)
    with pytest.raises(DataError):
        model.fit_stream(XR[:, :2], np.full(len(YR), np.nan))
    stream = model.fit_stream(XR, YR + 1)
    np.testing.assert_array_equal(model.predict(XR), before)
    next(stream)
    model.fit(XR, YR)
    after = model.predict(XR)
    stream.close()  # type: ignore[attr-defined]
    np.testing.assert_array_equal(model.predict(XR), after)
    with pytest.raises(FitError):
        list(model.set_params(solver="sgd", learning_rate_init=1e20).fit_stream(XR * 1e6, YR))
    np.testing.assert_array_equal(model.predict(XR), after)


def test_adaptive_rates_fall_until_they_are_the_lowest() -> None:
    model = MLPClassifier((5,), solver="sgd", learning_rate="adaptive", tol=10.0, n_iter_no_change=1, random_state=0)
    model.fit(X, Y)
    rates = model.history_["learning_rate"]
    assert rates[0] == 0.001
    assert rates[-1] == pytest.approx(1e-6)
    assert "lowest learning rate" in model.stop_reason_


def test_a_warm_start_begins_its_schedule_anew() -> None:
    model = MLPRegressor(learning_rate="cosine", warm_start=True, max_iter=10, random_state=0).fit(XR, YR)
    before = model.coefs_[0].copy()
    model.fit(XR, YR + 50)
    assert model.history_["learning_rate"][10] == model.history_["learning_rate"][0]
    assert np.abs(model.coefs_[0] - before).max() > 1e-4


def test_another_solver_goes_on_with_a_fresh_memory() -> None:
    model = MLPClassifier((4,), random_state=0).partial_fit(X, Y)
    model.set_params(solver="sgd").partial_fit(X, Y)
    model.set_params(solver="rmsprop").partial_fit(X, Y)
    assert model.predict(X).shape == (600,)


def test_a_run_that_diverges_or_fails_leaves_the_model_as_it_was() -> None:
    model = MLPRegressor(hidden_layer_sizes=(10,), random_state=0, max_iter=5).fit(XR, YR)
    before = model.predict(XR)
    with pytest.raises(FitError, match="lower learning_rate"):
        model.set_params(solver="sgd", learning_rate_init=1e20).fit(XR * 1e6, YR)
    np.testing.assert_array_equal(model.predict(XR), before)
    with pytest.raises(DataError):
        model.fit(XR, np.full(len(YR), np.nan))
    np.testing.assert_array_equal(model.predict(XR), before)


def test_a_fit_that_fails_leaves_no_records() -> None:
    calls = []

    def metric(t: Any, mean: Any) -> float:
        calls.append(1)
        if len(calls) > 2:
            raise RuntimeError("no more")
        return 0.0

    model = MLPClassifier((4,), warm_start=True, max_iter=6, random_state=0).fit(X, Y)
    with pytest.raises(RuntimeError, match="no more"):
        model.fit(X, Y, eval_set=(X, Y), eval_metric=metric)
    assert len(model.loss_curve_) == model.n_iter_ == len(model.history_["loss"]) == 6


def test_lbfgs_has_no_epochs_but_can_be_counted() -> None:
    with pytest.raises(ConfigError, match="not 'lbfgs'"):
        MLPClassifier(solver="lbfgs").fit(X, Y, eval_set=(X, Y))
    with pytest.raises(ConfigError, match="not 'lbfgs'"):
        MLPClassifier(solver="lbfgs", checkpoint="run.ckpt").fit(X, Y)
    few = MLPClassifier((5,), solver="lbfgs", max_fun=5, random_state=0).fit(X, Y)
    assert few.n_iter_ < 5


def test_convergence_is_told() -> None:
    with pytest.warns(ConvergenceWarning, match=r"Maximum iterations \(2\) reached"):
        MLPClassifier((5,), max_iter=2).fit(X, Y)
    with pytest.warns(ConvergenceWarning, match="lbfgs failed to converge after 2 iterations"):
        MLPClassifier((5,), max_iter=2, solver="lbfgs").fit(X, Y)
    with pytest.warns(UserWarning, match="batch_size=9999 is larger than the number of rows"):
        MLPClassifier((5,), max_iter=2, batch_size=9999).fit(X, Y)
    model = MLPClassifier((5,), solver="lbfgs", alpha=1.0, max_iter=3000, random_state=0).fit(X, Y)
    assert model.stop_reason_ == "converged"
    assert log_loss(Y, model.predict_proba(X)) < 0.5


def test_partial_fit_of_classes_to_come() -> None:
    model = MLPClassifier((10,), random_state=0)
    few = Y < 3
    model.partial_fit(X[few], Y[few], classes=np.arange(10))
    model.partial_fit(X, Y)
    assert model.predict_proba(X).shape == (600, 10)
    with pytest.raises(DataError, match="the class 11 in row 0"):
        model.partial_fit(X[:1], np.array([11]))
    with pytest.raises(AttributeError, match="partial_fit"):
        _ = MLPClassifier(solver="lbfgs").partial_fit


def test_classes_given_to_partial_fit_are_not_for_ever() -> None:
    model = MLPClassifier((4,), random_state=0, max_iter=3).partial_fit(X[:50], Y[:50] % 2, classes=[0, 1, 2])
    with pytest.raises(DataError, match="classes are"):
        model.partial_fit(X[:50], Y[:50] % 2, classes=[0, 1])
    assert model.fit(X[:50], Y[:50] % 2 + 5).classes_.tolist() == [5, 6]


def test_a_metric_with_arguments_filled_in_keeps_its_name_and_direction() -> None:
    high = functools.partial(mean_pinball_loss, alpha=0.9)
    model = MLPRegressor(early_stopping=True, max_iter=40, random_state=0)
    model.fit(XR, YR, eval_set=(XR, YR, None), eval_metric=functools.partial(high))  # type: ignore[arg-type]
    losses = model.history_["val_mean_pinball_loss"]
    assert model.best_validation_score_ == min(losses) < max(losses)


def test_targets_of_another_kind_are_refused_by_name() -> None:
    labels = np.c_[Y > 4, Y < 3].astype(int)
    with pytest.raises(DataError, match="eval_set's y has one class per row, but the model has 2 labels"):
        MLPClassifier().fit(X, labels, eval_set=(X, Y))
    model = MLPClassifier((5,), max_iter=2).fit(X, labels)
    for call in (model.gradients, model.partial_fit):
        with pytest.raises(DataError, match="y has one class per row, but the model has 2 labels"):
            call(X, Y)


def test_a_stream_takes_what_fit_takes() -> None:
    with pytest.raises(ConfigError, match="unknown option of fit_stream 'offset': choose from: eval_metric, eval_set"):
        MLPClassifier().fit_stream(X, Y, offset=Y)
    assert MLPRegressor("poisson").fit_stream(XR, YR, exposure=YR)


@pytest.mark.parametrize("kind", [MLPClassifier, MLPRegressor])
def test_rows_without_weight_are_not_held_out(kind: Any) -> None:
    """They count as absent, and early stopping does not use them."""
    there = np.arange(len(X)) % 3 == 0
    how: dict[str, Any] = {"hidden_layer_sizes": (5,), "max_iter": 5, "early_stopping": True, "random_state": 0}
    weighed, fewer = kind(**how).fit(X, Y % 2, there.astype(float)), kind(**how).fit(X[there], Y[there] % 2)
    assert weighed.validation_scores_ == fewer.validation_scores_
    np.testing.assert_array_equal(weighed.coefs_[0], fewer.coefs_[0])


@pytest.mark.parametrize("size", [1e-50, 1e-300, 1e40, 1e300])
@pytest.mark.parametrize("how", [{}, {"preset": "tabular"}, {"early_stopping": True}], ids=str)
def test_weights_that_are_no_numbers_in_single_precision(size: float, how: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=f"the largest row weight is {size:.3g}".replace("+", r"\+")):
        MLPClassifier(**how).fit(X, Y, np.full(len(X), size))


@pytest.mark.parametrize(("kind", "y"), [(MLPClassifier, Y), (MLPClassifier, Y % 2), (MLPRegressor, Y % 2)])
def test_rows_beyond_single_precision_are_predicted_in_double(kind: Any, y: Any) -> None:
    model = kind(hidden_layer_sizes=(5,), max_iter=2, random_state=0).fit(X, y)
    assert model.coefs_[0].dtype == np.float32
    method = model.predict if kind is MLPRegressor else model.predict_proba
    far = np.array(X)
    far[7] *= 1e60
    predictions = method(far)
    assert np.isfinite(predictions).all()
    others = np.arange(len(X)) != 7
    np.testing.assert_array_equal(predictions[others], method(X)[others])
    double = kind(hidden_layer_sizes=(5,), max_iter=1, batch_size=len(X)).fit(X, y)
    double.coefs_, double.intercepts_ = [
        [part.astype(float) for part in parts] for parts in (model.coefs_, model.intercepts_)
    ]
    np.testing.assert_allclose(predictions[7], getattr(double, method.__name__)(far)[7], rtol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_classes_of_predictions_that_are_no_numbers_are_an_error_of_the_fit(classes: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 3))
    y = np.digitize(x[:, 0] + rng.normal(size=40), [-0.5, 0.5][: classes - 1])
    how: dict[str, Any] = {"hidden_layer_sizes": (3,), "max_iter": 1, "random_state": 0}
    message = r"predictions became non-finite in epoch 1; lower learning_rate_init from 1e\+308"
    with pytest.raises(FitError, match=message):
        MLPClassifier(learning_rate_init=1e308, **how).fit(x, y)
    model = TabularClassifier(learning_rate_init=1e30, **how).fit(x, y)
    assert np.isfinite(model.predict_proba(x)).all()  # z of its networks is beyond float32
