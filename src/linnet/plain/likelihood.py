"""Likelihoods and their losses: training looks for the parameters that make the targets most probable.

    E = -(1/N) sum_i log p(t_i)

For a Normal distribution that is squared error, for Bernoulli and categorical ones cross-entropy, for the Poisson
y - t log y. Below are the probabilities themselves, and the loss of a classifier as a bound on its mistakes.
"""

from math import comb, exp, factorial, pi, prod, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def normal(t: float, y: float, sigma: float = 1.0) -> float:
    """Density of a number t around y. Its -log is (t - y)^2 / (2 sigma^2) plus a term that does not depend on y."""
    return exp(-((t - y) ** 2) / (2 * sigma**2)) / (sigma * sqrt(2 * pi))


def bernoulli(t: int, y: float) -> float:
    """Probability of t = 1 or 0, where that of 1 is y."""
    return y**t * (1 - y) ** (1 - t)


def multinomial(x: list[int], mu: list[float]) -> float:
    """Probability of x_k results of kind k, each of probability mu_k: N! / (x_1! ... x_K!) prod_k mu_k^x_k.

    For two kinds it is the binomial distribution, for one trial (x one-hot) the categorical.
    """
    ways = factorial(sum(x)) // prod(factorial(n) for n in x)
    return ways * prod(m**n for m, n in zip(mu, x, strict=True))


def binomial(k: int, n: int, p: float) -> float:
    """Probability of k successes in n trials."""
    return comb(n, k) * p**k * (1 - p) ** (n - k)


def poisson(k: int, y: float) -> float:
    """Probability of a count k of mean (and variance) y: the limit of binomial(k, n, y/n) for many trials.

    n (n-1) ... (n-k+1) / n^k -> 1 and (1 - y/n)^(n-k) -> e^-y, which leaves y^k / k! e^-y.
    """
    return y**k * exp(-y) / factorial(k)


def log_loss(z: Array, t: Array) -> Array:
    """Return log sum_k e^z_k - z_t = log(1 + sum_{k != t} e^(z_k - z_t)) per row, t the index of the actual class.

    A soft maximum: max_k z_k - z_t <= loss <= max_k z_k - z_t + log K. In base 2 it is at least 1 for each mistake.
    For two classes and labels +-1 it is log(1 + e^(-t z)) with the one score z = z_1 - z_2.
    """
    return np.logaddexp.reduce(z, axis=1) - z[np.arange(len(t)), t]


def margin(z: Array, t: Array) -> Array:
    """Return max_k z_k - z_t per row: 0 where the actual class has the highest score."""
    return z.max(axis=1) - z[np.arange(len(t)), t]
