"""Log-likelihoods against SciPy's densities, deviances against scikit-learn's, on rows with weights."""

import decimal
import math
from typing import Any

import numpy as np
import pytest
import scipy.stats
from sklearn.metrics import mean_tweedie_deviance

from linnet.inference.likelihood import deviance, has_dispersion, log_likelihood
from linnet.model.heads import Bernoulli, Categorical, Gamma, Head, Normal, Poisson, Tweedie, power_of

RNG = np.random.default_rng(0)
N = 50
Z = RNG.normal(size=(N, 1))
W = RNG.integers(0, 4, N).astype(float)
COUNTS = RNG.poisson(2, (N, 1)).astype(float)
AMOUNTS = RNG.gamma(2, 1, (N, 1))


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
    assert deviance(head, z, t, W) == pytest.approx(theirs * W.sum(), rel=1e-12)


def test_log_likelihoods_agree_with_scipy() -> None:
    yes = (COUNTS > 2).astype(float)
    mean, p = np.exp(Z), 1 / (1 + np.exp(-Z))
    poisson = np.asarray(scipy.stats.poisson.logpmf(COUNTS, mean))[:, 0]
    assert log_likelihood(Poisson(), deviance(Poisson(), Z, COUNTS, W), COUNTS, W, 1.0) == pytest.approx(
        W @ poisson, rel=1e-13
    )
    gamma = np.asarray(scipy.stats.gamma.logpdf(AMOUNTS, 1 / 0.7, scale=0.7 * mean))[:, 0]
    assert log_likelihood(Gamma(), deviance(Gamma(), Z, AMOUNTS, W), AMOUNTS, W, 0.7) == pytest.approx(
        W @ gamma, rel=1e-12
    )
    bernoulli = np.asarray(scipy.stats.bernoulli.logpmf(yes, p))[:, 0]
    assert log_likelihood(Bernoulli(), deviance(Bernoulli(), Z, yes, W), yes, W, 1.0) == pytest.approx(
        W @ bernoulli, rel=1e-13
    )
    two = np.hstack([0 * Z, Z])
    classes = log_likelihood(
        Categorical(), deviance(Categorical(), two, yes[:, 0].astype(np.int32), W), yes[:, 0].astype(np.int32), W, 1.0
    )
    assert classes == pytest.approx(W @ bernoulli, rel=1e-13)
    spread = np.sqrt(W @ (AMOUNTS - Z)[:, 0] ** 2 / W.sum())
    normal = np.asarray(scipy.stats.norm.logpdf(AMOUNTS, Z, spread))[:, 0]
    assert log_likelihood(Normal(), deviance(Normal(), Z, AMOUNTS, W), AMOUNTS, W, 1.0) == pytest.approx(
        W @ normal, rel=1e-13
    )


POWERS = (-2.0, -0.5, 0.0, 1.0, 1.5, 2.0, 3.0)


def exactly(target: float, mean: float, power: float) -> float:
    """The deviance of one row with 60 digits."""
    with decimal.localcontext(prec=60):
        t, m, q = decimal.Decimal(target), decimal.Decimal(mean), decimal.Decimal(power)
        if q == 1:
            return float(2 * (t * (t / m).ln() - t + m))
        if q == 2:
            return float(2 * (t / m - 1 - (t / m).ln()))
        return float(2 * (t ** (2 - q) / ((1 - q) * (2 - q)) - t * m ** (1 - q) / (1 - q) + m ** (2 - q) / (2 - q)))


@pytest.mark.parametrize("q", POWERS)
def test_the_deviance_has_all_its_digits(q: float) -> None:
    """Where t is near its mean, too, and where both are large."""
    for size in (1e-3, 1.0, 1e9):
        for away in (-0.9, -0.0501, -0.0499, -1e-3, -1e-6, 1e-6, 1e-3, 0.0499, 0.0501, 1.0, 100.0):
            head = Tweedie(q, "identity")
            z, t = np.array([[size]]), np.array([[size * (1 + away)]])
            found = deviance(head, z, t, np.ones(1))
            assert found == pytest.approx(exactly(t[0, 0], z[0, 0], q), rel=1e-9), (size, away)
            assert found > 0


def test_large_counts_keep_the_digits_of_their_likelihood() -> None:
    for t in (1, 99, 101, 20_000):
        with decimal.localcontext(prec=60):
            exact = float(t * decimal.Decimal(t).ln() - t - decimal.Decimal(math.factorial(t)).ln())
        assert log_likelihood(Poisson(), 0.0, np.array([[float(t)]]), np.ones(1), 1.0) == pytest.approx(
            exact, rel=1e-13
        )


def test_the_deviance_of_a_perfect_fit_is_zero() -> None:
    t = AMOUNTS + 1
    for head in (Poisson(), Gamma(), Tweedie(1.5)):
        assert 0 <= deviance(head, np.log(t), t, W) < 1e-28


def test_the_log_likelihood_is_the_distributions_whatever_the_link() -> None:
    mean = np.abs(Z) + 0.5
    log, given = np.log(mean), AMOUNTS + 0.1
    for power, t, link in ((0, given, Normal()), (1, COUNTS, Poisson()), (2, given, Gamma())):
        by_log = log_likelihood(link, deviance(link, mean if power == 0 else log, t, W), t, W, 0.7)
        other = Tweedie(power, "log" if power == 0 else "identity")
        by_other = log_likelihood(other, deviance(other, log if power == 0 else mean, t, W), t, W, 0.7)
        assert by_other == pytest.approx(by_log, rel=1e-12)
    assert not has_dispersion(Tweedie(1, "identity"))
    inverse = np.asarray(scipy.stats.invgauss.logpdf(given, mean * 0.7, scale=1 / 0.7))[:, 0]
    head = Tweedie(3)
    assert log_likelihood(head, deviance(head, log, given, W), given, W, 0.7) == pytest.approx(W @ inverse, rel=1e-12)


def test_the_deviance_of_means_that_vanish() -> None:
    z, none = np.full((2, 1), -1000.0), np.zeros((2, 1))
    for power in (1, 1.5, 1.99):
        assert deviance(Tweedie(power), z, none, np.ones(2)) == pytest.approx(0, abs=1e-3)
        assert deviance(Tweedie(power), z, none + 1, np.ones(2)) == np.inf
