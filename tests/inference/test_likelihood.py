"""Log-likelihoods against SciPy's densities, deviances against scikit-learn's, on rows with weights."""

import decimal
import math
from typing import Any

import numpy as np
import pytest
import scipy.stats
from sklearn.metrics import mean_tweedie_deviance

from linnet.heads import Bernoulli, Categorical, Gamma, Head, Normal, Poisson, Tweedie

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
    ids=lambda value: f"{value.family}-{value.parameter:g}" if isinstance(value, Head) else "",
)
def test_deviance_agrees_with_scikit_learn(head: Head, t: Any) -> None:
    z = np.abs(Z) + 0.1 if head.family == "tweedie_identity" else Z
    theirs = mean_tweedie_deviance(t[:, 0], head.mean(z)[:, 0], sample_weight=W, power=head.variance_power)
    assert head.deviance(z, t, W) == pytest.approx(theirs * W.sum(), rel=1e-12)


def test_log_likelihoods_agree_with_scipy() -> None:
    yes = (COUNTS > 2).astype(float)
    mean, p = np.exp(Z), 1 / (1 + np.exp(-Z))
    poisson = np.asarray(scipy.stats.poisson.logpmf(COUNTS, mean))[:, 0]
    assert Poisson().log_likelihood(Poisson().deviance(Z, COUNTS, W), COUNTS, W, 1.0) == pytest.approx(
        W @ poisson, rel=1e-13
    )
    gamma = np.asarray(scipy.stats.gamma.logpdf(AMOUNTS, 1 / 0.7, scale=0.7 * mean))[:, 0]
    assert Gamma().log_likelihood(Gamma().deviance(Z, AMOUNTS, W), AMOUNTS, W, 0.7) == pytest.approx(
        W @ gamma, rel=1e-12
    )
    bernoulli = np.asarray(scipy.stats.bernoulli.logpmf(yes, p))[:, 0]
    assert Bernoulli().log_likelihood(Bernoulli().deviance(Z, yes, W), yes, W, 1.0) == pytest.approx(
        W @ bernoulli, rel=1e-13
    )
    two = np.hstack([0 * Z, Z])
    classes = Categorical().log_likelihood(
        Categorical().deviance(two, yes[:, 0].astype(np.int32), W), yes[:, 0].astype(np.int32), W, 1.0
    )
    assert classes == pytest.approx(W @ bernoulli, rel=1e-13)
    spread = np.sqrt(W @ (AMOUNTS - Z)[:, 0] ** 2 / W.sum())
    normal = np.asarray(scipy.stats.norm.logpdf(AMOUNTS, Z, spread))[:, 0]
    assert Normal().log_likelihood(Normal().deviance(Z, AMOUNTS, W), AMOUNTS, W, 1.0) == pytest.approx(
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
            found = head.deviance(z, t, np.ones(1))
            assert found == pytest.approx(exactly(t[0, 0], z[0, 0], q), rel=1e-9), (size, away)
            assert found > 0


def test_large_counts_keep_the_digits_of_their_likelihood() -> None:
    for t in (1, 99, 101, 20_000):
        with decimal.localcontext(prec=60):
            exact = float(t * decimal.Decimal(t).ln() - t - decimal.Decimal(math.factorial(t)).ln())
        assert Poisson().log_likelihood(0.0, np.array([[float(t)]]), np.ones(1), 1.0) == pytest.approx(exact, rel=1e-13)


def test_the_deviance_of_a_perfect_fit_is_zero() -> None:
    t = AMOUNTS + 1
    for head in (Poisson(), Gamma(), Tweedie(1.5)):
        assert 0 <= head.deviance(np.log(t), t, W) < 1e-28


def test_the_log_likelihood_is_the_distributions_whatever_the_link() -> None:
    mean = np.abs(Z) + 0.5
    log, given = np.log(mean), AMOUNTS + 0.1
    for power, t, link in ((0, given, Normal()), (1, COUNTS, Poisson()), (2, given, Gamma())):
        by_log = link.log_likelihood(link.deviance(mean if power == 0 else log, t, W), t, W, 0.7)
        other = Tweedie(power, "log" if power == 0 else "identity")
        by_other = other.log_likelihood(other.deviance(log if power == 0 else mean, t, W), t, W, 0.7)
        assert by_other == pytest.approx(by_log, rel=1e-12)
    assert Tweedie(1, "identity").has_dispersion
    inverse = np.asarray(scipy.stats.invgauss.logpdf(given, mean * 0.7, scale=1 / 0.7))[:, 0]
    head = Tweedie(3)
    assert head.log_likelihood(head.deviance(log, given, W), given, W, 0.7) == pytest.approx(W @ inverse, rel=1e-12)


def test_the_deviance_of_means_that_vanish() -> None:
    z, none = np.full((2, 1), -1000.0), np.zeros((2, 1))
    for power, of_one in ((1, 3996.0), (1.5, 8 * np.exp(500)), (1.99, np.inf)):
        assert Tweedie(power).deviance(z, none, np.ones(2)) == pytest.approx(
            4 * np.exp(-1000 * (2 - power)) / (2 - power)
        )
        assert Tweedie(power).deviance(z, none + 1, np.ones(2)) == pytest.approx(of_one)


def exact_tweedie(t: float, z: float, power: float) -> float:
    """The deviance of one row whose mean is e^z, with 700 digits."""
    with decimal.localcontext(prec=700, Emax=10**6, Emin=-(10**6)):
        target, mean, q = decimal.Decimal(t), decimal.Decimal(z).exp(), decimal.Decimal(power)
        if q == 1:
            part = target * (target / mean).ln() if t else decimal.Decimal(0)
            return float(2 * (part - target + mean))
        if q == 2:
            return float(2 * (target / mean - 1 - (target / mean).ln()))
        of_target = target ** (2 - q) if t else decimal.Decimal(0)
        return float(
            2 * (of_target / ((1 - q) * (2 - q)) - target * mean ** (1 - q) / (1 - q) + mean ** (2 - q) / (2 - q))
        )


@pytest.mark.parametrize("power", [1.0, 1.0001, 1.5, 1.9, 2.0, 2.5, 3.0])
def test_deviances_of_any_size(power: float) -> None:
    """Targets next to nothing and beyond all bounds, means that are no numbers: right, or infinite if they are so."""
    head = Tweedie(power)
    for t in (0.0, 1e-300, 1e-100, 1e-18, 1e-12, 1e-3, 1.0, 7.0, 1e9, 1e100):
        for z in (-800.0, -709.0, -300.0, -36.0, -1.0, 0.1, 5.0, 36.0, 300.0, 709.0, 800.0):
            if t == 0 and power >= 2:
                continue
            found = head.deviance(np.array([[z]]), np.array([[t]]), np.ones(1))
            assert found == pytest.approx(exact_tweedie(t, z, power), rel=1e-11, abs=1e-300), (t, z)


def test_the_log_likelihood_of_a_small_dispersion_keeps_its_digits() -> None:
    """With the shape a = 1 / dispersion its parts grow and cancel, but for ½ log(a / 2π) and Stirling's series."""
    t = np.array([[2.0]])
    for dispersion in (1e-12, 1e-8, 1e-4):
        a = 1 / dispersion
        wanted = 0.5 * math.log(a / (2 * math.pi)) - 1 / (12 * a) - math.log(2)
        assert Gamma().log_likelihood(0.0, t, np.ones(1), dispersion) == pytest.approx(wanted, rel=1e-12)
    large = np.array([[1e150]])  # whose cube is no number
    assert np.isfinite(Tweedie(3).log_likelihood(1.0, large, np.ones(1), 0.5))
