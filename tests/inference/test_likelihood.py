"""Log-likelihoods against SciPy's densities, deviances against scikit-learn's, on rows with weights."""

from typing import Any

import numpy as np
import pytest
import scipy.stats
from sklearn.metrics import mean_tweedie_deviance

from linnet.inference.likelihood import least_loss, log_likelihood, power_of, weighted_sum
from linnet.model.heads import Bernoulli, Categorical, Gamma, Head, Normal, Poisson, Tweedie

RNG = np.random.default_rng(0)
N = 50
Z = RNG.normal(size=(N, 1))
W = RNG.integers(0, 4, N).astype(float)
COUNTS = RNG.poisson(2, (N, 1)).astype(float)
AMOUNTS = RNG.gamma(2, 1, (N, 1))


def loss_sum(head: Head, z: Any, t: Any) -> float:
    return weighted_sum(W, head.loss(z, t))


def deviance(head: Head, z: Any, t: Any) -> float:
    return 2 * (loss_sum(head, z, t) - least_loss(head, t, W))


@pytest.mark.parametrize(
    ("head", "t"),
    [
        (Normal(), Z[::-1]),
        (Poisson(), COUNTS),
        (Gamma(), AMOUNTS),
        (Tweedie(0, "log"), Z[::-1]),
        (Tweedie(-1, "log"), COUNTS),
        (Tweedie(1.5), COUNTS),
        (Tweedie(3), AMOUNTS),
        (Tweedie(1, "identity"), COUNTS),
        (Tweedie(1.5, "identity"), COUNTS),
        (Tweedie(2, "identity"), AMOUNTS),
        (Tweedie(3, "identity"), AMOUNTS),
    ],
    ids=lambda value: f"{value.family}-{value.power:g}" if isinstance(value, Head) else "",
)
def test_deviance_agrees_with_scikit_learn(head: Head, t: Any) -> None:
    z = np.abs(Z) + 0.1 if head.family == "tweedie_identity" else Z
    theirs = mean_tweedie_deviance(t[:, 0], head.mean(z)[:, 0], sample_weight=W, power=power_of(head))
    assert deviance(head, z, t) == pytest.approx(theirs * W.sum(), rel=1e-12)


def test_log_likelihoods_agree_with_scipy() -> None:
    yes = (COUNTS > 2).astype(float)
    mean, p = np.exp(Z), 1 / (1 + np.exp(-Z))
    poisson = np.asarray(scipy.stats.poisson.logpmf(COUNTS, mean))[:, 0]
    assert log_likelihood(Poisson(), loss_sum(Poisson(), Z, COUNTS), COUNTS, W, 1.0) == pytest.approx(
        W @ poisson, rel=1e-13
    )
    gamma = np.asarray(scipy.stats.gamma.logpdf(AMOUNTS, 1 / 0.7, scale=0.7 * mean))[:, 0]
    assert log_likelihood(Gamma(), loss_sum(Gamma(), Z, AMOUNTS), AMOUNTS, W, 0.7) == pytest.approx(
        W @ gamma, rel=1e-12
    )
    bernoulli = np.asarray(scipy.stats.bernoulli.logpmf(yes, p))[:, 0]
    assert log_likelihood(Bernoulli(), loss_sum(Bernoulli(), Z, yes), yes, W, 1.0) == pytest.approx(
        W @ bernoulli, rel=1e-13
    )
    two = np.hstack([0 * Z, Z])
    classes = log_likelihood(
        Categorical(), loss_sum(Categorical(), two, yes[:, 0].astype(np.int32)), yes[:, 0].astype(np.int32), W, 1.0
    )
    assert classes == pytest.approx(W @ bernoulli, rel=1e-13)
    spread = np.sqrt(W @ (AMOUNTS - Z)[:, 0] ** 2 / W.sum())
    normal = np.asarray(scipy.stats.norm.logpdf(AMOUNTS, Z, spread))[:, 0]
    assert log_likelihood(Normal(), loss_sum(Normal(), Z, AMOUNTS), AMOUNTS, W, 1.0) == pytest.approx(
        W @ normal, rel=1e-13
    )


def test_the_deviance_of_a_perfect_fit_is_zero() -> None:
    t = AMOUNTS + 1
    for head in (Poisson(), Gamma(), Tweedie(1.5)):
        assert deviance(head, np.log(t), t) == pytest.approx(0, abs=1e-12)
