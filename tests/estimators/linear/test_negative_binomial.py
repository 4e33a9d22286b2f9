"""Negative binomial regression: agreement with statsmodels and with the likelihood itself, and its corners."""

import pickle
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy
import statsmodels.api as sm

import linnet
from linnet import NegativeBinomialRegressor, PoissonRegressor
from linnet.errors import ConfigError, DataError, FitWarning, hearing
from linnet.heads import NegativeBinomial, Poisson
from linnet.heads.negative_binomial import best_alpha


def counts(seed: int, alpha: float, rows: int = 400) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 3))
    exposure = rng.uniform(0.5, 2, rows)
    mean = exposure * np.exp(0.5 + x @ [0.3, -0.5, 0.2])
    return x, rng.negative_binomial(1 / alpha, 1 / (1 + alpha * mean)).astype(float), exposure


def log_likelihood(y: Any, mean: Any, alpha: float) -> float:
    return float(scipy.stats.nbinom.logpmf(y, 1 / alpha, 1 / (1 + alpha * mean)).sum())


@pytest.mark.parametrize("alpha", [0.05, 0.7, 3.0])
@pytest.mark.parametrize("given", ["nothing", "exposure", "weights"])
def test_it_agrees_with_statsmodels(alpha: float, given: str) -> None:
    x, y, exposure = counts(1, alpha)
    weights = np.arange(len(y)) % 3 if given == "weights" else None
    how = {"exposure": exposure} if given == "exposure" else {}
    model = NegativeBinomialRegressor(alpha=0).fit(x, y, weights, **how)
    rows = slice(None) if weights is None else np.repeat(np.arange(len(y)), weights)  # weights count rows
    design = sm.add_constant(x)[rows]
    theirs = sm.NegativeBinomial(y[rows], design, exposure=exposure[rows] if how else None)
    fitted = theirs.fit(method="newton", maxiter=200, disp=False, start_params=[*_found(model), model.dispersion_])
    np.testing.assert_allclose([*_found(model), model.dispersion_], fitted.params, rtol=1e-8)
    inference = model.inference(x, y, weights, **how)
    assert inference.log_likelihood == pytest.approx(fitted.llf, rel=1e-12)
    assert inference.aic == pytest.approx(fitted.aic, rel=1e-12)
    family = sm.families.NegativeBinomial(alpha=model.dispersion_)
    glm = sm.GLM(y[rows], design, family, exposure=exposure[rows] if how else None).fit(tol=1e-14)
    np.testing.assert_allclose(inference.standard_error, glm.bse, rtol=1e-8)
    assert inference.deviance == pytest.approx(glm.deviance, rel=1e-10)
    assert inference.null_deviance == pytest.approx(glm.null_deviance, rel=1e-7)


def _found(model: Any) -> list[float]:
    return [model.intercept_, *model.coef_]


def test_the_dispersion_may_be_held() -> None:
    x, y, _ = counts(2, 0.5)
    held = NegativeBinomialRegressor(dispersion=0.9, alpha=0).fit(x, y)
    assert held.dispersion_ == 0.9
    glm = sm.GLM(y, sm.add_constant(x), sm.families.NegativeBinomial(alpha=0.9)).fit(tol=1e-14)
    np.testing.assert_allclose(_found(held), glm.params, rtol=1e-8)
    drawn = held.sample(x, 0)
    held.set_params(dispersion=9.0)  # for the next fit
    np.testing.assert_array_equal(held.sample(x, 0), drawn)
    held.set_params(dispersion=0.9)
    assert held.inference(x, y).aic == pytest.approx(2 * 4 - 2 * log_likelihood(y, held.predict(x), 0.9), rel=1e-12)


def test_without_overdispersion_it_is_poisson_regression() -> None:
    x, _, _ = counts(3, 0.5)
    y = np.round(np.exp(0.5 + x @ [0.3, -0.5, 0.2]))
    with pytest.warns(FitWarning, match="not overdispersed"):
        model = NegativeBinomialRegressor(alpha=0.01).fit(x, y)
    np.testing.assert_allclose(_found(model), _found(PoissonRegressor(alpha=0.01).fit(x, y)), rtol=1e-6)


def test_the_best_dispersion_is_where_the_likelihood_is_largest() -> None:
    rng = np.random.default_rng(4)
    mean = rng.gamma(2, 2, size=(300, 1))
    t = rng.negative_binomial(2, 2 / (2 + mean)).astype(float)
    found = best_alpha(mean, t, np.ones(300))
    at = log_likelihood(t, mean, found)
    assert all(log_likelihood(t, mean, found * factor) < at for factor in (0.999, 1.001))


@pytest.mark.parametrize("alpha", [1e-8, 1e-3, 1.0, 1e4])
def test_deviance_and_likelihood_keep_their_digits(alpha: float) -> None:
    mean, t = np.array([[1e-3], [1.0], [30.0], [1e6]]), np.array([[0.0], [1.0], [31.0], [1.000001e6]])
    head, weights = NegativeBinomial(alpha), np.ones(4)
    deviance = head.deviance(np.log(mean), t, weights)
    total, r = Decimal(0), 1 / Decimal(alpha)
    with localcontext() as context:
        context.prec = 50
        for m, count in zip(
            map(Decimal, np.exp(np.log(mean[:, 0])).tolist()), map(Decimal, t[:, 0].tolist()), strict=True
        ):
            total += (count * (count / m).ln() if count else 0) - (count + r) * ((count + r) / (m + r)).ln()
    assert deviance == pytest.approx(float(2 * total), rel=1e-7)
    if 1e-8 < alpha < 1e4:
        wanted = log_likelihood(t, mean, alpha)
        assert head.log_likelihood(deviance, t, weights, 1.0) == pytest.approx(wanted, rel=1e-8)
    assert head.deviance(np.log(np.array([[5.0]])), np.array([[5.0]]), np.ones(1)) < 1e-12


def test_frames_files_intervals_and_draws(tmp_path: Path) -> None:
    x, y, _ = counts(5, 0.8, 3000)
    frame = pd.DataFrame(x, columns=[*"abc"]).assign(level=np.where(x[:, 0] > 0, "high", "low"))
    model = NegativeBinomialRegressor(alpha=1e-4).fit(frame, y)
    low, high = model.predict_interval(frame, 0.9)
    assert 0.86 < np.mean((low <= y) & (y <= high)) < 0.98
    drawn = np.array([model.sample(frame, seed) for seed in range(40)])
    mean = model.predict(frame)
    np.testing.assert_allclose(drawn.mean(), mean.mean(), rtol=0.02)
    np.testing.assert_allclose(((drawn - mean) ** 2).mean(), (mean + model.dispersion_ * mean**2).mean(), rtol=0.1)
    model.save(tmp_path / "model")
    for again in (linnet.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict(frame), mean)
        np.testing.assert_array_equal(again.sample(frame, 1), model.sample(frame, 1))
        assert again.dispersion_ == model.dispersion_
    assert 0 < model.score(frame, y) < 1


def test_the_poisson_distribution_is_its_limit() -> None:
    z, t = np.linspace(-20, 5, 50)[:, None], np.arange(50.0)[:, None]
    near = NegativeBinomial(1e-8)
    np.testing.assert_allclose(near.slope(z, t), Poisson().slope(z, t), rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(near.curvature(z, t), Poisson().curvature(z, t), rtol=1e-5)


def test_what_cannot_be() -> None:
    x, y, _ = counts(6, 0.5)
    with pytest.raises(ConfigError, match="dispersion"):
        NegativeBinomialRegressor(dispersion=0).fit(x, y)
    with pytest.raises(ConfigError, match="dispersion"):
        NegativeBinomialRegressor(dispersion="guess").fit(x, y)
    with pytest.raises(DataError, match="counts must be at least 0"):
        NegativeBinomialRegressor().fit(x, y - 10)


def sequential(epochs: int = 60, seed: int = 3, **how: Any) -> tuple[linnet.Sequential, Any, Any]:
    rng = np.random.default_rng(7)
    x = rng.normal(size=(2000, 2)).astype(np.float32)
    mean = np.exp(0.5 + np.sin(2 * x[:, 0]))
    y = rng.negative_binomial(2, 2 / (2 + mean)).astype(np.float32)  # a dispersion of 0.5
    model = linnet.Sequential([linnet.Dense(16, "tanh"), linnet.Dense(1, "exponential")], seed=seed)
    model.compile(linnet.Adam(0.01), loss="negative_binomial")
    model.fit(x, y, epochs=epochs, verbose=0, **how)
    return model, x, y


def test_networks_estimate_the_dispersion_between_epochs(tmp_path: Path) -> None:
    model, x, y = sequential()
    head = model.network.head
    assert isinstance(head, NegativeBinomial)
    assert 0.4 < head.alpha < 0.6
    mean = model.predict(x).astype(float)
    assert head.alpha == pytest.approx(best_alpha(mean, y[:, None].astype(float), np.ones(len(y))), rel=1e-6)
    model.save(tmp_path / "model")
    again = linnet.load(tmp_path / "model")
    assert again.network.head == head
    np.testing.assert_array_equal(again.predict(x), model.predict(x))
    same, *_ = sequential(threads=2)
    np.testing.assert_array_equal(same.predict(x), model.predict(x))
    assert same.network.head == head


def test_a_network_without_hidden_layers_is_the_linear_model() -> None:
    x, y, _ = counts(8, 0.8, 500)
    exact = NegativeBinomialRegressor(alpha=0).fit(x, y)
    model = linnet.Sequential([linnet.Dense(1, "exponential")], seed=0)
    model.compile(linnet.Adam(0.02), loss="negative_binomial")
    model.fit(x, y, epochs=400, batch_size=500, verbose=0)
    head = model.network.head
    assert head.parameter == pytest.approx(exact.dispersion_, rel=1e-3)
    np.testing.assert_allclose(model.predict(x)[:, 0], exact.predict(x), rtol=2e-3)


@pytest.mark.parametrize(
    "how", [{"learning_rate_init": 0.01}, {"solver": "lbfgs"}, {"preset": "tabular", "max_iter": 15}], ids=str
)
def test_perceptrons_estimate_the_dispersion(how: dict[str, Any], tmp_path: Path) -> None:
    _, x, y = sequential(epochs=1)
    model = linnet.MLPRegressor("negative_binomial", (16,), random_state=0, **{"max_iter": 40, **how})
    with hearing(FitWarning):  # that it has not converged
        model.fit(x, y)
    assert model.dispersion_ is not None
    assert 0.35 < model.dispersion_[0] < 0.65
    head = model._predictor.network.head
    assert 0.35 < head.parameter < 0.65
    low, high = model.predict_interval(x, 0.9)
    assert 0.86 < np.mean((low <= y) & (y <= high)) < 0.98
    assert model.sample(x, 0).var() == pytest.approx(y.var(), rel=0.3)
    model.save(tmp_path / "model")
    again = linnet.load(tmp_path / "model")
    np.testing.assert_array_equal(again.sample(x, 1), model.sample(x, 1))
    assert again._predictor.network.head == head


def test_a_killed_run_goes_on_with_its_dispersion(tmp_path: Path) -> None:
    _, x, y = sequential(epochs=1)
    how: dict[str, Any] = {"hidden_layer_sizes": (8,), "random_state": 0, "max_iter": 9, "tol": 0.0}
    with hearing(FitWarning):  # that it has not converged
        whole = linnet.MLPRegressor("negative_binomial", **how).fit(x, y)
    checkpoint = linnet.Checkpoint(tmp_path / "run", epochs=1)
    part = linnet.MLPRegressor("negative_binomial", **how, checkpoint=checkpoint)
    for count, _ in enumerate(part.fit_stream(x, y), 1):
        if count == 4:
            break
    with hearing(FitWarning):
        again = linnet.resume(tmp_path / "run", x, y)
    np.testing.assert_array_equal(again.predict(x), whole.predict(x))
    assert again._predictor.network.head == whole._predictor.network.head


@pytest.mark.parametrize("alpha", [1e-8, 1e-3, 0.7, 30.0])
def test_losses_of_different_dispersions_can_be_compared(alpha: float) -> None:
    """With what the loss leaves out it is the negative log-likelihood less log t!, and Poisson's where α is 0."""
    head, t = NegativeBinomial(alpha, estimated=True), np.array([[0.0], [1.0], [7.0], [300.0]])
    z = np.log(np.array([[0.5], [2.0], [5.0], [250.0]]))
    left_out = head.dropped_terms(t)
    assert left_out is not None
    loss = head.loss(z, t) + left_out + scipy.special.gammaln(t[:, 0] + 1)
    r = 1 / alpha
    np.testing.assert_allclose(loss, -scipy.stats.nbinom.logpmf(t, r, r / (r + np.exp(z)))[:, 0], rtol=1e-6)
    if alpha == 1e-8:
        np.testing.assert_allclose(head.loss(z, t) + left_out, Poisson().loss(z, t), rtol=1e-5)
    assert NegativeBinomial(alpha).dropped_terms(t) is None


def test_a_network_stops_by_the_likelihood() -> None:
    """The losses of an epoch are those of its own dispersion, which would not compare without what they leave out."""
    x, y, _ = counts(5, 0.7)
    model = linnet.Sequential([linnet.Dense(4, "tanh"), linnet.Dense(1, "exponential")], seed=0)
    model.compile("adam", loss="negative_binomial")
    history = model.fit(x, y, epochs=30, validation_data=(x, y), verbose=0).history
    alpha = model.network.head.parameter
    mean = model.predict(x)[:, 0].astype(np.float64)
    expected = -log_likelihood(y, mean, alpha) / len(y) - scipy.special.gammaln(y + 1).mean()
    assert model.evaluate(x, y) == pytest.approx(expected, rel=1e-5)
    assert history["val_loss"][-1] == pytest.approx(expected, rel=1e-5)
    assert history["loss"][-1] == pytest.approx(expected, rel=0.1)
    model.compile("sgd", loss="negative_binomial")  # another optimizer, the same distribution
    assert model.evaluate(x, y) == pytest.approx(expected, rel=1e-5)
