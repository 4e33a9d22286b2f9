"""Linear models of rows that are not in memory: coefficients, dispersions and messages are those of a fit in memory."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import linnet
from linnet.data.encoder import Encoder
from linnet.data.rows import Rows
from linnet.errors import ConfigError, DataError, FitError, FitWarning, SeparationWarning
from linnet.estimators.linear.model import fit_rows

from ...fit.solvers.sharded import Sharded, sharded  # noqa: TID252 - of the solvers' tests

N = 900
RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=(N, 3)) @ RNG.normal(size=(3, 3)) / 2 + [2, 0, -1]
X = pd.DataFrame(NUMBERS, columns=["a", "b", "c"])
X["level"] = pd.Categorical(RNG.choice(["low", "mid", "top"], N))
Z = 0.5 * NUMBERS[:, 0] - 0.3 * NUMBERS[:, 1] + 0.4 * (X["level"] == "top").to_numpy()
COUNTS = RNG.negative_binomial(2, 1 / (1 + np.exp(Z) / 2)).astype(float)
NOISY = Z + RNG.normal(size=N)
CLASSES = np.array(["no", "yes"])
THREE = np.array(["x", "y", "z"])
LABELS = (Z[:, None] * [0, 1, -1] + RNG.gumbel(size=(N, 3))).argmax(axis=1).astype(np.int32)
OVER = (NOISY > 1).astype(float)
MODELS: dict[str, tuple[Callable[[], Any], Any, dict[str, Any]]] = {  # targets as users, and as sources have them
    "linear": (linnet.LinearRegression, NOISY, {"values": NOISY[:, None]}),
    "linear, nonnegative": (lambda: linnet.LinearRegression(positive=True), NOISY, {"values": NOISY[:, None]}),
    "ridge": (lambda: linnet.Ridge(3.0), NOISY, {"values": NOISY[:, None]}),
    "ridge, two targets": (
        lambda: linnet.Ridge([3.0, 1.0]),
        np.stack([NOISY, Z * Z], axis=1),
        {"values": np.stack([NOISY, Z * Z], axis=1)},
    ),
    "two classes": (linnet.LogisticRegression, CLASSES[OVER.astype(int)], {"values": OVER[:, None]}),
    "two classes, no penalty": (
        lambda: linnet.LogisticRegression(C=np.inf),
        CLASSES[OVER.astype(int)],
        {"values": OVER[:, None]},
    ),
    "two classes, l1": (
        lambda: linnet.LogisticRegression(C=0.05, l1_ratio=1.0),
        CLASSES[OVER.astype(int)],
        {"values": OVER[:, None]},
    ),
    "three classes": (linnet.LogisticRegression, THREE[LABELS], {"labels": LABELS}),
    "three classes, no penalty": (lambda: linnet.LogisticRegression(C=np.inf), THREE[LABELS], {"labels": LABELS}),
    "three classes, reference": (
        lambda: linnet.LogisticRegression(C=np.inf, reference="y"),
        THREE[LABELS],
        {"labels": LABELS},
    ),
    "poisson": (lambda: linnet.PoissonRegressor(alpha=0.1), COUNTS, {"values": COUNTS[:, None]}),
    "poisson, column penalty": (
        lambda: linnet.PoissonRegressor(alpha=0.1, column_penalty={"a": 0, "level": 2}),
        COUNTS,
        {"values": COUNTS[:, None]},
    ),
    "gamma": (lambda: linnet.GammaRegressor(alpha=0.01), COUNTS + 0.5, {"values": COUNTS[:, None] + 0.5}),
    "tweedie": (lambda: linnet.TweedieRegressor(power=1.5, alpha=0.0), COUNTS, {"values": COUNTS[:, None]}),
    "negative binomial": (lambda: linnet.NegativeBinomialRegressor(alpha=0.01), COUNTS, {"values": COUNTS[:, None]}),
    "known dispersion": (
        lambda: linnet.NegativeBinomialRegressor(alpha=0.01, dispersion=0.5),
        COUNTS,
        {"values": COUNTS[:, None]},
    ),
}


def elsewhere(x: Any, **targets: Any) -> tuple[Sharded, Encoder]:
    """The rows in three parts, one of which is a single row, and the encoder of their table."""
    encoder, columns = Encoder.learn(x, narrow=True)
    return sharded(Rows(columns, **targets), (len(columns) // 3, len(columns) // 3 + 1)), encoder


def classes_of(model: Any, y: Any) -> Any:
    return np.unique(y) if isinstance(model, linnet.LogisticRegression) else None


def fit_parts(model: Any, source: tuple[Sharded, Encoder], y: Any, **others: Any) -> Any:
    return fit_rows(model, *source, classes_of(model, y), **others)


@pytest.mark.parametrize("how", ["plain", "weights", "offset"])
@pytest.mark.parametrize("name", MODELS)
def test_the_fit_is_that_of_rows_in_memory(name: str, how: str) -> None:
    make, y, targets = MODELS[name]
    given: dict[str, Any] = {}
    source = dict(targets)
    if how == "weights":
        source["weights"] = given["sample_weight"] = RNG.random(N) * (np.arange(N) % 5 > 0)
    outputs = 3 if "labels" in targets else targets["values"].shape[1]
    if how == "offset":
        given["offset"] = np.random.default_rng(1).normal(size=(N, outputs)) / 3
        source["offset"] = given["offset"]
        given["offset"] = given["offset"][:, 0] if outputs == 1 else given["offset"]
    whole = make().fit(X, y, **given)
    parts = fit_parts(make(), elsewhere(X, **source), y, shifts=("offset",) if how == "offset" else ())
    for attribute in ("coef_", "intercept_", "dispersion_", "singular_", "rank_"):
        if hasattr(whole, attribute):
            ours, theirs = getattr(parts, attribute), getattr(whole, attribute)
            assert np.shape(ours) == np.shape(theirs)
            atol = 1e-9 if attribute != "singular_" else 1e-6  # of a table whose levels are collinear
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=atol)
    predict = {"offset": given["offset"]} if how == "offset" else {}
    np.testing.assert_array_equal(parts.feature_names_in_, whole.feature_names_in_)
    assert parts.n_features_in_ == whole.n_features_in_ == 4
    assert parts._shifts == whole._shifts
    if whole.link_ == "logit":
        np.testing.assert_allclose(parts.predict_proba(X, **predict), whole.predict_proba(X, **predict), atol=1e-9)
    else:
        np.testing.assert_allclose(parts.predict(X, **predict), whole.predict(X, **predict), rtol=1e-8)


def test_a_model_of_rows_elsewhere_is_saved_and_read(tmp_path: Any) -> None:
    model = fit_parts(linnet.LogisticRegression(), elsewhere(X, labels=LABELS), THREE[LABELS])
    model.save(tmp_path / "a.linnet")
    np.testing.assert_array_equal(linnet.load(tmp_path / "a.linnet").predict_proba(X), model.predict_proba(X))


def test_a_dispersion_of_zero_is_told() -> None:
    counts = np.random.default_rng(2).binomial(20, 0.5, N).astype(float)
    with pytest.warns(FitWarning, match="not overdispersed"):
        fit_parts(linnet.NegativeBinomialRegressor(), elsewhere(X, values=counts[:, None]), None)


ALIASED: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "linear": (linnet.LinearRegression(), NOISY, {"values": NOISY[:, None]}),
    "poisson": (linnet.PoissonRegressor(alpha=0), COUNTS, {"values": COUNTS[:, None]}),
    "three classes": (linnet.LogisticRegression(C=np.inf), THREE[LABELS], {"labels": LABELS}),
}


@pytest.mark.parametrize("kind", ALIASED)
def test_columns_that_add_nothing_are_named(kind: str) -> None:
    """Constant columns are none of them. In memory they share the effect of others, where the smallest coefficients
    are wanted.
    """
    x = X.assign(sum=X["a"] + X["b"], one=1.0)
    model, y, targets = ALIASED[kind]
    with pytest.warns(FitWarning, match="^sum is a linear combination of other columns"):
        fit_parts(model, elsewhere(x, **targets), y)
    assert not np.atleast_2d(model.coef_)[:, [*model.get_feature_names_out()].index("sum")].any()
    whole = type(model)(**model.get_params())
    with warnings.catch_warnings(action="ignore"):
        whole.fit(x, y)
    ours, theirs = (m.predict_proba(x) if kind == "three classes" else m.predict(x) for m in (model, whole))
    np.testing.assert_allclose(ours, theirs, rtol=1e-7)
    if kind == "linear":
        assert model.rank_ == whole.rank_


def test_a_fit_without_optimum_is_told() -> None:
    apart = (X["a"] > 2).to_numpy().astype(float)
    model = linnet.LogisticRegression(C=np.inf)
    with pytest.warns(SeparationWarning, match="whether the rows are separable cannot be determined from sums"):
        fit_parts(model, elsewhere(X, values=apart[:, None]), CLASSES)


@pytest.mark.parametrize("kind", ["a class without rows", "all counts zero"])
def test_a_separation_by_the_intercept_is_told(kind: str) -> None:
    """Whatever the penalty, which biases have none of."""
    model: Any = linnet.PoissonRegressor() if kind == "all counts zero" else linnet.LogisticRegression()
    targets = {"values": np.zeros((N, 1))} if kind == "all counts zero" else {"labels": np.minimum(LABELS, 1)}
    with pytest.warns(SeparationWarning, match="whether the rows are separable cannot be determined from sums"):
        fit_parts(model, elsewhere(X, **targets), THREE)


def test_near_certain_predictions_of_penalised_models_are_no_separation() -> None:
    """The penalty rules it out (a warning would be an error here)."""
    far = 100.0 * (X["a"].to_numpy() - 2)
    model = linnet.LogisticRegression(C=1e4)
    fit_parts(model, elsewhere(X.assign(far=far), values=(far > 0).astype(float)[:, None]), CLASSES)
    assert np.abs(model.decision_function(X.assign(far=far))).max() > 25


def test_a_fit_that_has_not_converged_is_told() -> None:
    with pytest.warns(FitWarning, match="has not converged after 1 iterations"):
        fit_parts(linnet.PoissonRegressor(max_iter=1, alpha=1e-6), elsewhere(X, values=COUNTS[:, None]), None)


def test_columns_too_large_are_named() -> None:
    x = X.assign(huge=X["c"] * 1e170)
    for model in (linnet.Ridge(), linnet.PoissonRegressor()):
        with pytest.raises(DataError, match="column 'huge' of X has values whose squares"):
            fit_parts(model, elsewhere(x, values=COUNTS[:, None]), None)


def test_what_needs_single_rows_says_so() -> None:
    with pytest.raises(ConfigError, match="class_weight needs rows in memory"):
        fit_parts(linnet.LogisticRegression(class_weight="balanced"), elsewhere(X, labels=LABELS), THREE)
    model = linnet.TweedieRegressor(power=1.5, link="identity", fit_intercept=False)
    with pytest.raises(FitError, match="needs rows in memory"):
        fit_parts(model, elsewhere(X, values=COUNTS[:, None]), None)


def test_a_failed_fit_leaves_the_model_as_it_was() -> None:
    model = linnet.Ridge().fit(X, NOISY)
    before = model.coef_.copy()
    source, _ = elsewhere(X, values=NOISY[:, None])
    other, _ = Encoder.learn(X.drop(columns="a"))
    with pytest.raises(DataError, match="the encoder makes 5 columns, but the rows have 6"):
        fit_rows(model, source, other)
    np.testing.assert_array_equal(model.coef_, before)
    assert model.n_features_in_ == 4
