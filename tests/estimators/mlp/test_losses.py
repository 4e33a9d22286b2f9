"""Losses of multilayer perceptrons, their exposures, and the distributions behind them."""

from typing import Any

import numpy as np
import pytest

from linnet import (
    MLPClassifier,
    MLPRegressor,
)
from linnet.errors import ConfigError, DataError, FitError

from .cases import XM, XR, YM, YR, X, Y

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def test_label_smoothing_is_what_it_says() -> None:
    """The best constant prediction under smoothing e is (1 - e) share + e / classes."""
    y = np.repeat([0, 1, 2], [70, 20, 10])
    x = np.zeros((100, 1))
    how: dict[str, Any] = {
        "hidden_layer_sizes": (),
        "solver": "lbfgs",
        "alpha": 0.0,
        "label_smoothing": 0.3,
        "tol": 1e-9,
    }
    p = MLPClassifier(**how).fit(x, y).predict_proba(x[:1])[0]
    np.testing.assert_allclose(p, 0.7 * np.array([0.7, 0.2, 0.1]) + 0.1, atol=1e-6)
    p2 = MLPClassifier(**how).fit(x, y > 0).predict_proba(x[:1])[0, 1]
    assert p2 == pytest.approx(0.7 * 0.3 + 0.15, abs=1e-6)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("preset", [None, "tabular"])
def test_only_rows_trained_on_are_smoothed(classes: int, preset: str | None) -> None:
    """The validation loss is the log loss of the classes themselves, whoever chose the rows."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 3))
    y = (x @ rng.normal(size=(3, classes))).argmax(axis=1)
    how: dict[str, Any] = {"label_smoothing": 0.5, "alpha": 0.0, "max_iter": 20, "random_state": 0, "preset": preset}
    for given in (None, (x[:100], y[:100])):
        model = MLPClassifier((8,), early_stopping=True, **how)
        history = model.fit(x, y, eval_set=given, eval_metric=["log_loss"]).history_
        np.testing.assert_allclose(history["val_loss"], history["val_log_loss"], rtol=1e-5)


def test_only_labels_trained_on_are_smoothed() -> None:
    """With a table of yes and no: a network with nothing to learn from predicts (1 - e) share + e / 2."""
    y = np.repeat([[1, 0], [1, 1]], 150, axis=0)
    model = MLPClassifier((), label_smoothing=0.4, early_stopping=True, alpha=0.0, max_iter=200, random_state=0)
    model.set_params(learning_rate_init=0.05).fit(np.zeros((300, 1)), y, eval_metric="loss")
    p = model.predict_proba([[0.0]])[0]
    share = np.mean(y, axis=0)
    np.testing.assert_allclose(p, 0.6 * share + 0.2, atol=0.02)
    expected = -(share * np.log(p) + (1 - share) * np.log(1 - p)).sum()
    assert model.history_["val_loss"][-1] == pytest.approx(expected, abs=0.02)


def test_what_training_minimises_is_smoothed() -> None:
    y = np.repeat([0, 1, 2], [70, 20, 10])
    model = MLPClassifier((), solver="lbfgs", alpha=0.0, label_smoothing=0.3, tol=1e-9).fit(np.zeros((100, 1)), y)
    problem, theta = model.objective(np.zeros((100, 1)), y)
    assert problem.at(theta).value == pytest.approx(model.loss_)
    for weights, biases in model.gradients(np.zeros((100, 1)), y):
        assert max(np.abs(weights).max(), np.abs(biases).max()) < 1e-8


@pytest.mark.parametrize("classes", [2, 3])
def test_the_preset_is_calibrated_to_the_classes_themselves(classes: int) -> None:
    rng = np.random.default_rng(3)
    y = np.arange(1200) % classes
    x = rng.normal(size=(1200, 4)) + 8 * np.eye(4)[y]
    model = MLPClassifier(preset="tabular", label_smoothing=0.5, max_iter=15, random_state=0).fit(x[:600], y[:600])
    assert model.score(x[600:], y[600:]) == 1
    assert model.predict_proba(x[600:]).max(axis=1).mean() > 0.99
    noisy = np.where(rng.random(600) < 0.3, rng.integers(0, classes, 600), y[:600])
    p = model.fit(x[:600], noisy).predict_proba(x[600:])
    assert p.max(axis=1).mean() == pytest.approx(0.7 + 0.3 / classes, abs=0.06)


LOSSES: dict[str, tuple[Any, Any]] = {
    "squared_error": (lambda y, t: (y - t) ** 2 / 2, np.mean),
    "absolute_error": (lambda y, t: np.abs(y - t), np.median),
    "huber": (lambda y, t: np.where(np.abs(y - t) < 1, (y - t) ** 2 / 2, np.abs(y - t) - 0.5), None),
    "quantile": (lambda y, t: np.maximum(0.1 * (y - t), -0.9 * (y - t)), lambda t: np.quantile(t, 0.9)),
}


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_in_plain_numpy_is_as_good_as_one_of_ours(name: str) -> None:
    function, best = LOSSES[name]
    how: dict[str, Any] = {"hidden_layer_sizes": (10,), "random_state": 0, "max_iter": 30, "tol": 0, "quantile": 0.9}
    ours, own = MLPRegressor(name, **how).fit(XR, YR), MLPRegressor(function, **how).fit(XR, YR)
    np.testing.assert_allclose(own.loss_curve_, ours.loss_curve_, rtol=1e-5)
    np.testing.assert_allclose(own.predict(XR), ours.predict(XR), atol=1e-4)
    if best is not None:
        flat = MLPRegressor(
            name, (), quantile=0.9, learning_rate_init=0.02, learning_rate="cosine", max_iter=2000, tol=0
        )
        flat.set_params(n_iter_no_change=10**6, tol=0, random_state=0).fit(np.zeros((len(YR), 1)), YR)
        assert flat.predict([[0.0]])[0] == pytest.approx(best(YR), abs=0.03)


def test_losses_that_are_none() -> None:
    with pytest.raises(ConfigError, match="number for each prediction"):
        MLPRegressor(lambda y, t: np.mean(y - t)).fit(XR, YR)
    with pytest.raises(ConfigError, match="did you mean 'huber'"):
        MLPRegressor("hubber").fit(XR, YR)
    with pytest.raises(DataError, match="row 3: counts must be at least 0"):
        MLPRegressor("poisson").fit(XR, np.where(np.arange(len(YR)) == 3, -1, YR))
    with pytest.raises(DataError, match="must be above 0"):
        MLPRegressor("gamma").fit(XR, 0 * YR)
    with pytest.raises(ConfigError, match="exposure needs a loss with the log link"):
        MLPRegressor().fit(XR, YR, exposure=YR)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("how", [{}, {"solver": "lbfgs"}, {"preset": "tabular"}], ids=str)
def test_a_loss_that_is_no_number_is_an_error(how: dict[str, Any]) -> None:
    model = MLPRegressor(lambda y, t: np.sqrt(y - t), random_state=0, **how)
    with pytest.raises(FitError, match=r"loss became non-finite|the loss, or its gradient, is not finite"):
        model.fit(XR, YR)
    assert not hasattr(model, "coefs_")


@pytest.mark.parametrize("kind", [MLPClassifier, MLPRegressor])
def test_numbers_that_lbfgs_cannot_square_are_an_error(kind: Any) -> None:
    with pytest.raises(FitError, match="scale inputs and targets"):
        kind(solver="lbfgs").fit(XR * 1e200, np.round(YR))


@pytest.mark.parametrize("how", [{}, {"solver": "lbfgs"}, {"preset": "tabular"}], ids=str)
def test_a_loss_may_not_change_what_it_is_given(how: dict[str, Any]) -> None:
    """It is called once for its value and once for its slope, which would then belong to another loss."""

    def loss(y: Any, t: Any) -> Any:
        t -= 1
        return (y - t) ** 2

    before = YR.copy()
    with pytest.raises(ValueError, match="read-only"):
        MLPRegressor(loss, **how).fit(XR, YR)
    np.testing.assert_array_equal(YR, before)


def test_exposure_is_an_offset_on_the_log_scale() -> None:
    exposure = np.linspace(0.1, 3, len(YR))
    how: dict[str, Any] = {"hidden_layer_sizes": (10,), "random_state": 0, "max_iter": 20}
    a = MLPRegressor("poisson", **how).fit(XR, np.round(YR), exposure=exposure)
    b = MLPRegressor("poisson", **how).fit(XR, np.round(YR), offset=np.log(exposure))
    np.testing.assert_array_equal(a.predict(XR), b.predict(XR))
    np.testing.assert_allclose(a.predict(XR, exposure=2 * exposure), 2 * a.predict(XR, exposure=exposure), rtol=1e-5)


def test_exposure_in_evaluation() -> None:
    rng = np.random.default_rng(0)
    x, exposure = rng.normal(size=(800, 2)), rng.uniform(50, 150, 800)
    y = rng.poisson(exposure * np.exp(0.3 * x[:, 0]))
    model = MLPRegressor("poisson", (8,), max_iter=40, random_state=0, learning_rate_init=0.01)
    model.fit(x, y, exposure=exposure, eval_set=(x, y), eval_exposure=exposure, eval_metric="mae")
    mae = np.abs(model.predict(x, exposure=exposure) - y).mean()
    assert model.history_["val_mae"][-1] == pytest.approx(mae, rel=1e-5)
    assert model.score(x, y, exposure=exposure) > 0.8
    assert max(np.abs(g[0]).max() for g in model.gradients(x, y, exposure=exposure)) < 20
    with pytest.raises(ConfigError, match="eval_exposure"):
        model.fit(x, y, exposure=exposure, eval_set=(x, y))


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "poisson", "gamma"])
def test_intervals_and_samples(loss: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (4000, 1))
    mean = np.exp(1 + x[:, 0])
    y = {
        "squared_error": mean + rng.normal(size=4000),
        "absolute_error": mean + rng.laplace(size=4000),
        "poisson": rng.poisson(mean),
        "gamma": rng.gamma(2, mean / 2),
    }[loss]
    model = MLPRegressor(loss, (20,), random_state=0, max_iter=60).fit(x, y)
    low, high = model.predict_interval(x, 0.8)
    inside = float(((low <= y) & (y <= high)).mean())
    assert 0.77 < inside < (0.92 if loss == "poisson" else 0.83)  # a count is never quite 80 %
    drawn = model.sample(x, random_state=1)
    assert drawn.shape == y.shape
    assert drawn.mean() == pytest.approx(y.mean(), rel=0.05)
    assert drawn.std() == pytest.approx(y.std(), rel=0.15)
    with pytest.raises(ConfigError, match="has no distribution"):
        MLPRegressor("huber", max_iter=2).fit(x, y).predict_interval(x)


def test_samples_of_classes_have_the_predicted_frequencies() -> None:
    model = MLPClassifier((10,), max_iter=5, random_state=0).fit(X, Y)
    p = model.predict_proba(X[:1])[0]
    drawn = model.sample(np.repeat(X[:1], 20_000, axis=0), random_state=0)
    np.testing.assert_allclose(np.bincount(drawn, minlength=10) / 20_000, p, atol=0.012)
    labels = MLPClassifier((10,), max_iter=5, random_state=0).fit(XM, YM)
    drawn = labels.sample(np.repeat(XM[:1], 20_000, axis=0), random_state=0)
    np.testing.assert_allclose(drawn.mean(axis=0), labels.predict_proba(XM[:1])[0], atol=0.012)
