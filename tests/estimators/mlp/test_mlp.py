"""MLPClassifier and MLPRegressor: scikit-learn's meaning, and what goes beyond it."""

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn import neural_network as theirs
from sklearn.base import clone

from linnet import (
    SGD,
    Cosine,
    LinearRegression,
    LogisticRegression,
    MLPClassifier,
    MLPRegressor,
    PoissonRegressor,
    theory,
)
from linnet.errors import ConfigError, DataError

from .cases import CASES, XR, YR, X, Y

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def take_over(mine: Any, other: Any) -> None:
    for to, coef in zip(mine.coefs_, other.coefs_, strict=True):
        to[:] = coef
    for to, intercept in zip(mine.intercepts_, other.intercepts_, strict=True):
        to[:] = intercept


@pytest.mark.parametrize("solver", ["adam", "sgd"])
@pytest.mark.parametrize("name", CASES)
def test_training_agrees_with_scikit_learn(name: str, solver: str) -> None:
    """From the same parameters, with all rows per step (so that penalties agree): the same losses and predictions."""
    ours, other, x, y, params = CASES[name]
    how = {"hidden_layer_sizes": (15,), "alpha": 0.1, "solver": solver, "learning_rate_init": 0.003, "tol": 0.0}
    how |= {"batch_size": len(x), "shuffle": False, "max_iter": 1, "random_state": 0, "warm_start": True} | params
    a, b = ours(**how).fit(x, y), other(**how).fit(x, y)
    take_over(a, b)
    for model in (a, b):
        model.set_params(max_iter=30, n_iter_no_change=100).fit(x, y)
    losses, expected = np.array(a.loss_curve_[1:]), np.array(b.loss_curve_[1:])
    if name == "several numbers":  # theirs reports the mean over targets, whose gradient is another
        np.testing.assert_allclose(a.predict(x), b.predict(x), rtol=1e-9, atol=1e-9)
        return
    if name == "counts":  # theirs has a constant in it
        losses, expected = np.diff(losses), np.diff(expected)
    np.testing.assert_allclose(losses, expected, rtol=1e-9)
    for method in ("predict_proba", "predict"):
        if hasattr(b, method) and getattr(b, method)(x[:1]).dtype.kind == "f":
            np.testing.assert_allclose(getattr(a, method)(x), getattr(b, method)(x), rtol=1e-7, atol=1e-9)
    assert (np.asarray(a.predict(x)) == b.predict(x)).mean() > 0.99 or y.dtype.kind == "f"
    for attribute in ("n_layers_", "n_outputs_", "out_activation_", "n_iter_", "t_", "n_features_in_"):
        assert getattr(a, attribute) == getattr(b, attribute), attribute
    assert len(a.loss_curve_) == len(b.loss_curve_)
    if name != "counts":
        assert a.best_loss_ == pytest.approx(b.best_loss_, rel=1e-9)
    if hasattr(b, "classes_"):
        np.testing.assert_array_equal(a.classes_, b.classes_)


def test_every_parameter_of_scikit_learn_with_its_default() -> None:
    for ours, other in ((MLPClassifier, theirs.MLPClassifier), (MLPRegressor, theirs.MLPRegressor)):
        assert other().get_params().items() <= ours._resolve(ours().get_params()).items()


def test_without_hidden_layers_the_linear_models() -> None:
    how: dict[str, Any] = {"hidden_layer_sizes": (), "solver": "lbfgs", "tol": 1e-8, "max_iter": 2000}
    mlp = MLPClassifier(**how, alpha=2.0).fit(X, Y)
    exact = LogisticRegression(C=0.5).fit(X, Y)
    np.testing.assert_allclose(mlp.predict_proba(X), exact.predict_proba(X), atol=1e-5)
    counts, exposure = np.round(YR), np.linspace(0.5, 2, len(YR))
    mlp2 = MLPRegressor("poisson", **how, alpha=1e-8).fit(XR, counts, exposure=exposure)
    glm = PoissonRegressor(alpha=0).fit(XR, counts, exposure=exposure)
    np.testing.assert_allclose(mlp2.predict(XR, exposure=exposure), glm.predict(XR, exposure=exposure), rtol=1e-4)
    line = MLPRegressor(**how, alpha=0.0).fit(XR, YR)
    np.testing.assert_allclose(line.predict(XR), LinearRegression().fit(XR, YR).predict(XR), rtol=1e-5)


@pytest.mark.parametrize("solver", ["adam", "lbfgs"])
def test_weights_count_rows(solver: str) -> None:
    weights = np.random.default_rng(0).integers(0, 3, 150)
    how: dict[str, Any] = {"hidden_layer_sizes": (8,), "solver": solver, "max_iter": 30, "random_state": 1, "alpha": 1}
    how |= {"batch_size": 1000, "tol": 1e-9}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weighted = MLPClassifier(**how).fit(X[:150], Y[:150], weights)
        repeated = MLPClassifier(**how).fit(X[:150].repeat(weights, axis=0), Y[:150].repeat(weights))
        by_class = MLPClassifier(**how, class_weight={1: 2.0}).fit(X[:150], Y[:150])
        by_row = MLPClassifier(**how).fit(X[:150], Y[:150], 1.0 + (Y[:150] == 1))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(by_class.predict_proba(X), by_row.predict_proba(X))


def test_the_penalty_has_the_strength_it_says_at_any_batch_size() -> None:
    ends = []
    for batch in (20, 60, 300):
        model = MLPRegressor(hidden_layer_sizes=(), alpha=300.0, batch_size=batch, max_iter=1500, tol=0, random_state=0)
        model.set_params(learning_rate_init=0.01, learning_rate="cosine", n_iter_no_change=10**6)
        ends.append(model.fit(XR[:300], YR[:300]).predict(XR))
    np.testing.assert_allclose(ends[0], ends[2], atol=0.03)
    np.testing.assert_allclose(ends[1], ends[2], atol=0.03)


@pytest.mark.usefixtures("teams_of_any_size")
def test_same_bytes_for_any_number_of_threads_and_for_epochs_one_by_one() -> None:
    how: dict[str, Any] = {"hidden_layer_sizes": (300, 20), "dropout": [0.3, 0.1], "random_state": 5, "batch_size": 64}
    ends = [MLPClassifier(**how, max_iter=3, threads=threads).fit(X, Y) for threads in (1, 2, 3)]
    assert len({model.predict_proba(X).tobytes() for model in ends}) == 1
    piecemeal = MLPClassifier(**how)
    for _ in range(3):
        piecemeal.partial_fit(X, Y)
    np.testing.assert_array_equal(piecemeal.coefs_[0], ends[0].coefs_[0])


@pytest.mark.parametrize(
    "params",
    [
        {"solver": "adamw", "weight_decay": 0.1, "learning_rate": "cosine", "learning_rate_init": 0.01},
        {"solver": "rmsprop", "learning_rate": "exponential", "learning_rate_init": 0.005},
        {"solver": "adagrad", "learning_rate_init": 0.1, "learning_rate": "step"},
        {"solver": SGD(Cosine(0.2, epochs=40), momentum=0.9, clip_norm=1.0)},
        {"solver": "sgd", "learning_rate": "invscaling", "learning_rate_init": 0.5, "power_t": 0.1},
        {"solver": "sgd", "learning_rate": "adaptive", "learning_rate_init": 0.1, "n_iter_no_change": 2},
        {"activation": ["gelu", "selu"], "dropout": 0.1, "label_smoothing": 0.1, "l1": 0.01},
        {"activation": ("silu", "softplus"), "class_weight": "balanced", "clip_norm": 0.5, "learning_rate_init": 0.01},
    ],
    ids=str,
)
def test_everything_that_theirs_lacks_learns(params: dict[str, Any]) -> None:
    model = MLPClassifier(**{"hidden_layer_sizes": (30, 20), "max_iter": 40, "random_state": 0, **params}).fit(X, Y)
    assert model.score(X, Y) > 0.9
    assert clone(model).get_params() == model.get_params() or isinstance(params.get("solver"), SGD)


def test_hidden_features_and_derivatives() -> None:
    model = MLPClassifier((12, 7), ["tanh", "relu"], max_iter=20, random_state=0, alpha=0.5).fit(X, Y)
    first, second = model.activations(X)
    np.testing.assert_allclose(first, np.tanh(X @ model.coefs_[0] + model.intercepts_[0]), atol=1e-5)
    np.testing.assert_allclose(second, np.maximum(first @ model.coefs_[1] + model.intercepts_[1], 0), atol=1e-5)
    p = model.predict_proba(X)
    expected = second.T @ (p - np.eye(10)[Y]) / len(X) + 0.5 / len(X) * model.coefs_[2]
    np.testing.assert_allclose(model.gradients(X, Y)[2][0], expected, atol=1e-6)
    np.testing.assert_allclose(model.decision_function(X), second @ model.coefs_[2] + model.intercepts_[2], atol=1e-4)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), p, rtol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_gradient_check(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    ours, _, x, y, params = CASES[name]
    model = ours(**{"hidden_layer_sizes": (6, 5), **params, "activation": "gelu", "max_iter": 5, "alpha": 1, "l1": 0.1})
    found = theory.gradient_check(model.fit(x, y), x[:100], y[:100])
    assert found.worst < 1e-5
    printed = capsys.readouterr().out
    assert printed.count("layer") == 6
    assert "layer 3 biases" in printed


def test_the_gradient_check_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    model = MLPClassifier((6,), "tanh", max_iter=5, random_state=0).fit(X, Y)
    problem, theta = model.objective(X, Y)
    honest = problem.at

    def wrong(theta: Any) -> Any:
        point = honest(theta)
        assert point.gradient is not None
        point.gradient[400] *= 1.01
        return point

    monkeypatch.setattr(problem, "at", wrong)
    monkeypatch.setattr(model, "objective", lambda *_, **__: (problem, theta))
    assert theory.gradient_check(model, X, Y, max_per_block=10**6, verbose=False).worst > 1e-4
    with pytest.warns(DeprecationWarning, match="most of gradient_check is now called max_per_block"):
        assert theory.gradient_check(model, X, Y, most=10**6, verbose=False).worst > 1e-4


def test_a_model_is_kept_by_pickle() -> None:
    model = MLPClassifier((10,), max_iter=3, random_state=0).fit(X, Y)
    model.predict_proba(X[:1])
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.partial_fit(X, Y).coefs_[0], model.partial_fit(X, Y).coefs_[0])


def test_parameters_can_be_written_to() -> None:
    model = MLPClassifier((10,), max_iter=3, random_state=0).fit(X, Y)
    for coef in model.coefs_:
        coef[:] = 0
    for intercept in model.intercepts_:
        intercept[:] = 0
    np.testing.assert_allclose(model.predict_proba(X[:1]), 0.1, rtol=1e-6)


def test_sparse_input_is_not_made_dense_and_gives_the_same() -> None:
    how: dict[str, Any] = {"hidden_layer_sizes": (10,), "max_iter": 3, "random_state": 0}
    dense = MLPClassifier(**how).fit(X, Y)
    for kind in (scipy.sparse.csr_array, scipy.sparse.csc_matrix, scipy.sparse.coo_array):
        sparse = MLPClassifier(**how).fit(kind(X), Y)
        np.testing.assert_array_equal(sparse.coefs_[0], dense.coefs_[0])
        np.testing.assert_array_equal(sparse.predict_proba(kind(X)), dense.predict_proba(X))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"hidden_layer_sizes": (10, 0)}, "hidden_layer_sizes must be positive integers"),
        ({"activation": ["relu", "tanh"]}, "activation must be one value or one per hidden layer, 1 in all"),
        ({"activation": "rleu"}, "did you mean 'relu'"),
        ({"dropout": 1.0}, "dropout must be"),
        ({"dropout": [0.1, 0.2]}, "dropout must be one value"),
        ({"solver": "adm"}, "unknown solver"),
        ({"learning_rate": "cos"}, "unknown learning_rate"),
        ({"learning_rate_init": 0}, "learning_rate_init must be"),
        ({"alpha": -1}, "alpha must be"),
        ({"l1": 1, "solver": "lbfgs"}, "does not support an l1 penalty"),
        ({"dropout": 0.5, "solver": "lbfgs"}, "does not support dropout"),
        ({"batch_size": 0}, "batch_size must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"tol": -1}, "tol must be"),
        ({"validation_fraction": 1.5, "early_stopping": True}, "validation_fraction must be"),
        ({"label_smoothing": 1}, "label_smoothing must be"),
        ({"clip_norm": -1}, "clip_norm must be"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_parameters_that_mean_nothing(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        MLPClassifier(**{"hidden_layer_sizes": (5,), **params}).fit(X, Y)


def test_the_tolerance_of_scikit_learn() -> None:
    """From the same parameters, with all rows per step: the same number of epochs, also with decreasing rates."""
    params: dict[str, Any]
    for params in (
        {"solver": "sgd", "tol": 1e-3},
        {"solver": "adam", "tol": 1e-2, "n_iter_no_change": 3},
        {"solver": "sgd", "learning_rate": "adaptive", "tol": 1e-2, "n_iter_no_change": 2},
    ):
        how: dict[str, Any] = {
            "hidden_layer_sizes": (8,),
            "batch_size": len(XR),
            "shuffle": False,
            "random_state": 0,
        } | params
        a, b = MLPRegressor(**how, max_iter=1, warm_start=True), theirs.MLPRegressor(**how, max_iter=1, warm_start=True)
        for model in (a, b):
            model.fit(XR, YR)
        take_over(a, b)
        for model in (a, b):
            model.best_loss_ = np.inf
            model.loss_curve_ = []
            model._no_improvement_count = 0  # type: ignore[union-attr]
            model.set_params(max_iter=3000).fit(XR, YR)
        assert a.n_iter_ == b.n_iter_, params


@pytest.mark.parametrize("weights", [{0: -1}, {0: np.nan}, {11: 1.0}, "even", dict.fromkeys(range(10), 0.0)], ids=str)
def test_class_weights_that_mean_nothing(weights: Any) -> None:
    with pytest.raises((ConfigError, DataError), match=r"class_weight|weight 0"):
        MLPClassifier(class_weight=weights).fit(X, Y)


def test_coefficients_may_be_put_in() -> None:
    model = MLPClassifier((4,), max_iter=2, random_state=0).fit(X, Y)
    model.coefs_[0] = np.zeros_like(model.coefs_[0])
    flat = model.predict_proba(X)
    np.testing.assert_allclose(flat, flat[:1].repeat(len(X), axis=0), rtol=1e-6)
    model.intercepts_ = [np.zeros_like(b) for b in model.intercepts_]
    np.testing.assert_allclose(model.predict_proba(X), 0.1, rtol=1e-6)
