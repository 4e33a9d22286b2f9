import doctest

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

import linnet.theory.likelihood as module
from linnet.errors import DataError
from linnet.theory.likelihood import (
    cross_entropy_is_multinomial,
    logsumexp_bounds,
    multinomial_log_likelihood,
    normal_log_likelihood,
    poisson_limit,
    squared_error_is_normal,
    zero_one_and_log_loss,
)

LOGITS = arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(2, 6)), elements=st.floats(-1000, 1000))


@given(LOGITS)
def test_logsumexp_is_between_max_and_max_plus_ln_k(z: NDArray[np.float64]) -> None:
    low, value, high = logsumexp_bounds(z)
    assert (low <= value).all()
    assert (value <= high + 1e-12 * (1 + np.abs(high))).all()
    np.testing.assert_allclose(value, scipy.special.logsumexp(z, axis=1), rtol=1e-12, atol=1e-12)


def test_both_ends_are_reached() -> None:
    low, value, _ = logsumexp_bounds([[0.0, -800.0, -900.0]])
    assert low == value
    _, value, high = logsumexp_bounds(np.full((1, 7), 3.5))
    np.testing.assert_allclose(value, high, rtol=1e-15)


@given(LOGITS, st.integers(0, 10_000))
def test_the_loss_in_base_2_is_above_the_number_of_mistakes(z: NDArray[np.float64], seed: int) -> None:
    t = np.random.default_rng(seed).integers(0, z.shape[1], len(z))
    mistake, loss = zero_one_and_log_loss(z, t)
    assert (mistake <= loss + 1e-12).all()
    assert ((z.argmax(axis=1) != t) <= mistake).all(), "a tie counts as a mistake, however it is broken"


def test_the_bound_is_met_by_a_tie_of_two() -> None:
    mistake, loss = zero_one_and_log_loss([[0.7, 0.7, -900.0]], [0])
    assert mistake[0] == 1
    assert loss[0] == pytest.approx(1)


def test_the_likelihoods_are_those_of_scipy() -> None:
    rng = np.random.default_rng(0)
    t, mean = rng.normal(size=20), rng.normal(size=20)
    assert normal_log_likelihood(t, mean, 0.3) == pytest.approx(np.sum(scipy.stats.norm.logpdf(t, mean, 0.3)))
    p = rng.dirichlet(np.ones(4), 5)
    x = np.stack([rng.multinomial(9, row) for row in p])
    expected = sum(scipy.stats.multinomial.logpmf(a, 9, b) for a, b in zip(x, p, strict=True))
    assert multinomial_log_likelihood(x, p) == pytest.approx(expected)


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.floats(0.01, 100))
def test_squared_error_and_likelihood_rank_predictions_alike(seed: int, sigma: float) -> None:
    rng = np.random.default_rng(seed)
    t, one, other = rng.normal(size=(3, 10))
    shown = squared_error_is_normal(t, one, other, [sigma])
    assert shown.discrepancy < 1e-7 * max(1, sigma**2)
    better_by_squares = ((t - one) ** 2).sum() < ((t - other) ** 2).sum()
    assert (shown.rows[0][1] > shown.rows[0][2]) == better_by_squares


def test_least_squares_is_where_the_likelihood_is_largest() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(50, 3))
    t = x @ [1.0, -2.0, 0.5] + rng.normal(size=50)
    best = np.linalg.lstsq(x, t, rcond=None)[0]
    for sigma in (0.1, 1.0, 10.0):
        for step in 1e-3 * np.vstack([np.eye(3), -np.eye(3)]):
            assert normal_log_likelihood(t, x @ best, sigma) > normal_log_likelihood(t, x @ (best + step), sigma)


def test_cross_entropy_is_the_heads_loss() -> None:
    rng = np.random.default_rng(2)
    shown = cross_entropy_is_multinomial([0, 1, 2, 1], rng.dirichlet(np.ones(3), 4))
    assert shown.discrepancy < 1e-12
    with pytest.warns(DeprecationWarning, match=r"Demonstration\.off is now called discrepancy"):
        assert shown.off == shown.discrepancy
    assert "loss of the head" in str(shown)
    with pytest.raises(DataError, match="above 0"):
        cross_entropy_is_multinomial([0], [[0.0, 1.0]])


@pytest.mark.parametrize("rate", [0.3, 3.0, 20.0])
def test_the_binomial_goes_to_poisson_as_fast_as_the_bound_says(rate: float) -> None:
    shown = poisson_limit(rate, [30, 300, 3000])
    assert shown.discrepancy <= 1
    distances = [row[4] for row in shown.rows]
    assert distances[1] / distances[2] == pytest.approx(10, rel=0.15)
    n, p, mean, variance = shown.rows[0][:4]
    assert mean == pytest.approx(rate)
    assert variance == pytest.approx(n * p * (1 - p))
    k = np.arange(3000)
    exact = 0.5 * np.abs(scipy.stats.binom.pmf(k, 30, rate / 30) - scipy.stats.poisson.pmf(k, rate)).sum()
    assert distances[0] == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("rate", [1e-12, 1e-8, 1e-5, 1e-3, 0.1, 1.0, 10.0])
def test_the_bound_of_the_poisson_limit_holds_for_the_smallest_rates(rate: float) -> None:
    shown = poisson_limit(rate)
    assert shown.discrepancy <= 1 + 1e-14
    exact = shown.rows[-1][4] / (rate * rate / 1e4)  # goes to 1 - 3/2 rate
    assert rate > 1e-3 or exact == pytest.approx(1 - 1.5 * rate, abs=1e-5)


def test_counts_and_probabilities_of_different_classes_are_refused() -> None:
    for counts, p in (([1, 2], [0.2, 0.3, 0.5]), ([[1, 2, 0], [0, 0, 1]], [0.5, 0.5]), ([], []), (1, [1.0])):
        with pytest.raises(DataError, match="one column per class"):
            multinomial_log_likelihood(counts, p)
    shares = [0.2, 0.3, 0.5]
    each = [multinomial_log_likelihood(row, shares) for row in ([1, 2, 0], [0, 0, 1])]
    assert multinomial_log_likelihood([[1, 2, 0], [0, 0, 1]], shares) == pytest.approx(sum(each))


def test_wrong_counts_and_probabilities_are_refused() -> None:
    with pytest.raises(DataError, match="non-negative integers"):
        multinomial_log_likelihood([0.5, 0.5], [0.5, 0.5])
    with pytest.raises(DataError, match="sum to 1"):
        multinomial_log_likelihood([1, 0], [0.5, 0.6])


def test_the_docstrings_are_true() -> None:
    assert doctest.testmod(module).failed == 0


def test_odd_arguments_are_named() -> None:
    p = [[0.5, 0.5], [0.1, 0.9]]
    for labels in ([0, 2], [0, -1], [0.5, 1], [0]):
        with pytest.raises(DataError, match="labels must be 2 integers from 0 to 1"):
            module.cross_entropy_is_multinomial(labels, p)
        with pytest.raises(DataError, match="labels must be 2 integers from 0 to 1"):
            module.zero_one_and_log_loss(p, labels)
    for z in (np.ones(2), np.ones((1, 0)), np.array([[1.0, np.nan]]), np.array([[1.0, np.inf]])):
        with pytest.raises(DataError, match="z must be a finite table"):
            module.logsumexp_bounds(z)
    for one in ([1.0], [1.0, np.nan]):
        with pytest.raises(DataError, match="of the same shape"):
            module.squared_error_is_normal([1.0, 2.0], one, [2.0, 3.0])
