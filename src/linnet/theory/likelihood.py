"""Why these losses: each is a negative log-likelihood, shown with numbers; and what the logarithmic loss is above.

| target | probability of t | -log of it, constants dropped | head |
|---|---|---|---|
| a number | e^(-(t - y)² / 2σ²) / (σ sqrt(2π)) | (t - y)² / 2σ²: σ changes no comparison | Normal |
| a class, one-hot t | Π_k p_k^t_k | -Σ_k t_k log p_k, the cross-entropy | Categorical |
| counts x of K classes | N! / (x_1! ... x_K!) Π_k p_k^x_k | the same, and a constant | Categorical |
| a count | λ^t e^-λ / t! | λ - t log λ | Poisson |
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from linnet.checks import check_number, check_whole
from linnet.errors import DataError
from linnet.heads import Categorical

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Demonstration:
    """Numbers side by side; `off` is the largest difference between what should be equal. Prints as a table."""

    columns: tuple[str, ...]
    rows: tuple[tuple[float, ...], ...]
    off: float

    def __str__(self) -> str:
        widths = [max(len(name), 12) for name in self.columns]
        lines = ["  ".join(f"{name:>{width}}" for name, width in zip(self.columns, widths, strict=True))]
        lines += [
            "  ".join(f"{number:>{width}.6g}" for number, width in zip(row, widths, strict=True)) for row in self.rows
        ]
        return "\n".join(lines)


def normal_log_likelihood(t: ArrayLike, mean: ArrayLike, sigma: float = 1.0) -> float:
    """Σ -(t - mean)² / 2σ² - log(σ sqrt(2π))."""
    check_number(sigma, "sigma", above=0)
    away = np.asarray(t, np.float64) - np.asarray(mean, np.float64)
    return float(-np.square(away).sum() / (2 * sigma**2) - away.size * np.log(sigma * np.sqrt(2 * np.pi)))


def multinomial_log_likelihood(counts: ArrayLike, p: ArrayLike) -> float:
    """Σ over rows of log N! - Σ_k log x_k! + Σ_k x_k log p_k; for one-hot rows minus the cross-entropy sum.

    >>> round(float(np.exp(multinomial_log_likelihood([2, 1, 0], [0.5, 0.25, 0.25]))), 6)
    0.1875
    """
    x, of_class = np.asarray(counts, np.float64), np.asarray(p, np.float64)
    if x.ndim not in (1, 2) or x.size == 0 or of_class.shape not in (x.shape, x.shape[-1:]):
        raise DataError(
            f"counts and p must have a number a class, in a row or in rows, got shapes {x.shape} and {of_class.shape}"
        )
    if (x < 0).any() or (x != np.round(x)).any():
        raise DataError("counts must be whole numbers of at least 0")
    if (of_class < 0).any() or np.abs(of_class.sum(axis=-1) - 1).max() > 1e-9:
        raise DataError("p must be probabilities that add up to 1")
    ways = scipy.special.gammaln(x.sum(axis=-1) + 1) - scipy.special.gammaln(x + 1).sum(axis=-1)
    return float(np.sum(ways + scipy.special.xlogy(x, of_class).sum(axis=-1)))


def squared_error_is_normal(
    t: ArrayLike, one: ArrayLike, other: ArrayLike, sigmas: Sequence[float] = (0.5, 1.0, 2.0)
) -> Demonstration:
    """Compare two predictions of t by likelihood and by squared error: 2σ² times the difference of log-likelihoods is
    the difference of squared errors, whatever σ. So whoever maximises one minimises the other.
    """
    truth, first, second = (np.asarray(numbers, np.float64) for numbers in (t, one, other))
    if not truth.shape == first.shape == second.shape or not np.isfinite([truth, first, second]).all():
        shapes = ", ".join(str(numbers.shape) for numbers in (truth, first, second))
        raise DataError(f"t and both predictions must be finite numbers, as many of each, got shapes {shapes}")
    squares = float(np.square(truth - second).sum() - np.square(truth - first).sum())
    rows = []
    for sigma in sigmas:
        found = [normal_log_likelihood(truth, mean, sigma) for mean in (first, second)]
        rows.append((sigma, *found, 2 * sigma**2 * (found[0] - found[1]), squares))
    names = ("sigma", "log-lik. one", "log-lik. other", "2 sigma² x difference", "difference of squared errors")
    return Demonstration(names, tuple(rows), max(abs(row[3] - row[4]) for row in rows))


def cross_entropy_is_multinomial(labels: ArrayLike, p: ArrayLike) -> Demonstration:
    """Row by row -log of the likelihood of a one-hot target, and the head's loss of the same row."""
    of_class = _table(p, "p")
    t = _classes(labels, of_class)
    if not (of_class > 0).all():
        raise DataError("p must be above 0: softmax is, and a class of probability 0 that comes has no likelihood")
    onehot = np.eye(of_class.shape[1])[t]
    loss = Categorical().loss(np.log(of_class), t)
    rows = [
        (float(label), float(row[label]), -multinomial_log_likelihood(hot, row), float(of_head))
        for label, row, hot, of_head in zip(t, of_class, onehot, loss, strict=True)
    ]
    names = ("class", "p of it", "-log likelihood", "loss of the head")
    return Demonstration(names, tuple(rows), max(abs(row[2] - row[3]) for row in rows))


def poisson_limit(rate: float, trials: Sequence[int] = (10, 100, 1000, 10_000)) -> Demonstration:
    """Binomial(n, rate/n) goes to Poisson(rate): their distance Σ_k |P - Q| / 2 is at most (1 - e^-rate) rate / n (the
    bound of Barbour and Hall).

    `off` is the largest distance divided by its bound: never above 1, but for the last bits.
    """
    check_number(rate, "rate", above=0)
    rows = []
    for n in trials:
        check_whole(n, "trials", at_least=int(np.ceil(rate)))
        k, p = np.arange(n + 1.0), rate / n
        log_ratio = _log_binomial_to_poisson(k, n, p)
        poisson = np.exp(k * np.log(rate) - rate - scipy.special.gammaln(k + 1))
        binomial = poisson * np.exp(log_ratio)
        beyond = float(scipy.special.gammainc(n + 1.0, rate))  # Poisson's share above n, where the binomial has none
        distance = 0.5 * (float((poisson * np.abs(np.expm1(log_ratio))).sum()) + beyond)  # |P - Q| = Q |P/Q - 1|
        variance = float(binomial @ k**2 - (binomial @ k) ** 2)
        rows.append((float(n), p, float(binomial @ k), variance, distance, -np.expm1(-rate) * rate / n))
    names = ("n", "p", "mean", "variance", "distance", "bound")
    return Demonstration(names, tuple(rows), max(row[4] / row[5] for row in rows))


def _log_binomial_to_poisson(k: Floats, n: int, p: float) -> Floats:
    """log(P/Q) = Σ_{i<k} log(1 - i/n) - k log(1 - p) + n (log(1 - p) + p), exact also where P is almost Q."""
    ways = np.concatenate([[0.0], np.cumsum(np.log1p(-k[:-1] / n))])
    if p > 0.1:
        return np.asarray(ways + scipy.special.xlog1py(n - k, -p) + n * p)
    power = np.arange(2.0, 20.0)
    return np.asarray(ways - k * np.log1p(-p) - n * float((p**power / power).sum()))


def logsumexp_between(z: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """max z, log Σ e^z and max z + ln K of each row: always in this order.

    >>> [float(round(number[0], 4)) for number in logsumexp_between([[1.0, 2.0, 3.0]])]
    [3.0, 3.4076, 4.0986]
    """
    table = _table(z, "z")
    top = table.argmax(axis=1)
    largest = table.max(axis=1)
    return largest, largest + Categorical().loss(table, top.astype(np.int32)), largest + np.log(table.shape[1])


def zero_one_and_log_loss(z: ArrayLike, labels: ArrayLike) -> tuple[Floats, Floats]:
    """Of each row: whether another class has at least the logit of the right one (1 or 0), and the loss in base 2.

    log2(1 + Σ_{k≠t} e^(z_k - z_t)) >= log2(1 + 1) = 1 wherever some z_k >= z_t: the loss is above the number of
    mistakes, and training it down brings them down.
    """
    table = _table(z, "z")
    t = _classes(labels, table)
    own = np.take_along_axis(table, t[:, None], axis=1)
    others = (table >= own).sum(axis=1) > 1
    return others.astype(np.float64), Categorical().loss(table, t) / np.log(2)


def _table(numbers: ArrayLike, name: str) -> Floats:
    table = np.asarray(numbers, np.float64)
    if table.ndim != 2 or table.size == 0 or not np.isfinite(table).all():
        raise DataError(f"{name} must be a finite table, a column a class, got shape {table.shape}")
    return table


def _classes(labels: ArrayLike, table: Floats) -> NDArray[np.int32]:
    rows, classes = table.shape
    t = np.asarray(labels)
    if t.shape != (rows,) or not np.isin(t, np.arange(classes)).all():
        raise DataError(f"labels must be {rows} whole numbers from 0 to {classes - 1}, one a row")
    return t.astype(np.int32)
