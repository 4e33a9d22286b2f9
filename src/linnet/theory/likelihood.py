"""Losses as negative log-likelihoods, shown with numbers, and bounds of the logarithmic loss.

| target | probability of t | negative logarithm, constants dropped | head |
|---|---|---|---|
| a number | e^(-(t - y)² / 2σ²) / (σ sqrt(2π)) | (t - y)² / 2σ²: σ changes no comparison | Normal |
| a class, one-hot t | Π_k p_k^t_k | -Σ_k t_k log p_k, the cross-entropy | Categorical |
| counts x of K classes | N! / (x_1! ... x_K!) Π_k p_k^x_k | -Σ_k x_k log p_k, the cross-entropy | Categorical |
| a count | λ^t e^-λ / t! | λ - t log λ | Poisson |
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from linnet._moved import renamed
from linnet.checks import check_number, check_whole
from linnet.errors import ConfigError, DataError, warn
from linnet.heads import Categorical, Head

Floats = NDArray[np.float64]

__getattr__ = renamed(__name__, {"logsumexp_between": "logsumexp_bounds"})


@dataclass(frozen=True, slots=True)
class Demonstration:
    """An identity or a bound, shown with numbers; print it for a table.

    Parameters
    ----------
    columns : tuple of str
        The names of the columns.
    rows : tuple of tuple of float
        The values.
    discrepancy : float
        The largest difference between values that must be equal, or the largest ratio of a value to its bound.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[float, ...], ...]
    discrepancy: float

    @property
    def off(self) -> float:
        """The former name of `discrepancy`."""
        warn("Demonstration.off is now called discrepancy", DeprecationWarning)
        return self.discrepancy

    def __str__(self) -> str:
        widths = [max(len(name), 12) for name in self.columns]
        lines = ["  ".join(f"{name:>{width}}" for name, width in zip(self.columns, widths, strict=True))]
        lines += [
            "  ".join(f"{number:>{width}.6g}" for number, width in zip(row, widths, strict=True)) for row in self.rows
        ]
        return "\n".join(lines)


def normal_log_likelihood(t: ArrayLike, mean: ArrayLike, sigma: float = 1.0) -> float:
    """Return the log-likelihood of a normal distribution, summed: Σ -(t - mean)² / 2σ² - log(σ sqrt(2π)).

    Parameters
    ----------
    t : array
        The observed values.
    mean : array
        The means.
    sigma : float, default=1.0
        The standard deviation.

    Returns
    -------
    float
        The sum of the log-densities.
    """
    check_number(sigma, "sigma", above=0)
    residual = np.asarray(t, np.float64) - np.asarray(mean, np.float64)
    return float(-np.square(residual).sum() / (2 * sigma**2) - residual.size * np.log(sigma * np.sqrt(2 * np.pi)))


def multinomial_log_likelihood(counts: ArrayLike, p: ArrayLike) -> float:
    """Return the log-likelihood of multinomial counts, summed over rows: log N! - Σ_k log x_k! + Σ_k x_k log p_k.

    For one-hot rows it is the negative sum of the cross-entropies.

    Parameters
    ----------
    counts : array of shape (classes,) or (rows, classes)
        The counts x.
    p : array of shape (classes,) or (rows, classes)
        The probabilities of the classes, which sum to 1.

    Returns
    -------
    float
        The log-likelihood.

    Examples
    --------
    >>> round(float(np.exp(multinomial_log_likelihood([2, 1, 0], [0.5, 0.25, 0.25]))), 6)
    0.1875
    """
    x, probabilities = np.asarray(counts, np.float64), np.asarray(p, np.float64)
    if x.ndim not in (1, 2) or x.size == 0 or probabilities.shape not in (x.shape, x.shape[-1:]):
        raise DataError(
            "counts and p must have one column per class, and counts one or two dimensions, got shapes "
            f"{x.shape} and {probabilities.shape}"
        )
    if (x < 0).any() or (x != np.round(x)).any():
        raise DataError("counts must be non-negative integers")
    if (probabilities < 0).any() or np.abs(probabilities.sum(axis=-1) - 1).max() > 1e-9:
        raise DataError("p must be probabilities that sum to 1")
    ways = scipy.special.gammaln(x.sum(axis=-1) + 1) - scipy.special.gammaln(x + 1).sum(axis=-1)
    return float(np.sum(ways + scipy.special.xlogy(x, probabilities).sum(axis=-1)))


def squared_error_is_normal(
    t: ArrayLike, one: ArrayLike, other: ArrayLike, sigmas: Sequence[float] = (0.5, 1.0, 2.0)
) -> Demonstration:
    """Show that maximising the normal likelihood minimises the squared error, by comparing two predictions of t.

    2σ² times the difference of their log-likelihoods is the difference of their squared errors, for every σ.

    Parameters
    ----------
    t : array
        The observed values.
    one, other : array
        Two predictions, in the shape of t.
    sigmas : sequence of float, default=(0.5, 1.0, 2.0)
        Standard deviations, one row of the table each.

    Returns
    -------
    Demonstration
        Log-likelihoods and squared errors.
    """
    truth, first, second = (np.asarray(values, np.float64) for values in (t, one, other))
    if not truth.shape == first.shape == second.shape or not np.isfinite([truth, first, second]).all():
        shapes = ", ".join(str(values.shape) for values in (truth, first, second))
        raise DataError(f"t and both predictions must be finite and of the same shape, got shapes {shapes}")
    squares = float(np.square(truth - second).sum() - np.square(truth - first).sum())
    rows = []
    for sigma in sigmas:
        log_likelihoods = [normal_log_likelihood(truth, mean, sigma) for mean in (first, second)]
        rows.append((sigma, *log_likelihoods, 2 * sigma**2 * (log_likelihoods[0] - log_likelihoods[1]), squares))
    names = ("sigma", "log-lik. one", "log-lik. other", "2 sigma² x difference", "difference of squared errors")
    return Demonstration(names, tuple(rows), max(abs(row[3] - row[4]) for row in rows))


def cross_entropy_is_multinomial(labels: ArrayLike, p: ArrayLike) -> Demonstration:
    """Show that the cross-entropy of a row is the negative log-likelihood of its one-hot target.

    Parameters
    ----------
    labels : array of shape (rows,)
        The class of each row: 0, 1, ...
    p : array of shape (rows, classes)
        The probabilities of the classes, all above 0.

    Returns
    -------
    Demonstration
        Negative log-likelihood and the loss of the categorical head, one row each.
    """
    probabilities = _table(p, "p")
    t = _classes(labels, probabilities)
    if not (probabilities > 0).all():
        raise DataError("p must be above 0, as probabilities of a softmax are: the logarithm of 0 is infinite")
    onehot = np.eye(probabilities.shape[1])[t]
    losses = Categorical().loss(np.log(probabilities), t)
    rows = [
        (float(label), float(row[label]), -multinomial_log_likelihood(hot, row), float(loss))
        for label, row, hot, loss in zip(t, probabilities, onehot, losses, strict=True)
    ]
    names = ("class", "probability", "-log likelihood", "loss of the head")
    return Demonstration(names, tuple(rows), max(abs(row[2] - row[3]) for row in rows))


def poisson_limit(rate: float, trials: Sequence[int] = (10, 100, 1000, 10_000)) -> Demonstration:
    """Show that Binomial(n, rate/n) converges to Poisson(rate) as n grows.

    Their total variation distance Σ_k |P - Q| / 2 is at most (1 - e^-rate) rate / n (Barbour and Hall).

    Parameters
    ----------
    rate : float
        The expected count, above 0.
    trials : sequence of int, default=(10, 100, 1000, 10_000)
        Values of n, one row of the table each.

    Returns
    -------
    Demonstration
        Mean and variance of the binomial, the distance and its bound. `discrepancy` is the largest distance divided by
        its bound: at most 1, up to rounding.
    """
    check_number(rate, "rate", above=0)
    rows = []
    for n in trials:
        check_whole(n, "trials", at_least=int(np.ceil(rate)))
        k, p = np.arange(n + 1.0), rate / n
        log_ratio = _log_binomial_to_poisson(k, n, p)
        poisson = np.exp(k * np.log(rate) - rate - scipy.special.gammaln(k + 1))
        binomial = poisson * np.exp(log_ratio)
        tail = float(scipy.special.gammainc(n + 1.0, rate))  # Poisson's probability above n, where the binomial has 0
        distance = 0.5 * (float((poisson * np.abs(np.expm1(log_ratio))).sum()) + tail)  # |P - Q| = Q |P/Q - 1|
        variance = float(binomial @ k**2 - (binomial @ k) ** 2)
        rows.append((float(n), p, float(binomial @ k), variance, distance, -np.expm1(-rate) * rate / n))
    names = ("n", "p", "mean", "variance", "distance", "bound")
    return Demonstration(names, tuple(rows), max(row[4] / row[5] for row in rows))


def _log_binomial_to_poisson(k: Floats, n: int, p: float) -> Floats:
    """Return log(P/Q) = Σ_{i<k} log(1 - i/n) - k log(1 - p) + n (log(1 - p) + p), accurate even where P is almost Q."""
    ways = np.concatenate([[0.0], np.cumsum(np.log1p(-k[:-1] / n))])
    if p > 0.1:
        return np.asarray(ways + scipy.special.xlog1py(n - k, -p) + n * p)
    power = np.arange(2.0, 20.0)
    return np.asarray(ways - k * np.log1p(-p) - n * float((p**power / power).sum()))


def logsumexp_bounds(z: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Return the bounds of log Σ e^z in each row: max z <= log Σ e^z <= max z + ln K.

    Parameters
    ----------
    z : array of shape (rows, K)
        The logits.

    Returns
    -------
    lower, value, upper : arrays of shape (rows,)
        max z, log Σ e^z, and max z + ln K.

    Examples
    --------
    >>> [float(round(value[0], 4)) for value in logsumexp_bounds([[1.0, 2.0, 3.0]])]
    [3.0, 3.4076, 4.0986]
    """
    table = _table(z, "z")
    top = table.argmax(axis=1)
    largest = table.max(axis=1)
    return largest, largest + Categorical().loss(table, top.astype(np.int32)), largest + np.log(table.shape[1])


def zero_one_and_log_loss(z: ArrayLike, labels: ArrayLike) -> tuple[Floats, Floats]:
    """Return the zero-one loss and the logarithmic loss in base 2 of each row; the latter is never smaller.

    log2(1 + Σ_{k≠t} e^(z_k - z_t)) >= log2(1 + 1) = 1 wherever some z_k >= z_t: the sum of the losses is an upper bound
    on the number of mistakes, so minimising it reduces the mistakes, too.

    Parameters
    ----------
    z : array of shape (rows, classes)
        The logits.
    labels : array of shape (rows,)
        The class of each row: 0, 1, ...

    Returns
    -------
    zero_one : array of shape (rows,)
        1 where another class has at least the logit of the actual one, 0 elsewhere.
    log_loss : array of shape (rows,)
        The cross-entropy, in bits.
    """
    table = _table(z, "z")
    t = _classes(labels, table)
    own = np.take_along_axis(table, t[:, None], axis=1)
    others = (table >= own).sum(axis=1) > 1
    return others.astype(np.float64), Categorical().loss(table, t) / np.log(2)


def margin_bounds(z: ArrayLike, labels: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Return the bounds of the logarithmic loss of each row by its margin: m <= loss <= m + ln K, m = max z - z_t.

    m is 0 where the actual class has the highest logit, and otherwise by how much another one exceeds it. The loss,
    log Σ_k e^(z_k - z_t), is a soft version of it.

    Parameters
    ----------
    z : array of shape (rows, K)
        The logits.
    labels : array of shape (rows,)
        The class of each row: 0, 1, ...

    Returns
    -------
    margin, loss, upper : arrays of shape (rows,)
        m, the loss, and m + ln K.

    Examples
    --------
    >>> [float(round(bound[0], 4)) for bound in margin_bounds([[3.0, 1.0, 2.5]], [2])]
    [0.5, 1.055, 1.5986]
    """
    table = _table(z, "z")
    t = _classes(labels, table)
    margin = table.max(axis=1) - np.take_along_axis(table, t[:, None], axis=1)[:, 0]
    return margin, Categorical().loss(table, t), margin + np.log(table.shape[1])


def exponential_family(head: Head, z: ArrayLike) -> Demonstration:
    """Show that mean and variance are the derivatives of the log-normaliser, for a head with its canonical activation.

    A distribution of the form p(t) = h(t) e^(t z - A(z)) has the loss A(z) - t z, so A(z) is the loss at t = 0. Its
    derivatives are taken by differences; mean and variance are those of the distribution.

    Parameters
    ----------
    head : Head
        A head of one output: `Normal`, `Bernoulli` or `Poisson`.
    z : array of shape (points,)
        Values of z, the natural parameter, one row of the table each.

    Returns
    -------
    Demonstration
        z, A(z), A'(z), the mean, A''(z), the variance.

    Examples
    --------
    >>> from linnet.heads import Poisson
    >>> print(exponential_family(Poisson(), [0.0, 1.0]))
               z             A            A'          mean           A''      variance
               0             1             1             1             1             1
               1       2.71828       2.71828       2.71828       2.71828       2.71828
    """
    points = np.asarray(z, np.float64)
    if points.ndim != 1 or points.size == 0 or not np.isfinite(points).all():
        raise DataError(f"z must be finite numbers, one per point, got shape {points.shape}")
    if head.coupled or not _is_canonical(head, points[:, None]):
        raise ConfigError(
            "the slope of the loss must be the mean minus the target, as that of "
            f"Normal, Bernoulli or Poisson, got {head!r}"
        )

    def normaliser(at: Floats) -> Floats:
        return np.asarray(head.loss(at[:, None], np.zeros((len(at), 1))))

    far = 2e-3  # differences of fourth order: their error is some far^4, and that of rounding 1e-16 / far^2
    a = [normaliser(points + shift * far) for shift in (-2, -1, 0, 1, 2)]
    slope = (a[0] - 8 * a[1] + 8 * a[3] - a[4]) / (12 * far)
    curvature = (-a[0] + 16 * a[1] - 30 * a[2] + 16 * a[3] - a[4]) / (12 * far**2)
    mean = head.mean(points[:, None])[:, 0]
    variance = mean * (1 - mean) if head.has_probabilities else head.variance(mean[:, None], np.ones(1))[:, 0]
    off = np.abs([slope - mean, curvature - variance]).max()
    rows = np.column_stack([points, a[2], slope, mean, curvature, variance])
    names = ("z", "A", "A'", "mean", "A''", "variance")
    return Demonstration(names, tuple(tuple(map(float, row)) for row in rows), float(off))


def _is_canonical(head: Head, z: Floats) -> bool:
    """Return whether dloss/dz is the mean minus the target, for targets of 0 and 1."""
    targets = (np.zeros_like(z), np.ones_like(z))
    return all(np.allclose(head.slope(z, t), head.mean(z) - t, rtol=1e-12, atol=1e-12) for t in targets)


def _table(values: ArrayLike, name: str) -> Floats:
    table = np.asarray(values, np.float64)
    if table.ndim != 2 or table.size == 0 or not np.isfinite(table).all():
        raise DataError(f"{name} must be a finite table with one column per class, got shape {table.shape}")
    return table


def _classes(labels: ArrayLike, table: Floats) -> NDArray[np.int32]:
    rows, classes = table.shape
    t = np.asarray(labels)
    if t.shape != (rows,) or not np.isin(t, np.arange(classes)).all():
        raise DataError(f"labels must be {rows} integers from 0 to {classes - 1}, one per row")
    return t.astype(np.int32)
